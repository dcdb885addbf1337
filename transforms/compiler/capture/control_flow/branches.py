"""The branches of converted code while capturing: both arms traced, or left to Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....runtime.arrays import is_array
from .....runtime.ir.graph import Call, Value
from .....runtime.ir.known_ops import COMPARISONS
from .....runtime.ir.opcodes import AND, NOT, OR, Branch
from .....runtime.ops import Op
from .....runtime.registry import require
from .....runtime.rules.control import guard
from .....tracer.core.tensor_base import Operand, levels_of
from .....tracer.core.thread_state import grad_mode
from ...frontend.attempts import LoopRejected
from .arrivals import Arrivals
from .examples import covered, joined
from .frames import refuse_impure
from .numbers import is_number
from .state import Leaves
from .state import plain_sample as samples_of

__all__ = ["Branches"]


class Branches(Arrivals):
    """The operators of converted code for branches; NotImplemented where Python is to decide."""

    def if_(
        self, pred: Any, then: Any, orelse: Any, state: tuple[Any, ...], names: Sequence[str], line: int, **notes: Any
    ) -> Any:
        """The state after an `if`; NotImplemented where Python is to run it."""
        if not self._decides_later(pred):
            return NotImplemented

        def run() -> Any:
            if not self.frames and {reason for _, reason in notes.get("impure", ())} == {"raises"}:
                return self._guarded(pred, then, orelse, state, names)
            refuse_impure(notes)
            return self._branch(pred, then, orelse, state, names)

        if self.knows(pred) and notes.get("impure"):
            return NotImplemented  # a guard says which arm this call takes
        return self.attempt((then.__code__, line), run)

    def _guarded(self, pred: Any, then: Any, orelse: Any, state: tuple[Any, ...], names: Sequence[str]) -> Any:
        """The state behind an `if` of which one arm raises: a guard that the other is taken."""
        messages, generators = self.capture.messages, self.capture.generators
        for arm, other, expect in ((then, orelse, False), (orelse, then, True)):
            pending, states = list(messages.pending), generators.states()
            with self.frame() as frame, grad_mode(False):
                try:
                    arm(*Leaves(state, names[: len(state)]).aliases(frame).state)
                except Exception:
                    messages.pending[:] = pending  # of the error's own text
                else:
                    continue
                finally:
                    generators.take_back(states)
            if not self.kept and pred._ir not in self.stand_ins and bool(pred._value) is not expect:
                raise LoopRejected("raises, as this call decides")
            self._guard(pred, expect)
            return other(*state)
        raise LoopRejected("raises in a branch")

    def _guard(self, test: Any, expect: bool) -> None:
        """A condition that comes out of a kept loop, as a guard: what it is, the source is to find out."""
        capture = self.capture
        backward = capture.section.backward
        args = (test._ir, "bool", expect)
        capture.findings.graph.calls.append(
            Call(require(guard), args, (Value(test._ir.type),), capture.site(), backward, bool(backward))
        )

    def _branch(self, pred: Any, then: Any, orelse: Any, state: tuple[Any, ...], names: Sequence[str]) -> Any:
        if np.size(pred._value) != 1:
            raise LoopRejected("decides by an array of several numbers")
        start = Leaves(state, names[: len(state)])
        taken = 0 if pred._value else 1
        known, effects = self.knows(pred), self.effects
        wanted: dict[int, Any] = {}
        for _ in range(2):  # again where one arm alone gives a value for each example
            frames, arms, params = [], [], []
            for f in (then, orelse):
                with self.frame() as frame, grad_mode(False):
                    own = start.aliases(frame)
                    found = f(*own.state)
                    arms.append(Leaves(found, names).repeated_as(wanted, own.touched(start)))
                frames.append(frame)
                params.append(own)
            levels = [arm.levels() for arm in arms]
            if levels[0] == levels[1]:
                break
            wanted = {k: joined(*[one.get(k, ()) for one in levels]) for k in (*levels[0], *levels[1])}
        if known and self.effects != effects:
            raise LoopRejected("draws or prints in a branch")
        pairs = arms[0].paired(arms[1])
        outputs = [[self.given(x) for _, x, _ in pairs], [self.given(y) for _, _, y in pairs]]
        if not pairs:  # kept for what may raise in it: its one result is of nothing
            outputs = [[None], [None]]
        graphs = [frame.graph([], out)[0] for frame, out in zip(frames, outputs, strict=True)]
        ins = list(dict.fromkeys([*graphs[0].inputs, *graphs[1].inputs]))
        for graph in graphs:
            graph.inputs[:] = ins
        places = start.places
        written = {places[j] for own, found in zip(params, arms, strict=True) for j in own.written(start, found)}
        for k in written:
            if any(arm.values[k] is not own.tensors[places.index(k)] for own, arm in zip(params, arms, strict=True)):
                raise LoopRejected(
                    f"writes into `{start.names[k]}` in one branch, and gives the name to another array in the other"
                )
        samples = [samples_of(_sample(given, taken)) for _, *given in pairs] or [False]
        called = arms[0].pair_names(pairs) or [None]
        results = self.cond(Branch(*graphs), pred, [self.tensor_of(v) for v in ins], samples, called)
        for r, (k, *given) in zip(results, pairs, strict=False):
            covered(r, joined(*map(levels_of, given)))
            both = [(x, arm.values[k]) for x, arm in zip(given, arms, strict=True) if x is not None]
            if any(x is not v or self.is_loose(getattr(x, "_ir", None)) for x, v in both):
                self.loose.add(r._ir)
                if known or any(getattr(x, "_ir", None) in self.mixed for x, _ in both):
                    self.mixed.add(r._ir)
            if len(both) < 2 or any(getattr(x, "_ir", None) in self.unsure for x, _ in both):
                self.unsure.add(r._ir)
        self._keep()
        state = start.joined(arms[0], pairs, results[: len(pairs)], sorted(written))
        by_leaf = {k: r for r, (k, _, _) in zip(results, pairs, strict=False)}
        self.shared_by_branch(start, arms, params, frames, by_leaf, written)
        return state

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
            if not _is_truth(x) or not _is_truth(second):
                raise LoopRejected("takes `and` or `or` of other values than truths")
            plain = COMPARISONS if self.knows(x) else None  # which cannot even warn
            if any(
                call.op.may_raise or call.op.effect or not (plain is None or call.op.base in plain)
                for call in frame.calls
            ):
                return self._one_by_one(op, x, y)
            self.capture.findings.graph.calls.extend(frame.calls)
            for call in frame.calls:
                self.note(call, [self.samples[v] for v in call.outs])
            return self.calculated(op, (x, second))

        return self.attempt((y.__code__, 0), run)

    def _one_by_one(self, op: Op, x: Any, y: Any) -> Any:
        """`x and y()` or `x or y()` where the second half has an effect, or may raise: a branch."""
        then, orelse = (y, lambda: False) if op is AND else (lambda: True, y)
        made = self._branch(x, lambda: (then(),), lambda: (orelse(),), (), ("",))[0]
        if not is_number(x) or not is_number(made):
            self.loose.add(made._ir)
        return made

    def not_(self, x: Any) -> Any:
        """`not x`."""
        if not self._decides_later(x):
            return NotImplemented
        if np.size(x._value) != 1:
            raise LoopRejected("takes the truth of an array of several numbers")
        return self.calculated(NOT, (x,))

    def assert_(self, test: Any, message: Any, line: int) -> Any:
        """`assert test, message`: a guard that it holds, where the source is to find that out."""
        ir = getattr(test, "_ir", None)
        if self.frames or ir not in self.stand_ins or np.size(test._value) != 1 or levels_of(test):
            return NotImplemented
        self._guard(test, True)
        return None

    def _least(self, f: Any) -> Any:
        """`min` and `max` of two, which decide by comparing; None for other functions."""
        if f is not min and f is not max:
            return None

        def chosen(*args: Any, **options: Any) -> Any:
            found = NotImplemented if options else self.capture.of_sizes(f, args)
            if found is not NotImplemented:
                return found
            if len(args) == 2 and not options:
                x, y = args
                takes_second = y < x if f is min else y > x
                if not self._decides_later(takes_second):
                    return y if takes_second else x
                a, b = _both_of_numpy(x, y), _both_of_numpy(y, x)
                found = self.ifexp(takes_second, lambda: b, lambda: a)
                if found is NotImplemented:
                    return y if takes_second else x
                if a is not x or b is not y:
                    self.loose.add(found._ir)
                return found
            return f(*args, **options)

        return chosen


def _sample(given: Sequence[Any], taken: int) -> Any:
    """Return the value of the arm that is taken, or where it binds nothing, of the other."""
    return given[1 - taken] if given[taken] is None else given[taken]


def _is_truth(value: Any) -> bool:
    found = value._value if isinstance(value, Operand) else value
    return isinstance(found, (bool, np.bool_)) or (is_array(found) and found.dtype == np.bool_ and found.size == 1)


def _both_of_numpy(x: Any, other: Any) -> Any:
    """A traced number of Python's as NumPy's, where the other is one of those."""
    held = other._value if isinstance(other, Operand) else other
    if is_number(x) and isinstance(held, np.floating) and type(x._value) is float:
        return x * type(held)(1)
    return x
