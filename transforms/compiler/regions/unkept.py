"""What ends the attempt to keep a loop or a branch: it is unrolled, or guarded, as in any other capture."""

from __future__ import annotations

from ....tracer.site import Site

__all__ = ["Retyped", "Unkept"]


class Unkept(BaseException):
    """The code does what a region cannot hold; no handler of the user's may notice."""

    def __init__(self, reason: str, site: Site | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.site = site


class Retyped(Unkept):
    """A variable is a number of Python's in one branch, and of NumPy's in the other: a loop may let it start as the latter."""

    def __init__(self, reason: str, ir: object, sample: object) -> None:
        super().__init__(reason)
        self.ir = ir
        self.sample = sample
