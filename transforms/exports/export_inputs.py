"""The inputs of an export: how each is described, which sizes are free, and numbers like them for the check."""

from __future__ import annotations

import dis
import itertools
import math
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...runtime.errors import CompileError
from ..compiler.schedule.signature import children, has_attributes
from ..trees import flatten, unflatten
from ..user_code.scope import all_code

__all__ = [
    "Axes",
    "array_text",
    "described",
    "drawn_like",
    "example",
    "free_sizes",
    "has_instances",
    "leaves_of",
    "reads_and_branches",
    "resized",
]

SMALL = 32  # entries: so many of an array are written down for the check; of a larger one, its range
_NAMES = ("n", "m", "k", "p", "q", "r", "s")
_SIZES = frozenset(["shape", "size", "len", "nbytes"])
_CHOOSING = frozenset(["min", "max", "sorted"])


class Axes:
    """The words for the sizes of the axes: a letter where the source serves every size, else the number."""

    def __init__(self, free: dict[int, int]) -> None:
        """`free` has the sizes that may vary, each with the largest size that does not fit (0 or 1)."""
        names = itertools.chain(_NAMES, (f"n{i}" for i in itertools.count(2)))
        self.names = {size: next(names) + (f">{least}" if least else "") for size, least in free.items()}

    def __call__(self, array: Any) -> str:
        return f"[{', '.join(self.names.get(size, str(size)) for size in array.shape)}]"


def described(value: Any, name: str, axes: Axes, draws: bool = False) -> Any:
    """An argument as the exported module writes it: a text for each leaf, in trees of dicts, lists and tuples.

    Generators of random numbers are for functions that may give another result at each call, and so `draws`.
    """
    if type(value) is dict:
        return {k: described(v, f"{name}[{k!r}]", axes, draws) for k, v in value.items()}
    if is_instance(value):
        return {f".{n}": described(v, f"{name}.{n}", axes, draws) for n, v in fields_of(value)}
    if type(value) in (list, tuple):
        return type(value)(described(v, f"{name}[{k}]", axes, draws) for k, v in enumerate(value))
    if draws and type(value) is np.random.Generator:
        return "Generator"
    if type(value) is np.ndarray:
        return f"{value.dtype}{axes(value)}"
    if isinstance(value, (float, complex, np.inexact)):
        return type(value).__name__
    if isinstance(value, (int, str, bytes, slice, np.generic, np.dtype, type, type(None), type(Ellipsis))):
        return f"= {value!r}"
    raise CompileError(
        f"gs.export: argument `{name}` is a {type(value).__name__}, which a module that imports NumPy alone cannot know. "
        "Export a function of dicts, lists, tuples, dataclasses, arrays and numbers: lambda x: f(x, that)."
    )


def is_instance(value: Any) -> bool:
    """Whether a value is a dataclass or a named tuple, of which a module knows the attributes and not the class."""
    return has_attributes(value) and not isinstance(value, type)


def fields_of(value: Any) -> list[tuple[str, Any]]:
    """The attributes of an instance, by their names."""
    return [(key[1:], part) for key, part in children(value) or ()]


def has_instances(value: Any) -> bool:
    """Whether there is an instance in a tree."""
    return is_instance(value) or any(has_instances(part) for _, part in children(value) or ())


