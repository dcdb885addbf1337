"""The walk through a Program that decides which calls are nested and what variables are called, and forms the lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import Any

import gast
import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, primal_of, values_in
from ....runtime.ir.known_ops import EXPAND_DIMS, GETITEM, ZEROS
from ....runtime.ir.opcodes import LISTED, PARTS, SCAN, has_effects, is_effect, is_region
from ....runtime.rules.control import GUARD, SIZE, SIZES
from ..analysis.effects import stays
from ..frontend.user_names import CHECKED_LENGTHS
from ..passes.scans import Scan
from ..schedule.blocks import Block
from ..schedule.program import (
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
    calls_of,
    leaves_of,
    reads_of,
    straight,
    writes_of,
)
from ..schedule.program import each_statement as _everywhere
from ..schedule.reuse import is_apart
from ..schedule.signature import Signature
from ..schedule.steps import chosen
from ..schedule.stores import STORE
from ..schedule.weak import SPREADING
from .boundary import is_large, keeps_memory, result_of, returns_of, unpacking_of
from .conds import write_cond
from .entries import Entries, trees_of
from .inlining import body_of, inlined, locals_of, times_used
from .layers import called_in, collapsed, homes_of, lists_of_items, read_in_lists, write_list, write_parts
from .layout import WIDTH
from .lines import ForkLines, Lines, ReturnLines
from .literals import constant_tree, given_tree, in_place_of
from .loops import is_bound_within, write_scan
from .naming import Naming, is_dotted, is_transposed_name, is_vague, is_widened, name_lists
from .nesting import Nesting, named_program
from .printer import note, to_source
from .region import append, changed, is_deferred, is_read_once
from .signs import with_sign
from .steps import STEPS
from .terms import BINARY, is_real, once, term
from .tile_loops import write_loop
from .variables import about, alike, assign, mentions, name_of, name_tree
from .widths import SHORT, breaks_well, is_product_of_counts, is_sum_of_counts, is_sum_of_names, width
from .written import as_written

__all__ = ["Lengths", "Lists", "Region", "Walk"]

FACTOR = 24  # columns of a factor made of lengths that is written wherever it is read
SECOND_ROW = 40  # columns by which an expression may be too long for one row
WIDE = 32  # columns of a number of trips that is written wherever it is read

_UNITS = (0.0, 1.0, -1.0)  # which nobody computes


def _is_gather(index: Any) -> bool:
    """Whether an index takes a copy, and no number or view."""
    return not all(
        e is None or e is ... or isinstance(e, (int, slice)) for e in (index if type(index) is tuple else (index,))
    )


Lengths = dict[Value, Any]  # of lists their length, of ints their value: equal where both are known to be


class Lists:
    """Facts about the lists of a block: their lengths, and the bundles that they stand in."""

    def __init__(self) -> None:
        self.lengths: Lengths = {}
        self.items: Lengths = {}  # of the lists, and of the ints, that stand on lists
        self.bundled: dict[Value, Any] = {}  # those whose items stand in the tuples of another
        self.rows: dict[Value, str] = {}  # of those, the lists of lists: the variable of the list of rows
        self.origins: dict[Value, Any] = {}  # of lists that a row is in place of: the value that is put on them


class Region:
    """The variables that the results of a region go into, and those around it."""

    def __init__(self, at_end: set[Value], around: Call | None) -> None:
        self.at_end = at_end  # what is read when all calls are written
        self.around = around  # in a loop: what a statement belongs to that is no call's
        self.slots: dict[Value, list[str]] = {}  # the variables that the results become
        self.stacked: set[Value] = set()  # what is put on lists
        self.deferred: set[Value] = set()  # what is to be an expression
        self.outer: set[str] = set()  # the variables of what is around, which it may not take
        self.walked: set[Call] = set()  # rows that the head of a loop takes
        self.reusable: Callable[[str, Value], bool] = lambda name, v: (
            False
        )  # whether an item may have a name that is taken


class Order:
    """The places of calls that may raise or have an effect, by the expressions that they are written within."""

    def __init__(self, graph: Graph) -> None:
        self.calls = graph.calls
        self.within: dict[Value, set[int]] = {}

    def may_wait(self, walk: Walk, call: Call, out: Value) -> bool:
        """Whether what makes a value, and all that is written within it, may be computed as late as its one reader is.

        An effect crosses nothing that may raise, nor another effect, and is the only one of its expression.
        """
        within = {k for v in call.reads if v in walk.nested for k in self.within.get(v, ())}
        within |= {walk.facts.place[call]} if stays(call) else set()
        if not within:
            return True
        reader = walk.facts.users[out][-1] if walk.facts.uses[out] == 1 else None
        beside = [v for v in reader.reads if v is not out and v in walk.nested] if reader is not None else []
        others = {k for v in beside for k in self.within.get(v, ())}
        if self._has_effect(within | others) and (others or reader in walk.facts.in_tiles):
            return False
        barrier = stays if self._has_effect(within) else is_effect
        until = len(self.calls) if reader is None else walk.facts.place[reader]
        if any(barrier(self.calls[k]) for k in range(min(within) + 1, until) if k not in within):
            return False
        self.within[out] = within
        return True

    def has_effect(self, walk: Walk, v: Any) -> bool:
        """Whether the expression of a value has an effect, and so is not to be lost."""
        return isinstance(v, Value) and v in walk.nested and self._has_effect(self.within.get(v, set()))

    def _has_effect(self, places: set[int]) -> bool:
        return any(is_effect(self.calls[k]) for k in places)


class Walk:
    """One walk through a Program; afterwards `trees` tells how each value is written."""

    def __init__(self, program: Program, signature: Signature, steps: Collection[str] | None = None) -> None:
        self.program = program
        self.signature = signature
        self.steps = chosen(STEPS, steps)
        self.section: str | None = None  # of a function that the text calls: the one that its calls stand in
        self.purpose = ""
        self.indent = 4
        self.trees: dict[Value, Any] = {}  # how each value is written where it is used
        self.constants: dict[tuple[type, float], str] = {}  # the variables of what loops would compute again and again
        body = list(straight(program.body))
        inputs = [v for s in body if isinstance(s, Unpack) for v in leaves_of(s.tree)]
        graph = Graph(inputs, calls_of(program.body), [v for s in body if isinstance(s, Return) for v in s.outputs])
        self.naming = Naming(program, signature, graph)
        self.renamed: dict[str, str] = {}  # what lists are called after all
        self.homes = homes_of(program)
        walked = read_in_lists(program, self.homes) if self.homes else set()
        self.unpacking = {
            s: unpacking_of(s, program, self.naming.names, self.trees, walked)
            for s in program.body
            if isinstance(s, Unpack)
        }
        self.returns = returns_of(program.body, graph)
        self.branches = any(isinstance(s, (Fork, If)) for s in _everywhere(program.body))
        self.nesting = Nesting({}, {})
        self.region = Region(set(), None)
        self.begin(program.body, graph)
        self.sizes = named_sizes(self.facts, self.naming, self.signature.parameters) if self.returns is not None else {}
        for s in body:
            if isinstance(s, Fork) and s.other is not None:  # one `if` asks for both
                self.facts.uses[s.value] -= 1

    def begin(self, body: list[Statement], graph: Graph, steady: bool = True) -> None:
        """Look at the statements that are to be written, before the first; their calls are those of `graph`.

        In a region that is not `steady` nothing is known of the strides.
        """
        self.facts = Block(body, graph, steady)
        self.naming.begin(self.facts)
        self.region = Region(self.facts.outputs, self.region.around)
        self.lists = Lists()
        self.pieces: dict[Value, Any] | None = None  # in a loop over tiles: where the results go that are needed whole
        self.lines: Entries = []  # of the statement at hand
        self.nested: set[Value] = set()
        self.order = Order(self.facts.graph) if has_effects(graph) else None

    # the function
    def nest(self, program: Program) -> Program:
        """Return the program whose calls stand in the order of the text, those that are nested marked so: the one walk."""
        self.path(program.body)
        return program._replace(body=self.nesting.close(self.trees, self.nested))

    def name(self, program: Program) -> Program:
        """Return the program with the variables that the walk has found for its values."""
        if any(isinstance(s, List) for s in _everywhere(program.body)):
            naming = self.naming
            self.renamed = name_lists(trees_of(program.body), naming.stem, naming.names, self._gradients_in_lists())
        return named_program(self.program, program.body, self.nesting.variables())

    def called(self) -> dict[Value, str]:
        """Return the variables of values, and what results are called that are expressions in the return."""
        found = {v: tree.id for v, tree in self.trees.items() if isinstance(tree, gast.Name)}
        in_lists = {v: tree.item[0] for v, tree in self.trees.items() if hasattr(tree, "item")}
        found |= {v: self.renamed.get(name, name) for v, name in in_lists.items()}
        items = called_in(self.homes, self.program) if self.homes else {}
        found |= {v: name for v, name in items.items() if v not in found}
        if self.returns is None:
            return found
        primals = {v: primal for v in self.returns.names if (primal := primal_of(v)) is not None and primal in items}
        each = {v: f"d_{text.split()[1]}" for v, p in primals.items() if (text := items[p]).startswith("each ")}
        return found | self.returns.names | each

    def _gradients_in_lists(self) -> dict[str, str]:
        """What a list is to be called that a loop fills with the gradients of the items of a list of the caller's: `d_Ws`."""
        words = lists_of_items(self) if self.homes else {}
        items = [(tree.item[0], primal_of(v)) for v, tree in self.trees.items() if hasattr(tree, "item")]
        return {name: f"d_{words[of]}" for name, of in items if of is not None and of in words}

    def path(self, body: list[Statement]) -> None:
        """Decide about statements that end the function."""
        *others, result = body
        assert isinstance(result, Return)
        self.write(others)
        value = result_of(
            result.tree, lambda v: self.trees[v] if isinstance(v, Value) else given_tree(v), list(result.outputs)
        )
        value = collapsed(value)
        owner = None if self.returns is None else self.returns.owner()
        variables = frozenset(filter(None, [name_of(self.trees.get(v)) for v in self.facts.outputs]))
        self.nesting.add(dataclasses.replace(result, lines=ReturnLines(self.take(), value, variables, owner)))

    def write(self, body: Iterable[Statement]) -> None:
        """Write statements down."""
        for statement in body:
            if isinstance(statement, Tiled):
                self.nesting.nest(reads_of(statement))  # and not in the loop
            written = self.statement(statement) or statement
            if isinstance(statement, (Assign, Effect)) and not self.nested.isdisjoint(writes_of(statement)):
                self.nesting.wait(statement)
            elif not isinstance(statement, Free):
                self.nesting.add(dataclasses.replace(written, lines=self.take()) if written is statement else written)

    def statement(self, statement: Statement) -> Statement | None:
        """Decide about a statement; return it with its lines, where these are more than what was added for it.

        Lists are made where their loop begins.
        """
        match statement:
            case Unpack():
                return dataclasses.replace(statement, lines=tuple(self.unpacking[statement]))
            case Assign(call=call) if statement.is_over() and call.op.consuming is not None:
                self.consumed(call)
            case Assign(slots=slots, call=call) if statement.is_over():
                self.written_over(call, slots[0].of[0])
            case Assign(call=call) | Effect(call=call):
                self.call(call)
            case Guard(call=call):
                self.guard(call)
            case Store(call=call):
                write_store(self, call)
            case Loop():
                return write_scan(self, statement)
            case If():
                return write_cond(self, statement)
            case Tiled():
                return write_loop(self, statement)
            case Fork():
                return self.fork(statement)
            case Push(target=target, value=value):
                maker = self.facts.maker.get(value) if isinstance(value, Value) else None
                beside = maker or self.region.around
                assert beside is not None  # what is put on a list is so in a loop
                append(self, self.trees[target].id, self.tree(value), beside)
            case Reverse(target=target):
                turn = gast.Attribute(value=self.trees[target], attr="reverse", ctx=gast.Load())
                turned = gast.Expr(value=gast.Call(func=turn, args=[], keywords=[]))
                self.add(turned, about(self.facts.maker[target]))
        return None

    # one call
    def call(self, call: Call) -> None:
        """Write a call down: nested in the expression that uses it, or as a statement of its own."""
        if call in self.region.walked:
            return
        if call.outs and call.outs[0] in self.sizes:
            self.measured(call)
            return
        if call.op is LISTED:
            write_list(self, call)
            return
        if call.op is PARTS:
            write_parts(self, call)
            return
        if call.op.inline and len(body_of(call)) > 1:
            self.spelled_out(call)
            return
        tree = self.narrow(call)
        if call.op.effect and self.facts.uses.get(call.outs[0]) is None:
            self.add(gast.Expr(value=tree), call)
            return
        if len(call.outs) > 1 or call.op.n_out != 1:
            targets = [self.target(v, call) for v in call.outs]
            left = gast.Tuple(elts=[name_tree(t, store=True) for t in targets], ctx=gast.Store())
            self.add(gast.Assign(targets=[left], value=tree, type_comment=None), call)
            return
        (out,) = call.outs
        if self.pieces is not None and out in self.pieces:
            self.add(gast.Assign(targets=[self.pieces[out]], value=tree, type_comment=None), call)
            return
        if self.nests(call, out, tree) and (self.order is None or self.order.may_wait(self, call, out)):
            self.trees[out] = tree
            self.nested.add(out)
            return
        self.add(
            changed(self.target(out, call), tree, call) if self.region.slots else assign(self.fresh(out), tree), call
        )

    def measured(self, call: Call) -> None:
        """The lengths of an array that the user has names for: `B, T, D = x.shape`, before the first of them is read."""
        x, sizes = call.args[0], self.sizes[call.outs[0]]
        if call.outs[0] in self.trees:
            return
        shape = gast.Attribute(value=self.tree(x), attr="shape", ctx=gast.Load())
        for v, name in sizes.values():
            self.naming.called[v] = name = self.naming.names.new(name)
            self.trees[v] = name_tree(name)
        parts = [gast.Subscript(value=shape, slice=constant_tree(axis), ctx=gast.Load()) for axis in sizes]
        value = gast.Tuple(elts=parts, ctx=gast.Load()) if len(parts) > 1 else parts[0]
        targets = [name_tree(self.naming.called[v], store=True) for v, _ in sizes.values()]
        target = gast.Tuple(elts=targets, ctx=gast.Store()) if len(parts) > 1 else targets[0]
        if len(parts) == len(x.type.shape) > 1:
            value = shape
        self.add(gast.Assign(targets=[target], value=value, type_comment=None), call)

    def written_over(self, call: Call, buffer: Value) -> None:
        """A call that writes its result over an argument: `t += y`, or `np.exp(t, out=t)`, under the user's name for it."""
        (out,) = call.outs
        place = self.trees[buffer]
        wish = self.naming.wishes.get(out)
        named = wish not in (None, self.naming.wishes.get(buffer)) and place.id not in self.region.slots.get(out, ())
        if not named and call.op.infix in BINARY and len(call.args) == 2 and call.args[0] is buffer:
            sign = BINARY[call.op.infix]()
            value = self.tree(call.args[1], call)
            made = gast.AugAssign(target=name_tree(place.id, store=True), op=sign, value=value)
            self.add(with_sign(made) if is_real(call) else made, call)
            self.trees[out] = place
            return
        into = gast.keyword(arg="out", value=place)
        tree = gast.Call(func=name_tree(call.op.path), args=[self.tree(a, call) for a in call.args], keywords=[into])
        if named:
            self.add(assign(self.target(out, call), tree), call)
        else:
            self.add(gast.Expr(value=tree), call)
            self.trees[out] = place

    def add(self, statement: Any, call: Call) -> None:
        """Add a line of the statement at hand."""
        self.lines.append((statement, call))

    def take(self) -> Lines:
        """Return the lines so far, which belong to a statement from here on."""
        found, self.lines = tuple(self.lines), []
        return found

    def fresh(self, v: Value) -> str:
        """A name for a value, under which it is used from here on."""
        name = self.naming.new(v)
        if v in self.facts.uses:
            self.trees[v] = name_tree(name)
        return name

    def target(self, v: Value, call: Call, during: Collection[Value] = ()) -> str:
        """The variable that a value goes into: of a result of a region the one that it becomes, if that is free by then."""
        for name in variables_for(self, v):
            if self.free(name, call, during):
                self.trees[v] = name_tree(name)
                self.naming.called[v] = name
                return name
        return self.fresh(v)

    def free(self, name: str, call: Call, during: Collection[Value] = ()) -> bool:
        """Whether nobody reads what is in a variable behind `call`, nor what is written with it; nor to get at `during`."""
        place = self.facts.place[call]
        return not any(
            name in mentions(tree)
            for v, tree in self.trees.items()
            if self.facts.last.get(v, -1) > place or v in self.region.at_end or v in during
        )

    def is_no_start(self, v: Value) -> bool:
        """Whether zeros are there for a variable alone that each trip of a loop makes anew."""
        users = self.facts.users.get(v, [])
        if len(users) != 1 or users[0].op is not SCAN or v in self.facts.outputs:
            return False
        scan = Scan(users[0])
        return any(c.start is v and is_bound_within(scan, c, self.facts.maker) for c in scan.carry)

    def nests(self, call: Call, out: Value, tree: Any) -> bool:
        """Whether a value is written inside the one expression that uses it."""
        if "nesting" not in self.steps:
            return False
        if call.op in SIZES:
            return True  # x.shape costs nothing and says what it is
        if out in self.facts.weak and (number := once(call)) is not None and number.type.dtype.kind == "f":
            return True  # a variable, or a constant
        if out in self.facts.outputs and self.facts.uses[out] == 2 and call.op.n_out == 1:
            if self.returns is not None and not self.region.slots:
                return self.returns.takes(self, call, tree)
            return is_deferred(self, call, tree)
        if call.op.base is ZEROS and self.is_no_start(out):
            return True
        if (
            self.has_name(out, call)
            or out in self.facts.buffers
            or out in self.facts.outputs
            or not self.facts.uses.get(out)
        ):
            return False
        if self.is_plain_count(out, tree) or self.is_plain_factor(out, tree):
            return True
        if out in self.facts.kept:  # a loop reads it again and again, or it is stored behind another
            return False
        if is_transposed_name(tree):
            return True  # a view of something that has a name: no need of another
        if self.is_plain_part(call, out, tree) or self.is_plain_negative(out, tree):
            return True
        if isinstance(tree, gast.Subscript) and isinstance(tree.value, gast.Name) and is_widened(tree):
            return True
        if self.facts.uses[out] != 1 or self.is_widened_often(out):
            return False
        memory = [v for read in call.reads for v in self.memory_of(read)]
        writers = [self.facts.buffers[v] for v in memory if v in self.facts.buffers]
        if writers and is_large(out):  # which is not seen in the peak of memory, where it has no name
            return False
        if any(self.outlives(out, writer) for writer in writers):  # it comes before its argument is written over
            return False
        if any(v in self.facts.written and self.outlives(out, self.facts.written[v]) for v in memory):
            return False
        user = self.facts.users[out][-1]
        if user.quiet != call.quiet or user.backward != call.backward or user.op is GUARD:
            return user.op is GUARD and not call.quiet and width(tree) < WIDTH // 2
        if is_region(user):
            return is_read_once(out, user) and width(tree) + self.margin(user) <= WIDTH - len("while ")
        if out in self.naming.wishes and keeps_memory(self, call, self.facts.place[user]):
            return False
        if user.op.inline and (times_used(user, out) != 1 or (user.op.consuming is not None and user.args[0] is out)):
            return False  # with a name of its own it can be written over
        return (
            width(tree) + self.margin(user) + len("x + ") <= WIDTH
        )  # whose reader parts with the widest of what it reads

    def has_name(self, out: Value, call: Call) -> bool:
        """Whether a value has a name that a reader looks for: a cotangent that is read once needs none.

        Where there are branches it keeps it: an arm may take the variables that it is computed from.
        """
        name = self.naming.wishes.get(out)
        return name is not None and (self.branches or not (call.backward and name.startswith("d_")))

    def is_plain_count(self, v: Value, tree: Any) -> bool:
        """Whether a value is an int that costs next to nothing where it is read: `k + n` in an index, the trips of a loop."""
        if v.type.kind != "python" or v.type.dtype.kind != "i" or not is_sum_of_counts(tree):
            return False
        readers = self.facts.users[v]
        if any(is_region(user) and user.op is not SCAN for user in readers):
            return False
        trips = all(user.op is SCAN and user.args[4] is v and user.reads.count(v) == 1 for user in readers)
        return width(tree) <= (WIDE if trips else SHORT)

    def is_plain_factor(self, v: Value, tree: Any) -> bool:
        """Whether a value is a number that costs next to nothing where it is read: `1.0 / x.size`, or `tau - 1.0` of Python's."""
        if v.type.kind == "python":
            if self.facts.uses[v] > 2 or not is_sum_of_names(tree) or width(tree) > SHORT:
                return False
        elif v not in self.facts.weak or not is_product_of_counts(tree) or width(tree) > FACTOR:
            return False
        return not any(is_region(user) for user in self.facts.users[v])

    def is_plain_part(self, call: Call, out: Value, tree: Any) -> bool:
        """Whether a value is part of an argument that the user takes in several places, too: `symbols[0]`, `image[:-1, :-1]`."""
        if call.op.base is not GETITEM or width(tree) > SHORT or self.facts.uses[out] > 2 or not call.reads:
            return False
        if call.reads[0] not in self.facts.graph.inputs or list(values_in(call.args[1])) or _is_gather(call.args[1]):
            return False
        if self.returns is None or any(is_region(user) for user in self.facts.users[out]):
            return False  # in a block the argument may be written over, and where something is stored, too
        return all(not user.op.inline or times_used(user, out) == 1 for user in self.facts.users[out])

    def is_plain_negative(self, out: Value, tree: Any) -> bool:
        """Whether a number is the negative of one that has a name."""
        negative = (
            isinstance(tree, gast.UnaryOp) and isinstance(tree.op, gast.USub) and isinstance(tree.operand, gast.Name)
        )
        return negative and out.type.kind == "scalar" and not any(is_region(user) for user in self.facts.users[out])

    def is_widened_often(self, v: Value) -> bool:
        """Whether all that is read of a value is `v[:, None]`, in several places."""
        user = self.facts.users[v][-1]
        if (
            user.op.base not in (EXPAND_DIMS, GETITEM)
            or user.args[0] is not v
            or self.facts.uses.get(user.outs[0]) == 1
        ):
            return False
        index = user.args[1] if type(user.args[1]) is tuple else (user.args[1],)
        return user.op.base is EXPAND_DIMS or all(part is None or part == slice(None) for part in index)

    def margin(self, call: Call) -> int:
        """The columns before the expression of a call: the indent, and the name of its result."""
        name = self.naming.wished(call.outs[0]) if call.outs else "t_00"
        indent = self.indent + 4 * call.quiet + (4 + len("[tile]")) * (self.pieces is not None)
        number = 2 * (not self.naming.names.is_free(name))
        return indent + max(len(name) + number, len("t_00")) + len(" = ")

    def narrow(self, call: Call) -> Any:
        """The expression of a call, its widest parts taken out before it until it fits on a line.

        It takes several rows where the widest part would get a name that says nothing: `d_x_part`.
        """
        tree = term(self, call)
        if len(call.outs) == 1:
            self.naming.describe(call.outs[0], tree)
        while (excess := self.excess(tree, call)) > 0:
            parts = [v for v in dict.fromkeys(call.reads) if v in self.nested and self.saves_width(v)]
            parts.sort(key=lambda v: -width(self.trees[v]))
            if not parts or (is_vague(self.naming.wished(parts[0])) and self.takes_rows(tree, call)):
                break
            chosen: list[Value] = []
            for v in parts:
                if excess > 0:
                    chosen.append(v)
                    number = len("_2") * (len(chosen) > 1)
                    excess -= width(self.trees[v]) - len(self.naming.wished(v)) - number
            for v in sorted(chosen, key=lambda v: self.facts.place[self.facts.maker[v]]):
                self.unnest(v)
            tree = term(self, call)
        return tree

    def excess(self, tree: Any, call: Call) -> int:
        """By how many columns the expression of a call is too long; what has rows for its arguments anyway needs one of them."""
        found = width(tree) + self.margin(call) - WIDTH
        if found <= 0:
            return found
        parts = [v for v in dict.fromkeys(call.reads) if v in self.nested and self.saves_width(v)]
        saved = sum(width(self.trees[v]) - len(self.naming.wished(v)) for v in parts)
        if found <= saved or not (isinstance(tree, gast.Call) and is_dotted(tree.func)):
            return found
        row = width(tree) - width(tree.func) - len("()")
        return row + self.indent + 4 * call.quiet + 4 - WIDTH

    def takes_rows(self, tree: Any, call: Call) -> bool:
        """Whether the expression of a call reads well on several rows, and is not much too long for one."""
        indent = self.indent + 4 * call.quiet
        room = WIDTH - self.margin(call)
        if len(call.outs) == 1 and is_vague(self.naming.wished(call.outs[0])):
            return False  # which gets a name that says no more
        return self.pieces is None and width(tree) <= room + SECOND_ROW and breaks_well(tree, room, WIDTH - indent - 4)

    def saves_width(self, v: Value) -> bool:
        """Whether a nested expression is longer than the name that it would get, and more than a view of what has one."""
        tree = self.trees[v]
        return width(tree) > max(16, len(self.naming.wished(v))) and not is_transposed_name(tree)

    def unnest(self, v: Value) -> None:
        """Write a nested call as a statement of its own after all, before what reads it."""
        self.nested.discard(v)
        whole = self.trees[v]
        name = self.fresh(v) if self.returns is None else self.returns.name(self, v)
        line = assign(name, whole), self.facts.maker[v]
        first = not self.lines
        if not self.nesting.unnest(v, (line,) if first else ()) or not first:
            self.lines.append(line)

    # expressions
    def tree(self, x: Any, call: Call | None = None) -> Any:
        """An argument as an expression."""
        if isinstance(x, Value):
            return self.trees[x]
        if type(x) is tuple:
            return gast.Tuple(elts=[self.tree(e) for e in x], ctx=gast.Load())
        if type(x) is list:
            return gast.List(elts=[self.tree(e) for e in x], ctx=gast.Load())
        if isinstance(x, slice):
            return gast.Call(
                func=name_tree("slice"), args=[self.tree(e) for e in (x.start, x.stop, x.step)], keywords=[]
            )
        if call is None:
            return constant_tree(x)
        again = self.pieces is not None or self.region.around is not None
        weak = isinstance(x, np.float64) and (call.outs[0] in self.facts.weak or call.op.base in SPREADING)
        number = float(x) if weak else in_place_of(x, call)
        if not isinstance(x, float) or x in _UNITS:
            return constant_tree(number)
        named = self.constants.get((type(x), x)) if again else None
        if named is not None:
            return name_tree(named)
        return as_written(x, call, again) or as_written(number, call, again) or constant_tree(number)

    def index(self, x: Any) -> Any:
        """An index as it stands between brackets."""
        if isinstance(x, slice):
            parts = [None if e is None else self.tree(e) for e in (x.start, x.stop, x.step)]
            return gast.Slice(lower=parts[0], upper=parts[1], step=parts[2])
        if type(x) is tuple:
            if len(x) == 1 and type(x[0]) is not tuple:
                return self.index(x[0])
            return gast.Tuple(elts=[self.index(e) for e in x], ctx=gast.Load())
        return self.tree(x)

    # ops of ours
    def inlined(self, tree: Any, call: Call, renamed: dict[str, str]) -> Any:
        """A piece of the body of an op of ours with its arguments in it."""
        return inlined(tree, call, renamed, self.tree if call.op.stores is None else self.stored, self.index)

    def stored(self, x: Any) -> Any:
        """An argument that is written into an array, which has its own dtype."""
        return constant_tree(float(x)) if isinstance(x, np.float64) else self.tree(x)

    def consumed(self, call: Call) -> None:
        """An op of ours that writes into its first argument: its body, in place."""
        first = call.args[0]
        self.trees[call.outs[0]] = self.trees[first]
        for statement in body_of(call, consuming=True)[:-1]:
            made = self.inlined(statement, call, {})
            made = (
                _in_place(made)
                if call.args[-1] in self.nested and call.args[-1].type.dtype == first.type.dtype
                else made
            )
            self.add(with_sign(made) if is_real(call) else made, call)

    def spelled_out(self, call: Call) -> None:
        """An op of ours of several statements: its body."""
        body = body_of(call)
        given = body[-1].value
        results = [e.id for e in given.elts] if isinstance(given, gast.Tuple) else [given.id]
        if len(results) == 1 and isinstance(getattr(body[-2], "value", None), gast.Subscript):
            self.naming.describe(call.outs[0], body[-2].value)
        names = {name: self.naming.names.new(name) for name in locals_of(body) if name not in (*results, "_")}
        names.update({name: self.target(out, call, call.reads) for name, out in zip(results, call.outs, strict=True)})
        for statement in body[:-1]:
            self.add(self.inlined(statement, call, names), call)

    def memory_of(self, v: Value) -> list[Value]:
        """Return a value, and the arrays in whose memory it may lie."""
        found = [v]
        for w in found:
            call = self.facts.maker.get(w)
            if call is not None and call.op.consuming is None and not is_region(call) and not is_apart(call):
                found += [read for read in dict.fromkeys(call.reads) if read.type.kind == "array" and read not in found]
        return found

    def may_wait(self, call: Call) -> bool:
        """Whether nothing that the expression of a call reads, with all that is written within it, is written over later."""
        left = [*call.reads]
        for v in left:
            if v in self.nested and v in self.facts.maker:
                left += [read for read in self.facts.maker[v].reads if read not in left]
        memory = {w for v in left for w in self.memory_of(v)}
        return memory.isdisjoint(self.facts.buffers) and memory.isdisjoint(self.facts.written)

    def outlives(self, v: Value, write: Call) -> bool:
        """Whether what is written within the expressions that read it could come to stand behind a call."""
        while (user := self.facts.last_user(v)) is not None:
            if user is write or self.facts.place[user] > self.facts.place[write]:
                return user is not write
            if len(user.outs) != 1:
                return True
            (v,) = user.outs
            if self.has_name(v, user) or self.facts.uses.get(v) != 1:  # a statement of its own, where it is computed
                return False
        return v in self.facts.outputs

    def guard(self, call: Call) -> None:
        """`if not x > 0: return NotImplemented`: another specialisation is wanted."""
        otherwise = gast.Return(value=name_tree("NotImplemented"))
        of_lengths = call.args[1] == "length"
        note(otherwise, "no call had such lengths yet" if of_lengths else "another specialisation is wanted")
        self.add(gast.If(test=_condition(call, self.tree(call.args[0]), fails=True), body=[otherwise], orelse=[]), call)

    def fork(self, fork: Fork) -> Fork:
        """`if s > 0:` and the path that takes it."""
        test = _condition(fork.call, self.tree(fork.value))
        self.nesting.nest(reads_of(fork))
        names, trees, nested = self.naming.names.copy(), dict(self.trees), set(self.nested)
        lines, nesting = ForkLines(self.take(), test), self.nesting
        self.nesting, self.indent = nesting.path(), self.indent + 4
        self.path(fork.body)
        body = self.nesting.end()
        self.nesting, self.indent = nesting, self.indent - 4
        self.naming.names, self.nested = names, nested
        self.trees |= trees  # what a path named anew is called so there alone
        return dataclasses.replace(fork, body=body, lines=lines)


