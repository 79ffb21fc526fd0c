a = 1


b = 2
x = 9


c = 3
