def f(x):
    with lock_b:
        one()
        two()
    with lock_c:
        one()
        two()
