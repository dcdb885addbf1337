"""The report of `gs.check_rule`, in words, and what sort of fault a wrong cotangent looks like."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from .finite import Slopes

__all__ = ["CONJUGATE", "HOW", "RuleReport", "fault"]

HOW = "(finite differences)"
CONJUGATE = "a conjugate is missing, or one too many: a rule is the plain transpose of the derivative, without np.conj"


@dataclasses.dataclass(frozen=True)
class RuleReport:
    """The report of `gs.check_rule`: true where the rule is right; it prints in words what is wrong."""

    path: str
    samples: int
    checks: dict[str, int]  # how often each sort of check was made
    problems: list[str]
    notes: list[str]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        made = ", ".join(f"{n} {what}" for what, n in self.checks.items())
        head = "is right" if self.ok else "IS WRONG"
        lines = [
            f"the rule of {self.path} {head}, on {self.samples} sample{'s'[: self.samples != 1]}: {made or 'no checks'}"
        ]
        return "\n".join([*lines, *[f"  - {p}" for p in self.problems], *[f"  note: {n}" for n in self.notes]])


def fault(wrong: Slopes, others: dict[str, Slopes]) -> str:
    """Return the sort of fault that wrong slopes look like; `others` are those of the other arguments, by name."""
    told = np.where(np.isfinite(wrong.expected), wrong.expected, 0.0)
    truth = np.where(np.isfinite(wrong.found), wrong.found, 0.0)
    if not np.all(np.isfinite(wrong.expected)) and np.all(np.isfinite(wrong.found)):
        return "the cotangent is not finite where the slope is"
    scale = float(np.max(np.abs(truth), initial=0.0))
    near: Callable[[Any, Any], bool] = lambda a, b: bool(np.allclose(a, b, rtol=1e-5, atol=1e-6 * (scale + 1e-300)))
    if scale and near(told, -truth):
        return "the cotangent has the wrong sign"
    for name, other in others.items():
        if other.found.shape == told.shape and near(told, other.found) and not near(truth, other.found):
            return f"the cotangent is that of `{name}`: are two arguments swapped?"
    factor = float(np.dot(told, truth) / np.dot(truth, truth)) if scale else 0.0
    if factor and near(told, factor * truth):
        return f"the cotangent is {factor:.6g} times what it should be"
    worst = int(np.argmax(np.abs(told - truth)))
    return f"the slope along it is {truth[worst]:.9g}, but the cotangent says {told[worst]:.9g}"
