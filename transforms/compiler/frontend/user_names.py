"""The user's own names for values: what the source assigns at the place where an operation stands."""

from __future__ import annotations

import builtins
import keyword
import linecache
import re
import types
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, prefix_of, primal_of, values_in
from ....runtime.ir.known_ops import GETITEM
from ....runtime.ir.opcodes import COND, SCAN, Function, function_of
from ....runtime.registry import ops_of
from ....runtime.rules.indexing import index_add_at, index_increase, index_set
from ....runtime.user_ops import USERS, text_name
from ....tracer.core.site import Site, source_lines
from .hooks import cached_by_code

__all__ = [
    "CHECKED_LENGTHS",
    "Cotangents",
    "Names",
    "function_name",
    "is_returned",
    "line_text",
    "name_of_item",
    "name_values",
    "names_of_operands",
    "names_of_parts",
    "noun_of",
    "parse_code",
    "plural_of",
    "singular_of",
    "span_of",
]

# What generated text calls the lengths that follow from values, of the calls that were checked.
CHECKED_LENGTHS = "checked_lengths"
_MODULES = ("np", "scipy", "math", "cmath", "statistics")  # that generated text imports
_RESERVED = frozenset([*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *_MODULES, CHECKED_LENGTHS, "_"])

# What generated text may call: literals, guards, and the bodies of our own ops.
_WRITTEN = frozenset(
    ["abs", "bool", "complex", "float", "int", "len", "range", "slice", "NotImplemented", "None", "True", "False"]
)
_PRAGMA = re.compile(r"\s*#\s*(fmt|isort|mypy|noqa|pragma|pylint|pyright|ruff|type)\b.*")
_OF_ARRAYS = ("T", "mT", "real", "imag", "flat", "size", "shape", "ndim", "dtype")  # attributes that are no fields
_WRITES = ops_of(index_set, index_add_at, index_increase)
_SAME = ops_of(np.copy, np.asarray)


class Names:
    """Names that are unique, short and the same from run to run."""

    def __init__(self) -> None:
        self._taken: set[str] = {*_RESERVED, *map(text_name, USERS)}
        self._counts: dict[str, int] = {}  # up to which number a name is taken: none is ever given back

    def copy(self) -> Names:
        """Names of which the same are taken so far."""
        names = Names()
        names._taken |= self._taken
        names._counts |= self._counts
        return names

    def parameter(self, name: str) -> str:
        """The name of a parameter: the user's, also where a builtin is called so that generated text never writes."""
        if name in dir(builtins) and name not in _WRITTEN:
            return name
        return self.new(name)

    def is_free(self, name: str) -> bool:
        """Whether nothing has a name."""
        return name not in self._taken

    def new(self, wish: str) -> str:
        """`wish`, or `wish_2`, `wish_3` ... where it is taken."""
        name, k = wish, self._counts.get(wish, 1)
        while name in self._taken:
            k += 1
            name = f"{wish}_{k}"
        self._counts[wish] = k
        self._taken.add(name)
        return name


def name_values(graph: Graph, known: dict[Value, str]) -> dict[Value, str]:
    """Return the name that the user, or a reader of the derivative, would give each value; others are absent."""
    wishes = dict(known)
    for k, call in enumerate(graph.calls):
        if call.backward or call.site is None or (call.outs[0].type.kind == "python" and not call.outs[0].sites):
            continue  # sizes among them, which are computed where they are needed
        if _continues(call, graph.calls, k + 1):
            continue  # one call of the user's that took several operations: the last one has the name
        function = function_of(call)
        given = _names_given(call) if function is None else _names_of_results(call, function)
        for out, name in zip(call.outs, given, strict=False):
            if name not in (None, "_"):
                wishes.setdefault(out, name)
        if call.op.base in _WRITES and call.args[0] in wishes:
            wishes.setdefault(call.outs[0], wishes[call.args[0]])  # an array that is written keeps its name
    for call in graph.calls:
        for out in call.outs:
            if out.name is not None:  # in a backward that the user wrote
                wishes.setdefault(out, out.name)
    for v in list(all_values(graph)):
        if v not in wishes and v.cotangent_of is not None:
            primal = _primal_name(v, wishes)
            if primal is not None:
                wishes[v] = "".join(primal)
    return wishes


