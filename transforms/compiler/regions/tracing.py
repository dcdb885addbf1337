"""Loops and branches of converted code while capturing: what is asked before Python's own behaviour follows."""

from __future__ import annotations

import contextlib
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ....runtime.ir import Call, Graph, Value, type_of
from ....runtime.ops import Op
from ....runtime.regions import AND, COND, ITEMS, NOT, OR, ROWS, SCAN, Branch, Loop, stack_value
from ....runtime.registry import require
from ....runtime.rules.control import guard
from ....runtime.registry import require
from ....tracer.dispatch import apply
from ....tracer.modes import LOCAL, grad_mode
from ....tracer.operand import Operand, wrap
from ....tracer.site import Site
from ..control.functions import conversion, has_control_flow
from .lists import Collected, Listed, of_lists
from .nodes import attach
from .numbers import is_number, number
from .purity import impure
from .reverse import tensor_for
from .stacks import stacked
from .state import Leaves, Params
from .state import plain_sample as samples_of
from .steps import Backward, Counted, RangeSteps, Steps, Together, known, place_name, steps_of
from .unkept import Retyped, Unkept

__all__ = ["Frame", "Regions"]

RAISES = False  # for those who work on it: errors in a trip are not taken for the user's
NOTHING = "computes nothing that is traced"
FEW = 4  # so many trips, at least, make a loop over a known range worth keeping


class Frame:
    """One region while it is traced."""

    def __init__(self, outer: list[Call]) -> None:
        self.outer = outer  # the calls of what is around it
        self.calls: list[Call] = []
        self.made: set[Value] = set()
        self.fresh: list[Any] = []  # Tensors of its own, which its code may write into

    def graph(self, params: list[Value], outputs: list[Any]) -> tuple[Graph, list[Value]]:
        """The graph of what was traced, closed; what it reads from around it, which are its last inputs."""
        known, free = set(params), dict[Value, None]()
        for call in self.calls:
            free |= dict.fromkeys(v for v in call.reads if v not in known)
            known.update(call.outs)
        free |= dict.fromkeys(v for v in outputs if isinstance(v, Value) and v not in known)
        return Graph([*params, *free], self.calls, outputs), list(free)


