"""SciPy's names as a function under a transform sees them: functions with rules or formulas, and distributions."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ...runtime.errors import NoRuleError
from ...runtime.ops import Kind, Op
from ...runtime.registry import composition, lookup, lookup_class, made_of_ops, require
from ...runtime.rules.support import literal
from ...tracer.core.dispatch import apply, has_tensor, stack_nested
from ...tracer.core.tensor_base import Operand
from ...tracer.modes.thread_state import capturing, refuse
from . import CALLBACKS

__all__ = ["Distribution", "Maker", "class_of", "is_known", "object_of", "of_scipy", "parts_of", "through_apply"]

_known: dict[Any, Any] = {}
_ALWAYS = (
    "scipy.interpolate",
    "scipy.sparse",
    "scipy._lib._sparse",
)  # modules whose objects hold Tensors where no one sees them


def through_apply(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that dispatches by no protocol (SciPy's plain Python ones), with an op of ours."""
    return _where_tensors(fn, functools.partial(_apply, require(fn)))


def _apply(op: Any, *args: Any, **kwargs: Any) -> Any:
    if not re.search(r"\[|\*\w", op.signature):  # it takes no sequence of arrays: a list is an array in the making
        args, kwargs = tuple(map(stack_nested, args)), {k: stack_nested(v) for k, v in kwargs.items()}
    return apply(op, args, kwargs)


