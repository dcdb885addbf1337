"""Draws that depend on traced values, made of draws that do not, by the numbers that NumPy draws: places, and standard forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.rules.support import happens
from ...unpatched import np
from ..core.tensor_base import Operand, levels_of

__all__ = ["PLACED", "SCALED", "array_of", "by_places", "is_scaled", "scaled"]

PLACED = frozenset(["choice", "permutation", "shuffle"])  # methods of NumPy's generators that take an array apart


# Methods of NumPy's generators that scale a standard form, with the names of their parameters before `size`.
SCALED: dict[str, tuple[str, ...]] = {
    "normal": ("loc", "scale"), "laplace": ("loc", "scale"), "gumbel": ("loc", "scale"), "logistic": ("loc", "scale"),
    "uniform": ("low", "high"), "lognormal": ("mean", "sigma"), "exponential": ("scale",), "rayleigh": ("scale",),
}  # fmt: skip


def array_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the traced array that such a method is given, if NumPy would lose its gradient, or write rows over rows; or None."""
    x = args[0] if args else kwargs.get("a" if name == "choice" else "x")
    if not isinstance(x, Operand) or not x.ndim:
        return None
    return x if name == "shuffle" or x._node is not None or levels_of(x) else None


def by_places(
    owner: Any, name: str, draw: Callable[..., Any], x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:  # fmt: skip
    """Call a method with the array `x`; `draw(name, ...)` draws with the generator."""
    names = ("size", "replace", "p", "axis", "shuffle") if name == "choice" else ("axis",)
    given = dict(zip(names, args[1:], strict=False)) | {k: v for k, v in kwargs.items() if k not in ("a", "x")}
    legacy = isinstance(owner, np.random.RandomState)
    unknown = given.keys() - set(names) if not legacy else given.keys() & {"axis", "shuffle"}
    if unknown or len(args) > 1 + len(names):
        raise TypeError(
            f"{name}() of a {type(owner).__name__} takes an array and {', '.join(names[: 3 if legacy else None])}"
        )
    if legacy and name == "choice" and x.ndim > 1:
        raise ValueError("a must be 1-dimensional")
    axis = given.pop("axis", 0)
    found = np.take(x, draw("choice" if name == "choice" else "permutation", x.shape[axis], **given), axis)
    if name != "shuffle":
        return found
    x[...] = found
    return None


def is_scaled(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether such a method is given a parameter whose gradient NumPy would lose."""
    return name in SCALED and any(
        isinstance(x, Operand) and (x._node is not None or bool(levels_of(x))) for x in (*args[:2], *kwargs.values())
    )


def scaled(name: str, draw: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method with traced parameters: `loc + scale * z`, where `draw(name, size=...)` draws z with the generator.

    The derivative is the one along the numbers that were drawn, by what is called the reparametrisation trick.
    """
    names = (*SCALED[name], "size")
    given = dict(zip(names, args, strict=False)) | kwargs
    if given.keys() - set(names) or len(args) > len(names):
        raise TypeError(f"{name}() takes {', '.join(names)}")
    size = given.pop("size", None)
    low, high = given.get(names[0], 0.0), given.get(names[1], 1.0)
    if len(names) == 2:
        low, high = 0.0, given.get(names[0], 1.0)
    if size is None and (np.ndim(low) or np.ndim(high)):
        size = np.broadcast_shapes(np.shape(low), np.shape(high))
    if name != "uniform" and happens(np.any(high < 0)):
        raise ValueError(f"{names[-2]} < 0")
    standard = "normal" if name == "lognormal" else name
    z = draw(standard) if size is None else draw(standard, size=size)
    if len(names) == 2:
        return high * z
    found = low + (high - low if name == "uniform" else high) * z
    return np.exp(found) if name == "lognormal" else found
