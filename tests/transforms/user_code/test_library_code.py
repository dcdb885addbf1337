"""NumPy's and SciPy's Python code over traced values: polynomials, Rosenbrock's functions, iterators, reduce."""

import functools
import operator
from functools import reduce

import numpy as np
import pytest
import scipy.optimize
from numpy.polynomial import (
    Chebyshev,
    Hermite,
    HermiteE,
    Laguerre,
    Legendre,
    Polynomial,
    chebyshev,
    hermite,
    laguerre,
    legendre,
    polynomial,
)
from scipy.optimize import rosen, rosen_der, rosen_hess, rosen_hess_prod

import gradscribe as gs

W = np.array([1.0, -2.0, 0.5, 0.3])
X = np.array([0.6, 1.3, -0.4, 0.9])
P, Q, T = np.poly1d([1.0, 2.0, 3.0]), Polynomial([1.0, 2.0, 3.0]), Chebyshev([1.0, 2.0, 3.0], domain=[0, 3])


def rosenbrock(x):
    return rosen(x)


def rosen2(x):
    return scipy.optimize.rosen(np.stack([x, x * 2], 1)).sum()


def rosenbrock_gradient(x):
    return np.sum(rosen_der(x) * W)


def rosenbrock_hessian(x):
    return np.sum(rosen_hess(x) * np.arange(16.0).reshape(4, 4))


def rosenbrock_product(x):
    return np.sum(rosen_hess_prod(x, W) * W)


def rosen_hess_prod2(x):
    return np.sum(rosen_hess_prod(W, x) * W)


def poly1d_call(x):
    return np.sum(np.poly1d([1.0, 2.0, 3.0])(x))


def fit_converted(x):
    fitted = Polynomial.fit(W, x, 2).convert()
    return fitted.coef @ [1.0, 2.0, 3.0] + fitted(0.5)


def poly1d_coef(x):
    return np.poly1d(x)(2.0)


def poly1d_both(x):
    return np.sum(np.poly1d(x)(x * 2))


def poly1d_list(x):
    return np.poly1d([x[0], 2.0, x[1] * x[2]])(x[3])


def poly1d_arith(x):
    p = np.poly1d(x)
    q = np.poly1d([1.0, x[0]])
    r = p * q + p - 2 * q + 3.0 * p - 1 + p / 2.0
    return r(0.7) + (-p)(1.1) + (q**3)(0.5) + p[0] + p[2]


def poly1d_deriv(x):
    p = np.poly1d(x)
    return (
        p.deriv()(0.7)
        + p.integ()(0.7)
        + p.deriv(2)(1.3)
        + p.integ(2, k=[1.0, x[1]])(0.4)
        + np.sum(p.coeffs * W)
        + np.sum(p.c)
        + p.order
        + p.o
        + len(p)
    )


def poly1d_div(x):
    p = np.poly1d(x)
    q, r = p / np.poly1d([1.0, x[0] + 2])
    return q(0.3) + r(0.3)


def poly1d_roots(x):
    p = np.poly1d(x[:3], r=True)
    return np.sum(np.real(p.c) * W)


def poly1d_comp(x):
    p = np.poly1d(x)
    q = np.poly1d([1.0, x[0]])
    return p(q)(0.5)


def poly1d_rootsof(x):
    p = np.poly1d([1.0, x[0] - 3.6, x[1] + 0.7]) * np.poly1d([1.0, -x[2] - 4])
    return np.sum(np.sort(np.real(p.r)) * np.array([1.0, 2.0, 3.0]))


def polyval_poly1d(x):
    return np.sum(np.polyval(np.poly1d([1.0, 2.0, 3.0]), x))


def polyder(x):
    return np.sum(np.polyval(np.polyder(np.poly1d(x)), W))


def poly1d_iter(x):
    return sum([c * (k + 1) for k, c in enumerate(np.poly1d(x))])


def poly1d_fit(x):
    p = np.poly1d(np.polyfit(W, x, 2))
    return p(0.3)


def ndenumerate(x):
    s = 0.0
    for (i,), v in np.ndenumerate(x):
        s = s + v * v * (i + 1)
    return s


def ndenumerate2(x):
    s = 0.0
    for (i, j), v in np.ndenumerate(np.reshape(x, (2, 2))):
        s = s + v**2 * (i + 2 * j + 1)
    return s


