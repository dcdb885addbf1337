"""Tensor's methods of PyTorch along axes: extremes with their places, order, norms, softmax, running and counted values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...runtime.errors import ShapeError
from ...runtime.rules import softmaxes
from ...unpatched import np
from ..core.site import blame
from ..core.tensor_base import Operand
from ..core.thread_state import LOCAL
from ..memory import eager_writes
from .constructors import arange
from .torch_methods import Methods
from .torch_shaping import axis_of

__all__ = ["METHODS", "Extremes", "Ranked"]

METHODS = Methods()
_method = METHODS.take


class Ranked(NamedTuple):
    """Elements, and where along the axis they stand."""

    values: Any
    indices: Any


class Extremes(NamedTuple):
    """The least and the greatest elements."""

    min: Any
    max: Any


def _axes_of(self: Any, dim: Any) -> Any:
    """`dim`, one or several, as NumPy's `axis`; of nothing and of () all axes."""
    if dim is None or dim == () or dim == []:
        return None
    return tuple([axis_of(self, d) for d in dim]) if isinstance(dim, (tuple, list)) else axis_of(self, dim)


def _picked(self: Any, indices: Any, axis: int, keepdim: bool) -> Ranked:
    """Return the element at one place of each line along an axis."""
    if not self.ndim:
        return Ranked(np.copy(self), indices)
    places = np.expand_dims(indices, axis)
    values = np.take_along_axis(self, places, axis)
    return Ranked(values, places) if keepdim else Ranked(np.squeeze(values, axis), indices)


def shared(self: Any, value: Any) -> Any:
    """`value`, a number that stands among the elements, of which all that equal it (or are NaN, as it is) share the gradient."""
    value = value.detach()
    if self.dtype.kind != "f":
        return value
    equal = self.detach() == value
    alike = equal | (np.isnan(self.detach()) & np.isnan(value))
    mean = np.sum(np.where(alike, self, 0)) / np.count_nonzero(alike)  # exact of what is not finite
    return np.where(np.isfinite(value), np.max(np.where(equal, self, -np.inf)), mean).astype(self.dtype)


def _has_nan(found: Any) -> bool:
    """Whether a result on a bare Tensor, of which a gradient may be asked, has a NaN."""
    return not LOCAL.depth and found._node is not None and bool(np.isnan(found._value).any())


# Extremes


def _extreme(name: str, position: Callable[..., Any], pairwise: Callable[..., Any]) -> Callable[..., Any]:
    whole: Any = getattr(np, name)

    def method(self: Any, *args: Any, **words: Any) -> Any:
        if args and isinstance(args[0], Operand) and (args[0].ndim or args[0].dtype.kind not in "iu"):
            return pairwise(self, *args, **words)
        if "other" in words:
            return pairwise(self, words["other"])
        by_position = len(args) == 2 and type(args[1]) is bool
        if "dim" in words or "keepdim" in words or by_position:
            dim = words.pop("dim", args[0] if args else None)
            keepdim = args[1] if by_position else words.pop("keepdim", False)
            if words or dim is None or isinstance(dim, (tuple, list)):
                raise blame(
                    TypeError(f"{name}(dim=, keepdim=) takes one axis: a{name} takes several, {name}(axis=) too")
                )
            axis = axis_of(self, dim)
            return _picked(self, position(self, axis=axis), axis, keepdim)
        found = whole(self, *args, **words)
        return shared(self, found) if not args and not words and _has_nan(found) else found

    method.__doc__ = (
        f"NumPy's `{name}`; with `dim` or `keepdim` PyTorch's: (values, indices). Of two tensors, `{name}imum`."
    )
    return method


METHODS["max"] = _extreme("max", np.argmax, np.maximum)
METHODS["min"] = _extreme("min", np.argmin, np.minimum)


