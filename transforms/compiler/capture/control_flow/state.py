"""The variables that a loop or a branch changes, as flat leaves: which are carried, and of what types they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....runtime.arrays import is_plain_array
from .....runtime.ir.graph import Type, type_of
from .....runtime.registry import require
from .....tracer.core.dispatch import apply
from .....tracer.core.tensor_base import Operand, levels_of
from .....tracer.memory.traced_writes import rebind
from ....trees import flatten, paths, unflatten
from ...frontend.attempts import LoopRejected, Retyped
from ...frontend.operators import Undefined
from ...schedule.names import name_of_leaf
from .examples import copied, covered, joined, over
from .lists import GROWN, Collected, last_of

__all__ = ["Leaves", "Params", "plain_sample"]

_NUMBERS = (int, float, complex, np.generic, np.ndarray)


def plain_sample(value: Any) -> Any:
    """Return the number that a traced value holds, or a number itself."""
    if isinstance(value, Operand):
        return value._value
    return int(value) if isinstance(value, int) and type(value) is not bool else value


def is_unbound(value: Any) -> bool:
    """Whether a name is not bound."""
    return type(value) is Undefined


def _is_carried(value: Any) -> bool:
    return isinstance(value, (Operand, *_NUMBERS))


def _type(value: Any) -> Type:
    return type_of(plain_sample(value))


def _said(t: Type) -> str:
    """A type in words: `a float of Python's`, `a scalar float64 of NumPy's`, `an array float64[3]`."""
    if t.kind == "python":
        return f"a {t.dtype.name.rstrip('0123456789')} of Python's"
    return f"a {t} of NumPy's" if t.kind == "scalar" else f"an array {t}"


def _alike(a: Type, b: Type) -> bool:
    return a.kind == b.kind and a.dtype == b.dtype and a.shape == b.shape


class Leaves:
    """A state, taken apart: lists, tuples, dicts and named tuples of it become their leaves."""

    def __init__(self, state: tuple[Any, ...], names: Sequence[str], collected: frozenset[int] = frozenset()) -> None:
        self.state = state
        self.variables = names
        self.collected = collected  # the variables that are lists which grow by an item a trip
        self.values: list[Any] = []
        self.names: list[str] = []
        self.structures: list[Any] = []
        for k, (value, name) in enumerate(zip(state, names, strict=True)):
            leaves: list[Any] = [value]
            structure: Any = None
            if k in collected:
                leaves, structure = last_of(value), GROWN
            elif type(value) in (list, tuple, dict) or _is_record(value):
                leaves, structure = flatten(value)
            self.structures.append((structure, len(leaves)))
            self.values += leaves
            if structure is None:
                self.names.append(name)
            elif structure is GROWN:
                self.names += [f"{name}_{k}" for k in range(len(leaves))]
            else:
                self.names += [_name_of_leaf(name, value, path) for path in paths(value)]

    def _state(self, values: Sequence[Any]) -> tuple[Any, ...]:
        found, at = [], 0
        for structure, count in self.structures:
            part = values[at : at + count]
            if structure is GROWN:
                found.append(Collected(part))
            else:
                found.append(part[0] if structure is None else unflatten(structure, part))
            at += count
        return tuple(found)

    def lists(self) -> frozenset[int]:
        """The variables that are lists, where none is known to grow."""
        return frozenset() if self.collected else frozenset([k for k, v in enumerate(self.state) if type(v) is list])

    @property
    def places(self) -> list[int]:
        """The leaves that are carried."""
        return [k for k, value in enumerate(self.values) if _is_carried(value)]

    def carried(self) -> list[Any]:
        """Their values."""
        return [self.values[k] for k in self.places]

    def labels(self) -> list[str | None]:
        """Their names; None for what is not the user's."""
        return [_label(self.names[k]) for k in self.places]

    def carried_as(self, start: Leaves) -> list[Any]:
        """The values where `start` has carried ones, Python's constants as what stands there."""
        return [_as(self.values[k], start.values[k]) for k in start.places]

    def params(self, make: Callable[[Any, str | None], Any]) -> Params:
        """Inputs of a region in place of the carried leaves."""
        values, tensors = list(self.values), []
        for k in self.places:
            made = make(plain_sample(self.values[k]), _label(self.names[k]))
            values[k] = covered(made, levels_of(self.values[k]))
            tensors.append(values[k])
        return Params(self._state(values), tensors)

    def aliases(self, frame: Any) -> Params:
        """Tensors of a region's own for those of the state: what the region writes into them, it writes there alone."""
        values, tensors = list(self.values), []
        for k in self.places:
            old = self.values[k]
            if isinstance(old, Operand):
                new = values[k] = covered(copied(old), levels_of(old))
                frame.fresh.append(new)
            tensors.append(values[k])
        return Params(self._state(values), tensors)

    # loops
    def growing(self, found: Leaves) -> frozenset[int]:
        """The variables that are lists which have one item more after a trip."""
        return frozenset(
            k
            for k, (a, b) in enumerate(zip(self.state, found.state, strict=True))
            if type(a) is list and type(b) is list and len(b) == len(a) + 1 and _is_carried(b[-1])
        )

    def items(self) -> list[Any]:
        """Return the items that a trip adds to each of those."""
        return [self.state[k].one(self.variables[k]) for k in sorted(self.collected)]

    def fits(self, found: Leaves) -> str | None:
        """Why the state after a trip cannot be the state before the next, in words; None where it can, or promoted."""
        if [s for s, _ in self.structures] != [s for s, _ in found.structures]:
            return f"leaves `{_changed(self, found)}` with another structure after a trip"
        for k, (a, b) in enumerate(zip(self.values, found.values, strict=True)):
            name = self.names[k]
            if is_unbound(a) and (_is_carried(b) or is_unbound(b)):
                continue
            if _is_carried(a) != _is_carried(b):
                return f"finds `{name}` a {_word(a)}, and leaves it a {_word(b)}"
            if not _is_carried(a):
                if a is not b and not (type(a) is type(b) is str and a == b):
                    return f"gives `{name}` another {_word(a)} with each trip"
                continue
            before, after = _shape(a), _shape(_as(b, a))
            if before != after:
                return f"finds `{name}` of shape {before}, and leaves it of shape {after}"
            if _is_opened(a, b):
                return f"finds `{name}` {_type(a)}, and leaves it {_type(b)}"
        return None

    def may_peel(self, found: Leaves) -> bool:
        """Whether the first trip alone may give a variable its shape, or make a number of an array without axes."""
        return len(self.values) == len(found.values) and any(
            _is_carried(a) and _is_carried(b) and (_shape(a) != _shape(b) or _is_opened(a, b))
            for a, b in zip(self.values, found.values, strict=True)
        )

    def must_promote(self, found: Leaves) -> bool:
        """Whether a variable must start as another type to keep it."""
        return any(
            (is_unbound(a) and _is_carried(b))
            or (_is_carried(a) and (levels_of(a) != levels_of(b) or not _alike(_type(a), _type(_as(b, a)))))
            for a, b in zip(self.values, found.values, strict=True)
        )

    def repeated_as(self, wanted: dict[int, Any], written: Sequence[int] = ()) -> Leaves:
        """The state with a value for each example of these vmaps, by leaf, where it has one for all of them."""
        for k, v in enumerate(self.values):
            if _is_carried(v) and not set(wanted.get(k, ())) <= set(levels_of(v)):
                if k in written:
                    rebind(v, np.copy(over(v, wanted[k])))
                else:
                    self.values[k] = over(v, wanted[k])
        return self

    def levels(self) -> dict[int, Any]:
        """The vmaps whose axes its leaves hide."""
        return {k: levels_of(v) for k, v in enumerate(self.values) if levels_of(v)}

    def promoted(
        self, found: Leaves, written: Sequence[int] = (), shape_of: Callable[[Any], tuple[int, ...]] | None = None
    ) -> Leaves:
        """The state that starts with the types it has after a trip, which has `written` into some leaves.

        `shape_of` says the shape of what only the trip binds, in sizes that are known before the loop.
        """
        made = Leaves((), ())
        made.state, made.variables, made.collected = self.state, self.variables, self.collected
        made.names, made.structures = self.names, self.structures
        made.values = [
            _promoted(*_repeated(a, b, k in written), name, shape_of or _shape) if _is_carried(b) else a
            for k, (a, b, name) in enumerate(zip(self.values, found.values, self.names, strict=True))
        ]
        return made

    def retyped(self, wish: Retyped, irs: Sequence[Any]) -> Leaves:
        """The state in which one variable starts as another type; raises `wish` if it is not one of `irs`, the carried values."""
        if wish.ir not in irs:
            raise wish
        k = self.places[irs.index(wish.ir)]
        found = Leaves((), ())
        found.values = list(self.values)
        found.values[k] = wish.sample
        return self.promoted(found)

    def unlike(self, other: Leaves) -> set[str]:
        """The variables that start as another value there."""
        return {name for a, b, name in zip(self.values, other.values, self.names, strict=True) if a is not b}

    def unbound_in(self, found: Leaves) -> list[str]:
        """The variables of the user's that the region binds for the first time."""
        pairs = zip(self.values, found.values, self.names, strict=True)
        return [name for a, b, name in pairs if is_unbound(a) and _is_carried(b) and _label(name)]

    def after(
        self, found: Leaves, results: Sequence[Any], written: Sequence[int], lists: Sequence[Any]
    ) -> tuple[Any, ...]:
        """The state behind a loop; arrays that it wrote into are the same ones, with new values; `lists` are those that grew."""
        values = list(found.values)
        for j, (k, new) in enumerate(zip(self.places, results, strict=True)):
            if j in written:
                rebind(self.values[k], new)
                values[k] = self.values[k]
            else:
                values[k] = new
        behind = list(self._state(values))
        for k, grown in zip(sorted(self.collected), lists, strict=True):
            grown.latest = last_of(behind[k])
            behind[k] = grown
        return tuple(behind)

    # branches
    def paired(self, other: Leaves) -> list[tuple[int, Any, Any]]:
        """For each leaf that a branch gives: its place, and what either arm gives; raises LoopRejected where they do not fit."""
        if [s for s, _ in self.structures] != [s for s, _ in other.structures]:
            raise LoopRejected(f"leaves `{_changed(self, other)}` with another structure in either branch")
        found: list[tuple[int, Any, Any]] = []
        for k, (a, b) in enumerate(zip(self.values, other.values, strict=True)):
            if a is b or (isinstance(a, Operand) and isinstance(b, Operand) and _same(a, b)):
                continue
            name = self.names[k]
            if is_unbound(a) and _is_carried(b):
                found.append((k, None, b))
            elif is_unbound(b) and _is_carried(a):
                found.append((k, a, None))
            elif _is_carried(a) and _is_carried(b):
                x, y = _as(a, b), _as(b, a)
                if levels_of(x) != levels_of(y):
                    raise LoopRejected(f"gives `{name or 'its value'}` for each example in one branch alone")
                if not _alike(_type(x), _type(y)):
                    sides = f"{_said(_type(x))} in one branch and {_said(_type(y))} in the other"
                    words = f"gives `{name or 'its value'}` as {sides}"
                    for given, other in ((x, y), (y, x)):
                        if isinstance(given, Operand) and _type(given).kind == "python" and not _type(other).shape:
                            raise Retyped(words, getattr(given, "_ir", None), plain_sample(other))
                    raise LoopRejected(words)
                if isinstance(x, Operand) or isinstance(y, Operand) or x != y or type(x) is not type(y):
                    found.append((k, x, y))
            elif not (is_unbound(a) and is_unbound(b)) and not (type(a) is type(b) and a == b):
                raise LoopRejected(
                    f"gives `{name or 'its value'}` as a {_word(a)} in one branch and a {_word(b)} in the other"
                )
        return found

    def pair_names(self, pairs: Sequence[tuple[int, Any, Any]]) -> list[str | None]:
        """Return the names of the results of a branch."""
        return [_label(self.names[k]) for k, _, _ in pairs]

    def joined(
        self, arm: Leaves, pairs: Sequence[tuple[int, Any, Any]], results: Sequence[Any], written: Sequence[int]
    ) -> tuple[Any, ...]:
        """The state behind a branch; `arm` is what one of its arms gives, of the structure of both."""
        made = Leaves((), ())
        made.structures = arm.structures
        known = len(self.values) == len(arm.values)
        values = [
            self.values[k]
            if known and isinstance(a, Operand) and isinstance(self.values[k], Operand) and _same(a, self.values[k])
            else a
            for k, a in enumerate(arm.values)
        ]
        for (k, _, _), new in zip(pairs, results, strict=True):
            if k in written:
                rebind(self.values[k], new)
                values[k] = self.values[k]
            else:
                values[k] = new
        return made._state(values)


