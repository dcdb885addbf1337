"""NumPy functions spelled out by others, operation by operation as NumPy computes them: their parts have the rules."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...unpatched import np
from ..ops import Kind
from ..registry import composed, primitive, rule
from .elementwise import astype
from .support import happens, listed, literal

_NONE = np._NoValue


def _kept(keepdims: Any) -> dict[str, Any]:
    return {} if keepdims is _NONE else {"keepdims": keepdims}


@composed(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = _NONE) -> Any:
    """The mean, or the weighted sum over the sum of the weights."""
    if weights is None:
        mean = np.mean(a, axis=axis, **_kept(keepdims))
        total: Any = np.full_like(mean, np.size(a) / np.size(mean)) if returned else None
    else:
        weights = listed(weights, a)
        if np.shape(weights) != np.shape(a):
            weights = _along(weights, np.shape(a), axis)
        exact = np.result_type(_dtype(a), _dtype(weights), *(["f8"] if _dtype(a).kind in "biu" else []))
        total = np.sum(weights, axis=axis, dtype=exact, **_kept(keepdims))
        mean = over_weights(np.sum(np.multiply(a, weights, dtype=exact), axis=axis, **_kept(keepdims)), total)
    return (mean, np.broadcast_to(total, np.shape(mean))) if returned else mean


@primitive("x, total", Kind.elementwise, may_raise=True)
def over_weights(x: Any, total: Any) -> Any:
    """A weighted sum over the sum of the weights, which may not be zero."""
    if np.any(total == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    out = x / total
    return out


rule(over_weights, x=lambda g, total: g / total, total=lambda g, total, out: -(g * out) / total)


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def _along(weights: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Weights of some axes, in the shape that broadcasts against all of them."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = tuple([k % len(shape) for k in (axis if isinstance(axis, tuple) else (axis,))])
    if np.shape(weights) != tuple([shape[k] for k in axes]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = tuple(np.argsort(axes).tolist())
    return np.reshape(np.transpose(weights, order), [n if k in axes else 1 for k, n in enumerate(shape)])


@composed(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Of each element the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        if _dtype(condition).kind != "b":
            raise TypeError("invalid entry in condlist: should be boolean ndarray")
        default = np.where(condition, choice, default)
    return default


@composed(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Of each element the choice that `a` counts."""
    a, *rows = np.broadcast_arrays(a, *choices)
    if mode != "raise":
        a = np.clip(a, 0, len(rows) - 1) if mode == "clip" else np.remainder(a, len(rows))
    elif happens((a < 0) | (a >= len(rows))):
        raise ValueError("invalid entry in choice array")
    found = np.take_along_axis(np.stack(rows), a[None], 0)[0]
    if out is None:
        return found
    np.copyto(out, found)
    return out


@composed(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariance matrix of rows (or columns)."""
    m, y = listed(m, y), listed(y, m)
    exact = np.result_type(*[m] if y is None else [m, y], np.float64) if dtype is None else dtype
    x = np.atleast_2d(np.positive(m, dtype=exact) if np.result_type(m) != exact else m)
    if not rowvar and np.ndim(m) != 1:
        x = x.T
    if y is not None:
        more = np.atleast_2d(y)
        x = np.concatenate((x, more.T if not rowvar and np.shape(more)[0] != 1 else more), axis=0)
    lost, weights = int(not bias) if ddof is None else ddof, _weights(fweights, aweights, np.shape(x)[1], x)
    if weights is None:
        x, count = x - np.mean(x, axis=1)[:, None], np.shape(x)[1] - lost
        other = x
    else:
        mean, total = average(x, axis=1, weights=weights, returned=True)
        over = np.sum(weights * aweights) / total[0] if lost and aweights is not None else 1
        x, count = x - mean[:, None], total[0] - lost * over
        other = x * weights
    return np.squeeze(np.dot(x, np.conj(other.T) if exact.kind == "c" else other.T) * np.true_divide(1, count))


def _weights(fweights: Any, aweights: Any, n: int, beside: Any) -> Any:
    """How often and how much each observation counts, as one weight."""
    found: Any = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        given = literal(given, beside)
        if np.ndim(given) > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if np.shape(given)[0] != n:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if happens(given < 0):
            raise ValueError(f"{name} cannot be negative")
        given = astype(given, np.dtype(float)) if name == "fweights" or given.dtype.kind != "f" else given
        found = given if found is None else found * given
    return found


@composed(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The covariance matrix over the standard deviations of both."""
    c = cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diagonal(c)))
    c = c / deviation[:, None] / deviation[None, :]
    if c.dtype.kind == "c":
        return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
    return np.clip(c, -1, 1)


