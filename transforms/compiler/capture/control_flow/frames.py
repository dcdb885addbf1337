"""Frames of regions while they are traced: the calls recorded in each, facts about its values, and ends of an attempt."""

from __future__ import annotations

import contextlib
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .....runtime.errors import is_of_a_signal
from .....runtime.ir.graph import Call, Graph, Value, type_of, values_in
from .....runtime.ir.known_ops import ADD, COMPARISONS, MULTIPLY, NEGATIVE, SUBTRACT
from .....runtime.ir.opcodes import is_region
from .....runtime.ops import Op
from .....tracer.core.site import Site
from .....tracer.core.tensor_base import Operand, levels_of, wrap
from ...analysis.memory import shares_with
from ...frontend.attempts import LoopRejected, Retyped
from ...frontend.functions import conversion, has_control_flow
from .examples import copied
from .partial import Partial, Presence
from .reverse import tensor_for

__all__ = ["FEW", "NOTHING", "WORTH", "Frame", "Frames", "refuse_impure"]
NOTHING = "computes nothing that is traced"
_ALIKE = COMPARISONS | {ADD, SUBTRACT, MULTIPLY, NEGATIVE}  # which are the same of Python's numbers and of NumPy's
FEW = 4  # so many trips, at least, make a loop over a known range worth keeping, however short its body is
WORTH = 10  # calls that a loop of fewer trips leaves out, at least, where it is worth keeping


class Frame:
    """One region while it is traced."""

    def __init__(self, outer: list[Call]) -> None:
        self.outer = outer  # the calls of what is around it
        self.calls: list[Call] = []
        self.made: set[Value] = set()
        self.fresh: list[Any] = []  # Tensors of its own, which its code may write into
        self.walk: Any = None  # of a loop over a known range: what gives it the items of lists by the number of a trip

    def graph(self, params: list[Value], outputs: list[Any]) -> tuple[Graph, list[Value]]:
        """The graph of what was traced, closed; what it reads from around it, which are its last inputs."""
        known, free = set(params), dict[Value, None]()
        for call in self.calls:
            free |= dict.fromkeys(v for v in call.reads if v not in known)
            known.update(call.outs)
        free |= dict.fromkeys(v for v in outputs if isinstance(v, Value) and v not in known)
        return Graph([*params, *free], self.calls, outputs), list(free)


def refuse_impure(notes: dict[str, Any]) -> None:
    """Raise where the conversion saw something that no region may hold."""
    for _, reason in notes.get("impure", ()):
        raise LoopRejected(reason)


