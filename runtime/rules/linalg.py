"""Products, einsum and inverses (the rest of np.linalg stands beside it). Rules are the plain transpose, complex ones too."""

from __future__ import annotations

import operator
from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, lifted, of_matrices
from ..hermitian import hermitian_part, takes_hermitian
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import batching, composed, forms, infix, op, primitive, rule, singular_at, takes_out
from ..result_types import LENGTHS, RUN
from .contraction import (
    adjoint,
    conj,
    contracted,
    dot_x,
    dot_y,
    einsum_back,
    flip,
    inner_x,
    inner_y,
    letters,
    matmul_x,
    matmul_y,
    tensordot_x,
    tensordot_y,
)  # fmt: skip
from .support import along_diagonal, happens, on_diagonal

bilinear, linear, opaque = Kind.bilinear, Kind.linear, Kind.opaque


# Products.

op(np.matmul, "x, y", bilinear)
infix(np.matmul, operator.matmul, "@")
rule(
    np.matmul,
    x=lambda g, y, x_shape: matmul_x(g, y, len(x_shape)),
    y=lambda g, x, y_shape: matmul_y(g, x, y_shape),
)



@batching(np.matmul)
def batched_matmul(call: BatchedCall) -> Any:
    """A product of stacks; a matrix that all examples share stays one."""
    x, y, nx, ny = call["x"], call["y"], call.ndim("x"), call.ndim("y")
    if not nx or not ny or (call.has("dtype") and call["dtype"] is not None):
        return NotImplemented
    return batched_product(x, y, nx, ny, call.is_mapped("x"), call.is_mapped("y"))


def batched_product(x: Any, y: Any, nx: int, ny: int, x_mapped: bool, y_mapped: bool) -> Any:
    """`x @ y`, of which one or both carry the batch axis besides their `nx` and `ny` axes."""
    if nx == ny == 1:
        if not (x_mapped and y_mapped):
            return x @ y if x_mapped else y @ x
        if is_shared(x) or is_shared(y):
            return shared_matmul(x, y) if is_shared(y) else shared_matmul(y, x)
        return np.vecdot(conj(x), y)
    if x_mapped and y_mapped and nx <= 2 and ny == 2 and is_shared(y):
        return shared_matmul(x, y)
    if x_mapped and y_mapped and nx == 2 and ny == 1 and is_shared(x):
        return shared_matmul(y, np.swapaxes(x, 1, 2))
    if ny == 1:  # vectors as columns
        if not y_mapped:
            return x @ y
        if not x_mapped and nx == 2:
            return y @ x.T
        return (x @ np.expand_dims(lifted(y, nx - 1), -1))[..., 0]
    if nx == 1:  # vectors as rows
        if not x_mapped or (not y_mapped and ny == 2):
            return x @ y
        return (np.expand_dims(lifted(x, ny - 1), -2) @ y)[..., 0, :]
    return (lifted(x, max(nx, ny)) if x_mapped else x) @ (lifted(y, max(nx, ny)) if y_mapped else y)


def is_shared(x: Any) -> bool:
    """Whether a mapped array holds the same for all examples: it was broadcast, as what is differentiated under vmap is."""
    return bool(x.strides[0] == 0 and len(x) > 0)


@primitive("x, w", opaque, types=LENGTHS)  # not bilinear: of a tangent of `w` each row is its own
def shared_matmul(x: Any, w: Any) -> Any:
    """`x @ w` for each example along the first axis, where `w` holds the same matrix (or vector) for all of them."""
    return x @ w[0]


rule(shared_matmul, x=lambda g, w: shared_x(g, w), w=lambda g, x, w_shape: shared_w(g, x, len(w_shape)))


@batching(shared_matmul)
def batched_shared_matmul(call: BatchedCall) -> Any:
    """The product that it is, where all examples of an outer vmap have a batch axis of their own."""
    x, w = call["x"], call["w"]
    if call.ndim("x") == 2:
        return np.vecdot(conj(x), w) if call.ndim("w") == 2 else (np.expand_dims(x, -2) @ w)[..., 0, :]
    return x @ w if call.ndim("w") == 3 else (x @ np.expand_dims(w, -1))[..., 0]


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
    y=lambda g, x, y_shape: dot_y(g, x, y_shape),
)
takes_out("a b out", np.dot)


