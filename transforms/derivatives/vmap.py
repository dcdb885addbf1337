"""vmap: a function of one example becomes the function of many, in straight NumPy calls."""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from ...runtime.arrays import is_array, is_plain_array, is_writeable
from ...runtime.errors import AutogradError, ShapeError
from ...runtime.registry import require
from ...tracer.core.dispatch import apply
from ...tracer.core.foreign import conversion
from ...tracer.core.site import pruned
from ...tracer.core.tensor_base import Operand, levels_of, wrap
from ...tracer.core.thread_state import LOCAL, transforming
from ...tracer.tensors.batched import Level, hide, mapping, peel
from ...unpatched import np
from ..arguments import check_returned, owner_of
from ..transform import Transform
from ..trees import flatten, paths, unflatten
from ..user_code.scope import scope

if TYPE_CHECKING:
    from ..typed import Like, P, S, Transformed

__all__ = ["Vmap", "vmap"]


class Vmap(Transform):
    """The transform behind `gs.vmap`: called like the function, with one more axis."""

    kind = "vmap"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.in_axes = options["in_axes"]
        self.out_axes = options["out_axes"]

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inside = LOCAL.depth > 0
        frame = _Frame(self, args, kwargs)
        with transforming(frame.owned, gradient=None), mapping(frame.size) as level:
            values = frame.entered(level)
            result = scope().rebuild(self.function)(*values[: len(args)], **dict(zip(kwargs, values[len(args) :])))  # noqa: B905
            if result is not None:  # a function may be mapped for its effects
                check_returned(self.function, result)
            leaves, structure = flatten(result)
            axes = _per_leaf(self.out_axes, result, "out_axes")
            made = [frame.left(leaf, axis, level) for leaf, axis in zip(leaves, axes, strict=True)]
            for tensor in LOCAL.written:
                frame.may_be_written(tensor, level)
        finished = [frame.finished(leaf, inside or frame.tensors_given) for leaf in made]
        return unflatten(structure, finished)

    def named(self, k: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return the name of an argument."""
        if k >= len(args):
            return list(kwargs)[k - len(args)]
        try:
            return list(inspect.signature(self.function).bind_partial(*args).arguments)[k]
        except (TypeError, ValueError, IndexError):
            return f"argument {k}"


class _Frame:
    """One call: the leaves of its arguments, and along which axis each is mapped."""

    def __init__(self, owner: Vmap, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.values = [*args, *kwargs.values()]
        self.mapped: list[Any] = []  # what the function gets of arguments with an axis of the examples
        in_axes = owner.in_axes
        if isinstance(in_axes, list):
            in_axes = tuple(in_axes)
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ShapeError(
                f"vmap: in_axes has {len(in_axes)} entries, {in_axes}, but the function was called with {len(args)} "
                "positional arguments; give one for each, or one number for all"
            )
        specs = [*(in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)), *(0,) * len(kwargs)]
        self.leaves: list[Any] = []
        self.axes: list[Any] = []
        self.groups: list[tuple[Any, int]] = []
        found: list[tuple[Any, Any]] = []  # the size along the mapped axis, and whose it is
        for k, (value, spec) in enumerate(zip(self.values, specs, strict=True)):
            leaves, structure = flatten(value)
            axes = _per_leaf(spec, value, "in_axes")
            for j, (leaf, axis) in enumerate(zip(leaves, axes, strict=True)):
                if axis is None or leaf is None:
                    axes[j] = None
                    continue
                if not (isinstance(leaf, Operand) or is_array(leaf)) or not -np.ndim(leaf) <= axis < np.ndim(leaf):
                    label = _label(owner.named(k, args, kwargs), value, j)
                    form = conversion(leaf)
                    way = "Pass" if form is None else f"Convert it ({form}), or pass"
                    raise ShapeError(
                        f"vmap was asked to map axis {axis} of {label}, which {_without(leaf)}. "
                        f"{way} None for it in in_axes, where all examples share it."
                    )
                axes[j] = axis % np.ndim(leaf)
                found.append((leaf.shape[axes[j]], (k, j)))
            self.leaves += leaves
            self.axes += axes
            self.groups.append((structure, len(leaves)))
        if not found:
            raise ValueError(
                "vmap has nothing to map over: it must have at least one argument whose in_axes is not None"
            )
        self.size = found[0][0]
        for size, _ in found[1:]:
            if size != self.size:
                named = [
                    f"{_label(owner.named(k, args, kwargs), self.values[k], j)} has {int(n)}" for n, (k, j) in found
                ]
                raise ShapeError(f"vmap got arguments of different sizes along the mapped axis: {', '.join(named)}")
        self.tensors_given = any(isinstance(leaf, Operand) for leaf in self.leaves)
        self.used = {owner_of(leaf) for leaf in self.leaves if (isinstance(leaf, Operand) or is_array(leaf))}
        self.owned: list[Any] = []

    def entered(self, level: Level) -> list[Any]:
        """The arguments as the function gets them."""
        made = [self._entered(leaf, axis, level) for leaf, axis in zip(self.leaves, self.axes, strict=True)]
        LOCAL.arguments = (*LOCAL.arguments, *self.owned)
        values, at = [], 0
        for structure, count in self.groups:
            values.append(unflatten(structure, made[at : at + count]))
            at += count
        return values

    def _entered(self, leaf: Any, axis: Any, level: Level) -> Any:
        tensor: Any
        plain = _is_plain(leaf)
        if axis is None:
            tensor = wrap(leaf) if plain else leaf
        else:
            tensor = leaf if isinstance(leaf, Operand) else wrap(leaf)
            if axis:
                tensor = np.moveaxis(tensor, axis, 0)
            source = tensor
            tensor = hide(source, level)
            self.mapped.append(tensor)
            if not plain:
                tensor._caller = source
                self.owned.append(tensor)
        if plain:
            tensor._caller = np.moveaxis(leaf, axis, 0) if axis else leaf
            self.owned.append(tensor)
        return tensor

    def may_be_written(self, tensor: Any, level: Level) -> None:
        """Raise where one value for each example would be written into an array that all of them share."""
        if level in levels_of(tensor) and not any(tensor is own for own in self.mapped):
            LOCAL.written = []
            raise AutogradError(
                "a function under gs.vmap writes one value for each example into an array that all examples share. "
                "Write into a copy (x.copy()), or return the value."
            )

    def left(self, leaf: Any, axis: Any, level: Level) -> Any:
        """A result with the axis of the examples where out_axes has it."""
        if leaf is None:
            return None
        if not (isinstance(leaf, (Operand, np.generic, int, float, complex)) or is_array(leaf)):
            raise TypeError(f"a function under gs.vmap returns arrays and trees of them, not {type(leaf).__name__!r}")
        batched = level in levels_of(leaf)
        if axis is None:
            if batched:
                raise ShapeError(
                    "vmap: out_axes=None is for results that are the same for each example; this one is not"
                )
            return leaf
        if batched:
            found = peel(leaf)
        else:
            found = np.copy(apply(require(np.broadcast_to), (leaf, (self.size, *np.shape(leaf))), {}), order="C")
        ndim = int(np.ndim(found))
        if not -ndim <= axis < ndim:
            raise np.exceptions.AxisError(axis, ndim, "vmap: out_axes")
        axis %= ndim
        return np.moveaxis(found, 0, axis) if axis else found

    def finished(self, leaf: Any, as_tensors: bool) -> Any:
        """A result as it leaves: an array where arrays came in, in memory of its own."""
        if not isinstance(leaf, Operand):
            return leaf
        value = leaf._value
        if is_plain_array(value) and (not is_writeable(value) or owner_of(value) in self.used):
            leaf = np.copy(leaf)
        self.used.add(owner_of(leaf))
        return leaf if as_tensors or leaf._node is not None else leaf._value


def _is_plain(leaf: Any) -> bool:
    return is_plain_array(leaf) and leaf.dtype.kind in "biufc"


def _without(leaf: Any) -> str:
    if isinstance(leaf, Operand) or is_array(leaf):
        return f"has the shape {tuple(np.shape(leaf))}"
    return f"is a {type(leaf).__name__}"


def _label(name: str, value: Any, j: int) -> str:
    """An argument, or a leaf of it, as the user's code would say it."""
    return f"`{name}{''.join(f'[{step!r}]' for step in paths(value)[j])}`"


def _per_leaf(spec: Any, tree: Any, what: str) -> list[Any]:
    """For each leaf of a tree its axis: `spec` is a number or None, or a tree of them that is a prefix of the tree."""
    leaves, structure = flatten(_spelled(spec, tree, what))
    assert len(leaves) == len(flatten(tree)[0]), structure
    return leaves


def _spelled(spec: Any, tree: Any, what: str) -> Any:
    if spec is None or isinstance(spec, (int, np.integer)):
        leaves, structure = flatten(tree)
        return unflatten(structure, [spec] * len(leaves))
    if isinstance(spec, dict) and isinstance(tree, dict) and spec.keys() == tree.keys():
        return {k: _spelled(spec[k], v, what) for k, v in tree.items()}
    if isinstance(spec, (list, tuple)) and isinstance(tree, (list, tuple)) and len(spec) == len(tree):
        return [_spelled(s, t, what) for s, t in zip(spec, tree, strict=True)]
    raise ShapeError(
        f"vmap: {what} must be a number, None, or a tree of them in the structure of what it is for, but {spec!r} was "
        f"given for a {type(tree).__name__}{f' with the keys {list(tree)}' if isinstance(tree, dict) else ''}"
    )


@overload
def vmap(function: Callable[P, S], in_axes: Any = 0, out_axes: Any = 0) -> Transformed[P, S]: ...
@overload
def vmap(function: None = None, in_axes: Any = 0, out_axes: Any = 0) -> Like: ...
@pruned
def vmap(function: Any = None, in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """`function`, written for one example, as a function of many: each array argument has one more axis, and each result.

    `in_axes` says along which axis each positional argument is mapped: a number for all, or a tuple with one for each
    (None: all examples share that argument; a tree of numbers for an argument that is a tree). Keyword arguments are
    mapped along axis 0. `out_axes` says where the axis of the examples stands in the results. The function runs once, on
    all examples at once: each of its operations is one NumPy call, and an operation without a batching rule a loop. Bare
    or with arguments it is a decorator. Raises ShapeError (a ValueError) where sizes differ, and AutogradError where the
    function takes one value of a mapped array (`if x > 0`).

    >>> import numpy as np, gradscribe as gs
    >>> gs.vmap(np.dot, in_axes=(0, None))(np.ones((3, 2)), np.array([1.0, 2.0]))
    array([3., 3., 3.])
    >>> per_example = gs.vmap(gs.grad(lambda w, x: np.sum(w * x) ** 2), in_axes=(None, 0))
    >>> per_example(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    array([[2., 0.],
           [0., 4.]])
    """
    if isinstance(in_axes, (np.generic, float)) or is_array(in_axes):
        raise TypeError(
            f"in_axes takes numbers of axes, not {reprlib.repr(in_axes)}.\n"
            "gs.vmap(f) is a function of the arguments of f: call gs.vmap(f)(x)."
        )
    if function is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes)
    return Vmap(function, {"in_axes": in_axes, "out_axes": out_axes})
