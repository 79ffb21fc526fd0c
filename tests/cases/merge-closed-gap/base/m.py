def f(path):
    check(path)
    old_one(path)
    old_two(path)
    return load(path)
