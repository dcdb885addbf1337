"""What a function of this collection comes with: its gradient by hand, and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gradscribe as gs


class Case(NamedTuple):
    """A function, its value and gradient by hand, arguments, and which of them to differentiate by."""

    function: Callable[..., Any]
    by_hand: Callable[..., Any]
    args: tuple[Any, ...]
    argnums: int | tuple[int, ...] = 0

    def differentiated(self) -> Any:
        """The value and the gradient."""
        return gs.value_and_grad(self.function, argnums=self.argnums)
