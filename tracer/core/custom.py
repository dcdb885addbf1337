"""The node of a derivative of the user's: custom Functions, `gs.custom_vjp` and `gs.custom_jvp` put it into the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...runtime.arrays import is_plain_array, own_memory
from ...runtime.errors import AutogradError, DtypeError, ShapeError
from ...runtime.ops import Plan
from ...runtime.registry import require
from ...unpatched import np
from . import tensor_base, volatile
from .cotangents import outward
from .dispatch import apply
from .graph import NUMBER, Node, Pick, meta_of, next_sequence
from .levels import under
from .listening import in_user_code
from .site import blame, user_site
from .tensor_base import Operand, is_tensor_like, levels_of, made_volatile, plain_shape, wrap
from .thread_state import LOCAL, cuts

__all__ = ["CustomNode"]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Operand)


class CustomNode(Node):
    """One call of a function whose backward is the user's: `run` takes the outputs' cotangents and gives the inputs'.

    `run` sees and gives Tensors in PyTorch's convention of complex gradients; None stands for an undefined one.
    """

    label: str
    places: tuple[tuple[int, Any], ...]  # each Tensor among the inputs: its position and its node (or None)
    count: int  # of all inputs
    outputs: tuple[Any, ...]  # the shape and dtype of each output, None for what is no Tensor
    inside = False  # whether it was made inside a transform
    volatile = False  # whether an input is volatile
    under: tuple[Any, ...] = ()  # the vmaps that it was called under
    hides: tuple[Any, ...] = ()  # of each of `places`, and of each output, what it hides of them
    before: tuple[Any, ...] = ()  # the values of the Tensors among the inputs, until `written` is asked

    def backward_function(self) -> Any:
        """The user's function that goes backward, which may read Tensors from outside; None where there is none."""
        return None

    def begin(self, inputs: tuple[Any, ...], label: str) -> None:
        """Note where the inputs come from, before the user's code runs (which may write into them)."""
        cuts(f"calls {label}, which has a derivative of its own")
        self.label = label
        self.count = len(inputs)
        self.places = tuple([(k, x._node) for k, x in enumerate(inputs) if isinstance(x, Operand)])
        self.edges = tuple([edge for _, edge in self.places if edge is not None])
        self.inside = LOCAL.depth > 0
        self.volatile = bool(tensor_base.volatile_class) and volatile.among(inputs)
        if self.inside:
            self.before = tuple([inputs[k]._value for k, _ in self.places])
        if LOCAL.levels:
            self.under = LOCAL.levels
            self.hides = tuple([levels_of(inputs[k]) for k, _ in self.places])
        self.outputs = ()
        self.plural = 0
        self.meta = NUMBER
        self.extra = None
        self.ir = None
        self.seq = next_sequence()
        for mode in (LOCAL.anomaly, LOCAL.watch):
            if mode is not None:
                mode.note(self)

    def written(self, inputs: tuple[Any, ...]) -> list[int]:
        """Return the inputs in a graph that were written into since `begin`, inside a transform (a write gives another value)."""
        before, self.before = self.before, ()
        pairs = zip(self.places, before, strict=False)
        return [k for (k, edge), value in pairs if edge is not None and inputs[k]._value is not value]

    @property
    def records(self) -> bool:
        """Whether the call takes part in a graph."""
        return LOCAL.grad and bool(self.edges) and not self.volatile

    def make(self, outputs: tuple[Any, ...], several: bool, constant: Iterable[Any] = ()) -> list[Any]:
        """The node behind each output: None behind a constant (an integer, one of `constant`, what is no Tensor)."""
        self.seq = next_sequence()
        self.outputs = tuple([meta_of(o._value) if isinstance(o, Operand) else None for o in outputs])
        if self.under:
            self.hides = (*self.hides, *[levels_of(o) for o in outputs])
        self.plural = len(outputs) if several else 0
        if several:
            self.meta = self.outputs
        if LOCAL.watch is not None:
            LOCAL.watch.custom(self, outputs)
        constant = {id(c) for c in constant}
        site = None if LOCAL.recorder is None else user_site()
        nodes: list[Any] = []
        for k, (output, meta) in enumerate(zip(outputs, self.outputs, strict=True)):
            if self.volatile and meta is not None:
                made_volatile(output)
            if meta is None or not self.records or id(output) in constant or meta[1].kind not in "fc":
                nodes.append(None)
                continue
            node = Pick(self, k) if several else self
            node.meta = meta
            if LOCAL.recorder is not None:
                node.ir = ((getattr(output, "_ir", None),), site)
            nodes.append(node)
        if LOCAL.recorder is not None and any(node is not None for node in nodes):
            self.ir = (tuple([getattr(output, "_ir", None) for output in outputs]), site)
        return nodes

    def leads_to(self, edge: Any, other: Any) -> None:
        """Let cotangents go to another node than the one that an input had when it was called."""
        if other is not edge:
            self.places = tuple([(k, other if e is edge else e) for k, e in self.places])
            self.edges = tuple([other if e is edge else e for e in self.edges])

    materializes = True  # whether `run` gets zeros for an undefined cotangent

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The user's backward: from a cotangent (or None) for each output to one for each input."""
        raise NotImplementedError

    def name(self) -> str:
        """The name of the user's function, with `Backward` behind it."""
        return self.label

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each Tensor among the inputs its node and which of that node's results it is; (None, 0) for a constant."""
        return tuple(
            [(e.parent, e.index) if isinstance(e, Pick) else (e, 0) for _, e in self.places]  # of non-Tensors nothing
        )

    def arguments(self) -> list[tuple[int, int]]:
        """The slots of all Tensors among the inputs, constants among them."""
        return [(k, -1) for k, _ in self.places]

    @property  # made when asked for: a node that held it would hold itself
    def plan(self) -> Plan:  # type: ignore[override]
        """The plan by which the engine runs it."""
        slots = tuple([(k, -1) for k, edge in self.places if edge is not None])
        return Plan(slots, (), tuple, self._backward, (False,) * len(slots), False, True)

    @property
    def saved(self) -> Any:
        """Return nothing for the engine to look at: what the user saves is looked at when the user asks for it."""
        return ()

    @saved.setter
    def saved(self, value: Any) -> None:
        if value is None:
            self.free()

    def free(self) -> None:
        """Let go of what was saved."""

    def _backward(self, g: Any, saved: Any, sums: Any) -> tuple[Any, ...]:
        if self.under and not set(self.under) <= set(LOCAL.levels):  # the user's code runs as it did then
            with under((*LOCAL.levels, *[level for level in self.under if level not in LOCAL.levels])):
                return self._backward(g, saved, sums)
        given = g if self.plural else (g,)
        tensors = LOCAL.grad or LOCAL.recorder is not None or any(map(_is_tensor, given))
        grads = tuple([self._given(one, meta, tensors) for one, meta in zip(given, self.outputs, strict=True)])
        if self.under:
            level, hides = self.under[-1], self.hides[len(self.places) :]
            grads = tuple([one if one is None else level.hidden(one, h) for one, h in zip(grads, hides, strict=True)])
        with in_user_code():
            found = self.run(grads)
        edges = dict(self.places)
        if self.under:
            found = self._shown(found)
        return tuple([self._taken(found[k], k, edges[k].meta, tensors) for k, edge in self.places if edge is not None])

    def _shown(self, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """Cotangents with the axes of all examples, as the graph has them."""
        hides = {k: h for (k, _), h in zip(self.places, self.hides, strict=False)}
        shown = list(found)
        for k, g in enumerate(found):
            if k in hides and is_tensor_like(g):
                rest = tuple([level for level in self.under if level not in hides[k]])
                shown[k] = self.under[-1].shown(self.under[-1].summed(g, rest), hides[k])
        return tuple(shown)

    def _given(self, g: Any, meta: Any, tensors: bool) -> Any:
        """A cotangent as the user gets it: memory of its own, and PyTorch's convention of complex numbers."""
        if g is None:
            if meta is None or not self.materializes:
                return None
            return apply(require(np.zeros), meta, {}) if tensors else wrap(np.zeros(*meta))
        if isinstance(g, Operand):
            return outward(g)
        return wrap(outward(own_memory(g) if is_plain_array(g) else g))

    def _taken(self, found: Any, k: int, meta: Any, tensors: bool) -> Any:
        """A cotangent that the user gave for input `k`, as the engine takes it."""
        if found is None:
            return None
        if not is_tensor_like(found):
            raise blame(
                AutogradError(
                    f"{self.label} gave a {type(found).__name__} as gradient {k}: expected Variable or None "
                    f"(got {type(found).__name__}). Give a Tensor of shape {meta[0]}, or None."
                )
            )
        value = found._value if isinstance(found, Operand) else found
        shape = plain_shape(found) if isinstance(found, Operand) else np.shape(value)
        dtype = np.result_type(value)
        try:
            fits = shape == meta[0] or np.broadcast_shapes(shape, meta[0]) == shape
        except ValueError:
            fits = False
        if not fits:
            raise blame(
                ShapeError(
                    f"Function {self.label} returned an invalid gradient at index {k} - got {list(shape)} but expected "
                    f"shape compatible with {list(meta[0])}. A gradient has the shape of its input."
                )
            )
        if dtype.kind == "c" and meta[1].kind != "c":
            raise blame(
                DtypeError(
                    f"Function {self.label} returned an invalid gradient at index {k} - got {dtype} but expected a real "
                    f"dtype, since that input is {meta[1]}. Take its real part (g.real)."
                )
            )
        if tensors and not isinstance(found, Operand):
            found = wrap(found)
        return outward(found if tensors else value)