class Cotangents:
    """Whose cotangent each value is: `d_theta_2` belongs to `theta_2`, and what is returned for `theta` is `d_theta`."""

    def __init__(self, graph: Graph, uses: dict[Value, int], wishes: dict[Value, str]) -> None:
        """Fits `wishes`: buffers have the name of what they become, and gradients theirs to themselves."""
        inputs = set(graph.inputs)
        self._wishes = wishes
        self._primals: dict[Value, Value | None] = {}
        self._returned = {v for v in values_in(graph.outputs) if primal_of(v) in inputs and v in wishes}
        self._gradients = {wishes[v]: primal_of(v) for v in self._returned}
        for call in reversed(graph.calls):
            first = call.args[0] if call.args else None
            for start, out in zip(call.args[1], call.outs, strict=False) if call.op is SCAN else ():
                if uses.get(start) == 1 and isinstance(start, Value) and wishes.get(start) == wishes.get(out):
                    wishes.pop(start, None)
                    if out in wishes:
                        self._become(start, out)
            if call.op is COND:
                for out, made in zip(call.outs, zip(*(arm.outputs for arm in call.args[0]), strict=True), strict=True):
                    then, orelse = (_given(arm, v, call.args[2]) for arm, v in zip(call.args[0], made, strict=True))
                    if then is orelse and isinstance(then, Value) and uses.get(then) == 1 and out in wishes:
                        self._become(then, out)  # what both arms add to, or leave as it is
                continue
            if isinstance(call.op.fn, Function):  # sums that a helper goes on with
                for v in [v for v in call.reads if uses.get(v) == 1]:
                    for after in call.outs:
                        if after in self._returned and wishes[after] == wishes.get(v):
                            self._become(v, after)
                continue
            if not isinstance(first, Value) or uses.get(first) != 1:
                continue
            if call.op.consuming is not None and call.outs[0] in wishes:
                self._become(first, call.outs[0])  # a buffer that is added into
            elif call.op.base in _SAME and first in wishes:
                self._become(call.outs[0], first)
                del wishes[first]  # the result has the name, not its copy
        for v in [v for v in wishes if primal_of(v) in inputs and v not in self._returned]:
            if self._gradients.get(wishes[v]) is primal_of(v):
                del wishes[v]  # a part of the gradient

    def _become(self, v: Value, named: Value) -> None:
        if self._wishes.get(v, self._wishes[named]) == self._wishes[named]:
            self._wishes[v] = self._wishes[named]
            self._primals[v] = self._primals.get(named, primal_of(named))
            if named in self._returned:
                self._returned.add(v)

    def wish(self, v: Value, wish: str, called: dict[Value | None, str], temporary: tuple[str, ...]) -> str:
        """`wish`, by the names that values have got by now; `d_x_part` where it would take the name of a gradient."""
        primal, stem = self._primals.get(v, primal_of(v)), prefix_of(v)
        if (
            primal is not None
            and primal in called
            and (wish in temporary or wish == f"{stem}{self._wishes.get(primal)}")
        ):
            wish = f"{stem}{called[primal]}"
        return f"{wish}_part" if wish in self._gradients and v not in self._returned else wish


def _given(arm: Graph, v: Any, ins: Sequence[Any]) -> Any:
    """What an arm of a branch is given that it gives back as `v`: as it is, or with something added in place."""
    for call in reversed(arm.calls):
        if v not in call.outs:
            continue
        if call.op is COND:
            k = call.outs.index(v)
            then, orelse = (_given(inner, inner.outputs[k], call.args[2]) for inner in call.args[0])
            v = then if then is orelse else None
        else:
            v = call.args[0] if call.op.consuming is not None else None
    return ins[arm.inputs.index(v)] if isinstance(v, Value) and v in arm.inputs else None


