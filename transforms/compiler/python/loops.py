"""Names and lines of loops: `while`, `for` over a range or over lists, carries as variables, stacks as lists."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Value, values_in
from ....runtime.ir.known_ops import GETITEM
from ....runtime.ir.opcodes import SCAN, STACK, is_region
from ....runtime.rules.control import COUNT, SIZE
from ..passes.scans import Carry, Item, Scan
from ..schedule.buffers import is_steady
from ..schedule.names import STEPS, TAKEN, plural
from ..schedule.program import Loop
from .blocks import about, alike, assign, is_start, mentions, moves, name_of
from .bundles import bundles_of, named_item, unpacked
from .definition import entries_of, head_tree
from .inlining import call_tree, name_tree
from .layout import WIDTH
from .lines import Head, Lines, LoopLines, Walked
from .literals import constant_tree
from .ranges import bounds, range_of
from .region import finish, inner, into, is_read_once
from .stacks import lengths_of_items, note_lengths, same_length
from .widths import SHORT, is_sum_of_counts, width

if TYPE_CHECKING:
    from .emit import Emitter

__all__ = ["write_scan"]


def write_scan(emitter: Emitter, loop: Loop) -> Loop:
    """Write a loop down; return it as it is written."""
    return _Loop(emitter, loop).write()


class _Loop:
    """One loop on its way into the text."""

    def __init__(self, emitter: Emitter, loop: Loop) -> None:
        self.emitter = emitter
        self.loop = loop
        self.branch = loop.test  # and then as it is written
        self.call = call = loop.call
        self.scan = Scan(call)
        self.beside = about(call)
        self.carried = [c for c in self.scan.carry if c.after is not c.param]
        self.fixed = [c for c in self.scan.carry if c.after is c.param]
        self.trees: dict[Value, Any] = {}  # of the parameters of the body and of the test
        self.read = {v for inner in self.scan.calls for v in inner.reads} | set(values_in(self.scan.body.outputs))
        self.lists: list[str] = []  # what is put on
        scan, place = self.scan, self.scan.place in self.read
        self.xs = [x for x in scan.xs if x.param in self.read]
        self.rows = self.walked_rows()
        self.endless = scan.test is not None and scan.n is None
        whole = scan.test is None and (scan.n is None or all(same_length(emitter, scan.n, x.given) for x in self.xs))
        self.hidden = {"enumerate", "range", "reversed", "zip"}.intersection(
            emitter.signature.parameters
        )  # behind the user's names
        self.range = range_of(scan) if (whole or not self.xs) and not self.hidden else None
        if self.range is not None and bounds(emitter, scan, self.range, self.outside(self.range.start)) is None:
            self.range = None
        if (self.rows and whole) or self.range is not None:
            place = False
        self.walks = bool(self.xs or self.rows) and whole and not (place and scan.loop.reverse)
        self.walks = self.walks and not self.hidden
        self.rows = self.rows if self.walks else []
        self.indexed = (place and not self.rows) or (bool(self.xs) and not self.walks)
        self.opening: Lines = ()  # what stands before the test
        self.asking: Lines = ()  # and behind its statements
        self.stop: Any = None  # the test, where it is not in the head
        self.index: str | None = None  # the variable that is the place of a trip
        self.counter: str | None = None  # the variable that counts the trips, where the header does not

    def write(self) -> Loop:
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
        for statement in moves(sorted(starts, key=lambda pair: is_start(pair[1]))):  # those of zeros beside each other
            emitter.add(statement, self.origin(statement, starts))
        stacked: set[Value] = set()
        lists: dict[Value, Any] = {}
        bundles = bundles_of(emitter, self.loop)
        for name, push in bundles:
            lists[push.target] = name_tree(name)
            emitter.add(assign(name, gast.List(elts=[], ctx=gast.Load())), self.beside)
            self.lists.append(name)
        for y in scan.ys:
            if y.out in emitter.facts.uses and y.out not in emitter.lists.bundled:
                name = emitter.target(y.out, call, call.reads)
                emitter.add(assign(name, gast.List(elts=[], ctx=gast.Load())), self.beside)
                self.lists.append(name)
                lists[y.out] = emitter.trees[y.out]
                stacked |= {v for v in values_in(y.value) if v not in scan.body.inputs}
        names: dict[Value, str | None] = {
            p.param: emitter.naming.wishes.get(p.given) for p in scan.inv if isinstance(p.given, Value)
        }
        for x in self.xs:
            wish = emitter.naming.wishes.get(x.given)
            if x.param.name is None and wish is not None and x.param.type.kind == STACK:
                names[x.param] = wish
            for word in (STEPS, TAKEN):
                if wish == plural(word):
                    names[x.param] = word
        names |= dict(zip([c.param for c in self.carried], variables, strict=True))
        self.count_trips(times)
        body = inner(emitter, self.loop.body, scan.body, names, is_steady(scan))
        self.trees |= lists
        body.trees, body.region.stacked, body.region.around = self.trees, stacked, self.beside
        results = [(c.after, name) for c, name in zip(self.carried, variables, strict=True)]
        for c in self.carried:
            if isinstance(c.after, Value) and c.out in emitter.naming.wishes:
                body.naming.wishes.setdefault(c.after, emitter.naming.wishes[c.out])
        into(body, results)
        body.region.at_end |= {v for _, push in bundles for v in push.value}
        body.region.spare = self.spare
        known = emitter.lists.lengths
        body.lists.lengths = {p.param: known[p.given] for p in (*scan.inv, *scan.xs) if p.given in known}
        body.lists.lengths |= lengths_of_items(emitter, scan)
        body.region.walked = set(self.rows if self.range is None else self.range.calls)
        head = self.header(body, times)
        fetched = body.take()
        body.region.foreign = foreign | {name for name in [self.index] if name is not None}
        body.write(self.loop.body)
        finish(body, results, self.beside)
        if self.counter is not None:
            one = gast.AugAssign(target=name_tree(self.counter, store=True), op=gast.Add(), value=constant_tree(1))
            body.add(one, self.beside)
        lines = LoopLines(emitter.take(), head, self.opening, self.asking, self.stop, fetched, body.take(), self.beside)
        for c, name in zip(self.carried, variables, strict=True):
            emitter.trees[c.out] = name_tree(name)
            emitter.naming.called[c.out] = name
        for c in self.fixed:
            emitter.trees[c.out] = self.trees[c.param]
        note_lengths(emitter, call, [body.lists.lengths])
        body.folded |= {call.outs[0] for call in self.rows[1:]}  # which are the first, by its name
        if self.range is not None:
            body.folded |= {call.outs[0] for call in self.range.calls[:-1]}
        made = body.nesting.close(body.trees, body.folded)
        return dataclasses.replace(self.loop, body=made, test=self.branch, lines=lines)

    def spare(self, name: str, v: Value) -> bool:
        """Whether an item may have the variable of a value of its kind that nobody reads from the loop on."""
        emitter, scan = self.emitter, self.scan
        if emitter.region.around is not None or emitter.returns is None or name in emitter.signature.parameters:
            return False
        held = [u for u, tree in emitter.trees.items() if name_of(tree) == name]
        if not held or any((*u.type[:2], len(u.type.shape)) != (*v.type[:2], len(v.type.shape)) for u in held):
            return False
        given = [*[item.given for item in (*scan.xs, *scan.inv)], scan.n]
        mine = {name for tree in self.trees.values() for name in mentions(tree)}
        return name not in mine and emitter.free(name, self.call, {u for u in given if isinstance(u, Value)})

    def outside(self, v: Any) -> Any:
        """What a value that all trips read alike is outside of the loop."""
        given = {p.param: p.given for p in self.scan.inv} | {c.param: c.start for c in self.fixed}
        return given.get(v, v) if isinstance(v, Value) else v

    def give(self, given: Any, *params: Value | None) -> None:
        """What each trip reads is written in each as it is outside: as a variable, or a constant."""
        emitter = self.emitter
        if isinstance(given, Value) and given in emitter.folded and not _is_cheap(emitter.trees[given]):
            emitter.part(given)
        self.trees |= {v: emitter.tree(given) for v in params if v is not None}

    def variables(self) -> list[str]:
        """For each value that is carried: its variable, that of its start where nobody reads that any more."""
        emitter, scan, found = self.emitter, self.scan, list[str]()
        during = {v for v in (*[p.given for p in (*scan.xs, *scan.inv)], *[c.start for c in self.fixed], scan.n)
                  if isinstance(v, Value)}  # fmt: skip
        for c in self.carried:
            found.append(
                self.variable(c, [name for name in emitter.region.slots.get(c.out, ()) if name not in found], during)
            )
            if found[-1] in found[:-1]:
                found[-1] = emitter.naming.names.new(found[-1])
        return found

    def variable(self, c: Carry, wanted: list[str], during: set[Value]) -> str:
        emitter = self.emitter
        for name in wanted:
            if emitter.free(name, self.call, during):
                return name
        wish = emitter.naming.wishes.get(c.out)
        start = name_of(emitter.trees[c.start]) if isinstance(c.start, Value) else None
        own = (
            start is not None
            and (alike(start, wish) or alike(start, f"{wish}_part"))
            and start not in emitter.region.foreign
        )
        if start is not None and own and emitter.free(start, self.call, during):
            return start
        return (
            emitter.fresh(c.out)
            if c.out in emitter.facts.uses
            else emitter.naming.names.new(wish or emitter.naming.described(c.out))
        )

    def origin(self, statement: Any, starts: list[tuple[str, Any]]) -> Call:
        """What a statement before the loop belongs to: the call that made the start, if it is written there."""
        for c, (_, tree) in zip(self.carried, starts, strict=True):
            if c.start in self.emitter.folded and statement.value is tree:
                maker = self.emitter.facts.maker[c.start]
                return Call(maker.op, (), (), maker.site, maker.backward, maker.quiet)
        return self.beside

    # the header
    def header(self, body: Emitter, times: Any) -> Head:
        """Return the `while` or `for`; at the start of the body stands what it leaves to that."""
        scan, emitter, xs = self.scan, self.emitter, self.xs
        if self.endless:
            test, alone = self.asked(body)
            self.stop, test = (None, test) if alone else (test, constant_tree(True))
            self.fetch(body, xs)
            return Head(test=test)
        if self.indexed:
            self.index = body.naming.names.new(body.naming.wishes.get(scan.place) or self.free_index())
            self.trees[scan.place] = name_tree(self.index)
        target: Any = name_tree(self.index or "_", store=True)
        if self.walks:
            head = self.walk(body, xs)
        elif self.range is not None:
            head = Head((self.counted(body),))
        elif times is None and self.index is None:
            head = Head((Walked(target, emitter.tree(scan.xs[0].given)),))
        else:
            times = call_tree("len", emitter.tree(scan.xs[0].given)) if times is None else times
            times = _as_len(times, scan.n, emitter)
            turned = self.index is not None and scan.loop.reverse
            if turned and "reversed" in self.hidden:
                last = gast.BinOp(left=times, op=gast.Sub(), right=constant_tree(1))
                head = Head((Walked(target, (last, constant_tree(-1), constant_tree(-1))),))
            else:
                head = Head((Walked(target, (times,), turned),))
        if scan.test is not None:
            self.opening = body.take()
            self.stop, _ = self.asked(body)
        self.fetch(body, [] if self.walks else xs)
        return head

    def counted(self, body: Emitter) -> Walked:
        """`t`, and the range of the user's that it is of."""
        assert self.range is not None
        item = self.range.item
        name = body.naming.names.new(body.naming.wishes.get(item) or self.free_index())
        self.trees[item] = name_tree(name)
        body.naming.called[item] = name
        arguments = bounds(self.emitter, self.scan, self.range, self.outside(self.range.start))
        assert arguments is not None
        return Walked(name_tree(name, store=True), tuple(arguments), self.scan.loop.reverse)

    def walked_rows(self) -> list[Call]:
        """The calls that take row after row of one array, where nothing else asks for the place of a trip."""
        scan, emitter = self.scan, self.emitter
        maker = emitter.facts.maker.get(scan.n) if isinstance(scan.n, Value) else None
        calls = [call for call in scan.calls if scan.place in call.reads]
        if scan.place.name is not None:  # of a range of the user's
            return []
        if maker is None or scan.test is not None or scan.place in values_in(scan.body.outputs) or not calls:
            return []
        array = maker.args[0]
        params = [item.param for item in scan.inv if item.given is array]
        if not params or not _is_length(maker) or not isinstance(emitter.trees.get(array), gast.Name):
            return []
        rows = all(call.op.base is GETITEM and call.args[0] in params and call.args[1] is scan.place for call in calls)
        return calls if rows else []

    def free_index(self) -> str:
        """A name for the place of a trip that the user has for nothing else."""
        names = self.emitter.naming.names
        return next((s for s in "ijkmn" if s not in self.emitter.naming.users and names.is_free(s)), "i")

    def asked(self, body: Emitter) -> tuple[Any, bool]:
        """The test as an expression, and whether it takes no statements before."""
        graph, call, branch = self.scan.test, self.call, self.loop.test
        assert graph is not None
        assert branch is not None
        (result,) = graph.outputs
        test = inner(self.emitter, branch.body, graph, {})
        test.indent = body.indent
        test.trees, test.region.at_end = self.trees, set(values_in(result))
        if call.quiet or not any(c.quiet for c in graph.calls):
            test.region.deferred = test.region.at_end
        test.region.foreign = {name for tree in self.trees.values() for name in mentions(tree)}
        test.write(branch.body)
        self.branch = branch._replace(body=test.nesting.close(test.trees, test.folded))
        self.asking = test.take()
        return test.tree(result), not (self.asking or entries_of(self.branch.body))

    def walk(self, body: Emitter, xs: list[Item]) -> Head:
        """`for t, (h, z) in enumerate(zip(hs, zs)):`."""
        emitter = self.emitter
        found: dict[str, Any] = {}  # by the name of a list what its items are called
        for x in xs:
            name = emitter.trees[x.given].id
            if x.given in emitter.lists.bundled:
                found[name] = found.get(name) or unpacked(emitter, body, name, xs)
            elif name in found:
                body.trees[x.param] = name_tree(found[name].id)
            else:
                found[name] = name_tree(named_item(emitter, body, x), store=True)
        if self.rows:
            row = self.rows[0].outs[0]
            wish = body.naming.wishes.get(row) or body.naming.read_as.get(row)
            name = body.naming.names.new("row" if wish is None else wish)
            self.trees |= {call.outs[0]: name_tree(name) for call in self.rows}
            body.naming.called |= {call.outs[0]: name for call in self.rows}
            given = next(item.given for item in self.scan.inv if item.param is self.rows[0].args[0])
            found = {emitter.trees[given].id: name_tree(name, store=True), **found}
        steps = None if self.range is None else self.counted(body)
        head = self.together(found, steps)
        node = head_tree(head)
        if width(node.target) + width(node.iter) + emitter.indent + 4 * self.call.quiet + len("for  in :") > WIDTH:
            for name, names in found.items():
                if isinstance(names, gast.Tuple):
                    found[name] = name_tree(body.naming.names.new("item"), store=True)
                    item = name_tree(found[name].id)
                    body.add(gast.Assign(targets=[names], value=item, type_comment=None), self.beside)
            head = self.together(found, steps)
        return head

    def together(self, found: dict[str, Any], steps: Walked | None) -> Head:
        """One head of what the items of several lists are called, and of a range."""
        lists = [Walked(target, name_tree(name), self.scan.loop.reverse) for name, target in found.items()]
        return Head((*([] if steps is None else [steps]), *lists), self.index)

    def fetch(self, body: Emitter, xs: list[Item]) -> None:
        """`h = hs[i]`, or that where `h` is read, if it is but once."""
        bundled = [x for x in xs if x.given in self.emitter.lists.bundled]
        for name in dict.fromkeys(self.emitter.trees[x.given].id for x in bundled):
            names = unpacked(self.emitter, body, name, bundled)
            body.add(gast.Assign(targets=[names], value=self.item(name), type_comment=None), self.beside)
        xs = [x for x in xs if x not in bundled]
        for x in xs:
            item = self.item(self.emitter.trees[x.given].id)
            user = body.facts.last_user(x.param)
            if (
                user is not None
                and body.facts.uses[x.param] == 1
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
        wanted, indexed = scan.trips in emitter.facts.uses, self.indexed and self.endless
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
            self.counter = emitter.naming.names.new(scan.place.name or "i")
        emitter.add(assign(self.counter, constant_tree(0)), self.beside)
        if indexed:
            self.index = self.counter
            self.trees[scan.place] = name_tree(self.index)

    def is_odd(self, times: Any) -> bool:
        """Whether a number of trips may be less than zero, where it matters."""
        n, trips = self.scan.n, self.scan.trips
        if not isinstance(n, Value):
            return n is not None and n < 0
        users = self.emitter.facts.users.get(trips, [])
        only = all(user.op is SCAN and user.args[4] is trips and user.reads.count(trips) == 1 for user in users)
        return not only or trips in self.emitter.facts.outputs or not _is_cheap(times)


def _is_length(call: Call) -> bool:
    """Whether a call gives the length of an array."""
    first = call.op is SIZE and call.args[1] == 0
    whole = call.op is COUNT and isinstance(call.args[0], Value) and len(call.args[0].type.shape) == 1
    return isinstance(call.args[0], Value) and (first or whole)


def _as_len(times: Any, n: Any, emitter: Emitter) -> Any:
    """`len(x)` for `x.shape[0]`, and for `x.size` where that is the same."""
    maker = emitter.facts.maker.get(n)
    return times if maker is None or not _is_length(maker) else call_tree("len", emitter.trees[maker.args[0]])


def _is_cheap(tree: Any) -> bool:
    """Whether an expression may be written in several places: a variable, a constant, a shape, a short sum of lengths."""
    if is_sum_of_counts(tree) and width(tree) <= SHORT:
        return True
    return not any(isinstance(node, (gast.BinOp, gast.Call, gast.Compare, gast.BoolOp)) for node in gast.walk(tree))
