"""Programs as autograd's users write them, each a function of the library: `lib.np`, `lib.scipy`, `lib.grad` and the like.

Each gives a tree of numbers. test_compat_autograd.py runs them on gradscribe, and on autograd where that is installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy

Program = Callable[[Any], Any]


def library(name: str) -> Any:
    """autograd, or what stands for it: under `gradscribe.compat.autograd` NumPy is `gradscribe.numpy`."""
    root = importlib.import_module(name)
    part = lambda path: importlib.import_module(f"{name}.{path}")
    names = [
        "grad", "value_and_grad", "elementwise_grad", "deriv", "jacobian", "hessian", "hessian_vector_product", "make_hvp",
        "make_vjp", "make_jvp", "make_ggnvp", "holomorphic_grad", "tensor_jacobian_product", "grad_and_aux",
        "checkpoint", "tuple",
    ]  # fmt: skip
    return SimpleNamespace(
        np=part("numpy"), npr=part("numpy.random"), special=part("scipy.special"), norm=part("scipy.stats.norm"),
        mvn=part("scipy.stats.multivariate_normal"), t=part("scipy.stats.t"), gamma=part("scipy.stats.gamma"),
        poisson=part("scipy.stats.poisson"), dirichlet=part("scipy.stats.dirichlet"), beta=part("scipy.stats.beta"),
        chi2=part("scipy.stats.chi2"), linalg=part("scipy.linalg"), signal=part("scipy.signal"),
        odeint=part("scipy.integrate").odeint, flatten=part("misc.flatten").flatten, optimizers=part("misc.optimizers"),
        extend=part("extend"), fixed_point=part("misc.fixed_points").fixed_point, getval=part("tracer").getval,
        check_grads=part("test_util").check_grads, **{n: getattr(root, n) for n in names},
    )  # fmt: skip


def logistic_regression(lib: Any) -> Any:
    np = lib.np
    inputs = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
    targets = np.array([True, True, False, True])

    def predict(weights: Any) -> Any:
        return 0.5 * (np.tanh(np.dot(inputs, weights) / 2.0) + 1)

    def loss(weights: Any) -> Any:
        chances = predict(weights)
        return -np.sum(np.log(chances * targets + (1 - chances) * (1 - targets)))

    gradient = lib.grad(loss)
    weights = np.array([0.0, 0.0, 0.0])
    before = loss(weights)
    for _ in range(50):
        weights = weights - gradient(weights) * 0.1
    return before, loss(weights), weights, lib.hessian(loss)(weights)


def neural_net(lib: Any) -> Any:
    np, rs = lib.np, lib.npr.RandomState(0)
    params = [(0.3 * rs.randn(m, n), 0.3 * rs.randn(n)) for m, n in ((3, 5), (5, 4), (4, 2))]
    inputs, targets = rs.randn(8, 3), np.eye(2)[rs.randint(0, 2, 8)]

    def log_chances(params: Any, inputs: Any) -> Any:
        for w, b in params:
            outputs = np.dot(inputs, w) + b
            inputs = np.tanh(outputs)
        return outputs - lib.special.logsumexp(outputs, axis=1, keepdims=True)

    def objective(params: Any, _: Any) -> Any:
        flat, _ = lib.flatten(params)
        return -np.sum(log_chances(params, inputs) * targets) + 0.1 * np.dot(flat, flat)

    seen = []
    found = lib.optimizers.adam(
        lib.grad(objective), params, step_size=0.05, num_iters=20, callback=lambda p, i, g: seen.append(objective(p, i))
    )
    return found, seen[0], seen[-1]


def flattened_parameters(lib: Any) -> Any:
    np = lib.np
    flat, unflatten = lib.flatten({"scale": 2.0, "layers": [np.ones((2, 2)), (np.zeros(2), 3.0)]})

    def energy(flat: Any) -> Any:
        p = unflatten(flat)
        return np.sum(np.sin(p["layers"][0] * p["scale"])) + np.sum((p["layers"][1][0] - p["layers"][1][1]) ** 3)

    return lib.value_and_grad(energy)(flat), lib.hessian(energy)(flat)


def mixture_of_gaussians(lib: Any) -> Any:
    np, rs = lib.np, lib.npr.RandomState(1)
    data = np.concatenate([rs.randn(10, 2) + 2, rs.randn(10, 2) * 0.5])
    params = {
        "log_proportions": rs.randn(3) * 0.1, "means": rs.randn(3, 2), "lower_triangles": np.eye(2) + 0.1 * rs.randn(3, 2, 2)
    }  # fmt: skip

    def log_likelihood(params: Any) -> Any:
        normalised = params["log_proportions"] - lib.special.logsumexp(params["log_proportions"])
        clusters = [
            p + lib.mvn.logpdf(data, mean, np.dot(np.tril(low), np.tril(low).T) + 0.1 * np.eye(2))
            for p, mean, low in zip(normalised, params["means"], params["lower_triangles"], strict=True)
        ]
        return np.sum(lib.special.logsumexp(np.vstack(clusters), axis=0))

    flat, unflatten = lib.flatten(params)
    objective = lambda flat: -log_likelihood(unflatten(flat))
    direction = rs.randn(len(flat))
    return objective(flat), lib.grad(objective)(flat), lib.hessian_vector_product(objective)(flat, direction)


def ode_net(lib: Any) -> Any:
    np = lib.np
    times = np.linspace(0.0, 2.0, 5)
    start = np.array([1.0, 0.5])
    truth = np.array([[0.9, 0.6], [0.6, 0.5], [0.4, 0.3], [0.3, 0.2], [0.2, 0.1]])

    def field(y: Any, t: Any, params: Any) -> Any:
        (w, b), (v, c) = params
        return np.dot(np.tanh(np.dot(y**3, w) + b), v) + c

    rs = lib.npr.RandomState(2)
    params = [(0.5 * rs.randn(2, 4), 0.1 * rs.randn(4)), (0.5 * rs.randn(4, 2), 0.1 * rs.randn(2))]

    def loss(params: Any, start: Any) -> Any:
        flat, unflatten = lib.flatten(params)
        field_of = lambda y, t, flat: field(y, t, unflatten(flat))
        found = lib.odeint(field_of, start, times, lib.tuple((flat,)), rtol=1e-9, atol=1e-9)
        return np.mean(np.abs(found - truth) ** 2)

    return loss(params, start), lib.grad(loss)(params, start), lib.grad(loss, 1)(params, start)


def black_box_svi(lib: Any) -> Any:
    np, rs = lib.np, lib.npr.RandomState(3)

    def log_density(x: Any, t: Any) -> Any:
        mu, log_sigma = x[:, 0], x[:, 1]
        return lib.norm.logpdf(log_sigma, 0, 1.35) + lib.norm.logpdf(mu, 0, np.exp(log_sigma))

    def gaussian_entropy(log_std: Any) -> Any:
        return 0.5 * 2 * (1.0 + np.log(2 * np.pi)) + np.sum(log_std)

    noise = rs.randn(50, 2)

    def objective(params: Any, t: Any) -> Any:
        mean, log_std = params[:2], params[2:]
        samples = noise * np.exp(log_std) + mean
        return -(gaussian_entropy(log_std) + np.mean(log_density(samples, t)))

    start = np.concatenate([-1 * np.ones(2), -5 * np.ones(2)])
    return lib.optimizers.adam(lib.grad(objective), start, step_size=0.1, num_iters=20), lib.grad(objective)(start, 0)


def bayesian_linear_regression(lib: Any) -> Any:
    np, rs = lib.np, lib.npr.RandomState(4)
    x = rs.randn(12, 3)
    y = np.dot(x, np.array([1.0, -2.0, 0.5])) + 0.1 * rs.randn(12)

    def log_posterior(params: Any) -> Any:
        w, log_noise = params[:3], params[3]
        prior = np.sum(lib.norm.logpdf(w, 0.0, 2.0)) + lib.gamma.logpdf(np.exp(log_noise), 2.0)
        return prior + np.sum(lib.t.logpdf(y - np.dot(x, w), 5.0, 0.0, np.exp(log_noise)))

    def log_evidence(w: Any) -> Any:
        cov = np.exp(w[0]) * np.dot(x, x.T) + np.exp(w[1]) * np.eye(12)
        return lib.mvn.logpdf(y, np.zeros(12), cov)

    at = np.array([0.9, -1.5, 0.3, -0.5])
    return log_posterior(at), lib.grad(log_posterior)(at), lib.grad(log_evidence)(np.array([0.1, -1.0]))


def distributions(lib: Any) -> Any:
    np = lib.np
    x = np.array([0.2, 0.5, 0.7])
    counts = np.array([0, 1, 4])
    each = [
        (lib.norm, ["pdf", "cdf", "sf", "logpdf", "logcdf", "logsf"], (0.1, 1.5)), (lib.t, ["pdf", "cdf", "logpdf"], (3.0,)),
        (lib.beta, ["pdf", "cdf", "logpdf"], (2.0, 3.0)), (lib.gamma, ["pdf", "cdf", "logpdf"], (2.5,)),
        (lib.chi2, ["pdf", "cdf", "logpdf"], (3.0,)),
    ]  # fmt: skip
    found = [lib.elementwise_grad(getattr(d, name))(x, *shapes) for d, names, shapes in each for name in names]
    of_mu = [lib.grad(lambda mu, f=f: np.sum(f(counts, mu)))(1.3) for f in (lib.poisson.logpmf, lib.poisson.pmf)]
    of_alpha = lib.grad(lambda a: lib.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), a))(np.array([1.0, 2.0, 3.0]))
    return found, of_mu, of_alpha


def define_gradient(lib: Any) -> Any:
    np = lib.np

    def logsumexp(x: Any) -> Any:
        top = numpy.max(x)
        return top + numpy.log(numpy.sum(numpy.exp(x - top)))

    logsumexp = lib.extend.primitive(logsumexp)

    def back(ans: Any, x: Any) -> Any:
        shape = x.shape
        return lambda g: np.full(shape, g) * np.exp(x - np.full(shape, ans))

    lib.extend.defvjp(logsumexp, back)

    def example(y: Any) -> Any:
        return logsumexp(y**2)

    y = np.array([1.5, 6.7, 1e-10])
    lib.check_grads(example, modes=["rev"])(y)
    return lib.grad(example)(y), lib.hessian(example)(y / 10)


def fluid_like_loops(lib: Any) -> Any:
    np = lib.np

    def project(vx: Any, vy: Any) -> Any:
        p = np.zeros(vx.shape)
        h = 1.0 / vx.shape[0]
        div = -0.5 * h * (np.roll(vx, -1, 0) - np.roll(vx, 1, 0) + np.roll(vy, -1, 1) - np.roll(vy, 1, 1))
        for _ in range(6):
            p = (div + np.roll(p, 1, 0) + np.roll(p, -1, 0) + np.roll(p, 1, 1) + np.roll(p, -1, 1)) / 4.0
        vx = vx - 0.5 * (np.roll(p, -1, 0) - np.roll(p, 1, 0)) / h
        return vx, vy - 0.5 * (np.roll(p, -1, 1) - np.roll(p, 1, 1)) / h

    def advect(f: Any, vx: Any, vy: Any) -> Any:
        rows, cols = f.shape
        ys, xs = np.meshgrid(np.arange(rows), np.arange(cols))
        cx, cy = (xs - vx).ravel(), (ys - vy).ravel()
        left, top = np.floor(cx).astype(int), np.floor(cy).astype(int)
        rw, bw = cx - left, cy - top
        left, right = np.mod(left, rows), np.mod(left + 1, rows)
        top, bottom = np.mod(top, cols), np.mod(top + 1, cols)
        before, behind = [(1 - bw) * f[k, top] + bw * f[k, bottom] for k in (left, right)]
        flat = (1 - rw) * before + rw * behind
        return np.reshape(flat, (rows, cols))

    rs = lib.npr.RandomState(5)
    smoke, target = np.abs(rs.randn(5, 5)), np.eye(5)

    def distance(velocities: Any) -> Any:
        vx, vy = np.reshape(velocities, (2, 5, 5))
        now = smoke
        for _ in range(3):
            vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
            now = advect(now, vx, vy)
        return np.mean((now - target) ** 2)

    return lib.value_and_grad(distance)(0.3 * rs.randn(50))


def rosenbrock(lib: Any) -> Any:
    from scipy.optimize import minimize

    np = lib.np

    def valley(x: Any) -> Any:
        return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

    found = minimize(lib.value_and_grad(valley), np.array([0.0, 0.0]), jac=True, method="CG")
    newton = minimize(valley, np.array([0.5, 0.0]), jac=lib.grad(valley), hess=lib.hessian(valley), method="Newton-CG")
    return np.round(found.x, 3), np.round(newton.x, 4)


def sinusoid_and_tanh(lib: Any) -> Any:
    np = lib.np

    def taylor_sine(x: Any) -> Any:
        ans = term = x
        i = 0
        while np.abs(term) > 0.001:
            term = -term * x * x / ((2 * i + 3) * (2 * i + 2))
            ans = ans + term
            i += 1
        return ans

    tanh = lambda x: (1.0 - np.exp(-x)) / (1.0 + np.exp(-x))
    x = np.linspace(-3, 3, 7)
    second = lib.elementwise_grad(lib.elementwise_grad(tanh))
    return lib.grad(taylor_sine)(np.pi), second(x), lib.elementwise_grad(second)(x), lib.deriv(tanh)(0.5)


def gaussian_process(lib: Any) -> Any:
    np, rs = lib.np, lib.npr.RandomState(6)
    x, y = rs.randn(10, 2), rs.randn(10)

    def kernel(params: Any, a: Any, b: Any) -> Any:
        diffs = np.expand_dims(a / np.exp(params[1:]), 1) - np.expand_dims(b / np.exp(params[1:]), 0)
        return np.exp(params[0]) * np.exp(-0.5 * np.sum(diffs**2, axis=2))

    def evidence(params: Any) -> Any:
        cov = kernel(params, x, x) + 0.1 * np.eye(10)
        white = lib.linalg.solve_triangular(np.linalg.cholesky(cov), y, lower=True)
        return -0.5 * np.sum(white**2) - 0.5 * np.linalg.slogdet(cov)[1]

    at = np.array([0.1, 0.2, -0.1])
    return evidence(at), lib.grad(evidence)(at), lib.hessian(evidence)(at)


def convolutional_layer(lib: Any) -> Any:
    np, rs = lib.np, lib.npr.RandomState(7)
    images, filters = rs.randn(2, 3, 6, 6), rs.randn(3, 4, 3, 3)

    def layer(filters: Any, images: Any) -> Any:
        out = lib.signal.convolve(images, filters, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
        out = np.maximum(out, 0.0)
        pooled = out.reshape(out.shape[:2] + (2, 2, 2, 2))
        return np.sum(np.max(np.max(pooled, axis=3), axis=4) ** 2)

    return layer(filters, images), lib.grad(layer)(filters, images), lib.grad(layer, 1)(filters, images)


def products(lib: Any) -> Any:
    np = lib.np
    x, v = np.array([0.3, -1.2, 2.0]), np.array([1.0, 2.0, -1.0])
    f = lambda x: np.array([x[0] * x[1], np.sin(x[2]), x[0] ** 3])
    loss = lambda x: np.sum(f(x) ** 2)
    back, value = lib.make_vjp(f)(x)
    return (
        value, back(v), lib.make_jvp(f)(x)(v), lib.jacobian(f)(x), lib.tensor_jacobian_product(f)(x, v),
        lib.make_hvp(loss)(x)[0](v), lib.make_ggnvp(f)(x)(v), lib.grad_and_aux(lambda x: (loss(x), x * 2))(x),
        lib.grad(lambda x: np.sum(lib.checkpoint(np.sin)(x)))(x), lib.grad(lambda x: loss(x) * np.sum(lib.getval(x)))(x),
    )  # fmt: skip


def complex_numbers(lib: Any) -> Any:
    np = lib.np
    z = np.array([1.0 + 2.0j, -0.5 + 0.3j])
    square = lambda z: z * z * (1 + 1j)
    back, _ = lib.make_vjp(square)(z)
    return (
        lib.grad(lambda z: np.sum(np.abs(np.exp(z))))(z), lib.holomorphic_grad(lambda z: np.sum(np.sin(z)))(z),
        back(np.array([1.0 + 0.5j, 1j])), lib.grad(lambda x: np.sum(np.real(np.fft.fft(x) * z)))(np.array([1.0, 2.0])),
    )  # fmt: skip


def fixed_points(lib: Any) -> Any:
    np = lib.np
    newton = lambda a: lambda x: 0.5 * (x + a / x)
    root = lambda a: lib.fixed_point(newton, a, 1.0, lambda x, y: np.abs(x - y), 1e-10)
    return root(2.0), lib.grad(root)(2.0)


PROGRAMS: dict[str, Program] = {
    f.__name__: f
    for f in (
        logistic_regression, neural_net, flattened_parameters, mixture_of_gaussians, ode_net, black_box_svi,
        bayesian_linear_regression, distributions, define_gradient, fluid_like_loops, rosenbrock, sinusoid_and_tanh,
        gaussian_process, convolutional_layer, products, complex_numbers, fixed_points,
    )
}  # fmt: skip
