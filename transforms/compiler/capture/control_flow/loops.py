"""The loops of converted code while capturing: traced once, or left to Python."""

from __future__ import annotations

import dis
import functools
import itertools
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....runtime.ir.graph import Call, Graph, Value, type_of
from .....runtime.ir.known_ops import ADD, MULTIPLY, SUBTRACT
from .....runtime.ir.opcodes import SCAN, Branch, Loop, has_effects
from .....runtime.registry import require
from .....runtime.rules.control import guard
from .....tracer.core.tensor_base import Operand, levels_of
from .....tracer.core.thread_state import grad_mode
from ...analysis.lengths import source_axis
from ...frontend.attempts import LoopRejected, Retyped
from .calls import Calls
from .examples import covered
from .frames import FEW, NOTHING, WORTH, Frame, refuse_impure
from .lists import Collected, Listed
from .numbers import is_number
from .state import Leaves, Params
from .state import plain_sample as samples_of
from .steps import Counted, Layers, RangeSteps, Steps, Together, known, layers_of, named, place_name, steps_of

__all__ = ["Loops"]


class Loops(Calls):
    """The operators of converted code for loops; NotImplemented where Python is to run one."""

    def while_(
        self, test: Any, body: Any, state: tuple[Any, ...], names: Sequence[str], line: int, **notes: Any
    ) -> Any:
        """The state after a `while`; NotImplemented where Python is to run it."""

        def run() -> Any:
            refuse_impure(notes)
            return self._loop(lambda _, *s: body(*s), state, names, test=test, steps=None, dead=notes.get("dead", ()))

        return self.attempt((body.__code__, line), run)

    def for_(
        self, iterable: Any, body: Any, state: tuple[Any, ...], names: Sequence[str], target: Any, test: Any, line: int,
        **notes: Any,
    ) -> Any:  # fmt: skip
        """The state after a `for`; NotImplemented where Python is to run it."""
        steps = self.steps_of(iterable)
        if steps is None:
            return NotImplemented

        def run() -> Any:
            refuse_impure(notes)
            if known(steps.n) and int(steps.n) < 2:
                raise LoopRejected(f"has {steps.n} trips only")
            if not known(steps.n) and not self.runs(steps.n, or_open=True):
                return state
            return self._loop(body, state, names, test=test, steps=steps, target=target, dead=notes.get("dead", ()))

        kept = self.attempt((body.__code__, line), run)
        if kept is NotImplemented:
            self.capture.counted.fix(steps.n)
        return kept

    def _loop(
        self,
        body: Any,
        state: tuple[Any, ...],
        names: Sequence[str],
        *,
        test: Any,
        steps: Steps | None,
        target: Any = None,
        dead: Sequence[str] = (),
    ) -> Any:
        """Trace a loop and write it down: the state after it."""
        start = Leaves(state, names)
        apart = _taken_apart(body, target) if steps is not None and steps.layers() else target
        first: list[str] = []  # what the loop binds
        peeled, promoted = False, set[str]()  # the variables that start as another type
        tried: LoopRejected | None = None
        loose = set[str]()  # of those, the ones that eager may leave as they are
        for _ in range(8):
            item: Callable[[Any], Any] = _itself if steps is None else steps.item
            layers = [] if steps is None else steps.layers(apart)
            if layers and test is not None:
                raise LoopRejected("walks a list and may end before the list does")
            with self.frame() as frame:
                index = self.param(0, place_name(steps, target), frame)
                items = [
                    one.begin(index, part, lambda leaf, name: self.param(samples_of(leaf), name, frame))
                    for one, part in layers
                ]
                params = start.params(lambda value, name: self.param(value, name, frame))
                if test is None and steps is not None and known(steps.n):
                    frame.walk = _Indexed(frame, index, int(steps.n), layers, items, self.param)
                for before, inside in zip(start.state, params.state, strict=True):
                    if isinstance(inside, Collected) and type(before) is list:
                        inside.behind = functools.partial(_behind, frame, index._ir, len(before))
                named_here = zip(start.places, params.tensors, strict=True)
                self.unsure.update(t._ir for k, t in named_here if start.names[k] in first)
                wish: Retyped | None = None
                try:
                    with grad_mode(False):
                        given = named(steps, target, item(index))
                        found = Leaves(body(given, *params.state), names, start.collected)
                        found = found.repeated_as(start.levels())
                except Retyped as why:
                    wish = why
                except LoopRejected as why:
                    if tried is not None or not (lists := start.lists()):
                        raise why if tried is None else tried from None
                    tried = why  # perhaps a list that grows, of which an item is read by the number of the trip
                    start = Leaves(start.state, names, lists)
                    continue
            if wish is not None:
                before, start = start, start.retyped(wish, params.before)
                promoted |= before.unlike(start)
                loose |= before.unlike(start)
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
                raise LoopRejected(reason)
            elif start.must_promote(found):
                first += start.unbound_in(found)
                shape_of = functools.partial(self._shape_before, start, params, frame)
                before, start = start, start.promoted(found, params.touched(start), shape_of)
                self.reordered = self.reordered or before.levels() != start.levels()
                promoted |= before.unlike(start)
                loose |= self._loose_in(found)
            else:
                break
        else:
            raise LoopRejected("has values of another type in each trip")
        n = None if steps is None else steps.n
        if isinstance(n, int) and n < FEW and _length(frame.calls) * (n - 1) < WORTH:
            raise LoopRejected(f"has {n} trips only")
        first, promoted = [name for name in first if name not in dead], promoted - set(dead)
        if promoted and steps is not None and not known(n):
            self.runs(n)
        if first and (test is not None or not known(n)):
            self._runs_once(first[0], state, test, steps)
        elif self._leaves_as_found(promoted, test) and not self._asked(test, state):
            raise LoopRejected("runs no trip at first")
        if self.strict and test is not None:  # one over a range is taken to run
            loose |= promoted | self._loose_in(start)
        walked = [(one, tensors) for (one, _), tensors in zip(layers, items, strict=True)]
        return self._written(start, found, params, frame, index, test, n, loose - set(dead), walked)

    def _shape_before(self, start: Leaves, params: Params, frame: Frame, found: Any) -> tuple[int, ...]:
        """The shape of what a trip makes, in sizes that are known before the loop where they follow from what is read."""
        makers = {out: call for call in frame.calls for out in call.outs}
        starts = [getattr(start.values[k], "_ir", None) for k in start.places]
        visible = {*self.capture.findings.graph.inputs, *(v for call in self.root() for v in call.outs)}
        visible.update(v for around in self.frames for v in around.made)
        before = dict(zip(params.before, starts, strict=True)) | {v: v for v in self.seen if v in visible}
        shape: list[int] = []
        for axis, length in enumerate(map(int, np.shape(found._value))):
            of, k = source_axis(found._ir, axis, makers)
            v = before.get(of) if length > 1 else None
            same = v is not None and v.type.shape[k : k + 1] == (length,)
            shape.append(self.capture.length(v, k) if same else length)
        return tuple(shape)

    def _loose_in(self, state: Leaves) -> set[str]:
        return {
            name for name, v in zip(state.names, state.values, strict=True) if self.is_loose(getattr(v, "_ir", None))
        }

    def _leaves_as_found(self, promoted: set[str], test: Any) -> bool:
        """Whether a loop without a trip would leave numbers of Python's, where the kept one leaves NumPy's."""
        return bool(promoted) and not self.strict and test is not None

    def _runs_once(self, name: str, state: Any, test: Any, steps: Steps | None) -> None:
        """Guard that there was a trip, where a name is read behind the loop that only its body binds."""
        counted = steps is None or known(steps.n) or self.runs(steps.n)
        if counted and test is None:
            return
        if not counted or self.frames or self.kept:
            raise LoopRejected(f"binds `{name}`, which is not bound behind it where there is no trip")
        if not self._asked(test, state):
            raise LoopRejected("runs no trip at first")

    def runs(self, n: Any, or_open: bool = False) -> bool:
        """Whether there are `n` trips, and so one: a guard, where their number follows from inputs; else `or_open`."""
        ir = getattr(n, "_ir", None)
        if ir is None or self.is_open(ir):
            return or_open
        runs = bool(n._value > 0)
        if not (or_open and runs) and ir not in self.running:
            self.running.add(ir)
            asked = Value(type_of(runs))
            site = self.capture.site()
            self.root().append(Call(require(operator.gt), (ir, 0), (asked,), site))
            self.root().append(Call(require(guard), (asked, "bool", runs), (Value(asked.type),), site))
        return runs

    def _asked(self, test: Any, state: Any) -> bool:
        """The truth of a loop's test before its first trip."""
        before = self.effects
        answer = test(*state)
        if self.effects != before:
            raise LoopRejected("draws in its condition, and may run no trip")
        return bool(answer)

    def _peel(self, body: Any, state: Any, test: Any, steps: Steps | None) -> tuple[Any, Steps | None]:
        """Run the first trip as Python does; what is left to run."""
        if test is not None and not self._asked(test, state):
            raise LoopRejected("runs no trip at first")
        if steps is None:
            return body(None, *state), None
        if not known(steps.n) and not self.runs(steps.n):
            raise LoopRejected("may run no trip")
        return body(steps.item(0), *state), steps.rest()

    def _written(
        self, start: Leaves, found: Leaves, params: Params, frame: Frame, index: Any, test: Any, n: Any, loose: set[str],
        walked: Sequence[tuple[Layers, list[Any]]],
    ) -> Any:  # fmt: skip
        capture = self.capture
        outs = [self.given(v) for v in found.carried_as(start)]
        items = found.items()
        ys = [self.given(item) for item in items]
        if not all(isinstance(y, Value) for y in ys):
            raise LoopRejected("appends what it does not trace")
        own = [t._ir for _, tensors in walked for t in tensors]
        body, inv = frame.graph([index._ir, *params.before, *own], [*outs, *ys])
        pythons = not own and self._is_pythons(frame, inv, start)
        try:
            condition = None if test is None else self._condition(start, test, params, body, inv, n, len(own))
        except LoopRejected as why:
            raise LoopRejected(NOTHING) if pythons else why from None
        if pythons and not any(map(has_effects, filter(None, (body, condition)))):
            raise LoopRejected(NOTHING)
        written = params.written(start, found)
        starts = [capture.operand(v) for v in start.carried()]
        if any(starts[k] in body.inputs for k in written):
            raise LoopRejected("writes into an array that it also reads under another name")
        inv = body.inputs[1 + len(starts) + len(own) :]
        self.apart_in_loop(start, found, params, starts, inv, written)
        self.alone_in_loop(start, found, [*starts, *inv], walked)
        columns = [
            (one, t, column)
            for one, tensors in walked
            for t, column in zip(tensors, zip(*one.leaves[: int(n)], strict=True), strict=True)
        ]
        samples = [samples_of(v) for v in found.carried_as(start)]
        if self.runs_through and not self.frames:
            values = [[leaf._value for leaf in column] for _, _, column in columns]
            samples = self._run_through(Loop(body, condition), start.carried(), values, inv, n)
        lists = [self.listed(column, t._ir.name, one.name) for one, t, column in columns]
        results = self.scan(
            Loop(body, condition), start.carried(), lists, [self.tensor_of(v) for v in inv], n, samples, start.labels(),
            [samples_of(item) for item in items],
        )  # fmt: skip
        for v, r in zip([*found.carried_as(start), *items], results, strict=False):
            covered(r, levels_of(v))
        places = zip(start.places, found.carried_as(start), results, strict=False)
        for k, v, r in places:
            if start.names[k] in loose or v is not found.values[k] or self.is_loose(getattr(v, "_ir", None)):
                self.loose.add(r._ir)
            if getattr(found.values[k], "_ir", None) in self.unsure:
                self.unsure.add(r._ir)
        self._keep()
        count = int(n) if test is None and known(n) else None
        grown = [
            Listed(self, start.state[k], stack, count)
            for k, stack in zip(sorted(start.collected), results[len(samples) :], strict=False)
        ]
        runs = n is not None and (known(n) or n._ir in self.running)
        self.shared_by_loop(start, found, params, frame, results, written, runs)
        return start.after(found, results[: len(samples)], written, grown)

    def _run_through(
        self, loop: Loop, carry: Sequence[Any], xs: Sequence[Any], inv: Sequence[Value], n: Any
    ) -> list[Any]:
        """The values that all trips leave, where those of the first would not do for what comes behind: a singular matrix."""
        around = [self.tensor_of(v)._value for v in inv]  # None where only sizes are asked for
        around = [np.empty(v.type.shape) if held is None else held for v, held in zip(inv, around, strict=True)]
        held = [[getattr(v, "_value", v) for v in group] for group in (carry, around, [n])]
        if has_effects(loop.body):
            raise LoopRejected("draws or prints, and what comes behind it needs its values")
        with np.errstate(all="ignore"):
            return list(SCAN.fn(loop, tuple(held[0]), tuple(xs), tuple(held[1]), held[2][0]))[: len(carry)]

    def _is_pythons(self, frame: Frame, inv: list[Value], start: Leaves) -> bool:
        """Whether a trip computes nothing but ints of Python's, or from nothing that is traced."""
        made = [out.type for call in frame.calls for out in call.outs]
        if all(t.kind == "python" and t.dtype.kind in "iub" for t in made):
            return True
        return not inv and not any(isinstance(self.capture.operand(v), Value) for v in start.carried())

    def _condition(
        self, start: Leaves, test: Any, params: Params, body: Graph, inv: list[Value], n: Any, items: int
    ) -> Graph | None:
        """The graph of a loop's test; None where it always holds. Both graphs take the same invariants."""
        with self.frame() as frame, grad_mode(False):
            fresh = start.params(lambda value, name: self.param(value, name, frame))
            tested = test(*fresh.state)
            if not isinstance(tested, Operand):
                if n is None or not tested:
                    raise LoopRejected(
                        "has a condition that is not traced" if tested else "has a condition that is false at once"
                    )
                return None
            if np.size(tested._value) != 1 or levels_of(tested):
                raise LoopRejected("decides by an array of several numbers")
            answer = self.capture.operand(tested)
        if any(t._ir is not before for t, before in zip(fresh.tensors, fresh.before, strict=True)):
            raise LoopRejected("writes into an array in its condition")
        condition, free = frame.graph(list(fresh.before), [answer])
        both = list(dict.fromkeys([*inv, *free]))
        body.inputs[1 + len(params.tensors) + items :] = both
        condition.inputs[len(params.tensors) :] = both
        return condition

    def steps_of(self, iterable: Any) -> Steps | None:
        """The steps of what a loop runs over; None where each item must be asked for."""
        _, found = self.sized.get(id(iterable), (None, NotImplemented))
        found = steps_of(iterable) if found is NotImplemented else found
        return None if self.frames and found is not None and found.layers() else found

    def listcomp(self, iterable: Any, element: Any, line: int) -> Any:
        """A list of one item for each of others."""
        steps = self.steps_of(iterable)
        if steps is None:
            return NotImplemented

        def body(item: Any, items: Any) -> Any:
            new = element(item)
            return (items.appended(new) if isinstance(items, Collected) else [*items, new],)

        def run() -> Any:
            if known(steps.n) and int(steps.n) < 2:
                raise LoopRejected(f"has {steps.n} trips only")
            return self._loop(body, ([],), ("",), test=None, steps=steps, target=_target_of(element))[0]

        return self.attempt((element.__code__, line), run)

    def summed(self, iterable: Any, element: Any, line: int, start: Any = 0) -> Any:
        """The sum of one item for each of others: as a loop that adds them."""
        steps = self.steps_of(iterable)
        if steps is None:
            return NotImplemented

        def body(item: Any, total: Any) -> Any:
            new = element(item)
            if isinstance(getattr(new, "_value", new), float) and not isinstance(
                getattr(new, "_value", new), np.generic
            ):
                raise LoopRejected("adds numbers of Python's, whose sum rounds as Python does")
            return (total + new,)

        def run() -> Any:
            if known(steps.n) and int(steps.n) < 2:
                raise LoopRejected(f"has {steps.n} trips only")
            if not known(steps.n) and not self.runs(steps.n, or_open=True):
                return start
            return self._loop(body, (start,), ("total",), test=None, steps=steps, target=_target_of(element))[0]

        kept = self.attempt((element.__code__, line), run)
        if kept is NotImplemented:
            self.capture.counted.fix(steps.n)
        return kept

    def item(self, holder: Any, key: Any, called: Any) -> Any:
        """`holder[key]` of a list outside of all loops, by the number of a trip."""
        walk = self.frames[-1].walk if len(self.frames) == 1 else None
        return NotImplemented if walk is None or not isinstance(key, Operand) else walk.item(holder, key, called)

    def range_(self, *args: Any) -> Any:
        """`range(...)` of traced numbers."""
        if any(map(is_number, args)):
            self.capture.numbers.bound(args)
            return RangeSteps.of(args)
        if any(isinstance(n, int) and type(n) not in (int, bool) for n in args):
            made = range(*args)
            self.sized[id(made)] = made, RangeSteps.of(args)
            return made
        return NotImplemented

    def enumerate_(self, iterable: Any, start: Any = 0) -> Any:
        """`enumerate(...)` of what is known without running it."""
        steps = self.steps_of(iterable)
        return NotImplemented if steps is None or type(start) is not int else Counted(steps, start)

    def zip_(self, *iterables: Any, strict: bool = False) -> Any:
        """`zip(...)`, likewise."""
        steps = [self.steps_of(one) for one in iterables]
        if not steps or any(one is None or not known(one.n) for one in steps):
            return NotImplemented
        found = [one for one in steps if one is not None]
        if strict and any(one.n != found[0].n for one in found):  # which raises, once the shorter one ends
            return NotImplemented
        return Together(found)

    def reversed_(self, iterable: Any) -> Any:
        """`reversed(...)`, likewise."""
        steps = self.steps_of(iterable)
        return NotImplemented if steps is None else steps.backward()


