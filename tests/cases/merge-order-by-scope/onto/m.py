def f():
    a_call()
    b_call()
    upstream_call()


def z():
    pass
