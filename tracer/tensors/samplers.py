"""Constructors of random Tensors: `gs.rand`, `gs.randn`, `gs.randint` and their like, by gradscribe's generator."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..core.count import size_of
from ..core.tensor_base import Operand
from ..core.thread_state import LOCAL
from ..random.generator import generator as _generator
from .constructors import finished
from .legacy import stochastic

__all__ = ["normal", "rand", "rand_like", "randint", "randn", "randn_like", "randperm"]


def rand(
    *size_args: Any, size: Any = None, generator: Any = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A Tensor of numbers drawn evenly from [0, 1): those of `generator.random`.

    `generator` is a `np.random.Generator`, by default gradscribe's own (`gs.default_generator`, which `gs.manual_seed` starts
    anew). float32 and float64 are drawn as such, other dtypes are cast from float64.

    >>> import gradscribe as gs
    >>> _ = gs.manual_seed(0)
    >>> gs.rand(2)
    tensor([0.6370, 0.2698])
    """
    return _drawn("random", size_of(size_args, size), generator, dtype, device, requires_grad)


def randn(
    *size_args: Any, size: Any = None, generator: Any = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A Tensor of numbers drawn from the standard normal distribution: those of `generator.standard_normal`.

    >>> import gradscribe as gs
    >>> _ = gs.manual_seed(0)
    >>> gs.randn(2)
    tensor([ 0.1257, -0.1321])
    """
    return _drawn("standard_normal", size_of(size_args, size), generator, dtype, device, requires_grad)


def rand_like(
    input: Any, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`gs.rand` of the shape and, unless `dtype` is given, of the dtype of `input`.

    >>> import gradscribe as gs
    >>> gs.rand_like(gs.zeros(2, 3)).shape
    (2, 3)
    """
    return _drawn("random", input.shape, generator, dtype or input.dtype, device, requires_grad)


def randn_like(
    input: Any, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """`gs.randn` of the shape and, unless `dtype` is given, of the dtype of `input`.

    >>> import gradscribe as gs
    >>> gs.randn_like(gs.zeros(2, 3)).shape
    (2, 3)
    """
    return _drawn("standard_normal", input.shape, generator, dtype or input.dtype, device, requires_grad)


def _drawn(how: str, shape: Any, generator: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    draw = getattr(_generator(generator), how)
    kind = np.dtype(float if dtype is None else dtype)
    if kind.kind not in "fc":
        raise TypeError(f"random numbers that are not whole do not fit {kind}: draw floats, or gs.randint")
    made = draw(shape, dtype=kind) if kind == np.float32 else draw(shape)
    return finished(made, requires_grad, device, kind)


def randint(
    low: int = 0, high: Any = None, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Whole numbers drawn evenly from low, ..., high - 1; `gs.randint(high, size)` draws from 0 on.

    >>> import gradscribe as gs
    >>> _ = gs.manual_seed(0)
    >>> gs.randint(10, (4,)), gs.randint(5, 10, (2,))
    (tensor([8, 6, 5, 2]), tensor([6, 5]))
    """
    if size is None or high is None:
        low, high, size = 0, low, high if size is None else size
    return finished(_generator(generator).integers(low, high, size), requires_grad, device, dtype)


def randperm(
    n: int, *, generator: Any = None, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """0, ..., n - 1 in random order.

    >>> import gradscribe as gs
    >>> _ = gs.manual_seed(0)
    >>> gs.randperm(4)
    tensor([2, 0, 1, 3])
    """
    return finished(_generator(generator).permutation(n), requires_grad, device, dtype)


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Numbers drawn from normal distributions of the given means and standard deviations, each a number or a Tensor.

    Nothing leads back to `mean` and `std` by the value (for that, write `mean + std * gs.randn(size)`); where they require
    grad, the sample is a stochastic node, to which `reinforce` tells a reward (docs/older-api.md).

    >>> import gradscribe as gs
    >>> gs.normal(0.0, gs.tensor([1.0, 2.0])).shape
    (2,)
    """
    if LOCAL.grad and any(isinstance(v, Operand) and v._node is not None for v in (mean, std)):
        plain = size is None and dtype is None and device is None and not requires_grad
        return stochastic("drawn_normal")(mean, std, generator, plain)
    if not isinstance(mean, Operand) and not isinstance(std, Operand):
        return finished(_generator(generator).normal(mean, std, size), requires_grad, device, dtype)
    if size is None:
        size = np.broadcast_shapes(np.shape(mean), np.shape(std))
    kinds = [v.dtype for v in (mean, std) if hasattr(v, "dtype")]
    noise = finished(_generator(generator).standard_normal(size), False, dtype=np.result_type(np.float16, *kinds))
    mean, std = [v.detach() if isinstance(v, Operand) else v for v in (mean, std)]
    return finished(mean + std * noise, requires_grad, device, dtype)
