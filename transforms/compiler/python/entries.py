"""Lines of a Program in the order of the text: loops and branches are statements with the lines of theirs in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import gast

from ....runtime.ir.graph import Call
from ..schedule.program import Fork, If, Loop, Return, Statement, Tiled, Unpack
from .lines import ForkLines, Head, IfLines, Lines, LoopLines, ReturnLines, TiledLines, Walked
from .literals import constant_tree
from .printer import fresh, note
from .variables import call_tree, name_tree

__all__ = [
    "Block", "Entries", "Path", "TileLoop", "anew", "each_statement", "entries_of", "every_tree", "head_tree", "trees_of",
    "with_lines",
]  # fmt: skip

Entries = list[tuple[Any, Call]]


class Block(NamedTuple):
    """A `while`, `for` or `if`, the statements under it, and those under its `else`."""

    node: Any
    body: Entries
    orelse: Entries


class Path(NamedTuple):
    """An `if`, the statements under it, and the return that ends them; what follows belongs to the other paths."""

    node: Any
    entries: Entries
    result: Any


class TileLoop(NamedTuple):
    """A loop over tiles: the arrays made before it, the `for`, whose body is `tile = ...` so far, and what follows that."""

    before: list[Any]
    node: Any
    tile: str  # the name of the slice
    entries: Entries
    mixed: bool  # forward and backward calls


def each_statement(entries: Iterable[tuple[Any, Call]]) -> Iterator[tuple[Any, Call]]:
    """The statements of a function, those of loops and branches among them."""
    for statement, call in entries:
        if isinstance(statement, TileLoop):
            yield from ((made, call) for made in (*statement.before, *statement.node.body[:1]))
            yield from each_statement(statement.entries)
        elif isinstance(statement, Path):
            yield statement.node, call
            yield from each_statement(statement.entries)
        elif isinstance(statement, Block):
            yield statement.node, call
            yield from each_statement((*statement.body, *statement.orelse))
        else:
            yield statement, call


def every_tree(entries: Entries) -> list[Any]:
    """The statements of a function, those of loops and branches among them, and what it returns on its way."""
    forks = [s for s, _ in entries if isinstance(s, Path)]
    made = [statement for statement, _ in each_statement(entries)]
    while forks:
        made += [fork.result for fork in forks]
        forks = [s for fork in forks for s, _ in fork.entries if isinstance(s, Path)]
    return made


def entries_of(body: Iterable[Statement]) -> Entries:
    """Return the lines of a block as they stand on its statements, loops and branches with those in them."""
    return [entry for statement in body for entry in _written(statement)]


def with_lines(statement: Statement, place: int, more: Lines) -> Statement:
    """Return a statement with more lines at this place of its own, or of what stands before a loop, a branch or a return."""
    lines = statement.lines
    if not isinstance(lines, (LoopLines, IfLines, TiledLines, ForkLines, ReturnLines)):
        return dataclasses.replace(statement, lines=(*lines[:place], *more, *lines[place:]))
    before = (*lines.before[:place], *more, *lines.before[place:])
    return dataclasses.replace(statement, lines=lines._replace(before=before))


def anew(entries: Entries) -> Entries:
    """Return the lines anew, for notes that those on the statements are not to bear."""
    made: Entries = []
    for line, call in entries:
        match line:
            case Block(node=node, body=body, orelse=orelse):
                made.append((Block(node, anew(body), anew(orelse)), call))
            case Path(node=node, entries=inner, result=result):
                made.append((Path(node, anew(inner), result), call))
            case TileLoop(before=before, entries=inner):
                made.append((line._replace(before=[fresh(tree) for tree in before], entries=anew(inner)), call))
            case _:
                made.append((fresh(line), call))
    return made


def trees_of(body: list[Statement]) -> list[Any]:
    """All lines of a function; their parts are those that it is written with."""
    unpacking = [line for s in body if isinstance(s, Unpack) for line in s.lines]
    last = body[-1].lines
    return [*unpacking, *every_tree(entries_of(body)), *([gast.Return(value=last.value)] * (last.owner is None))]


def _written(statement: Statement) -> Entries:
    """The lines of a statement."""
    lines = statement.lines
    match statement:
        case Unpack():
            return []
        case Loop():
            return _loop(statement, lines)
        case If():
            return [*lines.before, *_branch(statement, lines)]
        case Tiled():
            return _tiled(statement, lines)
        case Fork():
            node = gast.If(test=lines.test, body=[], orelse=[])
            last = statement.body[-1].lines
            path = Path(node, entries_of(statement.body), gast.Return(value=last.value))
            return [*lines.before, (path, statement.call)]
        case Return():
            return [*lines.before, *_return(lines)]
    return list(lines or ())


def _return(lines: ReturnLines) -> Entries:
    return [] if lines.owner is None else [(gast.Return(value=lines.value), lines.owner)]


def _loop(loop: Loop, lines: LoopLines) -> Entries:
    """Return the lines before a loop, and it."""
    body = list(lines.opening)
    if loop.test is not None:
        body += entries_of(loop.test.body)
    body += lines.asking
    if lines.stop is not None:
        body.append((gast.If(test=_negated(lines.stop), body=[gast.Break()], orelse=[]), lines.beside))
    body += lines.fetched
    body += entries_of(loop.body)
    body += lines.closing
    return [*lines.before, (Block(head_tree(lines.head), body, []), loop.call)]


def head_tree(head: Head) -> Any:
    """The `while` or `for` of a loop."""
    if head.test is not None:
        return gast.While(test=head.test, body=[], orelse=[])
    target, steps = head.walked[0].target, _steps(head.walked[0])
    if len(head.walked) > 1:
        target = gast.Tuple(elts=[walked.target for walked in head.walked], ctx=gast.Store())
        steps = call_tree("zip", *map(_steps, head.walked))
    if head.place is not None:
        target = gast.Tuple(elts=[name_tree(head.place, store=True), target], ctx=gast.Store())
        steps = call_tree("enumerate", steps)
    return gast.For(target=target, iter=steps, body=[], orelse=[], type_comment=None)


def _steps(walked: Walked) -> Any:
    """`range(n)`, `xs`, or these in reverse."""
    steps = call_tree("range", *walked.given) if type(walked.given) is tuple else walked.given
    return call_tree("reversed", steps) if walked.reverse else steps


def _branch(branch: If, lines: IfLines) -> Entries:
    """Return a branch as one statement."""
    call, test = branch.call, lines.test
    if lines.whole is not None:
        return list(lines.whole)
    arms = [arm.body for arm in (branch.then, branch.orelse)]
    then, orelse = ([*entries_of(body), *closing] for body, closing in zip(arms, lines.closing, strict=True))
    if not then and not orelse:
        return [(gast.Expr(value=test), call)] if lines.asked else []
    if lines.negated:
        test, then, orelse = _negated(test), orelse, []
    if lines.joined:
        inside = then[0][0]
        test, then = gast.BoolOp(op=gast.And(), values=[test, inside.node.test]), inside.body
    return [(Block(gast.If(test=test, body=[], orelse=[]), then, orelse), call)]


def _tiled(tiled: Tiled, lines: TiledLines) -> Entries:
    """A loop over tiles: `for start in range(0, len(x), 32768):`, and in it `tile = slice(start, start + 32768)`."""
    steps = call_tree("range", constant_tree(0), call_tree("len", lines.array), constant_tree(tiled.step))
    end = gast.BinOp(left=name_tree(lines.start), op=gast.Add(), right=constant_tree(tiled.step))
    cut = call_tree("slice", name_tree(lines.start), end)
    body = [gast.Assign(targets=[name_tree(lines.tile, store=True)], value=cut, type_comment=None)]
    node = gast.For(target=name_tree(lines.start, store=True), iter=steps, body=body, orelse=[], type_comment=None)
    note(node, "in tiles, which stay in the cache")
    loop = TileLoop(list(lines.made), node, lines.tile, entries_of(tiled.body), lines.mixed)
    return [*lines.before, (loop, lines.beside)]


def _negated(test: Any) -> Any:
    """`not test`."""
    negated = isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not)
    return test.operand if negated else gast.UnaryOp(op=gast.Not(), operand=test)
