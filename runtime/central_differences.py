"""Central differences: a function on both sides of a point, as part of an array is moved in place, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..unpatched import np

__all__ = ["Central", "central"]

_NOISE = 30.0  # units in the last place of a value that rounding may cost one evaluation


class Central(NamedTuple):
    """The outputs of a function a step below and a step above a point."""

    below: Sequence[Any]
    above: Sequence[Any]
    step: float
    moved: Any  # from end to end: rounding moves the ends a little

    def slope(self, k: int = 0) -> Any:
        """Return the slope of output `k`."""
        return (self.above[k] - self.below[k]) / (2 * self.step)

    def jump(self, middle: Any, k: int = 0) -> Any:
        """Return by how much the slope above the point exceeds that below, where output `k` is `middle` at the point."""
        return (self.above[k] - 2 * middle + self.below[k]) / self.step

    def noise(self, eps: float, k: int = 0) -> Any:
        """Return what rounding may cost the slope of output `k`, computed with numbers of machine epsilon `eps`."""
        return _NOISE * eps * max(abs(self.above[k]), abs(self.below[k])) / self.step


def central(call: Callable[[], Sequence[Any]], array: Any, index: Any, direction: Any, step: float) -> Central:
    """Call a function, which reads `array`, with `array[index]` moved by `step` along a direction, down and then up.

    The index is that of one element, or `...` for all. The array is as before afterwards.
    """
    before, wide = np.array(array[index]), np.result_type(array, np.float64)
    places: list[Any] = []
    outputs: list[Sequence[Any]] = []
    try:
        for side in (-step, step):
            array[index] = before + side * direction
            places.append(np.array(array[index], wide))  # the function may write into it
            outputs.append(call())
    finally:
        array[index] = before
    return Central(outputs[0], outputs[1], step, places[1] - places[0])
