import re
import os


class K:
    def a(self):
        return 1

    @property
    def m(self):
        return 13

    @m.setter
    def m(self, v):
        pass

    def z(self):
        return 26
