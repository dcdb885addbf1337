"""scipy.special's spheroidal functions and spherical harmonics.

A spheroidal function gives its slope as its second result, whose own slope follows from the differential equation,
https://dlmf.nist.gov/30.2; the harmonics (SciPy 1.15) give theirs, up to the second, where they are asked for (`diff_n=`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.special
from scipy import special

from ..ops import Kind
from ..registry import op, primitive, rule
from .special_integrals import both

elementwise = Kind.elementwise


def prolate(m: Any, c: Any, cv: Any, x: Any, out: Any) -> Any:
    """The second derivative of a prolate spheroidal function: angular below x = 1, radial above."""
    return (2 * x * out[1] - (cv - (c * x) ** 2 - m**2 / (1 - x**2)) * out[0]) / (1 - x**2)


def oblate_angle(m: Any, c: Any, cv: Any, x: Any, out: Any) -> Any:
    """The second derivative of an oblate spheroidal function of the angle."""
    return (2 * x * out[1] - (cv + (c * x) ** 2 - m**2 / (1 - x**2)) * out[0]) / (1 - x**2)


def oblate_radius(m: Any, c: Any, cv: Any, x: Any, out: Any) -> Any:
    """The second derivative of an oblate spheroidal function of the radius."""
    return ((cv - (c * x) ** 2 - m**2 / (1 + x**2)) * out[0] - 2 * x * out[1]) / (1 + x**2)


def _spheroidal(fn: Any, with_cv: Any, value: Any, second: Callable[..., Any]) -> None:
    """A function that looks for its characteristic value itself, and the one that is given it."""
    op(fn, "m, n, c, x", elementwise, n_out=2)
    rule(fn, x=lambda g, m, n, c, x, out: both(g, out[1], second(m, c, value(m, n, c), x, out)))
    op(with_cv, "m, n, c, cv, x", elementwise, n_out=2)
    rule(with_cv, x=lambda g, m, n, c, cv, x, out: both(g, out[1], second(m, c, cv, x, out)))


_spheroidal(special.pro_ang1, special.pro_ang1_cv, special.pro_cv, prolate)
_spheroidal(special.pro_rad1, special.pro_rad1_cv, special.pro_cv, prolate)
_spheroidal(special.pro_rad2, special.pro_rad2_cv, special.pro_cv, prolate)
_spheroidal(special.obl_ang1, special.obl_ang1_cv, special.obl_cv, oblate_angle)
_spheroidal(special.obl_rad1, special.obl_rad1_cv, special.obl_cv, oblate_radius)
_spheroidal(special.obl_rad2, special.obl_rad2_cv, special.obl_cv, oblate_radius)


@primitive("n, m, theta, phi, order", elementwise)
def harmonic(n: Any, m: Any, theta: Any, phi: Any, order: Any) -> Any:
    """A derivative of `special.sph_harm_y` in theta."""
    return scipy.special.sph_harm_y(n, m, theta, phi, diff_n=order)[order][(..., *(0,) * order)]


rule(
    harmonic, n=None, m=None,
    theta=lambda g, n, m, theta, phi, order: g * harmonic(n, m, theta, phi, order + 1),
    phi=lambda g, m, out: g * (1j * m * out),
)  # fmt: skip


def first(diff_n: int) -> int:
    """The order of the derivative of a value; of the slopes that SciPy gives beside it nothing is known here."""
    if diff_n:
        raise NotImplementedError("the slopes that diff_n= gives have no gradient here: differentiate the function itself")
    return 1


if hasattr(special, "sph_harm_y"):  # SciPy 1.15
    op(special.sph_harm_y, "n, m, theta, phi, *, diff_n=0", elementwise, path="scipy.special.sph_harm_y")
    rule(
        special.sph_harm_y, n=None, m=None,
        theta=lambda g, n, m, theta, phi, diff_n: g * harmonic(n, m, theta, phi, first(diff_n)),
        phi=lambda g, m, out, diff_n: g * (first(diff_n) * 1j * m * out),
    )  # fmt: skip
