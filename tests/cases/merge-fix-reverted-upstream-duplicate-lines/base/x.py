def f():
    a()
    a()
    b()
