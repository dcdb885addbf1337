"""Inputs: the arguments of one call, taken apart, and copied so that generated source can be tried on them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from .....runtime.arrays import is_array, is_cupys, is_plain_array
from .....tracer.core.foreign import conversion, library_of
from .....tracer.core.site import definition
from .....tracer.core.tensor_base import Operand
from ....trees import flatten_row, unflatten
from ...capture.copies import with_copies
from ...capture.failure import Failure
from ...capture.generators import copies_of, digest_of, is_generator
from ...capture.instances import watchable
from ...capture.outside import is_constant, why_not
from ...schedule.signature import parameter_names
from .guards import ANY_INT, Exactly, signature_key

if TYPE_CHECKING:
    from .static import Static

__all__ = ["RUNTIME", "Inputs", "bits_of", "untransformed"]

RUNTIME = (float, complex, np.floating, np.complexfloating)


class Inputs:
    """The arguments of one call, taken apart: what is an input, what is static, what cannot be compiled."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], varying: Collection[Any] = (),
        static: Static | None = None,
    ) -> None:  # fmt: skip
        self.function = function
        self._varying = varying
        self._static = static
        self.args, self.kwargs = args, kwargs
        self.names = parameter_names(function, args, kwargs)
        self.values = [*args, *kwargs.values()]
        self.leaves, self.structure = flatten_row(tuple(self.values))
        self.fixed = frozenset() if static is None else static.leaves(len(args), list(kwargs), self.values)
        reason = _receiver(function)
        self.refused = None if reason is None else Failure(reason, definition(function))
        for leaf in self.leaves:
            reason = self._reason(leaf)
            if reason is not None and self.refused is None:
                self.refused = Failure(reason, definition(function))
        self._form = (self.structure, len(args), tuple(kwargs))
        self.free = frozenset(k for k in self.ints() if self.place(k) in varying) if varying else frozenset()
        self.key = (*self._form, signature_key(self.leaves, self.free, self.fixed))

    def ints(self) -> dict[int, int]:
        """The leaves that are ints of Python's, which may become inputs."""
        return {k: leaf for k, leaf in enumerate(self.leaves) if type(leaf) is int and k not in self.fixed}

    def place(self, k: int) -> tuple[Any, ...]:
        """Return the place of a leaf, among all calls of this form."""
        return (*self._form, k)

    @property
    def kind(self) -> tuple[Any, ...]:
        """The key of calls that differ in lengths, layouts and ints alone."""
        parts = signature_key(self.leaves, frozenset(self.ints()), self.fixed)
        return (*self._form, tuple([(p[0], len(p[1])) if len(p) == 3 else p for p in map(_as_row, parts)]))

    def is_input(self, k: int) -> bool:
        """Whether a leaf is an array or a number that generated source takes."""
        leaf = self.leaves[k]
        return k not in self.fixed and (is_plain_array(leaf) or isinstance(leaf, RUNTIME) or k in self.free)

    def assumed(self) -> list[Any]:
        """The arguments, with `ANY_INT` where each int will do, and `Exactly` where a float is no input."""
        if not self.free and not self.fixed:
            return self.values
        exact = {k for k in self.fixed if isinstance(self.leaves[k], RUNTIME)}
        marked = [Exactly(v) if k in exact else ANY_INT if k in self.free else v for k, v in enumerate(self.leaves)]
        return list(unflatten(self.structure, marked))

    def containers(self, copies: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the arguments that hold others, lists and the like, and of the `copies` of all arguments theirs."""
        leaves = set(map(id, self.leaves))
        held = [k for k, value in enumerate(self.values) if id(value) not in leaves]
        return [self.values[k] for k in held], [copies[k] for k in held]

    def unmapped(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The arguments with plain arrays on the memory of maps (joblib passes large arrays as such); None without maps."""
        if not any(type(leaf) is np.memmap for leaf in self.leaves):
            return None
        leaves = [leaf.view(np.ndarray) if type(leaf) is np.memmap else leaf for leaf in self.leaves]
        values, n = unflatten(self.structure, leaves), len(self.args)
        return tuple(values[:n]), dict(zip(self.kwargs, values[n:], strict=True))

    @staticmethod
    def _reason(leaf: Any) -> str | None:
        if is_cupys(leaf) and not (leaf.flags.c_contiguous or leaf.flags.f_contiguous):
            return "was called with an array of CuPy's that has gaps in memory; pass cupy.ascontiguousarray(x)"
        if is_plain_array(leaf):
            plain = leaf.dtype.kind in "biufc" and leaf.dtype.isnative
            return (
                None
                if plain
                else f"was called with an array of dtype {leaf.dtype.str if leaf.dtype.kind in 'biufc' else leaf.dtype}"
            )
        form = conversion(leaf)
        if form is not None:
            return f"was called with a {type(leaf).__name__} of {library_of(leaf)}; pass {form}"
        if is_array(leaf):
            return f"was called with a {type(leaf).__name__}, a subclass of ndarray"
        if isinstance(leaf, Operand):
            return "was called with a Tensor; compiled functions take arrays"
        if is_constant(leaf) or watchable(leaf) or is_generator(leaf):
            return None
        if callable(leaf):
            reason = why_not(leaf, getattr(leaf, "__name__", type(leaf).__name__))
            return None if reason is None else f"was called with a function that it cannot follow: it {reason}"
        return f"was called with a {type(leaf).__name__}, which compile does not look into"

    def copied(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments again, arrays copied with the strides and overlaps that they have."""
        leaves = list(copies_of(with_copies(dict(enumerate(self.leaves)))).values())
        values = list(unflatten(self.structure, leaves))
        n = len(self.args)
        return values[:n], dict(zip(self.kwargs, values[n:], strict=True))

    def again(self) -> Inputs:
        """The same inputs in memory of their own."""
        args, kwargs = self.copied()
        return Inputs(self.function, tuple(args), kwargs, self._varying, self._static)

    def digest(self) -> int:
        """A number that tells other inputs of the same signature apart from these."""
        return hash(
            tuple([bits_of(v) if is_plain_array(v) else id(v) if watchable(v) else digest_of(v) for v in self.leaves])
        )


def bits_of(array: Any) -> Any:
    """Return the numbers of an array, to compare: all bytes; of one on a device the sum, which is one number that is copied."""
    return repr(array.sum().item()) if is_cupys(array) else array.tobytes()


def _as_row(part: Any) -> tuple[Any, ...]:
    return part if isinstance(part, tuple) else (part,)


def _receiver(function: Any) -> str | None:
    """Why a function cannot be compiled for what is bound to it: None for a plain one."""
    function = untransformed(function)
    if isinstance(function, types.MethodType):
        if watchable(function.__self__):
            return _receiver(function.__func__)
        name = type(function.__self__).__name__
        return f"is a method of a {name}, whose attributes it could not notice; pass what it reads as arguments"
    if isinstance(function, functools.partial):
        return _receiver(function.func)
    if type(function) is types.FunctionType or watchable(function):
        return None
    return why_not(function, getattr(function, "__name__", type(function).__name__))


def untransformed(function: Any) -> Any:
    """The user's function under our transforms."""
    while hasattr(type(function), "__gradscribe_transform__"):
        function = function.function
    return function
