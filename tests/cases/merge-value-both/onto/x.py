x = foo(1, 3)
y = 1