class Params:
    """A state of a region's own Tensors."""

    def __init__(self, state: tuple[Any, ...], tensors: list[Any]) -> None:
        self.state = state
        self.tensors = tensors
        self.before: list[Any] = [getattr(t, "_ir", None) for t in tensors]  # the values that they are at first

    def touched(self, start: Leaves) -> list[int]:
        """The leaves that the region has written into."""
        pairs = zip(start.places, self.tensors, self.before, strict=True)
        return [k for k, tensor, before in pairs if getattr(tensor, "_ir", None) is not before]

    def written(self, start: Leaves, found: Leaves) -> list[int]:
        """Return those carried that the region wrote into; raise LoopRejected where such an array is given up for another."""
        indices: list[int] = []
        for j, (k, tensor, before) in enumerate(zip(start.places, self.tensors, self.before, strict=True)):
            if getattr(tensor, "_ir", None) is before:
                continue
            outer = start.values[k]
            if found.values[k] is not tensor:
                raise LoopRejected(f"writes into `{start.names[k]}` and then gives the name to another value")
            if not isinstance(outer, Operand) or getattr(outer, "_caller", None) is not None:
                raise LoopRejected(f"writes into `{start.names[k]}`, which is not its own")
            if getattr(outer, "_view", None) is not None or not is_plain_array(outer._value):
                raise LoopRejected(f"writes into `{start.names[k]}`, which shows the memory of another array")
            indices.append(j)
        return indices


