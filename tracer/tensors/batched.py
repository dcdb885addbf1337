"""Batched Tensors, with which a function under vmap computes. They hide leading axes, one for each vmap around them.

The array and the node are those of all examples at once: an operation on a batched Tensor is, by the batching rule
of its op, another operation on the Tensor beneath. So the graph, the recorder and the rules never learn of it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from ...runtime.arrays import is_plain_array
from ...runtime.batching import batched
from ...runtime.errors import AutogradError
from ...runtime.ops import Kind, Op
from ...runtime.registry import require
from ...unpatched import np
from ..core import dispatch, tensor_base, views
from ..core.exits import leave
from ..core.levels import refuse_leaked, refuse_one_value, under
from ..core.outside_arrays import kept
from ..core.site import blame
from ..core.tensor_base import Operand, cover, levels_of, wrap
from ..core.thread_state import LOCAL, capturing, refuse
from ..protocols.interop import array_ufunc
from .tensor import Tensor

next_number = itertools.count().__next__

__all__ = ["BatchedTensor", "Level", "hide", "mapping", "outermost", "peel", "spread"]


class Level:
    """One vmap that runs: how many examples it has, and its place among all that ever ran (an inner one comes later)."""

    __slots__ = ("number", "size")

    def __init__(self, size: Any) -> None:
        self.size = size
        self.number = next_number()

    @staticmethod
    def shown(value: Any, levels: tuple[Level, ...]) -> Any:
        """A value with the axes of these levels in front, repeated for those that it lacks; other levels stay hidden."""
        tensor = spread(value, levels)
        own = levels_of(tensor)
        rest = tuple([level for level in own if level not in levels])
        whole = _transposed(outermost(tensor), [own.index(level) for level in (*rest, *levels)])
        return _made(whole, rest)

    @staticmethod
    def hidden(value: Any, levels: tuple[Level, ...]) -> Any:
        """The reverse: a value with the axes of these levels in front, as a Tensor that hides them."""
        whole = value if isinstance(value, Operand) else wrap(value)
        own = (*levels_of(whole), *levels)
        order = sorted(range(len(own)), key=lambda k: own[k].number)
        return _made(_transposed(outermost(whole), order), tuple([own[k] for k in order]))

    @staticmethod
    def summed(value: Any, over: tuple[Level, ...]) -> Any:
        """A value summed over the examples of those of these levels that it has."""
        for level in over:
            if level in levels_of(value):
                value = np.sum(Level.shown(value, (level,)), axis=0)
        return value


class BatchedTensor(Tensor):
    """A Tensor of one value for each example of the vmaps around it, which looks like that of one example."""

    __slots__ = ()

    _levels: tuple[Level, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes of one example."""
        whole: tuple[int, ...] = super().shape
        return whole[len(self._levels) :]

    @property
    def ndim(self) -> int:
        """The number of axes of one example."""
        return np.ndim(self._value) - len(self._levels)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, per axis of one example."""
        whole: tuple[int, ...] = super().strides
        return whole[len(self._levels) :]

    def __repr__(self) -> str:
        leave(self, "repr")
        sizes = ", ".join(str(int(level.size)) for level in self._levels)
        return f"batched({np.array2string(self._value, separator=', ')}, shape={tuple(self.shape)}, vmap=({sizes},))"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        leave(self, "format", spec)
        return repr(self)

    def _refused(self, *args: Any, **kwargs: Any) -> Any:
        raise blame(
            AutogradError(
                "a Tensor under gs.vmap has no hooks and no .backward() of its own, since it stands for many: "
                "take gradients by gs.grad, of the function or within it"
            )
        )

    backward = register_hook = register_post_accumulate_grad_hook = retain_grad = requires_grad_ = _refused

    def _whole(self) -> Any:
        """The Tensor of all examples at once."""
        return outermost(self)

    def _of_each(self, whole: Any) -> Any:
        """Return a value of all examples, such as a gradient, as a Tensor that hides the axes that this one hides."""
        return Level.hidden(whole, self._levels)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not LOCAL.levels:
            refuse_leaked(self)
        return array_ufunc(self, ufunc, method, *inputs, **kwargs)


tensor_base.install_batched(BatchedTensor)


@contextlib.contextmanager
def mapping(size: Any) -> Iterator[Level]:
    """A block that runs for `size` examples at once."""
    level = Level(size)
    with under((*LOCAL.levels, level)):
        yield level


def hide(tensor: Any, level: Level) -> Any:
    """A Tensor whose first axis counts the examples of `level`, as the Tensor of one of them."""
    return _made(tensor, (*levels_of(tensor), level))


def _made(tensor: Any, levels: tuple[Level, ...]) -> Any:
    """The value, the node and the IR of a Tensor under other levels."""
    made = wrap(tensor._value, tensor._node)
    ir = getattr(tensor, "_ir", None)
    if ir is not None:
        made._ir = ir
    cover(made, levels)
    return made


def peel(tensor: Any) -> Any:
    """A batched Tensor with the axis of its innermost vmap in front."""
    return _made(tensor, tensor._levels[:-1])


def outermost(tensor: Any) -> Any:
    """The Tensor of all examples at once, with every hidden axis in front."""
    return _made(tensor, ()) if levels_of(tensor) else tensor


def spread(value: Any, levels: tuple[Level, ...]) -> Any:
    """A value as a batched Tensor of all these levels: repeated for those that it does not have."""
    own = levels_of(value)
    for level in levels:
        if level not in own:
            value = _inserted(value if isinstance(value, Operand) else wrap(_from_outside(value)), level)
    return value


def _from_outside(value: Any) -> Any:
    """A plain array as a node may save it, also where a rule makes a Tensor of it first."""
    return kept(value) if is_plain_array(value) and not capturing() else value


def _inserted(tensor: Any, level: Level) -> Any:
    own = levels_of(tensor)
    place = sum(other.number < level.number for other in own)
    whole = outermost(tensor)
    shape = tuple(whole.shape)
    if place:
        whole = np.expand_dims(whole, place)
    whole = dispatch.apply(require(np.broadcast_to), (whole, (*shape[:place], level.size, *shape[place:])), {})
    return _made(whole, (*own[:place], level, *own[place:]))


def _transposed(whole: Any, order: list[int]) -> Any:
    """A Tensor with its first axes in another order."""
    if order == sorted(order):
        return whole
    return np.transpose(whole, (*order, *range(len(order), np.ndim(whole._value))))


def run_batched(op: Op, bound: tuple[Any, ...]) -> Any:
    """Run an op that has batched arguments: peel the innermost level off, and let the rule of the op say what that gives."""
    found: list[Level] = []
    _collect(bound, found)
    if not found:
        return NotImplemented
    level = max(found, key=lambda one: one.number)
    peeled, flags = _peeled(bound, level)

    def loops() -> None:
        refuse(f"runs {op.path} under vmap, which has no batching rule and loops over the examples")

    result = batched(op, peeled, flags, dispatch.run, loops)
    if op.n_out == 1:
        return _noted(hide(result, level), op, bound, -1)
    made = [_noted(hide(r, level), op, bound, j) for j, r in enumerate(result)]
    if hasattr(result, "_fields"):
        return type(result)(*made)
    return made if isinstance(result, list) else tuple(made)


def _noted(result: Any, op: Op, bound: tuple[Any, ...], position: int) -> Any:
    value = result._value
    if is_plain_array(value) and (op.kind is Kind.shaping or value.base is not None):
        views.note_view(result, op, bound, position)
    return result


def _collect(value: Any, found: list[Level]) -> None:
    kind = type(value)
    if kind is BatchedTensor:
        found.extend(value._levels)
    elif kind is tuple or kind is list:
        for v in value:
            _collect(v, found)
    elif kind is slice:
        for v in (value.start, value.stop, value.step):
            if type(v) is BatchedTensor:
                refuse_one_value(v, "index")


def _peeled(value: Any, level: Level) -> tuple[Any, Any]:
    """A value without its level, and whether it had it (of a sequence: a tuple that says so; False where none had)."""
    kind = type(value)
    if kind is BatchedTensor and value._levels[-1] is level:
        return _made(value, value._levels[:-1]), True
    if kind is tuple or kind is list:
        pairs = [_peeled(v, level) for v in value]
        flags = tuple([flag for _, flag in pairs])
        return kind([v for v, _ in pairs]), flags if any(flags) else False
    return _from_outside(value), False


dispatch.install_batching(run_batched)
