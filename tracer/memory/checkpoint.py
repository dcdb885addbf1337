"""checkpoint: a function that saves nothing for backward, and runs again there to compute the saved values."""

from __future__ import annotations

import contextlib
import copy
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from ...runtime.arrays import is_array, is_cupys
from ...runtime.errors import AutogradError
from ...unpatched import np
from ..core.graph import AccumulateGrad, meta_of, next_sequence
from ..core.levels import under
from ..core.saved import saved_tensors_hooks
from ..core.site import blame
from ..core.tensor_base import Operand, alias, follow, is_volatile, made_volatile, wrap
from ..core.thread_state import LOCAL, grad_mode, recording, refuse
from ..core.versions import find
from ..random.randomness import GENERATORS, as_drawn, random_states
from .survivors import run_again

__all__ = ["checkpoint", "set_checkpoint_early_stop"]


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] | None = None, determinism_check: str = "default", early_stop: bool = True,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """`function(*args, **kwargs)`, of which backward recomputes the intermediate values in place of keeping them.

    Tensors may stand anywhere in lists, tuples and dicts among the arguments, and gradients also flow to Tensors that the
    function reads from outside. It must do the same when it runs again: NumPy's and Python's global random states, and
    those of generators among its arguments or that it reads from outside, are set back meanwhile (unless
    `preserve_rng_state=False`). The recomputation ends as soon as it has what is needed (unless `early_stop=False`).
    `context_fn` gives two context managers: one for the function, one for its recomputation. `use_reentrant` is taken for
    PyTorch's sake: both values mean the one variant there is. Compiled code keeps what it needs and recomputes nothing.

    Raises AutogradError (a RuntimeError) in backward where the recomputation saves other Tensors than the function did,
    or other numbers, and where an argument was changed in place. `determinism_check="none"` skips the comparison, and
    `preserve_rng_state=False` that of numbers.

    >>> import gradscribe as gs
    >>> x = gs.tensor([0.0, 1.0], requires_grad=True)
    >>> gs.checkpoint(lambda a: (a * a).exp(), x).sum().backward()
    >>> x.grad.shape
    (2,)
    """
    if not callable(function):
        raise blame(TypeError(f"gs.checkpoint takes a function, not {type(function).__name__}: {function!r}"))
    if determinism_check not in ("default", "none"):
        raise blame(ValueError(f"determinism_check should be one of 'default' and 'none', not {determinism_check!r}"))
    if context_fn is not None:
        refuse("runs gs.checkpoint with contexts of its own (context_fn)")
    forward, again = (contextlib.nullcontext(), contextlib.nullcontext()) if context_fn is None else context_fn()
    if not LOCAL.grad or LOCAL.recorder is not None:
        with forward if LOCAL.grad else contextlib.nullcontext():
            return function(*args, **kwargs)
    stops = early_stop if LOCAL.early_stop is None else LOCAL.early_stop
    frame = _Frame(function, args, kwargs, again, determinism_check == "default", stops)
    frame.sums = [] if preserve_rng_state and frame.compares else None  # numbers drawn anew are others
    if preserve_rng_state:
        frame.random = random_states(function, _found_in((args, kwargs), GENERATORS))
    held = [(t, t._value) for t in _found_in((args, kwargs), Operand)] if LOCAL.depth else []
    with saved_tensors_hooks(frame.pack, frame.unpack), forward:
        result = function(*args, **kwargs)
    frame.complete = True
    written = [value for t, value in held if t._value is not value]
    if any(value is not other and np.may_share_memory(value, other) for value in written for _, other in held):
        raise blame(
            AutogradError(
                f"the checkpointed function `{frame.name()}` writes into an argument that shares memory with another "
                "argument, which its recomputation could not follow; pass a copy of one of them (x.copy())"
            )
        )
    return result


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Say for all checkpoints called in a block whether their recomputation ends early, whatever their own `early_stop` says.

    >>> import gradscribe as gs
    >>> ran = []
    >>> x = gs.tensor(1.0, requires_grad=True)
    >>> with gs.set_checkpoint_early_stop(False):
    ...     y = gs.checkpoint(lambda a: (a.exp(), ran.append("to the end"))[0], x)
    >>> y.backward()
    >>> ran
    ['to the end', 'to the end']
    """
    before, LOCAL.early_stop = LOCAL.early_stop, enable
    try:
        yield
    finally:
        LOCAL.early_stop = before


class _Stop(BaseException):
    """The recomputation has what is needed. (No Exception: the function must not catch it.)"""


class _Holder:
    """A placeholder of a saved value: its position among those that the function saved."""

    __slots__ = ("__weakref__", "index")

    def __init__(self, index: int) -> None:
        self.index = index


class _Frame:
    """One checkpointed call: what it takes to run it again, and what it would have saved."""

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], context: Any, compares: bool, early_stop: bool
    ) -> None:  # fmt: skip
        self.function = run_again(function)
        self.arguments = _replaced((args, kwargs), Operand, _once(_Argument))
        self.random: list[tuple[Any, Any]] = []
        self.context, self.compares, self.early_stop = context, compares, early_stop
        self.depth = LOCAL.depth, LOCAL.differentiating
        self.levels = LOCAL.levels
        self.holders: list[weakref.ref[_Holder]] = []
        self.metas: list[Any] = []
        self.sums: list[int] | None = None
        self.complete = False  # whether the function has returned: backward may run inside it
        # for each backward run that needed them, the values not yet handed out: they go with the run
        self.found: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()

    def pack(self, tensor: Any) -> _Holder:
        """Keep nothing of a Tensor but its place, shape and dtype."""
        holder = _Holder(len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.metas.append(meta_of(tensor._value))
        if self.sums is not None:
            self.sums.append(_sum(tensor._value))
        return holder

    def unpack(self, holder: _Holder) -> Any:
        """The Tensor again; the first that a backward run asks for recomputes them all."""
        found = {} if LOCAL.run is None else self.found.setdefault(LOCAL.run, {})
        if holder.index not in found:
            self.recompute(found)
        value, stamp = found.pop(holder.index)
        _check_unwritten(value, stamp, self.name())
        return wrap(value)

    def recompute(self, found: dict[int, Any]) -> None:
        """Run the function again, and put what it saves into `found`."""
        count, same = 0, True

        def pack(tensor: Any) -> Any:
            nonlocal count, same
            index, count = count, count + 1
            if index < len(self.holders):
                if self.holders[index]() is not None:
                    found[index] = tensor._value, next_sequence()
                    same = same and (self.sums is None or _sum(tensor._value) == self.sums[index])
                if self.early_stop and count == len(self.holders):
                    raise _Stop
            elif self.complete:
                raise blame(self._count("is trying to save more tensors during recomputation"))
            return tensor

        args, kwargs = _replaced(self.arguments, _Argument, _once(lambda argument: argument.tensor(self.name())))
        mode = contextlib.ExitStack()
        for part in (
            contextlib.suppress(_Stop),
            as_drawn(self.random),
            recording(None),
            _depth(*self.depth),
            under(self.levels),
        ):
            mode.enter_context(part)
        with mode, self.context, grad_mode(True), saved_tensors_hooks(pack, lambda tensor: tensor):
            self.function(*args, **kwargs)
        if count < len(self.holders):
            raise blame(self._count(f"saved {count} in its recomputation"))
        if self.compares:
            self._compare(found, same)

    def _count(self, again: str) -> AutogradError:
        return AutogradError(
            f"A different number of tensors was saved by a checkpointed function when it ran again: `{self.name()}` saved "
            f"{len(self.holders)} when it was called, and {again}. It must do the same each time: look for what it reads "
            "from outside and what has changed there."
        )

    def _compare(self, found: dict[int, Any], same: bool) -> None:
        other = ""
        for k, (value, _) in sorted(found.items()):
            (shape, dtype), (shape_now, dtype_now) = self.metas[k], meta_of(value)
            if (shape, dtype) != (shape_now, dtype_now):
                other += (
                    f"tensor {k}: {dtype}{list(shape)} when called, {dtype_now}{list(shape_now)} in the recomputation\n"
                )
        if other:
            raise blame(
                AutogradError(
                    "Recomputed values for the following tensors have different metadata than those that the checkpointed "
                    f"function `{self.name()}` saved when it was called:\n{other}It must do the same each time: look for "
                    "what it reads from outside and what has changed there."
                )
            )
        if not same:
            raise blame(
                AutogradError(
                    f"The checkpointed function `{self.name()}` computed other values when it ran again than when it was called, "
                    "and its gradient would be wrong. It must do the same each time: look for what it reads from outside "
                    "(a global, an attribute, random numbers) and what has changed there, or pass that as an argument."
                )
            )

    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))


class _Argument:
    """A Tensor among the arguments, saved as a node saves one: by the hooks of a checkpoint around this one, if any."""

    __slots__ = ("node", "saved", "stamp", "unpack", "volatile")

    def __init__(self, tensor: Any) -> None:
        self.node = tensor._node
        self.volatile = is_volatile(tensor)
        self.saved = alias(tensor)
        self.stamp = next_sequence()
        self.unpack: Any = None
        if LOCAL.packing:
            pack, self.unpack = LOCAL.packing[-1]
            self.saved = pack(self.saved)

    def tensor(self, name: str) -> Any:
        """The Tensor as it was; an error where it was changed in place."""
        found = self.saved if self.unpack is None else self.unpack(self.saved)
        if self.unpack is None:
            _check_unwritten(found._value, self.stamp, name)
        if type(self.node) is AccumulateGrad and self.node.variable._value is found._value:
            made = self.node.variable  # the very leaf
        else:
            made = wrap(found._value, self.node)
        follow(made, found)
        return made_volatile(made) if self.volatile else made


def _sum(value: Any) -> int:
    """A checksum of an array's numbers, in the time of a few additions."""
    if is_cupys(value) or not (is_array(value) or isinstance(value, np.generic)):
        return 0
    return zlib.adler32(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)


