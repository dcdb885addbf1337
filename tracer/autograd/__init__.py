"""What users know as `torch.autograd`, by its names: gs.autograd. What is seldom used is loaded at its first use."""

from __future__ import annotations

import importlib
from typing import Any

from ..backward import backward, grad
from ..modes import enable_grad, no_grad

__all__ = ["backward", "enable_grad", "grad", "no_grad"]

_LATER: dict[str, str] = {}  # a name, and the module of this folder that it stands in


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'gradscribe.autograd' has no attribute {name!r}")
    loaded = importlib.import_module(f".{module}", __name__)
    found = loaded if name == module else getattr(loaded, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
