"""Thread state: grad mode, inference mode, the recorder, how deep transforms are nested."""

from __future__ import annotations

import contextlib
import warnings
from _thread import _local  # threading.local: the rest of threading is slow to import
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from ...runtime.errors import GradientLossError
from .steps import within

if TYPE_CHECKING:
    from .recorder import Recorder

__all__ = [
    "LOCAL",
    "RUNNING",
    "Era",
    "by_itself",
    "capturing",
    "cuts",
    "during",
    "enable_grad",
    "grad_mode",
    "in_another_thread",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "on_new_stack",
    "recording",
    "refresh",
    "refuse",
    "restore",
    "set_grad_enabled",
    "switch",
    "transforming",
]

F = TypeVar("F", bound=Callable[..., Any])


class Era:
    """The time in which an outermost transform runs: what it made is of no use afterwards."""

    __slots__ = ("held", "loss", "over", "results", "settled", "stored", "told", "tried")

    def __init__(self) -> None:
        self.over = False
        self.held = False  # whether what it made serves later derivatives: a pullback, say
        self.stored: dict[int, list[Any]] = {}  # where user code stored what it computed, by the identity of the holder
        self.settled: list[Any] = []  # these places when it is over, with what stood there; where it is held
        self.results: dict[Any, Any] = {}  # of functions behind a cache that were called with traced numbers
        self.loss: Exception | None = None  # the last GradientLossError, which something may have swallowed
        self.told: set[str | int | float] = set()  # texts and hashes of traced values, which may serve as keys
        self.tried: Exception | None = None  # the last one of C code that only tries whether there is a number

    def forget_results(self, depth: int) -> None:
        """Forget the results behind caches of all transforms but those that still run, which are so deep."""
        self.results = {key: found for key, found in self.results.items() if key[1] <= depth}

    def forget_results_of(self, cache: int) -> None:
        """Forget the results behind one cache, by its identity: the code clears it."""
        self.results = {key: found for key, found in self.results.items() if key[0] != cache}

    def forget_loss(self) -> Exception | None:
        """Begin to watch for losses anew; the one until now."""
        before, self.loss = self.loss, None
        return before

    def judge_tried(self) -> None:
        """Take an error that C code has met for a loss, if it left the C code, and was swallowed there."""
        tried, self.tried = self.tried, None
        if tried is not None and tried.__traceback__ is not None and tried.__traceback__.tb_next is not None:
            self.loss = tried


RUNNING: list[Era] = []  # in all threads


class _Local(_local):
    slow = False  # not the plain case: `refresh` says which
    grad = True  # operations are recorded for backward
    asked = True  # what the user set grad mode to: inference mode, and a transform, go over it
    recorder: Recorder | None = None
    inference = False  # results are inference tensors
    anomaly: Any = None  # anomaly mode, where it is on
    singular = ""  # what singular points give, if not the convention: "nan" or "raise"
    watch: Any = None  # what is told of every operation and cotangent, for gs.why
    eagerly = False  # one of these three is on: compiled functions run eagerly
    profiler: Any = None  # what takes a profile, where one is taken
    watched = False  # one of these four is on
    packing: tuple[Any, ...] = ()  # the saved-tensor hooks in force, the innermost last
    packing_refused: str | None = None  # why there may be none
    early_stop: bool | None = None  # whether checkpoints called now stop early; None: as each says
    mutation: Any = None  # what keeps saved values through writes in place, where it is on
    run: Any = None  # the backward run in progress: what is recomputed for it goes with it
    on_new_stack = False  # whether that run has just been moved to a thread of its own
    depth = 0  # transforms running: inside one, code means what NumPy makes it mean
    differentiating = 0  # those of them that take a gradient
    arguments: tuple[Any, ...] = ()  # the Tensors that stand for arrays of the caller of a transform
    written: list[Any]  # those of them that the function wrote into
    era: Era | None = None  # of the outermost transform that runs: what it made is of no use when it is over
    levels: tuple[Any, ...] = ()  # the vmaps running, the outermost first
    alone: tuple[str, frozenset[Any]] | None = None  # in a user's forward: whose, and the nodes that it was given

    @staticmethod
    def hand_back(tensor: Any) -> None:
        """Let the caller of a transform see what was written into an argument (tracer/memory/traced_writes.py says how)."""

    @staticmethod
    def settle(era: Era, error: BaseException | None) -> None:
        """Put plain numbers and arrays where the user's code stored traced ones (tracer/memory/survivors.py says how)."""

    @staticmethod
    def method_in_scope(holder: Any, name: str, takes_ctx: bool) -> Any:
        """A method of a Function as it runs inside a transform (transforms/user_code/scope.py says how)."""
        return getattr(holder, name)

    @staticmethod
    def special(obj: Any, name: str) -> Any:
        """A special method that the user wrote, as it runs inside a transform; None of all else (see method_in_scope)."""
        return None

    def __init__(self) -> None:  # once in each thread
        self.__dict__.update(_AT_FIRST)
        self.written = []


