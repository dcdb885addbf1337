"""Other libraries' names, thin over gradscribe's own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import autograd as autograd


if not TYPE_CHECKING:  # a name that is not declared is an error to them

    def __getattr__(name: str) -> Any:
        if name == "autograd":
            return importlib.import_module(".autograd", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "autograd"})
