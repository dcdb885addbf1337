"""Realistic workloads, each written once for NumPy, JAX and PyTorch, and by hand where an expert would: the rows of all.py.

`python workloads.py NAME` times one of them: gradscribe eager, compiled and as C, its NumPy calls replayed without a tracer, the
gradient by hand, and the peers that are installed. Loops are `lax.scan` in JAX, as its users write them.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

# the last is XLA's, whose flags leave two threads
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
for variable in THREADS:  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(variable, "1")
sys.path.append(str(Path(__file__).parent))

import numpy  # noqa: E402
from timing import close, interleaved, is_tiny, per_call  # noqa: E402

import gradscribe as gs  # noqa: E402

__all__ = ["THREADS", "WORKLOADS", "Workload", "measure"]

Array = Any
Make = Callable[[Any, Any], Callable[..., Any]]  # of a namespace, and of a loop over steps


class Workload(NamedTuple):
    """A loss, its arguments by size, which of them are differentiated, and its value and gradient by hand."""

    make: Make
    arguments: Callable[[Any, bool], tuple[Any, ...]]  # of a random generator, and of whether they are tiny
    argnums: tuple[int, ...]
    by_hand: Callable[..., Any] | None = None
    is_fused: bool = False  # so that torch.compile, which takes a minute, has what it is for


# --- small models ----------------------------------------------------------------------------------------------------


def linear_and_bce(np: Any, loop: Any) -> Any:
    """One layer and the binary cross-entropy of its logits: the first page of a tutorial."""

    def loss(w: Array, b: Array, x: Array, y: Array) -> Array:
        z = x @ w + b
        return np.mean(np.logaddexp(0.0 * z, z) - y * z)

    return loss


def linear_and_bce_by_hand(w: Array, b: Array, x: Array, y: Array) -> Any:
    """With one exponential, which value and gradient share."""
    z = x @ w + b
    e = numpy.exp(-numpy.abs(z))
    value = numpy.mean(numpy.maximum(z, 0.0) + numpy.log1p(e) - y * z)
    d_z = (numpy.where(z >= 0, 1.0, e) / (1.0 + e) - y) / z.size
    return value, (numpy.outer(x, d_z), d_z)


def rosenbrock(np: Any, loop: Any) -> Any:
    """The banana valley in many dimensions."""

    def loss(x: Array) -> Array:
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return loss


def rosenbrock_by_hand(x: Array) -> Any:
    """The two slices of the gradient, added where they overlap."""
    left = x[:-1]
    t = x[1:] - left * left
    r = 1.0 - left
    value = 100.0 * numpy.dot(t, t) + numpy.dot(r, r)
    d_x = numpy.zeros_like(x)
    t *= 200.0
    d_x[1:] = t
    d_x[:-1] -= 2.0 * (t * left + r)
    return value, (d_x,)


def logistic_regression(np: Any, loop: Any) -> Any:
    """The log loss of labels of 0 and 1, with a penalty."""

    def loss(w: Array, x: Array, y: Array) -> Array:
        z = x @ w
        return np.mean(np.log(1.0 + np.exp(-z)) + (1.0 - y) * z) + 0.001 * np.sum(w**2)

    return loss


def logistic_regression_by_hand(w: Array, x: Array, y: Array) -> Any:
    """One exponential for the value and for the gradient."""
    z = x @ w
    e = numpy.exp(-z)
    s = 1.0 + e
    value = (numpy.sum(numpy.log(s)) + numpy.dot(1.0 - y, z)) / len(y) + 0.001 * numpy.dot(w, w)
    e /= s
    d_z = ((1.0 - y) - e) / len(y)
    return value, (d_z @ x + 0.002 * w,)


def network(np: Any, loop: Any) -> Any:
    """Three layers and a softmax, on images of 784 points in single precision."""

    def loss(w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array, x: Array, y: Array) -> Array:
        h = np.tanh(x @ w1 + b1)
        h = np.tanh(h @ w2 + b2)
        z = h @ w3 + b3
        z = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        return -np.mean(np.sum(y * z, axis=1))

    return loss


def network_by_hand(
    w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array, x: Array, y: Array
) -> Any:  # fmt: skip
    """Backpropagation as in a textbook; the exponentials of the softmax serve both ways."""
    h1 = numpy.tanh(x @ w1 + b1)
    h2 = numpy.tanh(h1 @ w2 + b2)
    z = h2 @ w3 + b3
    e = numpy.exp(z)
    s = e.sum(axis=1, keepdims=True)
    value = -numpy.mean(numpy.sum(y * (z - numpy.log(s)), axis=1))
    d3 = (e / s * y.sum(axis=1, keepdims=True) - y) / numpy.float32(len(x))
    d2 = d3 @ w3.T * (1 - h2 * h2)
    d1 = d2 @ w2.T * (1 - h1 * h1)
    return value, (x.T @ d1, d1.sum(axis=0), h1.T @ d2, d2.sum(axis=0), h2.T @ d3, d3.sum(axis=0))


def deep_network(np: Any, loop: Any) -> Any:
    """Fifty layers, one after the other."""

    def loss(ws: Array, x: Array) -> Array:
        def step(h: Array, w: Array) -> Array:
            return np.tanh(h @ w)

        return np.sum(loop(step, x, ws) ** 2)

    return loss


def matrix_factorisation(np: Any, loop: Any) -> Any:
    """Two factors of a matrix of which some entries are known."""

    def loss(u: Array, v: Array, known: Array, mask: Array) -> Array:
        r = mask * (u @ v.T - known)
        return np.sum(r**2) + 0.1 * (np.sum(u**2) + np.sum(v**2))

    return loss


def matrix_factorisation_by_hand(u: Array, v: Array, known: Array, mask: Array) -> Any:
    """Two products with the residual."""
    r = u @ v.T
    r -= known
    r *= mask
    value = numpy.vdot(r, r) + 0.1 * (numpy.vdot(u, u) + numpy.vdot(v, v))
    r *= 2.0 * mask
    return value, (r @ v + 0.2 * u, r.T @ u + 0.2 * v)


def attention(np: Any, loop: Any) -> Any:
    """One head of attention over a sequence."""

    def loss(q: Array, k: Array, v: Array) -> Array:
        scores = q @ k.T / 8.0
        e = np.exp(scores - np.amax(scores, axis=1, keepdims=True))
        return np.sum((e / np.sum(e, axis=1, keepdims=True) @ v) ** 2)

    return loss


def gaussian_process(np: Any, loop: Any) -> Any:
    """The marginal likelihood of a Gaussian process, in its length, height and noise."""

    def loss(theta: Array, distances: Array, y: Array, eye: Array) -> Array:
        length, height, noise = np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2])
        factor = np.linalg.cholesky(height * np.exp(-0.5 * distances / length**2) + noise * eye)
        alpha = np.linalg.solve(factor, y)
        return 0.5 * np.sum(alpha**2) + np.sum(np.log(np.diagonal(factor)))

    return loss


def gaussian_process_by_hand(theta: Array, distances: Array, y: Array, eye: Array) -> Any:
    """By the derivative of the log determinant: half the trace of `K^-1 dK` minus `a' dK a`."""
    length, height, noise = numpy.exp(theta)
    e = height * numpy.exp(-0.5 * distances / length**2)
    covariance = e + noise * eye
    factor = numpy.linalg.cholesky(covariance)
    inverse = numpy.linalg.inv(covariance)
    a = inverse @ y
    value = 0.5 * y @ a + numpy.sum(numpy.log(numpy.diagonal(factor)))
    d = 0.5 * (inverse - numpy.outer(a, a))
    de = d * e
    return value, (numpy.array([numpy.vdot(de, distances) / length**2, numpy.sum(de), noise * numpy.trace(d)]),)


# --- steps in time ---------------------------------------------------------------------------------------------------


def scalar_chain(np: Any, loop: Any) -> Any:
    """Three hundred operations on one number."""

    def loss(x: Array) -> Array:
        for _ in range(100):
            x = np.sin(x) * 1.01 + 0.1
        return x

    return loss


def runge_kutta(np: Any, loop: Any) -> Any:
    """A pendulum by RK4: how far it is from a point after so many steps."""

    def loss(state: Array, rates: Array, steps: Array) -> Array:
        def slope(s: Array) -> Array:
            return np.stack([s[1], -rates[0] * np.sin(s[0]) - rates[1] * s[1]])

        def step(s: Array, h: Array) -> Array:
            k1 = slope(s)
            k2 = slope(s + 0.5 * h * k1)
            k3 = slope(s + 0.5 * h * k2)
            k4 = slope(s + h * k3)
            return s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)

        return np.sum(loop(step, state, steps) ** 2)

    return loss


def kalman_filter(np: Any, loop: Any) -> Any:
    """The likelihood of observations under a linear model with noise."""

    def loss(a: Array, q: Array, r: Array, mean: Array, covariance: Array, observed: Array) -> Array:
        def step(carry: Any, y: Array) -> Any:
            m, p, total = carry
            m = a @ m
            p = a @ p @ a.T + q
            s = p + r
            gain = p @ np.linalg.inv(s)
            e = y - m
            total = total + e @ np.linalg.solve(s, e) + np.linalg.slogdet(s)[1]
            return m + gain @ e, p - gain @ p, total

        return loop(step, (mean, covariance, 0.0 * np.sum(mean)), observed)[2]

    return loss


def hidden_markov_model(np: Any, loop: Any) -> Any:
    """The forward algorithm in logarithms."""

    def loss(transition: Array, emission: Array) -> Array:
        def step(alpha: Array, e: Array) -> Array:
            t = alpha[:, None] + transition
            top = np.amax(t, axis=0)
            return top + np.log(np.sum(np.exp(t - top), axis=0)) + e

        alpha = loop(step, emission[0], emission[1:])
        top = np.amax(alpha, axis=0)
        return top + np.log(np.sum(np.exp(alpha - top)))

    return loss


def bodies(np: Any, loop: Any) -> Any:
    """Bodies that attract each other, by leapfrog: their energy of motion in the end."""

    def loss(x: Array, v: Array, masses: Array, steps: Array) -> Array:
        def pull(x: Array) -> Array:
            d = x[None, :, :] - x[:, None, :]
            r2 = np.sum(d**2, axis=2) + 0.01
            return np.sum(d * (masses / r2**1.5)[:, :, None], axis=1)

        def step(carry: Any, h: Array) -> Any:
            x, v = carry
            v = v + 0.5 * h * pull(x)
            x = x + h * v
            return x, v + 0.5 * h * pull(x)

        v = loop(step, (x, v), steps)[1]
        return np.sum(masses[:, None] * v**2)

    return loss


def heat_equation(np: Any, loop: Any) -> Any:
    """Heat along a rod whose conductivity is to be found."""

    def loss(u: Array, conductivity: Array, steps: Array, measured: Array) -> Array:
        def step(u: Array, h: Array) -> Array:
            flow = conductivity * (u[1:] - u[:-1])
            inner = u[1:-1] + h * (flow[1:] - flow[:-1])
            return np.concatenate([u[:1], inner, u[-1:]])

        return np.sum((loop(step, u, steps) - measured) ** 2)

    return loss


def heat_equation_by_hand(u: Array, conductivity: Array, steps: Array, measured: Array) -> Any:
    """The rods of all steps kept, and the transposed step backward."""
    rods = numpy.empty((len(steps) + 1, len(u)))
    rods[0] = u
    for k, h in enumerate(steps):
        flow = conductivity * numpy.diff(rods[k])
        rods[k + 1] = rods[k]
        rods[k + 1, 1:-1] += h * numpy.diff(flow)
    r = rods[-1] - measured
    d_u, d_conductivity = 2.0 * r, numpy.zeros_like(conductivity)
    for k in range(len(steps) - 1, -1, -1):
        d_flow = numpy.zeros_like(conductivity)
        inner = steps[k] * d_u[1:-1]
        d_flow[1:] = inner
        d_flow[:-1] -= inner
        d_conductivity += d_flow * numpy.diff(rods[k])
        d_flow *= conductivity
        d_u[1:] += d_flow
        d_u[:-1] -= d_flow
    return r @ r, (d_u, d_conductivity)


def monte_carlo(np: Any, loop: Any) -> Any:
    """The price of an option by drawn paths, in its start, its volatility and the interest."""

    def loss(p: Array, normals: Array) -> Array:
        start, volatility, interest = p[0], p[1], p[2]
        end = start * np.exp(interest - 0.5 * volatility**2 + volatility * normals)
        return np.exp(-interest) * np.mean(np.maximum(end - 100.0, 0.0))

    return loss


def monte_carlo_by_hand(p: Array, normals: Array) -> Any:
    """Path by path: only those that pay have a slope."""
    start, volatility, interest = p
    end = volatility * normals
    end += interest - 0.5 * volatility**2
    numpy.exp(end, out=end)
    end *= start
    pays = end > 100.0
    discount = numpy.exp(-interest) / len(normals)
    end *= pays
    total = end.sum()
    value = discount * (total - 100.0 * numpy.count_nonzero(pays))
    moved = end @ normals - volatility * total
    return value, (numpy.array([discount * total / start, discount * moved, discount * total - value]),)


def convolution(np: Any, loop: Any) -> Any:
    """A filter of three by three over images, and a rectifier."""

    def loss(w: Array, images: Array) -> Array:
        rows, columns = images.shape[1] - 2, images.shape[2] - 2
        total = 0.0
        for i in range(3):
            for j in range(3):
                total = total + w[i, j] * images[:, i : i + rows, j : j + columns]
        return np.sum(np.maximum(total, 0.0) ** 2)

    return loss


def mixture(np: Any, loop: Any) -> Any:
    """The log-likelihood of a Gaussian mixture with spheres for clusters."""

    def loss(log_weights: Array, means: Array, x: Array) -> Array:
        scores = log_weights - 0.5 * np.sum((x[:, None, :] - means) ** 2, axis=2)
        top = np.amax(scores, axis=1, keepdims=True)
        return np.sum(top[:, 0] + np.log(np.sum(np.exp(scores - top), axis=1)))

    return loss


def mixture_by_hand(log_weights: Array, means: Array, x: Array) -> Any:
    """The shares of the clusters in each point, which are the slopes, by one exponential."""
    d = x[:, None, :] - means
    scores = numpy.einsum("nkd,nkd->nk", d, d)
    scores *= -0.5
    scores += log_weights
    top = scores.max(axis=1)
    scores -= top[:, None]
    numpy.exp(scores, out=scores)
    total = scores.sum(axis=1)
    value = top.sum() + numpy.log(total).sum()
    scores /= total[:, None]
    return value, (scores.sum(axis=0), numpy.einsum("nk,nkd->kd", scores, d))


def recurrent_network(np: Any, loop: Any) -> Any:
    """A recurrent network over 100 steps, and how far it ends from what was asked for."""

    def loss(w: Array, u: Array, b: Array, xs: Array, target: Array) -> Array:
        def step(h: Array, x: Array) -> Array:
            return np.tanh(x @ w + h @ u + b)

        return np.mean((loop(step, 0.0 * target, xs) - target) ** 2)

    return loss


def recurrent_network_by_hand(w: Array, u: Array, b: Array, xs: Array, target: Array) -> Any:
    """All products with the inputs at once, and so with the gradients that do not wait for one another."""
    steps, batch, width = len(xs), len(target), len(u)
    hs = numpy.zeros((steps + 1, batch, width))
    before = (xs.reshape(steps * batch, -1) @ w + b).reshape(steps, batch, width)
    for k in range(steps):
        numpy.tanh(before[k] + hs[k] @ u, out=hs[k + 1])
    r = hs[-1] - target
    slopes, d_h = numpy.empty_like(before), 2.0 / r.size * r
    for k in range(steps - 1, -1, -1):
        h = hs[k + 1]
        numpy.multiply(d_h, 1.0 - h * h, out=slopes[k])
        d_h = slopes[k] @ u.T
    flat = slopes.reshape(steps * batch, width)
    d_w = xs.reshape(steps * batch, -1).T @ flat
    return numpy.mean(r * r), (d_w, hs[:-1].reshape(steps * batch, width).T @ flat, flat.sum(axis=0))


def waves(np: Any, loop: Any) -> Any:
    """A chain of functions of many numbers, which a compiler makes one loop of."""

    def loss(x: Array) -> Array:
        return np.sum(np.sin(x) * np.exp(-0.5 * x * x) + np.tanh(x))

    return loss


def waves_by_hand(x: Array) -> Any:
    """Each function once, and arrays that are written over."""
    s, c, e, t = numpy.sin(x), numpy.cos(x), x * x, numpy.tanh(x)
    e *= -0.5
    numpy.exp(e, out=e)
    value = numpy.dot(s, e) + numpy.sum(t)
    s *= x
    c -= s
    c *= e
    t *= t
    c -= t
    c += 1.0
    return value, (c,)


def branches(np: Any, loop: Any) -> Any:
    """Python's own `if` and `while`, decided by the numbers: no trace can follow them."""

    def loss(x: Array) -> Array:
        y, k = x, 0
        while y < 100.0:
            if y > 10.0:
                y = y * 1.5
            else:
                y = y * y + 1.0
            k = k + 1
        return y * y

    return loss


