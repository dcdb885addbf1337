"""The types of each op's results: what `infer` says, against what NumPy gives, on its samples in every layout and dtype."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import pytest
from scipy import special  # noqa: F401  # its ops are registered where it is there

import gradscribe as gs
from gradscribe.runtime import lookup, ops
from gradscribe.runtime.ir import infer as inference
from gradscribe.runtime.ir.graph import Value, type_of
from gradscribe.runtime.ir.infer import fits, infer
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import require
from gradscribe.runtime.result_types import BY_VALUE, UNKNOWN

from checks import OF_NUMBERS, TABLE, call_in_every_form, name_of
from graphs import as_values, types_given
from samples import Sample

pytestmark = pytest.mark.audit

OPS = tuple(ops())  # before any test registers one of its own
SIZED_BY_VALUE = {
    "np.arange", "np.compress", "np.extract", "np.nonzero", "np.flatnonzero", "np.argwhere", "np.bincount",
    "gradscribe.runtime.rules.least_squares.least_squares", "gradscribe.runtime.rules.counting.unique_part",
    "gradscribe.runtime.rules.scipy_filters.peaks", "gradscribe.runtime.rules.scipy_splines.smoothing_knots",
}  # fmt: skip


class Audit:
    """What was called while it watched, of what something was inferred, and what was wrong."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.known: set[Op] = set()
        self.problems: dict[str, None] = {}
        self._patch = patch
        self._inferred = {small: functools.lru_cache(inference._inferred.__wrapped__) for small in (inference.SMALL, 0)}

    def call(self, op: Op, bound: tuple[Any, ...]) -> None:
        """Hold one call against what is inferred of it. SMALL of 0 treats every array as a large one, not run at its own size."""
        given = None if op.effect else types_given(op, bound)
        if given is None:
            return
        args = tuple(map(as_values, bound))
        for small, cached in self._inferred.items():
            self._patch.setattr(inference, "SMALL", small)
            self._patch.setattr(inference, "_inferred", cached)
            inferred = infer(op, args)
            if inferred is None:
                continue
            if small:
                self.known.add(op)
            if len(given) != len(inferred) or not all(map(fits, given, inferred)):
                shown = [type_of(b) if isinstance(b, np.ndarray) else b for b in bound]
                facts = f"inferred {list(map(tuple, inferred))}\n    gave     {list(map(tuple, given))}"
                self.problems[f"{op} of {shown}, SMALL = {small}:\n    {facts}"] = None


GROUPS = [pytest.param(fn, group, id=name_of(fn)) for fn, group in TABLE.items()]


@pytest.mark.parametrize(("fn", "group"), GROUPS)
def test_results_are_what_is_inferred(fn: Any, group: list[Sample], monkeypatch: pytest.MonkeyPatch) -> None:
    audit, op = Audit(monkeypatch), lookup(fn)
    call_in_every_form(group, audit.call)
    assert not audit.problems, "\n".join(audit.problems)
    assert op is not None
    known = op in audit.known or op.infix is not None or op in OF_NUMBERS
    assert known, f"{op}: nothing is inferred of its results; state `types=` beside its rule"


