def f():
    if a:
        x()
    z()