def branches_by_hand(x: Array) -> Any:
    """The ways taken kept in a list, and undone from its end."""
    y, kept = float(x), []
    while y < 100.0:
        kept.append(y)
        y = y * 1.5 if y > 10.0 else y * y + 1.0
    value, d_y = y * y, 2.0 * y
    for y in reversed(kept):
        d_y *= 1.5 if y > 10.0 else 2.0 * y
    return numpy.float64(value), (numpy.float64(d_y),)


# --- sizes -----------------------------------------------------------------------------------------------------------


def _of(tiny: bool, small: int, usual: int) -> int:
    return small if tiny else usual


def _distances(rng: Any, n: int) -> Any:
    x = rng.uniform(size=n) * 5.0
    return (x[:, None] - x) ** 2


def _network(rng: Any, tiny: bool) -> tuple[Any, ...]:
    sizes = (7, 5, 4, 3) if tiny else (784, 256, 128, 10)
    layers: list[Any] = []
    for n, m in itertools.pairwise(sizes):
        layers += [rng.normal(size=(n, m)) / numpy.sqrt(n), rng.normal(size=m) / 10.0]
    y = numpy.eye(sizes[-1])[rng.integers(sizes[-1], size=128)]
    return tuple(a.astype(numpy.float32) for a in (*layers, rng.normal(size=(128, sizes[0])), y))


