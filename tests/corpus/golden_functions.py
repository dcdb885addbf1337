"""What the golden files are the gradients of: functions as people write them, each with arguments to call it with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf

import gradscribe as gs


class Example(NamedTuple):
    """A function, arguments, and which of them to differentiate by."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    argnums: int | tuple[int, ...] = 0

    def differentiated(self) -> Any:
        """The value and the gradient."""
        return gs.value_and_grad(self.function, argnums=self.argnums)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def logistic_regression(w, X, y):
    """Labels are -1 and 1."""
    margin = y * (X @ w)
    penalty = 0.01 * np.sum(w**2)
    return np.mean(np.logaddexp(0.0, -margin)) + penalty


def softmax_regression(W, b, X, labels):
    logits = X @ W + b
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_p = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(X)), labels])


def huber(w, X, y, delta=1.35):
    r = X @ w - y
    a = np.abs(r)
    return np.mean(np.where(a <= delta, 0.5 * r**2, delta * (a - 0.5 * delta)))


def hinge(w, X, y):
    margin = y * (X @ w)
    return np.mean(np.maximum(0.0, 1.0 - margin)) + 0.5 * w @ w


def relu(z):
    return np.maximum(z, 0.0)


def mlp(params, x, y):
    """A dict of parameters, and a helper."""
    h1 = relu(x @ params["w1"] + params["b1"])
    h2 = relu(h1 @ params["w2"] + params["b2"])
    out = h2 @ params["w3"] + params["b3"]
    return np.mean((out - y) ** 2)


def layer_norm(gain, bias, x):
    mu = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    y = gain * (x - mu) / np.sqrt(var + 1e-5) + bias
    return np.sum(y * np.arange(1.0, 5.0))


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = softmax(scores)
    return np.sum((weights @ v) ** 2)


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def lstm_cell(W, U, b, x, h, c):
    z = W @ x + U @ h + b
    i, f, o, g = np.split(z, 4)
    c_next = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h_next = sigmoid(o) * np.tanh(c_next)
    return np.sum(h_next)


def kalman_step(F, H, Q, R, mean, cov, z):
    """The negative log-likelihood of one observation."""
    mean = F @ mean
    cov = F @ cov @ F.T + Q
    innovation = z - H @ mean
    S = H @ cov @ H.T + R
    gain = np.linalg.solve(S, H @ cov).T
    mean = mean + gain @ innovation
    _, logdet = np.linalg.slogdet(S)
    fit = innovation @ np.linalg.solve(S, innovation)
    return 0.5 * (fit + logdet) + 1e-3 * np.sum(mean**2)


def lotka_volterra(state, alpha, beta, delta, gamma):
    prey, predator = state
    return np.stack([alpha * prey - beta * prey * predator, delta * prey * predator - gamma * predator])


def rk4_step(state, rates, dt, target):
    """One Runge-Kutta step of the Lotka-Volterra equations, and its distance from a target."""
    k1 = lotka_volterra(state, *rates)
    k2 = lotka_volterra(state + 0.5 * dt * k1, *rates)
    k3 = lotka_volterra(state + 0.5 * dt * k2, *rates)
    k4 = lotka_volterra(state + dt * k3, *rates)
    end = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum((end - target) ** 2)


def gmm_log_likelihood(log_weights, means, log_scales, x):
    """Diagonal covariances."""
    scaled = (x[:, None, :] - means) / np.exp(log_scales)
    log_density = -0.5 * np.sum(scaled**2, axis=2) - np.sum(log_scales, axis=1)
    joint = log_density + log_weights - np.log(np.sum(np.exp(log_weights)))
    top = np.max(joint, axis=1)
    return np.sum(top + np.log(np.sum(np.exp(joint - top[:, None]), axis=1)))


def normal_cdf(x):
    return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))


def black_scholes(spot, strike, rate, vol, maturity):
    root = vol * np.sqrt(maturity)
    d1 = (np.log(spot / strike) + (rate + 0.5 * vol**2) * maturity) / root
    d2 = d1 - root
    call = spot * normal_cdf(d1) - strike * np.exp(-rate * maturity) * normal_cdf(d2)
    return call.sum()


