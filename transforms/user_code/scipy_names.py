"""SciPy's names as a function under a transform sees them: functions with rules or formulas, and distributions."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ...runtime.ops import Kind, Op
from ...runtime.registry import composition, lookup, require
from ...tracer.core.dispatch import apply, has_tensor, stack_nested
from ...tracer.modes.thread_state import capturing, refuse
from . import CALLBACKS, WHOLE_MODULES

__all__ = ["Distribution", "is_known", "of_scipy", "through_apply"]

_known: dict[Any, Any] = {}


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
    if parts[:1] != ["scipy"] or isinstance(value, (np.ufunc, type)) or not isinstance(value, Hashable):
        return None
    found = _known.get(value)
    if found is None:
        found = _found(value)
        if found is not None:
            _known[value] = found
    return found


def _found(value: Any) -> Any:
    op, formula = lookup(value), composition(value)
    if op is not None and op.kind is Kind.creation:
        return _creation(value, op)
    if formula is not None:
        return _where_tensors(value, formula)
    if op is not None:
        return through_apply(value)
    for (module, name), ours in WHOLE_MODULES.items():
        if getattr(value, "__name__", None) == name and getattr(sys.modules.get(module), name, None) is value:
            return _where_tensors(value, ours)
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
