"""Every rule against finite differences and against itself run in other ways, on the samples of every op."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime import lookup, ops

from checks import (
    SAMPLES,
    SMOOTH,
    TABLE,
    TWICE,
    Case,
    cases,
    compiled_problem,
    dtypes_of,
    eager_problem,
    every,
    fail_on,
    gradient_problem,
    others,
    second_problem,
    single_problem,
    tensor_problem,
    thinned,
    variants,
    with_weights,
)
from samples import BINARY, Sample
from samples_python import SAMPLES_PYTHON

PAIRS = (
    ((3, 4), (4,)), ((4,), (3, 4)), ((), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((2, 3, 1), (4,)), ((1,), (3,)),
    ((1, 1), (2, 3)), ((2, 3), (1, 1)), ((0,), (1,)), ((2, 0), (1,)), ((1, 3), (2, 1, 3)),
)  # fmt: skip


OF_PYTHON = {s.fn for s in SAMPLES_PYTHON if s.scoped}  # of bare Tensors these are plain numbers


@every(SMOOTH)
def test_gradients_are_what_finite_differences_say(samples: list[Sample]) -> None:
    fail_on([(c, np.dtype(d).name, gradient_problem(c, d)) for c in cases(samples) for d in dtypes_of(c)])


@every(TWICE)
def test_second_derivatives_are_what_finite_differences_say(samples: list[Sample]) -> None:
    fail_on([(c, np.dtype(d).name, second_problem(c, d)) for c in cases(samples) for d in dtypes_of(c)])


@every([s for s in SMOOTH if s.shapes is BINARY])
def test_gradients_are_summed_over_broadcast_axes(samples: list[Sample]) -> None:
    wider = [dataclasses.replace(s, shapes=PAIRS) for s in samples]
    fail_on([(c, "", gradient_problem(c)) for c in cases(wider)])


@every(SMOOTH)
def test_float32_stays_float32(samples: list[Sample]) -> None:
    fail_on([(c, "", single_problem(c)) for c in cases(samples)])


@every([s for s in SAMPLES if s.fn not in OF_PYTHON])
def test_tensors_give_what_arrays_give(samples: list[Sample]) -> None:
    fail_on([
        (c, label, tensor_problem(c, c.function(), xs))
        for c in cases(samples) for label, runs in variants(c) for xs in runs
    ])  # fmt: skip


def check_backward(chosen: Iterable[Case]) -> None:
    """Check bare Tensors' backward() against gs.grad."""
    with np.errstate(all="ignore"):
        fail_on([
            (c, label, eager_problem(c, runs))
            for c in chosen if c.shapes for label, runs in variants(c, edges=False) if label not in ("python", "numpy")
        ])  # fmt: skip


def check_compiled(chosen: Iterable[Case], made: Callable[[Case, Any], tuple[Any, Any]]) -> None:
    """Check a function made of each case against its compiled form."""
    problems: list[tuple[Case, str, str | None]] = []
    for case in chosen:
        for label, runs in variants(case):
            try:
                problem = compiled_problem(*made(case, runs))
            except gs.VerifyError as error:
                problem = str(error)
            problems.append((case, label, problem))
    fail_on(problems)


def plain(case: Case, runs: Any) -> tuple[Any, Any]:
    return case.function(), runs


def first_order(case: Case, runs: Any) -> tuple[Any, Any]:
    loss, inputs = with_weights(case, runs)
    return gs.value_and_grad(loss, argnums=tuple(range(len(case.shapes)))), inputs


def second_order(case: Case, runs: Any) -> tuple[Any, Any]:
    loss, inputs = with_weights(case, runs)
    argnums = tuple(range(len(case.shapes)))
    first = gs.grad(loss, argnums=argnums)

    def size_of_gradient(*arrays: Any) -> Any:
        total = 0.0
        for g in first(*arrays):
            total = total + np.sum(np.abs(g))
        return total

    return gs.grad(size_of_gradient, argnums=argnums), inputs


def graded(samples: list[Sample], order: int = 1) -> list[Case]:
    """The cases of which a compiled gradient is asked: of an op without one, too, but of no whole numbers."""
    return [c for c in cases(samples) if c.shapes and not c.sample.integer and (order == 1 or c.sample.order > 1)]


@every([s for s in SMOOTH if not s.scoped])
def test_backward_gives_the_bits_of_grad(samples: list[Sample]) -> None:
    check_backward(thinned(cases(samples)))


@every()
def test_compiled_gives_the_bits_of_eager(samples: list[Sample]) -> None:
    check_compiled(thinned(cases(samples)), plain)


@every([s for s in SAMPLES if not s.integer and any(s.shapes)])
def test_compiled_gradients_have_the_bits_of_eager_ones(samples: list[Sample]) -> None:
    check_compiled(thinned(graded(samples)), first_order)


