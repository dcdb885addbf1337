"""One specialisation: from a captured graph to checked, runnable text, and the inputs that it serves."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import linecache
import textwrap
import types
import warnings
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
from .emit import emit
from .failure import Failure, definition
from .guards import compile_check, signature_key
from .naming import Names
from .outside import is_constant, own_code, why_not
from .passes import optimise
from .signature import Signature, parameter_names, printable
from .sizes import Size

__all__ = ["Entry", "Inputs", "Specialisation", "captured", "difference", "unwrapped"]

_RUNTIME = (float, complex, np.floating, np.complexfloating)
_serial = itertools.count(1).__next__


class Inputs:
    """The arguments of one call, taken apart: what is an input, what is static, what cannot be compiled."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.args, self.kwargs = args, kwargs
        self.names = parameter_names(function, args, kwargs)
        self.values = [*args, *kwargs.values()]
        self.leaves, self.structure = flatten(tuple(self.values))
        reason = _receiver(function)
        self.refused = None if reason is None else Failure(reason, definition(function))
        arrays: list[Any] = []
        for leaf in self.leaves:
            reason = self._reason(leaf)
            if reason is not None and self.refused is None:
                self.refused = Failure(reason, definition(function))
            if type(leaf) is np.ndarray:
                if any(np.may_share_memory(leaf, other) for other in arrays) and self.refused is None:
                    self.refused = Failure("was called with array arguments that overlap in memory", definition(function))
                arrays.append(leaf)
        self.key = (self.structure, len(args), tuple(kwargs), signature_key(self.leaves))

    @staticmethod
    def _reason(leaf: Any) -> str | None:
        if type(leaf) is np.ndarray:
            plain = leaf.dtype.kind in "biufc" and leaf.dtype.isnative
            return None if plain else f"was called with an array of dtype {leaf.dtype.str if leaf.dtype.kind in 'biufc' else leaf.dtype}"
        if isinstance(leaf, np.ndarray):
            return f"was called with a {type(leaf).__name__}, a subclass of ndarray"
        if isinstance(leaf, Operand):
            return "was called with a Tensor; compiled functions take arrays"
        if is_constant(leaf):
            return None
        if callable(leaf):
            reason = why_not(leaf, getattr(leaf, "__name__", type(leaf).__name__))
            return None if reason is None else f"was called with a function that it cannot follow: it {reason}"
        return f"was called with a {type(leaf).__name__}, which compile does not look into"

    def copied(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments again, arrays copied with the strides that they have."""
        leaves = [_strided_copy(v) if type(v) is np.ndarray else v for v in self.leaves]
        values = list(unflatten(self.structure, leaves))
        n = len(self.args)
        return values[:n], dict(zip(self.kwargs, values[n:], strict=True))

    def digest(self) -> int:
        """A number that tells other inputs of the same signature apart from these."""
        return hash(tuple([v.tobytes() if type(v) is np.ndarray else repr(v) for v in self.leaves]))


def _receiver(function: Any) -> str | None:
    """Why a function cannot be compiled for what is bound to it: None for a plain one."""
    function = untransformed(function)
    if isinstance(function, types.MethodType):
        return (
            f"is a method of a {type(function.__self__).__name__}, whose attributes gs.compile does not follow yet; "
            "pass what it reads as arguments"
        )
    if isinstance(function, functools.partial):
        bound = (*function.args, *function.keywords.values())
        odd = next((b for b in bound if not is_constant(b) and type(b) is not np.ndarray), None)
        return _receiver(function.func) if odd is None else f"is a partial with a {type(odd).__name__}; pass it as an argument"
    if type(function) is types.FunctionType:
        return None
    return why_not(function, getattr(function, "__name__", type(function).__name__))


def untransformed(function: Any) -> Any:
    """The user's function under our transforms."""
    while hasattr(function, "__gradscribe_transform__"):
        function = function.function
    return function


def _strided_copy(array: Any) -> Any:
    """A copy with the same strides: a contiguous one would change the bits of a matmul."""
    if array.flags.c_contiguous:
        return array.copy()
    if not array.size:
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.empty(high - low, np.uint8)
    offset = array.__array_interface__["data"][0] - low
    made = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    made[...] = array
    return made


class Specialisation:
    """Generated text and the function that it is."""

    def __init__(self, text: str, graph: Graph, name: str, rebuild: Any, digest: int) -> None:
        self.text = text
        self.graph = graph  # what the text was written from
        self.rebuild = rebuild  # the structure of a result that cannot be written as a literal
        self.digest = digest
        self.unchecked = 3  # calls within which the second check must come
        self.filename = f"<gradscribe {name} {_serial()}>"
        linecache.cache[self.filename] = (len(text), None, text.splitlines(keepends=True), self.filename)
        space: dict[str, Any] = {"__name__": f"gradscribe.generated.{name}", "__loader__": _Loader(text)}
        exec(compile(text, self.filename, "exec"), space)
        self.function: Callable[..., Any] = space[name]


class _Loader:
    """What linecache asks for the text again once its cache was cleared."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text


class Entry:
    """A signature and the specialisation that serves it."""

    __slots__ = ("call", "check", "extras", "specialisation")

    def __init__(self, check: Callable[..., bool], specialisation: Specialisation, extras: list[tuple[str, Path]]) -> None:
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

    def fits(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether all that the specialisation assumes holds."""
        try:
            return self.check(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, KeyError):
            return False


class Made(NamedTuple):
    """A fresh specialisation that has not been checked yet."""

    entry: Entry
    text: str
    copies: tuple[list[Any], dict[str, Any]]
    number_guards: bool
    number_site: Site | None

    def first_check(self, expected: Any) -> str | None:
        """Run the text on copies of the inputs; what differs from the eager result, or None."""
        args, kwargs = self.copies
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = self.entry.call(*args, **kwargs)
            except Exception as error:
                return f"the generated source raised {type(error).__name__}: {error}"
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
        if type(leaf) is np.ndarray or isinstance(leaf, _RUNTIME):
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
    n, leaves = len(inputs.args), outputs
    graph = Graph(capture.graph.inputs, capture.graph.calls, outputs)
    literal = unflatten(structure, range(len(leaves))) if leaves else raw
    written = printable(literal)
    names = Names()
    arguments = [names.new(name) for name in inputs.names]
    extras = [(names.new(path.name), path) for path in capture.arrays]
    if arguments != inputs.names:
        return Failure(f"has parameters named like builtins: {', '.join(inputs.names)}", definition(function))
    signature = Signature(
        arguments, n, list(unflatten(inputs.structure, static)), [name for name, _ in extras],
        literal if written else tuple(range(len(leaves))),
    )  # fmt: skip
    name = _function_name(function)
    graph = optimise(graph)
    text = emit(graph, signature, name, _docstring(function, signature, graph))
    specialisation = Specialisation(text, graph, name, None if written else structure, digest)
    arrays = {path: array for path, (_, array) in capture.arrays.items()}
    check = compile_check(arguments, n, inputs.values, capture.reads, arrays)
    entry = Entry(check, specialisation, extras)
    site = next((c.site for c in graph.calls if c.op.path == "guard" and c.args[1] != "bool"), None)
    return Made(entry, text, copies, capture.has_number_guards, site)


def _dataclasses_in(value: Any) -> set[type]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {type(value)}
        for f in dataclasses.fields(value):
            found |= _dataclasses_in(getattr(value, f.name))
        return found
    if isinstance(value, dict):
        return {c for v in value.values() for c in _dataclasses_in(v)}
    if isinstance(value, (list, tuple)):
        own = {type(value)} if hasattr(value, "_fields") else set()
        return own.union(*[_dataclasses_in(v) for v in value])
    return set()


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


def _docstring(function: Any, signature: Signature, graph: Graph) -> str:
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
        return f"{len(tree.type.shape)}-d {dtype}" if kind == "array" else "a Python number" if kind == "python" else dtype
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k}: {_describe(v)}" for k, v in tree.items()) + "}"
    if isinstance(tree, (list, tuple)):
        return "(" + ", ".join(map(_describe, tree)) + ")"
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return type(tree).__name__
    return getattr(tree, "__name__", None) or repr(tree)


