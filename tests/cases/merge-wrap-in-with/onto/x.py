def f():
    with l:
        a()
        b()
        c()
