"""gs.distributed.minimize: SGD and Adam over data in shards, with checkpoints from which a run goes on bit for bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..tracer.core.site import pruned
from ..transforms.progress import Bar
from ..transforms.trees import flatten, unflatten
from . import checkpoint
from .gradient import Distributed, value_and_grad
from .optimisers import OPTIMISERS
from .shards import Shards

__all__ = ["History", "Result", "Step", "minimize"]

WHO = "gs.distributed.minimize"


class Step(NamedTuple):
    """What a callback is given after each step: the step's number, from 1, and value and gradient before it moved."""

    step: int
    params: Any
    value: Any
    gradient: Any
    aux: list[Any]


class History:
    """What each step came to: `value`, `gradient` (its largest entry) and `seconds` of it."""

    def __init__(self, columns: dict[str, Any] | None = None) -> None:
        told = columns or {"value": [], "gradient": [], "seconds": []}
        self._columns = {name: list(np.asarray(column)) for name, column in told.items()}

    def add(self, **entries: float) -> None:
        """Add a step."""
        for name, entry in entries.items():
            self._columns[name].append(entry)

    def columns(self) -> dict[str, Any]:
        """Return all as arrays, by name."""
        return {name: np.array(column, float) for name, column in self._columns.items()}

    @property
    def value(self) -> Any:
        """The loss before each step."""
        return self.columns()["value"]

    @property
    def gradient(self) -> Any:
        """The largest entry of the gradient, by its absolute value."""
        return self.columns()["gradient"]

    @property
    def seconds(self) -> Any:
        """How long each step took."""
        return self.columns()["seconds"]

    def __len__(self) -> int:
        return len(self._columns["value"])

    def __repr__(self) -> str:
        value = self.value
        return f"<History of {len(self)} steps" + (f": {value[0]:.6g} to {value[-1]:.6g}>" if len(self) else ">")


class Result(NamedTuple):
    """The parameters after the last step, the history, and how many steps there were in all."""

    params: Any
    history: History
    steps: int


@pruned
def minimize(
    f: Callable[..., Any], params: Any, data: Any, *, optimizer: str = "adam", lr: float, steps: int, client: Any = None,
    save_to: Any = None, save_every: int | None = None, resume: Any = None, callback: Callable[[Step], Any] | None = None,
    in_axes: Any = None, reduce: str = "sum", has_aux: bool = False, weight: Callable[..., Any] | None = None,
    shards: int | None = None, shards_per_step: int | None = None, shuffle: int | None = None, progress: bool | None = None,
    compile: bool | dict[str, Any] = True, **settings: float,
) -> Result:  # fmt: skip
    """Minimise `f(params, *data)` over data in shards on a Dask cluster, by `steps` steps of Adam or SGD.

    `data` is a tuple of what `gs.distributed.value_and_grad` takes, or one of these; NumPy arrays are cut and sent once, so
    that they must not be written to meanwhile. Each step takes the gradient over all shards, or over `shards_per_step` of
    them, one after the other, in an order that the number `shuffle` draws anew for each pass. Shards from files are read
    again in each step, the next one while a worker computes with the one before. `settings` are those of the optimizer:
    `beta1`, `beta2` and `eps` of "adam", `momentum` of "sgd".

    `save_to` is a folder, into which a checkpoint (safetensors) is written every `save_every` steps and after the last, as
    a whole or not at all. `resume` is such a folder: the run goes on from its newest whole checkpoint up to step `steps`, with
    the bits of a run that was never interrupted; True is the folder of `save_to`, if there is a checkpoint in it. `lr` and
    `steps` may be others than before; another optimizer, other settings, shards or parameters raise. `callback` is called with
    a Step after each; where it returns True the run ends. Returns a result with `.params` and `.history`.

    Raises what `gs.distributed.value_and_grad` raises, FileNotFoundError without a checkpoint, ValueError for one of another
    run, FileExistsError where `save_to` has those of another run, OSError where a checkpoint cannot be written.
    """
    if optimizer not in OPTIMISERS:
        raise ValueError(f"{WHO}: optimizer is {' or '.join(map(repr, OPTIMISERS))}, not {optimizer!r}")
    unknown = settings.keys() - OPTIMISERS[optimizer].settings.keys()
    if unknown:
        raise TypeError(
            f"{WHO}: {optimizer} has no setting {', '.join(sorted(unknown))}; it has {[*OPTIMISERS[optimizer].settings]}"
        )
    if save_every is not None and save_to is None:
        raise ValueError(f"{WHO}: save_every is {save_every}, but there is no folder save_to")
    _check_counts(
        steps=(steps, 0), save_every=(save_every, 1), shards_per_step=(shards_per_step, 1), shuffle=(shuffle, 0)
    )
    _check_numbers(
        lr=(lr, np.inf), **{name: (value, OPTIMISERS[optimizer].below[name]) for name, value in settings.items()}
    )
    function = value_and_grad(
        f, client, in_axes, reduce, has_aux=has_aux, weight=weight, shards=shards, compile=compile
    )
    function.who = WHO
    run = _Run(function, params, data if isinstance(data, tuple) else (data,), optimizer, lr, settings)
    order = {"shards_per_step": shards_per_step, "shuffle": shuffle}
    run.order = {name: None if n is None else int(n) for name, n in order.items()} | {"reduce": reduce}
    resumed = _folder(resume, save_to)
    if save_to is not None:
        checkpoint.check_free(Path(save_to), resumed, WHO)
    run.begin(resumed)
    return run.go(steps, callback, None if save_to is None else Path(save_to), save_every, progress)


