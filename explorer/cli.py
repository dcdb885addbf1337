"""The command line: `python -m gradscribe`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(version: str, arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, or 2 for a command line that it does not understand."""
    parser = argparse.ArgumentParser(
        prog="python -m gradscribe",
        description="Exact gradients of NumPy functions, eagerly or as readable source.",
        epilog="In Python: import gradscribe as gs; help(gs.grad). See README.md for a tour.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gradscribe {version}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    commands.add_parser(
        "demo",
        help="a function, its generated gradient, how exact it is, and a short training run (a few seconds)",
        allow_abbrev=False,
    )
    chosen = parser.parse_args(arguments)  # leaves with status 2, and says why, where it does not understand
    if chosen.command is None:
        parser.print_help()
        return 0
    from .demo import demo

    try:
        return demo(sys.stdout)
    except BrokenPipeError:  # `... | head` has seen enough
        sys.stderr.close()
        return 0
