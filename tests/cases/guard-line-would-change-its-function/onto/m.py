class A:
    def f(self):
        one()

    def inserted(self):
        zero()
        two()

    def g(self):
        three()
