"""`python -m gradscribe`, and the command `gradscribe`: hands over to the command line in explorer/."""

from __future__ import annotations

import sys
from typing import Any

from . import __version__
from .explorer.cli import main

__all__ = ["run"]


def _train(*args: Any, **kwargs: Any) -> Any:
    from .scale.train import train  # which few commands need

    return train(*args, **kwargs)


def run() -> int:
    """What the command `gradscribe` runs; its exit status."""
    return main(__version__, train=_train)


if __name__ == "__main__":
    sys.exit(run())
