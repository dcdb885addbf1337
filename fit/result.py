"""The result of gs.minimize and gs.least_squares: SciPy's, with the parameters as they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .history import drawn
from .layout import Layout

if TYPE_CHECKING:  # SciPy comes without types

    class OptimizeResult(dict[str, Any]):
        """A dict whose keys are attributes, too."""

        def __getattr__(self, name: str) -> Any: ...

else:
    from scipy.optimize import OptimizeResult

__all__ = ["MinimizeResult", "in_trees"]


class MinimizeResult(OptimizeResult):
    """SciPy's OptimizeResult: `x` and `jac` are like x0, and `history` says how each iteration went."""

    def plot(self, ax: Any = None) -> Any:
        """Draw how value and gradient went down, by matplotlib, on `ax` or axes of its own; return the axes."""
        message = self.get("message", "")
        message = message.decode() if isinstance(message, bytes) else str(message)
        return drawn(self.history, ax, message.split("\n")[0].strip().rstrip("."))


_LIKE_X = ("x", "jac", "grad", "lagrangian_grad")


def in_trees(found: Any, layout: Layout, names: tuple[str, ...] = _LIKE_X) -> dict[str, Any]:
    """Return the entries of a result of SciPy's with trees for the vectors; matrices stay in the order of the leaves."""
    made = dict(found)
    for name in names:
        if isinstance(made.get(name), np.ndarray) and made[name].shape == (layout.size,):
            made[name] = layout.tree(made[name].copy())
    if "allvecs" in made:
        made["allvecs"] = [layout.tree(np.array(x)) for x in made["allvecs"]]
    return made
