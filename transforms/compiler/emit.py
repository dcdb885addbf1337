"""Graph -> gast tree: expressions and not one op a line, the user's names, sections, and the user's lines as notes."""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from ...runtime.ir import Call, Graph, Value, values_in
from .inlining import body_of, inlined, locals_of, name_tree, times_used
from .literals import constant_tree, in_place_of
from .naming import Names, name_values
from .printer import note, to_source
from .sections import in_sections
from .signature import Signature

__all__ = ["emit"]

_WIDTH = 88
_BINARY = {
    "+": gast.Add, "-": gast.Sub, "*": gast.Mult, "/": gast.Div, "//": gast.FloorDiv, "%": gast.Mod, "**": gast.Pow,
    "@": gast.MatMult, "&": gast.BitAnd, "|": gast.BitOr, "^": gast.BitXor,
}  # fmt: skip
_COMPARE = {"<": gast.Lt, "<=": gast.LtE, ">": gast.Gt, ">=": gast.GtE, "==": gast.Eq, "!=": gast.NotEq}
_UNARY = {"-": gast.USub, "+": gast.UAdd, "~": gast.Invert}
_WEAKLY = frozenset(["+", "-", "*", "/"])
_SPREADING = frozenset(["np.broadcast_to", "np.expand_dims"])  # of a Python float they make float64
_STORING = frozenset(["place", "scatter", "index_set", "index_add", "index_add_at"])
_FRESH = frozenset(["elementwise", "bilinear", "reduction", "creation"])


def emit(graph: Graph, signature: Signature, name: str, docstring: str) -> str:
    """The text of a Python function that computes `graph`."""
    text = to_source(_Emitter(graph, signature).function(name, docstring))
    imports = "import numpy as np\n" + ("import scipy.special\n" if "scipy.special." in text else "")
    return f"{imports}\n\n{text}"


def assign(name: str, value: Any) -> Any:
    """`name = value`."""
    return gast.Assign(targets=[name_tree(name, store=True)], value=value, type_comment=None)


