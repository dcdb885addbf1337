"""Stand-ins for makers of arrays that look for no Tensors: np.r_ and np.c_, np.mgrid, np.vectorize, np.require."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.registry import require
from ...runtime.rules.elementwise import astype
from ...runtime.rules.support import happens
from ...tracer.core.dispatch import apply, has_tensor, stack_nested, unwrap
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import capturing, refuse
from .casting import CASTS

__all__ = ["JOINERS", "chkfinite", "fromfunction", "required", "vectorize", "vectorized"]


class _Joiner:
    """np.r_ or np.c_, in whose brackets Tensors may stand."""

    def __init__(self, original: Any, axis: int, ndmin: int, first: int) -> None:
        self._original, self._words = original, (axis, ndmin, first)

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        if not has_tensor(key) and not capturing():
            return self._original[key]
        axis, ndmin, first = self._words
        parts = list(key) if isinstance(key, tuple) else [key]
        if isinstance(parts[0], str):
            words = parts.pop(0)
            if not re.fullmatch(r"-?\d+(,-?\d+){0,2}", words):
                raise ValueError(f"unknown special directive {words!r}: matrices cannot hold Tensors")
            given = [int(w) for w in words.split(",")]
            axis, ndmin, first = given + [axis, ndmin, -1][len(given) :]
        made = [self._part(part, ndmin, first) for part in parts]
        kinds = [p if isinstance(p, (int, float, complex)) else m.dtype for p, m in zip(parts, made, strict=True)]
        exact = np.result_type(*kinds)
        return np.concatenate([m if m.dtype == exact else astype(m, exact) for m in made], axis=axis)

    def _part(self, part: Any, ndmin: int, first: int) -> Any:
        if isinstance(part, slice):
            part, inner = _range(part), 1
            moved = ndmin > 1 and first != -1
            found = np.reshape(part, (*(1,) * (ndmin - 1), -1))
            return np.swapaxes(found, -1, first) if moved else found
        inner = np.ndim(part)
        found = _array(part)
        more = ndmin - inner
        found = np.reshape(found, (*(1,) * more, *np.shape(found))) if more > 0 else found
        if first == -1 or more <= 0:
            return found
        k = first if first >= 0 else first + more + 1
        every = list(range(ndmin))
        return np.transpose(found, every[:k] + every[more:] + every[k:more])


def _range(part: slice) -> Any:
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if isinstance(step, complex):
        return apply(require(np.linspace), (start, part.stop, int(abs(step))), {})
    return apply(require(np.arange), (start, part.stop, step), {})


def _array(value: Any) -> Any:
    if isinstance(value, Operand):
        return value
    return stack_nested(value) if has_tensor(value) else apply(require(np.array), (value,), {})


class _Grid:
    """np.mgrid or np.ogrid, whose arrays a capture knows, and in whose brackets Tensors may stand."""

    def __init__(self, original: Any, sparse: bool) -> None:
        self._original, self._sparse = original, sparse

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        if not (capturing() or has_tensor([(p.start, p.stop, p.step) for p in parts])):
            return self._original[key]
        if not all(isinstance(p.stop, (int, float, Operand)) for p in parts):
            return self._original[key]  # whose error is raised
        starts = [0 if p.start is None else p.start for p in parts]
        steps = [1 if p.step is None else p.step for p in parts]
        whole = all(isinstance(n, int) for p, *ends in zip(parts, starts, steps, strict=True) for n in (*ends, p.stop))
        if whole and isinstance(key, tuple) and not self._sparse and not any(starts) and set(steps) <= {1}:
            return apply(require(np.indices), (tuple([p.stop for p in parts]),), {})
        if not isinstance(key, tuple) and not isinstance(steps[0], complex):
            return _range(key)
        axes = [_places(a, p.stop, h, int if whole else float) for a, p, h in zip(starts, parts, steps, strict=True)]
        if not isinstance(key, tuple):
            return axes[0]
        made = np.meshgrid(*axes, indexing="ij", sparse=self._sparse)
        return tuple(made) if self._sparse else np.stack(made)


def _places(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """The places of one axis of a grid, from start to stop: so many (a complex step), or at steps. In NumPy's own order."""
    if isinstance(step, complex):
        count = int(abs(step))
        step = (stop - start) / float(count - 1) if count > 1 else 1
    elif dtype is int:
        return _range(slice(start, stop, step))
    else:
        if not {type(start), type(stop), type(step)} <= {int, float, np.float64}:
            refuse("makes a grid whose length is computed")
        count = math.ceil(unwrap((stop - start) / step))
    places = apply(require(np.arange), (count,), {"dtype": dtype})
    places = places if type(step) is int and step == 1 else places * step
    return places if type(start) is int and start == 0 else places + start


