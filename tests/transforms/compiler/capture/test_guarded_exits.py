"""Values that leave a capture, errors on the way, and results: compiled follows eager through every branch."""

from __future__ import annotations

import collections
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

from following import Setup, follows, stays_compiled, x


def setting(**names: Any) -> Setup:
    """Bind globals of this module."""
    return lambda: globals().update(names)


FLAG = True
W: Any = None


# Values that leave ---------------------------------------------------------------------------------------------------


def test_branches() -> None:
    def f(a: Any) -> Any:
        if a[0] > 0:
            return np.sum(a**2)
        if np.sum(a) > 0:
            return np.sum(a**3)
        return np.sum(np.sin(a))

    arrays = [x(1, 2), x(-1, 3), x(-1, -3), x(2, 2), x(-1, 0.5), x(0, 0), x(math.nan, 1)]
    found = follows(f, *[(None, (a,)) for a in arrays])
    stays_compiled(found)
    assert found.texts == 1  # both arms of either stand in it


def test_exits_in_nested_helpers() -> None:
    def leaf(v: Any) -> Any:
        return v * 2 if v > 0 else -v

    def middle(a: Any) -> Any:
        return sum([leaf(v) for v in a], 0.0)

    stays_compiled(follows(lambda a: middle(a) ** 2, *[(None, (x(p, q),)) for p in (1, -1) for q in (2, -2)]))


def test_loops_whose_length_is_a_value() -> None:
    def f(a: Any) -> Any:
        total: Any = 0.0
        while total < 3:
            total = total + np.sum(a * a) + 0.5
        for _ in range(int(a[0])):
            total = total * a[1]
        return total

    stays_compiled(follows(f, *[(None, (x(p, q),)) for p in (1.5, 3.9) for q in (0.5, 1.0)]))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.sum(a) * int(a[0]),
        lambda a: np.sum(a) * round(a[0]),
        lambda a: np.sum(a) * math.floor(a[0]),
        lambda a: np.sum(a) * a[0].astype(int).item(),
        lambda a: np.sum(a) * [1.0, 10.0, 100.0, 1000.0][a[0].astype(int)],
        lambda a: a[np.argmax(a)] * 2.0,
        lambda a: sorted(a)[0] * max(a) + min(a),
        lambda a: np.sum(a) * (2.0 if np.allclose(a, 2.4) else 1.0),
        lambda a: np.sum(a) * (2.0 if 2.0 in a else 1.0),
        lambda a: np.sum(a) * np.searchsorted(np.array([0.0, 1.0, 2.5]), a[0]),
    ],
)
def test_small_exits(function: Any) -> None:
    follows(
        function,
        *[(None, (x(*v),)) for v in ((2.4, 1.0), (2.6, 1.0), (2.0, 3.0), (0.0, 2.4), (2.4, 2.4))],
        transform=lambda f: f,
    )


def test_float_exits_keep_sign_and_nan() -> None:
    def sign(a: Any) -> Any:
        return np.sum(a * a) + math.copysign(1.0, float(a[0]))

    def missing(a: Any) -> Any:
        s = float(a[0])
        return np.sum(a[1:]) * (2.0 if s != s else 1.0)

    plain = lambda f: f
    follows(sign, (None, (x(0.0, 1.0),)), (None, (x(-0.0, 1.0),)), transform=plain)
    follows(missing, (None, (x(math.nan, 1.0),)), (None, (x(1.0, 1.0),)), transform=plain)


def test_a_float_that_keeps_changing_stays_compiled() -> None:
    f = lambda a: np.sum(a) * float(a[0])
    stays_compiled(follows(f, *[(None, (x(k, 1.0),)) for k in range(6)], transform=lambda f: f))


def test_sizes_that_depend_on_values() -> None:
    def by_size(a: Any) -> Any:
        y = a[a > 0]
        return np.sum(y) * (10.0 if y.size > 1 else 1.0)

    def by_loop(a: Any) -> Any:
        total: Any = 0.0
        for k, v in enumerate(a[a > 0]):
            total = total + v * (k + 1)
        return total

    def by_nonzero(a: Any) -> Any:
        (found,) = np.nonzero(a > 0)
        return np.sum(a) * len(found)

    for f in (by_size, by_loop, by_nonzero):
        stays_compiled(follows(f, *[(None, (x(*v),)) for v in ((2.0, 1.0), (2.0, -1.0), (-2.0, -1.0), (1.0, 5.0))]))


def test_sizes_used_as_numbers() -> None:
    def f(a: Any) -> Any:
        return np.sum(a) * a.shape[0] ** 2 + len(a) / 3 + math.sqrt(a.size) + {3: 10.0, 5: 20.0}.get(len(a), 1.0)

    stays_compiled(follows(f, *[(None, (np.arange(float(n)) + k,)) for n in (3, 5, 4) for k in (0, 1)]))


