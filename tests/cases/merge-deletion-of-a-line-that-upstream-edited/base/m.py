def f():
    one_call()
    two_call()
    return 1
