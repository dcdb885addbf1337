"""Libraries as generated source sees them: what a test puts in the place of a function is the user's code's affair alone.

What the user's code reads of a library is guarded, so that such a function is called where the user's code calls it. The rules
mean the library's own.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from ....runtime.registry import registered

__all__ = ["as_imported"]


@functools.cache
def as_imported(module: types.ModuleType) -> types.ModuleType:
    """A module with the functions that were registered as ops, whatever stands in their place now."""
    made = types.ModuleType(module.__name__, module.__doc__)
    space = {name: value for name, value in vars(module).items() if not isinstance(value, types.ModuleType)}
    space |= _ops().get(module.__name__.replace("numpy", "np", 1), {})

    def later(name: str) -> Any:
        """Return an attribute that a library loads when it is asked for, its own modules among these."""
        found = getattr(module, name)
        if isinstance(found, types.ModuleType) and found.__name__.startswith(module.__name__ + "."):
            found = vars(made)[name] = as_imported(found)
        return found

    vars(made).update(space, __getattr__=later)
    return made


def _ops() -> dict[str, dict[str, Any]]:
    """The functions of the ops, by module and name."""
    found: dict[str, dict[str, Any]] = {}
    for op in registered():
        module, _, name = op.path.rpartition(".")
        if not op.infix and getattr(op.fn, "__name__", None) == name:
            found.setdefault(module, {})[name] = op.fn
    return found
