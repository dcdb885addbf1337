"""`out=` of every function that has it, by name and by position: what is written keeps its gradient."""

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

x3, w = np.array([0.5, 1.5, -0.7]), np.array([1.0, -2.0, 0.5])
M = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [0.7, 0.1, 1.5]])
CALLS = [  # each writes into `o`, of this shape
    ("np.dot(M, x, out=o)", (3,)),
    ("np.dot(M, x, o)", (3,)),
    ("np.take(x, [0, 2, 2], out=o)", (3,)),
    ("np.sum(M * x, axis=0, out=o)", (3,)),
    ("np.sum(x, out=o)", ()),
    ("np.cumsum(x, out=o)", (3,)),
    ("np.cumprod(x, out=o)", (3,)),
    ("np.clip(x, -0.5, 1.0, out=o)", (3,)),
    ("np.clip(x, -0.5, 1.0, o)", (3,)),
    ("np.mean(M * x, axis=1, out=o)", (3,)),
    ("np.mean(M * x, 1, None, o)", (3,)),
    ("np.std(M * x, axis=1, out=o)", (3,)),
    ("np.var(M * x, axis=1, out=o)", (3,)),
    ("np.prod(M * x, axis=1, out=o)", (3,)),
    ("np.max(M * x, axis=1, out=o)", (3,)),
    ("np.min(M * x, axis=1, out=o)", (3,)),
    ("np.amax(M * x, axis=1, out=o)", (3,)),
    ("np.ptp(M * x, axis=1, out=o)", (3,)),
    ("np.median(M * x, axis=1, out=o)", (3,)),
    ("np.percentile(M * x, 30, axis=1, out=o)", (3,)),
    ("np.quantile(M * x, 0.3, axis=1, out=o)", (3,)),
    ("np.nansum(M * x, axis=1, out=o)", (3,)),
    ("np.nanmean(M * x, axis=1, out=o)", (3,)),
    ("np.nanmax(M * x, axis=1, out=o)", (3,)),
    ("np.nanstd(M * x, axis=1, out=o)", (3,)),
    ("np.nancumsum(x, out=o)", (3,)),
    ("np.nanmedian(M * x, axis=1, out=o)", (3,)),
    ("np.concatenate([x, 2 * x], out=o)", (6,)),
    ("np.concatenate((x, w), out=o)", (6,)),
    ("np.concatenate((x, w), 0, o)", (6,)),
    ("np.stack([x, 2 * x], out=o)", (2, 3)),
    ("np.stack([x, 2 * x], axis=1, out=o)", (3, 2)),
    ("np.matmul(M, x, out=o)", (3,)),
    ("np.einsum('ij,j->i', M, x, out=o)", (3,)),
    ("np.choose([0, 1, 0], [x, 2 * x], out=o)", (3,)),
    ("np.compress([True, False, True], x, out=o)", (2,)),
    ("np.outer(x, w, out=o)", (3, 3)),
    ("np.outer(x, w, o)", (3, 3)),
    ("np.trace(M * x, out=o)", ()),
    ("np.round(x, 1, out=o)", (3,)),
    ("np.around(x, 1, out=o)", (3,)),
    ("np.fix(x, out=o)", (3,)),
    ("np.linalg.multi_dot([M, M * x, M], out=o)", (3, 3)),
    ("np.real(np.fft.fft(x, out=np.zeros(3, complex)))", (3,)),
    ("np.fft.irfft(np.fft.rfft(x), 3, out=o)", (3,)),
    ("x.compress([True, False, True], None, o)", (2,)),
    ("np.trace(M * x, 0, 0, 1, None, o)", ()),
    ("np.choose([0, 1, 0], [x, 2 * x], o)", (3,)),
    ("np.add(x, 1, out=o)", (3,)),
    ("np.add(x, 1, o)", (3,)),
    ("np.add(x, 1, out=(o,))", (3,)),
    ("np.sin(x, o)", (3,)),
    ("np.sin(x, out=o)", (3,)),
    ("np.multiply(x, x, out=o, where=x > 0)", (3,)),
    ("np.add.reduce(M * x, axis=0, out=o)", (3,)),
    ("np.add.accumulate(x, out=o)", (3,)),
    ("np.multiply.outer(x, w, out=o)", (3, 3)),
    ("np.add.reduceat(x, [0, 2], out=o)", (2,)),
    ("np.isposinf(x, out=np.zeros(3, bool)) + x", (3,)),
    ("np.argmax(x, out=np.zeros((), int)) * x", (3,)),
    ("np.cumulative_sum(x, out=o)", (3,)),
    ("np.vecdot(M, x, out=o)", (3,)),
    ("np.matvec(M, x, out=o)", (3,)),
    ("np.vecmat(x, M, out=o)", (3,)),
    ("np.logical_and(x > 0, x < 1, out=np.zeros(3, bool)) * x", (3,)),
    ("np.any(x > 0, out=np.zeros((), bool)) * x", (3,)),
    ("np.all(x > 0, out=np.zeros((), bool)) * x", (3,)),
    ("np.modf(x, o, np.zeros(3))[0]", (3,)),
    ("np.modf(x, out=(o, np.zeros(3)))[0]", (3,)),
    ("x.dot(w, out=o)", ()),
    ("(M * x).sum(axis=0, out=o)", (3,)),
    ("(M * x).mean(axis=0, out=o)", (3,)),
    ("(M * x).max(axis=0, out=o)", (3,)),
    ("(M * x).min(axis=0, out=o)", (3,)),
    ("(M * x).prod(axis=0, out=o)", (3,)),
    ("(M * x).std(axis=0, out=o)", (3,)),
    ("(M * x).var(axis=0, out=o)", (3,)),
    ("(M * x).trace(out=o)", ()),
    ("x.cumsum(out=o)", (3,)),
    ("x.cumprod(out=o)", (3,)),
    ("x.clip(-0.5, 1.0, out=o)", (3,)),
    ("x.take([0, 2], out=o)", (2,)),
    ("x.compress([True, False, True], out=o)", (2,)),
    ("np.asarray([0, 1, 0]).choose([x, 2 * x], out=o)", (3,)),
    ("x.round(1, out=o)", (3,)),
    ("(M * x).sum(0, None, o)", (3,)),
    ("x.take([0, 2], None, o)", (2,)),
    ("np.abs(x, out=o)", (3,)),
    ("np.maximum(x, 0.2, out=o)", (3,)),
    ("np.exp(x, out=o)", (3,)),
    ("np.dot(x, x, out=o)", ()),
    ("np.minimum.reduce(M * x, axis=0, out=o)", (3,)),
    ("np.nanpercentile(M * x, 30, axis=1, out=o)", (3,)),
    ("np.nanprod(M * x, axis=1, out=o)", (3,)),
    ("np.nanmin(M * x, axis=1, out=o)", (3,)),
    ("np.nanvar(M * x, axis=1, out=o)", (3,)),
    ("np.nancumprod(x, out=o)", (3,)),
    ("np.amin(M * x, axis=1, out=o)", (3,)),
]
SINCE = {"np.cumulative_sum": "cumulative_sum", "np.matvec": "matvec", "np.vecmat": "vecmat"}  # NumPy 2.1, 2.2


