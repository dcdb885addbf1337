"""Targets of commands: `file.py:function` or `package.module:function`, and the arguments that `--args` spells."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..transforms.derivatives.gradient import grad, value_and_grad
from ..transforms.derivatives.jacobian import jacobian
from ..transforms.derivatives.second_order import hessian
from ..transforms.transform import Transform

__all__ = ["OF", "Call", "Target", "UsageError", "arguments_by_name", "call_of", "last_function", "load", "of"]

OF = {"grad": grad, "value_and_grad": value_and_grad, "jacobian": jacobian, "hessian": hessian, "function": None}


class UsageError(Exception):
    """A command line that cannot be followed."""


class Target(NamedTuple):
    """A function of the user's, the module that it stands in, and its name there."""

    function: Any
    module: Any
    name: str


class Call(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def load(text: str) -> Target:
    """The function that a target names; its file runs as a module, not as `__main__`."""
    place, colon, name = text.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(f"a target is file.py:function or package.module:function, not {text!r}")
    module = _file(Path(place)) if place.endswith(".py") else _module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no function `{name}`; it has {', '.join(_functions(module)) or 'none'}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"`{name}` of {place} is no function, but a {type(found).__name__}")
    return Target(found, module, name)


def last_function(path: str) -> Target:
    """The function that a file defines last."""
    module = _file(Path(path))
    names = _functions(module)
    if not names:
        raise UsageError(f"{path} defines no function")
    return Target(getattr(module, names[-1]), module, names[-1])


def arguments_by_name(target: Target) -> Call | None:
    """The values of a file that bear the names of the parameters; None where one that is needed is missing."""
    needed, known = _needed(target.function), vars(target.module)
    return Call(tuple(known[name] for name in needed), {}) if all(name in known for name in needed) else None


def _file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))  # as for `python file.py`
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no file of Python source")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> Any:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            raise UsageError(f"there is no module {name}; of a file it is file.py:function") from None
        raise


def _functions(module: Any) -> list[str]:
    """The names of the functions that a module defines itself."""
    return [
        name for name, value in vars(module).items()
        if callable(value) and not isinstance(value, type) and getattr(value, "__module__", None) == module.__name__
    ]  # fmt: skip


def call_of(target: Target, text: str | None) -> Call:
    """The arguments that `--args` spells, as between the brackets of a call: names of the file, np, gs and rng are known."""
    if text is None:
        if _needed(target.function):
            raise UsageError(
                f"`{target.name}` takes ({', '.join(_needed(target.function))}): give them as in a call, "
                f'--args "{", ".join(["np.ones(3)"] * len(_needed(target.function)))}"'
            )
        return Call((), {})
    face = sys.modules[__name__.partition(".")[0]]
    known = {**vars(target.module), "rng": np.random.default_rng(0)}
    space = {"np": np, "gs": face, "_gradscribe_call": lambda *args, **kwargs: Call(args, kwargs), **known}
    try:
        code = compile(f"_gradscribe_call({text}\n)", "--args", "eval")
    except SyntaxError as error:
        raise UsageError(f"--args {text!r} are no arguments of a call: {error.msg}") from None
    try:
        found: Call = eval(code, space)
    except Exception as error:
        raise UsageError(f"--args {text!r}: {type(error).__name__}: {error}") from error
    return found


def _needed(function: Any) -> list[str]:
    """The parameters without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    given = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in given]


def of(target: Target, wanted: str | None, argnums: str | None) -> Any:
    """Return the target of a command: the gradient of a plain function, unless `--of` says otherwise; a transform as it is."""
    if isinstance(target.function, Transform) and wanted is None:
        if argnums is not None:
            raise UsageError(
                f"`{target.name}` is {target.function!r}, which says itself what it differentiates: leave --argnums"
            )
        return target.function
    made = OF[wanted or "grad"]
    if made is None:
        return target.function
    return functools.partial(made, argnums=places(argnums))(target.function) if argnums else made(target.function)


def places(text: str | None) -> Any:
    """`--argnums 0,w` as positions and names; one alone is no tuple."""
    if text is None:
        return 0
    found = [int(part) if part.lstrip("-").isdigit() else part for part in text.replace(" ", "").split(",") if part]
    if not found:
        raise UsageError("--argnums is a position or a name, or several with commas: --argnums 0,w")
    return found[0] if len(found) == 1 and "," not in text else tuple(found)
