"""Names and lines of loops: `while`, `for` over a range or over lists, carries as variables, stacks as lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gast

from ....runtime.ir.graph import Call, Value, values_in
from ....runtime.ir.known_ops import GETITEM, ZEROS
from ....runtime.ir.opcodes import SCAN, STACK, all_calls, is_region
from ....runtime.rules.control import COUNT, SIZE, SIZES
from ..passes.scans import Carry, Item, Scan
from ..schedule.buffers import is_steady
from ..schedule.names import STEPS, TAKEN, plural
from ..schedule.program import Loop, Push
from .bundles import bundles_of, named_item, unpacked
from .entries import entries_of, head_tree
from .layers import part_of
from .layout import WIDTH
from .lines import Head, Lines, LoopLines, Walked
from .literals import constant_tree
from .ranges import bounds, range_of
from .region import assign_results, is_read_once, set_targets, walk_within
from .stacks import lengths_of_items, note_lengths, same_length
from .tuples import is_start
from .variables import about, alike, assign, call_tree, mentions, moves, name_of, name_tree
from .widths import SHORT, is_sum_of_counts, width
from .written import as_written, constant_name, is_called

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["is_bound_within", "write_scan"]


def is_bound_within(scan: Scan, c: Carry, maker: Mapping[Value, Call]) -> bool:
    """Whether each trip makes a carried value anew, and there is one: what it would be before has no reader."""
    if c.start not in maker or maker[c.start].op.base is not ZEROS or scan.test is not None:
        return False
    n = scan.n
    runs = n > 0 if type(n) is int else isinstance(n, Value) and n in maker and maker[n].op in SIZES
    made = isinstance(c.after, Value) and c.after is not c.param
    read = any(c.param in call.reads for call in scan.calls) or c.param in values_in(scan.body.outputs)
    return bool(made and runs and not read)


def write_scan(walk: Walk, loop: Loop) -> Loop:
    """Write a loop down; return it as it is written."""
    return _Loop(walk, loop).write()


class _Loop:
    """One loop on its way into the text."""

    def __init__(self, walk: Walk, loop: Loop) -> None:
        self.walk = walk
        self.loop = loop
        self.branch = loop.test  # and then as it is written
        self.call = call = loop.call
        self.scan = Scan(call)
        self.beside = about(call)
        self.carried = [c for c in self.scan.carry if c.after is not c.param]
        self.fixed = [c for c in self.scan.carry if c.after is c.param]
        self.trees: dict[Value, Any] = {}  # of the parameters of the body and of the test
        self.read = {v for inner in self.scan.calls for v in inner.reads} | set(values_in(self.scan.body.outputs))
        self.variables: list[str] = []  # of what is carried
        self.lists: list[str] = []  # what is put on
        scan, place = self.scan, self.scan.place in self.read
        self.xs = [x for x in scan.xs if x.param in self.read]
        self.rows = self.walked_rows()
        self.endless = scan.test is not None and scan.n is None
        whole = scan.test is None and (scan.n is None or all(same_length(walk, scan.n, x.given) for x in self.xs))
        self.hidden = {"enumerate", "range", "reversed", "zip"}.intersection(
            walk.signature.parameters
        )  # behind the user's names
        lists = {name_of(walk.trees[x.given]) for x in self.xs}
        self.range = None if self.hidden else range_of(scan)
        if self.range is not None and not whole and (len(lists) > 1 or (lists and self.range.step != 1)):
            self.range = None
        if self.range is not None and bounds(walk, scan, self.range, self.outside(self.range.start)) is None:
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
        """Decide what is written of the loop; return it with its lines."""
        walk = self.walk
        outer = self.bind_outer()
        self.bind_constants()
        self.variables = self.chosen_variables()
        times = self.begin()
        bundles = bundles_of(walk, self.loop)
        stacked = self.begin_lists(bundles)
        wishes = self.wishes()
        self.count_trips(times)
        body = self.body(wishes, stacked, bundles)
        head = self.header(body, times)
        fetched = body.take()
        body.region.outer = outer | {name for name in [self.index] if name is not None}
        body.write(self.loop.body)
        assign_results(body, self.results(), self.beside)
        if self.counter is not None:
            one = gast.AugAssign(target=name_tree(self.counter, store=True), op=gast.Add(), value=constant_tree(1))
            body.add(one, self.beside)
        lines = LoopLines(walk.take(), head, self.opening, self.asking, self.stop, fetched, body.take(), self.beside)
        self.leave(body)
        made = body.nesting.close(body.trees, body.nested)
        return dataclasses.replace(self.loop, body=made, test=self.branch, lines=lines)

    def bind_outer(self) -> set[str]:
        """Write what each trip reads as it is outside; return the variables that it reads, which the body may not take."""
        walk, scan = self.walk, self.scan
        for c in self.fixed:
            self.give(c.start, c.param, c.asked)
        for item in scan.inv:
            self.give(item.given, item.param, item.asked)
        names = {name for tree in self.trees.values() for name in mentions(tree)}
        return names | {name for x in scan.xs for name in mentions(walk.tree(x.given))}

    def bind_constants(self) -> None:
        """Compute what the user's code computes of constants in each trip before the loop: `log_2_pi = np.log(2 * np.pi)`."""
        walk = self.walk
        if walk.region.around is not None or walk.returns is None:
            return  # a loop around it has done so, or the loop is part of a path
        for call in all_calls(self.scan.body):
            for x in () if call.op.inline else call.args:
                written = as_written(x, call, again=False) if isinstance(x, float) and abs(x) not in (0, 1) else None
                if written is None or (type(x), x) in walk.constants or not is_called(written):
                    continue
                name = walk.naming.names.new(constant_name(written))
                walk.constants[type(x), x] = name
                walk.add(assign(name, written), self.beside)

    def begin(self) -> Any:
        """Assign the starts to the variables of what is carried; return the number of trips as an expression."""
        walk, starts = self.walk, list[tuple[str, Any]]()
        for c, name in zip(self.carried, self.variables, strict=True):
            if not is_bound_within(self.scan, c, self.walk.facts.maker):
                starts.append((name, walk.tree(c.start)))
            self.trees |= {v: name_tree(name) for v in (c.param, c.asked) if v is not None}
        times = None if self.scan.n is None else walk.tree(self.scan.n)
        for statement in moves(sorted(starts, key=lambda pair: is_start(pair[1]))):  # those of zeros beside each other
            walk.add(statement, self.origin(statement, starts))
        return times

    def begin_lists(self, bundles: list[tuple[str, Push]]) -> set[Value]:
        """Make the lists that the loop fills; return the values of a trip that are put on them."""
        walk, scan, stacked = self.walk, self.scan, set[Value]()

        def begin(name: str, target: Value) -> None:
            walk.add(assign(name, gast.List(elts=[], ctx=gast.Load())), self.beside)
            self.lists.append(name)
            self.trees[target] = name_tree(name)

        for name, push in bundles:
            begin(name, push.target)
        for y in scan.ys:
            if y.out in walk.facts.uses and y.out not in walk.lists.bundled:
                begin(walk.target(y.out, self.call, self.call.reads), y.out)
                stacked |= {v for v in values_in(y.value) if v not in scan.body.inputs}
        return stacked

    def wishes(self) -> dict[Value, str | None]:
        """Return the names that the inputs of the body are to have: those that they have outside, an item that of its list."""
        wished = self.walk.naming.wishes
        names: dict[Value, str | None] = {
            p.param: wished.get(p.given) for p in self.scan.inv if isinstance(p.given, Value)
        }
        for x in self.xs:
            wish = wished.get(x.given)
            if x.param.name is None and wish is not None and x.param.type.kind == STACK:
                names[x.param] = wish
            for word in (STEPS, TAKEN):
                if wish == plural(word):
                    names[x.param] = word
        return names | dict(zip([c.param for c in self.carried], self.variables, strict=True))

    def results(self) -> list[tuple[Any, str]]:
        """Return what a trip makes of each value that is carried, with its variable."""
        return [(c.after, name) for c, name in zip(self.carried, self.variables, strict=True)]

    def body(self, wishes: dict[Value, str | None], stacked: set[Value], bundles: list[tuple[str, Push]]) -> Walk:
        """Return the walk through the body."""
        walk, scan = self.walk, self.scan
        body = walk_within(walk, self.loop.body, scan.body, wishes, is_steady(scan))
        body.trees, body.region.stacked, body.region.around = self.trees, stacked, self.beside
        for c in self.carried:
            if isinstance(c.after, Value) and c.out in walk.naming.wishes:
                body.naming.wishes.setdefault(c.after, walk.naming.wishes[c.out])
        set_targets(body, self.results())
        body.region.at_end |= {v for _, push in bundles for v in values_in(push.value)}
        body.region.reusable = self.is_reusable
        known = walk.lists.lengths
        body.lists.lengths = {p.param: known[p.given] for p in (*scan.inv, *scan.xs) if p.given in known}
        body.lists.lengths |= lengths_of_items(walk, scan)
        body.region.walked = set(self.rows if self.range is None else self.range.calls)
        return body

    def leave(self, body: Walk) -> None:
        """Note behind the loop what its results are called, and how long its lists are."""
        walk = self.walk
        for c, name in zip(self.carried, self.variables, strict=True):
            walk.trees[c.out] = name_tree(name)
            walk.naming.called[c.out] = name
        for c in self.fixed:
            walk.trees[c.out] = self.trees[c.param]
        note_lengths(walk, self.call, [body.lists.lengths])
        first = {call.args[0]: call for call in reversed(self.rows)}
        body.nested |= {call.outs[0] for call in self.rows if call not in first.values()}  # the first, by its name
        if self.range is not None:
            body.nested |= {call.outs[0] for call in self.range.calls[:-1]}

    def is_reusable(self, name: str, v: Value) -> bool:
        """Whether an item may have the variable of a value of its kind that nobody reads from the loop on."""
        walk, scan = self.walk, self.scan
        if walk.region.around is not None or walk.returns is None or name in walk.signature.parameters:
            return False
        held = [u for u, tree in walk.trees.items() if name_of(tree) == name]
        if not held or any((*u.type[:2], len(u.type.shape)) != (*v.type[:2], len(v.type.shape)) for u in held):
            return False
        given = [*[item.given for item in (*scan.xs, *scan.inv)], scan.n]
        mine = {name for tree in self.trees.values() for name in mentions(tree)}
        return name not in mine and walk.free(name, self.call, {u for u in given if isinstance(u, Value)})

    def outside(self, v: Any) -> Any:
        """Return the value outside of the loop that all trips read by this one."""
        given = {p.param: p.given for p in self.scan.inv} | {c.param: c.start for c in self.fixed}
        return given.get(v, v) if isinstance(v, Value) else v

    def give(self, given: Any, *params: Value | None) -> None:
        """Write a value that each trip reads as it is outside: as a variable, or a constant."""
        walk = self.walk
        if isinstance(given, Value) and given in walk.nested and not _is_cheap(walk.trees[given]):
            walk.unnest(given)
        self.trees |= {v: walk.tree(given) for v in params if v is not None}

    def chosen_variables(self) -> list[str]:
        """For each value that is carried: its variable, that of its start where nobody reads that any more."""
        walk, scan, found = self.walk, self.scan, list[str]()
        during = {v for v in (*[p.given for p in (*scan.xs, *scan.inv)], *[c.start for c in self.fixed], scan.n)
                  if isinstance(v, Value)}  # fmt: skip
        for c in self.carried:
            found.append(
                self.variable(c, [name for name in walk.region.slots.get(c.out, ()) if name not in found], during)
            )
            if found[-1] in found[:-1]:
                found[-1] = walk.naming.names.new(found[-1])
        return found

    def variable(self, c: Carry, wanted: list[str], during: set[Value]) -> str:
        walk = self.walk
        for name in wanted:
            if walk.free(name, self.call, during):
                return name
        wish = walk.naming.wishes.get(c.out)
        start = name_of(walk.trees[c.start]) if isinstance(c.start, Value) else None
        own = (
            start is not None
            and (alike(start, wish) or alike(start, f"{wish}_part"))
            and start not in walk.region.outer
        )
        if start is not None and own and walk.free(start, self.call, during):
            return start
        return (
            walk.fresh(c.out)
            if c.out in walk.facts.uses
            else walk.naming.names.new(wish or walk.naming.described(c.out))
        )

    def origin(self, statement: Any, starts: list[tuple[str, Any]]) -> Call:
        """Return the owner of a statement before the loop: the call that made the start, if it is written there."""
        for c, (_, tree) in zip(self.carried, starts, strict=True):
            if c.start in self.walk.nested and statement.value is tree:
                maker = self.walk.facts.maker[c.start]
                return Call(maker.op, (), (), maker.site, maker.backward, maker.quiet)
        return self.beside

    # the header
    def header(self, body: Walk, times: Any) -> Head:
        """Return the `while` or `for`; at the start of the body stands what it leaves to that."""
        scan, walk, xs = self.scan, self.walk, self.xs
        if self.endless:
            test, alone = self.asked(body)
            self.stop, test = (None, test) if alone else (test, constant_tree(True))
            self.fetch(body, xs)
            return Head(test=test)
        if self.indexed and self.range is None:
            wish = body.naming.wishes.get(scan.place) or "_"
            self.index = body.naming.names.new(wish if wish.strip("_") else self.free_index())  # `_` is read here
            self.trees[scan.place] = name_tree(self.index)
        target: Any = name_tree(self.index or "_", store=True)
        if self.walks:
            head = self.over_lists(body, xs)
        elif self.range is not None:
            head = Head((self.counted(body),))
        elif times is None and self.index is None:
            head = Head((Walked(target, walk.tree(scan.xs[0].given)),))
        else:
            times = call_tree("len", walk.tree(scan.xs[0].given)) if times is None else times
            times = _as_len(times, scan, walk)
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

    def counted(self, body: Walk) -> Walked:
        """`t`, and the range of the user's that it is of."""
        assert self.range is not None
        item = self.range.item
        name = body.naming.names.new(body.naming.wishes.get(item) or self.free_index())
        self.trees[item] = name_tree(name)
        body.naming.called[item] = name
        arguments = bounds(self.walk, self.scan, self.range, self.outside(self.range.start))
        assert arguments is not None
        return Walked(name_tree(name, store=True), tuple(arguments), self.scan.loop.reverse)

    def walked_rows(self) -> list[Call]:
        """The calls that take row after row of an array, or of several, where nothing else asks for the place of a trip."""
        scan, walk = self.scan, self.walk
        maker = walk.facts.maker.get(scan.n) if isinstance(scan.n, Value) else None
        calls = [call for call in scan.calls if scan.place in call.reads]
        if scan.place.name is not None:  # of a range of the user's
            return []
        if maker is None or scan.test is not None or scan.place in values_in(scan.body.outputs) or not calls:
            return []
        array = maker.args[0]
        given = {item.param: item.given for item in scan.inv}
        if not _is_length(maker) or not all(call.op.base is GETITEM and call.args[1] is scan.place for call in calls):
            return []
        # None of them is shorter than the one whose length is the number of trips.
        arrays = dict.fromkeys(given.get(call.args[0]) for call in calls)
        named = all(isinstance(v, Value) and isinstance(walk.trees.get(v), gast.Name) for v in arrays)
        return calls if named and array in arrays and (len(arrays) == 1 or not scan.loop.reverse) else []

    def free_index(self) -> str:
        """A name for the place of a trip that the user has for nothing else."""
        names = self.walk.naming.names
        return next((s for s in "ijkmn" if s not in self.walk.naming.users and names.is_free(s)), "i")

    def asked(self, body: Walk) -> tuple[Any, bool]:
        """The test as an expression, and whether it takes no statements before."""
        graph, call, branch = self.scan.test, self.call, self.loop.test
        assert graph is not None
        assert branch is not None
        (result,) = graph.outputs
        test = walk_within(self.walk, branch.body, graph, {})
        test.indent = body.indent
        test.trees, test.region.at_end = self.trees, set(values_in(result))
        if call.quiet or not any(c.quiet for c in graph.calls):
            test.region.deferred = test.region.at_end
        test.region.outer = {name for tree in self.trees.values() for name in mentions(tree)}
        test.write(branch.body)
        self.branch = branch._replace(body=test.nesting.close(test.trees, test.nested))
        self.asking = test.take()
        return test.tree(result), not (self.asking or entries_of(self.branch.body))

    def over_lists(self, body: Walk, xs: list[Item]) -> Head:
        """`for t, (h, z) in enumerate(zip(hs, zs)):`."""
        walk = self.walk
        found: dict[str, Any] = {}  # by the name of a list what its items are called
        for x in xs:
            name = walk.trees[x.given].id
            if x.given in walk.lists.bundled:
                found[name] = found.get(name) or unpacked(walk, body, name, xs)
            elif x.given in walk.homes and walk.homes[x.given].path:
                if name not in found:
                    found[name] = name_tree(body.naming.names.new(x.given.element.name or "item"), store=True)
                body.trees[x.param] = part_of(walk, x.given, name_tree(found[name].id))
            elif name in found:
                body.trees[x.param] = name_tree(found[name].id)
            else:
                found[name] = name_tree(named_item(walk, body, x), store=True)
        rows: dict[str, Any] = {}
        given = {item.param: item.given for item in self.scan.inv}
        for param in dict.fromkeys(call.args[0] for call in self.rows):
            taken = [call.outs[0] for call in self.rows if call.args[0] is param]
            wish = body.naming.wishes.get(taken[0]) or body.naming.read_as.get(taken[0])
            array = walk.trees[given[param]].id
            name = body.naming.names.new(wish or ("row" if taken[0].type.kind == "array" else f"{array}_i"))
            self.trees |= {out: name_tree(name) for out in taken}
            body.naming.called |= dict.fromkeys(taken, name)
            rows[array] = name_tree(name, store=True)
        found = rows | found
        steps = None if self.range is None else self.counted(body)
        head = self.together(found, steps)
        node = head_tree(head)
        if width(node.target) + width(node.iter) + walk.indent + 4 * self.call.quiet + len("for  in :") > WIDTH:
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

    def fetch(self, body: Walk, xs: list[Item]) -> None:
        """`h = hs[i]`, or that where `h` is read, if it is but once."""
        bundled = [x for x in xs if x.given in self.walk.lists.bundled]
        for name in dict.fromkeys(self.walk.trees[x.given].id for x in bundled):
            names = unpacked(self.walk, body, name, bundled)
            body.add(gast.Assign(targets=[names], value=self.item(name), type_comment=None), self.beside)
        xs = [x for x in xs if x not in bundled]
        for x in xs:
            item = part_of(self.walk, x.given, self.item(self.walk.trees[x.given].id))
            user = body.facts.last_user(x.param)
            if (
                user is not None
                and body.facts.uses[x.param] == 1
                and (not is_region(user) or is_read_once(x.param, user))
            ):
                self.trees[x.param] = item
                continue
            body.add(assign(named_item(self.walk, body, x), item), self.beside)

    def item(self, name: str) -> Any:
        """`hs[i]`; of a range of the user's, `hs[j - 1]`."""
        index: Any = name_tree(str(self.index))
        if self.range is not None:
            start = self.range.start
            first = self.trees[start] if isinstance(start, Value) else constant_tree(abs(start))
            sign = gast.Add() if type(start) is int and start < 0 else gast.Sub()
            index = gast.BinOp(left=self.trees[self.range.item], op=sign, right=first)
        return gast.Subscript(value=name_tree(name), slice=index, ctx=gast.Load())

    def count_trips(self, times: Any) -> None:
        """Decide how the number of trips is written behind the loop; a variable counts them, where nothing else does."""
        scan, walk = self.scan, self.walk
        wanted, indexed = scan.trips in walk.facts.uses, self.indexed and self.endless
        if wanted and scan.test is None and not self.is_odd(times):
            given = times if times is not None else call_tree("len", walk.tree(scan.xs[0].given))
            walk.trees[scan.trips] = given
            return
        if wanted and self.lists and not indexed:
            walk.trees[scan.trips] = call_tree("len", name_tree(self.lists[0]))
            return
        if not wanted and not indexed:
            return
        if wanted:
            self.counter = walk.target(scan.trips, self.call, self.call.reads)
        else:
            self.counter = walk.naming.names.new(scan.place.name or "i")
        walk.add(assign(self.counter, constant_tree(0)), self.beside)
        if indexed:
            self.index = self.counter
            self.trees[scan.place] = name_tree(self.index)

    def is_odd(self, times: Any) -> bool:
        """Whether a number of trips may be less than zero, where it matters."""
        n, trips = self.scan.n, self.scan.trips
        if not isinstance(n, Value):
            return n is not None and n < 0
        users = self.walk.facts.users.get(trips, [])
        only = all(user.op is SCAN and user.args[4] is trips and user.reads.count(trips) == 1 for user in users)
        return not only or trips in self.walk.facts.outputs or not _is_cheap(times)


def _is_length(call: Call) -> bool:
    """Whether a call gives the length of an array."""
    first = call.op is SIZE and call.args[1] == 0
    whole = call.op is COUNT and isinstance(call.args[0], Value) and len(call.args[0].type.shape) == 1
    return isinstance(call.args[0], Value) and (first or whole)


def _as_len(times: Any, scan: Scan, walk: Walk) -> Any:
    """`len(x)` for `x.shape[0]`, for `x.size` where that is the same, and for the number of items of a list that is walked."""
    for x in scan.xs if type(scan.n) is int else ():
        if x.given in walk.homes and walk.lists.lengths.get(x.given) == scan.n:
            return call_tree("len", walk.tree(x.given))
    maker = walk.facts.maker.get(scan.n)
    return times if maker is None or not _is_length(maker) else call_tree("len", walk.trees[maker.args[0]])


def _is_cheap(tree: Any) -> bool:
    """Whether an expression may be written in several places: a variable, a constant, a shape, a short sum of lengths."""
    if is_sum_of_counts(tree) and width(tree) <= SHORT:
        return True
    return not any(isinstance(node, (gast.BinOp, gast.Call, gast.Compare, gast.BoolOp)) for node in gast.walk(tree))
