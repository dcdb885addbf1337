import numpy as np
import scipy.special


def black_scholes_value_and_grad(spot, strike, rate, vol, maturity):
    """Value and gradient of `black_scholes`, golden_functions.py:138.

    Specialised to spot, vol: float64[n]; strike, rate, maturity: a Python number.

    Returns out, d_rate: float64; d_spot, d_vol: like spot, vol.
    """

    # forward
    # golden_functions.py:139: root = vol * np.sqrt(maturity)
    sqrt_maturity = np.sqrt(maturity)
    root = vol * sqrt_maturity
    # golden_functions.py:140: d1 = (np.log(spot / strike) + (rate + 0.5 * vol**2) * ...
    spot_over_strike = spot / strike
    d1 = (np.log(spot_over_strike) + (rate + 0.5 * vol**2) * maturity) / root
    d2 = d1 - root
    # golden_functions.py:135: return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))
    call_ratio = d1 / np.sqrt(2.0)
    normal_cdf_d1 = 0.5 * (1.0 + scipy.special.erf(call_ratio))
    # golden_functions.py:142: call = spot * normal_cdf(d1) - strike * np.exp(-rate ...
    call_exp = np.exp(-rate * maturity)
    strike_call_exp = strike * call_exp
    call_ratio_2 = d2 / np.sqrt(2.0)
    normal_cdf_d2 = 0.5 * (1.0 + scipy.special.erf(call_ratio_2))
    call = spot * normal_cdf_d1 - strike_call_exp * normal_cdf_d2
    out = call.sum()

    # backward
    with np.errstate(all="ignore"):
        # golden_functions.py:135: return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))
        d_d2_part = 1.1283791670955126 * np.exp(-(call_ratio_2**2))
        d_d2 = -strike_call_exp * 0.5 * d_d2_part / np.sqrt(2.0)
        d_call_ratio = spot * 0.5 * (1.1283791670955126 * np.exp(-(call_ratio**2)))
        # golden_functions.py:141: d2 = d1 - root
        d_d1 = d_call_ratio / np.sqrt(2.0) + d_d2
        # golden_functions.py:140: d1 = (np.log(spot / strike) + (rate + 0.5 * ...
        d_d1_total = d_d1 / root
        d_d1_total_2 = d_d1_total * maturity
        # golden_functions.py:142: call = spot * normal_cdf(d1) - strike * ...
        d_minus_rate = (-normal_cdf_d2).sum() * strike * call_exp * maturity
        d_spot = normal_cdf_d1 + d_d1_total / spot_over_strike / strike
        # golden_functions.py:139: root = vol * np.sqrt(maturity)
        d_vol = d_d1_total_2 * vol + (-(d_d1 * d1) / root - d_d2) * sqrt_maturity
        return out, (d_spot, d_d1_total_2.sum() - d_minus_rate, d_vol)
