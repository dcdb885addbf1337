"""The transposes of products that sum over axes: matmul, dot, inner, tensordot and einsum."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from .support import expanded, is_complex, place_diagonal


def conj(x: Any) -> Any:
    """The complex conjugate, left out where there is nothing to conjugate."""
    return np.conj(x) if is_complex(x) else x


def flip(x: Any) -> Any:
    """The transpose of the last two axes."""
    return x.T if np.ndim(x) == 2 else np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return conj(flip(x))


# matmul: a vector operand is a row (first) or a column (second) whose axis the result lacks. Batch axes that were
# broadcast are the engine's to sum.


def matmul_x(g: Any, y: Any, ndim: int) -> Any:
    """The cotangent of the first operand of `x @ y`, which has `ndim` axes."""
    if np.ndim(y) == 1:
        return g * y if ndim == 1 else expanded(g, -1) * y
    if ndim == 1:
        return y @ g if np.ndim(y) == 2 else (y @ expanded(g, -1))[..., 0]
    return g @ (y.T if np.ndim(y) == 2 else np.swapaxes(y, -1, -2))


def matmul_y(g: Any, x: Any, y_shape: Any) -> Any:
    """The cotangent of the second operand of `x @ y`."""
    ndim = len(y_shape)
    if np.ndim(x) == 1:
        return g * x if ndim == 1 else expanded(x, -1) * expanded(g, -2)
    if np.ndim(x) == 2:
        if ndim <= 2:
            return x.T @ g
    elif ndim <= 2:  # a stack of matrices times one: one product over all rows
        if 0 in y_shape:
            return np.tensordot(x, g, (tuple(range(np.ndim(x) - 1)),) * 2)
        return np.reshape(x, (-1, y_shape[0])).T @ np.reshape(g, (-1, *y_shape[1:]))
    return np.swapaxes(x, -1, -2) @ g


def dot_x(g: Any, y: Any, ndim: int) -> Any:
    """The cotangent of the first operand of `np.dot(x, y)`."""
    if ndim == 0 or np.ndim(y) == 0:
        return g * y
    if np.ndim(y) <= 2:
        return matmul_x(g, y, ndim)
    kept = np.ndim(y) - 1
    return np.tensordot(g, y, (tuple(range(-kept, 0)), (*range(kept - 1), kept)))


def dot_y(g: Any, x: Any, y_shape: Any) -> Any:
    """The cotangent of the second operand of `np.dot(x, y)`."""
    ndim = len(y_shape)
    if ndim == 0 or np.ndim(x) == 0:
        return g * x
    if ndim <= 2:
        return matmul_y(g, x, y_shape)
    rows = tuple(range(np.ndim(x) - 1))
    return np.moveaxis(np.tensordot(x, g, (rows, rows)), 0, -2)


def inner_x(g: Any, y: Any, ndim: int) -> Any:
    """The cotangent of the first operand of `np.inner(x, y)`."""
    if ndim == 0 or np.ndim(y) == 0:
        return g * y
    if np.ndim(y) == 1:
        return g * y if ndim == 1 else expanded(g, -1) * y
    kept = np.ndim(y) - 1
    return np.tensordot(g, y, (tuple(range(-kept, 0)), tuple(range(kept))))


def inner_y(g: Any, x: Any, ndim: int) -> Any:
    """The cotangent of the second operand of `np.inner(x, y)`."""
    if ndim == 0 or np.ndim(x) == 0:
        return g * x
    if np.ndim(x) == 1:
        return g * x if ndim == 1 else expanded(g, -1) * x
    rows = tuple(range(np.ndim(x) - 1))
    return np.tensordot(g, x, (rows, rows))


def contracted(axes: Any, x_ndim: int, y_ndim: int) -> tuple[list[int], list[int]]:
    """The axes of x and of y that `np.tensordot` sums over, in pairs."""
    if np.ndim(axes) == 0 and not isinstance(axes, (list, tuple)):
        return list(range(x_ndim - axes, x_ndim)), list(range(axes))
    of_x, of_y = ([a] if np.ndim(a) == 0 else list(a) for a in axes)
    return [int(a) % x_ndim for a in of_x], [int(a) % y_ndim for a in of_y]


def tensordot_x(g: Any, y: Any, ndim: int, axes: Any) -> Any:
    """The cotangent of the first operand of `np.tensordot(x, y, axes)`."""
    of_x, of_y = contracted(axes, ndim, np.ndim(y))
    return _uncontract(g, y, ndim, of_x, of_y, first=True)


def tensordot_y(g: Any, x: Any, ndim: int, axes: Any) -> Any:
    """The cotangent of the second operand of `np.tensordot(x, y, axes)`."""
    of_x, of_y = contracted(axes, np.ndim(x), ndim)
    return _uncontract(g, x, ndim, of_y, of_x, first=False)


def _uncontract(g: Any, other: Any, ndim: int, own: list[int], its: list[int], first: bool) -> Any:
    free = [a for a in range(np.ndim(other)) if a not in its]
    mine = [a for a in range(ndim) if a not in own]
    matched = [own[its.index(a)] for a in sorted(its)]  # where each axis that `other` keeps belongs
    if first:
        found = np.tensordot(g, other, (tuple(range(len(mine), len(mine) + len(free))), tuple(free)))
        order = mine + matched
    else:
        found = np.tensordot(other, g, (tuple(free), tuple(range(len(free)))))
        order = matched + mine
    if order == sorted(order):
        return found
    return np.transpose(found, tuple([order.index(a) for a in range(ndim)]))


# einsum: the cotangent of one operand is the einsum of g and the other operands, onto that operand's letters.


def letters(subscripts: str, ndims: list[int]) -> tuple[list[str], str]:
    """Each operand's letters and the result's, the ellipsis spelled out and an implicit result made explicit."""
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    unused = [c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in subscripts]
    hidden = [n - len(t.replace("...", "")) if "..." in t else 0 for t, n in zip(terms, ndims, strict=True)]
    dots = "".join(reversed(unused[: max(hidden)]))
    terms = [t.replace("...", dots[len(dots) - h :]) for t, h in zip(terms, hidden, strict=True)]
    if arrow:
        return terms, result.replace("...", dots)
    every = "".join(terms)
    return terms, dots + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in dots))


def einsum_back(g: Any, i: int, subscripts: Any, xs: Any, xs_shape: Any, xs_dtype: Any, optimize: Any) -> Any:
    """The cotangent of operand `i` of an einsum."""
    terms, result = letters(subscripts, [len(s) for s in xs_shape])
    term, shape = terms[i], xs_shape[i]
    others = [k for k in range(len(terms)) if k != i]
    reach = set(result).union(*[terms[k] for k in others])
    once = "".join(dict.fromkeys(term))
    target = "".join([c for c in once if c in reach])
    text = ",".join([result, *[terms[k] for k in others]]) + "->" + target
    path: Any = optimize if isinstance(optimize, (bool, str)) else True  # a path given is one for the forward call
    found = g if not others and target == result else np.einsum(text, g, *[xs[k] for k in others], optimize=path)
    sizes = dict(zip(term, shape, strict=True))
    if target == term:
        return found  # where an axis of one met a longer one, the engine sums
    longer = tuple([k for k, c in enumerate(target) if sizes[c] == 1 != np.shape(found)[k]])
    found = np.sum(found, axis=longer, keepdims=True) if longer else found
    if target != once:  # a letter that only this operand has was summed away
        found = np.expand_dims(found, tuple([k for k, c in enumerate(once) if c not in reach]))
        found = np.broadcast_to(found, tuple([sizes[c] for c in once]))
    return found if once == term else _on_diagonal(found, once, term, sizes, xs_dtype[i])


def _on_diagonal(found: Any, once: str, term: str, sizes: dict[str, Any], dtype: Any) -> Any:
    """A cotangent over each letter once, put where the letters coincide."""
    for c in dict.fromkeys(term):
        for _ in range(term.count(c) - 1):
            # the axis of c goes last (the diagonal), and comes back as two
            spot = once.index(c)
            rest = once[:spot] + once[spot + 1 :]
            shape = (*[sizes[r] for r in rest], sizes[c], sizes[c])
            found = place_diagonal(np.moveaxis(found, spot, -1), 0, -2, -1, shape, dtype)
            once = rest + c + c
    order = list(range(len(once)))
    taken: list[int] = []
    for c in term:
        taken.append(next(k for k in order if once[k] == c and k not in taken))
    return found if taken == order else np.transpose(found, tuple(taken))
