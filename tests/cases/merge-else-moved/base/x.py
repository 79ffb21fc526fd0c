def f():
    if a:
        x()
    else:
        y()
    z()
