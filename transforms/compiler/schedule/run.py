"""run_program: the reference. What every target must equal, bit for bit or within what it states."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Value, map_values
from ....runtime.rules.control import GuardMissError, guard
from .program import (
    Assign,
    Effect,
    Fork,
    Free,
    Guard,
    If,
    List,
    Loop,
    Program,
    Push,
    Return,
    Reverse,
    Statement,
    Store,
    Tiled,
    Unpack,
    writes_of,
)
from .reuse import ufunc_of
from .signature import built, children

__all__ = ["called", "run_program"]


class _Space:
    """What values are while a Program runs: by variable, in one space for all blocks, or by value, in one for each block."""

    def __init__(
        self, variables: Mapping[Value, str], called: Callable[..., Any], held: dict[Any, Any] | None = None
    ) -> None:
        self.variables = variables
        self.called = called  # what each call gives
        self.held: dict[Any, Any] = {} if held is None else held

    def __getitem__(self, v: Value) -> Any:
        return self.held[self.variables.get(v, v)]

    def update(self, pairs: Iterable[tuple[Value, Any]]) -> None:
        """Put values where they are held, as if all at once."""
        self.held.update([(self.variables.get(v, v), value) for v, value in pairs])

    def free(self, v: Value) -> None:
        """Hold a value no longer."""
        del self.held[self.variables.get(v, v)]

    def copy(self, more: Mapping[Value, Any] = MappingProxyType({})) -> _Space:
        """The same values and some more, apart from what is put there later."""
        made = _Space(self.variables, self.called, dict(self.held))
        made.update(more.items())
        return made

    def block(self, pairs: Iterable[tuple[Value, Any]]) -> _Space:
        """The space of a block that is given these values."""
        made = self if self.variables else _Space(self.variables, self.called)
        made.update(pairs)
        return made

    def trip(self, pairs: Iterable[tuple[Value, Any]]) -> _Space:
        """The space of one trip of a loop, which is given these beside what all trips are given."""
        made = self if self.variables else self.copy()
        made.update(pairs)
        return made


def called(call: Call, args: tuple[Any, ...], buffer: Any) -> Any:
    """Return what a call gives: over a buffer, where there is one."""
    positional, named = call.op.call_form(args)
    if buffer is None:
        return call.op.fn(*positional, **named)
    if call.op.consuming is not None:
        return call.op.consuming(*args)
    ufunc = ufunc_of(call.op)
    assert ufunc is not None  # nothing else is written over an argument (reuse.py)
    return ufunc(*positional, **named, out=buffer)


def run_program(program: Program, *args: Any, called: Callable[..., Any] = called, **kwargs: Any) -> Any:
    """Run a Program on the arguments of its function; NotImplemented where a guard fails.

    `called` makes each call, of its arguments and the array that it may write over, if there is one.

    >>> import numpy as np, gradscribe as gs
    >>> program = gs.grad(lambda x: x * x).program(np.float64(3.0))
    >>> run_program(program, np.float64(3.0))
    np.float64(6.0)
    """
    given = dict(zip(program.parameters, args, strict=False)) | kwargs
    space = _Space(program.variables, called)
    result = _run(program.body, space, given)
    return result[0] if result is not None else None


def _run(body: Iterable[Statement], space: _Space, given: Mapping[str, Any]) -> tuple[Any] | None:
    """Run statements; a tuple of the result where one of them returns."""
    for statement in body:
        with np.errstate(all="ignore" if statement.note.quiet else None):
            result = _one(statement, space, given)
        if result is not None:
            return result
    return None


def _one(statement: Statement, space: _Space, given: Mapping[str, Any]) -> tuple[Any] | None:
    def now(x: Any) -> Any:
        return map_values(x, space.__getitem__)

    match statement:
        case Unpack(tree=tree, parameter=parameter):
            _unpack(tree, given[parameter], space)
        case Assign(slots=slots, call=call):
            over = slots[0].of[0] if slots and slots[0].memory == "over" else None
            _results(call, space.called(call, now(call.args), None if over is None else space[over]), space)
        case Effect(call=call):
            _results(call, space.called(call, now(call.args), None), space)
        case Store(base=base, index=index, value=value):
            space[base][now(index)] = now(value)
        case List(target=target):
            space.update([(target, [])])
        case Push(target=target, value=value):
            space[target].append(now(value))
        case Reverse(target=target):
            space[target].reverse()
        case Guard(value=value, how=how, expected=expected, out=out):
            try:
                space.update([(out, guard(now(value), how, expected))])
            except GuardMissError:
                return (NotImplemented,)
        case Fork(value=value, how=how, expected=expected, body=body):
            try:
                guard(now(value), how, expected)
            except GuardMissError:
                return None
            return _run(body, space, given)
        case Free(values=values):
            for v in values:
                space.free(v)
        case Loop():
            return _loop(statement, space, given)
        case Tiled():
            _tiled(statement, space)
        case If(test=test, then=then, orelse=orelse, outs=outs):
            arm = then if now(test) else orelse
            inner = space.block([(v, now(x)) for x, v in arm.given])
            result = _run(arm.body, inner, given)
            space.update(zip(outs, map_values(arm.results, inner.__getitem__), strict=True))
            return result
        case Return(tree=tree, outputs=outputs):
            found = [now(v) for v in outputs]
            return (built(tree, found.__getitem__),)
    return None


def _results(call: Call, result: Any, space: _Space) -> None:
    results = (result,) if call.op.n_out == 1 else result
    space.update(zip(call.outs, results, strict=True))


def _unpack(tree: Any, value: Any, space: _Space) -> None:
    if isinstance(tree, Value):
        space.update([(tree, value)])
        return
    for key, part in children(tree) or ():
        own = getattr(value, key[1:]) if isinstance(key, str) and key.startswith(".") else value[key]
        _unpack(part, own, space)


def _loop(loop: Loop, space: _Space, given: Mapping[str, Any]) -> tuple[Any] | None:

    def now(x: Any) -> Any:
        return map_values(x, space.__getitem__)

    fixed = [(s.target, space[s.target]) for s in loop.body if isinstance(s, Push)]
    fixed += [(v, now(x)) for x, v in loop.given]
    carried = {c.param: now(c.start) for c in loop.carries}
    trips = now(loop.trips)
    if trips is None and loop.test is None:
        trips = len(space[loop.items[0][0]])
    places: Iterable[int] = itertools.count() if trips is None else range(trips)[:: -1 if loop.reverse else 1]
    stacks = [(space[stack], item) for stack, item in loop.items]
    repeated, count = space.block([*fixed, *carried.items()]), 0
    for place in places:
        if loop.test is not None:
            trip = repeated.trip(carried.items())
            asked = [(v, map_values(x, space.copy(carried).__getitem__)) for x, v in loop.test.given]
            test = trip.block(asked)
            _run(loop.test.body, test, given)
            if not map_values(loop.test.results[0], test.__getitem__):
                break
        trip = repeated.trip([*carried.items(), (loop.place, place)])
        for stack, item in stacks:
            taken = stack[place]
            trip.update(zip(item, taken, strict=True) if type(item) is tuple else [(item, taken)])
        result = _run(loop.body, trip, given)
        if result is not None:
            return result
        carried = {c.param: map_values(c.after, trip.__getitem__) for c in loop.carries}
        count += 1
    space.update([*[(c.out, carried[c.param]) for c in loop.carries], (loop.count, count)])
    return None


def _tiled(tiled: Tiled, space: _Space) -> None:
    """Run the calls on one piece after the other; results that are needed whole go into new arrays, piece by piece."""
    like = space[tiled.sliced[0]]
    whole = {v: np.empty(like.shape, v.type.dtype) for v in tiled.whole}
    for start in range(0, len(like), tiled.step):
        rows = slice(start, start + tiled.step)
        piece = space.copy()
        piece.update([(v, space[v][rows]) for v in tiled.sliced])
        _run(tiled.body, piece, {})
        for v, array in whole.items():
            array[rows] = piece[v]
        space.update([(v, piece[v]) for s in tiled.body for v in writes_of(s) if v in space.variables])
    space.update(whole.items())