# What holds in a thread at first: all attributes that are no functions.
_AT_FIRST = {
    name: value
    for name, value in vars(_Local).items()
    if not name.startswith("__") and not isinstance(value, staticmethod)
}

LOCAL = _Local()
# `LOCAL.__dict__` is this thread's state as a dict. An attribute of a thread costs three times as much as an item of that, so
# code that runs at each operation, or at each call of a transform, reads and writes the items.


def refresh() -> None:
    """Set `LOCAL.slow` after a change of any mode: whether `apply1` and `apply2` must hand over to `apply`."""
    LOCAL.eagerly = LOCAL.anomaly is not None or LOCAL.singular != "" or LOCAL.watch is not None
    LOCAL.watched = LOCAL.eagerly or LOCAL.profiler is not None
    _note_slow(LOCAL.__dict__)


def _note_slow(here: dict[str, Any]) -> None:
    here["slow"] = (
        not here["grad"]
        or here["recorder"] is not None
        or here["inference"]
        or here["watched"]
        or bool(here["packing"])
        or bool(here["levels"])
    )


def cuts(what: str) -> None:
    """The code changes what is differentiated, in a way that a loop which the compiler keeps would not repeat."""
    if LOCAL.recorder is not None:
        LOCAL.recorder.cuts(what)


def is_grad_enabled() -> bool:
    """Whether grad mode is on in this thread: operations are recorded for backward.

    >>> import gradscribe as gs
    >>> with gs.no_grad():
    ...     gs.is_grad_enabled()
    False
    """
    refuse("asks whether grad mode is on")
    return LOCAL.asked


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread.

    >>> import gradscribe as gs
    >>> with gs.inference_mode():
    ...     gs.is_inference_mode_enabled()
    True
    """
    refuse("asks whether inference mode is on")
    return LOCAL.inference


def switch(grad: bool, inference: bool) -> tuple[bool, bool, bool]:
    """Set both modes; gives what `restore` takes."""
    here = LOCAL.__dict__
    before = here["grad"], here["asked"], here["inference"]
    modes = (grad and not inference, grad, inference)
    if modes != before:
        here["grad"], here["asked"], here["inference"] = modes
        _note_slow(here)
    return before


def restore(before: tuple[bool, bool, bool]) -> None:
    """Set the modes to what they were before a `switch`."""
    here = LOCAL.__dict__
    if before != (here["grad"], here["asked"], here["inference"]):
        here["grad"], here["asked"], here["inference"] = before
        _note_slow(here)


class grad_mode:
    """Switch grad mode for a block."""

    __slots__ = ("before", "enabled")

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.before = switch(self.enabled, LOCAL.inference)

    def __exit__(self, *exc: object) -> None:
        restore(self.before)


@contextlib.contextmanager
def by_itself() -> Iterator[None]:
    """Run code that has a derivative of its own: it finds grad mode off, but what it reads from outside is recorded."""
    before = LOCAL.grad, LOCAL.asked, LOCAL.inference
    restore((True, False, LOCAL.inference))
    try:
        yield
    finally:
        restore(before)


@contextlib.contextmanager
def during(name: str, value: Any) -> Iterator[None]:
    """Let one thing of `LOCAL` be `value` for a block."""
    before = getattr(LOCAL, name)
    setattr(LOCAL, name, value)
    refresh()
    try:
        yield
    finally:
        setattr(LOCAL, name, before)
        refresh()


def on_new_stack(call: Callable[[], Any]) -> Any:
    """Run `call` in a new thread, under the modes of this one, which waits; return its result, or raise its error."""
    import contextvars  # with threading, slow to import
    import threading

    held, context = dict(vars(LOCAL)), contextvars.copy_context()
    found: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        vars(LOCAL).update(held)
        LOCAL.on_new_stack = True
        try:
            found.append(call())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=lambda: context.run(run), daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return found[0]


_OF_ONE_THREAD = (
    "recorder",
    "run",
    "watch",
    "profiler",
    "on_new_stack",
)  # what a thread does not take over from another


def in_another_thread(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call` as another thread runs it for the transform that runs here: under the modes that hold now."""
    if not LOCAL.depth:
        return call
    refuse("starts a thread")
    held = {name: value for name, value in vars(LOCAL).items() if name not in _OF_ONE_THREAD}

    def run(*args: Any, **kwargs: Any) -> Any:
        before = dict(vars(LOCAL))
        vars(LOCAL).update(held)
        refresh()
        try:
            return call(*args, **kwargs)
        finally:
            vars(LOCAL).clear()
            vars(LOCAL).update(before)
            refresh()

    return run


