"""gs.graph: the graph behind a Tensor, or that of a function for arguments, to be drawn."""

from __future__ import annotations

from typing import Any

from ..runtime.ir.draw import ShownGraph
from ..runtime.ir.picture import Box, Picture
from ..tracer.core.site import pruned
from ..tracer.core.tensor_base import Operand
from ..transforms.compiler.source import graph as graph_of

__all__ = ["graph"]


@pruned
def graph(what: Any, /, *args: Any, **kwargs: Any) -> Picture | ShownGraph:
    """Return the graph behind a Tensor, or the one that `gs.compile` makes of a function for these arguments.

    That of a Tensor goes from its leaves to itself; that of a function is `f.graph(*args)`, where `f` is a transform, and
    prints one call a line. Both draw themselves in a notebook, and have `to_svg()`, `to_dot()` (Graphviz), `to_mermaid()`
    and `to_networkx()`. Raises CompileError for a function that runs eagerly, TypeError for what is neither.

    >>> import numpy as np, gradscribe as gs
    >>> t = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> gs.graph(np.sum(t * t))
    a graph of 3 boxes and 2 arrows
    >>> gs.graph(np.sum(t)).to_dot().splitlines()[-2]
    '  n0 -> n1;'
    >>> print(gs.graph(gs.grad(lambda x: np.sum(x * x)), np.ones(2)))
    inputs: %0: float64[2]
    %1: float64[2] = np.multiply(x=2.0, y=%0)
    outputs: %1
    """
    if issubclass(type(what), Operand) and not args and not kwargs:
        return _of_tensor(what)
    if not callable(what):
        raise TypeError(
            f"gs.graph takes a Tensor, or a function and its arguments, not {type(what).__name__}: {what!r}"
        )
    return graph_of(what, *args, **kwargs)


def _of_tensor(tensor: Any) -> Picture:
    """The nodes that a backward pass from a Tensor would come to, leaves first."""
    root = tensor.grad_fn
    if root is None:
        return Picture([Box((_leaf(tensor.requires_grad), _type(tensor.dtype, tensor.shape)), "input")], [])
    order: dict[Any, int] = {}
    stack: list[tuple[Any, bool]] = [(root, False)]
    boxes: list[Box] = []
    while stack:
        node, ready = stack.pop()
        if node in order:
            continue
        before = [found for found, _ in node.next_functions if found is not None]
        if not ready:
            stack += [(node, True), *[(found, False) for found in reversed(before)]]
            continue
        order[node] = len(boxes)
        leaf = node.name() == "AccumulateGrad"
        boxes.append(
            Box((_leaf(True) if leaf else node.name(), _type(node.dtype, node.shape)), "input" if leaf else "forward")
        )
    arrows = [(order[found], order[node]) for node in order for found, _ in node.next_functions if found is not None]
    return Picture(boxes, arrows)


def _leaf(differentiated: bool) -> str:
    return "leaf" if differentiated else "a tensor without a gradient"


def _type(dtype: Any, shape: tuple[int, ...]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]" if shape else str(dtype)
