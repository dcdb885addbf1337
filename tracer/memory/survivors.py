"""Survivors of a transform: traced values that user code stored become plain numbers and arrays when it ends.

The hooks of the scope note where code stores something that it may not have made itself: an item, an attribute, a variable
of an enclosing function, a global. What a library kept stays a Tensor, but of an era that is over (`is_ended`).
"""

from __future__ import annotations

import collections.abc
import contextlib
import contextvars
import functools
import gc
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterator
from opcode import opmap
from typing import Any, NamedTuple

from ...runtime.arrays import is_array
from ...runtime.errors import GradientLossError
from ...unpatched import np
from ..core.closures import as_it_stands
from ..core.exits import is_ended
from ..core.graph import AccumulateGrad, reached_from
from ..core.libraries import NUMERIC, OURS, PYTHON
from ..core.losses import running
from ..core.site import blame, is_ours
from ..core.tensor_base import Operand, levels_of
from ..core.thread_state import LOCAL, Era

__all__ = [
    "ORIGINALS",
    "as_stored",
    "compared",
    "is_traced_key",
    "note",
    "note_appended",
    "note_globals",
    "note_held",
    "note_moved",
    "put_back",
    "remembered",
    "run_again",
]

Told = collections.abc.Set[str | int | float]  # texts and hashes of traced values, which may be keys of dicts

_ALL = object()  # every place of a holder
_UNSEEN = object()  # the same, and no hook tells what is read there
_CACHE = functools._lru_cache_wrapper
_MANY = 1_000  # parts of a thing that are looked at
_REMEMBERED = 10_000  # entries of dicts that were stored under traced keys; the oldest are forgotten
_memos: dict[tuple[int, Any], Any] = {}  # of entries that were functions of their keys: the value
ORIGINALS: weakref.WeakKeyDictionary[Any, Any] = (
    weakref.WeakKeyDictionary()
)  # of what stands for functions: these, weakly
_arrays: dict[int, weakref.ref[Any]] = {}  # that stand for traced values which were stored, by identity
_scalars: dict[int, Any] = {}  # and numbers
_LIBRARIES = PYTHON | NUMERIC | OURS
_HOUSE = tuple(f"{__name__.partition('.')[0]}.{part}." for part in ("runtime", "tracer", "transforms"))


def note(holder: Any, key: Any = _ALL) -> None:
    """Remember that something was stored in `holder` under `key`: an item, or the attribute of an object."""
    era = running()
    if era is None:
        return
    entry = era.stored.get(id(holder))
    if entry is None:
        entry = era.stored[id(holder)] = [holder, set()]
    if entry[1] is _ALL or entry[1] is _UNSEEN or type(entry[1]) is _Before:
        return
    if key is _ALL or type(entry[1]) is int or isinstance(key, (Operand, slice, tuple)):
        entry[1] = _ALL
        return
    try:
        entry[1].add(key)
    except TypeError:  # no key that can be remembered
        entry[1] = _ALL


class _Before(dict[Any, Any]):
    """The items of a dict when code got hold of it: what is new since then was stored in this run."""

    def changed(self, now: dict[Any, Any]) -> list[Any]:
        """Return the keys of what is new."""
        return [key for key, value in list(now.items()) if self.get(key, _ALL) is not value]


def note_globals(space: dict[str, Any]) -> None:
    """Remember that code got hold of the globals of a module, in which Tensors of the user's own may stand."""
    era = running()
    if era is None:
        return
    keys = era.stored.setdefault(id(space), [space, set()])[1]
    if type(keys) is set:  # of what was stored before
        era.stored[id(space)][1] = _Before({key: value for key, value in space.items() if key not in keys})


def note_appended(holder: Any, start: int) -> None:
    """Remember that a list grows from `start` on."""
    era = running()
    if era is None:
        return
    entry = era.stored.get(id(holder))
    if entry is None:
        era.stored[id(holder)] = [holder, start]
    elif type(entry[1]) is int:
        entry[1] = min(entry[1], start)
    else:
        entry[1] = _ALL


def note_moved(holder: Any) -> None:
    """Remember that elements of a list have moved: those that were stored in this run may be anywhere."""
    era = running()
    entry = None if era is None else era.stored.get(id(holder))
    if entry is not None and entry[1] is not _UNSEEN:
        entry[1] = _ALL


