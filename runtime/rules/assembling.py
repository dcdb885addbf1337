"""Rules of functions that put arrays together or apply functions to their parts: insert, piecewise, resize and the like."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...unpatched import np
from ..batching import along_axis
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, composed, op, rule
from .elementwise import astype
from .indexing import index_set, place
from .shaping import along
from .support import decided, happens, listed, literal

_NONE = np._NoValue

op(np.unwrap, "x, discont=None, axis=-1, *, period=6.283185307179586", Kind.opaque, memory=NEW)
rule(np.unwrap, x=lambda g: g)  # what is added is a whole number of periods
batching(np.unwrap)(along_axis)


def _joined(arr: Any, obj: Any, values: Any, n: int) -> Any:
    """`np.insert` into a vector as the parts of it with the new ones between them; None where it is not that simple."""
    places = [obj] if isinstance(obj, (int, np.integer)) else obj
    if not isinstance(places, (list, tuple)) or not all(isinstance(k, int) and type(k) is not bool for k in places):
        return None
    is_array = hasattr(values, "dtype")
    given = values if is_array else literal(values if isinstance(values, (list, tuple)) else [values], arr)
    if not places or np.ndim(given) > 1 or not np.size(given) or not np.can_cast(given.dtype, arr.dtype, "same_kind"):
        return None
    if len(places) > 1 and np.size(given) not in (1, len(places)):
        return None
    new = np.reshape(given, (-1,)) if np.ndim(given) == 0 else given
    new = new if new.dtype == arr.dtype else astype(new, arr.dtype)
    parts: list[Any] = []
    before: Any = None
    for j in sorted(range(len(places)), key=lambda j: int(places[j]) + n * (int(places[j]) < 0)):
        parts += [arr[before : places[j]], new if len(places) == 1 or np.size(given) == 1 else new[j : j + 1]]
        before = places[j]
    return np.concatenate([*parts, arr[before:]])


@composed(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """`values` between elements: the old ones and the new ones, each written at their places."""
    arr = listed(arr, values)
    if axis is None:
        arr, axis = np.ravel(arr) if np.ndim(arr) != 1 else arr, 0
    axis, n = range(np.ndim(arr))[axis], np.shape(arr)[axis]
    obj = decided(obj)
    np.insert(np.arange(int(n)), obj, 0)  # NumPy's own errors
    if np.ndim(arr) == 1 and not isinstance(obj, slice) and (joined := _joined(arr, obj, values, int(n))) is not None:
        return joined
    positions = np.arange(n)[obj] if isinstance(obj, slice) else np.array(obj)
    positions = np.flatnonzero(positions) if positions.dtype == bool else positions.astype(int)
    flat = np.where(positions < 0, positions + n, positions).ravel()
    values = literal(values, arr) if np.ndim(values) else values
    if flat.size == 1:  # one place takes as many as `values` is long
        if np.ndim(values):
            values = np.reshape(values, (*(1,) * (np.ndim(arr) - np.ndim(values)), *np.shape(values)))
            values = np.moveaxis(values, 0, axis) if positions.ndim == 0 else values
        places = list(range(flat[0], flat[0] + (np.shape(values)[axis] if np.ndim(values) else 1)))
    else:
        order = np.argsort(flat, kind="stable")
        flat[order] += np.arange(flat.size)
        places = flat.tolist()
    if not places:
        return np.copy(arr)
    new = [int(k) for k in places]
    old = [k for k in range(n + len(new)) if k not in set(new)]
    shape = (*np.shape(arr)[:axis], n + len(new), *np.shape(arr)[axis + 1 :])
    return index_set(place(arr, along(axis, old), shape, arr.dtype), along(axis, new), values)


@composed(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """The elements over and over, until the shape is full."""
    lengths = (new_shape,) if np.ndim(new_shape) == 0 else new_shape
    shape = tuple([n if isinstance(n, int) else int(n) for n in lengths])
    size = math.prod(shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat = np.ravel(a)
    if not size or not np.size(flat):
        return np.zeros_like(flat, shape=shape)
    return np.reshape(np.concatenate((flat,) * -(-size // np.size(flat)))[:size], shape)


@composed(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Of each element the function of the last condition that holds, or of the extra one where none does."""
    one = not isinstance(condlist, (list, tuple)) or (np.ndim(condlist[0]) == 0 and np.ndim(x) != 0)
    conditions = [literal(c, x) for c in ([condlist] if one else condlist)]
    n = len(conditions)
    if n == len(funclist) - 1:
        rest = conditions[0]
        for c in conditions[1:]:
            rest = rest | c
        conditions.append(~rest)
    elif n != len(funclist):
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = np.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            y = astype(np.where(condition, function, y), x.dtype)
        elif happens(condition):
            y = index_set(y, condition, function(x[condition], *args, **kw))
    return y


