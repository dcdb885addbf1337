"""Simulations: what moves, flows, turns or orbits."""

from __future__ import annotations

import numpy as np

from .case import Case


def accelerations(x, masses):
    offset = x[None, :, :] - x[:, None, :]
    squared = np.sum(offset**2, axis=2) + 0.01
    return np.sum(offset * (masses / squared**1.5)[:, :, None], axis=1)


def nbody(x, v, masses, dt, steps, target):
    """The leapfrog scheme."""
    a = accelerations(x, masses)
    for _ in range(steps):
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = accelerations(x, masses)
        v = v + 0.5 * dt * a
    return np.sum((x - target) ** 2)


def accelerations_vjp(x, masses, d_a):
    offset = x[None, :, :] - x[:, None, :]
    squared = np.sum(offset**2, axis=2) + 0.01
    d_pull = np.sum(offset * d_a[:, None, :], axis=2)
    d_squared = -1.5 * d_pull * masses / squared**2.5
    d_offset = (masses / squared**1.5)[:, :, None] * d_a[:, None, :] + 2.0 * d_squared[:, :, None] * offset
    return np.sum(d_offset, axis=0) - np.sum(d_offset, axis=1), np.sum(d_pull / squared**1.5, axis=0)


def nbody_grad(x, v, masses, dt, steps, target):
    a = accelerations(x, masses)
    xs = [x]
    for _ in range(steps):
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = accelerations(x, masses)
        v = v + 0.5 * dt * a
        xs.append(x)
    loss = np.sum((x - target) ** 2)
    d_x = 2.0 * (x - target)
    d_v, d_a, d_masses = np.zeros_like(v), np.zeros_like(a), np.zeros_like(masses)
    for x in xs[:0:-1]:
        d_a = d_a + 0.5 * dt * d_v
        d_position, d_mass = accelerations_vjp(x, masses, d_a)
        d_x = d_x + d_position
        d_masses += d_mass
        d_v = d_v + dt * d_x
        d_a = 0.5 * dt * d_v
    d_position, d_mass = accelerations_vjp(xs[0], masses, d_a)
    return loss, (d_x + d_position, d_v, d_masses + d_mass)


def sir_rate(y, beta, gamma):
    s, i, r = y
    infected = beta * s * i
    recovered = gamma * i
    return np.array([-infected, infected - recovered, recovered])


def sir_fit(rates, y, dt, observed):
    """An epidemic by the Runge-Kutta scheme, and its distance from what was observed."""
    beta, gamma = rates
    loss = 0.0
    for seen in observed:
        k1 = sir_rate(y, beta, gamma)
        k2 = sir_rate(y + 0.5 * dt * k1, beta, gamma)
        k3 = sir_rate(y + 0.5 * dt * k2, beta, gamma)
        k4 = sir_rate(y + dt * k3, beta, gamma)
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        loss = loss + (y[1] - seen) ** 2
    return loss


def sir_rate_vjp(y, beta, gamma, d_rate):
    s, i, r = y
    d_infected = d_rate[1] - d_rate[0]
    d_recovered = d_rate[2] - d_rate[1]
    d_s = d_infected * beta * i
    d_i = d_infected * beta * s + d_recovered * gamma
    return np.array([d_s, d_i, 0.0]), np.array([d_infected * s * i, d_recovered * i])


