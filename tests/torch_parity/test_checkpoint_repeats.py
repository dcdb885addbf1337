"""What the recomputation of a checkpoint must repeat: as many values, as large, from the same arguments and random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def _leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def test_fewer_saved_in_the_recomputation(torch: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        return a.sin().sin() if len(runs) == 1 else a.sin()

    with pytest.raises(RuntimeError, match="A different number of tensors was saved"):
        checkpoint(f, x).sum().backward()


def test_more_saved_in_the_recomputation(torch: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        return a.sin() if len(runs) == 1 else a.sin().sin()

    with pytest.raises(RuntimeError, match="trying to save more tensors during recomputation"):
        checkpoint(f, x, early_stop=False).sum().backward()


@pytest.mark.parametrize("change", ["shape", "dtype"])
def test_other_metadata_in_the_recomputation(torch: Any, checkpoint: Any, change: str) -> None:
    x = _leaf(torch, 0.5, 1.5)
    runs = []

    def f(a: Any) -> Any:
        runs.append(1)
        last = len(runs) > 1
        a = a[:1] if last and change == "shape" else a[:2]
        return (a.sin() * torch.tensor(2j if last and change == "dtype" else 2.0)).sum().abs()

    with pytest.raises(RuntimeError, match="Recomputed values for the following tensors have different"):
        checkpoint(f, x, early_stop=False).backward()


def test_the_check_can_be_switched_off(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5, 1.5)
    w = [torch.tensor([2.0]), torch.tensor([2.0, 2.0])]

    def f(a: Any) -> Any:
        return (a * w.pop()).sum()

    checkpoint(f, x, determinism_check="none").backward()
    assert numbers(x.grad).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(f, x, determinism_check="strict")


def test_an_argument_changed_before_backward_is_an_error(torch: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    a = x * 1
    y = checkpoint(lambda t: t.sin(), a).sum()
    with torch.no_grad():
        a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_the_function_that_changes_its_argument_is_an_error(torch: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    y = checkpoint(lambda t: t.add_(1).sin(), x * 1).sum()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_in_place_inside(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5, 1.5)

    def f(a: Any) -> Any:
        b = a * 2
        b.add_(1)
        c = b.sin()
        c.mul_(b)
        c[0] = b[1] * a[0]
        return c.exp()

    checkpoint(f, x).sum().backward()
    found, x.grad = numbers(x.grad), None
    f(x).sum().backward()
    np.testing.assert_array_equal(found, numbers(x.grad))


def test_in_place_inside_nested(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5, 1.5)

    def inner(a: Any) -> Any:
        return (a * 3).add_(a).sin()

    def f(a: Any, run: Any) -> Any:
        b = (a * 2).add_(1)
        c = run(inner, b)
        return (c * b).mul_(2).exp()

    checkpoint(f, x, checkpoint).sum().backward()
    found, x.grad = numbers(x.grad), None
    f(x, lambda g, t: g(t)).sum().backward()
    np.testing.assert_array_equal(found, numbers(x.grad))


def test_a_result_changed_in_place_outside(torch: Any, numbers: Any, checkpoint: Any) -> None:
    x = _leaf(torch, 0.5)
    y = checkpoint(lambda a: a.sin(), x)
    y.mul_(3)
    y.sum().backward()
    np.testing.assert_allclose(numbers(x.grad), 3 * np.cos(0.5), rtol=1e-14)


@pytest.fixture
def draw(torch: Any) -> Any:
    """Three random numbers from the generator that all of the library's code shares."""
    return (lambda: np.random.uniform(size=3)) if torch.__name__ == "gradscribe" else (lambda: torch.rand(3))


@pytest.fixture
def seed(torch: Any) -> Any:
    """Set the state of that generator."""
    return np.random.seed if torch.__name__ == "gradscribe" else torch.manual_seed


def test_random_numbers_are_drawn_again(torch: Any, numbers: Any, checkpoint: Any, draw: Any) -> None:
    x = _leaf(torch, 0.5, 1.0, 1.5)
    drawn = []

    def f(a: Any) -> Any:
        drawn.append(draw())
        return a.sin() * drawn[-1]

    y = checkpoint(f, x, early_stop=False)
    draw()
    y.sum().backward()
    assert len(drawn) == 2
    assert list(drawn[0]) == list(drawn[1])
    np.testing.assert_allclose(numbers(x.grad), np.cos([0.5, 1.0, 1.5]) * [float(v) for v in drawn[0]], rtol=1e-14)


@pytest.mark.parametrize("preserve", [True, False])
def test_backward_leaves_the_random_state_as_it_was(
    torch: Any, checkpoint: Any, draw: Any, seed: Any, preserve: bool
) -> None:
    x = _leaf(torch, 0.5, 1.0, 1.5)
    seed(1)
    draw()
    expected = list(draw())
    seed(1)
    checkpoint(lambda a: a.sin() * draw(), x, preserve_rng_state=preserve).sum().backward()
    assert (list(draw()) == expected) is preserve


def test_without_preserve_rng_state_other_numbers_are_drawn(torch: Any, checkpoint: Any, draw: Any) -> None:
    x = _leaf(torch, 0.5, 1.0, 1.5)
    drawn = []

    def f(a: Any) -> Any:
        drawn.append(list(draw()))
        return a.sin() * a

    checkpoint(f, x, preserve_rng_state=False).sum().backward()
    assert drawn[0] != drawn[1]
