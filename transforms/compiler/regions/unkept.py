"""What ends the attempt to keep a loop or a branch: it is unrolled, or guarded, as in any other capture."""

from __future__ import annotations

from ....tracer.site import Site

__all__ = ["Unkept"]


class Unkept(BaseException):
    """The code does what a region cannot hold; no handler of the user's may notice."""

    def __init__(self, reason: str, site: Site | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.site = site