def recording(recorder: Recorder | None) -> AbstractContextManager[None]:
    """Let `recorder` see every operation of a block (None: nobody does)."""
    return during("recorder", recorder)


def capturing() -> bool:
    """Return whether a function is captured: a recorder sees every operation."""
    return LOCAL.recorder is not None


def refuse(reason: str) -> None:
    """End the capture that runs, if one does: the code does what generated source would not."""
    if LOCAL.recorder is not None:
        LOCAL.recorder.refuse(reason)


class transforming:
    """Inside a transform: NumPy's meaning of scalars and in-place writes holds, and operations are recorded.

    With `gradient=None` they are recorded only where they would be outside. `arguments` are Tensors that stand for arrays
    of the caller; what the block writes into them is written back. When the outermost transform ends, its `era` does.
    """

    __slots__ = ("arguments", "before", "era", "gradient", "modes", "outermost")

    def __init__(self, arguments: list[Any], gradient: bool | None, era: Era | None = None) -> None:
        self.arguments = arguments
        self.gradient = gradient
        self.era = era

    def __enter__(self) -> None:
        here = LOCAL.__dict__
        self.before = here["arguments"], here["written"]
        self.outermost = here["era"] is None
        if self.outermost:
            here["era"] = self.era = self.era or Era()
            RUNNING.append(self.era)
        here["arguments"], here["written"] = (*self.before[0], *self.arguments), []
        here["depth"] += 1
        self.modes = here["grad"], here["asked"], here["inference"]
        if self.gradient:  # grad mode is on and inference mode off, whatever the caller's are
            here["differentiating"] += 1
            if self.modes != (True, True, False):
                restore((True, True, False))
        elif self.gradient is not None:  # the caller's modes, as far as code can ask, but operations are recorded
            restore((True, here["asked"], here["inference"]))

    def __exit__(self, kind: Any, failure: BaseException | None, traceback: Any) -> None:
        try:
            self._leave_modes()
        except BaseException as error:
            failure = error
            raise
        finally:
            here = LOCAL.__dict__
            here["depth"] -= 1
            if (era := here["era"]) is not None and era.results:
                era.forget_results(here["depth"])
            written, (here["arguments"], here["written"]) = here["written"], self.before
            if written and (LOCAL.recorder is None or not LOCAL.recorder.is_abandoned()):
                for tensor in written:
                    if LOCAL.depth and all(tensor is not own for own in self.arguments):
                        _leave_to_outer(tensor)
                    else:
                        LOCAL.hand_back(tensor)
            if self.outermost:
                self._end_era(failure)

    def _leave_modes(self) -> None:
        """Set the caller's modes again; a change that user code made to outlive the block stays."""
        if self.gradient:
            LOCAL.differentiating -= 1
            restore(self.modes)
        elif self.gradient is not None:
            after = LOCAL.asked, LOCAL.inference
            restore(self.modes)
            if after != self.modes[1:]:
                switch(*after)
                refuse("sets grad mode for what comes after it (`gs.set_grad_enabled`)")

    def _end_era(self, failure: BaseException | None) -> None:
        era = self.era
        assert era is not None
        era.over, LOCAL.era = True, None
        RUNNING.remove(era)
        if failure is not None or era.stored:
            LOCAL.settle(era, failure)
        era.judge_tried()
        if era.loss is not None and (failure is None or not isinstance(failure, GradientLossError)):
            raise era.loss from failure  # something has caught it, and went another way than the numbers would


