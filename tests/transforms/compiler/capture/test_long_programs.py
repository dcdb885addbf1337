"""Programs of many operations: a straight line is no loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs


def straight(operations: int) -> Any:
    """A function of so many operations, one after the other."""
    lines = ["def f(x):", *["    x = np.sin(x) * 1.01 + 0.1"] * (operations // 3), "    return np.sum(x)"]
    space: dict[str, Any] = {"np": np}
    exec("\n".join(lines), space)
    return space["f"]


@pytest.mark.slow
def test_ten_thousand_operations_in_a_straight_line_compile() -> None:
    f, x = straight(10_000), np.array([0.3, 0.7])
    compiled = gs.compile(gs.grad(f))
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), gs.grad(f)(x))
    assert compiled.specialisation(x)
