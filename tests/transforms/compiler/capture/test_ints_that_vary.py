"""Ints that are others at the next call: inputs of one source, where it can follow them at run time, and values elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from trips import bits, outcome

X = np.linspace(-1.0, 1.0, 60).reshape(20, 3)
NUMBERS = (10, 11, 12, 5, 0, 1, 2, -3, 19, 3)


def sources(function: Any, calls: Any, transform: Callable[[Any], Any] = lambda f: f) -> int:
    """How many sources a function has after calls, at each of which compiled is eager to the last bit."""
    plain = transform(function)
    compiled = gs.compile(plain, verify="first calls")
    for args in calls:
        with np.errstate(all="ignore"):
            assert bits(outcome(compiled, *args)) == bits(outcome(plain, *args)), args
    found = gs.explain(compiled)
    assert not found.eager
    return len(found.specialisations)


def recurrent(x: Any, n: int) -> Any:
    h = np.zeros(3)
    for i in range(n):
        h = np.tanh(h + x[i])
    return np.sum(h)


def stepped(x: Any, n: int) -> Any:
    h = x[0] * 1.0
    for i in range(1, n, 2):
        h = np.sin(h + x[i])
    for i in range(n - 1, 0, -1):
        h = np.sin(h + x[i] / n)
    return h


def counted(x: Any, n: int) -> Any:
    i, h = 0, x[0]
    while i < n:
        h = np.sin(h) + i
        i += 1
    return h, i


def broken(x: Any, n: int) -> Any:
    h = x[0] * 1.0
    for i in range(n):
        if np.sum(h) > 5:
            break
        h = h + x[i] ** 2
    else:
        h = h * 2
    return h, n


def filled(x: Any, n: int) -> Any:
    y = np.zeros(20)
    for i in range(n):
        y[i] = np.sum(x[i]) * i
    y[n] = 5
    return y


def divided(x: Any, n: int) -> Any:
    return x / n, x.astype(np.float32) / n


def calculated(x: Any, n: int) -> Any:
    return x * n - n / 3 + (n // 2) * x - n % 3 + (-n) * abs(n), n, [n + 1]


def bounded(x: Any, n: int) -> Any:
    h = x[0]
    for i in range(8):
        h = np.sin(h) if i < n else h * 2
    return h


def between(x: Any, n: int) -> Any:
    h = x[0]
    for i in range(-n, n, 3):
        h = np.sin(h * i)
    for i in reversed(range(n)):
        h = np.cos(h + i)
    return h


def typed(x: Any, n: int) -> Any:
    return x * (2 if isinstance(n, int) else 3) * (5 if type(n) is int else 7) * (2 if hasattr(n, "shape") else 1)


@pytest.mark.parametrize(
    "function", [recurrent, stepped, counted, broken, filled, divided, calculated, bounded, between, typed]
)
@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS[::-1], (0, 7, *NUMBERS)])
def test_one_source_serves_every_int(function: Any, numbers: Any) -> None:
    """The first value is a literal, the second an input; no trip at first is a source of its own."""
    assert sources(function, [(X, n) for n in numbers]) <= 2 + (numbers[0] in (0, 3)) + (0 in numbers[:2])


@pytest.mark.parametrize(
    "function", [recurrent, stepped, counted, broken, filled, divided, calculated, bounded, between]
)
def test_one_source_serves_the_gradient(function: Any) -> None:
    def total(x: Any, n: int) -> Any:
        found = function(x, n)
        return np.sum(found[0] if isinstance(found, tuple) else found)

    calls = [(X + 2, n) for n in NUMBERS]
    assert sources(total, calls, gs.value_and_grad) <= 3  # where a loop without a trip is one
    assert sources(total, calls[:4], lambda f: gs.grad(lambda x, n: np.sum(gs.grad(f)(x, n) ** 2))) == 2


def test_the_third_number_costs_no_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.driver import specialise

    made = []
    before = specialise._captured
    monkeypatch.setattr(specialise, "_captured", lambda *args: made.append(args) or before(*args))
    compiled = gs.compile(gs.grad(recurrent))
    for n in (10, 11, 12, 13, 19, 2):
        compiled(X, n)
    assert len(made) == 2
    assert "for i in range(n):" in compiled.source(X, 17)
    assert "n: any int" in str(gs.explain(compiled))


@pytest.mark.parametrize(
    ("function", "last"),
    [
        (lambda x, n: x[:n] * 2, "a slice"),
        (lambda x, n: x[n, :n] * 2, "an index and a slice"),
        (lambda x, n: x[[n, 1]], "a list of indices"),
        (lambda x, n: x**n, "a power"),
        (lambda x, n: x * 2**n, "Python's power"),
        (lambda x, n: np.zeros(abs(n)) + x[0, 0], "a shape"),
        (lambda x, n: x.reshape(n, -1), "a shape"),
        (lambda x, n: np.sum(x, axis=n), "an axis"),
        (lambda x, n: np.roll(x, n), "a shift"),
        (lambda x, n: x * len([2.0] * n) * len((1,) * n) * len("ab" * n), "a repeated list"),
        (lambda x, n: np.sum([row * k for k, row in enumerate([x[0]] * n)]), "a repeated list of arrays"),
        (lambda x, n: x * (n & 1) + (n << 2 if n >= 0 else 0) + n.bit_length(), "bits"),
        (lambda x, n: x * float(n) + int(n) + round(n), "a number of Python's"),
        (lambda x, n: x * len(f"{n}"), "text"),
        (lambda x, n: x * {10: 2.0}.get(n, 3.0), "a key"),
        (lambda x, n: (np.add(n, 1) * x.astype(np.float32), np.sqrt(abs(n)), np.float32(n)), "NumPy's numbers"),
        (lambda x, n: x * len(range(n)) + sum(range(n)) + (3 in range(n)), "a range as such"),
        (lambda x, n: sum(x[i] for i in range(n)), "a generator"),
        (lambda x, n: np.array([np.sum(x[i]) for i in range(n)]), "a list of unknown length"),
    ],
)
def test_what_the_source_cannot_follow_is_a_value_of_its_own(function: Any, last: str) -> None:
    for numbers in (NUMBERS, NUMBERS[::-1]):
        sources(function, [(X, n) for n in numbers])


def test_one_that_is_needed_leaves_the_others_inputs() -> None:
    def f(x: Any, n: int, axis: int, k: int) -> Any:
        h = x * k
        for _ in range(n):
            h = np.sin(h)
        return np.sum(h, axis=axis)

    calls = [(X, n, axis, k) for axis in (0, 1) for n, k in ((4, 2), (5, 3), (6, 4), (9, 5), (4, 7))]
    assert sources(f, calls) == 3  # with literals; for each axis


def test_a_decision_is_a_branch() -> None:
    def chosen(x: Any, n: int) -> Any:
        return x * 2 if n > 11 else x * n

    assert sources(chosen, [(X, n) for n in NUMBERS]) == 2

    def at_least(x: Any, n: int) -> Any:
        return x * max(n, 3) if n > 0 else x

    assert sources(at_least, [(X, n) for n in NUMBERS]) == 2
    assert sources(lambda x, n: x * max(n, 3), [(X, n) for n in NUMBERS]) == 3  # no branch in it: it is not converted
    assert sources(lambda x, n: x * 2 if bool(n > 11) else x * n, [(X, n) for n in NUMBERS]) == 3


def test_nested_loops() -> None:
    def nested(x: Any, n: int, m: int) -> Any:
        h = x[0] * 1.0
        for i in range(n):
            for j in range(m):
                h = np.sin(h + i * j)
        return np.sum(h)

    def triangle(x: Any, n: int) -> Any:
        s = x[0, 0] * 0
        for i in range(n):
            for j in range(i):
                s = s + x[i, j % 3]
        return s

    calls = [(X, n, m) for n, m in ((4, 5), (5, 5), (6, 6), (0, 3), (3, 0), (7, -1), (8, 8), (0, 0))]
    for transform in (lambda f: f, gs.grad):
        assert sources(nested, calls, transform) == 3
        assert sources(triangle, [(X, n) for n in NUMBERS], transform) <= 3


def test_ints_and_sizes_together() -> None:
    """The length of the array is given beside it, and both are others at each call."""
    for transform in (lambda f: f, gs.value_and_grad):
        calls = [(np.arange(float(3 * n)).reshape(n, 3), n) for n in range(5, 40)]
        assert sources(recurrent, calls, transform) == 2


class Model:
    def __init__(self) -> None:
        self.n = 4
        self.options = {"steps": 4, "sizes": [2, 3]}

    def run(self, x: Any) -> Any:
        h = x[0] * 1.0
        for i in range(self.n):
            h = np.sin(h + x[i]) * self.options["sizes"][1]
        return np.sum(h)

    def steps(self, x: Any) -> Any:
        h = x[0] * 1.0
        for i in range(self.options["steps"]):
            h = np.sin(h + x[i]) / self.options["steps"]
        return np.sum(h)


STEPS = 4


def of_global(x: Any) -> Any:
    h = x[0] * 1.0
    for i in range(STEPS):
        h = np.sin(h + x[i])
    return np.sum(h)


@pytest.fixture
def _steps_as_they_were() -> Iterator[None]:
    before = STEPS
    yield
    globals()["STEPS"] = before


@pytest.mark.usefixtures("_steps_as_they_were")
@pytest.mark.parametrize("transform", [lambda f: f, gs.value_and_grad])
def test_ints_from_outside(transform: Any) -> None:
    model, n = Model(), 4

    def of_closure(x: Any) -> Any:
        h = x[0] * 1.0
        for i in range(n):
            h = np.sin(h + x[i])
        return np.sum(h)

    def set_closure(value: int) -> None:
        nonlocal n
        n = value

    def set_item(value: int) -> None:
        model.options["steps"] = value
        model.options["sizes"][1] = value

    for function, change in (
        (model.run, lambda value: setattr(model, "n", value)),
        (model.run, set_item),
        (model.steps, set_item),
        (of_closure, set_closure),
        (of_global, lambda value: globals().update(STEPS=value)),
    ):

        def numbers(change: Any = change) -> Iterator[Any]:
            for value in (*NUMBERS[:4], *NUMBERS[5:]):
                change(value)
                yield (X,)

        assert sources(function, numbers(), transform) <= 3


def test_keywords_trees_and_defaults() -> None:
    def f(x: Any, *, n: int = 4) -> Any:
        return recurrent(x, n)

    def tree(p: Any, options: Any) -> Any:
        return recurrent(p["w"], options["n"]) / options["m"][0]

    compiled = gs.compile(gs.grad(f), verify="first calls")
    for n in NUMBERS:
        assert bits(compiled(X, n=n)) == bits(gs.grad(f)(X, n=n))
    assert len(gs.explain(compiled).specialisations) == 3
    assert sources(tree, [({"w": X}, {"n": n, "m": (n + 1,)}) for n in NUMBERS], gs.grad) == 3


def test_huge_and_wrong_numbers_are_numpys() -> None:
    small = np.arange(4, dtype=np.uint8)
    assert sources(lambda x, n: x + n, [(small, n) for n in (3, 4, 5, 300, -1, 255, 256, 2**70)]) == 2
    assert sources(lambda x, n: x / n, [(X, n) for n in (3, 4, 2**63, 2**64, 2**200, 2**2000, -7, 0)]) == 2
    assert sources(lambda x, n: x * (n * n * n), [(X, n) for n in (3, 4, 2**40, -(2**40), 10**300, 7)]) == 2
    assert sources(lambda x, n: x > n, [(small, n) for n in (3, 4, 300, -1, 2**70)]) == 2
    assert sources(lambda x, n: np.sum(x) * (1 / n), [(X, n) for n in (3, 4, 0, 5, 2**2000)]) == 2


def test_a_bool_is_no_int() -> None:
    compiled = gs.compile(lambda x, flag: x * flag, verify="first calls")
    for flag in (True, 1, False, 0, 2, True, 3):
        assert bits(compiled(X, flag)) == bits(X * flag)
    assert {s.partition("flag: ")[2] for one in gs.explain(compiled).specialisations for s in one.signatures} == {
        "True", "False", "1 (int)", "any int"
    }  # fmt: skip


def test_numbers_of_numpys_are_values() -> None:
    assert sources(lambda x, n: x * n, [(X, np.int64(n)) for n in (3, 4, 5)]) == 3


def test_errors_that_the_code_catches() -> None:
    def f(x: Any, n: int) -> Any:
        try:
            return x[n] * 1
        except IndexError:
            return x[0]

    compiled = gs.compile(f)
    for n in (3, 4, 5, 6):
        assert bits(compiled(X, n)) == bits(f(X, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for n in (20, 3, 21):
            assert bits(compiled(X, n)) == bits(f(X, n))


def test_an_error_does_not_make_it_a_value() -> None:
    compiled = gs.compile(lambda x, n: x * (1 / n))
    compiled(X, 3)
    with pytest.raises(ZeroDivisionError):
        compiled(X, 0)
    for n in (4, 5, 6):
        assert bits(compiled(X, n)) == bits(X * (1 / n))
    assert len(gs.explain(compiled).specialisations) == 2


def test_a_division_that_nobody_reads_raises_too() -> None:
    def f(x: Any, n: int) -> Any:
        _, _, _ = 1 / n, 7 // n, 7 % n
        return np.sum(x * n)

    def inside(x: Any, n: int) -> Any:
        for i in range(5):
            _ = i / n
            x = np.sin(x)
        return np.sum(x * n)

    for function in (f, inside):
        for transform in (lambda f: f, gs.value_and_grad):
            assert sources(function, [(X, n) for n in (3, 4, 5, 0, -2, 0)], transform) == 2


def test_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any, n: int) -> Any:
        print("now")
        return x * n

    def g(x: Any, n: int) -> Any:
        x *= n
        return np.sum(x)

    log: list[Any] = []

    def h(x: Any, n: int) -> Any:
        log.append(n)
        return x[:n]

    compiled = gs.compile(f)
    for n in (3, 4, 5):
        compiled(X, n)
    assert capsys.readouterr().out == "now\n" * 3
    written = gs.compile(g, verify="first calls")
    for n in (3, 4, 5, 0):
        a, b = X.copy(), X.copy()
        assert bits(written(a, n)) == bits(g(b, n))
        assert bits(a) == bits(b)
    assert len(gs.explain(written).specialisations) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for n in (3, 4, 5):
            gs.compile(h)(X, n)
    assert log == [3, 4, 5]


def test_random_numbers_are_those_of_eager() -> None:
    def f(x: Any, n: int, rng: Any) -> Any:
        return np.sum(x + rng.normal(size=3)) * n + rng.normal(size=3)[n % 3]

    compiled, a, b = gs.compile(f), np.random.default_rng(1), np.random.default_rng(1)
    for n in (3, 4, 5, 6):
        assert bits(compiled(X, n, a)) == bits(f(X, n, b))


def test_the_memory_of_a_loop() -> None:
    whole, pieces = (gs.compile(gs.grad(recurrent), loop_memory=how) for how in (None, "sqrt"))
    for n in NUMBERS:
        assert bits(pieces(X, n)) == bits(whole(X, n))
    assert len(gs.explain(pieces).specialisations) <= 3


def test_many_threads() -> None:
    import concurrent.futures

    compiled = gs.compile(gs.grad(recurrent))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: compiled(X, n), [n % 20 for n in range(60)]))
    for n, one in enumerate(found):
        assert bits(one) == bits(gs.grad(recurrent)(X, n % 20))


def test_a_walk_of_any_length() -> None:
    """Draws in a loop are taken back where a capture has to begin anew."""

    def walk(x: Any, n: int, k: int, rng: Any) -> Any:
        h = x[0] * 1.0
        for _ in range(n):
            new = h + rng.normal(size=3)
            h = new if rng.uniform() < np.exp(np.sum(h * h - new * new)) else h
        return h, x[:k]

    compiled, a, b = gs.compile(walk), np.random.default_rng(1), np.random.default_rng(1)
    for n in (5, 6, 9, 12, 4):
        assert bits(compiled(X, n, 2 + n % 2, a)) == bits(walk(X, n, 2 + n % 2, b))
    assert len(gs.explain(compiled).specialisations) == 3
