"""check_rule: a user's rule held against finite differences, and against itself in every way that it is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...runtime.arrays import is_array
from ...runtime.errors import EagerWarning, NoRuleError, VerifyError
from ...runtime.ops import MISSING, Kind, Op
from ...runtime.registry import require
from ...runtime.user_ops import takes_tensors, taking_tensors
from ...tracer.core.site import pruned
from ..compiler.compile import compile
from ..derivatives.forward import jvp
from ..derivatives.gradient import grad
from ..derivatives.vjp import vjp
from ..derivatives.vmap import vmap
from ..trees import flatten, unflatten
from .check_grads import direction_like, inexact, paired, with_leaf
from .finite import Slopes, slopes
from .rule_report import CONJUGATE, HOW, RuleReport, fault

__all__ = ["RuleReport", "check_rule"]


@pruned
def check_rule(
    function: Callable[..., Any], samples: Iterable[Any], *, order: int = 2, compiled: bool = True
) -> RuleReport:
    """Check the rule that `gs.rule` gave a function, on samples of its arguments; the report says in words what is wrong.

    A sample is a tuple of arguments (or a dict, by name). On each the cotangent of every floating point or complex argument
    is held against central finite differences; with `order=2` the derivative of that cotangent, too; `gs.jvp` against
    `gs.vjp` by an inner product; shape and dtype of the cotangents, also in float32; for broadcasting functions, arguments
    with axes of one and without axes; `gs.vmap` against a loop; and with `compiled`, compiled gradients against eager ones,
    bit for bit. The report is true where all is well. Raises NoRuleError for a function without a rule.

    >>> import numpy as np, gradscribe as gs
    >>> @gs.rule(gs.Kind.elementwise, x=lambda g, x: g * np.cos(x) * 1.001)
    ... def sine(x):
    ...     return np.sin(np.asarray(x))
    >>> gs.check_rule(sine, [(np.array([0.5, 1.0]),)]).problems
    ['sample 0, argument `x`: the cotangent is 1.001 times what it should be (finite differences)']
    """
    op = require(function)
    if not takes_tensors(function):
        function = taking_tensors(op)
    listed = [_bound(op, sample) for sample in samples]
    if not listed:
        raise ValueError(f"gs.check_rule needs samples of the arguments of {op.path}: [(np.array([0.5, 1.0]),)]")
    if not any(v is not None for v in op.vjps.values()):
        raise NoRuleError.argument(op.path, op.params[0].name)
    check = _Check(function, op, order, compiled)
    with np.errstate(all="ignore"):
        for k, bound in enumerate(listed):
            check.sample(k, bound)
    notes = list(dict.fromkeys(check.notes))
    return RuleReport(op.path, len(listed), check.counts, list(dict.fromkeys(check.problems)), notes)


def _bound(op: Op, sample: Any) -> tuple[Any, ...]:
    if isinstance(sample, dict):
        return op.bind(**sample)
    return op.bind(*sample) if isinstance(sample, (tuple, list)) else op.bind(sample)


class _Check:
    """One check of a rule while it runs."""

    def __init__(self, function: Any, op: Op, order: int, compiled: bool) -> None:
        self.function, self.op, self.order, self.compiled = function, op, order, compiled
        self.counts: dict[str, int] = {}
        self.problems: list[str] = []
        self.notes: list[str] = []

    def sample(self, k: int, bound: tuple[Any, ...]) -> None:
        """All checks of one sample."""
        where = f"sample {k}"
        names = [p.name for p in self.op.params]
        moving = [j for j, a in enumerate(bound) if inexact(a) and self.op.vjps.get(names[j]) is not None]
        for j, a in enumerate(bound):
            if inexact(a) and names[j] not in self.op.vjps:
                self.notes.append(f"argument `{names[j]}` has no formula: its gradient raises NoRuleError")
            elif inexact(a) and self.op.vjps[names[j]] is None:
                self._constant(where, bound, j)
        if not moving:
            self.notes.append(f"{where} has no floating point argument with a formula: nothing was checked")
            return
        sound = self._guarded(where, lambda: self._derivatives(where, bound, moving))
        if not sound:
            return
        self._guarded(where, lambda: self._single(where, bound, moving))
        self._guarded(where, lambda: self._broadcast(where, bound, moving))
        self._guarded(where, lambda: self._batched(where, bound, moving))
        if self.compiled:
            self._guarded(where, lambda: self._compiled(where, bound, moving))

    def _guarded(self, where: str, check: Callable[[], Any]) -> bool:
        """Whether a check found nothing; an error that it raised is a finding."""
        before = len(self.problems)
        try:
            check()
        except Exception as error:  # whatever a wrong formula does
            self.problems.append(f"{where}: the rule raises {type(error).__name__}: {error}")
        return len(self.problems) == before

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def at(self, bound: tuple[Any, ...], moving: list[int]) -> Callable[..., Any]:
        """The function of the moving arguments alone."""

        def of_those(*given: Any) -> Any:
            whole = list(bound)
            for j, a in zip(moving, given, strict=True):
                whole[j] = a
            args, kwargs = self.op.call_form(tuple(whole))
            return self.function(*args, **kwargs)

        return of_those

    def _derivatives(self, where: str, bound: tuple[Any, ...], moving: list[int]) -> None:
        f, given = self.at(bound, moving), [bound[j] for j in moving]
        weights = direction_like(np.random.default_rng(0), f(*_copies(given)))
        found = self._values(where, f, given, weights, moving)
        if found is None:
            return
        self._forward(where, f, given, weights, found)
        if self.order > 1:
            self._second(where, f, given, weights, moving)

    def _values(self, where: str, f: Any, given: list[Any], weights: Any, moving: list[int]) -> Any:
        """The cotangents, held against finite differences; None where they are wrong."""
        kept = _copies(given)
        pulled = vjp(f, *given)[1](weights)
        for j, a, b in zip(moving, flatten(given)[0], flatten(kept)[0], strict=False):
            if not np.array_equal(a, b, equal_nan=True):
                self.problems.append(f"{where}: argument `{self.name(j)}` was written into; formulas make new arrays")
        wrong: list[tuple[int, Slopes]] = []
        conjugated: set[int] = set()
        every: dict[int, Slopes] = {}
        for n, (j, x, g) in enumerate(zip(moving, given, pulled, strict=True)):
            if not self._fits(where, j, x, g):
                return None
            for m, (leaf, leaf_g) in enumerate(zip(flatten(x)[0], flatten(g)[0], strict=True)):
                self._count("values")
                value = _along(f, weights, given, n, m)
                every[n] = slopes(value, leaf, leaf_g)
                if not every[n].ok:
                    wrong.append((n, every[n]))
                    other = np.conj(flatten(vjp(f, *given)[1](_conj(weights))[n])[0][m])
                    if np.iscomplexobj(leaf) and slopes(value, leaf, other).ok:
                        conjugated.add(n)
        for n, s in wrong:
            others = {self.name(moving[m]): every[m] for m in every if m != n}
            words = CONJUGATE if n in conjugated else fault(s, others)
            self.problems.append(f"{where}, argument `{self.name(moving[n])}`: {words} {HOW}")
        return None if wrong else pulled

    def name(self, j: int) -> str:
        """Return the name of an argument."""
        return self.op.params[j].name

    def _fits(self, where: str, j: int, x: Any, g: Any) -> bool:
        """Whether a cotangent has the shapes and dtypes of its argument."""
        self._count("dtypes")
        for leaf, leaf_g in zip(flatten(x)[0], flatten(g)[0], strict=True):
            a, b = np.asarray(leaf), np.asarray(leaf_g)
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                self.problems.append(
                    f"{where}, argument `{self.name(j)}`: the cotangent is {b.dtype}{list(b.shape)}, the argument "
                    f"{a.dtype}{list(a.shape)}"
                )
                return False
        return True

    def _forward(self, where: str, f: Any, given: list[Any], weights: Any, pulled: Any) -> None:
        """Forward mode against reverse mode."""
        self._count("forward mode")
        along = direction_like(np.random.default_rng(1), given)
        pushed = paired(weights, jvp(f, given, along)[1])
        expected = paired(along, list(pulled))
        parts = [
            np.sum(np.abs(np.asarray(g) * v)) for g, v in zip(flatten(list(pulled))[0], flatten(along)[0], strict=True)
        ]
        eps = max(float(np.finfo(np.asarray(x).dtype).eps) for x in flatten(given)[0])
        if not abs(pushed - expected) <= 1e4 * eps * float(sum(parts)):
            self.problems.append(
                f"{where}: gs.jvp moves the output by {pushed:.9g}, gs.vjp by {expected:.9g}: is a formula not linear in g, "
                "or the function not of the stated kind?"
            )

    def _second(self, where: str, f: Any, given: list[Any], weights: Any, moving: list[int]) -> None:
        """The derivative of the cotangents against finite differences of them."""
        along = direction_like(np.random.default_rng(2), given)
        phi: Callable[..., Any] = lambda *args: paired(along, list(vjp(f, *args)[1](weights)))
        found = grad(phi, argnums=tuple(range(len(given))))(*given)
        for n, (j, x, g) in enumerate(zip(moving, given, found, strict=True)):
            for m, (leaf, leaf_g) in enumerate(zip(flatten(x)[0], flatten(g)[0], strict=True)):
                self._count("second order")
                s = slopes(_along(phi, None, given, n, m), leaf, leaf_g)
                if not s.ok:
                    worst = int(np.argmax(np.abs(s.expected - s.found) - s.allowed))
                    self.problems.append(
                        f"{where}, argument `{self.name(j)}`: differentiated once more the rule gives {s.expected[worst]:.9g}, "
                        f"finite differences of it {s.found[worst]:.9g}: has every function in the formulas a rule of its own?"
                    )

    def _single(self, where: str, bound: tuple[Any, ...], moving: list[int]) -> None:
        """The same in single precision."""
        f, given = self.at(bound, moving), [bound[j] for j in moving]
        narrow = [_narrow(x) for x in given]
        try:
            out = f(*_copies(narrow))
        except (TypeError, ValueError):
            self.notes.append("it takes no single precision")
            return
        weights = direction_like(np.random.default_rng(0), out)
        wide = vjp(f, *given)[1](direction_like(np.random.default_rng(0), f(*_copies(given))))
        for j, x, g, exact in zip(moving, narrow, vjp(f, *narrow)[1](weights), wide, strict=True):
            if not self._fits(f"{where} in single precision", j, x, g):
                continue
            for a, b in zip(flatten(g)[0], flatten(exact)[0], strict=True):
                if not np.allclose(a, b, rtol=1e-2, atol=1e-2 * float(np.max(np.abs(b), initial=0.0)), equal_nan=True):
                    self.problems.append(
                        f"{where}, argument `{self.name(j)}`: in single precision the cotangent is another"
                    )

    def _broadcast(self, where: str, bound: tuple[Any, ...], moving: list[int]) -> None:
        """Arguments with an axis of one, and without axes, among those that keep theirs."""
        f, given = self.at(bound, moving), [bound[j] for j in moving]
        stated = self.op.kind is Kind.elementwise
        out = f(*_copies(given))
        if not all(is_array(x) for x in (*given, out)):
            return
        if not stated and (len(given) < 2 or not _broadcast_to(given, out.shape)):
            return
        for n, x in enumerate(given):
            for smaller in (x[..., :1], x[(0,) * x.ndim]) if x.size and x.ndim else ():
                args = [*given[:n], smaller, *given[n + 1 :]]
                try:
                    made = f(*_copies(args))
                except (TypeError, ValueError):
                    if stated:
                        raise
                    continue
                if np.shape(made) != out.shape and not stated:
                    continue  # no broadcasting
                weights = direction_like(np.random.default_rng(3), made)
                g = vjp(f, *args)[1](weights)[n]
                self._count("broadcasting")
                shape = f"{list(np.shape(smaller))} among {list(out.shape)}"
                if not self._fits(f"{where}, shape {shape}", moving[n], smaller, g):
                    continue
                s = slopes(_along(f, weights, args, n, 0), smaller, g)
                if not s.ok:
                    self.problems.append(
                        f"{where}, argument `{self.name(moving[n])}` of shape {shape}: the slope is {s.found[0]:.9g}, but the "
                        f"cotangent says {s.expected[0]:.9g}"
                    )

    def _batched(self, where: str, bound: tuple[Any, ...], moving: list[int]) -> None:
        """Whether a function that is called elementwise is: then `gs.vmap` runs it once for all examples."""
        f, given = self.at(bound, moving), [bound[j] for j in moving]
        if self.op.kind is not Kind.elementwise or not all(is_array(x) and x.ndim for x in given):
            return
        self._count("vmap")
        whole = np.broadcast_arrays(*given)
        stacked = [np.stack([x, x[..., ::-1]]) for x in whole]
        rows = [f(*[s[k].copy() for s in stacked]) for k in range(2)]
        found = vmap(f)(*stacked)
        pairs = [
            *zip(
                flatten(found)[0], [np.stack(r) for r in zip(*[flatten(r)[0] for r in rows], strict=True)], strict=True
            )
        ]
        pairs.append((flatten(rows[0])[0][0][..., ::-1], flatten(rows[1])[0][0]))
        if not all(np.allclose(a, b, rtol=1e-6, atol=0, equal_nan=True) for a, b in pairs):
            self.problems.append(
                f"{where}: it is called elementwise, but an element of the result depends on other elements than its own: "
                "leave gs.Kind.elementwise out"
            )

    def _compiled(self, where: str, bound: tuple[Any, ...], moving: list[int]) -> None:
        """Compiled gradients against eager ones."""
        out = self.at(bound, moving)(*_copies([bound[j] for j in moving]))
        weights = direction_like(np.random.default_rng(4), out)
        if any(w is None for w in flatten(weights)[0]):
            return
        gradient = grad(_written(self.op, self.function, bound, moving, weights), argnums=tuple(range(len(moving))))
        given = [bound[j] for j in moving]
        eager = gradient(*_copies(given), weights)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", EagerWarning)
            try:
                found = compile(gradient, verify="first calls")(*_copies(given), weights)
            except VerifyError as error:
                self.problems.append(f"{where}: compiled gradients are others than eager ones: {error}")
                return
        eagerly = [str(w.message) for w in caught if issubclass(w.category, EagerWarning)]
        if eagerly:
            self.notes.append(
                f"compiled functions run it eagerly: {eagerly[0].partition('runs eagerly: ')[2] or eagerly[0]}"
            )
            return
        self._count("compiled")
        for j, a, b in zip(moving, flatten(found)[0], flatten(eager)[0], strict=False):
            if not np.array_equal(a, b, equal_nan=True) or np.asarray(a).dtype != np.asarray(b).dtype:
                self.problems.append(
                    f"{where}, argument `{self.name(j)}`: the compiled gradient has other bits than the eager"
                )

    def _constant(self, where: str, bound: tuple[Any, ...], j: int) -> None:
        """An argument that is said to have no gradient."""
        f = self.at(bound, [j])
        weights = direction_like(np.random.default_rng(0), f(*_copies([bound[j]])))
        for m, leaf in enumerate(flatten(bound[j])[0]):
            self._count("values")
            s = slopes(_along(f, weights, [bound[j]], 0, m), leaf, np.zeros_like(leaf))
            if not s.ok:
                self.problems.append(
                    f"{where}, argument `{self.name(j)}`: it is said to have no gradient (None), but the result moves along it"
                )
                return


def _conj(tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return unflatten(structure, [None if x is None else np.conj(x) for x in leaves])


def _along(f: Callable[..., Any], weights: Any, args: list[Any], n: int, m: int) -> Callable[[Any], Any]:
    """A function, paired with weights (None: as it is), of one leaf of one argument alone."""
    if weights is None:
        return lambda x: f(*with_leaf(args, n, m, x))
    return lambda x: paired(weights, f(*with_leaf(args, n, m, x)))


def _copies(given: list[Any]) -> list[Any]:
    """The arguments in memory of their own: a function may write into them."""
    leaves, structure = flatten(given)
    made: list[Any] = unflatten(structure, [x.copy() if is_array(x) else x for x in leaves])
    return made


def _narrow(tree: Any) -> Any:
    """A tree in single precision."""
    leaves, structure = flatten(tree)
    narrow = [np.complex64 if np.iscomplexobj(x) else np.float32 for x in leaves]
    cast = [np.asarray(x).astype(t) for x, t in zip(leaves, narrow, strict=True)]
    return unflatten(structure, [a if is_array(x) else a[()] for a, x in zip(cast, leaves, strict=True)])


def _broadcast_to(given: list[Any], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(*[x.shape for x in given]) == shape
    except ValueError:
        return False


def _written(op: Op, function: Any, bound: tuple[Any, ...], moving: list[int], weights: Any) -> Any:
    """A loss as a user would write it, in a module of the user's: what gs.compile captures."""
    space: dict[str, Any] = {"np": np, "fn": function, "__name__": "written_by_check_rule"}
    words = []
    for j, (param, value) in enumerate(zip(op.params, bound, strict=True)):
        if value is param.default and not param.variadic:
            continue
        name = f"x{j}" if j in moving else f"c{j}"
        if j not in moving:
            space[name] = value
        words.append(f"*{name}" if param.variadic else name if param.default is MISSING else f"{param.name}={name}")
    parts = ["np.real(np.sum(np.conj(w) * out))"]
    if isinstance(weights, (tuple, list)):
        parts = [f"np.real(np.sum(np.conj(w[{k}]) * out[{k}]))" for k in range(len(weights))]
    given = ", ".join([*[f"x{j}" for j in moving], "w"])
    exec(f"def loss({given}):\n    out = fn({', '.join(words)})\n    return {' + '.join(parts)}\n", space)
    return space["loss"]