def note_held(value: Any, unseen: bool = False) -> None:
    """Remember that code got hold of a thing from outside, into which it may store anything.

    `unseen` says that the code has no source, so that no hook tells what it reads there later.
    """
    if isinstance(value, types.BuiltinFunctionType):
        value = value.__self__  # `push = log.append`
    if isinstance(value, types.MethodType):
        value = value.__self__
    if isinstance(value, (types.ModuleType, Operand, np.ufunc)) or _is_leaf(value):
        return
    if isinstance(value, (type, types.FunctionType)) and str(value.__module__).partition(".")[0] in _LIBRARIES:
        return
    if _holds_tensors(value):
        return  # the user's own, as optimisers have them
    note(value)
    era = running()
    if not unseen or era is None:
        return
    if isinstance(value, dict):
        era.stored[id(value)][1] = _UNSEEN
    for cls in type(value).__mro__ if str(type(value).__module__) not in _LIBRARIES else ():
        for cache in list(vars(cls).values()):
            if isinstance(cache, _CACHE) and id(cache) not in era.stored:
                era.stored[id(cache)] = [cache, cache.cache_info().misses]


def _holds_tensors(value: Any) -> bool:
    """Whether Tensors of the user's own stand in a thing already, as far as a look at its first parts tells."""
    waiting, met = deque([value]), set[int]()
    while waiting and len(met) < _MANY:
        thing = waiting.popleft()
        if isinstance(thing, Operand):
            if _is_own(thing):
                return True
            continue
        if _is_leaf(thing) or id(thing) in met or isinstance(thing, (types.ModuleType, types.FunctionType)):
            continue
        met.add(id(thing))
        if isinstance(thing, dict):
            waiting.extend(list(thing.values()))
        elif isinstance(thing, (list, tuple, set, frozenset, deque)):
            waiting.extend(list(thing))
        else:
            waiting.extend(list(getattr(thing, "__dict__", {}).values()))
    return False


def _is_own(tensor: Any) -> bool:
    """Whether a Tensor is none that a transform, or a capture, has made."""
    if getattr(tensor, "_ir", None) is not None:
        return False
    return tensor._node is None or not any(
        type(end) is AccumulateGrad and type(end.inner) is Era for end in reached_from([tensor._node]).ends
    )


def _is_parameter(tensor: Any) -> bool:
    """Whether a Tensor is a leaf of the user's own that requires grad: no transform has made it."""
    node = tensor._node
    return type(node) is AccumulateGrad and type(node.inner) is not Era


# --- values that an earlier transform stored -------------------------------------------------------------------------


def is_traced_key(key: Any) -> bool:
    """Return whether a key of a dict depends on what is differentiated: a traced value, what holds one, or its text or hash."""
    if isinstance(key, Operand):
        return key._node is not None
    if isinstance(key, (tuple, frozenset)):
        return any(map(is_traced_key, key))
    era = LOCAL.era
    return era is not None and bool(era.told) and _is_told(key, era.told)


def _is_told(key: Any, told: Told) -> bool:
    if type(key) is str:
        return any(type(text) is str and text in key for text in told)
    return type(key) in (int, float) and key in told


def remembered(holder: Any, key: Any, value: Any) -> Any:
    """Return what a dict has under a traced key, unless an earlier transform stored it there as a function of its key.

    That is a cache of the user's own: the number is right and has no gradient. Raises GradientLossError.
    """
    if LOCAL.grad and not isinstance(value, Operand) and _memos.get((id(holder), _bare(key)), _ALL) is value:
        raise blame(
            GradientLossError(
                "a dict that serves as a cache was asked for a value that an earlier call had stored, under a key that "
                "depends on what is differentiated: the gradient would be lost. Use functools.cache, which is passed by "
                "where an argument is traced, or clear the dict before each call."
            )
        )
    return value


def _bare(key: Any) -> Any:
    if isinstance(key, Operand):
        if np.size(key._value) != 1:  # a key by identity, as a parameter of an optimiser
            return key
        key = key._value
    if isinstance(key, (tuple, frozenset)):
        return type(key)(map(_bare, key)) if type(key) in (tuple, frozenset) else tuple(map(_bare, key))
    return key.item() if is_array(key) and key.size == 1 else key


