"""The data of a function in shards: of NumPy arrays, dask.arrays and lists of futures."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..runtime.arrays import on_numpys_host
from ..runtime.errors import GradientLossError, ShapeError
from ..tracer.core.tensor_base import Operand
from ..transforms.trees import flatten, paths, unflatten
from .sources import Given, Held, Recipe, digest_of

__all__ = ["Shard", "Sharded", "Shards", "bounds_of", "checked", "cut", "is_dask", "is_lazy", "named", "shards_of"]

SHARED = 4  # shards that read the result of one task, from which on it is computed once for all
LARGE = 1 << 16  # bytes of an array that stands in a graph, from which on it is sent by itself, once


class Shard(NamedTuple):
    """One part of all data: how its arrays are made, the sources of these, and which rows it is."""

    recipes: tuple[Recipe, ...]
    sources: tuple[Held | Given, ...]
    rows: tuple[int, int] | None

    def name(self, k: int) -> str:
        """Return what an error calls shard `k`."""
        return place_of(k, self.rows)


def place_of(k: int, rows: tuple[int, int] | None) -> str:
    """Return what an error calls shard `k`."""
    return f"shard {k}" + ("" if rows is None else f" (rows {rows[0]} to {rows[1] - 1})")


class Shards:
    """All shards of a call, and the trees of the arguments that they are parts of."""

    shards: list[Shard]
    trees: list[Any]
    axes: list[int]

    def __init__(self, shards: list[Shard], trees: list[Any], axes: list[int]) -> None:
        self.shards, self.trees, self.axes = shards, trees, axes

    def __len__(self) -> int:
        return len(self.shards)

    def names(self, keys: Sequence[int]) -> str:
        """Return what an error calls these shards."""
        return ", ".join(self.shards[k].name(k) for k in keys)


class Sharded:
    """An array that stands in shards on the workers, as `gs.distributed.shard` makes it; the client holds the original."""

    def __init__(self, array: Any, sources: list[Held], bounds: list[int], axis: int) -> None:
        self.array, self.sources, self.bounds, self.axis = array, sources, bounds, axis

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the whole."""
        return tuple(self.array.shape)

    def __repr__(self) -> str:
        return f"<{len(self.sources)} shards of an array of shape {self.shape}>"


def bounds_of(rows: int, count: int) -> list[int]:
    """Return where `count` shards of so many rows begin and end, the first ones longer by one; none is empty."""
    count = max(1, min(count, rows))
    short, longer = divmod(rows, count)
    return [0, *itertools.accumulate([short + 1] * longer + [short] * (count - longer))]


def cut(array: Any, bounds: list[int], axis: int) -> list[Any]:
    """Return the parts of an array between bounds, as views."""
    before = (slice(None),) * axis
    return [array[(*before, slice(a, b))] for a, b in itertools.pairwise(bounds)]


class _Leaf(NamedTuple):
    """One array of the data."""

    value: Any
    axis: int
    name: str  # for errors


def _is_futures(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(type(v).__name__ == "Future" for v in value)


def is_lazy(value: Any) -> bool:
    """Whether a value is Dask's, and its numbers are on the cluster, or are yet to be made."""
    return hasattr(value, "__dask_graph__") or type(value).__name__ == "Future"


def is_dask(value: Any) -> bool:
    """Whether a value is a dask.array."""
    return type(value).__module__.startswith("dask.array") and hasattr(value, "__dask_graph__")


def shards_of(
    who: str, data: list[tuple[str, Any, int]], count: int, client: Any, before: dict[Any, Held] | None = None
) -> Shards:
    """Return the shards of arguments, each a name, a value and the axis along which it is cut.

    `count` is how many shards NumPy arrays alone are cut into; what is unchanged since `before` (by digest) is not sent again.
    """
    leaves: list[_Leaf] = []
    trees: list[Any] = []
    for name, value, axis in data:
        found, structure = ([value], None) if _is_futures(value) or isinstance(value, Sharded) else flatten(value)
        present = [k for k, leaf in enumerate(found) if leaf is not None]
        names = paths(value) if structure is not None else [()]
        for k in present:
            called = named(name, names[k])
            leaves.append(_Leaf(*checked(who, called, found[k], axis), called))
        places = [k if k in present else None for k in range(len(found))]
        trees.append(0 if structure is None else unflatten(structure, places))
    if not leaves:
        listed = " or ".join([f"`{name}`" for name, _, _ in data])
        raise ValueError(f"{who} has nothing to cut into shards: there is no array in {listed}")
    bounds, numbers = _agreed(who, leaves, count)
    parts = [_Parts(leaf, bounds, numbers, client, before) for leaf in leaves]
    shards = []
    for k in range(numbers):
        sources: list[Held | Given] = []
        rows = None if bounds is None else (bounds[k], bounds[k + 1])
        recipes = tuple([part.recipe(k, sources, place_of(k, rows)) for part in parts])
        shards.append(Shard(recipes, tuple(sources), rows))
    return Shards(shards, trees, [leaf.axis for leaf in leaves])


def checked(who: str, name: str, leaf: Any, axis: int) -> tuple[Any, int]:
    """Return one array of the data, and its axis counted from the first; raise where it is none, or would lose a gradient."""
    if isinstance(leaf, Operand):
        raise GradientLossError(
            f"{who} was given data that depends on what is differentiated, and its gradient would be lost: `{name}` is a Tensor. "
            "Pass gs.stop_gradient of it, or compute with it inside the function."
        )
    if isinstance(leaf, Sharded):
        if axis not in (leaf.axis, leaf.axis - leaf.array.ndim):
            raise ShapeError(
                f"{who} cuts `{name}` along axis {axis}, but gs.distributed.shard cut it along axis {leaf.axis}: give "
                "in_axes and shard(axis=) the same axis."
            )
        return leaf, leaf.axis
    if not _is_futures(leaf) and not is_dask(leaf) and not isinstance(leaf, np.ndarray):
        leaf = _as_array(who, name, leaf)
    ndim = len(leaf.shape) if hasattr(leaf, "shape") else None
    if ndim is None:  # the workers know
        return leaf, axis
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"{who} cuts `{name}` along axis {axis}, but its shape is {tuple(leaf.shape)}: let in_axes have None for it, where "
            "all shards share it."
        )
    return leaf, axis % ndim


