"""Backward inside backward without an end: a clear error in place of an exhausted machine."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import gradscribe as gs
from gradscribe.tracer.core import engine


@pytest.mark.parametrize("deepest", [500, pytest.param(engine.DEEPEST, marks=pytest.mark.slow)])
def test_backward_that_calls_itself_without_end_says_so(deepest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "DEEPEST", deepest)

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
    with pytest.raises(RecursionError, match=f"backward runs inside backward, {deepest:,} levels deep"):
        y.backward()
    assert threading.active_count() == before
    x = gs.ones(1, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]
