"""A loader."""

import os


def load_table(path):
    with open(path) as stream:
        return stream.read()


def parse_rows(text):
    rows = text.split(";")
    return [row for row in rows if row]


class Loader:
    def __init__(self, root):
        self.root = root
        self.seen = {}

    def all(self):
        return sorted(os.listdir(self.root))
