"""Sizes: one text serves every size at which the function does the same, and no size is ever served wrongly."""

from __future__ import annotations

import concurrent.futures
import linecache
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.driver import lazy_imports, specialise
from gradscribe.transforms.compiler.driver.specialise import difference

Written = Callable[[], int]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    """How often a graph was optimised and written down."""
    made = []
    original = specialise.Specialisation.__init__

    def counting(self: Any, *args: Any) -> None:
        made.append(self)
        original(self, *args)

    monkeypatch.setattr(specialise.Specialisation, "__init__", counting)
    return lambda: len(made)


def same_at(function: Any, sizes: Any, arguments: Any, transform: Any = gs.value_and_grad) -> Any:
    """The compiled function, after calls at these sizes, each of which gave what eager gives, bit for bit."""
    plain = transform(function)
    compiled = gs.compile(plain, verify="first calls")
    for n in sizes:
        args = arguments(n)
        expected, found = outcome(plain, args), outcome(compiled, args)
        if isinstance(expected, Exception):
            assert type(found) is type(expected), (n, found, expected)
        else:
            assert not isinstance(found, Exception), (n, found)
            assert difference(found, expected) is None, (n, difference(found, expected))
    return compiled


def outcome(function: Any, args: Any) -> Any:
    try:
        return function(*args)
    except gs.EagerWarning:
        raise
    except Exception as error:
        return error


def vector(n: int) -> tuple[Any, ...]:
    return (np.linspace(-1.0, 2.0, n),)


def batch(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(n, 4)), rng.normal(size=(n, 3))


# One text, written twice ---------------------------------------------------------------------------------------------


def test_a_hundred_batch_sizes_are_written_twice(written: Written) -> None:
    def loss(w: Any, b: Any, x: Any, y: Any) -> Any:
        r = np.tanh(x @ w + b) - y
        return np.mean(r * r)

    compiled = same_at(loss, range(5, 105), batch)
    (one,) = gs.explain(compiled).specialisations
    assert written() == 2
    assert len(one.signatures) == 100
    assert "x: float64[n, 4], y: float64[n, 3] for n = 5, 6, 7, 8, 9, 10, ... (100 in all)" in " ".join(
        str(gs.explain(compiled)).split()
    )


def test_sizes_on_both_sides_of_a_bound_on_buffers_are_written_once_each(written: Written) -> None:
    def loss(x: Any, y: Any) -> Any:
        h = np.tanh(x * y) + x
        return np.sum(np.sin(h * y) * h)

    def rows(n: int) -> tuple[Any, ...]:
        return np.random.default_rng(n).normal(size=(2, n, 128))

    sizes = np.random.default_rng(0).permutation(np.arange(20, 140))
    same_at(loss, sizes.tolist(), lambda n: tuple(rows(n)))
    assert written() <= 4  # buffers are written over from 64 kB on


def reads_in_many_ways(x: Any) -> Any:
    n = x.shape[0]
    total = np.sum(x[: n // 2]) / x.size + np.sum(x[-(n // 3) :]) * len(x) + np.sum(x[n % 3 :])
    return total + np.sum(x * np.ones(x.shape)) * n**2 + x.nbytes * np.sum(x.reshape(n, 1)) / n


def test_what_is_computed_from_sizes_is_traced(written: Written) -> None:
    same_at(reads_in_many_ways, [12, 24, 36, 60], vector)
    assert written() == 2


def test_a_call_at_a_known_size_traces_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = same_at(np.sum, [5, 6, 7, 8], vector)
    monkeypatch.setattr(specialise, "Capture", None)
    for n in (5, 6, 7, 8):
        np.testing.assert_array_equal(compiled(*vector(n))[1], np.ones(n))


def test_arguments_free_one_by_one_and_together(written: Written) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.outer(np.sin(x), y))

    same_at(f, [(5, 7), (6, 7), (8, 7), (5, 9), (6, 11), (20, 30)], lambda n: (np.ones(n[0]), np.ones(n[1])))
    assert written() == 3  # the first, x free, y free


def test_sizes_do_not_count_as_specialisations() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(x * x)), max_specialisations=1, verify="first calls")
    for n in range(2, 40):
        np.testing.assert_array_equal(compiled(np.arange(float(n))), 2 * np.arange(float(n)))
    with pytest.warns(gs.EagerWarning, match="1 specialisations already"):
        np.testing.assert_array_equal(compiled(np.ones((2, 2))), 2 * np.ones((2, 2)))


