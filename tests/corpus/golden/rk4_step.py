import numpy as np


def rk4_step_value_and_grad(state, rates, dt, target):
    """Specialised to these arguments.

    state, target: 1-d float64
    rates: 4 times a Python number
    dt: a Python number

    Returns out, d_rates_0, d_rates_1, d_rates_2, d_rates_3: float64; d_state: like
    state.
    """
    rates_0, rates_1, rates_2, rates_3 = rates

    # forward
    # golden_functions.py:111: prey, predator = state
    prey = state[0]
    predator = state[1]
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * predato ...
    t = rates_1 * prey
    t_2 = rates_2 * prey
    k1 = np.stack([rates_0 * prey - t * predator, t_2 * predator - rates_3 * predator])
    # golden_functions.py:118: k2 = lotka_volterra(state + 0.5 * dt * k1, *rates)
    t_3 = 0.5 * dt
    t_4 = state + t_3 * k1
    # golden_functions.py:111: prey, predator = state
    prey_2 = t_4[0]
    predator_2 = t_4[1]
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * predato ...
    t_5 = rates_1 * prey_2
    t_6 = rates_2 * prey_2
    t_7 = t_6 * predator_2 - rates_3 * predator_2
    k2 = np.stack([rates_0 * prey_2 - t_5 * predator_2, t_7])
    # golden_functions.py:119: k3 = lotka_volterra(state + 0.5 * dt * k2, *rates)
    t_8 = state + t_3 * k2
    # golden_functions.py:111: prey, predator = state
    prey_3 = t_8[0]
    predator_3 = t_8[1]
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * predato ...
    t_9 = rates_1 * prey_3
    t_10 = rates_2 * prey_3
    t_11 = t_10 * predator_3 - rates_3 * predator_3
    k3 = np.stack([rates_0 * prey_3 - t_9 * predator_3, t_11])
    # golden_functions.py:120: k4 = lotka_volterra(state + dt * k3, *rates)
    t_12 = state + dt * k3
    # golden_functions.py:111: prey, predator = state
    prey_4 = t_12[0]
    predator_4 = t_12[1]
    # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * predato ...
    t_13 = rates_1 * prey_4
    t_14 = rates_2 * prey_4
    t_15 = t_14 * predator_4 - rates_3 * predator_4
    k4 = np.stack([rates_0 * prey_4 - t_13 * predator_4, t_15])
    # golden_functions.py:121: end = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    t_16 = dt / 6.0
    end = state + t_16 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    # golden_functions.py:122: return np.sum((end - target) ** 2)
    t_17 = end - target
    out = (t_17**2).sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:122: return np.sum((end - target) ** 2)
        d_t_17 = 2.0 * t_17
        # golden_functions.py:121: end = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k ...
        t_18 = d_t_17 * t_16
        t_19 = t_18 * 2.0
        # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * pre ...
        t_20 = t_18[0]
        d_t_15 = t_18[1]
        t_21 = -d_t_15
        d_t_14 = d_t_15 * predator_4
        t_22 = -t_20
        d_t_13 = t_22 * predator_4
        d_predator_4 = t_21 * rates_3 + d_t_15 * t_14 + t_22 * t_13
        d_prey_4 = d_t_14 * rates_2 + d_t_13 * rates_1 + t_20 * rates_0
        # golden_functions.py:111: prey, predator = state
        t_23 = np.zeros(state.shape)
        t_23[1] += d_predator_4
        t_23[0] += d_prey_4
        # golden_functions.py:120: k4 = lotka_volterra(state + dt * k3, *rates)
        d_k3 = t_19 + t_23 * dt
        # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * pre ...
        t_24 = d_k3[0]
        d_t_11 = d_k3[1]
        t_25 = -d_t_11
        d_t_10 = d_t_11 * predator_3
        t_26 = -t_24
        d_t_9 = t_26 * predator_3
        d_predator_3 = t_25 * rates_3 + d_t_11 * t_10 + t_26 * t_9
        d_prey_3 = d_t_10 * rates_2 + d_t_9 * rates_1 + t_24 * rates_0
        # golden_functions.py:111: prey, predator = state
        t_27 = np.zeros(state.shape)
        t_27[1] += d_predator_3
        t_27[0] += d_prey_3
        # golden_functions.py:119: k3 = lotka_volterra(state + 0.5 * dt * k2, *rates)
        d_k2 = t_19 + t_27 * t_3
        # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * pre ...
        t_28 = d_k2[0]
        d_t_7 = d_k2[1]
        t_29 = -d_t_7
        d_t_6 = d_t_7 * predator_2
        t_30 = -t_28
        d_t_5 = t_30 * predator_2
        d_predator_2 = t_29 * rates_3 + d_t_7 * t_6 + t_30 * t_5
        d_prey_2 = d_t_6 * rates_2 + d_t_5 * rates_1 + t_28 * rates_0
        # golden_functions.py:111: prey, predator = state
        t_31 = np.zeros(state.shape)
        t_31[1] += d_predator_2
        t_31[0] += d_prey_2
        # golden_functions.py:118: k2 = lotka_volterra(state + 0.5 * dt * k1, *rates)
        d_state = d_t_17 + t_23 + t_27 + t_31
        d_k1 = t_18 + t_31 * t_3
        # golden_functions.py:112: return np.stack([alpha * prey - beta * prey * pre ...
        t_32 = d_k1[0]
        t_33 = d_k1[1]
        t_34 = -t_33
        t_35 = t_34 * predator
        d_rates_3 = t_21 * predator_4 + t_25 * predator_3 + t_29 * predator_2 + t_35
        d_t_2 = t_33 * predator
        d_rates_2 = d_t_14 * prey_4 + d_t_10 * prey_3 + d_t_6 * prey_2 + d_t_2 * prey
        t_36 = -t_32
        d_t = t_36 * predator
        d_predator = t_34 * rates_3 + t_33 * t_2 + t_36 * t
        d_rates_1 = d_t_13 * prey_4 + d_t_9 * prey_3 + d_t_5 * prey_2 + d_t * prey
        d_rates_0 = t_20 * prey_4 + t_24 * prey_3 + t_28 * prey_2 + t_32 * prey
        d_prey = d_t_2 * rates_2 + d_t * rates_1 + t_32 * rates_0
        # golden_functions.py:111: prey, predator = state
        d_state[1] += d_predator
        d_state[0] += d_prey
    return out, (d_state, (d_rates_0, d_rates_1, d_rates_2, d_rates_3))
