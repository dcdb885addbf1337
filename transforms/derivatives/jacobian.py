"""jacobian, jacrev, jacfwd: every derivative of every output, by rows (backward) or by columns (forward)."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Literal, overload

from ...runtime.arrays import is_array
from ...runtime.errors import ShapeError
from ...runtime.registry import require
from ...tracer.core.dispatch import apply
from ...tracer.core.listening import in_backward
from ...tracer.core.site import pruned
from ...tracer.core.tensor_base import Operand, wrap
from ...tracer.core.thread_state import capturing
from ...unpatched import np
from ..arguments import check_argnums
from ..transform import Transform
from ..trees import flatten, unflatten
from .linearize import Pushforward
from .vjp import Pullback, Traced, traced
from .vmap import vmap

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typed import Argnums, P, S, Transformed, Transforming, WithAux

__all__ = ["JacobianFunction", "jacfwd", "jacobian", "jacrev"]

_KINDS = {"cheaper": "jacobian", "reverse": "jacrev", "forward": "jacfwd"}


class JacobianFunction(Transform):
    """The transform behind `gs.jacobian`, `gs.jacrev` and `gs.jacfwd`."""

    kind = "jacobian"

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.mode = options.get("mode", "reverse")
        self.kind = _KINDS[self.mode]
        super().__init__(function, options)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        argnums = self.options["argnums"]
        several = isinstance(argnums, (tuple, list))
        has_aux = self.options.get("has_aux", False)
        run = traced(self.function, argnums if several else (argnums,), args, kwargs, has_aux)[1]
        for leaf in run.leaves:
            _check(leaf, self.kind)
        forward = self.mode == "forward" or (self.mode == "cheaper" and _fewer_columns(run))
        blocks = by_columns(run) if forward else [by_rows(run, k) for k in range(len(run.leaves))]
        found = unflatten(run.structure, [row if several else row[0] for row in blocks])
        return (found, run.aux) if has_aux else found


def _check(leaf: Any, kind: str) -> None:
    """Raise where an output has no Jacobian."""
    if not (isinstance(leaf, (Operand, np.generic, float, complex)) or is_array(leaf)):
        raise ShapeError(f"gs.{kind} needs arrays as output, but got {type(leaf).__name__}")
    if 0 in np.shape(leaf):
        raise ShapeError(f"gs.{kind} of an output without elements (shape {tuple(np.shape(leaf))}) has no rows")


def _fewer_columns(run: Traced) -> bool:
    """Whether the arguments have fewer elements than the outputs; of complex numbers, which take two columns, False."""
    inputs = [leaf for _, group in run.frame.given for _, leaf in group]
    if not inputs or not run.leaves or any(_dtype(leaf).kind == "c" for leaf in (*inputs, *run.leaves)):
        return False
    return bool(0 < _count(inputs) < _count(run.leaves))


def _count(leaves: list[Any]) -> Any:
    return functools.reduce(operator.add, [_product(np.shape(leaf)) for leaf in leaves])


def _product(shape: Any) -> Any:
    return functools.reduce(operator.mul, shape) if shape else 1


def _dtype(leaf: Any) -> Any:
    return np.result_type(leaf._value if isinstance(leaf, Operand) else leaf)


def by_rows(run: Traced, k: int) -> tuple[Any, ...]:
    """The Jacobian of one leaf of the output with respect to each argument: all rows of it in one backward run."""
    leaf, pullback = run.leaves[k], Pullback(run)
    shape, dtype = np.shape(leaf), leaf.dtype if hasattr(leaf, "dtype") else np.result_type(leaf)
    tensors = isinstance(leaf, Operand) and (run.keep_graph or capturing())
    if not shape:
        return pullback.back([(k, wrap(dtype.type(1)) if tensors else dtype.type(1))])
    count = _product(shape)
    eye = _recorded_eye(count, dtype) if tensors else np.eye(count, dtype=dtype)
    each = eye if len(shape) == 1 else np.reshape(eye, (count, *shape))
    found = vmap(lambda g: pullback.back([(k, g)]))(each)
    made = []
    for tree in found:
        leaves, structure = flatten(tree)
        if len(shape) > 1:
            leaves = [np.reshape(row, (*shape, *np.shape(row)[1:])) for row in leaves]
        made.append(unflatten(structure, leaves))
    return tuple(made)


def by_columns(run: Traced) -> list[tuple[Any, ...]]:
    """For each leaf of the output its Jacobian with respect to each argument: the columns of a leaf in one forward run."""
    groups: list[list[list[Any]]] = [[[] for _ in run.leaves] for _ in run.frame.given]
    for j, (structure, group) in enumerate(run.frame.given):
        for n, (_, leaf) in enumerate(group):
            for made, block in zip(groups[j], _columns(run, j, structure, len(group), n, leaf), strict=True):
                made.append(block)
    structures = [structure for structure, _ in run.frame.given]
    return [
        tuple([unflatten(s, made[k]) for s, made in zip(structures, groups, strict=True)])
        for k in range(len(run.leaves))
    ]


def _columns(run: Traced, j: int, structure: Any, size: int, n: int, leaf: Any) -> list[Any]:
    """The Jacobian of every leaf of the output with respect to leaf `n` of argument `j`."""
    shape, dtype = np.shape(leaf), _dtype(leaf)
    zeros = [_zeros(x) for _, x in run.frame.given[j][1]] if size > 1 else [None]

    def push(t: Any) -> Any:
        tangents: list[Any] = [None] * len(run.frame.given)
        tangents[j] = unflatten(structure, [*zeros[:n], t, *zeros[n + 1 :]])
        return Pushforward(run, len(tangents)).push(tangents)

    tensors = run.keep_graph or capturing()
    unit = wrap(dtype.type(1)) if tensors else dtype.type(1)
    if not shape:
        found = [push(unit), push(unit * 1j)] if dtype.kind == "c" else [push(unit)]
    elif 0 in shape:
        return [_empty(np.shape(x) + shape, dtype, tensors) for x in run.leaves]
    else:
        count = _product(shape)
        eye = _recorded_eye(count, dtype) if tensors else np.eye(count, dtype=dtype)
        each = eye if len(shape) == 1 else np.reshape(eye, (count, *shape))
        columns = vmap(push, out_axes=-1)
        found = [columns(each), columns(each * 1j)] if dtype.kind == "c" else [columns(each)]
        if len(shape) > 1:
            found = [[np.reshape(c, (*np.shape(c)[:-1], *shape)) for c in part] for part in found]
    return [_as_rows(parts, leaf, dtype) for parts in zip(*found, strict=True)]


def _as_rows(parts: tuple[Any, ...], leaf: Any, dtype: Any) -> Any:
    """A block in the convention of gradients (the slope of the real part), and in the type of the argument."""
    block, *more = [np.real(p) if _dtype(p).kind == "c" else p for p in parts]
    for imaginary in more:
        block = block + 1j * imaginary
    block = block if _dtype(block) == dtype else block.astype(dtype)
    held, made = (x._value if isinstance(x, Operand) else x for x in (leaf, block))
    if is_array(held) and not is_array(made):  # of a 0-d array it is one
        block = apply(require(np.asarray), (block,), {}) if isinstance(block, Operand) else np.asarray(block)
    return block


def _zeros(leaf: Any) -> Any:
    return _empty(np.shape(leaf), _dtype(leaf), isinstance(leaf, Operand) or capturing())


def _empty(shape: Any, dtype: Any, tensors: bool) -> Any:
    return apply(require(np.zeros), (shape, dtype), {}) if tensors else np.zeros(shape, dtype)


def _recorded_eye(count: Any, dtype: Any) -> Any:
    """The vectors of all rows or columns, where a recorder sees them being made."""
    with in_backward():
        return apply(require(np.eye), (count,), {"dtype": dtype})


def _made(function: Any, argnums: Any, mode: str, has_aux: bool) -> Any:
    check_argnums(argnums, _KINDS[mode])
    options = {"argnums": argnums, "mode": mode, "has_aux": has_aux}
    return (
        functools.partial(_made, argnums=argnums, mode=mode, has_aux=has_aux)
        if function is None
        else JacobianFunction(function, options)
    )


@overload
def jacobian(
    function: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Transformed[P, Any]: ...
@overload
def jacobian(
    function: Callable[P, tuple[Any, S]], argnums: Argnums = 0, *, has_aux: Literal[True]
) -> Transformed[P, tuple[Any, S]]: ...
@overload
def jacobian(function: None = None, argnums: Argnums = 0, has_aux: Literal[False] = False) -> Transforming[Any]: ...
@overload
def jacobian(function: None = None, argnums: Argnums = 0, *, has_aux: Literal[True]) -> WithAux: ...
@pruned
def jacobian(function: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """The Jacobian of `function` with respect to the argument `argnums`: of shape `output.shape + argument.shape`.

    Where the output is a tree (dict, list, tuple, dataclass), so is the result, and each leaf of it is a tree like the
    argument, or a tuple of them where `argnums` is a tuple. The cheaper mode is taken: `gs.jacfwd` where the arguments have
    fewer elements than the outputs (and all are real), else `gs.jacrev`; the two agree to rounding, not bit for bit. The
    function runs once. Complex follows the convention of `gs.grad` for each row: it is the gradient of the real part of
    that output. `has_aux` takes a function that returns `(output, aux)`, and gives `(jacobian, aux)`.
    Raises ShapeError for an output without elements, DtypeError for integers.

    >>> import numpy as np, gradscribe as gs
    >>> gs.jacobian(lambda x: x ** 2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _made(function, argnums, "cheaper", has_aux)


@overload
def jacrev(
    function: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Transformed[P, Any]: ...
@overload
def jacrev(
    function: Callable[P, tuple[Any, S]], argnums: Argnums = 0, *, has_aux: Literal[True]
) -> Transformed[P, tuple[Any, S]]: ...
@overload
def jacrev(function: None = None, argnums: Argnums = 0, has_aux: Literal[False] = False) -> Transforming[Any]: ...
@overload
def jacrev(function: None = None, argnums: Argnums = 0, *, has_aux: Literal[True]) -> WithAux: ...
@pruned
def jacrev(function: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """`gs.jacobian` by reverse mode: all rows of an output go through one backward pass.

    Shapes and errors are those of `gs.jacobian`. It is cheap where the outputs have fewer elements than the arguments.

    >>> import numpy as np, gradscribe as gs
    >>> gs.jacrev(np.sum)(np.array([1.0, 2.0]))
    array([1., 1.])
    """
    return _made(function, argnums, "reverse", has_aux)


@overload
def jacfwd(
    function: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Transformed[P, Any]: ...
@overload
def jacfwd(
    function: Callable[P, tuple[Any, S]], argnums: Argnums = 0, *, has_aux: Literal[True]
) -> Transformed[P, tuple[Any, S]]: ...
@overload
def jacfwd(function: None = None, argnums: Argnums = 0, has_aux: Literal[False] = False) -> Transforming[Any]: ...
@overload
def jacfwd(function: None = None, argnums: Argnums = 0, *, has_aux: Literal[True]) -> WithAux: ...
@pruned
def jacfwd(function: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """`gs.jacobian` by forward mode: all columns of an argument go through one forward pass.

    Shapes and errors are those of `gs.jacobian`. It is cheap where the arguments have fewer elements than the outputs.

    >>> import numpy as np, gradscribe as gs
    >>> gs.jacfwd(lambda t: np.stack([np.cos(t), np.sin(t)]))(0.0)
    array([0., 1.])
    """
    return _made(function, argnums, "forward", has_aux)