@batching(np.dot)
def batched_dot(call: BatchedCall) -> Any:
    """As matmul up to matrices, and beyond a sum over the last axis of x and the last but one of y."""
    nx, ny = call.ndim("x"), call.ndim("y")
    if not nx or not ny:
        return batched_scaling(call)
    return batched_matmul(call) if nx <= 2 and ny <= 2 else batched_contraction(call, [nx - 1], [max(ny - 2, 0)])


def batched_scaling(call: BatchedCall) -> Any:
    """A product with a number."""
    most = max(call.ndim("x"), call.ndim("y"))
    x, y = (lifted(call[name], most) if call.is_mapped(name) else call[name] for name in ("x", "y"))
    return np.multiply(x, y)


op(np.inner, "x, y", bilinear)
rule(
    np.inner,
    x=lambda g, y, x_shape: inner_x(g, y, len(x_shape)),
    y=lambda g, x, y_shape: inner_y(g, x, len(y_shape)),
)


@batching(np.inner)
def batched_inner(call: BatchedCall) -> Any:
    """A sum over the last axes."""
    nx, ny = call.ndim("x"), call.ndim("y")
    if not nx or not ny:
        return batched_scaling(call)
    return batched_matmul(call) if nx == ny == 1 else batched_contraction(call, [nx - 1], [ny - 1])


def batched_contraction(call: BatchedCall, x_axes: list[int], y_axes: list[int]) -> Any:
    """The sum over pairs of axes; the free axes of x come first, then those of y."""
    x, y = call["x"], call["y"]
    if not call.is_mapped("y"):
        return np.tensordot(x, y, ([a + 1 for a in x_axes], y_axes))
    x_free = [a for a in range(call.ndim("x")) if a not in x_axes]
    if not call.is_mapped("x"):
        found = np.tensordot(x, y, (x_axes, [a + 1 for a in y_axes]))
        return np.moveaxis(found, len(x_free), 0) if x_free else found
    y_free = [a for a in range(call.ndim("y")) if a not in y_axes]
    size, x_shape, y_shape = call.size, np.shape(x)[1:], np.shape(y)[1:]
    left = np.reshape(_ordered(x, [*x_free, *x_axes]), (size, *_merged(x_shape, x_free), *_merged(x_shape, x_axes)))
    right = np.reshape(_ordered(y, [*y_axes, *y_free]), (size, *_merged(y_shape, y_axes), *_merged(y_shape, y_free)))
    return np.reshape(left @ right, (size, *[x_shape[a] for a in x_free], *[y_shape[a] for a in y_free]))


def _ordered(x: Any, axes: list[int]) -> Any:
    return x if axes == sorted(axes) else np.transpose(x, (0, *[a + 1 for a in axes]))


def _merged(shape: Any, axes: list[int]) -> tuple[Any]:
    count: Any = 1
    for a in axes:
        count = shape[a] if type(count) is int and count == 1 else count * shape[a]
    return (count,)


op(np.vdot, "x, y", bilinear)
rule(
    np.vdot,
    x=lambda g, y, x_shape: conj(np.reshape(g * y, x_shape)),
    y=lambda g, x, y_shape: np.reshape(g * conj(x), y_shape),
)


@batching(np.vdot)
def batched_vdot(call: BatchedCall) -> Any:
    """The flat arrays' product."""
    x, y = (
        np.reshape(call[name], (call.size, -1)) if call.is_mapped(name) else np.reshape(call[name], -1)
        for name in ("x", "y")
    )
    return batched_product(conj(x), y, 1, 1, call.is_mapped("x"), call.is_mapped("y"))


op(np.vecdot, "x, y", bilinear)
rule(
    np.vecdot,
    x=lambda g, y: conj(np.expand_dims(g, -1) * y),
    y=lambda g, x: np.expand_dims(g, -1) * conj(x),
)


