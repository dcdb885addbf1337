"""Faults planted in every formula of the registry, and whether the checks of the samples notice them.

Usage: python faults.py    prints how many of each kind were planted and caught
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradscribe.runtime import lookup, ops
from gradscribe.runtime.ops import Op, Vjp
from gradscribe.tracer.core import cotangents

from checks import TABLE, cases, gradient_problem
from samples import BINARY, NEWER

Tried = tuple[str, bool]  # where a fault was planted, and whether it was caught


def conjugate(d_x: Any) -> Any:
    """The conjugate of what is complex."""
    return np.conj(d_x) if getattr(d_x, "dtype", np.dtype(float)).kind == "c" else d_x


CHANGES: dict[str, Callable[[Any], Any]] = {
    "sign": lambda d_x: -d_x,
    "factor 1.001": lambda d_x: d_x * 1.001,
    "offset 0.01": lambda d_x: d_x + 0.01,
}


def owners() -> Iterator[tuple[Any, Op]]:
    """Each set of rules once, with the function whose samples try it; operators share with NumPy's functions."""
    seen: set[int] = set()
    for fn in TABLE:
        op = lookup(fn)
        if op is not None and id(op.vjps) not in seen and any(op.vjps.values()):
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
    """Ops without what was made of their rules."""
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


def rules() -> Iterator[tuple[Any, Op, str, Vjp]]:
    """Every formula: the function whose samples try it, the op, the argument, the formula."""
    for fn, op in owners():
        for name, vjp in list(op.vjps.items()):
            if vjp is not None and (op.fn is not np.clip or name not in ("min", "max") or NEWER):
                yield fn, op, name, vjp


def is_constant(vjp: Vjp) -> bool:
    """Whether a formula gives zeros, which neither a sign nor a factor changes."""
    return vjp.names == ("g",) and vjp.fn.__code__.co_names == ("np", "zeros_like")


def formula_of(vjp: Vjp) -> tuple[Any, ...]:
    """What two formulas have in common that are the same."""
    code = vjp.fn.__code__
    return vjp.names, code.co_code, code.co_names, code.co_consts


def changed(kind: str) -> Iterator[Tried]:
    """What a formula gives, changed."""
    for fn, op, name, vjp in rules():
        if kind == "offset 0.01" or not is_constant(vjp):
            with planted(op, {name: faulty(vjp, CHANGES[kind])}):
                yield f"{op.path}, {name}=", caught(fn, errors=False)


def swapped() -> Iterator[Tried]:
    """The formulas of two arguments, each in the place of the other; the same formula twice, as for np.add, is none."""
    for (fn, op, a, first), (_, other, b, second) in itertools.combinations(list(rules()), 2):
        if op is other and formula_of(first) != formula_of(second):
            with planted(op, {a: second, b: first}):
                yield f"{op.path}, {a}= and {b}=", caught(fn)


def conjugates_dropped() -> Iterator[Tried]:
    """The conjugate of the cotangent of a complex argument."""
    for fn, op, name, vjp in rules():
        smooth = [s for s in TABLE[fn] if s.complex and s.differentiable]
        if smooth and op.fn is not np.real:  # whose cotangent is real
            ran: list[
                Any
            ] = []  # not of an argument that is real beside complex ones, such as the order of a Bessel function

            def noted(d_x: Any, ran: list[Any] = ran) -> Any:
                ran.append(d_x)
                return conjugate(d_x)

            with planted(op, {name: faulty(vjp, noted)}):
                found = any(gradient_problem(c, np.complex128) is not None for c in cases(smooth) if c.shapes)
            if ran:
                yield f"{op.path}, {name}=", found


def reductions_missing() -> Iterator[Tried]:
    """An engine that takes one slice of a broadcast axis in place of its sum, once for each op that broadcasts."""
    summed = cotangents.summed

    def without_sums(g: Any, shape: tuple[int, ...]) -> Any:
        while np.ndim(g) > len(shape):
            g = g[0]
        for axis, n in enumerate(shape):
            if n == 1 < np.shape(g)[axis]:
                g = np.take(g, [0], axis=axis)
        return g

    for fn, group in TABLE.items():
        if any(s.shapes is BINARY and s.differentiable for s in group) and fn is not np.heaviside:  # which has no slope
            cotangents.summed = without_sums
            try:
                yield lookup(fn).path, caught(fn)  # type: ignore[union-attr]
            finally:
                cotangents.summed = summed


FAULTS: dict[str, Callable[[], Iterator[Tried]]] = {
    **{kind: lambda kind=kind: changed(kind) for kind in CHANGES},  # type: ignore[misc]
    "swapped arguments": swapped,
    "missing reduction": reductions_missing,
    "dropped conjugate": conjugates_dropped,
}


def main() -> int:
    """Plant each, and print how many were caught."""
    warnings.simplefilter("ignore")
    tried = {}
    for kind, plant in FAULTS.items():
        tried[kind] = list(plant())
        missed = [where for where, found in tried[kind] if not found]
        print(f"{kind:<20}{len(tried[kind]):6} planted {len(tried[kind]) - len(missed):6} caught", flush=True)
        for where in missed:
            print(f"    not caught: {where}")
    total = [found for group in tried.values() for _, found in group]
    print(f"{'all':<20}{len(total):6} planted {sum(total):6} caught")
    return 0 if all(total) else 1


if __name__ == "__main__":
    sys.exit(main())
