from tool import load_the_tables


def f():
    a = load_the_tables(1)
    return a


def g():
    b = 2
    return b
