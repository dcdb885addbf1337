"""The command line: `gradscribe`, which `python -m gradscribe` is, too."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["main"]

OK, NO, USAGE, FAILED = 0, 1, 2, 3
_CODES = """exit codes:
  0  all is well
  1  the answer is no: gradients disagree, one is zero or NaN, the function runs eagerly, something is missing
  2  a command line that cannot be followed: no such file or function, --args that are none
  3  the function raised an error"""
_TARGET = "file.py:function or package.module:function"


def main(version: str, arguments: Sequence[str] | None = None, train: Callable[..., Any] | None = None) -> int:
    """Run one command; `_CODES` says what the exit status means. `train` is what that command calls, from a folder beside."""
    parser = _parser(version)
    chosen = parser.parse_args(arguments)  # leaves with status 2, and says why, where it does not understand
    if chosen.command is None:
        parser.print_help()
        return OK
    try:
        return _run(chosen, version, train)
    except BrokenPipeError:  # `... | head` has seen enough
        sys.stderr.close()
        return OK
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if chosen.debug:
            raise
        usage = type(error).__name__ == "UsageError"
        said = str(error) if usage else f"{type(error).__name__}: {error}{_where(error)}"
        print(f"gradscribe {chosen.command}: {said}", file=sys.stderr)
        return USAGE if usage else FAILED


def _where(error: BaseException) -> str:
    """The last line of the user's that an error went through, where its message does not name one."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    if not frames or "\n" in str(error):
        return ""
    return f"\n  at {frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}"


def _is_ours(filename: str) -> bool:
    root = __file__.rpartition("explorer")[0]
    return filename.startswith((root, "<", sys.base_prefix)) or "site-packages" in filename


def _run(chosen: argparse.Namespace, version: str, train: Callable[..., Any] | None) -> int:
    if chosen.command == "demo":
        return int(_module("demo").demo(sys.stdout))
    if chosen.command == "explore":
        choice = _module("attempt").Choice(chosen.target, chosen.args, chosen.of, chosen.argnums)
        _module("live").explore(choice, chosen.port, chosen.open, sys.stdout)
        return OK
    if chosen.command == "train":
        text, data, ok = _module("commands").train_command(chosen, train)
    else:
        text, data, ok = _HERE.get(chosen.command, _on_a_function)(chosen, version)
    print(json.dumps(_plain(data), indent=2, allow_nan=False) if chosen.json else text)
    return OK if ok else NO


def _module(name: str) -> Any:
    """A module of this folder; only what the command needs is loaded."""
    return importlib.import_module(f".{name}", __package__)


def _on_a_function(chosen: argparse.Namespace, version: str) -> Any:
    return _module("commands").COMMANDS[chosen.command](chosen)


def _coverage(chosen: argparse.Namespace, version: str) -> Any:
    coverage = _module("coverage")
    entries = coverage.coverage()
    if chosen.markdown:
        return coverage.markdown(entries), None, True
    found = coverage.chosen(entries, chosen.name, chosen.module, chosen.kind)
    listed = chosen.all or chosen.name is not None or chosen.module is not None or chosen.kind is not None
    return coverage.text(entries, found if listed else None), [e._asdict() for e in found], bool(found)


def _methods(chosen: argparse.Namespace, version: str) -> Any:
    methods = _module("tensor_methods")
    if chosen.markdown:
        return methods.markdown(), None, True
    found = [row for row in methods.rows() if chosen.name is None or chosen.name.lower() in row.name.lower()]
    missing = f"torch.Tensor has no method with {chosen.name!r} in its name"
    return methods.text(found) if found else missing, [row._asdict() for row in found], bool(found)


def _cache(chosen: argparse.Namespace, version: str) -> Any:
    """Show the disk cache of generated source, or empty it."""
    cache = importlib.import_module("..transforms.compiler.driver.cache", __package__)
    place = cache.folder()
    if place is None:
        return "The cache is off: GRADSCRIBE_CACHE says so, or there is no home folder.", {"folder": None}, True
    removed = cache.clear(place) if chosen.clear else None
    found, reason = cache.contents(place), cache.refused(place)
    lines = [] if removed is None else [f"removed  {removed.entries} sources, {_size(removed.size)}"]
    lines += [
        f"folder   {place}", f"sources  {found.entries}",
        f"size     {_size(found.size)} of at most {_size(cache.limit())}",
    ]  # fmt: skip
    if reason is not None:
        lines.append(f"unused   {reason}; nothing is read from it or written to it")
    data = {"folder": place, "texts": found.entries, "bytes": found.size, "limit": cache.limit(), "unused": reason}
    return "\n".join(lines), data | ({} if removed is None else {"removed": removed.entries}), True


