"""Stores into objects of the user's, which this run and each compiled call do last."""

from __future__ import annotations

import copy
import types
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ....tracer.core.tensor_base import Operand
from ....tracer.memory.survivors import note
from ...difference import difference
from ...user_code.scope import ABSENT, Path, is_user_function
from ..frontend.attempts import LoopRejected
from .failure import Failure
from .instructions import only_filled, reads_of_others
from .numbers import is_float
from .outside import is_constant

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["Store", "Stored", "holds_otherwise", "is_storable", "snapshots"]

_FILLED = (list, dict, deque, OrderedDict)
_DYNAMIC = frozenset(
    ["getattr", "hasattr", "setattr", "delattr", "vars", "dir", "__dict__"]
)  # attributes by other means


class Store(NamedTuple):
    """A place that a call stores into."""

    kind: str  # "attribute", "item", or the name of a method of a list: "append", "extend", "insert"
    holder: Any
    key: Any
    words: str

    def do(self, value: Any) -> None:
        """Store a value there; what is traced in it is settled when the outermost transform ends."""
        if self.kind == "attribute" or (self.kind == "item" and not isinstance(self.key, slice)):
            note(self.holder, self.key)
        else:
            note(self.holder)
        if self.kind == "attribute":
            setattr(self.holder, self.key, value)
        elif self.kind == "item":
            self.holder[self.key] = value
        elif self.kind == "insert":
            self.holder.insert(self.key, value)
        else:
            getattr(self.holder, self.kind)(value)


