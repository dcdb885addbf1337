"""Lengths that are elements of arrays: `x[: ends[0]]`, `np.zeros(n[0])`. Other lengths make another source, never a wrong one."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler

import gradscribe as gs

X, Y = np.arange(5.0) + 1.0, np.arange(3.0) + 2.0
ONE_AND_THREE = [np.array([0, k]) for k in (1, 3, 1, 0)]  # 1 broadcasts
EITHER_AXIS = [np.array([0, k]) for k in (0, 1, 0)]
Call = Callable[[Any, Any], Any]


def by_loop(x: Any, e: Any) -> Any:
    total = 0.0
    for a, b in itertools.pairwise(e):
        total = total + np.sum((x[a:b] + Y) ** 2)
    return total


def into_a_part(x: Any, e: Any) -> Any:
    out = np.zeros(5)
    out[: e[1]] = x[:1]
    return out[:3]


def of_a_part(x: Any, e: Any) -> Any:
    out = np.zeros(5)
    out[:3] = x[: e[1]]
    return out[:3]


PROGRAMS: dict[str, tuple[Call, list[Any]]] = {
    "slice": (lambda x, e: x[e[0] : e[1]] + Y, ONE_AND_THREE),
    "slice from behind": (lambda x, e: x[-e[1] :][:3] + Y, ONE_AND_THREE),
    "steps": (lambda x, e: x[:: e[1]][:3] + Y, [np.array([0, k]) for k in (5, 2, 5)]),
    "slice()": (lambda x, e: x[slice(e[1])] + Y, ONE_AND_THREE),
    "computed": (lambda x, e: x[np.minimum(e[0], e[1]) : np.sum(e)] + Y, ONE_AND_THREE),
    "of a matrix": (lambda x, e: np.outer(x, x)[e[1], : e[1]] + Y, ONE_AND_THREE),
    "written into": (into_a_part, ONE_AND_THREE),
    "written": (of_a_part, ONE_AND_THREE),
    "two parts": (lambda x, e: np.concatenate([x[: e[1]], x[e[1] : 3]]) + Y, ONE_AND_THREE),
    "zeros": (lambda x, e: np.zeros(e[1]) + Y * x[:3], ONE_AND_THREE),
    "ones, two axes": (lambda x, e: np.ones((e[1], 3)) * x[:3], ONE_AND_THREE),
    "ones of an array": (lambda x, e: np.ones(e[1:]) + Y * x[:3], ONE_AND_THREE),
    "eye": (lambda x, e: np.eye(e[1]) + Y * x[0], ONE_AND_THREE),
    "arange": (lambda x, e: np.arange(e[1]) * x[:3], ONE_AND_THREE),
    "arange of floats": (lambda x, e: np.arange(0.0, e[1]) * x[:3], [1.0 * e for e in ONE_AND_THREE]),
    "linspace": (lambda x, e: np.linspace(x[0], x[1], e[1]) + Y, ONE_AND_THREE),
    "repeat": (lambda x, e: np.repeat(x[:1], e[1]) + Y, ONE_AND_THREE),
    "tile": (lambda x, e: np.tile(x[:1], e[1]) + Y, ONE_AND_THREE),
    "tile of an array": (lambda x, e: np.tile(x[:1], e[1:]) + Y, ONE_AND_THREE),
    "broadcast_to": (lambda x, e: np.broadcast_to(x[:1], e[1]) + Y, ONE_AND_THREE),
    "broadcast_to of an array": (lambda x, e: np.broadcast_to(x[:1], e[1:]) + Y, ONE_AND_THREE),
    "resize": (lambda x, e: np.resize(x, e[1]) + Y, ONE_AND_THREE),
    "split": (lambda x, e: np.split(x, [e[1]])[0] + Y, ONE_AND_THREE),
    "split of an array": (lambda x, e: np.split(x, e[1:])[0] + Y, ONE_AND_THREE),
    "reshape": (lambda x, e: x[:3].reshape(e[0], e[1]) + Y, [np.array(s) for s in ((1, 3), (3, 1), (1, 3))]),
    "delete": (lambda x, e: np.delete(x, np.arange(e[1], 5)) + Y, ONE_AND_THREE),
    "rfft": (lambda x, e: np.fft.rfft(x, e[1]).real + Y * x[:3], [np.array([0, k]) for k in (1, 5, 1)]),
    "diag": (lambda x, e: np.diag(np.outer(x[:3], x[:3]), e[1]) + Y, [np.array([0, k]) for k in (2, 0, 2)]),
    "axis": (lambda x, e: np.sum(np.outer(x[:3], x[:1]), axis=e[1]) + Y, EITHER_AXIS),
    "loop": (by_loop, [np.array(e) for e in ([0, 1, 2, 3], [0, 3, 4], [0, 1, 2, 5], [0, 1, 4])]),
}


def given(f: Any, *args: Any) -> Any:
    """What a call gives, or that it raises."""
    try:
        return f(*args).tolist()
    except (ValueError, ZeroDivisionError):
        return "raises"


@pytest.mark.filterwarnings("ignore:.*empty slice", "ignore:invalid value")
@pytest.mark.parametrize("target", ["numpy", pytest.param("native", marks=needs_compiler)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_another_length_is_never_wrong(name: str, target: str) -> None:
    program, lengths = PROGRAMS[name]

    def loss(x: Any, e: Any) -> Any:
        return np.sum(program(x, e) ** 2)

    eager = gs.grad(loss)
    compiled = gs.compile(eager, target=target)
    for e in [lengths[0], lengths[0], *lengths, *lengths]:
        found, expected = given(compiled, X, e), given(eager, X, e)
        if target == "native" and expected != "raises":
            expected = pytest.approx(expected, rel=1e-14)
        assert found == expected
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled.specialisation(X, lengths[0])  # which raises where it runs eagerly


def test_an_array_from_outside_that_changes() -> None:
    ends = np.array([0, 1])
    compiled = gs.compile(gs.grad(lambda x: np.sum((x[: ends[1]] + Y) ** 2)))
    for k in (1, 1, 1, 3, 1, 2, 0):
        ends[1] = k
        assert given(compiled, X) == given(gs.grad(lambda x: np.sum((x[: ends[1]] + Y) ** 2)), X)


def test_an_element_that_is_a_place_leaves_lengths_free() -> None:
    compiled = gs.compile(gs.grad(lambda x, i: x[i[0]] ** 2 * np.sum(x[i])))
    for n in (5, 5, 5, 9, 12):
        compiled(np.arange(float(n)), np.array([2, 1]))
    assert len(gs.explain(compiled).specialisations) == 1


# Lengths that follow from values: one source for all, of which each is checked once.

Z = np.round(np.random.default_rng(1).normal(size=(24, 30)), 1)
BY_VALUE: dict[str, Callable[[Any], Any]] = {
    "mask": lambda x: x[x > 0],
    "mask of rows": lambda x: x.reshape(-1, 2)[x[:15] > 0],
    "mask of a column": lambda x: x.reshape(-1, 2)[x[:15] > 0, 1],
    "mask of a matrix": lambda x: np.outer(x[:5], x[:5])[np.outer(x[:5], x[:5]) > 0],
    "mask beside a slice": lambda x: np.outer(x, x)[:3, x > 0].T,
    "mask beside places": lambda x: np.outer(x, x)[np.array([0, 1, 2])][:, x > 0].T,
    "two masks": lambda x: np.concatenate([x[x > 0], x[x < -1.0]]),
    "nonzero": lambda x: x.nonzero()[0],
    "flatnonzero": lambda x: np.flatnonzero(x > 0),
    "argwhere": lambda x: np.argwhere(x > 0),
    "where": lambda x: np.where(x > 0)[0],
    "compress": lambda x: x.compress(x > 0),
    "extract": lambda x: np.extract(x > 0, x),
    "repeat": lambda x: np.repeat(x, (x > 0).astype(int)),
    "unique": np.unique,
    "unique counts": lambda x: np.unique(x, return_counts=True)[1],
    "unique rows": lambda x: np.unique(np.round(x).reshape(-1, 2), axis=0),
    "union1d": lambda x: np.union1d(x, Y),
    "intersect1d": lambda x: np.intersect1d(x[15:], x[:15]),
    "setdiff1d": lambda x: np.setdiff1d(x, x[:15]),
    "setxor1d": lambda x: np.setxor1d(x, x[:15]),
    "delete": lambda x: np.delete(x, np.round(np.abs(x)).astype(int)),
    "delete by a mask": lambda x: np.delete(x, x > 0),
    "ix_": lambda x: np.ix_(x > 0)[0],
    "bincount": lambda x: np.bincount(np.round(np.abs(x) * 5).astype(int)),
    "roots": lambda x: np.roots(np.where(x[:6] > 0, x[:6], 0.0)),
    "trim_zeros": lambda x: np.trim_zeros(np.where(x > 0.3, x, 0.0)),
    "arange": lambda x: np.arange(0.0, np.sum(np.abs(x)), 1.0),
    "count": lambda x: np.zeros(np.sum(x > 0)),
    "from a place on": lambda x: x[np.argmax(x) :],
}


@pytest.mark.parametrize("name", BY_VALUE)
@pytest.mark.parametrize("decides", [True, False], ids=["decides", "counts"])
def test_a_length_by_values_is_never_taken_for_another(name: str, decides: bool) -> None:
    function = BY_VALUE[name]
    half = float(np.median([len(function(x)) for x in Z])) + 0.5

    def loss(x: Any) -> Any:
        n = len(function(x))
        return np.sum(x**2) * (
            (2.0 if half < n else 3.0) if decides else n
        )  # a float asks no int what it is compared with

    compiled = gs.compile(gs.grad(loss))
    for x in Z:
        np.testing.assert_array_equal(compiled(x), gs.grad(loss)(x))


def test_peaks_are_counted_anew() -> None:
    signal = pytest.importorskip("scipy.signal")

    def loss(x: Any) -> Any:
        return np.sum(x**2) * (2.0 if 8.5 < len(signal.find_peaks(x)[0]) else 3.0)  # noqa: SIM300

    compiled = gs.compile(gs.grad(loss))
    for x in Z:
        np.testing.assert_array_equal(compiled(x), gs.grad(loss)(x))


@pytest.mark.parametrize("target", ["numpy", pytest.param("native", marks=needs_compiler)])
def test_one_source_serves_all_counts_of_a_mask(target: str) -> None:
    def loss(x: Any) -> Any:
        y = x[x > 0]
        return np.sum(np.log(y)) / len(y) + y @ y

    compiled = gs.compile(gs.grad(loss), target=target)
    rng = np.random.default_rng(0)
    counts = set()
    for n in rng.choice([40, 70], size=80):
        x = rng.normal(size=n)
        counts.add((n, np.sum(x > 0)))
        np.testing.assert_allclose(compiled(x), gs.grad(loss)(x), rtol=1e-13)
    assert len(counts) > 25
    [one] = gs.explain(compiled).specialisations
    assert one.runs.startswith("native" if target == "native" else "")
    assert "if y.size not in checked_lengths:\n        return NotImplemented  # no call had such lengths yet" in str(
        compiled.source(x)
    )


def test_masks_that_are_equally_long_by_chance() -> None:
    def loss(x: Any) -> Any:
        a, b = x[x > 0], x[x < 0]
        return np.sum(a**2) * len(b) + (np.sum(a * b) if len(a) == len(b) else np.sum(b))

    compiled = gs.compile(gs.grad(loss))
    for row in [
        [1.0, 2, -1],
        [1.0, 2, 3],
        [1.0, 2, -3],
        [1.0, -2, -3],
        [-1.0, -2, -3],
        [-1.0, 2, -3],
        [1.0, -2, 3],
    ] * 3:
        for x in (np.array(row), np.array([*row, -1.0]), np.array([*row, *row])):
            np.testing.assert_array_equal(compiled(x), gs.grad(loss)(x))


def test_the_same_mask_is_asked_once() -> None:
    def loss(x: Any) -> Any:
        a, b = x[x > 0], np.sin(x)[x > 0]
        return np.sum(a * b) + len(b)

    compiled = gs.compile(gs.grad(loss))
    assert "if a.size not in checked_lengths:" in str(compiled.source(Z[0]))


def test_a_length_that_no_call_had_may_raise_in_the_source() -> None:
    weights = np.arange(3.0)

    def loss(x: Any) -> Any:
        y = x[x > 0]
        if 2.5 < len(y) < 3.5:
            return y @ weights
        return np.sum(y**3)

    compiled = gs.compile(gs.grad(loss))
    for row in [[1.0, 2, 3, -1], [1.0, 2, 4, -3], [1.0, 2, 4, 3], [1.0, 2, -4, -3], [-2.0, 2, 4, 3], [1.0, 2, 1, 3]]:
        np.testing.assert_array_equal(compiled(np.array(row)), gs.grad(loss)(np.array(row)))


def test_what_is_drawn_and_printed_behind_a_mask_happens_once(capsys: pytest.CaptureFixture[str]) -> None:
    rng, other = np.random.default_rng(0), np.random.default_rng(0)

    def loss(x: Any, rng: Any) -> Any:
        y = x[x > 0]
        print("positive", len(y))
        return np.sum(y**2) * rng.normal()

    compiled = gs.compile(gs.grad(loss))
    for x in Z:
        found = compiled(x, rng)
        printed = capsys.readouterr().out
        np.testing.assert_array_equal(found, gs.grad(loss)(x, other))
        assert printed == capsys.readouterr().out
    assert rng.random() == other.random()


def test_lengths_that_seldom_come_twice_run_eagerly_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradscribe.transforms.compiler.driver.specialise._LEARNT", 3)
    monkeypatch.setattr("gradscribe.transforms.compiler.driver.compiled.MANY", 4)
    compiled = gs.compile(gs.grad(lambda x: np.sum(x[x > 0] ** 2)))
    calls = [np.array([1.0] * k + [-1.0] * (20 - k)) for k in range(2, 14)]
    with pytest.warns(gs.EagerWarning, match="seldom the same twice"):
        found = list(map(compiled, calls))
    for x, gradient in zip(calls, found, strict=True):
        np.testing.assert_array_equal(gradient, np.where(x > 0, 2 * x, 0))
    assert gs.explain(compiled).eager[0].calls


def test_a_variable_may_have_the_name_that_the_source_has_for_lengths() -> None:
    def loss(x: Any) -> Any:
        checked_lengths = x[x > 0]
        return np.sum(checked_lengths**2) / len(checked_lengths)

    compiled = gs.compile(gs.grad(loss))
    for x in Z:
        np.testing.assert_array_equal(compiled(x), gs.grad(loss)(x))


def test_an_export_has_the_count_that_it_was_made_with() -> None:
    def loss(x: Any) -> Any:
        y = x[x > 0]
        return np.sum(y**2) / len(y)

    space: dict[str, Any] = {}
    exec(str(gs.export(loss, np.array([1.0, 2.0, -1.0]))), space)
    assert space["loss_grad"](np.array([3.0, -1.0, 2.0])).tolist() == [3.0, 0.0, 2.0]
    with pytest.raises(ValueError, match="another path"):
        space["loss_grad"](np.array([3.0, 1.0, 2.0]))


def test_explain_says_that_lengths_follow_from_values() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(x[x > 0] ** 2)))
    for x in Z:
        compiled(x)
    report = gs.explain(compiled)
    assert any("lengths that follow from values" in str(a) for a in report.specialisations[0].assumptions)