def sir_fit_grad(rates, y, dt, observed):
    beta, gamma = rates
    loss = 0.0
    steps = []
    for seen in observed:
        k1 = sir_rate(y, beta, gamma)
        k2 = sir_rate(y + 0.5 * dt * k1, beta, gamma)
        k3 = sir_rate(y + 0.5 * dt * k2, beta, gamma)
        k4 = sir_rate(y + dt * k3, beta, gamma)
        steps.append((y, k1, k2, k3))
        y = y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        error = y[1] - seen
        loss += error**2
        steps[-1] += (error,)
    d_y = np.zeros(3)
    d_rates = np.zeros(2)
    for y, k1, k2, k3, error in reversed(steps):
        d_y[1] += 2.0 * error
        d_k = dt / 6.0 * d_y
        d_y4, d_rates4 = sir_rate_vjp(y + dt * k3, beta, gamma, d_k)
        d_y3, d_rates3 = sir_rate_vjp(y + 0.5 * dt * k2, beta, gamma, 2.0 * d_k + dt * d_y4)
        d_y2, d_rates2 = sir_rate_vjp(y + 0.5 * dt * k1, beta, gamma, 2.0 * d_k + 0.5 * dt * d_y3)
        d_y1, d_rates1 = sir_rate_vjp(y, beta, gamma, d_k + 0.5 * dt * d_y2)
        d_y = d_y + d_y1 + d_y2 + d_y3 + d_y4
        d_rates += d_rates1 + d_rates2 + d_rates3 + d_rates4
    return loss, ((d_rates[0], d_rates[1]), d_y)


def heat_plate(u, kappa, steps, target):
    """Explicit steps on a plate whose rim is isolated."""
    for _ in range(steps):
        padded = np.pad(u, 1, mode="edge")
        around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
        u = u + kappa * (around - 4.0 * u)
    return np.mean((u - target) ** 2)


def heat_plate_grad(u, kappa, steps, target):
    changes = []
    for _ in range(steps):
        padded = np.pad(u, 1, mode="edge")
        around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
        change = around - 4.0 * u
        changes.append(change)
        u = u + kappa * change
    error = u - target
    loss = np.mean(error**2)
    d_u = 2.0 * error / error.size
    d_kappa = 0.0
    for change in reversed(changes):
        d_kappa += np.sum(d_u * change)
        padded = np.pad(d_u, 1, mode="edge")
        around = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
        d_u = d_u + kappa * (around - 4.0 * d_u)
    return loss, (d_u, d_kappa)


def wave(speed, source, dt, record):
    """A string with periodic ends, which is heard at one place."""
    courant = (speed * dt) ** 2
    before, u = np.zeros(len(speed)), source
    misfit = 0.0
    for heard in record:
        bend = np.roll(u, 1) - 2.0 * u + np.roll(u, -1)
        before, u = u, 2.0 * u - before + courant * bend
        misfit = misfit + (u[3] - heard) ** 2
    return misfit


def wave_grad(speed, source, dt, record):
    courant = (speed * dt) ** 2
    before, u = np.zeros(len(speed)), source
    misfit = 0.0
    steps = []
    for heard in record:
        bend = np.roll(u, 1) - 2.0 * u + np.roll(u, -1)
        before, u = u, 2.0 * u - before + courant * bend
        error = u[3] - heard
        misfit += error**2
        steps.append((bend, error))
    d_courant, d_before, d_u = np.zeros_like(speed), np.zeros_like(speed), np.zeros_like(speed)
    for bend, error in reversed(steps):
        d_u[3] += 2.0 * error
        d_courant += d_u * bend
        d_bend = d_u * courant
        d_before, d_u = -d_u, 2.0 * d_u + d_before + np.roll(d_bend, -1) - 2.0 * d_bend + np.roll(d_bend, 1)
    return misfit, (d_courant * 2.0 * speed * dt**2, d_u)


def robot_arm(angles, lengths, target):
    """The distance of the hand from a target, by a rotation for each joint."""
    position = np.zeros(2)
    R = np.eye(2)
    for angle, length in zip(angles, lengths):
        c, s = np.cos(angle), np.sin(angle)
        R = R @ np.array([[c, -s], [s, c]])
        position = position + length * R[:, 0]
    return np.sum((position - target) ** 2)


