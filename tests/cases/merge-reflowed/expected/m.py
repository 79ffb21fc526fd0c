def f():
    return merge(alpha, beta, delta)


x = 1
