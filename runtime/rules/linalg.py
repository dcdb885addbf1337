"""Products, einsum and inverses (the rest of np.linalg stands beside it). Rules are the plain transpose, complex ones too."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..hermitian import hermitian_part, takes_hermitian
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import forms, infix, op, primitive, rule, singular_at
from ..result_types import LENGTHS, RUN
from .contraction import (
    adjoint,
    conj,
    dot_x,
    dot_y,
    einsum_back,
    flip,
    inner_x,
    inner_y,
    matmul_x,
    matmul_y,
    tensordot_x,
    tensordot_y,
)  # fmt: skip
from .support import happens, on_diagonal

bilinear, linear, opaque = Kind.bilinear, Kind.linear, Kind.opaque


# Products.

op(np.matmul, "x, y", bilinear)
infix(np.matmul, operator.matmul, "@")
rule(
    np.matmul,
    x=lambda g, y, x_shape: matmul_x(g, y, len(x_shape)),
    y=lambda g, x, y_shape: matmul_y(g, x, len(y_shape)),
)


@primitive("x, w", opaque, types=LENGTHS)  # not bilinear: of a tangent of `w` each row is its own
def shared_matmul(x: Any, w: Any) -> Any:
    """`x @ w` for each example along the first axis, where `w` holds the same matrix (or vector) for all of them."""
    return x @ w[0]


rule(shared_matmul, x=lambda g, w: shared_x(g, w), w=lambda g, x, w_shape: shared_w(g, x, len(w_shape)))


def shared_x(g: Any, w: Any) -> Any:
    """The cotangent of what is multiplied by what all examples share."""
    if np.ndim(w) == 3:
        return shared_matmul(g, np.swapaxes(w, 1, 2))
    return np.expand_dims(g, -1) * (w if np.ndim(g) == 1 else np.expand_dims(w, 1))


def shared_w(g: Any, x: Any, ndim: int) -> Any:
    """The cotangent of what all examples share: one for each of them."""
    if np.ndim(x) == 2:
        return np.expand_dims(x, -1) * np.expand_dims(g, -2) if ndim == 3 else np.expand_dims(g, -1) * x
    return np.swapaxes(x, 1, 2) @ g if ndim == 3 else (np.swapaxes(x, 1, 2) @ np.expand_dims(g, -1))[..., 0]


op(np.dot, "x, y", bilinear)
rule(
    np.dot,
    x=lambda g, y, x_shape: dot_x(g, y, len(x_shape)),
    y=lambda g, x, y_shape: dot_y(g, x, len(y_shape)),
)

op(np.inner, "x, y", bilinear)
rule(
    np.inner,
    x=lambda g, y, x_shape: inner_x(g, y, len(x_shape)),
    y=lambda g, x, y_shape: inner_y(g, x, len(y_shape)),
)

op(np.vdot, "x, y", bilinear)
rule(
    np.vdot,
    x=lambda g, y, x_shape: conj(np.reshape(g * y, x_shape)),
    y=lambda g, x, y_shape: np.reshape(g * conj(x), y_shape),
)

op(np.vecdot, "x, y", bilinear)
rule(
    np.vecdot,
    x=lambda g, y: conj(np.expand_dims(g, -1) * y),
    y=lambda g, x: np.expand_dims(g, -1) * conj(x),
)

op(np.outer, "x, y", bilinear, types=lambda x, y: LENGTHS if np.ndim(x) < 2 and np.ndim(y) < 2 else RUN)
rule(
    np.outer,
    x=lambda g, y, x_shape: g @ y if len(x_shape) == np.ndim(y) == 1 else np.reshape(g @ np.ravel(y), x_shape),
    y=lambda g, x, y_shape: x @ g if len(y_shape) == np.ndim(x) == 1 else np.reshape(np.ravel(x) @ g, y_shape),
)

op(np.tensordot, "x, y, axes=2", bilinear)
rule(
    np.tensordot,
    x=lambda g, y, x_shape, axes: tensordot_x(g, y, len(x_shape), axes),
    y=lambda g, x, y_shape, axes: tensordot_y(g, x, len(y_shape), axes),
)

op(
    np.einsum, "subscripts, *xs, out=None, optimize=False, dtype=None, order='K', casting='safe'", bilinear,
    memory=lambda xs: NEW if len(xs) > 1 else MAY,  # of one array a transpose or a diagonal
)  # fmt: skip
rule(
    np.einsum,
    xs=lambda g, i, subscripts, xs, xs_shape, xs_dtype, optimize: einsum_back(
        g, i, subscripts, xs, xs_shape, xs_dtype, optimize
    ),
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@forms(np.einsum)
def einsum(*operands: Any, **options: Any) -> Any:
    """`np.einsum(x, [0, 1], y, [1, 2], [0, 2])` with its subscripts as text."""
    if isinstance(operands[0], str):
        return NotImplemented
    lists = [*operands[1::2], *(operands[-1:] if len(operands) % 2 else [])]
    many = any(k is not Ellipsis and k > 25 for part in lists for k in part)
    names = LETTERS.upper() + LETTERS if many else LETTERS
    terms = ["".join(["..." if k is Ellipsis else names[k] for k in part]) for part in lists]
    arrays = operands[:-1:2] if len(operands) % 2 else operands[::2]
    text = ",".join(terms[: len(arrays)]) + ("->" + terms[-1] if len(operands) % 2 else "")
    return np.einsum(text, *arrays, **options)


op(np.kron, "x, y", bilinear, types=RUN)
rule(
    np.kron,
    x=lambda g, y, x_shape: kron_back(g, y, x_shape, first=True),
    y=lambda g, x, y_shape: kron_back(g, x, y_shape, first=False),
)


def kron_back(g: Any, other: Any, shape: Any, first: bool) -> Any:
    """The cotangent of one factor of a Kronecker product."""
    ndim = max(len(shape), np.ndim(other))
    own = (1,) * (ndim - len(shape)) + tuple(shape)
    its = (1,) * (ndim - np.ndim(other)) + tuple(np.shape(other))
    pairs = [(a, b) if first else (b, a) for a, b in zip(own, its, strict=True)]
    spread = [(1, b) if first else (b, 1) for b in its]
    product = np.reshape(g, [n for p in pairs for n in p]) * np.reshape(other, [n for p in spread for n in p])
    return np.reshape(np.sum(product, axis=tuple(range(1 if first else 0, 2 * ndim, 2))), shape)


op(np.cross, "x, y, axisa=-1, axisb=-1, axisc=-1, axis=None", bilinear)
rule(
    np.cross,
    x=lambda g, y, x_shape, axisa, axisb, axisc, axis: cross_back(
        g, y, x_shape, *((axisa, axisb, axisc) if axis is None else (axis,) * 3), first=True
    ),
    y=lambda g, x, y_shape, axisa, axisb, axisc, axis: cross_back(
        g, x, y_shape, *((axisb, axisa, axisc) if axis is None else (axis,) * 3), first=False
    ),
)


def cross_back(g: Any, other: Any, shape: Any, own: int, its: int, axisc: int, first: bool) -> Any:
    """The cotangent of one factor of a cross product: y x g, or g x x."""
    back = own - len(shape) if own >= 0 else own  # from the end, where the axes of x and of g agree
    if shape[own] == 2 or np.shape(other)[its] == 2:
        return flat_cross_back(g, np.moveaxis(other, its, -1), shape[own], back, axisc, first)
    if first:
        return np.cross(other, g, axisa=its, axisb=axisc, axisc=back)
    return np.cross(g, other, axisa=axisc, axisb=its, axisc=back)


def flat_cross_back(g: Any, other: Any, size: int, back: int, axisc: int, first: bool) -> Any:
    """The same where a factor lies in the plane: its third element is zero, and of two such factors only that of g is there."""
    both = size == np.shape(other)[-1] == 2
    g = np.stack([np.zeros_like(g), np.zeros_like(g), g], axis=-1) if both else np.moveaxis(g, axisc, -1)
    if np.shape(other)[-1] == 2:
        other = np.concatenate([other, np.zeros_like(other[..., :1])], axis=-1)
    found = np.cross(other, g) if first else np.cross(g, other)
    return np.moveaxis(found[..., :size], -1, back)


op(np.linalg.multi_dot, "[xs]", opaque, memory=NEW, types=LENGTHS)
rule(np.linalg.multi_dot, xs=lambda g, i, xs, xs_shape: chain_back(g, i, xs, xs_shape))


def chain_back(g: Any, i: int, xs: Any, xs_shape: Any) -> Any:
    """The cotangent of one factor of a chain of matrix products."""
    if i < 0:
        return np.stack([chain_back(g, j, xs, xs_shape) for j in range(len(xs_shape))])
    last = len(xs_shape) - 1
    if len(xs_shape[0]) == 1:
        g = np.expand_dims(g, 0)
    if len(xs_shape[last]) == 1:
        g = np.expand_dims(g, -1)
    for j in range(i):
        g = flip(np.atleast_2d(xs[j])) @ g
    for j in range(last, i, -1):
        g = g @ (np.atleast_2d(xs[j]) if len(xs_shape[j]) == 1 else flip(xs[j]))
    return np.reshape(g, xs_shape[i])


# The array API's spellings in np.linalg.

op(np.linalg.matmul, "x, y", bilinear)
rule(
    np.linalg.matmul,
    x=lambda g, y, x_shape: matmul_x(g, y, len(x_shape)),
    y=lambda g, x, y_shape: matmul_y(g, x, len(y_shape)),
)

op(np.linalg.outer, "x, y", bilinear)
rule(np.linalg.outer, x=lambda g, y: g @ y, y=lambda g, x: x @ g)

op(np.linalg.tensordot, "x, y, *, axes=2", bilinear)
rule(
    np.linalg.tensordot,
    x=lambda g, y, x_shape, axes: tensordot_x(g, y, len(x_shape), axes),
    y=lambda g, x, y_shape, axes: tensordot_y(g, x, len(y_shape), axes),
)

op(np.linalg.cross, "x, y, *, axis=-1", bilinear)
rule(
    np.linalg.cross,
    x=lambda g, y, x_shape, axis: cross_back(g, y, x_shape, axis, axis, axis, first=True),
    y=lambda g, x, y_shape, axis: cross_back(g, x, y_shape, axis, axis, axis, first=False),
)

op(np.linalg.matrix_transpose, "x", Kind.shaping)
rule(np.linalg.matrix_transpose, x=lambda g: np.linalg.matrix_transpose(g))

op(np.linalg.diagonal, "x, *, offset=0", Kind.shaping)
rule(np.linalg.diagonal, x=lambda g, offset, x_shape, x_dtype: on_diagonal(g, offset, -2, -1, x_shape, x_dtype))

op(np.linalg.trace, "x, *, offset=0, dtype=None", linear, memory=NEW, types=LENGTHS)
rule(
    np.linalg.trace,
    x=lambda g, offset, x_shape, x_dtype: on_diagonal(np.expand_dims(g, -1), offset, -2, -1, x_shape, x_dtype),
)

# Inverses and determinants.

op(np.linalg.inv, "x", opaque, may_raise=True, memory=NEW, types=LENGTHS)
rule(np.linalg.inv, x=lambda g, out: -(flip(out) @ g @ flip(out)))

op(
    np.linalg.pinv, "x, rcond=None, hermitian=False, *, rtol=NoValue", opaque, may_raise=True, memory=NEW, types=LENGTHS
)  # fmt: skip
rule(np.linalg.pinv, x=lambda g, x, out, hermitian: pinv_back(conj(g), x, out, hermitian))
takes_hermitian(np.linalg.pinv, lambda x, rcond=None, hermitian=False, **words: bool(hermitian))
singular_at(np.linalg.pinv, x=lambda x: np.linalg.matrix_rank(x)[..., None, None] < min(x.shape[-2:]))


def pinv_back(g: Any, x: Any, out: Any, hermitian: Any) -> Any:
    """Golub and Pereyra's derivative of the pseudo-inverse, transposed; of a Hermitian matrix its Hermitian part."""
    x = hermitian_part(x) if hermitian else x
    left = adjoint(g) @ out @ adjoint(out)
    right = adjoint(out) @ out @ adjoint(g)
    inner = -(adjoint(out) @ g @ adjoint(out))
    found = conj(inner + left - x @ (out @ left) + right - (right @ out) @ x)
    return hermitian_part(found) if hermitian else found


