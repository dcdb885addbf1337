"""Batching rules: an op whose arguments have one more axis in front, as another call of NumPy. Those by kind, and helpers.

An op's own rule stands beside the op, in its file of `rules/`, under `@batching(np.take)`. A rule takes a `BatchedCall` and gives
the result with the batch axis first; it is NumPy code, which runs alike on arrays, on Tensors and under a recorder.
NotImplemented says that it knows no way: then the examples are taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..unpatched import np
from .ops import Kind, Op
from .registry import require

__all__ = ["BatchedCall", "alone", "along_axis", "batched", "batched_reduction", "lifted", "of_matrices", "shifted"]

Rule = Callable[["BatchedCall"], Any]


class BatchedCall:
    """One call of an op: its arguments, and which of them carry the batch axis (of a sequence: a tuple that says so)."""

    def __init__(self, op: Op, bound: tuple[Any, ...], mapped: tuple[Any, ...], run: Callable[..., Any]) -> None:
        self.op = op
        self.bound = bound
        self.mapped = mapped
        self._run = run
        self._places = {p.name: k for k, p in enumerate(op.params)}

    def __getitem__(self, name: str) -> Any:
        return self.bound[self._places[name]]

    def has(self, name: str) -> bool:
        """Whether the op has an argument of that name."""
        return name in self._places

    def flags(self, name: str) -> Any:
        """Which parts of an argument carry the batch axis."""
        return self.mapped[self._places[name]]

    def is_mapped(self, name: str) -> bool:
        """Whether an argument carries the batch axis."""
        return self.flags(name) is True

    def ndim(self, name: str) -> int:
        """Return the number of axes of an argument, without the batch axis."""
        return int(np.ndim(self[name])) - self.is_mapped(name)

    def only(self, *names: str) -> bool:
        """Whether no other argument is mapped."""
        return all(not m or p.name in names for m, p in zip(self.mapped, self.op.params, strict=True))

    @property
    def size(self) -> Any:
        """The length of the batch axis."""
        return next(_sizes(self.bound, self.mapped))

    def run(self, **changes: Any) -> Any:
        """The op itself with some arguments changed."""
        values = [changes.get(p.name, v) for p, v in zip(self.op.params, self.bound, strict=True)]
        return self._run(self.op, tuple(values))

    def apply(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Another op of the table, where its arguments may hold no Tensor that would bring it there."""
        op = require(function)
        return self._run(op, op.bind(*args, **kwargs))

    def spread(self, name: str) -> Any:
        """An argument with the batch axis: broadcast along it, where it has none."""
        return self[name] if self.is_mapped(name) else self.spread_value(self[name])

    def spread_value(self, value: Any) -> Any:
        """A value that is the same for each example, with the batch axis."""
        return self.apply(np.broadcast_to, value, (self.size, *np.shape(value)))

    def flat(self, name: str) -> Any:
        """A mapped argument with one axis behind the batch axis."""
        return self[name] if self.ndim(name) == 1 else np.reshape(self[name], (self.size, -1))


def _sizes(bound: Any, mapped: Any) -> Any:
    for value, flag in zip(bound, mapped, strict=True):
        if flag is True:
            yield np.shape(value)[0]
        elif flag:
            yield from _sizes(value, flag)


def batched(op: Op, bound: tuple[Any, ...], mapped: tuple[Any, ...], run: Callable[..., Any], loops: Any) -> Any:
    """The result of a call with the batch axis first (several: of each); `loops()` is told before a loop is run."""
    call = BatchedCall(op, bound, mapped, run)
    rule = op.base.batching or by_kind(op)
    found = NotImplemented if rule is None else rule(call)
    if found is not NotImplemented:
        return found
    loops()
    return one_by_one(call)


def by_kind(op: Op) -> Rule | None:
    """The rule of an op that states none of its own: None where its kind has none."""
    plain = isinstance(op.fn, np.ufunc) and op.fn.signature is None
    if op.kind is Kind.elementwise or plain or op.infix is not None:
        return batched_elementwise
    return batched_reduction if op.kind is Kind.reduction else None


