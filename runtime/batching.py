"""Batching: what an op becomes when some of its arguments carry one more axis in front. The table, and the rules by kind.

A rule takes a `Call` and gives the result with the batch axis first; it is NumPy code, which runs alike on arrays, on
Tensors and under a recorder. NotImplemented says that it knows no way: then the examples are taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ops import Kind, Op
from .registry import require
from .rules.elementwise import astype

__all__ = ["Call", "batched", "batching"]

Rule = Callable[["Call"], Any]
_rules: dict[str, Rule] = {}


def batching(*functions: Any) -> Callable[[Rule], Rule]:
    """Decorator: the rule of these functions (SciPy's by name, since SciPy is slow to import)."""

    def register(rule: Rule) -> Rule:
        for function in functions:
            _rules[function if isinstance(function, str) else require(function).path] = rule
        return rule

    return register


class Call:
    """One call of an op: its arguments, and which of them carry the batch axis (of a sequence: a tuple that says so)."""

    def __init__(self, op: Op, bound: tuple[Any, ...], mapped: tuple[Any, ...], run: Callable[..., Any]) -> None:
        self.op = op
        self.bound = bound
        self.mapped = mapped
        self._run = run
        self._places = {p.name: k for k, p in enumerate(op.params)}

    def __getitem__(self, name: str) -> Any:
        return self.bound[self._places[name]]

    def is_mapped(self, name: str) -> bool:
        """Whether an argument carries the batch axis."""
        return self.mapped[self._places[name]] is True

    def ndim(self, name: str) -> int:
        """How many axes an argument has, without the batch axis."""
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
    call = Call(op, bound, mapped, run)
    rule = _rules.get(op.path)
    if rule is None:
        rule = elementwise if is_elementwise(op) else reduction if op.kind is Kind.reduction else None
    found = NotImplemented if rule is None else rule(call)
    if found is not NotImplemented:
        return found
    loops()
    return one_by_one(call)


def is_elementwise(op: Op) -> bool:
    """Whether an op broadcasts its arguments and works element by element."""
    plain = isinstance(op.fn, np.ufunc) and op.fn.signature is None
    return op.kind is Kind.elementwise or plain or op.infix is not None


def one_by_one(call: Call) -> Any:
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


def _stacked(call: Call, found: Any) -> Any:
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


def elementwise(call: Call) -> Any:
    """Broadcast by the other axes: what is mapped gets as many of them as the argument that has most."""
    pairs = list(zip(call.op.params, call.bound, call.mapped, strict=True))
    if any(m not in (True, False) for _, _, m in pairs):
        return NotImplemented
    most = max(int(np.ndim(v)) - m for _, v, m in pairs)
    changes = {p.name: lifted(v, most) for p, v, m in pairs if m}
    into = call["into"] if "into" in call._places else None  # of a ufunc's `out=`, which is written into
    if into is not None and "into" not in changes:
        changes["into"] = call.spread_value(into)
    return call.run(**changes)


def reduction(call: Call) -> Any:
    """Along axes that are one further back."""
    if not call.only("x", "where", "mean", "b"):
        return NotImplemented
    x, ndim = call.spread("x"), call.ndim("x")
    changes: dict[str, Any] = {
        name: lifted(call[name], ndim)
        for name in ("where", "mean", "b")
        if name in call._places and call.is_mapped(name)
    }
    if ndim == 0:  # a number: one axis to reduce over, and none to keep
        if "keepdims" in call._places:
            changes["keepdims"] = False
        return call.run(x=np.expand_dims(x, 1), axis=1, **changes)
    return call.run(x=x, axis=shifted(call["axis"], ndim), **changes)


@batching(np.argmax, np.argmin, np.nanargmax, np.nanargmin)
def position(call: Call) -> Any:
    """As a reduction; over all axes it counts in the flat array."""
    ndim, keepdims = call.ndim("x"), call["keepdims"]
    if call["axis"] is not None and ndim:
        return reduction(call)
    found = call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1, keepdims=np._NoValue)
    return lifted(found, ndim) if keepdims is not np._NoValue and keepdims else found


@batching("scipy.special.softmax", "scipy.special.log_softmax", "scipy.special.logsumexp")
def normalised(call: Call) -> Any:
    """As a reduction, also where the result has the shape of the argument."""
    if call.op.name == "logsumexp":
        return NotImplemented if call["return_sign"] else reduction(call)
    x = call["x"]
    if not call.ndim("x"):
        return call.run(x=np.expand_dims(x, 1), axis=1)[:, 0]
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)
def running(call: Call) -> Any:
    """Along one axis; without one, along the flat array."""
    if call["axis"] is None or not call.ndim("x"):
        return call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.sort, np.argsort, np.partition, np.argpartition)
def ordered(call: Call) -> Any:
    """Along one axis; without one, along the flat array."""
    if not call.only("x") or not call.ndim("x"):
        return NotImplemented
    if call["axis"] is None:
        return call.run(x=call.flat("x"), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(np.median, np.quantile, np.percentile, np.nanmedian, np.nanquantile, np.nanpercentile)
def ranked(call: Call) -> Any:
    """As a reduction; several quantiles stand in front of the batch axis, and go behind it."""
    if not call.only("x"):
        return NotImplemented
    found = reduction(call)
    several = int(np.ndim(call["q"])) if "q" in call._places else 0
    return np.moveaxis(found, several, 0) if several else found


@batching(np.searchsorted)
def searched(call: Call) -> Any:
    """Each value by itself, where all examples search the same array."""
    return call.run() if call.only("v") else NotImplemented


@batching(np.interp)
def interpolated(call: Call) -> Any:
    """Each point by itself, where all examples share the table."""
    return call.run() if call.only("x") else NotImplemented


@batching(float)
def number(call: Call) -> Any:
    """A double for each example."""
    return call["x"] if call["x"].dtype == np.float64 else call["x"].astype(np.float64)


@batching(complex)
def complex_number(call: Call) -> Any:
    """A complex number of double precision for each example."""
    return call["real"].astype(np.complex128) if call["imag"] is None else call["real"] + call["imag"] * 1j


@batching(np.float64, np.complex128)
def cast(call: Call) -> Any:
    """A scalar of a type of NumPy's for each example."""
    of: Any = call.op.fn
    return call["x"].astype(np.dtype(of))


@batching(np.real, np.imag, astype, np.copy)
def alone(call: Call) -> Any:
    """Element by element, of one argument."""
    return call.run() if call.only("x") else NotImplemented