@composed(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """A polynomial by Horner's scheme, the highest power first."""
    if not len(p):
        return np.zeros_like(x)
    first = p[0]
    if isinstance(first, (int, float, complex)):  # in an array they are no weak numbers
        exact = np.result_type(x, *[np.asarray(c).dtype if isinstance(c, (int, float, complex)) else c for c in p])
        first = first if np.ndim(x) and exact == x.dtype else exact.type(first)
    y = 0 * x + first
    for k in range(1, len(p)):
        y = y * x + p[k]
    return y


@composed(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """The powers of a vector, one a column."""
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    powers = [np.ones_like(x)]
    for _ in range((np.shape(x)[0] if N is None else N) - 1):
        powers.append(powers[-1] * x)
    powers = powers[:N] if N is not None else powers[: np.shape(x)[0]]
    if not powers:
        return np.reshape(x, (-1, 1))[:, :0]
    return np.stack(powers if increasing else powers[::-1], axis=1)


@composed(np.block)
def block(arrays: Any) -> Any:
    """Nested lists of arrays joined into one, the innermost along the last axis."""

    def depth(tree: Any) -> int:
        if not isinstance(tree, list):
            return 0
        found = {depth(t) for t in tree}
        if len(found) != 1:
            raise ValueError("List depths are mismatched" if found else "List at arrays cannot be empty")
        return 1 + found.pop()

    def most(tree: Any) -> int:
        return max(map(most, tree)) if isinstance(tree, list) else np.ndim(tree)

    levels = depth(arrays)
    ndim = max(levels, most(arrays))

    def joined(tree: Any, level: int) -> Any:
        if isinstance(tree, list):
            return np.concatenate([joined(t, level - 1) for t in tree], axis=-level)
        if not hasattr(tree, "ndim"):  # a number
            return functools.reduce(lambda inner, _: [inner], range(ndim), tree)
        return np.reshape(tree, (*(1,) * (ndim - np.ndim(tree)), *np.shape(tree)))

    return joined(arrays, levels) if levels else np.copy(joined(arrays, levels))


@composed(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours, between what is put before and behind."""
    flat = np.ravel(ary)
    parts = [to_begin, flat[1:] - flat[:-1], to_end]
    return np.concatenate([np.ravel(p) if hasattr(p, "ndim") else p for p in parts if p is not None])


@composed(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones of first or second order at the ends."""
    ndim = np.ndim(f)
    axes = range(ndim) if axis is None else [a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))]
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    steps = list(varargs) * (len(axes) if len(varargs) == 1 and np.ndim(varargs[0]) == 0 else 1) or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise ValueError("distances must be either scalars or 1d")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    found = [_sloped(f, step, a, edge_order) for step, a in zip(steps, axes, strict=True)]
    return found[0] if len(axes) == 1 else tuple(found)


def _sloped(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    n = np.shape(f)[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    if np.ndim(step) == 1:
        if np.shape(step)[0] != n:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        step = step[1:] - step[:-1]
        step = step if happens(step != step[0]) else step[0]

    def at(k: Any) -> Any:
        return f[(slice(None),) * axis + (k if isinstance(k, slice) else slice(k, k + 1 or None),)]

    if np.ndim(step) == 0:
        inner = (at(slice(2, None)) - at(slice(None, -2))) / (2.0 * step)
        firsts = lasts = (step, step)
        weights = (-1.5 / step, 2.0 / step, -0.5 / step), (0.5 / step, -2.0 / step, 1.5 / step)
    else:
        apart = (1,) * axis + (-1,) + (1,) * (np.ndim(f) - axis - 1)
        left, right = np.reshape(step[:-1], apart), np.reshape(step[1:], apart)
        inner = (
            -right / (left * (left + right)) * at(slice(None, -2))
            + (right - left) / (left * right) * at(slice(1, -1))
            + left / (right * (left + right)) * at(slice(2, None))
        )
        firsts, lasts = (step[0], step[1] if n > 2 else step[0]), (step[-2] if n > 2 else step[-1], step[-1])
        weights = _second_order(*firsts), tuple([-w for w in reversed(_second_order(*reversed(lasts)))])
    if edge_order == 1:
        first, last = (at(1) - at(0)) / firsts[0], (at(-1) - at(-2)) / lasts[1]
    else:
        first = weights[0][0] * at(0) + weights[0][1] * at(1) + weights[0][2] * at(2)
        last = weights[1][0] * at(-3) + weights[1][1] * at(-2) + weights[1][2] * at(-1)
    return np.concatenate([first, inner, last], axis=axis)


def _second_order(near: Any, far: Any) -> tuple[Any, Any, Any]:
    """The weights of three points for the slope at the first, from the distances between them."""
    return (
        -(2.0 * near + far) / (near * (near + far)), (near + far) / (near * far), -near / (far * (near + far))
    )  # fmt: skip


@composed(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of vectors, of every vector along an axis."""
    moved = np.moveaxis(arr, axis, -1)
    found = [func1d(moved[i], *args, **kwargs) for i in np.ndindex(np.shape(moved)[:-1])]
    if not found:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made = np.reshape(np.stack(found), (*np.shape(moved)[:-1], *np.shape(found[0])))
    k = axis % np.ndim(arr)
    inner = np.ndim(found[0])
    return np.moveaxis(made, tuple(range(-inner, 0)), tuple(range(k, k + inner))) if inner else made
