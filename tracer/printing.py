"""How a Tensor prints: PyTorch's form, numbers to four digits."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["tensor_text"]


def tensor_text(tensor: Any, value: Any) -> str:
    """`tensor([1., 2.], requires_grad=True)`, with the dtype where it is not NumPy's default."""
    array = np.asarray(value)
    parts = [numbers_text(array)]
    if array.dtype not in (np.float64, np.int64, np.bool_, np.complex128):
        parts.append(f"dtype={array.dtype.name}")
    if array.size == 0 and array.shape != (0,):
        parts.append(f"size={array.shape}")
    node = tensor.grad_fn
    if node is not None:
        parts.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        parts.append("requires_grad=True")
    return f"tensor({', '.join(parts)})"


def numbers_text(array: np.ndarray[Any, Any]) -> str:
    """The elements: whole numbers as `1.`, others with four digits, scientific where the range asks for it."""
    options: dict[str, Any] = {"separator": ", ", "prefix": "tensor(", "max_line_width": 80}
    if array.dtype.kind == "f":
        finite = np.abs(array[np.isfinite(array) & (array != 0)])
        if np.all(finite == np.floor(finite)) and (not finite.size or finite.max() < 1e8):
            options["formatter"] = {"float_kind": lambda v: f"{v:.0f}." if np.isfinite(v) else str(v)}
        elif finite.max() / finite.min() > 1000 or finite.max() > 1e8 or finite.min() < 1e-4:
            options["formatter"] = {"float_kind": lambda v: f"{v:.4e}" if np.isfinite(v) else str(v)}
        else:
            options["formatter"] = {"float_kind": lambda v: f"{v:.4f}" if np.isfinite(v) else str(v)}
        width = max((len(options["formatter"]["float_kind"](v)) for v in array.ravel()[:1000]), default=0)
        one = options["formatter"]["float_kind"]
        options["formatter"] = {"float_kind": lambda v: one(v).rjust(width)}
    elif array.dtype.kind == "c":
        options["formatter"] = {"complex_kind": lambda v: f"{v.real:.4f}{v.imag:+.4f}j"}
    if not array.shape and "formatter" in options:
        return next(iter(options["formatter"].values()))(array[()])  # type: ignore[no-any-return]
    return np.array2string(array, **options)
