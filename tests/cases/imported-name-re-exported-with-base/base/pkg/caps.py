def is_new():
    return True


def is_old():
    return False