def difference(found: Any, expected: Any) -> str | None:
    """How compiled and eager results differ, bit for bit; None where they do not."""
    a, structure_a = flatten(found)
    b, structure_b = flatten(expected)
    if structure_a != structure_b:
        return f"its structure is {structure_a}, eager's is {structure_b}"
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        if type(x) is not type(y):
            return f"result {k} is a {type(x).__name__}, eager's a {type(y).__name__}"
        if isinstance(x, np.ndarray):
            if x.dtype != y.dtype or x.shape != y.shape or x.strides != y.strides:
                return (
                    f"result {k} has dtype, shape, strides {x.dtype}, {x.shape}, {x.strides}; "
                    f"eager's {y.dtype}, {y.shape}, {y.strides}"
                )
        if isinstance(x, (np.ndarray, np.generic)):
            if x.tobytes() != y.tobytes() and not _same_but_nan(x, y):
                worst = np.max(np.abs(np.asarray(x, dtype=complex) - np.asarray(y, dtype=complex)))
                return f"result {k} differs by up to {worst:.3g}"
        elif repr(x) != repr(y):
            return f"result {k} is {x!r}, eager's {y!r}"
    return None


def _same_but_nan(x: Any, y: Any) -> bool:
    """Equal values and signs, but for the payload of NaNs, which NumPy does not promise from run to run."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "fc":
        return False
    # not by bytes: those that pad a long double are anything
    signs = (np.signbit(x.real) == np.signbit(y.real)) & (np.signbit(x.imag) == np.signbit(y.imag))
    return bool(np.all((np.isnan(x) & np.isnan(y)) | ((x == y) & signs)))