def _depends(value: Any) -> bool:
    """Return whether a value, or what a plain container holds, depends on what was differentiated."""
    if isinstance(value, Operand):
        return True
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, (list, tuple)) and any(map(_depends, value))


def _keep(value: Any) -> Any:
    """Remember of a number or array that it stands where an ended transform had stored a traced value; return it."""
    if is_array(value):
        _arrays[id(value)] = weakref.ref(value, functools.partial(_forget, id(value)))
    elif isinstance(value, (float, complex, np.inexact)):
        _scalars[id(value)] = value
        while len(_scalars) > _MANY:
            _scalars.pop(next(iter(_scalars)))
    return value


def _forget(place: int, _: Any) -> None:
    _arrays.pop(place, None)


def compared(found: Any, differ: bool, x: Any, y: Any, by_name: bool = False) -> Any:
    """Return what a comparison of two values found; `differ` says that it asked whether they differ, `by_name` np.array_equal.

    Raises where a traced value equals one that an earlier transform has stored: the code may take what is stored beside it.
    """
    if not ((_arrays or _scalars) and LOCAL.depth and LOCAL.grad) or LOCAL.levels:
        return found
    for traced, other in ((x, y), (y, x)):
        if isinstance(traced, Operand) and traced._node is not None and _is_kept(getattr(other, "_caller", other)):
            if not (by_name or _is_asked()) or not np.all(np.asarray(getattr(found, "_value", found)) != differ):
                return found
            raise blame(
                GradientLossError(
                    "a value that depends on what is differentiated was found equal to one that an earlier call had stored. "
                    "What was stored beside it, for the same value, would have no gradient. Use functools.cache, which is "
                    "passed by where an argument is traced, or compare gs.stop_gradient(x) where nothing stored is taken."
                )
            )
    return found


_COMPARES, _CONTAINS = opmap["COMPARE_OP"], opmap["CONTAINS_OP"]


def _is_asked() -> bool:
    """Return whether code compares, and not Python, to find a key or an element: that entry tells by itself what it is."""
    frame: Any = sys._getframe(2)
    while frame is not None and is_ours(frame.f_code.co_filename):
        if frame.f_code.co_code[frame.f_lasti] == _CONTAINS:
            return False
        if frame.f_code.co_name == "_operator":  # the hook of an operator of the user's
            return True
        frame = frame.f_back
    return frame is not None and frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _COMPARES


def _is_kept(value: Any) -> bool:
    """Return whether a value stands where an ended transform had stored one: that very object."""
    if not is_array(value):
        return id(value) in _scalars and _scalars[id(value)] is value
    found = _arrays.get(id(value))
    if found is not None and found() is value:
        return True
    # NumPy compares its scalars as arrays without axes, so that none is the object any more; whole numbers are often constants
    return not value.ndim and value != np.rint(value) and any(value == v for v in _scalars.values())


class _Walk(set[int]):
    """The state of a walk through the user's objects: those seen, by identity, and their replacements."""

    def __init__(self, standing: dict[int, Any] | None = None, told: Told = frozenset()) -> None:
        super().__init__()
        self.told = told
        self.keeps = True  # whether it is remembered what has been settled
        self.numbers = standing is None  # whether Tensors become numbers
        self.standing = standing or {}
        self.settled: list[_Settled] | None = None  # the places, where a later derivative may run the code again

    def put(self, holder: Any, key: Any, before: Any, value: Any) -> None:
        """Put a settled value into a place, if it is another one."""
        if value is not before:
            _write(holder, key, value)
            if self.settled is not None:
                self.settled.append(_Settled(holder, key, before, value))


class _Settled(NamedTuple):
    """A place whose traced value has become a plain one: an item, an attribute or a variable."""

    holder: Any
    key: Any
    traced: Any
    plain: Any


def _read(holder: Any, key: Any) -> Any:
    """Return what stands in a place; a mark of none where there is nothing any more."""
    try:
        if isinstance(holder, types.CellType):
            return holder.cell_contents
        if isinstance(holder, contextvars.ContextVar):
            return holder.get()
        return holder[key] if _has_items(holder) else getattr(holder, key)
    except (ValueError, LookupError, AttributeError):
        return _ALL


