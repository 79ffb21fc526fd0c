def f():
    one_call()
    two_call(now=True)
    return 1
