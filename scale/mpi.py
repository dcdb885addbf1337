"""gs.distributed.allreduce_grad: derivatives over the data of all ranks of MPI, the same bits on each."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..runtime.errors import EagerWarning
from ..tracer.core.exits import warn_at_user
from ..tracer.core.thread_state import refuse
from ..transforms.optional import load
from ..transforms.trees import flatten
from .errors import LostRankError
from .gradient import Distributed, numbered, options_of
from .partial import Partial, combined
from .program import Running
from .steps import FAN_IN
from .work import Plan, on_data

__all__ = ["AllReduced", "allreduce_grad"]

WHO = "gs.distributed.allreduce_grad"
_TAGS = 32768  # that MPI promises
_OUT_OF_STEP: list[Any] = []  # communicators of which a rank was lost


class _Failure(NamedTuple):
    """What went wrong on a rank, as the others are told."""

    rank: int
    text: str


class _Sum(NamedTuple):
    """The sum over some ranks, with the digest of the parameters that they were called with."""

    partial: Partial
    digest: str
    rank: int


class AllReduced(Distributed):
    """A derivative over the data of all ranks: each calls it with its own rows, and gets the whole."""

    comm: Any

    def __init__(
        self, function: Callable[..., Any], comm: Any, in_axes: Any, options: dict[str, Any], timeout: float | None
    ) -> None:
        super().__init__(function, None, in_axes, options)
        self.who = WHO
        self.timeout = np.inf if timeout is None else float(timeout)
        if comm is None:
            comm = load("mpi4py.MPI", WHO).COMM_WORLD
            _end_all_with_one()
        self.comm = comm
        self._running: Running | None = None
        self._structures: list[Any] = []
        self._warned: set[str] = set()

    def step(self, args: tuple[Any, ...], shards: Any = None, chosen: Any = None, following: Any = ()) -> Any:
        """Return the derivative over the rows of all ranks; each of them must call this."""
        refuse(f"calls {self.who}, which talks to other processes")
        if any(comm == self.comm for comm in _OUT_OF_STEP):
            raise LostRankError(
                f"{self.who} of `{self.name}`: a rank was lost, and sums of that call may be under way: start the program anew"
            )
        mine: _Sum | _Failure
        error: BaseException | None = None
        try:
            mine = self._mine(args)
        except BaseException as caught:  # SystemExit, too: the others wait
            error = caught
            notes = "".join([f"\n{note}" for note in getattr(caught, "__notes__", ())])
            mine = _Failure(self.comm.Get_rank(), f"{type(caught).__name__}: {caught}{notes}")
        try:
            total = self._shared(self._reduced(mine))
        except LostRankError:
            if error is None:
                raise
        if error is not None:
            raise error
        if isinstance(total, _Failure):
            raise RuntimeError(f"{self.who} of `{self.name}`: rank {total.rank} raised {total.text}")
        for note in total.partial.notes:
            if note not in self._warned:
                self._warned.add(note)
                warn_at_user(note, EagerWarning)
        return self._result(total.partial, args)

    def _mine(self, args: tuple[Any, ...]) -> _Sum:
        """Return value and gradient of this rank's rows."""
        axes = self._axes(args)
        leaves = [self._plain(k, arg) for k, arg in enumerate(args)]
        cut = tuple(axis is not None for axis in axes)
        shared = [leaf for found, is_cut in zip(leaves, cut, strict=True) if not is_cut for leaf in found]
        data = [leaf for found, is_cut in zip(leaves, cut, strict=True) if is_cut for leaf in found]
        along = [axis for found, axis in zip(leaves, axes, strict=True) if axis is not None for _ in found]
        rank = self.comm.Get_rank()
        structures = [flatten(arg)[1] for arg in args]
        if self._running is None or self._structures != structures:
            self._running, self._structures = (
                Running(self.transform, [numbered(arg) for arg in args], self.options),
                structures,
            )
        plan = Plan("", cut, along, [()] * (rank + 1), [None] * (rank + 1))
        found = on_data(self._running, plan, shared, data, rank, f"the data of rank {rank}")
        try:
            pickle.dumps(found.aux)
        except Exception as error:
            raise TypeError(f"what `{self.name}` gives beside cannot be sent to the other ranks: {error}") from error
        return _Sum(found, hashlib.sha256(pickle.dumps([np.asarray(leaf) for leaf in shared])).hexdigest(), rank)

    def _reduced(self, mine: _Sum | _Failure) -> _Sum | _Failure:
        """Return what this rank and those below it in the tree come to: added by eights in the order of the ranks."""
        rank = self.comm.Get_rank()
        for stride, below in self._below():
            mine = self._added([mine, *[self._received(other, stride) for other in below]])
        if rank:
            above, stride = self._above()
            self.comm.send(mine, dest=above, tag=stride % _TAGS)
        return mine

    def _shared(self, total: _Sum | _Failure) -> _Sum | _Failure:
        """Return what rank 0 has come to, passed on down the same tree."""
        if self.comm.Get_rank():
            total = self._received(*self._above())
        for stride, below in reversed(self._below()):
            for other in below:
                self.comm.send(total, dest=other, tag=stride % _TAGS)
        return total

    def _below(self) -> list[tuple[int, list[int]]]:
        """Return the ranks of which this one adds the sums: of each level its stride, and who they are."""
        rank, size = self.comm.Get_rank(), self.comm.Get_size()
        found = []
        stride = 1
        while stride < size and rank % (stride * FAN_IN) == 0:
            found.append((stride, list(range(rank + stride, min(rank + stride * FAN_IN, size), stride))))
            stride *= FAN_IN
        return found

    def _above(self) -> tuple[int, int]:
        """Return the rank that adds what this one has, the first of its group, and the stride of that level."""
        rank = self.comm.Get_rank()
        stride = 1
        while rank % (stride * FAN_IN) == 0:
            stride *= FAN_IN
        return rank - rank % (stride * FAN_IN), stride

    def _received(self, source: int, stride: int) -> _Sum | _Failure:
        """Return what another rank sends; raise where nothing comes for too long."""
        began = time.monotonic()
        while (message := self.comm.improbe(source=source, tag=stride % _TAGS)) is None:
            waited = time.monotonic() - began
            if waited > self.timeout:
                _OUT_OF_STEP.append(self.comm)
                raise LostRankError(
                    f"{self.who} of `{self.name}`: rank {self.comm.Get_rank()} has waited {waited:.0f} s for rank {source}: it "
                    "has ended, has made another number of calls, or needs longer (timeout=)"
                )
            time.sleep(min(waited / 10, 0.001))
        found: _Sum | _Failure = message.recv()
        return found

    def _added(self, parts: list[_Sum | _Failure]) -> _Sum | _Failure:
        sums = []
        for part in parts:
            if isinstance(part, _Failure):
                return part
            sums.append(part)
        for other in sums[1:]:
            if other.digest != sums[0].digest:
                return _Failure(
                    other.rank,
                    f"ValueError: it was called with other parameters than rank {sums[0].rank}, so that their sum is none",
                )
        try:
            partial = combined([s.partial for s in sums], self.options["reduce"] == "mean")
        except Exception as error:  # as of sums that do not fit together: the others wait
            return _Failure(sums[0].rank, f"{type(error).__name__}: {error}, while it added what other ranks gave")
        return _Sum(partial, sums[0].digest, sums[0].rank)