# Calls of large arrays, of which nothing is run at its own size: all of the type is known.
X, Q, T = np.linspace(0, 1, 27000).reshape(90, 300), np.eye(80), np.linspace(0, 1, 1716).reshape(11, 12, 13)
F, V, S, N = np.asfortranarray(X), X[0], T.transpose(1, 0, 2)[:, ::2], np.float32(2.0)
LARGE: list[tuple[Any, ...]] = [
    (np.sin, X), (np.add, X, F), (np.add, F, F), (np.multiply, X, V), (np.add, T, T), (np.add, S, S), (np.add, X, 2),
    (np.add, X, N), (operator.add, X, 1.5), (np.where, X > 0, X, 0.0), (np.clip, F, 0, 1), (np.isnan, F), (np.greater, X, F),
    (np.sum, X), (np.sum, X, 0), (np.sum, T, (0, 2)), (np.sum, F, 1, None, None, True), (np.mean, X), (np.max, F, 0),
    (np.argmax, T, 1), (np.std, X, 0), (np.any, X > 0, 1), (np.trace, X), (np.linalg.norm, X), (np.linalg.norm, X, None, 1),
    (np.matmul, X, F.T), (np.matmul, T, T.swapaxes(1, 2)), (np.dot, X, V), (np.inner, V, V), (np.outer, V, V), (np.vdot, V, V),
    (np.einsum, "ij,kj->ik", X, F), (np.einsum, "ij,ij->j", F, F), (np.tensordot, T, T, ((1, 2), (1, 2))),
    (np.transpose, X), (np.swapaxes, T, 0, 2), (np.expand_dims, X, 1), (np.broadcast_to, V, (90, 300)), (np.flip, X, 0),
    (np.reshape, X, (-1, 30)), (np.ravel, X), (np.ravel, F), (np.squeeze, T[:, :1]), (np.moveaxis, S, 0, 2), (np.diagonal, X),
    (operator.getitem, X, 3), (operator.getitem, X, (slice(2, 50, 3), None)), (operator.getitem, S, (..., 5)),
    (np.zeros, (1000, 1000)), (np.ones, (1000, 1000), np.float32), (np.full, (1000, 1000), 1), (np.zeros_like, F), (np.eye, 1000),
    (np.hypot, X, F), (np.full_like, S, 2.0), (np.cumsum, X, 0), (np.sort, X, 1), (np.argsort, F, 0), (np.tril, X),
    (np.roll, X, 2, 0), (np.copy, F), (np.asarray, S), (np.real, X), (np.linalg.svd, X, False), (np.linalg.qr, X),
    (np.linalg.inv, Q), (np.linalg.solve, Q, Q), (np.linalg.det, Q), (np.linalg.eigh, Q),
]  # fmt: skip


@pytest.mark.parametrize("call", LARGE, ids=lambda call: call[0].__name__)
def test_types_of_large_arrays_are_known(call: tuple[Any, ...]) -> None:
    fn, *args = call
    op = require(fn)
    bound = op.bind(*args)
    given, inferred = types_given(op, bound), infer(op, tuple(map(as_values, bound)))
    assert given is not None
    assert inferred is not None
    assert list(map(tuple, inferred)) == list(map(tuple, given))


def test_a_size_that_is_traced_leaves_lengths_open() -> None:
    op = require(np.reshape)
    (inferred,) = infer(op, op.bind(Value(type_of(X)), (Value(type_of(3)), -1))) or ()
    assert inferred == ("array", np.float64, (None, None), None)


@pytest.mark.parametrize(
    "args", [(np.nonzero, X), (np.compress, X[0] > 0, X), (operator.getitem, X, X > 0), (np.arange, np.float64(3.0))],
    ids=["nonzero", "compress", "mask", "arange"],
)  # fmt: skip
def test_lengths_that_follow_from_values_are_open(args: tuple[Any, ...]) -> None:
    fn, *given = args
    op = require(fn)
    inferred = infer(op, tuple(map(as_values, op.bind(*given))))
    assert inferred is not None
    assert all(t.kind == "array" and set(t.shape) == {None} and t.strides is None for t in inferred)


def test_a_function_of_the_users_is_not_run() -> None:
    def spoken(x: Any) -> Any:
        raise AssertionError("it was called")

    op = gs.op(spoken, "x")
    assert infer(op, (Value(type_of(X)),)) is None


def test_what_a_user_states_of_a_function_holds() -> None:
    def repeated(x: Any, n: int) -> Any:
        raise AssertionError("it was called")

    op = gs.op(repeated, "x, n", types=lambda x, n: np.empty((len(x), n), x.dtype))
    assert infer(op, (Value(type_of(V)), 3)) == (("array", np.float64, (300, 3), (24, 8)),)


def test_ops_whose_types_follow_from_values_are_listed() -> None:
    assert {op.path for op in OPS if op.types is UNKNOWN} <= {"text", "round", "min", "max", "sum"}
    assert {op.path for op in OPS if op.types is BY_VALUE} == SIZED_BY_VALUE
