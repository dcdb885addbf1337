"""Handles by which a hook is taken off again."""

from __future__ import annotations

import itertools
from typing import Any

__all__ = ["RemovableHandle"]

_next_id = itertools.count().__next__


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook off (also as a context manager)."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self._hooks = hooks
        self.id = _next_id()
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook off; nothing happens the second time."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()
