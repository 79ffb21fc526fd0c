class A:
    def a(self):
        one()
        two()

    def b(self):
        pass


class B:
    def c(self):
        pass