class _Emitter:
    def __init__(self, graph: Graph, signature: Signature) -> None:
        self.graph = graph
        self.signature = signature
        self.names = Names()
        for parameter in signature.parameters:
            self.names.parameter(parameter)
        self.trees: dict[Value, Any] = {}  # how each value is written where it is used
        given: dict[Value, str] = {}
        self.unpacking = signature.unpacking(self.names, self.trees, graph.inputs, given)
        self.wishes = name_values(graph, given)
        self.called: dict[Value | None, str] = {}
        self.stem = next(s for s in ("t", "u", "v", "s", "tmp", "temporary") if s not in self.wishes.values())
        self.uses: dict[Value, int] = {}
        for call in graph.calls:
            for v in call.reads:
                self.uses[v] = self.uses.get(v, 0) + 1
        for v in values_in(graph.outputs):
            self.uses[v] = self.uses.get(v, 0) + 2  # an output is a name of its own in the return
        self.maker = {v: call for call in graph.calls for v in call.outs}
        self.user: dict[Value, Call] = {v: call for call in graph.calls for v in call.reads}
        for call in reversed(graph.calls):  # a buffer that is added into has the name of what it becomes
            first = call.args[0] if call.op.consuming is not None else None
            if isinstance(first, Value) and self.uses.get(first) == 1 and call.outs[0] in self.wishes:
                self.wishes.setdefault(first, self.wishes[call.outs[0]])
            copied = call.args[0] if call.op.path in ("np.copy", "np.asarray") else None
            if isinstance(copied, Value) and self.uses.get(copied) == 1 and copied in self.wishes:
                self.wishes.setdefault(call.outs[0], self.wishes.pop(copied))  # the result has the name, not its copy
        self.statements: list[tuple[Any, Call]] = []
        self.outputs = set(values_in(graph.outputs))
        self.weak = {call.outs[0] for call in graph.calls if self.may_be_weak(call)}

    def may_be_weak(self, call: Call) -> bool:
        """Whether a NumPy number computed from Python ones and one constant may be a Python number in the text.

        It may where every use combines it with something that has its dtype, and no division by zero can come up.
        """
        out = call.outs[0]
        if (
            out.type.kind != "scalar"
            or out.type.dtype != np.float64
            or out in self.outputs
            or call.op.infix not in _WEAKLY
        ):
            return False
        values = [a for a in call.args if isinstance(a, Value)]
        if not values or any(v.type.kind != "python" for v in values):
            return False
        if call.op.infix == "/" and not self.is_size(call.args[1]):
            return False
        users = [u for u in self.graph.calls if any(v is out for v in u.reads)]
        return all(
            u.op.path in _SPREADING
            or (u.op.infix in _WEAKLY and any(isinstance(a, Value) and a is not out and _is_float64(a) for a in u.args))
            for u in users
        )  # fmt: skip

    def is_size(self, x: Any) -> bool:
        """Whether an argument is a number of elements, and not zero."""
        maker = self.maker.get(x) if isinstance(x, Value) else None
        if maker is None or x.type.kind != "python":
            return False
        if maker.op.path in ("count", "size"):
            return 0 not in maker.args[0].type.shape
        return maker.op.infix == "*" and all(self.is_size(a) for a in maker.args)

    # the function
    def function(self, name: str, docstring: str) -> Any:
        """The whole definition."""
        body: list[Any] = [gast.Expr(value=gast.Constant(value=docstring, kind=None))]
        body.extend(self.unpacking)
        for call in self.graph.calls:
            self.call(call)
        body.extend(in_sections(self.statements))
        result = self.signature.result(
            lambda v: self.trees[v] if isinstance(v, Value) else constant_tree(v), self.graph.outputs
        )
        body.append(gast.Return(value=result))
        return gast.FunctionDef(
            name=name, args=self.signature.arguments(), body=body, decorator_list=[], returns=None, type_comment=None,
            **({"type_params": []} if "type_params" in gast.FunctionDef._fields else {}),
        )  # fmt: skip

    # one call
    def call(self, call: Call) -> None:
        """Write a call down: folded into the expression that uses it, or as a statement of its own."""
        name = call.op.name
        if name == "guard" and call.op.inline is False and call.op.path == "guard":
            self.guard(call)
            return
        if call.op.inline and len(body_of(call)) > 1:
            self.spelled_out(call)
            return
        tree = self.expression(call)
        if len(call.outs) > 1 or call.op.n_out != 1:
            targets = [self.fresh(v) for v in call.outs]
            left = gast.Tuple(elts=[name_tree(t, store=True) for t in targets], ctx=gast.Store())
            self.add(gast.Assign(targets=[left], value=tree, type_comment=None), call)
            return
        (out,) = call.outs
        if self.folds(call, out, tree):
            self.trees[out] = tree
            return
        self.add(assign(self.fresh(out), tree), call)

    def add(self, statement: Any, call: Call) -> None:
        self.statements.append((statement, call))

    def fresh(self, v: Value) -> str:
        """A name for a value, under which it is used from here on."""
        wish = self.wishes.get(v)
        if wish is None:
            wish = "out" if v in self.outputs else self.stem
            primal = v.cotangent_of
            if primal in self.called:  # the cotangent of a temporary
                wish = f"d_{self.called[primal]}"
        name = self.called[v] = self.names.new(wish)
        self.trees[v] = name_tree(name)
        return name

    def folds(self, call: Call, out: Value, tree: Any) -> bool:
        """Whether a value is written inside the one expression that uses it."""
        if call.op.path in ("shape", "size", "count"):
            return True  # x.shape costs nothing and says what it is
        if self.uses.get(out, 0) != 1 or (out in self.wishes):
            return False
        user = self.user[out]
        if user.quiet != call.quiet or user.backward != call.backward or user.op.path == "guard":
            return user.op.path == "guard" and not call.quiet and self.length(tree) < _WIDTH // 2
        if user.op.inline and times_used(user, out) != 1:
            return False
        return self.length(tree) + self.other_length(user, out) < _WIDTH - 16

    def length(self, tree: Any) -> int:
        return sum(_token_width(node) for node in gast.walk(tree))

    def other_length(self, user: Call, out: Value) -> int:
        """About how long the expression around `out` becomes."""
        return (
            len(user.op.path)
            + 2
            + sum(self.length(self.trees[v]) + 2 for v in user.reads if v is not out and v in self.trees)
        )

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
        if call is not None and isinstance(x, np.float64) and (call.outs[0] in self.weak or call.op.path in _SPREADING):
            return constant_tree(float(x))
        return constant_tree(in_place_of(x, call) if call is not None else x)

    def expression(self, call: Call) -> Any:
        """A call as an expression."""
        op, args = call.op, call.args
        if op.inline:
            (statement,) = body_of(call)
            return self.inlined(statement.value, call, {})
        if op.path == "operator.getitem":
            return gast.Subscript(value=self.tree(args[0]), slice=self.index(args[1]), ctx=gast.Load())
        if op.path == "shape":
            return gast.Attribute(value=self.tree(args[0]), attr="shape", ctx=gast.Load())
        if op.path == "count":
            return gast.Attribute(value=self.tree(args[0]), attr="size", ctx=gast.Load())
        if op.path == "size":
            shape = gast.Attribute(value=self.tree(args[0]), attr="shape", ctx=gast.Load())
            return gast.Subscript(value=shape, slice=constant_tree(args[1]), ctx=gast.Load())
        symbol = op.infix
        if symbol in _BINARY and len(args) == 2:
            return gast.BinOp(left=self.tree(args[0], call), op=_BINARY[symbol](), right=self.tree(args[1], call))
        if symbol in _COMPARE:
            return gast.Compare(
                left=self.tree(args[0], call), ops=[_COMPARE[symbol]()], comparators=[self.tree(args[1], call)]
            )
        if symbol in _UNARY and len(args) == 1:
            return gast.UnaryOp(op=_UNARY[symbol](), operand=self.tree(args[0], call))
        if (
            op.path == "np.transpose"
            and args[1] is None
            and isinstance(args[0], Value)
            and args[0].type.kind == "array"
        ):
            return gast.Attribute(value=self.tree(args[0]), attr="T", ctx=gast.Load())
        positional, keywords = op.call_form(args)
        path = "abs" if symbol == "abs()" else op.path
        return gast.Call(
            func=name_tree(path),
            args=[self.tree(a, call) for a in positional],
            keywords=[gast.keyword(arg=k, value=self.tree(v)) for k, v in keywords.items()],
        )

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
        return inlined(tree, call, renamed, self.stored if call.op.name in _STORING else self.tree, self.index)

    def stored(self, x: Any) -> Any:
        """An argument that is written into an array, which has its own dtype."""
        return constant_tree(float(x)) if isinstance(x, np.float64) else self.tree(x)

    def spelled_out(self, call: Call) -> None:
        """An op of ours of several statements: its body, in place where its first argument is a buffer of its own."""
        (out,) = call.outs
        first = call.args[0]
        if call.op.consuming is not None and isinstance(first, Value) and self.owned(first):
            self.trees[out] = self.trees[first]
            for statement in body_of(call, consuming=True)[:-1]:
                self.add(self.inlined(statement, call, {}), call)
            return
        body = body_of(call)
        result = body[-1].value.id
        names = {name: self.names.new(name) for name in locals_of(body) if name != result}
        names[result] = self.fresh(out)
        for statement in body[:-1]:
            self.add(self.inlined(statement, call, names), call)

    def owned(self, v: Value) -> bool:
        """Whether a value lies in a buffer that nobody else sees and nobody reads again."""
        maker = self.maker.get(v)
        if maker is None or self.uses.get(v) != 1 or v in self.outputs or v.type.kind != "array":
            return False
        if not isinstance(self.trees.get(v), gast.Name):
            return False
        return maker.op.inline or maker.op.kind.value in _FRESH

    def guard(self, call: Call) -> None:
        """`if not x > 0: return NotImplemented`: another specialisation is wanted."""
        value, how, expect = call.args
        tree = self.tree(value)
        if how == "bool":
            test = gast.UnaryOp(op=gast.Not(), operand=tree) if expect else tree
        else:
            shown: Any = tree
            if how == "item":
                shown = (
                    tree
                    if value.type.kind == "python"
                    else gast.Call(func=gast.Attribute(value=tree, attr="item", ctx=gast.Load()), args=[], keywords=[])
                )
            elif how != "index":
                shown = gast.Call(func=name_tree(how), args=[tree], keywords=[])
            if isinstance(expect, (float, complex)) and (expect != expect or 0 in (expect.real, expect.imag)):
                shown, expect = (
                    gast.Call(func=name_tree("repr"), args=[shown], keywords=[]),
                    repr(expect),
                )  # -0.0 and nan
            test = gast.Compare(left=shown, ops=[gast.NotEq()], comparators=[constant_tree(expect)])
        otherwise = gast.Return(value=name_tree("NotImplemented"))
        note(otherwise, "another specialisation is wanted")
        self.add(gast.If(test=test, body=[otherwise], orelse=[]), call)


def _is_float64(v: Value) -> bool:
    return v.type.kind != "python" and v.type.dtype == np.float64


def _token_width(node: Any) -> int:
    if isinstance(node, gast.Name):
        return len(node.id)
    if isinstance(node, gast.Attribute):
        return len(node.attr) + 1
    if isinstance(node, gast.Constant):
        return len(repr(node.value))
    if isinstance(node, (gast.BinOp, gast.Compare)):
        return 3
    if isinstance(node, (gast.Call, gast.Subscript, gast.Tuple, gast.List, gast.keyword)):
        return 2 + (len(node.arg or "") if isinstance(node, gast.keyword) else 0)
    return 1 if isinstance(node, gast.UnaryOp) else 0