def leaves_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of a tree of dicts, lists, tuples and instances, each with its path."""
    if is_instance(value):
        for field, part in fields_of(value):
            yield from leaves_of(part, (*path, f".{field}"))
    elif isinstance(value, (dict, list, tuple)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves_of(part, (*path, key))
    else:
        yield path, value


def resized(values: list[Any], sizes: dict[int, int]) -> list[Any]:
    """The arguments with other sizes: each axis of a size in `sizes` gets the other, cut off or repeated."""
    leaves, structure = flatten(values)

    def other(leaf: Any) -> Any:
        if type(leaf) is not np.ndarray:
            return leaf
        columns = leaf.flags.fnc
        for axis, size in enumerate(leaf.shape):
            if size in sizes:
                leaf = np.take(leaf, np.arange(sizes[size]) % size, axis)
        return np.asfortranarray(leaf) if columns else np.ascontiguousarray(leaf)

    return list(unflatten(structure, [other(leaf) for leaf in leaves]))


def reads_and_branches(function: types.FunctionType) -> bool:
    """Whether a function may decide by a size, which its text would not show: it reads sizes, and it compares."""
    names = {n for code in all_code(function.__code__) for n in code.co_names}
    if not names & _SIZES:
        return False
    opcodes = {i.opname for code in all_code(function.__code__) for i in dis.get_instructions(code)}
    decides = any(name.startswith(("POP_JUMP", "COMPARE", "CONTAINS")) for name in opcodes)
    return decides or bool(names & _CHOOSING)


def example(value: Any, indent: int, limit: int = SMALL) -> str:
    """An expression for an argument like this one: the numbers themselves, or drawn from their range where many."""
    if type(value) is dict:
        items = [f"{k!r}: {example(v, indent + 4, limit)}" for k, v in value.items()]
        return "{" + ", ".join(items) + "}"
    if type(value) in (list, tuple):
        items = [example(v, indent + 4, limit) for v in value]
        return f"[{', '.join(items)}]" if type(value) is list else f"({', '.join(items)}{',' * (len(items) == 1)})"
    if type(value) is np.ndarray:
        return array_text(value, indent) if value.size <= limit else _drawn(value)
    if type(value) is np.random.Generator:
        return "np.random.default_rng(0)"
    return f"np.{type(value).__name__}({_number(value)})" if isinstance(value, np.generic) else _number(value)


def array_text(array: Any, indent: int) -> str:
    """`np.array(...)` with every entry."""
    rows = str(_nested(array)).replace("'", "")
    if not array.size:
        return f"np.zeros({array.shape}, np.{_dtype(array)})"
    text = f"np.array({rows}, np.{_dtype(array)})"
    return f"\n{' ' * indent}".join(textwrap.wrap(text, max(40, 88 - indent)))


def _nested(array: Any) -> Any:
    return [_nested(row) for row in array] if array.ndim else _number(array[()])


def _dtype(array: Any) -> str:
    return "bool" if array.dtype.kind == "b" else str(array.dtype.name)


def _number(x: Any) -> str:
    """A number, or a static value, as text that evaluates to it."""
    if isinstance(x, np.generic) and not isinstance(x, (float, complex)):
        return str(x) if np.isfinite(x) else f"np.{str(x).lstrip('-')}" if str(x)[0] != "-" else f"-np.{str(x)[1:]}"
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float) and not math.isfinite(x):
        return "np.nan" if x != x else "np.inf" if x > 0 else "-np.inf"
    if isinstance(x, type):
        return f"np.{x.__name__}" if issubclass(x, np.generic) else x.__name__
    return f"np.dtype({x.name!r})" if isinstance(x, np.dtype) else repr(x)


def _drawn(array: Any) -> str:
    shape, dtype, kind = array.shape, _dtype(array), array.dtype.kind
    size: Any = shape[0] if len(shape) == 1 else shape
    if kind == "b":
        return f"rng.integers(0, 2, {size}).astype(bool)"
    if kind in "iu":
        return f"rng.integers({array.min()}, {int(array.max()) + 1}, {size}, np.{dtype})"
    if kind == "c":
        drawn = f"({_range(array.real, size)} + 1j * {_range(array.imag, size)})"
    else:
        drawn = _range(array, size)
    return drawn if dtype == "float64" else f"{drawn}.astype(np.{dtype})"


def _range(array: Any, size: Any) -> str:
    finite = array[np.isfinite(array)].astype(np.float64)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-300)) - 2)
    inner = [_rounded(math.ceil(low / step) * step), _rounded(math.floor(high / step) * step)]
    if not low <= inner[0] < inner[1] <= high:
        inner = [low, high]
    return f"rng.uniform({inner[0]!r}, {inner[1]!r}, {size})"


def _rounded(x: float) -> float:
    return float(f"{x:.12g}")


def drawn_like(expected: Any) -> Any:
    """An argument that fits an entry of the table of a module: numbers between 0.1 and 0.9, free sizes that differ."""
    rng = np.random.default_rng(0)
    if isinstance(expected, dict):
        return {k: drawn_like(v) for k, v in expected.items()}
    if isinstance(expected, (list, tuple)):
        return type(expected)(map(drawn_like, expected))
    if expected.startswith("= "):
        return eval(expected[2:], {"np": np, **vars(np)})  # of a file that was run already
    dtype, is_array, axes = expected.rstrip("]").partition("[")
    if not is_array:
        kind = {"float": float, "complex": complex}.get(dtype) or getattr(np, dtype)
        return kind(0.5)
    names = axes.split(", ") if axes else []
    shape = [int(a) if a.isdigit() else 3 + _NAMES.index(a.partition(">")[0]) if a[0] in _NAMES else 4 for a in names]
    if np.dtype(dtype).kind in "biu":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.uniform(0.1, 0.9, shape).astype(dtype)


Recapture = Callable[[list[Any]], str | None]


def free_sizes(values: list[Any], fixed: set[int], recapture: Recapture, text: str) -> dict[int, int]:
    """The sizes for which the text of other sizes is the same, each with the largest that does not fit (0 or 1).

    `recapture` gives the text for other arguments: None where they have none, "" where they tell nothing.
    """
    arrays = [leaf for leaf in flatten(values)[0] if type(leaf) is np.ndarray]
    sizes = [s for s in dict.fromkeys(s for a in arrays for s in a.shape) if s > 1 and s not in fixed]

    def same(others: dict[int, int]) -> bool | None:
        found = recapture(resized(values, others))
        return None if found == "" else found == text

    free: dict[int, int] = {}
    for size in sizes:
        other = {size - 1, size - 2, size + 1, 2 * size + 1 if size < 10**5 else size + 2}
        found = set[bool | None]()
        for s in sorted(other):
            if s > 1 and False not in found:
                found.add(same({size: s}))
        if False not in found and True in found:
            free[size] = 0 if same({size: 1}) else 1
    ordered = sorted(free)
    all_at_once = {size: size + 1 + k for k, size in enumerate(free)}
    turned = {size: other + 1 for size, other in zip(ordered, reversed(ordered), strict=True)}
    return {} if len(free) > 1 and False in (same(all_at_once), same(turned)) else free
