"""Type facts: the types of an op's results, stated beside its rule where they do not follow from its kind."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

__all__ = ["BY_VALUE", "KIND", "LENGTHS", "RUN", "UNKNOWN", "How", "TypesFact", "along_axis"]


class How(enum.Enum):
    """The way in which the types of results follow from those of the arguments, where no function of these says it."""

    lengths = "lengths"  # each length of a result is that of an argument, whatever the lengths are
    run = "run"  # lengths are computed: the types are those of a run, where that is small
    by_value = "by value"  # kind, dtype and number of axes are known, lengths follow from values
    kind = "kind"  # lengths are those of the arguments, and the values decide whether the numbers are real or complex
    unknown = "unknown"  # nothing is known


LENGTHS, RUN, BY_VALUE, KIND, UNKNOWN = How.lengths, How.run, How.by_value, How.kind, How.unknown

# What an op states: one of these, or a function of the arguments that it names, as a rule does. It is given arrays whose
# types alone mean something, which cost nothing to make, and gives an array of the result's type or one of these.
TypesFact = How | Callable[..., Any]


def along_axis(x: Any, axis: Any) -> How:
    """Of what works along an axis, such as a sort: its lengths stay; without an axis the elements stand in a row."""
    return LENGTHS if axis is not None or getattr(x, "ndim", 0) == 1 else RUN
