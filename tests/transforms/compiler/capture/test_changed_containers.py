"""Lists, dicts and dataclasses among the arguments that a function changes: the caller's own change, as without gs.compile."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs


@dataclasses.dataclass
class State:
    w: Any
    n: int


def adds_to_an_item(x: Any, held: Any) -> Any:
    held["n"] = held["n"] + 1
    return np.sum(x * held["n"])


def puts_in_what_it_made(x: Any, held: Any) -> Any:
    held["a"]["q"] = x * 2
    held["a"]["new"] = [x, {"p": x * 3}]
    return np.sum(x)


def appends(x: Any, held: Any) -> Any:
    held.append(x * 2)
    return np.sum(x) * len(held)


def appends_in_a_loop(x: Any, held: Any) -> Any:
    for i in range(6):
        held.append(x * i)
    return np.sum(x) * len(held)


def keeps_a_loop(x: Any, held: Any) -> Any:
    for _ in range(6):
        x = np.sin(x)
    held[0] = x
    return np.sum(x)


def raises_later(x: Any, held: Any) -> Any:
    held.pop()
    if np.sum(x) > 2:
        raise ValueError("above")
    return x


def on_one_path(x: Any, held: Any) -> Any:
    if np.sum(x) > 2:
        held["n"] = x
    return x * held["n"]


def moves(x: Any, held: Any) -> Any:
    held["other"] = held.pop("x")
    held["x"] = x
    return x * held["other"]


def holds_a_list(x: Any, held: Any) -> Any:
    held["n"].reverse()
    held["same"] = held["n"]
    return x * held["n"][0]


def in_a_tuple(x: Any, held: Any) -> Any:
    held[0][0] += 1
    return x * held[0][0]


def stores(x: Any, held: Any) -> Any:
    held.n += 1
    held.w = x * 2
    return x * held.n


def draws(x: Any, held: Any) -> Any:
    for _ in range(5):
        x = x + held["rng"].normal(size=2)
    held["n"] += 1
    return x * held["n"]


CASES: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (adds_to_an_item, lambda: {"n": 1, "a": 2}),
    (puts_in_what_it_made, lambda: {"z": 1, "a": {"q": np.ones(2)}}),
    (appends, list),
    (appends_in_a_loop, lambda: [np.ones(2)]),
    (keeps_a_loop, lambda: [np.ones(2)]),
    (raises_later, lambda: list(range(9))),
    (on_one_path, lambda: {"n": 1}),
    (moves, lambda: {"x": np.ones(2)}),
    (holds_a_list, lambda: {"n": [1, 2]}),
    (in_a_tuple, lambda: ([1], {"w": 1.0})),
    (stores, lambda: State(1.0, 2)),
    (draws, lambda: {"rng": np.random.default_rng(0), "n": 1}),
]


@pytest.mark.parametrize(("f", "make"), CASES)
def test_the_callers_own_change(f: Any, make: Any) -> None:
    told = []
    for g in (f, gs.compile(f)):
        held = make()
        for k in range(4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gs.EagerWarning)
                try:
                    found = repr(g(np.ones(2) * k, held))
                except ValueError as error:
                    found = str(error)
            random = [held["rng"].bit_generator.state] if f is draws else []
            told.append((found, repr(held).partition("Generator")[0], repr(held).partition("'n'")[2], random))
    assert told[:4] == told[4:]


def test_lists_within_stay_the_callers() -> None:
    held = {"n": [1, 2]}
    inner = held["n"]
    with pytest.warns(gs.EagerWarning, match="changes a list or dict that is an argument"):
        gs.compile(holds_a_list)(np.ones(2), held)
    assert held["n"] is inner
    assert held["same"] is inner
    assert inner == [2, 1]


def test_what_changes_none_is_compiled() -> None:
    def f(x: Any, held: Any) -> Any:
        held["w"] += x  # in place
        held["w"] = held["w"]
        return x * held["w"]

    compiled, one, other = gs.compile(f, verify="first calls"), {"w": np.ones(2)}, {"w": np.ones(2)}
    for _ in range(3):
        np.testing.assert_array_equal(compiled(np.ones(2), one), f(np.ones(2), other))
        np.testing.assert_array_equal(one["w"], other["w"])
    assert not gs.explain(compiled).eager


# Lists and dicts of a module, which code that runs eagerly in the midst of a capture reads too ----------------------------

rates: list[float] = [1.0]
table: dict[str, float] = {"rate": 1.0}


@functools.cache
def cached(x: Any) -> Any:
    return rates[-1] * x * x


@functools.cache
def cached_by_key(x: Any, k: str) -> Any:
    return table[k] * x * x


class Unwatched:
    """An object that no capture can watch."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def scaled(self, x: Any) -> Any:
        return rates[-1] * x


