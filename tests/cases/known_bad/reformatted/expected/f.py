def add(p):
    p.arg(
        "--size",
        default=16,
    )
    return p
