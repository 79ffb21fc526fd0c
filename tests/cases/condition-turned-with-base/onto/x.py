def f(self, xs):
    a()
    if not cond_a(xs):
        one(x)
        two(x)
        three(x)
    b()
