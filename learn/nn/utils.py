"""Gradients kept within bounds before a step, by the names of torch.nn.utils."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...runtime.errors import AutogradError
from ...tracer import Tensor, tensor
from ...tracer.core.thread_state import no_grad

__all__ = ["clip_grad_norm_", "clip_grad_value_"]


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:  # fmt: skip
    """Scale all gradients, in place and together, so that their norm is at most `max_norm`; the norm before, a 0-d Tensor.

    `parameters` are Tensors with `.grad` or one of them. With `error_if_nonfinite` a norm that is NaN or infinite raises
    AutogradError (a RuntimeError). `foreach` says how PyTorch is to run it, and changes nothing here.

    >>> import numpy as np, gradscribe as gs
    >>> w = gs.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> gs.nn.utils.clip_grad_norm_([w], max_norm=5.0), np.round(w.grad.numpy(), 3)
    (tensor(10.), array([3., 4.]))
    """
    grads = _gradients(parameters)
    norms = [np.linalg.norm(g.detach().numpy().ravel(), float(norm_type)) for g in grads]
    norm = np.linalg.norm(norms, float(norm_type)) if norms else np.float64(0.0)
    if error_if_nonfinite and not np.isfinite(norm):
        raise AutogradError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "Set error_if_nonfinite=False to scale by it all the same."
        )
    factor = np.minimum(max_norm / (norm + 1e-6), 1.0)  # PyTorch's, which keeps off a division by zero
    with no_grad():
        for g in grads:
            g.mul_(float(factor))
    return tensor(norm)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Cut each element of each gradient off at `clip_value` and `-clip_value`, in place.

    >>> import gradscribe as gs
    >>> w = gs.tensor([3.0, 0.25], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> gs.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad.tolist()
    [1.0, 0.5]
    """
    with no_grad():
        for g in _gradients(parameters):
            g.clamp_(-clip_value, clip_value)


def _gradients(parameters: Any) -> list[Any]:
    given: Iterable[Any] = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in given if p.grad is not None]