JOINERS: dict[int, Any] = {
    id(np.r_): _Joiner(np.r_, 0, 1, -1), id(np.c_): _Joiner(np.c_, -1, 2, 0),
    id(np.mgrid): _Grid(np.mgrid, False), id(np.ogrid): _Grid(np.ogrid, True),
}  # fmt: skip


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **options: Any) -> Any:
    """np.fromfunction, whose indices a capture knows."""
    return function(*apply(require(np.indices), (shape,), {"dtype": dtype}), **options)


def vectorized(original: Any, rebuild: Callable[[Any], Any] = lambda f: CASTS.get(f, f)) -> Callable[..., Any]:
    """An np.vectorize object where Tensors are among the arguments: its function of each element, the results stacked."""
    signature = getattr(original, "signature", None)
    cores = [] if signature is None else [_count(c) for c in re.findall(r"\(([^)]*)\)", signature.split("->")[0])]

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_tensor(args) and not has_tensor(kwargs):
            return original(*args, **kwargs)
        names = [*range(len(args)), *kwargs]
        values = dict(zip(names, [*args, *kwargs.values()], strict=True))
        taken = [n for n in names if n not in original.excluded]
        arrays = [stack_nested(values[n]) if has_tensor(values[n]) else np.asarray(values[n]) for n in taken]
        own = dict(zip(taken, cores, strict=False)) if signature is not None else {}
        loops = [np.shape(a)[: np.ndim(a) - own.get(n, 0)] for n, a in zip(taken, arrays, strict=True)]
        shape = np.broadcast_shapes(*loops)
        spread = [np.broadcast_to(a, (*shape, *np.shape(a)[len(s) :])) for a, s in zip(arrays, loops, strict=True)]
        function = rebuild(original.pyfunc)
        rows = []
        for k in itertools.product(*map(range, shape)):
            given = {**values, **{n: _element(a, k, own.get(n, 0)) for n, a in zip(taken, spread, strict=True)}}
            rows.append(function(*[given[n] for n in range(len(args))], **{n: given[n] for n in kwargs}))
        if not rows:
            raise ValueError("cannot call `vectorize` on size 0 inputs of Tensors")
        several = isinstance(rows[0], tuple)
        columns = list(zip(*rows, strict=True)) if several else [rows]
        kinds = original.otypes or [None] * len(columns)
        out = tuple([_stacked(c, shape, kind) for c, kind in zip(columns, kinds, strict=True)])
        return out if several else out[0]

    return call


def _count(core: str) -> int:
    return len(core.split(",")) if core.strip() else 0


def _element(array: Any, k: tuple[int, ...], own: int) -> Any:
    found = array[k] if k else array
    return found.item() if not own and not isinstance(found, Operand) else found


def _stacked(column: Any, shape: tuple[int, ...], kind: Any) -> Any:
    parts = [_array(part) for part in column]
    found = np.stack(parts)
    found = np.reshape(found, (*shape, *np.shape(found)[1:]))
    return found if kind is None or found.dtype == np.dtype(kind) else astype(found, np.dtype(kind))


class vectorize(np.vectorize):  # NumPy's name
    """np.vectorize, whose calls may take Tensors."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if has_tensor(args) or has_tensor(kwargs):
            return vectorized(self)(*args, **kwargs)
        return super().__call__(*args, **kwargs)


def chkfinite(asarray: Callable[..., Any], a: Any, dtype: Any = None, order: Any = None) -> Any:
    """np.asarray_chkfinite, by `asarray`."""
    made = asarray(a, dtype)
    if made.dtype.kind in "fc" and happens(~np.isfinite(made)):
        raise ValueError("array must not contain infs or NaNs")
    return made


def required(
    asarray: Callable[..., Any], a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None
) -> Any:
    """np.require, by `asarray`: a Tensor is copied where it lies in another way, or in memory that is not its own."""
    if not isinstance(a, Operand):
        return np.require(a, dtype, requirements)
    made = asarray(a, dtype)
    wanted = {w.upper()[0] for w in ([requirements] if isinstance(requirements, str) else requirements or ())}
    flags = np.asarray(made._value).flags if isinstance(made, Operand) else made.flags
    names = {"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable"}
    if all(getattr(flags, name) for word, name in names.items() if word in wanted):
        return made
    return np.copy(made, order="F" if "F" in wanted else "C")
