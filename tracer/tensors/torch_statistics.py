"""Tensor's methods of PyTorch that count and rank: modes, medians without NaN, histograms, runs, and sums in the logarithm."""

from __future__ import annotations

from typing import Any

from ...runtime.errors import ShapeError
from ...unpatched import np
from ..core.site import blame
from .constructors import arange
from .torch_methods import Methods
from .torch_reductions import Ranked, _order, _picked, shared
from .torch_shaping import axis_of

__all__ = ["METHODS"]

METHODS = Methods()
_method = METHODS.take


@_method
def mode(self: Any, dim: int = -1, keepdim: bool = False) -> Ranked:
    """The element that stands most often along an axis, of several the least, and the last place of it."""
    axis = axis_of(self, dim)
    if not self.ndim:
        return Ranked(np.copy(self), np.zeros_like(self, dtype=int))
    order = _order(self, axis, False)
    ranked = np.moveaxis(np.take_along_axis(self.detach(), order, axis), axis, -1)
    places = np.broadcast_to(arange(self.shape[axis]), ranked.shape)
    fresh = np.concatenate([np.ones_like(ranked[..., :1], dtype=bool), ranked[..., 1:] != ranked[..., :-1]], axis=-1)
    runs = places - np.maximum.accumulate(np.where(fresh, places, 0), axis=-1)  # how many equal ones stand before
    last = np.expand_dims(np.argmax(runs, axis=-1), axis)
    return _picked(self, np.squeeze(np.take_along_axis(order, last, axis), axis), axis, keepdim)


@_method
def nanmedian(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """`median` of what is not NaN (of nothing else, NaN); with `dim` also its places."""
    if dim is None:
        return shared(self, nanmedian(np.ravel(self.detach()), 0).values)
    axis = axis_of(self, dim)
    if not self.ndim:
        return Ranked(np.copy(self), np.zeros_like(self, dtype=int))
    order = _order(self, axis, False)  # NaN comes last
    wrong = np.isnan(self) if self.dtype.kind == "f" else np.zeros_like(self, dtype=bool)
    middle = np.maximum(np.sum(~wrong, axis=axis, keepdims=True) - 1, 0) // 2
    return _picked(self, np.squeeze(np.take_along_axis(order, middle, axis), axis), axis, keepdim)


@_method
def logcumsumexp(self: Any, dim: int) -> Any:
    """`log(cumsum(exp(x)))` along an axis, without an overflow."""
    axis = axis_of(self, dim)
    return np.logaddexp.accumulate(self, axis=axis) if self.ndim else np.copy(self)


@_method
def histc(self: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements lie in each of `bins` parts between two bounds, by default those of the elements; as floats."""
    if bins <= 0:
        raise blame(ShapeError(f"histc(): bins must be > 0, but got {bins}"))
    ends = (min, max) if min != max else None
    return np.histogram(self.detach(), bins, ends)[0].astype(self.dtype)


@_method
def unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along `dim`) that differ from the one before; with them where each went, and how often."""
    x = np.ravel(self) if dim is None else np.moveaxis(self, axis_of(self, dim), 0)
    others = tuple(range(1, x.ndim))
    fresh = np.any(x[1:] != x[:-1], axis=others) if others else x[1:] != x[:-1]
    fresh = np.concatenate([np.ones_like(x, dtype=bool, shape=(min(1, x.shape[0]),)), fresh])
    kept = x[fresh] if dim is None else np.moveaxis(x[fresh], 0, axis_of(self, dim))
    inverse = np.cumsum(fresh) - 1
    more = (np.reshape(inverse, self.shape) if dim is None else inverse,) * return_inverse
    counts = (np.bincount(inverse),) * return_counts
    return (kept, *more, *counts) if more or counts else kept


@_method
def renorm(self: Any, p: float, dim: int, maxnorm: float) -> Any:
    """The slices along an axis, of which those whose p-norm is greater than `maxnorm` are scaled down to it."""
    axis = axis_of(self, dim)
    if self.ndim < 2:
        raise blame(ShapeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions"))
    others = tuple([k for k in range(self.ndim) if k != axis])
    norms = np.linalg.vector_norm(self, ord=p, axis=others, keepdims=True)
    return self * np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0).astype(self.dtype)
