"""Casts of one number: `float(x)`, `complex(x)`, and `np.float64(x)`, which makes one of Python's NumPy's."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall
from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import batching, op, rule

__all__ = ["SCALARS"]

op(float, "x", Kind.linear, path="float", title="Float", memory=NEW)  # a Python number, and so weak
rule(float, x=lambda g: g)


@batching(float)
def batched_float(call: BatchedCall) -> Any:
    """A double for each example."""
    return call["x"] if call["x"].dtype == np.float64 else call["x"].astype(np.float64)


op(complex, "real, imag=0", Kind.opaque, path="complex", title="Complex", memory=NEW)
rule(complex, real=lambda g: g, imag=lambda g: g * 1j)  # the engine casts both to what their arguments are


@batching(complex)
def batched_complex(call: BatchedCall) -> Any:
    """A complex number of double precision for each example."""
    return call["real"].astype(np.complex128) if call["imag"] is None else call["real"] + call["imag"] * 1j


for _cls in (np.float64, np.complex128):  # narrower ones, and integers, are these as another dtype
    op(_cls, "x", Kind.linear, path=f"np.{_cls.__name__}", title=_cls.__name__.capitalize(), memory=MAY)
    rule(_cls, x=lambda g: g)


@batching(np.float64, np.complex128)
def batched_scalar(call: BatchedCall) -> Any:
    """A scalar of a type of NumPy's for each example."""
    cls: Any = call.op.fn
    return call["x"].astype(np.dtype(cls))


SCALARS: tuple[Any, ...] = tuple(
    dict.fromkeys(
        (
            np.float16, np.float32, np.float64, np.complex64, np.complex128, np.int8, np.int16, np.int32, np.int64, np.uint8,
            np.uint16, np.uint32, np.uint64, np.intp, np.intc, np.bool_,
        )
    )
)  # fmt: skip
