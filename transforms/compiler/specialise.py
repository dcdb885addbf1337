"""One specialisation: from a captured graph to checked, runnable text, and the inputs that it serves."""

from __future__ import annotations

import dataclasses
import itertools
import linecache
import os
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...runtime.ir import Graph
from ...tracer.modes import recording, transforming
from ...tracer.operand import Operand
from ...tracer.site import Site
from ..scope import Path
from ..trees import flatten_row, unflatten
from . import cache
from .cache_key import cache_key
from .capture import Capture
from .difference import difference
from .docstrings import specialised_to
from .failure import Failure, definition
from .guards import Plan
from .inputs import RUNTIME, Inputs
from .naming import Names
from .outside import is_constant, own_code
from .signature import Signature, children, printable
from .sizes import Size

__all__ = ["Entry", "Inputs", "Specialisation", "captured", "difference", "unwrapped"]

_serial = itertools.count(1).__next__


class Specialisation:
    """Generated text and the function that it is."""

    def __init__(
        self, text: str, graph: Graph | None, raw: Graph, signature: Signature, name: str, rebuild: Any, digest: int
    ) -> None:
        self.text = text
        self._graph = graph
        self.raw = raw  # before the passes
        self.signature = signature
        self.rebuild = rebuild  # the structure of a result that cannot be written as a literal
        self.digest = digest
        self.unchecked = 3  # calls within which the second check must come
        number = _serial()
        self.filename = f"<gradscribe>/{name}_{number}.py"  # linecache asks no loader for a name that is all in <>
        lines = (len(text), None, text.splitlines(keepends=True), self.filename)
        absolute = os.path.abspath(self.filename)  # by which debuggers ask
        linecache.cache[self.filename] = linecache.cache[absolute] = lines
        module = types.ModuleType(f"gradscribe.generated.{name}_{number}")
        vars(module)["__loader__"] = _Loader(text)
        sys.modules[module.__name__] = module  # where inspect looks for the loader
        weakref.finalize(self, _forget, module.__name__, self.filename, absolute).atexit = False
        exec(compile(text, self.filename, "exec"), vars(module))
        self.function: Callable[..., Any] = vars(module)[name]

    @property
    def graph(self) -> Graph:
        """What the text was written from; where the cache had the text, the passes run when this is asked for."""
        if self._graph is None:
            self._graph = optimise(self.raw.copy())
        return self._graph


def _forget(module: str, filename: str, absolute: str) -> None:
    sys.modules.pop(module, None)
    linecache.cache.pop(filename, None)
    linecache.cache.pop(absolute, None)


