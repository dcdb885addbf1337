"""How generated text is worded: signs, widths, names of what helpers return, numbers, indices, and the docstring."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import gast
import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.python import signs
from gradscribe.transforms.compiler.python.printer import to_source
from gradscribe.transforms.compiler.python.widths import width
from gradscribe.transforms.difference import difference

rng = np.random.default_rng(0)
V, M = rng.normal(size=4), rng.normal(size=(4, 4))


def text_of(function: Any, *args: Any) -> str:
    """The source, of which a call was compared with eager."""
    compiled = gs.compile(function, verify=True)
    compiled(*args)
    return str(gs.source(compiled, *args))


def body(function: Any, *args: Any) -> str:
    """The code of the text, without comments and docstring."""
    return "\n".join(ast.unparse(s) for s in ast.parse(text_of(function, *args)).body[-1].body[1:])  # type: ignore[attr-defined]


# Signs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: x + -y, "return x - y"),
        (lambda x, y: x - -y * 2.0, "return x + y * 2.0"),
        (lambda x, y: -(-x * y), "return x * y"),
        (lambda x, y: -x / -y, "return x / y"),
        (lambda x, y: -(3.0 * x / y), "return -3.0 * x / y"),
        (lambda x, y: -x + y, "return y - x"),
        (lambda x, y: -0.5 * x + y, "return -0.5 * x + y"),
        (lambda x, y: x + y * (-2.0 * x), "return x - y * (2.0 * x)"),
        (lambda x, y: -1.0 * x * y, "return -x * y"),
    ],
)
def test_signs_of_floats_move_and_cancel(function: Any, expected: str) -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, 1e-310, -3.0])
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        assert expected in body(function, x, y)
        space: dict[str, Any] = {}
        exec(str(gs.source(function, x, y)), space)
        (made,) = (v for k, v in space.items() if k not in ("np", "__builtins__"))
        found, eager = made(x, y), function(x, y)
    same = (found == eager) & (np.signbit(found) == np.signbit(eager))
    assert np.all(same | (np.isnan(found) & np.isnan(eager)))


def test_signs_of_integers_and_of_sums_stay() -> None:
    n = np.array([1, 2, 3], dtype=np.uint8)
    assert "-n" in body(lambda x, n: x + -n * 1.5, np.ones(3), n)
    assert "-x @ y" in body(lambda x, y: 2.0 - (-x) @ y, M, V)
    assert "(-x).sum()" in body(lambda x: 2.0 - np.sum(-x), V)


def test_a_statement_that_adds_a_negative_subtracts() -> None:
    (statement,) = gast.parse("a[0] += -2 * b").body
    statement.value = signs.SIGNED["*"](statement.value.left, statement.value.right)
    assert to_source(signs.with_sign(statement)) == "a[0] -= 2 * b\n"
    (plain,) = gast.parse("a[0] += -b").body  # nobody said that these are floats
    assert to_source(signs.with_sign(plain)) == "a[0] += -b\n"


# Widths --------------------------------------------------------------------------------------------------------------

EXPRESSIONS = [
    "a + b * c - (d - e) @ f", "(a + b) * c", "-(a + b)", "not a", "f(a, b, k=c[0], axis=(0, 1))", "x[:, None].T",
    "np.sum(a.b, axis=-1)", "(a, b)", "(a,)", "[a, b, 1e-3]", "x[a + 1 : b, ...]", "(x + 1)[0]", "a // b",
    "(a < b) & (c >= d)", "{'a': b}", "(-x).T", "x == y",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_widths_are_those_of_the_print(text: str) -> None:
    tree = gast.parse(text).body[0].value
    printed = to_source(tree)
    assert len(printed) <= width(tree) <= len(printed) + 2  # `x[a : b]` may stand closer
    assert width(tree) == tree.__dict__["gradscribe_width"]


def test_lines_stay_within_88_columns_without_a_wrap() -> None:
    def f(first_of_all, second_of_all):
        return np.sum(
            np.sin(first_of_all * second_of_all) * np.cos(first_of_all + second_of_all)
            + np.exp(-(first_of_all**2) * second_of_all**2) * np.tanh(first_of_all - second_of_all)
        )

    text = text_of(gs.value_and_grad(f, argnums=(0, 1)), V, V + 1)
    assert max(map(len, text.splitlines())) <= 88, text
    assert not re.search(r"^[^#]*[(\[]$", text, re.M), text


# Names ---------------------------------------------------------------------------------------------------------------


def squashed(x):
    return np.tanh(x) * 0.5


def scaled(x):
    inner = np.sin(x) * x
    return inner


def both(x):
    return squashed(x * 2.0)


def test_what_a_helper_returns_has_the_callers_name() -> None:
    def f(x):
        z = squashed(x)
        y = scaled(z)
        w = both(y)
        return np.sum(z * y * w)

    text = text_of(gs.grad(f), V)
    assert {"z", "y", "w"} <= set(re.findall(r"^ +(\w+) = ", text, re.M)), text


def test_a_helper_called_on_its_own_result() -> None:
    def f(x):
        a = squashed(x)
        b = squashed(a)
        return np.sum(a * b)

    assert {"a", "b"} <= set(re.findall(r"^ +(\w+) = ", text_of(gs.grad(f), V), re.M))


def test_targets_side_by_side_and_unpacked() -> None:
    def f(x, pair):
        s, c = np.sin(x), np.cos(x)
        first, _, *_ = s * c
        low, high = pair
        a = b = first * low
        return np.sum(s * c) * a * b * high

    text = text_of(gs.grad(f), V, [1.0, 2.0])
    assert "    s, c = np.sin(x), np.cos(x)\n" in text  # as the user has it, and without a comment
    assert "    a = s_c[0] * low  #" in text
    assert "low, high = pair\n" in text


def test_a_size_is_not_called_what_is_made_with_it() -> None:
    def f(x, y):
        n = len(x) - len(y) + 1
        buffer = np.zeros(n)
        return np.sum((buffer + x[:n]) ** 2)

    assert re.search(r"buffer = np\.zeros\((n|x\.size - y\.size \+ 1)\)", text_of(f, np.ones(5), V))


def test_results_are_not_called_out_where_the_user_calls_something_else_so() -> None:
    def f(x):
        out = np.sin(x)
        return np.sum(out * out)

    text = text_of(gs.value_and_grad(f), V)
    assert "result = (out * out).sum()" in text
    assert "d_x = (out + out) * np.cos(x)" in text


def test_results_that_nobody_reads() -> None:
    def f(x):
        _, logdet = np.linalg.slogdet(x)
        np.linalg.solve(x, x)
        return logdet

    text = text_of(f, M)
    assert "_, logdet = np.linalg.slogdet(x)" in text
    assert "_ = np.linalg.solve(x, x)" in text


# Numbers and indices -------------------------------------------------------------------------------------------------


def test_numbers_are_pythons_own_where_that_gives_the_same() -> None:
    def f(x):
        return np.mean(9.81 * (1.0 - np.cos(x))) + np.mean(np.maximum(x, 0.0))

    assert "np.float64" not in text_of(gs.grad(f), V)
    assert "np.float64" in text_of(gs.grad(lambda x, s: np.sum(x**2) / s), V, 2.0)  # x / 0.0 raises in Python
    assert "np.float32" in text_of(gs.grad(lambda x: np.mean(x * x)), np.float32(V))  # rounded once, not twice


def test_an_added_axis_is_an_index_where_only_elements_matter() -> None:
    text = text_of(gs.grad(lambda x: np.sum(np.sum(x * x, axis=1) ** 2)), M)
    assert "[:, None]" in text
    assert "np.expand_dims" in text_of(lambda x: np.expand_dims(x * 2.0, 0) @ M, V)
    assert "np.expand_dims" in text_of(lambda x: np.expand_dims(x * 2.0, 0), V)


def test_zeros_of_floats_need_no_dtype() -> None:
    assert "np.zeros(x.shape)" in text_of(gs.grad(lambda x: np.sum(x[1:] ** 2)), V)
    assert "np.zeros(x.shape, np.float32)" in text_of(gs.grad(lambda x: np.sum(x[1:] ** 2)), np.float32(V))


def test_the_diagonal_of_a_square_is_np_diag_and_that_of_another_is_filled() -> None:
    logs = gs.grad(lambda x: np.sum(np.log(np.diagonal(x))))
    assert "d_x = np.diag(1.0 / " in text_of(logs, np.eye(3))
    assert "Specialised to x: float64[n, n]." in docstring(logs, np.eye(3))
    wide = np.arange(1.0, 13.0).reshape(3, 4)
    assert "np.fill_diagonal(" in text_of(logs, wide)
    compiled = gs.compile(logs)
    for x in (wide[:, :3], wide[:2, :2], wide, wide.T, wide[:2, :2]):
        assert np.array_equal(compiled(x), logs(x))
        assert compiled(x).shape == x.shape
    assert "top, left = (np.zeros(x.shape), 1, 0)" in body(gs.grad(lambda x: np.sum(np.diag(x, k=-1) * 2.0)), M)


def test_numpy_is_imported_where_it_is_used() -> None:
    assert text_of(lambda x: x * 2.0, V).startswith("def function(x):\n")
    assert text_of(np.sin, V).startswith("import numpy as np\n\n\n")


def test_what_a_line_says_to_tools_is_left_out() -> None:
    def f(x):
        return np.sum(x) * 2.0  # fmt: skip

    assert ": return np.sum(x) * 2.0\n" in text_of(f, M)


# The docstring -------------------------------------------------------------------------------------------------------


def docstring(function: Any, *args: Any) -> str:
    text = text_of(function, *args)
    return ast.get_docstring(ast.parse(text).body[-1]) or ""  # type: ignore[arg-type]


def site(function: Any) -> str:
    return f"test_emission.py:{function.__code__.co_firstlineno}"


def test_the_docstring_tells_what_comes_in_and_what_goes_out() -> None:
    def loss(w, x):
        return np.sum((x @ w) ** 2)

    found = docstring(gs.value_and_grad(loss), V[:3], M[:2, :3])
    assert found == (
        f"Value and gradient of `loss`, {site(loss)}.\n\n"
        "Specialised to w: float64[n]; x: float64[m, n].\n\nReturns out: float64; d_w: like w."
    )
    square = docstring(lambda x: x @ x, np.float32(M))
    assert square.startswith("The lambda, test_emission.py:")
    assert square.endswith("Specialised to x: float32[n, n].\n\nReturns out: float32[n, n].")


def test_the_docstring_begins_with_the_users() -> None:
    def loss(x):
        """Energy of a spring.

        And more of it.
        """
        return np.sum(x**2)

    def long(x):
        """The energy of a spring whose ends are fixed, in units that nobody uses any more today."""
        return np.sum(x**2)

    assert docstring(loss, V).splitlines()[0] == "Energy of a spring."
    assert docstring(gs.grad(loss), V).splitlines()[0] == "Gradient of `loss`: Energy of a spring."
    assert docstring(gs.grad(long), V).splitlines()[0] == "Gradient of `long`."
    assert (
        docstring(gs.vmap(gs.grad(loss)), M).splitlines()[0]
        == "Gradient of `loss` for each example: Energy of a spring."
    )
    assert docstring(np.sin, V).splitlines()[0] == "`sin`."


def test_letters_are_shared_where_lengths_must_agree_and_not_where_they_happen_to() -> None:
    def scan(w, xs, n):
        h = xs[0] * 0.0
        for x in xs:
            h = np.tanh(w @ h + x)
        return np.mean(h) * n

    square = np.eye(4)
    assert "w: float64[m, m]; xs: float64[k, m]; n: a Python number" in docstring(
        gs.grad(scan), square, np.ones((4, 4)), 2.0
    )
    apart = docstring(lambda a, b: np.sum(a) + np.sum(b), np.ones(4), np.ones(4))
    assert "a: float64[n]; b: float64[m]" in apart
    cases: list[tuple[Any, tuple[Any, ...], str]] = [
        (lambda a, b: np.outer(a, b), (V, V), "a: float64[n]; b: float64[m]"),
        (lambda a, b: a[:, None] + b, (V, V), "a: float64[n]; b: float64[m]"),
        (lambda a, b: a[1:] + b, (V, V[1:]), "a: float64[n]; b: float64[m]"),
        (lambda a, b: a.T + b, (square, square), "a: float64[n, m]; b: float64[m, n]"),
        (lambda a, b: np.sum(a, axis=0) * b, (square, square[0]), "a: float64[n, m]; b: float64[m]"),
        (lambda a, b: np.linalg.solve(a, b), (square, square[0]), "a: float64[n, n]; b: float64[n]"),
        (lambda a, b: a @ b, (square, square), "a: float64[n, m]; b: float64[m, k]"),
    ]
    for function, args, expected in cases:
        assert expected in docstring(function, *args), docstring(function, *args)


def test_sizes_that_happen_to_be_equal_are_not_told_apart() -> None:
    compiled = gs.compile(lambda a, b: np.sum(a) + np.sum(b))
    texts = {str(compiled.source(np.ones(k), np.ones(j))) for k, j in ((3, 3), (3, 4), (5, 2))}
    assert len(texts) == 1


# Comments --------------------------------------------------------------------------------------------------------------


def comments(text: str) -> list[str]:
    return re.findall(r"# (.*)", text.partition('"""\n')[2])


