"""The conversion of one function's tree: its loops and branches become functions that the operators are called with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast

from .expressions import Expressions, Frame
from .flow import annotate
from .impurity import appends, impurities, written
from .jumps import Jumps
from .names import own_nodes, uses, variables
from .nodes import assign, at, blocks_of, constant, function, load, names_bound, operator_call, store, thunk, tuple_of
from .rejected import Rejections

__all__ = ["Fresh", "Keep", "convert_tree", "is_generator", "lines_of_helpers"]

_SIGNS = {
    gast.Add: "iadd", gast.Sub: "isub", gast.Mult: "imul", gast.Div: "itruediv", gast.FloorDiv: "ifloordiv",
    gast.Mod: "imod", gast.Pow: "ipow", gast.MatMult: "imatmul", gast.BitAnd: "iand", gast.BitOr: "ior",
    gast.BitXor: "ixor", gast.LShift: "ilshift", gast.RShift: "irshift",
}  # fmt: skip


class Keep(Exception):
    """A statement, told by its place, cannot be converted after all; with the reason."""


class Fresh:
    """Names that no name of a function's source is, nor any given before."""

    def __init__(self, tree: Any) -> None:
        self._taken = {str(v) for n in gast.walk(tree) for f in ("id", "name", "arg") if (v := getattr(n, f, None))}
        self._taken |= {name for n in gast.walk(tree) for name in getattr(n, "names", ()) if isinstance(name, str)}

    def __call__(self, wish: str) -> str:
        name, k = wish, 1
        while name in self._taken:
            k += 1
            name = f"{wish}_{k}"
        self._taken.add(name)
        return name


def convert_tree(
    tree: Any, fresh: Fresh, helpers: set[str], keep: dict[tuple[int, int], str], sizes: bool = False
) -> None:
    """Convert a FunctionDef or Lambda in place; the names of the functions that this makes are added to `helpers`.

    `keep` are the places of statements that stay as they are. Raises Keep where there is one more: the tree is lost then.
    With `sizes`, arithmetic is converted too, so that sizes in it are seen.
    """
    names = variables(tree)
    if isinstance(tree, gast.Lambda):
        tree.body = Expressions(names.own, names.own, set(), fresh, tree, sizes).one(tree.body)
        return
    rejections = Rejections(tree, names, keep)
    jumps = Jumps(tree, rejections, fresh)
    jumps.run()
    own = names.own | jumps.own
    annotate(tree, own, names.parameters)
    _Statements(tree, own, set(rejections.native), jumps, names.declared, fresh, helpers, keep, sizes).run()


