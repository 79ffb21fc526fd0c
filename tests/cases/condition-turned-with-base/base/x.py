def f(self, xs):
    a()
    if cond_a(xs):
        one(x)
        two(x)
        three(x)
    b()
