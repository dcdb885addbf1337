"""What NumPy makes of a number: arrays of no axes, scalars, more axes; the same types eager and compiled."""

import numpy as np
import pytest

import gradscribe as gs

NUMBERS = [1.25, np.float64(1.25), np.float32(1.25), np.array(1.25), 1.25 + 0.5j, np.complex128(1.25 + 0.5j)]
OF_ANY = [
    "np.asarray(x)",
    "np.asarray(x)[()]",
    "np.asarray(x)[...]",
    "np.asarray(x)[None]",
    "np.asanyarray(x)",
    "np.asanyarray(x)[()]",
    "np.array(x)",
    "np.array(x)[()]",
    "np.array(x)[...]",
    "np.array(x)[None]",
    "np.array(x, ndmin=1)",
    "np.array(x, ndmin=2)",
    "np.array([x])",
    "np.array(x, dtype=complex)",
    "np.asarray(x, dtype=float)",
    "np.ascontiguousarray(x)",
    "np.asfortranarray(x)",
    "np.atleast_1d(x)",
    "np.atleast_2d(x)",
    "np.atleast_3d(x)",
    "np.copy(x)",
    "np.squeeze(x)",
    "np.ravel(x)",
    "np.reshape(x, ())",
    "np.reshape(x, (1,))",
    "np.reshape(x, -1)",
    "np.asarray(x).reshape(())",
    "np.asarray(x).reshape(1)",
    "np.asarray(x).reshape(-1)",
    "np.asarray(x).copy()",
    "np.asarray(x).ravel()",
    "np.asarray(x).flatten()",
    "np.asarray(x).squeeze()",
    "np.asarray(x).T",
    "np.asarray(x).sum()",
    "np.asarray(x).astype(complex)",
    "np.asarray(x).astype(float)",
    "np.asarray(x) * 2",
    "-np.asarray(x)",
    "np.asarray(x)[()] * 2",
    "np.asarray(x)[...] * 2",
    "np.asarray(x)[..., None]",
    "np.asarray(x)[None, None]",
    "np.asarray(x).real",
    "np.asarray(x).conj()",
    "np.transpose(x)",
    "np.expand_dims(x, 0)",
    "np.broadcast_to(x, ())",
    "np.broadcast_to(x, (2,))",
    "np.broadcast_arrays(x, 1.0)[0]",
    "np.atleast_1d(x, 2.0)[0]",
    "np.require(x)",
    "np.asarray_chkfinite(x)",
    "np.positive(x)",
    "np.negative(x)",
    "np.add(x, 1)",
    "np.real(x)",
    "np.imag(x)",
    "np.conj(x)",
    "np.sum(x)",
    "np.mean(x)",
    "np.max(x)",
    "np.prod(x)",
    "np.cumsum(x)",
    "np.stack([x, x])",
    "np.hstack([x, x])",
    "np.vstack([x, x])",
    "np.full((), x)",
    "np.full(2, x)",
    "np.full_like(x, 3.0) * x",
    "np.zeros_like(x) + x",
    "np.ones_like(x)",
    "np.zeros_like(x)",
    "np.where(True, x, 0.0)",
    "np.dot(x, 2.0)",
    "np.multiply(x, x)",
    "np.outer(x, x)",
    "np.repeat(x, 2)",
    "np.tile(x, 2)",
    "np.diag([x, x])",
    "np.trace(np.diag([x, x]))",
    "np.einsum('->', x)",
    "np.nan_to_num(x)",
    "np.abs(x)",
    "np.sort(np.array([x, 0.1]))",
    "np.array([x, 2*x])[0]",
    "np.array([x, 2*x])[0:1]",
    "np.array([x, 2*x])[0, ...]",
    "np.array([x, 2*x])[np.array(0)]",
    "np.array([x, 2*x])[[0]]",
    "np.take(np.array([x,x]), 0)",
    "np.moveaxis(np.array([[x]]), 0, 1)",
    "np.squeeze(np.array([[x]]))",
    "np.array([[x]]).squeeze()",
    "np.array([[x]]).reshape(())",
    "np.reshape(np.array([[x]]), ())",
    "np.reshape(np.array([[x]]), ())[()]",
    "np.array([x])[0]",
    "np.atleast_1d(np.asarray(x))[0]",
    "np.float64(2.0) * np.asarray(x)",
    "np.asarray([x])[0]",
    "np.asarray([[x]])[0]",
    "np.asarray([x]).T",
    "np.array((x, 1.0))",
    "np.append(x, 1.0)",
    "np.concatenate([[x], [1.0]])",
    "np.interp(x, [0.0, 1.0], [0.0, 2.0])",
    "np.polyval([1.0, 2.0], x)",
    "np.size(x) * x",
    "np.asarray(x).ndim + x",
    "np.copy(x)[()]",
    "np.copy(x)[None]",
    "np.array(np.asarray(x))",
    "np.array(np.sum(np.array([x, x])))",
    "np.asarray(np.sum(np.array([x, x])))[()]",
    "np.asarray(np.sum(np.array([x, x])))[None]",
    "np.asarray(np.exp(x))",
    "np.asarray(np.exp(x))[()]",
    "np.array(np.exp(x), dtype=complex)",
    "np.asarray(x)[()].reshape(())",
    "np.array([x, 2 * x]).sum()",
    "np.array([x, 2 * x]).reshape(2)[0].reshape(())",
    "np.array([x, 2 * x])[0][()]",
    "np.array([x, 2 * x])[0][...]",
    "np.array([x, 2 * x])[0][None]",
    "np.array([x, 2 * x])[1:2].squeeze()",
    "np.array([x, 2 * x]).mean(axis=0)",
    "np.array([x, 2 * x]).mean(axis=0)[()]",
    "np.array([x, 2 * x])[..., 0]",
    "np.array([x, 2 * x]).take(0)",
    "np.array([x, 2 * x]).max()[None]",
    "np.sum(x)[()]",
    "np.sum(x)[...]",
    "np.sum(x)[None]",
    "np.exp(x)[()]",
    "np.exp(x)[...]",
    "np.exp(x)[None]",
    "np.exp(x).reshape(())",
    "np.exp(x).squeeze()",
    "np.exp(x).copy()",
    "np.exp(x).T",
    "np.exp(x).ravel()",
    "np.exp(x).astype(np.float64)",
    "np.exp(x).conj()",
    "np.where(x.real > 0, x, 0)[()]",
    "np.stack([x, x]).dot(np.ones(2))",
    "np.stack([x, x]) @ np.ones(2)",
    "np.linalg.norm(np.stack([x, x]))[()]",
    "np.squeeze(np.stack([x]))",
    "np.squeeze(np.stack([x]))[()]",
    "np.full((), x)[()]",
    "np.zeros(()) + x",
    "np.ones(())[()] * x",
    "np.array(2.0) * x",
    "np.array(2.0)[()] * x",
    "np.array([2.0])[0] * x",
    "np.asarray(2.0)[()] * x",
    "np.asarray(2.0) * x",
    "np.reshape(x, ())[()]",
    "np.copy(x) * 2",
    "np.squeeze(x) * 1",
    "np.atleast_1d(x)[0]",
    "np.fabs(x.real) * 1",
    "np.asarray([x, x]).flat[0]",
    "[v for v in np.array([x, 2*x])][1]",
    "sum(np.array([x, 2*x]))",
    "sum([v for v in np.array([x, 2*x])])",
    "max(np.array([x.real, 2*x.real]))",
    "np.dot(np.array([x, 2*x]), np.ones(2))",
    "np.vdot(np.array([x, 2*x]), np.ones(2))",
    "np.inner(np.array([x, 2*x]), np.ones(2))",
    "np.trapezoid(np.array([x, 2*x]))",
    "np.median(np.array([x.real, 2*x.real]))",
    "np.linalg.det(np.array([[x, 1.],[0., 1.]]))",
    "np.prod(np.array([x, 2*x]))",
    "np.einsum('i,i->', np.array([x, 2*x]), np.ones(2))",
    "np.tensordot(np.array([x, 2*x]), np.ones(2), 1)",
    "np.trace(np.array([[x, 1.],[0., x]]))",
    "np.average(np.array([x, 2*x]))",
    "np.percentile(np.array([x.real, 2*x.real]), 30)",
    "np.clip(x.real, 0.0, 1.0)",
]
OF_NUMPYS = [  # methods that a number of Python's has not
    "x.reshape(())",
    "x.reshape(1)",
    "x.reshape(-1)",
    "x.reshape((1,1))",
    "x.squeeze()",
    "x.ravel()",
    "x.flatten()",
    "x.copy()",
    "x[()]",
    "x[...]",
    "x[None]",
    "x[..., None]",
    "x[None, ...]",
    "x[()][()]",
    "x.T",
    "x.transpose()",
    "x.astype(complex)",
    "x.sum()",
    "x.mean()",
    "x.max()",
    "x.prod()",
    "x.cumsum()",
    "x.conj()",
    "x.real",
    "x.imag",
    "x.repeat(2)",
    "x.std()",
    "x.var()",
    "x.min()",
    "x.flat[0]",
]


