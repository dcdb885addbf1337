"""Every rule to ten digits: by the complex step where its op is holomorphic, else by central differences in long doubles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import gradscribe as gs
from gradscribe.runtime import lookup
from gradscribe.runtime.ops import Vjp

from checks import TABLE, Case, cases, inner, slope, thinned, weights_for
from faults import planted

SMOOTH = [s for group in TABLE.values() for s in group if s.differentiable and not s.integer and s.shapes]
SMOOTH = [s for s in SMOOTH if s.fn is not np.partition]  # which leaves the others in another order for each dtype
TINY = 1e-30  # of a complex step, which nothing is subtracted from
# Of complex numbers with a tiny imaginary part SciPy's special functions, Schur forms and products by transforms give it to
# noise; its cosine transforms of complex numbers do not orthogonalize.
NOISY = (
    "scipy.special.", "scipy.signal.", "gradscribe.runtime.rules.special", "gradscribe.runtime.rules.polynomials.complex_roots",
    "gradscribe.runtime.rules.scipy_linalg.solve_sylvester",
)  # fmt: skip
EXTENDED = np.finfo(np.longdouble).eps < 1e-18


def complex_step(f: Callable[..., Any], xs: list[Any], vs: list[Any]) -> float | None:
    """The derivative of a holomorphic function along `vs`; None where it is not holomorphic there."""
    at = lambda t: complex(f(*[x + t * v for x, v in zip(xs, vs, strict=True)]))
    try:
        h, here = 1e-6, at(0.3e-3j)
        along, across = (at(0.3e-3j + h) - at(0.3e-3j - h)) / 2, (at(0.3e-3j + 1j * h) - at(0.3e-3j - 1j * h)) / 2
        if not abs(across - 1j * along) <= 1e-6 * (abs(along) + abs(across)) + 1e-13 * abs(here):  # Cauchy and Riemann
            return None
        return at(1j * TINY).imag / TINY
    except (TypeError, ValueError, np.linalg.LinAlgError, NotImplementedError):
        return None  # real numbers alone


def extended(f: Callable[..., Any], xs: list[Any], vs: list[Any]) -> float | None:
    """The derivative by central differences of long doubles; None where NumPy leaves them."""
    wide = [x.astype(np.longdouble) for x in xs]
    try:
        if not EXTENDED or np.asarray(f(*[x.copy() for x in wide])).dtype != np.longdouble:
            return None
        return float(slope(lambda *a: f(*a), wide, [v.astype(np.longdouble) for v in vs]))
    except (TypeError, ValueError, np.linalg.LinAlgError, NotImplementedError, RuntimeError, DeprecationWarning):
        return None  # neither LAPACK nor SciPy has any, or not for long


def imprecise(case: Case, counts: dict[str, int]) -> str | None:
    """What is wrong with the gradient of a case, to ten digits; None where nothing is, or nothing tells."""
    rng = case.generator("precisely")
    xs, f = case.sample.draw(rng, case.shapes), case.function()
    out = f(*[x.copy() for x in xs])
    if np.asarray(out).dtype.kind != "f":
        return None
    w = weights_for(rng, out)
    vs = [rng.uniform(0.4, 1.0, x.shape) for x in xs]
    grads = gs.grad(case.loss(False), argnums=tuple(range(len(xs))))(*[x.copy() for x in xs], w)
    found, size = sum(map(inner, grads, vs)), sum(float(np.sum(np.abs(g * v))) for g, v in zip(grads, vs, strict=True))
    summed = lambda *a: np.sum(f(*[np.asarray(x).copy() for x in a]) * w)
    for how, derivative in (("complex step", complex_step), ("long doubles", extended)):
        noisy = derivative is complex_step and (case.sample.name.startswith(NOISY) or "orthogonalize" in case.options)
        expected = None if noisy else derivative(summed, xs, vs)
        if expected is not None:
            counts[how] = counts.get(how, 0) + 1
            return None if abs(found - expected) <= 1e-10 * size + 1e-14 else f"{found!r}, by {how} {expected!r}"
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Calling .* with arguments of dtype:DeprecationWarning")
@pytest.mark.parametrize(
    ("part", "least"), [(5, (125, 30)), pytest.param(1, (1000, 450), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_gradients_to_ten_digits(part: int, least: tuple[int, int]) -> None:
    counts: dict[str, int] = {}
    wrong = {
        f"{case.label} {case.shapes} {case.options}": problem
        for case in thinned([c for c in cases(SMOOTH) if c.shapes], firsts=False, part=part)
        if (problem := imprecise(case, counts)) is not None
    }
    assert not wrong
    assert counts["complex step"] > least[0]
    assert not EXTENDED or counts["long doubles"] > least[1]


def test_a_rule_that_is_wrong_in_the_eighth_digit_is_found() -> None:
    (case,) = [c for c in cases(TABLE[np.sin]) if c.shapes][:1]
    with planted(lookup(np.sin), {"x": Vjp(lambda g, x: g * np.cos(x) * (1 + 1e-8))}):
        assert "by complex step" in str(imprecise(case, {}))
    assert imprecise(case, {}) is None


@pytest.mark.parametrize("df", [50.0, 150.0, 1e4])
def test_the_slopes_of_the_noncentral_t_distribution_near_its_middle(df: float) -> None:
    for nc in (0.0, 0.5, 2.0):
        for t in (0.0, 1e-12, -1e-3, 0.4, 1.5):
            density, shift = gs.grad(lambda t, nc: special.nctdtr(df, nc, t), argnums=(0, 1))(t, nc)
            expected = stats.nct.pdf(t, df, nc) if nc else stats.t.pdf(t, df)
            np.testing.assert_allclose(density, expected, rtol=1e-8)
            moved = [special.nctdtr(df, nc + h, t) for h in (-1e-4, 1e-4)]
            np.testing.assert_allclose(shift, (moved[1] - moved[0]) / 2e-4, rtol=1e-6)
