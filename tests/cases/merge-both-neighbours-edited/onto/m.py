def f():
    first_step(one, 1)
    second_step(two, 2)
