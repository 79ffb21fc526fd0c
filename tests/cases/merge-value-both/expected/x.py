x = foo(9, 3)
y = 1