def ndindex(x):
    y = np.reshape(x, (2, 2))
    s = 0.0
    for i in np.ndindex(*y.shape):
        s = s + y[i] ** 2
    return s


def ndindex2(x):
    y = np.reshape(x, (2, 2))
    s = 0.0
    for i, j in np.ndindex(y.shape):
        s = s + y[i, j] ** 2 * (i + j)
    return s


def nditer1(x):
    s = 0.0
    for v in np.nditer(x):
        s = s + v * v
    return s


def nditer2(x):
    s = 0.0
    for v, u in np.nditer([x, W]):
        s = s + v * v * u
    return s


def nditer3(x):
    it = np.nditer(np.reshape(x, (2, 2)), flags=["multi_index"])
    s = 0.0
    for v in it:
        s = s + v * v * (it.multi_index[0] + 1)
    return s


def nditer4(x):
    s = 0.0
    with np.nditer(x, flags=["f_index"]) as it:
        while not it.finished:
            s = s + it[0] ** 2 * it.index
            it.iternext()
    return s


def nditer5(x):
    s = 0.0
    for v in np.nditer(np.reshape(x, (2, 2)), order="F"):
        s = s * 1.1 + v
    return s


def reduce1(x):
    return functools.reduce(lambda a, b: a * b + 1, x)


def reduce2(x):
    return reduce(lambda a, b: a * b + 1, [x[0], x[1], 2.0], 1.0)


def reduce3(x):
    return reduce(np.hypot, x, 0.0)


def reduce4(x):
    return reduce(operator.mul, x)


def step(a, b):
    return np.sin(a) * b


def reduce5(x):
    return functools.reduce(step, x, 1.0)


def reduce6(x):
    import math

    return reduce(lambda a, b: a + math.exp(b) * 0.1, x, 0.0)


def flat(x):
    s = 0.0
    for v in np.reshape(x, (2, 2)).flat:
        s = s * 0.9 + v * v
    return s


def bcast(x):
    s = 0.0
    for a, b in np.broadcast(x, W):
        s = s + a * b * a
    return s


def const(x):
    return np.sum(P(x)) + np.sum(Q(x)) + np.sum(T(x))


def mix(x):
    return (
        (P * np.poly1d(x))(0.3) + (Q * Polynomial(x) + x[0] * Q - Q)(0.4) + (Polynomial(x) - Q)(0.2) + (P * x[1])(0.3)
    )


def attr(x):
    return np.sum(np.polynomial.Polynomial(x)(x)) + np.sum(np.polynomial.Chebyshev(x).deriv()(x))


def fun(x):
    return (
        np.sum(polynomial.polyval(x, [1.0, 2.0, 3.0]))
        + np.sum(np.polynomial.polynomial.polyval(0.3, x))
        + np.sum(chebyshev.chebval(x, x))
        + legendre.legval(0.4, x)
        + hermite.hermval(0.4, x)
        + laguerre.lagval(0.4, x)
    )


def fun2(x):
    return (
        np.sum(polynomial.polyadd(x, [1.0, 2.0]))
        + np.sum(polynomial.polymul(x, x))
        + np.sum(polynomial.polyder(x))
        + np.sum(polynomial.polyint(x))
        + np.sum(chebyshev.chebmul(x, x))
        + np.sum(polynomial.polyvander(x, 2))
        + np.sum(polynomial.polyfromroots(x))
        + np.sum(chebyshev.cheb2poly(x))
        + np.sum(chebyshev.poly2cheb(x))
    )


def fit(x):
    return np.sum(polynomial.polyfit(np.arange(4.0), x, 2) * np.array([1.0, 2.0, 3.0]))


def ms(x):
    return (
        np.sum(np.polymul(P, x).c)
        + np.polyval(P, x[0])
        + np.polyint(np.poly1d(x))(0.3)
        + np.polydiv(np.poly1d(x), np.poly1d([1.0, 2.0]))[0](0.5)
    )


def val2d(x):
    return polynomial.polyval2d(0.3, x[0], np.reshape(x, (2, 2)))


def rosen_list(x):
    return (
        scipy.optimize.rosen([x[0], x[1], 2.0])
        + np.sum(scipy.optimize.rosen_der(x) ** 2)
        + scipy.optimize.rosen(np.float64(1.5) * x)
    )


