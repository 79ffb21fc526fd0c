import os
import sys

def f():
    a()
    b()
    c()
    d()
    e()