def test_a_statement_that_is_the_users_line_has_no_comment_and_others_have_its_text() -> None:
    def f(x):
        y = np.sin(x) * x
        return np.sum(y)

    first = f.__code__.co_firstlineno
    text = text_of(gs.value_and_grad(f), V)
    assert re.search(r"^    y = .*[^\n#]$", text_of(lambda x: f(x) * 2.0, V), re.M)
    said = comments(text)
    assert not [line for line in said if re.fullmatch(r"\S+:\d+", line)]
    assert f"test_emission.py:{first + 2}: return np.sum(y)" in said
    assert f"test_emission.py:{first + 1}: y = np.sin(x) * x" in said


def test_a_line_is_named_once_in_a_section_though_helpers_run_again() -> None:
    def rate(y, k):
        a, b = y[0] * k, y[1] * k
        return np.stack([a * b - a, a * a])

    def f(y, k):
        for _ in range(3):
            y = y + 0.1 * rate(y, k)
        return np.sum(y)

    text = text_of(gs.value_and_grad(f), np.ones(2), 0.3)
    for function in text.split("\ndef "):
        forward, _, backward = function.partition("# backward")
        for part in (forward, backward):
            said = comments(part)
            assert len(said) == len(set(said)), part
    source = gs.source(gs.value_and_grad(f), np.ones(2), 0.3)
    first = rate.__code__.co_firstlineno
    assert len(source.lines_from(first + 2)) >= 1  # each statement knows its line, also without a comment


