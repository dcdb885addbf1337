"""A branch of generated text: `if s > 0:` with the statements of the paths that take it, the last of which is a return."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....runtime.ir.graph import Call

__all__ = ["Fork"]


class Fork(NamedTuple):
    """An `if`, the statements under it, and the return that ends them; what follows belongs to the other paths."""

    node: Any
    entries: list[tuple[Any, Call]]
    result: Any
