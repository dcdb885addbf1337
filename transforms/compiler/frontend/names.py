"""Scopes of names: those that a piece of a function reads, binds and shares with closures, by Python's rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import gast

from .nodes import children

__all__ = ["FUNCTIONS", "Uses", "Variables", "closures", "own_nodes", "targets", "uses", "variables"]

FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_CONSUMERS = frozenset(
    ["all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"]
)  # what is done with a generator expression when it returns


class Uses(NamedTuple):
    """The names that some code reads in its own scope, also by way of functions in it, and those that it binds."""

    reads: set[str]
    binds: set[str]


class Variables(NamedTuple):
    """The names of one function: its own, those declared otherwise, and those that closures in it share."""

    own: set[str]
    parameters: set[str]
    declared: dict[str, str]  # name: "global" or "nonlocal"
    shared: dict[str, list[Any]]  # name: the functions, generators and classes in it that read or bind it


def parts(node: Any) -> Iterator[Any]:
    """The nodes of `node` that are run in the scope where it stands."""
    if isinstance(node, FUNCTIONS):
        yield from getattr(node, "decorator_list", ())
        yield from node.args.defaults
        yield from (d for d in node.args.kw_defaults if d is not None)
    elif isinstance(node, gast.ClassDef):
        yield from (*node.decorator_list, *node.bases, *node.keywords)
    elif isinstance(node, _COMPREHENSIONS):
        yield node.generators[0].iter
    else:
        yield from children(node)


def own_nodes(nodes: Iterable[Any]) -> Iterator[Any]:
    """All nodes that run in the same scope as these; those of comprehensions, which run at once, among them."""
    for node in nodes:
        yield node
        if isinstance(node, _COMPREHENSIONS) and not isinstance(node, gast.GeneratorExp):
            yield from own_nodes(children(node))
        else:
            yield from own_nodes(parts(node))


def uses(nodes: Iterable[Any]) -> Uses:
    """Return the names that statements or expressions read and bind in their scope."""
    reads: set[str] = set()
    binds: set[str] = set()
    for node in nodes:
        _add(node, reads, binds)
    return Uses(reads, binds)


def _add(node: Any, reads: set[str], binds: set[str]) -> None:
    if isinstance(node, gast.Name):
        if isinstance(node.ctx, gast.Load):
            reads.add(node.id)
        else:
            binds.add(node.id)
            if isinstance(node.ctx, gast.Del):
                reads.add(node.id)
        return
    if isinstance(node, _COMPREHENSIONS):
        _add_comprehension(node, reads, binds)
        return
    if isinstance(node, FUNCTIONS):
        reads |= free_names(node)
        binds.update([node.name] if not isinstance(node, gast.Lambda) else [])
    elif isinstance(node, gast.ClassDef):
        inner = uses(node.body)
        reads |= inner.reads | inner.binds  # a name that the class binds later is read from outside before
        binds.add(node.name)
    elif isinstance(node, (gast.Import, gast.ImportFrom)):
        binds.update(a.asname or a.name.partition(".")[0] for a in node.names)
    elif isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
        reads.add(node.target.id)
    binds.update(_bound_by(node))
    for part in parts(node):
        _add(part, reads, binds)


def _bound_by(node: Any) -> list[str]:
    """The name that an `except`, or a pattern of a `match`, binds."""
    if isinstance(node, (gast.ExceptHandler, gast.MatchAs, gast.MatchStar)):
        name = node.name.id if isinstance(node.name, gast.Name) else node.name
        return [] if name is None else [name]
    return [node.rest] if isinstance(node, gast.MatchMapping) and node.rest else []


def _add_comprehension(node: Any, reads: set[str], binds: set[str]) -> None:
    """The targets are its own; what a walrus in it binds belongs to the function."""
    own = {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
    walrus = {n.target.id for n in gast.walk(node) if isinstance(n, gast.NamedExpr)}
    inner = uses(children(node))
    first = uses([node.generators[0].iter])
    reads |= (inner.reads - own) | first.reads
    binds |= (inner.binds & walrus) | first.binds


def free_names(function: Any) -> set[str]:
    """The names that a function reads or binds outside of itself."""
    body = function.body if isinstance(function.body, list) else [function.body]
    inner = uses(body)
    own, _, declared = _own(function, inner)
    outer = {n for n, how in declared.items() if how == "nonlocal"}
    hidden = {n for n, how in declared.items() if how == "global"}
    defaults = uses(parts(function))
    return ((inner.reads - own) | outer | defaults.reads) - (hidden - defaults.reads)


def _own(function: Any, inner: Uses) -> tuple[set[str], set[str], dict[str, str]]:
    args = function.args
    given = [*args.args, *args.posonlyargs, *args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])]
    parameters = {a.id for a in given}
    declared: dict[str, str] = {}
    for node in own_nodes(function.body) if isinstance(function.body, list) else ():
        if isinstance(node, (gast.Global, gast.Nonlocal)):
            declared.update(dict.fromkeys(node.names, type(node).__name__.lower()))
    return (inner.binds | parameters) - declared.keys(), parameters, declared


def variables(function: Any) -> Variables:
    """The names of a function, and which of them it shares with the functions, generators and classes in it."""
    body = function.body if isinstance(function.body, list) else [function.body]
    own, parameters, declared = _own(function, uses(body))
    shared: dict[str, list[Any]] = {}
    for node in closures(body):
        reads = uses([node]).reads if not isinstance(node, FUNCTIONS) else free_names(node) - _of_defaults(node)
        for name in reads & own:
            shared.setdefault(name, []).append(node)
    return Variables(own, parameters, declared, shared)


def _of_defaults(function: Any) -> set[str]:
    """The names that only the defaults and decorators of a function read."""
    body = function.body if isinstance(function.body, list) else [function.body]
    inner = uses(body)
    own, _, declared = _own(function, inner)
    return uses(parts(function)).reads - ((inner.reads - own) | declared.keys())


def closures(nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield the functions and classes of a scope: they may run, or be asked for a name, after the statement that defines them."""
    for node in nodes:
        if isinstance(node, (*FUNCTIONS, gast.ClassDef, gast.GeneratorExp)):
            yield node
            yield from closures(parts(node))
        elif isinstance(node, gast.Call) and _consumes(node):
            yield from closures(children(node.args[0]))
        else:
            yield from closures(children(node))


def _consumes(call: Any) -> bool:
    """Whether a call is that of `sum`, or its like, with a generator expression."""
    if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], gast.GeneratorExp):
        return False
    return isinstance(call.func, gast.Name) and call.func.id in _CONSUMERS


def targets(node: Any) -> Iterator[str]:
    """The plain names that a target binds for sure."""
    if isinstance(node, gast.Name):
        yield node.id
    elif isinstance(node, (gast.Tuple, gast.List)):
        for element in node.elts:
            yield from targets(element)
    elif isinstance(node, gast.Starred):
        yield from targets(node.value)
