import json
import os

from tool import thing
import json


def f():
    return os.name, thing
