def f():
    upstream_call()
    three_call()
    return 1
