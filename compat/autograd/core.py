"""autograd.core: what programs import from it."""

from __future__ import annotations

from .differential_operators import make_jvp, make_vjp
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
