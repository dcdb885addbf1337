"""Layer classes: a function of the functional layer as a class, its options given to the constructor, arrays to the call."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..functional.shared import reduction_of
from .examples import EXAMPLES

__all__ = ["Skin", "skin"]


class Skin(functools.partial[Any]):
    """A function with its options, which are attributes; a partial, so that compiled code sees into it."""

    _function: Callable[..., Any]
    _options: inspect.Signature
    _shown = ""

    def __new__(cls, *args: Any, **options: Any) -> Skin:
        """The function with its options; what it has no name for is a TypeError."""
        try:
            bound = cls._options.bind(*args, **options)
        except TypeError as error:
            raise TypeError(f"{cls.__name__} takes ({', '.join(cls._options.parameters)}): {error}") from None
        bound.apply_defaults()
        given = bound.arguments
        old = given.pop("size_average", None), given.pop("reduce", None)
        if old != (None, None):
            given["reduction"] = reduction_of(given["reduction"], *old)
        return super().__new__(cls, cls._function, **given)

    @property
    def forward(self) -> Callable[..., Any]:
        """Compute the output of the module for these inputs."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name in self.keywords:
            return self.keywords[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.keywords:
            raise AttributeError(f"{type(self).__name__!r} object has no option {name!r}: it has {list(self.keywords)}")
        self.keywords[name] = value

    def __reduce__(self) -> Any:
        return functools.partial(type(self), **self.keywords), ()

    def __repr__(self) -> str:
        shown = [self._shown.format(**self.keywords)] if self._shown else []
        shown += ["inplace=True"] if self.keywords.get("inplace") else []
        return f"{type(self).__name__}({', '.join(shown)})"


def skin(name: str, function: Callable[..., Any], arrays: int, shown: str = "", without: str = "") -> type[Skin]:
    """The class `name` of a function whose first `arrays` parameters are given to the call; `shown` is what repr shows."""
    parameters = list(inspect.signature(function).parameters.values())[arrays:]
    options = inspect.Signature([p for p in parameters if p.name not in without.split()])
    members = {
        "__doc__": _docstring(name, function, without.split()), "__module__": __package__, "__signature__": options,
        "_function": staticmethod(function), "_options": options, "_shown": shown,
    }  # fmt: skip
    return type(name, (Skin,), members)


def _docstring(name: str, function: Callable[..., Any], without: list[str]) -> str:
    """What the function's docstring says of shapes and errors, with the example of the class in place of its own."""
    told = inspect.cleandoc((function.__doc__ or "").partition(">>>")[0]).strip()
    lacks = f" It has no option {' and '.join(f'`{one}`' for one in without)}." if without else ""
    return (
        f"Call `gs.functional.{function.__name__}` with options that are given once.\n\n{told}\n\n"
        f"The options are attributes as well, and are checked at the call. An unknown one is a TypeError.{lacks}\n\n"
        f">>> import numpy as np, gradscribe as gs{EXAMPLES[name]}"
    )
