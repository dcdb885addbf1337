"""gs.distributed.value_and_grad, grad and hvp: derivatives of a loss over data in shards."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.arrays import on_numpys_host
from ..runtime.errors import GradientLossError
from ..tracer.core.site import prune
from ..tracer.core.tensor_base import Operand
from ..tracer.core.thread_state import refuse
from ..transforms.arguments import check_argnums
from ..transforms.compiler.driver.compiled import LIMIT, target_of
from ..transforms.derivatives.gradient import GradFunction
from ..transforms.derivatives.second_order import HvpFunction
from ..transforms.trees import flatten, paths, unflatten
from .cluster import client_of
from .partial import Partial
from .program import Program
from .shards import Sharded, Shards, bounds_of, checked, cut, is_dask, is_lazy, named, shards_of
from .sources import Held, digest_of
from .steps import Steps

__all__ = ["Distributed", "hvp", "numbered", "options_of", "shard", "value_and_grad"]


class Distributed:
    """A derivative of a function over data in shards, on a cluster: called with the function's arguments."""

    function: Callable[..., Any]
    client: Any
    in_axes: Any
    options: dict[str, Any]
    kind: str
    who: str
    name: str
    transform: Any

    def __init__(self, function: Callable[..., Any], client: Any, in_axes: Any, options: dict[str, Any]) -> None:
        self.kind = options["kind"]
        self.who = f"gs.distributed.{self.kind}"
        if not callable(function):
            raise TypeError(f"{self.who} takes a function, not {type(function).__name__}")
        check_argnums(options["argnums"], self.kind)
        if options["reduce"] not in ("sum", "mean"):
            raise ValueError(f'{self.who}: reduce is "sum" or "mean", not {options["reduce"]!r}')
        if options["weight"] is not None and options["reduce"] != "mean":
            raise ValueError(f'{self.who}: a weight is for reduce="mean"')
        self.function, self.client, self.in_axes, self.options = function, client, in_axes, options
        self.name = str(getattr(function, "__name__", type(function).__name__))
        told = {"argnums": options["argnums"], "has_aux": options["has_aux"]}
        self.transform = (
            GradFunction(function, told | {"with_value": True})
            if self.kind == "value_and_grad"
            else HvpFunction(function, told)
        )
        self._steps: Steps | None = None
        self._held: dict[Any, Held] = {}
        self._last: tuple[Any, Shards, Any] | None = None
        self.count: int | None = options["shards"]

    def __repr__(self) -> str:
        return f"<{self.who} of {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.step(self._bound(args, kwargs))
        except Exception as error:
            raise prune(error) from error.__cause__

    def step(self, args: tuple[Any, ...], shards: Shards | None = None, chosen: Any = None, following: Any = ()) -> Any:
        """Return the derivative over the chosen shards, as the transform of the function would."""
        axes = self._axes(args)
        refuse(f"calls {self.who}, which runs on other machines")
        steps = self.steps()
        shards = self.shards(args, axes) if shards is None else shards
        data = iter(shards.trees)
        trees = [next(data) if axis is not None else numbered(arg) for arg, axis in zip(args, axes, strict=True)]
        shared = [leaf for k, axis in enumerate(axes) if axis is None for leaf in self._plain(k, args[k])]
        cuts = tuple(axis is not None for axis in axes)
        program = Program(self.transform, trees, self.options)
        found = steps.run(program, shards, cuts, shared, self.options["reduce"] == "mean", chosen, following)
        return self._result(found, args)

    def cut(self, args: tuple[Any, ...]) -> Shards:
        """Return the shards of the data among arguments, for `step`: it is looked at once."""
        args = self._bound(args, {})
        return self.shards(args, self._axes(args))

    def steps(self) -> Steps:
        """Return the client with what it holds on the cluster; another one where it is closed and the user gave none."""
        if self._steps is None or (self.client is None and self._steps.client.status != "running"):
            self._steps = Steps(client_of(self.client, self.who), f"{self.who} of `{self.name}`", self.name)
            self._held.clear()
            self._last = None
        return self._steps

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments by their places; raise, before anything is sent, where the function would not take them."""
        takes = len(args) - self._behind
        try:
            bound = inspect.signature(self.function).bind(*args[:takes], **kwargs)
        except ValueError:  # a function in C tells nothing of its arguments
            return args
        except TypeError as error:
            raise TypeError(f"{self.who} of `{self.name}`: {error}") from None
        for name in bound.kwargs:
            raise TypeError(f"{self.who}: `{name}` of `{self.name}` goes by its name alone: pass a function of places")
        return (*bound.args, *args[takes:])

    @property
    def _behind(self) -> int:
        """How many arguments come behind those of the function: of hvp the vector."""
        return 1 if self.kind == "hvp" else 0

    def _names(self) -> list[str]:
        """Return what errors call the arguments."""
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return []
        return [p.name for p in itertools.takewhile(lambda p: p.kind <= p.POSITIONAL_OR_KEYWORD, parameters)]

    def _name_of(self, k: int) -> str:
        return next(iter(self._names()[k : k + 1]), f"argument {k}")

    def _axes(self, args: tuple[Any, ...]) -> list[int | None]:
        behind = self._behind
        takes = len(args) - behind
        axes = self.in_axes
        if axes is None:
            axes = (None, *(0,) * (takes - 1))
        if isinstance(axes, int):
            axes = (axes,) * takes
        axes = tuple(axes)
        if len(axes) != takes or any(axis is not None and type(axis) is not int for axis in axes):
            raise ValueError(
                f"{self.who}: in_axes has a number or None for each argument, but is {self.in_axes!r}, and `{self.name}` was "
                f"called with {takes} arguments"
            )
        if all(axis is None for axis in axes):
            raise ValueError(
                f"{self.who} has nothing to cut into shards: in_axes needs a number for at least one argument"
            )
        for place in self._places(takes):
            if axes[place] is not None:
                raise ValueError(
                    f"{self.who}: argument {place} of `{self.name}` is differentiated and cut into shards; let in_axes have None "
                    "for it"
                )
        return [*axes, *(None,) * behind]

    def _places(self, takes: int) -> list[int]:
        argnums = self.options["argnums"]
        names = self._names()
        places = []
        for given in argnums if isinstance(argnums, tuple) else (argnums,):
            place = names.index(given) if given in names else given
            if not isinstance(place, int) or not -takes <= place < takes:
                raise TypeError(f"{self.who}: argnums are places or names of the {takes} arguments, not {given!r}")
            places.append(place % takes)
        return places

    def _plain(self, k: int, arg: Any) -> list[Any]:
        """Return the leaves of argument `k`, without None, which all shards share; raise where one cannot be sent as it is."""
        leaves = flatten(arg)[0]
        on_numpys_host(self.who, leaves)
        for place, leaf in enumerate(leaves):
            if isinstance(leaf, Operand):
                raise GradientLossError(
                    f"{self.who} of `{self.name}` was given a value that depends on what is differentiated outside of it, and "
                    "its gradient would be lost, since it runs on other machines. Pass gs.stop_gradient of it."
                )
            lazy = "dask.array" if is_dask(leaf) else type(leaf).__name__
            if is_lazy(leaf):
                how = ".result()" if lazy == "Future" else ".compute()"
                raise TypeError(
                    f"{self.who} of `{self.name}`: `{named(self._name_of(k), paths(arg)[place])}` goes to all shards, but is a "
                    f"{lazy}: pass its numbers ({how}), or let in_axes have the axis for it along which it is cut."
                )
        return [leaf for leaf in leaves if leaf is not None]

    def shards(self, args: tuple[Any, ...], axes: list[int | None]) -> Shards:
        """Return the data of a call in shards; those of dask.arrays, futures and gs.distributed.shard are remembered."""
        data = [
            (self._name_of(k), arg, axis)
            for k, (arg, axis) in enumerate(zip(args, axes, strict=True))
            if axis is not None
        ]
        last = self._last  # which another thread may replace
        known = tuple(_identity(arg) for _, arg, _ in data)
        if last is not None and None not in known and last[0] == known:
            return last[1]
        steps = self.steps()
        if self.count is None:
            self.count = steps.threads()  # and so it stays, whoever joins: it decides the last bits
        found = shards_of(steps.who, data, self.count, steps.client, self._held)
        if last is not None and None in known and _same(found, last[1]):
            return last[1]
        self._last = known, found, args  # which must not give way to others of the same identity
        return found

    def _result(self, found: Partial, args: tuple[Any, ...]) -> Any:
        if not found.leaves:
            raise ValueError(f"{self.who} of `{self.name}`: the data has no rows, and their mean is none")
        leaves = list(found.leaves)
        value = leaves.pop(0) if self.kind == "value_and_grad" else None
        if any(leaf is not None and np.isnan(leaf).any() for leaf in [value, *leaves]):
            raise FloatingPointError(
                f"{self.who} of `{self.name}`: the sum of the shards is NaN, though none of them is"
            )
        argnums = self.options["argnums"]
        trees = []
        for place in self._places(len(args) - self._behind):
            like, structure = flatten(args[place])
            trees.append(unflatten(structure, leaves[: len(like)]))
            del leaves[: len(like)]
        gradient = tuple(trees) if isinstance(argnums, tuple) else trees[0]
        if self.kind == "hvp":
            return (gradient, found.aux) if self.options["has_aux"] else gradient
        return ((value, found.aux), gradient) if self.options["has_aux"] else (value, gradient)


def numbered(tree: Any) -> Any:
    """Return a tree with numbers for its leaves; None stays None."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [None if leaf is None else k for k, leaf in enumerate(leaves)])


