"""NumPy, SciPy, math and random as a function under a transform sees them: what does not dispatch is ours there."""

from __future__ import annotations

import functools
import math
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.registry import compositions, ops, require
from ..runtime.rules.elementwise import astype
from ..tracer.dispatch import apply, has_tensor, stack_nested
from ..tracer.modes import LOCAL
from ..tracer.operand import Operand, levels_of, wrap
from .array_makers import JOINERS, chkfinite, required, vectorize
from .scipy_names import is_known, of_scipy, through_apply

__all__ = ["ScopedModule", "makes_generators", "may_draw", "op_of_the_user", "replacement", "stands_for"]


def _array(obj: Any, dtype: Any = None, *, copy: bool | None = True, **options: Any) -> Any:
    if isinstance(obj, Operand):
        made = apply(require(np.copy), (obj,), {}) if copy else obj
    elif has_tensor(obj):
        made = stack_nested(obj)
    else:
        return _literal(np.array, obj, dtype, copy=copy, **options)
    return made if dtype is None or made.dtype == np.dtype(dtype) else astype(made, np.dtype(dtype))


def _asarray(obj: Any, dtype: Any = None, **options: Any) -> Any:
    if isinstance(obj, np.ndarray) and dtype in (None, obj.dtype):
        return obj
    return _array(obj, dtype, copy=None)


def _laid_out(fn: Callable[..., Any], flag: str) -> Callable[..., Any]:
    """np.ascontiguousarray and np.asfortranarray: the array itself where it lies so already, else a copy that does."""
    op = require(fn)

    def lay(a: Any, dtype: Any = None, **options: Any) -> Any:
        if not isinstance(a, Operand):
            return fn(a, dtype, **options)
        if a.ndim and getattr(a._value.flags, flag) and dtype in (None, a.dtype):
            return a
        return apply(op, (a,), {} if dtype is None else {"dtype": dtype})

    return lay


def _literal(make: Callable[..., Any], obj: Any, dtype: Any, **options: Any) -> Any:
    """An array of numbers written down in the code: a Tensor, so that Tensors can be written into it."""
    array = make(obj, dtype=dtype, **options)
    if array.dtype.kind not in "biufc":
        return array
    if LOCAL.recorder is not None and not isinstance(obj, np.ndarray):
        return apply(require(np.array), (obj,), {} if dtype is None else {"dtype": dtype})
    return wrap(array)