def _size(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"


def _doctor(chosen: argparse.Namespace, version: str) -> Any:
    doctor = _module("doctor")
    checks = doctor.doctor(version)
    return doctor.text(checks), [check._asdict() for check in checks], all(check.ok is not False for check in checks)


_HERE: dict[str, Callable[[argparse.Namespace, str], Any]] = {
    "coverage": _coverage, "methods": _methods, "cache": _cache, "doctor": _doctor,
}  # fmt: skip


def _plain(value: Any) -> Any:
    """Return a value in JSON's types: arrays as lists, NaN, infinities and complex numbers as text."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, (int, str, type(None))) else str(value)


def _parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gradscribe",
        description="Exact gradients of NumPy functions, eagerly or as readable source.",
        epilog=f"{_CODES}\n\n`python -m gradscribe` is the same. In Python: import gradscribe as gs; help(gs.grad).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gradscribe {version}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")

    def command(name: str, about: str, *examples: str, json: bool = True) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name, help=about, description=about, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="\n".join([f"example{'s' * (len(examples) > 1)}:", *[f"  gradscribe {e}" for e in examples], "", _CODES]),
        )  # fmt: skip
        made.add_argument("--debug", action="store_true", help="show the traceback of an error")
        if json:
            made.add_argument("--json", action="store_true", help="print the answer as JSON")
        return made

    def on_a_function(made: argparse.ArgumentParser, several: bool = False, optional: bool = False) -> None:
        made.add_argument("target", nargs="?" if optional else None, help=_TARGET)
        told = "the arguments as in a call, in which np, gs, rng and all names of the file are known"
        told += "; may be given several times" if several else ""
        made.add_argument("--args", action="append" if several else "store", metavar="ARGUMENTS", help=told)

    def of_what(made: argparse.ArgumentParser) -> None:
        wanted = ("grad", "value_and_grad", "jacobian", "hessian", "function")
        made.add_argument("--of", choices=wanted, help="of a plain function: its gradient (as without), or another")
        made.add_argument("--argnums", help="what is differentiated: positions or names, with commas")

    command(
        "demo",
        "a function, its generated gradient, how exact it is, and a short training run (a few seconds)",
        "demo",
        json=False,
    )
    one = command(
        "source", "the NumPy source of a gradient",
        'source model.py:loss --args "np.ones(3), 2.0"', 'source model.py:loss --args "w0, x=data" --of hessian --argnums w',
    )  # fmt: skip
    on_a_function(one)
    of_what(one)
    one.add_argument("--fastmath", action="store_true", help="with what changes the last digits")
    one = command(
        "compare", "eager, compiled and finite-difference gradients side by side, with times",
        'compare model.py:loss --args "np.ones(3), 2.0"', 'compare model.py:loss --args "w0, data" --argnums w --json',
    )  # fmt: skip
    on_a_function(one)
    one.add_argument("--argnums", help="what is differentiated; all floating point arguments, if left away")
    one = command(
        "explain", "what the compiled function assumes after these calls, or why it runs eagerly",
        'explain model.py:loss --args "np.ones(3)" --args "np.ones(5)"',
    )  # fmt: skip
    on_a_function(one, several=True)
    of_what(one)
    one = command(
        "export", "a function and its gradient as a module that needs NumPy alone",
        'export model.py:loss --args "np.ones(3)" -o loss_grad.py',
        'export model.py:loss --args "np.ones(3)" -o loss_grad.c --target c',
    )  # fmt: skip
    on_a_function(one)
    one.add_argument("-o", "--output", help="the file to write; the screen, if left away")
    one.add_argument("--argnums", help="what is differentiated: positions or names, with commas")
    for name in ("hessian", "hvp", "jvp"):
        one.add_argument(f"--{name}", action="store_true", help=f"with loss_{name}, too")
    one.add_argument(
        "--target",
        dest="language",
        choices=("numpy", "c", "jax"),
        default="numpy",
        help="what the module is written for (numpy)",
    )
    one = command(
        "report", "a page to look at: source beside generated source, the graph, the values, whether all agree",
        'report model.py:loss --args "np.ones(3), 2.0"', 'report model.py:loss --args "w0, data" -o loss.html --argnums w',
    )  # fmt: skip
    on_a_function(one)
    of_what(one)
    one.add_argument("-o", "--output", default="report.html", help="the file to write (report.html)")
    one = command(
        "explore", "the page of `report`, served to this machine alone, and anew whenever the file is saved",
        "explore model.py", 'explore model.py:loss --args "np.ones(3), 2.0" --open', json=False,
    )  # fmt: skip
    on_a_function(one)
    of_what(one)
    one.add_argument("--port", type=int, default=0, help="of 127.0.0.1; a free one, if left away")
    one.add_argument("--open", action="store_true", help="open it in a browser")
    one = command(
        "why",
        "why a gradient is None, zero, NaN or infinite: the operation and your line",
        'why model.py:loss --args "np.zeros(3)"',
    )
    on_a_function(one)
    one.add_argument("--argnums", help="which gradients; all, if left away")
    one = command(
        "coverage", "which functions of NumPy and SciPy have a gradient, and how each is reached",
        "coverage", "coverage cholesky", "coverage --module numpy.linalg --kind refused",
    )  # fmt: skip
    one.add_argument("name", nargs="?", help="a function, or a part of its name; with * and ? as in file names")
    one.add_argument("--module", help="of one module alone: numpy.linalg")
    one.add_argument(
        "--kind", choices=("rule", "nature", "refused", "aside"), help="with a rule, without a gradient by nature ..."
    )
    one.add_argument("--all", action="store_true", help="one line a function, not the counts alone")
    one.add_argument("--markdown", action="store_true", help="as the page docs/coverage.md")
    one = command(
        "methods",
        "what each method of torch.Tensor means of a Tensor, or why it is not here",
        "methods",
        "methods scatter",
    )
    one.add_argument("name", nargs="?", help="a method, or a part of its name")
    one.add_argument("--markdown", action="store_true", help="as the page docs/tensor-methods.md")
    one = command(
        "cache", "where generated source is kept between runs, how many sources, how large", "cache", "cache --clear"
    )
    one.add_argument("--clear", action="store_true", help="remove them all")
    command(
        "doctor", "versions, what is missing, and whether gradients, compiled code and the disk cache work", "doctor"
    )
    one = command(
        "bench", "the times of a function, its gradient and its compiled gradient; of three of ours without a target",
        "bench", 'bench model.py:loss --args "np.ones(1000)"',
    )  # fmt: skip
    on_a_function(one, optional=True)
    one.add_argument("--seconds", type=float, default=0.2, help="how long each is called for (0.2)")
    one = command(
        "train", "minimise the loss of a file over its data in shards, on a cluster of this machine or another (Dask)",
        "train large_logreg.py --workers 2", "train model.py:loss --scheduler tcp://10.0.0.1:8786 --save-to run --resume",
    )  # fmt: skip
    one.add_argument(
        "target",
        help="file.py, or file.py:function where the loss has another name; `params` and `data` stand there, too",
    )
    one.add_argument("--workers", type=int, help="how many processes of this machine work (one for each core)")
    one.add_argument("--memory", default="auto", help="how much memory each of them may take: 400MB")
    one.add_argument("--scheduler", help="the address of a running Dask cluster, in place of one on this machine")
    one.add_argument("--optimizer", choices=("adam", "sgd"), help="(adam)")
    one.add_argument("--lr", type=float, help="the size of a step (what the file says, or 0.01)")
    one.add_argument("--steps", type=int, help="how many steps in all (what the file says, or 100)")
    one.add_argument("--save-to", help="the folder for checkpoints")
    one.add_argument("--save-every", type=int, help="after how many steps one is written (10)")
    one.add_argument(
        "--resume", action="store_true", help="go on from the newest checkpoint in --save-to, if there is one"
    )
    return parser
