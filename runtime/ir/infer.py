"""Inference of the types of a call's results from those of its arguments: the op runs on stand-ins that are as small as possible.

So NumPy itself says what it gives: kinds, dtypes, the order of axes in memory. Only lengths are scaled back. An op whose
results a run on small arrays does not show states them beside its rule (`types=`, see `result_types.py`).
"""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...unpatched import np
from ..arrays import PLACE, computing_with
from ..ops import Kind, Op
from ..result_types import BY_VALUE, KIND, LENGTHS, RUN, UNKNOWN, How
from .graph import Type, Value, type_of, values_in

__all__ = ["Inferred", "fits", "infer", "kind_here", "lengths_among", "stated"]

SMALL = 64  # a call on no more elements than these is run at its own lengths
_KEPT = 3  # lengths up to this one stay as they are: 1 broadcasts, and np.cross asks for 2 or 3
_MOST = 4096  # no run makes more elements than these
_KINDS = ("array", "scalar", "python")
# Parameters that hold data or places, not lengths, ranks or axes.
_DATA = frozenset([
    "a", "acc", "b", "bins", "condition", "constant_values", "data", "edges", "end_values", "fill_value", "fp", "g",
    "in1", "in2", "index", "indices", "indptr", "initial", "input", "keys", "kth", "left", "mean", "multi_index",
    "order", "out", "piv", "q", "right", "shift", "test_elements", "top", "v", "w", "weights", "where", "x", "xp", "xs",
    "y", "z",
])  # fmt: skip


class Inferred(NamedTuple):
    """The inferred type of a result: a Type, but for lengths and strides that do not follow from the arguments."""

    kind: str
    dtype: Any
    shape: tuple[int | None, ...]
    strides: tuple[int, ...] | None

    def __str__(self) -> str:
        if self.kind != "array":
            return f"{self.kind} {self.dtype.name}"
        sizes = ", ".join(["?" if n is None else str(n) for n in self.shape])
        return f"{self.dtype.name}[{sizes}]" + ("" if self.strides is None else f" with strides {self.strides}")


def infer(op: Op, args: tuple[Any, ...]) -> tuple[Inferred, ...] | None:
    """Return the types of the results of a call; None where nothing is known of them."""
    if op.types is UNKNOWN or op.effect:
        return None
    lengths = {v.type.kind for v in lengths_among(op, args)}
    if "array" in lengths:
        return None
    try:
        if PLACE.module is None:
            return _inferred(op, _key(args), bool(lengths))
        with computing_with(None):  # stand-ins are NumPy's
            found = _inferred(op, _key(args), bool(lengths))
    except _UnknownError:
        return None
    of_arrays = any(v.type.kind == "array" for v in values_in(args))
    return tuple(map(_on_device, found)) if of_arrays and found is not None else found


def _on_device(t: Inferred) -> Inferred:
    """The type of CuPy's result where that of NumPy's is known: an array without axes in place of a scalar."""
    return Inferred("array", t.dtype, (), ()) if t.kind == "scalar" else t


def kind_here(t: Any) -> Any:
    """A type; where CuPy computes, a number of NumPy's counts as the array without axes that stands beside it there."""
    return t._replace(kind="array") if PLACE.module is not None and t.kind == "scalar" else t


def fits(type: Type, inferred: Inferred) -> bool:
    """Whether the type of a value is the one that was inferred, as far as that is known."""
    return (
        (kind_here(type).kind, type.dtype, len(type.shape))
        == (kind_here(inferred).kind, inferred.dtype, len(inferred.shape))
        and all(expected in (None, n) for n, expected in zip(type.shape, inferred.shape, strict=True))
        and (inferred.strides in (None, type.strides) or PLACE.module is not None)  # CuPy may lay out results otherwise
    )


def lengths_among(op: Op, args: tuple[Any, ...]) -> Iterator[Value]:
    """The whole numbers of NumPy's, and arrays of them, among the arguments of a call from which lengths may follow."""
    if op.kind is Kind.elementwise:
        return
    for param, arg in zip(op.params, args, strict=False):
        if param.name not in _DATA:
            parts: tuple[Any, ...] = (arg,)
        elif op.base.fn is operator.getitem:
            parts = tuple([p for p in (arg if type(arg) is tuple else (arg,)) if isinstance(p, slice)])
        else:
            continue
        yield from (v for v in values_in(parts) if v.type.kind in ("array", "scalar") and v.type.dtype.kind in "iu")


