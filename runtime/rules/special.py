"""SciPy's special functions; loaded once somebody has imported SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..ops import Kind
from ..registry import op, rule
from .support import keep_axes

for _fn in (special.expit, special.logit, special.erf, special.erfc, special.gammaln, special.gamma, special.psi):
    op(_fn, "x", Kind.elementwise)
op(special.polygamma, "n, x", Kind.elementwise, path="scipy.special.polygamma")
op(special.xlogy, "x, y", Kind.elementwise)
op(special.logsumexp, "x, axis=None, b=None, keepdims=False, return_sign=False", Kind.reduction, path="scipy.special.logsumexp")
op(special.softmax, "x, axis=None", Kind.opaque, path="scipy.special.softmax")
op(special.log_softmax, "x, axis=None", Kind.opaque, path="scipy.special.log_softmax")

rule(special.expit, x=lambda g, out: g * out * (1 - out))
rule(special.logit, x=lambda g, x: g / (x * (1 - x)))
rule(special.erf, x=lambda g, x: g * 1.1283791670955126 * np.exp(-x * x))
rule(special.erfc, x=lambda g, x: g * -1.1283791670955126 * np.exp(-x * x))
rule(special.gammaln, x=lambda g, x: g * special.psi(x))
rule(special.gamma, x=lambda g, out, x: g * out * special.psi(x))
rule(special.xlogy, x=lambda g, y: g * np.log(y), y=lambda g, x, y: g * x / y)
rule(special.logsumexp, x=lambda g, out, x, axis, b, keepdims: logsumexp_back(g, out, x, axis, b, keepdims))
rule(special.softmax, x=lambda g, out, axis: out * (g - np.sum(g * out, axis=axis, keepdims=True)))
rule(special.log_softmax, x=lambda g, out, axis: g - np.exp(out) * np.sum(g, axis=axis, keepdims=True))


def logsumexp_back(g: Any, out: Any, x: Any, axis: Any, b: Any, keepdims: Any) -> Any:
    """The cotangent of logsumexp: the softmax weights."""
    whole = keep_axes(out, x.shape, axis, keepdims)
    weight = np.exp(x - np.where(np.isfinite(whole), whole, 0))
    return keep_axes(g, x.shape, axis, keepdims) * (weight if b is None else weight * b)
