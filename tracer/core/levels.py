"""Levels: the vmaps around an operation. Under them one number of a Tensor is many, so that some code is refused."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ...runtime.errors import AutogradError
from .site import blame
from .thread_state import LOCAL, during

__all__ = ["refuse_leaked", "refuse_one_value", "under"]


def under(levels: tuple[Any, ...]) -> AbstractContextManager[None]:
    """A block that runs under these vmaps."""
    return during("levels", levels)


def refuse_one_value(tensor: Any, how: str) -> None:
    """Raise where one value is asked of a Tensor that stands for many."""
    if how == "bool":
        words = (
            "its truth value would be one for all of them: data-dependent control flow (`if`, `while`, `and`, `assert`) "
            "is not possible there. Write np.where(condition, a, b)"
        )
    elif how in ("index", "array"):
        words = (
            "it cannot become one plain number or array. To index a plain array write np.take(table, i), or pass the table "
            "as an argument (in_axes=None)"
        )
    else:
        words = f"its value by `{how}` would be one for all of them. Keep the Tensor and compute with NumPy's functions"
    raise blame(
        AutogradError(
            f"under gs.vmap a Tensor holds one value for each example, and {words}; or loop over the examples where they "
            "do differ in what is done with them."
        )
    )


def refuse_leaked(tensor: Any) -> None:
    """Raise where a batched Tensor is used after its vmap, which stored it somewhere, or where no op takes it."""
    if any(level in LOCAL.levels for level in tensor._levels):
        raise blame(
            AutogradError(
                "a function that gradscribe does not know as an op met a Tensor of gs.vmap, which holds one value for each "
                "example. Use NumPy's functions that are ops, register it with gs.op, or loop over the examples."
            )
        )
    raise blame(
        AutogradError(
            "a Tensor of a function under gs.vmap is used after that function has returned: it was stored outside. "
            "Return it from the function."
        )
    )
