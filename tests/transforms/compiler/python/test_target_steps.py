"""Steps of the Python target: what they make of a Program still verifies, and runs to the same bits."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.python.emit import shaped
from gradscribe.transforms.compiler.python.steps import STEPS
from gradscribe.transforms.compiler.schedule.program import Assign, Free, If, Loop, Program, writes_of
from gradscribe.transforms.compiler.schedule.run import run_program
from gradscribe.transforms.compiler.schedule.verify import verified
from gradscribe.transforms.difference import difference

from golden_functions import Example, examples

EXAMPLES = {example.function.__name__: example for example in examples()}


def programs(function: Any, *args: Any, steps: tuple[str, ...] | None = None) -> dict[str, Program]:
    """The Program of a function after each step of the target."""
    found: dict[str, Program] = {}
    known = gs.compile(function, verify=False).specialisation(*args)
    shaped(known.program(), known.signature, steps, lambda step, program: found.update({step: program}))
    return found


@pytest.mark.parametrize("plain", [False, True], ids=["gradient", "value"])
@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_by_its_variables_a_program_gives_the_same_bits(example: Example, plain: bool) -> None:
    function = example.function if plain else example.differentiated()
    expected = run_program(gs.compile(function).program(*example.args), *copy.deepcopy(example.args))
    for program in programs(function, *example.args).values():
        args, others = copy.deepcopy(example.args), copy.deepcopy(example.args)
        assert difference(run_program(program, *args), expected) is None
        run_program(gs.compile(function).program(*example.args), *others)
        assert difference(args, others) is None  # what is written into arguments


def waves(x: Any, w: Any) -> Any:
    a = np.sin(x) * w
    b = a @ x
    c = np.exp(-b * b) @ a.T
    return np.sum(c * np.tanh(c)) + np.sum(np.sort(b))


def test_what_the_schedule_frees_is_freed_where_it_lowers_the_peak() -> None:
    x = np.linspace(0.0, 1.0, 62500).reshape(250, 250)
    function, args = gs.grad(waves), (x, x[::-1].copy())
    after = programs(function, *args)
    freed = {step: [s for s in program.body if isinstance(s, Free)] for step, program in after.items()}
    assert 0 < len(freed["deletes"]) < len(freed["names"])
    assert str(gs.source(function, *args)).count("del ") == len(freed["deletes"])
    for program in after.values():
        assert difference(run_program(program, *args), function(*args)) is None


@pytest.mark.parametrize("step", STEPS)
def test_a_step_alone_gives_source_of_the_same_bits(step: str) -> None:
    def loss(w: Any, x: Any) -> Any:
        h = np.tanh(x @ w) * 2.0
        return np.sum(h * h - np.exp(-h))

    args = np.eye(3), np.ones((2, 3))
    function = gs.compile(gs.grad(loss), passes=[step])
    assert difference(function(*args), gs.grad(loss)(*args)) is None
    source = str(function.source(*args))
    assert ("\n    tanh_x_w = np.tanh(x_w)\n" in source) == (step != "nesting")
    assert ("del " in source) == (step != "deletes")


def test_the_dump_shows_what_is_nested_and_what_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    gs.compile(gs.grad(lambda x: np.sum(np.sin(x * x))), dump=True)(np.ones(3))
    printed = capsys.readouterr().out
    places = [printed.index(f"after {step}:") for step in ("frees", *STEPS)]
    assert places == sorted(places)
    assert "nested " in printed[places[1] : places[2]]


def chain(x: Any) -> Any:
    y = np.sin(x) * x
    z = np.exp(y) + y
    return np.sum(z * z)


def test_a_variable_that_is_taken_too_early_is_found() -> None:
    program = programs(gs.grad(chain), np.arange(3.0))["names"]
    first, second = [s.slots[0].value for s in program.body if isinstance(s, Assign) and not s.nested][:2]
    planted = program._replace(variables={**program.variables, second: program.variables[first]})
    with pytest.raises(gs.VerifyError, match="is read, and its variable"):
        verified(planted, "planted")
    body = [s for s in planted.body if not isinstance(s, Free)]
    found = run_program(planted._replace(body=body), np.arange(3.0))
    assert difference(found, gs.grad(chain)(np.arange(3.0))) is not None


def test_a_nested_call_whose_argument_is_gone_is_found() -> None:
    program = programs(gs.grad(chain), np.arange(3.0))["names"]
    at, call = next((k, s) for k, s in enumerate(program.body) if isinstance(s, Assign) and s.nested and k)
    held = [v for v in call.call.reads if v in {w for s in program.body[:at] for w in writes_of(s)}]
    body = [*program.body[: at + 1], Free(tuple(held), call.note), *program.body[at + 1 :]]
    with pytest.raises(gs.VerifyError, match="is not there"):
        verified(program._replace(body=body), "planted")


def test_a_variable_that_a_trip_takes_from_the_next_is_found() -> None:
    def rollout(x: Any, k: int) -> Any:
        for _ in range(k):
            y = np.sin(x) @ x
            x = np.tanh(x * y) * 2.0 + y
        return np.sum(x)

    compiled = gs.compile(gs.value_and_grad(rollout))
    for k in (3, 4, 5):
        compiled(np.arange(3.0), k)
    known = compiled.specialisation(np.arange(3.0), 5)
    program = shaped(known.program(), known.signature)
    backward = [s for s in program.body if isinstance(s, Loop)][-1]
    made = next(s.slots[0].value for s in backward.body if isinstance(s, Assign) and not s.nested)
    carried = backward.carries[0].param
    assert program.variables[made] != program.variables[carried]
    planted = program._replace(variables={**program.variables, made: program.variables[carried]})
    with pytest.raises(gs.VerifyError, match="is read, and its variable"):
        verified(planted, "planted")


def test_a_branch_whose_arms_are_expressions_is_one() -> None:
    def bent(b: Any) -> Any:
        c = b if np.sum(b) > 0 else 100 * b
        if np.sum(c) > 3:
            e = np.sin(c)
            d = e * np.cos(e)
        else:
            d = c
        return np.sum(d * d)

    program = programs(bent, np.arange(3.0))["names"]
    short, long = [s for s in program.body if isinstance(s, If)]
    assert short.expression
    assert not long.expression
    assert "c = b if b.sum() > 0 else 100 * b\n" in str(gs.source(bent, np.arange(3.0))).replace("  #", "\n")
    flat = programs(bent, np.arange(3.0), steps=("names",))["names"]
    assert not any(s.expression for s in flat.body if isinstance(s, If))
    body = [dataclasses.replace(s, expression=True) if s is long else s for s in program.body]
    with pytest.raises(gs.VerifyError, match="an arm of it has several statements"):
        verified(program._replace(body=body), "planted")


def heads(x: Any, A: Any, B: Any) -> Any:
    q, k = x @ A, np.sin(x @ B)
    return np.sum((q @ k.T) ** 2)


HEADS = np.ones((2, 3)), np.ones((3, 3)), np.full((3, 3), 2.0)


def test_assignments_that_are_one_stand_beside_each_other() -> None:
    after = programs(heads, *HEADS)
    beside = {step: [s for s in p.body if isinstance(s, Assign) and s.beside] for step, p in after.items()}
    assert not beside["deletes"]
    (second,) = beside["tuples"]
    assert second.lines == ()
    assert second.call.op.path == "np.sin"
    assert "    q, k = x @ A, np.sin(x @ B)" in str(gs.source(heads, *HEADS))
    apart = str(gs.compile(heads, passes=["nesting", "names"]).source(*HEADS))
    assert "    q = x @ A" in apart


def test_an_assignment_beside_one_that_it_reads_is_found() -> None:
    program = programs(gs.grad(chain), np.arange(3.0))["names"]
    alone = [s for s in program.body if isinstance(s, Assign) and not s.nested]
    first, second = next((a, b) for a, b in itertools.pairwise(alone) if a.slots[0].value in b.call.reads)
    assert program.body.index(second) == program.body.index(first) + 1
    body = [dataclasses.replace(s, beside=True) if s is second else s for s in program.body]
    with pytest.raises(gs.VerifyError, match="is read in the statement that gives it"):
        verified(program._replace(body=body), "planted")
    body = [dataclasses.replace(alone[0], beside=True) if s is alone[0] else s for s in program.body]
    with pytest.raises(gs.VerifyError, match="none comes before it"):
        verified(program._replace(body=body), "planted")


def rolled(x: Any) -> Any:
    rows = []
    for i in range(x.shape[0]):
        rows.append(np.sum(x[i]))
    return rows[0] * rows[-1] + np.sum(x)


def test_small_arrays_have_no_del_before_a_loop() -> None:
    source = str(gs.source(gs.grad(rolled), np.ones((4, 3))))
    assert "for " in source
    assert "del " not in source


def test_without_nesting_what_is_dead_has_its_del_before_the_return() -> None:
    function = gs.compile(gs.grad(waves), passes=["names"])
    x = np.linspace(0.0, 1.0, 62500).reshape(250, 250)
    source = str(function.source(x, x[::-1].copy()))
    assert "del " in source
    assert "del " not in source[source.index("    return ") :]
    assert difference(function(x, x[::-1].copy()), gs.grad(waves)(x, x[::-1].copy())) is None
