"""Statements of generated source: the call that each computes, its user line, and the first that gives a wrong value."""

from __future__ import annotations

import ast
import contextlib
import copy
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....runtime.arrays import is_array, is_plain_array
from ....runtime.ir.graph import Call, Graph, Value, interpret
from ....runtime.rules.control import GuardMissError
from ....tracer.core.site import Site
from ...difference import is_near
from ..capture.generators import copies_of, is_generator, muted, privately
from ..frontend.user_names import line_text
from .free_sizes import without_length_guard
from .guards.inputs import RUNTIME, Inputs

if TYPE_CHECKING:
    from ..python.emit import Defined
    from ..python.walk import Walk
    from .specialise import Entry, Specialisation

__all__ = ["Statement", "failing_guard", "first_difference", "graph_inputs", "quoted", "statements"]


class Statement(NamedTuple):
    """One statement: its lines in the source, the call that it belongs to, the variables that hold that call's results."""

    first: int
    last: int
    call: Call
    names: dict[Value, str]


def quoted(site: Site | None) -> str:
    """`model.py:6: r = x @ w`; empty where nothing is known."""
    text = "" if site is None else line_text(site)
    return "" if site is None else f"{site}: {text}" if text else str(site)


def statements(specialisation: Specialisation) -> list[Statement]:
    """The statements of a source that belong to calls; none where source and graph do not fit together."""
    from ..python.emit import defined, walks_of_functions  # stands on gast, which is slow to load

    walk = specialisation.walk()  # as it wrote the source
    made = defined(walk, "f")
    functions = walks_of_functions(made.definition)
    *helpers, function = [node for node in ast.parse(specialisation.text).body if isinstance(node, ast.FunctionDef)]
    if [helper.name for helper in helpers] != list(functions):
        return []
    found = [
        statement._replace(names={})  # of each call of the function others
        for helper, its in zip(helpers, functions.values(), strict=True)
        for statement in _statements_of(its, defined(its, helper.name), helper)
    ]
    return found + _statements_of(walk, made, function)


def _statements_of(walk: Walk, made: Defined, function: ast.FunctionDef) -> list[Statement]:
    """The statements of one function, as it was written and as it stands in the text."""
    from ..python.entries import each_statement  # stands on gast
    from ..python.tuples import parts_of

    named = {v: tree.id for v, tree in walk.trees.items() if hasattr(tree, "id") and v not in walk.lists.bundled}
    written, nodes = list(_each(made.definition.body)), list(_each(function.body))
    if len(nodes) != len(written):
        return []
    at = {id(tree): node for tree, node in zip(written, nodes, strict=True)}
    return [
        Statement(node.lineno, _header_of(node).end_lineno, call, {v: named[v] for v in call.outs if v in named})
        for node, parts in ((at[id(line[0])], parts_of(line)) for line in each_statement(made.entries))
        for _, call in parts
    ]


def _each(body: list[Any]) -> Iterator[Any]:
    """Each statement, those in other statements among them."""
    for node in body:
        yield node
        yield from _each(getattr(node, "body", []))
        yield from _each(getattr(node, "orelse", []))


def _header_of(node: Any) -> Any:
    """The statement, or of a loop or a branch its first line."""
    return node.iter if hasattr(node, "iter") else getattr(node, "test", node)