Sizes = dict[int, tuple[Value, str]]  # of the axes of an array: their lengths, and what the user calls these


def named_sizes(facts: Block, naming: Naming, taken: Collection[str]) -> dict[Value, Sizes]:
    """Return the lengths of arrays that have a variable, which the user has a name for and which makes the text shorter.

    Where the length of one axis is read again and again, those of the others have their names, too.
    """
    found: dict[Value, Sizes] = {}
    saved: dict[Value, int] = {}
    for call in facts.graph.calls:
        if call.op is not SIZE or call.backward or not isinstance(call.args[0], Value):
            continue
        v, x = call.outs[0], call.args[0]
        name, of = naming.read_as.get(v), naming.wishes.get(x)
        if name is None or of is None or name in naming.users or name in taken or v in facts.outputs:
            continue
        if uses := facts.uses.get(v, 0):
            found.setdefault(x, {})[call.args[1]] = v, name
            saved[x] = max(saved.get(x, 0), uses * (len(f"{of}.shape[0]") - len(name)))
    return {v: dict(sorted(sizes.items())) for x, sizes in found.items() if saved[x] > WIDE for v, _ in sizes.values()}


def _condition(guard: Call, tree: Any, fails: bool = False) -> Any:
    """`s > 0` or `int(n) == 3` where the value is written `tree`; with `fails` its negation."""
    value, how, expect = guard.args
    if how == "iscomplexobj":
        name = gast.Attribute(value=name_tree("np"), attr=how, ctx=gast.Load())
        asked = gast.Call(func=name, args=[tree], keywords=[])
        return asked if expect is not fails else gast.UnaryOp(op=gast.Not(), operand=asked)
    if how == "length":
        return gast.Compare(left=tree, ops=[gast.NotIn()], comparators=[name_tree(CHECKED_LENGTHS)])
    if how == "bool":
        return tree if expect is not fails else gast.UnaryOp(op=gast.Not(), operand=tree)
    shown: Any = tree
    if how == "item":
        if value.type.kind != "python":
            shown = gast.Call(func=gast.Attribute(value=tree, attr="item", ctx=gast.Load()), args=[], keywords=[])
    elif how != "index":
        shown = gast.Call(func=name_tree(how), args=[tree], keywords=[])
    if isinstance(expect, (float, complex)) and (expect != expect or 0 in (expect.real, expect.imag)):
        shown, expect = gast.Call(func=name_tree("repr"), args=[shown], keywords=[]), repr(expect)  # -0.0 and nan
    sign = gast.NotEq() if fails else gast.Eq()
    return gast.Compare(left=shown, ops=[sign], comparators=[constant_tree(expect)])


