import os
import sys

def f():
    a()
    b()
    c()
    d()
    if guard(x):
        return bad(y)
    e()
