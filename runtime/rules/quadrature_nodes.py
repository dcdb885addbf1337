"""numpy.polynomial's nodes and weights of Gauss' quadrature: numbers by their count."""

from __future__ import annotations

from ...unpatched import np
from ..ops import Kind
from ..registry import undifferentiable

for _nodes in (
    np.polynomial.legendre.leggauss, np.polynomial.chebyshev.chebgauss, np.polynomial.hermite.hermgauss,
    np.polynomial.hermite_e.hermegauss, np.polynomial.laguerre.laggauss,
):  # fmt: skip
    undifferentiable(_nodes, "deg", Kind.creation, n_out=2)
