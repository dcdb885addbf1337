import numpy as np
import scipy.special


def black_scholes_value_and_grad(spot, strike, rate, vol, maturity):
    """Specialised to these arguments.

    spot, vol: 1-d float64
    strike, rate, maturity: a Python number

    Returns out, d_rate: float64; d_spot, d_vol: like spot, vol.
    """

    # forward
    # golden_functions.py:139: root = vol * np.sqrt(maturity)
    t = np.sqrt(maturity)
    root = vol * t
    # golden_functions.py:140: d1 = (np.log(spot / strike) + (rate + 0.5 * vol**2) * ...
    t_2 = spot / strike
    d1 = (np.log(t_2) + (rate + 0.5 * vol**2) * maturity) / root
    d2 = d1 - root  # golden_functions.py:141
    # golden_functions.py:135: return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))
    t_3 = d1 / 1.4142135623730951
    t_4 = 0.5 * (1.0 + scipy.special.erf(t_3))
    # golden_functions.py:142: call = spot * normal_cdf(d1) - strike * np.exp(-rate ...
    t_5 = np.exp(-rate * maturity)
    t_6 = strike * t_5
    # golden_functions.py:135: return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))
    t_7 = d2 / 1.4142135623730951
    t_8 = 0.5 * (1.0 + scipy.special.erf(t_7))
    # golden_functions.py:142: call = spot * normal_cdf(d1) - strike * np.exp(-rate ...
    call = spot * t_4 - t_6 * t_8
    out = call.sum()  # golden_functions.py:143

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:135: return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))
        d_t_7 = -t_6 * 0.5 * (1.1283791670955126 * np.exp(-(t_7**2)))
        d_d2 = d_t_7 / 1.4142135623730951
        d_t_3 = spot * 0.5 * (1.1283791670955126 * np.exp(-(t_3**2)))
        d_d1 = d_t_3 / 1.4142135623730951 + d_d2  # golden_functions.py:141
        # golden_functions.py:140: d1 = (np.log(spot / strike) + (rate + 0.5 * vol** ...
        t_9 = d_d1 / root
        d_root = -d_d1 * d1 / root - d_d2
        t_10 = t_9 * maturity
        d_rate = t_10.sum() - (-t_8).sum() * strike * t_5 * maturity
        d_spot = t_4 + t_9 / t_2 / strike
        # golden_functions.py:139: root = vol * np.sqrt(maturity)
        d_vol = t_10 * 0.5 * (2.0 * vol) + d_root * t
    return out, (d_spot, d_rate, d_vol)
