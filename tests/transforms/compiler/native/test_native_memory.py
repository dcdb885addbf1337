"""What native kernels share, write and choose: results that are arguments, writes into arguments, paths of a function."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler

import gradscribe as gs
from gradscribe.transforms.compiler.native import kernel

pytestmark = needs_compiler


def runs(compiled: Any) -> list[str]:
    """What serves each specialisation."""
    return [one.runs for one in gs.explain(compiled).specialisations]


def as_row(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def memory(results: Any, args: tuple[Any, ...]) -> Any:
    """Which results are an argument or another result, or lie in its memory."""
    results = as_row(results)
    others = [x for x in (*args, *results) if isinstance(x, np.ndarray)]
    return [[(a is b, np.shares_memory(a, b)) for b in others] for a in results if isinstance(a, np.ndarray)]


def chosen(x: Any, t: Any) -> Any:
    if t > 0.0:
        y = x
    else:
        y = np.exp(x)
    return y


def twice(x: Any, t: Any) -> Any:
    y = np.exp(x)
    if t > 0.0:
        z = y
    else:
        z = y * 2.0
    return y, z, np.sum(y)


def both(x: Any, t: Any) -> Any:
    a = b = np.exp(x) + t
    if t > 0.0:
        a = b = np.sin(x)
    return a, b


def shrunk(x: Any, t: Any) -> Any:
    while np.sum(x) > t:
        x = x * 0.5
    return x


@pytest.mark.parametrize("f", [chosen, twice, both, shrunk])
def test_results_of_branches_and_loops_are_the_arrays_that_numpy_gives(f: Callable[..., Any]) -> None:
    compiled = gs.compile(f, target="native")
    for t in (1.0, -1.0, 3.0, 100.0, -2.0, 2.0, 200.0):
        args = (np.arange(1.0, 5.0), np.float64(abs(t) if f is shrunk else t))
        found, expected = compiled(*args), f(*args)
        assert memory(found, args) == memory(expected, args)
        for a, b in zip(as_row(found), as_row(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
    assert runs(compiled) == ["native, without a call of Python"]


def test_a_loop_that_hands_a_view_on_still_shares_memory() -> None:
    def f(x: Any, n: Any) -> Any:
        y = np.exp(x)
        z = y
        k = 0.0
        while k < n:
            z = z[::-1]
            k = k + 1.0
        return y, z

    compiled = gs.compile(f, target="native")
    for n in (1.0, 2.0, 3.0, 1.0, 2.0, 0.0, 4.0):
        x = np.arange(3.0)
        assert memory(compiled(x, n), (x,)) == memory(f(x, n), (x,))
    assert runs(compiled)[0].startswith("numpy: a loop gives a part of an array")


def test_one_result_twice_is_one_array() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x).T
        return y, y

    compiled = gs.compile(f, target="native")
    for k in range(5):
        first, second = compiled(np.arange(6.0).reshape(2, 3) + k)
        assert first is second


def accumulated(x: Any, y: Any) -> Any:
    x[0] = np.exp(x[1])
    y += x * 2.0
    return np.sum(x), y


def scaled(x: Any, y: Any) -> Any:
    x[1:] = y[:-1] * 2.0
    y[::2] = 3.0
    return x[1:] * 1.0


@pytest.mark.parametrize("f", [accumulated, scaled])
def test_writes_into_arguments(f: Callable[..., Any]) -> None:
    compiled = gs.compile(f, target="native")
    whole = np.linspace(0.0, 1.0, 12)
    for k in range(6):
        for x, y in ((whole[:4].copy(), whole[4:8].copy()), (np.ones(4) * k, np.ones(4)), (np.ones(2), np.ones(2))):
            args, others = (x, y), (x.copy(), y.copy())
            found, expected = compiled(*args), f(*others)
            for a, b in zip((*args, *as_row(found)), (*others, *as_row(expected)), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-13)
            assert memory(found, args) == memory(expected, others)
    assert set(runs(compiled)) == {"native, without a call of Python"}
    read_only = np.ones(4)
    read_only.flags.writeable = False
    for given in ((np.ones(4), read_only), (read_only, np.ones(4))):
        others = [x.copy() for x in given]
        with pytest.raises(ValueError, match="read-only"):
            compiled(*given)
        others[0].flags.writeable, others[1].flags.writeable = given[0].flags.writeable, given[1].flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            f(*others)
        assert all(map(np.array_equal, given, others))


class Model:
    """An object whose attribute its method sets."""

    def __init__(self) -> None:
        self.w, self.last = np.arange(3.0), None

    def loss(self, x: Any) -> Any:
        y = np.exp(x) * self.w
        self.last = y
        return np.sum(y)


def test_stores_in_an_object_of_the_callers() -> None:
    model, other = Model(), Model()
    compiled = gs.compile(model.loss, target="native")
    for k in range(5):
        x = np.arange(3.0) + k
        assert compiled(x) == pytest.approx(other.loss(x), rel=1e-13)
        np.testing.assert_allclose(model.last, other.last, rtol=1e-13)
    assert runs(compiled) == ["native, without a call of Python"]


def test_paths_of_one_function_are_one_kernel() -> None:
    space: dict[str, Any] = {"np": np}
    exec(  # without a source its branches are not converted, and part at guards
        "def f(x):\n"
        "    if x[0] > 0.0:\n        return np.sum(np.exp(x))\n"
        "    y = np.sin(x)\n"
        "    if y[1] > 0.5:\n        return np.sum(y * y)\n"
        "    return np.sum(y) + 1.0\n",
        space,
    )
    eager = gs.value_and_grad(space["f"])
    compiled = gs.compile(eager, target="native")
    points = [np.array([1.0, 0.0]), np.array([-1.0, 1.0]), np.array([-1.0, -1.0]), np.array([2.0, 5.0])]
    for k in range(12):
        for x in points:
            found, expected = compiled(x + k / 100), eager(x + k / 100)
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
    explained = gs.explain(compiled).specialisations
    assert [one.runs for one in explained] == ["native, without a call of Python"] * 3
    assert sum(one.hits for one in explained) >= 40  # kernels count where they return


def test_a_hundred_lengths_are_one_build(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCRIBE_CACHE", str(tmp_path / "cache"))
    eager = gs.value_and_grad(lambda w, x: np.mean(np.logaddexp(0.0, x @ w)))
    compiled, w = gs.compile(eager, target="native"), np.array([0.5, -0.25, 1.0])
    for n in range(2, 102):
        x = np.linspace(-1.0, 1.0, 3 * n).reshape(n, 3)
        value, slope = compiled(w, x)
        expected, expected_slope = eager(w, x)
        assert value == pytest.approx(expected, rel=1e-14)
        np.testing.assert_allclose(slope, expected_slope, rtol=1e-12)
    assert runs(compiled) == ["native, without a call of Python"]
    assert len(list((tmp_path / "cache").glob("native_*.so"))) == 1


def test_a_kernel_that_leaves_some_calls_to_numpy_goes_on() -> None:
    def f(x: Any, k: Any) -> Any:
        return np.exp(x[k])

    compiled, x = gs.compile(f, target="native"), np.arange(4.0)
    for k in range(3):
        compiled(x, k)
    for _ in range(30):
        for k in (0, 1, 2, 3, -1, -2):
            assert compiled(x, k) == pytest.approx(np.exp(x[k]), rel=1e-14)
        with pytest.raises(IndexError):
            compiled(x, 4)
    assert runs(compiled)[-1].startswith("native")


def layers(ws: Any, x: Any) -> Any:
    for w in ws:
        x = np.tanh(x @ w)
    return np.sum(x * x)


def running(ws: Any, x: Any) -> Any:
    total = np.zeros(x.shape)
    for k in range(len(ws)):
        total[k] = np.sum(ws[k] * x) + total[k - 1]
    return np.sum(total * x), total


@pytest.mark.parametrize("f", [gs.value_and_grad(layers), gs.value_and_grad(lambda ws, x: running(ws, x)[0]), running])
def test_arrays_that_loops_write_into_are_new_at_each_call(f: Callable[..., Any]) -> None:
    compiled = gs.compile(f, target="native")
    found, expected = [], []
    for n in (4, 4, 4, 4, 6, 6, 3):
        ws, x = (
            np.linspace(-1.0, 1.0, 2 * n * n).reshape(2, n, n)[: 2 if f is not running else n],
            np.linspace(0.0, 1.0, n),
        )
        found.append(compiled(ws, x))
        expected.append(f(ws, x))
    for (value, array), (other, others) in zip(found, expected, strict=True):  # none was written over by a later call
        np.testing.assert_allclose(value, other, rtol=1e-12)
        np.testing.assert_allclose(array, others, rtol=1e-11, atol=1e-14)
    assert len({array.__array_interface__["data"][0] for _, array in found}) == len(found)


def test_memory_that_calls_leave_is_bounded_and_shared_by_none() -> None:
    def apart(x: Any) -> Any:
        return np.cumsum(np.exp(x) * 2.0)[::-1] + np.cumsum(x * x)

    compiled = [gs.compile(f, target="native") for f in (apart, lambda x: np.cumsum(apart(x)) - x)]
    for n in (1, 5_000, 300_000, 20, 3_000_000, 100_000):
        x = np.linspace(-1.0, 1.0, n)
        for f, expected in zip(compiled, (apart(x), np.cumsum(apart(x)) - x), strict=True):
            for shift in (0.0, 0.5):  # which check a new specialisation, by NumPy
                f(x - shift)
            results = [f(x), f(x + 0.5), f(x)]
            np.testing.assert_allclose(results[0], expected, rtol=1e-9, atol=1e-8)
            np.testing.assert_array_equal(results[0], results[2])
            assert not np.shares_memory(results[0], results[2])
        assert 0 <= kernel._kept.value <= 1 << 26
    assert kernel._kept.value > 8 * 100_000
    assert all(runs(f)[0].startswith("native") for f in compiled)


def climb(x: Any, end: Any) -> Any:
    while x < end:
        x = x + 0.5 + 0.25 * np.sin(x)
    return x


def swarm(x: Any, steps: Any) -> Any:
    for h in steps:
        x = x + h * np.cos(x)
    return np.sum(x * x)


def nested(x: Any, ends: Any) -> Any:
    total = 0.0
    for end in ends:
        y = x
        while y < end:
            y = y * 1.01 + 0.5
        total = total + y * y
    return total


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (climb, [(0.5, np.float64(end)) for end in (10.0, 8_000.0, 30.0, 5_000.0, 50.0)]),
        (swarm, [(np.ones(n), np.full(k, 0.1)) for n, k in ((4, 3), (4, 2_000), (40, 500), (4, 7))]),
        (nested, [(np.float64(0.5), np.full(k, end)) for k, end in ((3, 10.0), (20, 9e4), (2, 50.0))]),
    ],
)  # fmt: skip
def test_memory_of_loops_is_left_to_the_next_call_bounded_and_counted(f: Any, args: Any) -> None:
    eager = gs.value_and_grad(f)
    compiled = gs.compile(eager, target="native")
    compiled(*args[0])
    expected = [gs.compile(eager, target="numpy")(*one) for one in args]

    def run(_: int) -> None:
        for one, (value, slope) in zip(args, expected, strict=True):
            found = compiled(*one)
            np.testing.assert_allclose(found[0], value, rtol=1e-9)
            np.testing.assert_allclose(found[1], slope, rtol=1e-7, atol=1e-12)

    run(0), run(1)
    settled = kernel._kept.value
    assert 0 <= settled <= 1 << 26
    for _ in range(3):
        run(0)
    assert kernel._kept.value == settled
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(8)))
    assert 0 <= kernel._kept.value <= 1 << 26
