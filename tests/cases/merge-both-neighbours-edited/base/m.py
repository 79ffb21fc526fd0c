def f():
    first_step(one)
    second_step(two)
