"""Compiled code leaves the caller's arrays as they are, whatever NumPy passes on; a wrong fact is found at first use."""

from __future__ import annotations

import importlib.util
import pathlib
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime import registry
from gradscribe.runtime.memory import NEW
from gradscribe.runtime.registry import require
from gradscribe.transforms.compiler.schedule import reuse

LARGE = 20_000  # elements: enough for `out=`
G = np.arange(LARGE)
HELD = types.SimpleNamespace(k=np.arange(LARGE))


def matrix(n: int = 150) -> Any:
    return np.arange(float(n * n)).reshape(n, n) / (n * n)


def rounded(k: Any) -> Any:
    return np.round(k) + 3


def rounded_around(k: Any) -> Any:
    y = np.around(k)
    return y + 3


def rounded_to_two(k: Any) -> Any:
    return np.add(np.round(k, 2), 3)


def rounded_by_method(k: Any) -> Any:
    return k.round() * 3


def rounded_part(k: Any) -> Any:
    return np.round(k[::2]) + np.round(k[1::2]) - 3


def cut(k: Any) -> Any:
    return np.fix(k) - 3


def cleaned(k: Any) -> Any:
    return np.nan_to_num(k, copy=False) + 3


def first_power(x: Any) -> Any:
    return np.linalg.matrix_power(x, 1) + 3.0


def turned(x: Any) -> Any:
    return np.einsum("ij->ji", x) * 3.0


def no_difference(x: Any) -> Any:
    return np.diff(x, n=0) + 3.0


def along_no_axes(x: Any) -> Any:
    return np.fft.fftn(x, axes=()) + 3.0


def as_they_are(x: Any) -> Any:
    return np.asarray(x) + 3.0


def real_of_real(x: Any) -> Any:
    return np.real(x) * 3.0 + np.conj(x) * 2.0


def open_mesh(k: Any) -> Any:
    (places,) = np.ix_(k)
    return places + 3


def twice_the_same(n: Any) -> Any:
    rows, columns = np.diag_indices(LARGE)
    rows += 3
    return rows, columns, n * 2.0


def outside_global(n: Any) -> Any:
    return np.round(G) + 3 + n


def outside_attribute(n: Any) -> Any:
    return np.round(HELD.k) + 3 + n


INTS = [np.arange(LARGE), np.arange(LARGE)[::-1], np.arange(2 * LARGE)[::2], np.arange(LARGE, dtype=np.int32)]
CASES: list[tuple[Callable[..., Any], Any]] = [
    *[(f, k) for f in (rounded, rounded_around, rounded_to_two, rounded_by_method, rounded_part, cut, cleaned) for k in INTS],
    *[(f, matrix()) for f in (first_power, turned, no_difference, along_no_axes, as_they_are, real_of_real)],
    (rounded, matrix()), (rounded, np.arange(LARGE) > 3), (open_mesh, np.arange(LARGE)), (twice_the_same, 1.0),
    (outside_global, 1.0), (outside_attribute, 1.0),
]  # fmt: skip


