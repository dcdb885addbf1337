"""gs.singular: at singular points the written conventions, NaN, or an error that names the op and the user's line."""

from __future__ import annotations

import contextlib
import functools
import linecache
import operator
from typing import Any

from ...runtime.errors import SingularPointError
from ...runtime.ops import Kind, Op, Vjp
from ...runtime.rules.support import happens
from ...unpatched import np
from .site import Site, user_site
from .tensor_base import Operand
from .thread_state import LOCAL, refresh

__all__ = ["singular", "strict"]

MODES = ("convention", "nan", "raise")


class singular(contextlib.ContextDecorator):  # lower case, like no_grad
    """Set the behaviour of operations in this block where they have no derivative (`np.abs` at 0, `np.maximum` of equal numbers).

    `"convention"`, which holds outside, gives what docs/kinks.md writes down. `"nan"` gives NaN and `"raise"` a
    SingularPointError (a FloatingPointError), both in backward. Where the slope is finite, a cotangent of zero does no harm: what
    `np.where` does not take, for one. Where a shape is reduced or a matrix decomposed, any cotangent counts.

    Compiled functions that are called in the block run eagerly; a block inside of a compiled function is part of its source.
    Raises ValueError for another word.

    >>> import numpy as np, gradscribe as gs
    >>> f = gs.grad(lambda x: np.sum(np.abs(x)))
    >>> f(np.array([0.0, 2.0]))
    array([0., 1.])
    >>> with gs.singular("nan"):
    ...     f(np.array([0.0, 2.0]))
    array([nan,  1.])
    """

    def __init__(self, mode: str) -> None:
        if mode not in MODES:
            raise ValueError(f"gs.singular takes one of {', '.join(map(repr, MODES))}, not {mode!r}")
        self.mode = mode
        self._before: list[str] = []

    def __enter__(self) -> None:
        self._before.append(LOCAL.singular)
        LOCAL.singular = "" if self.mode == "convention" else self.mode
        refresh()

    def __exit__(self, *exc: Any) -> None:
        LOCAL.singular = self._before.pop()
        refresh()


def strict(op: Op, values: tuple[Any, ...]) -> tuple[Op, tuple[Any, ...]]:
    """The op that minds its singular points, and the values of its arguments with one more: where it was called."""
    made = op.derived.get(LOCAL.singular)
    if made is None:
        made = op.derived[LOCAL.singular] = _made(op, LOCAL.singular)
    return (made, (*values, user_site())) if made is not op else (op, values)


def _made(op: Op, mode: str) -> Op:
    guarded = {name: vjp for name, vjp in op.vjps.items() if vjp is not None and vjp.singular is not None}
    if not guarded:
        return op
    made = Op(
        op.fn, f"{op.signature}, site=None", op.kind, path=op.path, n_out=op.n_out, infix=op.infix, title=op.title,
        memory=op.memory, base=op,
    )  # fmt: skip
    made.vjps = dict(op.vjps) | {name: _minding(op, name, vjp, mode) for name, vjp in guarded.items()}
    return made


def _minding(op: Op, name: str, vjp: Vjp, mode: str) -> Vjp:
    points = vjp.singular
    assert points is not None
    elementwise = op.kind is Kind.elementwise

    def formula(*given: Any) -> Any:
        named = dict(zip(made.names, given, strict=True))
        if elementwise and f"{name}_shape" in named:
            named[f"{name}_shape"] = (
                None  # the engine sums over broadcast axes afterwards; points are told apart before
            )
        d_x = vjp.fn(*[named[n] for n in vjp.names])
        if d_x is None:
            return None
        at = points.fn(*[named[n] for n in points.names])
        if at is False:
            return d_x
        g, felt = named["g"], at
        if elementwise:
            parts = [g] if op.n_out == 1 else [part for part in g if part is not None]
            g = functools.reduce(operator.add, parts)
            counts = functools.reduce(operator.or_, [part != 0 for part in parts])
            felt = at & (counts | np.isnan(d_x))  # zero times infinity is not known to be zero
        if mode == "raise":
            if happens(felt):
                raise SingularPointError(_told(op, name, named["site"], felt))
            return np.where(at, 0 * g, d_x) if elementwise else d_x
        if elementwise:  # a product with g, so that second derivatives are NaN, too
            return np.where(at, g * np.where(felt, np.nan, 0.0), d_x)
        return d_x * np.where(at, np.nan, 1.0)

    made = Vjp(formula)
    made.names = tuple(dict.fromkeys(("g", *vjp.names, *points.names, "site")))
    return made


def _told(op: Op, name: str, site: Site | None, felt: Any) -> str:
    whole = np.asarray(felt._value if isinstance(felt, Operand) else felt)
    places = np.argwhere(whole)
    index = f" at index {tuple(places[0].tolist())}" if whole.ndim else ""
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    where = ""
    if site is not None:
        text = linecache.getline(site.code.co_filename, site.line).strip()
        where = f"\nat {site.code.co_filename}:{site.line}" + (f"\n    {text}" if text else "")
    return (
        f"{op.path} was called on a singular point, and has no derivative there in `{name}`{index}{more}. "
        f'gs.singular("convention") takes what docs/kinks.md says.{where}'
    )