def _identity(arg: Any) -> Any:
    """Return what tells data that cannot change from other data; None of what may have been written to."""
    if isinstance(arg, Sharded):
        return arg
    if is_dask(arg):
        return id(arg), arg.name  # an array that is written to has another name; one may be given a name twice
    if isinstance(arg, (list, tuple)) and arg and all(type(v).__name__ == "Future" for v in arg):
        return tuple(id(v) for v in arg)
    return None


def _same(one: Shards, other: Shards) -> bool:
    """Whether all sources are the same, so that the plan on the cluster holds."""
    if len(one) != len(other) or one.axes != other.axes or str(one.trees) != str(other.trees):
        return False
    pairs = zip(one.shards, other.shards, strict=True)
    return all(
        a.rows == b.rows
        and len(a.sources) == len(b.sources)
        and all(isinstance(x, Held) and x is y for x, y in zip(a.sources, b.sources, strict=True))
        and all(r.tasks is None for r in (*a.recipes, *b.recipes))
        for a, b in pairs
    )


def options_of(
    kind: str, argnums: Any, reduce: str, has_aux: bool, weight: Any, shards: Any, compile: Any
) -> dict[str, Any]:
    """Return the options of a derivative, checked; those of gs.compile among them."""
    told: dict[str, Any] | None = None
    if compile is not False:
        told = {"verify": False, "max_specialisations": LIMIT, **(compile if isinstance(compile, dict) else {})}
        target_of(told)
    return {
        "kind": kind, "argnums": tuple(argnums) if isinstance(argnums, list) else argnums, "reduce": reduce, "has_aux": has_aux,
        "weight": weight, "shards": _checked_count(shards), "compile": told,
    }  # fmt: skip


