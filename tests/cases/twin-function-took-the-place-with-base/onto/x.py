def b(x):
    y = x + 1
    return y


def c(x):
    y = x + 1
    return y
