def f(a):
    x = (
        a,
    )
    return x


z = 1
