import json
import os

from tool import thing


def f():
    return os.name, thing
