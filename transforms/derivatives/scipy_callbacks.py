"""SciPy's functions that call the user's: it gets plain numbers there, and what it depends on is found in its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import ConvergenceError, GradientLossError, NoRuleError, SingularPointError
from ...tracer.core.backward import seed_of
from ...tracer.core.custom import CustomNode
from ...tracer.core.dispatch import has_tensor, stack_nested
from ...tracer.core.engine import run_backward
from ...tracer.core.graph import AccumulateGrad, Pick, meta_of, next_sequence
from ...tracer.core.levels import under
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand, alias, levels_of, wrap
from ...tracer.core.thread_state import LOCAL, Era, grad_mode, transforming
from ...tracer.memory.survivors import run_again
from ..arguments import _linked
from ..user_code.scope import as_it_runs
from .custom import linked

__all__ = [
    "Callback",
    "Inputs",
    "Run",
    "Solved",
    "attached",
    "changed",
    "differs",
    "hide_the_rest",
    "not_converged",
    "one_by_one",
    "plain",
    "same",
    "singular",
    "solved_matrix",
    "tracing",
    "without_rule",
]  # fmt: skip


class Solved(NamedTuple):
    """The results of a driver that may be differentiated, and the maker of what the user gets from them."""

    results: tuple[Any, ...]
    give: Callable[[tuple[Any, ...]], Any]


class Callback:
    """The user's function, of plain numbers for SciPy, and traced where a derivative asks for it."""

    def __init__(self, path: str, function: Any, args: Any = ()) -> None:
        self.path = path
        self.function = run_again(as_it_runs(function))
        self.args = args if isinstance(args, tuple) else (args,)

    def __call__(self, *xs: Any) -> Any:
        """The value, traced."""
        found = self.function(*xs, *self.args)
        return stack_nested(found) if type(found) is list and has_tensor(found) else found

    def plain(self, *xs: Any) -> Any:
        """The value for SciPy: a plain number or array, or a tuple of them."""
        with grad_mode(False):
            return plain(self(*xs), self.path)


def differs(path: str) -> Exception:
    """The error of a function that reads what gs.vmap maps."""
    return blame(
        NoRuleError(
            f"scipy.{path} of a function that differs from example to example under gs.vmap has no rule: call it in a "
            "loop, one example after the other."
        )
    )


def plain(value: Any, path: str) -> Any:
    """A value, or those in a tuple, list or dict, without Tensors."""
    if isinstance(value, Operand):
        if levels_of(value):
            raise differs(path)
        return value._value
    if type(value) in (tuple, list):
        return type(value)([plain(v, path) for v in value])
    return {k: plain(v, path) for k, v in value.items()} if type(value) is dict else value


class Inputs:
    """The places of an outer graph that a function depends on, found in the graph that it leaves, up to what is older."""

    def __init__(self) -> None:
        self.began = next_sequence()
        self.edges: dict[Any, None] = {}

    def note(self, value: Any) -> dict[Any, None]:
        """Add what a value depends on; return the nodes between."""
        inner: dict[Any, None] = {}
        stack = [value._node] if isinstance(value, Operand) and value._node is not None else []
        while stack:
            node = stack.pop()
            if node in inner or node in self.edges:
                continue
            base = node.parent if type(node) is Pick else node
            if base.seq < self.began:
                self.edges[node] = None
                continue
            inner[node] = None
            if type(node) is Pick:
                stack.append(base)
            elif type(node) is not AccumulateGrad:
                stack.extend(node.edges)
        return inner

    def of(self, value: Any) -> frozenset[Any]:
        """Add what a value depends on; return these places alone, of all that there are."""
        alone = Inputs()
        alone.began = self.began
        alone.note(value)
        self.edges.update(alone.edges)
        return frozenset(alone.edges)


@contextmanager
def tracing() -> Iterator[None]:
    """Let a block of ours run the user's code traced, also where the transform is over: a pullback that is called later."""
    era = LOCAL.era or Era()
    era.held = True
    with transforming([], gradient=True, era=era):
        yield


