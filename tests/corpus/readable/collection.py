"""Functions from real projects, each with the gradient that an expert would write beside it."""

from __future__ import annotations

from . import dynamics, likelihoods, networks, regressions, signals
from .case import Case

__all__ = ["Case", "cases"]


def cases() -> list[Case]:
    """All functions with arguments, by subject."""
    files = (regressions, networks, likelihoods, dynamics, signals)
    return [case for file in files for case in file.cases()]
