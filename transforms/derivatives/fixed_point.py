"""fixed_point: where an iteration comes to rest, with the gradient of the implicit-function theorem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from ...runtime.arrays import is_array
from ...runtime.errors import AutogradError, ConvergenceError, DtypeError, GradientLossError, ShapeError
from ...tracer.core.closures import as_it_stands
from ...tracer.core.site import blame, prune, pruned
from ...tracer.core.tensor_base import Operand, alias, cover, is_tensor_like
from ...tracer.core.thread_state import LOCAL, capturing
from ...unpatched import np
from ..compiler.frontend.operators import and_, assert_, while_
from ..trees import flatten, in_words, unflatten
from ..user_code.scope import scope
from .custom_vjp import custom_vjp
from .vjp import vjp

__all__ = ["fixed_point", "found_by"]

Leaves = tuple[Any, ...]
Step = Callable[[Leaves], Leaves]


class _Problem:
    """x = f(x, *params), on the leaves of x and params."""

    what = "x"
    floor = 1.0  # the size of x below which `tol` is no longer relative

    def __init__(
        self,
        f: Any,
        x0: Any,
        params: Any,
        tol: float | None,
        max_iter: int,
        distance: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self.f, self.x, self.params, self.tol, self.max_iter = f, x0, params, tol, max_iter
        self.distance = distance  # of two x, one beside the other, in place of the largest change
        self.name = str(getattr(f, "__name__", type(f).__name__))
        code = getattr(f, "__code__", None)
        self.variable = code.co_varnames[0] if code is not None and code.co_argcount else "x"

    def step(self, params: Leaves) -> Step:
        """The map from x to f(x, *params)."""
        args = unflatten(self.params, params)
        return lambda x: self._leaves(self.f(unflatten(self.x, x), *args))

    def _leaves(self, found: Any) -> Leaves:
        leaves, structure = flatten(found)
        if structure != self.x:
            raise blame(
                ShapeError(
                    f"gs.fixed_point of `{self.name}`: x has the structure {in_words(self.x)}, "
                    f"but `{self.name}` gave {in_words(structure)}. "
                    "It must give what it takes."
                )
            )
        return tuple(leaves)

    def first(self, x: Leaves, params: Leaves) -> Leaves:
        """One step on constants: what it gives must be like x, and must not depend on what `f` was not passed."""
        found = self.step(_constants(params))(_constants(x))
        if any(isinstance(leaf, Operand) and leaf._node is not None for leaf in found):
            raise blame(
                AutogradError(
                    f"gs.fixed_point of `{self.name}`: `{self.name}` reads a value that requires grad from outside, and its "
                    f"gradient would be lost. Pass it: gs.fixed_point({self.name}, x0, value), {self.name}(x, value)."
                )
            )
        for old, new in zip(x, found, strict=True):
            self.alike(old, new)
        return found

    def alike(self, old: Any, new: Any) -> None:
        """Raise where a step has changed the shape or dtype of a leaf. A Python number takes the dtype that comes."""
        if np.shape(old) != np.shape(new):
            raise blame(
                ShapeError(
                    f"gs.fixed_point of `{self.name}`: {self.what} has shape {np.shape(old)}, but `{self.name}` gave shape "
                    f"{np.shape(new)}. Start from an x0 of the shape that it gives."
                )
            )
        if not isinstance(old, (bool, int, float, complex)) and _dtype(old) != _dtype(new):
            raise blame(
                DtypeError(
                    f"gs.fixed_point of `{self.name}`: {self.what} is {_dtype(old)}, but `{self.name}` gave {_dtype(new)}. "
                    "Start from an x0 of the dtype that it gives."
                )
            )

    def excess(self, old: Leaves, new: Leaves) -> Any:
        """By how much more than is tolerated a step has moved x: of all leaves the most."""
        if self.distance is not None:
            return self.distance(unflatten(self.x, new), unflatten(self.x, old)) - self.tol
        found = []
        for a, b in zip(old, new, strict=True):
            tol = float(np.finfo(_dtype(b)).eps) ** 0.75 if self.tol is None else self.tol
            found.append(_largest(b - a) - tol * np.maximum(_largest(b), self.floor))
        return functools.reduce(np.maximum, found)

    def give_up(self, steps: int, old: Leaves, new: Leaves) -> NoReturn:
        """Raise what an iteration raises that has not come to rest."""
        moved = max([float(_largest(_value(b) - _value(a))) for a, b in zip(old, new, strict=True)], default=0.0)
        if not np.isfinite(moved):
            how = f"{self.what} is no longer finite after {steps} steps"
        else:
            how = f"{self.what} still moves by {moved:.3g} after {steps} steps"
        raise blame(
            ConvergenceError(
                f"gs.fixed_point of `{self.name}` has not converged: {how}. Start nearer, use an iteration that contracts, or "
                "raise max_iter or tol."
            )
        )


class _Adjoint(_Problem):
    """w = g + (df/dx)^T w, whose parameters are g, x and those of the problem."""

    floor = 0.0  # linear in g, so what is tolerated is too

    def __init__(self, problem: _Problem, width: int) -> None:
        self.problem, self.width = problem, width
        self.name, self.tol, self.max_iter = problem.name, problem.tol, problem.max_iter
        self.x, self.distance = problem.x, problem.distance
        self.what, self.variable = f"the cotangent of {problem.what}", f"d_{problem.variable}"

    def step(self, params: Leaves) -> Step:
        """One pullback of f, made once and kept for every step."""
        n = self.width
        g, x, rest = params[:n], params[n : 2 * n], params[2 * n :]
        step = self.problem.step(rest)
        found, pullback = vjp(lambda *x: step(x), *x)
        self._check_rest(x, found)
        return lambda w: tuple([a + b for a, b in zip(g, pullback(w), strict=True)])

    def _check_rest(self, x: Leaves, found: Leaves) -> None:
        """Raise where x is at rest no more: the function reads something else than it did, and so does the derivative."""
        if capturing() or LOCAL.levels:  # eager mode, which runs first, has seen it
            return
        there, now = (tuple([_value(v) for v in leaves]) for leaves in (x, found))
        moved = self.problem.excess(there, now)
        if not np.max(_value(moved)) <= _SLACK * max([1.0, *[float(_largest(v)) for v in there]]):
            raise blame(
                GradientLossError(
                    f"gs.fixed_point of `{self.name}`: where x was at rest it moves when backward runs `{self.name}` again: what "
                    "it reads (a global, an attribute) has changed since. Pass that as a parameter, or let it stay."
                )
            )


def _rest(problem: _Problem, before: Leaves, x: Leaves, params: Leaves) -> Leaves:
    """Iterate from x until it no longer moves: by the loop of converted code, so that a capture may keep it.

    A step is taken in any case, or with a `distance` where x, itself a step from `before`, has moved.
    """
    step = problem.step(params)
    moved = np.inf if problem.distance is None else problem.excess(_seen(before), _seen(x))

    def body(*state: Any) -> Leaves:
        *old, _, steps = state
        new = step(tuple(old))
        return (*new, problem.excess(_seen(tuple(old)), _seen(new)), steps + 1)

    def test(*state: Any) -> Any:
        return and_(state[-1] < problem.max_iter, lambda: state[-2] > 0, test=True)

    line = _rest.__code__.co_firstlineno
    places = [""] if len(x) == 1 else [f"_{k}" for k in range(len(x))]
    names = (*[problem.variable + place for place in places], "excess", "steps")
    with np.errstate(all="ignore"):
        *found, excess, steps = while_(test, body, (*x, moved, 1), names, line)
        assert_(excess <= 0, lambda: problem.give_up(steps, tuple(found), step(tuple(found))), line)
    return tuple(found)


def _forward(problem: _Problem, before: Leaves, x: Leaves, params: Leaves) -> tuple[Leaves, Any]:
    found = _at_rest(problem, before, x, params)
    return found, (found, params)


def _backward(problem: _Problem, residuals: Any, g: Leaves) -> tuple[Any, ...]:
    x, params = residuals
    zeros = () if problem.distance is None else tuple([np.zeros_like(d) for d in g])
    w = _at_rest(_Adjoint(problem, len(x)), zeros, g, (*g, *x, *params))
    places = [k for k, p in enumerate(params) if _is_differentiable(p)]

    def of(*chosen: Any) -> Leaves:
        passed = list(params)
        for k, p in zip(places, chosen, strict=True):
            passed[k] = p
        return problem.step(tuple(passed))(x)

    given: list[Any] = [None] * len(params)
    for k, d in zip(places, vjp(of, *[params[k] for k in places])[1](w), strict=True):
        given[k] = d
    return None, None, tuple(given)


_SLACK = 1e-6  # beyond what is tolerated: the last step moved x by less

_rest.__name__ = "fixed_point"  # what errors and grad_fn call it
_at_rest = custom_vjp(_rest, nondiff_argnums=(0,))
_at_rest.defvjp(_forward, _backward)


def _value(x: Any) -> Any:
    return x._value if isinstance(x, Operand) else x


def _seen(leaves: Leaves) -> Leaves:
    """Return the values by which the iteration goes on: plain, or traced in a capture; under vmap those of all examples."""
    return tuple([_uncovered(x) if capturing() else _value(x) for x in leaves])


def _uncovered(x: Any) -> Any:
    """A Tensor that hides nothing, of the same value."""
    if not isinstance(x, Operand):
        return x
    made = alias(x)
    cover(made, ())
    return made


def _constants(leaves: Leaves) -> Leaves:
    return tuple([alias(x) if isinstance(x, Operand) else x for x in leaves])


def _dtype(x: Any) -> Any:
    return x.dtype if is_tensor_like(x) else np.result_type(x)


def _is_differentiable(x: Any) -> bool:
    return (isinstance(x, (Operand, np.generic, float, complex)) or is_array(x)) and _dtype(x).kind in "fc"


def _largest(x: Any) -> Any:
    return np.max(np.abs(x), initial=0.0)


@pruned
def fixed_point(f: Callable[..., Any], x0: Any, *params: Any, tol: float | None = None, max_iter: int = 1000) -> Any:
    """The x at which `x = f(x, *params)`: iterates from `x0` until x no longer moves.

    A step is the last when it moves no leaf of x by more than `tol` times its largest element (or 1, where that is less);
    by default `eps ** 0.75` of the dtype. x and params may be trees (dict, list, tuple, dataclass) of arrays; the result is
    like `x0`, and its gradient with respect to `x0` is zero. By the implicit-function theorem the cotangent g of x gives
    `w = g + (df/dx)^T w`, found by the same iteration, and params get `(df/dparams)^T w` (B. Christianson, Reverse
    accumulation and attractive fixed points, 1994): one step is remembered, however many there were. Every order of
    derivative exists. Raises ConvergenceError after `max_iter` steps or where x is no longer finite, ShapeError or
    DtypeError where `f` gives another structure, shape or dtype than x, and AutogradError where `f` reads what is
    differentiated without being passed it.

    >>> import numpy as np, gradscribe as gs
    >>> root = lambda a: gs.fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, a)
    >>> root(4.0), gs.grad(root)(4.0), gs.grad(gs.grad(root))(4.0)
    (2.0, np.float64(0.25), np.float64(-0.03125))
    """
    return found_by(f, x0, params, tol, max_iter, None)


def found_by(f: Callable[..., Any], x0: Any, params: Any, tol: float | None, max_iter: int, distance: Any) -> Any:
    """`gs.fixed_point`, or with a `distance` of two x what ends where that is at most `tol`."""
    if not callable(f):
        raise TypeError(f"gs.fixed_point takes a function, not {type(f).__name__}: {f!r}")
    try:
        leaves, structure = flatten(x0)
        given, arguments = flatten(params)
        function = as_it_stands(scope().rebuild(f) if LOCAL.depth else f)
        problem = _Problem(function, structure, arguments, tol, max_iter, distance)
        start = problem.first(tuple(leaves), tuple(given))
        before = () if distance is None else _constants(tuple(leaves))
        return unflatten(structure, _at_rest(problem, before, start, tuple(given)))
    except Exception as error:
        raise prune(error) from error.__cause__
