"""Parameters as the one vector that SciPy's optimisers move: how the leaves of a tree lie in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..runtime.arrays import on_numpys_host
from ..runtime.errors import DtypeError, GradientLossError, ShapeError
from ..tracer.core.foreign import is_masked
from ..tracer.core.tensor_base import Operand
from ..tracer.core.thread_state import refuse
from ..transforms.trees import LEAF, flatten, flatten_present, in_words, paths, unflatten

__all__ = ["Layout", "Leaf", "constant", "is_numbers", "keys_in_words"]


class Leaf(NamedTuple):
    """One leaf of the parameters: where it lies in the vector, and what it is in the tree."""

    keys: tuple[Any, ...]
    place: slice
    shape: tuple[int, ...]
    dtype: Any
    made: Callable[[Any], Any]  # of its part of the vector


def keys_in_words(keys: tuple[Any, ...]) -> str:
    """Return the way to a leaf for an error: `x0['rates'][2]`."""
    return "x0" + "".join([f"[{key!r}]" for key in keys])


def constant(value: Any, who: str) -> Any:
    """Return a tree of arrays, without Tensors; raise where one carries a gradient, which SciPy would lose."""
    leaves, structure = flatten(value) if _has_tensors(value) else ([], None)
    if not any(isinstance(leaf, Operand) for leaf in leaves):
        return value
    if any(isinstance(leaf, Operand) and leaf._node is not None for leaf in leaves):
        raise GradientLossError(
            f"{who} was given a value that depends on what is differentiated, and its gradient would be lost: the solution is "
            "found out of sight. Call the function of scipy.optimize itself, whose solution is differentiated, or pass "
            "gs.stop_gradient of it."
        )
    refuse(f"calls {who}, which runs SciPy's optimiser")
    return unflatten(structure, [leaf._value if isinstance(leaf, Operand) else leaf for leaf in leaves])


def _has_tensors(value: Any) -> bool:
    """Whether a value may hold Tensors: what optree need not be loaded for is asked at once."""
    return isinstance(value, Operand) or not (value is None or isinstance(value, (np.ndarray, float, int, str)))


def is_numbers(value: Any) -> bool:
    """Whether lists or tuples hold numbers alone, so that SciPy means an array by them."""
    if type(value) in (list, tuple):
        return all(map(is_numbers, value))
    return isinstance(value, (int, float, complex, np.generic))


class Layout:
    """The leaves of a tree of numbers, one behind the other in a vector. A list of numbers is an array, as SciPy has it."""

    def __init__(self, tree: Any, who: str) -> None:
        self.who = who
        tree = constant(tree, who)
        if type(tree) in (list, tuple) and is_numbers(tree):
            tree = np.asarray(tree)
        leaves, self.structure = flatten_present(tree)
        present = [keys for keys, leaf in zip(paths(tree), flatten(tree)[0], strict=True) if leaf is not None]
        self.leaves: list[Leaf] = []
        parts, start = [], 0
        present = present or [()] * len(leaves)  # of None alone
        for keys, leaf in zip(present, leaves, strict=True):
            array = _checked(leaf, keys, who)
            self.leaves.append(
                Leaf(keys, slice(start, start + array.size), array.shape, array.dtype, _maker(leaf, array))
            )
            parts.append(array.ravel())
            start += array.size
        if not start:
            raise ShapeError(f"{who} needs at least one number to vary, but x0 has none: {in_words(self.structure)}")
        self.size = start
        self.dtype = np.result_type(*[leaf.dtype for leaf in self.leaves])
        self.start = np.concatenate(parts).astype(self.dtype)

    def tree(self, vector: Any) -> Any:
        """Return the tree whose numbers a vector holds; arrays of the vector's dtype are views into it."""
        made = [leaf.made(vector[leaf.place]) for leaf in self.leaves]
        return made[0] if self.structure is LEAF else unflatten(self.structure, made)

    def vector(self, tree: Any) -> Any:
        """Return the numbers of a tree like the parameters, such as a gradient."""
        if self.structure is LEAF:
            return np.asarray(tree, self.dtype).ravel()
        return np.concatenate([np.ravel(leaf) for leaf in flatten_present(tree)[0]]).astype(self.dtype, copy=False)

    def rows(self, tree: Any) -> Any:
        """Return the matrix of a Jacobian: of a tree like the parameters, whose leaves have one row for each output."""
        blocks = [tree] if self.structure is LEAF else flatten_present(tree)[0]
        parts = [
            np.reshape(block, (np.shape(block)[0], math.prod(leaf.shape)))
            for block, leaf in zip(blocks, self.leaves, strict=True)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def square(self, tree: Any) -> Any:
        """Return the matrix of a Hessian: of a tree like the parameters, each leaf of which is such a tree again."""
        blocks = [tree] if self.structure is LEAF else flatten_present(tree)[0]
        count = len(self.leaves)
        sizes = [math.prod(leaf.shape) for leaf in self.leaves]
        rows = [[np.reshape(blocks[i * count + j], (sizes[i], sizes[j])) for j in range(count)] for i in range(count)]
        return rows[0][0] if count == 1 else np.block(rows)


def _checked(leaf: Any, keys: tuple[Any, ...], who: str) -> Any:
    """Return a leaf as an array of floats: whole numbers become float64, as in SciPy."""
    on_numpys_host(who, [leaf])
    array = np.asarray(leaf) if isinstance(leaf, (np.ndarray, np.generic, int, float, complex)) else None
    if array is None or is_masked(leaf) or array.dtype.kind not in "biuf":
        complex_ = array is not None and array.dtype.kind == "c"
        kind = type(leaf).__name__ if array is None or is_masked(leaf) else f"dtype {array.dtype}"
        advice = (
            "Vary the real and the imaginary part, and put them together within the function."
            if complex_
            else "Give numbers and arrays of them, and what is constant by `args`."
        )
        raise DtypeError(f"{who} varies real numbers, but {keys_in_words(keys)} holds {kind}.\n{advice}")
    return array if array.dtype.kind == "f" else array.astype(float)


def _maker(leaf: Any, array: Any) -> Callable[[Any], Any]:
    """Return how a leaf is made of its part of the vector: Python's numbers stay Python's, which take the dtype of others."""
    shape, dtype = array.shape, array.dtype
    if isinstance(leaf, (int, float)) and not isinstance(leaf, np.generic):
        return lambda part: float(part[0])
    if isinstance(leaf, np.generic):
        return lambda part: dtype.type(part[0])
    if len(shape) == 1:
        return lambda part: part.astype(dtype, copy=False)
    return lambda part: part.astype(dtype, copy=False).reshape(shape)