def _same(a: Any, b: Any) -> bool:
    ir = getattr(a, "_ir", None)
    return ir is not None and ir is getattr(b, "_ir", None)


def _is_record(value: Any) -> bool:
    """Whether a value is a named tuple, or a dataclass that nobody can change."""
    if isinstance(value, tuple):
        return hasattr(value, "_fields")
    params = getattr(type(value), "__dataclass_params__", None)
    return params is not None and params.frozen and not isinstance(value, Operand)


def _name_of_leaf(name: str, value: Any, path: tuple[Any, ...]) -> str:
    """Return what a leaf of a variable is called, as that of an argument is: `angle` for `s.angle`, `s_0` for `s[0]`."""
    keys: list[Any] = []
    for key in path:
        named = isinstance(value, tuple) and hasattr(value, "_fields")
        keys.append(value._fields[key] if named else key)
        value = getattr(value, key) if hasattr(type(value), "__dataclass_fields__") else value[key]
    return name_of_leaf(name, tuple(keys))


def _label(name: str) -> str | None:
    return None if not name or name.startswith("__gs_") or not name.isidentifier() else name


def _word(value: Any) -> str:
    return "unbound name" if is_unbound(value) else type(value).__name__


def _changed(a: Leaves, b: Leaves) -> str:
    pairs = zip(a.structures, b.structures, strict=True)
    at = next(k for k, (s, t) in enumerate(pairs) if s[0] != t[0])
    return a.variables[at] or "the value"


