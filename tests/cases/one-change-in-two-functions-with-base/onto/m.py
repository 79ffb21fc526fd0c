import os


def one(x):
    a = prepare_one(x)
    return finish_one(a)


def two(x):
    a = prepare_two(x)
    return finish_two(a)


def three(x):
    a = prepare_three(x)
    if broken(a):
        repair(a, 'all of it')
    return finish_three(a)


