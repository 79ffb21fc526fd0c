import io
import os
import queue
import random
import re
import sys

x = 1
