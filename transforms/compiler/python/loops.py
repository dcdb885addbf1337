"""Loops in print: `while`, `for` over a range or over lists, carries as variables, stacks as lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Value, values_in
from ....runtime.ir.opcodes import SCAN, STACK, is_region
from ....runtime.rules.control import COUNT, SIZE
from ..passes.scans import Carry, Item, Scan
from ..schedule.buffers import own_carry
from .blocks import Block, about, alike, assign, mentions, moves, name_of
from .bundles import bundles_of, emptied, named_item, popped, unpacked
from .inlining import name_tree
from .literals import constant_tree
from .region import append, finish, inner, into, is_read_once
from .stacks import STEPS, TAKEN, call_tree, lengths_of_items, note_lengths, plural, same_length

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["write_scan"]


def write_scan(emitter: Emitter, call: Call) -> None:
    """Write a loop down."""
    _Loop(emitter, call).write()


class _Loop:
    """One loop on its way into the text."""

    def __init__(self, emitter: Emitter, call: Call) -> None:
        self.emitter = emitter
        self.call = call
        self.scan = Scan(call)
        self.beside = about(call)
        self.carried = [c for c in self.scan.carry if c.after is not c.param]
        self.fixed = [c for c in self.scan.carry if c.after is c.param]
        self.trees: dict[Value, Any] = {}  # of the parameters of the body and of the test
        self.read = {v for inner in self.scan.calls for v in inner.reads} | set(values_in(self.scan.body.outputs))
        self.lists: list[str] = []  # what is put on
        scan, place = self.scan, self.scan.place in self.read
        self.xs = [x for x in scan.xs if x.param in self.read]
        self.endless = scan.test is not None and scan.n is None
        whole = scan.test is None and (scan.n is None or all(same_length(emitter, scan.n, x.given) for x in self.xs))
        self.walks = bool(self.xs) and whole and not (place and scan.loop.reverse)
        bundled = any(x.given in emitter.bundled for x in self.xs)
        self.pops = bundled and self.walks and scan.loop.reverse and emptied(emitter, call, self.xs)
        self.hidden = {"enumerate", "reversed", "zip"}.intersection(
            emitter.signature.parameters
        )  # behind the user's names
        self.walks = self.walks and not bundled and not self.hidden
        self.indexed = place or (bool(self.xs) and not self.walks and not self.pops)
        self.index: str | None = None  # the variable that is the place of a trip
        self.counter: str | None = None  # the variable that counts the trips, where the header does not

    def write(self) -> None:
        emitter, call, scan = self.emitter, self.call, self.scan
        for c in self.fixed:
            self.give(c.start, c.param, c.asked)
        for item in scan.inv:
            self.give(item.given, item.param, item.asked)
        foreign = {name for tree in self.trees.values() for name in mentions(tree)}
        foreign |= {name for x in scan.xs for name in mentions(emitter.tree(x.given))}
        variables = self.variables()
        starts = []
        for c, name in zip(self.carried, variables, strict=True):
            starts.append((name, emitter.tree(c.start)))
            self.trees |= {v: name_tree(name) for v in (c.param, c.asked) if v is not None}
        times = None if scan.n is None else emitter.tree(scan.n)
        for statement in moves(starts):
            emitter.add(statement, self.origin(statement, starts))
        lists: dict[Value, list[str]] = {}
        given = []  # what is put on a list as a trip begins
        bundles = bundles_of(emitter, scan)
        for name, _ in bundles:
            emitter.add(assign(name, gast.List(elts=[], ctx=gast.Load())), self.beside)
            self.lists.append(name)
        for y in scan.ys:
            if y.out in emitter.schedule.uses and y.out not in emitter.bundled:
                name = emitter.target(y.out, call, call.reads)
                emitter.add(assign(name, gast.List(elts=[], ctx=gast.Load())), self.beside)
                self.lists.append(name)
                if isinstance(y.value, Value) and y.value not in scan.body.inputs:
                    lists.setdefault(y.value, []).append(name)
                else:
                    given.append((name, y.value))
        names: dict[Value, str | None] = {
            p.param: emitter.wishes.get(p.given) for p in scan.inv if isinstance(p.given, Value)
        }
        for x in self.xs:
            wish = emitter.wishes.get(x.given)
            if x.param.name is None and wish is not None and x.param.type.kind == STACK:
                names[x.param] = wish
            for word in (STEPS, TAKEN):
                if wish == plural(word):
                    names[x.param] = word
        names |= dict(zip([c.param for c in self.carried], variables, strict=True))
        self.count_trips(times)
        steady, own = own_carry(emitter.schedule, call, emitter.is_last)
        body = inner(emitter, scan.body, names, steady, own)
        body.trees, body.stacked = self.trees, lists
        results = [(c.after, name) for c, name in zip(self.carried, variables, strict=True)]
        for c in self.carried:
            if isinstance(c.after, Value) and c.out in emitter.wishes:
                body.wishes.setdefault(c.after, emitter.wishes[c.out])
        into(body, results)
        body.at_end |= {y.value for _, ys in bundles for y in ys}
        body.lengths = {p.param: emitter.lengths[p.given] for p in (*scan.inv, *scan.xs) if p.given in emitter.lengths}
        body.lengths |= lengths_of_items(emitter, scan)
        node = self.header(body, times)
        body.foreign = foreign | {name for name in [self.index] if name is not None}
        for name, v in given:
            append(body, name, body.tree(v), self.beside)
        body.write(body.graph.calls)
        for name, ys in bundles:
            append(body, name, gast.Tuple(elts=[body.tree(y.value) for y in ys], ctx=gast.Load()), self.beside)
        finish(body, results, self.beside)
        if self.counter is not None:
            one = gast.AugAssign(target=name_tree(self.counter, store=True), op=gast.Add(), value=constant_tree(1))
            body.add(one, self.beside)
        emitter.statements.append((Block(node, body.statements, []), call))
        for name in self.lists if scan.loop.reverse else ():
            turn = gast.Attribute(value=name_tree(name), attr="reverse", ctx=gast.Load())
            emitter.add(gast.Expr(value=gast.Call(func=turn, args=[], keywords=[])), self.beside)
        for c, name in zip(self.carried, variables, strict=True):
            emitter.trees[c.out] = name_tree(name)
            emitter.called[c.out] = name
        for c in self.fixed:
            emitter.trees[c.out] = self.trees[c.param]
        note_lengths(emitter, call, [body.lengths])

    def give(self, given: Any, *params: Value | None) -> None:
        """What each trip reads is written in each as it is outside: as a variable, or a constant."""
        emitter = self.emitter
        if isinstance(given, Value) and given in emitter.folded and not _is_cheap(emitter.trees[given]):
            tree = emitter.trees[given]
            emitter.folded.discard(given)
            emitter.add(assign(emitter.fresh(given), tree), emitter.schedule.maker[given])
        self.trees |= {v: emitter.tree(given) for v in params if v is not None}

    def variables(self) -> list[str]:
        """For each value that is carried: its variable, that of its start where nobody reads that any more."""
        emitter, scan, found = self.emitter, self.scan, list[str]()
        during = {v for v in (*[p.given for p in (*scan.xs, *scan.inv)], *[c.start for c in self.fixed], scan.n)
                  if isinstance(v, Value)}  # fmt: skip
        for c in self.carried:
            found.append(self.variable(c, [name for name in emitter.slots.get(c.out, ()) if name not in found], during))
            if found[-1] in found[:-1]:
                found[-1] = emitter.names.new(found[-1])
        return found

    def variable(self, c: Carry, wanted: list[str], during: set[Value]) -> str:
        emitter = self.emitter
        for name in wanted:
            if emitter.free(name, self.call, during):
                return name
        wish = emitter.wishes.get(c.out)
        start = name_of(emitter.trees[c.start]) if isinstance(c.start, Value) else None
        own = start is not None and alike(start, wish) and start not in emitter.foreign
        if start is not None and own and emitter.free(start, self.call, during):
            return start
        return emitter.fresh(c.out) if c.out in emitter.schedule.uses else emitter.names.new(wish or emitter.stem)

    def origin(self, statement: Any, starts: list[tuple[str, Any]]) -> Call:
        """What a statement before the loop belongs to: the call that made the start, if it is written there."""
        for c, (_, tree) in zip(self.carried, starts, strict=True):
            if c.start in self.emitter.folded and statement.value is tree:
                maker = self.emitter.schedule.maker[c.start]
                return Call(maker.op, (), (), maker.site, maker.backward, maker.quiet)
        return self.beside

    # the header
    def header(self, body: Emitter, times: Any) -> Any:
        """The `while` or `for`, and at the start of the body what it leaves to that."""
        scan, emitter, xs = self.scan, self.emitter, self.xs
        if self.endless:
            test, statements = self.asked(body)
            if statements:
                body.statements += [*statements, self.leave(test)]
                test = constant_tree(True)
            self.fetch(body, xs)
            return gast.While(test=test, body=[], orelse=[])
        if self.pops:
            body.statements += [(made, self.beside) for made in unpacked(emitter, body, xs, popped)]
            kept = next(x.given for x in xs if x.given in emitter.bundled)
            return gast.While(test=emitter.tree(kept), body=[], orelse=[])
        if self.indexed:
            self.index = body.names.new(body.wishes.get(scan.place, "i"))
            self.trees[scan.place] = name_tree(self.index)
        target: Any = name_tree(self.index or "_", store=True)
        if self.walks:
            target, steps = self.walk(body, xs)
        elif times is None and self.index is None:
            steps = emitter.tree(scan.xs[0].given)
        else:
            times = call_tree("len", emitter.tree(scan.xs[0].given)) if times is None else times
            times = _as_len(times, scan.n, emitter)
            if self.index and scan.loop.reverse and "reversed" in self.hidden:
                last = gast.BinOp(left=times, op=gast.Sub(), right=constant_tree(1))
                steps = call_tree("range", last, constant_tree(-1), constant_tree(-1))
            else:
                steps = call_tree("range", times)
                steps = self.turned(steps) if self.index else steps
        if scan.test is not None:
            test, statements = self.asked(body)
            body.statements += [*statements, self.leave(test)]
        self.fetch(body, [] if self.walks else xs)
        return gast.For(target=target, iter=steps, body=[], orelse=[], type_comment=None)

    def asked(self, body: Emitter) -> tuple[Any, list[Any]]:
        """The test as an expression, and the statements that it takes before."""
        graph, call = self.scan.test, self.call
        assert graph is not None
        (result,) = graph.outputs
        test = inner(self.emitter, graph, {})
        test.indent = body.indent
        test.trees, test.at_end = self.trees, set(values_in(result))
        if call.quiet or not any(c.quiet for c in graph.calls):
            test.deferred = test.at_end
        test.foreign = {name for tree in self.trees.values() for name in mentions(tree)}
        test.write(test.graph.calls)
        return test.tree(result), test.statements

    def leave(self, test: Any) -> tuple[Any, Call]:
        """`if not test: break`."""
        negated = isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not)
        stop = test.operand if negated else gast.UnaryOp(op=gast.Not(), operand=test)
        return gast.If(test=stop, body=[gast.Break()], orelse=[]), self.beside

    def walk(self, body: Emitter, xs: list[Item]) -> tuple[Any, Any]:
        """`t, (h, z)` and `enumerate(zip(hs, zs))`."""
        targets, lists = [], []
        for x in xs:
            targets.append(name_tree(named_item(self.emitter, body, x), store=True))
            lists.append(self.turned(self.emitter.tree(x.given)))
        target, steps = targets[0], lists[0]
        if len(xs) > 1:
            target, steps = gast.Tuple(elts=targets, ctx=gast.Store()), call_tree("zip", *lists)
        if self.index is not None:
            target = gast.Tuple(elts=[name_tree(self.index, store=True), target], ctx=gast.Store())
            steps = call_tree("enumerate", steps)
        return target, steps

    def turned(self, steps: Any) -> Any:
        return call_tree("reversed", steps) if self.scan.loop.reverse else steps

    def fetch(self, body: Emitter, xs: list[Item]) -> None:
        """`h = hs[i]`, or that where `h` is read, if it is but once."""
        bundled = [x for x in xs if x.given in self.emitter.bundled]
        for made in unpacked(self.emitter, body, bundled, self.item):
            body.add(made, self.beside)
        xs = [x for x in xs if x not in bundled]
        for x in xs:
            item = self.item(self.emitter.trees[x.given].id)
            user = body.schedule.last_user(x.param)
            if (
                user is not None
                and body.schedule.uses[x.param] == 1
                and (not is_region(user) or is_read_once(x.param, user))
            ):
                self.trees[x.param] = item
                continue
            body.add(assign(named_item(self.emitter, body, x), item), self.beside)

    def item(self, name: str) -> Any:
        """`hs[i]`."""
        return gast.Subscript(value=name_tree(name), slice=name_tree(str(self.index)), ctx=gast.Load())

    def count_trips(self, times: Any) -> None:
        """How the number of trips is written behind the loop; a variable counts them, where nothing else does."""
        scan, emitter = self.scan, self.emitter
        wanted, indexed = scan.trips in emitter.schedule.uses, self.indexed and self.endless
        if wanted and scan.test is None and not self.is_odd(times):
            given = times if times is not None else call_tree("len", emitter.tree(scan.xs[0].given))
            emitter.trees[scan.trips] = given
            return
        if wanted and self.lists and not indexed:
            emitter.trees[scan.trips] = call_tree("len", name_tree(self.lists[0]))
            return
        if not wanted and not indexed:
            return
        if wanted:
            self.counter = emitter.target(scan.trips, self.call, self.call.reads)
        else:
            self.counter = emitter.names.new(scan.place.name or "i")
        emitter.add(assign(self.counter, constant_tree(0)), self.beside)
        if indexed:
            self.index = self.counter
            self.trees[scan.place] = name_tree(self.index)

    def is_odd(self, times: Any) -> bool:
        """Whether a number of trips may be less than zero, where it matters."""
        n, trips = self.scan.n, self.scan.trips
        if not isinstance(n, Value):
            return n is not None and n < 0
        users = self.emitter.schedule.users.get(trips, [])
        only = all(user.op is SCAN and user.args[4] is trips and user.reads.count(trips) == 1 for user in users)
        return not only or trips in self.emitter.schedule.outputs or not _is_cheap(times)


def _as_len(times: Any, n: Any, emitter: Emitter) -> Any:
    """`len(x)` for `x.shape[0]`, and for `x.size` where that is the same."""
    maker = emitter.schedule.maker.get(n)
    if maker is None or not isinstance(maker.args[0], Value):
        return times
    first = maker.op is SIZE and maker.args[1] == 0
    whole = maker.op is COUNT and len(maker.args[0].type.shape) == 1
    return call_tree("len", emitter.trees[maker.args[0]]) if first or whole else times


def _is_cheap(tree: Any) -> bool:
    """Whether an expression may be written in several places: a variable, a constant, a shape."""
    return not any(isinstance(node, (gast.BinOp, gast.Call, gast.Compare, gast.BoolOp)) for node in gast.walk(tree))
