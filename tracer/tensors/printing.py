"""Printing of Tensors: PyTorch's form, numbers to four digits."""

from __future__ import annotations

from typing import Any

from ...runtime.arrays import on_host
from ...unpatched import np

__all__ = ["tensor_text"]

_PREFIX = "tensor("
_INDENT = len(_PREFIX)
_WIDTH = 80
_DIGITS = 4
_MANY = 1000  # more elements than this are summarised
_EDGE = 3  # to so many at either end of an axis
_UNSAID = (np.float64, np.int64, np.bool_, np.complex128)  # the dtypes that NumPy gives by itself


def tensor_text(tensor: Any, value: Any) -> str:
    """`tensor([1., 2.], requires_grad=True)`, with the dtype where it is not NumPy's default."""
    array = on_host(value)
    endings = []
    if array.size == 0 and array.ndim != 1:
        endings.append(f"size={array.shape}")
    if array.dtype not in (_UNSAID if array.size else _UNSAID[:1]):
        endings.append(f"dtype={array.dtype.name}")
    node = tensor.grad_fn
    if node is not None:
        endings.append(f"grad_fn=<{node.name()}>")
    elif tensor.requires_grad:
        endings.append("requires_grad=True")
    text = _PREFIX + numbers_text(array)
    used = len(text) - text.rfind("\n") + 1
    for ending in endings:
        if used + len(ending) + 2 > _WIDTH:
            text += ",\n" + " " * _INDENT + ending
            used = _INDENT + len(ending)
        else:
            text += ", " + ending
            used += len(ending) + 2
    return text + ")"


def numbers_text(array: np.ndarray[Any, Any]) -> str:
    """The elements: whole numbers as `1.`, others with four digits, scientific where the range asks for it."""
    if not array.size:
        return "[]"
    many = array.size > _MANY
    shown = _corners(array) if many else array
    if array.dtype.kind == "c":
        real, imag = _Column(shown.real), _Column(shown.imag)

        def one(v: Any) -> str:
            behind = imag(v.imag).lstrip()
            return f"{real(v.real)}{'' if behind[0] in '+-' else '+'}{behind}j"

        width = real.width + imag.width + 1
    else:
        column = _Column(shown)
        width = column.width

        def one(v: Any) -> str:
            return column(v)

    return _block(array, one, max(1, (_WIDTH - _INDENT) // (width + 2)), many, _INDENT)


def _corners(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    for axis, n in enumerate(array.shape):
        if n > 2 * _EDGE:
            array = np.take(array, [*range(_EDGE), *range(n - _EDGE, n)], axis)
    return array


def _block(array: np.ndarray[Any, Any], one: Any, a_line: int, many: bool, indent: int) -> str:
    if not array.ndim:
        return one(array[()])  # type: ignore[no-any-return]
    cut = many and len(array) > 2 * _EDGE
    rows = [*array[:_EDGE], *array[-_EDGE:]] if cut else list(array)
    if array.ndim == 1:
        words = [one(v) for v in rows]
        if cut:
            words.insert(_EDGE, " ...")
        parts = [", ".join(words[k : k + a_line]) for k in range(0, len(words), a_line)]
    else:
        parts = [_block(row, one, a_line, many, indent + 1) for row in rows]
        if cut:
            parts.insert(_EDGE, "...")
    return "[" + ("," + "\n" * max(1, array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


class _Column:
    """The text of one number, as wide and in the form that all numbers beside it ask for."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.width = 1
        if array.dtype.kind != "f":
            self.form = ""
            self.width = max(len(str(v)) for v in array.ravel())
            return
        telling = array[np.isfinite(array) & (array != 0)].astype(np.float64)
        size = np.abs(telling)
        self.form = ".0f"
        if telling.size:
            far = size.max() / size.min() > 1000 or size.max() > 1e8
            if np.any(telling != np.ceil(telling)):
                self.form = f".{_DIGITS}f"
                far = far or size.min() < 1e-4
            if far:
                self.form = f".{_DIGITS}e"
            self.width = max(len(self._plain(v)) for v in telling)

    def _plain(self, value: Any) -> str:
        text = format(value, self.form) if self.form else str(value)
        return text + "." if self.form == ".0f" and np.isfinite(value) else text

    def __call__(self, value: Any) -> str:
        return self._plain(value).rjust(self.width)
