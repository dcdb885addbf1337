"""Questions whether arrays are alike: a compiled function asks them at each call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

ONE = np.array([1.0, 2.0, np.nan])
ASKED: dict[str, Callable[[Any], Any]] = {
    "allclose": lambda x: np.allclose(x, [0.5, 0.2, 0.3], atol=0.01),
    "allclose of a number": lambda x: np.allclose(x[0], 0.5, atol=0.01),
    "array_equal": lambda x: np.array_equal(x, np.sort(x)),
    "array_equal of lists": lambda x: np.array_equal([x[0], x[1]], [0.5, 0.2]),
    "array_equal of other shapes": lambda x: np.array_equal(x, x[:2]),
    "array_equal of NaN": lambda x: np.array_equal(x * ONE, np.minimum(x, 0.4) * ONE, equal_nan=True),
    "a number of NumPy's before it": lambda x: np.any(np.float64(0.2) >= x) and np.finfo(float).eps < x[0],
    "equal to a number of NumPy's": lambda x: np.any(np.float64(0.2) == x),
    "array_equiv": lambda x: np.array_equiv(x[:1], np.minimum(x[0], 0.4)),
    "array_equiv of other shapes": lambda x: np.array_equiv(x, x[:2]),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("in_a_branch", [False, True])
def test_a_question_is_asked_at_each_call(name: str, in_a_branch: bool) -> None:
    asked = ASKED[name]

    def straight(x: Any) -> Any:
        return np.sum(x * x) if asked(x) else np.sum(x)

    def branch(x: Any) -> Any:
        r = x[1]
        if x[2] > 0.1:
            r = asked(x) * 1.0 + r
        return r * x[0]

    f = branch if in_a_branch else straight
    compiled = gs.compile(gs.value_and_grad(f))
    with warnings.catch_warnings():
        warnings.simplefilter("error", gs.EagerWarning)
        for x in ([0.5, 0.2, 0.3], [0.2, 0.3, 0.5], [0.5, 0.2, 0.3], [0.2, 0.3, 0.3], [0.9, 0.8, 0.7], [0.1, 0.2, 0.3]):
            point = np.array(x)
            for found, expected in zip(compiled(point), gs.value_and_grad(f)(point), strict=True):
                np.testing.assert_array_equal(found, expected)
            np.testing.assert_allclose(compiled(point)[0], f(point))
