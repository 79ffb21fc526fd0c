from tests.moving import bare, move, moving, offline
from tests.projects import bench, lab

__all__ = ["bare", "bench", "lab", "move", "moving", "offline"]