def _kalman(rng: Any, tiny: bool) -> tuple[Any, ...]:
    eye = numpy.eye(4)
    return 0.9 * eye, 0.1 * eye, 0.5 * eye, numpy.zeros(4), eye, rng.normal(size=(_of(tiny, 3, 100), 4))


WORKLOADS: dict[str, Workload] = {
    "linear and BCE": Workload(
        linear_and_bce, lambda rng, _: (rng.normal(size=(5, 3)), rng.normal(size=3), numpy.ones(5), numpy.zeros(3)),
        (0, 1), linear_and_bce_by_hand,
    ),
    "Rosenbrock, 1,000": Workload(
        rosenbrock, lambda rng, tiny: (rng.normal(size=_of(tiny, 10, 1000)),), (0,), rosenbrock_by_hand
    ),
    "logistic regression": Workload(
        logistic_regression,
        lambda rng, tiny: (
            rng.normal(size=20), rng.normal(size=(n := _of(tiny, 10, 10_000), 20)), (rng.uniform(size=n) < 0.5) * 1.0
        ),
        (0,), logistic_regression_by_hand,
    ),
    "network, float32": Workload(network, _network, (0, 1, 2, 3, 4, 5), network_by_hand),
    "fifty layers": Workload(
        deep_network,
        lambda rng, tiny: (rng.normal(size=(50, 64, 64)) / 8.0, rng.normal(size=(_of(tiny, 2, 32), 64))), (0,),
    ),
    "matrix factorisation": Workload(
        matrix_factorisation,
        lambda rng, tiny: (
            rng.normal(size=(n := _of(tiny, 5, 300), 10)), rng.normal(size=(200, 10)), rng.normal(size=(n, 200)),
            (rng.uniform(size=(n, 200)) < 0.3) * 1.0,
        ),
        (0, 1), matrix_factorisation_by_hand,
    ),
    "attention": Workload(
        attention, lambda rng, tiny: tuple(rng.normal(size=(3, _of(tiny, 4, 128), 64))), (0, 1, 2)
    ),
    "Gaussian process": Workload(
        gaussian_process,
        lambda rng, tiny: (
            numpy.array([0.1, 0.2, -2.0]), _distances(rng, n := _of(tiny, 5, 200)), rng.normal(size=n), numpy.eye(n)
        ),
        (0,), gaussian_process_by_hand,
    ),
    "scalar chain": Workload(scalar_chain, lambda rng, _: (0.5,), (0,)),
    "Runge-Kutta": Workload(
        runge_kutta,
        lambda rng, tiny: (numpy.array([1.0, 0.0]), numpy.array([9.8, 0.1]), numpy.full(_of(tiny, 3, 100), 0.01)),
        (0, 1),
    ),
    "Kalman filter": Workload(kalman_filter, _kalman, (0, 1, 2)),
    "hidden Markov model": Workload(
        hidden_markov_model,
        lambda rng, tiny: (numpy.log(rng.dirichlet(numpy.ones(16), 16)), rng.normal(size=(_of(tiny, 3, 200), 16))),
        (0, 1),
    ),
    "bodies": Workload(
        bodies,
        lambda rng, tiny: (
            rng.normal(size=(n := _of(tiny, 3, 30), 3)), rng.normal(size=(n, 3)), rng.uniform(size=n),
            numpy.full(_of(tiny, 2, 20), 0.01),
        ),
        (0, 1),
    ),
    "heat equation": Workload(
        heat_equation,
        lambda rng, tiny: (
            rng.uniform(size=200), rng.uniform(size=199), numpy.full(_of(tiny, 3, 200), 0.4), rng.uniform(size=200)
        ),
        (0, 1), heat_equation_by_hand,
    ),
    "Monte Carlo": Workload(
        monte_carlo,
        lambda rng, tiny: (numpy.array([100.0, 0.2, 0.05]), rng.normal(size=_of(tiny, 10, 100_000))), (0,),
        monte_carlo_by_hand,
    ),
    "convolution": Workload(
        convolution, lambda rng, tiny: (rng.normal(size=(3, 3)), rng.normal(size=(_of(tiny, 2, 32), 28, 28))), (0,)
    ),
    "mixture": Workload(
        mixture,
        lambda rng, tiny: (numpy.zeros(5), rng.normal(size=(5, 3)), rng.normal(size=(_of(tiny, 10, 500), 3))), (0, 1),
        mixture_by_hand,
    ),
    "recurrent network": Workload(
        recurrent_network,
        lambda rng, tiny: (
            rng.normal(size=(32, 32)) / 6.0, rng.normal(size=(32, 32)) / 6.0, rng.normal(size=32) / 10.0,
            rng.normal(size=(_of(tiny, 3, 100), 16, 32)), rng.normal(size=(16, 32)),
        ),
        (0, 1, 2), recurrent_network_by_hand,
    ),
    "elementwise": Workload(waves, lambda rng, tiny: (rng.normal(size=_of(tiny, 10, 10**6)),), (0,), waves_by_hand, True),
    "elementwise, float32": Workload(
        waves, lambda rng, tiny: (rng.normal(size=_of(tiny, 10, 10**6)).astype(numpy.float32),), (0,), waves_by_hand, True
    ),
    "control flow": Workload(branches, lambda rng, _: (numpy.float64(0.5),), (0,), branches_by_hand),
}  # fmt: skip


