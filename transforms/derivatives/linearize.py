"""linearize: a function's value, and the linear map from tangents of its arguments to those of its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.errors import DtypeError, ShapeError
from ...tracer.core.forward import run_forward
from ...tracer.core.site import pruned
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import capturing
from ...unpatched import np
from ..arguments import Finisher, check_called_with_arguments, owner_of
from ..trees import flatten, unflatten
from .forward import seed, tangent_leaves
from .vjp import Traced, traced

__all__ = ["Pushforward", "linearize"]


class Pushforward:
    """A linear map from tangents of the arguments to those of the output, to be called as often as one likes."""

    def __init__(self, run: Traced, count: int) -> None:
        self.run, self.count = run, count

    @pruned
    def __call__(self, *tangents: Any) -> Any:
        places = self.run.frame.places
        if len(tangents) != self.count:
            raise ShapeError(
                f"gs.linearize was given {self.count} primals, but its linear map {len(tangents)} tangents: one for each"
            )
        for k, t in enumerate(tangents):
            if t is not None and k not in places:
                raise DtypeError(
                    f"argument {k} of `{self.run.frame.name}` holds no floating point or complex numbers: its tangent is None"
                )
        moved = self.push([tangents[k] for k in places if isinstance(k, int)])
        return unflatten(self.run.structure, moved)

    def push(self, tangents: list[Any]) -> list[Any]:
        """The tangent of each leaf of the output, from one (or None) for each differentiated argument."""
        run, frame = self.run, self.run.frame
        given = [
            (node, leaf, t)
            for (structure, group), tree, place in zip(frame.given, tangents, frame.places, strict=True)
            if tree is not None
            for (node, leaf), t in zip(group, tangent_leaves(tree, structure, place, frame), strict=True)
        ]
        create_graph = run.creates_graph([t for _, _, t in given])
        as_tensors = create_graph or capturing()
        seeds = {node: seed(t, node, leaf, create_graph, as_tensors) for node, leaf, t in given}
        nodes = [leaf._node for leaf in run.leaves if isinstance(leaf, Operand) and leaf._node is not None]
        found = run_forward(nodes, seeds, create_graph)
        finisher = Finisher(frame, as_tensors or frame.tensors_given)
        finisher.used |= {owner_of(t) for _, _, t in given}
        return [finisher.tangent(found.get(x._node) if isinstance(x, Operand) else None, x) for x in run.leaves]


def _is_inexact(tree: Any) -> bool:
    """Whether an argument holds numbers that are differentiated."""
    return any(
        (isinstance(leaf, (Operand, np.generic, float, complex)) or is_array(leaf))
        and np.result_type(_held(leaf)).kind in "fc"
        for leaf in flatten(tree)[0]
    )


def _held(leaf: Any) -> Any:
    return leaf._value if isinstance(leaf, Operand) else leaf


@pruned
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(output, push)`: the value at `primals`, and how it moves: `push(*tangents)` is the tangent of the output.

    The function runs once, `push` as often as one likes: it takes what `gs.jvp` takes as tangents, one for each primal
    with its structure and shapes, or None for one that stays (that of integers is None), and gives the tangent in the
    structure, shapes and dtypes of the output. It is linear, and nests with other transforms. Raises ShapeError or
    DtypeError where a tangent is not like its argument. Formula: `push(v)` is J v, of which `gs.vjp` gives the transpose.
    `has_aux` takes a function that returns `(output, aux)`, and gives `(output, push, aux)`.

    >>> import numpy as np, gradscribe as gs
    >>> out, push = gs.linearize(lambda x: x * x, np.array([1.0, 2.0]))
    >>> push(np.array([1.0, 10.0])), push(np.array([0.0, 1.0]))
    (array([ 2., 40.]), array([0., 4.]))
    """
    check_called_with_arguments("linearize", function, primals)
    places = tuple([k for k, p in enumerate(primals) if _is_inexact(p)])
    value, run = traced(function, places, primals, {}, has_aux, lasting=True)
    push = Pushforward(run, len(primals))
    return (value, push, run.aux) if has_aux else (value, push)
