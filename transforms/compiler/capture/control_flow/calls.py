"""Loops and branches recorded as calls, and the helpers by which their nodes record their reverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....runtime.arrays import is_plain_array
from .....runtime.ir.graph import Call, Graph, Value, type_of
from .....runtime.ir.opcodes import COND, ITEMS, LISTED, PARTS, ROWS, SCAN, Branch, Loop, stack_value
from .....runtime.ops import Op
from .....tracer.core.tensor_base import Operand
from ...analysis.memory import makes_new_memory
from ...frontend.attempts import LoopRejected
from .examples import covered, hidden_by, whole
from .frames import Frame
from .nodes import attach
from .reverse import tensor_for
from .sharing import Sharing
from .stacks import stacked
from .state import plain_sample as samples_of

__all__ = ["Calls"]


class Calls(Sharing):
    """Calls in regions: their records, and the Tensors of their results."""

    def calculated(self, op: Op, operands: Sequence[Any]) -> Any:
        """An operation of Python's on Python's numbers."""
        value = op.fn(*[v._value if isinstance(v, Operand) else v for v in operands])
        out = Value(type_of(value))
        result = tensor_for(out, value)
        capture = self.capture
        bound = tuple([capture.operand(v) for v in operands])
        bound += tuple([p.default for p in op.params[len(bound) :]])
        call = capture.new_call(op, bound, (out,), capture.site())
        capture.name(call)
        capture.numbers.result(bound, call.outs)
        capture.findings.graph.calls.append(call)
        self.note(call, [value])
        return result

    def scan(
        self, loop: Loop, carry: Sequence[Any], xs: Sequence[Any], inv: Sequence[Any], n: Any, samples: Sequence[Any],
        names: Sequence[str | None], element_samples: Sequence[Any] = (),
    ) -> list[Any]:  # fmt: skip
        """Write a loop down: Tensors for what it gives, of which `samples` are samples."""
        capture = self.capture
        args = (
            loop, tuple([capture.operand(v) for v in carry]), tuple([capture.operand(v) for v in xs]),
            tuple([capture.operand(v) for v in inv]), n if n is None else capture.operand(n),
        )  # fmt: skip
        if isinstance(args[4], Value) and isinstance(n, Operand):
            self._remember(n, args[4])
        if any(v in self.mixed for v in (*args[1], *args[2], *args[3])):
            raise LoopRejected("reads a number that is Python's or NumPy's, as a branch goes", capture.site())
        k = len(carry)
        outs = [Value(type_of(value), name) for value, name in zip(samples, names, strict=True)]
        outs += [stack_value(y if isinstance(y, Value) else Value(type_of(y))) for y in loop.body.outputs[k:]]
        trips = Value(type_of(0))
        call = capture.new_call(SCAN, args, (*outs, trips), capture.site())
        results = [tensor_for(out, value) for out, value in zip(outs[:k], samples, strict=True)]
        results += [stacked(value, out) for out, value in zip(outs[k:], element_samples, strict=True)]
        results.append(tensor_for(trips, 1))
        self._enter(call, results)
        attach(self, call, (*carry, *xs, *inv), results)
        return results

    def attach(self, call: Call, inputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Give the results of a call their node, also where a region is replayed."""
        attach(self, call, inputs, results)

    def cond(
        self, branch: Branch, pred: Any, ins: Sequence[Any], samples: Sequence[Any], names: Sequence[str | None]
    ) -> list[Any]:
        """Write a branch down: Tensors for what it gives."""
        capture = self.capture
        args = (branch, capture.operand(pred), tuple([capture.operand(v) for v in ins]))
        outs = tuple([Value(type_of(value), name) for value, name in zip(samples, names, strict=True)])
        call = capture.new_call(COND, args, outs, capture.site())
        self._remember(pred, args[1])
        results = [tensor_for(out, value) for out, value in zip(outs, samples, strict=True)]
        self._enter(call, results)
        attach(self, call, tuple(ins), results)
        return results

    def rows(self, stack: Any, count: int, axis: int = 0) -> Any:
        """The items of a list, `count` of them, as an array: side by side along `axis`."""
        item, hides = stack._value[0], hidden_by(stack)
        axis += len(hides)
        value = np.stack([item] * count, axis) if count else np.empty((0, *np.shape(item)), np.result_type(item))
        return covered(self._called(ROWS, (stack, axis), Value(type_of(value)), value), hides)

    def items(self, array: Any, axis: int = 0) -> Any:
        """Return the parts along an axis of an array as a list."""
        hides = hidden_by(array)
        axis += len(hides)
        array = np.moveaxis(whole(array), axis, 0) if axis else array
        rows = array._value
        item = rows[0] if len(rows) else np.zeros(rows.shape[1:], rows.dtype)[()]
        return covered(self._called(ITEMS, (array,), stack_value(Value(type_of(item))), [item]), hides)

    def listed(self, items: Sequence[Any], name: str | None = None, whole: str | None = None) -> Any:
        """The items, which are of one type, as a list; `name` is that of an item, `whole` of what an item is a part of."""
        known = self.wholes.get(tuple([getattr(item, "_ir", None) for item in items]))
        if known is not None:
            return known
        capture, sample = self.capture, samples_of(items[0])
        stack = stack_value(Value(type_of(sample), whole))
        stack.name = name or whole
        call = capture.new_call(LISTED, (tuple(map(capture.operand, items)),), (stack,), capture.site())
        made = tensor_for(call.outs[0], [sample])
        self._enter(call, [made])
        self.items_of[call.outs[0]] = list(items)
        return made

    def parts(self, stack: Any, count: int) -> Any:
        """The items of a list, `count` of them, one by one."""
        capture, item = self.capture, stack._value[0]
        outs = tuple([Value(type_of(item)) for _ in range(count)])
        call = capture.new_call(PARTS, (capture.operand(stack),), outs, capture.site())
        new = self._puts_new_arrays(stack)
        made = [tensor_for(out, np.array(item) if new and is_plain_array(item) else item) for out in outs]
        self._enter(call, made)
        attach(self, call, [stack], made)
        self.wholes[outs] = stack
        return made

    def _puts_new_arrays(self, stack: Any) -> bool:
        """Whether each item of a list is an array that a trip of a loop has made for it alone."""
        ir = stack._ir
        maker = next((call for call in reversed(self.capture.findings.graph.calls) if ir in call.outs), None)
        if maker is None or maker.op is not SCAN:
            return False
        body: Graph = maker.args[0].body
        v = body.outputs[maker.outs.index(ir)]
        made = next((call for call in body.calls if v in call.outs), None)
        return made is not None and made.op is not SCAN and body.outputs.count(v) == 1 and makes_new_memory(made)

    def sum_of_stacks(self, x: Any, y: Any) -> Any:
        """The sum of two lists, item by item."""
        with self.frame() as frame:
            a, b = (covered(self.param(t._value[0], None, frame), hidden_by(t)) for t in (x, y))
            total = a + b
            index = self.param(0, None, frame)
        body = frame.graph([index._ir, a._ir, b._ir], [self.capture.operand(total)])[0]
        return covered(self.scan(Loop(body), [], [x, y], [], None, [], [], [total._value])[0], hidden_by(total))

    def _called(self, op: Op, given: tuple[Any, ...], out: Value, sample: Any) -> Any:
        capture = self.capture
        call = capture.new_call(op, tuple(map(capture.operand, given)), (out,), capture.site())
        result = tensor_for(out, sample)
        self._enter(call, [result])
        attach(self, call, given[:1], [result])
        return result

    def _enter(self, call: Call, results: Sequence[Any]) -> None:
        values = [r._value for r in results]
        self._begin()
        self.capture.findings.graph.calls.append(call)
        self.note(call, values)
        if not self.frames:
            if call.op is not COND or not self.stand_ins.isdisjoint(call.reads):
                self.stand_ins.update(call.outs)
            self.samples.update(zip(call.outs, values, strict=True))

    def cotangent(self, sample: Any, of: Value, frame: Frame, hides: tuple[Any, ...] = ()) -> Any:
        """A Tensor for a cotangent that enters a region, of which `sample` is a sample; it hides the axes of these vmaps."""
        if isinstance(sample, list):
            made = stacked(sample[0], _list_of(sample, of))
            self.samples[made._ir] = sample
            frame.made.add(made._ir)
        else:
            made = self.param(sample, None, frame)
        made._ir.cotangent_of = of
        return covered(made, hides)

    def around(self, ir: Value) -> Any:
        """A Tensor for a value whose sizes a region asks for."""
        known = self.seen.get(ir)
        return tensor_for(ir, self.samples.get(ir) if known is None else known._value)

    def sample_in(self, node: Any, graph: Graph, k: int, first: int = 1) -> Any:
        """A sample of input `k` of a region, counted without the place of the trip."""
        found = self.samples.get(graph.inputs[first + k])
        return samples_of(node.inputs[k]) if found is None else found

    def trips_of(self, node: Any) -> Any:
        """Return the number of trips of a loop: an int, or a traced one."""
        call = node.call
        n = call.args[4]
        if call.args[0].test is None and n is not None:
            return self.tensor_of(n) if isinstance(n, Value) else n
        return tensor_for(call.outs[-1], 1)

    def grown(self, call: Call, out: Value, sample: Any) -> None:
        """A call gives one result more."""
        self.samples[out] = sample
        for frame in self.frames:
            if call in frame.calls:
                frame.made.add(out)
        if not self.is_open(out):
            self.stand_ins.add(out)


def _list_of(sample: list[Any], of: Value) -> Value:
    """Return the value of a list's cotangent, of which `sample` is a sample."""
    item, element = sample[0], of.element
    assert element is not None
    return stack_value(_list_of(item, element) if isinstance(item, list) else Value(type_of(item), element.name))
