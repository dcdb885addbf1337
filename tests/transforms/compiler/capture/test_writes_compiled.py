"""Writes in place inside a compiled function are part of its source: values, gradients and bits as in eager mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, -1.25, 2.0, 0.75])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.6


def an_element(x: Any) -> Any:
    y = x * 2
    y[0] = 7.0
    return np.sum(y * x)


def elements_of_zeros(x: Any) -> Any:
    out = np.zeros(3)
    out[0] = x[0] * x[1]
    out[1] = out[0] * 2
    out[2] = np.sum(out[:2]) * x[2]
    return np.sum(out)


def augmented(x: Any) -> Any:
    y = x * 2
    y += x
    y[1:] *= x[:-1]
    y -= 1.0
    y /= 3
    return np.sum(y * x)


def through_views(x: Any) -> Any:
    y = x * 2
    left, right = y[:3], y[1:]
    left += right.copy() * x[0]
    right[0] = x[1] * x[1]
    y.reshape(2, 2).T[0] *= 3
    return np.sum(left * x[:3]) + np.sum(right**2)


def parts_of_complex_numbers(x: Any) -> Any:
    z = x * 1j + x[::-1]
    z.imag[1] = 3 * x[0]
    z.real[:2] += x[2]
    return np.sum(np.abs(z) ** 2)


def out_of_a_ufunc(x: Any) -> Any:
    y = np.zeros(4)
    np.multiply(x, x, out=y)
    np.add(y, 1.0, out=y)
    return np.sum(y * x)


def out_of_a_reduction(x: Any) -> Any:
    y = np.zeros(2)
    np.sum(x.reshape(2, 2) ** 2, axis=1, out=y)
    return y[0] * y[1]


def at(x: Any) -> Any:
    y = np.zeros(3)
    np.add.at(y, [0, 2, 2, 0], x * x)
    return np.sum(y * y)


def where_of_ufuncs(x: Any) -> Any:
    y = np.ones(4)
    np.log(x, where=x > 0, out=y)
    z = np.divide(1.0, x - 0.5, out=np.zeros_like(x), where=x != 0.5)
    np.multiply(y, z, out=y, where=[True, False, True, True])
    return np.sum(y * x)


def out_of_another_shape_and_dtype(x: Any) -> Any:
    rows, narrow = np.zeros((3, 4)), np.zeros(4, np.float32)
    np.multiply(x, x, out=rows)
    np.add(x, 1.0, out=narrow, casting="same_kind")
    return np.sum(rows * narrow)


def numpys_writers(x: Any) -> Any:
    y = x * 1
    np.copyto(y[:2], x[2:] * 2)
    np.put(y, [3], x[0])
    np.fill_diagonal(y.reshape(2, 2), x[1])
    y.sort()
    return np.sum(y * x * x)


def masked(x: Any) -> Any:
    y = x * 3
    y[x > 0.6] = 0.0
    y[[0, 0]] += 1.0
    return np.sum(y * x)


def in_a_loop(x: Any) -> Any:
    rows = np.zeros((4, 4))
    rows[0] = x
    for k in range(1, 4):
        rows[k] = rows[k - 1] * x + k
    return np.sum(rows)


def a_write_that_branches(x: Any) -> Any:
    y = x * 2
    if y[0] > 0:
        y[0] = -y[0]
    return np.sum(y * y * x)


def methods(x: Any) -> Any:
    y = x * 2
    y.fill(0.5)
    y += x
    return np.sum(y * y)


CASES = [
    an_element, elements_of_zeros, augmented, through_views, where_of_ufuncs, out_of_another_shape_and_dtype,
    out_of_a_ufunc, out_of_a_reduction, at, numpys_writers,
    masked, in_a_loop, a_write_that_branches, methods,
]  # fmt: skip
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "gradient": gs.value_and_grad,
    "second": lambda f: gs.grad(lambda x: np.sum(gs.grad(f)(x) ** 2)),
}


@pytest.mark.parametrize("transform", list(TRANSFORMS))
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_it_is_compiled_and_equal(f: Callable[[Any], Any], transform: str) -> None:
    eager = TRANSFORMS[transform](f)
    compiled = gs.compile(eager, verify="first calls")  # a warning that it runs eagerly would be an error here
    for x in (X, X + 0.25, -X, X * 0.5):
        expected, found = eager(x.copy()), compiled(x.copy())
        for a, b in zip(np.atleast_1d(*expected) if isinstance(expected, tuple) else [expected],
                        np.atleast_1d(*found) if isinstance(found, tuple) else [found], strict=True):  # fmt: skip
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_the_plain_function_agrees(f: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(gs.compile(f)(X.copy()), f(X.copy()))


def test_a_buffer_is_written_where_it_lies() -> None:
    text = gs.source(elements_of_zeros, X)
    assert "out[0] = " in text
    text = gs.source(lambda x: elements_of_zeros(x), X)
    assert text.count("np.zeros(3)") == 1
    assert gs.source(an_element, X).count("np.array(") == 0


def test_a_written_array_keeps_its_name() -> None:
    text = gs.source(augmented, X)
    assert "y" in text
    assert "t_2 = np.array(" not in text


def test_an_array_of_ones_own_is_never_written() -> None:
    constant = np.ones(4)

    def f(x: Any) -> Any:
        y = np.zeros(4)
        y += constant
        y[0] = x[0]
        return np.sum(y * x)

    compiled = gs.compile(gs.grad(f), verify="first calls")
    np.testing.assert_array_equal(compiled(X), gs.grad(f)(X))
    np.testing.assert_array_equal(constant, np.ones(4))


@pytest.mark.filterwarnings("ignore:'where' used without 'out'")  # NumPy's own
def test_where_of_a_ufunc_that_leaves_values_undefined_runs_eagerly_and_says_so() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.log(x, where=x > 0) * 0.0)

    with pytest.warns(gs.EagerWarning, match="where=` of a ufunc without `out=`"):
        gs.compile(f)(X)


def test_detached_values_take_no_gradient_inside_a_transform() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y.detach()[0] = x[1]
        return np.sum(y)

    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with pytest.raises(gs.AutogradError, match=r"cannot be written into what x\.detach"):
            run(X)


def test_a_view_made_in_no_grad_cannot_be_written_outside_inside_a_transform() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        with gs.no_grad():
            z = y[:2]
        z[0] = 3.0
        return np.sum(y * x)

    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with pytest.raises(gs.AutogradError, match="A view was created in no_grad mode"):
            run(X)


def test_an_augmented_assignment_stays_one() -> None:
    def f(x: Any) -> Any:
        total = np.zeros(4)
        for k in range(3):
            total += np.sin(x * k)
        total *= 2.0
        return np.sum(total * x)

    text = gs.source(gs.value_and_grad(f), X)
    assert text.count("    total += np.sin(") == 3
    assert "    total *= 2.0" in text
    assert "total_2" not in text


def test_an_augmented_assignment_of_what_is_read_again_makes_a_new_array() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x)
        z = y * 1.0
        y += x
        return np.sum(y * z) + np.sum(np.tanh(y))

    compiled = gs.compile(gs.value_and_grad(f), verify="first calls")
    for x in (X, X + 1):
        found, expected = compiled(x), gs.value_and_grad(f)(x)
        assert found[0] == expected[0]
        np.testing.assert_array_equal(found[1], expected[1])


def scaled_rows(x: Any) -> Any:
    y = x * 2
    y[1:] *= x[:-1]
    return np.sum(y * x)


def test_a_part_is_read_before_the_whole_is_written_over() -> None:
    squared = TRANSFORMS["second"](scaled_rows)  # cotangents are cleared in place, behind the last read of their parts
    np.testing.assert_array_equal(gs.compile(squared, verify="first calls")(X), squared(X))


# Places that are computed, or passed: what a source does must depend on them.
PLACES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "put": lambda y, k, x: np.put(y, k, x * x),
    "put, around": lambda y, k, x: np.put(y, k + 3, x * x, mode="wrap"),
    "put_along_axis": lambda y, k, x: np.put_along_axis(y, k, x * x, 0),
    "put_along_axis, flat": lambda y, k, x: np.put_along_axis(y, k, x * x, None),
    "put_along_axis of what is sorted": lambda y, k, x: np.put_along_axis(y, np.argsort(k)[:2], x[:2] * x[:2], 0),
    "place": lambda y, k, x: np.place(y, k > 1, x * x),
    "putmask": lambda y, k, x: np.putmask(y, k > 1, x * x),
    "copyto": lambda y, k, x: np.copyto(y, x * x, where=k > 1),
    "an index": lambda y, k, x: y.__setitem__(k, x * x),
    "flat": lambda y, k, x: y.flat.__setitem__(k, x * x),
    "flat, by a mask": lambda y, k, x: y.flat.__setitem__(k > 1, x[0]),
    "add.at": lambda y, k, x: np.add.at(y, k, x * x),
    "add.at of several arrays": lambda y, k, x: np.add.at(y.reshape(2, 2), (k % 2, np.array([0, 1, 1, 0])), x * x),
    "subtract.at": lambda y, k, x: np.subtract.at(y, (k,), x * x),
    "multiply.at": lambda y, k, x: np.multiply.at(y, k, x * x),
    "multiply.at a list": lambda y, k, x: np.multiply.at(y, [k[0], 1], x[0]),
    "multiply.at one place": lambda y, k, x: np.multiply.at(y, k[0], 3.0),
    "multiply.at a mask": lambda y, k, x: np.multiply.at(y, k > 1, 3.0),
    "multiply.at places of its own": lambda y, k, x: np.multiply.at(y, np.array([0, 0, 3]), x[:3]),
    "maximum.at": lambda y, k, x: np.maximum.at(y, k, 1.1 * x),
    "exp.at": lambda y, k, x: np.exp.at(y, k),
    "reduceat": lambda y, k, x: y.__setitem__(..., np.maximum.reduceat(x * x, k)),
    "insert": lambda y, k, x: y.__setitem__(..., np.insert(x, k, x * x)[:4]),
    "insert at places of its own": lambda y, k, x: y.__setitem__(..., np.insert(x, np.array([1, 3]), x[:2])[2:]),
}


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("name", PLACES)
def test_places_may_differ_from_call_to_call(name: str) -> None:
    def f(x: Any, k: Any) -> Any:
        y = x * 1.0
        PLACES[name](y, k, x)
        return np.sum(np.sin(y) * np.arange(1.0, 5.0))

    value, gradient, step = gs.compile(f), gs.compile(gs.grad(f)), np.eye(4) * 1e-6
    for n, k in enumerate([[0, 1, 1, 2], [0, 1, 1, 2], [3, 1, 0, 0], [2, 2, 3, 1]]):
        x, places = np.random.default_rng(n).uniform(0.5, 1.5, 4), np.array(k)
        expected = [(f(x + h, places) - f(x - h, places)) / 2e-6 for h in step]
        assert value(x, places) == f(x, places)
        np.testing.assert_allclose(gs.grad(f)(x, places), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(gradient(x, places), gs.grad(f)(x, places))


# What is the array itself or a view of it, and what is a copy, is NumPy's to say.
SHARED: dict[str, Callable[[Any], Any]] = {
    "astype": lambda a: a.astype(float),
    "astype, no copy": lambda a: a.astype(float, copy=False),
    "astype, no copy, by position": lambda a: a.astype("f8", "K", "unsafe", True, False),
    "conj": lambda a: a.conj(),
    "conjugate of NumPy": lambda a: np.conjugate(a),
    "copy": lambda a: a.copy(),
    "ravel": lambda a: a.ravel(),
    "flatten": lambda a: a.flatten(),
    "reshape": lambda a: a.reshape(2, 2),
    "real": lambda a: a.real,
    "asarray": lambda a: np.asarray(a, dtype=float),
    "asarray, a copy": lambda a: np.asarray(a, dtype=float, copy=True),
    "array": lambda a: np.array(a),
    "array, no copy": lambda a: np.array(a, copy=None),
    "ascontiguousarray": lambda a: np.ascontiguousarray(a),
    "require": lambda a: np.require(a),
    "require a layout": lambda a: np.require(a, float, ["C"]),
    "require both layouts": lambda a: np.require(a, float, "F"),
    "require another layout": lambda a: np.require(a.reshape(2, 2), float, ["F"]),
    "require memory of its own": lambda a: np.require(a, float, ["O"]),
    "require memory of its own, of a view": lambda a: np.require(a[:], float, ["O"]),
    "atleast_1d": lambda a: np.atleast_1d(a),
    "atleast_2d": lambda a: np.atleast_2d(a),
    "block": lambda a: np.block(a),
    "block of a list": lambda a: np.block([a]),
    "nan_to_num, no copy": lambda a: np.nan_to_num(a, copy=False),
    "positive": lambda a: +a,
    "round": lambda a: a + 0 * np.round(a),
    "split": lambda a: np.split(a, 2)[0],
    "broadcast_arrays": lambda a: np.broadcast_arrays(a, a)[0].copy(),
    "meshgrid": lambda a: np.meshgrid(a, a)[0],
    "a list of places": lambda a: a[[0, 1]],
    "flat": lambda a: a.flat[:],
}


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("written", ["the array", "what was made of it"])
def test_memory_is_shared_where_numpy_shares_it(name: str, written: str) -> None:
    def f(x: Any) -> Any:
        a = x * 1.0
        b = SHARED[name](a)
        target, other = (a, b) if written == "the array" else (b, a)
        target[..., 0] = 5.0 * x[1]
        target += x[2]
        return np.sum(other * 1.0) * 3.0 + np.sum(target * target)

    gradient, step = gs.compile(gs.value_and_grad(f)), np.eye(4) * 1e-6
    for k in range(2):
        x = X + 0.125 * k
        expected = [(f(x + h) - f(x - h)) / 2e-6 for h in step]
        value, slopes = gs.value_and_grad(f)(x)
        assert value == f(x)
        np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-7)
        found = gradient(x)
        assert found[0] == value
        np.testing.assert_array_equal(found[1], slopes)


def test_a_reshape_that_copies() -> None:
    def f(x: Any) -> Any:
        a = x * 1.0
        b = a.reshape(2, 2, copy=True) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else a.reshape(2, 2).copy()
        b[0, 1] = x[0] * x[3]
        return np.sum(a * X) + np.sum(b**2)

    step = np.eye(4) * 1e-6
    np.testing.assert_allclose(gs.grad(f)(X), [(f(X + h) - f(X - h)) / 2e-6 for h in step], rtol=1e-6, atol=1e-8)


# Places by arrays of positions -------------------------------------------------------------------------------------------


def rows_of_four(a, v, idx):
    a = a + 1.0
    for k in range(4):
        a[idx] = np.sin(a[idx]) * v[k]
    return np.sum(a**2)


def assembled(v, idx):
    K = np.zeros((6, 6))
    for k in range(len(v)):
        K[np.ix_(idx[k], idx[k])] += v[k] * np.ones((2, 2))
    return np.sum(np.sin(K) * np.arange(36.0).reshape(6, 6))


def read_before(a, v, idx):
    a = a + 1.0
    before = a[idx]
    a[idx] = v[:3]
    return np.sum(a**2) + np.sum(before * v[1])


def subtracted(a, v, idx):
    a = a + 1.0
    a[idx] -= v[:3] ** 2
    a[idx] += 0.5
    a[idx] += v[3]
    return np.sum(a**3)


def of_a_row(a, v, idx):
    rows = np.stack([a, 2.0 * a])
    for k in range(2):
        rows[k][idx] += v[:3] * v[k]
    return np.sum(rows**3)


def changed_before_it_is_put_back(a, v, idx):
    a = a + 1.0
    part = a[idx]
    part += v[:3]
    part *= 2.0
    a[idx] = part
    part = a[idx]
    a[idx[0]] = 7.0
    part += v[:3]
    a[idx] = part
    return np.sum(a**3)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (subtracted, (np.arange(6.0), np.arange(4.0), np.array([1, 3, 1]))),
        (of_a_row, (np.arange(6.0), np.arange(4.0), np.array([1, 3, 1]))),
        (changed_before_it_is_put_back, (np.arange(6.0), np.arange(4.0), np.array([1, 3, 1]))),
        (rows_of_four, (np.arange(6.0), np.arange(4.0), np.array([1, 3, 1]))),
        (assembled, (np.arange(5.0), np.array([[0, 1], [1, 2], [2, 2], [4, 5], [3, 0]]))),
        (read_before, (np.arange(6.0), np.arange(4.0), np.array([1, 3, 1]))),
    ],
)
def test_what_is_written_at_positions_is_written_in_place(f: Any, args: Any) -> None:
    transform = gs.value_and_grad(f, argnums=tuple(k for k, x in enumerate(args) if x.dtype == float))
    compiled = gs.compile(transform)
    for scale in (1.0, 0.5, -2.0):
        now = tuple(x * scale if x.dtype == float else x for x in args)
        expected, found = transform(*now), compiled(*now)
        assert found[0] == expected[0]
        assert all(a.tobytes() == b.tobytes() for a, b in zip(found[1], expected[1], strict=True))
    assert f is of_a_row or "np.array(" not in str(compiled.source(*args))
    inputs = tuple(x + 0.25 if x.dtype == float else x for x in args)
    gs.check_grads(lambda *xs: f(*xs, inputs[-1]), inputs[:-1], order=2)


def test_what_is_added_at_positions_leaves_the_cotangent_of_the_rest_alone() -> None:
    args = (np.arange(5.0), np.array([[0, 1], [1, 2], [2, 2], [4, 5], [3, 0]]))
    source = str(gs.compile(gs.grad(assembled)).source(*args))
    assert source.count("np.add.at") == 0
    assert len(re.findall(r"\bK\[\w+, \w+\] \+= ", source)) == 1


def test_positions_that_were_written_in_between_are_those_of_each_step() -> None:
    def f(x: Any) -> Any:
        y, at = x * 1.0, np.array([0, 1])
        part = y[at]
        at[0] = 2
        part += x[3]
        y[at] = part
        return np.sum(y**2)

    x = np.arange(1.0, 5.0)
    steps = np.eye(4) * 1e-6
    expected = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(gs.grad(f)(x), expected, rtol=1e-6)
    np.testing.assert_array_equal(gs.compile(gs.grad(f))(x), gs.grad(f)(x))


OUTSIDE = np.ones(2)


def adds_a_local_array(x: Any, v: Any) -> Any:
    y, w, at = x * 1.0, v * 1.0, np.array([0, 2])
    part = y[at]
    part += w
    w[0] = 50.0
    y[at] = part
    return np.sum(y**2)


def subtracts_an_array_from_outside(x: Any, v: Any) -> Any:
    y, at = x * 1.0, np.array([0, 2])
    part = y[at]
    part -= OUTSIDE
    OUTSIDE[0] = 50.0
    y[at] = part
    return np.sum(y**2) * np.sum(v)


def adds_itself(x: Any, v: Any) -> Any:
    y, at = x * 1.0, np.array([0, 2])
    part = y[at]
    part += part
    y[at] = part
    part = y[at]
    part -= part[::-1]
    y[at] = part
    return np.sum(y**2) * np.sum(v)


@pytest.mark.parametrize("f", [adds_a_local_array, subtracts_an_array_from_outside, adds_itself])
def test_what_is_added_at_positions_is_what_it_was_then(f: Any) -> None:
    def result(run: Callable[..., Any]) -> Any:
        OUTSIDE[:] = 1.0
        return run(np.arange(4.0), np.array([1.0, 2.0]))

    transform = gs.value_and_grad(f, argnums=(0, 1))
    value, gradients = result(transform)
    assert value == result(f)
    found = result(gs.compile(transform))
    assert found[0] == value
    assert all(a.tobytes() == b.tobytes() for a, b in zip(found[1], gradients, strict=True))


# Scalars of arrays -------------------------------------------------------------------------------------------------------


def beam(x: Any) -> Any:
    n = len(x)
    K = np.zeros((n, n))
    for i in range(n):
        K[i, i] += 6 * x[i]
        if i > 0:
            K[i, i - 1] -= 4 * x[i]
            K[i - 1, i] -= 4 * x[i]
    return np.sum(np.sin(K) * np.arange(n))


def both_ways(x: Any) -> Any:
    d = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            d[i] += x[i]
        else:
            d[i - 1] -= x[i] ** 2
        d[0] += x[i] ** 2
    return d @ d


def read_again(x: Any) -> Any:
    y = x * 2.0
    part = y[1]
    part += x[0]
    y[1] = part
    y[-1] += part
    y[2] -= y[2] * x[0]
    return np.sum(y**2) * part


def written_in_between(x: Any) -> Any:
    y = x * 2.0
    part = y[1]
    y[1] = x[0] ** 2
    part += x[2]
    y[1] = part
    return np.sum(y**3)


def put_elsewhere(x: Any) -> Any:
    y = x * 2.0
    part = y[1]
    part += x[2]
    y[0] = part
    part = y[1]
    part += x[0]
    part *= x[1]
    y[1] = part
    return np.sum(y**3)


@pytest.mark.parametrize("f", [beam, both_ways, read_again, written_in_between, put_elsewhere])
def test_what_is_added_to_one_element_is_equal_in_all_ways(f: Any) -> None:
    transform = gs.value_and_grad(f)
    compiled, native = gs.compile(transform), gs.compile(transform, target="native")
    for x in (np.array([0.3, -0.5, 1.25, 0.75]), np.array([-0.3, 0.5, 0.0, 2.0]), np.arange(4.0)):
        expected, found = transform(x), compiled(x)
        assert f(x) == expected[0] == found[0]
        assert found[1].tobytes() == expected[1].tobytes()
        np.testing.assert_allclose(native(x)[1], expected[1], rtol=1e-14)
    gs.check_grads(f, (np.array([0.3, -0.5, 1.25, 0.75]),), order=2)


def test_what_is_added_to_one_element_leaves_the_cotangent_of_the_rest_alone() -> None:
    source = str(gs.compile(gs.grad(beam)).source(np.ones(5)))
    assert re.search(r"\bd_x\[i\] \+= d_K\[i, i\] \* 6\.0", source)
    assert "d_K[i, i] =" not in source
    assert "np.array(" not in source


def test_what_a_branch_has_written_stays_in_its_array_and_keeps_its_name() -> None:
    def f(x: Any) -> Any:
        d = np.zeros(len(x))
        if x[0] > 0:
            d[1] += x[0]
        d[2] += x[1]
        return d @ d

    source = str(gs.compile(gs.grad(f)).source(np.ones(4)))
    assert "np.array(" not in source
    assert set(re.findall(r"^ +(\w+)(?:\[\d\])? \+?= ", source, re.M)) == {"d", "d_x", "taken", "twice_d"}