def value_and_grad(
    f: Callable[..., Any], client: Any = None, in_axes: Any = None, reduce: str = "sum", *, argnums: Any = 0,
    has_aux: bool = False, weight: Callable[..., Any] | None = None, shards: int | None = None,
    compile: bool | dict[str, Any] = True,
) -> Distributed:  # fmt: skip
    """Return a function that gives `(value, gradient)` of `f(params, *data)` over data that lies in shards on a Dask cluster.

    `in_axes` has for each argument the axis along which it is cut, or None where all shards share it; as default the first
    argument is shared and the others are cut along axis 0. Data is a `dask.array` (a chunk is a shard), a list of futures
    (each is one), what `gs.distributed.shard` returns, or NumPy arrays, which are cut into `shards` parts, one for each
    thread of the cluster as default, and sent again where they have changed. dicts and dataclasses of them work, too.

    `reduce="sum"` adds what `f` returns for each shard; with "mean", `f` returns a mean over the rows that it is given, and
    the result is the mean over all rows, however they are cut; `weight(*data)` is the weight of a shard in place of its
    number of rows. With `has_aux` f returns `(loss, aux)`, and `aux` is a list, one for each shard in order.

    The function, with all that it reads from outside, is sent once, and again when that changes; each worker compiles it
    once for each signature (`compile=` takes a dict of gs.compile's options, or False). Shards are added in their order,
    by a tree: for one way of cutting the bits are always the same.

    Without `client` the current one is taken, or a cluster on this machine. Raises FloatingPointError where a shard gives NaN,
    naming it and its rows, LostShardError, LostWorkersError, LostSchedulerError, and what `f` raises, with the user's line.
    """
    return Distributed(
        f, client, in_axes, options_of("value_and_grad", argnums, reduce, has_aux, weight, shards, compile)
    )


