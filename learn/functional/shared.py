"""Helpers of the layers: arguments as arrays, `dim`, the reductions of a loss, and PyTorch's words where sizes disagree."""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

import numpy as np

from ...runtime.arrays import is_cupys
from ...runtime.errors import DtypeError, ShapeError
from ...runtime.registry import require
from ...runtime.rules.support import literal
from ...tracer.core import listening
from ...tracer.core.count import axis_among
from ...tracer.core.dispatch import apply
from ...tracer.core.graph import Node
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import LOCAL, capturing

Lengths = int | Sequence[int]
P = ParamSpec("P")


def over_axes(function: Callable[Concatenate[int, P], Any], *docs: str) -> tuple[Callable[P, Any], ...]:
    """Return `function(n, ...)` for `n` up to three axes, under its name and `1d`, `2d` or `3d`: one for each docstring."""
    return tuple([_over(function, n, doc) for n, doc in enumerate(docs, 4 - len(docs))])


def _over(function: Any, n: int, doc: str) -> Any:
    name = f"{function.__name__.lstrip('_')}{n}d"
    signature = inspect.signature(function)
    # A copy of that name, for what Python says of wrong arguments.
    named = types.FunctionType(
        function.__code__.replace(co_name=name, co_qualname=name), function.__globals__, name, function.__defaults__
    )
    named.__kwdefaults__ = function.__kwdefaults__

    def over(*args: Any, **options: Any) -> Any:
        return named(n, *args, **options)

    over.__name__ = over.__qualname__ = name
    over.__module__, over.__doc__ = function.__module__, doc
    over.__annotations__ = {k: v for k, v in function.__annotations__.items() if k != "n"}
    over.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    return over


def arrays(*values: Any) -> tuple[Any, ...]:
    """Lists and numbers as arrays; arrays and Tensors as they are."""
    return tuple([v if hasattr(v, "dtype") else literal(v, *values) for v in values])


def paired(input: Any, *targets: Any) -> tuple[Any, ...]:
    """An input and its targets as arrays; whole numbers take the input's dtype, lest float32 become float64."""
    first, *rest = arrays(input, *targets)
    if first.dtype.kind == "f":
        rest = [t.astype(first.dtype) if np.result_type(t.dtype, first.dtype) != first.dtype and t.dtype.kind in "iu" else t
                for t in rest]  # fmt: skip
    return first, *rest


def constant(x: Any) -> Any:
    """`x`, through which no derivative goes."""
    return x.detach() if isinstance(x, Operand) else x


def taken(table: Any, index: Any) -> Any:
    """The rows of a table at an index, which may be a Tensor where the table is an array (NumPy would not notice)."""
    if isinstance(index, Operand) and not isinstance(table, Operand):
        return apply(require(np.take), (table, index), {"axis": 0})
    return np.take(table, index, axis=0)


def plain(x: Any) -> Any:
    """The array of whole numbers or truth values that a Tensor holds, under vmap of all examples."""
    held = _whole(x)
    value = held._value if isinstance(held, Operand) else held
    return value if is_cupys(value) else np.asarray(held)  # one on a device stays there


def decided_by(x: Any) -> Any:
    """Whole numbers by which something is decided: a Tensor where a recorder notes that, else their array."""
    return x if capturing() else plain(x)


def undecided(x: Any) -> bool:
    """Whether a loop is being compiled whose trips change `x`, so that nothing can be decided by it."""
    return listening.undecided(_whole(x))


def drawn(x: Any) -> bool:
    """Whether a function is being compiled that drew (or printed) before it came to `x`: a decision by that comes too late."""
    return listening.behind_effects(_whole(x))


def counted(like: Any, n: int, dtype: Any = np.int64) -> Any:
    """0, 1, ... as np.arange gives `n` of them, made from an array so that a recorder sees it."""
    return np.cumsum(np.ones_like(like, dtype=dtype, shape=(n,))) - 1


def _whole(x: Any) -> Any:
    return x._whole() if hasattr(x, "_whole") else x


def axis_of(x: Any, dim: int) -> int:
    """`dim` counted from the front of the axes of `x`."""
    return axis_among(np.ndim(x), dim)


def per_axis(value: Any, n: int) -> tuple[int, ...]:
    """A number, or several, as one for each of `n` axes; another count is the caller's to reject."""
    found = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return tuple([int(v) for v in (found * n if len(found) == 1 else found)])


def written(x: Any, inplace: bool, value: Any) -> Any:
    """`value`, in the memory of `x` where an activation works in place; a DtypeError where whole numbers cannot hold it."""
    if not inplace:
        return value
    if not np.can_cast(value.dtype, x.dtype, "same_kind"):
        raise DtypeError(
            f"the result is {value.dtype.name} and cannot be written into the input's {x.dtype.name}: pass floats"
        )
    x[...] = value
    return x


# Losses.


def reduced(losses: Any, reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> Any:
    """The losses as they are ("none"), their sum, or their mean, which of no losses is NaN."""
    how = reduction_of(reduction, size_average, reduce)
    if how == "none":
        return losses
    if how == "mean" and np.size(losses):
        return np.mean(losses)
    total = np.sum(losses)
    return total if how == "sum" else total * np.nan


def titled(loss: Any, title: str) -> Any:
    """A loss whose `grad_fn` bears PyTorch's name of the whole, as it is printed: on a bare Tensor, its last operation."""
    node = loss._node if isinstance(loss, Operand) and not LOCAL.depth else None
    if type(node) is Node:
        node.op = node.op.titled(title)
    return loss


def reduction_of(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction, "none", "mean" or "sum", also from the two arguments of old that say the same."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=4,
        )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction: it is 'none', 'mean' or 'sum'")
    return reduction


def alike(input: Any, target: Any) -> None:
    """Warn where a target would be broadcast against the input."""
    if np.shape(target) != np.shape(input):
        warnings.warn(
            f"Using a target size ({np.shape(target)}) that is different to the input size ({np.shape(input)}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def weighted(losses: Any, weight: Any, input: Any) -> Any:
    """The losses, each times its weight."""
    if weight is None:
        return losses
    (weight,) = arrays(weight)
    if np.shape(weight) != np.shape(input):
        raise ShapeError(
            f"Weights and input must have the same size. They have the shapes {np.shape(weight)} and {np.shape(input)}."
        )
    return losses * weight
