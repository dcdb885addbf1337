"""Signals, images, transport and geometry."""

from __future__ import annotations

import numpy as np

from .case import Case


def autoregression(phi, theta, series):
    """The squared innovations of a series that depends on its past and on the last innovation."""
    shock = 0.0
    total = 0.0
    for t in range(2, len(series)):
        shock = series[t] - phi[0] * series[t - 1] - phi[1] * series[t - 2] - theta * shock
        total = total + shock**2
    return total


def autoregression_grad(phi, theta, series):
    shock = 0.0
    total = 0.0
    shocks = [shock]
    for t in range(2, len(series)):
        shock = series[t] - phi[0] * series[t - 1] - phi[1] * series[t - 2] - theta * shock
        total += shock**2
        shocks.append(shock)
    d_phi = np.zeros(2)
    d_theta = d_shock = 0.0
    for t in reversed(range(2, len(series))):
        d_shock = d_shock + 2.0 * shocks[t - 1]
        d_phi -= d_shock * np.array([series[t - 1], series[t - 2]])
        d_theta -= d_shock * shocks[t - 2]
        d_shock = -theta * d_shock
    return total, (d_phi, d_theta)


def biquad(b, a, signal, wanted):
    """A recursive filter with two delays."""
    first = second = 0.0
    loss = 0.0
    for x, y in zip(signal, wanted):
        out = b[0] * x + first
        first = b[1] * x - a[0] * out + second
        second = b[2] * x - a[1] * out
        loss = loss + (out - y) ** 2
    return loss


def biquad_grad(b, a, signal, wanted):
    first = second = 0.0
    loss = 0.0
    outs = []
    for x, y in zip(signal, wanted):
        out = b[0] * x + first
        first = b[1] * x - a[0] * out + second
        second = b[2] * x - a[1] * out
        loss += (out - y) ** 2
        outs.append(out)
    d_b, d_a = np.zeros(3), np.zeros(2)
    d_first = d_second = 0.0
    for x, y, out in zip(signal[::-1], wanted[::-1], reversed(outs)):
        d_out = 2.0 * (out - y) - a[0] * d_first - a[1] * d_second
        d_b += x * np.array([d_out, d_first, d_second])
        d_a -= out * np.array([d_first, d_second])
        d_first, d_second = d_out, d_first
    return loss, (d_b, d_a)


def deblur(image, log_width, blurred, weight):
    """An image that is blurred along both axes, and a smooth penalty of its total variation."""
    offsets = np.arange(-2, 3)
    kernel = np.exp(-0.5 * (offsets / np.exp(log_width)) ** 2)
    kernel = kernel / np.sum(kernel)
    n, m = blurred.shape
    rows = np.zeros((n, m + 4))
    for k in range(5):
        rows = rows + kernel[k] * image[k : k + n]
    both = np.zeros((n, m))
    for k in range(5):
        both = both + kernel[k] * rows[:, k : k + m]
    down, right = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
    variation = np.sum(np.sqrt(down**2 + right**2 + 1e-3))
    return np.sum((both - blurred) ** 2) + weight * variation


def deblur_grad(image, log_width, blurred, weight):
    offsets = np.arange(-2, 3)
    width = np.exp(log_width)
    bell = np.exp(-0.5 * (offsets / width) ** 2)
    total = np.sum(bell)
    kernel = bell / total
    n, m = blurred.shape
    rows = sum(kernel[k] * image[k : k + n] for k in range(5))
    both = sum(kernel[k] * rows[:, k : k + m] for k in range(5))
    error = both - blurred
    down, right = image[1:, :-1] - image[:-1, :-1], image[:-1, 1:] - image[:-1, :-1]
    slope = np.sqrt(down**2 + right**2 + 1e-3)
    loss = np.sum(error**2) + weight * np.sum(slope)
    d_both = 2.0 * error
    d_kernel, d_rows, d_image = np.zeros(5), np.zeros_like(rows), np.zeros_like(image)
    for k in range(5):
        d_kernel[k] += np.sum(d_both * rows[:, k : k + m])
        d_rows[:, k : k + m] += kernel[k] * d_both
    for k in range(5):
        d_kernel[k] += np.sum(d_rows * image[k : k + n])
        d_image[k : k + n] += kernel[k] * d_rows
    d_down, d_right = weight * down / slope, weight * right / slope
    d_image[1:, :-1] += d_down
    d_image[:-1, 1:] += d_right
    d_image[:-1, :-1] -= d_down + d_right
    d_bell = (d_kernel - np.sum(d_kernel * kernel)) / total
    return loss, (d_image, np.sum(d_bell * bell * (offsets / width) ** 2))


