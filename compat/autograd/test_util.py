"""autograd.test_util: derivatives held against finite differences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...transforms import check_grads as checking
from ...transforms.scope import as_it_runs
from ...transforms.trees import flatten

__all__ = ["check_equivalent", "check_grads", "check_jvp", "check_vjp"]


def check_grads(f: Callable[..., Any], modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> Callable[..., None]:
    """`check_grads(f, modes, order)(*args)`: AssertionError unless all derivatives are those that differences give."""

    def check(*args: Any, **kwargs: Any) -> None:
        of = functools.wraps(f)(lambda *xs: as_it_runs(f)(*xs, **kwargs))
        checking.check_grads(of, *args, order=order, modes=tuple(modes))

    return check


def check_vjp(f: Callable[..., Any], x: Any) -> None:
    """AssertionError unless the VJP of `f` at `x` is what differences give."""
    checking.check_grads(f, x, order=1, modes=("reverse",))


def check_jvp(f: Callable[..., Any], x: Any) -> None:
    """AssertionError unless the JVP of `f` at `x` is what differences give."""
    checking.check_grads(f, x, order=1, modes=("forward",))


def check_equivalent(x: Any, y: Any) -> None:
    """AssertionError unless two values have one structure and close leaves."""
    (xs, one), (ys, other) = flatten(x), flatten(y)
    assert one == other, f"the structures differ: {one} and {other}"
    for a, b in zip(xs, ys, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