def held(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize(("function", "x"), CASES)
def test_no_call_overwrites_what_the_caller_holds(function: Callable[..., Any], x: Any) -> None:
    compiled = gs.compile(function)
    before, outside = held(x), (G.copy(), HELD.k.copy())
    for turn in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            given = x if turn < 3 or not isinstance(x, np.ndarray) else x[::-1]
            try:
                expected: Any = function(given)
            except TypeError as error:  # of truth values, before NumPy 2.4
                with pytest.raises(TypeError, match=str(error)[:10]):
                    compiled(given)
                return
            found = compiled(given)
        np.testing.assert_equal(found, expected)
        np.testing.assert_equal((x, G, HELD.k), (before, *outside))


def test_what_stands_in_a_closure_is_not_overwritten() -> None:
    k = np.arange(LARGE)

    @gs.compile
    def f(x: Any) -> Any:
        return np.round(k) + 3 + x

    for x in (1.0, 2.0, 3.0, 4.0):
        np.testing.assert_array_equal(f(x), np.arange(LARGE) + 3 + x)
        np.testing.assert_array_equal(k, np.arange(LARGE))


def test_an_exported_module_does_not_overwrite_its_arguments(tmp_path: pathlib.Path) -> None:
    k, x = np.arange(LARGE), np.ones(LARGE)

    def f(k: Any, x: Any) -> Any:
        return np.sum((np.round(k) + 3) * x)

    path = tmp_path / "exported_round.py"
    gs.export(f, k, x, path=path, argnums=1)
    spec = importlib.util.spec_from_file_location("exported_round", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for _ in range(4):
        value, gradient = module.f_value_and_grad(k, x)
        assert value == np.sum(np.arange(LARGE) + 3)
        np.testing.assert_array_equal(gradient, np.arange(LARGE) + 3)
        np.testing.assert_array_equal(k, np.arange(LARGE))


@pytest.fixture
def believed_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if views were new memory, and a buffer of any size were written over."""
    monkeypatch.setenv("GRADSCRIBE_CACHE", "off")
    monkeypatch.setattr(reuse, "LARGE", 1)
    for fn in (np.reshape, np.ravel, np.transpose, np.asarray):
        monkeypatch.setattr(require(fn), "memory", NEW)


PLANTED_OUTSIDE = np.arange(4.0)
PLANTED = types.SimpleNamespace(x=np.arange(4.0))


def flat(x: Any) -> Any:
    return np.ravel(x) + 3.0


def flat_in_a_dict(p: Any) -> Any:
    return np.ravel(p["a"]) + p["b"]


def flat_outside(x: Any) -> Any:
    return np.ravel(PLANTED_OUTSIDE) + x


def flat_attribute(x: Any) -> Any:
    return np.ravel(PLANTED.x) + x


def closed_over() -> tuple[Callable[..., Any], Any]:
    k = np.arange(4.0)

    def flat_closure(x: Any) -> Any:
        return np.ravel(k) + x

    return flat_closure, k


@pytest.mark.usefixtures("believed_new")
@pytest.mark.parametrize(
    ("function", "x", "name"),
    [(flat, np.arange(4.0), "x"), (flat_in_a_dict, {"a": np.arange(4.0), "b": 3.0}, "p"),
     (flat_outside, 3.0, "PLANTED_OUTSIDE"), (flat_attribute, 3.0, "x")],
)  # fmt: skip
def test_a_wrong_fact_is_found_at_the_first_call(function: Callable[..., Any], x: Any, name: str) -> None:
    compiled = gs.compile(function)
    expected = function(x)
    with pytest.warns(gs.EagerWarning, match=f"it writes into `{name}.*not known"):
        found = compiled(x)
    for _ in range(3):
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(PLANTED_OUTSIDE, np.arange(4.0))
        np.testing.assert_array_equal(PLANTED.x, np.arange(4.0))
        for leaf in (x["a"],) if isinstance(x, dict) else (x,):
            np.testing.assert_array_equal(leaf, np.arange(4.0) if isinstance(leaf, np.ndarray) else 3.0)
        found = compiled(x)


@pytest.mark.usefixtures("believed_new")
def test_a_wrong_fact_is_found_in_a_closure() -> None:
    function, k = closed_over()
    compiled = gs.compile(function)
    with pytest.warns(gs.EagerWarning, match="it writes into `k`"):
        compiled(3.0)
    np.testing.assert_array_equal(compiled(3.0), np.arange(4.0) + 3.0)
    np.testing.assert_array_equal(k, np.arange(4.0))


@pytest.mark.usefixtures("believed_new")
def test_a_wrong_fact_that_changes_nothing_at_first_is_found_at_the_first_call_with_other_values() -> None:
    compiled = gs.compile(lambda x, y: np.ravel(x) + y)
    x = np.arange(4.0)
    compiled(x, 0.0)
    with pytest.warns(gs.EagerWarning, match="it writes into `x`"):
        np.testing.assert_array_equal(compiled(x, 1.0), np.arange(4.0) + 1.0)
    np.testing.assert_array_equal(x, np.arange(4.0))


@pytest.mark.usefixtures("believed_new")
def test_a_wrong_fact_is_an_error_where_one_verifies_or_exports() -> None:
    x = np.arange(4.0)
    with pytest.raises(gs.VerifyError, match="it writes into `x`"):
        gs.compile(flat, verify=True)(x)
    with pytest.raises(gs.VerifyError, match="it writes into `x`"):
        gs.export(flat, x, argnums=None)
    np.testing.assert_array_equal(x, np.arange(4.0))


@pytest.mark.usefixtures("believed_new")
def test_a_wrong_fact_is_found_beside_a_write_that_is_meant() -> None:
    def f(x: Any, z: Any) -> Any:
        z += 1.0
        return np.ravel(x) * 2.0

    x, z = np.arange(4.0), np.zeros(4)
    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="it writes into `x`"):
        compiled(x, z)
    np.testing.assert_array_equal(compiled(x, z), np.arange(4.0) * 2.0)
    np.testing.assert_array_equal((x, z), (np.arange(4.0), np.full(4, 2.0)))


def test_nan_to_num_in_place_is_a_write_and_its_gradient_is_that_of_a_copy() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.nan_to_num(x, copy=False) * 0.5 + x / 4)

    x = np.array([1.0, np.nan, -np.inf])
    np.testing.assert_array_equal(gs.grad(loss)(x.copy()), [0.75, 0.0, 0.0])
    compiled = gs.compile(gs.grad(loss))
    for _ in range(4):
        given = x.copy()
        np.testing.assert_array_equal(compiled(given), [0.75, 0.0, 0.0])
        np.testing.assert_array_equal(given, np.nan_to_num(x))


@pytest.mark.parametrize(
    "rank",
    [lambda x: np.median(x, overwrite_input=True), lambda x: np.median(x, None, None, True),
     lambda x: np.percentile(x, 50.0, overwrite_input=True), lambda x: np.nanmedian(x, overwrite_input=True),
     lambda x: np.quantile(x, 0.5, None, None, True), lambda x: np.nanquantile(x, 0.5, overwrite_input=True)],
)  # fmt: skip
def test_ranks_that_may_overwrite_leave_the_argument_and_its_gradient_in_order(rank: Any) -> None:
    x = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    for derivative in (gs.grad(rank), gs.compile(gs.grad(rank))):
        for _ in range(3):
            np.testing.assert_array_equal(derivative(x), [1.0, 0.0, 0.0, 0.0, 0.0])
            np.testing.assert_array_equal(x, [3.0, 1.0, 2.0, 5.0, 4.0])


@pytest.mark.parametrize(
    ("into", "out"),
    [(lambda x, o: np.round(x, 0, o), np.zeros(3)), (lambda x, o: np.fix(x, o), np.zeros(3)),
     (lambda x, o: np.cumsum(x, 0, None, o), np.zeros(3)), (lambda x, o: np.sum(x * np.ones((2, 1)), 0, None, o), np.zeros(3))],
)  # fmt: skip
def test_out_by_position_is_a_write_that_is_seen(into: Any, out: Any) -> None:
    def f(x: Any, o: Any) -> Any:
        into(x, o)
        return o * x

    x = np.array([1.25, 2.5, 3.75])
    expected_out = out.copy()
    expected = f(x, expected_out)
    for call in (lambda x, o: gs.vjp(f, x, o)[0], gs.compile(f, verify=True)):
        for _ in range(3):
            given = out.copy()
            np.testing.assert_array_equal(call(x, given), expected)
            np.testing.assert_array_equal(given, expected_out)


def test_a_write_into_one_of_the_same_results_shows_in_all() -> None:
    def f(x: Any) -> Any:
        rows, columns = np.diag_indices(3)
        rows += 1
        return x[rows % 3, columns % 3]

    x = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(gs.vjp(f, x)[0], f(x))
    compiled = gs.compile(f)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), f(x))


def test_the_check_of_an_exported_module_finds_arguments_that_are_written_into() -> None:
    def f(k: Any, x: Any) -> Any:
        return np.sum((np.ravel(k) + 3) * x)

    k, x = np.arange(4), np.arange(4.0)
    text = str(gs.export(f, k, x, argnums=1, script=True))
    fine: dict[str, Any] = {"__name__": "exported"}
    exec(text, fine)
    assert fine["check_gradient"]({"k": k, "x": x})
    assert "np.ravel(k) + 3" in text
    wrong: dict[str, Any] = {"__name__": "exported"}
    exec(text.replace("np.ravel(k) + 3", "np.add(np.ravel(k), 3, out=np.ravel(k))"), wrong)
    assert not wrong["check_gradient"]({"k": k, "x": x})


HELD_AT_ZERO = np.zeros(4)


@pytest.mark.usefixtures("believed_new")
def test_a_wrong_fact_is_found_when_only_what_stands_outside_has_other_values() -> None:
    compiled = gs.compile(lambda x: np.ravel(HELD_AT_ZERO) * x)
    compiled(3.0)
    HELD_AT_ZERO[:] = 1.0
    with pytest.warns(gs.EagerWarning, match="it writes into `HELD_AT_ZERO`"):
        np.testing.assert_array_equal(compiled(3.0), np.full(4, 3.0))
    np.testing.assert_array_equal(HELD_AT_ZERO, np.ones(4))


def doubled_in_place(x: Any) -> Any:
    x *= 2.0
    return x + 1.0


DOUBLED = np.arange(4.0)


def test_an_op_that_writes_into_what_it_is_given_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_function", dict(registry._by_function))  # other tests look at every op
    gs.rule(gs.op(doubled_in_place).fn, x=lambda g: 2.0 * g)
    for function, x in (
        (lambda x: doubled_in_place(x) * 3.0, np.arange(4.0)),
        (lambda x: doubled_in_place(DOUBLED) * x, 3.0),
    ):
        compiled = gs.compile(function)
        with pytest.warns(gs.EagerWarning, match="it writes into `(x|DOUBLED)`, which it was not known to do"):
            found = compiled(x)
        np.testing.assert_array_equal(found, (2.0 * np.arange(4.0) + 1.0) * 3.0)


@pytest.mark.usefixtures("believed_new")
def test_a_wrong_fact_is_found_on_each_path() -> None:
    def f(x: Any, way: Any) -> Any:
        return np.ravel(x) + 3.0 if bool(way > 0) else np.sin(x)

    x = np.arange(4.0)
    compiled = gs.compile(f)
    for way in (-1.0, -2.0, -3.0):
        compiled(x, way)
    with pytest.warns(gs.EagerWarning, match="it writes into `x`"):
        np.testing.assert_array_equal(compiled(x, 1.0), np.arange(4.0) + 3.0)
    np.testing.assert_array_equal(x, np.arange(4.0))