def spline(values, knots, x, y):
    """The squared distance of points from the natural cubic spline through values at knots."""
    h = np.diff(knots)
    A = np.diag(2.0 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
    slopes = np.diff(values) / h
    bends = np.concatenate([[0.0], np.linalg.solve(A, 6.0 * np.diff(slopes)), [0.0]])
    j = np.searchsorted(knots, x) - 1
    t = (x - knots[j]) / h[j]
    cubic = ((1.0 - t) ** 3 - (1.0 - t)) * bends[j] + (t**3 - t) * bends[j + 1]
    curve = (1.0 - t) * values[j] + t * values[j + 1] + h[j] ** 2 / 6.0 * cubic
    return np.sum((curve - y) ** 2)


def spline_grad(values, knots, x, y):
    h = np.diff(knots)
    A = np.diag(2.0 * (h[:-1] + h[1:])) + np.diag(h[1:-1], 1) + np.diag(h[1:-1], -1)
    slopes = np.diff(values) / h
    bends = np.concatenate([[0.0], np.linalg.solve(A, 6.0 * np.diff(slopes)), [0.0]])
    j = np.searchsorted(knots, x) - 1
    t = (x - knots[j]) / h[j]
    left, right = (1.0 - t) ** 3 - (1.0 - t), t**3 - t
    scale = h[j] ** 2 / 6.0
    curve = (1.0 - t) * values[j] + t * values[j + 1] + scale * (left * bends[j] + right * bends[j + 1])
    error = curve - y
    loss = np.sum(error**2)
    d_curve = 2.0 * error
    d_values, d_bends = np.zeros_like(values), np.zeros_like(bends)
    np.add.at(d_values, j, d_curve * (1.0 - t))
    np.add.at(d_values, j + 1, d_curve * t)
    np.add.at(d_bends, j, d_curve * scale * left)
    np.add.at(d_bends, j + 1, d_curve * scale * right)
    d_jumps = 6.0 * np.linalg.solve(A.T, d_bends[1:-1])
    d_slopes = np.zeros_like(slopes)
    d_slopes[1:] += d_jumps
    d_slopes[:-1] -= d_jumps
    d_values[1:] += d_slopes / h
    d_values[:-1] -= d_slopes / h
    return loss, d_values


def soft_dtw(x, y, gamma):
    """How far two series are apart, however they are stretched: a soft minimum over all ways to align them."""
    before = np.concatenate([[0.0], np.full(len(y), 1e10)])
    for i in range(len(x)):
        row = [1e10]
        for j in range(len(y)):
            arrive = np.stack([before[j], before[j + 1], row[j]])
            least = np.min(arrive)
            soft = least - gamma * np.log(np.sum(np.exp((least - arrive) / gamma)))
            row.append((x[i] - y[j]) ** 2 + soft)
        before = np.stack(row)
    return before[-1]


def soft_dtw_grad(x, y, gamma):
    n, m = len(x), len(y)
    table = np.full((n + 1, m + 1), 1e10)
    table[0, 0] = 0.0
    weights = np.zeros((n, m, 3))
    for i in range(n):
        for j in range(m):
            arrive = np.array([table[i, j], table[i, j + 1], table[i + 1, j]])
            least = np.min(arrive)
            e = np.exp((least - arrive) / gamma)
            total = np.sum(e)
            weights[i, j] = e / total
            table[i + 1, j + 1] = (x[i] - y[j]) ** 2 + least - gamma * np.log(total)
    d_table = np.zeros_like(table)
    d_table[n, m] = 1.0
    d_x = np.zeros_like(x)
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            d_cell = d_table[i + 1, j + 1]
            d_x[i] += d_cell * 2.0 * (x[i] - y[j])
            d_table[i, j] += d_cell * weights[i, j, 0]
            d_table[i, j + 1] += d_cell * weights[i, j, 1]
            d_table[i + 1, j] += d_cell * weights[i, j, 2]
    return table[n, m], d_x


def sinkhorn(x, y, a, b, epsilon, rounds):
    """The cost of the entropic transport between two clouds of points."""
    cost = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)
    K = np.exp(-cost / epsilon)
    v = np.ones(len(b))
    for _ in range(rounds):
        u = a / (K @ v)
        v = b / (K.T @ u)
    return np.sum(u[:, None] * K * v * cost)


