"""gs.report: one HTML page with a function's source beside its gradient's, the graph, the values, and whether all agree."""

from __future__ import annotations

import contextlib
import html
import inspect
import io
import json
import linecache
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime.errors import CompileError, ShapeError
from ..runtime.ir.graph import Call, Graph, Value, values_in
from ..runtime.ir.opcodes import COND, SCAN, graphs_in, has_effects, interpret_all
from ..tracer.core.site import Site, definition, is_ours, pruned
from ..transforms.checks.compare import Comparison, compare
from ..transforms.compiler.capture.generators import privately
from ..transforms.compiler.compile import compile
from ..transforms.compiler.driver.compiled import Compiled
from ..transforms.compiler.driver.specialise import Entry, Specialisation
from ..transforms.compiler.driver.statements import graph_inputs, statements
from ..transforms.compiler.explain import explain
from ..transforms.compiler.native.build import compiler
from ..transforms.compiler.source import Source, source, source_of
from ..transforms.derivatives.gradient import value_and_grad
from ..transforms.transform import Transform
from ..transforms.trees import flatten
from ..transforms.why import why

__all__ = ["Found", "is_users", "page", "part", "report", "report_data"]

MOST = 150  # nodes that one view of the graph shows; what is more is folded
BARS = 20  # of a histogram
SAMPLED = 1_000_000  # values that a histogram looks at
RUNS = 5  # of the graph, for times of which the least counts
MOST_IN_C = 1_000  # operations of which C is built
PATIENCE = 2.0  # seconds, after which no further run is begun
TRIPS = 1_000  # of a loop, whose values are looked at
_REGIONS = {SCAN: "loop", COND: "branch"}
_DATA = Path(__file__).parent / "data"
Key = str  # of a user line: "3:17" is line 17 of the file with number 3


@pruned
def report(function: Any, /, *args: Any, path: str | os.PathLike[str] = "report.html", **kwargs: Any) -> Path:
    """Write one self-contained HTML page about a gradient, and return its path.

    `function` is a plain function with a scalar result, of which every floating point argument is differentiated, or a transform:
    `gs.grad(f, argnums=0)`, `gs.hessian(f)`, a compiled one. The page shows the user's source beside the generated source,
    line lit with line; the graph, folded by line; the values and cotangents along the way with their shapes, ranges and
    histograms, NaN and zeros flagged; the times of lines; eager, compiled and finite differences side by side; and what the
    compiled function assumes. It loads nothing from elsewhere and works from disk.

    `args` and `kwargs` are those of one call, which runs a few times on copies. Raises what the function raises, and OSError
    where `path` cannot be written.

    >>> import numpy as np, gradscribe as gs, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = gs.report(lambda x: np.sum(x * x), np.arange(3.0), path=pathlib.Path(folder.name) / "report.html")
    >>> path.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    >>> folder.cleanup()
    """
    return Source(page(report_data(function, args, kwargs))).save(path)


def page(data: dict[str, Any]) -> str:
    """Return the page that shows what `report_data` found."""
    parts = {
        "title": html.escape(data["title"]),
        "style": part("report.css"),
        "vendor": part("vendor.js"),
        "script": part("report.js"),
        # as data, of which nothing is markup: "<" cannot end the element that it stands in
        "data": json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], part("report.html"))


def part(name: str) -> str:
    """Return a file that pages are made of."""
    return (_DATA / name).read_text(encoding="utf-8")


