"""Steps of the schedule: each decides one thing, alone or with the others, and the values stay."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.python.steps import STEPS as OF_TARGET
from gradscribe.transforms.compiler.schedule.program import Assign, Free, List, Loop, Push, Tiled, each_statement
from gradscribe.transforms.compiler.schedule.run import run_program
from gradscribe.transforms.compiler.schedule.steps import STEPS
from gradscribe.transforms.difference import difference

from large_arrays import small

__all__ = ["small"]  # a fixture


def chain(x: Any, w: Any) -> Any:
    a = np.tanh(x * 0.3) * w
    b = np.exp(-a * a) + np.sqrt(np.abs(x)) * a
    return np.sum(np.sin(b) * np.cos(a) - b)


def rollout(x: Any, k: int) -> Any:
    for _ in range(k):
        a, b = np.sin(x), np.cos(x)
        x = a * np.exp(b) + np.tanh(a * b) * x
    return np.sum(x * x)


def loops(passes: list[str] | None = None) -> Any:
    """A gradient with a kept loop, for which many values are put on lists."""
    options: dict[str, Any] = {} if passes is None else {"passes": passes}
    compiled = gs.compile(gs.grad(rollout), **options)
    for k in (3, 4, 5):
        compiled(np.arange(3.0), k)
    return compiled


def kinds(program: Any) -> set[str]:
    """What was decided in a Program."""
    found: set[str] = set()
    for s in each_statement(program.body):
        found |= {"in_place"} if isinstance(s, Assign) and s.is_over() else set()
        found |= {"tiles"} if isinstance(s, Tiled) else set()
        found |= {"bundles"} if isinstance(s, List) and s.of else set()
        found |= {"frees"} if isinstance(s, Free) else set()
    return found


@pytest.mark.parametrize("step", STEPS)
def test_a_step_alone_decides_its_own(step: str, small: None) -> None:
    args = np.linspace(-2.0, 3.0, 20), np.linspace(0.5, 1.0, 20)
    whole = gs.value_and_grad(chain, argnums=(0, 1))
    alone = gs.compile(whole, passes=[step])
    compiled = loops([step])
    assert kinds(alone.program(*args)) | kinds(compiled.program(np.arange(3.0), 5)) <= {step}
    assert difference(alone(*args), whole(*args)) is None
    assert difference(run_program(alone.program(*args), *args), whole(*args)) is None
    assert difference(compiled(np.arange(3.0), 7), gs.grad(rollout)(np.arange(3.0), 7)) is None


def test_without_the_name_of_a_step_all_run(small: None) -> None:
    args = np.linspace(-2.0, 3.0, 20), np.linspace(0.5, 1.0, 20)
    whole = gs.grad(chain)
    for passes in ([], ["dead_code"]):
        assert {"tiles", "frees"} <= kinds(gs.compile(whole, passes=passes).program(*args))
    assert "[tile]" in gs.compile(whole, passes=["tiles"]).source(*args)
    assert "[tile]" not in gs.compile(whole, passes=["in_place"]).source(*args)


def test_what_is_added_to_in_a_loop_is_written_in_place_by_a_step() -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s = s + x[i] ** 2
        return s

    texts = {}
    for step in ("in_place", "frees"):
        compiled = gs.compile(gs.grad(total), passes=[step])
        for n in (40, 50, 60):
            assert np.array_equal(compiled(np.arange(n * 1.0)), 2.0 * np.arange(n * 1.0))
        texts[step] = compiled.source(np.arange(60.0))
    assert "np.array(d_x" not in texts["in_place"]
    assert "np.array(d_x" in texts["frees"]


def test_many_lists_are_one_list_of_tuples() -> None:
    program = loops().program(np.arange(3.0), 5)
    bundle = next(s for s in program.body if isinstance(s, List) and s.of)
    first, second = [s for s in program.body if isinstance(s, Loop)]
    assert [type(s.value) for s in first.body if isinstance(s, Push) and s.target is bundle.target] == [tuple]
    assert [len(item) for stack, item in second.items if stack is bundle.target] == [len(bundle.of)]
    x = np.arange(3.0)
    assert difference(run_program(program, x, 5), gs.grad(rollout)(x, 5)) is None


def test_the_name_of_a_step_is_checked() -> None:
    named = ", ".join([*STEPS, *OF_TARGET])
    with pytest.raises(ValueError, match=f"no pass is called 'tile'; there are .*, {named}"):
        gs.compile(chain, passes=["tile"])(np.ones(3), np.ones(3))


def test_the_lists_of_a_loop_in_a_loop_are_one_row() -> None:
    def energy(pos, mass):
        total = 0.0
        for i in range(len(mass)):
            for j in range(i + 1, len(mass)):
                r = pos[i] - pos[j]
                distance = np.sqrt(np.sum(r**2) + 1e-4)
                total = total - mass[i] * mass[j] / distance
        return total

    args = np.random.default_rng(0).normal(size=(5, 3)), np.arange(1.0, 6.0)
    function = gs.value_and_grad(energy, argnums=(0, 1))
    compiled = gs.compile(function, verify=True)
    expected = function(*args)
    for _ in range(2):
        assert difference(compiled(*args), expected) is None
    text = str(gs.source(compiled, *args))
    assert text.count(".append(") == 2, text
    assert "        row = []\n" in text
    assert "        rows.append(row)\n" in text
    assert "        row = rows[i]\n" in text
    assert re.search(r"\n {12}r, distance, \w+ = row\[j - \(i \+ 1\)\]\n", text), text
    assert difference(run_program(function.program(*args), *args), expected) is None


def test_a_row_that_is_too_long_for_a_line_is_wrapped_and_rows_lie_in_rows() -> None:
    def deep(x, w):
        total = 0.0
        for i in range(len(x)):
            for j in range(i + 1):
                first_quantity = np.sin(x[i] * w[j])
                second_quantity = np.exp(first_quantity + w[j])
                third_quantity = np.sqrt(1.0 + second_quantity * first_quantity**2)
                fourth_quantity = np.tanh(third_quantity * first_quantity * second_quantity)
                for k in range(j + 2):
                    b = np.exp(fourth_quantity * x[k % 3]) * w[k % 3]
                    total = total + b * np.cos(b + total) * third_quantity
        return total

    args = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.6, 0.7])
    function = gs.value_and_grad(deep, argnums=(0, 1))
    compiled = gs.compile(function, verify=True)
    expected = function(*args)
    for _ in range(2):
        assert difference(compiled(*args), expected) is None
    text = str(gs.source(compiled, *args))
    assert "        rows.append(row)\n" in text, text
    assert "rows_2" not in text
    assert "index = k % 3\n" in text
    assert max(map(len, text.splitlines())) <= 88
    assert difference(run_program(function.program(*args), *args), expected) is None
