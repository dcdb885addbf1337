"""autograd.wrap_util: operators of functions of one argument, made operators of functions of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...transforms.user_code.scope import as_it_runs
from .util import subvals

__all__ = ["get_doc", "get_name", "unary_to_nary", "wrap_nary_f", "wraps"]


def get_name(f: Any) -> str:
    """The name of a function, or that it has none."""
    return getattr(f, "__name__", "[unknown name]")


def get_doc(f: Any) -> str | None:
    """The docstring of a function."""
    return getattr(f, "__doc__", "")


def wraps(
    fun: Callable[..., Any], namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a function a name and a docstring after those of `fun`, as these formats say."""

    def name(f: Callable[..., Any]) -> Callable[..., Any]:
        if hasattr(f, "__dict__"):
            f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
            f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **kwargs)
        return f

    return name


def wrap_nary_f(fun: Callable[..., Any], op: Callable[..., Any], argnum: Any) -> Any:
    """A decorator for what the operator `op` makes of `fun`, with respect to `argnum`."""
    says = "{op} of {fun} with respect to argument number {argnum}; it takes the same arguments."
    return wraps(fun, "{op}_of_{fun}_wrt_argnum_{argnum}", says, op=get_name(op), argnum=argnum)


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """`unary_operator(f, x, ...)` as an operator that takes `(fun, argnum=0, ...)` and gives a function of all arguments.

    `argnum` is a position, or a tuple of them: then `x` is the tuple of these arguments.
    """

    @wraps(unary_operator)
    def nary_operator(fun: Callable[..., Any], argnum: Any = 0, *op_args: Any, **op_kwargs: Any) -> Any:
        if not isinstance(argnum, (int, tuple, list)):
            raise AssertionError(f"argnum is a position or several, not {argnum!r}")

        places: Any = (argnum,) if isinstance(argnum, int) else argnum

        def nary_f(*args: Any, **kwargs: Any) -> Any:
            one = isinstance(argnum, int)

            @wraps(fun)
            def unary_f(x: Any) -> Any:
                moved = zip(places, [x] if one else x, strict=False)
                return as_it_runs(fun)(*subvals(args, moved), **kwargs)

            given = [args[i] for i in places]
            return unary_operator(unary_f, given[0] if one else tuple(given), *op_args, **op_kwargs)

        return wrap_nary_f(fun, unary_operator, argnum)(nary_f)

    return nary_operator