def convolution(kernel, image, target):
    """Of two axes, by a window for each weight."""
    n, m = target.shape
    windows = np.stack([image[i : i + n, j : j + m] for i in range(2) for j in range(2)])
    response = np.einsum("k,kij->ij", kernel.ravel(), windows)
    return np.sum((response - target) ** 2)


def convolution_by_hand(kernel, signal, target):
    n = len(signal) - len(kernel) + 1
    response = np.zeros(n)
    for k in range(len(kernel)):
        response += kernel[k] * signal[k : k + n]
    return np.sum((response - target) ** 2)


def multivariate_normal(mean, cov, x):
    """The negative log-likelihood, by a Cholesky factor."""
    L = np.linalg.cholesky(cov)
    white = np.linalg.solve(L, (x - mean).T)
    return 0.5 * np.sum(white**2) + len(x) * np.sum(np.log(np.diagonal(L)))


def gaussian_process(log_params, x, y):
    """The negative log marginal likelihood under a squared-exponential kernel."""
    amplitude, length, noise = np.exp(log_params)
    d = x[:, None] - x[None, :]
    K = amplitude**2 * np.exp(-0.5 * (d / length) ** 2) + noise**2 * np.eye(len(x))
    alpha = np.linalg.solve(K, y)
    _, logdet = np.linalg.slogdet(K)
    return 0.5 * (y @ alpha + logdet + len(x) * np.log(2 * np.pi))


def pendulum_energy(theta, omega, dt, g=9.81, length=1.0):
    """Two steps of a semi-implicit Euler scheme."""
    for _ in range(2):
        omega = omega - dt * g / length * np.sin(theta)
        theta = theta + dt * omega
    kinetic = 0.5 * (length * omega) ** 2
    potential = g * length * (1.0 - np.cos(theta))
    return np.mean(kinetic + potential)


def quadratic_program(q, P, A, b):
    """The minimum of x @ P @ x / 2 + q @ x under A @ x = b, by a Schur complement."""
    free = -np.linalg.solve(P, q)
    PA = np.linalg.solve(P, A.T)
    multiplier = np.linalg.solve(A @ PA, A @ free - b)
    x = free - PA @ multiplier
    return 0.5 * x @ P @ x + q @ x


def cosine_similarity(u, v):
    return u @ v / (np.linalg.norm(u) * np.linalg.norm(v))


def pairwise_energy(points):
    """Of charges that repel each other."""
    offset = points[:, None, :] - points[None, :, :]
    squared = np.sum(offset**2, axis=-1) + 1e-6
    return 0.5 * np.sum(1.0 / np.sqrt(squared))


def gaussian_kl(mu, log_var):
    """From a normal with diagonal covariance to the standard one."""
    return -0.5 * np.sum(1 + log_var - mu**2 - np.exp(log_var))


def elbo(params, x, noise):
    """Of a variational autoencoder with one linear layer on each side."""
    mu, log_var = x @ params["to_mu"], x @ params["to_log_var"]
    z = mu + np.exp(0.5 * log_var) * noise
    rebuilt = z @ params["decoder"]
    return np.sum((x - rebuilt) ** 2) + gaussian_kl(mu, log_var)


def matrix_factorisation(U, V, ratings, seen):
    error = np.where(seen, U @ V.T - ratings, 0.0)
    return np.sum(error**2) + 0.1 * (np.sum(U**2) + np.sum(V**2))


def autoregressive(phi, sigma, series):
    """The negative log-likelihood of an AR(2) model."""
    predicted = phi[0] * series[1:-1] + phi[1] * series[:-2]
    residual = series[2:] - predicted
    return np.sum(residual**2) / (2 * sigma**2) + len(residual) * np.log(sigma)


def heat_equation(u, kappa, target):
    """Three explicit steps, written into a buffer of the function's own."""
    u = u.copy()
    for _ in range(3):
        u[1:-1] += kappa * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum((u - target) ** 2)


