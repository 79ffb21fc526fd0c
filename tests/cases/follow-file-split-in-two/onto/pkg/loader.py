import os


class Loader:
    def __init__(self, root):
        self.root = root

    def all(self):
        return sorted(os.listdir(self.root))
