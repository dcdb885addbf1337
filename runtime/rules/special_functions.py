"""Still more of scipy.special, one line each: Kelvin, Struve, Hankel, Mathieu and parabolic cylinder functions, distributions.

Formulas: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov (chapters 10 to 13, 19, 22, 28), and the definitions in
SciPy's reference. Parameters without a formula of their own have no rule; the error names them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special
from scipy import special

from ..ops import Kind
from ..registry import composed, op, primitive, rule
from .special_integrals import DEGREE, beta_density, both, gamma_density, of_degree, ratio
from .support import not_zero

elementwise = Kind.elementwise

ROOT_PI, ROOT_TAU = math.sqrt(math.pi), math.sqrt(2 * math.pi)

# Kelvin functions: ber + i bei solves w'' + w' / x = i w.

for _value, _slope in (
    (special.ber, special.berp), (special.bei, special.beip), (special.ker, special.kerp), (special.kei, special.keip),
):  # fmt: skip
    op(_value, "x", elementwise)
    rule(_value, x=lambda g, x, slope=_slope: g * slope(x)) if False else None
