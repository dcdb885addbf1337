"""Identities: where the user's code asks `a is b`, one array is one Tensor wherever it is read, and is assumed to stay one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...user_code.scope import Path
from .numbers import NumberNeededError

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["Identities"]


class Identities:
    """The arrays of one capture, told apart as objects once some code in it compares objects."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.compared = False
        self.twins: dict[Path, Any] = {}  # where an array was found that is an input by another name already

    def begin(self) -> None:
        """Code that compares objects is part of the capture now."""
        if not self.compared:
            self.compared = True
            callers = [id(t._caller) for t in self._tensors()]
            if len(set(callers)) < len(callers):
                effects = any(call.op.effect for call in self.capture.graph.calls)
                self.capture.refuse("compares with `is`, and was given one array twice")
                if not effects:  # they are two Tensors already, and this run would find them different
                    self.capture.abandoned = True
                    raise NumberNeededError(self.capture.failed)

    def known(self, array: Any, path: Path) -> Any:
        """The Tensor of an array that is an input already; None where it is not, or where nobody can tell."""
        if not self.compared:
            return None
        found = next((t for t in self._tensors() if t._caller is array), None)
        if found is not None:
            self.twins[path] = array
        return found

    def _tensors(self) -> list[Any]:
        return [*self.capture.given, *self.capture.outside]
