"""grad and value_and_grad: a function of arrays becomes the function of its gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from ...runtime.arrays import ARRIVALS, is_array, one_of
from ...runtime.errors import DtypeError, ShapeError
from ...runtime.registry import require
from ...tracer.core.dispatch import apply
from ...tracer.core.engine import run_backward
from ...tracer.core.foreign import conversion
from ...tracer.core.graph import Reached
from ...tracer.core.listening import in_backward
from ...tracer.core.site import prune
from ...tracer.core.tensor_base import Operand, levels_of, plain_shape, wrap
from ...tracer.core.thread_state import LOCAL, capturing, transforming
from ...unpatched import np
from ..arguments import Arguments, Finisher, check_argnums, parted, return_line, returned
from ..transform import Transform
from ..trees import flatten, unflatten
from ..user_code.scope import scope

if TYPE_CHECKING:
    from ..typed import Argnums, P, S, Transformed, Transforming, WithAux, WithValue

__all__ = ["GradFunction", "grad", "value_and_grad"]


class GradFunction(Transform):
    """The transform behind `gs.grad` and `gs.value_and_grad`: called like the function, it gives the gradient."""

    kind = "grad"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.argnums = options["argnums"]
        self.has_aux = options["has_aux"]
        self.with_value = options["with_value"]
        self.convention = options.get("convention", "torch")
        if self.with_value:
            self.kind = "value_and_grad"

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorded = LOCAL.grad
        outer = LOCAL.differentiating > 0 and recorded
        frame = Arguments(self.function, self.argnums, args, kwargs)
        with transforming(frame.owned, gradient=True, era=frame.era):
            result = scope().rebuild(self.function)(*frame.args, **frame.kwargs)
            frame.note_writes()
            value, aux = parted(self.function, result, self.has_aux)
            reached = None
            if recorded and not outer and not frame.tensors_given:
                reached = frame.reached([value])
                if self.has_aux:
                    frame.reached(flatten(aux)[0])
            keep_graph = outer or (frame.tensors_given and recorded)
            grads = self._backward(value, frame, keep_graph, reached)
        captured = capturing()
        as_tensors = outer or frame.tensors_given or captured
        finished = Finisher(frame, as_tensors, conjugates=self.convention == "torch")
        if captured:
            with in_backward():
                trees = finished.gradients(frame, grads)
        else:
            trees = finished.gradients(frame, grads)
        found = tuple(trees) if isinstance(self.argnums, (tuple, list)) else trees[0]
        if not self.has_aux and not self.with_value:
            return found
        if self.has_aux:
            leaves, structure = flatten(aux)
            aux = unflatten(structure, [finished.result(leaf) for leaf in leaves])
        if not self.with_value:
            return found, aux
        value = finished.result(value)
        return ((value, aux), found) if self.has_aux else (value, found)

    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _backward(self, value: Any, frame: Arguments, keep_graph: bool, reached: Reached | None) -> dict[Any, Any]:
        if not (isinstance(value, (Operand, float, int, complex, np.generic)) or is_array(value)):
            what, what_to_do = returned(self.function, value)
            raise ShapeError(f"{self.kind} needs a scalar output, but {what}.\n{what_to_do or _advice(value)}")
        if plain_shape(value) if isinstance(value, Operand) else np.shape(value):
            raise ShapeError(
                f"grad needs a scalar output (grad can be implicitly created only for scalar outputs), but "
                f"`{self._name()}` returned shape {tuple(np.shape(value))} at {return_line(self.function)}.\n"
                "Sum it (`.sum()`), pass a cotangent (gs.vjp), or ask for gs.jacobian."
            )
        if not isinstance(value, Operand) or value._node is None:
            return {}
        if value._node.dtype.kind == "c":
            raise DtypeError(
                f"grad needs a real output, but `{self._name()}` returned a complex number at {return_line(self.function)}.\n"
                "Take np.real(z), np.abs(z) ..., or pass a cotangent (gs.vjp)."
            )
        dtype = value._node.dtype
        seed: Any = one_of(dtype, value._value) if ARRIVALS.any else dtype.type(1)
        if levels_of(value):  # one for each example
            seed = apply(require(np.broadcast_to), (seed, tuple(value._whole().shape)), {})
            seed = seed if keep_graph or capturing() else seed._value
        elif keep_graph or capturing():
            seed = wrap(seed)
        roots = [(value._node, seed)]
        return run_backward(roots, frame.wanted, retain_graph=keep_graph, create_graph=keep_graph, reached=reached)


def _advice(value: Any) -> str:
    """Return the remedy for a result that is no number."""
    form = conversion(value, "a")
    if form is None:
        return "Return one number (has_aux=True for more beside it)."
    return f"It computed with an array of another library: convert that first ({form})."


def _decorator(function: Any, argnums: Any, has_aux: bool, with_value: bool, convention: str) -> Any:
    check_argnums(argnums, "value_and_grad" if with_value else "grad")
    if convention not in ("torch", "jax"):
        raise ValueError(
            f"convention is 'torch' (dL/da + i dL/db, for z = a + ib) or 'jax' (its conjugate), not {convention!r}"
        )
    options = {"argnums": argnums, "has_aux": has_aux, "with_value": with_value, "convention": convention}
    if function is None:
        return functools.partial(GradFunction, options=options)
    return GradFunction(function, options)


@overload
def grad(
    function: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False, *, convention: str = "torch"
) -> Transformed[P, Any]: ...
@overload
def grad(
    function: Callable[P, tuple[Any, S]], argnums: Argnums = 0, *, has_aux: Literal[True], convention: str = "torch"
) -> Transformed[P, tuple[Any, S]]: ...
@overload
def grad(
    function: None = None, argnums: Argnums = 0, has_aux: Literal[False] = False, *, convention: str = "torch"
) -> Transforming[Any]: ...
@overload
def grad(
    function: None = None, argnums: Argnums = 0, *, has_aux: Literal[True], convention: str = "torch"
) -> WithAux: ...
def grad(function: Any = None, argnums: Any = 0, has_aux: bool = False, *, convention: str = "torch") -> Any:
    """The gradient of `function` with respect to the arguments `argnums`, as a function of the same arguments.

    `argnums` is a position or a name (then the gradient has the shape and dtype of that argument; of a dict, list,
    tuple or dataclass it is the like), or a tuple of them (then a tuple). `has_aux` takes a function that returns
    `(output, aux)` and gives `(gradient, aux)`. Bare or with arguments it is a decorator. Of a complex argument z = a + ib the
    gradient is dL/da + i dL/db, as in PyTorch, or with `convention="jax"` the conjugate of that (docs/complex.md). Raises
    ShapeError unless the output is a scalar, DtypeError for integer arguments, ValueError for another convention.

    >>> import numpy as np, gradscribe as gs
    >>> gs.grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> gs.grad(gs.grad(np.sin))(0.5) == -np.sin(0.5)
    np.True_
    >>> gs.grad(lambda z: np.abs(z) ** 2, convention="jax")(1.0 + 2.0j)
    np.complex128(2-4j)
    """
    try:
        return _decorator(function, argnums, has_aux, with_value=False, convention=convention)
    except Exception as error:
        raise prune(error) from error.__cause__


@overload
def value_and_grad(
    function: Callable[P, S], argnums: Argnums = 0, has_aux: bool = False, *, convention: str = "torch"
) -> Transformed[P, tuple[S, Any]]: ...
@overload
def value_and_grad(
    function: None = None, argnums: Argnums = 0, has_aux: bool = False, *, convention: str = "torch"
) -> WithValue: ...
def value_and_grad(function: Any = None, argnums: Any = 0, has_aux: bool = False, *, convention: str = "torch") -> Any:
    """Like `gs.grad`, but gives `(value, gradient)`; with `has_aux`, `((value, aux), gradient)`.

    Raises ShapeError for an output that is not one real number, and DtypeError for an argument of integers, as `gs.grad` does.

    >>> import numpy as np, gradscribe as gs
    >>> value, gradient = gs.value_and_grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    try:
        return _decorator(function, argnums, has_aux, with_value=True, convention=convention)
    except Exception as error:
        raise prune(error) from error.__cause__