def batch_of_images(weights, images, labels):
    """Float32 throughout."""
    pixels = images.reshape(len(images), -1) / 255.0
    p = sigmoid(pixels @ weights)
    return -np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p))


def doubled(a):
    """A loop whose trips depend on the data, and a branch."""
    b = a * 2
    while np.linalg.norm(b) < 1000:
        b = b * 2
    c = b if b.sum() > 0 else 100 * b
    return np.sum(c)


def recurrent(params, inputs):
    h = np.zeros(3)
    for t in range(len(inputs)):
        h = np.tanh(inputs[t] @ params["W"] + h @ params["U"] + params["b"])
    return np.sum(h**2)


def newton(a):
    """The square root."""
    x = a
    while np.abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def halved(x):
    """A loop in a loop."""
    total = 0.0
    for i in range(len(x)):
        y = x[i]
        while y > 1.0:
            y = y / 2.0
        total = total + y**2
    return total


def squares_until(x, limit):
    """It returns from within the loop."""
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] ** 2
        if s > limit:
            return 2.0 * s
    return s


def wide_softplus(w, x, y):
    """Arrays that are large enough to be written over, and freed."""
    z = x * w[0] + w[1]
    loss = np.logaddexp(0.0, z) - y * z
    return np.mean(loss)


def wide_waves(w, x):
    """Arrays that are large enough for tiles."""
    h = np.tanh(w[0] * x) + np.exp(-(x**2)) * w[1]
    return np.sum(h * np.sin(h))


def signed(x):
    """A decision: both arms stand in the text."""
    if np.sum(x) > 0.0:
        return np.sum(np.sqrt(np.abs(x)))
    return np.sum(x**2)


def reported(w, X, y):
    r = X @ w - y
    loss = np.mean(r**2)
    print("loss", loss)
    return loss


def normalised(x, out):
    """A write into an argument."""
    out[...] = x / np.sqrt(np.sum(x**2))
    return np.sum(out * x)


def switched(x, steps):
    """Arms that remember different things for their reverse."""
    h = x
    for _ in range(steps):
        if np.sum(h) > 0.0:
            a = np.sin(h)
            h = a * np.cos(h) - 0.3
        else:
            h = h * np.exp(-(h**2)) + 0.2
    return np.sum(h**2)


def relaxed(u, b):
    """A test that is too wide for the head of its loop."""
    r = b - u * u
    while np.sqrt(np.sum(r**2)) > 1e-6 * (1.0 + np.sqrt(np.sum(u**2)) + np.max(np.abs(u)) + np.max(np.abs(b))):
        u = u + r / (2.0 * u)
        r = b - u * u
    return np.sum(u)


def decided(x):
    """A truth of Python's: a guard."""
    if bool(np.sum(x) > 0.0):
        return np.sum(np.sqrt(np.abs(x)))
    return np.sum(x**2)


def penalised(w, x, y):
    """Decisions in sequence, some of which leave an argument out."""
    r = x @ w - y
    loss = np.mean(r**2)
    size = np.sqrt(np.sum(w**2))
    if loss > 1.0:
        loss = 1.0 + np.log(loss)
    if size > 1.0:
        loss = loss + 0.1 * size
    if w[0] < 0.0 and np.max(r) > 0.0:
        loss = loss + w[0] ** 2
    elif w[1] < 0.0:
        loss = loss * 2.0
    return loss


