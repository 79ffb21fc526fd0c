def g(path):
    old_one(path)
    old_two(path)
