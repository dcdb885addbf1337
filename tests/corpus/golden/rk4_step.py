import numpy as np


def lotka_volterra(state, alpha, beta, delta, gamma):
    """Compute `lotka_volterra`, golden_functions.py:110."""
    # golden_functions.py:111: prey, predator = state
    prey, predator = state[0], state[1]
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * ...
    beta_prey, delta_prey = beta * prey, delta * prey
    difference = delta_prey * predator - gamma * predator
    values = np.array([alpha * prey - beta_prey * predator, difference])
    return values, prey, predator, beta_prey, delta_prey


def lotka_volterra_vjp(
    alpha, beta, delta, gamma, prey, predator, product, product_2, d_out
):
    """VJP of `lotka_volterra`."""
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * ...
    d_out_0, d_out_1 = d_out[0], d_out[1]
    d_out_1_predator = d_out_1 * predator
    d_out_0_predator = -d_out_0 * predator
    d_beta, d_alpha = d_out_0_predator * prey, d_out_0 * prey
    d_prey = d_out_1_predator * delta + d_out_0_predator * beta + d_out_0 * alpha
    d_predator = d_out_1 * product_2 - d_out_1 * gamma - d_out_0 * product
    # golden_functions.py:111: prey, predator = state
    d_state = np.array([d_prey, d_predator])
    return -d_out_1 * predator, d_out_1_predator * prey, d_beta, d_alpha, d_state


def rk4_step_value_and_grad(state, rates, dt, target):
    """Value and gradient of `rk4_step`.

    One Runge-Kutta step of the Lotka-Volterra equations, and its distance from a
    target.

    Specialised to these arguments.
    state, target: float64[2]
    rates: 4 times a Python number
    dt: a Python number

    Returns out, d_rates_0, d_rates_1, d_rates_2, d_rates_3: float64; d_state: like
    state.
    """
    rates_0, rates_1, rates_2, rates_3 = rates

    # forward
    # golden_functions.py:117: k1 = lotka_volterra(state, *rates)
    k1, prey, predator, product, product_2 = lotka_volterra(
        state, rates_0, rates_1, rates_2, rates_3
    )
    # golden_functions.py:118: k2 = lotka_volterra(state + 0.5 * dt * k1, *rates)
    half_dt = 0.5 * dt
    k2, prey_2, predator_2, product_3, product_4 = lotka_volterra(
        state + half_dt * k1, rates_0, rates_1, rates_2, rates_3
    )
    # golden_functions.py:119: k3 = lotka_volterra(state + 0.5 * dt * k2, *rates)
    k3, prey_3, predator_3, product_5, product_6 = lotka_volterra(
        state + half_dt * k2, rates_0, rates_1, rates_2, rates_3
    )
    # golden_functions.py:120: k4 = lotka_volterra(state + dt * k3, *rates)
    k4, prey_4, predator_4, product_7, product_8 = lotka_volterra(
        state + dt * k3, rates_0, rates_1, rates_2, rates_3
    )
    # golden_functions.py:121: end = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    scaled_dt = dt / 6.0
    end = state + scaled_dt * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    # golden_functions.py:122: return np.sum((end - target) ** 2)
    end_minus_target = end - target
    out = (end_minus_target**2).sum()

    # backward
    # golden_functions.py:122: return np.sum((end - target) ** 2)
    d_end_minus_target = 2.0 * end_minus_target
    # golden_functions.py:121: end = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    d_end_total = d_end_minus_target * scaled_dt
    twice_d_end_total = d_end_total * 2.0
    # golden_functions.py:120: k4 = lotka_volterra(state + dt * k3, *rates)
    (
        d_rates_3_part,
        d_rates_2_part,
        d_rates_1_part,
        d_rates_0_part,
        d_state_part,
    ) = lotka_volterra_vjp(
        rates_0,
        rates_1,
        rates_2,
        rates_3,
        prey_4,
        predator_4,
        product_7,
        product_8,
        d_end_total,
    )
    d_total = d_state_part + 0.0  # golden_functions.py:111: prey, predator = state
    d_k3 = twice_d_end_total + d_total * dt
    # golden_functions.py:119: k3 = lotka_volterra(state + 0.5 * dt * k2, *rates)
    (
        d_rates_3_part_2,
        d_rates_2_part_2,
        d_rates_1_part_2,
        d_rates_0_part_2,
        d_state_part_2,
    ) = lotka_volterra_vjp(
        rates_0,
        rates_1,
        rates_2,
        rates_3,
        prey_3,
        predator_3,
        product_5,
        product_6,
        d_k3,
    )
    d_total_2 = d_state_part_2 + 0.0
    d_k2 = twice_d_end_total + d_total_2 * half_dt
    # golden_functions.py:118: k2 = lotka_volterra(state + 0.5 * dt * k1, *rates)
    (
        d_rates_3_part_3,
        d_rates_2_part_3,
        d_rates_1_part_3,
        d_rates_0_part_3,
        d_state_part_3,
    ) = lotka_volterra_vjp(
        rates_0,
        rates_1,
        rates_2,
        rates_3,
        prey_2,
        predator_2,
        product_3,
        product_4,
        d_k2,
    )
    d_total_3 = d_state_part_3 + 0.0
    d_k1 = d_end_total + d_total_3 * half_dt
    # golden_functions.py:117: k1 = lotka_volterra(state, *rates)
    (
        d_rates_3_part_4,
        d_rates_2_part_4,
        d_rates_1_part_4,
        d_rates_0_part_4,
        d_state_part_4,
    ) = lotka_volterra_vjp(
        rates_0, rates_1, rates_2, rates_3, prey, predator, product, product_2, d_k1
    )
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * ...
    d_rates_3 = d_rates_3_part + d_rates_3_part_2 + d_rates_3_part_3 + d_rates_3_part_4
    d_rates_2 = d_rates_2_part + d_rates_2_part_2 + d_rates_2_part_3 + d_rates_2_part_4
    d_rates_1 = d_rates_1_part + d_rates_1_part_2 + d_rates_1_part_3 + d_rates_1_part_4
    d_rates_0 = d_rates_0_part + d_rates_0_part_2 + d_rates_0_part_3 + d_rates_0_part_4
    d_state = d_end_minus_target + d_total + d_total_2 + d_total_3 + d_state_part_4
    return out, (d_state, (d_rates_0, d_rates_1, d_rates_2, d_rates_3))