def _as(value: Any, other: Any) -> Any:
    """A number of Python's as the NumPy scalar that the other is, where both are the same number."""
    if (
        isinstance(value, (bool, int, float, complex))
        and not isinstance(value, (Operand, np.generic))
        and _is_carried(other)
    ):
        t = _type(other)
        if t.kind == "scalar" and np.result_type(t.dtype, value) == t.dtype and t.dtype.kind in "fcib":
            return t.dtype.type(value)
        if t.kind == "python" and t.dtype.kind == "f" and type(value) is int:
            return float(value)
    return value


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of one example."""
    return _type(value).shape[len(levels_of(value)) :]


def _repeated(a: Any, b: Any, written: bool) -> tuple[Any, Any]:
    """`a` for each example that `b` knows, in memory of its own; itself, as a first write leaves it, if `written`; and `b`."""
    levels = joined(levels_of(a), levels_of(b))
    if is_unbound(a) or not _is_carried(a) or levels == levels_of(a):
        return a, b
    if not written:
        return np.copy(over(a, levels), order="C"), b
    if getattr(a, "_caller", None) is not None or getattr(a, "_view", None) is not None:
        raise LoopRejected("writes a value for each example into an array of all of them")
    rebind(a, np.copy(over(a, levels)))
    return a, b


def _is_opened(a: Any, b: Any) -> bool:
    """Whether an array without axes becomes one of NumPy's numbers, as arithmetic gives it."""
    return _shape(a) == () and _type(a).kind == "array" and _type(b).kind == "scalar"


def _promoted(a: Any, b: Any, name: str, shape_of: Callable[[Any], tuple[int, ...]]) -> Any:
    """`a` as the type of `b`."""
    t = _type(b)
    if is_unbound(a):
        if t.kind == "array":
            shape = (*[level.size for level in levels_of(b)], *(_shape(b) if levels_of(b) else shape_of(b)))
            return covered(apply(require(np.zeros), (shape, t.dtype), {}), levels_of(b))
        return t.dtype.type(0) if t.kind == "scalar" else type(plain_sample(b))(0)
    before = _type(a)
    if _alike(before, t):
        return a
    if (
        before.shape != t.shape
        or not np.can_cast(before.dtype, t.dtype, "same_kind")
        or t.kind == "python" != before.kind
    ):
        raise LoopRejected(f"finds `{name}` {before}, and leaves it {t}")
    if not isinstance(a, Operand):
        if t.kind == "python":
            return float(a)
        return t.dtype.type(a) if t.kind == "scalar" else apply(require(np.full), (t.shape, a, t.dtype), {})
    if before.kind == "python":
        return a * t.dtype.type(1) if t.kind == "scalar" else apply(require(np.full), (t.shape, a, t.dtype), {})
    if before.kind != t.kind:
        raise LoopRejected(f"finds `{name}` {before}, and leaves it {t}")
    return a.astype(t.dtype)
