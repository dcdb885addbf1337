"""ctc_loss beside PyTorch's: values and gradients in every form, what is infinite, its errors; and any order of derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

pytestmark = pytest.mark.parity
DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(12, 4, 6))
TARGETS = DRAW.integers(1, 6, (4, 5))
TARGETS[0, 1] = TARGETS[0, 0]  # repeated: a blank must stand between
STEPS, COUNTS = [12, 10, 12, 9], [5, 3, 0, 2]
JOINED = np.concatenate([t[:n] for t, n in zip(TARGETS, COUNTS, strict=True)])

CASES: dict[str, tuple[Any, Any, Any, Any, dict[str, Any]]] = {
    **{how: (X, TARGETS, STEPS, COUNTS, {"reduction": how}) for how in ("none", "mean", "sum")},
    "one after the other": (X, JOINED, STEPS, COUNTS, {"reduction": "none"}),
    "another blank": (X, DRAW.integers(0, 5, (4, 5)), [12] * 4, [5] * 4, {"blank": 5}),
    "one example": (X[:, 0], TARGETS[0, :4], 11, 4, {"reduction": "none"}),
    "one example, mean": (X[:, 0], TARGETS[0, :4], [11], [4], {}),
    "too short, zero": (X, TARGETS, [12, 10, 3, 9], [5, 3, 5, 2], {"zero_infinity": True}),
    "no steps": (X, TARGETS, [12, 0, 3, 0], [5, 0, 2, 0], {"reduction": "none"}),
    "no targets": (X, TARGETS[:, :0], STEPS, [0] * 4, {}),
    "one label each": (X, TARGETS[:, :1], STEPS, [1] * 4, {}),
    "one step": (X[:1], TARGETS[:, :1], [1] * 4, [1, 0, 1, 0], {}),
    "far apart": (200 * X, TARGETS, STEPS, COUNTS, {"reduction": "none"}),
    "long": (DRAW.normal(size=(120, 2, 6)), DRAW.integers(1, 6, (2, 40)), [120, 119], [40, 38], {}),
}


def loss(x: Any, targets: Any, steps: Any, counts: Any, options: dict[str, Any]) -> Any:
    return np.sum(F.ctc_loss(F.log_softmax(x, -1), targets, steps, counts, **options))


@pytest.mark.parametrize("name", list(CASES))
def test_values_and_gradients(name: str) -> None:
    torch = pytest.importorskip("torch")
    x, targets, steps, counts, options = CASES[name]
    t = torch.tensor(x, requires_grad=True)
    rest = [torch.tensor(v) for v in (targets, steps, counts)]
    expected = torch.nn.functional.ctc_loss(t.log_softmax(-1), *rest, **options)
    expected.sum().backward()
    found = F.ctc_loss(F.log_softmax(x, -1), targets, steps, counts, **options)
    assert np.shape(found) == tuple(expected.shape)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    gradient = gs.grad(loss)
    arguments = (targets, np.array(steps), np.array(counts), options)
    np.testing.assert_allclose(gradient(x, *arguments), t.grad.numpy(), rtol=1e-10, atol=1e-12)
    if name in ("one after the other", "one step"):
        step = gs.compile(gradient, verify="first calls")
        assert step(x, *arguments).tobytes() == gradient(x, *arguments).tobytes()
        assert step(x[::-1], *arguments).tobytes() == gradient(x[::-1], *arguments).tobytes()


def test_what_is_impossible_is_infinite() -> None:
    torch = pytest.importorskip("torch")
    x, targets = X[:5, :1], np.array([[1, 1, 2, 3]])
    t = torch.tensor(x, requires_grad=True)
    rest = [torch.tensor(v) for v in (targets, [4], [4])]
    expected = torch.nn.functional.ctc_loss(t.log_softmax(-1), *rest)
    expected.backward()
    with np.errstate(all="raise", under="ignore"):
        found = F.ctc_loss(F.log_softmax(x, -1), targets, [4], [4])
    assert np.isposinf(found)
    assert np.isposinf(expected.item())
    gradient = gs.grad(loss)(x, targets, [4], [4], {})
    np.testing.assert_array_equal(np.isfinite(gradient), np.isfinite(t.grad.numpy()))


def test_derivatives_are_those_of_log_probs() -> None:
    """PyTorch's gradient with respect to `log_probs` is that behind a softmax; here it is what finite differences say."""
    lp = F.log_softmax(X[:6, :2], -1)
    gs.check_grads(lambda lp: F.ctc_loss(lp, TARGETS[:2, :3], [6, 5], [3, 2]), (lp,), order=2)


def test_float32_and_tensors() -> None:
    x = gs.tensor(X.astype(np.float32), requires_grad=True)
    out = gs.nn.CTCLoss(reduction="sum")(F.log_softmax(x, -1), gs.tensor(TARGETS), gs.tensor(STEPS), gs.tensor(COUNTS))
    out.backward()
    assert (out.dtype, x.grad.dtype) == (np.float32, np.float32)
    assert out.item() == pytest.approx(loss(X, TARGETS, STEPS, COUNTS, {"reduction": "sum"}), rel=1e-5)


def test_each_example_by_itself() -> None:
    many = np.stack([X, X[::-1]])
    found = gs.vmap(lambda x: loss(x, TARGETS, STEPS, COUNTS, {}))(many)
    np.testing.assert_allclose(found, [loss(x, TARGETS, STEPS, COUNTS, {}) for x in many], rtol=1e-12)


ERRORS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "blank": ((X, TARGETS, STEPS, COUNTS), {"blank": 6}, "blank must be in label range"),
    "input lengths": ((X, TARGETS, STEPS[:2], COUNTS), {}, "input_lengths must be of size batch_size"),
    "target lengths": ((X, TARGETS, STEPS, COUNTS[:2]), {}, "target_lengths must be of size batch_size"),
    "too many steps": ((X, TARGETS, [13, 1, 1, 1], COUNTS), {}, "Expected input_lengths to have value at most 12"),
    "too many labels": (
        (X, TARGETS, STEPS, [6, 1, 1, 1]),
        {},
        "Expected tensor to have size at least 6 at dimension 1",
    ),
    "joined": ((X, JOINED, STEPS, [5, 5, 5, 5]), {}, "Expected tensor to have size"),
    "batch": ((X, TARGETS[:3], STEPS, COUNTS), {}, "Expected tensor to have size 4 at dimension 0"),
}


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    torch = pytest.importorskip("torch")
    arguments, options, words = ERRORS[name]

    def raised(f: Callable[..., Any], given: tuple[Any, ...]) -> BaseException:
        with pytest.raises(Exception, match=words) as found:
            f(*given, **options)
        return found.value

    theirs = raised(torch.nn.functional.ctc_loss, tuple(torch.tensor(a) for a in arguments))
    assert isinstance(raised(F.ctc_loss, tuple(np.array(a) for a in arguments)), type(theirs))
