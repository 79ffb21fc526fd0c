x = foo(1)
y = 1
