"""A differential equation in a capture: the solver, and its adjoint, as calls that generated source makes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...runtime.ops import Op
from ...runtime.user_ops import called_by_name
from ...tracer.autograd.function import Function
from ...tracer.core.levels import under
from ...tracer.core.listening import called, in_loop
from ...tracer.core.tensor_base import Operand, levels_of, wrap
from ...tracer.core.thread_state import LOCAL, grad_mode, recording, refuse
from ...unpatched import np
from ..user_code.scope import scope
from .vjp import forward

__all__ = ["named", "recorded"]

_OPTIONS = frozenset(["atol", "h0", "hmax", "hmin", "mxstep", "rtol"])  # those that are numbers
_SOLVES = "solves a differential equation by scipy.integrate.odeint, "


def named(func: Any, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The function that a module has under the name of `func`, for a call that can be written down; None, after saying why."""
    home = sys.modules.get(getattr(func, "__module__", None) or "")
    found = getattr(home, getattr(func, "__name__", ""), None)
    why = None
    if found is None or (found is not func and scope().rebuild(found) is not func):
        why = "whose function no module has under its name, to import it from"
    elif isinstance(called_by_name(found, 1), str):
        why = f"of a function {called_by_name(found, 1)}"
    elif not all(type(x) in (int, float) or _is_real(x) for x in given):
        why = "whose arguments are more than arrays and numbers"
    elif not (options.keys() <= _OPTIONS and all(x is None or type(x) in (int, float) for x in options.values())):
        why = f"with options of which one is none of {', '.join(sorted(_OPTIONS))}, as a number"
    elif any(levels_of(x) for x in given):
        why = "under gs.vmap"
    elif in_loop():
        why = "within a loop"
    if why is not None:
        refuse(_SOLVES + why)
        return None
    return found


def _is_real(x: Any) -> bool:
    return isinstance(x, Operand) and x.dtype.kind in "fiu"


def recorded(
    ops: tuple[Callable[..., Any], Callable[..., Any]], func: Any, y0: Any, t: Any, given: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:  # fmt: skip
    """The solution, by the first of `ops`, with the second for the way back; both of them written down."""
    y0 = np.reshape(y0, (-1,)) if isinstance(y0, Operand) else y0
    return _Recorded.apply(ops, func, options, y0, t, *given)


def _plain(x: Any) -> Any:
    return x._value if isinstance(x, Operand) else x


def _written(fn: Callable[..., Any], options: dict[str, Any], *given: Any) -> tuple[Any, ...]:
    """Return the result of a function for these arguments, as a call in the graph."""
    plain = [tuple(map(_plain, x)) if type(x) is tuple else _plain(x) for x in given]
    with recording(None), grad_mode(False):
        found = fn(*plain, **options)
    results = tuple([wrap(x) for x in (found if type(found) is tuple else (found,))])
    op = called_by_name(fn, len(results))
    assert isinstance(op, Op)
    called(op, op.bind(*given, **options), results)
    return results


class _Recorded(Function):
    @staticmethod
    def forward(ctx: Any, ops: Any, func: Any, options: Any, *given: Any) -> Any:
        """The solution, by SciPy."""
        y0, t, *args = given
        (out,) = _written(ops[0], options, func, y0, t, tuple(args))
        _keep(ctx, (out, t, *args))
        ctx.how = (ops[1], func, options)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple[Any, ...]:
        """The cotangents of what is differentiated, by the adjoint equation."""
        asked = ctx.needs_input_grad[3:]
        places = tuple([k for k, needed in enumerate(asked) if needed])
        adjoint, func, options = ctx.how
        given = _kept(ctx)
        if differ := _levels(g, *given):
            refuse(f"{_SOLVES}of many cotangents at once")
            y, t, *args = given
            with under(differ):
                made = adjoint(func, places, g, y, t, tuple(args), **options)
        else:
            made = _Adjoint.apply(adjoint, func, options, places, g, *given)
        found = list(made) if isinstance(made, tuple) else [made]
        return (None, None, None, *[found.pop(0) if needed else None for needed in asked])


class _Adjoint(Function):
    @staticmethod
    def forward(ctx: Any, adjoint: Any, func: Any, options: Any, places: Any, *given: Any) -> Any:
        """The cotangents at `places`, by a call."""
        g, y, t, *args = given
        _keep(ctx, given)
        ctx.how = (adjoint, func, options, places)
        return _written(adjoint, options, func, places, g, y, t, tuple(args))

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> tuple[Any, ...]:
        """The derivative of a derivative, which no call stands for."""
        refuse(f"{_SOLVES}which is differentiated twice")
        adjoint, func, options, places = ctx.how
        given = _kept(ctx)
        asked = [k for k, needed in enumerate(ctx.needs_input_grad[4:]) if needed]
        of = lambda g, y, t, *args: adjoint(func, places, g, y, t, args, **options)
        with under(_levels(*gs, *given)):
            pullback = forward(of, tuple(asked), tuple(given), {})[1]
            found = dict(zip(asked, pullback(gs if len(gs) > 1 else gs[0]), strict=True))
        return (None,) * 4 + tuple([found.get(k) for k in range(len(given))])


def _levels(*given: Any) -> tuple[Any, ...]:
    """The vmaps that hold now and that arguments differ in: a variable is made for each example of the others."""
    differ = [level for x in given for level in levels_of(x)]
    return tuple([level for level in LOCAL.levels if level in differ])


def _keep(ctx: Any, given: Any) -> None:
    ctx.save_for_backward(*[x for x in given if isinstance(x, Operand)])
    ctx.constants = [None if isinstance(x, Operand) else x for x in given]


def _kept(ctx: Any) -> list[Any]:
    moving = list(ctx.saved_tensors)
    return [moving.pop(0) if x is None else x for x in ctx.constants]
