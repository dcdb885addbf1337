"""Why a function runs eagerly, and the line of the user's code that is the reason."""

from __future__ import annotations

from typing import NamedTuple

from ...tracer.site import Site

__all__ = ["Failure"]


class Failure(NamedTuple):
    """Why a function cannot be compiled, and where."""

    reason: str
    site: Site | None

    def __str__(self) -> str:
        return f"{self.site}: it {self.reason}" if self.site else f"it {self.reason}"
