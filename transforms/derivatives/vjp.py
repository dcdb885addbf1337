"""vjp: a function's value, and the way back from a cotangent of its output to its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...runtime.arrays import is_array, own_memory
from ...runtime.errors import ShapeError
from ...tracer.core.backward import seed_of
from ...tracer.core.engine import run_backward
from ...tracer.core.site import pruned
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import LOCAL, capturing, transforming
from ..arguments import Arguments, Finisher, check_called_with_arguments, check_returned, parted
from ..trees import flatten, flatten_present, in_words, unflatten
from ..user_code.scope import scope

__all__ = ["Pullback", "Traced", "forward", "pulled_back", "traced", "vjp"]


class Traced(NamedTuple):
    """One run of a function: its arguments, the leaves of its output with the graph behind them, their structure."""

    frame: Arguments
    leaves: list[Any]
    structure: Any
    keep_graph: bool  # whether an outer transform differentiates what is computed from it
    aux: Any = None  # what the function returns beside its output, with has_aux

    def creates_graph(self, given: list[Any]) -> bool:
        """Whether products with these vectors are differentiated: with respect to the arguments, or to the vectors."""
        return LOCAL.grad and (self.keep_graph or any(isinstance(v, Operand) and v._node is not None for v in given))


class Pullback:
    """A linear map from a cotangent of the output to those of the arguments, to be called as often as one likes."""

    def __init__(self, run: Traced) -> None:
        self.run = run

    @pruned
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        given, structure = flatten_present(cotangent)
        if structure != self.run.structure:
            raise ShapeError(
                f"the cotangent of a pullback has the structure of the output, "
                f"{in_words(self.run.structure)}, but got {in_words(structure)}"
            )
        return self.back(list(enumerate(given)))

    def back(self, given: list[tuple[int, Any]]) -> tuple[Any, ...]:
        """The gradients for cotangents of some leaves of the output."""
        run, roots = self.run, []
        create_graph = run.creates_graph([g for _, g in given])
        as_tensors = create_graph or capturing() or bool(LOCAL.levels)
        for k, g in given:
            leaf = run.leaves[k]
            if isinstance(leaf, Operand) and leaf._node is not None:
                seed = seed_of(leaf, g, k)
                roots.append((leaf._node, seed if as_tensors else seed._value))
        grads = run_backward(roots, run.frame.wanted, retain_graph=True, create_graph=create_graph) if roots else {}
        finisher = Finisher(run.frame, as_tensors or run.frame.tensors_given)
        return tuple(finisher.gradients(run.frame, grads))


def traced(
    function: Any,
    argnums: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool = False,
    lasting: bool = False,
) -> tuple[Any, Traced]:
    """The value of a function, and the run that gave it, for products with its Jacobian in the arguments `argnums`.

    With `lasting` products are taken after the call as well, when the caller may have written what came in and went out.
    """
    outer = LOCAL.differentiating > 0 and LOCAL.grad
    frame = Arguments(function, argnums, args, kwargs, lasting)
    frame.era.held = True
    with transforming(frame.owned, gradient=True, era=frame.era):
        out, aux = parted(function, scope().rebuild(function)(*frame.args, **frame.kwargs), has_aux)
        frame.note_writes()
        check_returned(function, out)
        leaves, structure = flatten_present(out)
    beside, structure_beside = flatten(aux)
    if LOCAL.grad and not outer and not frame.tensors_given:
        frame.reached([*leaves, *beside])
    keep_graph = outer or (frame.tensors_given and LOCAL.grad)
    finisher = Finisher(frame, outer or frame.tensors_given or capturing())
    results = [finisher.result(leaf) for leaf in leaves]
    if frame.lasting:
        results = [own_memory(r) if is_array(r) else r for r in results]
    value = unflatten(structure, results)
    aux = unflatten(structure_beside, [finisher.result(leaf) for leaf in beside])
    return value, Traced(frame, leaves, structure, keep_graph, aux)


def forward(function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Pullback]:
    """The value of a function, and the way back to the arguments `argnums`."""
    value, run = traced(function, argnums, args, kwargs)
    return value, Pullback(run)


@pruned
def vjp(function: Callable[..., Any], *args: Any, has_aux: bool = False) -> Any:
    """`(output, pullback)`: the pullback takes a cotangent of the output and gives a tuple, one gradient an argument.

    The cotangent has the structure, shapes and (real or complex) dtypes of the output; else the pullback raises ShapeError or
    DtypeError. Arguments of integers raise DtypeError.
    `has_aux` takes a function that returns `(output, aux)`, and gives `(output, pullback, aux)`.

    >>> import numpy as np, gradscribe as gs
    >>> out, pullback = gs.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    check_called_with_arguments("vjp", function, args)
    value, run = traced(function, tuple(range(len(args))), args, {}, has_aux, lasting=True)
    return (value, Pullback(run), run.aux) if has_aux else (value, Pullback(run))


def pulled_back(function: Any, argnum: int | str, args: tuple[Any, ...], kwargs: dict[str, Any], cotangent: Any) -> Any:
    """The cotangent of one argument."""
    return forward(function, (argnum,), args, kwargs)[1](cotangent)[0]
