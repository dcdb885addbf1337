"""What PyTorch still has of its older names: Variable, and the samplers. (The rest stands in test_older_api.py.)"""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_variable(torch: Any, numbers: Any) -> None:
    Variable = torch.autograd.Variable
    t = torch.tensor([1.0, 2.0])
    x = Variable(t, requires_grad=True)
    assert isinstance(x, Variable)
    assert isinstance(t, Variable)
    assert not isinstance([1.0], Variable)
    with torch.no_grad():
        t[0] = 5.0
    (x * x).sum().backward()
    assert numbers(x.grad).tolist() == [10.0, 4.0]
    y = Variable(x * 2)
    assert (y.requires_grad, y.is_leaf) == (False, True)
    assert not Variable(x).requires_grad
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        Variable([1.0])


def test_samples(torch: Any, numbers: Any) -> None:
    p = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert numbers(torch.bernoulli(p)).tolist() == p.tolist()
    assert numbers(p.bernoulli()).tolist() == p.tolist()
    assert numbers(p.bernoulli(1.0)).tolist() == [[1.0] * 3] * 2
    assert numbers(torch.multinomial(p, 1)).tolist() == [[1], [0]]
    assert numbers(p.multinomial(4, replacement=True)).tolist() == [[1] * 4, [0] * 4]
    assert sorted(numbers(torch.multinomial(torch.ones(4), 4)).tolist()) == [0, 1, 2, 3]
    assert numbers(torch.normal(p, torch.zeros(3))).tolist() == p.tolist()
    w = torch.tensor([0.2, 0.8], requires_grad=True)
    assert torch.bernoulli(w).requires_grad
    assert torch.normal(w, 1.0).requires_grad
    assert not torch.multinomial(w, 1).requires_grad


@pytest.mark.parametrize(
    ("draw", "match"),
    [
        (lambda torch: torch.bernoulli(torch.tensor([1.2])), "Expected p_in >= 0 && p_in <= 1 to be true, but got false"),
        (lambda torch: torch.multinomial(torch.tensor([1.0, -1.0]), 1), "contains either `inf`, `nan` or element < 0"),
        (lambda torch: torch.multinomial(torch.zeros(2), 1), r"invalid multinomial distribution \(sum of probabilities"),
        (lambda torch: torch.multinomial(torch.ones(2), 3), "cannot sample n_sample > prob_dist.size"),
        (lambda torch: torch.multinomial(torch.ones(2), 0), "cannot sample n_sample <= 0 samples"),
        (lambda torch: torch.multinomial(torch.ones(1, 1, 1), 1), "prob_dist must be 1 or 2 dim"),
        (lambda torch: torch.multinomial(torch.tensor([1]), 1), "multinomial only supports floating-point dtypes for input"),
        (lambda torch: torch.normal(torch.tensor([1.0], requires_grad=True), -1.0), r"normal expects .*std >= 0\.0"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn(torch: Any, draw: Any, match: str) -> None:
    with pytest.raises(RuntimeError, match=match):
        draw(torch)
