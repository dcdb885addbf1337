"""The cache key: a digest of all that a source depends on, the graph with its names and lines, the signature, versions."""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import linecache
import os
import sys
import types
from typing import Any

import numpy as np

from ....runtime.arrays import PLACE
from ....runtime.ir.graph import Call, Graph, Type, Value
from ....runtime.ir.opcodes import Branch, Loop, all_calls
from ....runtime.ops import MISSING, Op
from ....tracer.core.site import Site
from ..schedule.signature import Signature, children, describe
from .cache import key_of

__all__ = ["GraphText", "UnknownError", "cache_key"]

_PACKAGE = __name__.partition(".")[0]
_PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis))
_HOMES = frozenset(["numpy", "scipy", "math", "cmath", "statistics", "operator", "_operator", "builtins", _PACKAGE])


class UnknownError(Exception):
    """Something that a digest cannot stand for."""


def _is_of_scipy(call: Call) -> bool:
    """Whether a call is one of SciPy, or of a function of ours whose body the source shows and which may call SciPy."""
    return call.op.path.startswith("scipy.") or ".scipy_" in str(getattr(call.op.fn, "__module__", ""))


def cache_key(graph: Graph, signature: Signature, name: str, options: str = "") -> str | None:
    """The digest of a captured graph, as it is before the passes; None where it holds what has no source of its own.

    Two graphs with one key have the same operations, types, layouts, sites and user's lines, so that they give the same text.
    """
    text = GraphText()
    try:
        lines = [versions(), str(PLACE.module), options, *text.lines(name, graph, signature)]
        if any(map(_is_of_scipy, all_calls(graph))):
            lines.append(str(getattr(sys.modules.get("scipy"), "__version__", None)))
        lines += text.sources()
    except UnknownError:
        return None
    return key_of(name, "\n".join(lines))


@functools.cache
def versions() -> str:
    """The versions of all that writes a source, folds its constants and runs it."""
    root = sys.modules[_PACKAGE]
    features: dict[str, bool] = getattr(sys.modules.get("numpy._core._multiarray_umath"), "__cpu_features__", {})
    parts = [root.__version__, _state(os.path.dirname(root.__file__ or "")), np.__version__, sys.version, sys.platform]
    parts += sorted(feature for feature, there in features.items() if there)  # the last bit of a folded constant
    for module in ("gast", "astunparse", "scipy"):  # not loaded for this; passes ask whether SciPy is there
        spec = importlib.machinery.PathFinder.find_spec(module)
        parts.append(_stamp(spec.origin) if spec is not None and spec.origin else "")
    return "\n".join(map(str, parts))


def _state(root: str) -> str:
    """The state of gradscribe's own files: a checkout changes without its version."""
    found: list[str] = []
    for layer in ("runtime", "tracer", "transforms"):
        for folder, _, names in os.walk(os.path.join(root, layer)):
            found += [os.path.join(folder, name) for name in names if name.endswith(".py")]
    return hashlib.sha256("\n".join(f"{p} {_stamp(p)}" for p in sorted(found)).encode()).hexdigest()


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size}"


