"""Guards: the assumptions of a specialisation about its arguments and about values from outside, as Python code and in words."""

from __future__ import annotations

import builtins
import dataclasses
import math
import operator
import re
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from .....runtime.arrays import is_array, is_plain_array
from .....runtime.registry import REPLACED
from .....tracer.core.count import Count
from .....tracer.core.site import Site
from ....user_code.scope import Path
from ...capture.failure import read_at
from ...capture.generators import is_generator
from ...capture.sizes import Compared, Fixed
from .quick import quick

__all__ = [
    "ANY_INT", "OF_ARGUMENTS", "OF_SURROUNDINGS", "REMEDIES", "Assumption", "Exactly", "GuardPlan", "described", "same",
    "signature_key",
]  # fmt: skip


class _AnyInt:
    """In place of an int that is an input."""


ANY_INT = _AnyInt()


class Exactly:
    """In place of a float that is no input: a static argument."""

    def __init__(self, value: Any) -> None:
        self.value = value


def same(a: Any, b: Any) -> bool:
    """Whether a value read from outside is what it was: type, value and, of a float, sign and NaN."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, np.floating)):
        return bool(a == b and math.copysign(1, a) == math.copysign(1, b)) or bool(a != a and b != b)
    if isinstance(a, dict):
        if len(a) == len(b) and all(map(operator.is_, a.values(), b.values())) and list(a) == list(b):
            return True
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, Count):
        return bool(a.shape == b.shape)
    if isinstance(a, (complex, np.complexfloating, tuple)):
        return repr(a) == repr(b)
    return bool(a == b)


def signature_key(leaves: list[Any], free: Collection[int] = (), fixed: Collection[int] = ()) -> tuple[Any, ...]:
    """Return the key of the leaves of arguments: equal for calls that one specialisation may serve.

    Ints in `free` are any, floats in `fixed` count by their value.
    """
    key: list[Any] = []
    for k, v in enumerate(leaves):
        if k in free:
            key.append(int)
        elif k in fixed and isinstance(v, (float, complex, np.floating, np.complexfloating)):
            key.append((type(v), repr(v)))
        elif is_plain_array(v):
            key.append((v.dtype if type(v) is np.ndarray else (type(v), v.dtype), v.shape, v.strides))
        elif type(v) is float or type(v) is complex:
            key.append(type(v))
        elif isinstance(v, (np.floating, np.complexfloating)):
            key.append((type(v), "scalar"))
        elif is_generator(v):
            key.append((type(v), "generator"))
        else:
            by_value = isinstance(v, (int, str, bytes, np.generic, type(None), np.dtype))
            key.append((type(v), v if by_value else repr(v) if type(v) is slice else id(v)))
            if type(v) is Count:
                key.append(v.shape)
    return tuple(key)


class Assumption(NamedTuple):
    """One thing that must hold for a specialisation to serve a call."""

    kind: str  # a key of REMEDIES, or one of which there is nothing to say: "rules", "library", "generator"
    what: str  # the user's words for it: "x", "p['w']", "global `SCALE`"
    expected: str
    read: str  # what stands there now, as an expression
    test: str  # a condition on it
    place: Path | None = None  # where it is read from outside
    now: str = ""  # what stands outside, as a quick expression, where many of them are compared in one sweep
    held: str = (
        ""  # the constant that it is compared with: by identity, or of an array its class, dtype, shape and strides
    )


OF_ARGUMENTS = frozenset(["layout", "number", "structure", "static"])  # kinds that `gs.explain` shows as the signature
OF_SURROUNDINGS = frozenset(["scope", "array", "generator"])  # and those that it lists

# What to change so that an assumption of a kind fails less often; of the last three kinds are guards within the source.
REMEDIES = {
    "layout": "pass arrays of one dtype and memory layout (np.ascontiguousarray, .astype)",
    "size": "nothing, if the next sizes are served; else pad to a few sizes, or decide by values and not by sizes",
    "structure": "pass arguments of one structure: the same containers, keys and order",
    "number": "pass numbers of one type",
    "static": "pass it as an array or a float, if it varies: those are inputs, other values are fixed",
    "scope": "pass what varies as an argument",
    "array": "keep its dtype, shape and layout, or pass it as an argument",
    "code": "leave helper functions as they are between calls",
    "value": "np.where in place of `if`, if the outcome varies much: each outcome is a specialisation of its own",
    "length": "nothing, if they come again; else keep all elements, and let zeros take no part (np.where)",
    "number taken": "stay within NumPy in place of taking the number",
}  # fmt: skip


def described(value: Any) -> str:
    """A value in the few words by which a reader tells it from another."""
    if is_array(value):
        shown = f"{value.dtype.name}[{', '.join(map(str, value.shape))}]"
        if not is_plain_array(value):
            shown = f"{type(value).__name__} {shown}"
        return shown if value.flags.c_contiguous else f"{shown} with strides {value.strides}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(value, dict):
        return f"a dict with the keys {list(value)}"
    if isinstance(value, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, (bool, type(None), np.dtype, slice, tuple)):
        return repr(value)
    if isinstance(value, (int, float, complex, str, bytes, np.generic)):
        return f"{value if isinstance(value, np.generic) else repr(value)} ({type(value).__name__})"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return f"a {type(value).__name__}" if name is None else f"`{name}`"


class GuardPlan:
    """The assumptions of one specialisation, in the order in which they are checked, and the check itself."""

    def __init__(
        self, names: list[str], positional: int, args: list[Any], reads: dict[Path, Any], arrays: dict[Path, Any],
        codes: Iterable[types.CodeType] = (), definition: Site | None = None, written: Collection[int] = (),
        twins: dict[Path, Any] | None = None,
    ) -> None:  # fmt: skip
        self.names = names
        self.positional = positional
        self.reads = reads
        self.free: Collection[int] = ()  # the leaves of the arguments that are ints, of any value
        self.assumptions: list[Assumption] = []
        self.fixed: tuple[tuple[str, int, int, Fixed], ...] = ()  # lengths, with the names of their arrays and the axes
        self.compared: tuple[Compared, ...] = ()  # what the user's code found of sizes: it follows from the shapes
        self._arrays: list[tuple[str, str, Any, Path | None]] = []
        self._codes = tuple(codes)
        self._definition = definition
        self._own = "_"  # what begins the names of ours, and none of a parameter
        while any(name.startswith(self._own) for name in names):
            self._own += "_"
        self._space: dict[str, Any] = {self._own + name: known for name, known in _KNOWN.items()}
        self._space["__name__"] = __name__  # by which debuggers skip it
        rules = self._constant(REPLACED)
        self._assume("rules", "the rules of gs.rule", "those of then", rules, f"{rules}.count == {REPLACED.count}")
        for name, value in zip(names, args, strict=True):
            self._tree(name, name, value)
        for path, expect in reads.items():
            self._read(path, expect)
        for path, array in arrays.items():
            self._tree(self._now(path), words_for(path), array, path)
        if twins is not None:
            self._arrays += [(self._now(path), words_for(path), array, path) for path, array in twins.items()]
            self._told_apart()
        self._apart(written)
        self.check: Callable[..., bool] = self._compiled()

    def site(self, assumption: Assumption) -> Site | None:
        """The user's line that an assumption stems from."""
        return self._definition if assumption.place is None else read_at(assumption.place, self._codes)

    def failed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, Assumption, str] | None:
        """The first assumption that does not hold for a call: its place, itself, and what was found instead."""
        if len(args) != self.positional or list(kwargs) != self.names[self.positional :]:
            found = f"{len(args)} positional arguments and the keywords {list(kwargs)}"
            expected = f"{self.positional} positional arguments and the keywords {self.names[self.positional :]}"
            return 0, Assumption("structure", "the call", expected, "", ""), found
        bound = dict(zip(self.names, [*args, *kwargs.values()], strict=True))
        for k, assumption in enumerate(self.assumptions):
            try:
                if eval(assumption.test, self._space, bound):
                    continue
            except (TypeError, ValueError, AttributeError, LookupError):
                pass
            try:
                value = eval(assumption.read, self._space, bound)
            except (TypeError, ValueError, AttributeError, LookupError):
                return k, assumption, "nothing there"
            if assumption.kind == "rules":
                return k, assumption, "one that replaces another"
            found = described(value)
            if assumption.kind == "layout" and _sized(found) == _sized(assumption.expected):
                assumption = assumption._replace(kind="size")
            return k, assumption, found if found != assumption.expected else f"another object, {found}"
        return None

    def _constant(self, value: Any) -> str:
        name = f"{self._own}{len(self._space)}"
        self._space[name] = value
        return name

    def _assume(
        self, kind: str, what: str, expected: str, read: str, test: str, path: Path | None = None, held: Any = None
    ) -> None:
        swept = () if held is None or path is None else (read if kind == "array" else self._now(path), held)
        self.assumptions.append(Assumption(kind, what, expected, read, test, path, *swept))

    def _tree(self, text: str, words: str, value: Any, path: Path | None = None) -> None:
        kind, own = type(value), self._own
        if is_plain_array(value):
            self._arrays.append((text, words, value, path))
            layout = f"{text}.shape == {value.shape!r} and {text}.strides == {value.strides!r}"
            cls = f"{own}ndarray" if kind is np.ndarray else self._constant(kind)
            test = f"{own}type({text}) is {cls} and {text}.dtype == {self._constant(value.dtype)} and {layout}"
            held = None if path is None else self._constant(_FACTS(value))
            self._assume("layout" if path is None else "array", words, described(value), text, test, path, held)
            return
        typed = f"{own}type({text}) is {self._constant(kind)}"
        if kind is dict:
            keys = f"{own}list({text}) == {self._constant(list(value))}"
            self._assume("structure", words, described(value), text, f"{typed} and {keys}")
            for k, v in value.items():
                self._tree(f"{text}[{self._constant(k)}]", f"{words}[{k!r}]", v)
        elif isinstance(value, (list, tuple)):
            shown = f"a {kind.__name__} of {len(value)}"
            self._assume("structure", words, shown, text, f"{typed} and {own}len({text}) == {len(value)}")
            for j, v in enumerate(value):
                self._tree(f"{text}[{j}]", f"{words}[{j}]", v)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            self._assume("structure", words, f"a {kind.__name__}", text, typed)
            for f in dataclasses.fields(value):
                self._tree(f"{text}.{f.name}", f"{words}.{f.name}", getattr(value, f.name))
        elif kind is Exactly:
            exact = self._constant(value.value)
            typed = f"{own}type({text}) is {self._constant(type(value.value))}"
            self._assume("static", words, described(value.value), text, f"{typed} and {own}same({text}, {exact})")
        elif value is ANY_INT:
            self._assume("number", words, "any int", text, f"{own}type({text}) is {self._constant(int)}")
        elif kind is float or kind is complex or isinstance(value, (np.floating, np.complexfloating)):
            self._assume("number", words, f"any {kind.__name__}", text, typed)  # a run-time input
        elif is_generator(value):
            self._assume("generator", words, f"any {kind.__name__}", text, typed, path)
        elif isinstance(value, (int, str, bytes, np.generic, np.dtype, slice)):
            self._assume("static", words, described(value), text, f"{typed} and {text} == {self._constant(value)}")
        else:
            self._assume("static", words, described(value), text, f"{typed} and {text} is {self._constant(value)}")

    def _told_apart(self) -> None:
        """Assume of each two arrays that they are one object, or are not."""
        for k, (text, words, array, path) in enumerate(self._arrays):
            for other, others_words, another, _ in self._arrays[:k]:
                is_it = "is" if array is another else "is not"
                self._assume("layout", words, f"{is_it} {others_words}", text, f"{text} {is_it} {other}", path)

    def _apart(self, written: Collection[int]) -> None:
        """Assume that arrays that are written into are writeable, and share no memory with other arrays."""
        if not written:
            return
        for k, (text, words, array, path) in enumerate(self._arrays):
            if id(array) in written and type(array) is np.ndarray:
                flag = f"{text}.flags.writeable"
                self._assume("layout", words, "may be written", flag, flag, path)
            for other, others_words, another, _ in self._arrays[:k]:
                if id(array) in written or id(another) in written:
                    expected = f"shares no memory with {others_words}"
                    self._assume("layout", words, expected, text, f"not {self._own}overlap({text}, {other})", path)

    def _read(self, path: Path, expect: Any) -> None:
        kind, holder, name = path
        if kind == "library":
            now, expected = self._now(path), self._constant(expect)
            read = f"{self._constant(path)}.read()"
            self._assume("library", words_for(path), "the library's own", read, f"{now} is {expected}", path)
            return
        code = isinstance(holder, types.FunctionType) and name.startswith("__")
        now = self._now(path)
        expected = self._constant(expect)
        number = isinstance(expect, (int, float, complex, str, bytes, tuple, dict, slice, np.generic))
        held: str | None = expected if kind in ("attribute", "cell", "item", "global") else None
        if kind == "global" and name not in holder:
            test = f"{name!r} not in {self._constant(holder)} and {self._own}builtin.get({name!r}) is {expected}"
            held = None
        elif kind == "keys" and not isinstance(holder, (dict, set, frozenset)):
            test = f"{self._own}len({self._constant(holder)}) == {len(expect)}"
        elif kind != "id" and isinstance(expect, dict) and not expect:
            test = f"not {now}"
            held = None
        elif kind != "id" and number and not isinstance(expect, bool):
            test = f"{self._own}same({now}, {expected})"
        else:
            test = f"{now} is {expected}"
        words = {"absent": "nothing", "defined": "its members"}.get(kind) or described(expect)
        read = f"{self._constant(path)}.read()"
        self._assume("code" if code else "scope", words_for(path), words, read, test, path, held)

    def _now(self, path: Any) -> str:
        """Return a quick expression for the value at a place."""
        kind, holder, name = path
        if kind == "global" and name in holder:
            return f"{self._constant(holder)}.get({name!r})"
        if kind == "cell":
            return f"{self._constant(holder)}.cell_contents"
        if kind in ("attribute", "library") and name.isidentifier():
            return f"{self._constant(holder)}.{name}"
        if kind == "item":
            return f"{self._constant(holder)}[{self._constant(name)}]"
        if kind == "defined":
            return f"{self._constant(holder)}.hold()"
        return self._now(holder) if kind == "id" else f"{self._constant(path)}.read()"

    def _tests(self) -> list[str]:
        """The conditions, those of many places outside in sweeps; what is not identical is compared alone."""
        own, swept = self._own, [a for a in self.assumptions if a.held]
        if len(swept) < FEW:
            return [a.test for a in self.assumptions]
        tests = [a.test for a in self.assumptions if not a.held]
        for measured in (False, True):
            group = [a for a in swept if (a.kind == "array") is measured]
            now = f"({''.join(f'{a.now}, ' for a in group)})"
            held = self._constant([self._space[a.held] for a in group])
            if measured:
                tests.append(f"{own}list({own}map({own}facts, {now})) == {held}")
            else:
                alone = " and ".join(a.test for a in group) or "True"
                tests.append(f"({own}all({own}map({own}is_, {now}, {held})) or ({alone}))")
        return tests

    def reader(self, paths: Iterable[Path]) -> Callable[[], tuple[Any, ...]]:
        """Return what reads these places, all at once."""
        now = "".join(f"{self._now(path)}, " for path in paths)
        found = quick(f"({now})", (), 0, self._space, same) if now else None
        if found is not None:
            return found
        exec(compile(f"def read():\n    return ({now})\n", "<plan of reads>", "exec"), self._space)
        read: Callable[[], tuple[Any, ...]] = self._space.pop("read")
        return read

    def _compiled(self) -> Callable[..., bool]:
        whole = " and ".join(f"({a.test})" for a in self.assumptions)
        found = quick(whole, self.names, self.positional, self._space, same) if whole else None
        if found is not None:
            return found
        positional, keywords = self.names[: self.positional], self.names[self.positional :]
        parameters = ", ".join([*positional, *(["*", *keywords] if keywords else [])])
        tests = "\n        and ".join(self._tests() or ["True"])
        text = f"def check({parameters}):\n    return (\n        {tests}\n    )\n"
        exec(compile(text, "<plan of a check>", "exec"), self._space)
        check: Callable[..., bool] = self._space.pop("check")
        return check


FEW = 12  # places outside that are compared one by one
_FACTS = operator.attrgetter("__class__", "dtype", "shape", "strides")
_KNOWN = {  # to the check, which names that parameters may have would hide from it
    "ndarray": np.ndarray, "same": same, "builtin": vars(builtins), "overlap": np.may_share_memory, "type": type,
    "list": list, "len": len, "all": all, "map": map, "is_": operator.is_, "facts": _FACTS,
}  # fmt: skip


def _sized(words: str) -> str | None:
    """The description of a plain array without its lengths."""
    found = re.fullmatch(r"(\w+)\[([\d, ]*)\]", words)
    return found and f"{found[1]} {found[2].count(',')}"


def words_for(path: Path) -> str:
    """Return the user's words for a place: "global `SCALE`"."""
    kind, holder, name = path
    if kind == "keys":
        return f"the keys of `{path.words}`"
    if kind == "method" or path.words != name:
        return f"`{path.words}`"
    if kind == "cell":
        return f"closure variable `{name}`"
    if kind == "global":
        return f"global `{name}`" if "__name__" in holder or name not in holder else f"module `{name}`"
    owner = getattr(holder, "__qualname__", None) or getattr(holder, "__name__", type(holder).__name__)
    return f"`{owner}.{name}`"
