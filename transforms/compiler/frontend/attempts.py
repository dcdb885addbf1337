"""Ends of attempts: to keep a loop or a branch, which is then unrolled or guarded, and to capture a call at all."""

from __future__ import annotations

from ....tracer.core.site import Site

__all__ = ["GivenUp", "LoopRejected", "Retyped"]


class LoopRejected(BaseException):
    """The code does what a region cannot hold; no handler of the user's may notice."""

    def __init__(self, reason: str, site: Site | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.site = site


class Retyped(LoopRejected):
    """A variable is a number of Python's in one branch, and of NumPy's in the other: a loop may let it start as the latter."""

    def __init__(self, reason: str, ir: object, sample: object) -> None:
        super().__init__(reason)
        self.ir = ir
        self.sample = sample


class GivenUp(BaseException):
    """The code reaches where no capture sees, and has changed nothing yet: the function runs in eager mode instead."""
