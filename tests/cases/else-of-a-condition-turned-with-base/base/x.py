def f(xs):
    if xs:
        one(x)
        two(x)
    else:
        three(x)
        four(x)
        five(x)
        six(x)
