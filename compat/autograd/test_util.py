"""autograd.test_util: derivatives held against finite differences."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...transforms.checks import check_grads as checking
from ...transforms.trees import flatten
from ...transforms.user_code.scope import as_it_runs

__all__ = [
    "EPS",
    "RTOL",
    "TOL",
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "scalar_close",
]

TOL = RTOL = EPS = 1e-6


def scalar_close(a: Any, b: Any) -> Any:
    """Whether two numbers differ by less than `TOL`, or `RTOL` of their sum."""
    return abs(a - b) < TOL or abs(a - b) < RTOL * abs(a + b)


def check_grads(
    f: Callable[..., Any], argnum: Any = 0, modes: Sequence[str] = ("fwd", "rev"), order: int = 2
) -> Callable[..., None]:
    """`check_grads(f, argnum, modes, order)(*args)`: AssertionError unless all derivatives are those that differences give.

    `argnum` is the position of what is differentiated, or a tuple of them.
    """
    places = (argnum,) if isinstance(argnum, int) else tuple(argnum)

    def check(*args: Any, **kwargs: Any) -> None:
        @functools.wraps(f)
        def of(*xs: Any) -> Any:
            moved = dict(zip(places, xs, strict=True))
            return as_it_runs(f)(*[moved.get(k, a) for k, a in enumerate(args)], **kwargs)

        checking.check_grads(of, tuple([args[k] for k in places]), order=order, modes=tuple(modes))

    return check


def check_vjp(f: Callable[..., Any], x: Any) -> None:
    """AssertionError unless the VJP of `f` at `x` is what differences give."""
    checking.check_grads(f, (x,), order=1, modes=("reverse",))


def check_jvp(f: Callable[..., Any], x: Any) -> None:
    """AssertionError unless the JVP of `f` at `x` is what differences give."""
    checking.check_grads(f, (x,), order=1, modes=("forward",))


def check_equivalent(x: Any, y: Any) -> None:
    """AssertionError unless two values have one structure and close leaves."""
    (xs, one), (ys, other) = flatten(x), flatten(y)
    assert one == other, f"the structures differ: {one} and {other}"
    for a, b in zip(xs, ys, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """`combo_check(fun, modes, order)(xs, ys, k=ks)`: `check_grads` of all combinations of what these lists hold."""

    def check(*choices: Any, **named: Any) -> None:
        for given in itertools.product(*choices):
            for words in itertools.product(*named.values()):
                check_grads(fun, *args, **kwargs)(*given, **dict(zip(named, words, strict=True)))

    return check
