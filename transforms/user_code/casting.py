"""Stand-ins for calls of `float`, `np.float64`, `map`, a cache or a class inside a transform; as values these stay themselves."""

from __future__ import annotations

import bisect
import builtins
import functools
import heapq
import itertools
import operator
import threading
import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_plain_array
from ...runtime.rules.casts import SCALARS
from ...tracer.core.dispatch import has_tensor, stack_nested, unwrap
from ...tracer.core.exits import leave
from ...tracer.core.listening import of_sizes
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import LOCAL, in_another_thread, refuse
from ...tracer.memory.survivors import note
from ...tracer.protocols.interop import tensors_in
from ...tracer.tensors.casts import as_complex, as_float, as_scalar

__all__ = ["CASTS", "HIGHER", "OF_SIZES", "STORING", "counting", "is_threaded", "past_cache", "storing", "taking_numbers",
           "threaded"]  # fmt: skip


def _float(*args: Any) -> Any:
    return as_float(args[0]) if len(args) == 1 and isinstance(args[0], Operand) else float(*args)


def _complex(*args: Any, **options: Any) -> Any:
    if options and has_tensor(tuple(options.values())):
        args, options = (*args, *[options[k] for k in ("real", "imag") if k in options]), {}
    return as_complex(*args) if any(isinstance(a, Operand) for a in args) else complex(*args, **options)


def _scalar(cls: Any) -> Callable[..., Any]:
    @functools.wraps(cls, updated=())
    def cast(*args: Any) -> Any:
        if len(args) == 1:
            if isinstance(args[0], Operand):
                return as_scalar(cls, args[0])
            if isinstance(args[0], (list, tuple)) and has_tensor(args[0]):
                return as_scalar(cls, stack_nested(args[0]))
        return cls(*args)

    return cast


CASTS: dict[Any, Any] = {float: _float, complex: _complex, **{cls: _scalar(cls) for cls in SCALARS}}


# Functions of numbers that may be sizes, which know nothing of them; others ask their arguments.
OF_SIZES = frozenset([int, float, round, min, max, sum, pow, range, *SCALARS])


def counting(fn: Any, ours: Any) -> Callable[..., Any]:
    """A function of numbers while capturing: of sizes it is traced, and of all else it is `ours`."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **options: Any) -> Any:
        found = NotImplemented if options else of_sizes(fn, args)
        return ours(*args, **options) if found is NotImplemented else found

    return call


def _first(fn: Any, ours: Callable[[Any], Any]) -> Any:
    """A function that takes a function first: of ours it gets what a call of that would run."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **options: Any) -> Any:
        return fn(ours(args[0]), *args[1:], **options) if args else fn(*args, **options)

    return call


def _keyed(fn: Any, ours: Callable[[Any], Any]) -> Any:
    """A function that takes a function as its `key`."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **options: Any) -> Any:
        if options.get("key") is not None:
            options["key"] = ours(options["key"])
        elif fn in _ORDERING and args:
            args = (list(args[0]),) if len(args) == 1 else args
            if any(
                LOCAL.special(x, "__lt__") or LOCAL.special(x, "__gt__") for x in (args[0] if len(args) == 1 else args)
            ):
                options["key"] = _InOrder
        return fn(*args, **options)

    return call


_ORDERING = frozenset([builtins.sorted, builtins.min, builtins.max])


class _InOrder:
    """An object as Python's own code compares it, with the user's `<` and `>` in scope."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __lt__(self, other: _InOrder) -> Any:
        method = LOCAL.special(self.obj, "__lt__")
        return self.obj < other.obj if method is None else method(other.obj)

    def __gt__(self, other: _InOrder) -> Any:
        method = LOCAL.special(self.obj, "__gt__")
        if method is not None:
            return method(other.obj)
        method = LOCAL.special(other.obj, "__lt__")  # as Python asks where an object has no `>` of its own
        return self.obj > other.obj if method is None else method(self.obj)


_SECOND = frozenset(["func", "key", "target", "function"])  # the names of such functions


def _second(fn: Any, ours: Callable[[Any], Any]) -> Any:
    """itertools.accumulate, groupby and others, which take a function second, or by name."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **options: Any) -> Any:
        if len(args) > 1 and args[1] is not None:
            args = (args[0], ours(args[1]), *args[2:])
        given = {k: ours(v) if k in _SECOND and v is not None else v for k, v in options.items()}
        return fn(*args, **given)

    return call


def _by_name(fn: Any, ours: Callable[[Any], Any]) -> Any:
    """operator.methodcaller, which calls a method by its name."""

    def make(name: str, *args: Any, **kwargs: Any) -> Any:
        return lambda obj: ours(getattr(obj, name))(*args, **kwargs)

    return make


def _making(fn: Any, ours: Callable[[Any], Any]) -> Any:
    """threading.Thread and Timer, which take what the thread runs second, or by name."""
    return _second(fn, lambda function: _thrown(function, ours))


def _thrown(function: Any, ours: Callable[[Any], Any]) -> Any:
    """Return what another thread runs for this one: a function of the user's in scope."""
    return function if function is None else in_another_thread(ours(function))


_RUN_BY_THREADS = {  # functions of Python's library which let another thread run a function, and where that stands
    ("concurrent.futures.thread", "ThreadPoolExecutor.submit"): 0,
    ("concurrent.futures._base", "Executor.map"): 0,
    ("asyncio.threads", "to_thread"): 0,
    ("asyncio.base_events", "BaseEventLoop.run_in_executor"): 1,
    **{
        ("multiprocessing.pool", f"Pool.{name}"): 0
        for name in ("apply", "apply_async", "map", "map_async", "imap", "imap_unordered", "starmap", "starmap_async")
    },
}


