"""The transforms of a function, for type checkers: they keep its parameters. Never imported at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from .transform import Transform

__all__ = ["Argnums", "Argument", "Like", "P", "S", "Transformed", "Transforming", "WithAux", "WithValue"]

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
S = TypeVar("S")

Argument = int | str  # a position or a name
Argnums = Argument | tuple[Argument, ...] | list[Argument]


class Transformed(Transform, Generic[P, R]):
    """A transform of a function with the parameters P, which returns R."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError

    def compile(self, **options: Any) -> Transformed[P, R]:
        raise NotImplementedError


class Transforming(Protocol[R]):
    """A transform with options, as a decorator: it returns R, whatever the function."""

    def __call__(self, function: Callable[P, Any], /) -> Transformed[P, R]: ...


class Like(Protocol):
    """A decorator whose function returns what the user's does."""

    def __call__(self, function: Callable[P, S], /) -> Transformed[P, S]: ...


class WithValue(Protocol):
    """`value_and_grad` with options."""

    def __call__(self, function: Callable[P, S], /) -> Transformed[P, tuple[S, Any]]: ...


class WithAux(Protocol):
    """A transform with `has_aux=True`: of (output, aux) aux stays."""

    def __call__(self, function: Callable[P, tuple[Any, S]], /) -> Transformed[P, tuple[Any, S]]: ...
