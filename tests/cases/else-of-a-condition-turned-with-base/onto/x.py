def f(xs):
    if not xs:
        one(x)
        two(x)
    else:
        three(x)
        four(x)
        five(x)
        six(x)
