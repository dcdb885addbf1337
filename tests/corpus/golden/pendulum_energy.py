import numpy as np


def pendulum_energy_value_and_grad(theta, omega, dt):
    """Value and gradient of `pendulum_energy`.

    Two steps of a semi-implicit Euler scheme.

    Specialised to theta, omega: float64[n]; dt: a Python number.

    Returns out: float64; d_theta, d_omega: like theta, omega.
    """

    # forward
    # golden_functions.py:182: omega = omega - dt * g / length * np.sin(theta)
    scaled_dt = dt * 9.81
    omega_2 = omega - scaled_dt * np.sin(theta)
    # golden_functions.py:183: theta = theta + dt * omega
    theta_2 = theta + dt * omega_2
    omega_3 = omega_2 - scaled_dt * np.sin(theta_2)
    theta_3 = theta_2 + dt * omega_3
    # golden_functions.py:184: kinetic = 0.5 * (length * omega) ** 2
    kinetic = 0.5 * omega_3**2
    # golden_functions.py:185: potential = g * length * (1.0 - np.cos(theta))
    potential = 9.81 * (1.0 - np.cos(theta_3))
    # golden_functions.py:186: return np.mean(kinetic + potential)
    out = (kinetic + potential).sum() / omega.size

    # backward
    # golden_functions.py:185: potential = g * length * (1.0 - np.cos(theta))
    d_theta_3 = 1.0 / omega.size * 9.81 * np.sin(theta_3)
    # golden_functions.py:183: theta = theta + dt * omega
    d_omega_3 = 1.0 / omega.size * omega_3 + d_theta_3 * dt
    # golden_functions.py:182: omega = omega - dt * g / length * np.sin(theta)
    d_theta_2 = d_theta_3 - d_omega_3 * scaled_dt * np.cos(theta_2)
    d_omega = d_omega_3 + d_theta_2 * dt
    return out, (d_theta_2 - d_omega * scaled_dt * np.cos(theta), d_omega)