def _places(body: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Each statement as its list and its place there, those in other statements among them."""
    for k, node in enumerate(body):
        yield body, k
        yield from _places(getattr(node, "body", []))
        yield from _places(getattr(node, "orelse", []))


def graph_inputs(entry: Entry, inputs: Inputs) -> list[Any]:
    """The inputs of the graph for a call: copies of the arguments that are not static, and arrays from outside."""
    free = entry.plan.free
    own = [
        v for k, v in enumerate(inputs.again().leaves)
        if k not in inputs.fixed and (is_plain_array(v) or isinstance(v, RUNTIME) or is_generator(v) or k in free)
    ]  # fmt: skip
    return [*own, *copies_of({k: copy.copy(path.read()) for k, (_, path) in enumerate(entry.extras)}).values()]


def failing_guard(entry: Entry, inputs: Inputs) -> tuple[Call, Any] | None:
    """The guard within the source that fails for a call, and what it found; None where none does."""
    furthest: tuple[int, Call, Any] | None = None
    for graph in entry.specialisation.straight():
        failed = _failing_in(graph, entry, inputs)
        if failed is not None and failed[1].args[1] == "length" and failed[2] in (entry.lengths or ()):
            failed = _failing_in(without_length_guard(graph), entry, inputs)
        if failed is not None and (furthest is None or failed[0] > furthest[0]):
            furthest = failed
    return None if furthest is None else furthest[1:]


def _failing_in(graph: Graph, entry: Entry, inputs: Inputs) -> tuple[int, Call, Any] | None:
    """The place of the guard of a graph that fails for a call, the guard, and what it found."""
    done: list[Call] = []
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            interpret(privately(graph), graph_inputs(entry, inputs), lambda call, _: done.append(call))
    except GuardMissError as miss:
        return len(done), graph.calls[len(done)], miss.args[0]
    except Exception:  # an error of the user's, which is not what is asked for
        return None
    return None


def first_difference(entry: Entry, inputs: Inputs) -> str:
    """In words, the first statement whose value is not that of the eager operation; empty where all are the same."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _first_difference(entry, inputs)
    except Exception:  # a broken source has many ways to fail, and the difference itself is reported already
        return ""


def _first_difference(entry: Entry, inputs: Inputs) -> str:
    specialisation = entry.specialisation
    expected: dict[Value, Any] = {}
    for graph in specialisation.known():  # where both know a value, the recorded one counts
        with contextlib.suppress(GuardMissError):
            interpret(
                privately(without_length_guard(graph)),
                graph_inputs(entry, inputs),
                lambda c, r: expected.update(zip(c.outs, r, strict=True)),
            )
    known = statements(specialisation)
    found = _values_of(entry, inputs, known)
    for k, statement in enumerate(known):
        if k not in found or (k + 1 < len(known) and known[k + 1].call is statement.call):
            continue
        for (v, name), pieces in zip(statement.names.items(), zip(*found[k], strict=True), strict=True):
            problem = (
                None if v not in expected else _unlike(_whole(pieces, expected[v]), expected[v], specialisation.eps)
            )
            if problem is not None:
                line = specialisation.text.splitlines()[statement.first - 1].strip()
                origin = quoted(statement.call.site)
                return (
                    f"`{name}` is the first variable that differs, at line {statement.first} of the generated source, "
                    f"`{line}`" + (f", from {origin}" if origin else "") + f": {problem}"
                )
    return ""


def _values_of(entry: Entry, inputs: Inputs, known: list[Statement]) -> dict[int, list[list[Any]]]:
    """Copies of what each statement computes, each time that it runs, in one run of the source on copies of the arguments."""
    found: dict[int, list[list[Any]]] = {}

    def look(k: int, *values: Any) -> None:
        found.setdefault(k, []).append([v.copy() if is_array(v) else v for v in values])

    tree = ast.parse(entry.specialisation.text)
    function: Any = tree.body[-1]
    at: dict[int, list[int]] = {}
    for k, node in enumerate(known):
        at.setdefault(node.first, []).append(k)
    for body, place in reversed(list(_places(function.body))):
        for k in [k for k in at.get(body[place].lineno, ()) if known[k].names]:
            call = f"__look__({k}, {', '.join(known[k].names.values())})"
            body.insert(place + 1, ast.parse(call).body[0])
    space: dict[str, Any] = {"__look__": look}
    exec(compile(ast.fix_missing_locations(tree), "<plan of a check>", "exec"), space)
    args, kwargs = inputs.copied()
    with contextlib.suppress(Exception):  # the statements before the one that raises are known
        outside = entry.outside()
        extras = {name: copy.copy(outside[name]) for name, _ in entry.extras}
        muted(space[function.name], outside)(*args, **kwargs, **extras)
    return found


def _whole(pieces: tuple[Any, ...], expected: Any) -> Any:
    """The result of a statement: one value, or in a loop over tiles its pieces, or more and more of the whole."""
    last = pieces[-1]
    return last if len(pieces) == 1 or np.shape(last) == np.shape(expected) else np.concatenate(pieces)


def _unlike(found: Any, expected: Any, eps: float) -> str | None:
    """Return the difference of two values as numbers; a Python number may stand where NumPy would have its own."""
    if isinstance(found, list):
        if len(found) != len(expected):
            return f"{len(found)} items compiled, {len(expected)} eager"
        items = enumerate(map(_unlike, found, expected, [eps] * len(found)))
        return next((f"item {k}: {problem}" for k, problem in items if problem is not None), None)
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape:
        return f"shape {a.shape} compiled, {b.shape} eager"
    if is_array(found) and is_array(expected) and a.dtype != b.dtype:
        return f"{a.dtype} compiled, {b.dtype} eager"
    equal = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype.kind == b.dtype.kind == "f" else a == b
    wrong = ~(equal | ((a != a) & (b != b)))
    if not np.any(wrong) or (eps and is_near(a, b, eps)):
        return None
    distance = np.where(wrong, np.abs(np.subtract(a, b, dtype=np.result_type(a, b, np.float64))), 0)
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(distance), np.inf, distance))), a.shape)
    where = f" at {tuple(map(int, place))}" if a.ndim else ""
    return f"{a[place]} compiled, {b[place]} eager{where}, a difference of {distance[place]:.3g}"
