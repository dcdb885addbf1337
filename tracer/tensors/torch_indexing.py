"""Tensor's methods of PyTorch that read and write by position or by mask: gather, scatter, index_add, masked_fill ..."""

from __future__ import annotations

from typing import Any

from ...runtime.errors import DtypeError, ShapeError
from ...runtime.rules.indexing import index_add_at, index_set
from ...unpatched import np
from ..core.site import blame
from ..core.tensor_base import Operand
from .constructors import arange
from .torch_arithmetic import times
from .torch_methods import Methods
from .torch_shaping import axis_of

__all__ = ["METHODS"]

METHODS = Methods()
_method = METHODS.take


def _whole(index: Any, name: str) -> Any:
    """Positions: DtypeError where they are no whole numbers."""
    if not isinstance(index, Operand):
        index = np.asarray(index)
        index = index.astype(int) if index.size == 0 else index
    if index.dtype.kind not in "iu":
        raise blame(DtypeError(f"{name}(): Expected dtype int32/int64 for index, but got {index.dtype}"))
    return index


def _along(axis: int, index: Any) -> tuple[Any, ...]:
    """An index of the places along one axis."""
    return (*[slice(None)] * axis, index)


def _places(index: Any, axis: int) -> tuple[Any, ...]:
    """The index that names, for each element of `index`, its own place but for one axis, where it stands in `index`."""
    n = len(index.shape)
    rows = [np.reshape(arange(m), (*[1] * k, -1, *[1] * (n - 1 - k))) for k, m in enumerate(index.shape)]
    return tuple([index if k == axis else row for k, row in enumerate(rows)])


def _ranks(self: Any, index: Any, name: str) -> None:
    if len(index.shape) != self.ndim:
        raise blame(
            ShapeError(
                f"Index tensor must have the same number of dimensions as input tensor: {name}() got an index of shape "
                f"{tuple(index.shape)} for a tensor of shape {tuple(self.shape)}"
            )
        )


# Reading


@_method
def gather(self: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """`out[i][j] = self[index[i][j]][j]` for dim 0: for each place of `index` an element of its line along `dim`.

    `sparse_grad` is taken for PyTorch's sake: gradients are dense.
    """
    index = _whole(index, "gather")
    axis = axis_of(self, dim)
    _ranks(self, index, "gather")
    if not self.ndim:
        return np.copy(self)
    same = all(int(m) == int(n) for k, (m, n) in enumerate(zip(index.shape, self.shape, strict=True)) if k != axis)
    return np.take_along_axis(self, index, axis) if same else self[_places(index, axis)]


@_method
def take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Any:
    """The elements at these places along an axis, or without `dim` of the flat tensor. Shapes are broadcast."""
    return np.take_along_axis(self, _whole(indices, "take_along_dim"), dim)


@_method
def index_select(self: Any, dim: int, index: Any) -> Any:
    """The slices at these places of an axis."""
    index = _whole(index, "index_select")
    axis = axis_of(self, dim)
    if len(index.shape) > 1:
        raise blame(IndexError("index_select(): Index is supposed to be a vector"))
    return np.take(self, np.reshape(index, (-1,)), axis=axis) if self.ndim else np.copy(self)


@_method
def masked_select(self: Any, mask: Any) -> Any:
    """The elements where the mask is true, in one axis; shapes are broadcast."""
    shape = np.broadcast_shapes(np.shape(self), np.shape(mask))
    return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]


@_method
def nonzero(self: Any, *, as_tuple: bool = True) -> Any:
    """Where the elements are not zero: one tensor of places for each axis, or a row for each with `as_tuple=False`."""
    return np.nonzero(self) if as_tuple else np.argwhere(self)


@_method
def argwhere(self: Any) -> Any:
    """Where the elements are not zero: a row of places for each."""
    return np.argwhere(self)


@_method
def where(self: Any, condition: Any, other: Any) -> Any:
    """The elements of this tensor where the condition is true, else of another."""
    return np.where(condition, self, other)


# Writing into a copy


@_method
def masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """A copy with `value` where the mask is true."""
    return np.where(mask, value, self)


