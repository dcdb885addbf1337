"""Samples of the rest of scipy.special: a line each, its parameters fixed where they have no rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from gradscribe.runtime.rules.special import zeta
from gradscribe.runtime.rules.special_distributions import spherical
from gradscribe.runtime.rules.special_harmonics import harmonic

from samples import INSIDE, POSITIVE, UNIT, WIDE, Sample, binary, dispatched, fixed, step, unary


def stacked(fn: Any, *first: Any) -> Any:
    """A function of several results as one, stacked; complex results side by side."""

    def call(x: Any) -> Any:
        return np.stack([np.real(part) + 2.0 * np.imag(part) for part in fn(*first, x)])

    return call


def real_parts(fn: Any) -> Any:
    """Both parts of a complex function, as one number."""
    return lambda *xs: np.real(fn(*xs)) + 2.0 * np.imag(fn(*xs))


def of_order_2(fn: Any) -> Any:
    """A spherical Bessel function of order 2, also of Tensors."""
    ours = dispatched(fn)
    return lambda x, **options: ours(2, x, **options)


FUNCTIONS = [
    *[unary(f, POSITIVE) for f in (special.ber, special.bei, special.berp, special.beip)],
    *[unary(f, POSITIVE) for f in (special.ker, special.kei, special.kerp, special.keip)],
    *[fixed(f, 1.5) for f in (special.struve, special.modstruve, special.jve, special.yve)],
    *[unary(f, POSITIVE) for f in (special.itstruve0, special.it2struve0, special.itmodstruve0)],
    *[unary(f, POSITIVE, call=stacked(f), finite=True)
      for f in (special.itj0y0, special.iti0k0, special.it2j0y0, special.it2i0k0, special.itairy, special.airye,
                special.kelvin, special.modfresnelp, special.modfresnelm)],
    *[fixed(f, 1.5, finite=True) for f in (special.hankel1, special.hankel2, special.hankel1e, special.hankel2e)],
    *[fixed(f, 1.5, 0.7, finite=True) for f in (special.wright_bessel, special.log_wright_bessel)],
    *[unary(f, POSITIVE, call=stacked(f, 1.5), finite=True) for f in (special.pbdv, special.pbvv, special.pbwa)],
    *[unary(f, (5.0, 80.0), call=stacked(f, 2, np.float64(0.7)), finite=True)
      for f in (special.mathieu_cem, special.mathieu_sem)],
    *[unary(f, (0.2, 1.2), call=stacked(f, 2, np.float64(0.7)), finite=True)
      for f in (special.mathieu_modcem1, special.mathieu_modcem2, special.mathieu_modsem1, special.mathieu_modsem2)],
    Sample(special.ellipj, domain=POSITIVE, call=lambda u: np.stack(special.ellipj(u, 0.4))),
    binary(special.elliprc, POSITIVE, (3.0, 5.0)),
    *[Sample(f, (((3,), (3,), (3,)), ((2, 1), (3,), ())), domain=((0.3, 1.0), (2.0, 3.0), (4.0, 6.0)))
      for f in (special.elliprf, special.elliprg, special.elliprd)],
    binary(special.agm, POSITIVE, (3.0, 5.0)),
    binary(special.agm, (3.0, 5.0), POSITIVE),
    *[fixed(f, n, domain=UNIT) for n in (0, 1, 4)
      for f in (special.eval_chebyc, special.eval_chebys, special.eval_sh_legendre, special.eval_sh_chebyt,
                special.eval_sh_chebyu)],
    *[fixed(special.eval_sh_jacobi, n, 2.3, 1.4, domain=UNIT) for n in (0, 3)],
    *[fixed(special.lpmv, m, 3, domain=INSIDE) for m in (0, 2)],
    Sample(special.diric, domain=POSITIVE, call=lambda x: DIRIC(x, 5)),
    Sample(special.radian, (((3,), (3,), (3,)), ((2, 1), (3,), ())), domain=POSITIVE),
    step(special.round, -1.5, -0.5, 0.5, 1.5),
    Sample(special.zeta, domain=POSITIVE, call=lambda q: ZETA(2.0, q)),
    *([unary(special.softplus, call=dispatched(special.softplus))] if hasattr(special, "softplus") else []),
]  # fmt: skip

PAIRS = (((3,), (3,)), ((2, 1), (3,)))


def pairs(fn: Any, *domain: Any, first: tuple[Any, ...] = ()) -> Sample:
    """A sample of a function in its last two arguments, behind fixed ones."""
    return Sample(fn, PAIRS, domain=domain, call=lambda *xs: fn(*first, *xs), finite=True)


ELLIPTIC = [
    *[pairs(f, (-4.0, 4.0), (0.1, 0.9)) for f in (special.ellipkinc, special.ellipeinc)],
    Sample(special.ellipj, PAIRS[:1], domain=(POSITIVE, (0.1, 0.9)), call=lambda u, m: np.stack(special.ellipj(u, m))),
    Sample(special.elliprj, (((3,),) * 4, ((2, 1), (3,), (), (3,))), domain=((0.3, 1.0), (2.0, 3.0), (4.0, 6.0), (7.0, 8.0))),
    *[unary(f, (0.001, 0.01)) for f in (special.ellipk, special.ellipe)],
]  # fmt: skip

M, N, C = 1.0, 2.0, np.float64(1.3)  # in single precision SciPy looks for ever
PROLATE, OBLATE = special.pro_cv(M, N, C), special.obl_cv(M, N, C)
SPHEROIDAL = [
    unary(f, domain, call=stacked(f, M, N, C, *cv), finite=True)
    for domain, names in (((0.2, 0.8), ("pro_ang1", "obl_ang1")), ((1.2, 2.5), ("pro_rad1", "obl_rad1")),
                          ((2.5, 4.0), ("pro_rad2", "obl_rad2")))
    for name in names
    for f, cv in ((getattr(special, name), ()), (getattr(special, f"{name}_cv"), (PROLATE if name[0] == "p" else OBLATE,)))
]  # fmt: skip


def real_harmonic(fn: Any, *last: Any) -> Any:
    """Both parts of a spherical harmonic, or of a derivative of one."""

    def call(theta: Any, phi: Any) -> Any:
        found = fn(3, 2, theta, phi, *last)
        return np.real(found) + 2.0 * np.imag(found)

    return call


HARMONICS = [
    Sample(harmonic, PAIRS, domain=POSITIVE, call=real_harmonic(harmonic, 1), order=1, finite=True),
    *([Sample(special.sph_harm_y, PAIRS, domain=POSITIVE, call=real_harmonic(dispatched(special.sph_harm_y)), finite=True)]
      if hasattr(special, "sph_harm_y") else []),
]  # fmt: skip

NONCENTRAL = [
    Sample(special.chndtr, PAIRS, domain=((0.1, 0.5), (0.0, 0.5)), call=lambda x, nc: special.chndtr(x, 3.0, nc), finite=True),
    pairs(special.ncfdtr, POSITIVE, POSITIVE, first=(3.0, 5.0)),
    pairs(special.ncfdtri, POSITIVE, (0.2, 0.8), first=(3.0, 5.0)),
    *[pairs(special.nctdtr, POSITIVE, WIDE, first=(df,)) for df in (3.5, 150.0)],
    pairs(special.nctdtrit, POSITIVE, (0.2, 0.8), first=(3.5,)),
    unary(special.kolmogorov, (0.3, 2.0), finite=True),
    unary(special.kolmogi, (0.1, 0.9), finite=True),
    Sample(special.voigt_profile, (((3,), (3,), (3,)), ((2, 1), (3,), ())), domain=(WIDE, POSITIVE, POSITIVE), finite=True),
    Sample(special.gdtria, PAIRS, domain=(UNIT, POSITIVE), call=lambda p, x: special.gdtria(p, 1.7, x), finite=True),
    pairs(special.tklmbda, INSIDE, (0.2, 0.9)),
    *[pairs(f, POSITIVE, low) for low in ((-0.3, 0.3), (0.001, 0.005))
      for f in (special.boxcox, special.inv_boxcox, special.boxcox1p, special.inv_boxcox1p)],
]  # fmt: skip

DIRIC, ZETA = dispatched(special.diric), dispatched(special.zeta)

DISTRIBUTIONS = [
    fixed(special.chdtri, 3.0, domain=UNIT),
    Sample(special.gdtrc, (((3,), (3,)),), domain=POSITIVE, call=lambda a, x: special.gdtrc(a, 1.7, x)),
    Sample(special.gdtrix, (((3,), (3,)),), domain=(POSITIVE, UNIT), call=lambda a, p: special.gdtrix(a, 1.7, p)),
    fixed(special.pdtrc, 3.0),
    fixed(special.pdtri, 3.0, domain=UNIT),
    Sample(special.chndtr, (((3,), (3,)),), domain=POSITIVE, call=lambda x, nc: special.chndtr(x, 3.0, nc), finite=True),
    Sample(special.chndtrix, (((3,), (3,)),), domain=(UNIT, POSITIVE), call=lambda p, nc: special.chndtrix(p, 3.0, nc), order=1,
           finite=True),
    *[fixed(f, 3.0, 4.5) for f in (special.fdtr, special.fdtrc)],
    fixed(special.fdtri, 3.0, 4.5, domain=UNIT),
    *[fixed(f, np.float64(2.0), 5, domain=UNIT) for f in (special.bdtr, special.bdtrc, special.bdtri)],
    *[fixed(f, 2, 5, domain=UNIT) for f in (special.nbdtr, special.nbdtrc, special.nbdtri)],
    Sample(special.nrdtrimn, (((3,), (3,), (3,)),), domain=(UNIT, POSITIVE, WIDE)),
    Sample(special.nrdtrisd, (((3,), (3,), (3,)),), domain=(WIDE, (0.6, 0.9), WIDE)),
    Sample(special.tklmbda, domain=INSIDE, call=lambda x: special.tklmbda(x, 0.3), finite=True),
    *[unary(spherical, POSITIVE, call=lambda x, name=name, d=d: spherical(name, 2, x, d), finite=True)
      for name in ("spherical_jn", "spherical_in") for d in (False, True)],
    *[unary(f, POSITIVE, call=of_order_2(f), kwargs=({}, {"derivative": True}), finite=True)
      for f in (special.spherical_jn, special.spherical_yn, special.spherical_in, special.spherical_kn)],
]  # fmt: skip

PARAMETERS = [
    *[pairs(f, (0.3, 4.0), POSITIVE)
      for f in (special.jv, special.yv, special.iv, special.kv, special.ive, special.kve, special.jve, special.yve)],
    *[Sample(f, PAIRS, domain=((0.3, 4.0), POSITIVE), call=real_parts(f), finite=True)
      for f in (special.hankel1, special.hankel2, special.hankel1e, special.hankel2e)],
    Sample(zeta, PAIRS, domain=((1.5, 4.0), POSITIVE), finite=True),
    Sample(special.zeta, PAIRS, domain=((1.5, 4.0), POSITIVE), call=ZETA, finite=True),
    Sample(special.zeta, domain=(1.5, 4.0), call=ZETA, finite=True),
    *[pairs(f, POSITIVE, UNIT)
      for f in (special.gammaincinv, special.gammainccinv, special.chdtri, special.stdtrit)],
    *[pairs(f, POSITIVE, POSITIVE) for f in (special.chdtr, special.chdtrc)],
    *[pairs(f, POSITIVE, domain) for f in (special.stdtr,) for domain in (POSITIVE, (-2.0, -0.3))],
    *[Sample(f, (((3,), (3,), (3,)),), domain=(POSITIVE, POSITIVE, last), finite=True)
      for last, fs in ((UNIT, (special.betaincinv, special.betainccinv, special.fdtri, special.gdtrix)),
                       (POSITIVE, (special.fdtr, special.fdtrc, special.gdtr, special.gdtrc)))
      for f in fs],
    Sample(special.gdtria, (((3,), (3,), (3,)),), domain=(UNIT, POSITIVE, POSITIVE), finite=True),
]  # fmt: skip

SAMPLES_SPECIAL: list[Sample] = [
    *FUNCTIONS, *DISTRIBUTIONS, *ELLIPTIC, *SPHEROIDAL, *HARMONICS, *NONCENTRAL, *PARAMETERS,
]  # fmt: skip