def robot_arm_grad(angles, lengths, target):
    position = np.zeros(2)
    R = np.eye(2)
    steps = []
    for angle, length in zip(angles, lengths):
        c, s = np.cos(angle), np.sin(angle)
        before = R
        R = R @ np.array([[c, -s], [s, c]])
        position = position + length * R[:, 0]
        steps.append((before, R, c, s))
    error = position - target
    loss = np.sum(error**2)
    d_position = 2.0 * error
    d_angles, d_lengths = np.zeros_like(angles), np.zeros_like(lengths)
    d_R = np.zeros((2, 2))
    for j in reversed(range(len(angles))):
        before, R, c, s = steps[j]
        d_lengths[j] = d_position @ R[:, 0]
        d_R[:, 0] += lengths[j] * d_position
        d_joint = before.T @ d_R
        d_angles[j] = c * (d_joint[1, 0] - d_joint[0, 1]) - s * (d_joint[0, 0] + d_joint[1, 1])
        d_R = d_R @ np.array([[c, s], [-s, c]])
    return loss, (d_angles, d_lengths)


def kepler(orbit, times, seen):
    """An orbit by five steps of Newton's method, and its distance from where a planet was seen."""
    a, e, period = orbit
    M = 2.0 * np.pi * times / period
    E = M
    for _ in range(5):
        E = E - (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
    x = a * (np.cos(E) - e)
    y = a * np.sqrt(1.0 - e**2) * np.sin(E)
    return np.sum((x - seen[0]) ** 2 + (y - seen[1]) ** 2)


def kepler_grad(orbit, times, seen):
    a, e, period = orbit
    M = 2.0 * np.pi * times / period
    E = M
    Es = []
    for _ in range(5):
        Es.append(E)
        E = E - (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
    flat = np.sqrt(1.0 - e**2)
    c, s = np.cos(E), np.sin(E)
    x_error = a * (c - e) - seen[0]
    y_error = a * flat * s - seen[1]
    loss = np.sum(x_error**2 + y_error**2)
    d_x, d_y = 2.0 * x_error, 2.0 * y_error
    d_a = np.sum(d_x * (c - e) + d_y * flat * s)
    d_e = -np.sum(a * d_x + a * d_y * s * e / flat)
    d_E = a * (d_y * flat * c - d_x * s)
    d_M = np.zeros_like(M)
    for E in reversed(Es):
        c, s = np.cos(E), np.sin(E)
        slope = 1.0 - e * c
        d_f = -d_E / slope
        d_slope = -d_f * (E - e * s - M) / slope
        d_e += np.sum(-d_f * s - d_slope * c)
        d_M -= d_f
        d_E = d_E + d_f * slope + d_slope * e * s
    d_M += d_E
    return loss, (d_a, d_e, -np.sum(d_M * M) / period)


def charges(pos, charge):
    """The squared forces between charges, pair by pair."""
    force = np.zeros_like(pos)
    for i in range(len(pos)):
        for j in range(len(pos)):
            if i != j:
                offset = pos[i] - pos[j]
                force[i] += charge[i] * charge[j] * offset / (offset @ offset + 0.1)
    return np.sum(force**2)


def charges_grad(pos, charge):
    force = np.zeros_like(pos)
    for i in range(len(pos)):
        for j in range(len(pos)):
            if i != j:
                offset = pos[i] - pos[j]
                force[i] += charge[i] * charge[j] * offset / (offset @ offset + 0.1)
    d_force = 2.0 * force
    d_pos = np.zeros_like(pos)
    for i in range(len(pos)):
        for j in range(len(pos)):
            if i != j:
                offset = pos[i] - pos[j]
                square = offset @ offset + 0.1
                d_ratio = charge[i] * charge[j] * d_force[i]
                d_offset = (d_ratio - 2.0 * (d_ratio @ offset) / square * offset) / square
                d_pos[i] += d_offset
                d_pos[j] -= d_offset
    return np.sum(force**2), d_pos


def rodrigues(rvec):
    angle = np.sqrt(np.sum(rvec**2))
    k = rvec / angle
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def pose_fit(pose, points, pixels, focal):
    """The distance of projected points from where a camera saw them."""
    R = rodrigues(pose[:3])
    cam = points @ R.T + pose[3:]
    proj = focal * cam[:, :2] / cam[:, 2:]
    return np.sum((proj - pixels) ** 2)


def pose_fit_grad(pose, points, pixels, focal):
    rvec = pose[:3]
    angle = np.sqrt(np.sum(rvec**2))
    k = rvec / angle
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)
    cam = points @ R.T + pose[3:]
    z = cam[:, 2:]
    error = focal * cam[:, :2] / z - pixels
    loss = np.sum(error**2)
    d_proj = 2 * error
    d_xy = focal * d_proj / z
    d_z = -np.sum(d_xy * cam[:, :2], axis=1) / z[:, 0]
    d_cam = np.column_stack([d_xy, d_z])
    d_R = d_cam.T @ points
    d_angle = np.sum(d_R * (np.cos(angle) * K + np.sin(angle) * (K @ K)))
    d_K = np.sin(angle) * d_R + (1 - np.cos(angle)) * (d_R @ K.T + K.T @ d_R)
    d_k = np.array([d_K[2, 1] - d_K[1, 2], d_K[0, 2] - d_K[2, 0], d_K[1, 0] - d_K[0, 1]])
    d_angle = d_angle - np.sum(d_k * k) / angle
    d_rvec = d_k / angle + d_angle * rvec / angle
    return loss, np.concatenate([d_rvec, np.sum(d_cam, axis=0)])


def truss(areas, nodes, bars, loads, free):
    """The compliance of a plane truss of elastic bars."""
    K = np.zeros((2 * len(nodes), 2 * len(nodes)))
    for k in range(len(bars)):
        i, j = bars[k]
        d = nodes[j] - nodes[i]
        length = np.sqrt(d @ d)
        c = d / length
        b = np.concatenate([-c, c])
        dofs = np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1])
        K[np.ix_(dofs, dofs)] += areas[k] / length * np.outer(b, b)
    u = np.linalg.solve(K[np.ix_(free, free)], loads)
    return loads @ u