@_method
def amax(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The greatest elements along axes; equal ones share the gradient."""
    return np.max(self, axis=_axes_of(self, dim), keepdims=keepdim)


@_method
def amin(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The least elements along axes; equal ones share the gradient."""
    return np.min(self, axis=_axes_of(self, dim), keepdims=keepdim)


@_method
def aminmax(self: Any, *, dim: Any = None, keepdim: bool = False) -> Extremes:
    """The least and the greatest elements, of all or along an axis."""
    return Extremes(amin(self, dim, keepdim), amax(self, dim, keepdim))


def _running(accumulate: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, dim: int) -> Ranked:
        axis = axis_of(self, dim)
        if not self.ndim:
            return Ranked(np.copy(self), np.zeros_like(self, dtype=int))
        still = self.detach()
        places = np.reshape(arange(self.shape[axis]), (-1, *[1] * (self.ndim - 1 - axis)))
        stands = (still == accumulate(still, axis)) | np.isnan(still)
        indices = np.maximum.accumulate(np.where(stands, places, 0), axis)
        return Ranked(np.take_along_axis(self, indices, axis), indices)

    method.__doc__ = f"The running `{accumulate.__self__.__name__}` along an axis, and where its elements stand."  # type: ignore[attr-defined]
    return method


METHODS["cummax"] = _running(np.maximum.accumulate)
METHODS["cummin"] = _running(np.minimum.accumulate)


# Order


def _order(self: Any, axis: int, descending: bool) -> Any:
    """The places of the elements in order, equal ones as they stand."""
    if not descending:
        return np.argsort(self, axis=axis, kind="stable")
    last = self.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(self, axis), axis=axis, kind="stable"), axis)


def _ranked(self: Any, dim: int, descending: bool) -> Ranked:
    axis = axis_of(self, dim)
    if not self.ndim:
        return Ranked(np.copy(self), np.zeros_like(self, dtype=int))
    indices = _order(self, axis, descending)
    return Ranked(np.take_along_axis(self, indices, axis), indices)


@_method
def sort(self: Any, *args: Any, **words: Any) -> Any:
    """Sort in place along an axis, as NumPy does; with `dim` or `descending` PyTorch's: (values, indices), new tensors."""
    if "dim" in words or "descending" in words or (len(args) > 1 and isinstance(args[1], bool)):
        words.pop("stable", None)
        words |= dict(zip(("dim", "descending"), args, strict=False))
        return _ranked(self, words.get("dim", -1), words.get("descending", False))
    options = dict(zip(("axis", "kind", "order"), args, strict=False)) | words
    axis = options.pop("axis", -1)
    eager_writes.update(self, lambda x: np.sort(x, axis=axis, **options), "x.sort()")
    return None


@_method
def argsort(self: Any, *args: Any, **words: Any) -> Any:
    """The places of the elements in order, along an axis; `descending=True` from the greatest to the least."""
    if "dim" in words or "descending" in words or (len(args) > 1 and isinstance(args[1], bool)):
        words |= dict(zip(("dim", "descending"), args, strict=False))
        axis = axis_of(self, words.get("dim", -1))
        return _order(self, axis, words.get("descending", False)) if self.ndim else np.zeros_like(self, dtype=int)
    return np.argsort(self, *args, **words)


@_method
def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Ranked:
    """The k greatest (or least) elements along an axis, in order, and their places; of equal ones the first."""
    axis = axis_of(self, dim)
    if k < 0 or k > (self.shape[axis] if self.ndim else 1):
        raise blame(ShapeError(f"selected index k out of range: k={k} of {self.shape[axis] if self.ndim else 1}"))
    values, indices = _ranked(self, axis, largest)
    part = (*[slice(None)] * axis, slice(k))
    return Ranked(values[part], indices[part]) if self.ndim else Ranked(values, indices)