# Errors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_errors_that_the_function_catches(first: int) -> None:
    def solves(a: Any) -> Any:
        try:
            return np.sum(np.linalg.inv(a))
        except np.linalg.LinAlgError:
            return np.sum(a) * 0.5

    def converts(a: Any) -> Any:
        try:
            k = int(a[0, 0])
        except ValueError:
            k = 7
        return np.sum(a[1:]) * k

    def takes_a_root(a: Any) -> Any:
        try:
            return math.sqrt(a[0, 0]) * np.sum(a)
        except ValueError:
            return np.sum(a)

    regular, odd = np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([[1.0, 2.0], [2.0, 4.0]])
    for f, other in ((solves, odd), (converts, regular * math.nan), (takes_a_root, -regular)):
        pair = (regular, other)
        follows(f, (None, (pair[first],)), (None, (pair[1 - first],)), (None, (pair[first],)), transform=lambda f: f)


@pytest.mark.parametrize("name", ["sqrt", "log", "exp", "log1p", "acos", "sinh"])
def test_errors_of_math(name: str) -> None:
    f = lambda a: getattr_free(name)(a[0]) * np.sum(a)
    calls = [(None, (x(*v),)) for v in ((0.5, 1.0), (1000.0, 1.0), (-1.0, 1.0), (-2.0, 1.0), (0.0, 1.0))]
    follows(f, *calls)


def getattr_free(name: str) -> Any:
    if name == "sqrt":
        return math.sqrt
    if name == "log":
        return math.log
    if name == "exp":
        return math.exp
    if name == "log1p":
        return math.log1p
    return math.acos if name == "acos" else math.sinh


def test_errors_under_errstate() -> None:
    def f(a: Any) -> Any:
        with np.errstate(divide="raise"):
            return np.sum(1.0 / a)

    assert follows(f, (None, (x(2.0),)), (None, (x(0.0),))).warned


# Results -------------------------------------------------------------------------------------------------------------


class Left(NamedTuple):
    v: Any


class Right(NamedTuple):
    v: Any


def test_results_of_one_text_and_two_types() -> None:
    f = lambda a: Left(a * 2) if FLAG else Right(a * 2)
    found = follows(f, *[(setting(FLAG=flag), (x(),)) for flag in (True, False, True)], transform=lambda f: f)
    stays_compiled(found)


def test_containers_of_the_standard_library() -> None:
    def f(p: Any) -> Any:
        return np.sum(p["a"] * 2)

    makes = [collections.OrderedDict, dict, lambda d: collections.defaultdict(list, d)]
    follows(f, *[(None, (make({"a": x()}),)) for make in makes])
    follows(lambda p: np.sum(p[0] * 2), (None, (collections.deque([x()]),)), (None, ([x()],)))


def test_a_result_that_is_an_argument_or_a_view_of_one() -> None:
    compiled = gs.compile(lambda a: (a, a[1:], W), verify="first calls")
    setting(W=x(1, 2, 3))()
    for _ in range(3):
        a = x()
        same, view, outside = compiled(a)
        assert same is a
        assert view.base is a
        assert outside is W


def test_nothing_is_a_branch_of_its_own() -> None:
    stays_compiled(
        follows(lambda a: np.sum(a) if a[0] > 0 else None, (None, (x(1),)), (None, (x(-1),)), transform=lambda f: f)
    )


@pytest.mark.parametrize("name", ["sqrtm", "logm", "fractional_matrix_power"])
@pytest.mark.parametrize("asks", [True, False], ids=["asks", "computes"])
def test_a_matrix_that_is_real_or_complex_as_its_values_are(name: str, asks: bool) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    more = (0.5,) if name == "fractional_matrix_power" else ()

    def f(x: Any) -> Any:
        out = getattr(linalg, name)(x, *more)
        return np.sum(x) * (2.0 if np.iscomplexobj(out) else 3.0) if asks else np.sum(np.abs(out) ** 2)

    compiled = gs.compile(gs.grad(f))
    real, other = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[-2.0, 1.0], [1.0, -3.0]])
    for matrix in (real, 2 * real, other, real, 3 * other, other):
        np.testing.assert_array_equal(compiled(matrix), gs.grad(f)(matrix))
    assert len(gs.explain(compiled).specialisations) == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda s, t: abs(s**0.5), lambda s, t: abs(s**t) ** 2,
        lambda s, t: (s**0.5).real if isinstance(s**0.5, complex) else s**0.5,
        lambda s, t: abs(s**2) * t, lambda s, t: 2.0**s * t, lambda s, t: abs(np.sum(np.array([s, t]) ** 2)),
    ],
)  # fmt: skip
def test_a_power_of_a_float_of_pythons_is_real_or_complex(f: Any) -> None:
    compiled, eager = gs.compile(gs.value_and_grad(f)), gs.value_and_grad(f)
    for s, t in ((2.0, 0.5), (3.0, 0.5), (-2.0, 0.5), (2.0, 1.5), (-3.0, 0.25), (-2.0, 2.0), (3.0, 0.5)):
        found, expected = compiled(s, t), eager(s, t)
        assert type(found[0]) is type(expected[0])
        assert found == expected


def test_a_power_that_is_always_real_is_no_guard() -> None:
    for f in (lambda s: s**2, lambda s: s**-3, lambda s: s**2.0, lambda s: 2.0**s):
        assert "iscomplexobj" not in str(gs.compile(gs.grad(f)).source(1.5))
