"""What runs on a worker: value and gradient of one shard, and the sum of several."""

from __future__ import annotations

import importlib
import re
import threading
import traceback
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from ..runtime.arrays import on_numpys_host
from ..runtime.errors import ShapeError
from ..tracer.core.site import is_ours, library_of
from ..transforms.trees import flatten, flatten_present, unflatten
from .partial import Partial, combined
from .program import Box, Running, running
from .sources import Recipe

__all__ = ["Plan", "add_up", "on_data", "on_shard", "pass_on"]

_FEW = 5  # rows with NaN that an error names


class Plan:
    """Which arguments are shared and which are cut, and how the arrays of each shard are made; by its number it is known."""

    def __init__(
        self, number: str, cut: tuple[bool, ...], axes: list[int], recipes: list[tuple[Recipe, ...]], rows: list[Any]
    ) -> None:
        self.number, self.cut, self.axes, self.recipes, self.rows = number, cut, axes, recipes, rows


def pass_on(box: Box) -> Box:
    """Return what the client sent: as the result of a task, which workers fetch from each other."""
    return box


def add_up(parts: list[Partial], mean: bool) -> Partial:
    """Return the partials of several shards as one."""
    return combined(parts, mean)


class _Ahead:
    """The next shard of this worker, read while the one before it is computed with: at most one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._key: Any = None
        self._found: Future[Any] | None = None

    def take(self, key: Any) -> Future[Any] | None:
        """Return what is read of a shard already, or is about to be."""
        with self._lock:
            if self._key != key:
                return None
            found, self._found, self._key = self._found, None, None
            return found

    def read(self, key: Any, recipes: tuple[Recipe, ...]) -> None:
        """Begin to read a shard that needs nothing but files."""
        if any(recipe.sources or recipe.tasks is None for recipe in recipes):
            return
        with self._lock:
            if self._key == key or (self._found is not None and not self._found.done()):
                return
            self._pool = self._pool or ThreadPoolExecutor(1, "gradscribe reads ahead")
            self._key, self._found = key, None  # the one before is let go before this is read
            self._found = self._pool.submit(_made, recipes, [])


_ahead = _Ahead()


def _made(recipes: tuple[Recipe, ...], sources: list[Any]) -> list[Any]:
    return [recipe.made(sources) for recipe in recipes]


def on_shard(k: int, ahead: int | None, sources: list[Any], program: Box, plan: Box, shared: Box, who: str) -> Partial:
    """Return value and gradient of shard `k`; begin to read shard `ahead`, which is this worker's next."""
    run = running(program.value)
    told: Plan = plan.value
    name = _name(told, k)
    try:
        reading = _ahead.take((told.number, k))
        made = reading.result() if reading is not None else _made(told.recipes[k], sources)
        del reading
        if ahead is not None:
            _ahead.read((told.number, ahead), told.recipes[ahead])
        return on_data(run, told, shared.value, made, k, name)
    except Exception as error:
        _add_place(error, name, who)
        raise


def _ready(value: Any) -> Any:
    """Return an array, or a tree of them, as the function is given it.

    It cannot be written to, since the next step reads it again. What came in a message may lie at an odd address, where
    NumPy takes other ways to other last bits: it is copied.
    """
    leaves, structure = flatten(value)
    shown = []
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            leaf = leaf.view() if leaf.flags.aligned else np.array(leaf)
            leaf.flags.writeable = False
        shown.append(leaf)
    return unflatten(structure, shown)


def on_data(run: Running, plan: Plan, shared: list[Any], data: list[Any], k: int, name: str) -> Partial:
    """Return value and gradient of shard `k`, of its arrays and those that all shards share."""
    shared, data = [_ready(leaf) for leaf in shared], [_ready(value) for value in data]
    rows = _rows(data, plan.axes, name)
    options = run.options
    mean = options["reduce"] == "mean"
    if mean and rows == 0:
        return Partial([], 0.0, [], (), (k,))
    leaves = _leaves(run, plan, shared, data)
    result = run(leaves)
    value, found, aux = _parted(options, result)
    weight = float(rows)
    if options["weight"] is not None:
        weight = _weight(
            options["weight"](*[a for a, cut in zip(run.arguments(leaves), plan.cut, strict=True) if cut]), name
        )
        if mean and weight == 0:
            return Partial([], 0.0, aux, tuple(run.notes), (k,))
    if _has_nan(value) or any(_has_nan(leaf) for leaf in found):
        raise FloatingPointError(_about_nan(run, plan, shared, data, rows, value, found, k, name))
    return Partial([*([] if value is None else [value]), *found], weight, aux, tuple(run.notes), (k,))


def _weight(given: Any, name: str) -> float:
    """Return the weight of a shard; raise where it is none."""
    if np.size(given) != 1:
        raise TypeError(f"weight gave an array of shape {np.shape(given)} for {name}, in place of one number")
    weight = float(np.asarray(given).reshape(())[()])
    if not weight >= 0 or weight == np.inf:
        raise ValueError(f"weight gave {weight} for {name}: it is a number from 0 on")
    return weight


