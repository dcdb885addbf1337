"""Facts that ops state of themselves, against what NumPy and SciPy do: bounds, singular points, and the forms that share them."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.runtime import lookup, ops
from gradscribe.runtime.ops import MISSING, Kind, Op
from gradscribe.runtime.registry import ops_of, require
from gradscribe.tracer.core.dispatch import run
from gradscribe.tracer.core.pieces import pieces

from checks import TABLE, Case, cases, name_of, weights_for
from samples import Sample

BOUNDED = [op for op in ops() if op.bounds is not None]
EDGES = (0.0, 1e-300, 1e-8, 0.5, 1.0, 1.5, np.pi / 2, np.pi, 30.0, 709.0, 1e4, 1e300, np.inf)


@pytest.mark.audit
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("op", BOUNDED, ids=[op.path for op in BOUNDED])
def test_results_lie_within_the_bounds_that_an_op_states(op: Op, dtype: type) -> None:
    with np.errstate(all="ignore"):
        edges = np.array([*EDGES, *[-x for x in EDGES], *np.random.default_rng(3).normal(size=200)], dtype)
        arguments = np.array(list(itertools.product(edges, repeat=len(op.params)))).T
        found = op.fn(*arguments)
    assert op.bounds is not None
    low, high = op.bounds
    assert np.all((found >= low) & (found <= high) | np.isnan(found))
    assert found.size > len(EDGES)


def test_scipys_ops_state_bounds_too() -> None:
    assert {require(special.erf), require(special.expit), require(np.tanh)} <= set(BOUNDED)


@pytest.mark.parametrize(("fn", "form"), [(np.add, operator.add), (np.absolute, abs), (np.matmul, operator.matmul)])
def test_the_forms_of_an_op_have_it_as_their_base(fn: object, form: object) -> None:
    base, made = require(fn), require(form)
    assert made is not base
    assert made.base is base.base is base
    assert made.titled("Other").base is base
    assert ops_of(fn, form) == {base}


@pytest.mark.parametrize("op", ops(), ids=[op.path for op in ops()])
def test_a_fact_asks_for_arguments_that_the_op_has(op: Op) -> None:
    """A fact that is a function names the arguments it reads; a name that is none of them would say nothing, in silence."""
    for fact in (op.memory, op.types):
        if callable(fact):
            code = fact.__code__
            assert {*code.co_varnames[: code.co_argcount]} <= {p.name for p in op.params}


def is_singular(case: Case, arrays: Sequence[Any]) -> bool:
    """Whether the gradient of a case at these arrays is said to be a convention."""
    with gs.singular("raise"), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value, back = gs.vjp(case.function(), *arrays)
            back(np.ones_like(value))
        except gs.SingularPointError:
            return True
        except Exception:  # LAPACK raises of an infinity, Python's math of zero
            return False
    return False


def where_kinks_lie(case: Case) -> Iterator[list[Any]]:
    """Arrays of equal elements: the kinks and edges of a record, and numbers at which many functions have theirs."""
    shapes = [array.shape for array in case.sample.draw(case.generator(), case.shapes)]
    points = dict.fromkeys([*case.sample.kinks, *case.sample.edge, 0.0, 1.0, -1.0, 2.0, np.inf, -np.inf])
    for numbers in (
        itertools.product(points, repeat=len(shapes)) if len(shapes) < 3 else [(p,) * len(shapes) for p in points]
    ):
        yield [np.full(shape, number) for shape, number in zip(shapes, numbers, strict=True)]


WITH_KINKS = [
    pytest.param(fn, group, id=name_of(fn))
    for fn, group in TABLE.items()
    if (op := lookup(fn)) is not None and op.base is op and any(v is not None and v.singular for v in op.vjps.values())
]


@pytest.mark.audit
@pytest.mark.parametrize(("fn", "group"), WITH_KINKS)
def test_a_rule_is_a_convention_at_its_kinks_and_nowhere_else(fn: Any, group: list[Sample]) -> None:
    for case in cases(group):
        drawn = case.sample.draw(case.generator(), case.shapes)
        assert not is_singular(case, drawn), f"{case.label} has a kink at {drawn}, which its record draws"
    if getattr(fn, "__module__", "") not in (
        "math",
        "cmath",
    ):  # which raise there, or have kinks at numbers of two parts
        found = any(is_singular(case, arrays) for case in cases(group) for arrays in where_kinks_lie(case))
        assert found, f"no point of {name_of(fn)} meets its `singular_at`; its record can name one: kinks=(0.0,)"


def gradients(case: Case, arrays: Sequence[Any], mode: str) -> tuple[Any, Any]:
    """Weights for the results of a case, and the gradients under them, in a mode of `gs.singular`."""
    with gs.singular(mode), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, back = gs.vjp(case.function(), *[x.copy() for x in arrays])
        weights = gs.tree.map(lambda part: weights_for(case.generator("weights"), part)[()], value)
        return weights, back(weights)


@pytest.mark.audit
@pytest.mark.parametrize(("fn", "group"), WITH_KINKS)
def test_a_mode_changes_no_gradient_where_there_is_a_derivative(fn: Any, group: list[Sample]) -> None:
    for case in cases(group):
        drawn = case.sample.draw(case.generator(), case.shapes)
        plain = gs.tree.leaves(gradients(case, drawn, "convention"))
        for mode in ("raise", "nan"):
            for found, expected in zip(gs.tree.leaves(gradients(case, drawn, mode)), plain, strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=f"{case.label} in {mode!r}")


STEP = 1e-6
UNSAID = {  # functions whose slopes there are others than their rules say, and why no `singular_at` says so
    "norm": "singular values that are 0 but for rounding",
    "eigh": "eigenvalues that are equal but for rounding",
    "complex_eig": "eigenvalues that are equal but for rounding",
    "complex_eigvals": "eigenvalues that are equal but for rounding",
    "cond": "singular values that are equal but for rounding",
    "qr": "columns that follow from others but for rounding",
    "raised": "the clamp of PyTorch, which its backward does not see",
    "cross_entropy_of_probability": "the clamp of PyTorch, which its backward does not see",
    "exponent": "a part of math.frexp, which jumps, and has no gradient by nature",
    "whole": "a part of math.modf, which jumps, and has no gradient by nature",
    "acosh": "the cut of cmath.acosh",
    "solve_sylvester": "equations without a solution",
    "modfresnelp": "SciPy's numbers below 0 are not the integrals that it documents",
    "modfresnelm": "SciPy's numbers below 0 are not the integrals that it documents",
    "obl_rad2": "SciPy's slope is not that of its numbers near 1, and the rule has nothing else",
    "obl_rad2_cv": "SciPy's slope is not that of its numbers near 1, and the rule has nothing else",
}


def wrong_slope(case: Case, arrays: Sequence[Any]) -> str | None:
    """Tell how a finite gradient of a case differs from the slopes on both sides; None where it is one, or said to be none."""
    try:
        weights, grads = gradients(case, arrays, "raise")
    except Exception:  # a point that is said to be singular, or that LAPACK or Python's math has nothing for
        return None
    if not isinstance(weights, np.ndarray | np.generic) or weights.dtype.kind != "f":
        return None
    rng, function = case.generator("ways"), case.function()

    def at(t: float) -> float:
        moved = [x + t * way if j == k else x.copy() for j, x in enumerate(arrays)]
        return float(np.sum(function(*moved) * weights))

    for k, g in enumerate(grads if type(grads) is tuple else (grads,)):
        if np.asarray(g).dtype.kind != "f" or not np.all(np.isfinite(g)):
            continue
        way = weights_for(rng, arrays[k])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                left, here, right = at(-STEP), at(0.0), at(STEP)
            except (ArithmeticError, ValueError, TypeError, np.linalg.LinAlgError):
                continue
        slopes = np.array([here - left, right - here]) / STEP
        room = 1e-3 * (1 + np.sum(np.abs(g * way)) + 1e-3 * abs(here))
        if np.isfinite(slopes).all() and np.any(np.abs(slopes - np.sum(g * way)) > room):
            return f"argument {k} of {case.label} at {arrays}: gradient {np.sum(g * way):.6g}, slopes {slopes}"
    return None


DIFFERENTIABLE = [
    pytest.param(fn, [s for s in group if s.differentiable and not s.integer], id=name_of(fn))
    for fn, group in TABLE.items()
    if (op := lookup(fn)) is not None and any(vjp is not None for vjp in op.vjps.values())
]


@pytest.mark.audit
@pytest.mark.parametrize(("fn", "group"), DIFFERENTIABLE)
def test_a_finite_gradient_where_there_is_no_derivative_is_said_to_be_a_convention(
    fn: Any, group: list[Sample]
) -> None:
    if name_of(fn).rpartition(".")[2] in UNSAID:
        pytest.skip(UNSAID[name_of(fn).rpartition(".")[2]])
    for sample in group:
        for case in itertools.islice(cases([sample]), 1):
            for point in dict.fromkeys([*sample.kinks, *sample.edge, 0.0, 1.0, -1.0, 2.0]):
                wrong = (
                    wrong_slope(case, [np.full(shape, point) for shape in case.shapes]) if np.isfinite(point) else None
                )
                assert wrong is None, f"{wrong}; its rule is wrong there, or `singular_at` says that it is a convention"


def _pieces(op: Op, arguments: tuple[Any, ...]) -> Any:
    """What says in which piece of an op arguments lie: the fact, or for an op without derivatives the result."""
    gs_arguments = [gs.tensor(x, requires_grad=True) for x in arguments]
    with pieces() as heard:
        run(op, op.bind(*gs_arguments))
    return heard.outcomes


def _apart(f: Callable[[float], float], a: float, b: float) -> tuple[float, float]:
    """The neighbours in the half where a function differs most, by halves."""
    fa, fb = f(a), f(b)
    while (m := a + (b - a) / 2) not in (a, b):
        fm = f(m)
        a, fa, b, fb = (a, fa, m, fm) if abs(fm - fa) >= abs(fb - fm) else (m, fm, b, fb)
    return a, b


SMOOTH_KINDS = (Kind.elementwise, Kind.opaque)
OF_NUMBERS = [
    op
    for op in ops()
    if op.kind in SMOOTH_KINDS and not op.effect and any(op.vjps.values()) and op.n_out == 1
    and not any(p.sequence or p.variadic for p in op.params)
    and 1 <= sum([p.default is MISSING for p in op.params]) <= 4
]  # fmt: skip


@pytest.mark.audit
@pytest.mark.parametrize("op", OF_NUMBERS, ids=[op.path for op in OF_NUMBERS])
def test_an_op_that_jumps_says_from_where_to_where(op: Op) -> None:
    """SciPy's integrators hear of a jump by it (`transforms/derivatives/scipy_jumps.py`)."""
    count = sum([p.default is MISSING for p in op.params])
    rng = np.random.default_rng(0)
    for at in (*rng.uniform(-2, 2, (2, count)), *rng.uniform(0.1, 0.9, (2, count))):
        for k in range(count):
            others = at.tolist()

            def f(x: float, others: Any = others, k: int = k) -> float:
                try:
                    found = np.asarray(op.fn(*[float(x) if j == k else y for j, y in enumerate(others)]))
                except (ArithmeticError, ValueError, TypeError, IndexError, np.linalg.LinAlgError, AttributeError):
                    return math.nan
                return float(found.ravel()[0]) if found.size == 1 and found.dtype.kind in "fbiu" else math.nan

            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                xs = np.linspace(-3.31, 3.29, 67)
                steps = np.nan_to_num(np.abs(np.diff([f(x) for x in xs])), posinf=0.0)
                for place in np.argsort(-steps)[:3]:
                    if steps[place] < 1e-3:
                        continue
                    a, b = _apart(f, float(xs[place]), float(xs[place + 1]))
                    size = max(abs(f(a)), abs(f(b)))
                    if (
                        op.path.startswith("scipy.special.spherical") and abs(a) < 1e-100
                    ):  # SciPy's, of no sense at 1e-324
                        continue
                    if abs(f(a) - f(b)) > 1e-4 * (1 + size) and size < 1e3:
                        sides = [_pieces(op, tuple([x if j == k else y for j, y in enumerate(others)])) for x in (a, b)]
                        assert sides[0] != sides[1], (op.path, op.params[k].name, a, f(a), f(b))
