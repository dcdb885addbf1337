"""Casts of one number: `float(x)`, `complex(x)`, and `np.float64(x)`, which makes one of Python's NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..memory import MAY, NEW
from ..ops import Kind
from ..registry import op, rule

__all__ = ["SCALARS"]

op(float, "x", Kind.linear, path="float", title="Float", memory=NEW)  # a Python number, and so weak
rule(float, x=lambda g: g)

op(complex, "real, imag=0", Kind.opaque, path="complex", title="Complex", memory=NEW)
rule(complex, real=lambda g: g, imag=lambda g: g * 1j)  # the engine casts both to what their arguments are

for _cls in (np.float64, np.complex128):  # narrower ones, and integers, are these as another dtype
    op(_cls, "x", Kind.linear, path=f"np.{_cls.__name__}", title=_cls.__name__.capitalize(), memory=MAY)
    rule(_cls, x=lambda g: g)

SCALARS: tuple[Any, ...] = tuple(
    dict.fromkeys(
        (
            np.float16, np.float32, np.float64, np.complex64, np.complex128, np.int8, np.int16, np.int32, np.int64, np.uint8,
            np.uint16, np.uint32, np.uint64, np.intp, np.intc, np.bool_,
        )
    )
)  # fmt: skip