def test_warnings_are_off_only_where_something_can_warn() -> None:
    assert "errstate" not in body(gs.grad(lambda x: np.sum(x)), V)
    assert "errstate" not in body(gs.grad(lambda x: np.sum(x[1:])), np.ones(6))
    assert "errstate" in body(gs.grad(lambda x: np.sum(x * x)), V)
    assert "errstate" in body(gs.grad(lambda x: np.mean(x)), V)


def test_a_trick_is_said_once() -> None:
    def f(w, x):
        h = np.tanh(w * x) + np.exp(-(x**2))
        return np.sum(h * np.sin(h))

    text = text_of(gs.value_and_grad(f), np.ones(200_000), np.ones(200_000))
    assert text.count("out=") > text.count("# out=: ") == 1 or text.count("in tiles") == 1, text


def test_a_number_is_put_among_zeros_and_one_that_may_be_negative_zero_is_added() -> None:
    assert "d_x[-1] = 1.0\n" in text_of(gs.grad(lambda x: x[-1]), V)
    assert "d_x[1] = -0.5\n" in text_of(gs.grad(lambda x: x[1] * -0.5), V)
    for factor in (0.0, -0.0):
        f = gs.grad(lambda x, factor=factor: x[1] * factor)
        assert gs.compile(f, verify=True)(V).tobytes() == f(V).tobytes()


