"""PyTorch and JAX under NumPy's names, as far as fuzzing.py's pure programs use them: values and gradients by each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PEERS"]


def _jax() -> Callable[[Any], Any]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")

    def slopes(program: Any) -> Any:
        f = program.function(np=jnp)
        try:
            value, found = jax.value_and_grad(f, argnums=(0, 1))(*program.inputs)
            return value, [np.asarray(g) for g in found]
        except (TypeError, IndexError, ValueError):
            return None  # what JAX does not take as NumPy does, such as an axis of a number

    return slopes


def _torch() -> Callable[[Any], Any]:
    import torch

    def axes(call: Callable[..., Any], empty: Callable[..., Any]) -> Callable[..., Any]:
        def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return empty(x) if axis is None else call(x, dim=axis, keepdim=keepdims)

        return staticmethod(reduce)

    def tensor(x: Any) -> Any:
        return x if isinstance(x, torch.Tensor) else torch.as_tensor(x, dtype=torch.float64)

    def both(call: Callable[..., Any]) -> Callable[..., Any]:
        return staticmethod(lambda x, y: call(tensor(x), tensor(y)))

    class Names:
        """The functions of NumPy that pure programs call, by PyTorch."""

        sum, mean = axes(torch.sum, torch.sum), axes(torch.mean, torch.mean)
        max, min = axes(torch.amax, torch.amax), axes(torch.amin, torch.amin)
        prod = axes(torch.prod, torch.prod)
        maximum, minimum, power = both(torch.maximum), both(torch.minimum), both(torch.pow)
        hypot, logaddexp, arctan2 = both(torch.hypot), both(torch.logaddexp), both(torch.atan2)
        arctan = staticmethod(torch.atan)

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

        def var(self, x: Any) -> Any:
            return torch.var(x, correction=0)

        def std(self, x: Any) -> Any:
            return torch.std(x, correction=0)

        def cumsum(self, x: Any, axis: int) -> Any:
            return torch.cumsum(x, axis)

        def where(self, c: Any, x: Any, y: Any) -> Any:
            return torch.where(c, tensor(x), tensor(y))

        def clip(self, x: Any, low: float, high: float) -> Any:
            return torch.clamp(x, low, high)

        def concatenate(self, xs: Any, axis: int = 0) -> Any:
            return torch.cat(xs, axis)

        def transpose(self, x: Any) -> Any:
            return x.permute(*reversed(range(x.ndim)))

        def expand_dims(self, x: Any, axis: int) -> Any:
            return x.unsqueeze(axis)

        def flip(self, x: Any, axis: int) -> Any:
            return torch.flip(x, (axis,))

        def roll(self, x: Any, shift: int, axis: int) -> Any:
            return torch.roll(x, shift, axis)

        def sort(self, x: Any, axis: int) -> Any:
            return torch.sort(x, axis, stable=True).values

        def split(self, x: Any, cuts: Any) -> Any:
            return torch.tensor_split(x, cuts)

        def tile(self, x: Any, n: int) -> Any:
            return torch.tile(x, (n,))

        def dot(self, x: Any, y: Any) -> Any:
            return x @ y if x.ndim and y.ndim else x * y

        def tensordot(self, x: Any, y: Any, n: int) -> Any:
            return torch.tensordot(x, y, n)

        def outer(self, x: Any, y: Any) -> Any:
            return torch.outer(x.reshape(-1), y.reshape(-1))

        def arange(self, n: float) -> Any:
            return torch.arange(n, dtype=torch.float64)

        def eye(self, n: int) -> Any:
            return torch.eye(n, dtype=torch.float64)

        def array(self, x: Any) -> Any:
            made = torch.tensor(x)
            return made.double() if made.is_floating_point() else made

        def swapaxes(self, x: Any, a: int, b: int) -> Any:
            return torch.swapaxes(x, a, b)

    names = Names()

    def slopes(program: Any) -> Any:
        inputs = [torch.tensor(x, requires_grad=True) for x in program.inputs]
        try:
            out = program.function(np=names)(*inputs)
        except (RuntimeError, TypeError, IndexError, ValueError):
            return None  # what PyTorch's methods do not take as NumPy's do, such as `.T` of three axes
        if not out.requires_grad:
            return out.item(), [np.zeros(x.shape) for x in inputs]
        found = torch.autograd.grad(out, inputs, allow_unused=True)
        slopes = [np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(found, inputs, strict=True)]
        return out.item(), slopes

    return slopes


PEERS: dict[str, Callable[[], Callable[[Any], Any]]] = {"jax": _jax, "torch": _torch}
