"""Text."""


def strip(text):
    return text.strip()


def parse_rows(text):
    rows = text.split(";")
    return [row for row in rows if row]
