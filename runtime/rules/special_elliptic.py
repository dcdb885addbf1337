"""scipy.special's elliptic integrals and functions, one line each, and the arithmetic-geometric mean.

Formulas: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov, chapters 19 and 22. Slopes in the parameter m
are Carlson's R_D, which loses no digits where m is small: K(m) = R_F(0, 1 - m, 1), and 19.18 for the derivatives.
"""

from __future__ import annotations

import math
from typing import Any

from scipy import special

from ...unpatched import np
from ..ops import Kind
from ..registry import op, rule
from .special_integrals import both, ratio
from .support import widened

elementwise = Kind.elementwise

# Integrals, in Legendre's form.


def first_kind_slope(m: Any) -> Any:
    """The slope of `special.ellipk`."""
    return special.elliprd(0.0, 1.0, 1 - m) / 6


def second_kind_slope(m: Any) -> Any:
    """The slope of `special.ellipe`."""
    return special.elliprd(0.0, 1 - m, 1.0) / -6


op(special.ellipk, "m", elementwise)
rule(special.ellipk, m=lambda g, m: g * first_kind_slope(m))

op(special.ellipkm1, "x", elementwise)
rule(special.ellipkm1, x=lambda g, x: g * (special.elliprd(0.0, 1.0, x) / -6))

op(special.ellipe, "m", elementwise)
rule(special.ellipe, m=lambda g, m: g * second_kind_slope(m))


def incomplete_slope(phi: Any, m: Any, first: bool) -> Any:
    """The slope of `special.ellipkinc` (or of `special.ellipeinc`) in m: of the part of a half turn, and of whole ones."""
    turns = np.round(phi / math.pi)
    s = np.sin(phi - turns * math.pi)
    square, delta = 1 - s**2, 1 - m * s**2
    part = special.elliprd(square, 1.0, delta) if first else -special.elliprd(square, delta, 1.0)
    whole = first_kind_slope(m) if first else second_kind_slope(m)
    return s**3 * part / 6 + np.where(turns == 0, 0, 2 * turns * whole)


op(special.ellipkinc, "phi, m", elementwise)
rule(
    special.ellipkinc,
    phi=lambda g, phi, m, out: g / np.sqrt(1 - m * np.sin(widened(phi, out)) ** 2),
    m=lambda g, phi, m, out: g * incomplete_slope(widened(phi, out), widened(m, out), True),
)

op(special.ellipeinc, "phi, m", elementwise)
rule(
    special.ellipeinc,
    phi=lambda g, phi, m, out: g * np.sqrt(1 - m * np.sin(widened(phi, out)) ** 2),
    m=lambda g, phi, m, out: g * incomplete_slope(widened(phi, out), widened(m, out), False),
)

# Jacobi's functions.


def jacobi_slopes(m: Any, sn: Any, cn: Any, dn: Any, phi: Any) -> tuple[Any, ...]:
    """The slopes of sn, cn, dn and the amplitude in m: u = F(phi, m) stays."""
    m = widened(m, sn)
    moved = -dn * incomplete_slope(phi, m, True)
    return cn * moved, -sn * moved, -sn * (sn + 2 * m * cn * moved) / (2 * dn), moved


op(special.ellipj, "u, m", elementwise, n_out=4)
rule(
    special.ellipj,
    u=lambda g, m, out: both(g, out[1] * out[2], -out[0] * out[2], -m * out[0] * out[1], out[2]),
    m=lambda g, m, out: both(g, *jacobi_slopes(m, *out)),
)

# Integrals, in Carlson's symmetric form.

op(special.elliprc, "x, y", elementwise)
rule(
    special.elliprc,
    x=lambda g, x, y: -g * (special.elliprd(y, y, x) / 6),
    y=lambda g, x, y, out: g * ((x * special.elliprd(y, y, x) / 6 - out / 2) / y),
)

op(special.elliprf, "x, y, z", elementwise)
rule(
    special.elliprf,
    x=lambda g, x, y, z: -g * (special.elliprd(y, z, x) / 6),
    y=lambda g, x, y, z: -g * (special.elliprd(x, z, y) / 6),
    z=lambda g, x, y, z: -g * (special.elliprd(x, y, z) / 6),
)

op(special.elliprd, "x, y, z", elementwise)
rule(
    special.elliprd,
    x=lambda g, x, y, z, out: g * elliprd_slope(x, y, z, out),
    y=lambda g, x, y, z, out: g * elliprd_slope(y, x, z, out),
    z=lambda g, x, y, z, out: -g * ((1.5 * out + scaled_slope(x, y, z, out) + scaled_slope(y, x, z, out)) / z),
)


def elliprd_slope(x: Any, y: Any, z: Any, out: Any) -> Any:
    """The slope of Carlson's R_D in the first of its arguments, where that is not the last."""
    return (out - special.elliprd(y, z, x)) / (2 * (z - x))


def scaled_slope(x: Any, y: Any, z: Any, out: Any) -> Any:
    """`x` times the slope of R_D in it: nothing where it is zero."""
    return x * elliprd_slope(x + (x == 0), y, z, out)


op(special.elliprg, "x, y, z", elementwise)
rule(
    special.elliprg,
    x=lambda g, x, y, z: g * elliprg_slope(x, y, z),
    y=lambda g, x, y, z: g * elliprg_slope(y, x, z),
    z=lambda g, x, y, z: g * elliprg_slope(z, x, y),
)


def elliprg_slope(x: Any, y: Any, z: Any) -> Any:
    """The slope of Carlson's R_G in the first of three arguments."""
    return (special.elliprf(x, y, z) - x * special.elliprd(y, z, x) / 3) / 4


op(special.elliprj, "x, y, z, p", elementwise)
rule(
    special.elliprj,
    x=lambda g, x, y, z, p, out: g * elliprj_slope(x, y, z, p, out),
    y=lambda g, x, y, z, p, out: g * elliprj_slope(y, x, z, p, out),
    z=lambda g, x, y, z, p, out: g * elliprj_slope(z, x, y, p, out),
    p=lambda g, x, y, z, p, out: -g * ((1.5 * out + elliprj_moved(x, y, z, p, out)) / p),
)


def elliprj_slope(x: Any, y: Any, z: Any, p: Any, out: Any) -> Any:
    """The slope of Carlson's R_J in the first of its arguments, where that is not the last."""
    return (out - special.elliprd(y, z, x)) / (2 * (p - x))


def elliprj_moved(x: Any, y: Any, z: Any, p: Any, out: Any) -> Any:
    """How R_J moves as its first three arguments grow in proportion."""
    slopes = elliprj_slope(x, y, z, p, out), elliprj_slope(y, x, z, p, out), elliprj_slope(z, x, y, p, out)
    return x * slopes[0] + y * slopes[1] + z * slopes[2]


op(special.agm, "a, b", elementwise)
rule(special.agm, a=lambda g, a, b: g * agm_slope(a, b), b=lambda g, a, b: g * agm_slope(b, a))


def agm_slope(a: Any, b: Any) -> Any:
    """The slope of the arithmetic-geometric mean a pi / (2 K(1 - (b / a)**2)) in a."""
    u = (b / a) ** 2
    k = special.ellipkm1(u)
    return math.pi / (2 * k) * (1 - 2 * u / k * ratio(special.ellipe(1 - u) / u - k, 2 * (1 - u), math.pi / 8))
