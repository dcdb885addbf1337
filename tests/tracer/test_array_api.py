"""The array API standard (2023.12): every function of its namespace is there, takes Tensors and gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

T = gs.tensor([[3.0, 1.0], [2.0, 4.0]])
V, I = gs.tensor([1.0, 2.0, 3.0]), gs.tensor([[3, 1], [2, 4]])
S = gs.tensor([[0.5, 0.1], [-0.2, 0.4]])
POSITIVE = T @ T.mT
XP = T.__array_namespace__(api_version="2023.12")

CONSTANTS = (
    "e", "inf", "nan", "newaxis", "pi", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip
CALLS: dict[str, Callable[[], Any]] = {
    # creation
    "arange": lambda: XP.arange(3), "asarray": lambda: XP.asarray([1.0, 2.0]), "empty": lambda: XP.empty((2,)),
    "empty_like": lambda: XP.empty_like(T), "eye": lambda: XP.eye(2), "from_dlpack": lambda: XP.from_dlpack(T),
    "full": lambda: XP.full((2,), 1.0), "full_like": lambda: XP.full_like(T, 2.0),
    "linspace": lambda: XP.linspace(0, 1, 3), "meshgrid": lambda: XP.meshgrid(V, V), "ones": lambda: XP.ones((2,)),
    "ones_like": lambda: XP.ones_like(T), "tril": lambda: XP.tril(T), "triu": lambda: XP.triu(T),
    "zeros": lambda: XP.zeros((2,)), "zeros_like": lambda: XP.zeros_like(T),
    # data types
    "astype": lambda: XP.astype(T, XP.float32), "broadcast_arrays": lambda: XP.broadcast_arrays(T, V[:2]),
    "broadcast_to": lambda: XP.broadcast_to(V, (2, 3)), "can_cast": lambda: XP.can_cast(T, XP.float32),
    "finfo": lambda: XP.finfo(T.dtype), "iinfo": lambda: XP.iinfo(I.dtype),
    "isdtype": lambda: XP.isdtype(T.dtype, "real floating"), "result_type": lambda: XP.result_type(T, I),
    # of two arrays, or with other arguments
    "bitwise_invert": lambda: XP.bitwise_invert(I), "clip": lambda: XP.clip(T, 1.5, 2.5), "acosh": lambda: XP.acosh(T),
    "take": lambda: XP.take(T, gs.tensor([0, 1]), axis=0), "concat": lambda: XP.concat([T, T]),
    "expand_dims": lambda: XP.expand_dims(T, axis=0), "flip": lambda: XP.flip(T), "moveaxis": lambda: XP.moveaxis(T, 0, 1),
    "permute_dims": lambda: XP.permute_dims(T, (1, 0)), "repeat": lambda: XP.repeat(T, 2),
    "reshape": lambda: XP.reshape(T, (4,)), "roll": lambda: XP.roll(T, 1), "stack": lambda: XP.stack([T, T]),
    "tile": lambda: XP.tile(T, (2, 1)), "unstack": lambda: XP.unstack(T), "squeeze": lambda: XP.squeeze(T[:1], axis=0),
    "searchsorted": lambda: XP.searchsorted(V, V), "where": lambda: XP.where(T > 2, T, 0.0),
    "cumulative_sum": lambda: XP.cumulative_sum(V, include_initial=True), "atan2": lambda: XP.atan2(T, T),
    "linalg.cross": lambda: XP.linalg.cross(V, V), "linalg.matrix_power": lambda: XP.linalg.matrix_power(T, 2),
    "linalg.outer": lambda: XP.linalg.outer(V, V), "linalg.solve": lambda: XP.linalg.solve(T, T),
    "linalg.tensordot": lambda: XP.linalg.tensordot(T, T), "linalg.vecdot": lambda: XP.linalg.vecdot(V, V),
    "linalg.matmul": lambda: XP.linalg.matmul(T, T), "linalg.vector_norm": lambda: XP.linalg.vector_norm(V),
    "fft.fftfreq": lambda: XP.fft.fftfreq(3), "fft.rfftfreq": lambda: XP.fft.rfftfreq(3),
}  # fmt: skip
ONE = (
    "abs acos asin asinh atan atanh ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p log2 log10 "
    "logical_not negative positive real round sign signbit sin sinh square sqrt tan tanh trunc matrix_transpose argmax argmin "
    "nonzero unique_all unique_counts unique_inverse unique_values argsort sort max mean min prod std sum var all any"
)
TWO = (
    "add copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or "
    "logical_xor maximum minimum multiply not_equal pow remainder subtract matmul vecdot tensordot"
)
WHOLE = "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor"
LINALG = (
    "cholesky det diagonal eigh eigvalsh inv matrix_norm matrix_rank matrix_transpose pinv qr slogdet svd svdvals trace"
)
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftshift ifftshift"


def _call(name: str, *args: Any) -> Callable[[], Any]:
    owner, _, last = name.rpartition(".")
    return lambda: getattr(getattr(XP, owner) if owner else XP, last)(*args)


CALLS |= {n: _call(n, S if n in ("acos", "asin", "atanh") else T) for n in ONE.split()}
CALLS |= {n: _call(n, T, T) for n in TWO.split()} | {n: _call(n, I, I) for n in WHOLE.split()}
CALLS |= {f"linalg.{n}": _call(f"linalg.{n}", POSITIVE) for n in LINALG.split()}
CALLS |= {f"fft.{n}": _call(f"fft.{n}", V) for n in FFT.split()}
NO_ARRAYS = ("can_cast", "finfo", "iinfo", "isdtype", "result_type")
METHODS = (
    "__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__ "
    "__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ "
    "__ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device dtype device mT ndim "
    "shape size T __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ __imod__ __imatmul__ __iand__ __ior__ "
    "__ixor__ __ilshift__ __irshift__ __radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rpow__ __rmod__ __rmatmul__ "
    "__rand__ __ror__ __rxor__ __rlshift__ __rrshift__"
)


def parts(found: Any) -> list[Any]:
    return [p for part in found for p in parts(part)] if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("name", CALLS)
def test_every_function_takes_tensors_and_gives_tensors(name: str) -> None:
    found = CALLS[name]()
    assert all(isinstance(p, gs.Tensor) for p in parts(found)) is (name not in NO_ARRAYS), type(found)


@pytest.mark.parametrize("name", sorted(n for n in CALLS if n in [*ONE.split(), *TWO.split()]))
def test_the_values_are_numpys(name: str) -> None:
    args = [S if name in ("acos", "asin", "atanh") else T] * (1 + (name in TWO.split()))
    expected = getattr(np, name)(*[a.numpy() for a in args])
    for a, b in zip(parts(CALLS[name]()), parts(expected), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
        assert a.dtype == b.dtype


def test_it_is_all_there() -> None:
    assert all(hasattr(XP, name) for name in CONSTANTS)
    assert [m for m in METHODS.split() if not hasattr(T, m)] == []
    assert len(CALLS) > 150
    if hasattr(np, "__array_namespace_info__"):  # from NumPy 2.1
        assert XP.__array_namespace_info__().default_device() == "cpu"
    assert T.__array_namespace__() is XP
    with pytest.raises(ValueError, match=r"not '1999\.01'"):
        T.__array_namespace__(api_version="1999.01")
    with pytest.raises(AttributeError):
        XP.nothing_of_the_kind


def test_a_function_written_for_the_standard_is_differentiated() -> None:
    def softplus(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.sum(xp.where(x > 0, x, xp.zeros_like(x)) + xp.log1p(xp.exp(-xp.abs(x))) * xp.asarray([1.0, 2.0]))

    t = gs.tensor([0.5, -1.0], requires_grad=True)
    softplus(t).backward()
    weights = np.array([1.0, 2.0])
    slope = lambda x: np.where(x > 0, 1.0, 0.0) - weights * np.sign(x) / (1 + np.exp(np.abs(x)))
    np.testing.assert_allclose(t.grad.numpy(), slope(np.array([0.5, -1.0])), rtol=1e-15)


def test_asarray() -> None:
    assert XP.asarray(T) is T
    assert XP.asarray(T, copy=True) is not T
    assert XP.asarray(T, dtype=XP.float32).dtype == np.float32
    with pytest.raises(ValueError, match="a copy is needed"):
        XP.asarray(T, dtype=XP.float32, copy=False)
    a = np.ones(2)
    assert np.shares_memory(XP.asarray(a).numpy(), a)
