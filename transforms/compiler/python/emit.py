"""Graph -> gast tree: expressions and not one op a line, the user's names, sections, and the user's lines as notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable
from typing import Any

import gast
import numpy as np

from ....runtime.arrays import PLACE
from ....runtime.ir.graph import Call, Graph, Value, values_in
from ....runtime.ir.known_ops import EXPAND_DIMS, GETITEM
from ....runtime.ir.opcodes import SCAN, Function, has_effects, is_region
from ....runtime.rules.control import GUARD, SIZES
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
from ..schedule.signature import Signature
from ..schedule.steps import chosen, program_of
from ..schedule.verify import verified
from ..schedule.weak import SPREADING
from .blocks import Entries, about, assign, mentions, name_of
from .boundary import is_large, keeps_memory, result_of, returns_of, unpacking_of
from .conds import write_cond
from .definition import definition, entries_of, trees_of
from .deletes import deletes
from .docstrings import Docstring
from .inlining import body_of, inlined, locals_of, name_tree, times_used
from .layout import WIDTH
from .lines import ForkLines, Lines, ReturnLines
from .literals import constant_tree, given_tree, in_place_of
from .loops import write_scan
from .naming import Naming, is_dotted, is_transposed_name, is_widened, name_lists
from .nesting import Nesting, named_program
from .order import Order
from .printer import note, to_source
from .region import Lists, Region, append, changed, is_deferred, is_read_once, variables_for
from .signs import with_sign
from .spelling import SCIPY, imports_of_users
from .steps import STEPS
from .stores import write_store
from .terms import BINARY, is_real, once, term
from .tile_loops import write_loop
from .widths import SHORT, is_product_of_counts, is_sum_of_counts, is_sum_of_names, width
from .written import as_written

__all__ = ["Emitter", "emit", "emitters_of_functions", "shaped", "text_of"]

_IMPORTS = {
    "cmath": "import cmath\n", "math": "import math\n", "random": "import random\n",
    "statistics": "import statistics\n", "np": "import numpy as np\n",
    **{module: f"import {module}\n" for module in SCIPY},
}  # fmt: skip


def emit(graph: Graph, signature: Signature, name: str, captured: Graph, steps: Collection[str] | None = None) -> str:
    """The text of a Python function that computes `graph`, after these steps of the schedule, or all.

    `captured` is the graph before the passes, which says more of the lengths of arguments.
    """
    program = program_of(graph, signature, name, steps)
    return text_of(program, signature, Docstring(signature, [captured, graph]), None, steps)


def text_of(
    program: Program, signature: Signature, docstring: Docstring, paths: Iterable[Graph] | None = None,
    steps: Collection[str] | None = None,
) -> str:  # fmt: skip
    """The text of a Program after these steps of the target, or all.

    The docstring tells of the results of its `paths`, where it has several.
    """
    return printed(Emitter(program, signature, steps).function(program.name, docstring, paths))


def shaped(
    program: Program, signature: Signature, steps: Collection[str] | None = None,
    seen: Callable[[str, Program], object] | None = None,
) -> Program:  # fmt: skip
    """Return the Program that the text prints, after these steps of the target, or all; `seen` is told what each makes."""
    emitter = Emitter(program, signature, steps)
    emitter.function(program.name, seen=seen)
    return emitter.program


def printed(tree: Any) -> str:
    """The text of a definition, behind the functions that it calls and the imports that they need."""
    trees = [*[emitter.function(name) for name, emitter in emitters_of_functions(tree).items()], tree]
    nodes = [node for one in trees for node in gast.walk(one)]
    used = {node.id for node in nodes if isinstance(node, gast.Name)}
    used |= {
        f"{node.value.id}.{node.attr}"
        for node in nodes
        if isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name)
    }
    imports = [line for root, line in _IMPORTS.items() if root in used]
    own = len(used & {"cmath", "math", "random", "statistics"})  # of the standard library
    if own and len(imports) > own:
        imports.insert(own, "\n")
    imports += imports_of_users(used)
    imports = imports_on_device(imports) if PLACE.module is not None else imports
    return "".join([*imports, "\n\n" if imports else "", "\n\n".join(map(to_source, trees))])


def imports_on_device(imports: list[str]) -> list[str]:
    """The imports of a text that computes with CuPy: under the names that it has for NumPy and SciPy."""
    made = [line.replace("import numpy as np", "import cupy as np") for line in imports]
    if not any("import scipy" in line for line in made):
        return made
    return [line.replace("import scipy", "import cupyx.scipy") for line in made] + ["from cupyx import scipy\n"]


def emitters_of_functions(tree: Any) -> dict[str, Emitter]:
    """What writes the functions that a definition calls, by their names, in the order of the text."""
    functions = {node.function.__name__: node.function for node in gast.walk(tree) if hasattr(node, "function")}
    return {name: _emitter_of(functions[name]) for name in sorted(functions)}


def _emitter_of(function: Function) -> Emitter:
    graph = function.graph
    result = tuple(range(len(graph.outputs))) if len(graph.outputs) > 1 else 0
    signature = Signature(function.parameters, len(graph.inputs), list(graph.inputs), [], result)
    emitter = Emitter(program_of(graph, signature, function.__name__), signature)
    emitter.section = "backward" if graph.calls[0].backward else "forward"
    emitter.purpose, emitter.naming.result = function.purpose, emitter.naming.stem
    for v in graph.outputs:
        if v.name in function.parameters:  # a sum that goes on in its variable
            emitter.region.slots[v] = [v.name]
    return emitter


FACTOR = 24  # columns of a factor made of lengths that is written wherever it is read
WIDE = 32  # columns of a number of trips that is written wherever it is read

_UNITS = (0.0, 1.0, -1.0)  # which nobody computes


def _is_gather(index: Any) -> bool:
    """Whether an index takes a copy, and no number or view."""
    return not all(
        e is None or e is ... or isinstance(e, (int, slice)) for e in (index if type(index) is tuple else (index,))
    )


class Emitter:
    """Writes one Program; afterwards `statements` and `trees` tell what was written for which call and value."""

    def __init__(self, program: Program, signature: Signature, steps: Collection[str] | None = None) -> None:
        self.program = program
        self.signature = signature
        self.steps = chosen(STEPS, steps)
        self.section: str | None = None  # of a function that the text calls: the one that its calls stand in
        self.purpose = ""
        self.indent = 4
        self.trees: dict[Value, Any] = {}  # how each value is written where it is used
        body = list(straight(program.body))
        inputs = [v for s in body if isinstance(s, Unpack) for v in leaves_of(s.tree)]
        graph = Graph(inputs, calls_of(program.body), [v for s in body if isinstance(s, Return) for v in s.outputs])
        self.naming = Naming(program, signature, graph)
        self.unpacking = {
            s: unpacking_of(s, program, self.naming.names, self.trees) for s in program.body if isinstance(s, Unpack)
        }
        self.returns = returns_of(program.body, graph)
        self.branches = any(isinstance(s, (Fork, If)) for s in _everywhere(program.body))
        self.nesting = Nesting({}, {})
        self.region = Region(set(), None)
        self.begin(program.body, graph)
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
        self.folded: set[Value] = set()
        self.order = Order(self.facts.graph) if has_effects(graph) else None

    # the function
    def function(
        self, name: str, docstring: Docstring | None = None, paths: Iterable[Graph] | None = None,
        seen: Callable[[str, Program], object] | None = None,
    ) -> Any:  # fmt: skip
        """The whole definition."""
        self.path(self.program.body)
        body = self.nesting.close(self.trees, self.folded)
        if any(isinstance(s, List) for s in _everywhere(body)):
            name_lists(trees_of(body), self.naming.stem, self.naming.names)
        self.program = verified(named_program(self.program, body, self.nesting.variables()), "names")
        if seen is not None:
            seen("names", self.program)
        if "deletes" in self.steps:
            self.program = verified(deletes(self.program), "deletes")
            if seen is not None:
                seen("deletes", self.program)
        called = {v: t.id for v, t in self.trees.items() if isinstance(t, gast.Name)}
        called |= {} if self.returns is None else self.returns.names
        said = (
            self.purpose
            if docstring is None
            else docstring.text([self.facts.graph] if paths is None else paths, called)
        )
        self.entries = entries_of(self.program.body, self.program.variables)
        return definition(self.program, self.signature, name, said, self.entries, self.section)

    def path(self, body: list[Statement]) -> None:
        """Decide about statements that end the function."""
        *others, result = body
        assert isinstance(result, Return)
        self.write(others)
        value = result_of(
            result.tree, lambda v: self.trees[v] if isinstance(v, Value) else given_tree(v), list(result.outputs)
        )
        owner = None if self.returns is None else self.returns.owner()
        variables = frozenset(filter(None, [name_of(self.trees.get(v)) for v in self.facts.outputs]))
        self.nesting.add(dataclasses.replace(result, lines=ReturnLines(self.take(), value, variables, owner)))

    def write(self, body: Iterable[Statement]) -> None:
        """Write statements down."""
        for statement in body:
            if isinstance(statement, Tiled):
                self.nesting.nest(reads_of(statement))  # and not in the loop
            written = self.statement(statement) or statement
            if isinstance(statement, (Assign, Effect)) and not self.folded.isdisjoint(writes_of(statement)):
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
        """Write a call down: folded into the expression that uses it, or as a statement of its own."""
        if call in self.region.walked:
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
            self.folded.add(out)
            return
        self.add(
            changed(self.target(out, call), tree, call) if self.region.slots else assign(self.fresh(out), tree), call
        )

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
        writers = [self.facts.buffers[v] for v in call.reads if v in self.facts.buffers]
        if writers and is_large(out):  # which is not seen in the peak of memory, where it has no name
            return False
        if any(self.outlives(out, writer) for writer in writers):  # it comes before its argument is written over
            return False
        if any(v in self.facts.written and self.outlives(out, self.facts.written[v]) for v in call.reads):
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
        """The expression of a call, its widest parts taken out before it until it fits on a line."""
        tree = term(self, call)
        if len(call.outs) == 1:
            self.naming.describe(call.outs[0], tree)
        while (excess := self.excess(tree, call)) > 0:
            parts = [v for v in dict.fromkeys(call.reads) if v in self.folded and self.saves_width(v)]
            if not parts:
                break
            chosen: list[Value] = []
            for v in sorted(parts, key=lambda v: -width(self.trees[v])):
                if excess > 0:
                    chosen.append(v)
                    excess -= width(self.trees[v]) - len(self.naming.wished(v))
            for v in sorted(chosen, key=lambda v: self.facts.place[self.facts.maker[v]]):
                self.part(v)
            tree = term(self, call)
        return tree

    def excess(self, tree: Any, call: Call) -> int:
        """By how many columns the expression of a call is too long; what has rows for its arguments anyway needs one of them."""
        found = width(tree) + self.margin(call) - WIDTH
        parts = [v for v in dict.fromkeys(call.reads) if v in self.folded and self.saves_width(v)]
        saved = sum(width(self.trees[v]) - len(self.naming.wished(v)) for v in parts)
        if found <= saved or not (isinstance(tree, gast.Call) and is_dotted(tree.func)):
            return found
        row = width(tree) - width(tree.func) - len("()")
        return row + self.indent + 4 * call.quiet + 4 - WIDTH

    def saves_width(self, v: Value) -> bool:
        """Whether a nested expression is longer than the name that it would get, and more than a view of what has one."""
        tree = self.trees[v]
        return width(tree) > max(16, len(self.naming.wished(v))) and not is_transposed_name(tree)

    def part(self, v: Value) -> None:
        """Write a nested call as a statement of its own after all, before what reads it."""
        self.folded.discard(v)
        whole = self.trees[v]
        name = self.fresh(v) if self.returns is None else self.returns.name(self, v)
        line = assign(name, whole), self.facts.maker[v]
        first = not self.lines
        if not self.nesting.part(v, (line,) if first else ()) or not first:
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
            self.add(with_sign(made) if is_real(call) else made, call)

    def spelled_out(self, call: Call) -> None:
        """An op of ours of several statements: its body."""
        body = body_of(call)
        given = body[-1].value
        results = [e.id for e in given.elts] if isinstance(given, gast.Tuple) else [given.id]
        names = {name: self.naming.names.new(name) for name in locals_of(body) if name not in results}
        names.update({name: self.target(out, call, call.reads) for name, out in zip(results, call.outs, strict=True)})
        for statement in body[:-1]:
            self.add(self.inlined(statement, call, names), call)

    def outlives(self, v: Value, write: Call) -> bool:
        """Whether what is written within the expressions that read it could come to stand behind a call."""
        while (user := self.facts.last_user(v)) is not None:
            if user is write or self.facts.place[user] > self.facts.place[write]:
                return user is not write
            if len(user.outs) != 1 or user.outs[0] in self.facts.outputs:
                return True
            (v,) = user.outs
            if self.has_name(v, user) or self.facts.uses.get(v) != 1:  # a statement of its own, where it is computed
                return False
        return v in self.facts.outputs

    def guard(self, call: Call) -> None:
        """`if not x > 0: return NotImplemented`: another specialisation is wanted."""
        otherwise = gast.Return(value=name_tree("NotImplemented"))
        note(otherwise, "another specialisation is wanted")
        self.add(gast.If(test=_condition(call, self.tree(call.args[0]), fails=True), body=[otherwise], orelse=[]), call)

    def fork(self, fork: Fork) -> Fork:
        """`if s > 0:` and the path that takes it."""
        test = _condition(fork.call, self.tree(fork.value))
        self.nesting.nest(reads_of(fork))
        names, trees, folded = self.naming.names.copy(), dict(self.trees), set(self.folded)
        lines, nesting = ForkLines(self.take(), test), self.nesting
        self.nesting, self.indent = nesting.path(), self.indent + 4
        self.path(fork.body)
        body = self.nesting.end()
        self.nesting, self.indent = nesting, self.indent - 4
        self.naming.names, self.folded = names, folded
        self.trees |= trees  # what a path named anew is called so there alone
        return dataclasses.replace(fork, body=body, lines=lines)


def _condition(guard: Call, tree: Any, fails: bool = False) -> Any:
    """`s > 0` or `int(n) == 3` where the value is written `tree`; with `fails` its negation."""
    value, how, expect = guard.args
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
