"""The dynamic graph: nodes (`grad_fn`), the leaves' AccumulateGrad, one node per result of many, and walks over them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Container
from typing import Any, NamedTuple

from ...runtime.errors import GradientLossError
from ...runtime.ops import MISSING, Op, Plan
from ...unpatched import np
from .hooks import RemovableHandle
from .site import blame
from .tensor_base import Operand, wrap
from .thread_state import LOCAL, Era

__all__ = [
    "NUMBER",
    "AccumulateGrad",
    "Edge",
    "Extra",
    "GradientEdge",
    "GraphNode",
    "Node",
    "Pick",
    "Reached",
    "edge_of",
    "extra_of",
    "is_older",
    "meta_of",
    "needed_of",
    "next_sequence",
    "public_edge",
    "reached_before",
    "reached_from",
    "sequence",
]

next_sequence = itertools.count().__next__  # creation order; backward runs it in reverse


FLOAT = np.dtype(np.float64)
NUMBER = ((), FLOAT)  # the meta of every float64 number: one object, so that `is` tells it
_WEAK = {float: FLOAT, complex: np.dtype(np.complex128), int: np.dtype(np.int64), bool: np.dtype(np.bool_)}


def meta_of(value: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and dtype of a value; a Python number has those that NumPy gives it."""
    kind = type(value)
    if kind is np.float64 or kind is float:
        return NUMBER
    if kind in _WEAK:
        return ((), _WEAK[kind])
    shape, dtype = value.shape, value.dtype
    return (shape, dtype) if shape or dtype is not FLOAT else NUMBER


_WHOLE_NAMES = ("CopyBackwards", "CopySlices")  # what writes in place leave