def stated(op: Op, args: tuple[Any, ...]) -> How | None:
    """Return what an op states of the results of a call: LENGTHS, BY_VALUE ...; None where a function gives their type."""
    fact: Any = op.types
    if not isinstance(fact, How):
        names = fact.__code__.co_varnames[: fact.__code__.co_argcount]
        asked = {k: x for k, (p, x) in enumerate(zip(op.params, args, strict=True)) if p.name in names}
        try:
            fact = op.ask(fact, tuple([_thawed(_key(x), _ghost) if k in asked else x for k, x in enumerate(args)]))
        except Exception:  # it looks at what no stand-in shows
            fact = BY_VALUE if any(v.type.dtype == bool for x in asked.values() for v in values_in((x,))) else None
    return fact if isinstance(fact, How) else None


class _UnknownError(Exception):
    """Nothing is known of the results."""


def _key(x: Any) -> Any:
    """An argument in hashable form: the type in place of a value, a constant with its class (1, 1.0 and True are equal)."""
    if isinstance(x, Value):
        if x.type.kind not in _KINDS or x.type.dtype.kind not in "biufc":
            raise _UnknownError
        return x.type
    if type(x) in (tuple, list):
        return (type(x), *[_key(e) for e in x])
    if isinstance(x, slice):
        return (slice, _key(x.start), _key(x.stop), _key(x.step))
    try:
        hash(x)
    except TypeError:
        raise _UnknownError from None
    return (None, type(x), x)


def _thawed(key: Any, make: Any) -> Any:
    """The argument of a key, with `make` of each type in it."""
    if isinstance(key, Type):
        return make(key)
    form, *parts = key
    if form is None:
        return parts[1]
    elements = [_thawed(part, make) for part in parts]
    return slice(*elements) if form is slice else form(elements)


def _types_in(key: Any) -> Iterator[Type]:
    if isinstance(key, Type):
        yield key
    elif key[0] is not None:
        for part in key[1:]:
            yield from _types_in(part)


@functools.lru_cache(maxsize=4096)
def _inferred(op: Op, key: Any, by_number: bool) -> tuple[Inferred, ...] | None:
    types = list(_types_in(key))
    sized = by_number or any(t.kind == "python" and t.dtype.kind == "i" for t in types)
    fact: Any = op.types
    if not isinstance(fact, How):
        try:
            fact = op.ask(fact, _thawed(key, _ghost))
        except Exception:  # the arguments do not fit each other, as the run has shown or will show
            return None
        if not isinstance(fact, How):
            return _without_lengths((_type(fact),)) if sized else (_type(fact),)
    if fact is BY_VALUE and not types:
        fact = RUN
    scale = _scale(types) if sum([math.prod(t.shape) for t in types]) > SMALL else {}
    if fact in (UNKNOWN, KIND):
        return None
    if fact is LENGTHS and not by_number and not (scale and any(map(_has_rows, key[1:]))):
        return _run(op, key, scale)
    if fact is RUN and not sized and op.memory_of(_thawed(key, Value)).how == "view":
        return _run(op, key, {}, _ghost)  # a view costs nothing, whatever its size
    if _cost(types, scale) * _multiplied(key) > (_MOST if types else SMALL):
        return None
    found = _run(op, key, scale)
    return found if found is None or (fact is RUN and not sized and not scale) else _without_lengths(found)


def _without_lengths(types: tuple[Inferred, ...]) -> tuple[Inferred, ...]:
    return tuple([t._replace(shape=(None,) * len(t.shape), strides=None) if t.kind == "array" else t for t in types])


def _cost(types: list[Type], scale: dict[int, int]) -> int:
    return max(1, sum([math.prod([scale.get(n, n) for n in t.shape]) for t in types]))


def _has_rows(key: Any) -> bool:
    """Whether an argument holds a sequence that may be an array of constants: its length could be taken for a scaled one."""
    if isinstance(key, Type) or key[0] is None:
        return False
    return (key[0] is not slice and len(key) > _KEPT + 1) or any(map(_has_rows, key[1:]))


def _multiplied(key: Any) -> int:
    """Return the number of elements that whole numbers among the constants may ask for: sizes, repeats and the like."""
    if isinstance(key, Type):
        return 1
    form, *parts = key
    if form is None:
        return max(1, abs(int(parts[1]))) if isinstance(parts[1], (int, np.integer)) else 1
    return math.prod(map(_multiplied, parts))


