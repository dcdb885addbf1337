"""gs.why: of a function, of a Tensor, and as the record mode for programs of bare Tensors."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from ...tracer.core.site import pruned
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import LOCAL
from ...tracer.core.watching import Watch, watching
from .functions import why_of_function
from .report import Why
from .tensors import why_of_tensor

__all__ = ["Recording", "why"]

_NOTHING = object()
_last: weakref.ref[Recording] | None = None


class Recording:
    """The recording of `with gs.why():`: it keeps every operation, exit and cotangent of the block, for `gs.why(tensor)`.

    Ask within the block, or keep the recording (`with gs.why() as record:`) and ask later.
    """

    def __init__(self) -> None:
        self.watch = Watch()
        self._open: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> Recording:
        global _last
        self._open.append(watching(self.watch))
        self._open[-1].__enter__()
        _last = weakref.ref(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._open.pop().__exit__(*exc)

    def __call__(self, tensor: Any) -> Why:
        """Return the report on a Tensor of this recording. Raises TypeError for anything else."""
        if not isinstance(tensor, Operand):
            raise TypeError(f"a recording of gs.why is asked for a Tensor, not for {type(tensor).__name__}: {tensor!r}")
        return why_of_tensor(tensor, self.watch)

    def __repr__(self) -> str:
        return f"<gs.why: {len(self.watch.events)} operations recorded>"


@pruned
def why(function: Any = _NOTHING, /, *args: Any, argnums: Any = None, **kwargs: Any) -> Any:
    """Why a gradient is None, zero, NaN or infinite: the op, the variable and the line, as an object that prints itself.

    `gs.why(f, *args)` runs f and its gradient once, and answers for each argument of floating point or complex numbers, or for
    those in `argnums` (positions or names, as in `gs.grad`); where f is a `gs.grad(...)`, or compiled, for those that it
    differentiates. `gs.why(tensor)` says why `.grad` of a bare Tensor is what it is, why it does not require grad, or, of a
    loss, which gradients it gives. A graph that backward has freed knows little: in a block `with gs.why():` everything is
    recorded, and the answer has the line.

    The result has `healthy`, `answers` (one for each gradient, with its `causes`), and of the first cause `argument`, `state`
    ("healthy", "None", "zero", "NaN" or "inf"), `op`, `variable`, `filename`, `lineno` and `reason`. Raises what f raises,
    ShapeError where its result is not a scalar, and TypeError for what is neither a function nor a Tensor.

    >>> import numpy as np, gradscribe as gs
    >>> found = gs.why(lambda x: np.sum(np.maximum(x, 0.0)), np.array([-1.0, -2.0]))
    >>> found.state, found.op, found.variable
    ('zero', 'np.maximum', 'x')
    >>> gs.why(lambda x: np.sum(x * x), np.array([1.0, 2.0])).healthy
    True
    """
    if function is _NOTHING:
        return Recording()
    if isinstance(function, Operand):
        if args or kwargs:
            raise TypeError(f"gs.why(tensor) takes the Tensor alone, but got {len(args) + len(kwargs)} arguments more")
        return why_of_tensor(function, _recorded(function))
    if not callable(function):
        raise TypeError(
            f"gs.why takes a function and its arguments, or a Tensor, not {type(function).__name__}: {function!r}"
        )
    return why_of_function(function, args, kwargs, argnums)


def _recorded(tensor: Any) -> Watch | None:
    """The recording that runs, or the last one if it knows the Tensor and is still kept."""
    if LOCAL.watch is not None:
        return LOCAL.watch  # type: ignore[no-any-return]
    last = None if _last is None else _last()
    return None if last is None or last.watch.producer(tensor) is None else last.watch
