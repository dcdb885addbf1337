"""One specialisation: from a captured graph to checked, runnable text, and the inputs that it serves."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import linecache
import sys
import textwrap
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...runtime.ir import Graph, Value
from ...tracer.modes import recording, transforming
from ...tracer.operand import Operand
from ...tracer.site import Site
from ..scope import Path
from ..trees import flatten, unflatten
from .capture import Capture
from .difference import difference
from .emit import emit
from .failure import Failure, definition
from .guards import compile_check
from .inputs import RUNTIME, Inputs, untransformed
from .naming import Names
from .outside import is_constant, own_code
from .passes import optimise
from .signature import Signature, children, printable
from .sizes import Size

__all__ = ["Entry", "Inputs", "Specialisation", "captured", "difference", "unwrapped"]

_serial = itertools.count(1).__next__


class Specialisation:
    """Generated text and the function that it is."""

    def __init__(self, text: str, graph: Graph, name: str, rebuild: Any, digest: int) -> None:
        self.text = text
        self.graph = graph  # what the text was written from
        self.rebuild = rebuild  # the structure of a result that cannot be written as a literal
        self.digest = digest
        self.unchecked = 3  # calls within which the second check must come
        number = _serial()
        self.filename = f"<gradscribe>/{name}_{number}.py"  # linecache asks no loader for a name that is all in <>
        linecache.cache[self.filename] = (len(text), None, text.splitlines(keepends=True), self.filename)
        module = types.ModuleType(f"gradscribe.generated.{name}_{number}")
        vars(module)["__loader__"] = _Loader(text)
        sys.modules[module.__name__] = module  # where inspect looks for the loader
        weakref.finalize(self, _forget, module.__name__, self.filename).atexit = False
        exec(compile(text, self.filename, "exec"), vars(module))
        self.function: Callable[..., Any] = vars(module)[name]


def _forget(module: str, filename: str) -> None:
    sys.modules.pop(module, None)
    linecache.cache.pop(filename, None)


class _Loader:
    """What linecache asks for the text again once its cache was cleared."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text


class Entry:
    """A signature and the specialisation that serves it."""

    __slots__ = ("call", "check", "extras", "specialisation")

    def __init__(
        self, check: Callable[..., bool], specialisation: Specialisation, extras: list[tuple[str, Path]]
    ) -> None:
        self.check = check
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
        except (TypeError, ValueError, AttributeError, KeyError):
            return False


class Made(NamedTuple):
    """A fresh specialisation that has not been checked yet."""

    entry: Entry
    copies: tuple[list[Any], dict[str, Any]]
    number_guards: bool
    number_site: Site | None

    def first_check(self, expected: Any) -> str | None:
        """Run the text on copies of the inputs; what differs from the eager result, or None."""
        found = self.entry.tried(self.copies)
        if isinstance(found, Exception):
            return f"the generated source raised {type(found).__name__}: {found}"
        return "a guard failed on the inputs of the capture" if found is NotImplemented else difference(found, expected)


def captured(function: Any, inputs: Inputs) -> tuple[Any, Made | Failure | Exception]:
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
            tensors.append(capture.scope.stand_in(leaf) if callable(leaf) else leaf)
            static.append(leaf)
    plain = untransformed(function)
    while isinstance(plain, functools.partial):
        capture.reads[Path(("attribute", plain, "keywords"))] = dict(plain.keywords)
        plain = plain.func
    values = list(unflatten(inputs.structure, tensors))
    for value in values:
        for cls in _dataclasses_in(value):
            reason = own_code(cls)
            if reason is not None:
                capture.fail(reason, definition(function))
    n = len(inputs.args)
    with recording(capture), transforming(owned, gradient=False):
        raw = capture.scope.rebuild(function)(*values[:n], **dict(zip(inputs.kwargs, values[n:], strict=True)))
        leaves, structure = flatten(raw)
        outputs = [_output(capture, leaf) for leaf in leaves]
    result = unflatten(structure, [unwrapped(leaf) for leaf in leaves])
    if capture.failed is not None:
        return result, capture.failed
    try:
        return result, _made(function, inputs, capture, outputs, (static, structure, raw), copies, digest)
    except Exception as error:  # of ours: the user's run is over
        return result, error


def _made(
    function: Callable[..., Any], inputs: Inputs, capture: Capture, outputs: list[Any], trees: tuple[list[Any], Any, Any],
    copies: Any, digest: int,
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
    graph = optimise(graph)
    text = emit(graph, signature, name, _docstring(signature, graph))
    specialisation = Specialisation(text, graph, name, None if written else structure, digest)
    arrays = {path: array for path, (_, array) in capture.arrays.items()}
    check = compile_check(arguments, n, inputs.values, capture.reads, arrays)
    entry = Entry(check, specialisation, extras)
    site = next((c.site for c in graph.calls if c.op.path == "guard" and c.args[1] != "bool"), None)
    return Made(entry, copies, capture.has_number_guards, site)


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
    while hasattr(function, "__gradscribe_transform__"):
        suffix = f"_{function.kind}{suffix}" if function.kind != "compile" else suffix
        function = function.function
    name = getattr(function, "__name__", type(function).__name__)
    return ("function" if not name.isidentifier() else name) + suffix


def _docstring(signature: Signature, graph: Graph) -> str:
    """What the text is specialised to, parameters of one kind together."""
    kinds: dict[str, list[str]] = {}
    for name, tree in zip(signature.arguments_named, signature.trees, strict=True):
        kinds.setdefault(_describe(tree), []).append(name)
    inputs = graph.inputs[len(graph.inputs) - len(signature.extras) :]
    for name, v in zip(signature.extras, inputs, strict=True):
        kinds.setdefault(_describe(v), []).append(name)
    if not kinds:
        return "Takes no arguments."
    whole = "Specialised to " + "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items()) + "."
    if len(whole) <= 78:
        return whole
    lines = [line for kind, names in kinds.items() for line in textwrap.wrap(f"{', '.join(names)}: {kind}", 80)]
    return "Specialised to these arguments.\n\n    " + "\n    ".join(lines) + "\n    "


def _describe(tree: Any) -> str:
    """An argument without its sizes: one text serves every size that it does not name."""
    if isinstance(tree, Value):
        kind, dtype = tree.type.kind, tree.type.dtype.name
        return (
            f"{len(tree.type.shape)}-d {dtype}" if kind == "array" else "a Python number" if kind == "python" else dtype
        )
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k}: {_describe(v)}" for k, v in tree.items()) + "}"
    if isinstance(tree, (list, tuple)):
        return "(" + ", ".join(map(_describe, tree)) + ")"
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return type(tree).__name__
    return getattr(tree, "__name__", None) or repr(tree)
