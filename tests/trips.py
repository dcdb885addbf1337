"""Loops held against eager: one compiled function, called with different numbers of trips, in every derivative."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import gradscribe as gs
from gradscribe.transforms.compiler.compiled import Compiled
from gradscribe.transforms.compiler.difference import difference
from gradscribe.transforms.compiler.specialise import Specialisation

__all__ = ["DERIVATIVES", "Work", "held", "summed", "working"]


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with a scalar output: what comes out of it weighted and added up."""

    def scalar(*args: Any) -> Any:
        found = function(*args)
        return sum(
            np.sum(k * np.sin(leaf)) for k, leaf in enumerate(found if isinstance(found, tuple) else (found,), 1)
        )

    return scalar


# What is compiled of a function f(x, *constants).
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "gradient": lambda f: gs.value_and_grad(summed(f)),
    "second order": lambda f: gs.grad(lambda *args: np.sum(gs.grad(summed(f))(*args) ** 2)),
}


class Work(NamedTuple):
    """What a compiled function did in some calls."""

    captures: list[Any]  # the calls that followed the function anew
    texts: list[Any]  # the graphs that were optimised and written down


@contextlib.contextmanager
def working() -> Iterator[Work]:
    """What is captured and written down in a block: the lists grow."""
    work = Work([], [])
    capture, made = Compiled._capture, Specialisation.__init__

    def capturing(self: Any, *args: Any) -> Any:
        work.captures.append(self)
        return capture(self, *args)

    def making(self: Any, *args: Any) -> None:
        work.texts.append(self)
        made(self, *args)

    Compiled._capture, Specialisation.__init__ = capturing, making  # type: ignore[method-assign]
    try:
        yield work
    finally:
        Compiled._capture, Specialisation.__init__ = capture, made  # type: ignore[method-assign]


def held(
    eager: Callable[..., Any], calls: Sequence[Callable[[], tuple[Any, ...]]], exact: bool = True
) -> tuple[Any, Work]:
    """Compile, and hold every call against eager, bit for bit if `exact`, there and back: the compiled function, its work."""
    compiled = gs.compile(eager, verify="first calls", max_specialisations=100)
    with working() as work:
        for call in itertools.chain(calls, calls, reversed(calls)):
            found, expected = compiled(*call()), eager(*call())
            if exact:
                problem = difference(found, expected)
                assert problem is None, f"{problem} for {call()}"
            else:
                for one, other in zip(*[v if isinstance(v, tuple) else (v,) for v in (found, expected)], strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)
    return compiled, work
