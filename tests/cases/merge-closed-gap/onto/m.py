def f(path):
    check(path)
    return load(path)
