"""scipy.integrate.odeint, whose derivative integrates the adjoint equation backward."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...runtime.errors import AutogradError, CompileError
from ...runtime.registry import require
from ...tracer.autograd.function import Function
from ...tracer.core.dispatch import apply, has_tensor, stack_nested
from ...tracer.core.levels import under
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand, levels_of, wrap
from ...tracer.core.thread_state import LOCAL, capturing, recording, refuse
from ...tracer.memory.survivors import run_again
from ...tracer.tensors.batched import Level
from ...unpatched import np
from ..trees import flatten, unflatten
from ..user_code.scope import as_it_runs, scope
from .odeint_calls import named, recorded
from .scipy_callbacks import Inputs, differs, plain
from .scipy_jumps import Sample, jump_along, jumps_along, sample_state, starts_at
from .scipy_ode import Rule, Trajectory, as_array
from .vjp import forward, vjp

__all__ = ["odeint"]

_PATH = "integrate.odeint"
_READS = "solves a differential equation by scipy.integrate.odeint, whose function reads a traced value from outside"


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: Any = (), **options: Any) -> Any:
    """The solution of dy/dt = func(y, t, *args) from `y0` at `t[0]`, at each of `t`: of shape `(len(t), len(y0))`.

    As `scipy.integrate.odeint`, whose `options` (`rtol`, `atol`, `mxstep` ...) it takes, also for the way back; those that
    change what comes out (`full_output`, `Dfun`) have no gradient. The gradient with respect to `y0`, `t` and `args` (any
    tree of arrays) is by the adjoint method: L. S. Pontryagin; as in R. Chen et al., "Neural ordinary differential
    equations", NeurIPS 2018, appendix B. It is as exact as the tolerances are; what `func` reads from outside counts as well,
    in whichever of its calls. Generated source calls the solver and its adjoint where `func` stands in a module under its
    name and `args` is a tuple of arrays and numbers; else a compiled function runs eagerly, with a warning.

    >>> import numpy as np, gradscribe as gs
    >>> from gradscribe.scipy.integrate import odeint
    >>> decay = gs.grad(lambda k: odeint(lambda y, t, k: -k * y, np.array([1.0]), np.array([0.0, 2.0]), (k,))[-1, 0])
    >>> bool(abs(decay(0.5) - -2 * np.exp(-1.0)) < 1e-6)
    True
    """

    args = args if isinstance(args, tuple) else (args,)
    y0, t = (stack_nested(x) if type(x) in (list, tuple) and has_tensor(x) else x for x in (y0, t))
    written, tfirst = func, bool(options.pop("tfirst", False))
    func = _in_order(run_again(as_it_runs(func)), tfirst)
    moving = has_tensor((y0, t)) or any(isinstance(a, Operand) for a in flatten(args)[0])
    if not moving:
        solved, reads = _noted(func, y0, t, args, options)
        if not reads:
            return solved
    for name in ("Dfun", "full_output"):
        if options.pop(name, None):
            raise blame(TypeError(f"scipy.integrate.odeint of Tensors takes no {name}: leave it out"))
    if capturing() and not moving:
        refuse(_READS)
    if capturing() and moving:
        y0, t = [
            stack_nested(x) if type(x) is not list or has_tensor(x) else apply(require(np.array), (x,), {})
            for x in (y0, t)
        ]
        found = named(written, (y0, t, *args), options)
        if found is not None:
            if not _noted(func, _value(y0), _value(t), tuple([_value(a) for a in args]), options)[1]:
                return recorded((solution, adjoint), found, y0, t, args, {**options, "tfirst": tfirst})
            refuse(_READS)
    return _solve(func, y0, t, args, options) if moving else _solve_with(func, y0, t, args, options)


def _in_order(func: Callable[..., Any], tfirst: bool) -> Callable[..., Any]:
    """The function of the state and the time, in this order."""
    return (lambda y, s, *rest: func(s, y, *rest)) if tfirst else func


def solution(
    func: Any, y0: Any, t: Any, args: Any, tfirst: bool = False, rtol: Any = None, atol: Any = None,
    h0: float = 0.0, hmax: float = 0.0, hmin: float = 0.0, mxstep: int = 0,
) -> Any:  # fmt: skip
    """`scipy.integrate.odeint` of plain arrays, as generated source calls it."""
    from scipy import integrate

    options = {"rtol": rtol, "atol": atol, "h0": h0, "hmax": hmax, "hmin": hmin, "mxstep": mxstep}
    return integrate.odeint(_in_order(as_it_runs(func), tfirst), y0, t, args, **options)


def adjoint(
    func: Any, places: Any, g: Any, y: Any, t: Any, args: Any, tfirst: bool = False, rtol: Any = None, atol: Any = None,
    h0: float = 0.0, hmax: float = 0.0, hmin: float = 0.0, mxstep: int = 0,
) -> Any:  # fmt: skip
    """The cotangents of those of `(y0, t, *args)` that stand at `places`, from that of the solution `y`, of plain arrays."""
    options = {"rtol": rtol, "atol": atol, "h0": h0, "hmax": hmax, "hmin": hmin, "mxstep": mxstep}
    asked = [k in places for k in range(2 + len(args))]
    move = None if LOCAL.depth else _compiled_move(func, tfirst, y[0], float(t[0]), args)
    func = _in_order(scope().rebuild(func), tfirst)
    found = [d for d in _back(func, flatten(args)[1], options, asked, g, y, t, *args, move=move) if d is not None]
    if not has_tensor((g, y, t, *args)):  # np.array in `func` gives a Tensor, as in any transform
        found = [_value(d) for d in found]
    return tuple(found) if len(found) > 1 else found[0]


def _compiled_move(func: Any, tfirst: bool, *given: Any) -> Any:
    """Return the right-hand side that `_back` integrates, compiled; None where that would not give the bits of eager mode."""
    y, s, args = given
    if not all(map(_is_real, args)):
        return None
    made = _move(func, tfirst)
    try:
        return None if made.specialisation(y, s, y, *args).loops() else made
    except CompileError:
        return None


@functools.lru_cache(maxsize=64)
def _move(func: Any, tfirst: bool) -> Any:
    from ..compiler.compile import compile

    def of(y: Any, s: Any, *xs: Any) -> Any:
        return _flat(func(s, y, *xs) if tfirst else func(y, s, *xs))

    def move(y: Any, s: Any, d_y: Any, *xs: Any) -> Any:
        value, pullback = vjp(of, y, s, *xs)
        return value, pullback(-d_y)

    of.__module__ = move.__module__ = func.__module__  # whose function is then followed, as the user's
    return compile(move)


def _solve(func: Callable[..., Any], y0: Any, t: Any, args: Any, options: dict[str, Any], ours: bool = False) -> Any:
    from scipy import integrate

    leaves, structure = flatten(args)
    levels = [level for x in (y0, t, *leaves) for level in levels_of(x)]
    if levels:
        return _each(levels[0], func, (y0, t, *leaves), structure, options, ours)
    if not has_tensor((y0, t)) and not any(isinstance(a, Operand) for a in leaves):
        return integrate.odeint(func, y0, t, args, **options)
    solved = None
    if not ours:
        values = tuple(unflatten(structure, [_value(x) for x in leaves]))
        solved, reads = _noted(func, _value(y0), _value(t), values, options)
        if reads:
            return _solve_with(func, y0, t, args, options)
    y0 = np.reshape(y0, (-1,)) if isinstance(y0, Operand) else np.atleast_1d(np.asarray(y0, float))
    return _Odeint.apply(func, structure, options, solved, y0, t, *leaves)


def _noted(
    func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, bool]:  # fmt: skip
    """The solution of plain numbers, and whether a call of the function reads what is differentiated from outside."""
    from scipy import integrate

    inputs = Inputs()

    def numbers(y: Any, s: Any, *args: Any) -> Any:
        found = func(y, s, *args)
        found = stack_nested(found) if type(found) in (tuple, list) and has_tensor(found) else found
        inputs.note(found)
        return plain(found, _PATH)

    with recording(None):
        return integrate.odeint(numbers, y0, t, args, **options), bool(inputs.edges)


def _solve_with(func: Callable[..., Any], y0: Any, t: Any, args: Any, options: dict[str, Any]) -> Any:
    """The solution for a function that reads from outside: the way back reads the state from LSODA's interpolant."""
    from scipy import integrate

    tolerances = {k: 1.49012e-8 if options.get(k) is None else np.min(options[k]) for k in ("rtol", "atol")}

    def again(f: Any, span: Any, y0: Any, times: Any) -> Any:
        solve_ivp: Any = integrate.solve_ivp
        return solve_ivp(f, span, y0, method="LSODA", t_eval=times, dense_output=LOCAL.grad, **tolerances)

    def solve(f: Any, span: Any, y0: Any, times: Any) -> Any:
        solved = integrate.odeint(lambda y, s: f(s, y), y0, times, **options)
        path = again(f, span, y0, None)
        path.y, path.t = solved.T, times
        return path

    def moves(s: Any, y: Any) -> Any:
        return _flat(func(y, s, *args))

    y0, t = np.reshape(as_array(y0), (-1,)), as_array(t)
    return np.transpose(Trajectory(Rule(_PATH, solve, again), moves, y0, t[0], t[-1], t).states())


