class A:
    def one(self):
        return 1

    def two(self):
        return 2

    def upstream(self):
        return 9

    def three(self):
        return 3
