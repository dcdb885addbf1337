import numpy as np


def rk4_step_value_and_grad(state, rates, dt, target):
    """Value and gradient of `rk4_step`.

    One Runge-Kutta step of the Lotka-Volterra equations, and its distance from a
    target.

    Specialised to these arguments.
    state, target: float64[2]
    rates: 4 times a Python number
    dt: a Python number

    Returns out, d_alpha, d_beta, d_delta, d_gamma: float64; d_state: like state.
    """
    alpha, beta, delta, gamma = rates

    # forward
    # golden_functions.py:111: prey, predator = state
    prey = state[0]
    predator = state[1]
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * ...
    beta_prey = beta * prey
    delta_prey = delta * prey
    k1_difference = delta_prey * predator - gamma * predator
    k1 = np.stack([alpha * prey - beta_prey * predator, k1_difference])
    # golden_functions.py:118: k2 = lotka_volterra(state + 0.5 * dt * k1, *rates)
    half_dt = 0.5 * dt
    prey_total = state + half_dt * k1
    prey_2 = prey_total[0]
    predator_2 = prey_total[1]
    beta_prey_2 = beta * prey_2
    delta_prey_2 = delta * prey_2
    k2_difference = delta_prey_2 * predator_2 - gamma * predator_2
    k2 = np.stack([alpha * prey_2 - beta_prey_2 * predator_2, k2_difference])
    # golden_functions.py:119: k3 = lotka_volterra(state + 0.5 * dt * k2, *rates)
    prey_total_2 = state + half_dt * k2
    prey_3 = prey_total_2[0]
    predator_3 = prey_total_2[1]
    beta_prey_3 = beta * prey_3
    delta_prey_3 = delta * prey_3
    k3_difference = delta_prey_3 * predator_3 - gamma * predator_3
    k3 = np.stack([alpha * prey_3 - beta_prey_3 * predator_3, k3_difference])
    # golden_functions.py:120: k4 = lotka_volterra(state + dt * k3, *rates)
    prey_total_3 = state + dt * k3
    prey_4 = prey_total_3[0]
    predator_4 = prey_total_3[1]
    beta_prey_4 = beta * prey_4
    delta_prey_4 = delta * prey_4
    k4_difference = delta_prey_4 * predator_4 - gamma * predator_4
    k4 = np.stack([alpha * prey_4 - beta_prey_4 * predator_4, k4_difference])
    # golden_functions.py:121: end = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    scaled_dt = dt / 6.0
    end = state + scaled_dt * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    # golden_functions.py:122: return np.sum((end - target) ** 2)
    end_minus_target = end - target
    out = (end_minus_target**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:122: return np.sum((end - target) ** 2)
        d_end_minus_target = 2.0 * end_minus_target
        # golden_functions.py:121: end = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * ...
        d_end_total = d_end_minus_target * scaled_dt
        twice_d_end_total = d_end_total * 2.0
        # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * ...
        d_k4_difference = d_end_total[0]
        d_k4_difference_2 = d_end_total[1]
        d_gamma_predator_4 = -d_k4_difference_2
        d_delta_prey_4 = d_k4_difference_2 * predator_4
        d_predator_part = d_k4_difference_2 * delta_prey_4
        d_k4_product = -d_k4_difference
        d_beta_prey_4 = d_k4_product * predator_4
        d_predator_part_2 = d_k4_product * beta_prey_4
        d_predator_4 = d_gamma_predator_4 * gamma + d_predator_part + d_predator_part_2
        d_prey_part = d_k4_difference * alpha
        d_prey_4 = d_delta_prey_4 * delta + d_beta_prey_4 * beta + d_prey_part
        # golden_functions.py:111: prey, predator = state
        d_state_part = np.zeros(state.shape)
        d_state_part[1] += d_predator_4
        d_state_part[0] += d_prey_4
        # golden_functions.py:120: k4 = lotka_volterra(state + dt * k3, *rates)
        d_k3 = twice_d_end_total + d_state_part * dt
        d_k3_difference = d_k3[0]
        d_k3_difference_2 = d_k3[1]
        d_gamma_predator_3 = -d_k3_difference_2
        d_gamma_part = d_gamma_predator_3 * predator_3
        d_delta_prey_3 = d_k3_difference_2 * predator_3
        d_predator_part_3 = d_k3_difference_2 * delta_prey_3
        d_k3_product = -d_k3_difference
        d_beta_prey_3 = d_k3_product * predator_3
        d_predator_part_4 = d_k3_product * beta_prey_3
        d_predator_3 = (
            d_gamma_predator_3 * gamma + d_predator_part_3 + d_predator_part_4
        )
        d_prey_part_2 = d_k3_difference * alpha
        d_prey_3 = d_delta_prey_3 * delta + d_beta_prey_3 * beta + d_prey_part_2
        d_state_part_2 = np.zeros(state.shape)
        d_state_part_2[1] += d_predator_3
        d_state_part_2[0] += d_prey_3
        # golden_functions.py:119: k3 = lotka_volterra(state + 0.5 * dt * k2, *rates)
        d_k2 = twice_d_end_total + d_state_part_2 * half_dt
        d_k2_difference = d_k2[0]
        d_k2_difference_2 = d_k2[1]
        d_gamma_predator_2 = -d_k2_difference_2
        d_gamma_part_2 = d_gamma_predator_2 * predator_2
        d_gamma_part_3 = d_gamma_predator_4 * predator_4 + d_gamma_part + d_gamma_part_2
        d_delta_prey_2 = d_k2_difference_2 * predator_2
        d_predator_part_5 = d_k2_difference_2 * delta_prey_2
        d_delta_part = d_delta_prey_2 * prey_2
        d_delta_part_2 = d_delta_prey_4 * prey_4 + d_delta_prey_3 * prey_3
        d_k2_product = -d_k2_difference
        d_beta_prey_2 = d_k2_product * predator_2
        d_predator_part_6 = d_k2_product * beta_prey_2
        d_predator_2 = (
            d_gamma_predator_2 * gamma + d_predator_part_5 + d_predator_part_6
        )
        d_beta_part = d_beta_prey_2 * prey_2
        d_alpha_part = d_k2_difference * prey_2
        d_prey_part_3 = d_k2_difference * alpha
        d_alpha_part_2 = d_k4_difference * prey_4 + d_k3_difference * prey_3
        d_prey_2 = d_delta_prey_2 * delta + d_beta_prey_2 * beta + d_prey_part_3
        d_state_part_3 = np.zeros(state.shape)
        d_state_part_3[1] += d_predator_2
        d_state_part_3[0] += d_prey_2
        # golden_functions.py:118: k2 = lotka_volterra(state + 0.5 * dt * k1, *rates)
        d_state = d_end_minus_target + d_state_part + d_state_part_2 + d_state_part_3
        d_k1 = d_end_total + d_state_part_3 * half_dt
        d_k1_difference = d_k1[0]
        d_k1_difference_2 = d_k1[1]
        d_gamma_predator = -d_k1_difference_2
        d_gamma = d_gamma_part_3 + d_gamma_predator * predator
        d_delta_prey = d_k1_difference_2 * predator
        d_delta = d_delta_part_2 + d_delta_part + d_delta_prey * prey
        d_beta_prey_predator = -d_k1_difference
        d_beta_prey = d_beta_prey_predator * predator
        d_predator_part_7 = d_beta_prey_predator * beta_prey
        d_predator_part_8 = d_gamma_predator * gamma + d_k1_difference_2 * delta_prey
        d_predator = d_predator_part_8 + d_predator_part_7
        d_beta_prey_prey = d_beta_prey * prey
        d_beta_part_2 = d_beta_prey_4 * prey_4 + d_beta_prey_3 * prey_3 + d_beta_part
        d_beta = d_beta_part_2 + d_beta_prey_prey
        d_alpha = d_alpha_part_2 + d_alpha_part + d_k1_difference * prey
        d_prey = d_delta_prey * delta + d_beta_prey * beta + d_k1_difference * alpha
        d_state[1] += d_predator
        d_state[0] += d_prey
    return out, (d_state, (d_alpha, d_beta, d_delta, d_gamma))
