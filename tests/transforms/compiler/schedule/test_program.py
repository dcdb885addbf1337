"""The Program: the reference gives what the generated source gives, and planted faults are found."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.schedule.program import (
    Assign,
    Free,
    Guard,
    If,
    Loop,
    Note,
    Program,
    Push,
    Return,
    Slot,
    Statement,
    Store,
    Tiled,
    each_statement,
)
from gradscribe.transforms.compiler.schedule.run import run_program
from gradscribe.transforms.compiler.schedule.verify import verified
from gradscribe.transforms.difference import difference

from golden_functions import Example, examples
from large_arrays import small

__all__ = ["small"]  # a fixture

EXAMPLES = {example.function.__name__: example for example in examples()}


def source_of(text: str, name: str) -> Any:
    """The function of a generated source."""
    space: dict[str, Any] = {}
    exec(text, space)
    return space[name]


@pytest.mark.parametrize("plain", [False, True], ids=["gradient", "value"])
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_the_reference_gives_what_the_generated_source_gives(
    example: Example, plain: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    function = example.function if plain else example.differentiated()
    program = gs.compile(function).program(*example.args)
    text = source_of(gs.source(function, *example.args), program.name)
    args, others = copy.deepcopy(example.args), copy.deepcopy(example.args)
    capsys.readouterr()
    found, printed = run_program(program, *args), capsys.readouterr().out
    expected = text(*others)
    assert printed == capsys.readouterr().out
    assert difference(found, expected) is None
    assert difference(args, others) is None  # what is written into arguments


def test_programs_use_every_statement() -> None:
    left = {"Unpack", "Assign", "Store", "List", "Push", "Loop", "If", "Guard", "Effect", "Free", "Return"}
    for example in map(EXAMPLES.get, ("heat_equation", "doubled", "reported", "normalised", "decided")):
        for function in (example.function, example.differentiated()):
            left -= {type(s).__name__ for s in each_statement(gs.compile(function).program(*example.args).body)}
    assert not left


def test_calls_in_tiles(small: None) -> None:
    def chain(x: Any, w: Any) -> Any:
        a = np.tanh(x * 0.3) * w
        b = np.exp(-a * a) + np.sqrt(np.abs(x)) * a
        return np.sum(np.sin(b) * np.cos(a) - b)

    function, args = gs.value_and_grad(chain, argnums=(0, 1)), (np.linspace(-2.0, 3.0, 20), np.linspace(0.5, 1.0, 20))
    program = gs.compile(function).program(*args)
    assert any(isinstance(s, Tiled) for s in each_statement(program.body))
    text = source_of(gs.source(function, *args), program.name)
    assert difference(run_program(program, *args), text(*args)) is None


def test_a_program_reads_as_text() -> None:
    def step(w: Any, x: Any) -> Any:
        h = np.tanh(x @ w)
        return np.sum(h * h)

    shown = str(gs.grad(step).program(np.eye(2), np.ones(2)))
    assert shown.startswith("program step_grad(w, x):\n    -- forward\n")
    assert "h: float64[2] = np.tanh(" in shown
    assert "-- backward" in shown
    assert "test_program.py:" in shown
    assert shown.rstrip().splitlines()[-1].startswith("    return d_w")


def _program() -> Program:
    """A loop with lists, a buffer that is written over, a branch and frees."""

    def f(x: Any, k: int) -> Any:
        for _ in range(k):
            x = np.sin(x) if np.sum(x) > 0 else np.cos(x)
        return np.sum(x * x)

    compiled = gs.compile(gs.grad(f))
    for k in (3, 4, 5):
        compiled(np.arange(3.0), k)
    return compiled.program(np.arange(3.0), 5)


def _without(kind: type, which: Callable[[Any], bool] = lambda s: True) -> Callable[[list[Statement]], list[Statement]]:
    def change(body: list[Statement]) -> list[Statement]:
        at = next(k for k, s in enumerate(body) if isinstance(s, kind) and which(s))
        return body[:at] + body[at + 1 :]

    return change


def _again(body: list[Statement]) -> list[Statement]:
    at = next(k for k, s in enumerate(body) if isinstance(s, Free))
    return [*body[: at + 1], body[at], *body[at + 1 :]]


def _freed_early(body: list[Statement]) -> list[Statement]:
    at = next(k for k, s in enumerate(body) if isinstance(s, Free) and k > 1)
    return [*body[: at - 1], body[at], body[at - 1], *body[at + 1 :]]


def _named_twice(body: list[Statement]) -> list[Statement]:
    at = next(k for k, s in enumerate(body) if isinstance(s, Assign))
    return [*body[: at + 1], body[at], *body[at + 1 :]]


def _over_what_is_read(body: list[Statement]) -> list[Statement]:
    for k, s in enumerate(body):
        if isinstance(s, Assign) and len(s.slots) == 1:
            read = [v for v in s.call.reads if v.type[:3] == s.slots[0].value.type[:3]]
            later = {v for t in body[k + 1 :] if isinstance(t, Assign) for v in t.call.reads}
            if read and read[0] in later:
                over = dataclasses.replace(s, slots=(Slot(s.slots[0].value, "over", (read[0],)),))
                return [*body[:k], over, *body[k + 1 :]]
    raise AssertionError("nothing is read twice")


def _guard_behind_a_store(body: list[Statement]) -> list[Statement]:
    first = next(s for s in body if isinstance(s, Assign))
    value = next(v for s in body if isinstance(s, Assign) for v in s.call.reads)
    store = Store(value, ..., 0.0, first.call, Note())
    return [store, Guard(1.0, "bool", True, first.slots[0].value, first.call, Note()), *body]


def _endless(body: list[Statement]) -> list[Statement]:
    return [dataclasses.replace(s, trips=None, items=(), test=None) if isinstance(s, Loop) else s for s in body]


def _branch_of_other_width(body: list[Statement]) -> list[Statement]:
    def change(s: Statement) -> Statement:
        if isinstance(s, Loop):
            return dataclasses.replace(s, body=[change(t) for t in s.body])
        return dataclasses.replace(s, then=s.then._replace(results=())) if isinstance(s, If) else s

    return [change(s) for s in body]


def _pushed_on_no_list(body: list[Statement]) -> list[Statement]:
    value = next(s for s in body if isinstance(s, Assign)).slots[0].value
    return [*body[:-1], Push(value, 1.0, Note()), body[-1]]


FAULTS = [
    _without(Return), _without(Assign), _again, _freed_early, _named_twice, _over_what_is_read, _endless, _branch_of_other_width,
    _pushed_on_no_list,
]  # fmt: skip


@pytest.mark.parametrize("plant", FAULTS)
def test_a_planted_fault_is_found(plant: Callable[[list[Statement]], list[Statement]]) -> None:
    def chain(x: Any) -> Any:
        y = np.sin(x) * x
        z = np.exp(y) + y
        return np.sum(z * z)

    straight = gs.grad(chain).program(np.arange(3.0))
    program = _program() if plant in (_endless, _branch_of_other_width) else straight
    verified(program, "as it is")
    with pytest.raises(gs.VerifyError, match="the program after `planted` is not well formed"):
        verified(program._replace(body=plant(list(program.body))), "planted")


def test_a_guard_behind_a_store_is_found() -> None:
    program = gs.grad(lambda x: np.sum(np.sin(x))).program(np.ones(2))
    behind = [program.body[0], *_guard_behind_a_store(list(program.body[1:]))]
    with pytest.raises(gs.VerifyError, match="a guard stands behind a store"):
        verified(program._replace(body=behind), "planted")
