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
    kept = commands.add_parser(
        "cache", help="where generated source is kept between runs, how many texts, how large", allow_abbrev=False
    )
    kept.add_argument("--clear", action="store_true", help="remove them all")
    covered = commands.add_parser(
        "coverage",
        help="which functions of NumPy and scipy.special have a gradient, and how each is reached",
        allow_abbrev=False,
    )
    covered.add_argument("--markdown", action="store_true", help="as the page docs/coverage.md")
    methods = commands.add_parser(
        "methods", help="what each method of torch.Tensor means of a Tensor, or why it is not here", allow_abbrev=False
    )
    methods.add_argument("--markdown", action="store_true", help="as the page docs/tensor-methods.md")
    chosen = parser.parse_args(arguments)  # leaves with status 2, and says why, where it does not understand
    if chosen.command is None:
        parser.print_help()
        return 0
    if chosen.command == "cache":
        return _cache(chosen.clear)
    try:
        if chosen.command == "coverage":
            from . import coverage

            entries = coverage.coverage()
            print(coverage.markdown(entries) if chosen.markdown else coverage.text(entries))
            return 0
        if chosen.command == "methods":
            from . import tensor_methods

            print(tensor_methods.markdown() if chosen.markdown else tensor_methods.text())
            return 0
        from .demo import demo

        return demo(sys.stdout)
    except BrokenPipeError:  # `... | head` has seen enough
        sys.stderr.close()
        return 0


def _cache(clear: bool) -> int:
    """Show the disk cache of generated source, or empty it."""
    from ..transforms.compiler.driver import cache

    place = cache.folder()
    if place is None:
        print("The cache is off: GRADSCRIBE_CACHE says so, or there is no home folder.")
        return 0
    if clear:
        removed = cache.clear(place)
        print(f"removed  {removed.entries} texts, {_size(removed.size)}")
    found, reason = cache.contents(place), cache.refused(place)
    print(f"folder   {place}")
    print(f"texts    {found.entries}")
    print(f"size     {_size(found.size)} of at most {_size(cache.limit())}")
    if reason is not None:
        print(f"unused   {reason}; nothing is read from it or written to it")
    return 0


def _size(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"
