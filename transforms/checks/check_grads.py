"""check_grads: derivatives of a function, in both modes and of any order, held against finite differences."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...runtime.arrays import on_numpys_host
from ...runtime.errors import DtypeError
from ...tracer.core.site import pruned
from ..derivatives.forward import jvp
from ..derivatives.vjp import vjp
from ..trees import flatten, unflatten
from ..user_code.scope import as_it_runs
from .evaluation import Evaluation
from .finite import Slopes, slopes

__all__ = ["check_grads", "direction_like", "inexact", "moved_along", "paired", "with_leaf"]

_MODES = {"forward": "forward", "fwd": "forward", "reverse": "reverse", "rev": "reverse"}


@pruned
def check_grads(
    function: Callable[..., Any],
    args: Any,
    order: Any = 2,
    modes: str | Iterable[str] = ("forward", "reverse"),
    *more: Any,
) -> None:
    """Hold `gs.jvp` and `gs.vjp` of `function` at `args` against central finite differences; AssertionError says what differs.

    `args` is a tuple (or list) of the arguments, as for `jax.test_util.check_grads`. All floating point and complex
    ones are moved, each along directions drawn from a fixed seed, and the output (any tree of arrays) is paired with
    drawn weights. `order` is how often it is differentiated: at each order both `modes` ("forward" or "fwd", "reverse"
    or "rev", or one of them) are taken of both. Where the function has a kink, the derivative must lie between the
    slopes of the two sides. Raises DtypeError where no argument can be differentiated.

    >>> import numpy as np, gradscribe as gs
    >>> gs.check_grads(lambda x, y: {"a": np.sin(x) * y, "b": x @ y}, (np.ones(3), np.arange(3.0)), order=3)
    """
    __tracebackhide__ = True  # pytest shows the user's line
    if more or not isinstance(args, (tuple, list)) or type(order) is not int:
        raise _takes_a_tuple(function, args, order, modes, more)
    asked = (modes,) if isinstance(modes, str) else tuple(modes)
    if not asked or any(m not in _MODES for m in asked):
        raise ValueError(f"modes are 'forward' and 'reverse', one or both, not {modes!r}")
    if order < 1:
        raise ValueError(f"order is 1 or more, not {order}")
    chosen = list(dict.fromkeys(_MODES[m] for m in asked))
    on_numpys_host("gs.check_grads", flatten(tuple(args))[0])
    problem = next(_problems(function, tuple(args), order, chosen, ()), None)
    if problem is not None:
        name = getattr(function, "__name__", type(function).__name__)
        raise AssertionError(f"the derivatives of `{name}` are not those that finite differences give: {problem}")


def _takes_a_tuple(function: Any, args: Any, order: Any, modes: Any, more: tuple[Any, ...]) -> TypeError:
    """Say how the call is written whose arguments stand one by one."""
    name = getattr(function, "__name__", "f")
    name = name if name.isidentifier() else "f"
    own = inspect.signature(check_grads).parameters
    count = 1 + (type(order) is not int or bool(more)) + (bool(more) or modes is not own["modes"].default) + len(more)
    listed = ", ".join("xyzuvw"[k] if k < 6 else f"x{k}" for k in range(count))
    call = f"gs.check_grads({name}, ({listed}{',' * (count == 1)}), order={order if type(order) is int and not more else 2})"
    found = f"a {type(args).__name__}" if not isinstance(args, (tuple, list)) else "more than those"
    return TypeError(f"gs.check_grads takes the arguments in a tuple, but was given {found}. Write {call}")


def _problems(
    function: Callable[..., Any], args: tuple[Any, ...], order: int, modes: list[str], before: tuple[str, ...]
) -> Iterator[str]:
    """Return the problem of the derivatives up to an order, or None; `before` are the modes that gave `function`."""
    rng = np.random.default_rng(len(before))
    places = [k for k, a in enumerate(args) if inexact(a)]
    if not places:
        found = ", ".join(type(a).__name__ for a in args)
        raise DtypeError(f"gs.check_grads has nothing to differentiate: the arguments are {found or 'none'}")
    tangents = [direction_like(rng, a) if k in places else None for k, a in enumerate(args)]
    weights = direction_like(rng, function(*args))
    valued = Evaluation(function, places, args, {})
    coarsest = max(_eps(leaf) for k in places for leaf in flatten(args[k])[0])
    label = "".join(f" of {m} mode" for m in reversed(before))
    if "forward" in modes:
        found = paired(weights, jvp(function, args, tangents)[1])
        along = slopes(lambda t: paired(weights, valued(*moved_along(args, tangents, t))), 0.0, found, coarsest)
        if not along.ok:
            yield f"forward mode{label}: {_figures(along)}"
    if "reverse" in modes:
        gradients = _gradients(function, args, places, weights)
        for k, g in zip(places, gradients, strict=True):
            for n, (leaf, leaf_g) in enumerate(zip(flatten(args[k])[0], flatten(g)[0], strict=True)):
                value = lambda x, k=k, n=n: paired(weights, valued(*with_leaf(args, k, n, x)))
                along = slopes(value, leaf, leaf_g, coarsest)
                if not along.ok:
                    yield f"reverse mode{label}, argument {k}: {_figures(along)}"
    if order == 1:
        return
    if "forward" in modes:
        pushed = lambda *given: jvp(function, given, tangents)[1]
        yield from _problems(pushed, args, order - 1, modes, (*before, "forward"))
    if "reverse" in modes:
        pulled = lambda *given: _gradients(function, given, places, weights)
        yield from _problems(pulled, args, order - 1, modes, (*before, "reverse"))


def _gradients(function: Any, args: Any, places: list[int], weights: Any) -> tuple[Any, ...]:
    """The cotangents of the arguments that are differentiated."""

    def of_those(*moving: Any) -> Any:
        given = list(args)
        for k, a in zip(places, moving, strict=True):
            given[k] = a
        return _inexact_leaves(as_it_runs(function)(*given))

    given: tuple[Any, ...] = vjp(of_those, *[args[k] for k in places])[1](_inexact_leaves(weights))
    return given


def _inexact_leaves(tree: Any) -> list[Any]:
    return [leaf for leaf in flatten(tree)[0] if inexact(leaf)]


def inexact(tree: Any) -> bool:
    """Whether all leaves are floating point or complex numbers, and there are some."""
    leaves = flatten(tree)[0]
    return bool(leaves) and all(_kind(leaf) in "fc" for leaf in leaves)


def _kind(leaf: Any) -> str:
    if hasattr(leaf, "dtype"):
        return str(leaf.dtype.kind)
    return {float: "f", complex: "c"}.get(type(leaf), "?")


def _eps(leaf: Any) -> float:
    return float(np.finfo(leaf.dtype if hasattr(leaf, "dtype") else np.result_type(leaf)).eps)


def direction_like(rng: np.random.Generator, tree: Any) -> Any:
    """A drawn direction in the structure, shapes and dtypes of a tree, each number away from zero; None of what has none."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [_drawn(rng, leaf) if _kind(leaf) in "fc" else None for leaf in leaves])