@_method
def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
    """A copy with the elements of `source`, in order, where the mask is true."""
    shape = np.broadcast_shapes(np.shape(self), np.shape(mask))
    mask, given = np.broadcast_to(mask, shape), np.ravel(source)
    places = np.reshape(np.cumsum(mask), shape) - 1
    if np.size(given) < np.size(places) and np.size(given) < (count := int(np.count_nonzero(mask))):
        raise blame(
            ShapeError(
                f"Number of elements of source < number of ones in mask: masked_scatter got {np.size(given)} for {count}"
            )
        )
    return np.where(mask, np.take(given, np.maximum(places, 0)), self)


def _written(self: Any, axis: int, index: Any, src: Any, name: str) -> tuple[tuple[Any, ...], Any]:
    """Where `scatter` writes, and what."""
    index = _whole(index, name)
    _ranks(self, index, name)
    if hasattr(src, "dtype") and np.ndim(src):
        src = src[tuple([slice(0, n) for n in index.shape])]
    return _places(index, axis), src


@_method
def scatter(self: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """A copy in which `out[index[i][j]][j] = src[i][j]` for dim 0; `reduce` "add" or "multiply" combines it with what is there.

    Where several elements go to one place, the last stays.
    """
    if reduce is not None:
        return scatter_reduce(
            self, dim, index, src if value is None else value, {"add": "sum", "multiply": "prod"}[reduce]
        )
    axis = axis_of(self, dim)
    if not self.ndim:
        return index_set(self, ..., src if value is None else value)
    return index_set(self, *_written(self, axis, index, src if value is None else value, "scatter"))


@_method
def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    """A copy to which `src[i][j]` is added at `[index[i][j]][j]` for dim 0."""
    axis = axis_of(self, dim)
    if not self.ndim:
        return self + src
    return index_add_at(self, *_written(self, axis, index, src, "scatter_add"))


@_method
def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """A copy in which what goes to one place is summed ("sum"), with what stands there unless `include_self=False`."""
    if reduce == "sum":
        if include_self:
            return scatter_add(self, dim, index, src)
        return scatter_add(scatter(self, dim, index, value=0), dim, index, src)
    if reduce == "prod":
        raise blame(
            NotImplementedError("scatter with a product has no rule yet: multiply by self[...] with unique places")
        )
    raise blame(NotImplementedError(f"scatter_reduce(reduce={reduce!r}) has no rule yet: 'sum' has one"))


@_method
def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """A copy to which the slices of `source`, times `alpha`, are added at these places of an axis."""
    return index_add_at(self, _along(axis_of(self, dim), _whole(index, "index_add")), times(source, alpha))


@_method
def index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    """A copy with the slices of `source` at these places of an axis."""
    return index_set(self, _along(axis_of(self, dim), _whole(index, "index_copy")), source)


@_method
def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    """A copy with one number in the slices at these places of an axis."""
    return index_set(self, _along(axis_of(self, dim), _whole(index, "index_fill")), value)


@_method
def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """A copy in which `out[indices] = values`; with `accumulate` they are added."""
    return (index_add_at if accumulate else index_set)(self, tuple(indices), values)


@_method
def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    """A copy with `src` at one place of an axis."""
    return index_set(self, _along(axis_of(self, dim), index), src)


@_method
def slice_scatter(self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """A copy with `src` in a part of an axis."""
    return index_set(self, _along(axis_of(self, dim), slice(start, end, step)), src)


@_method
def diagonal_scatter(self: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy with `src` on the diagonal of two axes."""
    lines = np.moveaxis(self, (dim1, dim2), (-2, -1))
    n = np.diagonal(lines, offset, -2, -1).shape[-1]
    at = arange(n)
    place = (..., at, at + offset) if offset >= 0 else (..., at - offset, at)
    return np.moveaxis(index_set(lines, place, src), (-2, -1), (dim1, dim2))


# Writing in place


@_method
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write one number on the main diagonal of this tensor, which it returns."""
    np.fill_diagonal(self, fill_value, wrap=wrap)
    return self


@_method
def put_(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Write (or add) elements at these places of all elements in order into this tensor, which it returns."""
    if not accumulate:
        np.put(self, index, source)
        return self
    flat = np.reshape(self, (-1,))
    return self.copy_(np.reshape(index_add_at(flat, _whole(index, "put_"), source), self.shape))