@every(TWICE)
def test_compiled_second_derivatives_have_the_bits_of_eager_ones(samples: list[Sample]) -> None:
    check_compiled(thinned(graded(samples, 2), firsts=False), second_order)


@pytest.mark.slow
@every()
def test_the_above_on_all_other_cases(samples: list[Sample]) -> None:
    """Each list of samples is that of the test above: by it the cases are counted, and so chosen."""
    check_backward(others(cases([s for s in samples if s.differentiable and not s.scoped])))
    check_compiled(others(cases(samples)), plain)
    check_compiled(others(graded([s for s in samples if not s.integer and any(s.shapes)])), first_order)
    twice = [s for s in samples if s.order > 1]
    check_compiled(others(graded([s for s in twice if s.differentiable], 2), firsts=False), second_order)
    check_compiled(graded([s for s in twice if not s.differentiable], 2), second_order)


def test_some_cases_and_the_others_make_the_whole() -> None:
    for firsts in (True, False):
        some, rest = (list(part(cases(), firsts)) for part in (thinned, others))
        assert len(rest) > len(some) > 100
        assert sorted(c.label for c in some + rest) == sorted(c.label for c in cases())


CASTS = (float, complex, np.float64, np.complex128)  # of a bare Tensor a plain number, with a warning


@every([s for s in SMOOTH if s.scoped and s.fn not in (*OF_PYTHON, *CASTS)])
def test_what_numpy_hands_no_tensors_raises_on_them(samples: list[Sample]) -> None:
    for case in cases(samples):
        tensors = [gs.tensor(x, requires_grad=True) for x in case.sample.draw(case.generator(), case.shapes)]
        with pytest.raises((gs.GradientLossError, gs.NoRuleError)):
            case.function()(*tensors)


OF_LENGTHS = [
    "int", "round", "min", "max", "sum", "math.ceil", "math.floor", "math.trunc", "math.isqrt", "math.factorial", "math.comb",
    "math.perm", "math.gcd", "math.lcm",
]  # fmt: skip
OPS = tuple(ops())  # before any test registers one of its own


def test_every_op_has_a_sample() -> None:
    covered = {id(lookup(fn)) for fn in TABLE}
    told = [
        op for op in OPS if op.effect or op.path == "text"
    ]  # tests/transforms/compiler/capture/test_effects_compiled.py has them
    missing = [repr(op) for op in OPS if id(op) not in covered and op not in told]
    assert not missing, f"ops without a sample in tests/corpus/samples.py or tests/corpus/samples_arrays.py: {missing}"


def test_every_sample_has_an_op() -> None:
    unknown = [fn for fn in TABLE if lookup(fn) is None]
    assert not unknown, f"samples of functions that are not registered: {unknown}"


def test_samples_know_what_has_a_gradient() -> None:
    for fn, samples in TABLE.items():
        op = lookup(fn)
        assert op is not None
        if op.path in ("shape", "size", "count", "guard", *OF_LENGTHS) or op.name in ("exponent", "whole"):
            continue  # what is tried is an expression around them
        has_rule = any(vjp is not None for vjp in op.vjps.values())
        assert any(s.differentiable for s in samples) == has_rule, op


@pytest.mark.parametrize(
    "samples", [pytest.param([s for s in SAMPLES if not (s.differentiable or s.scoped)], id="questions")]
)
def test_questions_have_no_gradient_and_raise_no_error(samples: list[Sample]) -> None:
    for case in cases(samples):
        xs = case.sample.draw(case.generator(), case.shapes)
        if not xs or case.sample.integer:
            continue
        out = case.function()(*[gs.tensor(x, requires_grad=True) for x in xs])
        assert not any(t.requires_grad for t in (out if isinstance(out, tuple) else (out,))), case.label
        loss, ((*arrays, w), *_) = with_weights(case, [xs])
        for g in gs.grad(loss, argnums=tuple(range(len(xs))))(*arrays, w):
            assert not np.any(g), case.label


def test_a_guard_that_misses_adds_no_warning() -> None:
    runs: list[list[Any]] = [[0.5], [0.7], [0.7], [math.inf]]
    assert compiled_problem(lambda x: math.sin(x), runs) is None


@pytest.mark.parametrize(
    "f",
    [
        lambda t: t[()] * t + np.sin(t),
        lambda t: t[t > 0] @ t[t > 0] + t * t + t[~(t > 5)][0],
        lambda t: np.sum(t[...] * t) + np.sum(t[None]) * t + t.reshape(1)[0] * t,
    ],
)
def test_reads_of_an_array_of_no_axes_add_up(f: Any) -> None:
    t = np.asarray(0.7)
    slope = (f(t + 1e-6) - f(t - 1e-6)) / 2e-6
    for gradient in (gs.grad(lambda x: f(np.asarray(x))), gs.compile(gs.grad(lambda x: f(np.asarray(x))))):
        for _ in range(2):
            np.testing.assert_allclose(gradient(0.7), slope, rtol=1e-7)
