"""vjp and jacobian: gradients of functions whose output is not a scalar."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.errors import ShapeError
from ..runtime.rules.indexing import place
from ..tracer.backward import seed_of
from ..tracer.engine import run_backward
from ..tracer.modes import LOCAL, transforming
from ..tracer.operand import Operand, wrap
from ..tracer.site import prune
from .arguments import Arguments, Finisher
from .scope import scope
from .transform import Transform
from .trees import flatten, unflatten

__all__ = ["jacobian", "vjp"]


class _Pullback:
    """What carries a cotangent of the output back to the arguments."""

    def __init__(self, frame: Arguments, leaves: list[Any], structure: Any, keep_graph: bool) -> None:
        self.frame, self.leaves, self.structure, self.keep_graph = frame, leaves, structure, keep_graph

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        given, structure = flatten(cotangent)
        if structure != self.structure:
            raise ShapeError(
                f"the cotangent of a pullback has the structure of the output, {self.structure}, but got {structure}"
            )
        roots = []
        as_tensors = self.keep_graph or LOCAL.recorder is not None
        for k, (leaf, g) in enumerate(zip(self.leaves, given, strict=True)):
            if isinstance(leaf, Operand) and leaf._node is not None:
                seed = seed_of(leaf, g, k)
                roots.append((leaf._node, seed if as_tensors else seed._value))
        grads = run_backward(roots, self.frame.wanted, retain_graph=True, create_graph=self.keep_graph) if roots else {}
        finisher = Finisher(self.frame, as_tensors or self.frame.tensors_given)
        return tuple(
            unflatten(s, [finisher.gradient(g, a) for g, a in group]) for s, group in self.frame.grouped(grads)
        )


def _forward(function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, _Pullback]:
    outer = LOCAL.differentiating > 0 and LOCAL.grad
    frame = Arguments(function, argnums, args, kwargs)
    keep_graph = outer or (frame.tensors_given and LOCAL.grad)
    with transforming(frame.owned, gradient=True):
        leaves, structure = flatten(scope().rebuild(function)(*frame.args, **frame.kwargs))
    finisher = Finisher(frame, outer or frame.tensors_given or LOCAL.recorder is not None)
    value = unflatten(structure, [finisher.result(leaf) for leaf in leaves])
    return value, _Pullback(frame, leaves, structure, keep_graph)


def vjp(function: Callable[..., Any], *args: Any) -> tuple[Any, _Pullback]:
    """`(output, pullback)`: the pullback takes a cotangent of the output and gives a tuple, one gradient an argument.

    The cotangent has the structure, shapes and (real or complex) dtypes of the output; else ShapeError or DtypeError.

    >>> import numpy as np, gradscribe as gs
    >>> out, pullback = gs.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    try:
        return _forward(function, tuple(range(len(args))), args, {})
    except Exception as error:
        raise prune(error) from error.__cause__


def pulled_back(function: Any, argnum: int | str, args: tuple[Any, ...], kwargs: dict[str, Any], cotangent: Any) -> Any:
    """The cotangent of one argument."""
    return _forward(function, (argnum,), args, kwargs)[1](cotangent)[0]


class JacobianFunction(Transform):
    """What `gs.jacobian` returns."""

    kind = "jacobian"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            out, pullback = _forward(self.function, (self.options["argnums"],), args, kwargs)
        except Exception as error:
            raise prune(error) from error.__cause__
        if not isinstance(out, (Operand, np.ndarray, np.generic, float, complex)):
            raise ShapeError(f"gs.jacobian needs one array as output, but got {type(out).__name__}")
        shape = np.shape(out)
        dtype = out.dtype if hasattr(out, "dtype") else np.result_type(out)
        rows = []
        for k in range(int(np.prod(shape))):
            one = dtype.type(1)
            place_of_one = tuple([int(j) for j in np.unravel_index(k, shape)])
            rows.append(pullback(place(wrap(one) if isinstance(out, Operand) else one, place_of_one, shape, dtype))[0])
        if not rows:
            raise ShapeError(f"gs.jacobian of an output without elements (shape {shape}) has no rows")
        return np.reshape(np.stack(rows), (*shape, *np.shape(rows[0])))


def jacobian(function: Any = None, argnums: int | str = 0) -> Any:
    """The Jacobian of `function` with respect to one array argument: of shape `output.shape + argument.shape`.

    One backward pass an element of the output. Complex follows the convention of `gs.grad` for each row.

    >>> import numpy as np, gradscribe as gs
    >>> gs.jacobian(lambda x: x ** 2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if function is None:
        return functools.partial(jacobian, argnums=argnums)
    return JacobianFunction(function, {"argnums": argnums})
