"""np.linalg's norms. At a point where a norm has a kink the rules give PyTorch's subgradient: 0, or even shares."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, lifted, of_matrices
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, op, rule, singular_at
from ..result_types import LENGTHS
from .contraction import conj
from .decompositions import rounding
from .support import is_complex, keep_axes, normal_axes

opaque = Kind.opaque

op(np.linalg.norm, "x, ord=None, axis=None, keepdims=False", opaque, memory=NEW, types=LENGTHS)
rule(np.linalg.norm, x=lambda g, x, out, ord, axis, keepdims: norm_back(g, x, out, ord, axis, keepdims))
singular_at(np.linalg.norm, x=lambda x, out, ord, axis, keepdims: norm_kinks(x, out, ord, axis, keepdims))

op(np.linalg.vector_norm, "x, *, axis=None, keepdims=False, ord=2", opaque, memory=NEW, types=LENGTHS)
rule(
    np.linalg.vector_norm,
    x=lambda g, x, out, ord, axis, keepdims: vector_back(
        keep_axes(g, np.shape(x), axis, keepdims), x, keep_axes(out, np.shape(x), axis, keepdims), ord, axis
    ),
)
singular_at(
    np.linalg.vector_norm,
    x=lambda x, out, ord, axis, keepdims: vector_kinks(
        x, keep_axes(out, np.shape(x), axis, keepdims), ord, normal_axes(axis, np.ndim(x))
    ),
)


@batching(np.linalg.norm)
def batched_norm(call: BatchedCall) -> Any:
    """Along axes that are one further back; without any, those that the norm means."""
    ndim = call.ndim("x")
    if not ndim or not call.only("x"):
        return NotImplemented
    if call["axis"] is None and call["ord"] is not None and ndim > 1:  # of a matrix, and not of the flat array
        return call.run(axis=(1, 2)) if ndim == 2 else NotImplemented
    return batched_vector_norm(call)


@batching(np.linalg.vector_norm)
def batched_vector_norm(call: BatchedCall) -> Any:
    """Along axes that are one further back; without any, of the flat array."""
    x, ndim, axis = call["x"], call.ndim("x"), call["axis"]
    if not ndim or not call.only("x"):
        return NotImplemented
    if axis is not None:
        moved = tuple([a % ndim + 1 for a in (axis if isinstance(axis, tuple) else (axis,))])
        return call.run(axis=moved if isinstance(axis, tuple) else moved[0])
    if ndim == 1:
        return call.run(axis=1)
    found = call.run(x=np.reshape(x, (call.size, -1)), axis=1, keepdims=False)
    return lifted(found, ndim) if call["keepdims"] else found


op(np.linalg.matrix_norm, "x, *, keepdims=False, ord='fro'", opaque, memory=NEW, types=LENGTHS)
rule(np.linalg.matrix_norm, x=lambda g, x, out, ord, keepdims: norm_back(g, x, out, ord, (-2, -1), keepdims))
singular_at(np.linalg.matrix_norm, x=lambda x, out, ord, keepdims: norm_kinks(x, out, ord, (-2, -1), keepdims))
batching(np.linalg.matrix_norm)(of_matrices)


def norm_back(g: Any, x: Any, out: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent of `np.linalg.norm`'s argument."""
    shape = np.shape(x)
    if 0 in shape:
        return np.zeros_like(x)
    g, out = keep_axes(g, shape, axis, keepdims), keep_axes(out, shape, axis, keepdims)
    if ord is None or ord in ("f", "fro"):
        return vector_back(g, x, out, 2, axis)
    axes = axis if isinstance(axis, tuple) else (axis,) if axis is not None else tuple(range(np.ndim(x)))
    return vector_back(g, x, out, ord, axes) if len(axes) == 1 else matrix_back(g, x, ord, axes)


