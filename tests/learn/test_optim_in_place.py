"""Steps of tensors within compiled functions: they run eagerly, say what compiles, and leave optimisers as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

DRAW = np.random.default_rng(0)
X, Y = DRAW.normal(size=(20, 3)), DRAW.normal(size=20)


def trained_by(step: Any, tensors: list[Any]) -> list[Any]:
    """What a step of tensors makes of them: the losses, the tensors, and their gradients."""
    losses = [step(X, Y).item() for _ in range(4)]
    return [losses, *[p.detach().numpy() for p in tensors], *[p.grad.numpy() for p in tensors]]


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_a_step_of_tensors_within_a_compiled_function_runs_eagerly_and_says_what_compiles(name: str) -> None:
    found = []
    for compiled in (False, True):
        tensors = [gs.tensor(np.zeros(3), requires_grad=True), gs.tensor(np.zeros(1), requires_grad=True)]
        optimizer = getattr(gs.optim, name)(tensors, lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
        schedule = gs.optim.lr_scheduler.StepLR(optimizer, 2)

        def step(x: Any, y: Any, tensors: Any = tensors, optimizer: Any = optimizer, schedule: Any = schedule) -> Any:
            optimizer.zero_grad()
            loss = ((x @ tensors[0] + tensors[1] - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            schedule.step()
            return loss

        if not compiled:
            found.append(trained_by(step, tensors))
            continue
        words = (
            r"optimizer\.update\(params, grads, state\)` compiles|a Tensor, .*; pass its array, and take its gradient"
        )
        with pytest.warns(gs.EagerWarning, match=words):
            found.append(trained_by(gs.compile(step), tensors))
        assert all(isinstance(v, (float, gs.Tensor)) for state in optimizer.state.values() for v in state.values())
        assert all(p is q for p, q in zip(optimizer.param_groups[0]["params"], tensors, strict=True))
        assert optimizer.param_groups[0]["lr"] == pytest.approx(0.001)
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_bound_step_is_not_followed_either() -> None:
    w = gs.tensor([1.0], requires_grad=True)
    w.grad = gs.tensor([1.0])
    change = gs.optim.Adam([w], lr=0.1).step
    compiled = gs.compile(lambda: change())
    with pytest.warns(gs.EagerWarning, match="runs eagerly"):
        compiled()
    compiled()
    np.testing.assert_allclose(w.detach().numpy(), [0.8], rtol=1e-6)


def test_a_step_that_is_compiled_by_itself_steps() -> None:
    w = gs.tensor([1.0], requires_grad=True)
    w.grad = gs.tensor([1.0])
    step = gs.compile(gs.optim.SGD([w], lr=0.25).step)
    with pytest.warns(gs.EagerWarning, match="calls `step` of SGD"):
        step()
    step()
    assert w.item() == 0.5


def test_a_subclass_steps() -> None:
    class Twice(gs.optim.SGD):
        def step(self) -> None:  # type: ignore[override]
            super().step()
            super().step()

    w = gs.tensor([1.0], requires_grad=True)
    w.grad = gs.tensor([1.0])
    optimizer = Twice([w], lr=0.125, momentum=0.5)

    @gs.compile
    def step(scale: Any) -> Any:
        optimizer.step()
        return scale * 2

    with pytest.warns(gs.EagerWarning, match="runs eagerly"):
        assert step(1.0) == 2.0
    assert w.item() == 1 - 0.125 - 0.125 * 1.5
    (state,) = optimizer.state.values()
    assert type(state["momentum_buffer"]) is gs.Tensor
