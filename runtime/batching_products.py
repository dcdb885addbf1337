"""Batching of products and of linear algebra: NumPy's own leading axes wherever it has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batching import Call, batching, lifted, shifted
from .rules.contraction import conj, contracted, letters
from .rules.eigen import complex_eig, complex_eigvals
from .rules.linalg import shared_matmul

__all__: list[str] = []


@batching(np.matmul, np.linalg.matmul)
def matmul(call: Call) -> Any:
    """A product of stacks; a matrix that all examples share stays one."""
    x, y, nx, ny = call["x"], call["y"], call.ndim("x"), call.ndim("y")
    return product(x, y, nx, ny, call.is_mapped("x"), call.is_mapped("y")) if nx and ny else NotImplemented


def product(x: Any, y: Any, nx: int, ny: int, x_mapped: bool, y_mapped: bool) -> Any:
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


@batching(shared_matmul)
def shared(call: Call) -> Any:
    """The product that it is, where all examples of an outer vmap have a batch axis of their own."""
    x, w = call["x"], call["w"]
    if call.ndim("x") == 2:
        return np.vecdot(conj(x), w) if call.ndim("w") == 2 else (np.expand_dims(x, -2) @ w)[..., 0, :]
    return x @ w if call.ndim("w") == 3 else (x @ np.expand_dims(w, -1))[..., 0]


def contract(call: Call, x_axes: list[int], y_axes: list[int]) -> Any:
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
    left = np.reshape(_ordered(x, [*x_free, *x_axes]), (size, *_grouped(x_shape, x_free), *_merged(x_shape, x_axes)))
    right = np.reshape(_ordered(y, [*y_axes, *y_free]), (size, *_merged(y_shape, y_axes), *_grouped(y_shape, y_free)))
    return np.reshape(left @ right, (size, *[x_shape[a] for a in x_free], *[y_shape[a] for a in y_free]))


def _ordered(x: Any, axes: list[int]) -> Any:
    return x if axes == sorted(axes) else np.transpose(x, (0, *[a + 1 for a in axes]))


def _merged(shape: Any, axes: list[int]) -> tuple[Any]:
    count: Any = 1
    for a in axes:
        count = shape[a] if type(count) is int and count == 1 else count * shape[a]
    return (count,)


_grouped = _merged


@batching(np.dot)
def dot(call: Call) -> Any:
    """As matmul up to matrices, and beyond a sum over the last axis of x and the last but one of y."""
    nx, ny = call.ndim("x"), call.ndim("y")
    if not nx or not ny:
        return scaled(call)
    return matmul(call) if nx <= 2 and ny <= 2 else contract(call, [nx - 1], [max(ny - 2, 0)])


@batching(np.inner)
def inner(call: Call) -> Any:
    """A sum over the last axes."""
    nx, ny = call.ndim("x"), call.ndim("y")
    if not nx or not ny:
        return scaled(call)
    return matmul(call) if nx == ny == 1 else contract(call, [nx - 1], [ny - 1])


def scaled(call: Call) -> Any:
    """A product with a number."""
    most = max(call.ndim("x"), call.ndim("y"))
    x, y = (lifted(call[name], most) if call.is_mapped(name) else call[name] for name in ("x", "y"))
    return np.multiply(x, y)


@batching(np.tensordot, np.linalg.tensordot)
def tensordot(call: Call) -> Any:
    """A sum over the given axes."""
    return contract(call, *contracted(call["axes"], call.ndim("x"), call.ndim("y")))


@batching(np.vdot)
def vdot(call: Call) -> Any:
    """The flat arrays' product."""
    x, y = (
        np.reshape(call[name], (call.size, -1)) if call.is_mapped(name) else np.reshape(call[name], -1)
        for name in ("x", "y")
    )
    return product(conj(x), y, 1, 1, call.is_mapped("x"), call.is_mapped("y"))


@batching(np.vecdot)
def vecdot(call: Call) -> Any:
    """Along the last axes."""
    most = max(call.ndim("x"), call.ndim("y"))
    return call.run(**{name: lifted(call[name], most) for name in ("x", "y") if call.is_mapped(name)})


@batching(np.outer, np.linalg.outer)
def outer(call: Call) -> Any:
    """Every element of x times every one of y."""
    x = np.reshape(call["x"], (call.size, -1, 1)) if call.is_mapped("x") else np.reshape(call["x"], (-1, 1))
    y = np.reshape(call["y"], (call.size, 1, -1)) if call.is_mapped("y") else np.reshape(call["y"], -1)
    return np.multiply(x, y)


@batching(np.kron)
def kron(call: Call) -> Any:
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


