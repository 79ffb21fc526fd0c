def f1(a):
    if a:
        b = 1
        c = 2
        d = 3
        return b
    return c


def f2(a):
    if a:
        b = 1
        c = 2
        d = 3
        return b
    return c


