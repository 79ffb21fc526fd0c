def a(x):
    y = x + 1
    return y


def b(x):
    y = x + 1
    return y
