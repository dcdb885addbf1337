"""Misses: the assumption for which no specialisation served a call, what it expected and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....tracer.core.site import Site
from .guards.guards import REMEDIES
from .guards.inputs import Inputs
from .statements import failing_guard

if TYPE_CHECKING:
    from .specialise import Entry

__all__ = ["Miss", "missed"]


class Miss(NamedTuple):
    """One assumption that a call did not meet."""

    what: str  # "x", "global `SCALE`", "bool() of a traced value"
    expected: str
    found: str
    site: Site | None  # the user's line that the assumption stems from
    change: str  # what to change so that such calls share a specialisation; may be empty

    def __str__(self) -> str:
        where = f" ({self.site})" if self.site else ""
        return f"{self.what}{where}: expected {self.expected}, found {self.found}"


def missed(entries: Sequence[Entry], inputs: Inputs) -> Miss | None:
    """Return the miss of the entry whose assumptions held longest; None where there is no entry."""
    best: tuple[int, Miss] | None = None
    for entry in entries:
        place, miss = _miss_of(entry, inputs)
        if miss is not None and (best is None or place > best[0]):
            best = place, miss
    return None if best is None else best[1]


def _miss_of(entry: Entry, inputs: Inputs) -> tuple[int, Miss | None]:
    failed = entry.plan.failed(inputs.args, inputs.kwargs)
    if failed is not None:
        place, assumption, found = failed
        site = entry.plan.site(assumption)
        return place, Miss(assumption.what, assumption.expected, found, site, REMEDIES.get(assumption.kind, ""))
    guard = failing_guard(entry, inputs)
    if guard is None:
        return 0, None
    call, found = guard
    _, how, expect = call.args
    if how == "length":
        what = "a length that follows from values" if type(found) is int else "lengths that follow from values"
        expected = f"what a checked call had ({len(entry.lengths or ())} so far)"
        return len(entry.plan.assumptions), Miss(what, expected, repr(found), call.site, REMEDIES["length"])
    kind = "number taken" if isinstance(expect, (float, complex)) else "value"
    what = f"{how}() of a traced value"
    expected = " or ".join(repr(guard.args[2]) for guard in entry.specialisation.guards_at(call))
    return len(entry.plan.assumptions), Miss(what, expected, repr(found), call.site, REMEDIES[kind])
