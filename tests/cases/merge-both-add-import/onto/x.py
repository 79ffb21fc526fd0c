import json
import os
import sys


x = 1
y = 2
