def f():
    a_call()
    b_call()
    upstream_call()


MINE = 1


def z():
    pass
