"""Graph -> gast tree: expressions and not one op a line, the user's names, sections, and the user's lines as notes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import gast
import numpy as np

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.opcodes import SCAN, is_region
from ....runtime.rules.control import GUARD, SIZES
from ..frontend.user_names import Cotangents, Names, name_values
from ..passes.dead_code import dead_code
from ..schedule.buffers import is_consumed
from ..schedule.schedule import Schedule
from ..schedule.signature import Signature
from ..schedule.stores import STORE, with_stores
from ..schedule.weak import SPREADING
from .blocks import assign, mentions
from .boundary import arguments_of, result_of, unpacking_of
from .conditions import condition
from .conds import write_cond
from .docstrings import with_returns
from .inlining import body_of, inlined, locals_of, name_tree, times_used
from .layout import WIDTH
from .literals import constant_tree, given_tree, in_place_of
from .loops import write_scan
from .order import Order
from .printer import note, to_source
from .region import changed, is_deferred, is_read_once, put_on_stacks, variables_for
from .release import released
from .sections import in_sections
from .signs import with_sign
from .spelling import imports_of_users
from .stacks import name_regions, named_within, origins_of
from .stores import write_store
from .terms import BINARY, is_real, term
from .tile_loops import write_loop
from .widths import width, width_around

__all__ = ["Emitter", "emit", "printed"]

_IMPORTS = {
    "cmath": "import cmath\n", "math": "import math\n", "random": "import random\n",
    "statistics": "import statistics\n", "np": "import numpy as np\n",
    "scipy.linalg": "import scipy.linalg\n", "scipy.special": "import scipy.special\n",
}  # fmt: skip


def emit(graph: Graph, signature: Signature, name: str, docstring: str) -> str:
    """The text of a Python function that computes `graph`."""
    return printed(Emitter(graph, signature).function(name, docstring))


def printed(tree: Any) -> str:
    """The text of a definition, and the imports that it needs."""
    used = {node.id for node in gast.walk(tree) if isinstance(node, gast.Name)}
    used |= {
        f"{node.value.id}.{node.attr}"
        for node in gast.walk(tree)
        if isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name)
    }
    imports = [line for root, line in _IMPORTS.items() if root in used]
    own = len(used & {"cmath", "math", "random", "statistics"})  # of the standard library
    if own and len(imports) > own:
        imports.insert(own, "\n")
    imports += imports_of_users(used)
    return "".join([*imports, "\n\n" if imports else "", to_source(tree)])


class Emitter:
    """Writes one graph; afterwards `statements` and `trees` tell what was written for which call and value."""

    def __init__(self, graph: Graph, signature: Signature) -> None:
        self.signature = signature
        self.names = Names()
        for parameter in signature.parameters:
            self.names.parameter(parameter)
        self.trees: dict[Value, Any] = {}  # how each value is written where it is used
        given: dict[Value, str] = {}
        self.unpacking = unpacking_of(signature, self.names, self.trees, graph.inputs, given)
        graph = dead_code(graph) if any(map(is_region, graph.calls)) else graph
        self.named = self.wishes = name_values(graph, given)  # in regions the first has the values of all before them
        self.indent = 4
        self.called: dict[Value | None, str] = {}
        taken = {*self.wishes.values(), *named_within(graph)}
        self.stem = next(s for s in ("t", "u", "v", "s", "tmp", "temporary") if s not in taken)
        self.result = next(s for s in ("out", "result", "value", "output") if s not in taken)
        self.origins = origins_of(graph)
        self.begin(with_stores(graph, signature, self.wishes))

    def begin(self, graph: Graph, steady: bool = True, own: Collection[Value] = ()) -> None:
        """Look at the graph that is to be written, before the first call.

        In a region that is not `steady` nothing is known of the strides. The inputs that are its `own` may be written over.
        """
        name_regions(graph, self.wishes, self.stem, self.origins)
        self.slots: dict[Value, list[str]] = {}  # of a region: the variables that its results become
        self.stacked: dict[Value, list[str]] = {}  # and the lists that they are put on
        self.deferred: set[Value] = set()  # and what is to be an expression
        self.foreign: set[str] = set()  # and the variables that belong to what is around it
        self.lengths: dict[Value, Any] = {}
        self.items: dict[Value, Any] = {}
        self.bundled: dict[Value, Any] = {}
        self.schedule = Schedule(graph, self.wishes, steady, own)
        self.graph = self.schedule.graph
        self.pieces: dict[Value, Any] = {}  # in a loop over tiles: where the results go that are needed whole
        self.in_loop = False
        self.cotangents = Cotangents(self.graph, self.schedule.uses, self.wishes)
        self.statements: list[tuple[Any, Call]] = []
        self.at_end = self.schedule.outputs  # what is read when all calls are written
        self.folded: set[Value] = set()
        self.order = Order(self.graph)

    # the function
    def function(self, name: str, docstring: str) -> Any:
        """The whole definition."""
        self.write(self.graph.calls)
        self.statements = released(self)
        docstring = with_returns(
            docstring, self.graph, {v: t.id for v, t in self.trees.items() if isinstance(t, gast.Name)}
        )
        return self.definition(name, docstring, self.returned(self.signature.result_tree, self.graph.outputs))

    def write(self, calls: list[Call]) -> None:
        """Write calls down, those of a loop together."""
        for call in calls:
            tiles = self.schedule.tiles.get(call)
            if tiles is None:
                self.call(call)
            elif call is tiles.calls[0]:
                write_loop(self, tiles)
            if self.stacked and (tiles is None or call is tiles.calls[-1]):
                put_on_stacks(self, call if tiles is None else tiles)

    def returned(self, tree: Any, outputs: list[Any]) -> Any:
        """The returned expression: a tree of outputs."""
        return result_of(tree, lambda v: self.trees[v] if isinstance(v, Value) else given_tree(v), outputs)

    def definition(self, name: str, docstring: str, result: Any) -> Any:
        """The definition around the statements."""
        body: list[Any] = [gast.Expr(value=gast.Constant(value=docstring, kind=None))]
        body.extend(self.unpacking)
        body.extend(in_sections(self.statements))
        body.append(gast.Return(value=result))
        return gast.FunctionDef(
            name=name, args=arguments_of(self.signature), body=body, decorator_list=[], returns=None, type_comment=None,
            **({"type_params": []} if "type_params" in gast.FunctionDef._fields else {}),
        )  # fmt: skip

    # one call
    def call(self, call: Call) -> None:
        """Write a call down: folded into the expression that uses it, or as a statement of its own."""
        if call.op is GUARD:
            return self.guard(call)
        if call.op is STORE:
            return write_store(self, call)
        if is_region(call):
            return write_scan(self, call) if call.op is SCAN else write_cond(self, call)
        if call.op.inline and len(body_of(call)) > 1:
            self.spelled_out(call)
            return
        if call in self.schedule.over:
            self.written_over(call, self.schedule.over[call])
            return
        tree = self.narrow(call)
        if call.op.effect and self.schedule.uses.get(call.outs[0]) is None:
            self.add(gast.Expr(value=tree), call)
            return
        if len(call.outs) > 1 or call.op.n_out != 1:
            targets = [self.target(v, call) for v in call.outs]
            left = gast.Tuple(elts=[name_tree(t, store=True) for t in targets], ctx=gast.Store())
            self.add(gast.Assign(targets=[left], value=tree, type_comment=None), call)
            return
        (out,) = call.outs
        if out in self.pieces:
            self.add(gast.Assign(targets=[self.pieces[out]], value=tree, type_comment=None), call)
            return
        if self.folds(call, out, tree) and self.order.may_wait(self, call, out):
            self.trees[out] = tree
            self.folded.add(out)
            return
        self.add(changed(self.target(out, call), tree, call) if self.slots else assign(self.fresh(out), tree), call)

    def written_over(self, call: Call, buffer: Value) -> None:
        """A call that writes its result over an argument: `t += y`, or `np.exp(t, out=t)`, under the user's name for it."""
        (out,) = call.outs
        place = self.trees[buffer]
        named = self.wishes.get(out) not in (None, self.wishes.get(buffer)) and place.id not in self.slots.get(out, ())
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
        self.statements.append((statement, call))

    def fresh(self, v: Value) -> str:
        """A name for a value, under which it is used from here on."""
        if v not in self.schedule.uses:  # kept because it may raise
            return "_"
        wish = self.wishes.get(v)
        if wish is None:
            wish = self.result if v in self.schedule.outputs else self.stem
        wish = self.cotangents.wish(v, wish, self.called, (self.stem, self.result))
        name = self.called[v] = self.names.new(wish)
        self.trees[v] = name_tree(name)
        return name

    def target(self, v: Value, call: Call, during: Collection[Value] = ()) -> str:
        """The variable that a value goes into: of a result of a region the one that it becomes, if that is free by then."""
        for name in variables_for(self, v):
            if self.free(name, call, during):
                self.trees[v] = name_tree(name)
                self.called[v] = name
                return name
        return self.fresh(v)

    def free(self, name: str, call: Call, during: Collection[Value] = ()) -> bool:
        """Whether nobody reads what is in a variable behind `call`, nor what is written with it; nor to get at `during`."""
        place = self.schedule.place[call]
        return not any(
            name in mentions(tree)
            for v, tree in self.trees.items()
            if self.schedule.last.get(v, -1) > place or v in self.at_end or v in during
        )

    def folds(self, call: Call, out: Value, tree: Any) -> bool:
        """Whether a value is written inside the one expression that uses it."""
        if call.op in SIZES:
            return True  # x.shape costs nothing and says what it is
        if out in self.schedule.outputs and self.schedule.uses[out] == 2 and call.op.n_out == 1:
            return is_deferred(self, call, tree)
        if (
            out in self.wishes
            or out in self.schedule.buffers
            or out in self.schedule.outputs
            or not self.schedule.uses.get(out)
        ):
            return False
        if out in self.schedule.kept:  # a loop reads it again and again, or it is stored behind another
            return False
        if isinstance(tree, gast.Attribute) and tree.attr == "T" and isinstance(tree.value, gast.Name):
            return True  # a view of something that has a name: no need of another
        if self.schedule.uses[out] != 1:
            return False
        if not self.schedule.buffers.isdisjoint(call.reads):  # it must be computed before its argument is written over
            return False
        if any(v in self.schedule.written and self.outlives(out, self.schedule.written[v]) for v in call.reads):
            return False
        user = self.schedule.users[out][-1]
        if user.quiet != call.quiet or user.backward != call.backward or user.op is GUARD:
            return user.op is GUARD and not call.quiet and width(tree) < WIDTH // 2
        if is_region(user):
            return is_read_once(out, user) and width(tree) + self.margin(user) <= WIDTH - len("while ")
        if user.op.inline and (times_used(user, out) != 1 or (user.op.consuming is not None and user.args[0] is out)):
            return False  # with a name of its own it can be written over
        return width(tree) + width_around(out, user, self.trees) + self.margin(user) <= WIDTH

    def margin(self, call: Call) -> int:
        """The columns before the expression of a call: the indent, and the name of its result."""
        name = self.wishes.get(call.outs[0]) if call.outs else None
        indent = self.indent + 4 * call.quiet + (4 + len("[tile]")) * self.in_loop
        return indent + len(name or "t_00") + len(" = ")

    def narrow(self, call: Call) -> Any:
        """The expression of a call, its widest parts taken out before it until it fits on a line."""
        tree = term(self, call)
        while width(tree) + self.margin(call) > WIDTH:
            parts = [v for v in call.reads if v in self.folded and width(self.trees[v]) > 16]
            if not parts:
                break
            part = max(parts, key=lambda v: width(self.trees[v]))
            self.folded.discard(part)
            whole = self.trees[part]
            self.add(assign(self.fresh(part), whole), self.schedule.maker[part])
            tree = term(self, call)
        return tree

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
        if (
            call is not None
            and isinstance(x, np.float64)
            and (call.outs[0] in self.schedule.weak or call.op.base in SPREADING)
        ):
            return constant_tree(float(x))
        return constant_tree(in_place_of(x, call) if call is not None else x)

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

    def spelled_out(self, call: Call) -> None:
        """An op of ours of several statements: its body, in place where its first argument is a buffer of its own."""
        first = call.args[0]
        if call.op.consuming is not None and isinstance(first, Value) and self.owned(first, call):
            self.trees[call.outs[0]] = self.trees[first]
            for statement in body_of(call, consuming=True)[:-1]:
                made = self.inlined(statement, call, {})
                self.add(with_sign(made) if is_real(call) else made, call)
            return
        body = body_of(call)
        given = body[-1].value
        results = [e.id for e in given.elts] if isinstance(given, gast.Tuple) else [given.id]
        names = {name: self.names.new(name) for name in locals_of(body) if name not in results}
        names.update({name: self.target(out, call, call.reads) for name, out in zip(results, call.outs, strict=True)})
        for statement in body[:-1]:
            self.add(self.inlined(statement, call, names), call)

    def owned(self, v: Value, call: Call) -> bool:
        """Whether a call may write into the variable of a value: a buffer that nobody else sees or reads behind it."""
        return isinstance(self.trees.get(v), gast.Name) and is_consumed(self.schedule, v, self.is_last, call)

    def is_last(self, v: Value, call: Call) -> bool:
        """Whether a call is the last to read an array, in the graph and in the text, and nothing shares its memory."""
        named = isinstance(self.trees.get(v), gast.Name)
        return named and self.schedule.is_last(v, call) and self.free(self.trees[v].id, call)

    def outlives(self, v: Value, write: Call) -> bool:
        """Whether what is written within the expressions that read it could come to stand behind a call."""
        while (user := self.schedule.last_user(v)) is not None:
            if user is write or self.schedule.place[user] > self.schedule.place[write]:
                return user is not write
            if len(user.outs) != 1 or user.outs[0] in self.schedule.outputs:
                return True
            (v,) = user.outs
            if v in self.wishes or self.schedule.uses.get(v) != 1:  # a statement of its own, where it is computed
                return False
        return v in self.schedule.outputs

    def guard(self, call: Call) -> None:
        """`if not x > 0: return NotImplemented`: another specialisation is wanted."""
        otherwise = gast.Return(value=name_tree("NotImplemented"))
        note(otherwise, "another specialisation is wanted")
        self.add(gast.If(test=condition(call, self.tree(call.args[0]), fails=True), body=[otherwise], orelse=[]), call)