class Edge:
    """The target of an edge: a cotangent of a known shape and dtype belongs to it."""

    __slots__ = ("meta",)

    meta: tuple[tuple[int, ...], Any]
    draws = False  # whether it drew its result by chance: a reward then takes the place of the gradient

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result and of its cotangent."""
        return self.meta[0]

    @property
    def dtype(self) -> Any:
        """The dtype of the result and of its cotangent."""
        return self.meta[1]


class Extra:
    """The extras of a node, which few have: hooks on its tensor and on itself, and notes of modes."""

    __slots__ = ("accumulated", "hooks", "metadata", "outputs", "packed", "posthooks", "prehooks", "retain", "trace")

    def __init__(self) -> None:
        self.hooks: dict[int, Any] = {}  # of the tensor: hook(grad)
        self.retain: weakref.ref[Any] | None = None  # the tensor that keeps its gradient
        self.prehooks: dict[int, Any] = {}  # of the node: hook(grad_outputs)
        self.posthooks: dict[int, Any] = {}  # of the node: hook(grad_inputs, grad_outputs)
        self.accumulated: dict[int, Any] = {}  # of a leaf: hook(leaf), once its gradient has been added
        self.outputs: dict[int, Extra] = {}  # of a node with several results: those of its results
        self.packed = False  # whether saved-tensor hooks packed what it saved
        self.trace: Any = None  # where in the user's code the operation stands, noted in anomaly mode
        self.metadata: dict[Any, Any] = {}


class GraphNode(Edge):
    """A node of the graph: what `grad_fn` is, or where the gradient of a leaf adds up."""

    __slots__ = ()

    extra: Extra | None

    def name(self) -> str:
        """PyTorch's name of this kind of node, such as `MulBackward0`."""
        raise NotImplementedError

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each argument its node and which of that node's results it is; (None, 0) for a constant."""
        raise NotImplementedError

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for notes of the user's, empty at first."""
        return extra_of(self).metadata

    def register_hook(self, fn: Callable[[Any, Any], Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run backward.

        Both are tuples of Tensors and Nones; a tuple that it returns replaces the gradients of the inputs.
        """
        return RemovableHandle(extra_of(self).posthooks, fn)

    def register_prehook(self, fn: Callable[[Any], Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs backward; a tuple that it returns replaces what the node gets."""
        return RemovableHandle(extra_of(self).prehooks, fn)

    def __call__(self, *grads: Any) -> Any:
        """Go backward here alone: from a gradient (or None) of each result to one for each argument.

        A Tensor where there is one argument, else a tuple, None for constants; at a leaf the gradient is added up. Raises
        TypeError for a wrong count.
        """
        return _call(self, *grads)


def install_call(call: Callable[..., Any]) -> None:
    """Let calls of nodes run `call`: the engine stands above the graph."""
    global _call
    _call = call


_call: Callable[..., Any]


def extra_of(node: Any) -> Extra:
    """Return the extras of a node (or of one of its results), made at the first need."""
    if node.extra is None:
        node.extra = Extra()
    found: Extra = node.extra
    return found


class Node(GraphNode):
    """One recorded operation: its op, what it saved, and edges to the nodes that made its arguments.

    `edges[j]` is the node of the argument that `plan.slots[j]` names. A node never holds its own result. A subclass
    (what a custom Function makes) brings a plan of its own.
    """

    __slots__ = ("__weakref__", "edges", "extra", "ir", "op", "plan", "plural", "saved", "seq")

    op: Op
    plan: Plan
    edges: tuple[Any, ...]
    saved: Any  # a tuple; None once freed
    seq: int
    extra: Extra | None
    plural: int  # how many results; unset, like `ir`, where `apply1` and `apply2` made the node
    ir: Any  # while recording: (value of the result, site of the operation)

    def name(self) -> str:
        """PyTorch's name of this kind of node, such as `MulBackward0`."""
        title = self.op.title
        return title if title in _WHOLE_NAMES else f"{title}Backward0"

    def arguments(self) -> list[tuple[int, int]]:
        """The slots of all arguments that may have a gradient, constants among them."""
        arrays = {
            (k, -1)
            for k, p in enumerate(self.op.params)
            if p.name in self.op.vjps and p.default is MISSING and not p.sequence
        }
        return sorted(arrays.union(self.plan.slots))

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each argument its node and which of that node's results it is; (None, 0) for a constant."""
        edges = dict(zip(self.plan.slots, self.edges, strict=True))
        return tuple(public_edge(edges.get(slot)) for slot in self.arguments())

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class GradientEdge(NamedTuple):
    """A result of a node: where in the graph a tensor stands. As good as the tensor where gradients are asked for."""

    node: GraphNode
    output_nr: int
    ownership_token: Any = None


def edge_of(given: Any) -> Any:
    """Return the node of a Tensor or a GradientEdge; None for one that is in no graph."""
    if isinstance(given, GradientEdge):
        return Pick(given.node, given.output_nr) if getattr(given.node, "plural", 0) else given.node
    if not isinstance(given, Operand):
        return None
    node = given._node
    if node is None:
        return getattr(given, "_drawn", None)
    return None if type(node) is AccumulateGrad and node.lent else node


def public_edge(edge: Any) -> tuple[Any, int]:
    """The node and which of its results: as users see an edge."""
    if isinstance(edge, Pick):
        return (edge.parent, edge.index)
    return (None, 0) if type(edge) is AccumulateGrad and edge.lent else (edge, 0)


class Pick(Edge):
    """One result of an operation that has several. Two of the same result are equal."""

    __slots__ = ("__weakref__", "index", "ir", "parent", "seq")

    def __init__(self, parent: Any, index: int) -> None:
        self.parent = parent
        self.index = index
        self.meta = parent.meta[index]
        self.seq = parent.seq + (index + 1) / (len(parent.meta) + 1)  # after the node, before all that comes after it
        self.ir: Any = None

    @property
    def extra(self) -> Extra | None:
        """The extras of this result, which the node keeps."""
        kept = self.parent.extra
        return None if kept is None else kept.outputs.get(self.index)

    @extra.setter
    def extra(self, value: Extra) -> None:
        extra_of(self.parent).outputs[self.index] = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Pick and self.parent is other.parent and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.parent), self.index))


class AccumulateGrad(GraphNode):
    """The end of the graph at a leaf: where that leaf's gradient adds up.

    The gradient lives here and the leaf only points to it, so that leaf and node make no reference cycle.
    """

    __slots__ = ("__weakref__", "_variable", "extra", "grad", "inner", "ir", "lent", "seq", "value")

    def __init__(self, variable: Any, value: Any) -> None:
        self._variable = weakref.ref(variable)
        self.value = value
        self.meta = meta_of(value)
        self.seq = next_sequence()
        self.extra: Extra | None = None
        self.grad: Any = None
        self.inner: Any = False  # the era of the transform that made the leaf, for an argument of its own
        self.lent = False  # whether the leaf is a view that requires grad only since its base does
        self.ir: Any = None

    @property
    def variable(self) -> Any:
        """The leaf itself; a new handle on the same array and gradient where the old one is gone."""
        found = self._variable()
        if found is None:
            found = wrap(self.value, self)
            self._variable = weakref.ref(found)
        return found

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Return no edges: the graph ends here."""
        return ()

    def name(self) -> str:
        """`AccumulateGrad`, as in PyTorch."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return "<AccumulateGrad>"


