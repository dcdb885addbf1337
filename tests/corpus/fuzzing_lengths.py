"""Programs by chance that are called at other lengths: of their arguments, and of what elements of an array say.

A compiled function serves every length at which the function does the same; each call is held against eager, to the bit.
"""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gradscribe as gs

from fuzzing import _to_rounding, close, same

__all__ = ["Lengths", "lengths_problem"]

# <a> and <b> are vectors, <n> is a whole number, <k> one of 0 and 1.
STEPS = (
    "<a>[:<n>]", "<a>[<n>:]", "<a>[<n>:<n>]", "<a> + <b>", "<a> * <b>", "np.concatenate([<a>, <b>])", "np.cumsum(<a>)",
    "np.sum(<a>, keepdims=True)", "np.sum(np.outer(<a>, <b>), axis=<k>)", "<a>[<a> > 0.3]", "np.zeros(<n>) + <a>",
    "np.tile(<a>, <k>)", "<a>[:: <k> + 1]", "np.repeat(<a>, <n>)", "np.where(<a> > 0.3, <a>, <a> ** 2)", "<a> * np.arange(<n>)",
    "<a> / (1.0 + len(<b>))", "np.roll(<a>, <n>)", "<a>.reshape(-1, 1).sum(axis=1)", "np.diff(<a>)", "<a>[::-1]",
    "np.broadcast_to(<a>, (<k> + 1, <a>.shape[0])).sum(axis=0)", "<a>[np.flatnonzero(<a> > 0.2)]", "np.resize(<a>, <n>)",
    "np.split(<a>, [<n>])[<k>]", "np.sin(<a>) if len(<b>) > 2 else <a> * 2.0", "np.sin(<a>) if <n> > 1 else <a> * 2.0",
    "sum([<a> * i for i in range(<n>)], <b>)",
)  # fmt: skip
NUMBERS = (
    "e[0]", "e[1]", "len(x)", "y.size", "(e[0] + e[1])", "min(len(x), len(y))", "int(e[1])", "np.sum(e[:2])", "(x > 0.2).sum()",
    "np.argmax(y + 1.0)", "np.ones(1, int)[0]",
)  # fmt: skip
BITS = ("0", "1", "e[2]", "min(e[1], 1)")
ENDS = ("np.sum({} ** 2)", "np.mean({})", "np.linalg.norm({})", "{0} @ {0}", "np.sum({0}) * len({0})", "np.sum({} * y)")


class Lengths:
    """A function `f(x, y, e)` of two vectors and three whole numbers."""

    def __init__(self, choose: Callable[[Any], Any], length: int, pure: bool, samples: Any) -> None:
        self.choose = choose
        vectors, lines = ["x", "y"], []
        for k in range(length):
            lines.append(f"    v{k} = {self._filled(choose(STEPS), vectors)}")
            vectors = [*vectors[-3:], f"v{k}"]
        self.text = "\n".join(["def f(x, y, e):", *lines, f"    return {choose(ENDS).format(vectors[-1])}"])

    def _filled(self, step: str, vectors: list[str]) -> str:
        for hole, of in (("<a>", vectors), ("<b>", vectors), ("<n>", NUMBERS), ("<k>", BITS)):
            vector = self.choose(of)
            while hole in step:
                step = step.replace(hole, vector, 1)
                vector = vector if hole == "<a>" else self.choose(of)
        return step

    def function(self) -> Any:
        """The function, with a source that can be read."""
        filename, space = f"<lengths {id(self)}>", {"np": np}
        linecache.cache[filename] = (len(self.text), None, self.text.splitlines(True), filename)
        exec(compile(self.text, filename, "exec"), space)
        return space["f"]


def _given(f: Any, args: tuple[Any, ...]) -> Any:
    try:
        return f(*args)
    except (ValueError, IndexError, ZeroDivisionError, TypeError) as error:
        return error


def lengths_problem(program: Lengths, calls: int = 9, **options: Any) -> str | None:
    """What is wrong with the gradient of a program where it is compiled and called at other lengths; None where nothing is."""
    chance = random.Random(program.text)
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        eager = gs.grad(program.function(), argnums=(0, 1))
        compiled = gs.compile(eager, **options)
        for call in range(calls):
            x, y = (
                np.array([chance.uniform(0.05, 1.0) for _ in range(chance.choice([0, 1, 1, 2, 3, 3, 5]))]) for _ in "xy"
            )
            args = (x, y, np.array([chance.choice([0, 1, 2, 3]), chance.choice([1, 2, 3]), chance.choice([0, 1])]))
            for _ in range(2):
                expected, found = _given(eager, args), _given(compiled, args)
                if isinstance(expected, Exception) or isinstance(found, Exception):
                    alike = isinstance(expected, Exception) and isinstance(found, Exception)
                else:
                    pairs = list(zip(found, expected, strict=True))
                    alike = all(same(a, b) for a, b in pairs)
                    alike = alike or (all(close(a, b) for a, b in pairs) and _to_rounding(compiled, args))
                if not alike:
                    return f"call {call} of {args!r}: compiled {found!r}, eager {expected!r}\n{compiled!r}"
    return next((str(w.message) for w in seen if "please report" in str(w.message)), None)