@batching(np.vecdot)
def batched_vecdot(call: BatchedCall) -> Any:
    """Along the last axes."""
    most = max(call.ndim("x"), call.ndim("y"))
    return call.run(**{name: lifted(call[name], most) for name in ("x", "y") if call.is_mapped(name)})


op(np.outer, "x, y", bilinear, types=lambda x, y: LENGTHS if np.ndim(x) < 2 and np.ndim(y) < 2 else RUN)
rule(
    np.outer,
    x=lambda g, y, x_shape: g @ y if len(x_shape) == np.ndim(y) == 1 else np.reshape(g @ np.ravel(y), x_shape),
    y=lambda g, x, y_shape: x @ g if len(y_shape) == np.ndim(x) == 1 else np.reshape(np.ravel(x) @ g, y_shape),
)
takes_out("a b out", np.outer)


@batching(np.outer)
def batched_outer(call: BatchedCall) -> Any:
    """Every element of x times every one of y."""
    x = np.reshape(call["x"], (call.size, -1, 1)) if call.is_mapped("x") else np.reshape(call["x"], (-1, 1))
    y = np.reshape(call["y"], (call.size, 1, -1)) if call.is_mapped("y") else np.reshape(call["y"], -1)
    return np.multiply(x, y)


op(np.tensordot, "x, y, axes=2", bilinear)
rule(
    np.tensordot,
    x=lambda g, y, x_shape, axes: tensordot_x(g, y, len(x_shape), axes),
    y=lambda g, x, y_shape, axes: tensordot_y(g, x, len(y_shape), axes),
)


@batching(np.tensordot)
def batched_tensordot(call: BatchedCall) -> Any:
    """A sum over the given axes."""
    return batched_contraction(call, *contracted(call["axes"], call.ndim("x"), call.ndim("y")))


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


@batching(np.einsum)
def batched_einsum(call: BatchedCall) -> Any:
    """One more letter, of the operands that are mapped and of the result."""
    subscripts, xs, flags = call["subscripts"], call["xs"], call.mapped[1]
    if not isinstance(subscripts, str) or not call.only("xs"):
        return NotImplemented
    terms, result = letters(subscripts, [int(np.ndim(x)) - m for x, m in zip(xs, flags, strict=True)])
    used = set(result).union(*terms)
    new = next(c for c in "bnzyxwvutsrqponmlkjihgfedcaBNZYXWVUTSRQPONMLKJIHGFEDCA" if c not in used)
    terms = [new + t if m else t for t, m in zip(terms, flags, strict=True)]
    return call.run(subscripts=f"{','.join(terms)}->{new}{result}")


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


@composed(np.einsum_path)
def einsum_path(*operands: Any, **options: Any) -> Any:
    """The order of the products, which the lengths alone decide."""
    stand_ins = [np.broadcast_to(0.0, np.shape(x)) if hasattr(x, "dtype") else x for x in operands]
    return np.einsum_path(*stand_ins, **options)


op(np.kron, "x, y", bilinear, types=RUN)
rule(
    np.kron,
    x=lambda g, y, x_shape: kron_back(g, y, x_shape, first=True),
    y=lambda g, x, y_shape: kron_back(g, x, y_shape, first=False),
)


@batching(np.kron)
def batched_kron(call: BatchedCall) -> Any:
    """Axes of x and y side by side, multiplied and merged."""
    ndim = max(call.ndim("x"), call.ndim("y"))
    parts, sizes = [], []
    for name in ("x", "y"):
        value, m = call[name], call.is_mapped(name)
        shape = (1,) * (ndim - call.ndim(name)) + tuple(np.shape(value)[m:])
        between = [n for s in shape for n in ((s, 1) if name == "x" else (1, s))]
        parts.append(np.reshape(value, (call.size, *between) if m else tuple(between)))
        sizes.append(shape)
    merged = [a * b for a, b in zip(*sizes, strict=True)]
    return np.reshape(np.multiply(*parts), (call.size, *merged))


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


