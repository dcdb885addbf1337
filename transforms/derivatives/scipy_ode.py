"""scipy.integrate.solve_ivp: derivatives of the solution by the adjoint equation, which SciPy solves by the same method."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import NoRuleError
from ...tracer.core.dispatch import has_tensor, stack_nested
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand, wrap
from ...tracer.core.thread_state import LOCAL
from .custom import linked
from .scipy_callbacks import (
    Attached,
    Callback,
    Inputs,
    Run,
    Solved,
    attached,
    not_converged,
    plain,
    tracing,
)
from .scipy_calls import Driver
from .scipy_integrals import flattened, is_followed, placed, unflattened
from .scipy_jumps import Sample, jump_along, jumps_along, sample, sample_state, starts_at
from .scipy_roots import Residual, solution_of

__all__ = ["solve_ivp"]

Function = Callable[..., Any]


class Rule(NamedTuple):
    """How SciPy integrates: `solve` as the user said, `again` by the same method and tolerances."""

    path: str
    solve: Callable[[Function, Any, Any, Any], Any]  # of a plain function, the span, the first state and the times
    again: Callable[[Function, Any, Any, Any], Any]


class Trajectory:
    """The solution of dy/dt = f(t, y) from `y0` at `t0` on, at some times; with no times, at those where SciPy steps.

    Its derivative is by the adjoint equation: L. S. Pontryagin et al., The mathematical theory of optimal processes, 1962; as
    in R. Chen et al., "Neural ordinary differential equations", NeurIPS 2018, appendix B. What f depends on is the union over
    all its calls. First derivatives read the state from SciPy's interpolant. The steps that SciPy takes are constants.
    """

    def __init__(self, rule: Rule, f: Function, y0: Any, t0: Any, t1: Any, times: Any = None) -> None:
        self.path, self.rule, self.f = rule.path, rule, f
        self.y0, self.t0, self.t1, self.times = y0, t0, t1, times
        self.start, self.stop = (plain(t, self.path) for t in (t0, t1))
        self.ended: Any = None  # the time of the event that ended it
        self.inputs = Inputs()
        self.first: Any = None
        self.smooth = False  # whether that is known
        wanted_times = None if times is None else plain(times, self.path)
        self.result = rule.solve(self._numbers, (self.start, self.stop), plain(y0, self.path), wanted_times)
        if self.first is None:  # a way of no length, which LSODA does not look at
            self._numbers(self.start, plain(y0, self.path))
        self.interpolant = self.result.sol
        self.edges = tuple(self.inputs.edges)
        followed = [x._node for x in (y0, t0, t1, times) if is_followed(x)]
        found = isinstance(self.result.y, np.ndarray)  # else there is no time that was asked for
        self.wanted = tuple(dict.fromkeys([*self.edges, *followed])) if LOCAL.grad and found else ()
        if self.wanted:
            self._check()
        elif LOCAL.grad and found:
            self._refuse_jumps()

    def _numbers(self, s: Any, y: Any) -> Any:
        found = self.f(s, y)
        edges, value = self.inputs.of(found), plain(found, self.path)
        if self.first is None:
            self.first = s, np.copy(y), np.copy(value), edges
        return value

    def _check(self) -> None:
        if self.result.status < 0:
            raise not_converged(self.path, self.result.message)
        if np.asarray(self.result.y).dtype.kind == "c":
            raise blame(
                NoRuleError(f"scipy.{self.path} of a complex state has no rule: solve for its real and imaginary part.")
            )

    def states(self) -> Any:
        """The state at each time, one column a time."""
        where = self.result.t
        if not self.wanted:
            return self.result.y
        if self.times is not None:
            return self._at(where, self.result.y, _Times([self.times] * len(where), where, many=True), self.times)
        ends = [self.t0, *[None] * (len(where) - 2), self.t1 if self.ended is None else self.ended]
        return self._at(where, self.result.y, _Times(ends, where), self.ended)

    def last(self) -> Any:
        """The state at the end, as one column."""
        return self._at(self.result.t[-1:], self.result.y[:, -1:], _Times([self.t1], self.result.t[-1:]))

    def between(self, times: Any) -> Any:
        """The state at other times, by SciPy's interpolant."""
        values = self.interpolant(plain(times, self.path))
        if not self.wanted and not is_followed(times):
            return values
        many = np.ndim(times) > 0
        columns = values if many else values[:, None]
        where = np.atleast_1d(plain(times, self.path))
        found = self._at(where, columns, _Times([times] * len(where), where, many), times)
        return found if many else found[:, 0]

    def _at(self, where: Any, values: Any, at: _Times, asked: Any = None) -> Any:
        """States at plain times, which `at` knows as they stand in the graph."""
        wanted = tuple(dict.fromkeys([*self.wanted, *([asked._node] if is_followed(asked) else [])]))

        def pull(node: Attached, gs: tuple[Any, ...]) -> list[Any]:
            return self._pulled(node, gs[0], where, values, at, wanted)

        (found,) = attached(self.path, (values,), wanted, pull)
        return found

    def _pulled(
        self, node: Attached, g: Any, where: Any, values: Any, at: _Times, wanted: tuple[Any, ...]
    ) -> list[Any]:  # fmt: skip
        """The adjoint, carried from the last time back to the first, beside the cotangents of what f reads."""
        s, start, value, edges = self.first
        Run(lambda: self.f(s, start), ()).check(self.path, value, edges)
        self._refuse_jumps()
        traced = LOCAL.grad
        y = placed_at(values, node.own(0)) if traced else values
        y0, t0 = (placed(x, plain(x, self.path)) if traced else plain(x, self.path) for x in (self.y0, self.t0))
        back = self._back_traced if traced else self._back
        adjoint, rest = np.zeros(len(values)), np.zeros(sum([int(np.prod(e.shape)) for e in self.edges]))
        slopes: list[Any] = [0.0] * len(where)
        order = np.argsort(where if self.stop >= self.start else -where, kind="stable")[::-1].tolist()
        for place, k in enumerate(order):
            now = at(k)
            if at.is_followed(k):
                slopes[k] = np.sum(g[:, k] * self._slope(now, y[:, k]))
            adjoint = adjoint + g[:, k]
            before = order[place + 1] if place + 1 < len(order) else None
            until = t0 if before is None else at(before)
            moving = traced and (at.is_followed(k) or (is_followed(t0) if before is None else at.is_followed(before)))
            if plain(now, self.path) != plain(until, self.path) or moving:
                adjoint, rest = back(now, until, y[:, k], adjoint, rest)
        sums = dict(zip(self.edges, unflattened(rest, self.edges), strict=True))

        def add(x: Any, share: Any) -> None:
            if is_followed(x):
                sums[x._node] = sums[x._node] + share if x._node in sums else share

        add(self.y0, adjoint)
        if is_followed(self.t0):
            add(self.t0, -np.sum(adjoint * self._slope(t0, y0)))
        if at.many:
            add(at.given[0], np.stack(slopes) if at.is_followed(0) else None)
        else:
            for k, slope in enumerate(slopes):
                add(at.given[k], slope)
        return [sums.get(node) for node in wanted]

    def _refuse_jumps(self) -> None:
        """Raise where f jumps at a place that moves with what it decides by: the solution has a kink there, which moves."""
        if self.smooth:
            return
        first_moves = is_followed(self.y0) or is_followed(self.t0)
        state_moves = first_moves or bool(self.edges)

        def at(s: Any, y: Any) -> Sample:
            return sample_state(self.f, s, y) if state_moves else sample(functools.partial(self._of, y), s)

        for a, b, low, high in jumps_along(at, self.interpolant, self.stop < self.start):
            if starts_at(a.place, self.start, self.stop) and not first_moves:
                here = [sample(functools.partial(self._of, y), x.place).decided for x, y in ((a, low), (b, high))]
                if here[0] == here[1]:  # it starts at the jump, which stays where it is
                    continue
            raise jump_along(self.path, a.place)
        self.smooth = True

    def _of(self, y: Any, s: Any) -> Any:
        return self.f(s, y)

    def _slope(self, s: Any, y: Any) -> Any:
        """How a state moves: plain, where nothing is written into the graph."""
        found = self.f(s, y)
        return found if LOCAL.grad else plain(found, self.path)

    def _back(self, now: Any, until: Any, _: Any, adjoint: Any, rest: Any) -> tuple[Any, Any]:
        """One stretch back, of plain numbers: the state is read from SciPy's interpolant."""
        n = len(adjoint)

        def move(s: Any, z: Any) -> Any:
            y = self.interpolant(s)
            run = Run(lambda y: self.f(s, y), (y,))
            (variable,) = run.variables
            asked = (variable, *self.edges)
            return flattened(run.pull(-z[:n], asked), asked)

        ends = plain(now, self.path), plain(until, self.path)
        solved = self.rule.again(move, ends, np.concatenate([adjoint, rest]), None)
        if solved.status < 0:
            raise not_converged(f"{self.path} (of the adjoint equation)", solved.message)
        return solved.y[:n, -1], solved.y[n:, -1]

    def _back_traced(self, now: Any, until: Any, y: Any, adjoint: Any, rest: Any) -> tuple[Any, Any]:
        """One stretch back, in the graph: the state beside its adjoint, by an equation that is differentiated itself."""
        n = int(np.shape(adjoint)[0])

        def move(s: Any, z: Any) -> Any:
            xs = s, z[:n]
            with tracing():
                nodes = tuple([x._node if is_followed(x) else None for x in xs])
                run = Run(self.f, tuple([x._value if isinstance(x, Operand) else x for x in xs]), nodes)
            asked = (run.variables[1], *self.edges)
            return np.concatenate([run.result, flattened(run.pull(-z[n : 2 * n], asked), asked)])

        again = Rule(self.path, self.rule.again, self.rule.again)
        state = np.concatenate([y, adjoint, rest])
        found = Trajectory(again, move, state, now, until).last()
        return found[n : 2 * n, -1], found[2 * n :, -1]