def test_sizes_that_alternate_are_looked_up_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = same_at(lambda x: np.sum(x * x), [4, 5, 6, 4, 5, 6], vector)
    monkeypatch.setattr(lazy_imports, "Inputs", None)  # what takes a call apart
    for n in (4, 5, 6, 4, 5, 6):
        np.testing.assert_array_equal(compiled(*vector(n))[1], 2 * vector(n)[0])


def test_paths_and_sizes(written: Written) -> None:
    def f(x: Any) -> Any:
        if bool(np.sum(x) > 0):
            return np.sum(np.sin(x))
        return np.sum(x * x) if bool(x[0] > -5) else -np.sum(x)

    arrays = lambda n: (np.linspace(-1.0, 2.0, n[0]) * n[1] - n[1] // 9,)
    same_at(f, [(n, sign) for n in (5, 6, 7, 8, 9, 40) for sign in (1, -1, 9, -9)] * 2, arrays)
    found = same_at(f, [(n, sign) for n in range(5, 30) for sign in (1, -1, 9, -9)], arrays)
    assert 2 <= len(gs.explain(found).specialisations) <= 3


def test_threads_at_many_sizes() -> None:
    plain = gs.value_and_grad(lambda x: np.sum(np.sin(x) * len(x)))
    compiled = gs.compile(plain, verify="first calls")

    def run(seed: int) -> list[str | None]:
        sizes = np.random.default_rng(seed).integers(2, 12, size=40)
        return [difference(compiled(*vector(n)), plain(*vector(n))) for n in sizes]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert not any(any(found) for found in pool.map(run, range(8)))


def test_an_export_of_what_reads_sizes_serves_them_all() -> None:
    space: dict[str, Any] = {"__name__": "exported"}
    exec(gs.export(reads_in_many_ways, *vector(12)), space)
    for n in (5, 6, 24, 31):
        expected = gs.value_and_grad(reads_in_many_ways)(*vector(n))
        assert difference(space["reads_in_many_ways_value_and_grad"](*vector(n)), expected) is None


# What decides by a size ----------------------------------------------------------------------------------------------


def by_comparison(x: Any) -> Any:
    return np.sum(x * x) if x.shape[0] > 7 else np.sum(x)


def by_comparison_with_a_float(x: Any) -> Any:
    return np.sum(x * x) if 7.5 < x.shape[0] else np.sum(x)  # noqa: SIM300  # float.__lt__ asks nobody


def by_arithmetic_of_floats(x: Any) -> Any:
    return np.sum(x) * (0.5 * x.shape[0])


def by_remainder(x: Any) -> Any:
    return np.sum(x) if x.shape[0] % 2 else np.sum(-x)


def by_loop(x: Any) -> Any:
    for k in range(x.shape[0] % 3):
        x = x * (k + 2.0)
    return np.sum(x)


def by_membership(x: Any) -> Any:
    return np.sum(x) * (2.0 if x.size in (8, 10) else 3.0)


def by_dict(x: Any) -> Any:
    return np.sum(x) * {8: 2.0, 9: 4.0}.get(len(x), 3.0)


def by_least(x: Any) -> Any:
    return np.sum(x[: min(len(x), 8)]) * max(x.shape[0], 9)


def by_index(x: Any) -> Any:
    return np.sum(x) * [1.0, 5.0][x.shape[0] > 8]


def by_root(x: Any) -> Any:
    return np.sum(x) / math.sqrt(x.shape[0]) + float(x.size) + int(x.size)


def by_bytes(x: Any) -> Any:
    return np.sum(x) * (2.0 if x.nbytes > 64 else 3.0)


def by_strides(x: Any) -> Any:
    return np.sum(x) * x.strides[0] * (1.0 if x.T.strides[0] > 8 else 2.0)


def by_iteration(x: Any) -> Any:
    total: Any = 0.0
    for k, row in enumerate(x):
        total = total + row * k
    return total


def by_text(x: Any) -> Any:
    return np.sum(x) * len(f"{x.shape}")


@pytest.mark.parametrize(
    "function",
    [by_comparison, by_comparison_with_a_float, by_arithmetic_of_floats, by_remainder, by_loop, by_membership, by_dict,
     by_least, by_index, by_root, by_bytes, by_strides, by_iteration, by_text],
)  # fmt: skip
@pytest.mark.parametrize("of", [np.linspace, lambda a, b, n: np.zeros(n), lambda a, b, n: np.ones(n)])
def test_what_python_does_with_a_size_is_seen(function: Any, of: Any) -> None:
    values = lambda n: (of(-1.0, 2.0, n),)
    plain, compiled = gs.value_and_grad(function), gs.compile(gs.value_and_grad(function), verify="first calls")
    for n in (5, 6, 7, 8, 9, 10, 11, 12, 6, 12):
        assert difference(compiled(*values(n)), plain(*values(n))) is None
        assert difference(compiled(*vector(n)), plain(*vector(n))) is None  # zeros gave no false confidence


def test_comparisons_of_sizes_are_explained() -> None:
    compiled = gs.compile(by_comparison)
    for n in (3, 4, 5, 9, 10):
        compiled(*vector(n))
    text = str(gs.explain(compiled))
    line = by_comparison.__code__.co_firstlineno + 1
    assert f"`x.shape[0] > 7`: False  (test_sizes.py:{line})" in text
    assert f"`x.shape[0] > 7`: True  (test_sizes.py:{line})" in text
    assert len(gs.explain(compiled).specialisations) == 2


# Lengths that broadcast, meet or vanish ------------------------------------------------------------------------------


def test_lengths_of_one_and_zero() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum((x - y) ** 2)

    sizes = [(4, 4), (5, 5), (1, 5), (1, 7), (5, 1), (1, 1), (0, 0), (0, 1), (1, 0), (3, 3), (1, 3)]
    same_at(f, sizes, lambda n: (np.arange(float(n[0])), np.arange(float(n[1]))), lambda f: gs.grad(f, argnums=(0, 1)))


def test_lengths_that_become_one_on_the_way() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x[5:] * y[:7]) + np.sum(x[::4] * y[3])

    transform = lambda f: gs.value_and_grad(f, argnums=(0, 1))
    same_at(f, [12, 14, 6, 5, 4, 1, 13, 30, 12], lambda n: (np.ones(n), np.zeros(9)), transform)


