def f(x):
    with lock_a:
        one()
        two()
    with lock_b:
        one()
        two()
