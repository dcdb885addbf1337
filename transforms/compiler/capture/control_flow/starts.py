"""Initial cotangents and tangents of what a loop carries, and their types."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....runtime.arrays import is_plain_array, is_writeable
from .....runtime.ir.graph import Call, Value, type_of
from .....runtime.ir.opcodes import is_region
from .....runtime.registry import require
from .....tracer.core.dispatch import apply
from .....tracer.core.graph import AccumulateGrad
from .....tracer.core.tensor_base import Operand
from ...frontend.attempts import LoopRejected
from .examples import covered, hidden_by, joined, over

__all__ = [
    "Either", "apart", "as_kind", "begun_anew", "called", "differs", "empty_sum", "in_columns", "is_spread", "laid_out",
    "of_numpy", "owned", "zeros",
]  # fmt: skip


def begun_anew(sample: Any, hid: tuple[Any, ...], hides: tuple[Any, ...]) -> Any:
    """A sample of what comes to hide more axes, and so starts as a new array."""
    return sample if hid == hides else np.array(sample, order="C")


def of_numpy(sample: Any) -> Any:
    """A cotangent is NumPy's also where it is that of a number of Python's."""
    return np.result_type(sample).type(sample) if isinstance(sample, (float, complex)) else sample


def zeros(sample: Any, like: Any = None, hides: tuple[Any, ...] = (), shape: Any = None) -> Any:
    """A cotangent of zeros, in the dtype of what it belongs to: of `like`, a Tensor of that shape, where there is one.

    `sample` is of all examples of the vmaps whose axes it hides, `like` of what all of them share. Where nothing is like it
    `shape` says, in traced sizes, what its shape is.
    """
    if type(sample) is list:
        raise LoopRejected("a list in it has no cotangent in its second derivative")
    if not is_plain_array(sample):
        return np.result_type(sample).type(0)
    if hides:
        return covered(apply(require(np.zeros), (_of_all(like, hides), sample.dtype), {}), hides)
    if like is None:
        return apply(require(np.zeros), (sample.shape if shape is None else shape, sample.dtype), {})
    return apply(require(np.zeros_like), (like,), _order(sample, like))


def empty_sum(sample: Any, like: Any, adds_at: bool, hides: tuple[Any, ...] = ()) -> Any:
    """Return the start of a sum: -0.0, to which adding changes no bit; for a buffer that is added to at places, zeros."""
    if not is_plain_array(sample):
        return -np.result_type(sample).type(0)
    if hides and not adds_at:
        order = {"order": "F"} if sample.flags.f_contiguous and not sample.flags.c_contiguous else {}
        return covered(apply(require(np.full), (_of_all(like, hides), -0.0, sample.dtype), order), hides)
    if hides:
        return zeros(sample, like, hides)
    if like is None:
        return apply(require(np.full), (sample.shape, -0.0, sample.dtype), {})
    if adds_at:
        return apply(require(np.zeros_like), (like,), {} if like._value.flags.c_contiguous else {"order": "C"})
    return apply(require(np.full_like), (like, -0.0), _order(sample, like))


def _of_all(like: Any, hides: tuple[Any, ...]) -> Any:
    """The shape of one value like `like` for each example."""
    return (*[level.size for level in hides], *(like.shape if isinstance(like, Operand) else np.shape(like)))


def _order(sample: Any, like: Any) -> dict[str, str]:
    """The memory order to ask for, where it is not that of `like`."""
    flags, have = sample.flags, like._value.flags
    if flags.c_contiguous:
        return {} if have.c_contiguous else {"order": "C"}
    return {} if have.f_contiguous or not flags.f_contiguous else {"order": "F"}


def called(start: Any, of: Value) -> Any:
    """A cotangent that starts here, by the name of what it belongs to."""
    ir = getattr(start, "_ir", None)
    if ir is not None:
        ir.cotangent_of = of
    return start


def as_kind(value: Any, sample: Any) -> Any:
    """A cotangent that enters a loop as the kind of value, array or scalar, that each trip gives."""
    held = value._value if hasattr(value, "_value") else value
    if type_of(held).kind == type_of(sample).kind:
        return value
    if is_plain_array(sample):
        return apply(require(np.full), ((), value, sample.dtype), {})
    return value[()]


def is_spread(value: Any) -> bool:
    """Whether an array is one number, seen at every place."""
    return is_plain_array(value) and value.size > 1 and not any(value.strides)


def in_columns(value: Any) -> bool:
    """Whether an array lies in columns, and not in rows as well."""
    return is_plain_array(value) and value.flags.f_contiguous and not value.flags.c_contiguous


def laid_out(start: Any, sample: Any, calls: Sequence[Call], like: Any = None) -> Any:
    """A cotangent that is one number at every place, as an array that lies as `sample`: other trips or arms leave one.

    `calls` are those that read and leave it, `like` is the Tensor that it belongs to, where there is one. Where all that
    they have lies in rows it stays as it is: so lies what they make of it.
    """
    held = getattr(start, "_value", start)
    if not is_spread(held) or is_spread(sample):
        return start
    if sample.flags.c_contiguous:
        rows = all(_in_rows(v) for call in calls for v in (*call.reads, *call.outs))
        return start if rows else apply(require(np.copy), (start,), {})
    if sample.flags.f_contiguous:
        return apply(require(np.copy), (start,), {"order": "F"})
    if like is not None and np.empty_like(like._value).strides == sample.strides:
        return apply(require(np.full_like), (like, start[(0,) * held.ndim]), {})
    return apply(require(np.copy), (start,), {})


def _in_rows(v: Value) -> bool:
    """Whether a value lies in C order, or is one number at every place."""
    if v.type.kind != "array" or len(v.type.shape) < 2 or not any(v.type.strides):
        return True
    steps = [(step, n) for step, n in zip(v.type.strides, v.type.shape, strict=True) if n != 1]
    return all(step == after * n for (step, _), (after, n) in itertools.pairwise(steps))


def owned(start: Any, others: Sequence[Any], node: Any, k: int, after: Any, calls: Sequence[Call]) -> Any:
    """Return the start of a cotangent that may end as it starts, in memory of its own if it is an argument's gradient.

    `after` is what `calls`, of a trip, make of it; `others` start beside it.
    """
    if not _is_shared(start, others, node, k):
        return start
    runs = node.call.args[0].test is None and isinstance(node.call.args[4], int)
    changes = any(after in call.outs for call in calls if not is_region(call))
    return start if runs and changes else np.copy(start)


def apart(given: Sequence[Any], node: Any, slots: Sequence[int]) -> list[Any]:
    """Return the results of an arm of a branch, with memory of its own for each gradient of an argument."""
    made: list[Any] = []
    for t, k in zip(given, slots, strict=True):
        is_partial = node.regions.part_of(t) is not None  # and no array, on some ways
        made.append(np.copy(t) if not is_partial and _is_shared(t, made, node, k) else t)
    return made


def _is_shared(t: Any, others: Sequence[Any], node: Any, k: int) -> bool:
    """Whether an argument's gradient, of input `k`, lies in memory of others, or in such as may not be written."""
    held = getattr(t, "_value", None)
    if not is_plain_array(held) or type(node.edges[node.places.index(k)]) is not AccumulateGrad:
        return False
    return not is_writeable(held) or any(getattr(other, "_value", None) is held for other in others)


def differs(a: Any, b: Any) -> bool:
    """Whether one is an array and the other a scalar, or of another dtype."""
    s, t = type_of(a), type_of(b)
    return s.kind != t.kind or s.dtype != t.dtype


class Either:
    """A cotangent or a tangent that the arms of a branch give, of which one may give none: that is zeros, like `base`."""

    def __init__(self, given: Sequence[Any], base: Any, calls: Sequence[Call]) -> None:
        self.given = given
        self.calls = calls
        self.base = base
        self.hides = joined(*map(hidden_by, given))
        samples = [t._value for t in given if t is not None]
        self.sample = next((value for value in samples if not is_spread(value)), samples[0])

    def of(self, arm: int) -> Any:
        """Record the results of an arm in its region, in the form of those of the other arms."""
        found = self.given[arm]
        if not self.hides:
            return as_kind(
                zeros(self.sample) if found is None else laid_out(found, self.sample, self.calls), self.sample
            )
        made = over(zeros(self.base) if found is None else found, self.hides)
        self.sample = made._value
        return made
