"""Short assignments that follow each other are one in the text, and a wrong value in one is still found by its name."""

from __future__ import annotations

import re
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
    assert "# test_tuple_text.py:16" not in text.partition("# backward")[0]


def test_masks_of_one_line_are_one_statement() -> None:
    def f(x: Any, low: Any) -> Any:
        return np.sum(np.where(x > low, x**2, np.where(x > 0, x * low, 0.0)))

    args = np.linspace(-1.0, 2.0, 7), np.float64(0.5)
    eager = gs.value_and_grad(f)
    text = str(gs.source(eager, *args))
    assert re.search(r"^    (\w+), (\w+) = x > low, x > 0$", text, re.MULTILINE)
    assert difference(gs.compile(eager)(*args), eager(*args)) is None


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


def test_what_stands_in_the_tuples_of_a_list_is_named_by_what_it_is() -> None:
    def f(u: Any, k: Any) -> Any:
        for _ in range(8):
            padded = np.pad(u, 1, mode="edge")
            u = u + k * (padded[2:] - 2 * u + padded[:-2])
        return np.sum(u**2)

    args = np.linspace(0.0, 1.0, 9), 0.3
    text = str(gs.source(gs.grad(f, (0, 1)), *args))
    assert "total, padded_shape in reversed(saved):" in text
    assert difference(gs.compile(gs.grad(f, (0, 1)))(*args), gs.grad(f, (0, 1))(*args)) is None


def test_what_nothing_depends_on_is_nought() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return a * 2.0

    args = np.float64(0.5), 0.25, np.ones(3)
    text = str(gs.source(gs.grad(f, (0, 1, 2)), *args))
    assert "return np.float64(2.0), np.float64(0.0), np.zeros(c.shape)" in text
    assert difference(gs.compile(gs.grad(f, (0, 1, 2)))(*args), gs.grad(f, (0, 1, 2))(*args)) is None


def test_a_factor_of_one_is_not_written() -> None:
    def f(x: Any, lam: Any) -> Any:
        return lam * np.sum(x**2)

    args = np.linspace(0.0, 1.0, 4), 0.3
    text = str(gs.source(gs.grad(f), *args))
    assert "1.0 *" not in text
    assert difference(gs.compile(gs.grad(f))(*args), gs.grad(f)(*args)) is None


def test_few_rows_are_added_as_they_are() -> None:
    def f(E: Any, rows: Any) -> Any:
        return np.sum(np.sin(E[rows]) ** 2)

    few = np.ones((5, 2)), np.array([0, 3, 3, 1])
    many = np.ones((50, 9)), np.arange(200) % 7
    assert "np.add.at(d_E, rows, " in str(gs.source(gs.grad(f), *few))
    assert "places.reshape(-1)" in str(gs.source(gs.grad(f), *many))
    for args in (few, many):
        assert difference(gs.compile(gs.grad(f))(*args), gs.grad(f)(*args)) is None


def test_no_trip_remembers_the_lengths_of_slices() -> None:
    def f(u: Any, D: Any) -> Any:
        for _ in range(8):
            lap = u[2:] - 2 * u[1:-1] + u[:-2]
            u = np.concatenate([u[:1], u[1:-1] + D * lap, u[-1:]])
        return np.sum(u**2)

    eager = gs.grad(f, (0, 1))
    compiled = gs.compile(eager)
    for n in (9, 12, 4, 3, 20):
        args = np.linspace(0.0, 1.0, n), 0.3
        assert difference(compiled(*args), eager(*args)) is None
    text = str(compiled.source(*args))
    assert "d_u[1 : u.size - 1]" in text
    assert "reversed(laps)" in text


def checked(eager: Any, *args: Any) -> str:
    """The source of a function, which gives the bits of eager."""
    compiled = gs.compile(eager, verify="first calls")
    for _ in range(3):
        assert difference(compiled(*args), eager(*args)) is None
    return str(compiled.source(*args))


