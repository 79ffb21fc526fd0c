def f():
    rest_one()
    rest_two()
    rest_three()
    rest_four()
    block_one(1)
