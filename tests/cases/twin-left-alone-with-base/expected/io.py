class Loader:
    def open(self, path):
        if path is None:
            return None
        self.count += 1
        return path


class Saver:
    def open(self, path):
        if path is None:
            return None
        self.total += 1
        self.log.append(path)
        return path