class Sink:
    """A stand-in for a container that the code only stores into."""

    __slots__ = ("_holder", "_stored", "_words")

    def __init__(self, stored: Stored, holder: Any, words: str) -> None:
        self._stored, self._holder, self._words = stored, holder, words

    def append(self, value: Any) -> None:
        """Append a value."""
        self._note("append", None, value)

    def appendleft(self, value: Any) -> None:
        """Append a value on the left."""
        self._note("appendleft", None, value)

    def extend(self, values: Any) -> None:
        """Append several."""
        self._note("extend", None, list(values))

    def insert(self, place: Any, value: Any) -> None:
        """Insert a value."""
        self._note("insert", place, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._note("item", key, value)

    def _note(self, kind: str, key: Any, value: Any) -> None:
        capture = self._stored.capture
        known = kind == "item" if isinstance(self._holder, dict) else kind == "item" or hasattr(self._holder, kind)
        if not known or not is_constant(key):  # what raises, or depends on what is traced
            capture.refuse(f"stores into `{self._words}`, a {type(self._holder).__name__}")
        self._stored.note(Store(kind, self._holder, key, f"`{self._words}`"), value)


class Attributed:
    """A stand-in for a function whose attributes the code stores: it is called like it."""

    __slots__ = ("_of",)

    def __init__(self, stored: Stored, function: Any, run: Any, words: str) -> None:
        object.__setattr__(self, "_of", (stored, function, run, words))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return object.__getattribute__(self, "_of")[2](*args, **kwargs)

    def __getattribute__(self, name: str) -> Any:
        stored, function, run, words = object.__getattribute__(self, "_of")
        return stored.read(function, run, name, words)

    def __setattr__(self, name: str, value: Any) -> None:
        stored, function, _, words = object.__getattribute__(self, "_of")
        stored.store(function, name, value, words)


class Stored:
    """The stores of one capture, in their order; and the functions whose attributes its code may store."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.found: list[tuple[Store, Any]] = []
        self.into: dict[str, Failure] = {}  # the names of variables and attributes whose attributes the code stores
        self.names: set[str] = set()  # and those attributes
        self.before: dict[int, Any] = {}  # what the containers among them held before the run
        self.raised = False  # whether the run has ended by an error
        self.codes: set[types.CodeType] = set()  # the user's
        self._sinks: dict[int, Sink] = {}  # what stands for containers, by their identity
        self._held: dict[int, Any] = {}  # containers in what was stored: source makes each anew, and keeps no identity
        self.done = 0  # how many of them have happened
        self.over = False
        self._attributed: dict[
            int, tuple[Any, Any]
        ] = {}  # functions whose attributes are stored, and what stands for each
        self._read: set[Path] = set()  # attributes of these that were read

    def note(self, store: Store, value: Any) -> None:
        """The code stores a value."""
        regions = self.capture.regions
        if regions is not None and self.capture.failed is None and len(regions.frames) != regions.level:
            raise LoopRejected(f"stores {store.words}", self.capture.site())
        for one in _containers(value):
            if id(one) in self._held:
                self.capture.refuse(f"stores one {type(one).__name__} twice, the second time in {store.words}")
            self._held[id(one)] = one
        self.found.append((store, value))
        if self.capture.failed is not None:
            self.do_now()

    def do_now(self) -> None:
        """The capture is over, and the run goes on: what was stored is there from now on."""
        waiting, self.done = self.found[self.done :], len(self.found)
        for store, value in waiting:
            store.do(self.capture.plain(value) if self.capture.is_handle(value) else value)

    def plain(self, value: Any) -> Any:
        """The user's function, in place of what stands for it."""
        return object.__getattribute__(value, "_of")[1] if type(value) is Attributed else value

    @property
    def places(self) -> tuple[Store, ...]:
        """The places into which the code stores."""
        return tuple([store for store, _ in self.found])

    def finish(self, values: Any) -> None:
        """The run has come to its end, and these are the values: what Python would have stored."""
        met: dict[int, Any] = {}
        for k, ((store, raw), new) in enumerate(zip(self.found, values, strict=True)):
            value = _with_identities(raw, new, met)
            if k >= self.done:
                store.do(value)
            elif store.kind == "attribute":
                if getattr(store.holder, store.key, None) is raw:
                    store.do(value)
            else:
                _replace(store.holder, raw, value)
        self.done = len(self.found)

    def value(self, obj: Any, name: str) -> Any:
        """Return the value that the code stored last as an attribute of an object; ABSENT where there is none."""
        return next((v for s, v in reversed(self.found) if s.holder is obj and s[0::2] == ("attribute", name)), ABSENT)

    # containers
    def filled(self, value: Any, path: Path) -> Any:
        """Return the stand-in for a container that the code fills and does not read; None where it does more."""
        if type(value) not in _FILLED or path[0] not in ("global", "cell", "attribute") or id(value) in self._sinks:
            return self._again(value, path)
        said = [only_filled(code, path[2]) for code in self.codes]
        if not all(alone for alone, _ in said) or not any(fills for _, fills in said):
            return None
        self.capture.findings.reads[Path(("id", path, ""))] = value
        self._sinks[id(value)] = sink = Sink(self, value, path.words)
        return sink

    def _again(self, value: Any, path: Path) -> Any:
        """A container is read once more: by code that fills it, or by other code."""
        sink = self._sinks.get(id(value))
        if sink is None:
            return None
        if path[0] in ("global", "cell", "attribute") and all(only_filled(code, path[2])[0] for code in self.codes):
            self.capture.findings.reads[Path(("id", path, ""))] = value
            return sink
        self.capture.refuse(f"reads `{path.words}`, into which it stores", path=path)
        return None

    # functions
    def attributed(self, function: Any, run: Any, words: str) -> Any:
        """Return the stand-in for a function whose attributes the code stores; `run` is the function as it runs here."""
        known = self._attributed.get(id(function))
        if known is None:
            known = self._attributed[id(function)] = (function, Attributed(self, function, run, words))
        return known[1]

    def read(self, function: Any, run: Any, name: str, words: str) -> Any:
        """The code reads an attribute of such a function."""
        capture = self.capture
        if self.over or capture.failed is not None:
            return getattr(run, name)
        if name == "__dict__":
            capture.refuse(f"reads the attributes of `{words}`, which it stores")
            return vars(function)
        stored = self.value(function, name)
        if stored is not ABSENT or name not in self.names:
            return getattr(run, name) if stored is ABSENT else stored
        path = Path(("attribute", function, name), words=f"{words}.{name}")
        self._read.add(path)
        if name not in vars(function):
            capture.findings.reads[Path(("absent", function, name), words=path.words)] = True
            return getattr(run, name)  # raises
        return capture.see(vars(function)[name], path)

    def store(self, function: Any, name: str, value: Any, words: str) -> None:
        """The code stores an attribute of such a function."""
        capture = self.capture
        path, now = Path(("attribute", function, name)), vars(function).get(name)
        number = type(now) is int or is_float(now)
        if path in self._read and not number and path not in capture.findings.arrays:
            capture.refuse(f"stores the attribute `{name}`")
        if self.over:
            setattr(function, name, value)
        else:
            self.note(Store("attribute", function, name, f"`{words}.{name}`"), value)

    def through_names(self, name: str) -> bool:
        """Whether the code stores an attribute, and reads it of nothing but what it stores into."""
        return name in self.names and not any(reads_of_others(code, name, self.into) for code in self.codes)

    def settle(self) -> None:
        """The user's code is done."""
        self.over = True
        if self.raised and not (self.capture.abandoned or self.capture.kept):
            self.finish([_plain(self.capture.plain(value)) for _, value in self.found])

    def guarded(self, reads: dict[Path, Any]) -> dict[Path, Any]:
        """The guards, without those on attributes of functions that the code stores: it has read them one by one."""
        if not self._attributed:
            return reads
        found: dict[Path, Any] = {}
        for path, expected in reads.items():
            if path[0] == "attribute" and path[2] == "__dict__" and id(path[1]) in self._attributed:
                stored = {store.key for store, _ in self.found if store.holder is path[1]}
                stored |= {one[2] for one in self._read if one[1] is path[1]}
                for name, value in expected.items():
                    if name not in stored:
                        found[Path(("attribute", path[1], name))] = value
            else:
                found[path] = expected
        return found


def is_storable(value: Any) -> bool:
    """Whether stores of attributes are seen by the function's own dict: a function of the user's, or one of ours around it."""
    return is_user_function(value) or hasattr(type(value), "__gradscribe_transform__")


def snapshots(stores: tuple[Store, ...]) -> dict[int, Any]:
    """Return copies of the containers among the places, as they are before a call."""
    return {id(s.holder): copy.copy(s.holder) for s in stores if s.kind != "attribute"}


def holds_otherwise(stores: tuple[Store, ...], values: Any, before: dict[int, Any], eps: float) -> str | None:
    """Return how values that the source would store differ from those that the function itself has stored."""
    expected: dict[tuple[int, Any], tuple[Store, Any]] = {}
    for store, value in zip(stores, values, strict=True):
        if store.kind == "attribute":
            expected[id(store.holder), store.key] = store, value
            continue
        try:
            store._replace(holder=before[id(store.holder)]).do(value)
        except Exception as error:
            return f"{store.words}: it raised {error!r}"
    for store, value in expected.values():
        problem = difference(value, _plain(getattr(store.holder, store.key, None)), eps)
        if problem:
            return f"of {store.words}, {problem}"
    for store in stores:
        if store.kind != "attribute":
            then, now = before[id(store.holder)], store.holder
            pairs = (
                zip(then.items(), now.items(), strict=False) if isinstance(now, dict) else zip(then, now, strict=False)
            )
            new = [(a, _plain(b)) for a, b in pairs if a is not b]
            problem = "another length" if len(then) != len(now) else difference(
                [a for a, _ in new], [b for _, b in new], eps
            )  # fmt: skip
            if problem:
                return f"of {store.words}, {problem}"
    return None


def _replace(container: Any, raw: Any, value: Any) -> None:
    """Let a container hold what Python would have stored, in place of what stood for it while the code ran."""
    pairs = list(zip(raw, value, strict=True)) if type(raw) is list else [(raw, value)]
    for k, one in list(container.items()) if isinstance(container, dict) else list(enumerate(container)):
        for a, b in pairs:
            if one is a and a is not b:
                container[k] = b


def _with_identities(raw: Any, value: Any, met: dict[int, Any]) -> Any:
    """Return a value in which what is one container in `raw` is one; `met` has the container for each, by identity."""
    if type(raw) not in (list, dict, tuple):
        return value
    if id(raw) in met:
        return met[id(raw)]
    if type(raw) is tuple:
        return tuple([_with_identities(a, b, met) for a, b in zip(raw, value, strict=True)])
    met[id(raw)] = value
    for key in range(len(raw)) if type(raw) is list else raw:
        value[key] = _with_identities(raw[key], value[key], met)
    return value


def _containers(value: Any) -> list[Any]:
    """Return the lists and dicts in a value, itself among them, that somebody may tell apart by identity."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    own = [value] if isinstance(value, (list, dict)) else []
    return own + [one for part in inner for one in _containers(part)]


def _plain(value: Any) -> Any:
    if isinstance(value, Operand):
        return value._value
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return {k: _plain(v) for k, v in value.items()} if type(value) is dict else value
