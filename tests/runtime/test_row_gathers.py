"""The gradient of a gather of rows: one result, bit for bit, by NumPy and by SciPy, eager, compiled and exported."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.registry import require
from gradscribe.runtime.rules import indexing
from gradscribe.runtime.rules.row_products import multiply_rows

BY_NUMPY = require(indexing.scatter_rows).fn
RNG = np.random.default_rng(7)


def numbers(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Numbers of several magnitudes, whose sum depends on the order."""
    made = RNG.standard_normal(shape) * 10.0 ** RNG.integers(-3, 4, shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * RNG.standard_normal(shape)
    return made.astype(dtype)


def added(v: np.ndarray, index: Any, shape: tuple[int, ...]) -> np.ndarray:
    """One row after the other."""
    out = np.zeros(shape, v.dtype)
    rows = np.arange(shape[0])[index].reshape(-1)
    for row, values in zip(rows, v.reshape(len(rows), *shape[1:]), strict=True):
        out[row] += values
    return out


def bits(x: Any) -> tuple[Any, ...]:
    """What tells two results apart: NaN is NaN, and 0.0 is not -0.0."""
    x = np.asarray(x)
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
    values = [np.where(np.isnan(p), p.dtype.type(0.5), p).tobytes() for p in parts]
    return (x.dtype.str, x.shape, *values, *[np.isnan(p).tobytes() for p in parts])


INDICES: dict[str, Any] = {
    "one row many times": np.array([2, 0, 2, 2, 1, 2]),
    "from the end": np.array([-1, 3, -4, 0, -1, -2]),
    "small ints": np.array([1, -1, 3], np.int8),
    "unsigned": np.array([1, 0, 3], np.uint16),
    "several axes": np.array([[0, 3, 3], [-1, 0, 1]]),
    "in columns": np.array([[0, 3, 3], [-1, 0, 1]]).T,
    "backwards": np.array([0, 1, 1, 3])[::-1],
    "none": np.array([], int),
    "a list": [3, -1, 3],
    "a tuple of one": (np.array([3, -1, 3]),),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128, np.complex64, np.longdouble])
@pytest.mark.parametrize("shape", [(4, 3), (4, 2, 2), (4, 1), (4, 0)])
def test_each_way_adds_in_order(shape: tuple[int, ...], dtype: Any) -> None:
    for what, index in INDICES.items():
        v = numbers(*np.empty(shape)[index].shape, dtype=dtype)
        v.reshape(-1)[::5] = [np.nan, np.inf, -np.inf, -0.0][len(what) % 4]
        with np.errstate(all="ignore"):
            expected = bits(added(v, index, shape))
            assert bits(BY_NUMPY(v, index, shape, v.dtype)) == expected, what
            if indexing.takes_product(v.dtype):
                assert bits(multiply_rows(v, index, shape, v.dtype)) == expected, what


def test_a_product_is_taken_of_the_dtypes_that_it_adds_as_numpy_does() -> None:
    taken = [dtype for dtype in "efdgFDGilq" if indexing.takes_product(np.dtype(dtype))]
    assert taken == ["f", "d"]


@pytest.mark.parametrize("way", [BY_NUMPY, multiply_rows])
@pytest.mark.parametrize("index", [[0, 4], [-5]])
def test_a_row_that_is_not_there_raises(way: Any, index: list[int]) -> None:
    with pytest.raises(IndexError):
        way(np.ones((len(index), 2)), np.array(index), (4, 2), np.dtype(float))


def squares(x: Any, index: Any) -> Any:
    return np.sum(x[index] ** 3)


def taken(x: Any, index: Any) -> Any:
    return np.sum(np.take(x, index, axis=0) ** 3)


def taken_wrapped(x: Any, index: Any) -> Any:
    return np.sum(np.take(x, index + 7, axis=0, mode="wrap") ** 3)


def embedded(x: Any, index: Any) -> Any:
    return np.sum(gs.functional.embedding(np.abs(index), x) ** 3)


def in_a_loop(x: Any, index: Any) -> Any:
    total = 0.0
    for k in range(4):
        total = total + np.sum(x[index] ** 2) * k
    return total


def plain_sum(x: Any, index: Any) -> Any:
    return np.sum(x[index])


LARGE = RNG.integers(-3, 4, 4000)  # beyond the size from which on a product is taken


