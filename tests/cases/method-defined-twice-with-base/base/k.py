import os


class K:
    def a(self):
        return 1

    def z(self):
        return 26
