"""Samples of the rest of scipy.special: a line each, its parameters fixed where they have no rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from gradscribe.runtime.rules.special_distributions import spherical

from samples import INSIDE, POSITIVE, UNIT, WIDE, Sample, binary, dispatched, fixed, step, unary


def stacked(fn: Any, *first: Any) -> Any:
    """A function of several results as one, stacked; complex results side by side."""

    def call(x: Any) -> Any:
        return np.stack([np.real(part) + 2.0 * np.imag(part) for part in fn(*first, x)])

    return call


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

SAMPLES_SPECIAL: list[Sample] = [*FUNCTIONS, *DISTRIBUTIONS]
