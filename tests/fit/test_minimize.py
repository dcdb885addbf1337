"""gs.minimize: SciPy's iterates with exact derivatives, on pytrees, with bounds, constraints, callbacks and errors."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import traceback
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

optimize = pytest.importorskip("scipy.optimize")

START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
WITHOUT = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")
HESSIAN = ("trust-exact", "dogleg", "trust-constr")
PRODUCT = ("Newton-CG", "trust-ncg", "trust-krylov")
METHODS = (*WITHOUT, "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", *PRODUCT, *HESSIAN)


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def start_of(method: str) -> Any:
    return np.full(5, 1.1) if method == "dogleg" else START  # which needs a positive definite Hessian


def by_hand(method: str) -> dict[str, Any]:
    """What somebody passes to SciPy who has written the derivatives by hand."""
    if method in WITHOUT:
        return {}
    more = {"hess": optimize.rosen_hess} if method in HESSIAN else {"hessp": optimize.rosen_hess_prod}
    return {"jac": optimize.rosen_der} | (more if method in HESSIAN + PRODUCT else {})


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


# --- as SciPy with derivatives by hand -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_iterates_are_those_of_scipy_with_derivatives_by_hand(method: str) -> None:
    options = {"maxfun": 30} if method == "TNC" else {"maxiter": 60 if method in ("COBYLA", "COBYQA") else 12}
    theirs: list[Any] = []
    count = Counted(rosenbrock)

    def note(x: Any, *_: Any) -> None:
        theirs.append(np.copy(x))

    kwargs = by_hand(method)
    expected = optimize.minimize(count, start_of(method), method=method, callback=note, options=options, **kwargs)
    with np.errstate(all="ignore"):
        found = gs.minimize(rosenbrock, start_of(method), method=method, options=options, keep_x=True)
    assert len(theirs) == len(found.history) - 1 > 2
    rtol = 1e-3 if method == "TNC" else 1e-7  # whose search doubles what rounds otherwise with each step
    for one, other in zip(theirs, found.history.x[1:], strict=True):
        np.testing.assert_allclose(other, one, rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(found.x, expected.x, rtol=rtol)
    assert (found.success, found.status, found.nfev) == (expected.success, expected.status, expected.nfev)
    assert found.message == expected.message
    assert found.history.evaluations[-1] <= count.calls


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("COBYLA", "Nelder-Mead")])
def test_a_dict_comes_to_the_same(method: str) -> None:
    start = start_of(method)
    tree = {"first": start[0], "rest": {"head": start[1:3].reshape(2, 1), "tail": list(start[3:])}}
    count = Counted(lambda p: rosenbrock(np.concatenate([[p["first"]], p["rest"]["head"][:, 0], p["rest"]["tail"]])))
    found = gs.minimize(count, tree, method=method, compile=False)
    expected = optimize.minimize(rosenbrock, start, method=method, **by_hand(method))
    assert found.success == expected.success
    vector = np.concatenate([[found.x["first"]], found.x["rest"]["head"].ravel(), found.x["rest"]["tail"]])
    np.testing.assert_allclose(vector, expected.x, rtol=1e-3)
    assert found.x["rest"]["head"].shape == (2, 1)
    assert type(found.x["first"]) is np.float64
    if method not in WITHOUT:
        assert count.calls <= expected.nfev + expected.get("nhev", 0) + 3  # rounding may add a step


def test_a_run_gives_value_and_gradient() -> None:
    count = Counted(rosenbrock)
    found = gs.minimize(count, START, method="BFGS", compile=False)
    assert count.calls == found.nfev == optimize.minimize(rosenbrock, START, jac=optimize.rosen_der).nfev


def test_the_method_is_the_one_that_scipy_takes() -> None:
    names = {
        "BFGS": {},
        "L-BFGS-B": {"bounds": (0, 3)},
        "SLSQP": {"constraints": {"type": "ineq", "fun": lambda x: x[0]}},
    }
    for method, kwargs in names.items():
        one = gs.minimize(rosenbrock, START, compile=False, **kwargs)
        assert one.message == gs.minimize(rosenbrock, START, method=method, compile=False, **kwargs).message
        assert one.nfev == gs.minimize(rosenbrock, START, method=method, compile=False, **kwargs).nfev


def test_a_method_of_the_users_is_given_everything() -> None:
    def newton(fun: Any, x0: Any, args: Any, *, jac: Any, hess: Any, hessp: Any, **_: Any) -> Any:
        np.testing.assert_allclose(hess(x0) @ np.ones(5), hessp(x0, np.ones(5)))
        x = x0 - np.linalg.solve(hess(x0), jac(x0))
        return optimize.OptimizeResult(x=x, fun=fun(x), success=True)

    found = gs.minimize(lambda x: np.sum((x - 3.0) ** 2), START, method=newton)
    np.testing.assert_allclose(found.x, 3.0)


def test_no_convergence_is_a_result() -> None:
    found = gs.minimize(rosenbrock, START, options={"maxiter": 2})
    assert not found.success
    assert "aximum number of iterations" in found.message.lower() or "maximum" in found.message.lower()


def test_arguments_are_constants() -> None:
    data = np.arange(4.0)
    assert gs.minimize(lambda m, x, n: np.sum(np.abs(x - m) ** n), 0.0, (data, 2)).x == pytest.approx(1.5)
    assert gs.minimize(lambda m, x: np.sum((x - m) ** 2), 0.0, data).x == pytest.approx(1.5)  # one need be no tuple


# --- trees and types --------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Weights:
    scale: float
    matrix: Any
    absent: Any = None


class Pair(NamedTuple):
    u: Any
    v: Any


def distance(p: Any) -> Any:
    return sum(np.sum((leaf - k) ** 2) for k, leaf in enumerate(gs.tree.leaves(p)))


@pytest.mark.parametrize("compile", [False, None])
def test_the_result_is_like_the_start(compile: Any) -> None:
    start = {"w": Weights(1.0, np.ones((2, 2))), "pair": Pair(np.float32(2.0), [np.ones(3, np.float32), 3])}

    def loss(p: Any) -> Any:
        w, pair = p["w"], p["pair"]
        assert type(w) is Weights
        assert type(pair) is Pair
        return (
            (w.scale - 4) ** 2
            + np.sum((w.matrix - 5) ** 2)
            + (pair.u - 6) ** 2
            + np.sum((pair.v[0] - 7) ** 2)
            + (pair.v[1] - 8) ** 2
        )

    found = gs.minimize(loss, start, compile=compile)
    w, pair = found.x["w"], found.x["pair"]
    assert (type(w), type(w.scale), w.matrix.shape, w.absent) == (Weights, float, (2, 2), None)
    assert (type(pair), type(pair.u), pair.v[0].dtype, type(pair.v[1])) == (Pair, np.float32, np.float32, float)
    np.testing.assert_allclose([w.scale, w.matrix[1, 1], pair.u, pair.v[0][2], pair.v[1]], [4, 5, 6, 7, 8], rtol=1e-4)
    assert type(found.jac["w"]) is Weights
    assert found.hess_inv.shape == (10, 10)


@pytest.mark.parametrize(
    ("x0", "shape"), [(2, ()), (2.0, ()), (np.float64(2), ()), (np.array(2.0), ()), ([1, 2], (2,)), ((1.0, 2), (2,)),
                      (np.ones((2, 3)), (2, 3)), ([[1, 2], [3, 4]], (2, 2)), (np.array([1, 2], np.int32), (2,))],
)  # fmt: skip
def test_numbers_arrays_and_lists_of_numbers(x0: Any, shape: Any) -> None:
    seen: list[Any] = []

    def loss(x: Any) -> Any:
        seen.append(np.shape(x))
        return np.sum((x - 1) ** 2)

    found = gs.minimize(loss, x0, compile=False)
    assert set(seen) == {shape}
    assert np.shape(found.x) == np.shape(found.jac) == shape
    assert np.asarray(found.x).dtype == np.float64
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


def test_float32_stays_float32() -> None:
    def loss(x: Any) -> Any:
        assert x.dtype == np.float32
        return np.sum((x - 1) ** 2)

    start = np.zeros(3, np.float32)
    found = gs.minimize(loss, start, method="L-BFGS-B")
    expected = optimize.minimize(lambda x: np.sum((x - 1) ** 2), start, jac=lambda x: 2 * (x - 1), method="L-BFGS-B")
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-6)
    assert found.x.dtype == found.jac.dtype == np.float32


@pytest.mark.parametrize(
    ("x0", "error", "words"),
    [
        (np.ones(2) * 1j, gs.DtypeError, "varies real numbers, but x0 holds dtype complex128"),
        ({"a": [1.0, "b"]}, gs.DtypeError, r"x0\['a'\]\[1\] holds str"),
        (np.ma.masked_array([1.0], [True]), gs.DtypeError, "x0 holds MaskedArray"),
        (np.ones(0), gs.ShapeError, "at least one number"),
        ({}, gs.ShapeError, "at least one number"),
        (None, gs.DtypeError, "x0 holds NoneType"),
    ],
)
def test_a_start_that_cannot_be_varied(x0: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        gs.minimize(distance, x0)


def test_what_the_function_writes_into_its_argument_is_its_own() -> None:
    def loss(x: Any) -> Any:
        value = np.sum((x - 1) ** 2)
        x[:] = 7.0
        return value

    start = np.zeros(2)
    for method in ("Nelder-Mead", "BFGS"):
        np.testing.assert_allclose(gs.minimize(loss, start, method=method, compile=False).x, 1.0, atol=1e-4)
    assert (start == 0).all()


# --- bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [
        [(None, 0.5), (2.0, None), (-1, 1)],
        optimize.Bounds([-np.inf, 2.0, -1], [0.5, np.inf, 1]),
        (np.array([-np.inf, 2, -1]), [0.5, np.inf, 1]),
        np.array([[-np.inf, 0.5], [2.0, np.inf], [-1, 1]]),
    ],
)
def test_bounds_of_an_array(bounds: Any) -> None:
    found = gs.minimize(lambda x: np.sum((x - 1.5) ** 2), np.array([0.0, 3.0, 0.0]), bounds=bounds)
    np.testing.assert_allclose(found.x, [0.5, 2.0, 1.0], atol=1e-6)


def test_one_pair_is_for_all_numbers() -> None:
    assert gs.minimize(lambda x: (x - 3.0) ** 2, 0.0, bounds=(0, 1)).x == 1.0
    assert gs.minimize(lambda x: (x - 3.0) ** 2, 0.0, bounds=[(0, 1)]).x == 1.0
    found = gs.minimize(distance, {"a": 1.0, "b": np.ones(2)}, bounds=(0.25, None))
    np.testing.assert_allclose([found.x["a"], *found.x["b"]], [0.25, 1, 1], atol=1e-6)


@pytest.mark.parametrize(
    "bounds",
    [
        {"w": Weights((None, -0.5), (0.5, np.array([[1.0, 1.5], [9, 9]])))},  # type: ignore[arg-type]
        {"w": {"scale": (None, -0.5), "matrix": (np.full((2, 2), 0.5), [[1.0, 1.5], [9, 9]])}, "pair": None},
        optimize.Bounds([-np.inf] * 2 + [-np.inf] + [0.5] * 4, [np.inf] * 2 + [-0.5, 1.0, 1.5, 9, 9]),
    ],
)
def test_bounds_of_a_tree(bounds: Any) -> None:
    start = {"w": Weights(-1.0, np.full((2, 2), 0.75)), "pair": Pair(0.0, 0.0)}

    def loss(p: Any) -> Any:
        return p["w"].scale ** 2 + np.sum((p["w"].matrix - 2) ** 2) + (p["pair"].u + 3) ** 2 + p["pair"].v ** 2

    found = gs.minimize(loss, start, bounds=bounds)
    assert found.x["w"].scale == -0.5
    np.testing.assert_allclose(found.x["w"].matrix, [[1, 1.5], [2, 2]], atol=1e-6)
    assert found.x["pair"].u == pytest.approx(-3, abs=1e-5)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"c": (0, 1)}, r"bounds name \['c'\], but x0 has \['a', 'b'\]"),
        ({"a": 3}, r"bounds of x0\['a'\] are 3, but expected a pair"),
        ({"b": ([1, 2, 3], None)}, r"a bound of x0\['b'\] has shape \(3,\), but the parameter has \(2,\)"),
        ({"a": (2, 1)}, r"the bounds of x0\['a'\] are \(2.0, 1.0\)"),
        ([(0, 1)], "must be a tree like x0"),
        (optimize.Bounds([0, 0], [1, 1]), "bounds are of 2 numbers, but x0 has 3"),
    ],
)
def test_bounds_that_do_not_fit(bounds: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        gs.minimize(distance, {"a": 1.0, "b": np.ones(2)}, bounds=bounds)


# --- constraints --------------------------------------------------------------------------------------------------------


def circle(x: Any, radius: Any) -> Any:
    return radius**2 - np.sum(x**2)


@pytest.mark.parametrize("method", ["SLSQP", "COBYLA", "trust-constr", "COBYQA"])
def test_constraints_on_an_array(method: str) -> None:
    constraints = {"type": "ineq", "fun": circle, "args": (2.0,)}
    found = gs.minimize(
        lambda x: x[0] + x[1], np.ones(2), method=method, constraints=constraints, tol=1e-8, compile=False
    )
    np.testing.assert_allclose(found.x, -np.sqrt(2), atol=1e-3)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_have_exact_derivatives(method: str) -> None:
    count = Counted(lambda p: {"ring": p["x"] ** 2 + np.sum(p["y"] ** 2), "side": [p["x"], p["y"][0]]})
    constraint = optimize.NonlinearConstraint(count, [-np.inf, 0, 0], [1.0, 9, 9])
    linear = optimize.LinearConstraint(np.array([[1.0, 0, 0]]), -np.inf, 0.25)
    start = {"x": 0.2, "y": np.array([0.2, 0.2])}
    found = gs.minimize(
        lambda p: -p["x"] - 2 * p["y"][0] + p["y"][1] ** 2,
        start,
        method=method,
        constraints=[constraint, linear],
        compile=False,
    )
    assert found.x["x"] == pytest.approx(0.25, abs=1e-3)
    np.testing.assert_allclose(found.x["y"], [np.sqrt(1 - 0.0625), 0.0], atol=1e-3)
    if method == "SLSQP":  # differences would take three calls more each
        assert count.calls <= 2 * found.nfev + found.njev + 4


def test_the_hessian_of_a_constraint_is_exact() -> None:
    given: list[Any] = []

    def method(fun: Any, x0: Any, args: Any, *, constraints: Any, **_: Any) -> Any:
        given.extend(constraints)
        return optimize.OptimizeResult(x=x0, fun=fun(x0), success=True)

    def cubes(p: Any) -> Any:
        return np.stack([np.sum(p["a"] ** 3), p["a"][0] * p["b"]])

    kept = optimize.NonlinearConstraint(cubes, 0, 1, hess=optimize.SR1())
    own = optimize.NonlinearConstraint(
        cubes, 0, 1, jac=lambda p: {"a": np.ones((2, 2)), "b": np.zeros(2)}, hess=lambda p, v: v[0] * np.eye(3)
    )
    plain = optimize.NonlinearConstraint(cubes, 0, 1)
    gs.minimize(
        lambda p: p["b"] ** 2, {"a": np.array([1.0, 2.0]), "b": 3.0}, method=method, constraints=[plain, kept, own]
    )
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(given[0].fun(x), [9, 3])
    np.testing.assert_allclose(given[0].jac(x), [[3, 12, 0], [3, 0, 1]])
    np.testing.assert_allclose(given[0].hess(x, np.array([1.0, 10.0])), [[6, 0, 10], [0, 12, 0], [10, 0, 0]])
    assert isinstance(given[1].hess, optimize.SR1)
    np.testing.assert_allclose(given[2].jac(x), [[1, 1, 0], [1, 1, 0]])
    np.testing.assert_allclose(given[2].hess(x, [2.0, 0.0]), 2 * np.eye(3))


@pytest.mark.parametrize(
    ("constraints", "error", "words"),
    [
        ({"type": "le", "fun": circle}, ValueError, '"eq" or "ineq"'),
        ([circle], TypeError, "a constraint is a function"),
        (optimize.LinearConstraint(np.ones((1, 3)), 0, 1), gs.ShapeError, "has 3 columns, but x0 has 2 numbers"),
        ({"type": "eq", "fun": lambda x: None}, gs.ShapeError, "returned None at test_minimize.py"),
    ],
)
def test_constraints_that_do_not_fit(constraints: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        gs.minimize(np.sum, np.ones(2), constraints=constraints)


# --- callbacks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_callbacks_are_given_trees(method: str) -> None:
    seen: list[Any] = []

    def with_x(p: Any, *state: Any) -> None:
        assert p["w"].shape == (2, 1)
        assert len(state) == (method == "trust-constr")
        seen.append(p)

    def with_result(intermediate_result: Any) -> None:
        assert intermediate_result.x["w"].shape == (2, 1)
        seen.append(intermediate_result.fun)

    for callback in (with_x, with_result):
        seen.clear()
        start = {"w": np.array([[2.0], [3.0]])}
        found = gs.minimize(lambda p: np.sum(p["w"] ** 2), start, method=method, callback=callback, compile=False)
        assert len(seen) == len(found.history) - 1 > 0
    if method != "COBYLA":
        np.testing.assert_allclose(seen, found.history.fun[1:])


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_ends_it(method: str) -> None:
    calls: list[Any] = []

    def stop(intermediate_result: Any) -> None:
        calls.append(intermediate_result.x)
        if len(calls) == 2:
            raise StopIteration

    found = gs.minimize(rosenbrock, start_of(method), method=method, callback=stop, compile=False)
    assert len(calls) == 2
    if method not in ("trust-constr", "COBYQA", "COBYLA"):  # which have words of their own, some of them of success
        assert not found.success
        assert (found.status, found.message) == (99, "`callback` raised `StopIteration`.")
    if method not in WITHOUT:
        np.testing.assert_allclose(found.x, calls[-1])
    assert len(found.history) == 3


# --- errors --------------------------------------------------------------------------------------------------------------


def lines_of(error: BaseException) -> list[str]:
    return [frame.line or "" for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [KeyError, KeyboardInterrupt])
def test_an_error_within_the_function_is_the_users(method: str, kind: Any) -> None:
    count = Counted(rosenbrock)

    def loss(x: Any) -> Any:
        if count.calls >= 3:
            raise kind("x")
        return count(x)

    with pytest.raises(kind) as caught:
        gs.minimize(loss, start_of(method), method=method, compile=False)
    assert lines_of(caught.value)[-1] == 'raise kind("x")'
    if kind is KeyError:
        assert len(lines_of(caught.value)) <= 3  # without SciPy's, but the one that raises it again
    assert gs.grad(lambda x: x * x)(3.0) == 6.0  # nothing stays behind


def test_an_error_within_compiled_source_is_the_users() -> None:
    def loss(x: Any) -> Any:
        if x[0] > 1.1:
            raise ValueError("too far")
        return np.sum((x - 3) ** 2)

    with pytest.raises(ValueError, match="too far") as caught:
        gs.minimize(loss, np.zeros(2), method="L-BFGS-B")
    assert lines_of(caught.value)[-1] == 'raise ValueError("too far")'


def test_an_error_of_scipy_keeps_its_frames() -> None:
    with pytest.raises(ValueError, match="Unknown solver") as caught:
        gs.minimize(rosenbrock, START, method="no such")
    assert "scipy" in traceback.extract_tb(caught.value.__traceback__)[-1].filename


def of_scalar(value: Any) -> Any:
    def loss(x: Any) -> Any:
        return value(x)

    return loss


@pytest.mark.parametrize("method", ["BFGS", "Nelder-Mead"])
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (lambda x: x, gs.ShapeError, r"shape \(2,\) at test_minimize.py"),
        (lambda x: x[:1], gs.ShapeError, r"shape \(1,\) at test_minimize.py"),
        (lambda x: None, gs.ShapeError, "returned None at test_minimize.py"),
        (lambda x: "3", gs.ShapeError, "returned str at test_minimize.py"),
        (lambda x: 1j * np.sum(x), gs.DtypeError, "complex.* at test_minimize.py"),
        (lambda x: np.sum(x) * np.nan, FloatingPointError, "returned nan at test_minimize.py.*for x = array"),
        (lambda x: np.sum(x) * -np.inf, FloatingPointError, "returned -inf at test_minimize.py"),
        (lambda x: np.sum(x) * np.inf, FloatingPointError, "returned inf at test_minimize.py.* for x0 itself"),
    ],
)
def test_a_value_that_is_no_number(method: str, value: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        gs.minimize(of_scalar(value), np.array([1.0, 2.0]), method=method, compile=False)
    assert lines_of(caught.value)[-1].startswith("raise shown_to_user") or "gs.minimize(" in lines_of(caught.value)[-1]


@pytest.mark.parametrize(
    "value", [lambda x: 2.0, lambda x: 2, lambda x: np.array(2.0) + 0 * x[0], lambda x: np.float32(2) * x[0] ** 2]
)
def test_floats_and_0d_arrays_are_numbers(value: Any) -> None:
    for method in ("BFGS", "Powell"):
        assert gs.minimize(of_scalar(value), np.zeros(2), method=method, compile=False).success


def test_infinity_is_outside_of_the_domain() -> None:
    def loss(x: Any) -> Any:
        return x - np.log(x) if x > 0 else np.inf

    for method in ("BFGS", "Nelder-Mead"):
        with np.errstate(all="ignore"):
            assert gs.minimize(loss, 3.0, method=method, compile=False).x == pytest.approx(1.0, abs=1e-4)


def test_a_gradient_of_nan_raises() -> None:
    with pytest.raises(FloatingPointError, match="the gradient is nan where the value is 5"), np.errstate(all="ignore"):
        gs.minimize(lambda x: np.sqrt(0 * x[0]) + np.sum(x**2), np.array([1.0, 2.0]))


def test_a_lost_gradient_raises() -> None:
    def loss(x: Any) -> Any:
        held = [0.0]
        memoryview(np.zeros(1))[0] = x[0]
        return np.sum(x) * held[0]

    with pytest.raises((gs.GradientLossError, TypeError)) as caught:
        gs.minimize(loss, np.ones(2))
    assert lines_of(caught.value)[-1] == "memoryview(np.zeros(1))[0] = x[0]"


@pytest.mark.parametrize("method", ["BFGS", "Powell"])
@pytest.mark.parametrize(
    "outer",
    [
        lambda a: np.sum(gs.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), method="BFGS").x),
        lambda a: np.sum(gs.minimize(lambda x, a: np.sum((x - a) ** 2), np.zeros(2), a).x),
        lambda a: np.sum(gs.minimize(lambda x: np.sum(x**2), a).x),
        lambda a: np.sum(gs.minimize(lambda x: np.sum(x**2), {"x": [a]}).x["x"][0]),
    ],
)
def test_within_a_transform_a_gradient_is_not_lost(method: str, outer: Any) -> None:
    with pytest.raises(gs.GradientLossError, match=r"gs\.minimize .*gs\.stop_gradient"):
        gs.grad(outer)(np.ones(2))


def test_within_a_transform_constants_are_minimised() -> None:
    def outer(a: Any) -> Any:
        found = gs.minimize(lambda x: np.sum((x - gs.stop_gradient(a)) ** 2), np.zeros(2))
        return np.sum(a * found.x)

    np.testing.assert_allclose(gs.grad(outer)(np.array([1.0, 2.0])), [1.0, 2.0], atol=1e-6)
    with pytest.warns(gs.EagerWarning, match=r"it calls gs\.minimize"):
        value = gs.compile(outer)(np.array([1.0, 2.0]))
    assert value == pytest.approx(5.0, abs=1e-5)


def test_tensors_are_numbers_outside_of_transforms() -> None:
    assert type(gs.minimize(lambda x: np.sum(x**2), gs.tensor([1.0, 2.0])).x) is np.ndarray
    weight = gs.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(gs.GradientLossError, match="reads a value from outside"):
        gs.minimize(lambda x: np.sum(weight * x**2), np.ones(2))


# --- compiled ---------------------------------------------------------------------------------------------------------------


def test_compiled_and_eager_agree_to_the_bit() -> None:
    one, other = (gs.minimize(rosenbrock, START, compile=compile) for compile in (True, False))
    assert (one.x == other.x).all()


def test_what_does_not_compile_says_so_where_it_was_asked_for() -> None:
    seen = []

    def loss(x: Any) -> Any:
        seen.append(id(x))
        globals()["written"] = 3
        return np.sum(x**2)

    gs.minimize(loss, np.ones(2))  # without a word: warnings are errors here
    with pytest.warns(gs.EagerWarning, match="runs eagerly") as warned:
        gs.minimize(loss, np.ones(2), compile=True)
    assert warned[0].filename == __file__


def test_without_scipy_it_says_what_is_missing() -> None:
    code = """
import sys
sys.modules["scipy"] = sys.modules["scipy.optimize"] = None
import gradscribe as gs
for call in (lambda: gs.minimize(sum, [1.0]), lambda: gs.curve_fit(max, [1.0], [1.0]), lambda: gs.least_squares(sum, [1.0])):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-P", "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    expected = [
        f"gs.{n} needs SciPy, which is not installed: pip install scipy"
        for n in ("minimize", "curve_fit", "least_squares")
    ]
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize("name", ["jac", "hess", "hessp"])
def test_derivatives_of_the_users_own_raise_by_name(name: str) -> None:
    with pytest.raises(TypeError, match=f"gs.minimize takes no {name}, since it computes the exact one"):
        gs.minimize(lambda x: x * x, 1.0, **{name: lambda x: 2 * x})  # type: ignore[arg-type]


def test_an_unknown_keyword_raises() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'jack'"):
        gs.minimize(lambda x: x * x, 1.0, jack=1)  # type: ignore[arg-type]