@composed(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """A reduction along one axis after the other, each axis kept."""
    found = a
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        made = func(found, axis)
        if np.ndim(made) != np.ndim(found):
            made = np.expand_dims(made, axis)
            if np.ndim(made) != np.ndim(found):
                raise ValueError("function is not returning an array of the correct shape")
        found = made
    return found


def _whole(fn: Callable[..., Any], start: float, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool) -> Any:
    if axis is None:
        if np.ndim(x) != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    found = fn(x, axis=axis, dtype=dtype)
    if include_initial:
        front = np.full_like(found[along(axis % np.ndim(x), slice(0, 1))], start) if np.shape(x)[axis] else None
        shape = [1 if k == axis % np.ndim(x) else n for k, n in enumerate(np.shape(found))]
        front = np.full(shape, start, found.dtype) if front is None else front
        found = np.concatenate([front, found], axis=axis)
    if out is None:
        return found
    np.copyto(out, found)
    return out


if hasattr(np, "cumulative_sum"):  # NumPy 2.1

    @composed(np.cumulative_sum)
    def cumulative_sum(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        """Running sums, from zero where it is asked for."""
        return _whole(np.cumsum, 0, x, axis, dtype, out, include_initial)

    @composed(np.cumulative_prod)
    def cumulative_prod(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        """Running products, from one where it is asked for."""
        return _whole(np.cumprod, 1, x, axis, dtype, out, include_initial)

    @composed(np.unstack)
    def unstack(x: Any, /, *, axis: int = 0) -> Any:
        """The layers along an axis."""
        if np.ndim(x) == 0:
            raise ValueError("Input array must be at least 1-d.")
        return tuple([x[along(axis % np.ndim(x), k)] for k in range(np.shape(x)[axis])])


if hasattr(np, "astype"):

    @composed(np.astype)
    def as_type(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        """The same numbers in another dtype."""
        return x if not copy and x.dtype == np.dtype(dtype) else astype(x, np.dtype(dtype))


@composed(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """Sorted by real part, then by imaginary part."""
    exact = a.dtype if a.dtype.kind == "c" else np.result_type(a.dtype, np.complex64)
    return astype(np.sort(a), exact)


@composed(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part, where the imaginary one is as good as zero."""
    if a.dtype.kind != "c":
        return a
    bound = tol * float(np.finfo(a.dtype).eps) if tol > 1 else tol
    return a if happens(np.absolute(np.imag(a)) >= bound) else np.real(a)


@composed(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Cut an array to the part between its first and last numbers that are not zero, along each axis."""
    filt = filt if hasattr(filt, "ndim") else np.stack(filt)
    axes = range(filt.ndim) if axis is None else [k % filt.ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
    for k in axes:
        taken = np.any(filt != 0, axis=tuple([a for a in range(filt.ndim) if a != k]))
        if not happens(taken):
            filt = filt[along(k, slice(0, 0))]
            continue
        first = int(np.argmax(taken)) if "f" in trim.lower() else 0
        last = int(np.argmax(np.flip(taken))) if "b" in trim.lower() else 0
        filt = filt[along(k, slice(first, filt.shape[k] - last))]
    return filt