def hvp(
    f: Callable[..., Any], client: Any = None, in_axes: Any = None, reduce: str = "sum", *, argnums: Any = 0,
    has_aux: bool = False, weight: Callable[..., Any] | None = None, shards: int | None = None,
    compile: bool | dict[str, Any] = True,
) -> Distributed:  # fmt: skip
    """Return a function of `(params, *data, v)` that gives the product of the Hessian over all data with `v`, a tree like params.

    All else is as in `gs.distributed.value_and_grad`.
    """
    return Distributed(f, client, in_axes, options_of("hvp", argnums, reduce, has_aux, weight, shards, compile))


def shard(*arrays: Any, client: Any = None, shards: int | None = None, axis: int = 0) -> Any:
    """Cut arrays, or trees of them, along an axis into `shards` parts, for the workers; return handles, to be passed as data.

    The arrays must not be written to while the handles are in use: where a worker dies, its part is sent again, and one
    that has changed raises.
    """
    who = "gs.distributed.shard"
    steps = Steps(client_of(client, who), who, "shard")
    count = _checked_count(shards) or steps.threads()
    made = []
    for k, tree in enumerate(arrays):
        leaves, structure = flatten(tree)
        handles = [
            _handle(who, named(f"argument {k}", path), leaf, axis, count)
            for leaf, path in zip(leaves, paths(tree), strict=True)
        ]
        made.append(unflatten(structure, handles))
    return made[0] if len(made) == 1 else tuple(made)


def _handle(who: str, name: str, array: Any, axis: int, count: int) -> Any:
    """Return the handle of one array; None is none."""
    if array is None:
        return None
    if is_lazy(array):
        raise TypeError(
            f"{who}: a {'dask.array' if is_dask(array) else type(array).__name__} is in chunks: pass it as data"
        )
    array, axis = checked(who, name, array, axis)
    bounds = bounds_of(array.shape[axis], count)
    sources = [
        Held(part, digest_of(part), f"shard {k} (rows {a} to {b - 1})")
        for k, (part, (a, b)) in enumerate(zip(cut(array, bounds, axis), itertools.pairwise(bounds), strict=True))
    ]
    return Sharded(array, sources, bounds, axis)


def _checked_count(shards: Any) -> int | None:
    if shards is not None and (type(shards) is not int or shards < 1):
        raise ValueError(f"shards is a number from 1 on, not {shards!r}")
    return shards