class _Times:
    """Plain times, each of which may stand in the graph: a number, or an element of an array."""

    def __init__(self, given: list[Any], where: Any, many: bool = False) -> None:
        self.given, self.where, self.many = given, where, many

    def is_followed(self, k: int) -> bool:
        """Whether a derivative comes to one of them."""
        return is_followed(self.given[k])

    def __call__(self, k: int) -> Any:
        """One of them: plain, where nothing is written into the graph."""
        if not LOCAL.grad or not self.is_followed(k):
            return self.where[k]
        return placed(self.given[k], self.where)[k] if self.many else placed(self.given[k], self.where[k])


def placed_at(values: Any, place: Any) -> Any:
    """An array as it stands at a place in the graph."""
    return linked(wrap(values), place)


class Interpolant:
    """The solution between its steps, as `dense_output=True` gives it."""

    def __init__(self, of: Trajectory) -> None:
        self._of = of

    def __call__(self, t: Any) -> Any:
        """The state at a time, or at many, one column a time."""
        return self._of.between(stack_nested(t) if has_tensor(t) else np.asarray(t) if type(t) in (list, tuple) else t)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._of.interpolant, name)


def _solve_ivp(driver: Driver, given: dict[str, Any]) -> Solved:
    """Integrate by `solve_ivp`."""
    path, options = driver.path, dict(given.get("options", {}))
    fun, span, y0, times = given["fun"], given["t_span"], given["y0"], given.get("t_eval")
    args, vectorized, events = given.get("args"), given.get("vectorized", False), given.get("events")
    dense = given.get("dense_output", False)
    callback = Callback(path, fun, () if args is None else tuple(args))
    options = {
        k: Callback(path, v, callback.args).plain if callable(v) and k == "jac" else plain(v, path)
        for k, v in options.items()
    }
    method = given.get("method", "RK45")
    around = {"method": method, "vectorized": vectorized, **options}

    def state_moves(s: Any, y: Any) -> Any:
        many = np.ndim(y) > 1  # the solver takes many states at once
        found = callback(s, y[:, None] if vectorized and not many else y)
        found = stack_nested(found) if type(found) in (tuple, list) and has_tensor(found) else found
        if many:
            return found
        found = np.reshape(found if isinstance(found, Operand) else np.asarray(found), (-1,))
        return found if len(found) == len(y) else np.broadcast_to(found, np.shape(y))

    def solve(f: Function, span: Any, y0: Any, times: Any) -> Any:
        watched = None if events is None else plain_events(path, events, callback.args)
        return driver.real(f, span, y0, t_eval=times, dense_output=dense or LOCAL.grad, events=watched, **around)

    tolerances = {k: np.min(options[k]) for k in ("rtol", "atol") if k in options}
    steps = {k: options[k] for k in ("max_step", "min_step") if k in options}

    def again(f: Function, span: Any, y0: Any, times: Any) -> Any:
        return driver.real(f, span, y0, method=method, t_eval=times, dense_output=LOCAL.grad, **tolerances, **steps)

    y0, times = as_array(y0), None if times is None else as_array(times)
    t0, t1 = span
    found = Trajectory(Rule(path, solve, again), state_moves, y0, t0, t1, times)
    result = found.result
    if events is not None and found.wanted:
        _differentiate_events(found, events, callback.args)
    times = times if is_followed(times) else result.t
    if found.ended is not None and found.times is None:
        times = np.concatenate([result.t[:-1], np.reshape(found.ended, (1,))])

    def give(results: tuple[Any, ...]) -> Any:
        result.y, result.t = results
        result.sol = (Interpolant(found) if found.wanted else result.sol) if dense else None
        return result

    return Solved((found.states(), times), give)