def _primal_name(v: Value, wishes: dict[Value, str]) -> tuple[str, str] | None:
    """Return the prefix of a cotangent's name, and the name of the value it belongs to."""
    stem = ""
    primal: Value | None = v
    seen: set[Value] = set()  # values that were merged may be cotangents of each other
    while primal is not None and primal not in wishes:
        if primal in seen:
            return None
        seen.add(primal)
        stem, primal = stem + prefix_of(primal), primal_of(primal)
    return None if primal is None or not stem else (stem, wishes[primal])


def all_values(graph: Graph) -> list[Value]:
    """Every value of a graph, in order."""
    found = list(graph.inputs)
    for call in graph.calls:
        found.extend(call.outs)
    return found


def _continues(call: Call, calls: list[Call], k: int) -> bool:
    """Whether the operations from place `k` on that the same call of the user's took read what this one gave."""
    while k < len(calls):
        following = calls[k]
        if following.site != call.site or following.backward or following.outs[0].sites != call.outs[0].sites:
            return False
        if any(v in call.outs for v in following.reads):
            return True
        k += 1
    return False


def _names_given(call: Call) -> list[str | None]:
    """The names of a call's results: those that the caller of a helper gives to what it returns, else those given there."""
    count = len(call.outs)
    found: list[str | None] = [None] * count
    for site in call.outs[0].sites or (call.site,):
        span, places = span_of(site), _places(site.code)
        targets = places.unpacked.get(span, ())
        if call.op.base is GETITEM and call.args[1] in range(len(targets)):
            return [targets[call.args[1]]]  # `a, b = x`
        here = assigned_names(site, count)
        found = here if any(here) else found
        if not (span in places.returned or (count == 1 and here[0] in places.returned)):
            break
    return found


def _names_of_results(call: Call, function: Function) -> list[str | None]:
    """The names of what a function of generated text gives, each as the user's code has it where it was computed."""
    makers = {v: inner for inner in function.graph.calls for v in inner.outs}
    found: list[str | None] = []
    for out, v in zip(call.outs, function.graph.outputs, strict=True):
        inner = makers.get(v)
        name = None
        if inner is not None and len(inner.outs) == 1:
            (name,) = _names_given(Call(inner.op, inner.args, (out,), inner.site))
        if name is None and inner is not None:
            name = f"{function.__name__}_out" if is_returned(inner.site) else noun_of(inner)
        found.append(name)
    return found


_NOUNS = {
    "add": "total", "sum": "total", "subtract": "difference", "multiply": "product", "matmul": "product",
    "divide": "ratio", "getitem": "part", "max": "top", "min": "least", "count_of": "size", "size_of": "length",
    "shape_of": "shape",
}  # fmt: skip


def noun_of(call: Call) -> str:
    """Return a name for the result of a call of which nothing else gives one: `exp`, or `ratio` of a division."""
    name = call.op.base.name
    return _NOUNS.get(name, name if name.isidentifier() else "value")


def assigned_names(site: Site, count: int) -> list[str | None]:
    """The names that the statement at `site` gives to the results of the operation there."""
    found = _places(site.code).assigned.get(span_of(site), ())
    return list(found) if len(found) == count else [None] * count


def names_of_operands(site: Site) -> tuple[str | None, ...]:
    """The names of what the expression at `site` computes with, in the order of the op's arguments."""
    return _places(site.code).operands.get(span_of(site), ())