def test_arguments_that_have_rows_of_their_own_keep_their_expressions() -> None:
    def f(matrix):
        L = np.linalg.cholesky(matrix)
        return np.sum(np.log(np.diag(L)))

    text = text_of(gs.grad(f), np.eye(3) + 0.1)
    row = " " * 12 + "L, tril + np.tril(tril, k=-1).T, trans=1, lower=True, check_finite=False"
    assert row in text.splitlines(), text
    assert not re.search(r"= \w+\.T$", text, re.M), text


def test_nested_arguments_are_taken_apart_on_one_line() -> None:
    def f(layers, x):
        for W, b in layers:
            x = np.tanh(x @ W + b)
        return np.sum(x)

    layers = [(np.eye(3), np.ones(3)), (np.ones((3, 2)), np.ones(2))]
    text = text_of(gs.grad(f), layers, np.ones((4, 3)))
    assert "    (W, b), (W_2, b_2) = layers\n" in text
    assert "layers: [(float64[n, m], float64[m]), (float64[m, k], float64[k])]\n" in text
    assert "x: float64[p, n]\n" in text
    eager, compiled = gs.grad(f)(layers, np.ones((4, 3))), gs.compile(gs.grad(f))(layers, np.ones((4, 3)))
    assert all(
        np.array_equal(a, b) for one, two in zip(eager, compiled, strict=True) for a, b in zip(one, two, strict=True)
    )