class _Indexed:
    """The lists of which a loop reads an item in each trip by its number, `Ws[k]`: it walks them beside its range."""

    def __init__(
        self, frame: Frame, index: Any, n: int, layers: list[tuple[Layers, Any]], items: list[list[Any]], param: Any
    ) -> None:
        self.frame, self.index, self.n = frame, index, n
        self.layers, self.items = layers, items  # what the loop walks anyway, and the Tensors of a trip
        self.param = param
        self.known: dict[tuple[int, int, int], tuple[Any, Layers]] = {}

    def item(self, holder: Any, key: Any, called: Any) -> Any:
        """Return the item of the trip; NotImplemented where it is that of another, or the list is none of layers."""
        step, first = _line(self.frame, self.index._ir, key)
        if first < 0 and first + (step or 0) * (self.n - 1) < 0:
            first += len(holder)
        if step not in (1, -1) or not (0 <= first < len(holder) and 0 <= first + step * (self.n - 1) < len(holder)):
            return NotImplemented
        if (id(holder), first, step) not in self.known:
            found = layers_of([holder[first + step * k] for k in range(self.n)])
            if found is None:
                return NotImplemented
            made = found.begin(self.index, called, lambda leaf, name: self.param(samples_of(leaf), name, self.frame))
            self.layers.append((found, None))
            self.items.append(made)
            self.known[id(holder), first, step] = holder, found
        return self.known[id(holder), first, step][1].trip


