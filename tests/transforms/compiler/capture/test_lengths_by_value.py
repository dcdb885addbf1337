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
