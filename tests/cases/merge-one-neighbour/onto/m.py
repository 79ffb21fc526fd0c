def f(path):
    first_check(path)
    everything_else(path, 1, 2)
    and_more(3)