def vector_back(g: Any, x: Any, out: Any, ord: Any, axis: Any) -> Any:
    """The cotangent under a vector norm; `g` and `out` keep the axes."""
    if ord == 2:
        return g * (conj(x) / np.where(out == 0, 1, out))
    unit = phase(x)
    if ord == 1:
        return g * unit
    if ord in (np.inf, -np.inf):
        return g * unit * shared(np.abs(x) == out, axis, out.dtype)
    if ord == 0:
        return np.zeros_like(x)
    return g * unit * (size(x) / np.where(out == 0, 1, out)) ** (ord - 1)


def size(x: Any) -> Any:
    """The absolute values, one where they are zero."""
    return np.where(x == 0, 1, np.abs(x))


def phase(x: Any) -> Any:
    """The derivative of the absolute value: the sign, or a complex number's conjugate phase; zero at zero."""
    return conj(x) / size(x) if is_complex(x) else np.sign(x)


def shared(chosen: Any, axis: Any, dtype: Any) -> Any:
    """One, shared evenly among the chosen elements along an axis."""
    return chosen / np.sum(chosen, axis=axis, keepdims=True, dtype=dtype.newbyteorder("="))


def matrix_back(g: Any, x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    """The cotangent under a matrix norm over two axes; `g` keeps the axes."""
    if ord in (1, -1, np.inf, -np.inf):
        summed, chosen = axes if abs(ord) == 1 else axes[::-1]
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        # not the norm itself, whose sums may be added in another order (target="native")
        extreme = np.max(sums, axis=chosen, keepdims=True) if ord > 0 else np.min(sums, axis=chosen, keepdims=True)
        return g * phase(x) * shared(sums == extreme, chosen, sums.dtype)
    if ord not in (2, -2, "nuc"):
        raise NotImplementedError(f"np.linalg.norm with ord={ord!r} has no gradient rule for matrices")
    u, s, vh = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), full_matrices=False)
    if ord != "nuc":
        extreme = np.max(s, axis=-1, keepdims=True) if ord == 2 else np.min(s, axis=-1, keepdims=True)
        u = u * np.expand_dims(shared(s == extreme, -1, s.dtype), -2)
    return g * np.moveaxis(conj(u @ vh), (-2, -1), axes)


# Where these are conventions.


def norm_kinks(x: Any, out: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    """Tell where `np.linalg.norm` has no derivative."""
    out = keep_axes(out, x.shape, axis, keepdims)
    if ord is None or ord in ("f", "fro"):
        return out == 0
    axes = axis if isinstance(axis, tuple) else (axis,) if axis is not None else tuple(range(np.ndim(x)))
    return vector_kinks(x, out, ord, axes) if len(axes) == 1 else matrix_kinks(x, out, ord, axes)


def vector_kinks(x: Any, out: Any, ord: Any, axis: Any) -> Any:
    """Where a vector norm has none: at zero, at zeros of a sum of absolute values, where several are the extreme."""
    if ord in (np.inf, -np.inf):
        return several(np.abs(x) == out, axis) | (out == 0)
    return out == 0 if ord > 1 else x == 0


def matrix_kinks(x: Any, out: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    """Where a matrix norm has none: at zeros of the chosen sums, where several are the extreme, at singular values of zero."""
    if ord in (1, -1, np.inf, -np.inf):
        summed, chosen = axes if abs(ord) == 1 else axes[::-1]
        best = np.sum(np.abs(x), axis=summed, keepdims=True) == out
        return several(best, chosen) | (best & (x == 0))
    s = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), compute_uv=False)
    zero = rounding(s)
    if ord != "nuc":
        extreme = np.max(s, axis=-1, keepdims=True) if ord == 2 else np.min(s, axis=-1, keepdims=True)
        s = np.where(several(np.abs(s - extreme) <= zero, -1), 0, extreme)
    return np.expand_dims(np.any(s <= zero, axis=-1), normal_axes(axes, x.ndim))


def several(chosen: Any, axis: Any) -> Any:
    """The chosen elements where they are not alone along an axis."""
    return chosen & (np.sum(chosen, axis=axis, keepdims=True) > 1)
