"""Written arrays of the caller: the values that they had before a captured function ran, and those that it leaves."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....runtime.arrays import is_array, is_cupys, is_plain_array
from ....runtime.errors import GradientLossError
from ....runtime.ir.graph import Graph, Value
from ....runtime.ir.known_ops import GETITEM
from ....runtime.ir.opcodes import has_effects
from ....runtime.registry import require
from ....runtime.rules.control import SIZES
from ....runtime.rules.indexing import index_set
from ....runtime.rules.messages import PRINTS
from ....tracer.core.site import blame
from ....tracer.core.tensor_base import Operand, wrap
from ....tracer.core.thread_state import LOCAL, grad_mode, recording
from ....tracer.memory.view_renewal import replay
from ...difference import difference
from ...trees import flatten_row
from ..schedule.reuse import ufunc_of
from .generators import left_another_state, modules_of

__all__ = [
    "OverlapError", "Written", "left_otherwise", "reads_other_strides", "returned", "writes_unasked", "wrote_nothing",
]  # fmt: skip


Arrays = tuple[tuple[Sequence[Any], dict[str, Any]], dict[str, Any]]  # arguments, and what stands outside by its name

_BY_ELEMENT = SIZES | {GETITEM, require(index_set)}


class OverlapError(BaseException):
    """The code is about to write into memory that several arguments share; no handler of the user's may notice."""


class Written:
    """The Tensors that stand for these arrays, in the order of their first writes."""

    def __init__(self, capture: Any) -> None:
        self.capture = capture
        self.bases: list[Any] = []
        self.inputs: list[Value] = []  # what they were in the graph
        self.before: dict[int, Any] = {}  # copies of the arrays, by their identity

    def add(self, base: Any) -> None:
        """`base` will be written; raises OverlapError where its memory is that of others, or its own twice over."""
        capture, array = self.capture, base._caller
        if capture.regions is not None:
            capture.regions.effect("writes into an argument")
        if capture.failed is not None or any(base is known for known in self.bases):
            return
        others = [v._caller for v in (*LOCAL.arguments, *capture.outside) if v is not base]
        arrays = [v for v in others if is_array(v)]
        if _overlaps_itself(array) or any(np.may_share_memory(v, array) for v in arrays):
            self._leave("writes into memory that several of its arguments share")
            return
        self.bases.append(base)
        self.inputs.append(base._ir)
        self.before[id(array)] = array.copy(order="K")

    def before_print(self) -> None:
        """Raise OverlapError where a write could find that arguments overlap: a message that is printed cannot be taken back."""
        arrays = [v._caller for v in LOCAL.arguments if is_array(v._caller)]
        if any(_overlaps_itself(v) for v in arrays) or any(
            np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2)
        ):
            self._leave("prints, with arguments that share memory")

    def _leave(self, why: str) -> None:
        """Undo what the run drew, and leave it to the plain function; where it has printed, the capture fails, and goes on."""
        if any(call.op in PRINTS for call in self.capture.findings.graph.calls):  # which is not to happen twice
            self.capture.refuse(why)
            return
        self.capture.generators.take_back()
        self.capture.abandoned = True
        raise OverlapError(why)

    def loses_gradient(self, base: Any) -> None:
        """Raise GradientLossError where a value that requires grad is written into an array from outside, as eager does."""
        if any(base is tensor for tensor in self.capture.outside):
            raise blame(GradientLossError(
                "a value that requires grad is written into an array from outside the function, which the array would lose. "
                "Pass the array as an argument, or write the value's numbers (x.detach())."
            ))  # fmt: skip

    def overlap(self, array: Any) -> bool:
        """Whether an array lies where one was written."""
        return any(np.may_share_memory(base._caller, array) for base in self.bases)

    def place_of(self, leaf: Any) -> int | None:
        """Return the place among these arrays of the one that a result is, the very object."""
        owner = owner_of(leaf)
        return next((k for k, base in enumerate(self.bases) if base is owner), None)

    def shows(self, leaf: Any) -> bool:
        """Whether a result is a view of one of these arrays, or of what it held before."""
        view = getattr(leaf, "_view", None)
        if view is not None and any(view.base is base for base in self.bases):
            return True
        return is_array(leaf._value) and self.overlap(leaf._value)

    def final(self) -> tuple[list[Value], list[Any]]:
        """The inputs that were written, and the values that they have in the end."""
        found = [(x, base._ir) for x, base in zip(self.inputs, self.bases, strict=True) if base._ir is not x]
        return [x for x, _ in found], [new for _, new in found]


def returned(written: Written, leaf: Any) -> Any:
    """A result as the caller gets it: of a view of an array that was written, the view of that array itself."""
    view = getattr(leaf, "_view", None)
    if view is None or not any(view.base is base for base in written.bases):
        return leaf
    with grad_mode(False), recording(None):
        return replay(view._replace(base=wrap(view.base._caller)))


