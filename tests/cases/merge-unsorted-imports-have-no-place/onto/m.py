import sys
import os
import abc
import re

x = 1