def test_lengths_that_are_equal_by_chance() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(x.T @ x) + np.sum(x @ w)

    same_at(f, [3, 4, 5, 4, 3, 6], lambda n: (np.arange(n * 4.0).reshape(n, 4), np.arange(4.0)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_from_small_to_large(dtype: Any, written: Written) -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(8):
            y = np.sin(y) * x + 1.0
        return np.sum(y * y)

    sizes = [10, 11, 300_000, 12, 300_001, 13, 299_999, 50_000]
    same_at(f, sizes, lambda n: (np.linspace(-1, 1, n).astype(dtype),))
    assert written() <= 5


def test_a_text_that_fails_its_check_at_a_size_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda x: np.sum(x * x)
    plain, compiled, checked = gs.value_and_grad(f), gs.compile(gs.value_and_grad(f)), same_at(f, [5, 6], vector)
    for n in (5, 6):
        compiled(*vector(n))
    monkeypatch.setattr(specialise.Made, "_problem", lambda self, expected: "another")
    assert difference(compiled(*vector(7)), plain(*vector(7))) is None
    with pytest.raises(gs.VerifyError, match="another"):
        checked(*vector(7))
    monkeypatch.undo()
    assert not gs.explain(compiled).eager
    assert difference(compiled(*vector(7)), plain(*vector(7))) is None
    assert len(gs.explain(compiled).specialisations) == 1


def draws(x: Any) -> Any:
    return np.sum(x * np.random.normal(size=x.shape))


def prints(x: Any) -> Any:
    y = np.sum(x * x)
    print("loss", y, x.shape[0])
    return y


def writes(x: Any) -> Any:
    x[1:] *= 2.0
    return np.sum(x * x)


@pytest.mark.parametrize("function", [draws, prints, writes])
def test_effects_happen_once_at_each_size(function: Any, capsys: pytest.CaptureFixture[str]) -> None:
    plain = gs.value_and_grad(function)
    compiled = gs.compile(plain)
    for n in (4, 5, 6, 7, 8, 6, 4, 9):
        seen = []
        for call in (plain, compiled):
            x = vector(n)[0]
            np.random.seed(n)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gs.EagerWarning)
                result = call(x)
            seen.append((result, x, capsys.readouterr().out, np.random.normal()))
        assert difference(seen[1][0], seen[0][0]) is None
        np.testing.assert_array_equal(seen[1][1], seen[0][1])
        assert seen[1][2:] == seen[0][2:]


# Places that follow from sizes ---------------------------------------------------------------------------------------


def of_a_list(x: Any) -> Any:
    return sum([np.sin(v) for v in x], 1.5)


PLACES: list[Any] = [
    lambda x: np.median(np.sin(x)), lambda x: np.percentile(np.sin(x), 30), lambda x: np.sum(np.quantile(x, [0.25, 1.0, 0.5])),
    lambda x: np.sum(np.median(np.outer(x, x[1:]), axis=0)), lambda x: np.sum(np.insert(x, 1, 2.0) ** 2),
    lambda x: np.sum(np.insert(x * x, [3, -1, 3], [1, 2, 3]) ** 3), lambda x: sum(x[i] ** 2 for i in range(x.shape[0])),
    lambda x: np.sum(sum(row * v for row, v in zip(np.outer(x, x), x, strict=False))), of_a_list,
]  # fmt: skip


@pytest.mark.parametrize("function", PLACES)
def test_places_that_follow_from_sizes_are_values(function: Any, written: Written) -> None:
    compiled = same_at(function, [12, 13, 16, 21, 30], vector)
    assert written() == 2
    assert len(gs.explain(compiled).specialisations) == 1
    assert len(str(compiled.source(*vector(12))).splitlines()) < 55


def test_a_sum_of_pythons_numbers_rounds_as_python_does() -> None:
    """From Python 3.12 on `sum` compensates for what floats lose; of NumPy's numbers it does not."""
    same_at(lambda x: np.sum(x) * sum(0.1 * i for i in range(len(x))), [10, 11, 30], vector)
    same_at(lambda x: sum(v * 0.1 for v in x) * sum(i / len(x) for i in range(7)), [10, 11, 30], vector)


# Sizes in loops -------------------------------------------------------------------------------------------------------


def of_a_join(x: Any) -> Any:
    s: Any = 0.0
    for k in range(5):
        s = s + np.mean(np.sort(np.concatenate([x * k, np.sin(x)])))
    return s


def of_a_repetition(x: Any) -> Any:
    s: Any = 0.0
    for k in range(5):
        s = s + np.mean(np.repeat(x * k, 2))
    return s


def of_rows(x: Any) -> Any:
    s: Any = 0.0
    a = x.reshape(-1, 1) * np.ones((1, 3))
    for k in range(5):
        s = s + np.mean((a * k)[1:], axis=0).sum()
    return s


def of_an_invariant(x: Any) -> Any:
    s: Any = 0.0
    for k in range(5):
        s = s + np.sum(np.outer(x, x[1:])) * k
    return s


def of_a_part(x: Any) -> Any:
    """Its arrays have another length in each trip."""
    s: Any = 0.0
    for i in range(x.shape[0] - 2):
        s = s + np.sum(np.repeat(x[i:] * 2.0, 2)) * i
    return s


def of_a_while(x: Any) -> Any:
    s: Any = 0.0
    while s < 3.0:
        s = s + np.mean(np.pad(x * x, 2)) + 0.1
    return s


def of_a_loop_in_a_loop(x: Any) -> Any:
    s: Any = 0.0
    for k in range(5):
        t = np.diff(np.sin(x))
        for j in range(4):
            s = s + np.mean(np.diff(t * j)) * k
    return s


def of_zeros(x: Any) -> Any:
    """Its inner loop carries `t`, of whose start it reads nothing."""
    s: Any = 0.0
    for i in range(5):
        t = np.sin(x)
        for _ in range(5):
            t = np.cos(x * i)
        s = s + np.sum(t)
    return s


LOOPS = [
    of_a_join, of_a_repetition, of_rows, of_an_invariant, of_a_part, of_a_while, of_a_loop_in_a_loop, of_zeros,
]  # fmt: skip


@pytest.mark.parametrize("function", LOOPS)
def test_a_loop_whose_reverse_asks_for_shapes_alone_is_one_text(function: Any) -> None:
    compiled = same_at(function, [12, 13, 16, 21, 30], vector)
    assert len(gs.explain(compiled).specialisations) == 1
    source = str(compiled.source(*vector(12)))
    assert len(source.splitlines()) < 50, "a loop stays a loop"


@pytest.mark.parametrize("function", [of_a_join, of_a_part, of_a_loop_in_a_loop])
def test_sizes_in_loops_of_the_second_order_and_of_exports(function: Any) -> None:
    product = lambda x: gs.jvp(gs.grad(function), (x,), (np.ones_like(x),))[1]
    assert difference(gs.compile(product)(*vector(12)), product(*vector(12))) is None
    space: dict[str, Any] = {"__name__": "exported"}
    exec(gs.export(function, *vector(12)), space)
    for n in (9, 24):
        found = space[f"{function.__name__}_value_and_grad"](*vector(n))
        assert difference(found, gs.value_and_grad(function)(*vector(n))) is None


# By chance -----------------------------------------------------------------------------------------------------------

TRACED = (
    "t = np.sin(t) * {c}", "t = t - np.mean(t)", "t = t / t.shape[0]", "t = t * len(t)", "t = t + t.size", "t = t[::-1]",
    "t = t[: t.shape[0] // 2 + 1]", "t = t[t.size // 3 :]", "t = t[-(t.shape[0] // 2) :]", "t = t * np.ones(t.shape)",
    "t = t.reshape(-1, 1)[:, 0]", "t = np.concatenate([t, v])", "t = np.outer(t, t).sum(axis=0)", "t = t[t.shape[0] % 3 :]",
    "t = t + t.nbytes / len(v)", "t = np.where(t > 0, t, -t)", "t = np.cumsum(t) / t.size", "t = t[::2]",
)  # fmt: skip
DECIDING = (
    "if t.shape[0] > {k}: t = t * 2.0", "if {k}.5 < t.shape[0]: t = t + 1.0", "if not t.size % 2: t = t[1:]",
    "for i in range(t.shape[0] % 3): t = t + i", "for i in range(min(t.shape[0], 3)): t = t * (i + 1.5)",
    "t = t + 0.5 * t.size", "t = t * math.sqrt(t.shape[0])", "t = t / max(t.shape[0], {k})", "t = t[:{k}]",
    "t = t * [1.0, 2.0, 3.0][t.shape[0] % 3]", "t = t + v if t.shape == v.shape else t - {c}",
    "t = t * (1 if t.shape[0] in ({k}, 9) else 3)", "t = t * float(len(t))", "t = t * int(v.shape[0])",
    "t = sum([row * t for row in v[:3]], t)", "t = t * t.strides[0]", "t = t * (2.0 if len(v) == {k} else 1.0)",
)  # fmt: skip


def program(seed: int, statements: tuple[str, ...]) -> Any:
    """A function of one vector, made of statements drawn by chance."""
    rng = np.random.default_rng(seed)
    drawn = [statements[k].format(c=round(float(rng.normal()), 2), k=int(rng.integers(2, 12))) for k in
             rng.integers(len(statements), size=5)]  # fmt: skip
    text = "def f(v):\n    t = v * 1.5\n" + "".join(f"    {line}\n" for line in drawn) + "    return np.sum(t * t)\n"
    name = f"/by/chance_{seed}_{len(statements)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"np": np, "math": math, "__name__": "by_chance"}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.fixture
def full_is_no_error() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*specialisations already", gs.EagerWarning)
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # the mean of nothing
        yield


@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10)]])
def test_programs_that_compute_with_sizes(part: int, written: Written, full_is_no_error: None) -> None:
    for seed in range(5 * part, 5 * part + 5):
        same_at(program(seed, TRACED), [40, 55, 41, 78, 90, 3, 1, 62, 0, 77], vector)
    assert written() <= 5 * 7  # two, one each for 0, 1 and 3, and some for a remainder of 0 or 1


