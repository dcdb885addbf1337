"""gradcheck: its report, the names it goes by, and what it leaves as it was."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime import registry

BOTH = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def wrong_at_one(x):
    """The square, whose gradient misses a tenth at the second element."""
    return x * x + (x * np.array([0.0, 0.1])).detach() - x * np.array([0.0, 0.1])


@pytest.fixture
def x():
    return gs.tensor([1.0, 2.0], requires_grad=True)


@BOTH
def test_the_report_shows_both_jacobians_and_the_worst_place(x, fast_mode):
    with pytest.raises(gs.autograd.GradcheckError) as caught:
        gs.autograd.gradcheck(lambda c, x: wrong_at_one(x), (3.0, x), fast_mode=fast_mode)
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:\n[[2. 0.]\n [0. 4.]]\n")
    assert "\nanalytical:\n[[2.  0. ]\n [0.  3.9]]\n" in text
    assert "The largest difference is 0.1: output 0 at [1] by argument 1 of the function at [1] is 4" in text
    assert text.endswith("3.9 by backward.") is not fast_mode
    assert ("one random projection" in text) is fast_mode


def test_fast_mode_says_where_slow_mode_would_pass(x):
    def f(x):  # each element of the Jacobian is within rtol, but in a projection 1 and -1 nearly cancel
        return (x * np.array([1.0, -1.0]) + (x - x.detach()) * 9e-4).sum()

    assert gs.autograd.gradcheck(f, x)
    with pytest.raises(gs.autograd.GradcheckError, match="fast_mode=False passes"):
        gs.autograd.gradcheck(f, x, fast_mode=True)


def test_gradients_of_nan_are_found(x):
    class Nan(gs.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * np.nan

    with pytest.raises(gs.autograd.GradcheckError, match=r"The largest difference is nan: output 0 at \[0\]"):
        gs.autograd.gradcheck(Nan.apply, x)


def test_names():
    module = importlib.import_module("gradscribe.tracer.autograd.gradcheck")
    assert gs.autograd.gradcheck is module
    assert gs.autograd.gradcheck.GradcheckError is gs.autograd.GradcheckError
    assert gs.autograd.gradcheck.gradgradcheck is gs.autograd.gradgradcheck
    assert issubclass(gs.autograd.GradcheckError, gs.AutogradError)


@BOTH
def test_numpys_random_state_is_not_touched_and_runs_repeat(x, fast_mode):
    before = np.random.get_state()[1].copy()
    seen = []

    def f(x):
        seen.append(x.tolist())
        return np.sin(x)

    for _ in range(2):
        gs.autograd.gradgradcheck(f, x, fast_mode=fast_mode, check_batched_grad=True)
    assert (np.random.get_state()[1] == before).all()
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]


@BOTH
def test_inputs_come_back_even_after_an_error(x, fast_mode):
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("mine")
        return x * x

    with pytest.raises(KeyError, match="mine"):
        gs.autograd.gradcheck(f, x, fast_mode=fast_mode)
    assert x.tolist() == [1.0, 2.0]
    assert x._version == 0


@BOTH
def test_zero_dimensional_and_reversed_inputs(x, fast_mode):
    k = gs.tensor(2.0, requires_grad=True)
    assert gs.autograd.gradcheck(lambda k, y: k * k * y, (k, x[::-1]), fast_mode=fast_mode)
    assert gs.autograd.gradcheck(lambda y: y * y, k * 3, fast_mode=fast_mode)
    assert k.item() == 2.0


def test_elements_that_share_memory(x):
    with pytest.raises(gs.AutogradError, match="The 1th input has a dimension with stride 0"):
        gs.autograd.gradcheck(lambda a, b: a * b, (x, np.broadcast_to(x, (3, 2))))


@pytest.mark.parametrize("option", ["check_forward_ad", "masked"])
def test_what_does_not_exist_here(x, option):
    with pytest.raises(NotImplementedError, match=option):
        gs.autograd.gradcheck(np.sin, x, **{option: True})
    name = "check_fwd_over_rev" if option == "check_forward_ad" else option
    with pytest.raises(NotImplementedError, match=name):
        gs.autograd.gradgradcheck(np.sin, x, **{name: True})


def test_outputs_that_are_no_tensors(x):
    assert gs.autograd.gradcheck(lambda x: (x * 2, np.ones(3), 1.0, x > 0), x)
    with pytest.raises(TypeError, match="output 1 is NoneType"):
        gs.autograd.gradcheck(lambda x: (x * 2, None), x)


@BOTH
def test_a_wrong_rule_is_found(x, fast_mode, monkeypatch):
    monkeypatch.setattr(registry, "_by_function", dict(registry._by_function))

    @registry.primitive("x", gs.Kind.elementwise)
    def doubled(x):
        return np.multiply(x, 2.0)

    gs.rule(doubled, x=lambda g, x: g * 2.01)
    with pytest.raises(gs.autograd.GradcheckError, match="Jacobian mismatch"):
        gs.autograd.gradcheck(doubled, x, fast_mode=fast_mode)
    gs.rule(doubled, x=lambda g, x: g * 2.0)
    assert gs.autograd.gradcheck(doubled, x, fast_mode=fast_mode)
