"""patchctl carries a series of patches on a pinned upstream, and proves what it did."""

__version__ = "0.1.0"
