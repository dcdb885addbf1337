"""Numbers that change from call to call, such as `self.rate` or a number of steps: inputs from the second miss on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...user_code.scope import Path
from ..capture.numbers import is_float

if TYPE_CHECKING:
    from .guards.inputs import Inputs
    from .specialise import Entry

__all__ = ["Varying"]

MANY = 1024  # kinds of calls of which the ints are remembered


class Varying:
    """The places of such numbers: paths outside the function, and of ints among the arguments, what `Inputs.place` gives."""

    def __init__(self) -> None:
        self.places: set[Any] = set()
        self.fixed: set[Any] = set()  # those of them that have to be known when the source is written
        self._ints: dict[Any, dict[int, int]] = {}  # those among the arguments of the last call of each kind

    def note(self, inputs: Inputs, known: Sequence[Entry]) -> bool:
        """Look for numbers that are others now than in the `known` specialisations, or in earlier calls; whether there are."""
        if len(self._ints) > MANY:
            self._ints.clear()
        before, now = self._ints.get(inputs.kind, {}), inputs.ints()
        self._ints[inputs.kind] = now
        found = _changed_outside(known)
        if known:
            found |= {inputs.place(k) for k, number in now.items() if before.get(k, number) != number}
        found -= self.fixed | self.places
        self.places |= found
        return bool(found)

    def fix(self, places: Collection[Any] | None = None) -> None:
        """Numbers (at first: all) did not do as inputs: from now on they are what the source assumes, as others are."""
        places = set(self.places if places is None else places)
        self.fixed |= places
        self.places -= places

    def run_fixed(self, places: Collection[Any], run: Callable[[], Any]) -> Any:
        """Run a call whose source has to know the numbers at these places; an error may have another reason."""
        self.fix(places)
        try:
            return run()
        except Exception:
            self.fixed.difference_update(places)
            raise


def _changed_outside(entries: Iterable[Entry]) -> set[Any]:
    """Return the places outside whose numbers have changed since, but not their type."""
    found: set[Path] = set()
    for entry in entries:
        for path, before in entry.plan.reads.items():
            if (is_float(before) or type(before) is int) and path[0] != "id":
                try:
                    now = path.read()
                except (TypeError, ValueError, AttributeError, LookupError):
                    continue
                if type(now) is type(before) and repr(now) != repr(before):
                    found.add(path)
    return found