def iscls(x):
    p = Polynomial(x)
    assert isinstance(p, Polynomial)
    assert type(p).__name__ == "Polynomial"
    q = np.poly1d(x)
    assert isinstance(q, np.poly1d)
    assert isinstance(Q, Polynomial)
    return p(0.1) + q(0.1)


class Model:
    def __init__(s):
        s.p = Polynomial([1.0, 2.0, 3.0])
        s.q = np.poly1d([1.0, 2.0])

    def __call__(s, x):
        return np.sum(s.q(x) * x)


MODEL = Model()


def model(x):
    return MODEL(x)


def eq(x):
    return Polynomial(x)(0.5) * (Polynomial([1.0, 2.0]) == Polynomial([1.0, 2.0])) + (
        np.poly1d([1, 2.0]) == np.poly1d([1, 2.0])
    ) * np.sum(x)


def linspace(x):
    return (
        np.sum(Polynomial(x).linspace(5)[1])
        + np.sum(Polynomial.fromroots(x)(0.3))
        + Polynomial.basis(2)(x[0])
        + Polynomial.identity()(x[1])
        + Chebyshev.cast(Polynomial(x))(0.3)
        + Chebyshev.interpolate(lambda t: x[0] * t**2, 3)(0.3)
    )


def programs_of(C):
    def call(x):
        return np.sum(C([1.0, 2.0, 3.0])(x))

    def coef(x):
        return np.sum(C(x)(np.array([0.3, 0.7])))

    def lst(x):
        return C([x[0], 2.0, x[1] * x[2]])(x[3])

    def arith(x):
        p = C(x)
        q = C([1.0, x[0]])
        r = p * q + p - 2 * q + 3.0 * p - 1 + p / 2.0
        return r(0.7) + (-p)(1.1) + (q**3)(0.5) + np.sum(p.coef * W)

    def deriv(x):
        p = C(x)
        return (
            p.deriv()(0.7)
            + p.integ()(0.7)
            + p.deriv(2)(1.3)
            + p.integ(1, k=x[1])(0.4)
            + p.degree()
            + p.integ(2, k=[1.0, x[1]], lbnd=0.3)(0.6)
        )

    def div(x):
        p = C(x)
        q = C([x[0] + 2, 1.0])
        return (p // q)(0.3) + (p % q)(0.3) + divmod(p, q)[1](0.2)

    def dom(x):
        p = C(x, domain=[0, 2], window=[-1, 1])
        return p(0.7) + p.deriv()(0.4) + p.integ()(0.2)

    def trunc(x):
        p = C(x)
        return p.truncate(2)(0.5) + p.cutdeg(1)(0.3) + p.copy()(0.1) + len(p) + p.trim(0.001)(0.4)

    def fit(x):
        p = C.fit(W, x, 2)
        return p(0.3)

    def conv(x):
        return C(x).convert(kind=Polynomial)(0.3)

    def rts(x):
        return np.sum(
            np.sort(np.real(C(np.array([-6.0, 11.0, -6.0, 1.0]) + x * 1e-3).roots())) * np.array([1.0, 2.0, 3.0])
        )

    def comp(x):
        return C(x)(Polynomial([0.1, 1.0])(0.3))

    return {name: program for name, program in locals().items() if name != "C"}


PROGRAMS = {
    f.__name__: f
    for f in (
        rosenbrock,
        fit_converted,
        rosen2,
        rosenbrock_gradient,
        rosenbrock_hessian,
        rosenbrock_product,
        rosen_hess_prod2,
        poly1d_call,
        poly1d_coef,
        poly1d_both,
        poly1d_list,
        poly1d_arith,
        poly1d_deriv,
        poly1d_div,
        poly1d_roots,
        poly1d_comp,
        poly1d_rootsof,
        polyval_poly1d,
        polyder,
        poly1d_iter,
        poly1d_fit,
        ndenumerate,
        ndenumerate2,
        ndindex,
        ndindex2,
        nditer1,
        nditer2,
        nditer3,
        nditer4,
        nditer5,
        reduce1,
        reduce2,
        reduce3,
        reduce4,
        reduce5,
        reduce6,
        flat,
        bcast,
        const,
        mix,
        attr,
        fun,
        fun2,
        fit,
        ms,
        val2d,
        rosen_list,
        iscls,
        model,
        eq,
        linspace,
    )
}
PROGRAMS |= {
    f"{C.__name__} {name}": f
    for C in (Polynomial, Chebyshev, Legendre, Hermite, HermiteE, Laguerre)
    for name, f in programs_of(C).items()
}


def differences(f):
    return np.array([(f(X + d) - f(X - d)) / 2e-6 for d in 1e-6 * np.eye(X.size)])


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_differentiated_eager_and_compiled(name):
    f = PROGRAMS[name]
    value, gradient = gs.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f), rtol=1e-5, atol=1e-6)
    compiled = gs.compile(gs.value_and_grad(f))
    for x in (X, X, X, X * 1.1):
        for found, expected in zip(compiled(x), gs.value_and_grad(f)(x), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "name", ["rosenbrock", "poly1d_arith", "Polynomial deriv", "Chebyshev arith", "Legendre fit", "ndenumerate"]
)
def test_second_derivatives_are_right(name):
    gs.check_grads(PROGRAMS[name], (X,), order=2)