def test_a_long_docstring_is_wrapped() -> None:
    names = {f"a_rather_long_name_{k}": V + k for k in range(6)}
    text = text_of(gs.grad(lambda p: sum(np.sum(v * v) for v in p.values())), names)
    assert max(map(len, text.splitlines())) <= 88, text


def test_a_gradient_has_the_name_of_its_argument_and_a_cotangent_that_of_its_value() -> None:
    def swing(theta, omega):
        for _ in range(2):
            omega = omega - np.sin(theta)
            theta = theta + omega
        return np.sum(theta * omega)

    found = body(gs.grad(swing, argnums=(0, 1)), V, V + 1)
    assert found.endswith("return (d_theta_2 - d_omega * np.cos(theta), d_omega)")
    assert re.search(r"^ *d_theta_2 = ", found, re.M)
    added = text_of(gs.grad(lambda bias, x: np.sum(np.sin(bias + x))), V, V)
    assert "d_bias = np.cos(bias_plus_x)" in added
    assert "d_bias: like bias" in added


def test_no_factor_of_one_is_left_before_what_is_returned() -> None:
    assert "return np.cos(x)" in text_of(gs.grad(lambda x: np.sum(np.sin(x))), V)
    assert "d_x = np.full(x.shape, 1.0 / x.size)" in text_of(gs.grad(lambda x: np.mean(x)), M)


def test_an_operand_has_no_axis_in_front_that_broadcasting_adds() -> None:
    def f(x, y):
        return np.sum(np.tanh(x - np.mean(x, axis=0)) @ y)

    x, y = np.arange(12.0).reshape(4, 3), np.arange(6.0).reshape(3, 2)
    eager = gs.value_and_grad(f, argnums=(0, 1))
    assert "[None]" not in text_of(eager, x, y)
    assert difference(gs.compile(eager, verify=True)(x, y), eager(x, y)) is None


def test_a_share_of_a_count_is_a_number_of_python() -> None:
    def f(x):
        return np.mean(np.min(x, axis=1))

    assert "np.float64" not in text_of(gs.value_and_grad(f), np.array([[1.0, 2.0], [3.0, 3.0]]))


def test_many_parts_of_an_argument_are_taken_on_few_lines() -> None:
    def f(p):
        return np.sum(sum(p[name] for name in sorted(p)))

    names = [f"weights_{k}" for k in range(6)]
    text = text_of(gs.value_and_grad(f), {name: np.ones(2) for name in names})
    taken = [line for line in text.splitlines() if '= p["' in line]
    assert 1 < len(taken) < 6
    assert all(len(line) <= 88 for line in taken)


# Long functions ------------------------------------------------------------------------------------------------------


def function_in(path: Path, text: str) -> Any:
    """The function `f` of a module with this text, which lies in a file as a user's does."""
    path.write_text(f"import numpy as np\ndef f(x):\n{text}")
    return runpy.run_path(str(path))["f"]


@pytest.mark.slow
def test_a_long_chain_of_lines_is_compiled_whatever_constants_stand_in_it(tmp_path: Path) -> None:
    lines = "".join(f"    x = np.sin(x) * {k + 1.0}\n" for k in range(600))
    f = function_in(tmp_path / "long.py", f"{lines}    return np.sum(x)\n")
    with np.errstate(all="ignore"):
        # once a RecursionError: `2.0 * d` looked back through every product before it
        assert np.array_equal(gs.compile(gs.grad(f), verify=True)(V), gs.grad(f)(V), equal_nan=True)


def test_a_number_made_of_names_that_are_made_of_names_is_found_out_once(tmp_path: Path) -> None:
    lines = "".join(f"    a{k + 1} = a{k} + a{k}\n" for k in range(60))
    f = function_in(tmp_path / "doubled.py", f"    a0 = 0.1\n{lines}    return np.sum(x * a60 + 0.123456789)\n")
    assert "0.123456789" in gs.source(f, V)  # once 2 ** 60 additions