unwatched = Unwatched()


def with_state(x: Any) -> Any:
    return rates[-1] * x


with_state.seen = []  # type: ignore[attr-defined]


def appends_before_a_cache(x: Any) -> Any:
    rates.append(5.0)
    y = cached(x)
    rates.pop()
    return y


def stores_behind_a_cache(x: Any) -> Any:
    y = x * cached(x)
    rates[-1] = 3.0
    return y * cached(x * 2.0)


def stores_into_a_dict(x: Any) -> Any:
    table["rate"] += 2.0
    return cached_by_key(x, "rate")


def appends_before_a_method(x: Any) -> Any:
    rates.append(5.0)
    y = unwatched.scaled(x)
    rates.append(7.0)
    return y * unwatched.scaled(x)


def appends_behind_a_function_with_state(x: Any) -> Any:
    y = rates[-1] * with_state(x)
    rates.insert(0, 4.0)
    rates.reverse()
    return y * with_state(x)


def appends_behind_a_message(x: Any) -> Any:
    y = rates[-1] * x
    print("once")
    y = unwatched.scaled(x) * y
    rates.append(4.0)
    return y * unwatched.scaled(x)


def appends_in_a_closure(x: Any) -> Any:
    def last() -> float:
        rates.append(6.0)
        return rates[-1]

    return last() * unwatched.scaled(x)


SHARED = [
    appends_before_a_cache, stores_behind_a_cache, stores_into_a_dict, appends_before_a_method,
    appends_behind_a_function_with_state, appends_behind_a_message, appends_in_a_closure,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # running eagerly is no loss
@pytest.mark.parametrize("f", SHARED)
def test_eager_code_in_a_capture_sees_the_same_list(f: Any, capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for transform in (gs.grad, lambda f: gs.compile(gs.grad(f))):
        rates[:], table["rate"] = [1.0], 1.0
        gradient = transform(f)
        found = [(float(gradient(x)), list(rates), dict(table)) for x in (0.3, 0.7, 1.1, 0.5)]
        runs.append((found, capsys.readouterr().out))
    assert runs[0] == runs[1]
    rates[:], table["rate"] = [1.0], 1.0
    cached.cache_clear()
    cached_by_key.cache_clear()
    raised = f(0.3 + 1e-6)
    rates[:], table["rate"] = [1.0], 1.0
    cached.cache_clear()
    cached_by_key.cache_clear()
    np.testing.assert_allclose(runs[0][0][0][0], (raised - f(0.3 - 1e-6)) / 2e-6, rtol=1e-6)


# What eager code does by itself happens once -------------------------------------------------------------------------------

calls = 0
memory: dict[str, float] = {"last": 0.3}


class Layer:
    def __init__(self, k: float) -> None:
        self.k = k

    def forward(self, x: Any) -> Any:
        return x * self.k


layers = [Layer(1.0), Layer(2.0)]


def counter() -> Callable[[Any], Any]:
    n = 0

    def step(x: Any) -> Any:
        nonlocal n
        n += 1
        return x * (1.0 + 0.1 * n)

    return step


step = counter()


def count(x: Any) -> Any:
    global calls
    calls += 1
    return x * (1.0 + 0.1 * calls)


def counts_and_reads_a_list(x: Any) -> Any:
    v = count(x)
    return np.sum(max(layers, key=lambda layer: layer.k).forward(v))


def steps_and_reads_a_list(x: Any) -> Any:
    v = step(x)
    return np.sum([layer.k for layer in layers] * v)


def counts_and_stores(x: Any) -> Any:
    v = count(x)
    memory["last"] = float(np.tanh(np.sum(v)))
    return np.sum(v) * memory["last"]


def reads_a_list_and_counts(x: Any) -> Any:
    k = layers[0].k + memory["last"]
    return np.sum(count(x) * k) + np.sum(layers[1].forward(count(x)))


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("transform", [gs.value_and_grad, lambda f: f])
@pytest.mark.parametrize(
    "f", [counts_and_reads_a_list, steps_and_reads_a_list, counts_and_stores, reads_a_list_and_counts]
)
def test_a_function_that_counts_its_calls_is_called_once(f: Any, transform: Any) -> None:
    global calls, step
    runs = []
    for run in (f, gs.compile(transform(f))):
        calls, step = 0, counter()
        memory["last"] = 0.3
        values = [run(np.array([0.3, 0.7])) for _ in range(3)]
        runs.append(([v[0] if isinstance(v, tuple) else v for v in values], calls, dict(memory)))
    assert runs[0] == runs[1]