def _as_array(who: str, name: str, leaf: Any) -> Any:
    """Return an array of what can be read as one."""
    on_numpys_host(who, [leaf])
    if is_lazy(leaf) and type(leaf).__name__ not in ("Future", "Delayed"):
        raise TypeError(
            f"{who} cuts `{name}` into shards, but it is a {type(leaf).__name__} of Dask's: pass a dask.array "
            "(frame.to_dask_array(lengths=True))."
        )
    if isinstance(leaf, range) or hasattr(leaf, "__array__"):
        return np.asarray(leaf)
    if isinstance(leaf, (bool, int, float, complex)) and name.endswith("]"):
        raise TypeError(
            f"{who} cuts a number of a list (`{name}`) into shards: a list is a tree of arrays here. Pass np.array of the list."
        )
    raise TypeError(
        f"{who} cuts `{name}` into shards, but it is {type(leaf).__name__}: pass an array, a dask.array or a list of futures, or "
        "let in_axes have None for it, where all shards share it."
    )


def named(name: str, path: tuple[Any, ...]) -> str:
    """Return what an error calls a leaf of an argument: `batch['x']`."""
    return name + "".join([f"[{key!r}]" for key in path])


def _agreed(who: str, leaves: list[_Leaf], count: int) -> tuple[list[int] | None, int]:
    """Return the bounds of the shards, None where only workers know them, and how many there are."""
    told: list[tuple[str, list[int] | None, int]] = []
    lengths = {}
    for leaf in leaves:
        if _is_futures(leaf.value):
            told.append((leaf.name, None, len(leaf.value)))
        elif isinstance(leaf.value, Sharded):
            told.append((leaf.name, leaf.value.bounds, len(leaf.value.sources)))
        elif is_dask(leaf.value):
            chunks = leaf.value.chunks[leaf.axis]
            ends = None if any(np.isnan(length) for length in chunks) else [0, *itertools.accumulate(chunks)]
            told.append((leaf.name, ends, len(chunks)))
        else:
            lengths[leaf.name] = leaf.value.shape[leaf.axis]
    known = [(name, ends) for name, ends, _ in told if ends is not None]
    lengths |= {name: ends[-1] for name, ends in known}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"`{name}` has {rows}" for name, rows in lengths.items())
        raise ShapeError(f"{who}: all data must have the same number of rows, but {listed}.")
    if not told:
        even = bounds_of(next(iter(lengths.values())), count)
        return even, len(even) - 1
    bounds: list[int] | None = None
    if known:
        bounds = known[0][1]
        numbers = {len(bounds) - 1, *[n for (_, b, n) in told if b is None]}  # a dask.array with bounds is cut anew
    else:
        numbers = {n for _, _, n in told}
    if len(numbers) > 1:
        listed = ", ".join(f"`{name}` has {n}" for name, _, n in told)
        raise ShapeError(f"{who}: all data must have the same number of shards, but {listed}.")
    if bounds is None and lengths:
        raise ShapeError(
            f"{who}: `{next(iter(lengths))}` cannot be cut as the shards of `{told[0][0]}` are, whose lengths only the workers "
            "know. Pass it in the same form (futures, or a dask.array), or call compute_chunk_sizes() of the dask.array."
        )
    return bounds, numbers.pop()


