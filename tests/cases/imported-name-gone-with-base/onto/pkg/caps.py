def is_newer():
    return True


def is_old():
    return False
