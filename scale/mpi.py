"""gs.distributed.allreduce_grad: derivatives over the data of all ranks of MPI, the same bits on each."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..runtime.errors import EagerWarning
from ..tracer.modes.thread_state import refuse
from ..transforms.optional import load
from ..transforms.trees import flatten
from .gradient import Distributed, numbered, options_of
from .partial import Partial, combined
from .program import Running
from .steps import FAN_IN
from .work import Plan, on_data

__all__ = ["AllReduced", "allreduce_grad"]

WHO = "gs.distributed.allreduce_grad"


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

    def __init__(self, function: Callable[..., Any], comm: Any, in_axes: Any, options: dict[str, Any]) -> None:
        super().__init__(function, None, in_axes, options)
        self.who = WHO
        self.comm = load("mpi4py.MPI", WHO).COMM_WORLD if comm is None else comm
        self._running: Running | None = None
        self._structures: list[Any] = []
        self._warned: set[str] = set()

    def step(self, args: tuple[Any, ...], shards: Any = None, chosen: Any = None, following: Any = ()) -> Any:
        """Return the derivative over the rows of all ranks; each of them must call this."""
        refuse(f"calls {self.who}, which talks to other processes")
        mine: _Sum | _Failure
        error: Exception | None = None
        try:
            mine = self._mine(args)
        except Exception as caught:
            error = caught
            notes = "".join([f"\n{note}" for note in getattr(caught, "__notes__", ())])
            mine = _Failure(self.comm.Get_rank(), f"{type(caught).__name__}: {caught}{notes}")
        total = self._reduced(mine)
        if error is not None:
            raise error
        if isinstance(total, _Failure):
            raise RuntimeError(f"{self.who} of `{self.name}`: rank {total.rank} raised {total.text}")
        for note in total.partial.notes:
            if note not in self._warned:
                self._warned.add(note)
                warnings.warn(note, EagerWarning, stacklevel=2)
        return self._result(total.partial, args)

    def _mine(self, args: tuple[Any, ...]) -> _Sum:
        """Return value and gradient of this rank's rows."""
        axes = self._axes(args)
        leaves = [[self._plain(leaf) for leaf in flatten(arg)[0]] for arg in args]
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
        return _Sum(found, hashlib.sha256(pickle.dumps([np.asarray(leaf) for leaf in shared])).hexdigest(), rank)

    def _reduced(self, mine: _Sum | _Failure) -> _Sum | _Failure:
        """Return what all ranks come to together: added by eights in the order of the ranks, then sent to all."""
        rank, size = self.comm.Get_rank(), self.comm.Get_size()
        stride = 1
        while stride < size:
            wide = stride * FAN_IN
            if rank % wide:  # the first of its group adds
                self.comm.send(mine, dest=rank - rank % wide, tag=stride % 32768)
                break
            parts = [mine]
            for other in range(rank + stride, min(rank + wide, size), stride):
                parts.append(self.comm.recv(source=other, tag=stride % 32768))
            mine = self._added(parts)
            stride = wide
        total: _Sum | _Failure = self.comm.bcast(mine if rank == 0 else None, root=0)
        return total

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
        return _Sum(combined([s.partial for s in sums], self.options["reduce"] == "mean"), sums[0].digest, sums[0].rank)


def allreduce_grad(
    f: Callable[..., Any], comm: Any = None, in_axes: Any = None, reduce: str = "sum", *, argnums: Any = 0, has_aux: bool = False,
    weight: Callable[..., Any] | None = None, compile: bool | dict[str, Any] = True,
) -> AllReduced:  # fmt: skip
    """Return a function that gives `(value, gradient)` of `f(params, *data)` over the data of all ranks of MPI.

    Each rank calls it with the same parameters and its own rows, as plain arrays; all get the sum, or with `reduce="mean"`
    the mean over all rows, as the same bits: ranks are added in their order. `comm` is a communicator of mpi4py, COMM_WORLD
    as default; all else is as in `gs.distributed.value_and_grad`. An error on one rank, also NaN, raises on all of them.
    """
    return AllReduced(f, comm, in_axes, options_of("value_and_grad", argnums, reduce, has_aux, weight, None, compile))