class Regions:
    """The regions of one capture."""

    def __init__(self, capture: Any) -> None:
        self.capture = capture
        self.frames: list[Frame] = []
        self.samples: dict[Value, Any] = {}  # of values in regions, and of what loops give: those of one trip
        self.stand_ins: set[Value] = set()  # values outside of which only such a sample is known
        self.kept = False  # whether anything was kept: then the run gives no result
        self.reordered = False  # whether cotangents add up in another order than in eager mode
        self.unseen = False  # whether the run has called what could do anything
        self.refused: dict[Any, str] = {}  # why a loop or a branch was not kept, by its code
        self.seen: dict[Value, Any] = {}  # Tensors that regions read from around them
        self.sized: dict[int, tuple[range, Any]] = {}  # ranges whose ends are sizes
        self.expected: Any = None  # while a region is replayed: the op, the results and the site of its next call

    # what the capture asks
    def note(self, call: Call, values: Sequence[Any]) -> None:
        """A call was written down."""
        if self.frames:
            self.frames[-1].made.update(call.outs)
            self.samples.update(zip(call.outs, values, strict=True))
            if call.op.effect:
                raise Unkept(f"calls {call.op.path}, which has an effect", call.site)
        elif self.kept:
            if call.op.effect:
                raise Unkept(f"calls {call.op.path}, which has an effect", call.site)
            if not self.stand_ins.isdisjoint(call.reads):
                self.stand_ins.update(call.outs)

    def replayed(self, op: Op, results: Sequence[Any]) -> Any:
        """A call of a region runs again: its results are the values that they are."""
        known, outs, site = self.expected
        self.expected = None
        if op is not known:
            raise Unkept(f"{known.path} could not be replayed", site)
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
            raise Unkept(what, self.capture._site())

    def cuts(self, what: str) -> None:
        """The code does, for derivatives, what a graph of operations does not say."""
        if self.frames:
            raise Unkept(what, self.capture._site())

    def _clean(self) -> bool:
        """Whether the run has done nothing yet that could be seen from outside."""
        capture = self.capture
        return not (
            self.unseen or capture.postponed or capture.written.bases or capture.generators.before or capture._instances.changed
            or any(call.op.effect for call in self.root())
        )  # fmt: skip

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

    def root(self) -> list[Call]:
        """The calls outside of all regions."""
        return self.frames[0].outer if self.frames else self.capture.graph.calls

    def may_write(self, base: Any) -> None:
        """Raise where code in a region writes into what is not its own."""
        if self.frames:
            frame = self.frames[-1]
            if getattr(base, "_ir", None) not in frame.made and all(base is not own for own in frame.fresh):
                raise Unkept("writes into an array from outside of it")

    # tracing
    @contextlib.contextmanager
    def frame(self) -> Iterator[Frame]:
        """What is recorded in the block is a region."""
        graph = self.capture.graph
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
        made = number(value, ir) if ir.type.kind == "python" else wrap(value)
        made._ir = ir
        if frame is not None:
            frame.made.add(ir)
            frame.fresh.append(made)
        return made

    def calculated(self, op: Op, operands: Sequence[Any]) -> Any:
        """An operation of Python's on Python's numbers."""
        value = op.fn(*[v._value if isinstance(v, Operand) else v for v in operands])
        out = Value(type_of(value))
        result = number(value, out)
        capture = self.capture
        bound = tuple([capture.operand(v) for v in operands])
        bound += tuple([p.default for p in op.params[len(bound) :]])
        call = Call(op, bound, (out,), capture._site(), capture._in_backward, bool(capture._in_backward))
        capture.name(call)
        capture.graph.calls.append(call)
        self.note(call, [value])
        return result

    def attempt(self, key: Any, run: Callable[[], Any]) -> Any:
        """`run()`; where it cannot be kept, NotImplemented."""
        if self.capture.failed is not None or LOCAL.levels or key in self.refused or not (self.strict or self._clean()):
            return NotImplemented
        try:
            return run()
        except Unkept as why:
            if isinstance(why, Retyped) and self.frames:
                raise
            self._refuse(key, why.reason)
        except Exception as error:
            if RAISES or (not self.frames and self.kept):
                raise
            self._refuse(key, f"raises {type(error).__name__}: {error}")
        return NotImplemented

    def _refuse(self, key: Any, reason: str) -> None:
        code, line = key
        self.refused[key] = f"{Site(code, 0, line or code.co_firstlineno)}: it {reason}"

    # while
    def while_(
        self, test: Any, body: Any, state: tuple[Any, ...], names: Sequence[str], line: int, **notes: Any
    ) -> Any:
        """The state after a `while`; NotImplemented where Python is to run it."""

        def run() -> Any:
            _refuse(notes)
            return self._loop(lambda _, *s: body(*s), state, names, test=test, steps=None)

        return self.attempt((body.__code__, line), run)

    # for
    def for_(
        self, iterable: Any, body: Any, state: tuple[Any, ...], names: Sequence[str], target: Any, test: Any, line: int,
        **notes: Any,
    ) -> Any:  # fmt: skip
        """The state after a `for`; NotImplemented where Python is to run it."""
        steps = self.steps_of(iterable)
        if steps is None:
            return NotImplemented

        def run() -> Any:
            _refuse(notes)
            if known(steps.n) and int(steps.n) < FEW:
                raise Unkept(f"has {steps.n} trips only")
            return self._loop(body, state, names, test=test, steps=steps, target=target)

        return self.attempt((body.__code__, line), run)

    def _loop(
        self, body: Any, state: tuple[Any, ...], names: Sequence[str], *, test: Any, steps: Steps | None, target: Any = None
    ) -> Any:
        """Trace a loop and write it down: the state after it."""
        start = Leaves(state, names)
        first: list[str] = []  # what the loop binds
        peeled = False
        for _ in range(8):
            item = (lambda i: i) if steps is None else steps.item
            with self.frame() as frame:
                index = self.param(0, place_name(steps, target), frame)
                params = start.params(lambda value, name: self.param(value, name, frame))
                try:
                    with grad_mode(False):
                        found = Leaves(body(item(index), *params.state), names, start.collected)
                except Retyped as wish:
                    again = start.retyped(wish, params.before)
                    if again is None:
                        raise
                    start = again
                    continue
            growing = start.growing(found)
            reason = start.fits(found)
            if growing:
                start = Leaves(start.state, names, start.collected | growing)
            elif reason is not None and not peeled and start.may_peel(found):
                peeled = True
                state, steps = self._peel(body, state, test, steps)
                start = Leaves(state, names, start.collected)
            elif reason is not None:
                raise Unkept(reason)
            elif start.must_promote(found):
                first += start.unbound_in(found)
                start = start.promoted(found)
            else:
                break
        else:
            raise Unkept("has values of another type in each trip")
        if first and not (steps is not None and known(steps.n) and test is None):
            self._runs_once(first[0], state, test, steps)
        return self._written(start, found, params, frame, index, test, None if steps is None else steps.n)

    def _runs_once(self, name: str, state: Any, test: Any, steps: Steps | None) -> None:
        """What the loop binds is bound behind it only if there was a trip: a guard, where one may stand."""
        if self.frames or self.kept or test is None or (steps is not None and not known(steps.n)):
            raise Unkept(f"binds `{name}`, which is not bound behind it where there is no trip")
        if not test(*state):
            raise Unkept("runs no trip at first")

    def _peel(self, body: Any, state: Any, test: Any, steps: Steps | None) -> tuple[Any, Steps | None]:
        """Run the first trip as Python does; what is left to run."""
        if test is not None and not test(*state):
            raise Unkept("runs no trip at first")
        if steps is None:
            return body(None, *state), None
        if not known(steps.n):
            raise Unkept("may run no trip")
        return body(steps.item(0), *state), steps.rest()

    def _written(
        self, start: Leaves, found: Leaves, params: Params, frame: Frame, index: Any, test: Any, n: Any
    ) -> Any:
        capture = self.capture
        outs = [self.given(v) for v in found.carried_as(start)]
        items = found.items()
        ys = [self.given(item) for item in items]
        if not all(isinstance(y, Value) for y in ys):
            raise Unkept("appends what it does not trace")
        body, inv = frame.graph([index._ir, *params.before], [*outs, *ys])
        outs_inside = [out.type for call in frame.calls for out in call.outs]
        if all(t.kind == "python" and t.dtype.kind in "iub" for t in outs_inside):
            raise Unkept(NOTHING)
        if not inv and not any(isinstance(capture.operand(v), Value) for v in start.carried()):
            raise Unkept(NOTHING)
        condition = None if test is None else self._condition(start, test, params, body, inv, n)
        written = params.written(start, found)
        starts = [capture.operand(v) for v in start.carried()]
        if any(starts[k] in body.inputs for k in written):
            raise Unkept("writes into an array that it also reads under another name")
        inv = body.inputs[1 + len(starts) :]
        samples = [samples_of(v) for v in found.carried_as(start)]
        results = self.scan(
            Loop(body, condition), start.carried(), [], [self.tensor_of(v) for v in inv], n, samples, start.labels(),
            [samples_of(item) for item in items],
        )  # fmt: skip
        self._keep()
        count = int(n) if test is None and known(n) else None
        lists = [
            Listed(self, start.state[k], stack, count)
            for k, stack in zip(sorted(start.collected), results[len(samples) :], strict=False)
        ]
        return start.after(found, results[: len(samples)], written, lists)

    def _condition(self, start: Leaves, test: Any, params: Params, body: Graph, inv: list[Value], n: Any) -> Graph | None:
        """The graph of a loop's test; None where it always holds. Both graphs take the same invariants."""
        with self.frame() as frame, grad_mode(False):
            fresh = start.params(lambda value, name: self.param(value, name, frame))
            tested = test(*fresh.state)
            if not isinstance(tested, Operand):
                if n is None or not tested:
                    raise Unkept("has a condition that is not traced" if tested else "has a condition that is false at once")
                return None
            if np.size(tested._value) != 1:
                raise Unkept("decides by an array of several numbers")
            answer = self.capture.operand(tested)
        if any(t._ir is not before for t, before in zip(fresh.tensors, fresh.before, strict=True)):
            raise Unkept("writes into an array in its condition")
        condition, free = frame.graph(list(fresh.before), [answer])
        both = list(dict.fromkeys([*inv, *free]))
        body.inputs[1 + len(params.tensors) :] = both
        condition.inputs[len(params.tensors) :] = both
        return condition

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
        if ir not in self.seen:
            made = self.seen[ir] = wrap(tensor._value, tensor._node)
            made.__class__ = type(tensor)
            made._ir = ir

    def given(self, value: Any) -> Any:
        """What a region gives, as it stands in its graph: this may be a value from around it."""
        found = self.capture.operand(value)
        if isinstance(found, Value):
            if isinstance(value, Operand):
                self._remember(value, found)
        return found

    # what the nodes ask
    def cotangent(self, sample: Any, of: Value, frame: Frame) -> Any:
        """A Tensor for a cotangent that enters a region, of which `sample` is a sample."""
        if isinstance(sample, list):
            assert of.element is not None
            made = stacked(sample[0], stack_value(of.element))
            self.samples[made._ir] = sample
            frame.made.add(made._ir)
        else:
            made = self.param(sample, None, frame)
        made._ir.cotangent_of = of
        return made

    def sample_in(self, node: Any, graph: Graph, k: int, first: int = 1) -> Any:
        """A sample of input `k` of a region, counted without the place of the trip."""
        found = self.samples.get(graph.inputs[first + k])
        return samples_of(node.inputs[k]) if found is None else found

    def trips_of(self, node: Any) -> Any:
        """How often a loop has run: an int, or a traced one."""
        call = node.call
        n = call.args[4]
        if call.args[0].test is None and n is not None:
            return self.tensor_of(n) if isinstance(n, Value) else n
        return tensor_for(call.outs[-1], 1)

    def grown(self, call: Call, out: Value, sample: Any) -> None:
        """A call gives one result more."""
        self.samples[out] = sample
        for frame in self.frames:
            if call in frame.calls:
                frame.made.add(out)
        if not self.is_open(out):
            self.stand_ins.add(out)

    def scan(
        self, loop: Loop, carry: Sequence[Any], xs: Sequence[Any], inv: Sequence[Any], n: Any, samples: Sequence[Any],
        names: Sequence[str | None], element_samples: Sequence[Any] = (),
    ) -> list[Any]:  # fmt: skip
        """Write a loop down: Tensors for what it gives, of which `samples` are samples."""
        capture = self.capture
        args = (
            loop, tuple([capture.operand(v) for v in carry]), tuple([capture.operand(v) for v in xs]),
            tuple([capture.operand(v) for v in inv]), n if n is None else capture.operand(n),
        )  # fmt: skip
        k = len(carry)
        outs = [Value(type_of(value), name) for value, name in zip(samples, names, strict=True)]
        outs += [stack_value(y) for y in loop.body.outputs[k:]]
        trips = Value(type_of(0))
        call = Call(
            SCAN, args, (*outs, trips), capture._site(), capture._in_backward, bool(capture._in_backward)
        )
        results = [tensor_for(out, value) for out, value in zip(outs[:k], samples, strict=True)]
        results += [stacked(value, out) for out, value in zip(outs[k:], element_samples, strict=True)]
        results.append(number(1, trips))
        self._enter(call, results)
        attach(self, call, (*carry, *xs, *inv), results)
        return results

    def rows(self, stack: Any, count: int) -> Any:
        """The items of a list, `count` of them, as the rows of an array."""
        item = stack._value[0]
        value = np.stack([item] * count) if count else np.empty((0, *np.shape(item)), np.result_type(item))
        return self._called(ROWS, stack, Value(type_of(value)), value)

    def items(self, array: Any) -> Any:
        """The rows of an array as a list."""
        rows = array._value
        item = rows[0] if len(rows) else np.zeros(rows.shape[1:], rows.dtype)[()]
        return self._called(ITEMS, array, stack_value(Value(type_of(item))), [item])

    def sum_of_stacks(self, x: Any, y: Any) -> Any:
        """The sum of two lists, item by item."""
        with self.frame() as frame:
            a, b = (self.param(t._value[0], None, frame) for t in (x, y))
            total = a + b
            index = self.param(0, None, frame)
        body = frame.graph([index._ir, a._ir, b._ir], [self.capture.operand(total)])[0]
        return self.scan(Loop(body), [], [x, y], [], None, [], [], [total._value])[0]

    def _called(self, op: Op, x: Any, out: Value, sample: Any) -> Any:
        capture = self.capture
        call = Call(
            op, (capture.operand(x),), (out,), capture._site(), capture._in_backward, bool(capture._in_backward)
        )
        result = tensor_for(out, sample)
        self._enter(call, [result])
        attach(self, call, (x,), [result])
        return result

    def _enter(self, call: Call, results: Sequence[Any]) -> None:
        values = [r._value for r in results]
        self.capture.graph.calls.append(call)
        self.note(call, values)
        if not self.frames:
            self.stand_ins.update(call.outs)
            self.samples.update(zip(call.outs, values, strict=True))

    # if
    def if_(
        self, pred: Any, then: Any, orelse: Any, state: tuple[Any, ...], names: Sequence[str], line: int, **notes: Any
    ) -> Any:
        """The state after an `if`; NotImplemented where Python is to run it."""
        if not self._decides_later(pred):
            return NotImplemented

        def run() -> Any:
            _refuse(notes)
            return self._branch(pred, then, orelse, state, names)

        return self.attempt((then.__code__, line), run)

    def _decides_later(self, pred: Any) -> bool:
        """Whether a condition is traced, and its value not known while capturing."""
        ir = getattr(pred, "_ir", None) if isinstance(pred, Operand) else None
        return ir is not None and (bool(self.frames) or ir in self.stand_ins)

    def _branch(self, pred: Any, then: Any, orelse: Any, state: tuple[Any, ...], names: Sequence[str]) -> Any:
        capture = self.capture
        if np.size(pred._value) != 1:
            raise Unkept("decides by an array of several numbers")
        start = Leaves(state, names[: len(state)])
        frames, arms, params = [], [], []
        for f in (then, orelse):
            with self.frame() as frame, grad_mode(False):
                own = start.aliases(frame)
                found = f(*own.state)
                arms.append(Leaves(found, names))
            frames.append(frame)
            params.append(own)
        pairs = arms[0].paired(arms[1])
        outputs = [[self.given(x) for _, x, _ in pairs], [self.given(y) for _, _, y in pairs]]
        graphs = [frame.graph([], out)[0] for frame, out in zip(frames, outputs, strict=True)]
        ins = list(dict.fromkeys([*graphs[0].inputs, *graphs[1].inputs]))
        for graph in graphs:
            graph.inputs[:] = ins
        places = start.places
        written = {places[j] for own, found in zip(params, arms, strict=True) for j in own.written(start, found)}
        samples = [samples_of(y if x is None else x) for _, x, y in pairs]
        results = self.cond(
            Branch(*graphs), pred, [self.tensor_of(v) for v in ins], samples, arms[0].pair_names(pairs)
        )
        self._keep()
        return start.joined(arms[0], pairs, results, written)

    def cond(
        self, branch: Branch, pred: Any, ins: Sequence[Any], samples: Sequence[Any], names: Sequence[str | None]
    ) -> list[Any]:
        """Write a branch down: Tensors for what it gives."""
        capture = self.capture
        args = (branch, capture.operand(pred), tuple([capture.operand(v) for v in ins]))
        outs = tuple([Value(type_of(value), name) for value, name in zip(samples, names, strict=True)])
        call = Call(COND, args, outs, capture._site(), capture._in_backward, bool(capture._in_backward))
        self._remember(pred, args[1])
        results = [tensor_for(out, value) for out, value in zip(outs, samples, strict=True)]
        self._enter(call, results)
        attach(self, call, tuple(ins), results)
        return results

    # expressions
    def ifexp(self, pred: Any, then: Any, orelse: Any) -> Any:
        """`then() if pred else orelse()`."""
        if not self._decides_later(pred):
            return NotImplemented

        def run() -> Any:
            return self._branch(pred, lambda: (then(),), lambda: (orelse(),), (), ("",))[0]

        return self.attempt((then.__code__, 0), run)

    def and_(self, x: Any, y: Any) -> Any:
        """`x and y()`."""
        return self._both(AND, x, y)

    def or_(self, x: Any, y: Any) -> Any:
        """`x or y()`."""
        return self._both(OR, x, y)

    def _both(self, op: Op, x: Any, y: Any) -> Any:
        if not self._decides_later(x):
            return NotImplemented

        def run() -> Any:
            with self.frame() as frame, grad_mode(False):
                second = y()
            if any(call.op.may_raise for call in frame.calls):
                raise Unkept("has a condition whose second half may raise")
            if not _is_truth(x) or not _is_truth(second):
                raise Unkept("takes `and` or `or` of other values than truths")
            self.capture.graph.calls.extend(frame.calls)
            for call in frame.calls:
                self.note(call, [self.samples[v] for v in call.outs])
            return self.calculated(op, (x, second))

        return self.attempt((y.__code__, 0), run)

    def not_(self, x: Any) -> Any:
        """`not x`."""
        if not self._decides_later(x):
            return NotImplemented
        if np.size(x._value) != 1:
            raise Unkept("takes the truth of an array of several numbers")
        return self.calculated(NOT, (x,))

    def range_(self, *args: Any) -> Any:
        """`range(...)` of traced numbers."""
        if any(map(is_number, args)):
            return RangeSteps.of(args)
        if any(isinstance(n, int) and type(n) not in (int, bool) for n in args):
            made = range(*args)
            self.sized[id(made)] = made, RangeSteps.of(args)
            return made
        return NotImplemented

    def steps_of(self, iterable: Any) -> Steps | None:
        """The steps of what a loop runs over; None where each item must be asked for."""
        _, found = self.sized.get(id(iterable), (None, NotImplemented))
        return steps_of(iterable) if found is NotImplemented else found


    def call(self, f: Any) -> Any:
        """What a call runs."""
        ours = of_lists(f) or self._least(f)
        if ours is None:
            reason = None if self.unseen and not self.strict else impure(f, self.capture)
            if reason is not None:
                if self.strict:
                    raise Unkept(reason, self.capture._site())
                self.unseen = True
        return NotImplemented if ours is None else ours

    def _least(self, f: Any) -> Any:
        """`min` and `max` of two, which decide by comparing; None for other functions."""
        if f is not min and f is not max:
            return None

        def chosen(*args: Any, **options: Any) -> Any:
            if len(args) == 2 and not options:
                x, y = args
                takes_second = y < x if f is min else y > x
                found = self.ifexp(takes_second, lambda: y, lambda: x)
                if found is not NotImplemented:
                    return found
                return y if takes_second else x
            return f(*args, **options)

        return chosen

    def iadd(self, op: Any, x: Any, y: Any) -> Any:
        """`x += y` and its like."""
        return NotImplemented

    def append(self, place: Any, value: Any) -> Any:
        """`place.append(value)`."""
        return place.appended(value) if isinstance(place, (Collected, Listed)) else NotImplemented

    def assert_(self, test: Any, message: Any, line: int) -> Any:
        """`assert test, message`: a guard that it holds, where the source is to find that out."""
        ir = getattr(test, "_ir", None)
        if self.frames or ir not in self.stand_ins or np.size(test._value) != 1:
            return NotImplemented
        capture = self.capture
        backward = capture._in_backward
        held = Call(require(guard), (ir, "bool", True), (Value(ir.type),), capture._site(), backward, bool(backward))
        capture.graph.calls.append(held)
        return None

    def listcomp(self, iterable: Any, element: Any, line: int) -> Any:
        """A list of one item for each of others."""
        steps = self.steps_of(iterable)
        if steps is None:
            return NotImplemented

        def run() -> Any:
            if known(steps.n) and int(steps.n) < FEW:
                raise Unkept(f"has {steps.n} trips only")
            return self._loop(
                lambda item, items: (items.appended(element(item)),) if isinstance(items, Collected) else ([*items, element(item)],),
                ([],), ("",), test=None, steps=steps,
            )[0]  # fmt: skip

        return self.attempt((element.__code__, line), run)

    def truth(self, value: Any, line: int, reason: str) -> Any:
        """A condition that stayed Python's."""
        return NotImplemented

    def trips(self, iterable: Any, line: int, reason: str) -> Any:
        """A loop that stayed Python's."""
        return NotImplemented

    def float_(self, *args: Any) -> Any:
        """`float(x)`, of a counter; of other values it is a constant, which no region can hold."""
        if len(args) == 1 and is_number(args[0]) and type(args[0]._value) is not float and self.strict:
            return apply(require(float), args, {})
        return NotImplemented

    def int_(self, *args: Any, **options: Any) -> Any:
        """`int(x)`, of a counter."""
        counter = len(args) == 1 and not options and is_number(args[0]) and type(args[0]._value) is int
        return args[0] if counter and self.strict else NotImplemented

    def bool_(self, *args: Any) -> Any:
        """`bool(x)`."""
        return NotImplemented

    def len_(self, x: Any) -> Any:
        """`len(x)`."""
        if isinstance(x, Operand) and np.ndim(x._value):
            return x.shape[0]
        return NotImplemented

    def enumerate_(self, iterable: Any, start: Any = 0) -> Any:
        """`enumerate(...)` of what is known without running it."""
        steps = self.steps_of(iterable)
        return NotImplemented if steps is None or type(start) is not int else Counted(steps, start)

    def zip_(self, *iterables: Any, strict: bool = False) -> Any:
        """`zip(...)`, likewise."""
        steps = [self.steps_of(one) for one in iterables]
        if strict or not steps or any(one is None or not known(one.n) for one in steps):
            return NotImplemented
        return Together([one for one in steps if one is not None])

    def reversed_(self, iterable: Any) -> Any:
        """`reversed(...)`, likewise."""
        steps = self.steps_of(iterable)
        return NotImplemented if steps is None else Backward(steps)


def _is_truth(value: Any) -> bool:
    found = value._value if isinstance(value, Operand) else value
    return isinstance(found, (bool, np.bool_)) or (isinstance(found, np.ndarray) and found.dtype == np.bool_ and found.size == 1)


def _refuse(notes: dict[str, Any]) -> None:
    for _, reason in notes.get("impure", ()):
        raise Unkept(reason)
