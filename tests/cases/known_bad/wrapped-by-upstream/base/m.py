def f(path):
    first_step(path)
    second_step(path)
    third_step(path)