@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10)]])
def test_programs_that_decide_by_sizes(part: int, full_is_no_error: None) -> None:
    for seed in range(5 * part, 5 * part + 5):
        statements = TRACED[:9] + DECIDING
        same_at(program(seed, statements), [8, 10, 9, 3, 20, 21, 1, 0, 2, 30], vector)


IN_LOOPS = (
    "t = np.concatenate([t, x])", "t = np.sort(t)", "t = np.diff(t)", "t = np.repeat(t, 2)", "t = np.pad(t, 1)", "t = t[i:]",
    "t = np.outer(t, w).ravel()", "t = t[::2]", "t = t - np.mean(t)", "t = t[t.shape[0] // 2 :]", "t = np.exp(-t * t)",
    "t = np.stack([t, t * {c}]).mean(axis=0)", "t = t if np.sum(t) > {c} else -t", "t = np.convolve(t, w)", "t = t * h",
)  # fmt: skip
SUMS = (
    "s = s + np.mean(t)", "s = s + np.sum(t * t)", "h = np.tanh(np.mean(t) * h); s = s + h", "x = x + np.mean(t) * {c}",
    "s = s + np.mean(t.reshape(-1, 1), axis=0)[0]",
)  # fmt: skip


def loop(seed: int) -> Any:
    """A function with a loop, made of statements drawn by chance."""
    rng = np.random.default_rng(seed)
    drawn = [lines[k].format(c=round(float(rng.normal()), 2)) for lines, n in ((IN_LOOPS, 3), (SUMS, 2))
             for k in rng.integers(len(lines), size=n)]  # fmt: skip
    body = "".join(f"        {line}\n" for line in ["t = np.sin(x)", *drawn])
    head = ("range(5)", "range(x.shape[0] - 8)")[seed % 2]
    text = f"def f(x, w):\n    s, h = 0.0, 0.5\n    for i in {head}:\n{body}    return s + h\n"
    name = f"/by/chance_{seed}_in_a_loop.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"np": np, "__name__": "by_chance"}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("part", range(8))
def test_loops_at_several_sizes(part: int) -> None:
    several = 0
    for seed in range(4 * part, 4 * part + 4):
        compiled = same_at(loop(seed), [13, 15, 22], lambda n: (vector(n)[0] ** 2, np.array([0.5, -0.25, 1.5])))
        several += len(gs.explain(compiled).specialisations) > 1
    assert several <= 1
