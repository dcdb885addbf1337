"""run_program: the reference. What every target must equal, bit for bit or within what it states."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Value, map_values
from ....runtime.rules.control import GuardMissError, guard
from .program import (
    Assign,
    Effect,
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
)
from .reuse import ufunc_of
from .signature import built, children

__all__ = ["run_program"]

Space = dict[Value, Any]


def run_program(program: Program, *args: Any, **kwargs: Any) -> Any:
    """Run a Program on the arguments of its function; NotImplemented where a guard fails.

    >>> import numpy as np, gradscribe as gs
    >>> program = gs.grad(lambda x: x * x).program(np.float64(3.0))
    >>> run_program(program, np.float64(3.0))
    np.float64(6.0)
    """
    given = dict(zip(program.parameters, args, strict=False)) | kwargs
    space: Space = {}
    result = _run(program.body, space, given)
    return result[0] if result is not None else None


def _run(body: Iterable[Statement], space: Space, given: Mapping[str, Any]) -> tuple[Any] | None:
    """Run statements; a tuple of the result where one of them returns."""
    for statement in body:
        with np.errstate(all="ignore" if statement.note.quiet else None):
            result = _one(statement, space, given)
        if result is not None:
            return result
    return None


def _one(statement: Statement, space: Space, given: Mapping[str, Any]) -> tuple[Any] | None:
    def now(x: Any) -> Any:
        return map_values(x, space.__getitem__)

    match statement:
        case Unpack(tree=tree, parameter=parameter):
            _unpack(tree, given[parameter], space)
        case Assign(slots=slots, call=call):
            over = slots[0].of[0] if slots and slots[0].memory == "over" else None
            _results(call, _called(call, now(call.args), None if over is None else space[over]), space)
        case Effect(call=call):
            _results(call, _called(call, now(call.args), None), space)
        case Store(base=base, index=index, value=value):
            space[base][now(index)] = now(value)
        case List(target=target):
            space[target] = []
        case Push(target=target, value=value):
            space[target].append(now(value))
        case Reverse(target=target):
            space[target].reverse()
        case Guard(value=value, how=how, expected=expected, out=out):
            try:
                space[out] = guard(now(value), how, expected)
            except GuardMissError:
                return (NotImplemented,)
        case Free(values=values):
            for v in values:
                del space[v]
        case Loop():
            return _loop(statement, space, given)
        case Tiled():
            _tiled(statement, space)
        case If(test=test, then=then, orelse=orelse, outs=outs):
            arm = then if now(test) else orelse
            inner = {v: now(x) for x, v in arm.given}
            result = _run(arm.body, inner, given)
            space.update(zip(outs, map_values(arm.results, inner.__getitem__), strict=True))
            return result
        case Return(tree=tree, outputs=outputs):
            found = [now(v) for v in outputs]
            return (built(tree, found.__getitem__),)
    return None


def _called(call: Call, args: tuple[Any, ...], buffer: Any) -> Any:
    """Return what a call gives: over a buffer, where there is one."""
    positional, named = call.op.call_form(args)
    if buffer is None:
        return call.op.fn(*positional, **named)
    if call.op.consuming is not None:
        return call.op.consuming(*args)
    ufunc = ufunc_of(call.op)
    assert ufunc is not None  # nothing else is written over an argument (reuse.py)
    return ufunc(*positional, **named, out=buffer)


def _results(call: Call, result: Any, space: Space) -> None:
    results = (result,) if call.op.n_out == 1 else result
    space.update(zip(call.outs, results, strict=True))


def _unpack(tree: Any, value: Any, space: Space) -> None:
    if isinstance(tree, Value):
        space[tree] = value
        return
    for key, part in children(tree) or ():
        own = getattr(value, key[1:]) if isinstance(key, str) and key.startswith(".") else value[key]
        _unpack(part, own, space)


def _loop(loop: Loop, space: Space, given: Mapping[str, Any]) -> tuple[Any] | None:

    def now(x: Any) -> Any:
        return map_values(x, space.__getitem__)

    lists = {s.target: space[s.target] for s in loop.body if isinstance(s, Push)}
    carried = {c.param: now(c.start) for c in loop.carries}
    fixed = lists | {v: now(x) for x, v in loop.given}
    trips = now(loop.trips)
    if trips is None and loop.test is None:
        trips = len(space[loop.items[0][0]])
    places: Iterable[int] = itertools.count() if trips is None else range(trips)[:: -1 if loop.reverse else 1]
    count = 0
    for place in places:
        if loop.test is not None:
            asked = {v: map_values(x, (space | carried).__getitem__) for x, v in loop.test.given}
            _run(loop.test.body, asked, given)
            if not map_values(loop.test.results[0], asked.__getitem__):
                break
        trip = {**fixed, **carried, loop.place: place}
        for stack, item in loop.items:
            taken = space[stack][place]
            trip.update(zip(item, taken, strict=True) if type(item) is tuple else [(item, taken)])
        result = _run(loop.body, trip, given)
        if result is not None:
            return result
        carried = {c.param: map_values(c.after, trip.__getitem__) for c in loop.carries}
        count += 1
    space.update({c.out: carried[c.param] for c in loop.carries})
    space[loop.count] = count
    return None


def _tiled(tiled: Tiled, space: Space) -> None:
    """Run the calls on one piece after the other; results that are needed whole go into new arrays, piece by piece."""
    like = space[tiled.sliced[0]]
    whole = {v: np.empty(like.shape, v.type.dtype) for v in tiled.whole}
    for start in range(0, len(like), tiled.step):
        rows = slice(start, start + tiled.step)
        piece = dict(space)
        piece.update({v: space[v][rows] for v in tiled.sliced})
        _run(tiled.body, piece, {})
        for v, array in whole.items():
            array[rows] = piece[v]
    space.update(whole)
