def f():
    block_one(1)
    rest_one()
    rest_two()
    rest_three()
    rest_four()
