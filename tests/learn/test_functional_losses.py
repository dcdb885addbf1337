"""Every function of gs.functional that activates, normalises or measures: its derivatives, and one outcome however it is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

from network_cases import ACTIVATIONS, ALONG, CASES, LOSSES, Case

EACH = [case for case in ACTIVATIONS if case.arrays[0].ndim] + ALONG
SOME = EACH + [case for case in LOSSES if case.options["reduction"] == "none"]
OTHERS = [case for case in CASES if not any(case is one for one in SOME)]


def named(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases])


@pytest.fixture(autouse=True)
def _expected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Those that warn each time may."""
    with warnings.catch_warnings():
        if request.node.callspec.params["case"].warns:
            warnings.simplefilter("ignore", UserWarning)
        yield


def function(case: Case) -> Callable[..., Any]:
    """The call, of the arrays that are differentiated."""
    fn, rest, options = getattr(F, case.name), case.arrays[case.wrt :], case.options
    return lambda *arrays: fn(*arrays, *rest, **options)


def loss(case: Case) -> Callable[..., Any]:
    """The call, made one number."""
    fn = function(case)

    def total(*arrays: Any) -> Any:
        found = fn(*arrays)
        return np.sum(found * np.cos(np.arange(np.size(found))).reshape(np.shape(found)))

    return total


@named(CASES)
def test_tensors_give_what_arrays_give(case: Case) -> None:
    plain = getattr(F, case.name)(*case.arrays, **case.options)
    assert isinstance(plain, (np.ndarray, np.generic))
    found = getattr(F, case.name)(*map(gs.tensor, case.arrays), **case.options)
    assert isinstance(found, gs.Tensor)
    np.testing.assert_array_equal(found.numpy(), plain)


@named(CASES)
def test_float32_stays_float32(case: Case) -> None:
    arrays = [a.astype(np.float32) if a.dtype.kind == "f" else a for a in case.arrays]
    options = {k: v.astype(np.float32) if isinstance(v, np.ndarray) else v for k, v in case.options.items()}
    assert getattr(F, case.name)(*arrays, **options).dtype == np.float32
    x = gs.tensor(arrays[0], requires_grad=True)
    found = getattr(F, case.name)(x, *arrays[1:], **options)
    found.sum().backward()
    assert (found.dtype, x.grad.dtype) == (np.float32, np.float32)


@named([case for case in SOME if case.order])
def test_both_derivatives_are_what_finite_differences_say(case: Case) -> None:
    gs.check_grads(loss(case), tuple(case.arrays[: case.wrt]), order=case.order)


@named(CASES)
def test_each_example_by_itself(case: Case) -> None:
    fn, options = getattr(F, case.name), case.options
    examples = [np.stack([a, a[..., ::-1] if a.dtype.kind == "f" and a.ndim else a]) for a in case.arrays]
    for f in (lambda *a: fn(*a, **options), gs.grad(lambda *a: np.sum(fn(*a, **options)))):
        found = gs.vmap(f)(*examples)
        expected = np.stack([f(*[a[k] for a in examples]) for k in range(2)])
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def compiled_gives_the_bits_of_eager(case: Case) -> None:
    plain = gs.value_and_grad(loss(case), argnums=tuple(range(case.wrt)))
    compiled = gs.compile(plain, verify="first calls")
    arrays = case.arrays[: case.wrt]
    for factor in (1.0, 0.5):
        given = [factor * a for a in arrays]
        value, grads = compiled(*given)
        expected, expected_grads = plain(*given)
        assert value == expected
        for found, one in zip(grads, expected_grads, strict=True):
            np.testing.assert_array_equal(found, one)
    assert compiled.source(*arrays)


@named(SOME)
def test_compiled_gives_the_bits_of_eager(case: Case) -> None:
    compiled_gives_the_bits_of_eager(case)


@pytest.mark.slow
@named(OTHERS)
def test_compiled_gives_the_bits_of_eager_with_every_reduction(case: Case) -> None:
    compiled_gives_the_bits_of_eager(case)
