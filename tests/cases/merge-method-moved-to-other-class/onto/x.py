class A:
    def b(self):
        pass


class B:
    def a(self):
        one()
        two()

    def c(self):
        pass