class GraphText:
    """A graph with its signature as text, of which digests are made, and the numbers that values and code have in it."""

    def __init__(self) -> None:
        self.numbers: dict[Value, str] = {}
        self.types: dict[Type, str] = {}
        self.codes: dict[int, tuple[types.CodeType, str, list[Any]]] = {}

    def lines(self, name: str, graph: Graph, signature: Signature) -> list[str]:
        """All lines of the text; raises UnknownError for what has none."""
        calls = [name, self.signature(signature), *map(self.call, graph.calls)]
        return [*calls, self.argument(list(graph.inputs)), self.argument(list(graph.outputs)), *self.values()]

    def value(self, v: Value) -> str:
        found = self.numbers.get(v)
        if found is None:
            found = self.numbers[v] = f"%{len(self.numbers)}"
        return found

    def argument(self, x: Any) -> str:
        if isinstance(x, Value):
            return self.value(x)
        kind = type(x)
        if kind in _PLAIN:
            return repr(x)
        if kind is tuple or kind is list:
            return f"{kind.__name__}({', '.join(map(self.argument, x))})"
        if kind is slice:
            return f"slice({', '.join(map(self.argument, (x.start, x.stop, x.step)))})"
        if isinstance(x, np.generic) and x.dtype.kind in "biufc":
            return f"{x.dtype.str} {x.tobytes().hex()}"
        if isinstance(x, np.dtype) or x is np._NoValue or x is MISSING:
            return repr(x)
        if isinstance(x, (Loop, Branch)):
            return f"{kind.__name__}({', '.join(self.region(part) if isinstance(part, Graph) else repr(part) for part in x)})"
        if isinstance(x, type):
            return f"type {x.__module__}.{x.__qualname__}"
        raise UnknownError

    def region(self, graph: Graph) -> str:
        """A graph within a call."""
        inputs = " ".join(map(self.value, graph.inputs))
        lines = [f"({inputs}) -> {self.argument(list(graph.outputs))}:", *map(self.call, graph.calls), "end"]
        return "\n".join(lines)

    def call(self, call: Call) -> str:
        op = call.op
        if not _is_known(op):
            raise UnknownError
        spelled = (op.path, op.name, op.title, op.infix, op.inline, op.signature, call.backward, call.quiet)
        left = " ".join(map(self.value, call.outs))
        return f"{left} = {spelled} {self.argument(call.args)} {self.site(call.site)}"

    def values(self) -> list[str]:
        """A line for each value, those among them that are only known as the value of a cotangent."""
        lines: list[str] = []
        order = list(self.numbers)
        for v in order:
            order += [w for w in (v.cotangent_of, v.element) if w is not None and w not in self.numbers]
            of = "" if v.cotangent_of is None else self.value(v.cotangent_of)
            over = self.value(v.over) if v.over in self.numbers else ""
            items = "" if v.element is None else f"of {self.value(v.element)}"
            sites = " ".join(map(self.site, v.sites))
            lines.append(f"{self.value(v)} {self.type(v.type)} {v.name!r} {of} over {over} {items} {sites}")
        return lines

    def type(self, type: Type) -> str:
        found = self.types.get(type)
        if found is None:
            found = self.types[type] = f"{type.kind} {type.dtype!r} {type.shape} {type.strides}"
        return found

    def site(self, site: Site | None) -> str:
        if site is None:
            return "-"
        _, name, spans = self.codes.get(id(site.code)) or self._code(site.code)
        k = site.offset // 2
        span = spans[k] if k < len(spans) else site.offset
        return f"{name}:{site.line}:{span}"  # not by its offset, which moves within an instruction when Python warms up

    def _code(self, code: types.CodeType) -> tuple[types.CodeType, str, list[Any]]:
        made = self.codes[id(code)] = (code, f"code{len(self.codes)}", list(code.co_positions()))
        return made

    def sources(self) -> list[str]:
        """The user's lines, and where they stand."""
        return [
            f"{name} {code.co_qualname} {Site(code, 0, code.co_firstlineno)}\n{_source(code, spans)}"
            for code, name, spans in self.codes.values()
        ]

    def signature(self, signature: Signature) -> str:
        named = (signature.arguments_named, signature.positional, signature.extras, len(signature.writes))
        stores = "".join([signature.purpose, *signature.stores])
        return f"{named}{stores} {self.tree(signature.trees)} {self.tree(signature.result_tree)} {self.tree(signature.writes)}"

    def tree(self, tree: Any) -> str:
        """An argument or a result: of what is no array the text has a description alone."""
        if isinstance(tree, Value):
            return self.value(tree)
        kind = f"{type(tree).__module__}.{type(tree).__qualname__}"
        parts = children(tree)
        if parts is None:
            return f"{kind} {describe(tree)}"
        return f"{kind}({', '.join(f'{self.argument(k)}: {self.tree(v)}' for k, v in parts)})"


def _is_known(op: Op) -> bool:
    """Whether an op is NumPy's, SciPy's or ours, so that the versions say what it does."""
    fn: Any = op.fn
    if isinstance(fn, np.ufunc):
        return any(getattr(home, fn.__name__, None) is fn for home in (np, sys.modules.get("scipy.special")))
    return str(getattr(fn, "__module__", None) or "numpy").partition(".")[0] in _HOMES


def _source(code: types.CodeType, spans: list[Any]) -> str:
    """The lines of a function, from its `def` to where it ends; the whole file of a lambda or a comprehension."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno - 1
    if first >= len(lines):
        raise UnknownError
    if code.co_name.startswith("<"):
        return "".join(lines)
    end = max([code.co_firstlineno, *[span[1] for span in spans if span[1] is not None]])
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(lines[first])):
        end += 1
    return "".join(lines[first:end]).rstrip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
