"""`python -m gradscribe`: hands over to the command line in explorer/."""

from __future__ import annotations

import sys

from . import __version__
from .explorer.cli import main

if __name__ == "__main__":
    sys.exit(main(__version__))
