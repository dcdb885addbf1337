"""Short assignments that follow each other are one in the text, and a wrong value in one is still found by its name."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradscribe as gs
from gradscribe.transforms.difference import difference


def test_what_the_user_assigns_in_one_statement_is_one() -> None:
    def f(x: Any, A: Any, B: Any) -> Any:
        q, k = x @ A, x @ B
        return np.sum((q @ k.T) ** 2)

    args = np.ones((2, 3)), np.ones((3, 3)), np.full((3, 3), 2.0)
    text = str(gs.source(gs.grad(f, (1, 2)), *args))
    assert "    q, k = x @ A, x @ B\n" in text
    assert "# test_tuple_text.py:17" not in text.partition("# backward")[0]


def test_what_depends_on_another_is_another_statement() -> None:
    def f(x: Any) -> Any:
        a, b = np.sin(x), np.cos(np.sin(x))
        return np.sum(a * b * np.sin(x))

    text = str(gs.source(f, np.ones(3)))
    assert "a = np.sin(x)" in text
    assert "b = np.cos(a)" in text


def test_starts_of_a_loop_are_one_and_fit_on_a_line() -> None:
    def f(W: Any, U: Any, xs: Any) -> Any:
        h, total = np.zeros(3), 0.0
        for x in xs:
            h = np.tanh(W @ x + U @ h)
            total = total + np.sum(h)
        return total

    args = np.ones((3, 2)), np.ones((3, 3)), np.ones((7, 2))
    eager = gs.grad(f, (0, 1))
    text = str(gs.source(eager, *args))
    assert "d_h, d_W, d_U = np.zeros_like(h), np.full_like(W, -0.0), np.full_like(U, -0.0)" in text
    assert all(len(line) <= 88 for line in text.splitlines())
    assert difference(gs.compile(eager)(*args), eager(*args)) is None


def test_each_part_knows_its_line() -> None:
    def f(x: Any, A: Any, B: Any) -> Any:
        q, k = x @ A, x @ B
        return np.sum((q @ k.T) ** 2)

    source = gs.source(f, np.ones((2, 3)), np.ones((3, 3)), np.full((3, 3), 2.0))
    assert source.lines_from(f.__code__.co_firstlineno + 1) != []
