"""Exchange of arrays with other libraries: `__array__`, DLPack, and the array API standard's namespace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...runtime.arrays import as_numpys, is_cupys
from ...runtime.registry import require
from ...runtime.rules.support import NUMPY
from ...unpatched import np
from ..core.dispatch import apply
from ..core.exits import leave
from ..core.tensor_base import Operand, wrap

__all__ = ["Exchange", "from_dlpack", "literal", "on_cpu"]


if TYPE_CHECKING:
    _Base = object  # Operand has a __getattr__ for checkers, with which every name of a Tensor would pass
else:
    _Base = Operand


_NO_NUMBERS = np.array(None, dtype=object)  # by which SciPy's sparse matrices leave a product to the other operand


class Exchange(_Base):
    """The protocols of Tensor by which other libraries get at the array."""

    __slots__ = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        asking = sys._getframe(1)
        if asking.f_code.co_name == "_matmul_dispatch" and asking.f_globals["__name__"].startswith("scipy.sparse"):
            return _NO_NUMBERS  # it then asks this class
        value = leave(self, "array")
        array = value if isinstance(value, np.ndarray) else as_numpys(value)
        if dtype is None or array.dtype == dtype:
            return np.array(array) if copy else array
        if copy is False:
            raise ValueError(
                f"a copy is needed to make {np.dtype(dtype)} of this Tensor of {array.dtype}: leave copy=False out"
            )
        return np.array(array, dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return leave(self, "dlpack").__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    @property
    def device(self) -> Any:
        """Where the elements are: on the CPU, or the device that CuPy says."""
        value: Any = self._value  # type: ignore[attr-defined]
        return value.device if is_cupys(value) else "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """This tensor, where it is: ValueError unless `device` is "cpu"."""
        if device != self.device or stream is not None:
            raise ValueError(
                f"a Tensor lies on the device {str(self.device)!r}, not on {device!r}"
                f"{'' if stream is None else ' in a stream'}, and nothing is copied between devices unasked "
                "(cupy.asarray(x) and x.get() are the ways)"
            )
        return self


def literal(data: Any, array: np.ndarray[Any, Any]) -> Any:
    """The Tensor of numbers that stand in the code, while it is captured: where they are from is known."""
    if isinstance(data, np.ndarray):
        return wrap(array)
    return apply(require(np.array), (data,), {"dtype": array.dtype})


def on_cpu(device: Any) -> None:
    """ValueError where another device than the CPU is asked for."""
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise ValueError(f"a Tensor lies on the device 'cpu', not on {device!r}")


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Any:
    """A Tensor on the memory of another library's array, by the DLPack protocol: nothing is copied unless `copy=True`.

    `x` is anything with `__dlpack__` on the CPU, a PyTorch tensor for example; what is written to the one is seen in the
    other. The way back is `torch.from_dlpack(t.detach())`. Raises BufferError where the array is not on the CPU, where a copy
    would be needed and `copy=False`, or where its own library refuses (a PyTorch tensor that requires grad).

    >>> import numpy as np, gradscribe as gs
    >>> gs.from_dlpack(np.array([1.0, 2.0]))
    tensor([1., 2.])
    """
    if isinstance(x, Operand):
        value = leave(x, "dlpack")
        return wrap(np.array(value) if copy else value)
    on_cpu(device)
    try:
        array = np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:
        raise BufferError(str(error)) from None
    if copy:
        return wrap(np.array(array))
    return wrap(array if array.flags.writeable or _KNOWS_READ_ONLY else np.asarray(_Writable(array)))


_KNOWS_READ_ONLY = NUMPY >= (2, 1)


class _Writable:
    """Memory that NumPy 2.0 takes for read-only, as it does all of DLPack's; what is read-only is not exported there."""

    def __init__(self, array: Any) -> None:
        self.array = array  # which keeps the memory alive
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}
