def f():
    return merge(alpha, beta, gamma)


x = 1
