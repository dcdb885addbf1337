"""The simplest thing of all, on both libraries."""

from typing import Any


def test_a_square(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert numbers(x.grad).tolist() == [2.0, 4.0]
