"""Padding, and the windows of an image as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime.errors import ShapeError
from ...runtime.rules import windows as rules
from .convolution import lengths
from .shared import Lengths, arrays

__all__ = ["fold", "pad", "unfold"]

# PyTorch's names, and NumPy's.
_MODES: dict[str, Any] = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Add elements at the ends of the last axes: `pad` is (before, behind) for the last one, then for the one before it, ...

    `mode` is "constant" (`value`, 0 by default), "reflect", "replicate" or "circular". Negative numbers cut elements
    off. Raises ShapeError (a RuntimeError) where there is too little to cut or to repeat.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.pad(np.array([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    array([[3., 2., 1., 2., 3., 2.]])
    >>> gs.functional.pad(np.array([[1.0, 2.0, 3.0]]), (-1, 1))
    array([[2., 3., 0.]])
    """
    (x,) = arrays(input)
    if len(pad) % 2:
        raise ShapeError(f"Padding length must be divisible by 2, but got {len(pad)} numbers")
    if len(pad) > 2 * np.ndim(x):
        raise ShapeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {np.ndim(x)}"
        )
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}: it is one of {', '.join(_MODES)}")
    if mode != "constant" and value is not None:
        raise ShapeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    rest = np.ndim(x) - len(pad) // 2
    pairs = [(0, 0)] * rest + [(int(pad[k]), int(pad[k + 1])) for k in range(len(pad) - 2, -1, -2)]
    for axis, (pair, n) in enumerate(zip(pairs, np.shape(x), strict=True)):
        kept = n + (sum(pair) if mode in ("reflect", "replicate") else sum(min(p, 0) for p in pair))
        if kept < 0:
            raise ShapeError(
                f"narrow(): length must be non-negative: a padding of {pair} at dimension {axis} of {n} elements"
            )
        if mode == "reflect" and max(pair) > 0 and max(pair) >= n:
            raise ShapeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"{pair} at dimension {axis} of input {list(np.shape(x))}"
            )
        if mode == "circular" and max(pair) > kept:
            raise ShapeError(
                f"Padding value causes wrapping around more than once: {pair} at dimension {axis} of {n} elements"
            )
    if mode in ("reflect", "replicate"):  # what is repeated is of the whole input, before anything is cut
        return _cut(_grown(x, pairs, mode, value), pairs)
    return _grown(_cut(x, pairs), pairs, mode, value)


def _grown(x: Any, pairs: list[tuple[int, int]], mode: str, value: float | None) -> Any:
    """With what `pad` adds."""
    pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if all(pair == (0, 0) for pair in pairs):
        return np.copy(x)
    if mode == "constant" and value:
        return np.pad(x, pairs, constant_values=value)
    return np.pad(x, pairs) if mode == "constant" else np.pad(x, pairs, _MODES[mode])


def _cut(x: Any, pairs: list[tuple[int, int]]) -> Any:
    """Without what `pad` cuts off."""
    if all(p >= 0 for pair in pairs for p in pair):
        return x
    return x[tuple([slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, np.shape(x), strict=True)])]


def unfold(input: Any, kernel_size: Lengths, dilation: Lengths = 1, padding: Lengths = 0, stride: Lengths = 1) -> Any:
    """Return the windows of (examples, channels, height, width) as columns: (examples, channels * kernel's elements, windows).

    The axis of examples may be missing. Raises ShapeError (a RuntimeError) where no window fits.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.unfold(np.arange(6.0).reshape(1, 2, 3), 2)
    array([[0., 1.],
           [1., 2.],
           [3., 4.],
           [4., 5.]])
    """
    (x,) = arrays(input)
    if np.ndim(x) not in (3, 4):
        raise ShapeError(f"Expected 3D or 4D (batch mode) tensor for unfold, but got: {list(np.shape(x))}")
    size, pads = lengths("kernel_size", kernel_size, 2), lengths("padding", padding, 2)
    strides, dilations = lengths("stride", stride, 2), lengths("dilation", dilation, 2)
    if any(pads):
        x = np.pad(x, (*[(0, 0)] * (np.ndim(x) - 2), *[(p, p) for p in pads]))
    how = rules.lie(size, strides, dilations, 0)
    counts = _counts(np.shape(x)[-2:], how.span, strides)
    if min(counts) < 1:
        raise ShapeError(
            f"Given input with spatial size {np.shape(x)[-2:]} after padding, kernel_size={size}, dilation={dilations}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    found = np.moveaxis(rules.windows(x, *how), (0, 1), (-4, -3))
    return np.reshape(found, (*np.shape(x)[:-3], np.shape(x)[-3] * size[0] * size[1], -1))


def fold(
    input: Any, output_size: Lengths, kernel_size: Lengths, dilation: Lengths = 1, padding: Lengths = 0, stride: Lengths = 1
) -> Any:  # fmt: skip
    """Put the columns of `unfold` back into an image of `output_size`, and add up where windows overlap.

    Raises ShapeError (a RuntimeError) where the columns do not fit the image.

    >>> import numpy as np, gradscribe as gs
    >>> gs.functional.fold(np.ones((4, 2)), (2, 3), 2)
    array([[[1., 2., 1.],
            [1., 2., 1.]]])
    """
    (x,) = arrays(input)
    if np.ndim(x) not in (2, 3):
        raise ShapeError(f"Expected 2D or 3D (batch mode) tensor for fold, but got: {list(np.shape(x))}")
    out, size = lengths("output_size", output_size, 2), lengths("kernel_size", kernel_size, 2)
    pads = lengths("padding", padding, 2)
    strides, dilations = lengths("stride", stride, 2), lengths("dilation", dilation, 2)
    how = rules.lie(size, strides, dilations, 0)
    full = [n + 2 * p for n, p in zip(out, pads, strict=True)]
    counts = _counts(full, how.span, strides)
    if min(counts) < 1 or np.shape(x)[-1] != counts[0] * counts[1]:
        raise ShapeError(
            f"Given output_size={out}, kernel_size={size}, dilation={dilations}, padding={pads}, stride={strides}, expected "
            f"size of input's last dimension to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{counts[0] * counts[1]}, but got {np.shape(x)[-1]}."
        )
    if np.shape(x)[-2] % (size[0] * size[1]):
        raise ShapeError(
            "Expected size of input's dimension before the last to be divisible by the product of kernel_size, but got "
            f"{np.shape(x)[-2]} and kernel_size={size}."
        )
    channels = np.shape(x)[-2] // (size[0] * size[1])
    lead = np.shape(x)[:-2]
    pieces = np.moveaxis(np.reshape(x, (*lead, channels, *size, *counts)), (-4, -3), (0, 1))
    found = rules.folded(pieces, size, *how, (*lead, channels, *full), x.dtype)
    if not any(pads):
        return found
    return found[(..., *[slice(p, p + n) for p, n in zip(pads, out, strict=True)])]


def _counts(shape: Sequence[int], span: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    return tuple([(int(n) - k) // s + 1 for n, k, s in zip(shape, span, strides, strict=True)])
