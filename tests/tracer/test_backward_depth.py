"""Backward inside backward without an end: a clear error in place of an exhausted machine."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gradscribe as gs


def test_backward_that_calls_itself_without_end_says_so() -> None:
    class Endless(gs.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with gs.enable_grad():
                Endless.apply(gs.ones(1, requires_grad=True)).sum().backward()
            return g

    before = threading.active_count()
    y = Endless.apply(gs.ones(1, requires_grad=True)).sum()
    with pytest.raises(RecursionError, match=r"backward runs inside backward, 5,000 levels deep"):
        y.backward()
    assert threading.active_count() == before
    x = gs.ones(1, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]
