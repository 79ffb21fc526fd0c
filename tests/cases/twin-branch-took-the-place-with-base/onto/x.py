def f(x):
    if x == 2:
        one()
        two()
    elif x == 3:
        one()
        two()
