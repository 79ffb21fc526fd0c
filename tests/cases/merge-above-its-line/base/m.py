def f():
    a_call()
    b_call()