@pytest.mark.parametrize(
    "name",
    [
        "rosenbrock",
        "rosenbrock_hessian",
        "fit_converted",
        "poly1d_both",
        "poly1d_deriv",
        "Hermite call",
        "Polynomial arith",
        "Legendre fit",
        "ndenumerate",
        "nditer1",
    ],
)
def test_these_run_compiled(name):
    gs.compile(gs.grad(PROGRAMS[name])).specialisation(X)  # raises CompileError otherwise


def test_values_and_errors_of_untraced_polynomials_are_numpys():
    def f(x):
        assert Q([1.0, 2.0]).tolist() == [6.0, 17.0]
        assert np.poly1d([1.0, 2.0, 3.0]) == P
        assert Polynomial([1.0, 2.0]) == Polynomial([1.0, 2.0])
        assert type(Polynomial([1.0])).__name__ == "Polynomial"
        assert [v for _, v in np.ndenumerate(np.array([1.0, 2.0]))] == [1.0, 2.0]
        assert [float(v) for v in np.nditer(np.array([1.0, 2.0]))] == [1.0, 2.0]
        assert list(np.broadcast([1, 2], 3)) == [(1, 3), (2, 3)]
        with pytest.raises(TypeError):
            Polynomial([1.0]) + Chebyshev([1.0])
        with pytest.raises(ValueError, match="wrong number"):
            Polynomial(x, domain=[0, 1, 2])
        return np.sum(x)

    assert gs.grad(f)(X).tolist() == [1.0] * 4


def test_nditer_that_writes_is_refused():
    def f(x):
        with np.nditer(x, op_flags=["readwrite"]) as it:
            for v in it:
                v[...] = 2 * v
        return np.sum(x)

    with pytest.raises(gs.NoRuleError, match=r"np\.nditer writes"):
        gs.grad(f)(X)


def test_nditer_goes_in_numpys_order():
    y = np.asfortranarray(np.reshape(X, (2, 2)))

    def numbers(y, **words):
        return [float(gs.stop_gradient(v)) for v in np.nditer(y * 1.0, **words)]

    for words in ({}, {"order": "C"}, {"order": "F"}, {"flags": ["multi_index"]}):
        seen = []
        gs.grad(lambda y, words=words, seen=seen: (seen.append(numbers(y, **words)), np.sum(y))[1])(y)
        assert seen[0] == numbers(y, **words)


def test_a_polynomial_of_traced_coefficients_is_one_of_numpys_classes():
    def f(x):
        p, q = Polynomial(x), np.poly1d(x)
        assert isinstance(p, Polynomial)
        assert isinstance(q, np.poly1d)
        assert isinstance(p * Q, Polynomial)
        assert p.degree() == q.order == 3
        assert not isinstance(q, Polynomial)
        return p(0.5) + q(0.5)

    np.testing.assert_allclose(gs.grad(f)(X), 0.5 ** np.arange(4) + 0.5 ** np.arange(4)[::-1])


@pytest.mark.parametrize("f", [ndenumerate, ndindex, nditer1, nditer2, nditer3, nditer4, nditer5, flat, bcast])
def test_iterators_go_over_the_elements_of_each_example(f):
    xs = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(gs.vmap(gs.grad(f))(xs), [gs.grad(f)(x) for x in xs], rtol=1e-12)