def test_cotangents_that_lead_to_one_line_of_the_user_are_one_statement() -> None:
    def f(layers: Any, x: Any) -> Any:
        for k in range(len(layers)):
            W, b = layers[(k + 2) % 4]  # in an order of its own: written out
            x = np.tanh(x @ W + b)
        return np.sum(x**2)

    layers = [(0.3 * np.ones((3, 3)), np.ones(3)) for _ in range(4)]
    text = checked(gs.grad(f), layers, np.linspace(0.0, 1.0, 12).reshape(4, 3))
    assert re.search(r"^ +d_b_4, d_W_4 = \w+\.sum\(axis=0\), x_2\.T @ \w+$", text, re.M), text


def test_short_values_of_one_line_that_are_alike_are_one_statement() -> None:
    def f(E: Any, e: Any) -> Any:
        E = E - (E - e * np.sin(E)) / (1.0 - e * np.cos(E))
        return np.sum(E**3)

    text = checked(gs.value_and_grad(f, (0, 1)), np.linspace(0.5, 1.0, 3), np.float64(0.3))
    assert "    sin_E, cos_E = np.sin(E), np.cos(E)\n" in text
    other = checked(gs.value_and_grad(lambda x: np.sum(np.sin(x) * np.cos(np.sin(x)))), np.ones(3))
    assert "    sin_x = np.sin(x)\n" in other  # which the other reads


def test_results_stand_in_the_return() -> None:
    def f(w: Any, b: Any, x: Any, y: Any) -> Any:
        return np.sum((x @ w + b - y) ** 2)

    rng = np.random.default_rng(0)
    w, b, x, y = rng.normal(size=3), np.float64(0.1), rng.normal(size=(5, 3)), rng.normal(size=5)
    text = checked(gs.value_and_grad(f, (0, 1)), w, b, x, y)
    assert text.endswith("\n    return out, (x.T @ d_difference, d_difference.sum())\n"), text
    assert "Returns out, d_b: float64; d_w: like w." in text
    quiet = checked(gs.value_and_grad(lambda w, b: np.sqrt(w @ w + b), (0, 1)), w, np.float64(9.0))
    assert quiet.index("np.errstate") < quiet.index("        return out"), quiet
    assert checked(f, w, b, x, y).endswith("    return ((x @ w + b - y) ** 2).sum()\n")
    named = checked(lambda x: {"low": x - 1.0, "high": (x, x + 1.0)}, b)
    assert named.endswith('return {"low": x - 1.0, "high": (x, x + 1.0)}\n')
    twice = checked(lambda x: [x * 2.0] * 2, x)  # one array, which is there twice
    assert "return out, out" in twice or "return [out, out]" in twice, twice


def test_results_that_would_hold_large_arrays_do_not_wait_for_the_return() -> None:
    def f(w: Any, x: Any) -> Any:
        h = np.tanh(x @ w)
        return np.sum(np.sin(h @ w))

    for n, waits in ((4, True), (300, False)):
        text = checked(gs.grad(f, (0, 1)), np.eye(n) / n, np.ones((n, n)))
        assert text.splitlines()[-1].count("@") == (3 if waits else 0), text


def test_results_are_computed_before_what_they_read_is_changed() -> None:
    def f(x: Any, y: Any) -> Any:
        total = np.sum(x) * y
        x[0] = 7.0
        return total, np.sum(x) * y

    for _ in range(2):
        eager, compiled = np.ones(3), np.ones(3)
        assert difference(gs.compile(f)(compiled, 2.0), f(eager, 2.0)) is None
        assert difference(compiled, eager) is None


def test_an_item_of_a_row_is_an_item_of_the_matrix() -> None:
    def f(angle: Any, x: Any) -> Any:
        c, s = np.cos(angle), np.sin(angle)
        return np.sum((np.array([[c, -s], [s, c]]) @ x) ** 3)

    eager = gs.grad(f)
    args = np.float64(0.3), np.array([1.0, 2.0])
    text = str(gs.source(eager, *args))
    assert "[1, 1] + " in text
    assert "np.array([[c, -s], [s, c]]) @ x" in text
    assert difference(gs.compile(eager)(*args), eager(*args)) is None