class Reached(dict[Any, None]):
    """The nodes behind some results."""

    __slots__ = ("custom", "ends")

    ends: list[Any]  # those of them at which paths end: leaves, and what was made of nothing
    custom: list[Any]  # those of classes of their own, such as derivatives of the user's

    @property
    def outside(self) -> list[Any]:
        """The leaves that no transform made."""
        return [end for end in self.ends if type(end) is AccumulateGrad and not end.inner]


def reached_from(roots: list[Any], stops: Container[Any] = ()) -> Reached:
    """The nodes that a run from `roots` could come to; paths end at `stops`."""
    seen = Reached()
    ends, custom = seen.ends, seen.custom = [], []
    stack = list(roots)
    pop = stack.pop
    while stack:
        node = pop()
        if node in seen:
            continue
        seen[node] = None
        kind = type(node)
        if kind is AccumulateGrad or node in stops:
            ends.append(node)
            continue
        if kind is Pick:
            stack.append(node.parent)
            continue
        if kind is not Node:
            custom.append(node)
        if node.edges:
            stack += node.edges
        else:
            ends.append(node)
    return seen


def is_older(node: Any, before: int) -> bool:
    """Whether a graph reaches back to what was made before: derivatives within the function have nodes of their own."""
    return any((n.parent if type(n) is Pick else n).seq < before for n in reached_from([node]))


def reached_before(roots: list[Any], wanted: dict[Any, Any], known: dict[Any, None] | None) -> Reached | None:
    """The nodes from `roots` to the wanted ones, where no path ends elsewhere and no wanted one lies behind another; else None.

    `known` are the nodes behind the roots, or a part of them, where the caller knows them.
    """
    if (known is not None and type(known) is not Reached) or any(adds is True for adds in wanted.values()):
        return None
    inner = [node for node in wanted if type(node) is not AccumulateGrad]
    if inner:
        first = min(map(sequence, wanted))
        if any(type(node) is not Node or any(edge.seq >= first for edge in node.edges) for node in inner):
            return None
    found = known if known is not None and not inner else reached_from(roots, wanted if inner else ())
    assert type(found) is Reached
    return found if all(end in wanted for end in found.ends) else None


def needed_of(reached: dict[Any, None], wanted: dict[Any, Any], accumulate: bool) -> tuple[set[Any], set[Any]]:
    """The nodes on a path to something wanted, and those of them that run: not what is only to be known.

    Leaves run, and add their gradients up, with `accumulate`, or where `wanted` says True.
    """
    needed, running = set(wanted), {node for node, adds in wanted.items() if accumulate or adds is True}
    for node in sorted(reached, key=sequence):  # what a node depends on was created before it
        if type(node) is AccumulateGrad:
            if (
                LOCAL.depth
                and type(node.inner) is Era
                and node.inner.over
                and not node.inner.held
                and node not in needed
            ):
                _refuse_ended(reached, node, wanted)
            continue
        if (node.parent in running) if type(node) is Pick else any(e in needed for e in node.edges):
            needed.add(node)
            running.add(node)
    return needed, running


def _refuse_ended(reached: dict[Any, None], leaf: Any, wanted: dict[Any, Any]) -> None:
    """Raise where a run comes to a leaf of a transform that is over, of which something kept a value: a cache, say."""
    leaves = [node for node in reached if type(node) is AccumulateGrad]
    if any(node.inner is False for node in leaves) or any(getattr(w, "inner", None) is leaf.inner for w in wanted):
        return  # of a graph that the user holds
    raise blame(
        GradientLossError(
            "a value that an earlier call computed was met again, and whether it depends on what is differentiated now "
            "cannot be known: a library kept it, in a cache perhaps. Let the library keep plain numbers (x.detach(), or "
            "gs.stop_gradient(x), of what it is given), or leave the cache out."
        )
    )


def sequence(node: Any) -> int:
    """When a node was made, as a number that grows."""
    return node.seq  # type: ignore[no-any-return]
