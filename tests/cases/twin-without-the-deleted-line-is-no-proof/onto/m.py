class A:
    def f(self):
        a = 1
        b = 2
        c = 33
        X = 9
        d = 4
        e = 5
        return a

    def g(self):
        a = 1
        b = 2
        c = 3
        d = 4
        e = 5
        return a