def report_data(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return all that the page shows, as data for JSON; what the function prints, which runs many times, is not shown."""
    with contextlib.redirect_stdout(io.StringIO()):
        return _data_of(function, args, kwargs)


def _data_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    given = function
    if not isinstance(function, (Transform, Compiled)):
        function = value_and_grad(function, _inexact(args, kwargs))
    compiled = function if isinstance(function, Compiled) else compile(function)
    found = Found(_title(compiled.function, getattr(given, "__name__", None) or type(given).__name__))
    definition_line = definition(given)
    if definition_line is not None:
        found.key(definition_line)
    try:
        entry = compiled.entry(*args, **kwargs)
    except CompileError as error:
        found.eager = str(error)
    else:
        found.look(entry, compiled.inputs(args, kwargs))
        found.assumed = str(explain(compiled))
        found.native(compiled, args, kwargs)
    found.compare(found.fast or given, args, kwargs)
    found.why(given, args, kwargs)
    return found.data()


def _inexact(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the places of all arguments of floating point or complex numbers, as `gs.compare` takes them."""

    def inexact(value: Any) -> bool:
        leaves = flatten(value)[0]
        return bool(leaves) and all(np.asarray(leaf).dtype.kind in "fc" for leaf in leaves)

    return tuple(place for place, value in [*enumerate(args), *kwargs.items()] if inexact(value)) or 0


_DERIVATIVES = {
    "grad": "gradient", "value_and_grad": "gradient", "jacrev": "Jacobian", "jacfwd": "Jacobian", "jacobian": "Jacobian",
    "hessian": "Hessian", "hvp": "Hessian-vector product", "jvp": "directional derivative",
}  # fmt: skip


def _title(function: Any, label: str) -> str:
    """Return what the page is about: `The Hessian of loss`."""
    words = []
    while isinstance(function, Transform):
        words += [_DERIVATIVES[function.kind]] if function.kind in _DERIVATIVES else []
        function = function.function
    title = " of ".join([*(f"the {word}" for word in words), "the lambda" if label == "<lambda>" else label])
    return title[:1].upper() + title[1:]


class Found:
    """Facts about a gradient, while they are gathered."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.files: list[str] = []  # of the user's lines
        self.blocks: dict[tuple[int, int], int] = {}  # of the user's source: (file, first line) -> last line
        self.names: dict[tuple[int, int], str] = {}  # of these functions
        self.ends: dict[tuple[int, int], int] = {}  # of the user's functions: (file, first line) -> last line
        self.generated: list[str] = []
        self.links: list[Key | None] = []  # of each generated line: the user's
        self.also: list[list[Key]] = []  # of each generated line: the user's others, whose calls are nested in it
        self.phases: list[str] = []  # of each generated line: "", "forward" or "backward"
        self.nodes: list[dict[str, Any]] = []
        self.flags: list[dict[str, Any]] = []
        self.assumed = self.eager = self.path = ""
        self.comparison: dict[str, Any] | None = None
        self.c: list[str] = []  # the generated C, where it is built
        self.fast: Any = None  # the function as C, where it is built
        self.notes: list[str] = []

    def key(self, site: Site) -> Key:
        """Return the key of a user line, whose function is shown from now on."""
        path = site.code.co_filename
        if path not in self.files:
            self.files.append(path)
        number, first = self.files.index(path), site.code.co_firstlineno
        rows = linecache.getlines(path)
        if site.code.co_name == "<module>" or not rows:
            block = (site.line, site.line)
        else:
            last = self.ends.get((number, first))
            if last is None:
                last = self.ends[number, first] = first + len(inspect.getblock(rows[first - 1 :])) - 1
            block = first, max(site.line, last)
        self.blocks[number, block[0]] = max(block[1], self.blocks.get((number, block[0]), 0))
        name = "" if site.code.co_name.startswith("<") else _dotted(site.code.co_qualname)
        self.names[number, block[0]] = name or self.names.get((number, block[0]), "")
        return f"{number}:{site.line}"

    def look(self, entry: Entry, inputs: Any) -> None:
        """Read the source, the graph and the values of a specialisation."""
        specialisation = entry.specialisation
        text = source_of(specialisation)
        self.path = text.path or ""
        self.generated = text.splitlines()
        self.phases = [""] * len(self.generated)
        self.links = [None] * len(self.generated)
        self.also = [[] for _ in self.generated]
        names: dict[Value, tuple[str, int]] = {}
        for statement in statements(specialisation):
            key = None if statement.call.site is None else self.key(statement.call.site)
            for row in range(statement.first - 1, statement.last):
                self.phases[row] = "backward" if statement.call.backward else "forward"
                self.links[row] = key
            names |= {v: (name, statement.first) for v, name in statement.names.items()}
        self._nested(specialisation)
        for row in reversed(range(len(self.generated) - 1)):  # a comment belongs to what it stands above
            comment = self.generated[row].strip()
            section = comment in ("# forward", "# backward")
            if comment.startswith("#") and not section and self.links[row] is None:
                self.links[row], self.phases[row] = self.links[row + 1], self.phases[row + 1]
        for assumption in entry.plan.assumptions:  # functions that read what is outside, and compute nothing themselves
            site = entry.plan.site(assumption)
            if site is not None and is_users(site.code.co_filename):
                self.key(site)
        self._graph(entry, inputs, names)

    def _nested(self, specialisation: Specialisation) -> None:
        """Link the calls that no statement is for with those that they are nested in: the ones that read their results."""
        rows: dict[Value, set[int]] = {}
        for statement in statements(specialisation):
            for v in statement.call.outs:
                rows.setdefault(v, set()).update(range(statement.first - 1, statement.last))
        within: dict[Value, set[int]] = {}

        def link(graph: Graph, around: set[int]) -> None:
            for call in reversed(graph.calls):
                own = {row for v in call.outs for row in rows.get(v, ())}
                places = own or {row for v in call.outs for row in within.get(v, ())} or around
                parts = graphs_in(call)
                for v in () if parts else call.reads:  # what a loop or a branch starts with stands before it
                    within.setdefault(v, set()).update(places)
                for part in parts:  # `a if t else b` is one row
                    link(part, own if call.op.base is COND else set())
                if own or call.site is None:
                    continue
                key = self.key(call.site)
                for row in places:
                    if self.links[row] != key and key not in self.also[row]:
                        self.also[row].append(key)

        link(specialisation.graph, set())

    def _graph(self, entry: Entry, inputs: Any, names: dict[Value, tuple[str, int]]) -> None:
        """Note each call of the graph, what it reads, and what its results are for these arguments."""
        graph = entry.specialisation.graph
        made: dict[Value, int] = {}
        outside = dict(zip(graph.inputs[-len(entry.extras) :], entry.extras, strict=True)) if entry.extras else {}
        for v in graph.inputs:
            made[v] = len(self.nodes)
            name = outside[v][1].words if v in outside else entry.specialisation.signature.name_of(v)
            self.nodes.append({
                "op": "from outside" if v in outside else "argument", "name": name, "type": _type(v), "phase": "input",
                "reads": [], "key": None, "within": None,
            })  # fmt: skip
        order: list[int] = []  # the node of each call, in the order of `_every`
        self._calls(graph, None, made, names, order)
        for v in values_in(tuple(graph.outputs)):
            self.nodes[made[v]]["result"] = True
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._values(graph, graph_inputs(entry, inputs), order)
                if not has_effects(graph):
                    self._times(graph, graph_inputs(entry, inputs), order)
        except Exception as error:  # the page is to show what is known, above all of a function that fails
            self.notes.append(f"The values could not be looked at: {type(error).__name__}: {error}")

    def _calls(
        self, graph: Graph, within: int | None, made: dict[Value, int], names: dict[Value, tuple[str, int]], order: list[int]
    ) -> None:  # fmt: skip
        """Note each call of a graph, behind a loop those of its body; `within` is the node of the loop."""
        for call in graph.calls:
            number = len(self.nodes)
            named = next((names[v] for v in call.outs if v in names), (None, 0))
            cotangents = [None if v.cotangent_of is None else made.get(v.cotangent_of) for v in call.outs]
            inner = [c for region in graphs_in(call) for c in region.calls]
            self.nodes.append({
                "op": _operation(call), "name": named[0], "names": [names.get(v, ("",))[0] for v in call.outs], "row": named[1],
                "phase": "backward" if call.backward else "forward",
                "type": ", ".join(map(_type, call.outs)), "reads": sorted({made[v] for v in call.reads if v in made}),
                "key": None if call.site is None else self.key(call.site), "place": _place(call.site), "within": within,
                "inner": list(map(_operation, inner)),
                "of": next((of for of in cotangents if of is not None), None), "ofs": cotangents,
            })  # fmt: skip
            order.append(number)
            made |= dict.fromkeys(call.outs, number)
            for part in graphs_in(call):  # what it takes comes by way of the loop
                self._calls(part, number, made | dict.fromkeys(part.inputs, number), names, order)

    def _values(self, graph: Graph, inputs: list[Any], order: list[int]) -> None:
        for node, value in zip(self.nodes, inputs, strict=False):  # the inputs are the first nodes
            node["values"] = [figures(value)]
        privately_run = privately(graph)
        place_of = {id(call): place for call, place in zip(_every(privately_run), order, strict=True)}

        def seen(call: Call, results: tuple[Any, ...]) -> None:
            node = self.nodes[place_of[id(call)]]
            trips = node["trips"] = node.get("trips", 0) + 1
            node["bytes"] = node.get("bytes", 0) + sum(r.nbytes for r in results if isinstance(r, np.ndarray))
            if trips <= TRIPS:
                found = [figures(result) for result in results]
                node["values"] = list(map(_together, node["values"], found)) if "values" in node else found

        interpret_all(privately_run, inputs, seen)

    def _times(self, graph: Graph, inputs: list[Any], order: list[int]) -> None:
        place_of = {id(call): place for call, place in zip(_every(graph), order, strict=True)}
        least = dict.fromkeys(order, math.inf)
        spent = 0.0
        for _ in range(RUNS):
            took = dict.fromkeys(order, 0.0)
            begun = last = time.perf_counter()

            def seen(call: Call, results: tuple[Any, ...], took: dict[int, float] = took) -> None:
                nonlocal last
                took[place_of[id(call)]] += time.perf_counter() - last
                last = time.perf_counter()

            interpret_all(graph, inputs, seen)
            least = {place: min(seconds, took[place]) for place, seconds in least.items()}
            spent += time.perf_counter() - begun
            if spent > PATIENCE:
                break
        for place, seconds in least.items():
            self.nodes[place]["seconds"] = seconds

    def native(self, compiled: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Build the gradient as C, where there is a compiler and C for it."""
        if compiler() is None:
            return
        if len(self.nodes) > MOST_IN_C:
            self.notes.append(f"No C: of more than {MOST_IN_C:,} operations it would take the compiler long.")
            return
        fast = compile(compiled.function, target="native")
        try:
            with warnings.catch_warnings():  # and no np.errstate, under which NumPy's source would run
                warnings.simplefilter("ignore")
                again, more = compiled.inputs(args, kwargs).copied()
                fast(*again, **more)
                runs = explain(fast).specialisations[0].runs
                if not runs.startswith("native"):
                    self.notes.append(f"No C: {runs.partition(': ')[2]}.")
                    return
                self.c = str(source(fast, *args, **kwargs, target="native")).splitlines()
                self.fast = fast
        except Exception as error:  # the rest of the page does without
            self.notes.append(f"No C: {type(error).__name__}: {error}")

    def compare(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compare eager, compiled and finite-difference gradients."""
        try:
            found = compare(function, *args, **kwargs)
        except ShapeError:
            self.notes.append("Not compared: that is for functions whose result is one real number.")
            return
        except Exception as error:
            self.notes.append(f"Not compared with finite differences: {type(error).__name__}: {error}")
            return
        self.comparison = {
            "ok": found.ok, "rows": found.table(), "remarks": found.remarks(), "values": self._beside(found),
            "ways": self._ways(found),
        }  # fmt: skip

    def _beside(self, found: Comparison) -> list[list[str]]:
        """The length of each gradient, as each way has it."""
        native = found.native.gradients if found.native is not None else [None] * len(found.rows)
        return [
            [
                row.argument, row.type, _length(row.eager), "-" if row.compiled is None else _length(row.compiled),
                "-" if leaf is None else _length(leaf), _length(row.finite.found),
                f"at some entries, where eager is {_length(row.finite.expected)}" if row.finite.sampled else "everywhere",
            ]
            for row, leaf in zip(found.rows, native, strict=True)
        ]  # fmt: skip

    def _ways(self, found: Comparison) -> list[list[Any]]:
        """The seconds of one gradient each way, and the bytes at its peak; None where these cannot be seen, as in C."""
        ways: list[list[Any]] = [["eager", found.eager_seconds, found.eager_bytes]]
        if found.compiled_seconds is not None:
            ways.append(["compiled", found.compiled_seconds, found.compiled_bytes])
        if found.native is not None:
            ways.append([found.native.runs, found.native.seconds, None])
        return [*ways, [f"finite differences, {found.evaluations:,} calls", found.finite_seconds, None]]

    def why(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Ask for gradients that are None, zero, NaN or infinite, and for the lines that made them so."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = why(function, *args, **kwargs)
        except Exception:  # which `compare` has told
            return
        for answer in found.answers:
            causes = [cause for cause in answer.causes if cause.lineno]
            for cause in causes:
                if cause.filename not in self.files:
                    self.files.append(cause.filename)
                key = f"{self.files.index(cause.filename)}:{cause.lineno}"
                text = f"The gradient of {answer.argument} is {answer.state}: {cause.op}: {cause.reason}"
                self.flags.append({"key": key, "text": text, "advice": cause.advice})
            if not causes and not answer.healthy:
                self.flags.append(
                    {"key": None, "text": f"The gradient of {answer.argument}: {answer.state}", "advice": ""}
                )

    def data(self) -> dict[str, Any]:
        """Return it all, as data for JSON."""
        return {
            "title": self.title,
            "sources": list(self._sources()),
            "generated": {
                "path": self.path, "rows": self.generated, "links": self.links, "also": self.also, "phases": self.phases,
                "eager": self.eager,
                "c": self.c, "c_links": self._c_links(),
            },
            "nodes": self.nodes, "flags": self.flags, "most": MOST, "trips": TRIPS, "comparison": self.comparison,
            "assumed": self.assumed, "notes": self.notes,
        }  # fmt: skip

    def _c_links(self) -> list[Key | None]:
        """The user's line of each line of C: that of the last comment which names one, up to the end of the block."""
        known = {os.path.basename(path): number for number, path in reversed(list(enumerate(self.files)))}
        links: list[Key | None] = []
        last: Key | None = None
        for row in self.c:
            named = re.search(r"/\* (.+?):(\d+) \*/", row)
            if named is not None and named[1] in known:
                last = f"{known[named[1]]}:{named[2]}"
            elif row.lstrip().startswith("}"):
                last = None
            links.append(last)
        return links

    def _sources(self) -> Iterator[dict[str, Any]]:
        """Each piece of the user's source: a function, without those that stand in another that is shown."""
        ends: dict[int, int] = {}
        for (number, first), last in sorted(self.blocks.items()):
            name = self.names.get((number, first), "")
            if last <= ends.get(number, 0):
                continue
            first, ends[number] = max(first, ends.get(number, 0) + 1), last
            rows = linecache.getlines(self.files[number])[first - 1 : last]
            path = self.files[number]
            yield {
                "file": number, "path": os.path.basename(path), "name": name, "first": first,
                "rows": [row.rstrip("\n") for row in rows],
            }  # fmt: skip


def _every(graph: Graph) -> Iterator[Call]:
    """Each call of a graph, and behind it those that it holds."""
    for call in graph.calls:
        yield call
        for part in graphs_in(call):
            yield from _every(part)


def _together(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """The figures of several trips: the range over all, the type and the histogram of the last."""
    summed = {k: a.get(k, 0) + b.get(k, 0) for k in ("size", "zeros", "nan", "inf") if k in a or k in b}
    low = [x["low"] for x in (a, b) if "low" in x]
    return a | b | summed | ({"low": min(low), "high": max(x["high"] for x in (a, b) if "high" in x)} if low else {})


def _length(value: Any) -> str:
    """The length of a vector; a real number as it is."""
    array = np.asarray(value).ravel()
    return f"{array.item():.6g}" if array.size == 1 and array.dtype.kind != "c" else f"{np.linalg.norm(array):.6g}"


def _dotted(name: str) -> str:
    """Return the name of a function without those that it was made in, or that its loops are made into: `Net.loss`."""
    return name.rpartition("<locals>.")[2].partition(".<")[0]


def _operation(call: Call) -> str:
    """Return the name of an operation: NumPy's with its module, ours without, and loops and branches as what they are."""
    if call.op.base in _REGIONS:
        return _REGIONS[call.op.base]
    path = call.op.path
    return path.rpartition(".")[2] if path.startswith("gradscribe.") else path


def _type(value: Value) -> str:
    """Return the type of a value as NumPy and Python say it: `float64` of a scalar, `float` of a Python number."""
    return re.sub(r"^python (int|float|complex|bool)\d*$|^scalar (.*)$", lambda m: m[1] or m[2], str(value.type))


def is_users(filename: str) -> bool:
    """Whether a file is the user's: not one of ours, of Python's, or of an installed package."""
    return not (is_ours(filename) or filename.startswith(("<", sys.base_prefix)) or "site-packages" in filename)


def _place(site: Site | None) -> str | None:
    """Return what tells two operations of one line apart."""
    return None if site is None else f"{site.code.co_filename}:{site.code.co_firstlineno}:{site.offset}"


def figures(value: Any) -> dict[str, Any]:
    """Return what there is to say of a value: dtype, shape, range, how many are zero, NaN or infinite, and a histogram."""
    if isinstance(value, (list, tuple)):
        return {"type": f"{type(value).__name__} of {len(value)}"}
    try:
        array = np.asarray(value)
    except Exception:
        return {"type": type(value).__name__}
    said: dict[str, Any] = {
        "type": f"{array.dtype}[{', '.join(map(str, array.shape))}]" if array.ndim else str(array.dtype)
    }
    if array.dtype.kind not in "fciub" or not array.size:
        return said
    sizes = (np.abs(array) if array.dtype.kind == "c" else array).astype(np.float64, copy=False).ravel()
    finite = sizes[np.isfinite(sizes)]
    said |= {
        "size": int(array.size), "zeros": int(array.size - np.count_nonzero(array)),
        "nan": int(np.count_nonzero(np.isnan(sizes))), "inf": int(np.count_nonzero(np.isinf(sizes))),
    }  # fmt: skip
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        said |= {"low": low, "high": high}
        if array.size > 1 and high > low and math.isfinite(high - low):
            sample = finite[:: max(1, finite.size // SAMPLED)]
            with contextlib.suppress(ValueError):  # where fewer numbers than bars lie between the two
                said["bars"] = np.histogram(sample, BARS, (low, high))[0].tolist()
    return said