def test_a_tangent_of_a_gradient_has_no_length_in_it() -> None:
    def f(x: Any) -> Any:
        return np.sum(x[1:] ** 3)

    def pushed(x: Any, v: Any) -> Any:
        return gs.jvp(gs.grad(f), (x,), (v,))

    x = np.linspace(0.1, 1.0, 5)
    text = str(gs.source(pushed, x, x))
    assert "d_d_x = np.zeros(d_x.shape)" in text
    assert "(5,)" not in text
    compiled = gs.compile(pushed)
    for n in (5, 6, 9):
        x = np.linspace(0.1, 1.0, n)
        assert difference(compiled(x, x), pushed(x, x)) is None


def test_what_a_loop_has_computed_is_taken_from_its_list_and_may_have_the_name_of_what_is_dead() -> None:
    def kepler(M: Any, e: Any) -> Any:
        E = M
        for _ in range(5):
            E = E - (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
        return np.sum(np.cos(E) * np.sin(E))

    text = checked(gs.value_and_grad(kepler, (0, 1)), np.linspace(0.5, 1.0, 3), np.float64(0.3))
    loop = re.sub("#.*", "", text[text.rindex("for ") :])
    assert "np.sin" not in loop, text
    assert "np.cos" not in loop, text
    assert re.search(r"for .*\bcos_E, .*\bsin_E in reversed\(", text) or re.search(r"for .*\bsin_E, .*\bcos_E", text), (
        text
    )


def test_operands_are_not_spread_before_they_are_multiplied() -> None:
    def pull(x: Any, masses: Any) -> Any:
        offset = x[None, :, :] - x[:, None, :]
        squared = np.sum(offset**2, axis=2) + 0.01
        return np.sum(np.sum(offset * (masses / squared)[:, :, None], axis=1) ** 3)

    eager = gs.value_and_grad(pull, (0, 1))
    rng = np.random.default_rng(0)
    text = checked(eager, rng.normal(size=(4, 3)), rng.normal(size=4))
    assert "broadcast_to" not in text
    compiled = gs.compile(eager)
    for n, m in ((4, 3), (2, 3), (3, 3), (1, 3), (3, 1), (1, 1), (5, 2)):
        args = rng.normal(size=(n, m)), rng.normal(size=n)
        assert difference(compiled(*args), eager(*args)) is None, (n, m)


def test_what_a_loop_has_added_up_is_added_to_and_not_copied() -> None:
    def f(emit: Any, symbols: Any) -> Any:
        total = np.sum(emit[:, symbols[0]] ** 2)
        for symbol in symbols[1:]:
            total = total + np.sum(np.sin(emit[:, symbol]))
        return total

    text = checked(gs.grad(f), np.linspace(0.0, 1.0, 12).reshape(3, 4), np.array([1, 3, 0, 1]))
    assert "np.array(" not in text
    assert "[:, symbols[0]] += " in text, text


def test_parts_that_are_written_over_have_names() -> None:
    def f(x: Any, s: Any) -> Any:
        x = x * 2.0
        first = x[0]
        x[0] = s
        return np.sum(x) * first * first

    assert checked(gs.value_and_grad(f, (0, 1)), np.ones(3), np.float64(3.0))


def test_an_array_that_the_text_is_for_the_length_of_is_taken_apart_as_by_the_user() -> None:
    def loss(params, x):
        a, b, c = params
        scale, shift = np.exp(params[1:])
        return np.sum((a * x**2 + b * x + c) * scale + shift)

    def first_two(params, x):
        return np.sum(params[0] * x + params[1])

    params, x = np.array([0.1, 0.2, 0.3]), np.linspace(0.0, 1.0, 5)
    compiled = gs.compile(gs.value_and_grad(loss), verify=True)
    compiled(params, x)
    assert "    a, b, c = params\n" in str(gs.source(compiled, params, x))
    free = gs.compile(gs.value_and_grad(first_two), verify=True)
    for n in (2, 3, 4):
        free(np.ones(n), x)  # nothing fixes the length
    assert "= params\n" not in str(gs.source(free, np.ones(2), x))