def _drawn(rng: np.random.Generator, leaf: Any) -> Any:
    dtype, shape = np.result_type(leaf), np.shape(leaf)
    made = rng.uniform(0.4, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    if dtype.kind == "c":
        made = made + 1j * rng.uniform(0.4, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    cast = np.asarray(made).astype(dtype)
    return cast if isinstance(leaf, np.ndarray) else cast[()]


def paired(weights: Any, tree: Any) -> Any:
    """The real inner product of two trees: what a change of the one means for the weighted output."""
    pairs = zip(flatten(weights)[0], flatten(tree)[0], strict=True)
    parts = [np.real(np.sum(np.conj(w) * x)) for w, x in pairs if w is not None]
    return sum(parts, start=np.float64(0.0))


def moved_along(args: tuple[Any, ...], tangents: list[Any], t: float) -> list[Any]:
    """The arguments, moved by `t` along the tangents."""
    made = []
    for a, v in zip(args, tangents, strict=True):
        leaves, structure = flatten(a)
        along = flatten(v)[0] if v is not None else [None] * len(leaves)
        made.append(
            unflatten(structure, [x if d is None else _step(x, d, t) for x, d in zip(leaves, along, strict=True)])
        )
    return made


def _step(x: Any, d: Any, t: float) -> Any:
    stepped = np.asarray(x + t * d).astype(np.result_type(x))
    if isinstance(x, np.ndarray):
        return stepped
    return stepped[()] if isinstance(x, np.generic) else stepped.item()  # Python's numbers have powers of their own


def with_leaf(args: Sequence[Any], k: int, n: int, x: Any) -> list[Any]:
    """The arguments, with another leaf `n` of argument `k`."""
    leaves, structure = flatten(args[k])
    return [*args[:k], unflatten(structure, [*leaves[:n], x, *leaves[n + 1 :]]), *args[k + 1 :]]


def _figures(found: Slopes) -> str:
    worst = int(np.argmax(np.abs(found.expected - found.found) - found.allowed))
    return f"the derivative is {found.expected[worst]:.12g}, finite differences give {found.found[worst]:.12g}"
