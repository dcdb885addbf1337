"""Numbers outside the function that change from call to call, such as `self.rate`: inputs from the second miss on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...scope import Path
from ..effects import has_effects

if TYPE_CHECKING:
    from ..specialise import Entry

__all__ = ["NumberNeededError", "changed_numbers", "is_float", "with_python_alone"]

_BASIC = frozenset(["Add", "Sub", "Mul", "Div", "Neg", "Pos", "Abs", "Gt", "Ge", "Lt", "Le", "Eq", "Ne"])


class NumberNeededError(Exception):
    """A run with Tensors in place of numbers, or of one array twice, went wrong; a plain one would perhaps not."""


def is_float(value: Any) -> bool:
    """Whether a value is one that can be an input: a float or complex number, and of no subclass of the user's."""
    return type(value) in (float, complex) or isinstance(value, (np.floating, np.complexfloating))


def changed_numbers(entries: Iterable[Entry]) -> set[Path]:
    """Where floats were read from outside that are others of the same type now.

    Not those beside effects: a capture that tried in vain would have them twice.
    """
    found: set[Path] = set()
    for entry in entries:
        if has_effects(entry.specialisation.raw):
            continue
        for path, before in entry.plan.reads.items():
            if is_float(before) and path[0] != "id":
                try:
                    now = path.read()
                except (TypeError, ValueError, AttributeError, LookupError):
                    continue
                if type(now) is type(before) and repr(now) != repr(before):
                    found.add(path)
    return found


def with_python_alone(op: Any, args: tuple[Any, ...]) -> bool:
    """Whether an operation is Python's own, of Python's numbers alone, where NumPy's could differ in the last digit."""
    if op.path == "float":
        return True
    return (
        op.infix is not None
        and op.title not in _BASIC
        and all(getattr(a, "type", None) is None or a.type.kind == "python" for a in args)
    )
