"""Lengths that are one and the same: which axes of a graph's values its calls ask to be as long as each other.

Axes that happen to be of one length are not: only what a call could not take otherwise counts, so that the answer is the
same at every size that one source serves.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Type, Value, map_values
from ....runtime.ir.infer import infer
from ....runtime.ir.known_ops import GETITEM, MATMUL
from ....runtime.ir.opcodes import COND, LISTED, PARTS, ROWS, SCAN, regions_of
from ....runtime.ops import Kind, Op
from ....runtime.registry import require
from ....runtime.rules.control import SHAPE, SIZE
from ..passes.scans import Scan

__all__ = ["Axis", "SharedLengths"]

Axis = tuple[Value, int]

_PROBES = (
    (5, 7, 11, 13, 17),
    (6, 8, 12, 19, 23),
)  # lengths that tell axes apart; two of each, since x[:5] has five of any
_STACK, _CONCATENATE, _SOLVE = map(require, (np.stack, np.concatenate, np.linalg.solve))
_SQUARE = frozenset(map(require, (np.linalg.cholesky, np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.eigh)))


class SharedLengths:
    """The axes of the values of some graphs, in classes of one length each."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self._above: dict[Axis, Axis] = {}
        self._sizes: dict[Value, Axis] = {}  # of numbers: the axis that they are the length of
        self._shapes: dict[Value, Value] = {}  # of shapes: the array that they are of
        for graph in graphs:
            self._learn(graph)

    def root(self, axis: Axis) -> Axis:
        """The axis that stands for all that are as long as this one."""
        while axis in self._above:
            axis = self._above[axis]
        return axis

    def same(self, one: Any, other: Any) -> None:
        """Two values have one shape."""
        if isinstance(one, Value) and isinstance(other, Value) and one.type.shape == other.type.shape:
            for k in range(_ndim(one) if _ndim(one) == _ndim(other) else 0):
                self._join((one, k), (other, k))
            if one.element is not None:
                self.same(one.element, other.element)

    def _join(self, one: Axis, other: Axis) -> None:
        one, other = self.root(one), self.root(other)
        if one != other and _length(one) == _length(other):
            self._above[other] = one

    def _learn(self, graph: Graph) -> None:
        for call in graph.calls:
            if call.op is SCAN:
                self._scan(Scan(call), call)
            elif call.op is COND:
                for arm in regions_of(call):
                    self._alike(arm.inputs, call.args[2])
                    self._alike(arm.outputs, call.outs)
            for region in regions_of(call):
                self._learn(region)
            self._call(call)

    def _alike(self, some: Sequence[Any], others: Sequence[Any]) -> None:
        for one, other in zip(some, others, strict=True):
            self.same(one, other)

    def _scan(self, scan: Scan, call: Call) -> None:
        for c in scan.carry:
            for other in (c.param, c.after, c.out, c.asked):
                self.same(c.start, other)
        for item in (*scan.xs, *scan.inv):
            given = item.given
            self.same(item.param, given.element if isinstance(given, Value) and given.element else given)
            self.same(item.param, item.asked)
        for y in scan.ys:
            self.same(y.value, y.out.element)

    def _call(self, call: Call) -> None:
        arrays = [v for v in dict.fromkeys(call.reads) if _ndim(v)]
        if call.op is SIZE:
            x, axis = call.args
            self._sizes[call.outs[0]] = (x, axis % max(1, _ndim(x)))
        elif call.op is SHAPE:
            self._shapes[call.outs[0]] = call.args[0]
        elif call.op.base is MATMUL:
            self._product(call.args[0], call.args[1], call.outs[0])
        elif call.op is ROWS:
            self._rows(call)
        elif call.op is LISTED:
            for v in call.args[0]:
                self.same(v, call.outs[0].element)
        elif call.op is PARTS:
            for v in call.outs:
                self.same(v, call.args[0].element)
        elif call.op.kind is Kind.elementwise or _is_by_element(call.op.base.fn):
            self._by_element([*arrays, *call.outs])
        elif call.op.base in (_STACK, _CONCATENATE) and len({v.type.shape for v in arrays}) == 1 < len(arrays):
            for v in arrays[1:]:
                self.same(arrays[0], v)
            self._probed(call, arrays)
        elif call.op.base in _SQUARE or call.op.base is _SOLVE:
            matrix = call.args[0]
            self._join((matrix, _ndim(matrix) - 2), (matrix, _ndim(matrix) - 1))
            if call.op.base is _SOLVE and len(arrays) == 2:
                self._join((matrix, _ndim(matrix) - 1), (arrays[1], max(0, _ndim(arrays[1]) - 2)))
            for out in call.outs:
                self.same(arrays[-1], out)
        elif len(arrays) == 1 and call.op.kind is not Kind.opaque:
            self._probed(call, arrays)
        self._made(call)

    def _product(self, x: Any, y: Any, out: Value) -> None:
        if not isinstance(x, Value) or not isinstance(y, Value):
            return
        i, j, k = _ndim(x), _ndim(y), _ndim(out)
        self._join((x, i - 1), (y, max(0, j - 2)))
        if i > 1:
            self._join((x, i - 2), (out, k - 2 if j > 1 else k - 1))
        if j > 1:
            self._join((y, j - 1), (out, k - 1))

    def _by_element(self, values: list[Value]) -> None:
        for k in range(1, 1 + max(map(_ndim, values), default=0)):
            first: dict[int, Axis] = {}  # of each length
            for axis in [(v, _ndim(v) - k) for v in values if _ndim(v) >= k]:
                one = first.setdefault(_length(axis), axis)
                if one is not axis:
                    self._join(one, axis)

    def _rows(self, call: Call) -> None:
        """An array of the items of a list."""
        (out,) = call.outs
        element = getattr(call.args[0], "element", None)
        if element is not None and call.args[1] == 0:
            for k in range(_ndim(element)):
                self._join((element, k), (out, k + 1))

    def _probed(self, call: Call, arrays: list[Value]) -> None:
        """Return the lengths that those of an op's results come from, as its results on arrays of other lengths show."""
        x = arrays[0]
        if not 0 < _ndim(x) <= len(_PROBES[0]):
            return
        found = [_shapes(call, arrays, lengths[: _ndim(x)]) for lengths in _PROBES]
        for k, out in enumerate(call.outs):
            for axis in range(_ndim(out)):
                made = [
                    shapes[k][axis] if len(shapes[k]) == _ndim(out) else None for shapes in found if len(shapes) > k
                ]
                for j, pair in enumerate(zip(*_PROBES, strict=True)):
                    if j < _ndim(x) and made == list(pair):
                        self._join((x, j), (out, axis))

    def _made(self, call: Call) -> None:
        """A new array of the lengths of others."""
        for out in call.outs[:1] if _has_shape(call.op) else ():
            given = zip(call.op.params, call.args, strict=False)
            for shape in itertools.chain.from_iterable(_tuples(a) for p, a in given if p.name == "shape"):
                if isinstance(shape, Value) and shape in self._shapes:
                    self.same(self._shapes[shape], out)
                elif isinstance(shape, tuple) and len(shape) == _ndim(out):
                    for axis, n in enumerate(shape):
                        if isinstance(n, Value) and n in self._sizes:
                            self._join(self._sizes[n], (out, axis))


