"""A wrong result type in a graph of one call: the verifier finds it, for each op and for each part of its type."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import (
    signal,
    special,  # noqa: F401  # its ops are registered where it is there
)

import gradscribe as gs
from gradscribe.runtime import lookup, ops
from gradscribe.runtime.errors import VerifyError
from gradscribe.runtime.ir.graph import Call, Graph, Type, Value, values_in
from gradscribe.runtime.ir.verify import verify
from gradscribe.runtime.ops import Op, shape_of
from gradscribe.runtime.result_types import BY_VALUE
from gradscribe.runtime.rules import scipy_windows
from gradscribe.runtime.rules.control import count_of, guard, size_of
from gradscribe.runtime.rules.polynomials import complex_roots
from gradscribe.runtime.rules.scipy_linalg import sqrtm
from gradscribe.runtime.rules.scipy_matrices import logm
from gradscribe.tracer.core.tensor_base import wrap

from checks import TABLE, cases, name_of, watching
from graphs import as_values, types_given
from samples import Sample

pytestmark = pytest.mark.audit

OPS = tuple(ops())  # before any test registers one of its own
OF_EFFECTS = {op.path for op in OPS if op.effect}  # what draws or prints is not run
UNCAUGHT = {"text": "it gives text, which has no type of an array"}
UNCAUGHT |= dict.fromkeys(["round", "min", "max", "sum"], "whether it gives an int follows from what it is given")

# Arguments of the ops that Tensors do not reach in their samples.
A, NUMBERS = np.array([[0.5, 1.0], [1.5, 2.5]]), np.array([0.5, 1.0, 2.5])
BESIDE: dict[Any, tuple[Any, ...]] = {
    shape_of: (A,), size_of: (A, 0), count_of: (A,), guard: (np.float64(0.5), "float", 0.5),
    int: (2.5,), round: (2.5,), min: (2, 3), max: (2, 3), sum: ([2, 3],), math.ceil: (2.5,), math.floor: (2.5,),
    math.trunc: (2.5,), math.isqrt: (5,), math.factorial: (4,), math.comb: (4, 2), math.perm: (4, 2), math.gcd: (4, 6),
    math.lcm: (4, 6),
    np.fft.fftfreq: (4,), np.fft.rfftfreq: (4,), np.zeros: ((2, 3),), np.ones: ((2, 3),), np.empty: ((2, 3),),
    np.indices: ((2, 3),), np.eye: (3,), np.identity: (3,), np.tri: (3,), np.tril_indices: (3,), np.triu_indices: (3,),
    np.diag_indices: (3,), np.bartlett: (4,), np.blackman: (4,), np.hamming: (4,), np.hanning: (4,), np.kaiser: (4, 2.0),
    statistics.mean: (NUMBERS,), statistics.harmonic_mean: (NUMBERS,), statistics.variance: (NUMBERS,),
    statistics.pvariance: (NUMBERS,), sqrtm: (A + 1j,), logm: (A + 1j,), signal.get_window: ("hann", 4), signal.firwin: (5, 0.3),
    **dict.fromkeys(
        (np.polynomial.legendre.leggauss, np.polynomial.chebyshev.chebgauss, np.polynomial.hermite.hermgauss,
         np.polynomial.hermite_e.hermegauss, np.polynomial.laguerre.laggauss), (4,)
    ),
    **{getattr(signal.windows, name): (4,) for name in scipy_windows.PLAIN},
}  # fmt: skip


def graph_of(op: Op, bound: tuple[Any, ...]) -> Graph | None:
    """A graph of one call, with the types that NumPy gives; None where the call raises or gives nothing with a type."""
    types = types_given(op, bound)
    if types is None:
        return None
    call = Call(op, tuple(map(as_values, bound)), tuple(map(Value, types)))
    return Graph(list(dict.fromkeys(values_in(call.args))), [call], list(call.outs))


def planted(type: Type) -> Iterator[tuple[str, Type]]:
    """Wrong types beside a right one, and the part that each is wrong in."""
    yield "dtype", type._replace(dtype=np.dtype(np.float32 if type.dtype != np.float32 else np.float64))
    if type.kind == "array":
        if type.shape:
            yield "shape", type._replace(shape=tuple([n + 1 for n in type.shape]))
            yield "strides", type._replace(strides=tuple([3 * s + 8 for s in type.strides]))
        yield "axes", type._replace(shape=(*type.shape, 1), strides=(*type.strides, 8))
        yield "kind", Type("scalar", type.dtype, (), ())
    else:
        yield "kind", type._replace(kind="python" if type.kind == "scalar" else "scalar")


def with_result(graph: Graph, k: int, type: Type) -> Graph:
    """The graph with another type of one of its results."""
    (call,) = graph.calls
    outs = tuple([Value(type) if j == k else v for j, v in enumerate(call.outs)])
    return Graph(graph.inputs, [Call(call.op, call.args, outs)], list(outs))


def caught_in(op: Op, bound: tuple[Any, ...]) -> set[str]:
    """The parts of the types of a call in which a fault is caught."""
    graph = graph_of(op, bound)
    if graph is None:
        return set()
    verify(graph, "the test")
    found: set[str] = set()
    for k, v in enumerate(graph.calls[0].outs):
        for part, wrong in planted(v.type):
            try:
                verify(with_result(graph, k, wrong), "the plant")
            except VerifyError as error:
                found |= {part} if op.path in str(error) else set()
    return found


def calls_of(fn: Any, op: Op, samples: list[Sample]) -> Iterator[tuple[Any, ...]]:
    """The arguments of the calls of an op that its samples make."""
    seen: list[tuple[Any, ...]] = []

    def told(called: Op, bound: tuple[Any, ...]) -> None:
        if called is op:
            seen.append(bound)

    with watching(told):
        for case in cases(samples):
            xs = case.sample.draw(case.generator("planted"), case.shapes)
            if case.sample.call is None:
                with contextlib.suppress(TypeError):
                    seen.append(op.bind(*xs, **case.options))
            with contextlib.suppress(Exception):
                case.sample.run(*[wrap(x) for x in xs], **case.options)
                gs.grad(lambda *a, case=case: np.sum(np.real(case.sample.run(*a, **case.options))))(*xs)
    if isinstance(op.fn, np.ufunc):
        square = np.full((3, 3), 0.5)
        seen += [op.bind(*[first, *[square] * (op.fn.nin - 1)]) for first in (square, 3)]
        seen += [op.bind(*[square] * (op.fn.nin - 1), 3)]
    if fn in BESIDE:
        seen.append(op.bind(*BESIDE[fn]))
    yield from seen


GROUPS = [pytest.param(fn, group, id=name_of(fn)) for fn, group in TABLE.items()]


@pytest.mark.parametrize(("fn", "group"), GROUPS)
def test_a_planted_fault_is_caught(fn: Any, group: list[Sample]) -> None:
    op = lookup(fn)
    assert op is not None
    found: set[str] = set()
    for bound in calls_of(fn, op, group):
        found |= caught_in(op, bound)
    expected = {"dtype", "kind"}
    if (
        "axes" in found and op.types is not BY_VALUE and fn is not complex_roots
    ):  # it gives arrays, of lengths that are known
        expected |= {"shape", "strides"}
    assert expected <= found or op.path in UNCAUGHT, f"{op}: faults are caught in {sorted(found)} alone"


def test_every_op_has_a_planted_fault() -> None:
    reached = {op.path for fn in TABLE if (op := lookup(fn)) is not None}
    assert {op.path for op in OPS} - reached - OF_EFFECTS - set(UNCAUGHT) == set()
