"""Helpers of rules: pieces of NumPy that run alike on arrays, on Tensors and under a recorder."""

from __future__ import annotations

import math
import operator
from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, shifted
from ..ops import Kind
from ..registry import batching, primitive, require, rule

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))  # np.lib.NumpyVersion compiles expressions, which takes 0.5 ms


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """`axis` as sorted non-negative positions; None is all of them (and a number has none, whatever `axis` says)."""
    if axis is None or ndim == 0:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(int(a) % ndim for a in axes))


def is_kept(keepdims: Any) -> bool:
    """Whether a reduction keeps its axes; NumPy's default is a marker that counts as true."""
    return keepdims is not np._NoValue and bool(keepdims)


def keep_axes(value: Any, x_shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A reduction's result (or its cotangent) with the reduced axes back in place, as length one."""
    ndim = getattr(value, "ndim", 0)
    if ndim == 0 or is_kept(keepdims) or ndim == len(x_shape):  # a scalar broadcasts as it is
        return value
    return expanded(value, normal_axes(axis, len(x_shape)) if axis is None else axis)


def expanded(value: Any, axis: Any) -> Any:
    """`np.expand_dims`; of an array and one axis the view that NumPy makes in many steps, at once."""
    if type(value) is not np.ndarray or type(axis) is not int:
        return np.expand_dims(value, axis)
    shape = value.shape
    k = axis if axis >= 0 else axis + len(shape) + 1
    return value.reshape(*shape[:k], 1, *shape[k:])


def spread(g: Any, x_shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """The cotangent of a reduction, spread over what was reduced."""
    return broadcast(keep_axes(g, x_shape, axis, keepdims), x_shape)


def broadcast(value: Any, shape: tuple[int, ...]) -> Any:
    """`np.broadcast_to`; of one number the view that NumPy makes in many steps, at once."""
    if type(value) is not np.float64 or 0 in shape:
        return np.broadcast_to(value, shape)
    made: Any = np.ndarray(shape, value.dtype, np.array(value), 0, (0,) * len(shape))
    made.flags.writeable = False
    return made


def reduced_count(x_shape: tuple[int, ...], axis: Any) -> Any:
    """Return the number of elements that a reduction over `axis` takes together."""
    axes = normal_axes(axis, len(x_shape))
    count: Any = x_shape[axes[0]] if axes else 1
    for a in axes[1:]:
        count = count * x_shape[a]
    return count


@primitive(
    "v, offset, axis1, axis2, shape, dtype", Kind.linear, types=lambda shape, dtype: np.empty(shape, dtype)
)  # fmt: skip
def place_diagonal(v: Any, offset: Any, axis1: Any, axis2: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v` written on a diagonal: what `np.diagonal` read, put back."""
    out = np.zeros(shape, dtype)
    top, left = max(-offset, 0), max(offset, 0)
    k = np.arange(max(min(shape[axis1] - top, shape[axis2] - left), 0))
    np.moveaxis(out, (axis1, axis2), (0, 1))[k + top, k + left] = np.moveaxis(v, -1, 0)
    return out


@primitive("v, shape, dtype", Kind.linear, types=lambda shape, dtype: np.empty(shape, dtype))
def place_main_diagonal(v: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with two axes, and `v` on their diagonal."""
    out = np.zeros(shape, dtype)
    np.fill_diagonal(out, v)
    return out


rule(place_main_diagonal, v=lambda g: np.diagonal(g))


@batching(place_main_diagonal)
def batched_place_main_diagonal(call: BatchedCall) -> Any:
    """On the diagonals of matrices behind the batch axis."""
    v = np.broadcast_to(call["v"], (call.size, min(call["shape"]))) if call.ndim("v") == 0 else call["v"]
    return place_diagonal(v, 0, 1, 2, (call.size, *call["shape"]), call["dtype"])


def on_diagonal(v: Any, offset: Any, axis1: Any, axis2: Any, shape: Any, dtype: Any) -> Any:
    """Put a diagonal, all of it, back where `np.diagonal` read it, in a short call."""
    if len(shape) == 2 and type(offset) is int and offset == 0 and shape[0] == shape[1]:
        return np.diag(v)
    return along_diagonal(v, offset, axis1, axis2, shape, dtype)


def along_diagonal(v: Any, offset: Any, axis1: Any, axis2: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape with `v`, which may be one number for all, on a diagonal."""
    if len(shape) == 2 and type(offset) is int and offset == 0:
        return place_main_diagonal(v, shape, dtype)
    return place_diagonal(v, offset, axis1, axis2, shape, dtype)


rule(place_diagonal, v=lambda g, offset, axis1, axis2: np.diagonal(g, offset, axis1, axis2))


@batching(place_diagonal)
def batched_place_diagonal(call: BatchedCall) -> Any:
    """On the diagonals of matrices behind the batch axis."""
    shape = call["shape"]
    axes = {name: shifted(call[name], len(shape)) for name in ("axis1", "axis2")}
    return call.run(shape=(call.size, *shape), **axes)


def literal(value: Any, *beside: Any) -> Any:
    """The array of a list or number, made so that a recorder notes it where one of those `beside` it is traced."""
    if hasattr(value, "dtype"):
        return value
    if isinstance(value, (list, tuple)) and is_traced(value):
        return np.stack([literal(v) if is_traced(v) else v for v in value])
    for b in beside:
        enter = getattr(type(b), "__gradscribe_apply__", None)
        if enter is not None:
            return enter(require(np.array), (value,))
    return np.array(value)


def listed(value: Any, *beside: Any) -> Any:
    """The array of a list; anything else as it is."""
    return literal(value, *beside) if isinstance(value, (list, tuple)) else value


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """Return `np.where`; of numbers a number, which a capture takes for a constant."""
    found = np.where(condition, a, b)
    return found[()] if np.ndim(found) == 0 else found


def is_traced(value: Any) -> bool:
    """Whether something traced is among values, in lists and tuples too."""
    if isinstance(value, (list, tuple)):
        return any(map(is_traced, value))
    return hasattr(type(value), "__gradscribe_apply__")


def happens(condition: Any) -> bool:
    """Whether a condition holds anywhere, under vmap in any example."""
    return bool(np.any(condition._whole() if hasattr(condition, "_whole") else condition))


def decided(index: Any) -> Any:
    """Return an index as plain numbers, of each of which a capture is told: what the code does then depends on them."""
    if isinstance(index, (tuple, list)):
        return type(index)(map(decided, index))
    if isinstance(index, slice):
        return slice(decided(index.start), decided(index.stop), decided(index.step))
    if not is_traced(index):
        return index
    plain = bool if index.dtype == bool else int
    return np.reshape(np.array([plain(k) for k in np.ravel(index)], plain), np.shape(index)) if np.ndim(index) else plain(index)


# Elementwise rules.


def summed(g: Any, shape: tuple[int, ...] | None) -> Any:
    """A cotangent summed over the axes that broadcasting gave an operand: what is linear in it then has less to do.

    In forward mode, which has no such axes to sum over, `shape` is None.
    """
    if shape is None or getattr(g, "shape", ()) == shape:
        return g
    extra = np.ndim(g) - len(shape)
    total = np.add.reduce if type(g) is np.ndarray else np.sum  # which is what it runs
    if extra > 0:
        g = total(g, axis=0 if extra == 1 else tuple(range(extra)))
    stretched = tuple([k for k, n in enumerate(shape) if n == 1 and np.shape(g)[k] != 1])
    if stretched:
        g = total(g, axis=stretched if len(stretched) > 1 else stretched[0], keepdims=True)
    return g


class Factored:
    """A cotangent that is yet to be multiplied by a constant, on its way to a formula that has another constant."""

    __slots__ = ("cotangent", "factor")

    def __init__(self, factor: Any, cotangent: Any) -> None:
        self.factor = factor
        self.cotangent = cotangent

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cotangent.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        return self.cotangent.dtype

    def product(self) -> Any:
        """The cotangent itself."""
        return self.cotangent * self.factor

    def __add__(self, other: Any) -> Any:
        return self.product() + other


def scaled(c: Any, g: Any) -> Any:
    """`c * g`; of one number that was spread, the number times `c`, spread: a product lies in memory as its other factor."""
    if type(g) is Factored:
        c, g = c * g.factor, g.cotangent
        if type(c) is float and c == 1.0:
            return g
    value = getattr(g, "_value", g)
    if type(value) is np.ndarray and value.ndim and value.size and not any(value.strides) and not hasattr(type(g), "_whole"):
        return broadcast(c * g[(0,) * value.ndim], g.shape)
    return c * g


def widened(x: Any, out: Any) -> Any:
    """An operand in the dtype of the result, which a ufunc computes in: a small integer has half a float's digits."""
    return x if not hasattr(x, "dtype") or x.dtype == out.dtype else x * out.dtype.type(1)


def not_zero(v: Any) -> Any:
    """`v` with ones for its zeros: a denominator where 0 / 0 means 0."""
    return np.where(v == 0, 1, v)


def power_x(g: Any, x: Any, y: Any) -> Any:
    """The cotangent of the base of `x ** y`; zero where the exponent is zero, whatever the base."""
    if type(y) is int and y in (0, 1):
        return g if y else np.zeros_like(g)
    raised = operator.pow if is_complex(g) else numpys_power  # the root of a negative number is complex
    if type(y) in (int, float) and y:
        return scaled(y, g) * (x if y == 2 else x ** (y - 1) if y >= 1 else raised(x, y - 1))
    return (y * g if np.ndim(y) else scaled(y, g)) * raised(x - ((x == 0) & (y == 0)), y - 1.0)


def numpys_power(x: Any, y: Any) -> Any:
    """`x ** y`, which is real, of two numbers of Python's as NumPy has it: infinite where Python raises."""
    plain = all(type(getattr(v, "_value", v)) in (int, float) for v in (x, y))
    return (x * np.float64(1.0)) ** y if plain else x**y


def power_y(g: Any, x: Any, y: Any, out: Any) -> Any:
    """The cotangent of the exponent of `x ** y`; zero where a power of zero is zero or one."""
    if type(x) in (int, float) and x > 0:  # a constant; with the bits that it has as an argument
        base = float(x) if is_complex(out) or not hasattr(out, "dtype") else out.dtype.type(x)
        return g * (out * float(np.log(base)))
    if is_complex(out):  # then so is the logarithm of a negative number
        nonnegative = np.real(y) >= 0 if is_complex(y) else y >= 0
        base = widened(x, out) if hasattr(x, "dtype") else x if is_complex(x) else x + 0j
        return g * (out * np.log(np.where((x == 0) & nonnegative, 1, base)))
    return g * (out * np.log(np.where((x == 0) & (y >= 0), 1, widened(x, out))))


def is_complex(value: Any) -> bool:
    """Whether a number or array is complex, by its type."""
    return isinstance(value, complex) if not hasattr(value, "dtype") else value.dtype.kind == "c"


def phase(x: Any, x_dtype: Any) -> Any:
    """The derivative of the absolute value: the sign of a real number, the conjugate sign of a complex one."""
    return np.conjugate(np.sign(x)) if x_dtype.kind == "c" else np.sign(x)


def sign_back(g: Any, x: Any, out: Any, x_dtype: Any) -> Any:
    """The cotangent under the sign: a complex sign moves on the unit circle only, a real one does not move."""
    if x_dtype.kind != "c":
        return np.zeros_like(g)
    return np.where(x == 0, 0, (g - np.real(g * out) * np.conjugate(out)) / not_zero(np.absolute(x)))


def imag_back(g: Any, x_dtype: Any) -> Any:
    """The cotangent under the imaginary part, which a real number has none of."""
    return g * -1j if x_dtype.kind == "c" else np.zeros_like(g)  # -1j * np.float64 would be a number of Python


def angle_back(g: Any, x: Any, x_dtype: Any) -> Any:
    """The cotangent under the angle of a complex number; a real number's angle does not move."""
    if x_dtype.kind != "c":
        return np.zeros_like(g)
    return g * -1j * np.conjugate(x) / not_zero(np.real(x * np.conjugate(x)))


def is_given(value: Any) -> bool:
    """Whether an optional argument holds something: neither None nor NumPy's marker."""
    return value is not None and value is not np._NoValue


def apart(x: Any, y: Any) -> Any:
    """`x - y`, and zero also where both are the same infinity."""
    if any(type(a) in (int, float) and abs(a) < math.inf for a in (x, y)):
        return x - y
    return np.where(x == y, 0, x - y)


def clip_x(g: Any, x: Any, lower: Any, upper: Any) -> Any:
    """The cotangent of what `np.clip` clips: it passes within the bounds, and on them."""
    if is_given(lower):
        return np.where((x >= lower) & (x <= upper) if is_given(upper) else x >= lower, g, 0)
    return np.where(x <= upper, g, 0) if is_given(upper) else g


def either(first: Any, second: Any) -> Any:
    """The one of two optional arguments that was given."""
    return first if is_given(first) else second


def at_bounds(x: Any, lower: Any, upper: Any) -> Any:
    """Tell where the argument of `np.clip` equals one of its bounds."""
    return (x == lower) | (x == upper) if is_given(lower) and is_given(upper) else x == either(lower, upper)


def clip_back(g: Any, x: Any, lower: Any, upper: Any, *, low: bool) -> Any:
    """The cotangent of a bound of `np.clip`; of equal bounds neither takes what lies below, as in PyTorch."""
    if low:
        return np.where((x < lower) & (lower < upper) if is_given(upper) else x < lower, g, 0)
    return np.where((x > upper) | (lower > upper) if is_given(lower) else x > upper, g, 0)


# Reductions.


def masked(v: Any, where: Any) -> Any:
    """`v` where a reduction's `where=` holds, zero elsewhere."""
    return np.where(where, v, 0) if is_given(where) and where is not True else v


def not_nan(x: Any, where: Any) -> Any:
    """Return the `where=` of a reduction that leaves out NaN."""
    return ~np.isnan(x) & where if is_given(where) else ~np.isnan(x)


def count_taken(x_shape: tuple[int, ...], x_dtype: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """Count the elements that a reduction takes together, under its `where=`; as floats, lest float32 become float64."""
    if not is_given(where) or where is True:
        return reduced_count(x_shape, axis)
    return np.sum(np.broadcast_to(where, x_shape), axis=axis, dtype=np.finfo(x_dtype).dtype, keepdims=is_kept(keepdims))


def spread_nan(g: Any, x: Any, x_shape: tuple[int, ...], axis: Any, keepdims: Any, where: Any) -> Any:
    """The cotangent of a sum that leaves out NaN."""
    return masked(spread(g, x_shape, axis, keepdims), not_nan(x, where))


def mean_back(g: Any, x_shape: tuple[int, ...], x_dtype: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """The cotangent under a mean: divided while it is small, then spread."""
    return masked(spread(g / count_taken(x_shape, x_dtype, axis, keepdims, where), x_shape, axis, keepdims), where)


def shared_back(
    g: Any, x: Any, x_shape: tuple[int, ...], x_dtype: Any, out: Any, axis: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    """The cotangent under a maximum or minimum `out`, shared evenly among the elements that equal it."""
    chosen = x == keep_axes(out, x_shape, axis, keepdims)
    if is_given(where):
        chosen = chosen & where
    exact = {} if x_dtype == np.float64 else {"dtype": x_dtype.newbyteorder("=")}  # lest float32 become float64
    count = np.sum(chosen, axis=axis, keepdims=keepdims, **exact)
    if is_given(initial):  # which may be the only one
        count = not_zero(count)
    return chosen * keep_axes(g / count, x_shape, axis, keepdims)


def tied(x: Any, x_shape: tuple[int, ...], out: Any, axis: Any, keepdims: Any, where: Any = None) -> Any:
    """Tell where elements share an extreme `out` with others."""
    chosen = x == keep_axes(out, x_shape, axis, keepdims)
    if is_given(where):
        chosen = chosen & where
    return chosen & (np.sum(chosen, axis=normal_axes(axis, len(x_shape)), keepdims=True) > 1)


def ptp_back(g: Any, x: Any, x_shape: tuple[int, ...], x_dtype: Any, axis: Any, keepdims: Any) -> Any:
    """The cotangent under the distance between maximum and minimum."""
    rest = (axis, keepdims, None, None)
    top, bottom = np.max(x, axis=axis, keepdims=keepdims), np.min(x, axis=axis, keepdims=keepdims)
    return shared_back(g, x, x_shape, x_dtype, top, *rest) - shared_back(g, x, x_shape, x_dtype, bottom, *rest)


def deviation(
    g: Any, x: Any, x_shape: tuple[int, ...], x_dtype: Any, axis: Any, ddof: Any, keepdims: Any, where: Any, mean: Any,
    correction: Any,
) -> Any:  # fmt: skip
    """The cotangent under a variance or standard deviation, of which `g` holds the factor before `x - mean`."""
    where = where if is_given(where) and where is not True else None
    count, lost = count_taken(x_shape, x_dtype, axis, keepdims, where), either(correction, ddof)
    if lost != 0:
        count = max(count - lost, 0) if where is None else np.maximum(count - lost, 0)
    if not is_given(mean):
        along = {} if axis is None else {"axis": axis, "keepdims": True}
        mean = np.mean(x, **along, **({} if where is None else {"where": where}))
    off = masked(np.conjugate(x - mean) if x_dtype.kind == "c" else x - mean, where)  # may be NaN, also for what follows
    return masked(keep_axes(g / count, x_shape, axis, keepdims) * off, where)


def cumsum_back(g: Any, x_shape: tuple[int, ...], axis: Any) -> Any:
    """The cotangent under a running sum: the running sum from the other end."""
    if len(x_shape) == 1:
        return np.flip(np.cumsum(np.flip(g)))
    if axis is None or not x_shape:
        return np.reshape(np.flip(np.cumsum(np.flip(g))), x_shape)
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


@primitive("a, b", Kind.loop)
def recurrence(a: Any, b: Any) -> Any:
    """`out[k] = a[k] * out[k - 1] + b[k]` along the first axis, from zero."""
    out = np.array(b, dtype=np.result_type(a, b))
    for k in range(1, len(out)):
        out[k] += a[k] * out[k - 1]
    return out


def recurrence_back(g: Any, a: Any) -> Any:
    """The same recurrence from the other end: what every later element hands to an earlier one."""
    return np.flip(recurrence(np.flip(np.roll(a, -1, axis=0), 0), np.flip(g, 0)), 0)


def before(x: Any, first: Any) -> Any:
    """The elements before each one along the first axis, with `first` in front."""
    return np.concatenate([first, x[:-1]])


rule(
    recurrence,
    a=lambda g, a, out: recurrence_back(g, a) * before(out, np.zeros_like(out[:1])),
    b=lambda g, a: recurrence_back(g, a),
)


@batching(recurrence)
def batched_recurrence(call: BatchedCall) -> Any:
    """The batch axis behind the axis of steps."""
    a, b = call.spread("a"), call.spread("b")
    return np.moveaxis(call.run(a=np.moveaxis(a, 0, 1), b=np.moveaxis(b, 0, 1)), 1, 0)


def cumprod_back(g: Any, x: Any, x_shape: tuple[int, ...], out: Any, axis: Any) -> Any:
    """The cotangent under a running product, without a division, and so right at zeros."""
    if axis is None or not x_shape:
        g, x, out, axis = np.ravel(g), np.ravel(x), np.ravel(out), 0
    g, x, out = np.moveaxis(g, axis, 0), np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    d_x = recurrence_back(g, x) * before(out, np.ones_like(out[:1]))
    return np.reshape(np.moveaxis(d_x, 0, axis), x_shape)


def prod_back(
    g: Any, x: Any, x_shape: tuple[int, ...], axis: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    """The cotangent under a product: times all of the other factors, without a division, and so right at zeros."""
    if is_given(initial):
        g = g * initial
    if is_given(where):
        x = np.where(where, x, 1)
    return masked(keep_axes(g, x_shape, axis, keepdims) * others(x, x_shape, normal_axes(axis, len(x_shape))), where)


def others(x: Any, x_shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """For each element the product of all others along some axes: of those before it and of those behind it."""
    if not axes:
        return np.ones_like(x)
    front = tuple(range(len(axes)))
    x = np.moveaxis(x, axes, front) if axes != front else x
    shape = x.shape
    if len(axes) > 1:
        x = np.reshape(x, (reduced_count(x_shape, axes), *shape[len(axes):]))
    one = np.ones_like(x[:1])
    left, right = np.cumprod(before(x, one), axis=0), np.flip(np.cumprod(before(np.flip(x, 0), one), axis=0), 0)
    product = np.reshape(left * right, shape) if len(axes) > 1 else left * right
    return np.moveaxis(product, front, axes) if axes != front else product
