def f(path):
    first_check(path)
    second_check(path)
    third_check(path)
