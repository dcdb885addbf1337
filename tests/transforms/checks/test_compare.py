"""gs.compare: its figures are right, it agrees where it should, and it says NO, or why, where it should."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.registry import require
from gradscribe.transforms.checks.finite import ENTRIES
from gradscribe.transforms.compiler.driver import specialise


def loss(w, b, x, y):
    h = np.tanh(x @ w + b)
    return np.mean((h - y) ** 2)


@pytest.fixture
def arrays(rng):
    return rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(5, 4)), rng.normal(size=(5, 3))


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


# --- what it compares -----------------------------------------------------------------------------------------------


def test_a_plain_function_is_compared_in_every_float_argument(arrays):
    found = gs.compare(loss, *arrays)
    assert found.ok
    assert found.compiled
    assert [row.argument for row in found.rows] == ["w", "b", "x", "y"]
    assert [row.type for row in found.rows] == ["float64[4, 3]", "float64[3]", "float64[5, 4]", "float64[5, 3]"]
    for row, expected in zip(found.rows, gs.grad(loss, argnums=(0, 1, 2, 3))(*arrays), strict=True):
        np.testing.assert_array_equal(row.eager, expected)
        np.testing.assert_array_equal(row.compiled, expected)
        assert row.same_bits
        assert row.compiled_absolute == row.compiled_relative == 0
        assert 0 < row.finite_absolute < 1e-8
        assert row.finite_relative == row.finite_absolute / np.max(np.abs(row.finite.expected))
    assert found.evaluations == 1 + 2 * 12 + 1 + 2 * 3 + 1 + 2 * 20 + 1 + 2 * 15


@pytest.mark.parametrize(
    "transformed",
    [
        gs.grad(loss, argnums=(1, "y")),
        gs.value_and_grad(loss, argnums=(1, "y")),
        gs.compile(gs.grad(loss, argnums=(1, "y"))),
        gs.compile(gs.value_and_grad(loss, argnums=(-3, 3)), verify="first calls"),
    ],
)
def test_a_transform_is_compared_in_what_it_differentiates(transformed, arrays):
    found = gs.compare(transformed, *arrays)
    assert found.ok
    assert [row.argument for row in found.rows] == ["b", "y"]
    assert transformed.compare(*arrays).ok
    assert gs.compare(transformed, *arrays[:3], y=arrays[3]).ok


def test_leaves_of_trees_have_a_row_each():
    def f(p, n):
        return np.sum(p["layer"].w @ p["rest"][0]) ** n + p["layer"].b * p["rest"][1]

    tree = {"layer": Layer(np.ones((2, 3)), 2.0), "rest": [np.arange(3.0), np.float32(1.5)]}
    found = gs.compare(f, tree, 2)
    assert found.ok
    assert {row.argument: row.type for row in found.rows} == {
        "p['layer'].w": "float64[2, 3]",
        "p['layer'].b": "float",
        "p['rest'][0]": "float64[3]",
        "p['rest'][1]": "float32",
    }
    assert found.notes == ["not differentiated: n (int64)"]


def test_has_aux_and_keywords_and_second_order(rng):
    found = gs.compare(gs.grad(lambda x, *, a: (np.sum(np.sin(a * x)), "aux"), has_aux=True), rng.normal(size=3), a=2.0)
    assert found.ok
    found = gs.compare(lambda x, *, a: np.sum(np.sin(a * x)), rng.normal(size=3), a=2.0)
    assert [row.argument for row in found.rows] == ["x", "a"]
    assert found.ok
    found = gs.compare(gs.grad(gs.grad(lambda x: np.sin(x) * x**3)), 1.3)
    assert found.ok
    assert found.rows[0].eager == pytest.approx(6 * 1.3 * np.sin(1.3) + 6 * 1.3**2 * np.cos(1.3) - 1.3**3 * np.sin(1.3))
    assert "gs.grad of <lambda>" in str(found)


class Model:
    x = np.arange(6.0).reshape(2, 3)

    @gs.grad(argnums=1)
    def decorated(self, w):
        return np.sum((self.x @ w) ** 2)

    def plain(self, w):
        return np.sum((self.x @ w) ** 2)


def test_methods_are_compared():
    for method in (Model().decorated, Model().plain):
        found = gs.compare(method, np.ones(3))
        assert found.ok
        assert [row.argument for row in found.rows] == ["w"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128])
def test_every_dtype_agrees(dtype, rng):
    x = rng.normal(size=(3, 2)).astype(dtype)
    if x.dtype.kind == "c":
        x = x + 1j * rng.normal(size=(3, 2)).astype(dtype)

    def f(x):
        return np.sum(np.abs(np.sin(x) * x) ** 2)

    found = gs.compare(f, x)
    assert found.ok, found
    assert found.rows[0].eager.dtype == dtype


def test_numbers_and_zero_sizes_and_layouts_agree(rng):
    assert gs.compare(np.sin, 0.5).ok
    assert gs.compare(lambda x: np.sum(x), np.ones((0, 3))).ok
    x = rng.normal(size=(6, 4))
    assert gs.compare(lambda x: np.sum(np.exp(x) @ x.T), x[::2, ::-1]).ok
    assert gs.compare(lambda x: np.sum(np.exp(x) @ x.T), np.asfortranarray(x)).ok
    assert gs.compare(lambda x: np.sum(np.log(x)), np.array([1e-4, 1.0, 1e8])).ok  # steps of other sizes are tried


def test_a_large_argument_is_sampled_the_same_way_each_time(rng):
    x = rng.normal(size=(100, 30))
    first, second = (gs.compare(lambda x: np.sum(np.tanh(x) ** 2), x) for _ in range(2))
    assert first.ok
    assert first.rows[0].finite.sampled
    assert len(first.rows[0].finite.found) == ENTRIES + 8
    assert first.evaluations == 1 + 2 * (ENTRIES + 8)
    np.testing.assert_array_equal(first.rows[0].finite.found, second.rows[0].finite.found)
    assert "x: 24 entries, 8 directions" in str(first)
    assert gs.compare(lambda x: np.sum(np.tanh(x) ** 2), x.astype(np.float32)).ok


# --- where it must not agree ----------------------------------------------------------------------------------------


@pytest.fixture
def faulty_sin():
    vjps = require(np.sin).vjps
    before = vjps["x"]
    gs.rule(np.sin, x=lambda g, x: g * np.cos(x) * 1.001)
    yield
    gs.rule(np.sin, x=lambda g, x: g * np.cos(x))
    vjps["x"] = before


@pytest.mark.parametrize("size", [5, 5000])
@pytest.mark.usefixtures("faulty_sin")
def test_a_wrong_rule_is_seen(size, rng):
    found = gs.compare(lambda x: np.sum(np.sin(x)), rng.normal(size=size))
    assert not found.ok
    assert found.rows[0].same_bits  # eager and compiled are wrong alike
    assert found.rows[0].finite_relative == pytest.approx(1e-3, rel=0.1)
    assert "THEY DISAGREE" in str(found)
    assert str(found).splitlines()[4].endswith("NO")


def test_a_wrong_compiler_is_seen(monkeypatch, rng):
    emit = specialise.emit
    monkeypatch.setattr(specialise, "emit", lambda *args: emit(*args).replace("np.cos", "np.sin"))
    found = gs.compare(lambda x: np.sum(np.sin(x)), rng.normal(size=3))
    assert not found.ok
    assert not found.compiled
    assert "another result" in str(found)
    assert "report it" in str(found)


def test_infinite_and_undefined_gradients_are_said(rng):
    found = gs.compare(lambda x: np.sum(np.sqrt(x)), np.array([0.0, 1.0]))
    assert not found.ok
    assert np.isnan(found.rows[0].finite_absolute)
    assert "x: 1 of 2 entries of the gradient are inf or nan" in found.notes
    assert "x: the function is inf or nan within a step of the argument" in found.notes
    assert not gs.compare(lambda x: np.sum(x), np.array([np.nan, np.inf])).ok


def test_a_kink_is_no_error():
    found = gs.compare(lambda x: np.sum(np.where(x > 0, 3 * x, x)), np.array([-1.0, 0.0, 1.0]))
    assert found.ok
    assert found.rows[0].finite.kinks == 1
    assert "at a kink" in str(found)
    assert gs.compare(lambda x: np.sum(np.abs(x)), np.array([-1.0, 0.0])).ok


def test_a_slope_that_is_not_finite_leaves_the_others_alone():
    with np.errstate(all="ignore"):
        found = gs.compare(lambda x: np.sum(np.sqrt(x)), np.array([0.0, 4.0, 9.0]))
    (row,) = found.rows
    assert not row.ok
    assert np.isfinite(row.finite.expected).tolist() == [False, True, True]
    np.testing.assert_allclose(row.finite.found[1:], [1 / 4, 1 / 6], rtol=1e-8)


def test_a_random_function_cannot_be_compared():
    found = gs.compare(lambda x: np.sum(x * np.random.normal(size=3)), np.ones(3))
    assert not found.ok
    assert "the function gives another value at each call: finite differences mean nothing" in found.notes


# --- what runs eagerly ----------------------------------------------------------------------------------------------


def test_what_runs_eagerly_is_compared_and_said(rng):
    def f(x):
        x[0] = 2 * x[1]
        open(os.devnull).close()
        return np.sum(x**2)

    x = np.array([1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gs.compare(f, x)
    assert found.ok
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])  # f writes into copies
    np.testing.assert_array_equal(found.rows[0].eager, [0.0, 20.0, 6.0])
    assert (found.compiled, found.compiled_seconds, found.rows[0].compiled) == (False, None, None)
    assert found.runs_eagerly is not None
    assert "test_compare.py" in found.runs_eagerly
    assert "open" in found.runs_eagerly
    assert found.table()[0][2:5] == ["-", "-", "-"]
    overlapping = gs.compare(lambda x, y: np.sum(x * y), x, x)
    assert overlapping.ok
    assert overlapping.runs_eagerly is None


# --- bad input ------------------------------------------------------------------------------------------------------


def test_a_function_that_writes_into_its_argument(rng):
    def f(x):
        y = x[::-1]
        y[0] = y[0] ** 2
        return np.sum(x * y)

    assert gs.compare(gs.grad(f), rng.normal(size=3)).ok


def test_bad_input():
    with pytest.raises(gs.ShapeError, match="scalar output"):
        gs.compare(lambda x: x * 2, np.ones(3))
    with pytest.raises(gs.DtypeError, match=r"called with x \(int64\), flag \(NoneType\)"):
        gs.compare(lambda x, flag: np.sum(x), np.arange(3), None)
    with pytest.raises(gs.DtypeError, match="int64"):
        gs.compare(gs.grad(lambda x: np.sum(x)), np.arange(3))
    with pytest.raises(TypeError, match=r"gs\.compare takes a function, not int"):
        gs.compare(3, 1.0)
    with pytest.raises(ZeroDivisionError):
        gs.compare(lambda x: x / (1 // 0), 1.0)


# --- how it looks ---------------------------------------------------------------------------------------------------


def test_the_table_fits_a_screen(arrays):
    found = gs.compare(loss, *arrays)
    text = str(found)
    assert repr(found) == text
    assert max(map(len, text.splitlines())) <= 100
    assert "b         float64[3]     |        0         0  same |" in text
    assert "times as fast" in text
    long = {f"a_rather_long_name_of_a_parameter_{k}": np.ones(100) for k in range(8)}
    text = str(gs.compare(lambda p, unused_labels: sum(np.sum(v) for v in p.values()), long, np.arange(3)))
    assert max(map(len, text.splitlines())) <= 100


def test_the_table_of_a_notebook(arrays):
    found = gs.compare(lambda x: np.sum(x * x), arrays[0])
    text = found._repr_html_()
    assert text.count("<tr>") == 3
    assert "gradient of &lt;lambda&gt;: all agree" in text


def test_methods_of_transforms(arrays):
    gradient = gs.grad(loss)
    assert gradient.source(*arrays) == gs.source(gradient, *arrays)
    np.testing.assert_array_equal(gradient.compile()(*arrays), gradient(*arrays))
    text = str(gradient.graph(*arrays))
    assert text.splitlines()[0] == "inputs: %0: float64[4, 3], %1: float64[3], %2: float64[5, 4], %3: float64[5, 3]"
    assert "np.tanh(x=%" in text
    assert repr(gradient.graph(*arrays)) == text
    compiled = gradient.compile(verify="first calls")
    assert compiled.source(*arrays) == gradient.source(*arrays)
    assert compiled.compare(*arrays).ok
