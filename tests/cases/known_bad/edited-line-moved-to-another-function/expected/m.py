def f():
    one_call()


def g():
    three_call()
    four_call()
    two_call(2)
