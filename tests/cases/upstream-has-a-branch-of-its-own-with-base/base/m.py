import os


def pick(args):
    args.size = 1
    if is_old():
        args.kernel = 'old'
        args.block = 64
    elif args.wide:
        args.kernel = 'wide'
    finish(args)
