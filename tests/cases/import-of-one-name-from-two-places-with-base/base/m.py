import os

import first
import second
import third


def one(x):
    a = prepare_one(x)
    return finish_one(a)


def two(x):
    a = prepare_two(x)
    return finish_two(a)