def _end_all_with_one() -> None:
    """Let a program of MPI end on all ranks where one ends with an error, as `python -m mpi4py` does: the others would wait."""
    if getattr(sys.excepthook, "__name__", "") == "_hook_of_ranks":
        return
    before = sys.excepthook

    def _hook_of_ranks(*error: Any) -> None:
        before(*error)
        importlib.import_module("mpi4py.run").set_abort_status(1)

    sys.excepthook = _hook_of_ranks


def allreduce_grad(
    f: Callable[..., Any], comm: Any = None, in_axes: Any = None, reduce: str = "sum", *, argnums: Any = 0, has_aux: bool = False,
    weight: Callable[..., Any] | None = None, compile: bool | dict[str, Any] = True, timeout: float | None = 1800.0,
) -> AllReduced:  # fmt: skip
    """Return a function that gives `(value, gradient)` of `f(params, *data)` over the data of all ranks of MPI.

    Each rank calls it with the same parameters and its own rows, as plain arrays; all get the sum, or with `reduce="mean"`
    the mean over all rows, as the same bits: ranks are added in their order. `comm` is a communicator of mpi4py, COMM_WORLD
    as default; all else is as in `gs.distributed.value_and_grad`. An error on one rank, also NaN, raises on all of them. A rank
    that waits for another for `timeout` seconds raises LostRankError; None waits for ever.
    """
    options = options_of("value_and_grad", argnums, reduce, has_aux, weight, None, compile)
    return AllReduced(f, comm, in_axes, options, timeout)
