from tool import load_the_table


def f():
    a = load_the_table(1)
    return a


def g():
    b = 2
    return b
