import os


def pick(args):
    args.size = 2
    if is_new():
        log.info('new')
        args.kernel = 'plain'
        args.block = 128
    elif is_old():
        args.kernel = 'old'
        args.block = 64
    elif args.wide:
        args.kernel = 'wide'
    finish(args)