def _check_counts(**counts: tuple[Any, int]) -> None:
    """Raise where a count is none, or is below the least."""
    for name, (value, least) in counts.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least):
            raise ValueError(f"{WHO}: {name} is a whole number from {least} on, not {value!r}")


def _check_numbers(**numbers: tuple[Any, float]) -> None:
    """Raise where a number of an optimizer is none, is negative, or is not below its bound."""
    for name, (value, bound) in numbers.items():
        if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value < bound:
            upper = "" if bound == np.inf else f" and below {bound:g}"
            raise ValueError(f"{WHO}: {name} is a number from 0 on{upper}, not {value!r}")


def _folder(resume: Any, save_to: Any) -> Path | None:
    """Return the folder to go on from, if any."""
    if resume is None or resume is False:
        return None
    if resume is not True:
        return Path(resume)
    if save_to is None:
        raise ValueError(f"{WHO}: resume=True is the folder of save_to, and there is none")
    there = Path(save_to)
    return there if there.is_dir() and any(n.endswith(".safetensors") for n in os.listdir(there)) else None


class _Run:
    """One call of minimize."""

    def __init__(
        self, function: Distributed, params: Any, data: tuple[Any, ...], optimizer: str, lr: float, settings: dict[str, float]
    ) -> None:  # fmt: skip
        self.function, self.data, self.lr = function, data, lr
        self.leaves, self.structure = flatten(params)
        self.leaves = [np.array(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in self.leaves]
        self.optimizer, self.rule = optimizer, OPTIMISERS[optimizer]
        self.settings = self.rule.settings | {name: float(value) for name, value in settings.items()}
        self.moments = self.rule.begin(self.leaves)
        self.history = History()
        self.step = 0
        self.order: dict[str, Any] = {}
        self._shards: Shards | None = None

    @property
    def params(self) -> Any:
        """The parameters as they are now."""
        return unflatten(self.structure, self.leaves)

    def begin(self, resume: Path | None) -> None:
        """Cut the data; go on from a checkpoint, if there is one."""
        saved = None if resume is None else checkpoint.load(resume, self.params, WHO)
        if saved is not None and self.function.count is None:
            self.function.count = saved.shards  # of NumPy arrays: on a cluster of another size, too
        try:
            self._shards = self.function.cut((self.params, *self.data))
        except TypeError as error:
            if len(self.data) == 1 and isinstance(self.data[0], list):
                error.add_note("data is a list, which is one argument, a tree of arrays: several arguments are a tuple")
            raise
        each = self.order["shards_per_step"]
        if each is not None and each > len(self._shards):
            raise ValueError(f"{WHO}: shards_per_step is {each}, but there are {len(self._shards)} shards")
        if saved is None:
            return
        differing = [
            f"{name} {there!r} in place of {here!r}"
            for name, there, here in [
                ("optimizer", saved.optimizer, self.optimizer), ("settings", saved.settings, self.settings),
                ("shards", saved.shards, len(self._shards)), ("rows", saved.rows, self._rows()), *[
                    (name, saved.chosen.get(name), value) for name, value in self.order.items()
                ],
            ] if there != here
        ]  # fmt: skip
        if differing:
            raise ValueError(f"{WHO}: the checkpoint in {resume} is of another run, which had {', '.join(differing)}")
        self.step, self.leaves, self.moments = saved.step, flatten(saved.params)[0], saved.moments
        self.history = History(saved.history)

    def _rows(self) -> list[int] | None:
        """Return where each shard begins and ends, where that is known."""
        assert self._shards is not None
        rows = [shard.rows for shard in self._shards.shards]
        return None if None in rows else [0, *[row[1] for row in rows if row is not None]]

    def chosen(self, step: int) -> list[int]:
        """Return the shards of a step, counted from 0: these follow from its number alone."""
        assert self._shards is not None
        count = len(self._shards)
        each = self.order["shards_per_step"]
        if each is None:
            return list(range(count))
        found = []
        for place in range(step * each, (step + 1) * each):
            turn, k = divmod(place, count)
            seed = self.order["shuffle"]
            found.append(k if seed is None else int(np.random.default_rng((seed, turn)).permutation(count)[k]))
        return list(dict.fromkeys(found))

    def go(
        self, steps: int, callback: Callable[[Step], Any] | None, save_to: Path | None, every: int | None, progress: bool | None
    ) -> Result:  # fmt: skip
        """Take the steps that are left."""
        bar = Bar(progress, f"{WHO} of {self.function.name}", steps - self.step)
        saved = None if save_to is None else self._save(save_to)  # what cannot be saved is known before the first step
        try:
            while self.step < steps:
                began = time.perf_counter()
                value, gradient, aux = self._derivative()
                slopes = flatten(gradient)[0]
                self.leaves, self.moments = self.rule.move(
                    self.leaves, slopes, self.moments, self.lr, self.step + 1, self.settings
                )
                self.step += 1
                largest = max(
                    [float(np.max(np.abs(slope))) for slope in slopes if slope is not None and np.size(slope)],
                    default=0.0,
                )
                self.history.add(value=float(value), gradient=largest, seconds=time.perf_counter() - began)
                bar.step(float(value), largest)
                if save_to is not None and every is not None and self.step % every == 0:
                    saved = self._save(save_to)
                if callback is not None and callback(Step(self.step, self.params, value, gradient, aux)) is True:
                    break
        finally:
            bar.close()
        if save_to is not None and saved != self.step:
            self._save(save_to)
        return Result(self.params, self.history, self.step)

    def _derivative(self) -> tuple[Any, Any, list[Any]]:
        args = (self.params, *self.data)
        found = self.function.step(args, self._shards, self.chosen(self.step), self.chosen(self.step + 1))
        value, gradient = found
        if self.function.options["has_aux"]:
            (value, aux), gradient = found
            return value, gradient, aux
        return value, gradient, []

    def _save(self, folder: Path) -> int:
        assert self._shards is not None
        checkpoint.save(folder, checkpoint.Checkpoint(
            self.step, self.params, self.moments, self.optimizer, self.settings, len(self._shards), self._rows(),
            self.history.columns(), self.order,
        ), WHO)  # fmt: skip
        return self.step