def _tuples(argument: Any) -> Iterator[Any]:
    """Return the lengths of a shape: a tuple of them, one length, or the shape of an array."""
    if isinstance(argument, tuple):
        yield argument
    elif isinstance(argument, Value) and argument.type.kind == "python":
        yield argument
        yield (argument,)


def _shapes(call: Call, arrays: list[Value], lengths: tuple[int, ...]) -> list[tuple[int | None, ...]]:
    """The shapes of the results of a call on arrays of these lengths; none where it takes no such arrays."""

    def other(v: Value) -> Any:
        if v not in arrays:
            return 0 if call.op.base is GETITEM and v.type.kind == "python" and v.type.dtype.kind == "i" else v
        size, strides = v.type.dtype.itemsize, [1]
        for n in reversed(lengths[1:]):
            strides.append(strides[-1] * n)
        return Value(Type("array", v.type.dtype, lengths, tuple([size * s for s in reversed(strides)])))

    found = infer(call.op, tuple([map_values(a, other) for a in call.args]))
    return [] if found is None else [one.shape for one in found]


@functools.cache
def _has_shape(op: Op) -> bool:
    return any(p.name == "shape" for p in op.params)


def _is_by_element(function: Any) -> bool:
    return isinstance(function, np.ufunc) and function.signature is None


def _ndim(v: Any) -> int:
    return len(v.type.shape) if isinstance(v, Value) and v.type.kind == "array" else 0


def _length(axis: Axis) -> int:
    return int(axis[0].type.shape[axis[1]])