class _Loader:
    """What linecache asks for the text again once its cache was cleared."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text


class Entry:
    """A signature and the specialisation that serves it."""

    __slots__ = ("call", "check", "extras", "hits", "plan", "specialisation")

    def __init__(self, plan: Plan, specialisation: Specialisation, extras: list[tuple[str, Path]]) -> None:
        self.plan = plan
        self.check = plan.check
        self.hits = 0
        self.specialisation = specialisation
        self.extras = extras
        self.call = specialisation.function if not extras and specialisation.rebuild is None else self._call

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        for name, path in self.extras:
            kwargs[name] = path.read()
        result = self.specialisation.function(*args, **kwargs)
        if self.specialisation.rebuild is None or result is NotImplemented:
            return result
        return unflatten(self.specialisation.rebuild, result)

    def tried(self, copies: tuple[list[Any], dict[str, Any]]) -> Any:
        """What the text gives for copies of inputs, without warnings; an exception that it raises is the result."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self.call(*copies[0], **copies[1])
            except Exception as error:
                return error

    def fits(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether all that the specialisation assumes holds."""
        try:
            return self.check(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, LookupError):
            return False


class Made(NamedTuple):
    """A fresh specialisation that has not been checked yet."""

    entry: Entry
    copies: tuple[list[Any], dict[str, Any]]
    number_guards: bool
    number_site: Site | None
    reads: dict[Path, Any]  # what was read from outside, functions among it
    key: str | None  # of the text in the cache

    def first_check(self, expected: Any) -> str | None:
        """Run the text on copies of the inputs; what differs from the eager result, or None. What passes is cached."""
        problem = self._problem(expected)
        if self.key is not None:
            if problem is not None:
                cache.forget(self.key)
            elif self.entry.specialisation._graph is not None:  # the text was written just now
                cache.store(self.key, self.entry.specialisation.text)
        return problem

    def _problem(self, expected: Any) -> str | None:
        found = self.entry.tried(self.copies)
        if isinstance(found, Exception):
            return f"the generated source raised {type(found).__name__}: {found}"
        return "a guard failed on the inputs of the capture" if found is NotImplemented else difference(found, expected)


def captured(
    function: Any, inputs: Inputs, optimised: Callable[[Graph], Graph] | None = None
) -> tuple[Any, Made | Failure | Exception]:
    """Run `function` once, eagerly, under a recorder; its result, and the specialisation or why there is none."""
    capture = Capture()
    copies = inputs.copied()
    digest = inputs.digest()
    owned: list[Any] = []
    tensors: list[Any] = []
    static: list[Any] = []
    for leaf in inputs.leaves:
        if type(leaf) is np.ndarray or isinstance(leaf, RUNTIME):
            tensor = capture.new_input(leaf, "")
            if type(leaf) is np.ndarray:
                tensor._caller = leaf
                owned.append(tensor)
            tensors.append(tensor)
            static.append(tensor._ir)
        else:
            tensors.append(capture.instance(leaf))
            static.append(leaf)
    values = list(unflatten(inputs.structure, tensors))
    for value in values:
        for cls in _dataclasses_in(value):
            reason = own_code(cls)
            if reason is not None:
                capture.fail(reason, definition(function))
    n = len(inputs.args)
    with recording(capture), transforming(owned, gradient=False):
        try:
            raw = capture.scope.rebuild(function)(*values[:n], **dict(zip(inputs.kwargs, values[n:], strict=True)))
        finally:
            capture.settle()
        leaves, structure = flatten_row(raw)
        outputs = [_output(capture, leaf) for leaf in leaves]
    result = unflatten(structure, [unwrapped(capture.plain(leaf)) for leaf in leaves])
    if capture.failed is not None:
        return result, capture.failed
    try:
        return result, _made(function, inputs, capture, outputs, (static, structure, raw), copies, digest, optimised)
    except Exception as error:  # of ours: the user's run is over
        return result, error


def _made(
    function: Callable[..., Any], inputs: Inputs, capture: Capture, outputs: list[Any], trees: tuple[list[Any], Any, Any],
    copies: Any, digest: int, optimised: Callable[[Graph], Graph] | None,
) -> Made | Failure:  # fmt: skip
    """The specialisation that a finished capture gives."""
    static, structure, raw = trees
    n = len(inputs.args)
    graph = Graph(capture.graph.inputs, capture.graph.calls, outputs)
    literal = unflatten(structure, range(len(outputs))) if outputs else raw
    written = printable(literal)
    names = Names()
    arguments = [names.parameter(name) for name in inputs.names]
    extras = [(names.new(path.name), path) for path in capture.arrays]
    if arguments != inputs.names:
        return Failure(
            f"has parameters whose names its source needs for others: {', '.join(inputs.names)}", definition(function)
        )
    signature = Signature(
        arguments, n, list(unflatten(inputs.structure, static)), [name for name, _ in extras],
        literal if written else tuple(range(len(outputs))),
    )  # fmt: skip
    name = _function_name(function)
    recorded, final = graph.copy(), None
    key = cache_key(graph, signature, name) if optimised is None and cache.folder() is not None else None
    text = None if key is None else cache.load(key)
    if text is None:
        final = (optimised or optimise)(graph)
        text = emit(final, signature, name, specialised_to(signature, final))
    specialisation = Specialisation(text, final, recorded, signature, name, None if written else structure, digest)
    arrays = {path: array for path, (_, array) in capture.arrays.items()}
    plan = Plan(arguments, n, inputs.values, capture.reads, arrays, capture.codes, definition(function))
    entry = Entry(plan, specialisation, extras)
    site = next((c.site for c in recorded.calls if c.op.path == "guard" and c.args[1] != "bool"), None)
    return Made(entry, copies, capture.has_number_guards, site, capture.reads, key)


def optimise(graph: Graph) -> Graph:
    """The graph after all passes; they are loaded here, and not where the cache has the text."""
    from . import passes

    return passes.optimise(graph)


def emit(graph: Graph, signature: Signature, name: str, docstring: str) -> str:
    """The text of a graph; what prints stands on gast, which is slow to load."""
    from .emit import emit

    return emit(graph, signature, name, docstring)


def _dataclasses_in(value: Any) -> set[type]:
    """The classes of the dataclasses and named tuples in an argument."""
    parts = children(value)
    if parts is None:
        return set()
    own = {type(value)} if dataclasses.is_dataclass(value) or hasattr(value, "_fields") else set()
    return own.union(*[_dataclasses_in(v) for _, v in parts])


def _output(capture: Capture, leaf: Any) -> Any:
    """A result as it stands in the graph."""
    if isinstance(leaf, Operand):
        return capture.operand(leaf)
    if not is_constant(leaf) and type(leaf) is not Size:
        capture.fail(f"returns a {type(leaf).__name__} that it did not compute from its arguments")
        return None
    return capture.operand(leaf)


def unwrapped(leaf: Any) -> Any:
    """A result as it leaves: the caller's own array where that was returned."""
    if not isinstance(leaf, Operand):
        return int(leaf) if type(leaf) is not bool and isinstance(leaf, int) else leaf
    caller = getattr(leaf, "_caller", None)
    return leaf._value if caller is None else caller


def _function_name(function: Any) -> str:
    suffix = ""
    while hasattr(type(function), "__gradscribe_transform__"):
        suffix = f"_{function.kind}{suffix}" if function.kind != "compile" else suffix
        function = function.function
    name = getattr(function, "__name__", type(function).__name__)
    return ("function" if not name.isidentifier() else name) + suffix