def variables_for(walk: Walk, v: Value) -> list[str]:
    """The variables that a value of a region may go into: those that it becomes, and those that have its name."""
    found = walk.region.slots.get(v, [])
    wish = walk.naming.wishes.get(v)
    if wish is None or v not in walk.facts.uses:
        return found
    others = dict.fromkeys(name for names in walk.region.slots.values() for name in names)
    return [*found, *[name for name in others if name not in found and alike(name, wish)]]


_IN_PLACE = (gast.Add, gast.Sub, gast.Mult, gast.Div)


def write_store(walk: Walk, call: Call) -> None:
    """`x[...] = new`; `x += y` where that is the only write and the sum was made for it."""
    x, index, value = call.args
    target, new = walk.trees[x], walk.stored(value)
    if index is ... and isinstance(value, Value) and new is target:
        return  # it was written where it is made
    if index is ... and value in walk.nested and _adds_in_place(walk, x, value, target, new):
        made = gast.AugAssign(target=name_tree(target.id, store=True), op=new.op, value=new.right)
        walk.add(with_sign(made) if x.type.dtype.kind == "f" else made, call)
        return
    place = gast.Subscript(value=target, slice=walk.index(index), ctx=gast.Store())
    walk.add(gast.Assign(targets=[place], value=new, type_comment=None), call)


def _in_place(made: Any) -> Any:
    """Return `x[i] += y` for `x[i] = x[i] + y`; any other statement as it is."""
    target, value = (made.targets[0], made.value) if isinstance(made, gast.Assign) else (None, None)
    if not (isinstance(target, gast.Subscript) and isinstance(value, gast.BinOp) and isinstance(value.op, _IN_PLACE)):
        return made
    same = isinstance(value.left, gast.Subscript) and to_source(value.left) == to_source(target)
    return gast.AugAssign(target=target, op=value.op, value=value.right) if same else made


def _adds_in_place(walk: Walk, x: Value, value: Value, target: Any, new: Any) -> bool:
    """Whether `x = x + y` may be `x += y`: with the same bits, and nothing left undone where it raises."""
    alone = sum(call.op is STORE for call in walk.facts.graph.calls) == 1
    if not (alone and isinstance(target, gast.Name) and isinstance(new, gast.BinOp) and isinstance(new.op, _IN_PLACE)):
        return False
    left = isinstance(new.left, gast.Name) and new.left.id == target.id
    return left and value.type[:3] == x.type[:3] and x.type.dtype.kind in "fiu"