def sinkhorn_grad(x, y, a, b, epsilon, rounds):
    offset = x[:, None, :] - y[None, :, :]
    cost = np.sum(offset**2, axis=2)
    K = np.exp(-cost / epsilon)
    v = np.ones(len(b))
    steps = []
    for _ in range(rounds):
        before = v
        u = a / (K @ v)
        v = b / (K.T @ u)
        steps.append((before, u, v))
    plan = u[:, None] * K * v
    loss = np.sum(plan * cost)
    d_u, d_v = K * cost @ v, u @ (K * cost)
    d_K = np.outer(u, v) * cost
    for before, u, v in reversed(steps):
        d_Ku = -d_v * v**2 / b
        d_K += np.outer(u, d_Ku)
        d_u = d_u + K @ d_Ku
        d_Kv = -d_u * u**2 / a
        d_K += np.outer(d_Kv, before)
        d_v, d_u = K.T @ d_Kv, 0.0
    d_cost = plan - d_K * K / epsilon
    return loss, 2.0 * np.sum(d_cost[:, :, None] * offset, axis=1)


def project(camera, points, focal):
    """Points as a camera sees them, by the formula of Rodrigues."""
    turn, shift = camera[:3], camera[3:]
    angle = np.sqrt(np.sum(turn**2))
    axis = turn / angle
    c, s = np.cos(angle), np.sin(angle)
    turned = c * points + s * np.cross(axis, points) + np.outer((1.0 - c) * (points @ axis), axis)
    seen = turned + shift
    return focal * seen[:, :2] / seen[:, 2:]


def bundle_adjustment(cameras, points, focal, observed):
    """The error of where points appear in several images."""
    loss = 0.0
    for camera, image in zip(cameras, observed):
        loss = loss + np.sum((project(camera, points, focal) - image) ** 2)
    return loss


def project_vjp(camera, points, focal, d_pixels):
    turn, shift = camera[:3], camera[3:]
    angle = np.sqrt(np.sum(turn**2))
    axis = turn / angle
    c, s = np.cos(angle), np.sin(angle)
    crossed, along = np.cross(axis, points), points @ axis
    seen = c * points + s * crossed + np.outer((1.0 - c) * along, axis) + shift
    d_xy = focal * d_pixels / seen[:, 2:]
    d_z = -np.sum(d_xy * seen[:, :2], axis=1, keepdims=True) / seen[:, 2:]
    d_seen = np.concatenate([d_xy, d_z], axis=1)
    d_along = (1.0 - c) * (d_seen @ axis)
    d_c = np.sum(d_seen * points) - along @ (d_seen @ axis)
    d_s = np.sum(d_seen * crossed)
    d_axis = s * np.sum(np.cross(points, d_seen), axis=0) + points.T @ d_along + (1.0 - c) * (along @ d_seen)
    d_points = c * d_seen + s * np.cross(d_seen, axis) + np.outer(d_along, axis)
    d_angle = d_s * c - d_c * s - d_axis @ axis / angle
    d_turn = d_axis / angle + d_angle * axis
    return np.concatenate([d_turn, np.sum(d_seen, axis=0)]), d_points


def bundle_adjustment_grad(cameras, points, focal, observed):
    loss = 0.0
    d_cameras, d_points = np.zeros_like(cameras), np.zeros_like(points)
    for k, (camera, image) in enumerate(zip(cameras, observed)):
        error = project(camera, points, focal) - image
        loss += np.sum(error**2)
        d_cameras[k], d_seen = project_vjp(camera, points, focal, 2.0 * error)
        d_points += d_seen
    return loss, (d_cameras, d_points)


def cases() -> list[Case]:
    """The functions of this file with arguments; the same numbers in each process."""
    rng = np.random.default_rng(5)
    n, f = rng.normal, np.float64
    knots = np.linspace(0.0, 1.0, 8)
    x = np.sort(0.01 + 0.98 * rng.random(25))
    cameras = np.concatenate([0.3 * n(size=(4, 3)), n(size=(4, 2)), 6.0 + n(size=(4, 1))], axis=1)
    return [
        Case(autoregression, autoregression_grad, (0.3 * n(size=2), f(0.4), n(size=25)), (0, 1)),
        Case(biquad, biquad_grad, (n(size=3), 0.3 * n(size=2), n(size=25), n(size=25)), (0, 1)),
        Case(deblur, deblur_grad, (n(size=(12, 13)), f(0.1), n(size=(8, 9)), 0.1), (0, 1)),
        Case(spline, spline_grad, (n(size=8), knots, x, n(size=25))),
        Case(soft_dtw, soft_dtw_grad, (n(size=6), n(size=5), 0.5)),
        Case(sinkhorn, sinkhorn_grad, (n(size=(6, 2)), n(size=(5, 2)), np.full(6, 1 / 6), np.full(5, 0.2), 1.0, 8)),
        Case(bundle_adjustment, bundle_adjustment_grad, (cameras, n(size=(10, 3)), 2.0, n(size=(4, 10, 2))), (0, 1)),
    ]