def differences(f, x):
    return np.array([(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(x.size)])


@pytest.fixture
def program(tmp_path):
    """A function from a file of its own, so that the compiler finds its source."""

    def make(call, shape):
        text = (
            f"def f(x):\n    o = np.zeros({shape})\n    r = {call}\n"
            "    return np.sum(o * np.cos(np.arange(o.size)).reshape(o.shape)) + 0.5 * np.sum(r * r)\n"
        )
        path = tmp_path / "program.py"
        path.write_text(text)
        space = {"np": np, "w": w, "M": M, "__name__": "program"}
        exec(compile(text, str(path), "exec"), space)
        return space["f"]

    return make


@pytest.mark.parametrize(("call", "shape"), CALLS, ids=[call for call, _ in CALLS])
def test_out_is_written_with_its_gradient_eager_and_compiled(call, shape, program):
    for text, name in SINCE.items():
        if text in call and not hasattr(np, name):
            pytest.skip(f"this NumPy has no np.{name}")
    f = program(call, shape)
    value, gradient = gs.value_and_grad(f)(x3)
    assert np.isclose(value, f(x3), rtol=1e-13)
    np.testing.assert_allclose(gradient, differences(f, x3), rtol=1e-6, atol=1e-7)
    compiled = gs.compile(gs.value_and_grad(f))
    for _ in range(3):
        again = compiled(x3)
        assert again[0] == value
        np.testing.assert_array_equal(again[1], gradient)


def test_what_a_function_with_out_returns_is_out():
    def f(x):
        o, p = np.zeros(3), np.zeros(2)
        assert np.dot(M, x, out=o) is o
        assert np.take(x, [0, 1], out=p) is p
        assert np.cumsum(x, None, None, o) is o
        assert x.compress([True, False, True], out=p) is p
        return np.sum(o) + np.sum(p)

    np.testing.assert_allclose(gs.grad(f)(x3), [4.0, 2.0, 2.0])


def test_out_of_another_shape_or_type_is_an_error_that_names_the_function():
    with pytest.raises(ValueError, match=r"np\.dot: out= has the shape \(2,\), but the result \(3,\)"):
        gs.grad(lambda x: np.sum(np.dot(M, x, out=np.zeros(2))))(x3)
    with pytest.raises(TypeError, match=r"np\.sum: the result is float64, which out= of int64 cannot hold"):
        gs.grad(lambda x: np.sum(M * x, axis=0, out=np.zeros(3, np.int64))[0])(x3)
    with pytest.raises(TypeError, match=r"np\.take: the result is complex128"):
        gs.grad(lambda x: np.real(np.take(x * 1j, [0], out=np.zeros(1)))[0])(x3)


def test_out_from_outside_is_no_place_for_a_gradient():
    outside = np.zeros(3)
    for call in (
        lambda x: np.dot(M, x, out=outside), lambda x: np.take(x, [0, 1, 2], out=outside),
        lambda x: np.clip(x, 0.0, 1.0, outside),
        lambda x: np.mean(M * x, 1, None, outside), lambda x: np.cumsum(x, out=outside),
    ):  # fmt: skip
        with pytest.raises(gs.GradientLossError):
            gs.grad(lambda x, call=call: np.sum(call(x)))(x3)
    assert outside.tolist() == [0.0, 0.0, 0.0]


def test_out_may_be_an_operand():
    def f(x):
        y = x * 2
        np.cumsum(y, out=y)
        np.clip(y, -10.0, 3.5, y)
        return np.sum(y * y)

    np.testing.assert_allclose(gs.grad(f)(x3), differences(f, x3), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(gs.compile(gs.grad(f))(x3), gs.grad(f)(x3))


def test_bare_tensors_are_written_too():
    x, o = gs.tensor(x3, requires_grad=True), gs.zeros(3)
    np.dot(M, x, out=o)
    o.sum().backward()
    np.testing.assert_allclose(x.grad, M.sum(0))


def test_out_none_is_no_out():
    f = lambda x: (
        np.sum(np.dot(M, x, out=None)) + np.sum(np.take(x, [0], None, None)) + np.sum(np.clip(x, 0.0, 1.0, None))
    )
    np.testing.assert_allclose(gs.grad(f)(x3), differences(f, x3), rtol=1e-6, atol=1e-7)


# Where `where=` does not hold, functions are infinite or undefined: zero times their slopes would be NaN.
LEFT_OUT = {
    "log": lambda x: np.log(x, where=x > 0, out=np.zeros(4)),
    "sqrt": lambda x: np.sqrt(x, where=x > 0, out=np.zeros(4)),
    "divide a number": lambda x: np.divide(1.0, x, where=x != 0, out=np.zeros(4)),
    "divide": lambda x: np.divide(x**2, x, where=x > 0, out=np.ones_like(x)),
    "power": lambda x: np.power(x, 0.3, where=x > 0, out=np.zeros(4)),
    "var": lambda x: np.var(np.where(x > 0, x**2, np.nan), where=x > 0),
    "std": lambda x: np.std(np.where(x > 0, x**2, np.nan), where=x > 0),
    "nanvar": lambda x: np.nanvar(np.where(x > 0, x**2, np.nan), ddof=1),
    "nanstd": lambda x: np.nanstd(np.where(x > 0, x**2, np.nan)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LEFT_OUT)
def test_second_derivatives_beside_what_is_left_out(name: str) -> None:
    def f(x: Any) -> Any:
        return np.sum(LEFT_OUT[name](x)) ** 2

    x, v, step = np.array([0.5, 0.0, 0.7, 0.9]), np.array([0.3, 0.0, 0.5, -0.2]), 1e-6
    expected = (gs.grad(f)(x + step * v) - gs.grad(f)(x - step * v)) / (2 * step)
    assert np.all(np.isfinite(expected))
    for second in (
        gs.hvp(f),
        lambda x, v: gs.grad(lambda x: np.sum(gs.grad(f)(x) * v))(x),
        lambda x, v: gs.hessian(f)(x) @ v,
    ):
        np.testing.assert_allclose(second(x, v), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(gs.compile(second)(x, v), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(gs.jvp(f, (x,), (v,))[1], np.sum(gs.grad(f)(x) * v), rtol=1e-12)
