"""Tensor's methods of PyTorch that give parts of it: at equal distances, between places, one place, or windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.errors import ShapeError
from ...unpatched import np
from ..core.site import blame
from .constructors import arange
from .torch_methods import Methods
from .torch_shaping import axis_of

__all__ = ["METHODS"]

METHODS = Methods()
_method = METHODS.take


def _parts(self: Any, lengths: list[Any], axis: int) -> tuple[Any, ...]:
    cuts, at = [], 0
    for n in lengths[:-1]:
        at = at + n
        cuts.append(at)
    return tuple(np.split(self, cuts, axis=axis))


@_method
def split(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of this length along an axis (the last may be shorter), or of the lengths in a list."""
    axis = axis_of(self, dim)
    length = self.shape[axis]
    if isinstance(split_size, (list, tuple)):
        if sum(split_size) != length:
            raise blame(
                ShapeError(
                    f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
                    f"{dim}), but got split_sizes={list(split_size)}"
                )
            )
        return _parts(self, list(split_size), axis)
    if split_size <= 0:
        raise blame(ShapeError(f"split expects split_size be positive, but got split_size={split_size}"))
    return tuple(np.split(self, list(range(split_size, length, split_size)), axis=axis))


@_method
def split_with_sizes(self: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of these lengths along an axis."""
    return split(self, list(split_sizes), dim)  # type: ignore[no-any-return]


def _split_by(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, indices_or_sections: Any) -> tuple[Any, ...]:
        if isinstance(indices_or_sections, int) and indices_or_sections < 1:
            raise blame(ShapeError(f"number of sections must be larger than 0, got {indices_or_sections}"))
        return tuple(fn(self, indices_or_sections))

    method.__doc__ = f"`np.{fn.__name__}` of this tensor."
    return method


METHODS |= {fn.__name__: _split_by(fn) for fn in (np.hsplit, np.vsplit, np.dsplit)}


@_method
def chunk(self: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most so many parts of one length along an axis; the last may be shorter."""
    if chunks <= 0:
        raise blame(ShapeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}"))
    length = self.shape[axis_of(self, dim)]
    return split(self, max(-(-length // chunks), 1), dim)  # type: ignore[no-any-return]


@_method
def tensor_split(self: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """So many parts of nearly one length, or the parts between these places."""
    return tuple(np.array_split(self, indices_or_sections, axis=axis_of(self, dim)))


@_method
def unbind(self: Any, dim: int = 0) -> tuple[Any, ...]:
    """The parts at each place of an axis, without that axis."""
    if not self.ndim:
        raise blame(IndexError("Dimension specified as 0 but tensor has no dimensions"))
    axis = axis_of(self, dim)
    return tuple([np.squeeze(part, axis) for part in split(self, 1, axis)]) if self.shape[axis] else ()


@_method
def select(self: Any, dim: int, index: Any) -> Any:
    """The part at one place of an axis, without that axis."""
    return self[(*[slice(None)] * axis_of(self, dim), index)]


@_method
def narrow(self: Any, dim: int, start: Any, length: Any) -> Any:
    """`length` elements of an axis from `start` on: ShapeError where there are not so many."""
    axis = axis_of(self, dim)
    n = self.shape[axis]
    begin = start + n if start < 0 else start
    if not 0 <= begin <= n or length < 0 or begin + length > n:
        raise blame(ShapeError(f"start ({start}) + length ({length}) exceeds dimension size ({n})."))
    return self[(*[slice(None)] * axis, slice(begin, begin + length))]


@_method
def unfold(self: Any, dimension: int, size: int, step: int = 1) -> Any:
    """All windows of this length along an axis, `step` apart, in a new last axis: a copy, where PyTorch gives a view."""
    axis = axis_of(self, dimension)
    length = self.shape[axis]
    if size > length:
        raise blame(ShapeError(f"maximum size for tensor at dimension {axis} is {length} but size is {size}"))
    starts = arange(0, length - size + 1, step)
    found = np.take(self, starts[:, None] + arange(size), axis=axis)
    return np.moveaxis(found, axis + 1, -1)


@_method
def narrow_copy(self: Any, dim: int, start: Any, length: Any) -> Any:
    """`narrow`, as a copy."""
    return np.copy(narrow(self, dim, start, length))


def _unsafe(parts_of: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **words: Any) -> tuple[Any, ...]:
        return tuple([np.copy(part) for part in parts_of(self, *args, **words)])

    method.__doc__ = (
        f"`{parts_of.__name__}`, as copies, each of which may be written in place (views in PyTorch, untracked)."
    )
    return method


METHODS |= {f"unsafe_{fn.__name__}": _unsafe(fn) for fn in (chunk, split, split_with_sizes)}
