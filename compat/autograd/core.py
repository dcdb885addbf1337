"""autograd.core: the names that programs import from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import differential_operators
from .extend import (
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    vspace,
)

__all__ = [
    "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums",
    "make_jvp", "make_vjp", "vspace",
]  # fmt: skip


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """`(vjp, fun(x))`: the map from cotangents of the output to those of `x`, and the output."""
    made: tuple[Callable[[Any], Any], Any] = differential_operators.make_vjp(fun)(x)
    return made


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The map from a tangent of `x` to `(fun(x), tangent of the output)`."""
    made: Callable[[Any], tuple[Any, Any]] = differential_operators.make_jvp(fun)(x)
    return made