class _Parts:
    """One array of the data, shard by shard."""

    def __init__(
        self, leaf: _Leaf, bounds: list[int] | None, count: int, client: Any, before: dict[Any, Held] | None
    ) -> None:
        self.leaf, self.before = leaf, before
        self.pieces: list[Any] | None = None
        self.graphs: list[tuple[dict[Any, Any], Any]] = []
        value = leaf.value
        if isinstance(value, Sharded) and value.bounds != bounds:
            value = value.array  # cut in another way than the first array
        if _is_futures(value):
            self.pieces = list(value)
        elif isinstance(value, Sharded):
            self.pieces = list(value.sources)
        elif is_dask(value):
            self.graphs = _graphs(value, leaf.axis, bounds, client)
        else:
            assert bounds is not None
            self.pieces = cut(value, bounds, leaf.axis)

    def recipe(self, k: int, sources: list[Held | Given], place: str) -> Recipe:
        """Return how the array of shard `k` is made; what it is made of comes behind `sources`."""
        if self.pieces is not None:
            sources.append(self._source(self.pieces[k], (self.leaf.name, k), place))
            return Recipe(None, len(sources) - 1, {})
        tasks, key = self.graphs[k]
        taken = {name: value for name, value in tasks.items() if _is_source(value)}
        places = {}
        for name, value in taken.items():
            sources.append(self._source(getattr(value, "value", value), (self.leaf.name, k, name), place))
            places[name] = len(sources) - 1
        if key in places:
            return Recipe(None, places[key], {})
        return Recipe({name: value for name, value in tasks.items() if name not in taken}, key, places)

    def _source(self, value: Any, name: Any, place: str) -> Held | Given:
        if isinstance(value, Held):
            return value
        if not isinstance(value, np.ndarray):
            return Given(value, place)
        digest = digest_of(value)
        known = None if self.before is None else self.before.get(name)
        if known is None or known.digest != digest:
            known = Held(value, digest, place)
        known.array, known.place = value, place
        if self.before is not None:
            self.before[name] = known
        return known


def _is_source(value: Any) -> bool:
    """Whether what stands in a graph is sent by itself: a future, or a large array."""
    held = getattr(value, "value", None) if type(value).__name__ == "DataNode" else value
    return type(held).__name__ == "Future" or (isinstance(held, np.ndarray) and held.nbytes >= LARGE)


def _graphs(array: Any, axis: int, bounds: list[int] | None, client: Any) -> list[tuple[dict[Any, Any], Any]]:
    """Return for each shard of a dask.array the tasks that make it, and their last key."""
    dask, core = importlib.import_module("dask"), importlib.import_module("dask.core")
    cull = importlib.import_module("dask.optimization").cull
    axis %= array.ndim
    wanted: dict[int, Any] = {k: -1 for k in range(array.ndim) if k != axis and len(array.chunks[k]) > 1}
    if bounds is not None and [0, *itertools.accumulate(array.chunks[axis])] != bounds:
        wanted[axis] = tuple(b - a for a, b in itertools.pairwise(bounds))
    array = array.rechunk(wanted) if wanted else array
    graph = dict(array.__dask_graph__())
    if not any(_is_source(value) for value in graph.values()):
        (array,) = dask.optimize(array)  # which would fuse sources into tasks, where they are not found
        graph = dict(array.__dask_graph__())
    keys = list(core.flatten(array.__dask_keys__()))
    culled = [cull(graph, [key]) for key in keys]
    return _computed_once([(dict(tasks), key) for key, (tasks, _) in zip(keys, culled, strict=True)], culled, client)


def _computed_once(
    graphs: list[tuple[dict[Any, Any], Any]], culled: Any, client: Any
) -> list[tuple[dict[Any, Any], Any]]:
    """Return the graphs with a future for each result that many shards read, as a mean over all rows."""
    readers: dict[Any, int] = {}
    depends: dict[Any, Any] = {}
    for _, dependencies in culled:
        for key, above in dependencies.items():
            readers[key] = readers.get(key, 0) + 1
            depends[key] = above
    shared = {key for key, n in readers.items() if n > SHARED and depends[key]}
    final = {key for _, key in graphs}
    wanted = {k for key, above in depends.items() if key not in shared for k in above if k in shared} | (shared & final)
    if not wanted:
        return graphs
    whole = {key: task for tasks, _ in graphs for key, task in tasks.items()}
    ordered = sorted(wanted, key=str)
    futures = dict(zip(ordered, client.get(whole, ordered, sync=False), strict=True))
    cull = importlib.import_module("dask.optimization").cull
    return [
        (dict(cull({**tasks, **{k: f for k, f in futures.items() if k in tasks}}, [key])[0]), key)
        for tasks, key in graphs
    ]