def _scale(types: list[Type]) -> dict[int, int]:
    """A small length for each length, in the same order, different for different ones."""
    lengths = sorted({n for t in types for n in t.shape if n > _KEPT})
    return {n: _KEPT + 1 + k for k, n in enumerate(lengths)}


def _run(op: Op, key: Any, scale: dict[int, int], make: Any = None) -> tuple[Inferred, ...] | None:
    """The types of what a call gives on stand-ins with the lengths that `scale` has for theirs."""
    for turn in range(1 if make else 3):
        args, kwargs = op.call_form(_thawed(key, make or (lambda t: _filled(t, scale, turn))))  # noqa: B023
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = op.fn(*args, **kwargs)
        except Exception:  # a stand-in may be out of the domain, and what an op raises then is its own affair
            continue
        back = {small: n for n, small in scale.items()}
        results = (results,) if op.n_out == 1 else results
        return tuple([_scaled_back(type_of(r), back) if back else _type(r) for r in results])
    return None


def _type(result: Any) -> Inferred:
    return Inferred(*type_of(result))


def _scaled_back(t: Type, back: dict[int, int]) -> Inferred:
    """The type at the true lengths, laid out in the same order of axes."""
    if not t.shape or t.kind != "array":
        return Inferred(*t)
    order = sorted(range(len(t.shape)), key=lambda k: (-abs(t.strides[k]), -t.shape[k]))
    shape = tuple([back.get(n, n) for n in t.shape])
    dense = _packed(t.shape, t.dtype.itemsize, order) == t.strides
    return Inferred(t.kind, t.dtype, shape, _packed(shape, t.dtype.itemsize, order) if dense else None)


def _packed(shape: tuple[int, ...], itemsize: int, order: list[int]) -> tuple[int, ...]:
    """The strides of an array without gaps whose axes lie in an order, the outermost first."""
    strides, step = [0] * len(shape), itemsize
    for k in reversed(order):
        strides[k] = step
        step *= max(shape[k], 1)
    return tuple(strides)


def _ghost(t: Type) -> Any:
    """An array of a type, made of zeros that the system lays out when they are read: it costs nothing until then."""
    if t.kind != "array":
        return _number(t, 0)
    span = [step * (n - 1) for n, step in zip(t.shape, t.strides, strict=True)] if 0 not in t.shape else []
    first = -sum([s for s in span if s < 0])
    memory = np.zeros(first + sum([s for s in span if s > 0]) + t.dtype.itemsize, np.uint8)
    return np.ndarray(t.shape, t.dtype, memory, first, t.strides)


def _number(t: Type, turn: int) -> Any:
    number = ((0.5, 1.5, 0.0) if t.dtype.kind in "fc" else (1, 0, 2))[turn]
    if t.kind == "scalar":
        return t.dtype.type(number)
    return {"b": bool, "i": int, "f": float, "c": complex}[t.dtype.kind](number)


def _filled(t: Type, scale: dict[int, int], turn: int) -> Any:
    """A stand-in for a value: first of one number all through, then of different ones, with matrices that are regular."""
    if t.kind != "array":
        return _number(t, turn)
    shape = tuple([scale.get(n, n) for n in t.shape])
    found = _ghost(t if shape == t.shape else t._replace(shape=shape, strides=_scaled(t, shape)))
    found.fill(_number(t._replace(kind="scalar"), turn))
    if turn and found.ndim and t.dtype.kind in "fc":
        found += np.linspace(0, 0.1, shape[-1])
        if found.ndim > 1:
            n = min(shape[-2:])
            found[..., range(n), range(n)] += 2
    return found


def _scaled(t: Type, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a stand-in of other lengths: its axes lie in the same order and direction, with a gap if there was one."""
    order = sorted(range(len(shape)), key=lambda k: (-abs(t.strides[k]), -t.shape[k]))
    if _packed(t.shape, t.dtype.itemsize, order) == t.strides:
        return _packed(shape, t.dtype.itemsize, order)
    wide = _packed(tuple([n if s else 1 for n, s in zip(shape, t.strides, strict=True)]), 2 * t.dtype.itemsize, order)
    return tuple([w * int(np.sign(s)) for w, s in zip(wide, t.strides, strict=True)])