@batching(np.einsum)
def einsum(call: Call) -> Any:
    """One more letter, of the operands that are mapped and of the result."""
    subscripts, xs, flags = call["subscripts"], call["xs"], call.mapped[1]
    if not isinstance(subscripts, str) or not call.only("xs"):
        return NotImplemented
    terms, result = letters(subscripts, [int(np.ndim(x)) - m for x, m in zip(xs, flags, strict=True)])
    used = set(result).union(*terms)
    new = next(c for c in "bnzyxwvutsrqponmlkjihgfedcaBNZYXWVUTSRQPONMLKJIHGFEDCA" if c not in used)
    terms = [new + t if m else t for t, m in zip(terms, flags, strict=True)]
    return call.run(subscripts=f"{','.join(terms)}->{new}{result}")


@batching(np.cross, np.linalg.cross)
def cross(call: Call) -> Any:
    """Axes counted from the end, where the batch axis is not."""
    x, y, nx, ny = call["x"], call["y"], call.ndim("x"), call.ndim("y")
    most = max(nx, ny)
    axes = [call["axis"]] * 3
    if call.op.path == "np.cross" and call["axis"] is None:
        axes = [call["axisa"], call["axisb"], call["axisc"]]
    a, b, c = (k - n if k >= 0 else k for k, n in zip(axes, (nx, ny, most), strict=True))
    if np.shape(x)[a] != 3 or np.shape(y)[b] != 3:
        return NotImplemented
    x, y = (lifted(call[name], most) if call.is_mapped(name) else call[name] for name in ("x", "y"))
    return np.cross(x, y, axisa=a, axisb=b, axisc=c)


@batching(np.linalg.multi_dot)
def multi_dot(call: Call) -> Any:
    """Products from left to right."""
    xs, flags = call["xs"], call.mapped[0]
    if flags is True:
        return NotImplemented
    total, ndim, mapped = xs[0], int(np.ndim(xs[0])) - flags[0], flags[0]
    for x, m in zip(xs[1:], flags[1:], strict=True):
        n = int(np.ndim(x)) - m
        total = product(total, x, ndim, n, mapped, m) if mapped or m else total @ x
        ndim, mapped = ndim + n - 2, mapped or m
    return total


# Linear algebra: NumPy's functions take stacks of matrices.


@batching(
    np.linalg.inv, np.linalg.pinv, np.linalg.det, np.linalg.slogdet, np.linalg.matrix_power, np.linalg.cholesky,
    np.linalg.eigh, np.linalg.eigvalsh, np.linalg.svd, np.linalg.svdvals, np.linalg.qr, np.linalg.matrix_norm,
    np.linalg.matrix_rank, np.linalg.cond, complex_eig, complex_eigvals,
)  # fmt: skip
def stacked(call: Call) -> Any:
    """Of stacks of matrices."""
    return call.run() if call.only("x") and call.ndim("x") >= 2 else NotImplemented


# Fourier transforms, by name since NumPy loads them late.


@batching(*[f"np.fft.{name}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")])
def transformed(call: Call) -> Any:
    """Along an axis that is one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.only("x") and call.ndim("x") else NotImplemented


@batching(*[f"np.fft.{way}{kind}{many}" for way in ("", "i") for kind in ("fft", "rfft") for many in ("2", "n")])
def transformed_along(call: Call) -> Any:
    """Along axes that are one further back: those named, else the last ones that `s` has lengths for, else all."""
    ndim, axes = call.ndim("x"), call["axes"]
    if not call.only("x") or not ndim:
        return NotImplemented
    if axes is None:
        axes = tuple(range(-len(call["s"] or range(ndim)), 0))
    return call.run(axes=shifted(tuple(axes), ndim))


@batching("np.fft.fftshift", "np.fft.ifftshift")
def moved(call: Call) -> Any:
    """Along axes that are one further back."""
    axes = call["axes"]
    axes = tuple(range(call.ndim("x"))) if axes is None else axes
    return call.run(axes=shifted(axes, call.ndim("x")))


@batching(np.linalg.solve)
def solve(call: Call) -> Any:
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


@batching(np.linalg.norm, np.linalg.vector_norm)
def norm(call: Call) -> Any:
    """Along axes that are one further back; without any, those that the norm means."""
    x, ndim, axis, order = call["x"], call.ndim("x"), call["axis"], call["ord"]
    if not ndim or not call.only("x"):
        return NotImplemented
    if axis is not None:
        axes = axis if isinstance(axis, tuple) else (axis,)
        moved = tuple([a % ndim + 1 for a in axes])
        return call.run(axis=moved if isinstance(axis, tuple) else moved[0])
    if ndim == 1 or (ndim == 2 and order is not None and call.op.name == "norm"):
        return call.run(axis=1 if ndim == 1 else (1, 2))
    if order is not None and call.op.name == "norm":
        return NotImplemented
    found = call.run(x=np.reshape(x, (call.size, -1)), axis=1, keepdims=False)  # of the flat array
    return lifted(found, ndim) if call["keepdims"] else found
