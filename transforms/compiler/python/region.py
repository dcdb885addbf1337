"""The text of a region: an emitter of its own, which shares names with the one around it, and where its results go."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.opcodes import COND, SCAN
from ..frontend.user_names import line_text
from ..passes.scans import Scan
from ..schedule.program import Statement, calls_of
from .blocks import about, alike, assign, moves, name_of
from .inlining import name_tree
from .layout import WIDTH
from .terms import BINARY
from .widths import width

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = [
    "Lengths",
    "Lists",
    "Region",
    "append",
    "changed",
    "finish",
    "inner",
    "into",
    "is_deferred",
    "is_read_once",
    "variables_for",
]

Pairs = list[tuple[Any, str]]  # results, and the variables that they become

SHORT = 40  # columns of an expression that waits for its turn in `a, b = b, a + b`


Lengths = dict[Value, Any]  # of lists their length, of ints their value: equal where both are known to be


class Lists:
    """What is known of the lists of a block."""

    def __init__(self) -> None:
        self.lengths: Lengths = {}
        self.items: Lengths = {}  # of the lists, and of the ints, that stand on lists
        self.bundled: dict[Value, Any] = {}  # those whose items stand in the tuples of another


class Region:
    """Where the results of a region go, and what is around it."""

    def __init__(self, at_end: set[Value], around: Call | None) -> None:
        self.at_end = at_end  # what is read when all calls are written
        self.around = around  # in a loop: what a statement belongs to that is no call's
        self.slots: dict[Value, list[str]] = {}  # the variables that the results become
        self.stacked: set[Value] = set()  # what is put on lists
        self.deferred: set[Value] = set()  # what is to be an expression
        self.foreign: set[str] = set()  # the variables that belong to what is around
        self.walked: set[Call] = set()  # rows that the head of a loop takes
        self.spare: Callable[[str, Value], bool] = lambda name, v: (
            False
        )  # whether an item may have a name that is taken


def inner(
    emitter: Emitter, body: list[Statement], graph: Graph, names: dict[Value, str | None], steady: bool = True
) -> Emitter:
    """What writes the statements of a region; `names` are those of its inputs, and of results that get a variable."""
    made = copy.copy(emitter)
    made.trees, made.returns = {}, None
    made.nesting = emitter.nesting.block()
    made.indent = emitter.indent + 4
    calls = calls_of(body)
    made.naming = emitter.naming.region(graph, calls, names)
    made.begin(body, Graph(graph.inputs, calls, graph.outputs), steady and emitter.facts.steady)
    emitter.naming.named.update(made.naming.wishes)
    return made


def into(emitter: Emitter, results: Pairs) -> None:
    """Have the results of a region put into variables, and what a loop in it makes such a result of, too."""
    for v, name in results:
        if isinstance(v, Value):
            emitter.region.slots.setdefault(v, []).append(name)
    emitter.region.at_end = set(emitter.region.slots)
    for call in reversed(emitter.facts.graph.calls):
        for c in Scan(call).carry if call.op is SCAN else ():
            if (
                c.out in emitter.region.slots
                and c.start in emitter.facts.maker
                and emitter.facts.uses.get(c.start) == 1
            ):
                emitter.region.slots.setdefault(c.start, []).extend(emitter.region.slots[c.out])


def variables_for(emitter: Emitter, v: Value) -> list[str]:
    """The variables that a value of a region may go into: those that it becomes, and those that have its name."""
    found = emitter.region.slots.get(v, [])
    wish = emitter.naming.wishes.get(v)
    if wish is None or v not in emitter.facts.uses:
        return found
    others = dict.fromkeys(name for names in emitter.region.slots.values() for name in names)
    return [*found, *[name for name in others if name not in found and alike(name, wish)]]


def finish(emitter: Emitter, results: Pairs, call: Call) -> None:
    """Write down the assignments that a region ends with: its results to the variables that they become."""
    pending = [(name, v) for v, name in results]
    made = moves((name, emitter.tree(v)) for name, v in pending)
    folded = [v for _, v in pending if v in emitter.folded]
    owner = about(call)
    if folded and made:
        first = emitter.facts.maker[folded[0]]
        owner = Call(call.op, (), (), first.site, first.backward, first.quiet)
    for statement in made:
        emitter.add(statement, owner)


def changed(name: str, tree: Any, call: Call) -> Any:
    """`name = tree`; of a number `n += 1`, where the user's line says so, or there is none."""
    (out,) = call.outs
    if out.type.kind != "array" and isinstance(tree, gast.BinOp) and name_of(tree.left) == name:
        sign = next(sign for sign, kind in BINARY.items() if kind is type(tree.op))
        if call.site is None or f" {sign}= " in line_text(call.site):
            return gast.AugAssign(target=name_tree(name, store=True), op=tree.op, value=tree.right)
    return assign(name, tree)


def is_read_once(v: Value, user: Call) -> bool:
    """Whether a loop or a branch reads a value only before it begins: as a start, a number of trips, or a condition."""
    if user.op is COND:
        return user.args[1] is v and v not in user.args[2]
    scan = Scan(user)
    return scan.n is v or any(c.start is v and c.after is not c.param for c in scan.carry)


def is_deferred(emitter: Emitter, call: Call, tree: Any) -> bool:
    """Whether a result of a region, which is read nowhere else, stays an expression until it goes where it goes."""
    (out,) = call.outs
    if not emitter.facts.buffers.keys().isdisjoint(call.reads) or call.op.effect:
        return False
    if any(v in emitter.facts.written for v in call.reads):  # what it reads may be written over before its turn
        return False
    if out in emitter.region.deferred:
        return True
    named, room = emitter.naming.wishes.get(out), width(tree) + emitter.margin(call)
    if out in emitter.region.stacked:
        return named is None and room + len(".append()") <= WIDTH
    if out not in emitter.region.slots or call.op.may_raise or width(tree) > SHORT:
        return False
    (name,) = emitter.region.slots[out]
    one_by_one = len({c.quiet for c in emitter.facts.graph.calls}) > 1
    return not one_by_one and (named is None or alike(name, named)) and not emitter.free(name, call)


def append(emitter: Emitter, name: str, tree: Any, call: Call) -> None:
    """`hs.append(h)`."""
    method = gast.Attribute(value=name_tree(name), attr="append", ctx=gast.Load())
    emitter.add(gast.Expr(value=gast.Call(func=method, args=[tree], keywords=[])), about(call))
