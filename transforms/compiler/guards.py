"""What a specialisation assumes of its arguments and of what it read from outside, as straight Python."""

from __future__ import annotations

import builtins
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..scope import Path

__all__ = ["compile_check", "same", "signature_key"]


def same(a: Any, b: Any) -> bool:
    """Whether a value read from outside is what it was: type, value and, of a float, sign and NaN."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, np.floating)):
        return bool(a == b and math.copysign(1, a) == math.copysign(1, b)) or bool(a != a and b != b)
    if isinstance(a, (complex, np.complexfloating, tuple)):
        return repr(a) == repr(b)
    return bool(a == b)


def signature_key(leaves: list[Any]) -> tuple[Any, ...]:
    """What the leaves of the arguments have in common with those of other calls of one specialisation."""
    key: list[Any] = []
    for v in leaves:
        if type(v) is np.ndarray:
            key.append((v.dtype, v.shape, v.strides))
        elif type(v) is float or type(v) is complex:
            key.append(type(v))
        elif isinstance(v, (np.floating, np.complexfloating)):
            key.append((type(v), "scalar"))
        else:
            fixed = isinstance(v, (int, str, bytes, np.generic, type(None), np.dtype))
            key.append((type(v), v if fixed else repr(v) if type(v) is slice else id(v)))
    return tuple(key)


def compile_check(
    names: list[str], positional: int, args: list[Any], reads: dict[Path, Any], arrays: dict[Path, Any]
) -> Callable[..., bool]:
    """A function of the arguments that tells whether a specialisation may serve them."""
    space: dict[str, Any] = {"ndarray": np.ndarray, "same": same, "builtin": vars(builtins)}
    conditions: list[str] = []

    def constant(value: Any) -> str:
        name = f"c{len(space)}"
        space[name] = value
        return name

    def tree(text: str, value: Any) -> None:
        kind = type(value)
        if kind is np.ndarray:
            conditions.append(f"type({text}) is ndarray and {text}.dtype == {constant(value.dtype)}")
            conditions.append(f"{text}.shape == {value.shape!r} and {text}.strides == {value.strides!r}")
            return
        conditions.append(f"type({text}) is {constant(kind)}")
        if kind is dict:
            conditions.append(f"list({text}) == {constant(list(value))}")
            for k, v in value.items():
                tree(f"{text}[{constant(k)}]", v)
        elif isinstance(value, (list, tuple)):
            conditions.append(f"len({text}) == {len(value)}")
            for j, v in enumerate(value):
                tree(f"{text}[{j}]", v)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            for f in dataclasses.fields(value):
                tree(f"{text}.{f.name}", getattr(value, f.name))
        elif kind is float or kind is complex or isinstance(value, (np.floating, np.complexfloating)):
            pass  # a run-time input
        elif isinstance(value, (int, str, bytes, np.generic, np.dtype, slice)):
            conditions.append(f"{text} == {constant(value)}")
        else:
            conditions.append(f"{text} is {constant(value)}")

    for name, value in zip(names, args, strict=True):
        tree(name, value)
    for path, expect in reads.items():
        conditions.append(_read_condition(path, expect, constant))
    for path, array in arrays.items():
        tree(f"{constant(path)}.read()", array)
    parameters = ", ".join([*names[:positional], *(["*", *names[positional:]] if names[positional:] else [])])
    text = (
        f"def check({parameters}):\n    return (\n        "
        + "\n        and ".join(conditions or ["True"])
        + "\n    )\n"
    )
    exec(compile(text, "<plan of a check>", "exec"), space)
    check: Callable[..., bool] = space["check"]
    return check


def _read_condition(path: Path, expect: Any, constant: Callable[[Any], str]) -> str:
    kind, holder, name = path
    if isinstance(expect, dict) and not expect:
        return f"not {constant(holder)}.{name}"
    expected = constant(expect)
    if kind == "global":
        if name not in holder:
            return f"{name!r} not in {constant(holder)} and builtin.get({name!r}) is {expected}"
        read = f"{constant(holder)}.get({name!r})"
    elif kind == "cell":
        read = f"{constant(holder)}.cell_contents"
    else:
        read = f"{constant(holder)}.{name}"
    number = isinstance(expect, (int, float, complex, str, bytes, tuple, dict, slice, np.generic)) and not isinstance(
        expect, bool
    )
    return f"same({read}, {expected})" if number else f"{read} is {expected}"