def _itself(i: Any) -> Any:
    return i


def _target_of(element: types.FunctionType) -> Any:
    """Return what a comprehension calls its item: a name, or several where it takes it apart."""
    code = element.__code__
    inner = next((c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == "<listcomp>"), code)
    names = inner.co_varnames[1:]
    return names or code.co_varnames[0]


def _taken_apart(body: Any, target: Any) -> Any:
    """Return what a loop calls its item; where its code begins with `W, b = item`, these names."""
    if not isinstance(target, str) or not hasattr(body, "__code__"):
        return target
    found = list(dis.get_instructions(body.__code__))
    for k, (one, other) in enumerate(itertools.pairwise(found)):
        if one.argval == target and other.opname == "UNPACK_SEQUENCE":
            stores = itertools.takewhile(lambda later: later.opname.startswith("STORE_FAST"), found[k + 2 :])
            names = [name for later in stores for name in _names(later.argval)]
            return tuple(names) if len(names) == other.arg else target
    return target


def _names(argument: Any) -> tuple[str, ...]:
    return argument if isinstance(argument, tuple) else (argument,)


def _length(calls: Sequence[Call]) -> int:
    """Return the number of calls, with those of loops and branches among them."""
    regions = [arg for call in calls for arg in call.args if isinstance(arg, (Loop, Branch))]
    inner = [graph for region in regions for graph in region if isinstance(graph, Graph)]
    return len(calls) + sum(_length(graph.calls) for graph in inner)


def _behind(frame: Frame, place: Value, length: int, index: Any) -> int | None:
    """An index into a list of `length` items that gets one a trip, counted from the end; None where it is another with each.

    `place` is the number of the trip, and the index is this, or that with an int added or subtracted.
    """
    factor, start = _line(frame, place, index)
    return start - length if factor == 1 else None


def _line(frame: Frame, place: Value, index: Any) -> tuple[int | None, int]:
    """The ints of which an index is the number of the trip times the first, and the second; None where it is no such sum."""
    makers = {call.outs[0]: call for call in frame.calls if len(call.outs) == 1}

    def line(v: Any) -> tuple[int | None, int]:
        if v is place:
            return 1, 0
        if type(v) is int:
            return 0, v
        call = makers.get(v) if isinstance(v, Value) else None
        if call is None or call.op.base not in (ADD, SUBTRACT, MULTIPLY):
            return None, 0
        (a, b), (c, d) = map(line, call.args[:2])
        if a is None or c is None or (call.op.base is MULTIPLY and a and c):
            return None, 0
        if call.op.base is MULTIPLY:
            return a * d + c * b, b * d
        return (a + c, b + d) if call.op.base is ADD else (a - c, b - d)

    return line(getattr(index, "_ir", None))
