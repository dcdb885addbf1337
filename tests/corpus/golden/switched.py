import numpy as np


def switched_value_and_grad(x, steps):
    """Value and gradient of `switched`.

    Arms that remember different things for their reverse.

    Specialised to x: float64[n]; steps: 12.

    Returns out: float64; d_h: like x.
    """

    # forward
    h, saved = x, []
    # golden_functions.py:330: for _ in range(steps):
    for _ in range(12):
        # golden_functions.py:331: if np.sum(h) > 0.0:
        taken = h.sum() > 0.0
        if taken:
            a = np.sin(h)
            # golden_functions.py:333: h = a * np.cos(h) - 0.3
            h_part = np.cos(h)
            h_2 = a * h_part - 0.3
            h_part_2 = None
        else:
            # golden_functions.py:335: h = h * np.exp(-(h**2)) + 0.2
            h_part_2 = np.exp(-(h**2))
            h_2 = h * h_part_2 + 0.2
            h_part, a = None, None
        saved.append((taken, h, h_part, a, h_part_2))
        h = h_2
    out = (h**2).sum()  # golden_functions.py:336: return np.sum(h**2)

    # backward
    d_h = 2.0 * h  # golden_functions.py:336: return np.sum(h**2)
    # golden_functions.py:330: for _ in range(steps):
    for taken, h, h_part, a, h_part_2 in reversed(saved):
        # golden_functions.py:331: if np.sum(h) > 0.0:
        if taken:
            d_a = d_h * h_part  # golden_functions.py:333: h = a * np.cos(h) - 0.3
            # golden_functions.py:332: a = np.sin(h)
            d_h = d_a * np.cos(h) - d_h * a * np.sin(h)
        else:
            # golden_functions.py:335: h = h * np.exp(-(h**2)) + 0.2
            d_h = d_h * h_part_2 - 2.0 * (d_h * h * h_part_2) * h
    return out, d_h
