"""vjp and jacobian: gradients of functions whose output is not a scalar."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.errors import ShapeError
from ..runtime.registry import require
from ..tracer.backward import seed_of
from ..tracer.dispatch import apply
from ..tracer.engine import run_backward
from ..tracer.modes import LOCAL, transforming
from ..tracer.operand import Operand, wrap
from ..tracer.site import prune
from .arguments import Arguments, Finisher
from .scope import scope
from .transform import Transform
from .trees import flatten, unflatten
from .vmap import vmap

__all__ = ["JacobianFunction", "Pullback", "forward", "jacobian", "vjp"]


class Pullback:
    """What carries a cotangent of the output back to the arguments."""

    def __init__(self, frame: Arguments, leaves: list[Any], structure: Any, keep_graph: bool) -> None:
        self.frame, self.leaves, self.structure, self.keep_graph = frame, leaves, structure, keep_graph

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        given, structure = flatten(cotangent)
        if structure != self.structure:
            raise ShapeError(
                f"the cotangent of a pullback has the structure of the output, {self.structure}, but got {structure}"
            )
        return self._back(list(enumerate(given)))

    def _back(self, given: list[tuple[int, Any]]) -> tuple[Any, ...]:
        """The gradients for cotangents of some leaves of the output."""
        roots = []
        as_tensors = self.keep_graph or LOCAL.recorder is not None or bool(LOCAL.levels)
        for k, g in given:
            leaf = self.leaves[k]
            if isinstance(leaf, Operand) and leaf._node is not None:
                seed = seed_of(leaf, g, k)
                roots.append((leaf._node, seed if as_tensors else seed._value))
        grads = run_backward(roots, self.frame.wanted, retain_graph=True, create_graph=self.keep_graph) if roots else {}
        finisher = Finisher(self.frame, as_tensors or self.frame.tensors_given)
        return tuple(
            unflatten(s, [finisher.gradient(g, a) for g, a in group]) for s, group in self.frame.grouped(grads)
        )

    def rows(self, k: int) -> tuple[Any, ...]:
        """The Jacobian of one leaf of the output: all rows of it in one run."""
        leaf = self.leaves[k]
        if not isinstance(leaf, (Operand, np.ndarray, np.generic, float, complex)):
            raise ShapeError(f"gs.jacobian needs arrays as output, but got {type(leaf).__name__}")
        shape, dtype = np.shape(leaf), leaf.dtype if hasattr(leaf, "dtype") else np.result_type(leaf)
        if 0 in shape:
            raise ShapeError(f"gs.jacobian of an output without elements (shape {tuple(shape)}) has no rows")
        tensors = isinstance(leaf, Operand) and (self.keep_graph or LOCAL.recorder is not None)
        if not shape:
            return self._back([(k, wrap(dtype.type(1)) if tensors else dtype.type(1))])
        count = functools.reduce(operator.mul, shape)
        eye = _recorded_eye(count, dtype) if tensors else np.eye(count, dtype=dtype)
        each = eye if len(shape) == 1 else np.reshape(eye, (count, *shape))
        found = vmap(lambda g: self._back([(k, g)]))(each)
        made = []
        for tree in found:
            leaves, structure = flatten(tree)
            if len(shape) > 1:
                leaves = [np.reshape(row, (*shape, *np.shape(row)[1:])) for row in leaves]
            made.append(unflatten(structure, leaves))
        return tuple(made)


def _recorded_eye(count: Any, dtype: Any) -> Any:
    """The cotangents of all rows, where a recorder sees them being made."""
    recorder = LOCAL.recorder
    before = None if recorder is None else recorder.backward_begins()
    made = apply(require(np.eye), (count,), {"dtype": dtype})
    if recorder is not None:
        recorder.backward_ends(before)
    return made


def forward(function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Pullback]:
    """The value of a function, and the way back to the arguments `argnums`."""
    outer = LOCAL.differentiating > 0 and LOCAL.grad
    frame = Arguments(function, argnums, args, kwargs)
    keep_graph = outer or (frame.tensors_given and LOCAL.grad)
    with transforming(frame.owned, gradient=True):
        leaves, structure = flatten(scope().rebuild(function)(*frame.args, **frame.kwargs))
    finisher = Finisher(frame, outer or frame.tensors_given or LOCAL.recorder is not None)
    value = unflatten(structure, [finisher.result(leaf) for leaf in leaves])
    return value, Pullback(frame, leaves, structure, keep_graph)


def vjp(function: Callable[..., Any], *args: Any) -> tuple[Any, Pullback]:
    """`(output, pullback)`: the pullback takes a cotangent of the output and gives a tuple, one gradient an argument.

    The cotangent has the structure, shapes and (real or complex) dtypes of the output; else ShapeError or DtypeError.

    >>> import numpy as np, gradscribe as gs
    >>> out, pullback = gs.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    try:
        return forward(function, tuple(range(len(args))), args, {})
    except Exception as error:
        raise prune(error) from error.__cause__


def pulled_back(function: Any, argnum: int | str, args: tuple[Any, ...], kwargs: dict[str, Any], cotangent: Any) -> Any:
    """The cotangent of one argument."""
    return forward(function, (argnum,), args, kwargs)[1](cotangent)[0]


class JacobianFunction(Transform):
    """What `gs.jacobian` returns."""

    kind = "jacobian"

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        argnums = self.options["argnums"]
        several = isinstance(argnums, (tuple, list))
        pullback = forward(self.function, argnums if several else (argnums,), args, kwargs)[1]
        rows = [pullback.rows(k) for k in range(len(pullback.leaves))]
        return unflatten(pullback.structure, [row if several else row[0] for row in rows])


def jacobian(function: Any = None, argnums: Any = 0) -> Any:
    """The Jacobian of `function` with respect to the argument `argnums`: of shape `output.shape + argument.shape`.

    Where the output is a tree (dict, list, tuple, dataclass), so is the result, and each leaf of it is a tree like the
    argument, or a tuple of them where `argnums` is a tuple. All rows go through one backward pass. Complex follows the
    convention of `gs.grad` for each row. Raises ShapeError for an output without elements, DtypeError for integers.

    >>> import numpy as np, gradscribe as gs
    >>> gs.jacobian(lambda x: x ** 2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if function is None:
        return functools.partial(jacobian, argnums=argnums)
    return JacobianFunction(function, {"argnums": argnums})