class Run:
    """One traced run of a function of `xs` at plain values: the graph from its result to `xs` and to what else it reads.

    With `nodes`, the places in the graph of the `xs`, a derivative of what follows comes to them.
    """

    def __init__(self, function: Callable[..., Any], xs: tuple[Any, ...], nodes: tuple[Any, ...] | None = None) -> None:
        self.inputs = Inputs()
        own = []
        for k, x in enumerate(xs):
            t = wrap(x) if nodes is None or nodes[k] is None else linked(wrap(x), nodes[k])
            own.append(_variable(t))
        self.variables = tuple([t._node for t in own])
        with tracing():
            self.result = function(*own)
        if nodes is not None:
            self.inputs.edges.update(dict.fromkeys([n for n in nodes if n is not None]))
        self.inner = self.inputs.note(self.result)
        for variable in self.variables:  # which moves by itself, whatever it was computed from
            self.inner.pop(variable, None)
        self.edges = tuple([e for e in self.inputs.edges if nodes is None or all(e is not n for n in nodes)])

    @property
    def value(self) -> Any:
        """The result without its graph."""
        return self.result._value if isinstance(self.result, Operand) else self.result

    def check(self, path: str, value: Any, edges: Iterable[Any]) -> None:
        """Raise where an earlier run gave another value, or depended on what this one does not read any more."""
        if not same(self.value, value) or not set(edges) <= {*self.edges}:
            raise changed(path)

    def pull(self, g: Any, wanted: tuple[Any, ...]) -> list[Any]:
        """The cotangents of some places from that of the result; None where it does not depend on one."""
        if not isinstance(self.result, Operand) or self.result._node is None:
            return [None] * len(wanted)
        roots = [(self.result._node, seeded(self.result, g))]
        found = run_backward(
            roots, dict.fromkeys(wanted), retain_graph=True, create_graph=LOCAL.grad, reached={**self.inner}
        )
        return [found.get(node) for node in wanted]

    def jacobian(self) -> Any:
        """The derivatives of the result, which has as many elements as the one variable: a number, or a matrix."""
        (x,) = self.variables
        shape, dtype = meta_of(self.value)
        if not shape:
            (found,) = self.pull(dtype.type(1), (x,))
            return dtype.type(0) if found is None else found
        rows = []
        for k in range(shape[0]):
            unit = np.zeros(shape, dtype)
            unit[k] = 1
            (found,) = self.pull(unit, (x,))
            rows.append(np.zeros(x.shape, dtype) if found is None else found)
        return np.stack(rows)


def _variable(t: Any) -> Any:
    """A Tensor of its own node: of a constant a leaf, else one behind which the graph goes on."""
    if t._node is not None:
        t._node = _linked(t, meta_of(t._value)[1])
    else:
        t._node = AccumulateGrad(t, t._value)
        t._node.inner = LOCAL.era or True
    return t


class Attached(CustomNode):
    """Behind what SciPy found: `pull` gives the cotangents of `edges` from those of the results."""

    pull: Pull

    def own(self, k: int) -> Any:
        """The place of a result in the graph."""
        return Pick(self, k) if self.plural else self

    def _backward(self, g: Any, saved: Any, sums: Any) -> tuple[Any, ...]:
        return tuple(_pulled(self, tuple(g) if self.plural else (g,)))


Pull = Callable[[Attached, tuple[Any, ...]], list[Any]]


def attached(path: str, results: tuple[Any, ...], edges: tuple[Any, ...], pull: Pull) -> tuple[Any, ...]:
    """The results with a node behind them that leads to `edges`; as they are where nothing is differentiated."""
    if not edges or not LOCAL.grad:
        return results
    node = Attached()
    node.begin(tuple([wrap(None, e) for e in edges]), f"{path.rpartition('.')[2].title().replace('_', '')}Backward")
    node.under = ()
    node.pull = pull
    made = tuple([alias(r) if isinstance(r, Operand) else wrap(r) for r in results])
    for t, behind in zip(made, node.make(made, several=len(made) > 1), strict=True):
        t._node = behind
    return made


def _pulled(node: Attached, gs: tuple[Any, ...]) -> list[Any]:
    """The cotangents; for many at once, as of a Jacobian, one example after the other."""
    return one_by_one(lambda *gs: _differentiable(node, gs) if LOCAL.grad else node.pull(node, gs), gs)


def one_by_one(run: Callable[..., Any], given: tuple[Any, ...]) -> list[Any]:
    """What `run` gives of these; under gs.vmap of one example after the other."""
    level = next((level for x in given for level in levels_of(x)), None)
    if level is None:
        return list(run(*given))
    own = [level in levels_of(x) for x in given]
    shown = [level.shown(x, (level,)) if many else x for x, many in zip(given, own, strict=True)]
    with under(tuple([other for other in LOCAL.levels if other is not level])):
        each = [
            one_by_one(run, tuple([x[k] if many else x for x, many in zip(shown, own, strict=True)]))
            for k in range(int(level.size))
        ]
        found: list[Any] = []
        for parts in zip(*each, strict=True):
            there = next((d for d in parts if d is not None), None)
            zeros: Any = None if there is None else np.zeros(np.shape(there))
            found.append(None if there is None else np.stack([zeros if d is None else d for d in parts]))
    return [None if d is None else level.hidden(d, (level,)) for d in found]


