import os

from pkg.caps import is_new


def one(x):
    a = prepare_one(x)
    return finish_one(a)


def two(x):
    a = prepare_two(x)
    if is_new():
        a = double(a)
    return finish_two(a)


def three(x):
    a = prepare_three(x)
    return finish_three(a, 3)