@_method
def kthvalue(self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Ranked:
    """The k-th least element along an axis (counted from 1), and its place."""
    axis = axis_of(self, dim)
    if not 1 <= k <= (self.shape[axis] if self.ndim else 1):
        raise blame(ShapeError(f"kthvalue(): selected number k out of range for dimension {dim}: k={k}"))
    if not self.ndim:
        return Ranked(np.copy(self), np.zeros_like(self, dtype=int))
    return _picked(self, np.take(_order(self, axis, False), k - 1, axis=axis), axis, keepdim)


@_method
def msort(self: Any) -> Any:
    """Sorted along the first axis: a new tensor."""
    return np.sort(self, axis=0)


@_method
def median(self: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element, of two the lesser one (NumPy's `median` is their mean); with `dim` also its places."""
    if dim is None:
        return shared(self, median(np.ravel(self.detach()), 0).values)
    axis = axis_of(self, dim)
    if not self.ndim:
        return Ranked(np.copy(self), np.zeros_like(self, dtype=int))
    order = _order(self, axis, False)
    wrong = np.isnan(self) if self.dtype.kind == "f" else np.zeros_like(self, dtype=bool)
    middle = np.take(order, (self.shape[axis] - 1) // 2, axis=axis)
    return _picked(self, np.where(np.any(wrong, axis=axis), np.argmax(wrong, axis=axis), middle), axis, keepdim)


def _quantiles(fn: Callable[..., Any], of_nan: int) -> Callable[..., Any]:
    def method(
        self: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        found = fn(self, q, axis=dim, keepdims=keepdim, method=interpolation)
        if not _has_nan(found):
            return found
        lines, axis = (np.ravel(self), 0) if dim is None else (self, axis_of(self, dim))
        place = np.take(
            _order(lines, axis, False), [of_nan], axis=axis
        )  # NaN comes last: one of them takes the gradient
        element = np.take_along_axis(lines, place, axis)
        if dim is None:
            element = np.reshape(element, (1,) * self.ndim if keepdim else ())
        elif not keepdim:
            element = np.squeeze(element, axis)
        return np.where(np.isnan(element), element, found)

    method.__doc__ = f"`np.{fn.__name__}`: what this share of the elements lies below."
    return method


METHODS["quantile"] = _quantiles(np.quantile, -1)
METHODS["nanquantile"] = _quantiles(np.nanquantile, 0)


# Sums of a kind


def _summed(fn: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        return fn(self, axis=_axes_of(self, dim), keepdims=keepdim, dtype=dtype)

    method.__doc__ = f"`np.{fn.__name__}` of this tensor, of all elements or along axes."
    return method


METHODS["nansum"] = _summed(np.nansum)
METHODS["nanmean"] = _summed(np.nanmean)


@_method
def count_nonzero(self: Any, dim: Any = None) -> Any:
    """How many elements are not zero, of all or along axes."""
    return np.count_nonzero(self, axis=_axes_of(self, dim))


@_method
def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The p-norm of the elements, of all or along axes; "fro" is 2, and "nuc" the nuclear norm of matrices."""
    x = self if dtype is None else self.astype(dtype)
    axes = _axes_of(x, dim)
    if p == "nuc":
        return np.linalg.norm(x, "nuc", axis=axes, keepdims=keepdim)
    if p is None or p == "fro" or p == 2:
        return np.linalg.vector_norm(x, axis=axes, keepdims=keepdim)
    return np.linalg.vector_norm(x, ord=float(p), axis=axes, keepdims=keepdim)


@_method
def dist(self: Any, other: Any, p: Any = 2) -> Any:
    """The p-norm of the difference."""
    return norm(self - other, p)


@_method
def logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """`log(sum(exp(x)))` along axes, without an overflow; of nothing but -inf it is -inf."""
    axes = _axes_of(self, dim)
    found = softmaxes.logsumexp(self, axes)
    return found if keepdim or not self.ndim else np.squeeze(found, axes)


def _along(fn: Callable[..., Any], words: str) -> Callable[..., Any]:
    def method(self: Any, dim: int, dtype: Any = None) -> Any:
        x = self if dtype is None else self.astype(dtype)
        axis = axis_of(x, dim)
        return fn(x, axis) if x.ndim else np.reshape(fn(np.reshape(x, (1,)), axis), ())

    method.__doc__ = words
    return method


METHODS["softmax"] = _along(softmaxes.softmax, "`exp(x) / sum(exp(x))` along an axis.")
METHODS["log_softmax"] = _along(softmaxes.log_softmax, "The logarithm of `softmax` along an axis.")


@_method
def diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, `n` times."""
    ends = {k: v for k, v in {"prepend": prepend, "append": append}.items() if v is not None}
    return np.diff(self, n, dim, **ends)


@_method
def cov(self: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariances of the rows."""
    return np.cov(self, ddof=correction, fweights=fweights, aweights=aweights)


@_method
def corrcoef(self: Any) -> Any:
    """The correlations of the rows."""
    return np.corrcoef(self)


@_method
def bincount(self: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often 0, 1, 2, ... stand among the elements, or the sum of their weights."""
    return np.bincount(self, weights, minlength)


@_method
def unique(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements that differ, in order; with them where each stood, and how often."""
    words: dict[str, Any] = {"return_inverse": return_inverse, "return_counts": return_counts, "axis": dim}
    return np.unique(self, **words)
