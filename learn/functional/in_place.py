"""Activations that write into their input, by PyTorch's names: those with an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import activations

__all__ = ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "rrelu_", "selu_", "threshold_"]


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with `inplace=True`, under its name with an underscore."""

    def written(input: Any, *options: Any, **named: Any) -> Any:
        return function(input, *options, **named, inplace=True)

    written.__name__ = written.__qualname__ = f"{function.__name__}_"
    written.__doc__ = f"`{function.__name__}(input, ..., inplace=True)`, of the same options."
    return written


celu_ = _in_place(activations.celu)
elu_ = _in_place(activations.elu)
hardtanh_ = _in_place(activations.hardtanh)
leaky_relu_ = _in_place(activations.leaky_relu)
relu_ = _in_place(activations.relu)
rrelu_ = _in_place(activations.rrelu)
selu_ = _in_place(activations.selu)
threshold_ = _in_place(activations.threshold)
