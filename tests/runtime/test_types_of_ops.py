"""The types of each op's results: what `infer` says, against what NumPy gives, on its samples in every layout and dtype."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import special  # noqa: F401  # its ops are registered where it is there

import gradscribe as gs
from gradscribe.runtime import lookup, ops
from gradscribe.runtime.ir import infer as inference
from gradscribe.runtime.ir.graph import Type, Value, type_of
from gradscribe.runtime.ir.infer import fits, infer
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import require
from gradscribe.runtime.rules.control import SIZES, guard
from gradscribe.tracer import dispatch
from gradscribe.tracer.operand import wrap

from checks import TABLE, Case, cases, laid_out, name_of
from samples import Sample

pytestmark = pytest.mark.audit

OPS = tuple(ops())  # before any test registers one of its own
OF_NUMBERS = {*SIZES, require(guard)}


def as_values(x: Any) -> Any:
    """An argument as it stands in a graph: arrays and NumPy's numbers are values."""
    if isinstance(x, (np.ndarray, np.generic)):
        return Value(type_of(x))
    if type(x) in (tuple, list):
        return type(x)([as_values(e) for e in x])
    if isinstance(x, slice):
        return slice(as_values(x.start), as_values(x.stop), as_values(x.step))
    return x


def types_of(op: Op, bound: tuple[Any, ...]) -> tuple[Type, ...] | None:
    """The types of what a call gives; None where it raises."""
    args, kwargs = op.call_form(bound)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = op.fn(*args, **kwargs)
            return tuple(map(type_of, (results,) if op.n_out == 1 else results))
        except Exception:
            return None


def problem_of(op: Op, bound: tuple[Any, ...]) -> str | None:
    """How the results of a call are otherwise than inferred; None where they are not, or it raises."""
    before, inferred = types_of(op, bound), infer(op, tuple(map(as_values, bound)))
    if before is None or inferred is None:
        return None
    if len(before) == len(inferred) and all(map(fits, before, inferred)):
        return None
    shown = [type_of(b) if isinstance(b, np.ndarray) else b for b in bound]
    return f"{op} of {shown}:\n    inferred {list(map(tuple, inferred))}\n    gave     {list(map(tuple, before))}"


class Audit:
    """What was called while it watched, and what was wrong."""

    def __init__(self) -> None:
        self.seen: set[Op] = set()
        self.known: set[Op] = set()
        self.problems: dict[str, None] = {}

    def call(self, op: Op, bound: tuple[Any, ...]) -> None:
        """Hold one call against what is inferred of it."""
        if op.effect:
            return
        self.seen.add(op)
        if types_of(op, bound) is not None and infer(op, tuple(map(as_values, bound))) is not None:
            self.known.add(op)
        problem = problem_of(op, bound)
        if problem is not None:
            self.problems[problem] = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Hold each op that Tensors meet against what is inferred, rules among them."""
        plain = dispatch.run

        def run(op: Op, bound: tuple[Any, ...]) -> Any:
            self.call(op, tuple([dispatch.unwrap(b) for b in bound]))
            return plain(op, bound)

        dispatch.run = run
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                yield
        finally:
            dispatch.run = plain


def inputs(case: Case) -> Iterator[list[Any]]:
    """Arrays for a case: each layout, each dtype, Python's and NumPy's numbers, no elements, one, or no axes at all."""
    rng = case.generator("types")
    usual = case.sample.draw(rng, case.shapes)
    for layout in ("C", "F", "spaced", "python", "numpy"):
        yield laid_out(usual, layout)
    yield [np.ascontiguousarray(x.T).T if x.ndim > 1 else x for x in usual]
    for dtype in (np.float32, np.complex128, np.int64, np.int8, bool):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield [x.astype(dtype) for x in usual]
    for shape in ((), (1,), (1, 1), (0,), (2, 0)):
        yield case.sample.draw(rng, (shape,) * len(case.shapes))


def audited(samples: Sequence[Sample]) -> Audit:
    """An audit of an op on its samples: called on arrays, on Tensors, and within its own derivatives."""
    audit = Audit()
    for case in cases(samples):
        op = lookup(case.sample.fn)
        assert op is not None
        if isinstance(op.fn, np.ufunc):  # Tensors have a shorter way to these
            square = case.generator().random((3, 3))
            for first in (square, 3):  # of some ufuncs one argument is a whole number
                audit.call(op, op.bind(*[first, *[square] * (op.fn.nin - 1)]))
                audit.call(op, op.bind(*[*[square] * (op.fn.nin - 1), first]))
        for k, xs in enumerate(inputs(case)):
            if case.sample.call is None:
                with contextlib.suppress(TypeError):
                    audit.call(op, op.bind(*xs, **case.options))
            if not case.sample.scoped and (k < 8 or case.sample.call is not None):
                with audit.watching(), contextlib.suppress(Exception):
                    case.sample.run(*[wrap(x) for x in xs], **case.options)
        usual = next(inputs(case))
        with audit.watching(), contextlib.suppress(Exception):
            value, back = gs.vjp(case.function(), *usual)
            if case.sample.differentiable:
                back(np.ones_like(value))
    return audit


GROUPS = [pytest.param(fn, group, id=name_of(fn)) for fn, group in TABLE.items()]


@pytest.mark.parametrize("small", [64, 0])
@pytest.mark.parametrize(("fn", "group"), GROUPS)
def test_results_are_what_is_inferred(
    fn: Any, group: list[Sample], small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`small` of 0 treats every array as a large one, of which nothing is run at its own lengths."""
    monkeypatch.setattr(inference, "SMALL", small)
    inference._inferred.cache_clear()
    audit, op = audited(group), lookup(fn)
    inference._inferred.cache_clear()
    assert not audit.problems, "\n".join(audit.problems)
    assert op is not None
    assert small == 0 or op in audit.known or op.infix is not None or op in OF_NUMBERS
