"""One step on the cluster: what is sent, the tasks, the tree that adds them up, and what happens when workers die."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import re
import time
import types
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..runtime.errors import EagerWarning
from ..tracer.core.exits import warn_at_user
from ..tracer.core.site import add_line, is_ours, library_of, user_site
from ..transforms.optional import load
from .cluster import check_alive
from .errors import LostSchedulerError, LostWorkersError
from .partial import Partial
from .program import Box, Program
from .shards import Shards
from .sources import Held
from .work import Plan, add_up, on_shard, pass_on

__all__ = ["FAN_IN", "Steps"]

FAN_IN = 8  # partials that one task adds up; it is part of what decides the last bits
ATTEMPTS = 10  # at one step, each of which lost a worker
SMALL = 1 << 18  # bytes of parameters, taken once for each shard, up to which they go along with the tasks: a hop less
PATIENCE = 300.0  # seconds to wait for a worker where there is none
_SILENCE = 5.0  # seconds without a result, after which the scheduler is asked whether it is there
_ANSWER = 15.0  # seconds that it may take to answer
_MANY = 64  # workers, from which on where a shard is read is left to the scheduler


class Steps:
    """A client, and what it holds on the cluster for a function: the program, and the plan of the shards."""

    client: Any
    who: str
    name: str
    distributed: Any

    def __init__(self, client: Any, who: str, name: str) -> None:
        self.client, self.who = client, who
        self.name = re.sub(r"\W+", "_", name)
        self.distributed = load("distributed", who)
        self._program: tuple[str, Any] | None = None
        self._plan: tuple[Shards, Any] | None = None
        self._warned: set[str] = set()

    def run(
        self, program: Program, shards: Shards, cut: tuple[bool, ...], shared: list[Any], mean: bool,
        chosen: Sequence[int] | None = None, following: Sequence[int] = (),
    ) -> Partial:  # fmt: skip
        """Return what the chosen shards come to, added in their order; all, where none are chosen.

        `following` are those of the next step, of which workers read the first ones ahead.
        """
        chosen = range(len(shards)) if chosen is None else chosen
        following = following or chosen
        for attempt in range(ATTEMPTS):
            check_alive(self.client, self.who)
            workers = self._place(shards, chosen, attempt)
            root = self._submit(program, shards, cut, shared, mean, chosen, following, workers)
            outcome = self._outcome(root, shards, chosen)
            if outcome is not None:
                return self._checked(outcome, chosen)
        raise LostWorkersError(
            f"{self.who}: workers died in each of {ATTEMPTS} attempts at one step. Look at their logs: often their memory is too "
            "small for a shard and what the function makes of it (smaller shards, or fewer threads a worker)."
        )

    # --- what is sent -------------------------------------------------------------------------------------------------

    def _workers(self) -> list[str]:
        """Return the addresses of the workers; wait where there is none."""
        began = time.monotonic()
        said = False
        while True:
            workers = sorted(self._information())
            if workers:
                return workers
            waited = time.monotonic() - began
            if waited > PATIENCE:
                raise LostWorkersError(f"{self.who}: the cluster has had no worker for {PATIENCE:.0f} s")
            if waited > 10 and not said:
                warn_at_user(f"{self.who} waits for a worker: the cluster has none", UserWarning)
                said = True
            time.sleep(0.1)
            check_alive(self.client, self.who)

    def _information(self) -> dict[str, int]:
        """Return the workers' addresses, each with its threads, as the scheduler knows them now."""

        async def ask() -> Any:
            return await asyncio.wait_for(self.client.scheduler.ncores(), _ANSWER)

        try:
            return dict(self.client.sync(ask))
        except (TimeoutError, OSError) as error:
            raise self._no_answer() from error

    def threads(self) -> int:
        """Return how many tasks the cluster runs at once."""
        self._workers()
        return max(1, sum(self._information().values()))

    def _no_answer(self) -> LostSchedulerError:
        address = self.client.scheduler.address if self.client.scheduler is not None else ""
        return LostSchedulerError(
            f"{self.who}: the scheduler {address} does not answer. What was on the cluster is lost; connect a new client, and "
            "let gs.distributed.minimize go on from its checkpoint (resume=)."
        )

    def _place(self, shards: Shards, chosen: Sequence[int], attempt: int) -> list[str]:
        """Send workers the arrays that the client holds and none of them has: neighbours to one worker.

        Return the workers' addresses, which are asked for where shards are sent or are to be read.
        """
        sources = [(k, source) for k in chosen for source in shards.shards[k].sources]
        lost = []
        for k, source in sources:
            if not isinstance(source, Held):
                source.check()
            elif source.is_lost():
                lost.append((k, source))
        if sources and not lost:
            return []
        workers = self._workers()
        blocks = _blocks(len(shards), len(workers))
        for k, source in lost:
            if source.future is not None:
                source.check()
            source.future = self._scattered(source.array, workers[(blocks[k] + attempt) % len(workers)])
        return workers

    def _scattered(self, array: Any, where: str) -> Any:
        """Return the future of an array on a worker, or on another where that one is gone."""
        if where.startswith("inproc://") or not array.flags.forc:  # which would pass on the array itself, as it lies
            array = np.array(array, order="A")
        for _ in range(ATTEMPTS):
            try:
                return self.client.scatter([array], workers=[where], hash=False, timeout=5)[0]
            except (TimeoutError, KeyError, OSError):
                check_alive(self.client, self.who)
                workers = self._workers()
                where = workers[0] if where not in workers else workers[(workers.index(where) + 1) % len(workers)]
        raise LostWorkersError(f"{self.who}: no worker took an array of {array.nbytes} bytes in {ATTEMPTS} attempts")

    def _held(self, value: Any, what: str) -> Any:
        """Return the future of a value that the scheduler holds, so that no dead worker takes it along."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):  # it is sent once
            return self.client.submit(pass_on, Box(value), key=f"{what}-{uuid.uuid4().hex}", pure=False)

    def _submit(
        self, program: Program, shards: Shards, cut: tuple[bool, ...], shared: list[Any], mean: bool,
        chosen: Sequence[int], following: Sequence[int], workers: list[str],
    ) -> Any:  # fmt: skip
        """Return the future of the sum: a task for each shard, and a tree above them."""
        known = self._sent(program, shards, cut)
        run = uuid.uuid4().hex
        keys = [(f"{self.name}-{run}", k) for k in chosen]
        sources = [[source.future for source in shards.shards[k].sources] for k in chosen]
        if any(sources) or len(workers) > _MANY:
            tasks, held = self._beside_data(chosen, keys, sources, known, shared, run), []
        else:
            tasks, held = {}, self._in_blocks(chosen, following, workers, keys, known, shared)
        root = self._tree(tasks, keys, mean, run)
        future = self.client.get(tasks, root, sync=False) if tasks else held[0]
        del held  # till here, where the sum needs them
        return future

    def _sent(self, program: Program, shards: Shards, cut: tuple[bool, ...]) -> tuple[Any, Any]:
        """Return the futures of a program and of the plan of some shards, sent where they are not those of the last step.

        Other threads may take steps with others: who asks goes on with what is returned.
        """
        last = self._program
        if last is None or last[0] != program.digest or last[1].status != "finished":
            last = self._program = program.digest, self._held(program, f"{self.name}_program")
        plan = self._plan
        if plan is None or plan[0] is not shards or plan[1].status != "finished":
            recipes = [shard.recipes for shard in shards.shards]
            told = Plan(uuid.uuid4().hex, cut, shards.axes, recipes, [shard.rows for shard in shards.shards])
            plan = self._plan = shards, self._held(told, f"{self.name}_plan")
        return last[1], plan[1]

    def _beside_data(
        self, chosen: Sequence[int], keys: list[Any], sources: list[list[Any]], known: tuple[Any, Any], shared: list[Any],
        run: str,
    ) -> dict[Any, Any]:  # fmt: skip
        """Return a task for each chosen shard, which the scheduler runs where its data is; one message has them and the sum."""
        spec = importlib.import_module("dask._task_spec")
        name = f"{self.name}_shared-{run}"
        small = sum(int(getattr(leaf, "nbytes", 8)) for leaf in shared) * len(chosen) <= SMALL
        tasks = {} if small else {name: spec.Task(name, pass_on, Box(shared))}
        behind = [
            *[spec.TaskRef(future.key) for future in known],
            Box(shared) if small else spec.TaskRef(name),
            self.who,
        ]
        for k, key, futures in zip(chosen, keys, sources, strict=True):
            places = spec.List(*[spec.TaskRef(future.key) for future in futures])
            tasks[key] = spec.Task(key, on_shard, k, None, places, *behind)
        return tasks

    def _in_blocks(
        self, chosen: Sequence[int], following: Sequence[int], workers: list[str], keys: list[Any], known: tuple[Any, Any],
        shared: list[Any],
    ) -> list[Any]:  # fmt: skip
        """Return a future for each chosen shard: those from files go to workers in blocks, so that each reads ahead."""
        words = {
            "program": known[0], "plan": known[1], "shared": self._held(shared, f"{self.name}_shared"),
            "who": self.who, "pure": False,
        }  # fmt: skip
        blocks, later = _blocks(len(chosen), len(workers)), _blocks(len(following), len(workers))
        found: list[Any] = []
        for block, group in itertools.groupby(range(len(chosen)), blocks.__getitem__):
            places = list(group)
            behind = [following[k] for k in range(len(following)) if later[k] == block]
            queue = [*[chosen[k] for k in places[1:]], behind[0] if behind else None]
            found += self.client.map(
                on_shard, [chosen[k] for k in places], queue, [[]] * len(places), key=[keys[k] for k in places],
                workers=[workers[block]], allow_other_workers=True, **words,
            )  # fmt: skip
        return found

    def _tree(self, tasks: dict[Any, Any], keys: list[Any], mean: bool, run: str) -> Any:
        """Add the tasks that sum what these keys give, in their order; return the key of the whole."""
        spec = importlib.import_module("dask._task_spec")
        level = 0
        while len(keys) > 1:
            level += 1
            parts = [keys[k : k + FAN_IN] for k in range(0, len(keys), FAN_IN)]
            keys = [(f"{self.name}_sum{level}-{run}", k) for k in range(len(parts))]
            for key, part in zip(keys, parts, strict=True):
                tasks[key] = spec.Task(key, add_up, spec.List(*[spec.TaskRef(k) for k in part]), mean)
        return keys[0]

    # --- what comes back ----------------------------------------------------------------------------------------------

    def _outcome(self, root: Any, shards: Shards, chosen: Sequence[int]) -> Partial | None:
        """Return the result of a step; None where a worker took something with it that can be sent again."""
        distributed = self.distributed
        while True:
            try:
                found: Partial = root.result(timeout=_SILENCE)
                return found
            except distributed.CancelledError:  # what it stood on is lost
                self._check_cancelled(shards, chosen)
                return None
            except distributed.scheduler.KilledWorker as error:
                raise LostWorkersError(self._killed(error, shards)) from None
            except TimeoutError as error:
                if root.status == "error":
                    raise _without_dask(error) from error.__cause__
                check_alive(self.client, self.who)
                self._workers()  # asks the scheduler, and waits where there is none
            except Exception as error:
                if root.status != "error":  # it was on the way from the worker
                    check_alive(self.client, self.who)
                    return None
                if str(error).startswith("AssertionError(<TaskState"):  # Dask 2025.1, of data that has just been lost
                    self._check_cancelled(shards, chosen)
                    for k in chosen:
                        for source in shards.shards[k].sources:
                            if isinstance(source, Held):
                                source.check()
                                source.future = None  # sent again
                    return None
                raise _without_dask(error) from error.__cause__

    def _check_cancelled(self, shards: Shards, chosen: Sequence[int]) -> None:
        """Raise where nothing can be sent again: the scheduler is gone, or a future of the user's is lost."""
        time.sleep(0.05)  # the client learns why a little later
        check_alive(self.client, self.who)
        for k in chosen:
            for source in shards.shards[k].sources:
                if not isinstance(source, Held):
                    source.check()

    def _killed(self, error: Any, shards: Shards) -> str:
        """Say which shards were on every worker that died: Dask names one, which may have waited behind the one that kills."""
        key = getattr(error, "task", None)
        where = "a sum of shards"
        if isinstance(key, tuple) and len(key) == 2 and f"{key[0]}".startswith(f"{self.name}-"):
            where = " or ".join(shards.shards[k].name(k) for k in self._suspects(key))
        return (
            f"{self.who}: each worker that had {where} died, the last of them {getattr(error, 'last_worker', None)}. Look at its "
            "log: often its memory is too small for a shard and what the function makes of it (smaller shards, or fewer threads "
            "a worker)."
        )

    def _suspects(self, key: tuple[str, int]) -> list[int]:
        """Return the shards of a run whose workers died more often than the scheduler allows; that of `key` is one."""

        def given_up(dask_scheduler: Any) -> list[int]:  # it travels by value: the scheduler may not have gradscribe
            tasks = [(k, task) for k, task in dask_scheduler.tasks.items() if isinstance(k, tuple) and k[0] == key[0]]
            return [name[1] for name, task in tasks if task.suspicious > dask_scheduler.allowed_failures]

        try:
            found: list[int] = self.client.run_on_scheduler(given_up)
        except Exception:  # a scheduler may be closed to functions: what Dask named is said
            return [key[1]]
        return sorted({key[1], *found})

    def _checked(self, found: Partial, chosen: Sequence[int]) -> Partial:
        """Return the result; raise where a shard is missing or counted twice."""
        if sorted(found.counts) != sorted(chosen):
            raise AssertionError(f"{self.who} counted the shards {found.counts} where {tuple(chosen)} were asked for")
        for note in found.notes:
            if note not in self._warned:
                self._warned.add(note)
                warn_at_user(f"on a worker: {note}", EagerWarning)
        return found


def _blocks(count: int, workers: int) -> list[int]:
    """Return for each of `count` shards in order which worker it goes to: neighbours to one."""
    return [k * workers // max(count, 1) for k in range(count)]


def _without_dask(error: Exception) -> Exception:
    """Return an error from a worker with a traceback from here to the user's function, or with the user's line here."""
    kept: list[types.TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        if library_of(tb.tb_frame.f_code.co_filename) not in ("dask", "distributed", "tornado"):
            kept.append(tb)
        tb = tb.tb_next
    chain: types.TracebackType | None = None
    for tb in reversed(kept):
        chain = types.TracebackType(chain, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    site = user_site()
    if site is not None and all(is_ours(tb.tb_frame.f_code.co_filename) for tb in kept):
        add_line(error, site.code.co_filename, site.line)
    return error.with_traceback(chain)
