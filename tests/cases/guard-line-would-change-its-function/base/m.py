class A:
    def f(self):
        one()
        two()

    def g(self):
        three()