def names_of_parts(parameter: str, codes: Collection[types.CodeType]) -> tuple[str | None, ...]:
    """The names that a function among `codes` gives to the parts of its parameter: of `W, b = params`."""
    own = [code for code in codes if parameter in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    found = {_places(code).parts[parameter] for code in own if parameter in _places(code).parts}
    return found.pop() if len(found) == 1 else ()


def name_of_item(site: Site) -> str | None:
    """The name that a loop gives to the items of what stands at `site`."""
    return _places(site.code).items.get(span_of(site))


def is_returned(site: Site) -> bool:
    """Whether a function returns the expression at `site`."""
    return span_of(site) in _places(site.code).returned


def plural_of(name: str) -> str:
    """Return the plural of a name: `hs`, `batches`, `energies`."""
    if name.endswith(("ch", "sh")):
        return f"{name}es"
    word = name.rpartition("_")[2]
    return f"{name[:-1]}ies" if len(word) > 3 and word[-1] == "y" and word[-2] not in "aeiou" else f"{name}s"


def singular_of(name: str) -> str:
    """Return the singular of a name: `h` of `hs`, `batch` of `batches`; the name itself where it is no plural."""
    if name.endswith(("ches", "shes")):
        return name[:-2]
    if name.endswith("ies") and len(name.rpartition("_")[2]) > 4:
        return f"{name[:-3]}y"
    return name if name.endswith(("ss", "us", "is")) else name.removesuffix("s")


Span = tuple[int | None, ...]  # line, end line, column, end column


class _Places(NamedTuple):
    """The names that results of expressions are stored under, by the spans of the expressions."""

    assigned: dict[Span, tuple[str | None, ...]]  # the names that they are given
    unpacked: dict[Span, tuple[str | None, ...]]  # the names in a tuple of targets, by its own span
    returned: set[Span | str]  # and the names that are returned, of those that are assigned but once
    operands: dict[Span, tuple[str | None, ...]]  # the names of what an expression computes with
    parts: dict[str, tuple[str | None, ...]]  # the names of the parts of a variable that is unpacked
    items: dict[Span, str]  # the names of the items of what a loop walks


def span_of(site: Site) -> Span:
    """Return the position in the source of the instruction at a site: line, end line, column, end column."""
    positions = _positions(site.code)
    k = site.offset // 2
    return positions[k] if k < len(positions) else ()


@cached_by_code(512)
def _positions(code: types.CodeType) -> list[Span]:
    return list(code.co_positions())


@cached_by_code(512)
def _places(code: types.CodeType) -> _Places:
    """The expressions of a code object that are assigned, unpacked or returned."""
    import gast  # slow to load, needed only to compile

    found = _Places({}, {}, set(), {}, {}, {})
    parsed = parse_code(code)
    if parsed is None:
        return found
    tree, shift = parsed

    def place(node: Any) -> Span:
        return (node.lineno + shift, node.end_lineno + shift, node.col_offset, node.end_col_offset)

    times: dict[str, int] = {}

    def assign(target: Any, value: Any) -> None:
        if isinstance(target, gast.Name):
            times[target.id] = times.get(target.id, 0) + 1
            found.assigned.setdefault(place(value), (target.id,))
        elif isinstance(target, (gast.Tuple, gast.List)):
            if isinstance(value, gast.Tuple) and len(value.elts) == len(target.elts):
                for one, its in zip(target.elts, value.elts, strict=True):
                    assign(one, its)
            if any(isinstance(e, gast.Starred) for e in target.elts):
                return
            names = tuple([e.id if isinstance(e, gast.Name) else None for e in target.elts])
            found.assigned[place(value)] = found.unpacked[place(target)] = names

    for node in gast.walk(tree):
        operands = operands_of(node, code)
        if any(operands):
            found.operands[place(node)] = operands
        if isinstance(node, gast.Assign):
            for target in node.targets:
                assign(target, node.value)
                if isinstance(target, (gast.Tuple, gast.List)) and isinstance(node.value, gast.Name):
                    found.operands[place(target)] = (node.value.id,)
                    if place(target) in found.unpacked:
                        found.parts.setdefault(node.value.id, found.unpacked[place(target)])
        elif isinstance(node, (gast.AnnAssign, gast.NamedExpr)) and node.value is not None:
            assign(node.target, node.value)
        elif isinstance(node, gast.AugAssign):
            assign(node.target, node)
        elif isinstance(node, gast.For) and isinstance(node.target, gast.Name):
            found.items[place(node.iter)] = node.target.id
        elif isinstance(node, gast.Return) and node.value is not None:
            found.returned.add(place(node.value))
            if isinstance(node.value, gast.Name):
                found.returned.add(node.value.id)
    found.returned.difference_update([name for name, k in times.items() if k > 1])
    return found


def operands_of(node: Any, code: types.CodeType) -> tuple[str | None, ...]:
    """The names of what an expression computes with, in the order of the op's arguments; None for other expressions."""
    import gast

    def name(tree: Any) -> str | None:
        if isinstance(tree, gast.Name):
            return str(tree.id)
        if isinstance(tree, gast.Attribute) and isinstance(tree.value, gast.Name) and tree.attr not in _OF_ARRAYS:
            return str(tree.attr)
        key = tree.slice.value if isinstance(tree, gast.Subscript) and isinstance(tree.slice, gast.Constant) else None
        return key if isinstance(key, str) and key.isidentifier() else None

    if isinstance(node, gast.BinOp):
        return (name(node.left), name(node.right))
    if isinstance(node, gast.Compare) and len(node.comparators) == 1:
        return (name(node.left), name(node.comparators[0]))
    if isinstance(node, gast.AugAssign):
        return (name(node.target), name(node.value))
    if isinstance(node, gast.UnaryOp):
        return (name(node.operand),)
    if isinstance(node, gast.Subscript) or (isinstance(node, gast.Attribute) and node.attr in _OF_ARRAYS):
        return (name(node.value),)
    if isinstance(node, gast.Call):
        args = [None if isinstance(a, gast.Starred) else name(a) for a in node.args]
        root = node.func.value if isinstance(node.func, gast.Attribute) else None
        while isinstance(root, (gast.Attribute, gast.Subscript)):
            root = root.value
        local = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
        if root is not None and (not isinstance(root, gast.Name) or root.id in local):
            args.insert(0, name(node.func.value))  # a method, of what has a name or of `(x @ W)`
        return tuple(args)
    return ()


def parse_code(code: types.CodeType) -> tuple[Any, int] | None:
    """The gast tree of the source of a code object, and what to add to its line numbers; None without source."""
    import gast

    linecache.checkcache(code.co_filename)
    try:
        lines, start = source_lines(code)
    except (OSError, TypeError, IndentationError, SyntaxError):
        return None
    text, shift = "".join(lines), start - 1
    if lines[0][:1].isspace():
        text, shift = "if 1:\n" + text, start - 2
    try:
        return gast.parse(text), shift
    except SyntaxError:
        return None


def line_text(site: Site) -> str:
    """The user's line, without what it says to tools; nothing where the lines under that name are another text's."""
    name, first = site.code.co_name, linecache.getline(site.code.co_filename, site.code.co_firstlineno)
    if site.code.co_filename == "<string>" and name not in first and not re.match(r"\s*@|.*\blambda\b", first):
        return ""  # Python 3.13 has the text of `python -c` there, and what `exec` runs bears the same name
    return _PRAGMA.sub("", linecache.getline(site.code.co_filename, site.line).strip())


def function_name(function: Any) -> str:
    """Return the name of a generated function: the user's, with the transforms of it."""
    suffix = ""
    while hasattr(type(function), "__gradscribe_transform__"):
        suffix = f"_{function.kind}{suffix}" if function.kind != "compile" else suffix
        function = function.function
    name = getattr(function, "__name__", type(function).__name__)
    return ("function" if not name.isidentifier() else name) + suffix
