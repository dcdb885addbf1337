"""Functions of SciPy as ops: they dispatch by no protocol, so that a rule calls them through what is made here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...unpatched import np
from ..ops import Kind, compile_bind, parse_signature
from ..registry import composed, op, require
from .support import is_traced, literal

__all__ = ["arrays", "made", "of_scipy", "refused", "taken"]


def of_scipy(
    module: str, fn: Callable[..., Any], signature: str, kind: Kind, *, whole: str = "", **options: Any
) -> Callable[..., Any]:
    """Register a function of a module of SciPy's as an op, and return what rules call: it takes what a rule is given.

    The parameters bear SciPy's names, since users give them by name. `whole` states all of SciPy's, where the op leaves some away
    that change no result, such as `overwrite_x`.
    """
    made = op(fn, signature, kind, path=f"{module}.{fn.__name__}", **options)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        for a in (*args, *kwargs.values()):
            enter = getattr(type(a), "__gradscribe_apply__", None)
            if enter is not None:
                return enter(made, args, kwargs)
        return fn(*args, **kwargs)

    if whole:
        names = [p.name for p in parse_signature(whole)]
        bind, taken = compile_bind(parse_signature(whole), made.path), {p.name for p in made.params}

        def of_all(*args: Any, **kwargs: Any) -> Any:
            values = zip(names, bind(*args, **kwargs), strict=True)
            return call(**{name: value for name, value in values if name in taken})

        composed(fn)(of_all)
    return call


def made(fn: Callable[..., Any], beside: Any, *args: Any, **options: Any) -> Any:
    """The array that an op of no arrays makes, such as np.arange, made so that a recorder notes it where `beside` is traced."""
    enter = getattr(type(beside), "__gradscribe_apply__", None)
    return fn(*args, **options) if enter is None else enter(require(fn), args, options)


def taken(table: Any, i: Any) -> Any:
    """The rows of a table at positions, of which either may be traced: NumPy asks the table alone."""
    return made(np.take, i, table, i, 0)


def arrays(*values: Any) -> tuple[Any, ...]:
    """Arguments that may be lists, as arrays; None stays."""
    values = tuple([literal(v) if isinstance(v, (list, tuple)) and is_traced(v) else v for v in values])
    return tuple([None if v is None else literal(v, *values) for v in values])


def refused(name: str, what: str, way: str) -> NotImplementedError:
    """Return the error about a form of a function of SciPy's that has no gradient, with the way out."""
    return NotImplementedError(f"scipy.{name} with {what} has no gradient here; {way}")