def _each(level: Level, func: Any, given: tuple[Any, ...], structure: Any, options: dict[str, Any], ours: bool) -> Any:
    """Under gs.vmap: one example after the other."""
    many = [level in levels_of(x) for x in given]
    shown = [Level.shown(x, (level,)) if own else x for x, own in zip(given, many, strict=True)]
    found = []
    with under(tuple([other for other in LOCAL.levels if other is not level])):
        for k in range(int(level.size)):
            y0, t, *leaves = [x[k] if own else x for x, own in zip(shown, many, strict=True)]
            if not k:
                _check_alike(level, functools.partial(func, y0, t[0], *unflatten(structure, leaves)))
            found.append(_solve(func, y0, t, unflatten(structure, leaves), options, ours))
        stacked = np.stack(found)
    return Level.hidden(stacked, (level,))


def _check_alike(level: Level, call: Callable[[], Any]) -> None:
    """Raise where what a function gives for the first example depends on what the others are: it reads what is mapped."""
    try:
        found = flatten(call())[0]
    except AutogradError as error:
        raise differs(_PATH) from error
    if any(level in levels_of(x) for x in found):
        raise differs(_PATH)


def _value(x: Any) -> Any:
    return x._value if isinstance(x, Operand) else x


class _Odeint(Function):
    @staticmethod
    def forward(ctx: Any, func: Any, structure: Any, options: Any, solved: Any, y0: Any, t: Any, *leaves: Any) -> Any:
        """The solution, by SciPy, where it is not known yet."""
        from scipy import integrate

        args = unflatten(structure, [_value(x) for x in leaves])
        if solved is None:
            solved = integrate.odeint(
                lambda y, s: np.asarray(_value(func(y, s, *args))), _value(y0), _value(t), **options
            )
        out = wrap(solved)
        ctx.save_for_backward(out, *[x for x in (t, *leaves) if isinstance(x, Operand)])
        ctx.constants = [None if isinstance(x, Operand) else x for x in (t, *leaves)]
        ctx.func, ctx.structure, ctx.options = func, structure, options
        ctx.asked = [isinstance(x, Operand) for x in (y0, t, *leaves)]
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple[Any, ...]:
        """The cotangents, under those vmaps alone that they differ in: a variable is made for each example of the others."""
        saved = ctx.saved_tensors
        differ = [level for x in (g, *saved) for level in levels_of(x)]
        y, *moving = saved
        given = [moving.pop(0) if x is None else x for x in ctx.constants]
        with under(tuple([level for level in LOCAL.levels if level in differ])):
            return (None, None, None, None, *_back(ctx.func, ctx.structure, ctx.options, ctx.asked, g, y, *given))


