def g():
    x = 1
    return x
