"""Facts that ops state of themselves, against what NumPy and SciPy do: bounds, and the forms that share them."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
from scipy import special

from gradscribe.runtime import ops
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import ops_of, require

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
