def f():
    one_call()
    two_call()


def g():
    three_call()
    four_call()
