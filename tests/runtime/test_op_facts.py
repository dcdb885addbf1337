"""Facts that ops state of themselves, against what NumPy and SciPy do: bounds, singular points, and the forms that share them."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.runtime import lookup, ops
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import ops_of, require

from checks import TABLE, Case, cases, name_of
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
