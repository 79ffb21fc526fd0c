def f(path):
    check(path)
    log(path)
    return load(path)
