"""Numbers that follow from lengths are written down as the user wrote them, and one text serves all lengths that do the same."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

TWO_PI = 2 * np.pi
LENGTHS = (5, 6, 0, 1, 2, 7, 100, 12, 13)


class Row(NamedTuple):
    """A function of one vector, what its source says, and how many texts serve `LENGTHS`."""

    function: Callable[..., Any]
    says: str
    texts: int = 1


def likelihood(x: Any) -> Any:
    n = x.size
    return -0.5 * np.sum(x * x) - 0.5 * n * np.log(2 * np.pi)


def constant_of(n: Any) -> Any:
    return 0.5 * n * math.log(2 * math.pi)


def by_helper(x: Any) -> Any:
    return np.sum(x * x) + constant_of(len(x))


def grid(x: Any) -> Any:
    h = 1.0 / (len(x) + 1)
    return np.sum(np.sin(x) * x) * h + h**2


def steps(x: Any) -> Any:
    n = len(x)
    h = 1.5 / (n + 1)
    s = 0.0
    for i in range(n):
        s = s + h * x[i] ** 2 * (i * h)
    return s


def first_half(x: Any) -> Any:
    k = int(np.ceil(len(x) / 2))
    return np.sum(x[:k] ** 2)


def caught(x: Any) -> Any:
    try:
        return np.sum(x * x) * math.sqrt(len(x)) / (0.5 + len(x))
    except ValueError:
        return np.sum(x)


def scaled(x: Any) -> Any:
    n = 2.0
    n *= len(x)
    return np.sum(x * x) / (n + 1)


def trapezoid(x: Any) -> Any:
    n = len(x)
    h = 1.0 / (n - 1) if n > 1 else 1.0
    return h * (np.sum(x) - 0.5 * np.sum(x[:1]) - 0.5 * np.sum(x[-1:]))


def decides_by_a_float(x: Any) -> Any:
    return np.sum(x * x) if len(x) / 2 > 3.2 else np.sum(np.sin(x))


def decides(x: Any) -> Any:
    return np.sum(x * x) if 10.5 < len(x) else np.sum(np.sin(x))  # noqa: SIM300  # a float asks nobody


ROWS = [
    Row(likelihood, "- 0.5 * x.size * np.log(2 * np.pi)"),
    Row(by_helper, "0.5 * x.size * math.log(2 * math.pi)"),
    Row(lambda x: np.sum(x) * (0.5 * len(x)), "0.5 * x.size"),
    Row(lambda x: np.sum(x * x) * np.sqrt(x.shape[0]), "np.sqrt(x.size)"),
    Row(lambda x: np.sum(x * x) * math.sqrt(x.shape[0]), "math.sqrt(x.size)"),
    Row(lambda x: np.sum(x * x) * math.log(len(x) + 1), "math.log(x.size + 1)"),
    Row(lambda x: np.sum(x * x) + math.lgamma(len(x) + 1), "math.lgamma(x.size + 1)"),
    Row(lambda x: np.sum(x * x) * (len(x) + 1) ** -0.5, "(x.size + 1) ** -0.5"),
    Row(lambda x: np.sum(x * x) * (len(x) + 0.5) ** 2, "(x.size + 0.5) ** 2"),
    Row(lambda x: np.sum(x * x) * 2 ** len(x[:3]), "2 ** "),
    Row(lambda x: np.sum(x * x) * float(len(x)), "float(x.size)"),
    Row(lambda x: np.sum(x * x) * np.float64(3.5) * len(x), "x.size"),
    Row(lambda x: np.sum(x * x) * (np.float64(3.5) * len(x)), "x.size"),
    Row(lambda x: np.sum(x * x) / max(len(x) - 1, 1), "max(x.size - 1, 1)"),
    Row(lambda x: np.sum(x[: min(len(x), 5)] ** 2), "min(x.size, 5)"),
    Row(lambda x: np.sum(x * x) * abs(3 - len(x)), "abs(3 - x.size)"),
    Row(lambda x: np.sum(x * x) * round(len(x) / 3), "round(x.size / 3)"),
    Row(lambda x: np.sum(x[: math.ceil(len(x) / 2)] ** 2), "math.ceil(x.size / 2)"),
    Row(lambda x: np.sum(x[: int(len(x) * 0.5)] ** 2), "int(x.size * 0.5)"),
    Row(lambda x: np.sum(x * x) * math.comb(len(x), 2), "math.comb(x.size, 2)"),
    Row(lambda x: np.sum(x * x) * np.prod(x.shape), "np.prod(x.shape)"),
    Row(lambda x: np.sum(x * x) * sum(x.shape), "sum(x.shape)"),
    Row(lambda x: np.sum(x * x) * divmod(len(x), 3)[1], "x.size % 3"),
    Row(lambda x: np.sum(np.full(len(x), 0.5 / (len(x) + 1)) * x), "0.5 / (x.size + 1)"),
    Row(lambda x: np.sum(np.pad(x, (len(x) // 2, 1)) ** 2), "x.size // 2"),
    Row(lambda x: np.sum(np.tile(x, len(x)) ** 2), "np.tile(x, x.size)"),
    Row(lambda x: np.sum(np.repeat(x, 3).reshape(len(x), 3) * np.arange(3)), "np.repeat(x, 3)"),
    Row(lambda x: np.sum(np.repeat(x, len(x)) ** 2), "np.repeat(x, x.size)"),
    Row(lambda x: np.sum(x.astype(np.float32) ** 2) / math.sqrt(len(x) + 1), "math.sqrt(x.size + 1)"),
    Row(lambda x: np.sum(x.astype(np.float32) ** 2) / np.sqrt(len(x) + 1), "np.sqrt(x.size + 1)"),
    Row(grid, "h = 1.0 / (x.size + 1)"),
    Row(steps, "h = 1.5 / (x.size + 1)", 4),  # no trip, one and two are other loops
    Row(first_half, "k = int(np.ceil(x.size / 2))"),
    Row(caught, "math.sqrt(x.size)"),
    Row(scaled, "2.0 * x.size"),
    Row(trapezoid, "1.0 / (x.size - 1)", 3),
    Row(decides, "x", 2),
    Row(decides_by_a_float, "x", 2),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{k}: {row.says}" for k, row in enumerate(ROWS)])
def test_a_number_of_a_length_is_written_down(row: Row) -> None:
    plain = gs.value_and_grad(row.function)
    compiled = gs.compile(plain, verify="first calls")
    for n in LENGTHS:
        x = np.linspace(-1.0, 2.0, n)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            expected, found = plain(x), compiled(x)
        assert difference(found, expected) is None, n
    texts = [one.source for one in gs.explain(compiled).specialisations]
    assert row.says in "".join(texts)
    assert len(texts) <= row.texts


def test_lengths_of_a_matrix_are_written_down() -> None:
    def attention(q: Any) -> Any:
        scores = q @ q.T / np.sqrt(q.shape[1])
        e = np.exp(scores - np.max(scores, axis=1, keepdims=True))
        return np.sum((e / e.sum(axis=1, keepdims=True)) @ q) / math.prod(q.shape)

    plain = gs.value_and_grad(attention)
    compiled = gs.compile(plain, verify="first calls")
    for shape in ((4, 3), (5, 3), (4, 7), (6, 8), (9, 2), (3, 3)):
        q = np.linspace(-1.0, 2.0, math.prod(shape)).reshape(shape)
        assert difference(compiled(q), plain(q)) is None, shape
    text = gs.explain(compiled).specialisations[0].source
    assert "np.sqrt(q.shape[1])" in text
    assert "q.size" in text
    assert len(gs.explain(compiled).specialisations) <= 3  # equal lengths among them


def test_a_decision_by_a_length_is_explained() -> None:
    def decides_apart(x: Any) -> Any:
        return np.sum(x * x) if bool(len(x) / 2 > 3.2) else np.sum(np.sin(x))

    compiled = gs.compile(decides_apart)
    for n in (3, 4, 9, 10):
        compiled(np.ones(n))
    text = str(gs.explain(compiled))
    line = decides_apart.__code__.co_firstlineno + 1
    assert f"`len(x) / 2 > 3.2`: False  (test_numbers_of_lengths.py:{line})" in text
    assert f"`len(x) / 2 > 3.2`: True  (test_numbers_of_lengths.py:{line})" in text


# Constants ------------------------------------------------------------------------------------------------------------


def local_constant(x: Any) -> Any:
    c = 0.3
    return np.sum(c**2 / 6 * x * x)


WRITTEN: list[tuple[Callable[..., Any], str]] = [
    (lambda x: np.sum(np.sin(2 * np.pi * x)), "2 * np.pi * x"),
    (lambda x: np.sum(np.sin(TWO_PI * x)), "2 * np.pi * x"),
    (lambda x: np.sum(x / np.sqrt(2.0)), "np.sqrt(2.0)"),
    (lambda x: np.sum(x * math.log(2.0)), "math.log(2.0)"),
    (lambda x: np.sum(x * x) * (2.0 / 3.0), "2.0 / 3.0"),
    (lambda x: np.sum(x - np.pi), "x - np.pi"),
    (lambda x: np.sum(x + -np.e), "x - np.e"),
    (local_constant, "0.3**2 / 6 * x"),
]


@pytest.mark.parametrize(("function", "says"), WRITTEN, ids=[says for _, says in WRITTEN])
def test_a_constant_stays_the_expression_that_it_was(function: Callable[..., Any], says: str) -> None:
    x = np.linspace(0.5, 2.0, 7)
    plain = gs.value_and_grad(function)
    assert says in plain.source(x)
    assert difference(gs.compile(plain, verify=True)(x), plain(x)) is None


def test_a_constant_of_a_rule_is_not_taken_for_one_of_the_user() -> None:
    assert "0.5 / np.sqrt(x)" in gs.grad(lambda x: np.sqrt(x) + (1 / 2)).source(np.float64(2.0))


# Lengths that are fixed -----------------------------------------------------------------------------------------------


def by_a_list(x: Any) -> Any:
    return np.sum(x * np.array([0.5] * len(x)))


def by_rows(x: Any) -> Any:
    total: Any = 0.0
    for k, row in enumerate(x):
        total = total + np.sum(row) * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0][k]
    return total


def by_unpacking(x: Any) -> Any:
    t = 2.0 * x
    a, b, c = t
    return a * b + c


def by_text(x: Any) -> Any:
    return np.sum(x) * len(str(0.5 * len(x)))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (by_a_list, "[0.5] * len(x)"),
        (by_unpacking, "a, b, c"),
        (by_text, "str(0.5 * len(x))"),
        (by_rows, "enumerate(x)"),
    ],
    ids=["list", "unpacking", "text", "rows"],
)
def test_a_length_that_is_fixed_is_said(function: Callable[..., Any], words: str) -> None:
    compiled = gs.compile(gs.grad(function))
    x = np.linspace(1.0, 2.0, 3)
    compiled(x)
    (one,) = gs.explain(compiled).specialisations
    assert "x: float64[3]" in one.source
    assert "1-d" not in one.source.split("Returns")[0]
    assert f"x.shape[0]: 3, fixed by `{words}`  (test_numbers_of_lengths.py:" in str(gs.explain(compiled))


def test_a_length_is_fixed_along_its_own_axis() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x) @ np.array([0.5] * x.shape[1])) + np.sum(y)

    assert "x: float64[n, 2]; y: float64[m]" in gs.grad(f).source(np.ones((4, 2)), np.ones(2))


def by_rows_of_a_loop(w: Any, pairs: Any) -> Any:
    total: Any = 0.0
    for k in range(len(pairs)):
        i, j = pairs[k]
        total = total + (w[i] - w[j]) ** 2
    return total


def by_items_of_a_loop(w: Any, pairs: Any) -> Any:
    total: Any = 0.0
    for i, j in pairs:
        if w[i] > w[j]:
            total = total + w[i]
        total = total + (w[i] - w[j]) ** 2
    return total


def by_what_a_loop_carries(w: Any, start: Any) -> Any:
    for _ in range(6):
        x, y = start
        start = np.array([x - w[0] * y, y + w[1] * x])
    return np.sum(start)


@pytest.mark.parametrize(
    ("function", "args", "said", "words"),
    [
        (by_rows_of_a_loop, [(4, 2), (7, 2), (5, 2)], "pairs: int64[m, 2]", "pairs.shape[1]: 2, fixed by `i, j`"),
        (by_items_of_a_loop, [(4, 2), (7, 2), (5, 2)], "pairs: int64[m, 2]", "pairs.shape[1]: 2, fixed by `i, j`"),
        (by_what_a_loop_carries, [(2,)], "start: float64[2]", "start.shape[0]: 2, fixed by `x, y`"),
    ],
    ids=["rows", "items", "carried"],
)
def test_a_length_that_is_fixed_in_a_loop_is_said(
    function: Callable[..., Any], args: list[tuple[int, ...]], said: str, words: str
) -> None:
    compiled, eager = gs.compile(gs.grad(function)), gs.grad(function)
    w = np.linspace(0.5, 2.0, 9)
    for shape in args:
        places = np.arange(np.prod(shape)).reshape(shape) % 9
        places = places if len(shape) == 2 else 0.5 * places
        assert difference(compiled(w, places), eager(w, places)) is None
    assert said in compiled.source(w, places)
    assert words in str(gs.explain(compiled))
    with pytest.raises(ValueError, match="too many values to unpack"):
        compiled(w, np.zeros((*shape[:-1], 3), places.dtype))


ENDS = np.array([0, 3, 5])


def of_segments(x: Any) -> Any:
    return sum(np.sum(x[a:b]) ** 2 for a, b in itertools.pairwise(ENDS))


def up_to(x: Any, y: Any, n: Any) -> Any:
    return np.sum((x[: n[0]] * y) ** 2) + np.mean(x[: n[0]])


def test_slices_up_to_elements_of_arrays() -> None:
    x, y = np.arange(5.0), np.array([1.0, 2.0, 3.0])
    compiled = gs.compile(gs.grad(of_segments))
    np.testing.assert_array_equal(compiled(x), [6.0, 6.0, 6.0, 14.0, 14.0])
    compiled.specialisation(x)  # which raises where it runs eagerly
    compiled = gs.compile(gs.grad(up_to))
    for n in (3, 3, 1, 3, 1):  # of which one element is spread over three
        np.testing.assert_array_equal(compiled(x + n, y, np.array([n])), gs.grad(up_to)(x + n, y, np.array([n])))
    compiled.specialisation(x, y, np.array([1]))