def _check_unwritten(value: Any, stamp: int, name: str) -> None:
    """Raise where a value was written in place since `stamp`."""
    counter = find(value)
    if counter is not None and counter.writes and counter.writes[-1][0] > stamp:
        raise blame(
            AutogradError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"{np.result_type(value)}{list(np.shape(value))}, which the checkpointed function `{name}` needs in its "
                f"recomputation, was changed by `{counter.writes[-1][1]}`. Write into a copy (x.clone())."
            )
        )


def _replaced(tree: Any, kind: Any, change: Callable[[Any], Any]) -> Any:
    """`tree` (lists, tuples and dicts) with each leaf of a kind changed."""
    if isinstance(tree, kind):
        return change(tree)
    if isinstance(tree, dict):
        made = copy.copy(tree)
        for key, value in tree.items():
            made[key] = _replaced(value, kind, change)
        return made
    if type(tree) in (list, tuple) or hasattr(tree, "_fields"):
        parts = [_replaced(value, kind, change) for value in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return tree


def _once(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`change`, which of the same object makes the same object."""
    made: dict[int, Any] = {}

    def changed(value: Any) -> Any:
        if id(value) not in made:
            made[id(value)] = change(value)
        return made[id(value)]

    return changed


def _found_in(tree: Any, kind: Any) -> list[Any]:
    found: list[Any] = []
    _replaced(tree, kind, found.append)
    return found


@contextlib.contextmanager
def _depth(depth: int, differentiating: int) -> Iterator[None]:
    """Run a block as deep inside transforms as the call was; its writes into arguments stay inside."""
    before = LOCAL.depth, LOCAL.differentiating, LOCAL.arguments, LOCAL.written
    LOCAL.depth, LOCAL.differentiating, LOCAL.arguments, LOCAL.written = depth, differentiating, (), []
    try:
        yield
    finally:
        LOCAL.depth, LOCAL.differentiating, LOCAL.arguments, LOCAL.written = before
