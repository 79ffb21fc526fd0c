import re
import os


class K:
    def a(self):
        return 1

    def m(self):
        return 13

    def z(self):
        return 26


broken = (