def kind(value):
    """What a user can tell of a result without its numbers."""
    return type(value), getattr(value, "dtype", None), np.shape(value)


def outcome(call):
    try:
        return call(), None
    except (TypeError, ValueError) as error:
        return None, type(error)


def cases():
    for text in OF_ANY:
        yield from [pytest.param(text, x, id=f"{text}-{x!r}") for x in NUMBERS]
    for text in OF_NUMPYS:
        yield from [pytest.param(text, x, id=f"{text}-{x!r}") for x in NUMBERS if hasattr(x, "dtype")]


def of_type(x, value):
    """`value` as what `x` is."""
    return np.array(value, dtype=x.dtype) if isinstance(x, np.ndarray) else type(x)(value)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("text", "x"), list(cases()))
def test_what_is_made_of_a_number_is_of_numpys_type_eager_and_compiled(text, x):
    f = eval(f"lambda x: {text}", {"np": np})
    seen = []

    def total(x):
        made = f(x)
        seen.append((np.shape(made), np.result_type(made), isinstance(made, np.ndarray)))
        return np.sum(np.real(made)) * 0.7

    plain, raised = outcome(lambda: f(x))
    if raised is not None:
        with pytest.raises(raised):
            gs.grad(total)(x)
        return
    gradient = gs.grad(total)(x)
    assert seen[-1] == (np.shape(plain), np.result_type(plain), isinstance(plain, np.ndarray))
    compiled = gs.compile(f)
    for _ in range(3):
        assert kind(compiled(x)) == kind(plain)
        np.testing.assert_array_equal(compiled(x), plain)
    step = 1e-2 if np.asarray(x).dtype.itemsize < 8 else 1e-6
    measured = [np.sum(np.real(f(of_type(x, x + s)))) * 0.7 for s in (step, -step)]
    slope = (float(measured[0]) - float(measured[1])) / (2 * step)
    np.testing.assert_allclose(np.real(gradient), slope, rtol=3e-2 if step > 1e-3 else 1e-5, atol=1e-5)
    again = gs.compile(gs.grad(lambda x: np.sum(np.real(f(x))) * 0.7))
    for _ in range(3):
        assert kind(again(x)) == kind(gradient)
        np.testing.assert_array_equal(again(x), gradient)