def _has_items(holder: Any) -> bool:
    return isinstance(holder, (list, deque, dict)) or is_array(holder)


def _write(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, types.CellType):
        holder.cell_contents = value
    elif isinstance(holder, contextvars.ContextVar):
        holder.set(value)
    elif _has_items(holder):
        holder[key] = value
    elif isinstance(holder, type):
        type.__setattr__(holder, key, value)
    else:
        object.__setattr__(holder, key, value)


def run_again(function: Any) -> Any:
    """Return a function that a later derivative runs once more, when it reads what it reads now.

    The variables around it stay as they are, and where its transform is over by then, what stood there traced, and has become
    plain since, is traced again while it runs. Another value that stands there now stays.
    """
    era, still = LOCAL.era, as_it_stands(function)
    if era is None:
        return still

    @functools.wraps(still)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _traced_again(era):
            return still(*args, **kwargs)

    return run


@contextlib.contextmanager
def _traced_again(era: Era) -> Iterator[None]:
    places = [place for place in era.settled if _read(place.holder, place.key) is place.plain]
    for holder, key, traced, _ in places:
        _write(holder, key, traced)
    try:
        yield
    finally:
        for holder, key, traced, value in places:
            if _read(holder, key) is traced:
                _write(holder, key, value)


def put_back(standing: dict[int, Any]) -> None:
    """Put the user's objects where code has stored what stood for them, by the identity of that."""
    era = running()
    if era is not None and standing:
        seen = _Walk(standing)
        for holder, keys in list(era.stored.values()):
            _settle_holder(holder, keys if type(keys) is _Before else _ALL, seen)


def _settle(era: Era, error: BaseException | None) -> None:
    """Put plain values where code of the ended transform has stored traced ones."""
    seen = _Walk(told=era.told)
    seen.settled = era.settled if era.held else None
    stored, era.stored = era.stored, {}
    for holder, keys in stored.values():
        if isinstance(holder, _CACHE):
            if type(keys) is int and holder.cache_info().misses != keys:
                holder.cache_clear()  # it may hold what is traced, and nothing tells under which key
            elif keys is _ALL:
                _settle_results(holder, seen)
            continue
        if keys is _UNSEEN:
            _refuse_cache(era, holder)
        _settle_holder(holder, _ALL if keys is _UNSEEN else keys, seen)
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.args = plain(error.args, seen)
        _settle_attributes(error, _ALL, seen)
        error = error.__cause__ or error.__context__


def _settle_results(cache: Any, seen: _Walk) -> None:
    """Settle the results that a cache of functools holds: one without a limit has a dict, of others their parts."""
    for inner in gc.get_referents(cache):
        if type(inner) is dict and inner is not cache.__dict__:
            for key, value in list(inner.items()):
                if (new := plain(value, seen)) is not value:
                    inner[key] = new
        else:
            plain(inner, seen)


def _refuse_cache(era: Era, holder: dict[Any, Any]) -> None:
    """Take out of a dict what depends on its key, and let the transform say so."""
    pairs = list(holder.items())
    kept = [(k, v) for k, v in pairs if not (isinstance(k, Operand) and isinstance(v, Operand))]
    if len(kept) < len(pairs):
        holder.clear()
        holder.update(kept)
        era.loss = GradientLossError(
            "Code without source stores under a key that is differentiated what depends on it, in a dict from outside: as a "
            "cache it would lose the gradient at the next call. Use functools.cache, which is passed by where an argument "
            "is traced, or put the code into a file."
        )


setattr(type(LOCAL), "settle", staticmethod(_settle))  # noqa: B010


def _settle_holder(holder: Any, keys: Any, seen: _Walk) -> None:
    if isinstance(holder, types.CellType):
        try:
            held = holder.cell_contents
        except ValueError:  # not bound, or no longer
            return
        seen.put(holder, None, held, plain(held, seen))
    elif isinstance(holder, contextvars.ContextVar):
        value = holder.get(None)
        seen.put(holder, None, value, plain(value, seen))
    elif isinstance(holder, list):
        places = range(keys, len(holder)) if type(keys) is int else range(len(holder)) if keys is _ALL else keys
        for k in places:
            if type(k) is int and -len(holder) <= k < len(holder):
                seen.put(holder, k, holder[k], plain(holder[k], seen))
    elif isinstance(holder, dict):
        if keys is _ALL:
            plain(holder, seen)
            return
        for k in keys.changed(holder) if type(keys) is _Before else keys:
            if k in holder:
                seen.put(holder, k, holder[k], _settled_entry(holder, k, holder[k], seen))
    elif isinstance(holder, (set, deque, weakref.WeakKeyDictionary)) or is_array(holder):
        plain(holder, seen)
    else:
        _settle_attributes(holder, keys, seen)


