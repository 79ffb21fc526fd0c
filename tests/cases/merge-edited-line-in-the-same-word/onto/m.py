x = foo(2)
y = 1
