"""Arms that the first calls do not take: whichever call takes one first is checked against eager."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.driver import specialise
from gradscribe.transforms.difference import difference

Array = Any
A, B = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0])  # which take one arm, and the other
FAR = np.array([-1.0, -2.0, 3.0])


def planted(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> list[str]:
    """Put `new` in the place of `old` in each text that is written from here on; the texts."""
    emit, texts = specialise.emit, list[str]()

    def wrong(*args: Any) -> str:
        text = emit(*args)
        assert old in text, text
        texts.append(text.replace(old, new))
        return texts[-1]

    monkeypatch.setattr(specialise, "emit", wrong)
    return texts


def eager_runs(compiled: Any) -> list[int]:
    """How often a compiled function has run eagerly: a number that grows."""
    count, original = [0], compiled._run_eagerly

    def counted(*args: Any) -> Any:
        count[0] += 1
        return original(*args)

    compiled._run_eagerly = counted
    return count


def scaled(x: Array) -> Array:
    y = np.sin(x)
    if x[0] > 0.0:
        y = y * 2.0
    else:
        y = y * 3.0
    return y


def chosen(x: Array) -> Array:
    return np.sum(np.cos(x)) if x[0] > 0.0 else np.sum(x * 3.0)


def left(x: Array) -> Array:
    y = x * 0.5
    if x[0] > 0.0:
        y = np.exp(y)
    return y * y


def turned(x: Array) -> Array:
    m = np.outer(x, x) * 1.5
    if x[0] > 0.0:
        m = np.tanh(m)
    else:
        m = np.sin(m[:, ::-1])
    return m


def twice(x: Array) -> Array:
    y = x * 2.0
    if x[0] > 0.0:
        y = y + 1.0
    elif x[1] > 0.0:
        y = np.exp(y)
    else:
        y = y * 7.0
    return np.sum(y * y)


def in_a_loop(x: Array) -> Array:
    s = np.sum(x) * 0.0
    for i in range(6):
        if x[0] + i > 20.0:
            s = s * 5.0
        else:
            s = s + x[0]
    return s


def trips(x: Array) -> Array:
    s = np.sum(x)
    while s > 4.0:
        s = s * 0.5
    return s


FAULTS: list[tuple[Callable[..., Any], str, str, Array, Array]] = [
    (scaled, "y * 3.0", "y * 4.0", A, B),
    (scaled, "y * 2.0", "y * 4.0", B, A),
    (gs.grad(lambda x: np.sum(scaled(x))), "* 3.0", "* 4.0", A, B),
    (gs.value_and_grad(chosen), "x * 3.0", "x * 4.0", A, B),
    (gs.grad(chosen), "np.sin(x)", "np.cos(x)", B, A),
    (left, "np.exp(", "np.cos(", B, A),
    (gs.grad(twice), "* 7.0", "* 8.0", A, FAR),
    (turned, "np.sin(m[:, ::-1])", "np.sin(m[:, ::-1]).T.copy().T", A, B),  # other strides
    (turned, "np.sin(m[:, ::-1])", "np.sin(m[:, ::-1])[:2]", A, B),
    (turned, "np.sin(m[:, ::-1])", "None", A, B),
    (in_a_loop, "s * 5.0", "s * 6.0", A, A * 20.0),
    (gs.grad(in_a_loop), "* 5.0", "* 6.0", A, A * 20.0),
    (trips, "s * 0.5", "s * 0.25", B * 0.1, A),
]


@pytest.mark.parametrize(("function", "old", "new", "first", "later"), FAULTS)
def test_a_fault_in_an_arm_is_found_by_the_first_call_that_takes_it(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], old: str, new: str, first: Array, later: Array
) -> None:
    planted(monkeypatch, old, new)
    loud, quiet = gs.compile(function, verify="first calls"), gs.compile(function)
    for k in range(12):
        x = first * (1.0 + 0.01 * k)
        assert difference(loud(x), function(x)) is None
        assert difference(quiet(x), function(x)) is None
    assert loud._eager is None
    with pytest.raises(gs.VerifyError, match="gave another result compiled than eagerly"):
        loud(later)
    monkeypatch.undo()
    for x in (later, later, first, later, later * 1.01):
        assert difference(quiet(x), function(x)) is None


def test_an_arm_is_checked_once() -> None:
    compiled = gs.compile(gs.grad(twice), verify="first calls")
    count = eager_runs(compiled)
    expected = {0: 1, 1: 2, 2: 3}  # the first check is of the capture's own run
    for k, x in enumerate((A, B, FAR)):
        for j in range(6):
            compiled(x * (1.0 + 0.1 * j))
        assert count == [expected[k]]
    (specialisation,) = compiled._texts.values()
    assert not specialisation.arms
    assert specialisation.function.__code__.co_names == compile_of(specialisation).co_names


def compile_of(specialisation: Any) -> Any:
    space: dict[str, Any] = {}
    exec(compile(specialisation.text, "<text>", "exec"), space)
    return space[specialisation.function.__name__].__code__


def test_what_an_arm_raises_is_raised() -> None:
    def f(x: Array) -> Array:
        m = np.outer(x, x) + np.eye(3) * x[0]
        return np.linalg.inv(m) if x[1] > 0.0 else m

    compiled = gs.compile(f, verify="first calls")
    for _ in range(3):
        compiled(FAR)
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError):
            compiled(np.array([0.0, 1.0, 0.0]))
    assert difference(compiled(A), f(A)) is None
    assert compiled._eager is None


def stores(x: Array, out: Array) -> Array:
    y = x[0] * 3.0 if x[0] > 0.0 else x[1] * 5.0
    out[1:] = x[1:] * 2.0
    out[0] += y
    return y


def test_an_array_is_written_once_and_a_wrong_store_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = gs.compile(stores, verify="first calls")
    for x in (A, A * 2.0, A, B, B * 2.0, A, B):
        one, other = np.zeros(3), np.zeros(3)
        assert difference((compiled(x, one), one), (stores(x, other), other)) is None
    planted(monkeypatch, "out_2[1:] = x[1:]", "out_2[1:] = x[1:] * x_0")
    wrong = gs.compile(stores, verify="first calls")
    wrong(A, np.zeros(3))
    with pytest.raises(gs.VerifyError):
        wrong(A * 2.0, np.zeros(3))


class Model:
    """Keeps what it has seen."""

    def __init__(self) -> None:
        self.total: Any = np.zeros(3)

    def step(self, x: Array) -> Array:
        self.total = self.total + (x * 2.0 if x[0] > 0.0 else x * 3.0)
        return np.sum(x)


def test_an_attribute_is_stored_once_and_a_wrong_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    model, eager = Model(), Model()
    compiled = gs.compile(model.step, verify="first calls")
    for x in (A, A * 2.0, A, B, A, B * 2.0, B):
        compiled(x)
        eager.step(x)
        np.testing.assert_array_equal(model.total, eager.total)
    planted(monkeypatch, "x * 3.0", "x * 4.0")
    wrong = gs.compile(Model().step, verify="first calls")
    for x in (A, A * 2.0, A):
        wrong(x)
    with pytest.raises(gs.VerifyError):
        wrong(B)


def draws(x: Array, rng: Any) -> Array:
    noise = rng.normal(size=3)
    y = x + noise
    if x[0] > 0.0:
        y = y * 2.0
    else:
        y = y * 3.0
    return y


@pytest.mark.parametrize("fault", [False, True])
def test_what_is_drawn_before_an_arm_is_drawn_once(monkeypatch: pytest.MonkeyPatch, fault: bool) -> None:
    planted(monkeypatch, "y * 3.0", "y * 4.0" if fault else "y * 3.0")
    compiled = gs.compile(draws, verify="first calls")
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for x in (A, A * 2.0, A, A):
        assert difference(compiled(x, one), draws(x, other)) is None
    if fault:
        with pytest.raises(gs.VerifyError):
            compiled(B, one)
        return
    for x in (B, A, B, A, B * 3.0, A):
        assert difference(compiled(x, one), draws(x, other)) is None
    assert one.bit_generator.state == other.bit_generator.state
    assert compiled._eager is None


def outcomes(x: Array) -> Array:
    y = x * 2.0
    if bool(x[2] > 0.0):  # a truth of Python's: an outcome of its own
        y = np.sin(y)
    if x[0] > 0.0:
        y = y * 2.0
    else:
        y = y * 3.0
    return y


def test_arms_behind_an_outcome_are_checked_in_each_text(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = gs.compile(outcomes, verify="first calls")
    count = eager_runs(compiled)
    signs = np.array([1.0, 1.0, -1.0])
    calls = [A, A * signs, A, A * signs, *[A * 1.1, A * 1.1 * signs] * 6, B, B * signs, A, B, B * signs]
    for x in calls:
        assert difference(compiled(x), outcomes(x)) is None
    before = count[0]
    for x in calls:
        assert difference(compiled(x), outcomes(x)) is None
    assert count == [before]
    (text,) = {str(compiled.source(x)) for x in calls}
    assert "Knows 2 paths" in text
    from gradscribe.transforms.compiler.python import emit

    text_of = emit.text_of

    def wrong_of_paths(program: Any, signature: Any, docstring: Any, paths: Any = None, steps: Any = None) -> str:
        text = text_of(program, signature, docstring, paths, steps)
        return text if paths is None else text.replace("y * 3.0", "y * 4.0")

    monkeypatch.setattr(emit, "text_of", wrong_of_paths)
    wrong = gs.compile(outcomes, verify="first calls")
    for x in calls[:-5]:
        wrong(x)
    with pytest.raises(gs.VerifyError):
        wrong(B * signs)


def test_threads_that_take_an_arm_at_once() -> None:
    compiled = gs.compile(gs.grad(twice), verify="first calls")
    for _ in range(3):
        compiled(A)
    problems: list[Any] = []

    def run() -> None:
        for x in (A, B, FAR, A * 2.0, B * 2.0, FAR * 2.0) * 10:
            problems.append(difference(compiled(x), gs.grad(twice)(x)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert problems == [None] * 240
