import io
import os
import random
import re
import sys

x = 1
