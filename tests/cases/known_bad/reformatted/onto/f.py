def add(p):
    p.arg(
        "--size",
        default=8,
    )
    return p
