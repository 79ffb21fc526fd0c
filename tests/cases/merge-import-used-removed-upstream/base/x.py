import os
import sys


def f():
    os.x()
    return 1