@batching(np.cross)
def batched_cross(call: BatchedCall) -> Any:
    """Axes counted from the end, where the batch axis is not."""
    axis = call["axis"]
    return batched_cross_along(call, *((call["axisa"], call["axisb"], call["axisc"]) if axis is None else (axis,) * 3))


def batched_cross_along(call: BatchedCall, axisa: int, axisb: int, axisc: int) -> Any:
    """The cross product along these axes of x, of y and of the result."""
    nx, ny = call.ndim("x"), call.ndim("y")
    most = max(nx, ny)
    a, b, c = (k - n if k >= 0 else k for k, n in ((axisa, nx), (axisb, ny), (axisc, most)))
    if np.shape(call["x"])[a] != 3 or np.shape(call["y"])[b] != 3:
        return NotImplemented
    x, y = (lifted(call[name], most) if call.is_mapped(name) else call[name] for name in ("x", "y"))
    return np.cross(x, y, axisa=a, axisb=b, axisc=c)


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
takes_out("arrays out", np.linalg.multi_dot)


@batching(np.linalg.multi_dot)
def batched_multi_dot(call: BatchedCall) -> Any:
    """Products from left to right."""
    xs, flags = call["xs"], call.mapped[0]
    if flags is True:
        return NotImplemented
    total, ndim, mapped = xs[0], int(np.ndim(xs[0])) - flags[0], flags[0]
    for x, m in zip(xs[1:], flags[1:], strict=True):
        n = int(np.ndim(x)) - m
        total = batched_product(total, x, ndim, n, mapped, m) if mapped or m else total @ x
        ndim, mapped = ndim + n - 2, mapped or m
    return total


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
    y=lambda g, x, y_shape: matmul_y(g, x, y_shape),
)
batching(np.linalg.matmul)(batched_matmul)

op(np.linalg.outer, "x, y", bilinear)
rule(np.linalg.outer, x=lambda g, y: g @ y, y=lambda g, x: x @ g)
batching(np.linalg.outer)(batched_outer)

op(np.linalg.tensordot, "x, y, *, axes=2", bilinear)
rule(
    np.linalg.tensordot,
    x=lambda g, y, x_shape, axes: tensordot_x(g, y, len(x_shape), axes),
    y=lambda g, x, y_shape, axes: tensordot_y(g, x, len(y_shape), axes),
)
batching(np.linalg.tensordot)(batched_tensordot)

op(np.linalg.cross, "x, y, *, axis=-1", bilinear)
rule(
    np.linalg.cross,
    x=lambda g, y, x_shape, axis: cross_back(g, y, x_shape, axis, axis, axis, first=True),
    y=lambda g, x, y_shape, axis: cross_back(g, x, y_shape, axis, axis, axis, first=False),
)
batching(np.linalg.cross)(lambda call: batched_cross_along(call, *[call["axis"]] * 3))

op(np.linalg.matrix_transpose, "x", Kind.shaping)
rule(np.linalg.matrix_transpose, x=lambda g: np.linalg.matrix_transpose(g))

op(np.linalg.diagonal, "x, *, offset=0", Kind.shaping)
rule(np.linalg.diagonal, x=lambda g, offset, x_shape, x_dtype: on_diagonal(g, offset, -2, -1, x_shape, x_dtype))

op(np.linalg.trace, "x, *, offset=0, dtype=None", linear, memory=NEW, types=LENGTHS)
rule(
    np.linalg.trace,
    x=lambda g, offset, x_shape, x_dtype: along_diagonal(np.expand_dims(g, -1), offset, -2, -1, x_shape, x_dtype),
)
batching(np.linalg.matrix_transpose, np.linalg.diagonal, np.linalg.trace)(of_matrices)

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
    return over_matrices(g, x) * flip(adjugate(x, out))


def over_matrices(g: Any, x: Any) -> Any:
    """Numbers, one for each matrix of `x`, as a factor of those matrices."""
    return g if np.ndim(x) == 2 else np.expand_dims(g, (-2, -1))