def _parted(options: dict[str, Any], result: Any) -> tuple[Any, list[Any], list[Any]]:
    """Return the value, the arrays of the gradient, and what the function gave beside."""
    aux: list[Any] = []
    value = None
    if options["kind"] == "hvp":
        gradient = result
        if options["has_aux"]:
            gradient, extra = result
            aux = [extra]
    else:
        value, gradient = result
        if options["has_aux"]:
            value, extra = value
            aux = [extra]
    several = isinstance(options["argnums"], tuple)
    found = [leaf for tree in (gradient if several else (gradient,)) for leaf in flatten(tree)[0]]
    return value, found, aux


def _leaves(run: Running, plan: Plan, shared: list[Any], data: list[Any]) -> list[list[Any]]:
    """Return the leaves of each argument: those that are shared, and the shard's."""
    both = iter(shared), iter(data)
    found = []
    for tree, cut in zip(run.trees, plan.cut, strict=True):
        leaves = flatten(tree)[0]
        found.append([None if leaf is None else next(both[cut]) for leaf in leaves])
    return found


def _rows(data: list[Any], axes: list[int], name: str) -> int:
    found: dict[int, Any] = {}
    for value, axis in zip(data, axes, strict=True):
        for leaf in flatten_present(value)[0]:
            on_numpys_host(name, [leaf])
            if not isinstance(leaf, np.ndarray):
                raise TypeError(f"{name} holds {type(leaf).__name__}, where an array was to be")
            if not -leaf.ndim <= axis < leaf.ndim:
                raise ShapeError(f"{name} holds an array of shape {leaf.shape}, which has no axis {axis}")
            found.setdefault(leaf.shape[axis], leaf.shape)
    if len(found) > 1:
        shapes = " and ".join(map(str, found.values()))
        raise ShapeError(f"the arrays of {name} have different numbers of rows: their shapes are {shapes}")
    return int(next(iter(found)))


def _has_nan(leaf: Any) -> bool:
    return leaf is not None and bool(np.isnan(leaf).any())


def _name(plan: Plan, k: int) -> str:
    rows = plan.rows[k]
    return f"shard {k}" + ("" if rows is None else f" (rows {rows[0]} to {rows[1] - 1})")


def _about_nan(
    run: Running,
    plan: Plan,
    shared: list[Any],
    data: list[Any],
    rows: int,
    value: Any,
    found: list[Any],
    k: int,
    name: str,
) -> str:
    """Return what an error says of a shard that gave NaN: how much of it, and which rows alone do."""
    bad = sum(int(np.isnan(leaf).sum()) for leaf in found if leaf is not None)
    size = sum(int(np.size(leaf)) for leaf in found if leaf is not None)
    said = "" if value is None else f"the value is {value}, "
    said = f"{name} gave NaN: {said}{bad} of {size} numbers of the derivative are NaN."
    first = 0 if plan.rows[k] is None else plan.rows[k][0]
    culprits = _rows_with_nan(run, plan, shared, data, rows)
    if culprits:
        listed = ", ".join([str(first + row) for row in culprits[:_FEW]]) + (" ..." if len(culprits) > _FEW else "")
        where = "" if plan.rows[k] is not None else " of the shard"
        said += f"\nNaN comes of row{'s' * (len(culprits) > 1)} {listed}{where}."
    return said


def _rows_with_nan(run: Running, plan: Plan, shared: list[Any], data: list[Any], rows: int) -> list[int]:
    """Return the first rows that give NaN by themselves, found by halves; none where only several together do."""

    def gives_nan(a: int, b: int) -> bool:
        part = [
            unflatten(structure, [leaf[(*(slice(None),) * (axis % leaf.ndim), slice(a, b))] for leaf in leaves])
            for (leaves, structure), axis in zip(map(flatten_present, data), plan.axes, strict=True)
        ]
        value, found, _ = _parted(run.options, run.transform(*run.arguments(_leaves(run, plan, shared, part))))
        return _has_nan(value) or any(_has_nan(leaf) for leaf in found)

    found: list[int] = []
    left = [(0, rows)]
    try:
        while left and len(found) <= _FEW:
            a, b = left.pop()
            if b - a == 1:
                found.append(a)
                continue
            middle = (a + b) // 2
            halves = [half for half in ((a, middle), (middle, b)) if gives_nan(*half)]
            left += reversed(halves)
    except Exception:  # a function that takes a whole shard alone
        return []
    return found


def _add_place(error: Exception, name: str, who: str) -> None:
    """Let an error say on which shard and worker it arose, and at which line of the user's."""
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if not is_ours(frame.filename) and library_of(frame.filename) is None:
            place = f", at {frame.filename}:{frame.lineno}: {frame.line}"
    try:
        address = importlib.import_module("distributed").get_worker().address
        worker = f" on worker {address}"
    except (ImportError, ValueError):
        worker = ""
    notes = [note for note in getattr(error, "__notes__", ()) if not _names_library(note)]
    error.__notes__ = [*notes, f"{who}: {name}{worker}{place}"]


def _names_library(note: str) -> bool:
    """Whether a note says where Dask called the function: where no frame is the user's, that is taken for the user's line."""
    found = re.match(r"at (.*):\d+(\n|$)", note)
    return found is not None and (is_ours(found[1]) or library_of(found[1]) is not None)