def _creation(fn: Callable[..., Any]) -> Callable[..., Any]:
    op = require(fn)

    @functools.wraps(fn)
    def create(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("like", None)
        return apply(op, args, kwargs)

    return create


def _math(fn: Callable[..., Any], np_fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any) -> Any:
        if not any(isinstance(a, Operand) for a in args):
            return fn(*args)
        if any(levels_of(a) for a in args):  # no error of one example can be raised for all: NumPy's nan instead
            return apply(require(float), (np_fn(*args),), {})
        try:
            fn(*[float(a._value) if isinstance(a, Operand) else a for a in args])  # math's own errors
        except (ValueError, OverflowError, ZeroDivisionError):
            if LOCAL.recorder is not None:
                LOCAL.recorder.fail(f"goes on after an error of math.{fn.__name__}")
            raise
        outside = _OUTSIDE.get(fn.__name__) if len(args) == 1 else None
        if LOCAL.recorder is not None and outside is not None:  # noticed before NumPy warns
            LOCAL.recorder.leave(outside(args[0]), "bool")
        doubles = [
            apply(require(float), (a,), {}) if isinstance(a, Operand) and a.dtype != np.float64 else a for a in args
        ]
        made = apply(require(float), (np_fn(*doubles),), {})  # a Python number, and so weak
        if LOCAL.recorder is not None and fn.__name__ not in _TOTAL and outside is None:
            LOCAL.recorder.leave(np.isfinite(made), "bool")  # where math raises, NumPy gives inf or nan
        return made

    return call


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _hypot(*xs: Any) -> Any:
    return functools.reduce(np.hypot, xs) if len(xs) > 1 else np.absolute(*xs)


def _stacking(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays that NumPy gives a list of Tensors as it stands: `np.sum([f(v) for v in x])`."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        for a in args:
            if (type(a) is list or type(a) is tuple) and has_tensor(a):
                return fn(*[stack_nested(b) for b in args], **kwargs)
        return fn(*args, **kwargs)

    return call


def _indexing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """np.take: NumPy asks the table what it is, and not the indices."""
    op, of_tables = require(fn), _stacking(fn)

    @functools.wraps(fn)
    def take(*args: Any, **kwargs: Any) -> Any:
        if has_tensor((*args[1:2], kwargs.get("indices"))):
            return apply(op, args, kwargs)
        return of_tables(*args, **kwargs)

    return take


@functools.cache
def op_of_the_user(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that the user registered with `gs.op`: its rule holds, and not what its body does."""
    call = through_apply(fn)

    @functools.wraps(fn)
    def apply_it(*args: Any, **kwargs: Any) -> Any:
        if LOCAL.recorder is not None and not has_tensor((*args, *kwargs.values())):
            LOCAL.recorder.fail(f"calls {fn.__name__}, an op of yours, with nothing that is traced")
        return call(*args, **kwargs)

    return apply_it


def _refused(path: str, fn: Any, why: str = "whose result differs from call to call") -> Any:
    """A function that a capture cannot follow (random numbers, files, settings): it runs, and the capture says so."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if LOCAL.recorder is not None:
            LOCAL.recorder.fail(f"calls {path}, {why}")
        return fn(*args, **kwargs)

    return call


def _drawing(owner: Any, fn: Any) -> Any:
    """A function that draws random numbers, of which a capture is told."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if LOCAL.recorder is None:
            return fn(*args, **kwargs)
        return LOCAL.recorder.generators.of_module(owner, fn, sys._getframe(1).f_code, args, kwargs)

    return call


def _seeding(fn: Any) -> Any:
    """np.random.default_rng, of whose generators a capture is told."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (fn if LOCAL.recorder is None else LOCAL.recorder.generators.new)(*args, **kwargs)

    return call


_OF_SEQUENCES = (np.select, np.choose, np.block, np.piecewise, np.histogramdd)
_CREATION = (
    "zeros", "ones", "empty", "full", "arange", "linspace", "eye", "identity", "zeros_like", "ones_like", "empty_like",
    "full_like", "tri", "indices", "tril_indices", "triu_indices", "diag_indices", "logspace", "geomspace", "bartlett",
    "blackman", "hamming", "hanning", "kaiser", "ix_",
)  # fmt: skip
_FILES = ("load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "save", "savez", "savetxt")
_SETTINGS = ("errstate", "seterr", "geterr", "seterrcall", "geterrcall", "set_printoptions", "get_printoptions")
_OUTSIDE: dict[str, Callable[[Any], Any]] = {  # where math raises, and NumPy warns
    **dict.fromkeys(["sin", "cos", "tan"], np.isinf), **dict.fromkeys(["log", "log2", "log10"], lambda x: x <= 0),
    **dict.fromkeys(["asin", "acos"], lambda x: abs(x) > 1), "sqrt": lambda x: x < 0, "log1p": lambda x: x <= -1,
}  # fmt: skip
_DRAWS_NOTHING = frozenset(  # packages of SciPy
    ["special", "constants", "linalg", "fft", "fftpack", "signal", "integrate", "interpolate", "ndimage", "_lib"]
)
_TOTAL = frozenset(["atan", "tanh", "atan2", "fabs", "hypot"])  # of math: what never raises
_MATH = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "exp": "exp", "expm1": "expm1", "log1p": "log1p", "log2": "log2", "log10": "log10",
    "sqrt": "sqrt", "fabs": "absolute", "atan2": "arctan2", "hypot": "hypot", "pow": "power", "log": "log",
}  # fmt: skip


@functools.cache
def _by_identity() -> dict[int, Any]:
    """What stands in for a function that does not dispatch, by the identity of the original."""
    found: dict[int, Any] = {
        id(np.array): _array, id(np.asarray): _asarray, id(np.asanyarray): _asarray,
        id(np.ascontiguousarray): _laid_out(np.ascontiguousarray, "c_contiguous"),
        id(np.asfortranarray): _laid_out(np.asfortranarray, "f_contiguous"),
        id(isinstance): _isinstance, id(type): type_of, id(len): _len, id(hasattr): _hasattr, id(getattr): _getattr,
        id(np.isscalar): _isscalar, id(print): _print, id(np.vectorize): vectorize, id(np.take): _indexing(np.take), **JOINERS,
        id(np.asarray_chkfinite): chkfinite(_asarray), id(np.require): required(_asarray),
    }  # fmt: skip
    for name in _CREATION:
        found[id(getattr(np, name))] = _creation(getattr(np, name))
    for name, np_name in _MATH.items():
        np_fn = {"log": _log, "hypot": _hypot}.get(name) or getattr(np, np_name)
        found[id(getattr(math, name))] = _math(getattr(math, name), np_fn)
    for op in ops():
        if hasattr(op.fn, "_implementation") and not re.search(r"\[|\*\w", op.signature):  # no sequence of arrays
            found.setdefault(id(op.fn), _stacking(op.fn))
    for fn in compositions():
        if hasattr(fn, "_implementation") and fn not in _OF_SEQUENCES:  # NumPy's
            found[id(fn)] = _stacking(fn)
    for name in _SETTINGS:
        found[id(getattr(np, name))] = _refused(
            f"np.{name}", getattr(np, name), "a setting that its source would not follow"
        )
    for name in ("shares_memory", "may_share_memory"):
        found[id(getattr(np, name))] = _refused(f"np.{name}", getattr(np, name), "a question about memory")
    for name in _FILES:
        found[id(getattr(np, name))] = _refused(f"np.{name}", getattr(np, name))
    return found


_standing: list[Any] = []


def stands_for(value: Any, ours: Any) -> None:
    """Say what stands in for one more function."""
    _by_identity()[id(value)] = ours
    _standing.append(value)


def _draws(owner: Any) -> bool:
    """Whether methods of `owner` draw random numbers (who has such an object has loaded its module)."""
    classes = [
        getattr(sys.modules.get(module), name, None)
        for module, name in (("random", "Random"), ("numpy.random", "RandomState"), ("numpy.random", "Generator"))
    ]
    return isinstance(owner, tuple([c for c in classes if c is not None]))


def makes_generators(cls: type) -> bool:
    """Whether objects of a class draw random numbers, or give the bits for them."""
    return cls.__module__.startswith("numpy.random") or cls.__module__ == "random"


def may_draw(value: Any) -> bool:
    """Whether something of SciPy's may draw random numbers that a capture would not see, such as `scipy.stats.norm`."""
    module = getattr(value, "__module__", None)
    parts = module.split(".") if isinstance(module, str) else []
    return (
        parts[:1] == ["scipy"]
        and not is_known(value)
        and parts[1:2] != []
        and (parts[1] not in _DRAWS_NOTHING or "interpolative" in "".join(parts[2:]))
    )


def replacement(value: Any) -> Any:
    """What stands in for a function of NumPy, SciPy, math or random inside a transform; None where nothing does."""
    found = _by_identity().get(id(value))
    if found is not None:
        return found
    module = getattr(value, "__module__", None)
    if isinstance(module, str) and module.startswith("scipy."):
        return of_scipy(value)
    if module == "numpy.fft" and getattr(value, "__name__", None) in ("fftfreq", "rfftfreq"):
        return _creation(value)
    owner = getattr(value, "__self__", None)
    if owner is not None and _draws(owner):
        return _drawing(owner, value)
    name = getattr(value, "__name__", None)
    if name in ("seed", "ranf", "sample") and value is getattr(np.random, name):
        return _drawing(getattr(np.random.normal, "__self__", None), value)
    if name == "default_rng" and value is np.random.default_rng:
        return _seeding(value)
    return None


def _isinstance(obj: Any, classes: Any) -> bool:
    """A Tensor is an instance of whatever its value is one of."""
    if classes is type_of:
        classes = type
    elif isinstance(classes, tuple) and type_of in classes:
        classes = tuple([type if c is type_of else c for c in classes])
    return isinstance(obj, classes) or (isinstance(obj, Operand) and isinstance(obj._value, classes))


def type_of(*args: Any, **options: Any) -> Any:
    """The type of a Tensor is that of its value."""
    if len(args) == 1 and isinstance(args[0], Operand):
        return type(args[0]._value)
    if len(args) == 1 and hasattr(type(args[0]), "__gradscribe_int__"):
        return int
    if len(args) == 1 and "__gradscribe_watched__" in vars(type(args[0])):  # a capture's handle of an instance
        return args[0].__class__
    return type(*args, **options)


def _hasattr(obj: Any, name: str) -> bool:
    """A Tensor has the attributes of its value."""
    return hasattr(obj, name) and (not isinstance(obj, Operand) or hasattr(obj._value, name))


def _print(*values: Any, **options: Any) -> None:
    """A capture prints what stands in Tensors, and writes it down."""
    (print if LOCAL.recorder is None else LOCAL.recorder.messages.printed)(*values, **options)


def _getattr(obj: Any, name: str, *default: Any) -> Any:
    """A number that is traced has no attributes of arrays."""
    if default and isinstance(obj, Operand) and not hasattr(obj._value, name):
        return default[0]
    return getattr(obj, name, *default)


def _isscalar(obj: Any) -> bool:
    """A Tensor is a scalar where its value is one."""
    return np.isscalar(obj._value if isinstance(obj, Operand) else obj)


def _len(obj: Any) -> int:
    """A Tensor's length, which remembers while capturing that it is one (len itself gives a plain int)."""
    return obj.shape[0] if isinstance(obj, Operand) and obj.shape else len(obj)


class ScopedModule(types.ModuleType):
    """A module seen from inside a transform: each attribute read goes through the scope, writes to the module."""

    def __init__(self, module: types.ModuleType, see: Callable[[Any, str], Any], keep: bool) -> None:
        super().__init__(module.__name__)
        mine = self.__dict__
        for name in ("__name__", "__doc__", "__package__", "__loader__", "__spec__"):
            mine.pop(name, None)
        mine["_scoped"] = (module, see, keep)

    def __getattr__(self, name: str) -> Any:
        module, see, keep = self.__dict__["_scoped"]
        value = getattr(module, name)
        if LOCAL.recorder is not None and may_draw(value):
            LOCAL.recorder.fail(
                f"uses `{module.__name__}.{name}`, which may draw random numbers that would not be seen"
            )
            return value
        value = see(value, name)
        if keep:  # a library's attributes do not change
            self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if LOCAL.recorder is not None:
            LOCAL.recorder.fail(f"stores the module attribute {self.__dict__['_scoped'][0].__name__}.{name}")
        setattr(self.__dict__["_scoped"][0], name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_scoped"][0])
