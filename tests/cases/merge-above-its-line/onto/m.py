def f():
    a_call()
    upstream()
    b_call()
