"""Functions of SciPy as ops: they dispatch by no protocol, so that a rule calls them through what is made here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..ops import Kind, compile_bind, parse_signature
from ..registry import composed, op

__all__ = ["of_scipy"]


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
