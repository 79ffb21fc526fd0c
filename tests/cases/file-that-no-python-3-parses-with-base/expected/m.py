print 'start'



def one(x):
    a = prepare_one(x)
    print 'one', a
    check(a)
    return finish_one(a)


def two(x):
    a = prepare_two(x)
    return finish_two(a)


def third(x):
    a = prepare_three(x)
    return finish_three(a)


