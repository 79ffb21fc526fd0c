def f():
    a_call()
    upstream()
    # why b is called
    b_call()
