def f():
    rest_one()
    rest_two()
    rest_three()
    rest_four()
    rest_five()
    block_one(1)
    block_two(2)
    block_three(3)
