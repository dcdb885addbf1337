"""Straight graphs made by hand or at random: what tests of passes and of the schedule share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gradscribe.runtime.ir.graph import Call, Graph, Type, Value, interpret, map_values, type_of
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import require


def as_values(x: Any) -> Any:
    """An argument as it stands in a graph: arrays and NumPy's numbers are values."""
    if isinstance(x, (np.ndarray, np.generic)):
        return Value(type_of(x))
    if type(x) in (tuple, list):
        return type(x)([as_values(e) for e in x])
    if isinstance(x, slice):
        return slice(as_values(x.start), as_values(x.stop), as_values(x.step))
    return x


def types_given(op: Op, bound: tuple[Any, ...]) -> tuple[Type, ...] | None:
    """The types of what a call of arrays gives; None where it raises, or gives what has no type."""
    args, kwargs = op.call_form(bound)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = op.fn(*args, **kwargs)
            return tuple(map(type_of, (results,) if op.n_out == 1 else results))
        except Exception:
            return None


class Builder:
    """Writes a graph down while it runs it, so that every value has the type that NumPy gives it."""

    def __init__(self, *inputs: Any) -> None:
        self.concrete = list(inputs)
        self.graph = Graph([Value(type_of(v), f"x{k}") for k, v in enumerate(inputs)], [], [])
        self.space: dict[Value, Any] = dict(zip(self.graph.inputs, inputs, strict=True))

    @property
    def inputs(self) -> list[Value]:
        return self.graph.inputs

    def add(self, fn: Callable[..., Any], *args: Any, quiet: bool = False, **kwargs: Any) -> Value:
        """The call of an op; its one result."""
        op = require(fn)
        bound = op.bind(*args, **kwargs)
        a, k = op.call_form(tuple([map_values(b, self.space.__getitem__) for b in bound]))
        with np.errstate(all="ignore"):
            result = op.fn(*a, **k)
        out = Value(type_of(result))
        self.space[out] = result
        self.graph.calls.append(Call(op, bound, (out,), quiet=quiet))
        return out

    def gives(self, *outputs: Any) -> Graph:
        self.graph.outputs = list(outputs)
        return self.graph


def bits(value: Any) -> Any:
    """What must not change: type, layout and bytes, of NaNs only that they are one."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return type(value), repr(value)
    plain = np.where(np.isnan(value), np.nan, value) if value.dtype.kind in "fc" else np.asarray(value)
    return type(value), value.dtype, value.shape, value.strides, plain.astype(value.dtype).tobytes()


def run(graph: Graph, inputs: list[Any]) -> tuple[Any, ...]:
    """Results, what memory they share with inputs and one another, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        results = interpret(graph, inputs)
    arrays = [r for r in results if isinstance(r, np.ndarray)]
    given = [v for v in inputs if isinstance(v, np.ndarray)]
    shared = [[np.may_share_memory(r, v) for v in given] for r in arrays]
    among = [[np.may_share_memory(r, s) for s in arrays] for r in arrays]
    return [bits(r) for r in results], shared, among, {str(w.message).split(" encountered")[0] for w in caught}


def check_types(graph: Graph, inputs: list[Any]) -> None:
    """Each value has the kind, dtype and shape that the graph says."""
    space: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    with np.errstate(all="ignore"):
        for call in graph.calls:
            a, k = call.op.call_form(tuple([map_values(b, space.__getitem__) for b in call.args]))
            result = call.op.fn(*a, **k)
            for out, value in zip(call.outs, (result,) if call.op.n_out == 1 else result, strict=True):
                assert type_of(value)[:3] == out.type[:3], call
                space[out] = value
