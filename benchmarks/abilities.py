"""What gradscribe and its peers make of the same small programs: right, wrong, or the error, for each library that is installed.

    python benchmarks/abilities.py       # a table in Markdown

Branches, loops and second derivatives are written with the library's own namespace (`jnp`, `torch`, `autograd.numpy`); all
else is NumPy's or SciPy's code as it stands. Right is what agrees with central differences of the same program in NumPy.
"""

from __future__ import annotations

import importlib
import math
import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

import gradscribe as gs

X = np.array([0.3, 0.7, 1.1])


class Library(NamedTuple):
    """How a library is called: its namespace, its arrays, its gradient, and what compiles it."""

    space: Any
    array: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    compiled: Callable[[Any], Any] | None
    numbers: Callable[[Any], Any] = np.asarray


def _jax() -> Library:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return Library(jax.numpy, jax.numpy.asarray, jax.grad, jax.jit)


def _torch() -> Library:
    torch = importlib.import_module("torch")
    return Library(
        torch,
        lambda x: torch.tensor(x, dtype=torch.float64),
        torch.func.grad,
        torch.compile,
        lambda t: t.detach().numpy(),
    )


def _autograd() -> Library:
    autograd = importlib.import_module("autograd")
    return Library(importlib.import_module("autograd.numpy"), np.asarray, autograd.grad, None)


def _mygrad() -> Library:
    mygrad = importlib.import_module("mygrad")

    def gradient(f: Any) -> Any:
        def of(x: Any) -> Any:
            t = mygrad.tensor(x)
            f(t).backward()
            return t.grad

        return of

    return Library(mygrad, np.asarray, gradient, None)


LIBRARIES: dict[str, Callable[[], Library]] = {
    "gradscribe": lambda: Library(np, np.asarray, gs.grad, gs.compile),
    "JAX": _jax, "PyTorch": _torch, "autograd": _autograd, "MyGrad": _mygrad,
}  # fmt: skip


# --- the programs: of a namespace, a function of an array --------------------------------------------------------------


def _as_it_stands(_: Any) -> Any:
    return lambda x: np.sum(np.sin(x) * x)


def _writes(_: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[0] = x[1] * x[2]
        return (y * y).sum()

    return f


def _branches(_: Any) -> Any:
    def f(x: Any) -> Any:
        if x.sum() > 1.0:
            return (x * x).sum()
        return (x * x * x).sum()

    return f


def _repeats(space: Any) -> Any:
    def f(x: Any) -> Any:
        y = x
        while (y * y).sum() > 0.5:
            y = space.sin(y) * 0.8
        return (y * x).sum()

    return f


def _of_math(_: Any) -> Any:
    return lambda x: math.exp(x[0]) * x[1] + math.sqrt(x[2])


def _of_special(_: Any) -> Any:
    from scipy import special

    return lambda x: np.sum(special.gammaln(x + 1.0) * x)


def _of_a_root(_: Any) -> Any:
    from scipy import optimize

    return lambda x: optimize.brentq(lambda t: t**3 + x[0] * t - x[1], 0.0, 2.0) * x[2]


def _of_an_integral(_: Any) -> Any:
    from scipy import integrate

    return lambda x: integrate.quad(lambda t: np.exp(-x[0] * t) * x[1], 0.0, x[2])[0]


def _takes_numbers_out(_: Any) -> Any:
    return lambda x: np.sum(x * float(x[0])) + np.sum(np.array([v.item() for v in x]) ** 2)


def _fills(_: Any) -> Any:
    def f(x: Any) -> Any:
        out = np.zeros(3)
        for k in range(3):
            out[k] = x[k] * x[k - 1]
        return np.sum(out)

    return f


ROWS: list[tuple[str, Callable[[Any], Any], int, bool]] = [  # the words, the program, the order, whether it is compiled
    ("NumPy's functions as they stand", _as_it_stands, 1, False),
    ("`y[0] = ...`", _writes, 1, False),
    ("`out = np.zeros(n)`, filled in a loop", _fills, 1, False),
    ("`float(x[0])`, `x[0].item()`", _takes_numbers_out, 1, False),
    ("`math.exp(x[0])`", _of_math, 1, False),
    ("`scipy.special.gammaln` as it stands", _of_special, 1, False),
    ("`scipy.optimize.brentq`", _of_a_root, 1, False),
    ("`scipy.integrate.quad`", _of_an_integral, 1, False),
    ("second derivatives", _as_it_stands, 2, False),
    ("an `if` on a value, compiled", _branches, 1, True),
    ("a `while` on a value, compiled", _repeats, 1, True),
]
OWN = {"second derivatives"}  # rows in the library's own words


def slope(f: Any, x: Any, order: int) -> Any:
    """The gradient of a program in NumPy by central differences; of the second order that of its sum."""
    h = 1e-5 if order == 1 else 1e-3
    inner = f if order == 1 else (lambda y: float(np.sum(slope(f, y, 1))))
    steps = h * np.eye(x.size)
    return np.array([(inner(x + d) - inner(x - d)) / (2 * h) for d in steps])


def tried(library: Library, words: str, make: Callable[[Any], Any], order: int, compiles: bool) -> str:
    """What a library makes of a program: "yes", "wrong", the error's name, or a dash where it has no compiler."""
    space = library.space
    f = (lambda x: (space.sin(x) * x).sum()) if words in OWN else make(space)
    gradient = library.gradient(f)
    if order == 2:
        inner = gradient
        gradient = library.gradient(lambda x: inner(x).sum())
    if compiles:
        if library.compiled is None:
            return "–"
        gradient = library.compiled(gradient)
    expected = slope(make(np), X, order)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = library.numbers(gradient(library.array(X)))
    except Exception as error:
        return f"`{type(error).__name__}`"
    return "yes" if np.shape(found) == (3,) and np.allclose(found, expected, rtol=1e-4, atol=1e-6) else "**wrong**"


def main() -> None:
    """Print the table."""
    libraries: dict[str, Library] = {}
    for name, load in LIBRARIES.items():
        try:
            libraries[name] = load()
        except ImportError:
            print(f"- {name} is not installed")
    print("| | " + " | ".join(libraries) + " |")
    print("|---" * (len(libraries) + 1) + "|")
    for words, make, order, compiles in ROWS:
        print(
            f"| {words} | "
            + " | ".join([tried(library, words, make, order, compiles) for library in libraries.values()])
            + " |"
        )


if __name__ == "__main__":
    main()
