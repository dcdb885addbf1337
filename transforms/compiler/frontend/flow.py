"""Liveness: the names that are live and bound at each loop and branch of a function whose jumps are rewritten."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast

from .names import FUNCTIONS, targets, uses
from .nodes import children
from .rejected import swallows

__all__ = ["annotate"]

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_TRIES = tuple(getattr(gast, n) for n in ("Try", "TryStar") if hasattr(gast, n))
_WITHS = (gast.With, gast.AsyncWith)
_LOOPS = (gast.While, gast.For, gast.AsyncFor)
Live = frozenset[str]
Bound = frozenset[str] | None  # None where nothing gets to


def annotate(function: Any, own: set[str], parameters: set[str]) -> None:
    """Write on each `if` and loop what the conversion asks about it, and on each read of a name whether it may be unbound.

    `gs_live`: what is live after it; `gs_head`: at the head of a loop; `gs_branches`: at the start of both branches;
    `gs_entry`: what is live before its first trip or branch; `gs_bound`: the names that are bound there. `gs_maybe` of a
    name: it may be unbound.
    """
    _Liveness().block(function.body, frozenset())
    _Binding(own).block(function.body, frozenset(parameters))


class _Liveness:
    """Backwards: which names may be read before they are bound anew."""

    def __init__(self) -> None:
        self._breaks: list[Live] = []
        self._continues: list[Live] = []

    def block(self, statements: list[Any], live: Live) -> Live:
        for s in reversed(statements):
            live = self._statement(s, live)
        return live

    def _statement(self, s: Any, live: Live) -> Live:
        if isinstance(s, (gast.Return, gast.Raise)):
            return frozenset(uses([s]).reads)
        if isinstance(s, gast.Break):
            return self._breaks[-1]
        if isinstance(s, gast.Continue):
            return self._continues[-1]
        if isinstance(s, gast.If):
            s.gs_live = live
            s.gs_branches = self.block(s.body, live), self.block(s.orelse, live)
            entry: Live = s.gs_branches[0] | s.gs_branches[1]
            s.gs_entry = entry
            return entry | uses([s.test]).reads
        if isinstance(s, _LOOPS):
            return self._loop(s, live)
        if isinstance(s, _TRIES):  # nothing in it is converted, and an exception may come from anywhere
            jumps = frozenset[str]().union(*self._breaks[-1:], *self._continues[-1:])
            return live | uses([s]).reads | jumps
        if isinstance(s, _WITHS):
            inner: Live = self.block(s.body, live)
            return inner | uses(s.items).reads | (live if swallows(s) else frozenset())
        if isinstance(s, gast.Match):
            inner = live.union(
                *[self.block(c.body, live) | uses([c.pattern, *filter(None, [c.guard])]).reads for c in s.cases]
            )
            return inner | uses([s.subject]).reads
        return (live - _binds(s)) | uses([s]).reads

    def _loop(self, s: Any, live: Live) -> Live:
        out = self.block(s.orelse, live)
        over = isinstance(s, gast.While)
        test = frozenset(uses([s.test] if over else filter(None, [getattr(s, "gs_test", None)])).reads)
        target = frozenset() if over else frozenset(uses([s.target]).reads)
        bound = frozenset() if over else frozenset(targets(s.target))
        head, before = out | test, None
        self._breaks.append(live)
        while head != before:
            before = head
            self._continues.append(head)
            start = (self.block(s.body, head) - bound) | target
            self._continues.pop()
            head = head | start
        self._breaks.pop()
        s.gs_live, s.gs_head = live, head
        entry: Live = start | test if getattr(s, "gs_once", False) else head
        s.gs_entry = entry
        return entry if over else entry | uses([s.iter]).reads


def _binds(s: Any) -> set[str]:
    """The names that a simple statement binds, whatever happens."""
    if isinstance(s, gast.Assign):
        return {n for t in s.targets for n in targets(t)}
    if isinstance(s, gast.AnnAssign):
        return set(targets(s.target)) if s.value is not None else set()
    if isinstance(s, (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Import, gast.ImportFrom)):
        return uses([s]).binds
    return set()


class _Binding:
    """Forwards: which names are bound on every path."""

    def __init__(self, own: set[str]) -> None:
        self._own = own
        self._breaks: list[list[Bound]] = []

    def block(self, statements: list[Any], bound: Bound) -> Bound:
        for s in statements:
            bound = self._statement(s, frozenset(self._own) if bound is None else bound)
        return bound

    def _statement(self, s: Any, bound: frozenset[str]) -> Bound:
        if isinstance(s, gast.If):
            bound = self._read([s.test], bound)
            s.gs_bound = bound
            return _both(self.block(s.body, bound), self.block(s.orelse, bound))
        if isinstance(s, _LOOPS):
            return self._loop(s, bound)
        if isinstance(s, _TRIES):
            return self._try(s, bound)
        if isinstance(s, _WITHS):
            inner = self._read(s.items, bound)
            for item in s.items:
                inner |= frozenset(targets(item.optional_vars))
            end = self.block(s.body, inner)
            return _both(end, inner - _deleted(s.body)) if swallows(s) else end
        if isinstance(s, gast.Match):
            bound = self._read([s.subject], bound)
            after: Bound = bound
            for case in s.cases:
                patterns = bound | uses([case.pattern]).binds
                self._read(filter(None, [case.guard]), patterns)
                after = _both(after, self.block(case.body, patterns))
            return after
        bound = self._read([s], bound)
        if isinstance(s, gast.Delete):
            return bound - {n.id for n in s.targets if isinstance(n, gast.Name)}
        if isinstance(s, (gast.Return, gast.Raise, gast.Continue)):
            return None
        if isinstance(s, gast.Break):
            self._breaks[-1].append(bound)
            return None
        return bound | _binds(s)

    def _loop(self, s: Any, bound: frozenset[str]) -> Bound:
        over = isinstance(s, gast.While)
        if not over:
            bound = self._read([s.iter], bound)
        head: Bound = bound
        before: Bound = None
        s.gs_bound = bound
        while head != before:
            before = head
            assert head is not None
            start = (
                self._read([s.test], head) if over else self._read(filter(None, [getattr(s, "gs_test", None)]), head)
            )
            if not over:
                start = self._read([s.target], start) | frozenset(targets(s.target))
            self._breaks.append([])
            end = self.block(s.body, start)
            left = self._breaks.pop()
            head = head - _deleted(s.body)
        s.gs_bound = head
        if getattr(s, "gs_once", False):
            return end
        endless = over and isinstance(s.test, gast.Constant) and bool(s.test.value)
        out = self.block(s.orelse, start if over else head)
        out = None if endless else out
        for b in left:
            out = _both(out, b)
        return out

    def _try(self, s: Any, bound: frozenset[str]) -> Bound:
        lost = _deleted([s])
        out = self.block(s.body, bound)
        out = self.block(s.orelse, out) if out is not None else None
        for handler in s.handlers:
            inner = self._read(filter(None, [handler.type]), bound - lost)
            name = getattr(handler.name, "id", handler.name)
            named = frozenset() if name is None else frozenset([name])
            after = self.block(handler.body, inner | named)
            out = _both(out, after and after - named)
        last = self.block(s.finalbody, bound - lost)
        if last is None or out is None:
            return None
        return out | (last - bound)

    def _read(self, nodes: Iterable[Any], bound: frozenset[str]) -> frozenset[str]:
        """Note the reads of names that may be unbound; what a walrus binds for sure is bound after."""
        for node in nodes:
            self._mark(node, bound)
            for sure in _surely(node):
                if isinstance(sure, gast.NamedExpr):
                    bound |= {sure.target.id}
        return bound

    def _mark(self, node: Any, bound: frozenset[str]) -> None:
        if isinstance(node, gast.Name):
            if not isinstance(node.ctx, (gast.Store, gast.Param)) and node.id in self._own and node.id not in bound:
                node.gs_maybe = True
        elif isinstance(node, _COMPREHENSIONS):
            self._mark(node.generators[0].iter, bound)
            inner = bound | {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
            for part in children(node):
                for own in (*part.ifs, part.iter) if isinstance(part, gast.comprehension) else (part,):
                    if own is not node.generators[0].iter:
                        self._mark(own, inner)
        elif isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            for part in _outer_parts(node):
                self._mark(part, bound)
        else:
            if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
                node.gs_maybe = node.target.id in self._own and node.target.id not in bound
            for part in children(node):
                self._mark(part, bound)


def _outer_parts(node: Any) -> list[Any]:
    if isinstance(node, gast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    return [*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)]


def _surely(node: Any) -> Iterable[Any]:
    """The nodes of an expression that are evaluated whatever its values are."""
    yield node
    if isinstance(node, gast.BoolOp):
        yield from _surely(node.values[0])
    elif isinstance(node, gast.IfExp):
        yield from _surely(node.test)
    elif isinstance(node, gast.Compare):
        yield from _surely(node.left)
        yield from _surely(node.comparators[0])
    elif not isinstance(node, (*_COMPREHENSIONS, *FUNCTIONS, gast.ClassDef)):
        for part in children(node):
            yield from _surely(part)


def _both(a: Bound, b: Bound) -> Bound:
    return b if a is None else a if b is None else a & b


def _deleted(statements: list[Any]) -> frozenset[str]:
    """The names that `del`, or the end of an `except`, may unbind."""
    nodes = [n for s in statements for n in gast.walk(s)]
    names = {n.id for n in nodes if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Del)}
    caught = {getattr(n.name, "id", n.name) for n in nodes if isinstance(n, gast.ExceptHandler)}
    return frozenset(names | {n for n in caught if n is not None})
