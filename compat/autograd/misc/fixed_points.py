"""autograd.misc.fixed_points: where an iteration comes to rest, with the gradient of the implicit-function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....transforms.fixed_point import fixed_point as find
from ....transforms.scope import as_it_runs

__all__ = ["fixed_point"]


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]], a: Any, x0: Any, distance: Callable[[Any, Any], Any] | None = None,
    tol: float = 1e-6,
) -> Any:  # fmt: skip
    """The x with x = f(a)(x), from `x0` on; its gradient is with respect to `a`.

    `distance` is taken for autograd's sake: the iteration ends where the largest change of a number is below `tol`.
    """
    return find(lambda x, a: as_it_runs(as_it_runs(f)(a))(x), x0, a, tol=tol)