def _leave_to_outer(tensor: Any) -> None:
    """Leave a Tensor that was written to the outer transform, whose nodes may have saved what the caller's array still holds."""
    if not LOCAL.differentiating:
        tensor._node = None  # of a graph that is gone
    if all(w is not tensor for w in LOCAL.written):
        LOCAL.written.append(tensor)


class _Mode:
    """A mode as context manager, and as decorator of functions, generators and coroutines."""

    def __init__(self) -> None:
        self._before: list[tuple[bool, bool, bool]] = []

    def _wanted(self) -> tuple[bool, bool]:
        """Grad mode and inference mode inside."""
        raise NotImplementedError

    def __enter__(self) -> None:
        cuts("switches grad mode")
        self._before.append(switch(*self._wanted()))

    def __exit__(self, *exc: Any) -> None:
        restore(self._before.pop())

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """The mode for one call: several threads may be in such calls."""
        cuts("switches grad mode")
        before = switch(*self._wanted())
        try:
            yield
        finally:
            restore(before)

    def __call__(self, function: F) -> F:
        held = self._held
        if isinstance(function, type):
            warnings.warn(
                f"Decorating classes is deprecated: `{function.__name__}` becomes a function that makes its instances in "
                "this mode, while its methods run outside. Decorate __init__ and the methods that need it.",
                FutureWarning,
                stacklevel=2,
            )
        return within(function, held)


class _GradMode(_Mode):
    """A grad mode, as decorator also without parentheses."""

    enabled = True

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def _wanted(self) -> tuple[bool, bool]:
        return self.enabled, LOCAL.inference


class no_grad(_GradMode):  # torch's name
    """Nothing done inside is recorded for backward.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> with gs.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    enabled = False


class enable_grad(_GradMode):  # torch's name
    """Operations inside are recorded for backward, also within `no_grad`.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> with gs.no_grad(), gs.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    enabled = True


class set_grad_enabled(_Mode):  # torch's name
    """Switch grad mode at once; as a context manager until the block ends, as a decorator only inside the function.

    >>> import gradscribe as gs
    >>> with gs.set_grad_enabled(False):
    ...     gs.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode
        cuts("switches grad mode")
        self._previous = switch(mode, LOCAL.inference)

    def _wanted(self) -> tuple[bool, bool]:
        return self.mode, LOCAL.inference

    def __enter__(self) -> None:
        switch(*self._wanted())

    def __exit__(self, *exc: Any) -> None:
        restore(self._previous)

    def __call__(self, function: F) -> F:
        restore(self._previous)
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"gradscribe.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):  # torch's name
    """Like `no_grad`, and what is made inside (inference tensors) can never take part in a graph.

    `inference_mode(False)` switches it off again, and grad mode on. Inside a transform it is `no_grad`.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> with gs.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode

    def _wanted(self) -> tuple[bool, bool]:
        return not self.mode, self.mode