def examples() -> list[Example]:
    """Every golden file's function; the same numbers in each process."""
    rng = np.random.default_rng(0)
    n = rng.normal
    features, targets, signs = n(size=(6, 3)), n(size=6), np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    positive = np.eye(3) + 0.1 * np.ones((3, 3))
    sizes = {"w1": (3, 5), "b1": 5, "w2": (5, 4), "b2": 4, "w3": (4, 2), "b3": 2}
    layers = {name: n(size=size) for name, size in sizes.items()}
    coder = {"to_mu": n(size=(3, 2)), "to_log_var": 0.1 * n(size=(3, 2)), "decoder": n(size=(2, 3))}
    kalman = (
        np.array([[1.0, 0.1], [0.0, 1.0]]),
        np.array([[1.0, 0.0]]),
        0.1 * np.eye(2),
        np.eye(1),
        n(size=2),
        np.eye(2),
    )
    market = (np.array([90.0, 100.0, 110.0]), 100.0, 0.02, np.array([0.2, 0.25, 0.3]), 1.5)
    images = np.float32(rng.integers(0, 256, size=(4, 2, 3)))
    return [
        Example(rosenbrock, (n(size=5),)),
        Example(logistic_regression, (n(size=3), features, signs)),
        Example(softmax_regression, (n(size=(3, 4)), n(size=4), features, np.array([0, 1, 2, 3, 1, 2])), (0, 1)),
        Example(huber, (n(size=3), features, targets)),
        Example(hinge, (n(size=3), features, signs)),
        Example(mlp, (layers, features, n(size=(6, 2)))),
        Example(layer_norm, (n(size=4), n(size=4), n(size=(6, 4))), (0, 1, 2)),
        Example(attention, (n(size=(4, 3)), n(size=(5, 3)), n(size=(5, 2))), (0, 1, 2)),
        Example(lstm_cell, (n(size=(8, 3)), n(size=(8, 2)), n(size=8), n(size=3), n(size=2), n(size=2)), (0, 1, 2)),
        Example(kalman_step, (*kalman, n(size=1)), (2, 3)),
        Example(rk4_step, (np.array([1.0, 0.5]), (1.1, 0.4, 0.1, 0.4), 0.1, n(size=2)), (0, 1)),
        Example(gmm_log_likelihood, (n(size=4), n(size=(4, 3)), 0.1 * n(size=(4, 3)), features), (0, 1, 2)),
        Example(black_scholes, market, (0, 2, 3)),
        Example(convolution, (n(size=(2, 2)), n(size=(5, 5)), n(size=(4, 4)))),
        Example(convolution_by_hand, (n(size=3), n(size=8), n(size=6))),
        Example(multivariate_normal, (n(size=3), positive, features), (0, 1)),
        Example(gaussian_process, (np.array([0.1, -0.2, -1.0]), n(size=6), targets)),
        Example(pendulum_energy, (n(size=4), n(size=4), 0.01), (0, 1)),
        Example(quadratic_program, (n(size=3), positive, n(size=(2, 3)), n(size=2)), (0, 3)),
        Example(cosine_similarity, (n(size=3), n(size=3)), (0, 1)),
        Example(pairwise_energy, (n(size=(5, 2)),)),
        Example(elbo, (coder, features, n(size=(6, 2)))),
        Example(matrix_factorisation, (n(size=(4, 2)), n(size=(3, 2)), n(size=(4, 3)), n(size=(4, 3)) > 0), (0, 1)),
        Example(autoregressive, (n(size=2), 1.3, n(size=9)), (0, 1)),
        Example(heat_equation, (n(size=7), 0.1, n(size=7)), (0, 1)),
        Example(batch_of_images, (np.float32(n(size=6)), images, np.float32([0, 1, 1, 0]))),
        Example(doubled, (n(size=3),)),
        Example(recurrent, ({"W": n(size=(2, 3)), "U": n(size=(3, 3)), "b": n(size=3)}, n(size=(6, 2)))),
        Example(newton, (np.float64(2.0),)),
        Example(halved, (4.0 * n(size=6),)),
        Example(squares_until, (n(size=8), 5.0)),
        Example(wide_softplus, (n(size=2), n(size=100_000), np.float64(n(size=100_000) > 0))),
        Example(wide_waves, (n(size=2), n(size=100_000))),
        Example(signed, (np.abs(n(size=4)),)),
        Example(reported, (n(size=3), features, targets)),
        Example(normalised, (n(size=4), np.zeros(4))),
        Example(switched, (n(size=4), 12)),
        Example(relaxed, (np.ones(3), np.array([2.0, 3.0, 4.0])), 1),
        Example(decided, (np.abs(n(size=4)),)),
        Example(penalised, (n(size=3), features, targets)),
    ]  # fmt: skip
