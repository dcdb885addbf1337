"""`%load_ext gradscribe`: the cell magic `%%gradscribe`, which runs a cell and shows the gradient of its last function."""

from __future__ import annotations

import argparse
import ast
import shlex
import types
from typing import Any

from ..transforms.checks.compare import compare
from ..transforms.compiler.source import source
from .graph import graph
from .targets import OF, Target, UsageError, arguments_by_name, call_of, of

__all__ = ["load_ipython_extension", "shown_of"]

SHOWN = {"source": source, "graph": graph, "compare": compare}


def load_ipython_extension(ipython: Any) -> None:
    """Give a notebook the magic `%%gradscribe`, and `%gradscribe`, which says its options."""

    def gradscribe(line: str, cell: str | None = None) -> None:
        """Run a cell and show the gradient of the function that it defines last: `%gradscribe` prints the options."""
        if cell is None:  # IPython refuses `%%gradscribe -h` without a body
            _parser().print_help()
            return
        try:
            chosen = _parser().parse_args(shlex.split(line))
        except SystemExit:  # argparse has said what is wrong
            return
        result = ipython.run_cell(cell)
        if not result.success:
            return
        try:
            shown = shown_of(cell, ipython.user_ns, chosen)
        except UsageError as error:
            print(f"%%gradscribe: {error}")
            return
        for each in shown:
            data, metadata = ipython.display_formatter.format(each)
            ipython.display_pub.publish(data, metadata)

    ipython.register_magic_function(gradscribe, "line_cell", "gradscribe")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="%%gradscribe",
        description="Run a cell and show the gradient of the function that it defines last.",
    )
    parser.add_argument("--args", help="the arguments as in a call; as without: what bears the parameters' names")
    parser.add_argument("--of", choices=tuple(OF), help="the gradient (as without), or another")
    parser.add_argument("--argnums", help="what is differentiated: positions or names, with commas")
    parser.add_argument(
        "--show",
        default="source",
        help="source, graph and compare, or some of them, with commas: the source, as without",
    )
    return parser


def shown_of(cell: str, names: dict[str, Any], chosen: argparse.Namespace) -> list[Any]:
    """Return what is shown of a cell that has run; `names` are those that the notebook knows."""
    defined = [node.name for node in ast.parse(_as_python(cell)).body if isinstance(node, ast.FunctionDef)]
    if not defined:
        raise UsageError("the cell defines no function: write one with `def` at its top level")
    unknown = [part for part in chosen.show.split(",") if part not in SHOWN]
    if unknown:
        raise UsageError(f"--show takes {', '.join(SHOWN)}, not {', '.join(unknown)}")
    target = Target(names[defined[-1]], types.SimpleNamespace(**names), defined[-1])
    call = arguments_by_name(target) if chosen.args is None else None
    call = call_of(target, chosen.args) if call is None else call
    function = of(target, chosen.of, chosen.argnums)
    plain = target.function if chosen.argnums is None else function
    return [
        SHOWN[part](plain if part == "compare" else function, *call.args, **call.kwargs)
        for part in chosen.show.split(",")
    ]


def _as_python(cell: str) -> str:
    """The cell without lines of magic and of the shell."""
    return "\n".join("" if row.startswith(("%", "!", "?")) else row for row in cell.splitlines())
