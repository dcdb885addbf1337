"""The profile of a block: operations and backward steps with their times, memory and the user's lines."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ...runtime.arrays import is_array, owner_of
from ...runtime.errors import AutogradError
from ...runtime.ops import Op
from ...unpatched import np
from ..core.graph import AccumulateGrad, Pick
from ..core.site import Site, blame, user_site, user_stack
from ..core.steps import within
from ..core.tensor_base import Operand
from ..core.thread_state import LOCAL, refresh, refuse
from .profiler_events import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]

F = TypeVar("F", bound=Callable[..., Any])
UNKNOWN = FunctionEvent("", "op", -1, None)  # an operation before the profile
_now = time.perf_counter_ns


class Profiler:
    """The profile of one thread while it is taken: `apply`, the engine and compiled functions report to it."""

    shapes: bool
    memory: bool
    stack: bool
    thread: int
    thread_name: str

    def __init__(self, shapes: bool, memory: bool, stack: bool) -> None:
        self.shapes, self.memory, self.stack = shapes, memory, stack
        self.events: list[FunctionEvent] = []
        self.open: list[FunctionEvent] = []  # those that run, the innermost last
        self.nodes: dict[int, FunctionEvent] = {}  # the operation that made a node, by the node's number
        self.entered: Any = None  # the arguments of the operation that is timed already
        self.thread, self.thread_name = threading.get_native_id(), threading.current_thread().name

    def begin(self, name: str, scope: str, given: Any = (), forward: FunctionEvent | None = None) -> FunctionEvent:
        """An event that begins now, inside those that run; `given` are its arguments."""
        around = self.open[-1] if self.open else None
        event = FunctionEvent(name, scope, len(self.events), around)
        event.thread, event.thread_name = self.thread, self.thread_name
        if forward is not None:
            event.sites = forward.sites
        elif around is not None and around.scope == "backward":
            event.sites = self._inside(around)
        else:
            event.sites = self._sites()
        if self.shapes:
            event.input_shapes = [_shape(value) for value in given]
        if self.memory:
            event.known = {id(array) for array in _owners(given)}
        if around is not None:
            around.cpu_children.append(event)
        self.events.append(event)
        self.open.append(event)
        event.began = event.ended = _now()
        return event

    def _sites(self) -> tuple[Site, ...]:
        if self.stack:
            return user_stack()[::-1]
        site = user_site()
        return () if site is None else (site,)

    def _inside(self, around: FunctionEvent) -> tuple[Site, ...]:
        """The lines of an operation in a backward step: the user's own if he wrote that step, else those of its forward."""
        sites = self._sites()
        run = next((a for a in around.ancestors() if a.scope == "run"), None)
        own = sites and (run is None or not run.sites or sites[0][:2] != run.sites[0][:2])
        return sites if own else around.sites

    def end(self, event: FunctionEvent, results: Any = ()) -> None:
        """The event ends now (and with it what still runs inside it), having made `results`."""
        if event not in self.open:
            return  # the profile has ended
        event.ended = _now()
        while (last := self.open.pop()) is not event:
            last.ended = event.ended
        if self.memory:
            new = {id(array): array.nbytes for array in _owners(results) if id(array) not in event.known}
            event.made = sum(new.values())
            if self.open:
                self.open[-1].known.update(new)
            event.known = set()

    def op(self, op: Op, bound: tuple[Any, ...], run: Callable[[Op, tuple[Any, ...]], Any]) -> Any:
        """Time one operation, by calling `run` again; NotImplemented to that second call."""
        if self.entered is bound:
            self.entered = None
            return NotImplemented
        path = str(op.path)
        event = self.begin(path.rpartition(".")[2] if path.startswith("gradscribe.") else path, "op", bound)
        result: Any = ()
        self.entered = bound
        try:
            result = run(op, bound)
            self._link(event, result)
            return result
        finally:
            self.entered = None
            self.end(event, result)

    def timed(self, name: str, scope: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` as one event, whose result (or, where it gives none, its first argument) stands in the graph."""

        def run(*args: Any, **kwargs: Any) -> Any:
            event = self.begin(name, scope, (*args, *kwargs.values()))
            result: Any = ()
            try:
                result = function(*args, **kwargs)
                self._link(event, args[0] if result is None else result)
                return result
            finally:
                self.end(event, result)

        return run

    def _link(self, event: FunctionEvent, result: Any) -> None:
        """Note which operation made the node behind a result, for its backward."""
        for one in result if isinstance(result, (tuple, list)) else (result,):
            node = one._node if isinstance(one, Operand) else None
            if node is not None and type(node) is not AccumulateGrad:
                event.sequence_nr = node.parent.seq if type(node) is Pick else node.seq
                self.nodes[event.sequence_nr] = event
                return

    def whole(
        self, name: str, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], known: Callable[[], Any]
    ) -> Any:  # fmt: skip
        """One event for a call that is not looked into: "captured" where what is `known` of it changes, else "compiled"."""
        event = self.begin(name, "compiled", (*args, *kwargs.values()))
        before, state = _switch(None), known()
        result: Any = ()
        try:
            result = call(*args, **kwargs)
            return result
        finally:
            _switch(before)
            event.name = f"{name} ({'compiled' if known() == state else 'captured'})"
            self.end(event, result)

    def run_begins(self) -> FunctionEvent:
        """A backward begins."""
        return self.begin("backward", "run")

    def node(self, node: Any, g: Any, grads: Any) -> None:
        """The engine comes to a node, with `g`; the one before it gave `grads`."""
        self.node_ends(grads)
        if type(node) is Pick:
            return
        leaf = type(node) is AccumulateGrad
        forward = self.open[-1] if leaf and self.open else self.nodes.get(node.seq, UNKNOWN)
        given = tuple(g) if type(g) is list else (g,)
        event = self.begin(node.name(), "backward", given, forward)
        if node.seq in self.nodes:
            event.sequence_nr = node.seq
        if self.memory:
            event.known.update([id(array) for array in _owners(getattr(node, "saved", None))])

    def node_ends(self, grads: Any) -> None:
        """The node that the engine is at gave `grads`."""
        if self.open and self.open[-1].scope == "backward":
            self.end(self.open[-1], grads)


def _shape(value: Any) -> Any:
    """The shape of an array, those of a list of arrays, and [] of everything else, as PyTorch notes them."""
    if isinstance(value, Operand):
        value = value._value
    if isinstance(value, (list, tuple)):
        return [_shape(one) for one in value]
    return [int(n) for n in np.shape(value)] if is_array(value) else []


def _owners(value: Any) -> Iterator[Any]:
    """The arrays (and NumPy numbers) that own the memory of what stands in a value."""
    if isinstance(value, Operand):
        value = value._value
    if is_array(value):
        yield owner_of(value)
    elif isinstance(value, np.generic):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _owners(one)
    elif isinstance(value, dict):
        yield from _owners(list(value.values()))


def _switch(profiler: Profiler | None) -> Any:
    """Set the profiler of this thread; gives what it was."""
    before, LOCAL.profiler = LOCAL.profiler, profiler
    refresh()
    return before


class profile:  # torch's name
    """Profile this thread in a block: operations on Tensors, backward steps, labels and calls of compiled functions.

    `record_shapes` notes the shapes of the arguments, `profile_memory` the bytes of the arrays that each operation makes
    (a view makes none; what is freed is not counted), `with_stack` all of the user's lines that led to it in place of the
    innermost. With `enabled=False` nothing is noted. What PyTorch takes besides (`use_cuda`, `with_flops`, ...) changes
    nothing. A call of a compiled function is one entry, and is not looked into.

    Raises AutogradError (a RuntimeError) where a profile runs in this thread already, where it is entered twice, and where
    it is asked for results before it has ended.

    >>> import gradscribe as gs
    >>> x = gs.tensor([0.5, 1.0], requires_grad=True)
    >>> with gs.autograd.profiler.profile() as prof:
    ...     np.sum(np.sin(x) * 2).backward()
    >>> [(row.key, row.count) for row in prof.key_averages()][:3]
    [('np.sin', 1), ('np.multiply', 1), ('np.sum', 1)]
    """

    enabled: bool
    record_shapes: bool
    profile_memory: bool
    with_stack: bool

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
        with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
        use_kineto: bool = False, use_cpu: bool = True,
    ) -> None:  # fmt: skip
        if use_cuda or use_device == "cuda":
            warnings.warn("CUDA is not available, disabling CUDA profiling", UserWarning, stacklevel=2)
        self.enabled = enabled
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self._entered = False
        self._profiler: Profiler | None = None
        self._events: EventList | None = None if enabled else EventList()

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self._entered:
            raise blame(
                AutogradError("Profiler context manager is not reentrant: make a new profile() for each block.")
            )
        if LOCAL.profiler is not None:
            raise blame(
                AutogradError(
                    "A profile runs in this thread already, and profiles do not nest: name parts of it with "
                    "record_function(...), or end it first."
                )
            )
        refuse("takes a profile")
        self._entered = True
        self._profiler = Profiler(self.record_shapes, self.profile_memory, self.with_stack)
        _switch(self._profiler)
        return self

    def __exit__(self, *exc: Any) -> None:
        profiler = self._profiler
        if profiler is None:
            return
        if LOCAL.profiler is profiler:
            _switch(None)
        if profiler.open:
            profiler.end(profiler.open[0])
        columns = [("memory", self.profile_memory), ("shapes", self.record_shapes), ("stack", self.with_stack)]
        self._events = EventList(profiler.events, frozenset([name for name, asked in columns if asked]))
        self._profiler = None

    def events(self) -> EventList:
        """Every event, in the order in which they began."""
        if self._events is None:
            raise blame(AutogradError("Profiler didn't finish running: ask for its results behind the `with` block."))
        return self._events

    @property
    def function_events(self) -> EventList:
        """Every event, in the order in which they began."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events together."""
        return self.events().self_cpu_time_total

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_line: bool = False
    ) -> EventList:
        """The events of each name together, or of each of the user's lines (`group_by_line=True`)."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_line)

    def total_average(self) -> FunctionEventAvg:
        """All events as one."""
        return self.events().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Every event as a row of text, with the arguments of `EventList.table`."""
        return self.events().table(*args, **kwargs)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as a trace that chrome://tracing and https://ui.perfetto.dev open."""
        self.events().export_chrome_trace(path)

    def __str__(self) -> str:
        return "<unfinished profiler>" if self._events is None else self.key_averages().table()

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        return None if self._events is None else self.key_averages()._repr_html_()


class record_function:  # torch's name
    """Label a block, or as a decorator each call of a function, in the profile that is taken; without one it does nothing.

    >>> import gradscribe as gs
    >>> x = gs.tensor([0.5, 1.0], requires_grad=True)
    >>> with gs.autograd.profiler.profile() as prof, gs.autograd.profiler.record_function("forward"):
    ...     y = np.sin(x)
    >>> [event.name for event in prof.events()]
    ['forward', 'np.sin']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name: str = name if args is None else f"{name} {args}"
        self._open: list[tuple[Profiler, FunctionEvent] | None] = []

    def __enter__(self) -> record_function:
        profiler = LOCAL.profiler
        self._open.append(None if profiler is None else (profiler, profiler.begin(self.name, "label")))
        return self

    def __exit__(self, *exc: Any) -> None:
        opened = self._open.pop()
        if opened is not None:
            profiler, event = opened
            profiler.end(event)

    def _held(self) -> record_function:
        return record_function(self.name)  # several threads may be in such calls

    def __call__(self, function: F) -> F:
        return within(function, self._held)