@primitive("x, det", opaque, may_raise=True, types=lambda x: np.empty(x.shape, x.dtype))
def adjugate(x: Any, det: Any) -> Any:
    """The determinant times the inverse, which a singular matrix has, too: its cofactors, transposed."""
    if np.all(det != 0):
        out = np.expand_dims(det, (-2, -1)) * np.linalg.inv(x)
    else:
        u, s, vh = np.linalg.svd(x)
        rest = np.stack([np.prod(np.delete(s, k, -1), -1) for k in range(s.shape[-1])], -1)
        v = np.conj(np.swapaxes(vh, -1, -2)) * np.expand_dims(rest, -2)
        signs = np.linalg.det(u) * np.linalg.det(vh)
        out = np.expand_dims(signs, (-2, -1)) * (v @ np.conj(np.swapaxes(u, -1, -2)))
    return out


rule(adjugate, x=lambda g, x, det, out: adjugate_back(g, x, det, out), det=None)


@batching(adjugate)
def batched_adjugate(call: BatchedCall) -> Any:
    """Of stacks of matrices."""
    return call.run(x=call.spread("x"), det=call.spread("det"))


def adjugate_back(g: Any, x: Any, det: Any, out: Any) -> Any:
    """The cotangent under the adjugate, of which a singular matrix needs each cofactor by itself."""
    if happens(det == 0):
        return cofactors_back(g, x)
    inverse = flip(np.linalg.inv(x))
    return np.sum(g * out, axis=(-2, -1), keepdims=True) * inverse - inverse @ g @ flip(out)


def cofactors_back(g: Any, x: Any) -> Any:
    """The cotangent under the adjugate, from the determinants that its elements are."""
    n = range(x.shape[-1])
    total: Any = 0.0
    for i in n:
        for j in n:
            minor = np.delete(np.delete(x, i, -2), j, -1)
            d_minor = flip(adjugate(minor, np.linalg.det(minor))) * np.expand_dims((-1) ** (i + j) * g[..., j, i], (-2, -1))
            total = total + np.insert(np.insert(d_minor, j, 0.0, -1), i, 0.0, -2)
    return total


op(np.linalg.slogdet, "x", opaque, n_out=2, memory=NEW, types=LENGTHS)
rule(np.linalg.slogdet, x=lambda g, x, out: slogdet_back(g[0], g[1], x, out[0]))


def slogdet_back(g_sign: Any, g_log: Any, x: Any, sign: Any) -> Any:
    """The cotangent of `log(det(x))`, times the transposed inverse; a real sign is constant."""
    if x.dtype.kind == "c" and g_sign is not None:
        turned = -1j * np.real(1j * g_sign * sign)
        g_log = turned if g_log is None else g_log + turned
    if g_log is None:
        return None
    return over_matrices(g_log, x) * flip(np.linalg.inv(x))


op(np.linalg.solve, "x, y", opaque, may_raise=True, memory=NEW, types=LENGTHS)
rule(
    np.linalg.solve,
    x=lambda g, x, out, y_shape: solve_x(solve_y(g, x, len(y_shape)), out, len(y_shape)),
    y=lambda g, x, y_shape: solve_y(g, x, len(y_shape)),
)


@batching(np.linalg.solve)
def batched_solve(call: BatchedCall) -> Any:
    """Of stacks; one matrix for many vectors is solved once, with the vectors as columns."""
    x, y, nx, ny = call["x"], call["y"], call.ndim("x"), call.ndim("y")
    if nx < 2 or not ny:
        return NotImplemented
    if not call.is_mapped("y"):
        return np.linalg.solve(x, y) if ny == 1 else np.linalg.solve(lifted(x, max(nx, ny)), y)
    if ny > 1:
        return np.linalg.solve(lifted(x, max(nx, ny)) if call.is_mapped("x") else x, lifted(y, max(nx, ny)))
    if not call.is_mapped("x") and nx == 2:
        return np.linalg.solve(x, y.T).T
    return np.linalg.solve(x, np.expand_dims(lifted(y, nx - 1), -1))[..., 0]


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
batching(
    np.linalg.inv, np.linalg.pinv, np.linalg.det, np.linalg.slogdet, np.linalg.matrix_power
)(of_matrices)


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