def truss_grad(areas, nodes, bars, loads, free):
    K = np.zeros((2 * len(nodes), 2 * len(nodes)))
    parts = []
    for k in range(len(bars)):
        i, j = bars[k]
        d = nodes[j] - nodes[i]
        length = np.sqrt(d @ d)
        c = d / length
        b = np.concatenate([-c, c])
        dofs = np.array([2 * i, 2 * i + 1, 2 * j, 2 * j + 1])
        K[np.ix_(dofs, dofs)] += areas[k] / length * np.outer(b, b)
        parts.append((dofs, b, length))
    u = np.linalg.solve(K[np.ix_(free, free)], loads)
    all_u = np.zeros(2 * len(nodes))
    all_u[free] = u
    d_areas = np.zeros_like(areas)
    for k in range(len(bars)):
        dofs, b, length = parts[k]
        d_areas[k] = -((b @ all_u[dofs]) ** 2) / length
    return loads @ u, d_areas


def gravity(pos, vel, mass):
    """Total energy of bodies, over pairs."""
    energy = 0.5 * np.sum(mass * np.sum(vel**2, axis=1))
    for i in range(len(mass)):
        for j in range(i + 1, len(mass)):
            r = pos[i] - pos[j]
            energy = energy - mass[i] * mass[j] / np.sqrt(np.sum(r**2) + 1e-4)
    return energy


def gravity_grad(pos, vel, mass):
    energy = 0.5 * np.sum(mass * np.sum(vel**2, axis=1))
    d_pos = np.zeros_like(pos)
    for i in range(len(mass)):
        for j in range(i + 1, len(mass)):
            r = pos[i] - pos[j]
            dist = np.sqrt(np.sum(r**2) + 1e-4)
            energy -= mass[i] * mass[j] / dist
            d_r = mass[i] * mass[j] / dist**3 * r
            d_pos[i] += d_r
            d_pos[j] -= d_r
    return energy, (d_pos, mass[:, None] * vel)