# --- who runs them ---------------------------------------------------------------------------------------------------


def plain_loop(step: Any, carry: Any, xs: Any) -> Any:
    """A `for` over the first axis."""
    for x in xs:
        carry = step(carry, x)
    return carry


def of_gradscribe(work: Workload, args: tuple[Any, ...], how: str) -> Callable[[], Any]:
    """Return gradscribe's gradient: eager, compiled, as C, or without an optimisation, which replays eager's NumPy calls."""
    found = gs.value_and_grad(work.make(numpy, plain_loop), argnums=work.argnums)
    if how == "compiled":
        found = gs.compile(found, target="numpy")
    elif how == "native":
        found = gs.compile(found, target="native")
    elif how == "replayed":
        found = gs.compile(found, passes=())
    return lambda: found(*args)


def of_jax(work: Workload, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Return JAX's, compiled by XLA on its own arrays, with `lax.scan` for loops."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)

    def loop(step: Any, carry: Any, xs: Any) -> Any:
        return jax.lax.scan(lambda c, x: (step(c, x), None), carry, xs)[0]

    compiled = jax.jit(jax.value_and_grad(work.make(importlib.import_module("jax.numpy"), loop), argnums=work.argnums))
    arrays = tuple(map(jax.numpy.asarray, args))
    return lambda: jax.block_until_ready(compiled(*arrays))


def of_torch(work: Workload, args: tuple[Any, ...], compiled: bool = False) -> Callable[[], Any]:
    """Return PyTorch's, eager or by TorchInductor, on its own tensors."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    names = (
        "sin",
        "exp",
        "log",
        "sum",
        "mean",
        "amax",
        "tanh",
        "stack",
        "concatenate",
        "logaddexp",
        "diagonal",
        "linalg",
    )
    like_numpy = SimpleNamespace(**{name: getattr(torch, name) for name in names})
    like_numpy.maximum = lambda a, b: torch.clamp(a, min=b)
    loss = work.make(like_numpy, plain_loop)
    loss = torch.compile(loss, fullgraph=True) if compiled else loss
    tensors = [torch.tensor(numpy.asarray(a)) for a in args]
    wanted = [tensors[k].requires_grad_() for k in work.argnums]

    def gradient() -> Any:
        value = loss(*tensors)
        return value.detach(), torch.autograd.grad(value, wanted)

    return gradient


def of_autograd(work: Workload, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Return HIPS autograd's, eager."""
    found = importlib.import_module("autograd").value_and_grad(
        work.make(importlib.import_module("autograd.numpy"), plain_loop), argnum=work.argnums
    )
    return lambda: found(*args)


def of_inductor(work: Workload, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Return PyTorch's, compiled."""
    return of_torch(work, args, compiled=True)


PEERS: dict[str, Callable[[Workload, tuple[Any, ...]], Callable[[], Any]]] = {
    "jax.jit": of_jax, "PyTorch": of_torch, "torch.compile": of_inductor, "autograd": of_autograd,
}  # fmt: skip


def measure(name: str) -> dict[str, Any]:
    """Time a workload in turns: seconds of a call, the fastest and the middle round, by who ran it."""
    work = WORKLOADS[name]
    args = work.arguments(numpy.random.default_rng(0), is_tiny())
    calls: dict[str, Callable[[], Any]] = {
        how: of_gradscribe(work, args, how) for how in ("eager", "compiled", "native", "replayed")
    }
    by_hand = work.by_hand
    if by_hand is not None:
        calls["by hand"] = lambda: by_hand(*args)
    expected, missing = calls["eager"](), {}
    for peer, make in PEERS.items():
        if make is of_inductor and not work.is_fused:
            continue
        try:
            call = make(work, args)
            call()
        except Exception as error:
            missing[peer] = f"{type(error).__name__}: {error}".partition("\n")[0][:100]
        else:
            calls[peer] = call
    for who, call in calls.items():
        value, gradients = call()
        found = tuple(map(numpy.asarray, (value, *gradients)))
        assert close(found, (expected[0], *expected[1])), f"{who} gives another gradient of {name}"
        call()
    once = [per_call(call, 1)() for call in calls.values()]
    # rounds of alike lengths, so that who is quick finds its caches warm, too
    repeats = [1 if is_tiny() else max(1, min(1000, int(0.01 / s))) for s in once]
    whole = sum(s * n for s, n in zip(once, repeats, strict=True))
    rounds = 2 if is_tiny() else max(7, min(40, int(4.0 / whole)))
    times = interleaved(rounds, *[per_call(call, n) for call, n in zip(calls.values(), repeats, strict=True)])
    return {
        "workload": name,
        "seconds": {
            who: {"min": t.least, "median": t.median} for who, t in zip(calls, times, strict=True)
        },
        "missing": missing,
    }  # fmt: skip


if __name__ == "__main__":
    asked = [name for name in sys.argv[1:] if name in WORKLOADS]
    for name in asked or WORKLOADS:
        print(json.dumps(measure(name)))