def is_threaded(value: Any) -> bool:
    """Return whether a function or method of Python's library has another thread run a function."""
    function = getattr(value, "__func__", value)
    if type(function) is not types.FunctionType:
        return False
    if function is threading.Thread.start:
        return True
    known = (function.__module__, function.__qualname__) in _RUN_BY_THREADS
    # of processes: what is traced cannot be pickled, which raises
    return known and type(getattr(value, "__self__", None)).__name__ not in ("Pool", "ProcessPoolExecutor")


def threaded(value: Any, ours: Callable[[Any], Any]) -> Any:
    """Return the function that a call of `value` runs, which has another thread run a function."""
    function = getattr(value, "__func__", value)
    if function is threading.Thread.start:
        return functools.partial(_started, value, ours)
    place = _RUN_BY_THREADS[function.__module__, function.__qualname__]

    def call(*args: Any, **options: Any) -> Any:
        if len(args) > place:
            args = (*args[:place], _thrown(args[place], ours), *args[place + 1 :])
        return value(*args, **options)

    return call


def _started(start: Any, ours: Callable[[Any], Any], *args: Any) -> Any:
    """`thread.start()`: a class of the user's has the code in its `run`."""
    thread = getattr(start, "__self__", None) or args[0]
    if type(thread).run not in (threading.Thread.run, threading.Timer.run):
        thread.run = _thrown(thread.run, ours)
    return start(*args)


HIGHER: dict[Any, Callable[[Any, Callable[[Any], Any]], Any]] = {
    **dict.fromkeys(
        (map, filter, functools.reduce, defaultdict, itertools.starmap, itertools.takewhile,
         itertools.dropwhile, itertools.filterfalse),
        _first,
    ),
    **dict.fromkeys((builtins.sorted, builtins.min, builtins.max, heapq.nlargest, heapq.nsmallest, heapq.merge), _keyed),
    **dict.fromkeys((itertools.accumulate, itertools.groupby), _second), operator.methodcaller: _by_name,
    **dict.fromkeys((threading.Thread, threading.Timer), _making),
}  # fmt: skip


STORING = frozenset(  # functions that store into their first argument
    [setattr, operator.setitem, operator.iadd, operator.iconcat, heapq.heappush, heapq.heappushpop, heapq.heapreplace,
     bisect.insort, bisect.insort_left, bisect.insort_right, object.__setattr__, list.append, list.extend, list.insert,
     list.__setitem__, list.__iadd__, dict.__setitem__, dict.update, dict.setdefault, set.add, set.update,
     operator.delitem, operator.imul, heapq.heapify, heapq.heappop, list.pop, list.remove, list.reverse, list.sort, list.clear,
     list.__delitem__, list.__imul__]
)  # fmt: skip


def storing(fn: Any) -> Any:
    """A function that stores into its first argument, as it is called inside a transform."""

    @functools.wraps(fn, assigned=("__name__", "__doc__"))
    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            note(args[0])
        return fn(*args, **kwargs)

    return call


def _computed_once(cache: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that is behind a cache; with the same traced numbers, once in a run of a transform."""
    era, parts = LOCAL.era, [*args, *kwargs, *kwargs.values()]
    known = all(not is_plain_array(p._value) if isinstance(p, Operand) else not has_tensor(p) for p in parts)
    if era is None or not known or LOCAL.levels:
        return function(*args, **kwargs)
    key = (id(cache), LOCAL.depth, LOCAL.grad, len(args), *[(id(p),) if isinstance(p, Operand) else p for p in parts])
    try:
        found = era.results.get(key)
    except TypeError:  # an argument that can be no key, of which the cache would say so
        return function(*args, **kwargs)
    if found is None:
        found = era.results[key] = (function(*args, **kwargs), parts, cache)  # which keep their identities
    return found[0]


def past_cache(cache: Any, function: Any) -> Any:
    """Return what runs in place of a cached function: where an argument is traced, the function itself."""

    @functools.wraps(cache, assigned=("__name__", "__qualname__", "__doc__"))  # of this module: nobody rebuilds it
    def call(*args: Any, **kwargs: Any) -> Any:
        if has_tensor(args) or (kwargs and has_tensor(tuple(kwargs.values()))):
            refuse(f"calls `{getattr(cache, '__name__', 'a function')}`, which has a cache")
            return _computed_once(cache, function, args, kwargs)
        found = cache(*args, **kwargs)
        if has_tensor(found) or type(found).__module__ not in ("builtins", "numpy"):
            note(cache)  # of what it read outside: a plain number, once the transform has ended
        return found

    def clear() -> None:
        cache.cache_clear()
        if LOCAL.era is not None:
            LOCAL.era.forget_results_of(id(cache))

    vars(call).update(cache_info=cache.cache_info, cache_clear=clear, cache_parameters=cache.cache_parameters)
    return call


def taking_numbers(value: Any) -> Any:
    """Return such a function as it is called inside a transform: GradientLossError where a gradient would be lost."""

    @functools.wraps(value, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        found = tensors_in((args, kwargs))
        if not found:
            return value(*args, **kwargs)
        how = "pickle" if "pickle" in str(value.__module__) else "float"
        for t in found:
            leave(t, how)
        return value(*unwrap(args), **{k: unwrap(v) for k, v in kwargs.items()})

    return call