def fitzhugh(params, v0, w0, data, dt):
    """A neuron's voltage by Euler steps, against what was measured."""
    a, b, tau, I = params
    v, w = v0, w0
    loss = 0.0
    for y in data:
        dv = v - v**3 / 3 - w + I
        dw = (v + a - b * w) / tau
        v = v + dt * dv
        w = w + dt * dw
        loss = loss + (v - y) ** 2
    return loss / len(data)


def fitzhugh_grad(params, v0, w0, data, dt):
    a, b, tau, I = params
    v, w = v0, w0
    loss = 0.0
    steps = []
    for y in data:
        dv = v - v**3 / 3 - w + I
        dw = (v + a - b * w) / tau
        steps.append((v, w, dw))
        v = v + dt * dv
        w = w + dt * dw
        loss += (v - y) ** 2
        steps[-1] += (v,)
    d_a = d_b = d_tau = d_I = 0.0
    d_v = d_w = 0.0
    for (v, w, dw, v_next), y in zip(reversed(steps), reversed(data)):
        d_v += 2.0 * (v_next - y) / len(data)
        d_dv, d_dw = dt * d_v, dt * d_w / tau
        d_a += d_dw
        d_b -= d_dw * w
        d_tau -= d_dw * dw
        d_I += d_dv
        d_v, d_w = d_v + d_dv * (1.0 - v**2) + d_dw, d_w - d_dv - d_dw * b
    return loss / len(data), np.array([d_a, d_b, d_tau, d_I])


def cases() -> list[Case]:
    """The functions of this file with arguments; the same numbers in each process."""
    rng = np.random.default_rng(4)
    n, f = rng.normal, np.float64
    orbit = (f(1.2), f(0.3), f(2.1))
    observed = 0.1 + 0.05 * rng.random(20)
    nodes = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.2]])
    bars = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [1, 2], [0, 3]])
    return [
        Case(nbody, nbody_grad, (n(size=(5, 3)), n(size=(5, 3)), rng.random(5), 0.05, 8, n(size=(5, 3))), (0, 1, 2)),
        Case(sir_fit, sir_fit_grad, ((f(0.6), f(0.2)), np.array([0.9, 0.1, 0.0]), 0.2, observed), (0, 1)),
        Case(heat_plate, heat_plate_grad, (n(size=(8, 9)), f(0.1), 10, n(size=(8, 9))), (0, 1)),
        Case(wave, wave_grad, (1.0 + 0.1 * n(size=16), n(size=16), 0.3, n(size=12)), (0, 1)),
        Case(robot_arm, robot_arm_grad, (n(size=6), rng.random(6), np.array([1.0, 0.5])), (0, 1)),
        Case(kepler, kepler_grad, (orbit, np.linspace(0.0, 3.0, 30), n(size=(2, 30)))),
        Case(charges, charges_grad, (n(size=(5, 2)), n(size=5))),
        Case(pose_fit, pose_fit_grad, (0.1 * n(size=6) + [0, 0, 0, 0, 0, 5.0], n(size=(9, 3)), n(size=(9, 2)), 500.0)),
        Case(truss, truss_grad, (np.ones(6), nodes, bars, n(size=4), np.array([3, 5, 6, 7]))),
        Case(gravity, gravity_grad, (n(size=(5, 3)), n(size=(5, 3)), 1.0 + rng.uniform(size=5)), (0, 1)),
        Case(
            fitzhugh,
            fitzhugh_grad,
            (np.array([0.7, 0.8, 12.5, 0.5]), np.float64(-1.0), np.float64(1.0), n(size=15), 0.1),
        ),
    ]
