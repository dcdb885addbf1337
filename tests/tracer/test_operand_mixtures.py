"""Operators of every mixture of Python's and NumPy's real, complex and negative numbers: values, gradients, errors."""

import operator
import warnings

import numpy as np
import pytest

import gradscribe as gs

CONSTANTS = [
    2, -2, 0, True, False, 1.5, -1.5, -2.0, 0.0, -0.0, 1 + 2j, -2 + 0j, 0j, np.int64(-2), np.float64(1.5),
    np.float64(-2.0), np.complex128(-2 + 0j), np.bool_(True), np.array(2), np.array(-2.0), np.array(-2 + 1j),
    np.array([1.5, -2.0]), np.array([2, -3]), np.array([1 + 2j, -2 + 0j]), np.array([True, False]),
]  # fmt: skip
DIFFERENTIATED = [
    0.7, -0.7, -2.5, 0.3 + 0.2j, -0.3 + 0.1j, np.float64(0.7), np.float64(-0.7), np.complex128(0.3 + 0.2j),
    np.array(0.7), np.array(-0.7), np.array(0.3 + 0.2j), np.array([0.7, -0.6]), np.array([0.3 + 0.2j, -0.5 - 0.4j]),
]  # fmt: skip
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.matmul, divmod,
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def number(value):
    """One real number of any result of an operator."""
    parts = value if isinstance(value, tuple) else (value,)
    return sum([np.sum(np.real(p)) * (0.7 + k) + np.sum(np.imag(p)) * 0.4 for k, p in enumerate(parts)])


def differences(function, x, h=1e-6):
    """The gradient of a function of one argument by central differences, d/dx + i d/dy of a complex one."""
    array = np.array(x)
    gradient = np.zeros(array.shape, array.dtype)

    def at(index, step):
        moved = array.copy()
        moved[index] += step
        return float(function(moved if isinstance(x, np.ndarray) else type(x)(moved[()])))

    for index in np.ndindex(array.shape):
        along = [(at(index, s) - at(index, -s)) / (2 * h) for s in ((h, 1j * h) if array.dtype.kind == "c" else (h,))]
        gradient[index] = along[0] if len(along) == 1 else along[0] + 1j * along[1]
    return gradient


def outcome(call):
    try:
        return call(), None
    except Exception as error:
        return None, type(error)


def smooth(symbol, x, constant, reflected):
    """Whether an operator has a derivative there: real powers of negative numbers have none, and steps jump."""
    base = constant if reflected else x
    if symbol is operator.pow:
        return not (np.isrealobj(x) and np.isrealobj(constant) and reflected and np.any(np.real(base) <= 0)) and not (
            reflected and np.any(np.asarray(base) == 0)
        )
    return True


@pytest.mark.parametrize("reflected", [False, True], ids=["left", "right"])
@pytest.mark.parametrize("symbol", OPERATORS, ids=lambda s: s.__name__)
def test_every_mixture_gives_what_numpy_gives_and_the_gradient_of_finite_differences(symbol, reflected):
    checked = 0
    for constant in CONSTANTS:
        for x in DIFFERENTIATED:
            f = (
                (lambda x, c=constant: number(symbol(c, x)))
                if reflected
                else (lambda x, c=constant: number(symbol(x, c)))
            )
            what = (symbol.__name__, x, constant)
            (plain, raised), (found, ours) = (
                outcome(lambda f=f, x=x: f(x)),
                outcome(lambda f=f, x=x: gs.value_and_grad(f)(x)),
            )
            assert raised is ours, what
            if raised is not None:
                continue
            value, gradient = found
            np.testing.assert_array_equal(value, plain, str(what))
            measured = differences(f, x)
            if np.isfinite(measured).all() and np.abs(measured).max() < 1e4 and smooth(symbol, x, constant, reflected):
                np.testing.assert_allclose(
                    gradient, measured, rtol=1e-5, atol=1e-6 * (1 + abs(plain)), err_msg=str(what)
                )
                checked += 1
    assert checked > (
        5 if symbol is operator.matmul else 60 if symbol in (operator.floordiv, operator.mod, divmod) else 100
    )


@pytest.mark.parametrize("symbol", OPERATORS, ids=lambda s: s.__name__)
@pytest.mark.parametrize("constant", [-2, -2.0, -2 + 0j, np.float64(-2.0), np.array([1.5, -2.0])], ids=repr)
def test_a_mixture_compiles_to_the_same_bits_and_types(constant, symbol):
    for x in (0.7, -0.7, 0.3 + 0.2j, np.complex128(0.3 + 0.2j), np.array(0.7), np.array([0.3 + 0.2j, -0.5 - 0.4j])):
        for f in (lambda x: number(symbol(x, constant)), lambda x: number(symbol(constant, x))):
            eager, raised = outcome(lambda f=f, x=x: gs.value_and_grad(f)(x))
            if raised is not None:
                continue
            compiled = gs.compile(gs.value_and_grad(f))
            for _ in range(3):
                for a, b in zip(eager, compiled(x), strict=True):
                    assert type(a) is type(b), (symbol, x, constant)
                    np.testing.assert_array_equal(a, b, f"{symbol} {x!r} {constant!r}")


SELF = {
    "z**z": lambda z: z**z, "abs(z)**z": lambda z: abs(z) ** z, "(-z)**z": lambda z: (-z) ** z,
    "z**z.real": lambda z: z**z.real, "z.real**z": lambda z: z.real**z, "(-abs(z))**z": lambda z: (-abs(z)) ** z,
    "z/abs(z)": lambda z: z / abs(z), "z*conj": lambda z: z * z.conjugate(), "+z - -z": lambda z: +z - -z,
}  # fmt: skip


@pytest.mark.parametrize("name", SELF)
@pytest.mark.parametrize(
    "x", [0.7, 0.3 + 0.2j, -0.3 - 0.2j, np.complex128(0.3 + 0.2j), np.array([0.3 + 0.2j, -0.4 - 0.5j])]
)
def test_a_number_with_itself_has_first_and_second_derivatives(name, x):
    f = lambda z: number(SELF[name](z))
    np.testing.assert_allclose(gs.grad(f)(x), differences(f, x), rtol=1e-5, atol=1e-6)
    slope = lambda z: number(gs.grad(f)(z))
    np.testing.assert_allclose(gs.grad(slope)(x), differences(slope, x), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(gs.compile(gs.grad(f))(x), gs.grad(f)(x))
    assert gs.check_grads(f, (x,), order=1) is None


def test_a_power_of_a_negative_python_number_is_that_of_numpys_number():
    z = np.array(0.3 + 0.2j)
    expected = gs.grad(lambda z: np.real(np.complex128(-2.0) ** z))(z)
    for base in (-2, -2.0, -2 + 0j, np.float64(-2.0), np.array(-2.0), np.int64(-2)):
        np.testing.assert_allclose(gs.grad(lambda z, b=base: np.real(b**z))(z), expected)
    single = gs.grad(lambda z: np.real((-2.0) ** z))(np.complex64(z))
    assert single.dtype == np.complex64
    assert np.isclose(single, expected, rtol=1e-6)


@pytest.mark.parametrize("symbol", OPERATORS, ids=lambda s: s.__name__)
def test_a_python_number_beside_a_list_raises_as_in_python(symbol):
    for x in (0.7, 0.3 + 0.2j):
        with pytest.raises(TypeError):
            gs.grad(lambda x: number(symbol(x, [1.5, -2.0])))(x)
        with pytest.raises(TypeError):
            gs.grad(lambda x: number(symbol([1.5, -2.0], x)))(x)
