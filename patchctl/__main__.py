"""``python -m patchctl``."""

from patchctl.cli import main

main()
