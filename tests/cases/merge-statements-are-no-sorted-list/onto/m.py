A = 1
B = 2
C = 3
X = 9


def tail():
    return X