def one_by_one(call: BatchedCall) -> Any:
    """The op on each example, and the results stacked: what is right for every op."""
    count = int(call.size)
    if not count:
        raise ValueError(f"{call.op.path} has no batching rule, and vmap over no examples has none to run it on")
    found = [call._run(call.op, _example(call.bound, call.mapped, k)) for k in range(count)]
    if call.op.n_out == 1:
        return _stacked(call, found)
    return [_stacked(call, column) for column in zip(*found, strict=True)]


def _example(bound: Any, mapped: Any, k: int) -> Any:
    values = [v if not m else v[k] if m is True else _example(v, m, k) for v, m in zip(bound, mapped, strict=True)]
    return values if type(bound) is list else tuple(values)


def _stacked(call: BatchedCall, found: Any) -> Any:
    shapes = {tuple(np.shape(r)) for r in found}
    if len(shapes) > 1:
        raise ValueError(
            f"{call.op.path} under vmap gives results of different shapes: {', '.join(map(str, sorted(shapes)))}. "
            "Every example must give the same shape: write np.where(mask, x, other) in place of x[mask]."
        )
    return call.apply(np.stack, list(found))


# Axes -----------------------------------------------------------------------------------------------


def shifted(axis: Any, ndim: int) -> Any:
    """An axis (or several) of what has `ndim` of them, as it counts with the batch axis in front."""
    if axis is None:
        return 1 if ndim == 1 else tuple(range(1, ndim + 1))
    if isinstance(axis, (tuple, list)):
        return tuple([shifted(a, ndim) for a in axis])
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis + 1 if axis >= 0 else axis


def lifted(value: Any, ndim: int) -> Any:
    """A mapped value with new axes behind the batch axis, so that it has `ndim` others."""
    missing = ndim - int(np.ndim(value)) + 1
    if missing <= 0:
        return value
    return np.expand_dims(value, 1 if missing == 1 else tuple(range(1, missing + 1)))


# Kinds ----------------------------------------------------------------------------------------------


def batched_elementwise(call: BatchedCall) -> Any:
    """Broadcast by the other axes: what is mapped gets as many of them as the argument that has most."""
    pairs = list(zip(call.op.params, call.bound, call.mapped, strict=True))
    if any(m not in (True, False) for _, _, m in pairs):
        return NotImplemented
    most = max(int(np.ndim(v)) - m for _, v, m in pairs)
    changes = {p.name: lifted(v, most) for p, v, m in pairs if m}
    into = call["into"] if call.has("into") else None  # of a ufunc's `out=`, which is written into
    if into is not None and "into" not in changes:
        changes["into"] = call.spread_value(into)
    return call.run(**changes)


def batched_reduction(call: BatchedCall) -> Any:
    """Along axes that are one further back."""
    if not call.only("x", "where", "mean", "b"):
        return NotImplemented
    x, ndim = call.spread("x"), call.ndim("x")
    changes: dict[str, Any] = {
        name: lifted(call[name], ndim) for name in ("where", "mean", "b") if call.has(name) and call.is_mapped(name)
    }
    if ndim == 0:  # a number: one axis to reduce over, and none to keep
        if call.has("keepdims"):
            changes["keepdims"] = False
        return call.run(x=np.expand_dims(x, 1), axis=1, **changes)
    return call.run(x=x, axis=shifted(call["axis"], ndim), **changes)


# Rules that several ops state -----------------------------------------------------------------------


def alone(call: BatchedCall) -> Any:
    """As it is, where no other argument is mapped: element by element, of one argument."""
    return call.run() if call.only("x") else NotImplemented


def of_matrices(call: BatchedCall) -> Any:
    """As it is, of stacks of matrices."""
    return call.run() if call.only("x") and call.ndim("x") >= 2 else NotImplemented


def along_axis(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.only("x") and call.ndim("x") else NotImplemented