class Frames:
    """The regions of one capture, as far as what is recorded in them goes."""

    def __init__(self, capture: Any, joins: bool = True, runs_through: bool = False) -> None:
        self.capture = capture
        self.runs_through = runs_through  # whether each loop is run, so that what comes behind it sees its true values
        self.joins = joins  # whether the arms of branches outside of loops join behind them
        self.joined = False  # whether any do
        self.frames: list[Frame] = []
        self.samples: dict[Value, Any] = {}  # of values in regions, and of what loops give: those of one trip
        self.stand_ins: set[Value] = set()  # values outside of which only such a sample is known
        self.kept = False  # whether anything was kept: then the run gives no result
        self.reordered = False  # whether cotangents add up in another order than in eager mode
        self.unsigned = False  # whether zeros may have another sign than in eager mode
        self.unseen = False  # whether the run has called what could do anything
        self.partial: dict[Value, Partial] = {}
        self.lent: dict[
            Value, Any
        ] = {}  # what branches give that is read-only on some ways: a truth, and which it is then
        self.origins: dict[Value, set[Value]] = {}  # what branches give, and in the memory of what it may lie
        self.transposing: set[Any] = set()  # the nodes of the inputs of regions whose reverse is recorded just now
        self.open: list[Any] = []  # the loops and branches that are traced just now, by their code
        self.refused: dict[Any, str] = {}  # why a loop or a branch was not kept, by its code
        self.seen: dict[Value, Any] = {}  # Tensors that regions read from around them
        self.entangled: set[Value] = set()  # arrays that may have another name, as the loop goes
        self.unsure: set[Value] = set()  # values of names that eager may find unbound, as the loop goes
        self.running: set[Value] = set()  # numbers of trips that are guarded to be more than none
        self.wholes: dict[tuple[Any, ...], Any] = {}  # the lists of which these are all items
        self.items_of: dict[Value, list[Any]] = {}  # the items of lists of the user's: a loop gives each its cotangent
        self.sized: dict[int, tuple[range, Any]] = {}  # ranges whose ends are sizes
        self.loose: set[Value] = set()  # numbers of NumPy's that eager may leave Python's, as the loop goes
        self.mixed: set[Value] = (
            set()
        )  # those among them that are Python's on some ways through a branch outside of loops
        self.begun = False  # whether an attempt, outside of its regions, has done what Python would then do again
        self.level = 0  # the regions around that attempt
        self.effects = 0  # how many there were
        self.expected: Any = None  # while a region is replayed: the op, the results and the site of its next call

    def note(self, call: Call, values: Sequence[Any]) -> None:
        """A call was written down."""
        if self.frames:
            self.frames[-1].made.update(call.outs)
            self.samples.update(zip(call.outs, values, strict=True))
        elif self.kept and not self.stand_ins.isdisjoint(call.reads):
            self.stand_ins.update(call.outs)

    def replayed(self, op: Op, results: Sequence[Any]) -> Any:
        """A call of a region runs again: its results are the values that they are."""
        known, outs, site = self.expected
        self.expected = None
        if op is not known:
            raise LoopRejected(f"{known.path} could not be replayed", site)
        for r, out in zip(results, outs, strict=True):
            r._ir = out
        return outs, site

    @property
    def strict(self) -> bool:
        """Whether what the capture cannot follow ends an attempt, and not the capture."""
        return bool(self.frames) or self.kept

    def effect(self, what: str) -> None:
        """The code is about to do what can be seen from outside: a run that gives no result must not."""
        if self.strict:
            raise LoopRejected(what, self.capture.site())

    def acts(self) -> None:
        """The code draws, which is taken back where the run gives no result, or prints, which is then left undone."""
        self.effects += 1
        self._begin()

    def _begin(self) -> None:
        self.begun = self.begun or len(self.frames) == self.level

    def cuts(self, what: str) -> None:
        """The code does, for derivatives, what a graph of operations does not say."""
        if self.frames:
            raise LoopRejected(what, self.capture.site())

    def _clean(self) -> bool:
        """Whether the run has done nothing yet that could be seen from outside, but for what can be taken back."""
        capture = self.capture
        return not (self.unseen or capture.postponed or capture.written.bases or capture._instances.changed)

    def stays(self, code: types.CodeType) -> None:
        """A function is not converted."""
        if has_control_flow(code):
            self._refuse((code, 0), f"is in a function that is not converted: {conversion(code, calls=True).reason}")

    def unrolled(self) -> tuple[str, ...]:
        """The loops and branches that were not kept, and why; not those of Python's own values."""
        return tuple(why for why in self.refused.values() if not why.endswith((NOTHING, "trips only")))

    def is_open(self, ir: Value) -> bool:
        """Whether nothing can be decided by a value: it is one of many trips."""
        return ir in self.stand_ins or any(ir in frame.made for frame in self.frames)

    def mixes(self, op: Op, args: tuple[Any, ...], outs: Sequence[Value]) -> None:
        """Follow numbers that are Python's on some ways: raise where an op would give other bits, or another dtype."""
        mixed = {v for v in values_in(args) if v in self.mixed}
        if not mixed:
            return
        others = [v for v in args if isinstance(v, np.generic)]
        dtypes = [v.dtype for v in others] + [
            v.type.dtype for v in values_in(args) if v not in mixed and v.type.kind in ("array", "scalar")
        ]
        strong = np.result_type(*dtypes, *[v.type.dtype for v in mixed])
        weak = np.result_type(*dtypes, *[v.type.dtype.type(1).item() for v in mixed])
        if dtypes or (op.infix is None and strong == weak):
            exact = strong == weak
        else:
            exact = op.base in _ALIKE
            self.mixed.update(outs)
            self.loose.update(outs)
        if not exact:
            raise LoopRejected(
                f"calls {op.path} of a number that is Python's or NumPy's, as its branch goes", self.capture.site()
            )

    def is_loose(self, output: Any) -> bool:
        """Whether eager may give a number of Python's where the source gives NumPy's."""
        return isinstance(output, Value) and output in self.loose

    def root(self) -> list[Call]:
        """The calls outside of all regions."""
        return self.frames[0].outer if self.frames else self.capture.findings.graph.calls

    def may_write(self, base: Any) -> None:
        """Raise where code in a region writes into what is not its own."""
        self._begin()
        if getattr(base, "_ir", None) in self.entangled:
            raise LoopRejected("writes into an array that may have another name by then", self.capture.site())
        if self.frames:
            frame = self.frames[-1]
            if getattr(base, "_ir", None) not in frame.made and all(base is not own for own in frame.fresh):
                raise LoopRejected("writes into an array from outside of it")

    @contextlib.contextmanager
    def frame(self) -> Iterator[Frame]:
        """Record the calls of the block as a region."""
        graph = self.capture.findings.graph
        made = Frame(graph.calls)
        graph.calls = made.calls
        self.frames.append(made)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield made
        finally:
            self.frames.pop()
            graph.calls = made.outer

    def param(self, value: Any, name: str | None, frame: Frame | None = None) -> Any:
        """A Tensor for an input of a region, of which `value` is a sample."""
        ir = Value(type_of(value), name)
        self.samples[ir] = value
        made = wrap(value)
        made._ir = ir
        if frame is not None:
            frame.made.add(ir)
            frame.fresh.append(made)
        return made

    def attempt(self, key: Any, run: Callable[[], Any]) -> Any:
        """`run()`; where it cannot be kept, NotImplemented."""
        if self.capture.failed is not None or key in self.refused or not (self.strict or self._clean()):
            return NotImplemented
        generators = self.capture.generators
        around = self.begun, self.level
        if self.open.count(key) > 1:
            raise LoopRejected("calls itself", self.capture.site())
        self.begun, self.level = False, len(self.frames)
        self.open.append(key)
        states, pending = generators.states(), list(self.capture.messages.pending)
        try:
            return run()
        except LoopRejected as why:
            if self.begun or (isinstance(why, Retyped) and self.frames):
                raise
            self._refuse(key, why.reason)
        except Exception as error:
            if (not self.frames and self.kept) or is_of_a_signal(error):
                raise
            self._refuse(key, f"raises {type(error).__name__}: {error}")
            if self.begun:
                raise LoopRejected(f"raises {type(error).__name__}: {error}", self.capture.site()) from error
        finally:
            self.open.pop()
            self.begun, self.level = around[0] or (self.begun and self.level == around[1]), around[1]
        generators.take_back(states)
        self.capture.messages.pending[:] = pending
        return NotImplemented

    def _refuse(self, key: Any, reason: str) -> None:
        code, line, *_ = key
        self.refused[key] = f"{Site(code, 0, line or code.co_firstlineno)}: it {reason}"

    def _keep(self) -> None:
        if not self.frames:
            self.kept = True

    def tensor_of(self, ir: Value) -> Any:
        """The Tensor that stands for a value that a region read from around it."""
        known = self.seen.get(ir)
        return tensor_for(ir, self.samples.get(ir)) if known is None else known

    def see(self, tensor: Any, ir: Value) -> None:
        """A Tensor is used: in a region it may be one from around it."""
        if self.frames and ir not in self.frames[-1].made:
            self._remember(tensor, ir)

    def _remember(self, tensor: Any, ir: Value) -> None:
        if ir not in self.seen and tensor._value is not None:
            made = self.seen[ir] = copied(tensor)
            made._ir = ir

    def given(self, value: Any) -> Any:
        """Return an output of a region as it stands in its graph, where it may be a value from around it."""
        found = self.capture.operand(value)
        if isinstance(found, Value) and isinstance(value, Operand):
            self._remember(value, found)
        return found

    def stays_apart(self, reason: str) -> None:
        """Raise where arms cannot join as eager mode adds up: their outcomes then have sources of their own."""
        if self.joined and not self.frames:
            raise LoopRejected(reason, self.capture.site())

    def part_of(self, g: Any) -> Partial | None:
        """Return the partial cotangent that a cotangent is, if it is one."""
        ir = getattr(g, "_ir", None) if self.partial else None
        return None if ir is None else self.partial.get(ir)

    def lies_in(self, calls: Sequence[Call], v: Any) -> set[Value]:
        """The values in whose memory one may lie, itself among them, as these calls and known branches go."""
        maker = {out: call for call in calls for out in call.outs}
        seen: set[Value] = set()
        waiting = [v]
        while waiting:
            v = waiting.pop()
            if isinstance(v, Value) and v not in seen:
                seen.add(v)
                waiting += self.origins.get(v, ())
                if v in maker and not is_region(maker[v]):
                    waiting += shares_with(maker[v])
        return seen

    def presences(self, given: dict[int, Any]) -> dict[int, Presence]:
        """Of cotangents by place: whether there are any on all ways."""
        return {k: self.part_of(t) or True for k, t in given.items()}

    def taken(self, g: Any) -> Partial | None:
        """The same, of which nothing is known from here on."""
        ir = getattr(g, "_ir", None) if self.partial else None
        return None if ir is None else self.partial.pop(ir, None)

    def _decides_later(self, pred: Any) -> bool:
        """Whether a condition is traced: a branch by it has both arms, a guard only the one that this call takes."""
        ir = getattr(pred, "_ir", None) if isinstance(pred, Operand) and not levels_of(pred) else None
        if ir is None or self.frames or ir in self.stand_ins:
            return ir is not None
        self.joined |= self.joins
        return self.joins or (self.effects > 0 and self.capture.behind_effects(pred))

    def knows(self, pred: Any) -> bool:
        """Whether the value of a condition is the one that it has in this call: the arm taken gives true values, too."""
        return not (self.frames or pred._ir in self.stand_ins or (self.effects and self.capture.behind_effects(pred)))
