"""NumPy as it was when gradscribe was imported, for rules and engine: whatever a test puts into NumPy is not meant by these.

It stands below all folders and loads nothing of theirs, so that `import gradscribe` takes it before the engine is loaded.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

import numpy

__all__ = ["np"]


def _as_it_is(module: types.ModuleType) -> types.ModuleType:
    """Return a copy of a module, and of those of its own in it, with what stands there now."""
    made = types.ModuleType(module.__name__, module.__doc__)
    inside = module.__name__ + "."

    def later(name: str) -> object:
        """Return an attribute that the module makes, or a module of its own that it loads, when it is asked for."""
        found = getattr(module, name)
        if isinstance(found, types.ModuleType) and found.__name__.startswith(inside):
            found = vars(made)[name] = _as_it_is(found)
        return found

    own = {n for n, v in vars(module).items() if isinstance(v, types.ModuleType) and v.__name__.startswith(inside)}
    vars(made).update({name: value for name, value in vars(module).items() if name not in own}, __getattr__=later)
    return made


if TYPE_CHECKING:
    import numpy as np
else:
    np = _as_it_is(numpy)
    getattr(np, "linalg")  # noqa: B009  # NumPy has loaded it by now; what it loads later is copied then
