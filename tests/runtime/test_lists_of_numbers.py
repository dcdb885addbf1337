"""Ops that are given lists of differentiated numbers in place of arrays: the gradient is that of arrays, or it raises."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from scipy import interpolate, ndimage, stats

import gradscribe as gs
from gradscribe import GradientLossError, NoRuleError

from checks import Case, cases, others, thinned

BODY = """
def listed(x):
    return [listed(v) for v in x] if x.ndim else x
def loss({names}):
    r = fn({args})
    return np.sum(np.real(np.sin(r[0] if isinstance(r, (tuple, list)) else r)))
"""


def written(case: Case, lists: int) -> Callable[..., Any]:
    """A loss of the op, written as a user would, the array at a place being a list."""
    names = list("xyzuv"[: len(case.shapes)])
    space: dict[str, Any] = dict(case.function().__globals__)
    text = case.function().__code__
    words = [f"{k}=_options[{k!r}]" for k in case.options]
    space["_options"] = case.options
    args = [f"listed({n})" if k == lists else n for k, n in enumerate(names)]
    exec(compile(BODY.format(names=", ".join(names), args=", ".join([*args, *words])), text.co_filename, "exec"), space)
    return space["loss"]  # type: ignore[no-any-return]


def problems(chosen: Iterable[Case]) -> tuple[list[str], int]:
    found, right = [], 0
    for case in chosen:
        if not case.sample.differentiable or case.sample.integer or any(0 in s for s in case.shapes):
            continue
        xs = case.sample.draw(case.generator(), case.shapes)
        for k, x in enumerate(xs):
            if not x.ndim:
                continue
            ours, arrays = written(case, k), written(case, -1)
            try:
                plain, expected = ours(*xs), gs.grad(arrays, k)(*xs)
            except Exception:  # the op takes no lists, or has no gradient there
                continue
            if not np.allclose(plain, arrays(*xs), equal_nan=True):
                continue  # a list is another thing to it
            for gradient in (gs.grad(ours, k), gs.compile(gs.grad(ours, k))):
                try:
                    same = np.allclose(gradient(*xs), expected, equal_nan=True)
                except (GradientLossError, NoRuleError):
                    continue
                right += same
                if not same:
                    found.append(f"{case.label}, argument {k}")
    return found, right


@pytest.mark.filterwarnings("ignore")
def test_of_lists_the_gradient_is_that_of_arrays_or_it_raises() -> None:
    found, right = problems(thinned(cases(), firsts=False, part=100))
    assert (found, right > 20) == ([], True)


PARTS = 12  # one test of all would take minutes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_of_lists_the_gradient_is_that_of_arrays_or_it_raises_for_each_op(part: int) -> None:
    found, right = problems(list(others(cases(), firsts=False, part=100))[part::PARTS])
    assert (found, right > 100) == ([], True)


IMAGE = np.arange(9.0).reshape(3, 3) ** 2
NESTED: dict[str, Callable[[Any], Any]] = {
    "map_coordinates": lambda x: np.sum(ndimage.map_coordinates(np.outer(x, x), [[x[0] * 0.5], [1.2]], order=1)),
    "map_coordinates of a constant": lambda x: np.sum(ndimage.map_coordinates(IMAGE, [[x[0] * 0.5], [x[1]]], order=1)),
    "multivariate_normal": lambda x: stats.multivariate_normal.logpdf(
        [x[0], 0.1], [0.0, x[1]], [[2.0, x[2]], [x[2], 3.0]]
    ),
    "RegularGridInterpolator": lambda x: np.sum(
        interpolate.RegularGridInterpolator(([0, 1, 2.0], [0, 1, 2.0]), np.outer(x, x))([[0.5, x[0]]])
    ),
    "np.corrcoef beside a list": lambda x: np.corrcoef(x, [1.0, 3.0, 2.0])[0, 1],
    "np.cov of lists": lambda x: np.sum(np.cov([x[0], x[1]], [x[2], 3.0])),
    "np.insert into a list": lambda x: np.prod(np.insert([1.0, 2.0], 1, x[0])),
    "a density at lists": lambda x: np.sum(stats.norm.logpdf([0.1, 0.2], loc=[x[0], x[1]], scale=x[2])),
    "probabilities of lists": lambda x: np.sum(stats.poisson.logpmf([1, 2], [x[0], x[1]])),
    "np.array": lambda x: np.sum(np.array([[x[0], 1.0], [2.0, x[1] * x[2]]]) ** 2),
    "np.array, copied if needed": lambda x: np.sum(np.array([x[0], x[1]], copy=np._CopyMode.IF_NEEDED) ** 2),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("name", NESTED)
def test_numbers_in_lists_of_lists_keep_their_gradients(name: str) -> None:
    f, x, h = NESTED[name], np.array([0.5, 1.2, 0.3]), 1e-6
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(gs.grad(f)(x), expected, rtol=1e-6, atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        np.testing.assert_array_equal(gs.compile(gs.grad(f))(x), gs.grad(f)(x))