def _settle_attributes(holder: Any, keys: Any, seen: _Walk) -> None:
    """Settle the attributes of an object, or of a class; a name that is no attribute of its own (a property) means all."""
    own = getattr(holder, "__dict__", None)
    slots = [s for c in type(holder).__mro__ for s in _slots_of(c)]
    if keys is _ALL or type(keys) is int or (own is not None and any(k not in own and k not in slots for k in keys)):
        keys = [*(own or ()), *slots]
    for name in keys:
        if own is not None and name in own:
            seen.put(own if isinstance(own, dict) else holder, name, own[name], plain(own[name], seen))
        elif name in slots and name != "__weakref__" and hasattr(holder, name):
            now = getattr(holder, name)
            seen.put(holder, name, now, plain(now, seen))


def _slots_of(cls: type) -> tuple[str, ...]:
    found = cls.__dict__.get("__slots__", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    stem = cls.__name__.lstrip("_")
    return tuple([f"_{stem}{n}" if n.startswith("__") and not n.endswith("__") else n for n in names])


_LEAVES = frozenset([float, int, bool, complex, str, bytes, type(None), np.float64, np.ndarray])


def _is_leaf(value: Any) -> bool:
    """Whether a value holds no others."""
    kind = type(value)
    return kind in _LEAVES and not (kind is np.ndarray and value.dtype == object)


def plain(value: Any, seen: _Walk) -> Any:
    """Return a value without Tensors of ended transforms: containers and objects are changed in place, tuples replaced."""
    if isinstance(value, Operand):
        if not seen.numbers or _is_parameter(value):
            return value
        return _keep(_number(value)) if seen.keeps else _number(value)
    kind = type(value)
    if id(value) in seen.standing:
        return seen.standing[id(value)]
    if kind is types.FunctionType or kind is types.MethodType:
        value = as_stored(value)
    if _is_leaf(value) or id(value) in seen:
        return value
    if isinstance(value, tuple):
        parts = [plain(v, seen) for v in value]
        if all(a is b for a, b in zip(parts, value, strict=True)):
            return value
        return kind._make(parts) if hasattr(kind, "_make") else kind(parts)
    if isinstance(value, frozenset):
        return kind(plain(v, seen) for v in value) if any(isinstance(v, Operand) for v in value) else value
    seen.add(id(value))
    if isinstance(value, (list, deque)):
        for k, held in enumerate(list(value)):  # a queue may change meanwhile, by another thread
            new = plain(held, seen)
            if k < len(value) and value[k] is held:
                seen.put(value, k, held, new)
    elif isinstance(value, dict):
        _settle_dict(value, seen)
    elif isinstance(value, weakref.WeakKeyDictionary):
        for key, v in list(value.items()):
            new_key, new = plain(key, seen), plain(v, seen)
            if new_key is not key:
                del value[key]
            value[new_key] = new
    elif isinstance(value, set):
        if any(isinstance(v, (Operand, tuple)) for v in value):
            keeps, seen.keeps = seen.keeps, False  # elements of sets are found, and nothing stands beside them
            found = [plain(v, seen) for v in value]
            seen.keeps = keeps
            value.clear()
            value.update(found)
    elif is_array(value):
        for place, v in np.ndenumerate(value):
            seen.put(value, place, v, plain(v, seen))
    elif isinstance(value, types.FunctionType):
        _settle_function(value, seen)
    elif isinstance(value, types.MethodType):
        owner = plain(value.__self__, seen)
        return value if owner is value.__self__ else types.MethodType(value.__func__, owner)
    elif isinstance(value, functools.partial):
        before = (value.func, value.args, value.keywords)
        now = [plain(p, seen) for p in before]
        if any(a is not b for a, b in zip(now, before, strict=True)):
            value.__setstate__((*now, value.__dict__))  # type: ignore[attr-defined]
    elif isinstance(value, collections.abc.Iterator) and type(value).__module__ in ("builtins", "itertools"):
        return _settle_iterator(value, seen)
    elif _is_data(value):
        if isinstance(value, BaseException):
            value.args = plain(value.args, seen)
        _settle_attributes(value, _ALL, seen)
    return value


_MADE_ANEW = (zip, enumerate, map, filter, type(iter(())))  # iterators that say what they go on with


def _settle_iterator(value: Any, seen: _Walk) -> Any:
    """Return an iterator that was left open, with what it holds settled; made anew where that stands in tuples."""
    if isinstance(value, types.GeneratorType):
        _settle_frame(value.gi_frame, seen)
    elif type(value) in _MADE_ANEW:
        make, args, *state = value.__reduce__()
        new = [plain(a, seen) for a in args]
        if any(a is not b for a, b in zip(new, args, strict=True)):
            value = make(*new)
            if state:
                value.__setstate__(*state)
        return value
    for inner in gc.get_referents(value):
        plain(inner, seen)
    return value


def _settle_frame(frame: types.FrameType | None, seen: _Walk) -> None:
    """Settle the variables of a generator that was left open, where Python lets them be written."""
    if sys.version_info >= (3, 13):
        for name, value in [] if frame is None else list(frame.f_locals.items()):
            if (new := plain(value, seen)) is not value:
                frame.f_locals[name] = new


def as_stored(value: Any) -> Any:
    """Return the user's function that a function or method stands for; itself where it stands for none."""
    if type(value) is types.MethodType:
        found = as_stored(value.__func__)
        return value if found is value.__func__ else types.MethodType(found, value.__self__)
    found = ORIGINALS.get(value, _nothing)()
    return value if found is None else found


def _nothing() -> None:
    """Return nothing, as a weak reference does whose object is gone."""


def _settle_function(function: types.FunctionType, seen: _Walk) -> None:
    """Settle what a function that was stored has in its closure and its defaults; ours have no values of the user's."""
    if str(function.__globals__.get("__name__")).startswith(_HOUSE):
        return
    for cell in function.__closure__ or ():
        _settle_holder(cell, _ALL, seen)
    if function.__defaults__:
        function.__defaults__ = plain(function.__defaults__, seen)
    if function.__kwdefaults__:
        plain(function.__kwdefaults__, seen)
    plain(function.__dict__, seen)


def _settle_dict(value: dict[Any, Any], seen: _Walk) -> None:
    """Settle keys and values; what was a function of its key is remembered as such."""
    if not any(isinstance(k, (Operand, tuple, frozenset)) for k in list(value)):
        for k, v in list(value.items()):
            seen.put(value, k, v, _settled_entry(value, k, v, seen))
        return
    pairs = list(value.items())
    value.clear()
    for k, v in pairs:
        new = _settled_entry(value, k, v, seen)
        seen.keeps = _memos.get((id(value), _bare(k)), _ALL) is new  # of others, a key may be counted, or asked for
        value[plain(k, seen)] = new
        seen.keeps = True


def _settled_entry(holder: dict[Any, Any], key: Any, value: Any, seen: _Walk) -> Any:
    """Return the value of an entry, settled; of one that was a function of its key it is remembered."""
    memo = (_is_told(key, seen.told) or is_traced_key(key)) and _depends(value)
    new = plain(value, seen)
    if memo:
        _memos[id(holder), _bare(key)] = new
        while len(_memos) > _REMEMBERED:
            _memos.pop(next(iter(_memos)))
    return new


def _is_data(value: Any) -> bool:
    """Return whether a value is an object that may hold what the user's code stored: no class, module or function."""
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        return False
    if str(type(value).__module__).startswith(_HOUSE):
        return False
    return hasattr(value, "__dict__") or any(_slots_of(c) for c in type(value).__mro__)


def _number(tensor: Any) -> Any:
    """Return the array or number of a Tensor that a transform made; a Tensor of the user's own graph stays one."""
    node = tensor._node
    if levels_of(tensor) or (node is not None and not is_ended(node)):
        return tensor  # one that stands for many examples is refused wherever it is used
    caller = getattr(tensor, "_caller", None)
    return tensor._value if caller is None else _number(caller) if isinstance(caller, Operand) else caller