def test_an_array_of_a_traced_number_is_written_without_the_number():
    def f(x):
        a = np.asarray(x)
        a[...] = 3.0
        return x * a

    for x in (2.0, np.float64(2.0)):
        assert gs.grad(f)(x) == 3.0
        compiled = gs.compile(gs.grad(f))
        assert [compiled(x) for _ in range(3)] == [3.0] * 3


def test_an_array_of_a_traced_array_is_that_array():
    def f(x):
        y = x * 1.0
        np.asarray(y)[0] = 0.0
        return np.sum(y * 2), np.asarray(y) is y

    gradient, same = gs.grad(f, has_aux=True)(np.array([1.0, 2.0]))
    assert same
    assert gradient.tolist() == [0.0, 2.0]


def test_lists_beside_arrays_are_joined():
    x, y = 2.0, np.array([1.0, 3.0])
    for join in (np.concatenate, np.hstack):
        f = lambda x, y, join=join: np.sum(join([[x], y, [1.0, x * x]]) * np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
        dx, dy = gs.grad(f, argnums=(0, 1))(x, y)
        assert (dx, dy.tolist()) == (1 + 5 * 2 * x, [2.0, 3.0])
        assert gs.compile(gs.grad(f))(x, y) == dx
    rows = lambda x: np.sum(np.vstack([[x, 1.0], (x, x)]) * np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert gs.grad(rows)(2.0) == 8.0


@pytest.mark.parametrize("x", [0.3, -0.7, np.float64(0.3), np.array(0.3)])
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (np.median, 1.0), (np.nanmedian, 1.0), (lambda x: np.quantile(x, 0.25), 1.0), (lambda x: np.percentile(x, 90.0), 1.0),
        (np.linalg.norm, np.sign), (lambda x: np.linalg.vector_norm(x, ord=1), np.sign),
        (lambda x: np.linalg.vector_norm(x, ord=np.inf), np.sign), (lambda x: np.vdot(0.5, x), 0.5),
        (lambda x: np.vdot(x, 0.5), 0.5),
    ],
)  # fmt: skip
def test_functions_of_arrays_take_one_number_of_pythons_too(f, slope, x):
    expected = slope(x) if callable(slope) else slope
    assert gs.grad(f)(x) == gs.compile(gs.grad(f))(x) == gs.jvp(f, (x,), (1.0,))[1] == expected
    assert gs.grad(gs.grad(f))(x) == 0.0
