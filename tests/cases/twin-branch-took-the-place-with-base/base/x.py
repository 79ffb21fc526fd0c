def f(x):
    if x == 1:
        one()
        two()
    elif x == 2:
        one()
        two()
