"""`python -m gradscribe`, and the command `gradscribe`: hands over to the command line in explorer/."""

from __future__ import annotations

import sys

from . import __version__
from .explorer.cli import main

__all__ = ["run"]


def run() -> int:
    """What the command `gradscribe` runs; its exit status."""
    return main(__version__)


if __name__ == "__main__":
    sys.exit(run())
