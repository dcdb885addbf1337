"""Batching of ops that repeat, pad, difference and make arrays: the same op, one axis further back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batching import Call, batching, lifted, shifted
from .rules.creation import count_sum, ramp_sum
from .rules.shaping import fold_pad, sum_repeats, widths
from .rules.support import recurrence

__all__: list[str] = []


# Repeating, padding, differences --------------------------------------------------------------------


@batching(np.repeat)
def repeat(call: Call) -> Any:
    """Along an axis that is one further back; without one, along the flat array."""
    if not call.only("x"):
        return NotImplemented
    if call["axis"] is None or not call.ndim("x"):
        return call.run(x=np.reshape(call["x"], (call.size, -1)), axis=1)
    return call.run(axis=shifted(call["axis"], call.ndim("x")))


@batching(sum_repeats, fold_pad)
def folded(call: Call) -> Any:
    """Added up along an axis that is one further back."""
    shape = call["shape"]
    if not call.only("g"):
        return NotImplemented
    return call.run(axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))


@batching(np.tile)
def tile(call: Call) -> Any:
    """Repeats of the axes behind the batch axis."""
    if not call.only("x"):
        return NotImplemented
    reps = tuple(call["reps"]) if np.ndim(call["reps"]) else (call["reps"],)
    ndim = max(len(reps), call.ndim("x"))
    return call.run(x=lifted(call["x"], ndim), reps=(1,) * (ndim + 1 - len(reps)) + reps)


@batching(np.pad)
def pad(call: Call) -> Any:
    """Nothing is added along the batch axis."""
    words = ("constant_values", "end_values", "stat_length")
    if not call.only("x") or callable(call["mode"]) or any(np.ndim(call[w]) for w in words):
        return NotImplemented
    return call.run(pad_width=[(0, 0), *widths(call["pad_width"], call.ndim("x"))])


@batching(np.diff)
def diff(call: Call) -> Any:
    """Along an axis that is one further back."""
    x, axis = call.spread("x"), shifted(call["axis"], call.ndim("x"))
    ends = {}
    for name in ("prepend", "append"):
        ends[name] = call.spread(name) if np.ndim(call[name]) else call[name]
        if call.is_mapped(name) and not call.ndim(name):
            shape = [1 if k == axis % np.ndim(x) else n for k, n in enumerate(np.shape(x))]
            ends[name] = np.broadcast_to(lifted(call[name], call.ndim("x")), shape)
    return call.run(x=x, axis=axis, **ends)


@batching(np.trapezoid)
def trapezoid(call: Call) -> Any:
    """Along an axis that is one further back; the points may be those of all examples."""
    if call.is_mapped("dx") and not call.ndim("dx") and call["x"] is None:
        axis = shifted(call["axis"], call.ndim("y"))
        return call.run(y=call.spread("y"), dx=1.0, axis=axis) * lifted(call["dx"], call.ndim("y") - 1)
    if not call.only("y", "x"):
        return NotImplemented
    ndim = call.ndim("y")
    axis = call["axis"] % ndim
    x = call["x"]
    if call.is_mapped("x"):
        if call.ndim("x") == 1:
            x = np.reshape(x, (call.size, *(1,) * axis, -1, *(1,) * (ndim - axis - 1)))
        x = lifted(x, ndim)
    elif x is not None and np.ndim(x) > 1:
        x = np.reshape(x, (1,) * (ndim + 1 - np.ndim(x)) + np.shape(x))
    return call.run(y=call.spread("y"), x=x, axis=axis + 1)


@batching(recurrence)
def recurrent(call: Call) -> Any:
    """The batch axis behind the axis of steps."""
    a, b = call.spread("a"), call.spread("b")
    return np.moveaxis(call.run(a=np.moveaxis(a, 0, 1), b=np.moveaxis(b, 0, 1)), 1, 0)


# Creation -------------------------------------------------------------------------------------------


@batching(np.zeros_like, np.ones_like, np.empty_like)
def like(call: Call) -> Any:
    """Of the shape of all examples."""
    shape = call["shape"]
    return call.run() if shape is None else call.run(shape=(call.size, *_listed(shape)))


@batching(np.full)
def full(call: Call) -> Any:
    """Filled with what each example gives."""
    shape = _listed(call["shape"])
    return call.run(shape=(call.size, *shape), fill_value=lifted(call["fill_value"], len(shape)))


@batching(np.full_like)
def full_like(call: Call) -> Any:
    """Filled with what each example gives."""
    shape = call["shape"]
    listed = np.shape(call["x"])[int(call.is_mapped("x")) :] if shape is None else _listed(shape)
    fill = call["fill_value"]
    fill = lifted(fill, len(listed)) if call.is_mapped("fill_value") else fill
    return call.run(x=call.spread("x"), fill_value=fill, shape=None if shape is None else (call.size, *listed))


def _listed(shape: Any) -> tuple[Any, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


@batching(np.array)
def array(call: Call) -> Any:
    """A copy, with as many axes as are asked for."""
    return lifted(call.run(ndmin=0), call["ndmin"]) if call.mapped[0] is True else NotImplemented


@batching(np.linspace, np.logspace, np.geomspace)
def linspace(call: Call) -> Any:
    """Along a new axis that is one further back."""
    if not call.only("start", "stop"):
        return NotImplemented
    ndim = max(call.ndim("start"), call.ndim("stop"))
    ends = {name: lifted(call[name], ndim) if call.is_mapped(name) else call[name] for name in ("start", "stop")}
    return call.run(axis=shifted(call["axis"], ndim + 1), **ends)


@batching(count_sum)
def counted(call: Call) -> Any:
    """Along the last axis, which it is for all examples, too."""
    return call.run()


@batching(ramp_sum)
def ramp_summed(call: Call) -> Any:
    """The batch axis behind the axis of the ramp."""
    axis = shifted(call["axis"], call.ndim("x"))
    return call.run(x=np.moveaxis(call["x"], axis, 0), axis=0)
