"""jvp: the directional derivative of a function, in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.errors import DtypeError, ShapeError
from ...tracer.core.forward import run_forward
from ...tracer.core.site import pruned
from ...tracer.core.tensor_base import Operand, alias, is_tensor_like, levels_of, wrap
from ...tracer.core.thread_state import LOCAL, capturing, transforming
from ...tracer.tensors.casts import as_scalar
from ...unpatched import np
from ..arguments import Arguments, Finisher, check_returned, is_given, owner_of, parted
from ..transform import Transform
from ..trees import flatten, flatten_present, in_words, unflatten
from ..user_code.scope import scope

__all__ = ["VECTOR", "JvpFunction", "jvp", "pushed", "seed", "tangent_leaves"]

VECTOR = ("v", "vector", "direction", "v_")  # what the vector of a product is called: the first that is free


def pushed(
    function: Any, argnums: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any], tangents: Any,
    has_aux: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """The value of a function, and its tangent where those of the arguments `argnums` are `tangents`; with has_aux aux, too."""
    outer = LOCAL.differentiating > 0 and LOCAL.grad
    frame = Arguments(function, argnums, args, kwargs)
    given = [
        (node, leaf, t)
        for (structure, group), tree, place in zip(frame.given, tangents, frame.places, strict=True)
        for (node, leaf), t in zip(group, tangent_leaves(tree, structure, place, frame), strict=True)
    ]
    tensors_given = frame.tensors_given or any(isinstance(t, Operand) and is_given(t) for _, _, t in given)
    recorded, reached = LOCAL.grad, None
    with transforming(frame.owned, gradient=True, era=frame.era):
        out, aux = parted(function, scope().rebuild(function)(*frame.args, **frame.kwargs), has_aux)
        frame.note_writes()
        check_returned(function, out)
        leaves, structure = flatten(out)
        beside, structure_beside = flatten(aux)
        if recorded and not outer and not tensors_given:
            reached = frame.reached(leaves)
            frame.reached(beside)
            tensors_given = frame.tensors_given
        create_graph = outer or (tensors_given and recorded)
        as_tensors = outer or tensors_given or capturing()
        seeds = {node: seed(t, node, leaf, create_graph, as_tensors) for node, leaf, t in given}
        nodes = [leaf._node for leaf in leaves if isinstance(leaf, Operand) and leaf._node is not None]
        found = run_forward(nodes, seeds, create_graph, reached)
    finisher = Finisher(frame, as_tensors)
    finisher.used |= {owner_of(t) for _, _, t in given}
    values = [finisher.result(leaf) for leaf in leaves]
    moved = [finisher.tangent(found.get(leaf._node) if isinstance(leaf, Operand) else None, leaf) for leaf in leaves]
    found_both = unflatten(structure, values), unflatten(structure, moved)
    if not has_aux:
        return found_both
    return *found_both, unflatten(structure_beside, [finisher.result(leaf) for leaf in beside])


def tangent_leaves(tree: Any, structure: Any, place: Any, frame: Arguments) -> list[Any]:
    """The leaves of the tangent of one argument, which has its structure."""
    leaves, found = flatten_present(tree)
    if found != structure:
        raise ShapeError(
            f"a tangent has the structure of its argument: argument {place!r} of `{frame.name}` has {in_words(structure)}, "
            f"but its tangent has {in_words(found)}"
        )
    return leaves


def seed(t: Any, node: Any, leaf: Any, create_graph: bool, as_tensors: bool) -> Any:
    """A tangent in the shape and dtype of the argument that it belongs to."""
    dtype = t.dtype if is_tensor_like(t) else np.asarray(t).dtype
    if np.shape(t) != np.shape(leaf):
        raise ShapeError(
            f"a tangent has the shape of its argument: the argument has {tuple(np.shape(leaf))}, "
            f"but its tangent has {tuple(np.shape(t))}"
        )
    if dtype.kind not in "biufc" or (dtype.kind == "c" and node.dtype.kind != "c"):
        raise DtypeError(f"the tangent of an argument of dtype {node.dtype} is like it, not of dtype {dtype}")
    if not isinstance(t, Operand):
        held = leaf._value if isinstance(leaf, Operand) else leaf
        t = wrap(np.asarray(t) if is_array(held) and not is_array(t) else t)
    elif not create_graph:
        t = alias(t)
    if LOCAL.levels:
        t = LOCAL.levels[-1].shown(t, levels_of(leaf))
    if dtype != node.dtype:
        t = t.astype(node.dtype) if hasattr(t._value, "dtype") else as_scalar(node.dtype.type, t)
    return t if as_tensors or LOCAL.levels else t._value


@pruned
def jvp(function: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(output, tangent)`: the value of `function(*primals)`, and how it moves as the arguments move along `tangents`.

    `tangents` holds one for each argument, with its structure and shapes, or None for one that stays (an integer, say).
    The tangent has the structure, shapes and dtypes of the output. This is forward mode: the tangent is carried along
    with one product an operation, so it costs about as much as the function once or twice more, however many numbers
    come out. `has_aux` takes a function
    that returns `(output, aux)`, and gives `(output, tangent, aux)`.
    Raises ShapeError or DtypeError where a tangent is not like its argument.

    >>> import numpy as np, gradscribe as gs
    >>> gs.jvp(lambda x: x * x, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"gs.jvp takes {what} as a tuple, one for each argument, not {type(given).__name__}")
    if len(primals) != len(tangents):
        raise ShapeError(f"gs.jvp was given {len(primals)} primals, but {len(tangents)} tangents: one for each")
    places = tuple([k for k, t in enumerate(tangents) if t is not None])
    return pushed(function, places, tuple(primals), {}, [tangents[k] for k in places], has_aux)


class JvpFunction(Transform):
    """`function` and how it moves: called with a vector behind the arguments, along which the argument `argnums` moves."""

    kind = "jvp"

    vector_names = VECTOR

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        *given, v = args
        return pushed(self.function, (self.options["argnums"],), tuple(given), kwargs, [v])
