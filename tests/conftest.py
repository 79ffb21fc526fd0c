from tests.projects import bench, lab

__all__ = ["bench", "lab"]