def _differentiate_events(found: Trajectory, events: Any, args: Any) -> None:
    """Give times of events, and the states then, their derivatives: an event is zero along the solution, which is an equation."""
    result, path = found.result, found.path
    whole = list(result.t_events)
    for k, event in enumerate([events] if callable(events) else events):
        value = Callback(path, event, tuple(args))
        residual = Residual(Callback(path, functools.partial(_along, value, found)))
        times = [solution_of(path, residual, t, "the slope of the event along the solution") for t in whole[k]]
        ends = result.status == 1 and bool(getattr(event, "terminal", False))
        if ends and times and whole[k][-1] == found.interpolant.ts[-1]:
            found.ended = times[-1]
        if times:
            result.t_events[k] = np.stack(times)
            result.y_events[k] = np.transpose(found.between(np.stack(times)))
    if found.ended is None and result.status == 1:
        raise blame(NoRuleError(f"scipy.{path} was ended by an event whose time is none of its t_events."))
    if found.ended is not None and is_followed(found.times):
        raise blame(NoRuleError(f"scipy.{path} that an event ends has no derivative in t_eval: pass it as a constant."))


def _along(event: Any, found: Trajectory, s: Any) -> Any:
    return event(s, found.between(s))


def as_array(x: Any) -> Any:
    """An array of what may be a list."""
    if type(x) in (list, tuple) and has_tensor(x):
        return stack_nested(x)
    return x if isinstance(x, Operand) else np.asarray(x)


def plain_events(path: str, events: Any, args: Any) -> Any:
    """Event functions for SciPy, with what they say of themselves."""

    def one(event: Any) -> Any:
        call = Callback(path, event, ()).plain  # SciPy adds the arguments
        made = lambda *xs: call(*xs, *args)
        for name in ("terminal", "direction"):
            if hasattr(event, name):
                setattr(made, name, getattr(event, name))
        return made

    return one(events) if callable(events) else [one(e) for e in events]


solve_ivp = Driver("integrate.solve_ivp", _solve_ivp, steps=lambda given: given.get("t_eval") is None)