op(np.linalg.det, "x", opaque, memory=NEW, types=LENGTHS)
rule(np.linalg.det, x=lambda g, x, out: det_back(g, x, out))


def det_back(g: Any, x: Any, out: Any) -> Any:
    """The cotangent under a determinant: times the cofactors, which a singular matrix has, too."""
    if happens(out == 0):
        return np.expand_dims(g, (-2, -1)) * cofactors(x)
    return np.expand_dims(g * out, (-2, -1)) * flip(np.linalg.inv(x))


def cofactors(x: Any) -> Any:
    """The determinants of what is left of a matrix without a row and a column, by row and column."""
    n = range(x.shape[-1])
    rows = [np.delete(x, i, -2) for i in n]
    found = [[(-1) ** (i + j) * np.linalg.det(np.delete(rows[i], j, -1)) for j in n] for i in n]
    return np.stack([np.stack(row, axis=-1) for row in found], axis=-2)


op(np.linalg.slogdet, "x", opaque, n_out=2, memory=NEW, types=LENGTHS)
rule(np.linalg.slogdet, x=lambda g, x, out: slogdet_back(g[0], g[1], x, out[0]))


def slogdet_back(g_sign: Any, g_log: Any, x: Any, sign: Any) -> Any:
    """The cotangent of `log(det(x))`, times the transposed inverse; a real sign is constant."""
    if x.dtype.kind == "c" and g_sign is not None:
        turned = -1j * np.real(1j * g_sign * sign)
        g_log = turned if g_log is None else g_log + turned
    if g_log is None:
        return None
    return np.expand_dims(g_log, (-2, -1)) * flip(np.linalg.inv(x))


