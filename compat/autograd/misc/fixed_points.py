"""autograd.misc.fixed_points: where an iteration comes to rest, with the gradient of the implicit-function theorem."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ....transforms.derivatives.fixed_point import found_by
from ....transforms.user_code.scope import as_it_runs

__all__ = ["fixed_point"]


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]], a: Any, x0: Any, distance: Callable[[Any, Any], Any], tol: float
) -> Any:
    """The x with x = f(a)(x), from `x0` on, as soon as `distance` of two that follow each other is at most `tol`.

    Its gradient is with respect to `a`: the cotangent is iterated alike.
    """
    step = lambda x, a: as_it_runs(as_it_runs(f)(a))(x)
    return found_by(step, x0, (a,), tol, sys.maxsize, lambda new, old: as_it_runs(distance)(new, old))