def _where_tensors(fn: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` of arrays, and `ours` where a Tensor is among the arguments."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (ours if has_tensor(args) or has_tensor(kwargs) else fn)(*args, **kwargs)

    call.__module__ = __name__  # it is ours
    return call


def _creation(fn: Any, op: Op) -> Any:
    """`fn`, which makes an array of numbers: a Tensor under a transform, so that a capture knows where it comes from."""

    @functools.wraps(fn)
    def create(*args: Any, **kwargs: Any) -> Any:
        if any(type(a) is tuple and has_tensor(a) for a in (*args, *kwargs.values())):
            raise NoRuleError(
                f"{op.path} of a parameter that is traced has no gradient rule in gradscribe: call the function of that name, "
                "such as scipy.signal.windows.kaiser(n, beta)."
            )
        return apply(op, args, kwargs)

    create.__module__ = __name__  # it is ours
    return create


def _instead(fn: Any, load: Callable[[], Any]) -> Callable[..., Any]:
    """What `load` gives in the place of `fn`, whose name and signature it has."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return load()(*args, **kwargs)

    call.__module__ = __name__  # it is ours
    return call


def _parts(value: Any) -> list[str]:
    module = getattr(value, "__module__", None)
    return module.split(".") if isinstance(module, str) else []


def of_scipy(value: Any) -> Any:
    """Return the replacement of something of SciPy's; None where there is none."""
    parts = _parts(value)
    if parts[:1] != ["scipy"] or isinstance(value, np.ufunc) or not isinstance(value, Hashable):
        return None
    if isinstance(value, type):
        return class_of(value)
    if (found := lookup_class(type(value))) is not None:
        return None if found.traced else made_of_ops(value)
    found = _known.get(value)
    if found is None:
        found = _found(value)
        if found is not None:
            _known[value] = found
    return found


@functools.cache
def class_of(cls: Any) -> Any:
    """What stands for a class of SciPy's whose objects can be made of ops; None where they cannot."""
    return None if lookup_class(cls) is None else Maker(cls)


def parts_of(value: Any) -> tuple[str, ...]:
    """The attributes that hold the numbers of an object of such a class; none of others."""
    found = lookup_class(type(value))
    return () if found is None or found.over is None else found.parts


def object_of(value: Any, parts: dict[str, Any]) -> Any:
    """An object of such a class, made of ops, whose numbers are `parts`."""
    found = lookup_class(type(value))
    assert found is not None
    return value if found.over is None else found.over(value, parts)


class Maker:
    """A class of SciPy's whose objects are made of ops under a transform."""

    __gradscribe_stateless__ = True

    def __init__(self, cls: Any) -> None:
        self._class = cls
        self.__name__, self.__module__, self.__doc__ = cls.__name__, __name__, cls.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """An object."""
        found = lookup_class(self._class)
        assert found is not None
        traced = has_tensor(args) or has_tensor(kwargs)
        if found.traced:  # or of an object of ops, such as a capture makes of a matrix from outside
            of_ops = traced or any(hasattr(type(a), "__gradscribe_of_ops__") for a in args)
            return (found.make if of_ops else self._class)(*args, **kwargs)
        if not capturing() or traced:
            return found.make(*args, **kwargs)
        return _Waiting(found.make, args, kwargs)

    def __instancecheck__(self, value: Any) -> bool:
        found = lookup_class(self._class)
        made = None if found is None else found.make
        return isinstance(value, self._class) or (isinstance(made, type) and isinstance(value, made))

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (self._class,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._class, name)


class _Waiting:
    """An object of lists of numbers in a capture, which are written down as arrays beside the first Tensor that comes."""

    __gradscribe_stateless__ = True

    def __init__(self, make: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._made = make, args, kwargs

    def _object(self, beside: Any) -> Any:
        make, args, kwargs = self._made
        return make(*[_beside(a, beside) for a in args], **{k: _beside(v, beside) for k, v in kwargs.items()})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Its values at points."""
        return self._object(_tensor_of((args, kwargs)))(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not callable(getattr(self._object(None), name)):
            return getattr(self._object(None), name)
        return lambda *args, **kwargs: getattr(self._object(_tensor_of((args, kwargs))), name)(*args, **kwargs)


def _tensor_of(value: Any) -> Any:
    """A Tensor among values; None where there is none."""
    if isinstance(value, Operand):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((found for v in inner if (found := _tensor_of(v)) is not None), None)


def _beside(value: Any, beside: Any) -> Any:
    """A list of numbers as an array that is made where a Tensor is; others as they are."""
    if type(value) in (list, tuple) and len(value) > 2 and all(isinstance(v, (int, float)) for v in value):
        return literal(list(value), beside)
    return value


def _found(value: Any) -> Any:
    op, formula = lookup(value), composition(value)
    if lookup_class(value) is not None:
        return class_of(value)
    if formula is not None and str(getattr(value, "__module__", "")).startswith(_ALWAYS):
        return _instead(value, lambda: formula)  # of constants too: FITPACK's last digits are others
    if op is not None and op.kind is Kind.creation:
        return _creation(value, op)
    if formula is not None:
        return _where_tensors(value, formula)
    if op is not None:
        return through_apply(value)
    for (module, name), load in CALLBACKS.items():
        if getattr(value, "__name__", None) == name and getattr(sys.modules.get(module), name, None) is value:
            return _instead(value, load)
    return Distribution(value) if _is_distribution(value) else None


def _is_distribution(value: Any) -> bool:
    """Whether something is one of scipy.stats' distributions of which we have formulas."""
    density = getattr(value, "logpdf", None) or getattr(value, "logpmf", None)
    return density is not None and hasattr(value, "rvs") and composition(density) is not None


def is_known(value: Any) -> bool:
    """Whether something of SciPy's has a stand-in, and so draws no random numbers that would not be seen."""
    return of_scipy(value) is not None


class Distribution:
    """A distribution of scipy.stats: its functions that have formulas take Tensors, the rest are SciPy's own.

    >>> import numpy as np, gradscribe as gs
    >>> from gradscribe.scipy.stats import norm
    >>> gs.grad(norm.logpdf)(0.5)
    np.float64(-0.5)
    """

    __gradscribe_stateless__ = True

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._real, name)
        found = of_scipy(value) if callable(value) else None
        if found is None and capturing() and callable(value):
            refuse(
                f"calls scipy.stats.{self._real.name if hasattr(self._real, 'name') else '...'}.{name}, which may draw random "
                "numbers that would not be seen"
            )
        return value if found is None else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The distribution with these parameters."""
        return _Frozen(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<{self._real!r} of Tensors>"


class _Frozen:
    """A distribution whose parameters are given."""

    def __init__(self, of: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._of, self._args, self._kwargs = of, args, kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(self._of, name)
        if name in ("mean", "std", "var", "median", "entropy", "support"):
            return lambda: function(*self._args, **self._kwargs)
        if name == "rvs":
            return lambda size=1, random_state=None: function(
                *self._args, **self._kwargs, size=size, random_state=random_state
            )
        return lambda x, *rest, **options: function(x, *self._args, *rest, **self._kwargs, **options)
