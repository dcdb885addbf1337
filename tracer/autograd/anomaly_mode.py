"""Anomaly mode: the forward line of a backward step that failed or made a NaN."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ...runtime.errors import AutogradError
from ...unpatched import np
from ..core.exits import warn_at_user
from ..core.graph import Extra, Pick
from ..core.site import Site, blame, user_stack
from ..core.tensor_base import Operand
from ..core.thread_state import LOCAL, refresh, refuse

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


class Trace(NamedTuple):
    """The place of an operation: the user's lines, the innermost last, and the node whose backward it is part of."""

    sites: tuple[Site, ...]
    parent: Any

    def __str__(self) -> str:
        return str(self.sites[-1]) if self.sites else ""

    def text(self) -> str:
        """The lines as Python's tracebacks show them."""
        import traceback  # only on the way to an error

        frames = [(s.code.co_filename, s.line, s.code.co_name, None) for s in self.sites]
        return "".join(traceback.StackSummary.from_list(frames).format())


class Anomaly:
    """The anomaly mode while it is on: the engine and `apply` report to it."""

    __slots__ = ("check_nan", "node")

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan
        self.node: Any = None  # the node whose backward runs

    def note(self, node: Any) -> None:
        """Note where the operation of a new node stands."""
        if node.extra is None:
            node.extra = Extra()
        node.extra.trace = Trace(user_stack(), self.node)

    def check(self, node: Any, grads: tuple[Any, ...]) -> None:
        """Raise where one of the gradients that `node` gave for its arguments has a NaN."""
        if not self.check_nan:
            return
        for slot, g in zip(node.plan.slots, grads, strict=True):
            value = np.asarray(g._value if isinstance(g, Operand) else g) if g is not None else None
            if value is not None and value.dtype.kind in "fc" and np.isnan(value).any():
                output = node.arguments().index(slot)
                raise blame(AutogradError(f"Function '{node.name()}' returned nan values in its {output}th output."))

    def explain(self) -> None:
        """Warn with the forward lines of the node at which backward failed."""
        node = self.node.parent if isinstance(self.node, Pick) else self.node
        if node is None:
            return
        trace = _trace(node)
        if trace is None:
            told = (
                f"Error detected in {node.name()}. No forward pass information available: let gs.autograd.detect_anomaly() "
                "hold where the operation is called, too."
            )
        else:
            told = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{trace.text()}"
        _tell(told)
        while trace is not None and trace.parent is not None:
            parent, trace = trace.parent, _trace(trace.parent)
            told = (
                "No forward pass information available."
                if trace is None
                else f"Traceback of forward call that induced the previous calculation:\n{trace.text()}"
            )
            _tell(f"Previous calculation was induced by {parent.name()}. {told}")


def _tell(told: str) -> None:
    """Warn beside an error that is on its way: where warnings are errors, in its place nothing may come, so print it."""
    try:
        warn_at_user(told, UserWarning)
    except UserWarning as warning:
        print(f"UserWarning: {warning}", file=sys.stderr)


def _trace(node: Any) -> Trace | None:
    return None if node.extra is None else node.extra.trace


def _set(anomaly: Anomaly | None) -> Any:
    """Switch the mode of this thread; gives what it was."""
    refuse("runs in anomaly mode")
    before, LOCAL.anomaly = LOCAL.anomaly, anomaly
    refresh()
    return before


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on in this thread.

    >>> import gradscribe as gs
    >>> with gs.autograd.detect_anomaly():
    ...     gs.is_anomaly_enabled()
    True
    """
    return LOCAL.anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, where it is on, looks for NaN.

    >>> import gradscribe as gs
    >>> with gs.autograd.detect_anomaly(check_nan=False):
    ...     gs.is_anomaly_check_nan_enabled()
    False
    """
    return LOCAL.anomaly is None or bool(LOCAL.anomaly.check_nan)


class detect_anomaly:  # torch's name
    """In this block an error in backward, and a NaN that it makes, comes with a warning that shows the forward line.

    Operations and backward both belong inside. Slow: each operation notes where it is called. Raises AutogradError (a
    RuntimeError) in backward for a NaN, unless `check_nan=False`.

    >>> import warnings, gradscribe as gs
    >>> warnings.simplefilter("ignore")
    >>> x = gs.tensor([0.0], requires_grad=True)
    >>> try:
    ...     with gs.autograd.detect_anomaly():
    ...         (np.sqrt(x) * 0.0).sum().backward()
    ... except gs.AutogradError as error:
    ...     print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before: list[Any] = []
        warn_at_user(
            "Anomaly Detection has been enabled: every operation notes where it is called, which is slow. "
            "Switch it off when the error is found.",
            UserWarning,
        )

    def __enter__(self) -> None:
        self._before.append(_set(Anomaly(self.check_nan)))

    def __exit__(self, *exc: Any) -> None:
        _set(self._before.pop())


class set_detect_anomaly:  # torch's name
    """Switch anomaly mode of this thread on or off, at once; as a context manager until the block ends.

    >>> import gradscribe as gs
    >>> with gs.autograd.set_detect_anomaly(True):
    ...     gs.autograd.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _set(Anomaly(check_nan) if mode else None)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        _set(self._before)
