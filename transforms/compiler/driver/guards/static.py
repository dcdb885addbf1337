"""Static arguments: those whose numbers are fixed in a source (`static_argnums`, `static_argnames`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .....runtime.arrays import is_array
from .....tracer.core.tensor_base import Operand
from ....trees import flatten

__all__ = ["Static"]


class Static:
    """The parameters of a function that are static, by position and by name, since a caller may pass them either way."""

    def __init__(self, label: str, numbers: frozenset[int], names: frozenset[str]) -> None:
        self.label, self.numbers, self.names = label, numbers, names

    @staticmethod
    def of(function: Callable[..., Any], options: dict[str, Any]) -> Static | None:
        """Return the static arguments that the options of `gs.compile` state; None where they state none."""
        numbers, names = options.get("static_argnums", ()), options.get("static_argnames", ())
        if not numbers and not names:
            return None
        label = getattr(function, "__name__", type(function).__name__)
        for n in numbers:
            if not isinstance(n, int):
                raise TypeError(f"static_argnums takes positions, not {n!r}; names go to static_argnames")
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return Static(label, frozenset(numbers), frozenset(names))
        listed = [p.name for p in parameters]
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        takes_names = any(p.kind is p.VAR_KEYWORD for p in parameters)
        for n in numbers:
            if not -len(positional) <= n < len(positional) and not takes_more:
                raise ValueError(
                    f"static_argnums has {n}, but `{label}` takes {len(positional)} positional arguments: {', '.join(positional)}"
                )
        for name in names:
            if name not in listed and not takes_names:
                raise ValueError(f"static_argnames names `{name}`, but `{label}` takes ({', '.join(listed)})")
        places = {n % len(positional) if -len(positional) <= n < 0 else n for n in numbers}
        places |= {positional.index(name) for name in names if name in positional}
        return Static(
            label, frozenset(places), frozenset(names) | {positional[n] for n in places if n < len(positional)}
        )

    def leaves(self, positional: int, keywords: list[str], values: list[Any]) -> frozenset[int]:
        """The places, among the leaves of all arguments of a call, of those that are static."""
        found: set[int] = set()
        at = 0
        for k, value in enumerate(values):
            own = flatten(value)[0]
            if k in self.numbers if k < positional else keywords[k - positional] in self.names:
                for leaf in own:
                    if isinstance(leaf, Operand) or is_array(leaf):
                        named = f"argument {k}" if k < positional else f"`{keywords[k - positional]}`"
                        raise ValueError(
                            f"static arguments hold numbers and what is hashable, but {named} of `{self.label}` holds an array: "
                            "leave it out of static_argnums and static_argnames; arrays are inputs"
                        )
                found.update(range(at, at + len(own)))
            at += len(own)
        return frozenset(found)