@pytest.fixture(params=["with SciPy", "without SciPy"])
def library(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether SciPy is there."""
    if request.param == "without SciPy":
        monkeypatch.setattr(indexing, "_product", lambda: None)
    return str(request.param)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128])
@pytest.mark.parametrize("f", [squares, taken, taken_wrapped, embedded, in_a_loop, plain_sum], ids=lambda f: f.__name__)
def test_compiled_gives_the_bits_of_eager(f: Any, dtype: Any, library: str) -> None:
    def real(x: Any, index: Any) -> Any:
        return np.real(f(x, index))

    for index in (np.array([2, 0, -1, 2]), LARGE):
        x = numbers(4, 5, dtype=dtype)
        compiled = gs.compile(gs.grad(real), verify=True)
        with np.errstate(all="ignore"):
            expected = bits(gs.grad(real)(x, index))
            assert bits(compiled(x, index)) == bits(compiled(x, index)) == expected
        product = "scipy.sparse" in compiled.source(x, index)
        wanted = library == "with SciPy" and index is LARGE and dtype in (np.float64, np.float32)
        assert product == (wanted and f is not in_a_loop)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128])
def test_both_libraries_give_the_same_bits(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers(4, 5, dtype=dtype)
    with np.errstate(all="ignore"):
        v = numbers(4000, 5, dtype=dtype)
        v[7] = np.inf
        infinite = gs.vjp(lambda x: x[LARGE], x)[1](v)[0]
        x_grad = gs.grad(lambda x: np.real(squares(x, LARGE)))(x)
        monkeypatch.setattr(indexing, "_product", lambda: None)
        assert bits(gs.grad(lambda x: np.real(squares(x, LARGE)))(x)) == bits(x_grad)
        assert bits(gs.vjp(lambda x: x[LARGE], x)[1](v)[0]) == bits(infinite)
        assert np.all(np.isinf(infinite[LARGE[7]]))  # and not NaN, which the product of a complex number would give


@pytest.mark.parametrize("index", [np.array([2, 0, -1, 2]), np.array([[2, 0], [-1, 2]])])
def test_each_example_of_a_batch(index: np.ndarray, library: str) -> None:
    x, many = numbers(3, 4, 2), np.stack([index, index - 1, -index])
    gradient = gs.grad(squares)
    for x_axis, i_axis in ((0, None), (None, 0), (0, 0)):
        args = x if x_axis == 0 else x[0], index if i_axis is None else many
        found = gs.vmap(gradient, in_axes=(x_axis, i_axis))(*args)
        for k in range(3):
            alone = gradient(x[k] if x_axis == 0 else x[0], index if i_axis is None else many[k])
            assert bits(found[k]) == bits(alone)


@pytest.mark.parametrize("index", [[2, 0, -1, 2], (np.array([2, 0, -1, 2]),)], ids=["list", "tuple"])
def test_each_example_of_a_batch_at_an_index_of_another_form(index: Any) -> None:
    x = numbers(3, 4, 2)
    found = gs.vmap(gs.grad(lambda x: squares(x, index)))(x)
    assert all(bits(row) == bits(gs.grad(squares)(one, [2, 0, -1, 2])) for row, one in zip(found, x, strict=True))


def test_second_order() -> None:
    x, index = numbers(4, 2), np.array([2, 0, -1, 2])
    found = gs.hessian(squares)(x, index)
    assert np.allclose(np.diag(found.reshape(8, 8)), (6 * x * np.array([1, 0, 2, 1])[:, None]).reshape(-1))
    gs.check_grads(lambda x: squares(x, index), (RNG.standard_normal((4, 2)),))


def test_another_size_of_a_source_that_is_known() -> None:
    """A source for few rows serves many, and the other way round: the bits are the same."""
    compiled, gradient = gs.compile(gs.grad(squares)), gs.grad(squares)
    x = numbers(4, 5)
    for size in (3, 4, 5, 4000, 6, 3999, 3998, 0):
        assert bits(compiled(x, LARGE[:size])) == bits(gradient(x, LARGE[:size]))


def test_an_export_imports_numpy_alone() -> None:
    x = numbers(4, 5)
    text = gs.export(gs.grad(squares), x, LARGE)
    assert "Needs NumPy alone" in text
    assert "scipy" not in text
    assert "np.add.at" in text
    space: dict[str, Any] = {}
    exec(text, space)
    assert bits(space["squares_grad"](x, LARGE)) == bits(gs.grad(squares)(x, LARGE))


PROGRAM = """
import hashlib, sys
import numpy as np
import gradscribe as gs
blocked = "blocked" in sys.argv
if blocked:
    sys.modules["scipy"] = None
def f(x, index):
    return np.sum(np.sin(x[index]))
rng = np.random.default_rng(0)
x, index = rng.standard_normal((500, 60)), rng.integers(-500, 500, 5000)
gs.compile(gs.grad(f))(x, index[:20])
assert blocked or not any(name.startswith("scipy") for name in sys.modules), "SciPy is loaded for a small gather"
eager = gs.grad(f)(x, index)
assert ("scipy.sparse" in sys.modules) is not blocked
compiled = gs.compile(gs.grad(f), verify=True)
assert np.array_equal(compiled(x, index), eager) and ("scipy" in compiled.source(x, index)) is not blocked
print(hashlib.sha256(eager.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_a_process_without_scipy_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCRIBE_CACHE", "off")
    printed = [
        subprocess.run([sys.executable, "-P", "-c", PROGRAM, *words], check=True, capture_output=True, text=True).stdout
        for words in ((), ("blocked",))
    ]
    assert printed[0] == printed[1] != ""