def _back(
    func: Any,
    structure: Any,
    options: dict[str, Any],
    asked: list[bool],
    g: Any,
    y: Any,
    t: Any,
    *leaves: Any,
    move: Any = None,
) -> list[Any]:
    """The state's cotangent, carried backward in time beside those of the arguments."""
    sizes = [int(np.size(x)) for x in leaves]
    n = y.shape[1]
    if asked[0] or any(asked[2:]):
        with under(()):
            _refuse_jumps(func, structure, options, asked, y, t, leaves)

    def parts(flat: Any) -> list[Any]:
        cuts = np.cumsum([n, n, 1, *sizes]).tolist()
        return [flat[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]

    def along(state: Any, s: Any, *leaves: Any, still: bool = False) -> Any:
        """How the state, its cotangent, that of time and those of the arguments move."""
        y, d_y, *_ = parts(state)
        moved = [k for k, x in enumerate(leaves) if _is_real(x)]

        def of(y: Any, s: Any, *xs: Any) -> Any:
            return _flat(func(y, s, *unflatten(structure, _with(leaves, moved, xs))))

        if move is not None:
            value, slopes = move(y, s, d_y, *leaves)
        elif still:  # a function that jumps at a time which stays has its jump there
            xs = [leaves[k] for k in moved]
            value, pullback = forward(lambda y, *xs: of(y, s, *xs), tuple(range(1 + len(moved))), (y, *xs), {})
            slopes = (pulled := pullback(-d_y))[0], np.zeros(()), *pulled[1:]
        else:
            value, pullback = forward(of, tuple(range(2 + len(moved))), (y, s, *[leaves[k] for k in moved]), {})
            slopes = pullback(-d_y)
        found = dict(zip([-2, -1, *moved], slopes, strict=True))
        zeros = [np.zeros(size) for size in sizes]
        rest = [_flat(found[k]) if k in found else zeros[k] for k in range(len(leaves))]
        return np.concatenate([value, found[-2], _flat(found[-1]), *rest])

    along.still = functools.partial(along, still=True)  # type: ignore[attr-defined]
    d_t: Any = []
    d_y, d_s = g[-1], np.zeros(1)
    d_args = [np.zeros(size) for size in sizes]
    for k in range(y.shape[0] - 1, 0, -1):
        args = unflatten(structure, leaves)
        at = np.sum(g[k] * _flat(func(y[k], t[k], *args)))
        d_t.append(at)
        d_s = d_s - at
        state = np.concatenate([y[k], d_y, d_s, *d_args])
        ends = np.stack([t[k], t[k - 1]])
        _, d_y, d_s, *d_args = parts(_solve(along, state, ends, tuple(leaves), options, ours=True)[1])
        d_y = d_y + g[k - 1]
    d_t = np.stack([d_s[0], *reversed(d_t)])
    shaped = [np.reshape(d, np.shape(x)) if _is_real(x) else None for d, x in zip(d_args, leaves, strict=True)]
    return [d if needed else None for d, needed in zip((d_y, d_t, *shaped), asked, strict=True)]


def _refuse_jumps(
    func: Any, structure: Any, options: dict[str, Any], asked: list[bool], y: Any, t: Any, leaves: Any
) -> None:
    """Raise where the function jumps at a place that moves: along the path, which another solver gives between the times."""
    from scipy import integrate

    if any(levels_of(x) for x in (y, t, *leaves)):
        return
    y, t, *held = map(_value, (y, t, *leaves))
    func = getattr(func, "still", func)
    moving = [k for k, x in enumerate(leaves) if asked[2 + k] and _is_real(x)]
    xs = [held[k] for k in moving]

    def f(s: Any, y: Any, *xs: Any) -> Any:
        return _flat(func(y, s, *unflatten(structure, _with(tuple(held), moving, xs))))

    tolerances = {name: 1.49012e-8 if options.get(name) is None else options[name] for name in ("rtol", "atol")}
    span = float(t[0]), float(t[-1])
    solve: Any = integrate.solve_ivp
    path = solve(lambda s, y: _value(f(s, y, *xs)), span, y[0], method="LSODA", dense_output=True, **tolerances)

    def at(s: Any, y: Any) -> Sample:
        return sample_state(f, s, y, *xs)

    for a, b, low, high in jumps_along(at, path.sol, span[1] < span[0]):
        if starts_at(a.place, *span) and not asked[0]:
            here = [
                sample_state(functools.partial(_at_state, f, y), x.place, *xs).decided for x, y in ((a, low), (b, high))
            ]
            if here[0] == here[1]:  # it starts at the jump, which stays where it is
                continue
        raise jump_along(_PATH, a.place)


def _at_state(f: Callable[..., Any], y: Any, s: Any, *xs: Any) -> Any:
    return f(s, y, *xs)


def _flat(x: Any) -> Any:
    """Return the result of a user's function, which may be a list of numbers, as one axis."""
    return np.reshape(stack_nested(x) if has_tensor(x) else x, (-1,))


def _is_real(x: Any) -> bool:
    return isinstance(x, float) or (hasattr(x, "dtype") and x.dtype.kind == "f")


def _with(leaves: tuple[Any, ...], moved: list[int], xs: tuple[Any, ...]) -> list[Any]:
    """The leaves, of which some are others."""
    found = list(leaves)
    for k, x in zip(moved, xs, strict=True):
        found[k] = x
    return found