class _Statements:
    """Writes the statements of one function anew, with a function for each body and branch."""

    def __init__(
        self, tree: Any, own: set[str], native: set[str], jumps: Jumps, declared: dict[str, str], fresh: Fresh,
        helpers: set[str], keep: dict[tuple[int, int], str], sizes: bool,
    ) -> None:  # fmt: skip
        self.tree, self.own, self.native, self.jumps = tree, own, native, jumps
        self.declared, self.fresh, self.helpers, self.keep = declared, fresh, helpers, keep
        self.sizes = sizes
        self.expressions = Expressions(own, native, jumps.own, fresh, tree, sizes)
        self.lists = {n for n in _lists(tree.body) if n in own and n not in native}

    def run(self) -> None:
        """Rewrite the body of the function in place."""
        parameters = {n.id for n in gast.walk(self.tree.args) if isinstance(n, gast.Name)}
        frame = self.expressions.frame = Frame(parameters)
        body = self._block(self.tree.body)
        start = 1 if body and _is_docstring(body[0]) else 0
        body[start:start] = self._undefined(frame.wanted - parameters)
        body[start:start] = self._declarations(self.declared)
        used = uses(body)
        for name in sorted((self.own & used.reads) - used.binds - parameters):  # bound only where nothing gets to
            never = constant(False, self.tree)
            body.append(
                at(gast.If(test=never, body=[assign(name, constant(None, self.tree), self.tree)], orelse=[]), never)
            )
        self.tree.body = body

    def _undefined(self, names: Iterable[str]) -> list[Any]:
        place = self.tree
        return [assign(n, operator_call("undef", [constant(n, place)], place), place) for n in sorted(names)]

    def _declarations(self, names: Iterable[str]) -> list[Any]:
        made = []
        for kind, how in (("global", gast.Global), ("nonlocal", gast.Nonlocal)):
            found = sorted(n for n in names if self.declared.get(n) == kind)
            if found:
                made.append(at(how(names=found), self.tree))
        return made

    def _function(self, wish: str, parameters: list[str], statements: list[Any], state: list[str], place: Any) -> Any:
        """A body or branch as a function that takes the state and gives it."""
        name = self.fresh(f"{wish}_{place.lineno}")
        self.helpers.add(name)
        outer = self.expressions.frame
        frame = self.expressions.frame = Frame(set(parameters), outer)
        body = self._block(statements)
        body.append(at(gast.Return(value=tuple_of([load(n, place) for n in state], place)), place))
        self.expressions.frame = outer
        bound = uses(body).binds
        here = (frame.wanted & bound) - frame.parameters
        outer.wanted |= frame.wanted - here - frame.parameters
        body[:0] = [*self._declarations(bound), *self._undefined(here)]
        return function(name, parameters, body, self.tree)

    # statements
    def _block(self, statements: list[Any]) -> list[Any]:
        return [made for s in statements for made in self._statement(s)]

    def _statement(self, s: Any) -> list[Any]:
        rewrite = getattr(self, f"_{type(s).__name__.lower()}", None)
        if rewrite is not None:
            found: list[Any] = rewrite(s)
            return found
        blocks = list(blocks_of(s))
        if not blocks:
            return [self.expressions.within(s)]
        kept = [list(b) for b in blocks]
        for b in blocks:
            b.clear()
        self.expressions.within(s)
        for b, inner in zip(blocks, kept, strict=True):
            b[:] = self._block(inner)
        return [s]

    def _functiondef(self, s: Any) -> list[Any]:
        s.decorator_list = self.expressions.all(s.decorator_list)
        s.args.defaults = self.expressions.all(s.args.defaults)
        s.args.kw_defaults = [d and self.expressions.one(d) for d in s.args.kw_defaults]
        if not is_generator(s):
            convert_tree(s, self.fresh, self.helpers, self.keep, self.sizes)
        return [s]

    def _asyncfunctiondef(self, s: Any) -> list[Any]:
        return [s]

    def _classdef(self, s: Any) -> list[Any]:
        return [s]

    def _global(self, s: Any) -> list[Any]:
        return [at(gast.Pass(), s)]

    def _nonlocal(self, s: Any) -> list[Any]:
        return [at(gast.Pass(), s)]

    def _assign(self, s: Any) -> list[Any]:
        if isinstance(s.value, gast.Subscript):  # `W, b = layers[k]`
            s.value.gs_called = names_bound(s.targets[0])
        return [self.expressions.within(s)]

    def _annassign(self, s: Any) -> list[Any]:
        if not isinstance(s.target, gast.Name):
            return [self.expressions.within(s)]
        if s.value is None:
            return [at(gast.Pass(), s)]
        return [assign(s.target, self.expressions.one(s.value), s)]

    def _augassign(self, s: Any) -> list[Any]:
        if not isinstance(s.target, gast.Name):
            return [self.expressions.within(s)]
        name = s.target.id
        before = self.expressions.read(name, s.target) if getattr(s, "gs_maybe", False) else load(name, s.target)
        made = operator_call(_SIGNS[type(s.op)], [before, self.expressions.one(s.value)], s)
        return [assign(s.target, made, s)]

    def _delete(self, s: Any) -> list[Any]:
        made: list[Any] = []
        for target in s.targets:
            if isinstance(target, gast.Name) and target.id in self.own - self.native:
                words = [constant(target.id, target), constant(target.lineno, target)]
                made.append(assign(target.id, operator_call("delete", [load(target.id, target), *words], target), s))
                if getattr(target, "gs_maybe", False):
                    self.expressions.frame.wanted.add(target.id)
            else:
                target = target if isinstance(target, gast.Name) else self.expressions.one(target)
                made.append(at(gast.Delete(targets=[target]), s))
        return made

    def _expr(self, s: Any) -> list[Any]:
        name = appends(s)
        if name not in self.lists:
            return [self.expressions.within(s)]
        call = s.value
        made = operator_call(
            "append", [self.expressions.one(call.func.value), self.expressions.one(call.args[0])], call
        )
        return [assign(name, made, s)]

    def _assert(self, s: Any) -> list[Any]:
        if not __debug__ or (s.msg is not None and any(isinstance(n, gast.NamedExpr) for n in own_nodes([s.msg]))):
            return [self.expressions.within(s)]
        message = constant(None, s) if s.msg is None else self.expressions.later(s.msg)
        args = [self.expressions.one(s.test, True), message, constant(s.lineno, s)]
        return [at(gast.Expr(value=operator_call("assert_", args, s)), s)]

    # control flow
    def _if(self, s: Any) -> list[Any]:
        test = self.expressions.one(s.test, True)
        if (reason := getattr(s, "gs_reason", None)) is not None:
            s.test = operator_call("truth", [test, constant(s.lineno, s), constant(reason, s)], s.test)
            s.body, s.orelse = self._block(s.body) or [at(gast.Pass(), s)], self._block(s.orelse)
            return [s]
        state = self._state(s, [(s.body, s.gs_branches[0] | s.gs_live), (s.orelse, s.gs_branches[1] | s.gs_live)])
        notes = self._notes([*s.body, *s.orelse], state)
        given, names = self._given(s, state), constant(tuple(state), s)
        then = self._function("then", state, s.body, state, s)
        orelse = self._function("else", state, s.orelse, state, s)
        args = [test, load(then.name, s), load(orelse.name, s), given, names, constant(s.lineno, s)]
        then.gs_of = None if hasattr(s, "gs_made") else s.lineno
        return [then, orelse, self._result(state, operator_call("if_", args, s.test, **notes), s)]

    def _while(self, s: Any) -> list[Any]:
        if (reason := getattr(s, "gs_reason", None)) is not None:
            test = self.expressions.one(s.test, True)
            s.test = operator_call("truth", [test, constant(s.lineno, s), constant(reason, s)], s.test)
            s.body, s.orelse = self._block(s.body), self._block(s.orelse)
            return [s]
        state = self._state(s, [(s.body, s.gs_head | s.gs_live)])
        notes = self._notes([s.test, *s.body], state) | self._dead(s, state)
        given, names = self._given(s, state), constant(tuple(state), s)
        test = self._test(s.test, state)
        body = self._function("body", state, s.body, state, s)
        args = [test, load(body.name, s), given, names, constant(s.lineno, s)]
        body.gs_of = None if hasattr(s, "gs_made") else s.lineno
        return [body, self._result(state, operator_call("while_", args, s.test, **notes), s)]

    def _for(self, s: Any) -> list[Any]:
        iterable = self.expressions.one(s.iter)
        if (reason := getattr(s, "gs_reason", None)) is not None:
            s.iter = operator_call("trips", [iterable, constant(s.lineno, s), constant(reason, s)], s.iter)
            s.target = self.expressions.one(s.target)
            s.body, s.orelse = self._block(s.body), self._block(s.orelse)
            return [s]
        self.expressions.counters |= {n.id for n in gast.walk(s.target) if isinstance(n, gast.Name)}
        state = self._state(s, [([s.target, *s.body], s.gs_head | s.gs_live)])
        notes = self._notes([s.target, *s.body], state) | self._dead(s, state)
        given, names = self._given(s, state), constant(tuple(state), s)
        test = constant(None, s) if s.gs_test is None else self._test(s.gs_test, state)
        body, item = s.body, names_bound(s.target)
        if (
            not isinstance(s.target, gast.Name)
            or s.target.id in state
            or s.target.id in self.native | self.declared.keys()
        ):
            given_item = self.fresh("item")
            body = [assign(s.target, load(given_item, s.target), s.target), *body]
        else:
            given_item = s.target.id
        made = self._function("body", [given_item, *state], body, state, s)
        args = [iterable, load(made.name, s), given, names, constant(item, s), test, constant(s.lineno, s)]
        made.gs_of = None if hasattr(s, "gs_made") else s.lineno
        return [made, self._result(state, operator_call("for_", args, s.iter, **notes), s)]

    def _test(self, test: Any, state: list[str]) -> Any:
        outer = self.expressions.frame
        frame = self.expressions.frame = Frame(set(state), outer)
        made = thunk(self.expressions.one(test, True), self.tree, state)
        self.expressions.frame = outer
        outer.wanted |= frame.wanted - frame.parameters
        return made

    def _state(self, s: Any, blocks: list[tuple[list[Any], frozenset[str]]]) -> list[str]:
        """Return the variables that a loop or branch stores and that are read before that, or behind it, in source order."""
        found: set[str] = set()
        for statements, live in blocks:
            found |= (uses(statements).binds | (set(written(statements, self.lists)) - self.native)) & live
        found &= self.own
        order: dict[str, None] = {}
        for node in own_nodes([s]):
            if isinstance(node, gast.Name) and node.id in found:
                order[node.id] = None
        names = [*order, *sorted(found - order.keys())]
        return sorted(names, key=self.jumps.own.__contains__)  # ours come last

    def _dead(self, s: Any, state: list[str]) -> dict[str, Any]:
        """The names of the state that nobody reads behind the loop."""
        names = tuple(name for name in state if name not in s.gs_live | self.jumps.own)
        return {"dead": names} if names else {}

    def _given(self, s: Any, state: list[str]) -> Any:
        """The state before it: what nobody reads there is not bound."""
        parts = []
        for name in state:
            if name not in s.gs_entry:
                parts.append(operator_call("undef", [constant(name, s)], s))
                continue
            parts.append(load(name, s))
            if name not in s.gs_bound:
                if name in self.native:
                    raise Keep((s.lineno, s.col_offset), f"binds `{name}`, which a closure shares")
                self.expressions.frame.wanted.add(name)
        return tuple_of(parts, s)

    def _result(self, state: list[str], made: Any, s: Any) -> Any:
        if not state:
            return at(gast.Expr(value=made), s)
        return assign(tuple_of([store(n, s) for n in state], s, gast.Store()), made, s)

    def _notes(self, nodes: list[Any], state: list[str]) -> dict[str, Any]:
        """Return further arguments of the operator: lines that no region may hold, names written into, flags of ours."""
        stores = set(written(nodes, set()))
        found = {
            "impure": impurities(nodes, self.own, self.declared),
            "stores": tuple(n for n in state if n in stores),
            "flags": tuple(n for n in state if n in self.jumps.flags),
        }
        return {k: v for k, v in found.items() if v}


def is_generator(tree: Any) -> bool:
    """Whether a function gives its values one by one, or waits."""
    return any(isinstance(n, (gast.Yield, gast.YieldFrom, gast.Await)) for n in own_nodes(tree.body))


def lines_of_helpers(tree: Any) -> set[int]:
    """The lines on which a lambda is ours, not the user's: those where the functions of `tree` begin."""
    lambdas = {n.lineno for n in gast.walk(tree) if isinstance(n, gast.Lambda) and n is not tree}
    return {n.lineno for n in gast.walk(tree) if isinstance(n, gast.FunctionDef) or n is tree} - lambdas


def _lists(body: list[Any]) -> Iterable[str]:
    """The names that are somewhere bound to a list made there."""
    for node in own_nodes(body):
        if isinstance(node, gast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, gast.Tuple) and isinstance(node.value, gast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                for one, value in pairs:
                    if isinstance(one, gast.Name) and isinstance(value, (gast.List, gast.ListComp)):
                        yield one.id


def _is_docstring(s: Any) -> bool:
    return isinstance(s, gast.Expr) and isinstance(s.value, gast.Constant) and isinstance(s.value.value, str)
