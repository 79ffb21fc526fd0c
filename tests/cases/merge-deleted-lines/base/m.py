def f():
    one_call()
    two_call()
    three_call()
    return 1
