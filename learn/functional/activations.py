"""Activations: functions of single numbers, with PyTorch's slopes at their kinks, and a few that go along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules.activations import elu as _elu
from ...runtime.rules.activations import relu as _relu
from ...runtime.rules.activations import softplus as _softplus
from ...runtime.rules.elementwise import sigmoid as _sigmoid
from ...tracer.random.generator import generator as generator_of
from .shared import arrays, axis_of, written

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_",
    "leaky_relu", "leaky_relu_", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_",
    "sigmoid", "silu", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip

ROOT_2_OVER_PI = math.sqrt(2 / math.pi)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # Klambauer et al. 2017


def relu(input: Any, inplace: bool = False) -> Any:
    """Return `max(x, 0)`, of slope 0 at 0.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """
    (x,) = arrays(input)
    return written(x, inplace, _relu(x))


def relu6(input: Any, inplace: bool = False) -> Any:
    """Return `min(max(x, 0), 6)`, of slope 0 at 0 and at 6.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.relu6(np.array([-1.0, 2.0, 9.0]))
    array([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """Return `x` where it is positive, `negative_slope * x` elsewhere.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.leaky_relu(np.array([-1.0, 2.0]), 0.5)
    array([-0.5,  2. ])
    """
    (x,) = arrays(input)
    return written(x, inplace, np.where(x > 0, x, negative_slope * x))


def prelu(input: Any, weight: Any) -> Any:
    """Return `x` where positive, `weight * x` elsewhere, with one weight, or one for each place along axis 1 (He et al., 2015).

    Another number of weights is a ShapeError (a RuntimeError).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.prelu(np.array([[-1.0, -1.0]]), np.array([0.5, 0.25]))
    array([[-0.5 , -0.25]])
    """
    x, weight = arrays(input, weight)
    if np.size(weight) != 1:
        channels = np.shape(x)[1] if np.ndim(x) > 1 else 1
        if np.size(weight) != channels:
            raise ShapeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {np.size(weight)} "
                f"and channel size = {channels}. Give one weight, or one for each channel."
            )
        weight = np.reshape(weight, (channels, *(1,) * (np.ndim(x) - 2)))
    return np.where(x > 0, x, weight * x)


def rrelu(
    input: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, inplace: bool = False, *,
    generator: Any = None,
) -> Any:  # fmt: skip
    """Apply `leaky_relu` of the slope `(lower + upper) / 2`; while `training`, of one drawn between the two for each element.

    Drawn is as for `dropout`, from `generator` or gradscribe's own. Bounds the other way round are a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.rrelu(np.array([-1.0, 2.0]), 0.2, 0.4)
    array([-0.3,  2. ])
    """
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound: they are {lower} and {upper}")
    if training:
        (x,) = arrays(input)
        slope = generator_of(generator).uniform(lower, upper, np.shape(x)).astype(x.dtype)
        return written(x, inplace, np.where(x > 0, x, slope * x))
    return leaky_relu(input, (lower + upper) / 2, inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Return `x` where it is positive, `alpha * (exp(x) - 1)` elsewhere (Clevert, Unterthiner and Hochreiter, 2016).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.elu(np.array([-1000.0, 2.0]))
    array([-1.,  2.])
    """
    (x,) = arrays(input)
    return written(x, inplace, _bent(x, alpha, 1.0, 1.0))


def selu(input: Any, inplace: bool = False) -> Any:
    """Apply `elu` with the `alpha` and the scale that keep mean 0 and variance 1 (Klambauer et al., 2017).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.selu(np.array([0.0, 1.0]))
    array([0.        , 1.05070099])
    """
    (x,) = arrays(input)
    return written(x, inplace, _bent(x, SELU_ALPHA * SELU_SCALE, 1.0, SELU_SCALE))


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Return `x` where it is positive, `alpha * (exp(x / alpha) - 1)` elsewhere (Barron, 2017).

    An `alpha` of 0 is a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.celu(np.array([-1000.0, 2.0]), 0.5)
    array([-0.5,  2. ])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU: choose another number")
    (x,) = arrays(input)
    return written(x, inplace, _bent(x, alpha, 1 / alpha, 1.0))


def _bent(x: Any, alpha: float, within: float, scale: float) -> Any:
    """`scale * x` where it is positive, `alpha * expm1(within * x)` elsewhere."""
    if alpha == within == scale == 1:
        return _elu(x)
    falling = alpha * _elu(x if within == 1 else within * x)
    return np.where(x > 0, x if scale == 1 else scale * x, falling)


def gelu(input: Any, approximate: str = "none") -> Any:
    """Return `x` times the normal distribution's cumulative probability of it (Hendrycks and Gimpel, 2016).

    That needs SciPy. `approximate="tanh"` is their formula without it; another word is a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.gelu(np.array([-1.0, 0.0, 1.0]))
    array([-0.15865525,  0.        ,  0.84134475])
    """
    (x,) = arrays(input)
    if approximate == "tanh":
        return 0.5 * x * (1.0 + np.tanh(ROOT_2_OVER_PI * x * (1.0 + 0.044715 * x**2)))
    if approximate != "none":
        raise RuntimeError(f"approximate argument must be either none or tanh. It is {approximate!r}.")
    from scipy.special import ndtr

    share = ndtr(x)
    return x * (share.astype(x.dtype) if x.dtype == np.float16 else share)  # SciPy's is float64 there


def silu(input: Any, inplace: bool = False) -> Any:
    """Return `x * sigmoid(x)`, which is also called swish (Elfwing, Uchibe and Doya, 2018).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.silu(np.array([-1000.0, 0.0, 1000.0]))
    array([  -0.,    0., 1000.])
    """
    (x,) = arrays(input)
    return written(x, inplace, x * _sigmoid(x))


def mish(input: Any, inplace: bool = False) -> Any:
    """Return `x * tanh(softplus(x))` (Misra 2019).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.mish(np.array([0.0, 1.0]))
    array([0.        , 0.86509839])
    """
    (x,) = arrays(input)
    return written(x, inplace, x * np.tanh(_softplus(x)))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Return `log(1 + exp(beta * x)) / beta`, a smooth `relu`; `x` itself where `beta * x` is above `threshold`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.softplus(np.array([-1000.0, 0.0, 1000.0]))
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    """
    (x,) = arrays(input)
    z = x if beta == 1 else beta * x
    found = _softplus(z)
    return np.where(z > threshold, x, found if beta == 1 else found / beta)


def softsign(input: Any) -> Any:
    """Return `x / (1 + abs(x))`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.softsign(np.array([-1.0, 3.0]))
    array([-0.5 ,  0.75])
    """
    (x,) = arrays(input)
    return x / (1 + np.abs(x))


def sigmoid(input: Any) -> Any:
    """Return `1 / (1 + exp(-x))`, without an overflow, and right to the last places in either tail.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.sigmoid(np.array([-1000.0, -40.0, 0.0]))
    array([0.00000000e+00, 4.24835426e-18, 5.00000000e-01])
    """
    (x,) = arrays(input)
    return _sigmoid(x)


def logsigmoid(input: Any) -> Any:
    """Return `log(sigmoid(x))`, which is `-softplus(-x)`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.logsigmoid(np.array([-1000.0, 0.0]))
    array([-1.00000000e+03, -6.93147181e-01])
    """
    (x,) = arrays(input)
    return -_softplus(-x)


def tanh(input: Any) -> Any:
    """Return `np.tanh(x)`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.tanh(np.array([0.0, 1000.0]))
    array([0., 1.])
    """
    return np.tanh(input)


def tanhshrink(input: Any) -> Any:
    """Return `x - tanh(x)`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.tanhshrink(np.array([0.0, 1000.0]))
    array([  0., 999.])
    """
    (x,) = arrays(input)
    return x - np.tanh(x)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Return `x` between two bounds; on them and beyond, the bound, of slope 0.

    A lower bound above the upper one is a ValueError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.hardtanh(np.array([-3.0, 0.5, 3.0]))
    array([-1. ,  0.5,  1. ])
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val: they are {min_val} and {max_val}")
    (x,) = arrays(input)
    return written(x, inplace, np.where(x <= min_val, min_val, np.where(x >= max_val, max_val, x)))


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """Return `relu6(x + 3) / 6`: straight lines for the sigmoid.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.hardsigmoid(np.array([-4.0, 0.0, 4.0]))
    array([0. , 0.5, 1. ])
    """
    (x,) = arrays(input)
    return written(x, inplace, relu6(x + 3) / 6)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """Return `x * hardsigmoid(x)` (Howard et al. 2019).

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.hardswish(np.array([-4.0, 1.5, 4.0]))
    array([-0.   ,  1.125,  4.   ])
    """
    (x,) = arrays(input)
    return written(x, inplace, x * relu6(x + 3) / 6)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """Move `x` nearer to 0 by `lambd`; to 0 where it is nearer already.

    A negative `lambd` is a RuntimeError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.softshrink(np.array([-2.0, 0.25, 2.0]))
    array([-1.5,  0. ,  1.5])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be in range [0, inf], but found {lambd}")
    (x,) = arrays(input)
    return x - np.clip(x, -lambd, lambd)


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """Return `x`, but 0 from `-lambd` to `lambd`.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.hardshrink(np.array([-2.0, 0.25, 2.0]))
    array([-2.,  0.,  2.])
    """
    (x,) = arrays(input)
    return np.where((x >= -lambd) & (x <= lambd), 0, x)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """Return `x` where it is above `threshold`, `value` elsewhere.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.threshold(np.array([0.0, 2.0]), 1.0, -5.0)
    array([-5.,  2.])
    """
    (x,) = arrays(input)
    return written(x, inplace, np.where(x <= threshold, value, x))


def glu(input: Any, dim: int = -1) -> Any:
    """Return the first half along `dim`, times the sigmoid of the second (Dauphin et al., 2017).

    An odd length is a RuntimeError. A `dim` that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.glu(np.array([2.0, 4.0, 0.0, 1000.0]))
    array([1., 4.])
    """
    (x,) = arrays(input)
    if not np.ndim(x):
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = axis_of(x, dim)
    if np.shape(x)[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {np.shape(x)[axis]}")
    first, second = np.split(x, 2, axis)
    return first * _sigmoid(second)


def _in_place(function: Callable[..., Any], shown: str, options: str = "") -> Callable[..., Any]:
    """A function with `inplace=True`, under its name with an underscore; `shown` is what its example gives."""
    name = f"{function.__name__}_"

    def written(input: Any, *options: Any, **named: Any) -> Any:
        return function(input, *options, **named, inplace=True)

    written.__name__ = written.__qualname__ = name
    written.__doc__ = (
        f"Write `{function.__name__}(input, ...)` into the memory of `input`, and return that.\n\n"
        "Options and errors are the same. A leaf that requires a gradient raises AutogradError (a\n"
        "RuntimeError), as every write into it does.\n\n"
        ">>> import numpy as np, gradscribe as gs\n"
        ">>> x = np.array([-1.0, 2.0])\n"
        f">>> gs.functional.{name}(x{options}) is x, x.round(4)\n"
        f"(True, array({shown}))\n"
    )
    return written


celu_: Callable[..., Any] = _in_place(celu, "[-0.6321,  2.    ]")
elu_: Callable[..., Any] = _in_place(elu, "[-0.6321,  2.    ]")
hardtanh_: Callable[..., Any] = _in_place(hardtanh, "[-1.,  1.]")
leaky_relu_: Callable[..., Any] = _in_place(leaky_relu, "[-0.01,  2.  ]")
relu_: Callable[..., Any] = _in_place(relu, "[0., 2.]")
rrelu_: Callable[..., Any] = _in_place(rrelu, "[-0.2292,  2.    ]")
selu_: Callable[..., Any] = _in_place(selu, "[-1.1113,  2.1014]")
threshold_: Callable[..., Any] = _in_place(threshold, "[0., 2.]", ", 0.5, 0.0")