op(np.linalg.solve, "x, y", opaque, may_raise=True, memory=NEW, types=LENGTHS)
rule(
    np.linalg.solve,
    x=lambda g, x, out, y_shape: solve_x(solve_y(g, x, len(y_shape)), out, len(y_shape)),
    y=lambda g, x, y_shape: solve_y(g, x, len(y_shape)),
)


def solve_y(g: Any, x: Any, ndim: int) -> Any:
    """The cotangent of the right-hand side: one solve with the transpose."""
    if ndim == 1 and np.ndim(g) > 1:  # one vector, many matrices
        return np.linalg.solve(flip(x), np.expand_dims(g, -1))[..., 0]
    return np.linalg.solve(flip(x), g)


def solve_x(d_y: Any, out: Any, ndim: int) -> Any:
    """The cotangent of the matrix, from that of the right-hand side."""
    if ndim == 1:
        return -np.expand_dims(d_y, -1) * np.expand_dims(out, -2)
    return -(d_y @ flip(out))


# Of a first power NumPy gives back the matrix itself.
op(
    np.linalg.matrix_power, "x, n", opaque, may_raise=True, types=LENGTHS,
    memory=lambda n: NEW if type(n) is int and n != 1 else MAY,
)  # fmt: skip
rule(np.linalg.matrix_power, x=lambda g, x, n: power_back(g, x, n))


def power_back(g: Any, x: Any, n: int) -> Any:
    """The sum over where the factor stood: `x.T^k @ g @ x.T^(n - 1 - k)`."""
    if n == 0:
        return np.zeros_like(g)
    if n < 0:
        inverse = flip(np.linalg.inv(x))
        return -(inverse @ power_back(g, np.linalg.inv(x), -n) @ inverse)
    xt = flip(x)
    left, total = g, g
    for _ in range(1, n):
        left = xt @ left
        total = total @ xt + left
    return total
