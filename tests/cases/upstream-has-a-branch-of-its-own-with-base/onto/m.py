import os


def pick(args):
    args.size = 1
    if is_oldest(args):
        args.kernel = 'old'
        args.block = 64
    elif is_new():
        args.kernel = 'plain'
        args.block = 128
    elif args.wide:
        args.kernel = 'wide'
    finish(args)
