def f(x, a, b, c):
    pass
