"""A watched run: its operations, exits from the graph and cotangents, recorded for `gs.why`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from ...runtime.arrays import is_array, is_plain_array, own_memory
from ...unpatched import np
from .cotangents import UNDEFINED
from .graph import AccumulateGrad, Node, Pick
from .site import Site, user_site
from .tensor_base import Operand
from .thread_state import LOCAL, during, refuse

__all__ = ["Event", "Given", "Input", "Watch", "watching"]

_NUMBERS = (np.ndarray, np.generic, float, complex)
_slot = Operand.__dict__["_node"]  # also of a view whose node is yet to be worked out


class Input(NamedTuple):
    """One argument of an event that another event made."""

    slot: tuple[int, int]  # which argument, and where in its sequence (or -1)
    event: Event
    tracked: bool  # whether it came with its place in the graph


class Event:
    """Something that was done with Tensors: an operation, a way out of the graph, or the beginning of it (a leaf)."""

    __slots__ = ("arguments", "grad", "how", "inference", "inputs", "node", "op", "parent", "results", "site")

    def __init__(self, how: str, inputs: tuple[Input, ...], node: Any = None, op: Any = None) -> None:
        self.how = how  # "op", "leaf", "detach", "data", "tensor", "write", or the name of an exit: "item", "bool" ...
        self.inputs = inputs
        self.node = node  # None where no gradient goes back through this
        self.op = op
        self.arguments: tuple[Any, ...] | None = None  # the values of the arguments of an operation
        self.results: tuple[Any, ...] = ()
        self.site: Site | None = None
        self.parent: Event | None = None  # what this is part of the derivative of
        self.grad, self.inference = LOCAL.grad, LOCAL.inference

    def __repr__(self) -> str:
        return f"<{self.how} {self.op.path if self.op is not None else self.node} at {self.site}>"


class Given(NamedTuple):
    """The events of a node in one run of backward."""

    got: Any  # its cotangent (a list of them for several results), after the hooks
    gave: tuple[Any, ...]  # one for each of its edges


class Watch:
    """The log of a run: events in order, and for each run of backward the cotangents that came to each node and that it gave."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.arrived: dict[Any, dict[Any, Any]] = {}  # by run, by node: its cotangent, before the hooks
        self.given: dict[Any, dict[Any, Given]] = {}
        self.node: Any = None  # whose backward runs
        self._by_node: dict[Any, Event] = {}
        self._by_value: dict[int, Event] = {}
        self._held: list[Any] = []  # so that no other value comes to an address that is known

    # what was done
    def note(self, node: Any) -> None:
        """A node was made."""
        self._made(Event("op", self._behind(node), node, getattr(node, "op", None)))

    def operation(
        self, op: Any, bound: tuple[Any, ...], values: tuple[Any, ...], results: tuple[Any, ...], node: Any
    ) -> None:
        """An operation ran; `node` is None where it is not part of the graph."""
        inputs = self._inputs(bound)
        event = self._by_node.get(node) if node is not None else None
        if event is None:
            event = self._made(Event("op", inputs, node, op))
        event.inputs, event.op = inputs, op
        event.arguments = tuple([_kept(v) for v in values])
        event.results = tuple([_kept(t._value) for t in results])
        for t in results:
            self._comes_from(t, event)

    def passes(self, made: Any, source: Any, how: str) -> None:
        """The numbers of `source` go on in `made`, without the graph."""
        found = self.producer(source)
        if found is not None and found[0] is not None:
            event = self._made(Event(how, (Input((0, -1), *found),)))
            event.results = (_kept(made._value),)
            self._comes_from(made, event)

    def leaves(self, tensor: Any, how: str) -> None:
        """A value leaves its Tensor."""
        found = self.producer(tensor)
        if found is not None:
            self._made(Event(how, (Input((0, -1), *found),)))

    def wrote(self, target: Any, value: Any, node: Any) -> None:
        """`value` was written into a bare Tensor, which is about to hang behind `node`."""
        inputs = self._inputs((target, None, value))
        event = self._by_node.get(node) if node is not None else None
        if event is None:
            event = self._made(Event("write", inputs, node))
        event.inputs = event.inputs if any(i.event is event for i in inputs) else inputs
        event.results = event.results or (np.array(target._value),)
        self._comes_from(target, event)

    def renewed(self, view: Any, before: Any) -> None:
        """A constant view has other numbers, since its base was written: it is as much a constant as before."""
        event = self._by_value.get(id(before))
        if event is not None:
            self._comes_from(view, event, over=True)

    def custom(self, node: Any, outputs: tuple[Any, ...]) -> None:
        """A custom Function gave its outputs."""
        event = self._by_node.get(node)
        for output in outputs if event is not None else ():
            if isinstance(output, Operand):  # what forward computed inside does not count: it is the node's output
                self._comes_from(output, event, over=True)

    # backward
    def arrives(self, node: Any, g: Any) -> None:
        """A cotangent arrived at a node."""
        self.node = node.parent if type(node) is Pick else node
        self.arrived.setdefault(LOCAL.run, {})[node] = None if g is UNDEFINED else g

    def gives(self, node: Any, g: Any, grads: tuple[Any, ...]) -> None:
        """Return the cotangents that a node gave for its arguments."""
        self.given.setdefault(LOCAL.run, {})[node] = Given(None if g is UNDEFINED else g, grads)

    # who made what
    def producer(self, value: Any) -> tuple[Event, bool] | None:
        """The event that made a value, and whether it is known by its place in the graph; None for a constant."""
        if isinstance(value, Operand):
            node = value._node if LOCAL.grad else _slot.__get__(value)
            if node is not None:
                return self.event_of(node), True
            value = value._value
        if not isinstance(value, _NUMBERS):
            return None
        found = self._by_value.get(id(value)) or self._by_value.get(id(_owner(value)))
        return None if found is None else (found, False)

    def event_of(self, node: Any) -> Event:
        """The event of a node, also of one that nobody told of."""
        if type(node) is Pick:
            node = node.parent
        found = self._by_node.get(node)
        if found is None:
            how = "leaf" if type(node) is AccumulateGrad else "op"
            found = Event(how, self._behind(node), node, getattr(node, "op", None))
            if how == "leaf":
                found.results = (node.value,)
            elif type(node) is Node and node.saved is not None:
                _from_saved(found, node)
            trace = None if node.extra is None else node.extra.trace
            found.site = trace.sites[-1] if trace is not None and trace.sites else None  # of anomaly mode
            self._by_node[node] = found
            self.events.append(found)
        return found

    def _behind(self, node: Any) -> tuple[Input, ...]:
        if type(node) is AccumulateGrad:
            found = self.producer(node.value)
            return () if found is None else (Input((0, -1), *found),)
        slots = (
            node.plan.slots if getattr(node, "plan", None) is not None else [(k, -1) for k in range(len(node.edges))]
        )
        return tuple([Input(slot, self.event_of(edge), True) for slot, edge in zip(slots, node.edges, strict=False)])

    def _inputs(self, bound: tuple[Any, ...]) -> tuple[Input, ...]:
        found: list[Input] = []
        for k, argument in enumerate(bound):
            several = type(argument) is tuple or type(argument) is list
            for i, one in enumerate(argument if several else (argument,)):
                made = self.producer(one)
                if made is not None:
                    found.append(Input((k, i if several else -1), *made))
        return tuple(found)

    def _made(self, event: Event) -> Event:
        event.site, event.parent = user_site(), None if self.node is None else self.event_of(self.node)
        self.events.append(event)
        if event.node is not None:
            self._by_node[event.node] = event
        return event

    def _comes_from(self, tensor: Any, event: Any, over: bool = False) -> None:
        value = tensor._value
        if not isinstance(value, _NUMBERS):
            return
        self._held.append(value)
        for key in (id(value), id(_owner(value))):
            if over or event.node is None or key not in self._by_value:
                self._by_value[key] = event


def _owner(value: Any) -> Any:
    while is_plain_array(value) and is_array(value.base):
        value = value.base
    return value


def _kept(value: Any) -> Any:
    """A value as it is now: bare Tensors are written in place."""
    if type(value) in (list, tuple):
        return type(value)([_kept(v) for v in value])
    return own_memory(value) if is_plain_array(value) and not LOCAL.depth else value


def _from_saved(event: Event, node: Node) -> None:
    """Note the arguments and results of a node that was not watched, as far as it saved them."""
    arguments: list[Any] = [None] * len(node.op.params)
    for spec, entry in zip(node.plan.saved, node.saved, strict=True):
        if spec.what == "value":
            arguments[spec.param] = entry
        elif spec.what == "out":
            event.results = entry if type(entry) is tuple else (entry,)
    event.arguments = tuple(arguments)


def watching(watch: Watch | None) -> AbstractContextManager[None]:
    """Let `watch` be told what a block does (None: nobody is)."""
    refuse("records for gs.why")
    return during("watch", watch)
