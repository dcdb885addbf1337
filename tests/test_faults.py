"""Tests of the tests: faults planted in every formula of the registry, each of which finite differences must catch."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradscribe.runtime import lookup, ops
from gradscribe.runtime.ops import Op, Vjp
from gradscribe.tracer import engine

from checks import TABLE, agree, cases, gradient_problem, weights_for
from samples import BINARY, NEWER

FAULTS: dict[str, Callable[[Any], Any]] = {
    "sign": lambda d_x: -d_x,
    "factor": lambda d_x: d_x * 1.001,
    "offset": lambda d_x: d_x + 0.01,
}


def owners() -> Iterator[tuple[Any, Op]]:
    """Each set of rules once, with the function whose samples try it; operators share with NumPy's functions."""
    seen: set[int] = set()
    for fn in TABLE:
        op = lookup(fn)
        if id(op.vjps) not in seen and any(op.vjps.values()):
            seen.add(id(op.vjps))
            yield fn, op


@contextlib.contextmanager
def planted(op: Op, vjps: dict[str, Vjp | None]) -> Iterator[None]:
    """The op with other rules for a while."""
    users = [o for o in ops() if o.vjps is op.vjps]
    before = dict(op.vjps)
    try:
        op.vjps.update(vjps)
        forget(users)
        yield
    finally:
        op.vjps.update(before)
        forget(users)


def forget(users: list[Op]) -> None:
    for user in users:
        user.plans.clear()
        user.derived.clear()


def faulty(vjp: Vjp, fault: Callable[[Any], Any]) -> Vjp:
    """The formula with a fault in what it gives; nothing stays nothing."""

    def formula(*args: Any) -> Any:
        d_x = vjp.fn(*args)
        return None if d_x is None else fault(d_x)

    made = Vjp(formula)
    made.names = vjp.names
    return made


def caught(fn: Any, errors: bool = True) -> bool:
    """Whether finite differences (or an error) give a wrong gradient of an op away on any of its samples."""
    for case in cases(TABLE[fn]):
        if not case.sample.differentiable or not case.shapes:
            continue
        for dtype in (np.float64, np.complex128) if case.sample.complex else (np.float64,):
            try:
                if gradient_problem(case, dtype) is not None:
                    return True
            except Exception:  # a wrong gradient may have a shape that fits nowhere
                if not errors:
                    raise
                return True
    return False


def is_constant(op: Op, name: str) -> bool:
    """Whether a formula gives zeros, which neither a sign nor a factor changes."""
    vjp = op.vjps[name]
    assert vjp is not None
    code = vjp.fn.__code__
    return vjp.names == ("g",) and code.co_names == ("np", "zeros_like")


def formula_of(vjp: Vjp) -> tuple[Any, ...]:
    """What two formulas have in common that are the same."""
    code = vjp.fn.__code__
    return vjp.names, code.co_code, code.co_names, code.co_consts


RULES = [(fn, op, name) for fn, op in owners() for name, vjp in op.vjps.items() if vjp is not None]
SWAPS = [
    (fn, op, pair)
    for fn, op in owners()
    for pair in itertools.combinations([(name, vjp) for name, vjp in op.vjps.items() if vjp is not None], 2)
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_any_formula_is_caught(fault: str) -> None:
    missed = []
    for fn, op, name in RULES:
        if (fault != "offset" and is_constant(op, name)) or (op.fn is np.clip and name in ("min", "max") and not NEWER):
            continue
        vjp = op.vjps[name]
        assert vjp is not None
        with planted(op, {name: faulty(vjp, FAULTS[fault])}):
            if not caught(fn, errors=False):
                missed.append(f"{op.path}, {name}=")
    assert not missed, f"the samples do not notice a wrong {fault} in the rules of: {missed}"


def test_swapped_arguments_are_caught() -> None:
    missed = []
    for fn, op, ((a, first), (b, second)) in SWAPS:
        if op.fn is np.clip and {a, b} & {"min", "max"} and not NEWER:
            continue
        if formula_of(first) == formula_of(second):
            continue  # the same formula twice, as for np.add
        with planted(op, {a: second, b: first}):
            if not caught(fn):
                missed.append(f"{op.path}, {a}= and {b}=")
    assert not missed, f"the samples do not notice swapped rules of: {missed}"


def test_a_dropped_conjugate_is_caught() -> None:
    missed = []
    for fn, op, name in RULES:
        smooth = [s for s in TABLE[fn] if s.complex and s.differentiable]
        if not smooth or op.fn is np.real:  # whose cotangent is real
            continue
        vjp = op.vjps[name]
        assert vjp is not None
        with planted(op, {name: faulty(vjp, conjugate)}):
            if not any(gradient_problem(c, np.complex128) is not None for c in cases(smooth) if c.shapes):
                missed.append(f"{op.path}, {name}=")
    assert not missed, f"the samples do not notice a dropped conjugate in the rules of: {missed}"


def conjugate(d_x: Any) -> Any:
    """The conjugate of what is complex."""
    return np.conj(d_x) if getattr(d_x, "dtype", np.dtype(float)).kind == "c" else d_x


def test_a_missing_reduction_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that takes one slice of a broadcast axis in place of its sum."""
    plain = engine.fit

    def fit(g: Any, meta: Any) -> Any:
        shape = meta[0]
        while np.ndim(g) > len(shape):
            g = g[0]
        for axis, n in enumerate(shape):
            if n == 1 < np.shape(g)[axis]:
                g = np.take(g, [0], axis=axis)
        return plain(g, meta)

    monkeypatch.setattr(engine, "fit", fit)
    broadcasting = [fn for fn, group in TABLE.items() if any(s.shapes is BINARY and s.differentiable for s in group)]
    missed = [fn for fn in broadcasting if not caught(fn) and fn is not np.heaviside]  # which has no slope
    assert len(broadcasting) > 20
    assert not missed


def test_a_sound_rule_is_not_accused() -> None:
    for fn in (np.sin, np.multiply, np.sum):
        assert not caught(fn)


def test_finite_differences_see_one_wrong_element() -> None:
    """A gradient that is wrong in one element alone, by one part in a thousand."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=20), weights_for(rng, np.zeros(20))
    right = np.cos(x) * w
    wrong = right.copy()
    wrong[7] *= 1.001

    def loss(y: Any) -> Any:
        return np.sum(np.sin(y) * w)

    assert agree(loss, [right], [x], rng, 1e-6) is None
    assert agree(loss, [wrong], [x], rng, 1e-6) is not None
