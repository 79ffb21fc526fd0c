def mine():
    return 0


def alpha():
    return 1


def omega():
    return 9