def writes_unasked(entry: Any, before: Arrays, after: Arrays) -> str | None:
    """Say which array a source changed that its signature does not say it writes into.

    `before` and `after` are the arguments, and what stands outside the function, as they were and as the text left them.
    """
    signature, raw = entry.specialisation.signature, entry.specialisation.raw
    given = list(zip(signature.arguments_named, signature.trees, _in_order(before), _in_order(after), strict=True))
    inputs = (
        raw.inputs[len(raw.inputs) - len(signature.extras) :] if signature.writes else [None] * len(signature.extras)
    )
    given += [(name, v, before[1][name], after[1][name]) for name, v in zip(signature.extras, inputs, strict=True)]
    for name, tree, old, new in given:
        for leaf, was, now in zip(*[flatten_row(one)[0] for one in (tree, old, new)], strict=True):
            asked = any(leaf is v for v in signature.writes)
            if is_plain_array(was) and not asked and difference(*_packed((now, was))) is not None:
                return f"it writes into `{name}`, which it was not known to do"
    return None


def _in_order(given: Arrays) -> list[Any]:
    (args, kwargs), _ = given
    return [*args, *kwargs.values()]


def left_otherwise(
    entry: Any, copies: tuple[list[Any], dict[str, Any]], outside: dict[str, Any], inputs: Any, stood: dict[str, Any]
) -> str | None:
    """Return how generators and written arrays differ from those that eager left: `inputs`, and values outside from before."""
    graphs = [one.raw for one in getattr(entry.specialisation, "given", [entry.specialisation])]
    if any(map(has_effects, graphs)):
        now = stood | modules_of(*graphs)
        left = flatten_row([copies[0], list(copies[1].values()), [outside[name] for name in now]])[0]
        if any(map(left_another_state, left, flatten_row([inputs.values, list(now.values())])[0])):
            return "it leaves a generator of random numbers in another state"
    found = (*_arrays([*copies[0], *copies[1].values()]), *_arrays(list(outside.values())))
    expected = (*_arrays(inputs.values), *_arrays(list(stood.values())))
    problem = difference(_packed(found), _packed(expected), entry.specialisation.eps)
    return problem and f"of the arrays that it writes into, {problem}"


def _packed(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays in C order: a copy may have other strides, as those along an axis of length 1."""
    return tuple([a if is_cupys(a) else np.array(a, order="C") for a in arrays])


def wrote_nothing(error: Exception, specialisation: Any) -> bool:
    """Whether a source that raised has no effect yet, and eager may run in its place: not so where it raised in `x += y`."""
    if has_effects(specialisation.raw):
        return False
    function: Any = ast.parse(specialisation.text).body[-1]
    names = specialisation.signature.parameters
    nodes: list[Any] = list(ast.walk(function))
    lines = [node.lineno for node in nodes if _target(node) in names]
    at = specialisation.line_of(error)
    return at is not None and not any(at >= line for line in lines)


def _target(node: Any) -> str | None:
    """The variable that a statement computes into: `x += y`, `np.exp(t, out=x)`."""
    into: Any = node.target if isinstance(node, ast.AugAssign) else None
    if isinstance(node, ast.Call):
        into = next((k.value for k in node.keywords if k.arg == "out"), None)
    return into.id if isinstance(into, ast.Name) else None


def _arrays(values: list[Any]) -> list[Any]:
    return [leaf for leaf in flatten_row(tuple(values))[0] if is_plain_array(leaf)]


def owner_of(leaf: Any) -> Any:
    """The Tensor of the outermost transform that a Tensor stands for."""
    while isinstance(getattr(leaf, "_caller", None), Operand):
        leaf = leaf._caller
    return leaf


def reads_other_strides(graph: Graph, inputs: list[Value], news: list[Any]) -> bool:
    """Whether code may have seen that what stands for a written array lies in memory in another way.

    A write gives a Tensor new values, without the gaps that the caller's array has: the bits of a matrix product may differ.
    """
    seen = {
        new
        for x, new in zip(inputs, news, strict=True)
        if isinstance(new, Value) and new.type.strides != x.type.strides
    }
    if not seen:
        return False
    return any(ufunc_of(call.op) is None and call.op.base not in _BY_ELEMENT for call in graph.calls)


def _overlaps_itself(array: Any) -> bool:
    """Whether elements of an array may share memory."""
    reach = array.itemsize
    for n, step in sorted(zip(array.shape, map(abs, array.strides), strict=True), key=lambda axis: axis[1]):
        if n > 1:
            if step < reach:
                return True
            reach += (n - 1) * step
    return False
