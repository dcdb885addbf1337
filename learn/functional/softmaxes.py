"""Softmax and its kin along an axis, none of which overflows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...runtime.rules import softmaxes as rules
from ...tracer.random.generator import generator as generator_of
from .shared import arrays, axis_of, constant, counted

__all__ = ["gumbel_softmax", "log_softmax", "logsumexp", "softmax", "softmin"]


def softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """Return `exp(x) / sum(exp(x))` along `dim`: positive numbers that sum to one.

    `dtype` is what the input is cast to before. An axis that does not exist is an IndexError. Without `dim` PyTorch's
    old choice is made, with its warning.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.softmax(np.array([0.0, np.log(3.0), -1000.0]), dim=0)
    array([0.25, 0.75, 0.  ])
    """
    return _along(rules.softmax, "softmax", input, dim, dtype)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """Return `x - log(sum(exp(x)))` along `dim`: the logarithm of `softmax`, exact where that is nearly zero.

    A `dim` that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.log_softmax(np.array([0.0, 1000.0]), dim=0)
    array([-1000.,     0.])
    """
    return _along(rules.log_softmax, "log_softmax", input, dim, dtype)


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """Return `softmax(-x)` along `dim`.

    A `dim` that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.softmin(np.array([0.0, np.log(3.0)]), dim=0)
    array([0.75, 0.25])
    """
    return _along(lambda x, axis: rules.softmax(-x, axis), "softmin", input, dim, dtype)


def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, generator: Any = None
) -> Any:
    """Return the softmax of logits over `tau`, to which Gumbel noise is added: nearly one class, drawn by its probability.

    With `hard` the result is exactly one, and its derivative that of the soft one (Jang, Gu and Poole, arXiv:1611.01144).
    Drawn is as for `dropout`; `eps` has no effect, as PyTorch's warning says. A `dim` that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.gumbel_softmax(np.zeros((2, 3)), hard=True, generator=np.random.default_rng(0))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    (x,) = arrays(logits)
    axis = axis_of(x, dim)
    noise = -np.log(generator_of(generator).exponential(size=np.shape(x))).astype(x.dtype)
    soft = rules.softmax((x + noise) / tau, axis)
    if not hard:
        return soft
    most = np.argmax(soft, axis=axis, keepdims=True)
    numbers = counted(most, np.shape(x)[axis])
    one = np.reshape(numbers, (-1, *(1,) * (np.ndim(x) - 1 - axis))) == most
    return one.astype(x.dtype) - constant(soft) + soft


def _along(function: Any, name: str, input: Any, dim: int | None, dtype: Any) -> Any:
    (x,) = arrays(input)
    if dim is None:
        dim = 0 if np.ndim(x) in (0, 1, 3) else 1
        warnings.warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
            stacklevel=3,
        )
    if dtype is not None:
        x = x.astype(dtype)
    axis = axis_of(x, dim)
    return function(x, axis) if np.ndim(x) else np.reshape(function(np.reshape(x, (1,)), axis), ())


def logsumexp(input: Any, dim: int | tuple[int, ...], keepdim: bool = False) -> Any:
    """Return `log(sum(exp(x)))` along `dim`, one axis or several; of nothing but -inf it is -inf.

    A `dim` that does not exist is an IndexError.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.logsumexp(np.array([[1000.0, 1000.0], [-np.inf, -np.inf]]), dim=1)
    array([1000.69314718,          -inf])
    """
    (x,) = arrays(input)
    if not np.ndim(x):
        axis_of(x, dim if isinstance(dim, int) else 0)
        return x
    axis = tuple([axis_of(x, d) for d in dim]) if isinstance(dim, tuple) else axis_of(x, dim)
    found = rules.logsumexp(x, axis)
    return found if keepdim else np.squeeze(found, axis)