def _differentiable(node: Attached, gs: tuple[Any, ...]) -> list[Any]:
    """The cotangents, with one node behind all of them, which traces how they come about when its own derivative is asked for.

    So a derivative of any order is one step for the graph around it, as it is one call in generated source.
    """
    path, metas, edges = node.label.removesuffix("Backward"), node.outputs, node.edges
    with grad_mode(False):
        found = node.pull(node, tuple([alias(g) if isinstance(g, Operand) else g for g in gs]))
    there = [k for k, d in enumerate(found) if d is not None]
    moving = [k for k, g in enumerate(gs) if isinstance(g, Operand) and g._node is not None]

    def pull(behind: Attached, hs: tuple[Any, ...]) -> list[Any]:
        inputs = Inputs()
        with tracing():
            again = attached(
                path, tuple([wrap(np.broadcast_to(np.zeros((), d), s)) for s, d in metas]), edges, node.pull
            )
            inner_node = again[0]._node.parent if type(again[0]._node) is Pick else again[0]._node
            given = node.pull(inner_node, tuple([gs[k] for k in range(len(gs))]))
        inner: dict[Any, None] = {}
        roots = []
        for k, h in zip(there, hs, strict=True):
            if h is not None and isinstance(given[k], Operand) and given[k]._node is not None:
                inner |= inputs.note(given[k])
                roots.append((given[k]._node, seeded(given[k], h)))
        wanted = (*[gs[k]._node for k in moving], *edges)
        if not roots:
            return [None] * len(wanted)
        got = run_backward(roots, dict.fromkeys(wanted), retain_graph=True, create_graph=LOCAL.grad, reached=inner)
        return [got.get(e) for e in wanted]

    places = (*[gs[k]._node for k in moving], *edges)
    made = attached(path, tuple([found[k] for k in there]), places, pull)
    for k, d in zip(there, made, strict=True):
        found[k] = d
    return found


def seeded(value: Any, g: Any) -> Any:
    """The cotangent of a value as the engine starts from it."""
    seed = seed_of(value, g)
    if LOCAL.grad or (bool(LOCAL.levels) and isinstance(g, Operand)) or not isinstance(seed, Operand):
        return seed
    return seed._value


def without_rule(path: str, what: str, value: Any, edges: tuple[Any, ...]) -> Any:
    """A result of SciPy's that can be looked at, and whose derivative raises by name."""

    def pull(node: Attached, g: tuple[Any, ...]) -> list[Any]:
        if g[0] is None or not np.any(plain(g[0], path)):  # nobody has asked
            return [None] * len(node.edges)
        raise blame(
            NoRuleError(
                f"`{what}` of scipy.{path} has no derivative here: gs.stop_gradient of it says that none is meant, and what the "
                "call solves for is differentiated."
            )
        )

    return value if meta_of(value)[1].kind not in "fc" else attached(f"{path}_{what}", (value,), edges, pull)[0]


def hide_the_rest(path: str, result: Any, x: Any, known: tuple[str, ...] = ()) -> None:
    """Let each array of floats in a result of SciPy's, but those `known`, raise where its derivative is asked for."""
    if isinstance(x, Operand) and x._node is not None:
        edges = (x._node.parent if type(x._node) is Pick else x._node).edges
        for name, value in list(result.items()):
            if name not in known and isinstance(value, (np.ndarray, np.generic, float)):
                result[name] = without_rule(path, name, value, edges)


def singular(path: str, why: str) -> Exception:
    """The error of a solution that does not move smoothly with what it depends on."""
    return blame(SingularPointError(f"scipy.{path}: the solution has no derivative, since {why}."))


def not_converged(path: str, message: Any) -> Exception:
    """The error of a solution that is none."""
    return blame(
        ConvergenceError(
            f"scipy.{path} has not converged, so that its result has no derivative: {str(message).strip()}\nStart nearer, allow "
            "more iterations, or take gs.stop_gradient of what it depends on."
        )
    )


def changed(path: str) -> Exception:
    """The error of a function that is another one when the derivative calls it again."""
    return blame(
        GradientLossError(
            f"the function that scipy.{path} calls gave other values when it was called again for the derivative, or reads plain "
            "ones where it read traced ones: what it reads (a global, an attribute, random numbers) has changed since. Pass that "
            "as an argument, or let it stay."
        )
    )


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same, bit for bit but for the sign of zeros."""
    return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True))


def is_degenerate(function: Callable[..., Any], at: Any, jac: Any, value: Any) -> bool:
    """Whether equations have a multiple root, next to which their slopes are small by chance of where a method ended.

    Of a simple root the slopes are the same after Newton's next step; of `x^m` they are half of what they were, or less.
    """
    jac, value = np.asarray(jac), np.asarray(value)
    step = value / jac if not jac.ndim else np.linalg.solve(jac, value)
    with grad_mode(False):
        after = np.asarray(plain(Run(function, (at - step,)).jacobian(), ""))
    change = after / jac * step - step if not jac.ndim else np.linalg.solve(jac, after @ step) - step
    return bool(np.any(np.abs(change) > 0.4 * np.abs(step) + 1e-3 * np.max(np.abs(step), initial=0.0)))


def solved_matrix(path: str, jac: Any, g: Any, what: str) -> Any:
    """The solution w of `jac^T w = g`, of numbers or of a vector; raises where there is none."""
    held = np.asarray(jac._value if isinstance(jac, Operand) else jac)
    if not np.all(np.isfinite(held)):
        raise singular(path, f"{what} is not finite there")
    if not held.ndim:
        if held == 0:
            raise singular(path, f"{what} is zero there")
        return g / jac
    if held.size and not np.linalg.cond(held, 1) * np.finfo(held.dtype).eps * len(held) < 1:
        raise singular(path, f"{what} is singular there")
    return np.linalg.solve(np.transpose(jac), g)
