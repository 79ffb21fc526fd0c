"""A loader."""

import os


def load_table(path):
    with open(path) as stream:
        return stream.read()


def parse_rows(text):
    rows = text.split(";")
    return [row for row in rows if row]
