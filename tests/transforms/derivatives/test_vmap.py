"""gs.vmap: every op of the table against a Python loop over the examples, eager, differentiated and compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime import batching

from checks import TABLE, Case, cases, every, leaves, others, thinned, weights_for
from samples import Sample

EXAMPLES = 3
UNIFORM = (1e-12, 1e-13)  # a sum may run in another order, a product through another loop of BLAS
DERIVED = (1e-9, 1e-10)
# NumPy has no call for all examples at once: lengths, tables or first values differ among them. docs/vmap.md lists these.
LOOPS = {
    "np.argwhere", "np.convolve", "np.correlate", "np.flatnonzero", "np.interp", "np.nansum", "np.nonzero", "np.searchsorted",
    "np.sum", "operator.getitem",
    "gradscribe.runtime.rules.counting.counted", "gradscribe.runtime.rules.counting.of_bin",
    "gradscribe.runtime.rules.counting.unique_part", "gradscribe.runtime.rules.counting.weighted_count", "np.bincount",
    "gradscribe.runtime.rules.counting.evenly_weighted_count",
    "gradscribe.runtime.rules.least_squares.least_squares", "math.nextafter",
    "gradscribe.runtime.rules.python_statistics.normal_quantile", "np.linalg.matrix_rank", "np.digitize", "np.isin", "np.lexsort",
    "np.packbits", "np.ravel_multi_index", "np.unpackbits", "np.unravel_index",
    "gradscribe.runtime.rules.polynomials.complex_roots",
    "gradscribe.runtime.rules.distribution_functions.of_family",
    *[f"gradscribe.runtime.rules.scipy_matrices.{name}" for name in ("exchanges", "logm", "lu_packed", "order_of", "row_order")],
    *[f"gradscribe.runtime.rules.scipy_resampling.{name}" for name in ("prefilter", "prefilter_back")],
    "gradscribe.runtime.rules.scipy_splines.smoothing_knots",
    *[f"gradscribe.runtime.rules.scipy_iterations.{name}" for name in ("iterated", "iterated_back")],
    *[f"gradscribe.runtime.rules.scipy_sparse.{name}" for name in ("compressed_product", "compressed_solve")],
    "gradscribe.runtime.rules.scipy_linalg.expm", "gradscribe.runtime.rules.scipy_linalg.solve_banded",
    "gradscribe.runtime.rules.scipy_linalg.solve_sylvester", "gradscribe.runtime.rules.scipy_linalg.solve_triangular",
    "gradscribe.runtime.rules.scipy_linalg.sqrtm", "gradscribe.runtime.rules.scipy_signal.convolved", "np.pad",
    "gradscribe.runtime.rules.scipy_filters.delayed", "gradscribe.runtime.rules.scipy_filters.lags", "scipy.signal.fftconvolve",
    "scipy.signal.oaconvolve", "scipy.signal.convolve", "scipy.signal.convolve2d", "scipy.signal.correlate",
    "scipy.signal.lfilter", "scipy.ndimage.correlate", "scipy.ndimage.correlate1d", "scipy.spatial.distance.squareform",
    "scipy.optimize.linear_sum_assignment", "scipy.stats.rankdata", "gradscribe.runtime.rules.scipy_filters.peaks",
    "np.arange", "np.diag_indices_from", "np.ix_", "np.tril_indices_from", "np.triu_indices_from",
}  # fmt: skip


def usable(samples: Iterable[Sample]) -> list[Case]:
    """The cases with array arguments, without the one that branches on their values."""
    return [case for case in cases(samples) if case.shapes and case.sample.name != "guard"]


def drawn(case: Case, dtype: Any = np.float64) -> list[list[Any]]:
    """The arguments of each example."""
    rng = case.generator("vmap")
    return [case.sample.draw(rng, case.shapes, dtype) for _ in range(EXAMPLES)]


def mixtures(case: Case) -> Iterator[tuple[int | None, ...]]:
    """in_axes: all first, all last, all second, and each argument alone."""
    count = len(case.shapes)
    yield from dict.fromkeys([(0,) * count, (-1,) * count, tuple([min(1, len(s)) for s in case.shapes])])
    if count > 1:
        yield from [tuple([0 if j == k else None for j in range(count)]) for k in range(count)]


def arranged(examples: list[list[Any]], axes: tuple[int | None, ...]) -> tuple[list[Any], list[list[Any]]]:
    """The arguments for all examples at once, and for each."""
    whole = [examples[0][k] if a is None else np.stack([e[k] for e in examples], a) for k, a in enumerate(axes)]
    return whole, [[whole[k] if a is None else e[k] for k, a in enumerate(axes)] for e in examples]


def outcome(call: Callable[[], Any]) -> Any:
    """The arrays that a call gives, or its error."""
    with np.errstate(all="ignore"):
        try:
            return leaves(call())
        except Exception as error:
            return error


def stacked(rows: list[Any]) -> list[Any]:
    """The results of all examples, as vmap gives them."""
    return [np.stack(column) for column in zip(*[leaves(row) for row in rows], strict=True)]


def problem(expected: Any, found: Any, tolerance: tuple[float, float]) -> str | None:
    """How two outcomes differ, or None."""
    if isinstance(expected, Exception) or isinstance(found, Exception):
        return None if type(expected) is type(found) else f"{expected!r} became {found!r}"
    for e, f in zip(expected, found, strict=True):
        if type(f) is not np.ndarray or (e.shape, e.dtype) != (f.shape, f.dtype):
            return f"{type(f).__name__} {np.shape(f)} {np.asarray(f).dtype} in place of {e.shape} {e.dtype}"
        if not np.allclose(e, f, *tolerance, equal_nan=True):
            return f"differs by {np.max(np.abs(e - f))}"
    return None


def fail_on(problems: Iterable[tuple[str, str | None]]) -> None:
    """Fail with all that is wrong."""
    lines = [f"{label}: {text}" for label, text in problems if text is not None]
    assert not lines, "\n".join(lines)


def copied(values: list[Any]) -> list[Any]:
    return [np.copy(v) for v in values]


# Every op ---------------------------------------------------------------------------------------------


@every()
def test_every_op_gives_what_a_loop_over_the_examples_gives(
    samples: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    looped = set()

    def noted(call: Any) -> Any:
        looped.add(call.op.path)
        return one_by_one(call)

    one_by_one = batching.one_by_one
    monkeypatch.setattr(batching, "one_by_one", noted)

    def problems() -> Iterator[tuple[str, str | None]]:
        for case in usable(samples):
            f = case.function()
            for dtype in (np.float64, *((np.complex128,) if case.sample.complex else ())):
                for axes in mixtures(case):
                    whole, rows = arranged(drawn(case, dtype), axes)
                    expected = outcome(lambda f=f, rows=rows: stacked([f(*copied(row)) for row in rows]))
                    found = outcome(lambda f=f, whole=whole, axes=axes: gs.vmap(f, in_axes=axes)(*copied(whole)))
                    yield f"{case.label} {case.shapes} {case.options} {axes}", problem(expected, found, UNIFORM)

    fail_on(problems())
    assert looped <= LOOPS, "give it a batching rule beside the op, or list it above and in docs/vmap.md"


DIFFERENTIABLE = [s for group in TABLE.values() for s in group if s.differentiable]


@every(DIFFERENTIABLE)
def test_gradients_of_and_under_vmap(samples: list[Sample]) -> None:
    check_gradients(thinned(usable(samples), part=5))


@pytest.mark.slow
@every(DIFFERENTIABLE)
def test_all_other_gradients_of_and_under_vmap(samples: list[Sample]) -> None:
    check_gradients(others(usable(samples), part=5))


def check_gradients(chosen: Iterable[Case]) -> None:
    """Check the derivatives of cases."""

    def problems() -> Iterator[tuple[str, str | None]]:
        for case in chosen:
            for dtype in (np.float64, *((np.complex128,) if case.sample.complex else ())):
                for what, expected, found in derivatives(case, dtype):
                    text = problem(outcome(expected), outcome(found), DERIVED)
                    yield f"{what} {case.label} {case.shapes} {case.options} {np.dtype(dtype).name}", text

    fail_on(problems())


def derivatives(case: Case, dtype: Any) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """What to differentiate of a case: by loops, and by vmap."""
    examples, f, count = drawn(case, dtype), case.function(), len(case.shapes)
    out = f(*copied(examples[0]))
    rng, argnums = case.generator("weights"), tuple(range(count))
    loss, w = case.loss(np.asarray(out).dtype.kind == "c"), weights_for(rng, out)
    grad = gs.grad(loss, argnums=argnums)
    for axes in [(0,) * count, *[tuple([0 if j == k else None for j in argnums]) for k in argnums if count > 1]]:
        whole, rows = arranged(examples, axes)
        each = gs.vmap(grad, in_axes=(*axes, None))
        yield (
            f"vmap(grad) {axes}",
            lambda rows=rows: stacked([grad(*row, w) for row in rows]),
            lambda whole=whole, each=each: each(*whole, w),
        )

        def total(*xs: Any, axes: Any = axes) -> Any:
            return np.sum(gs.vmap(loss, in_axes=(*axes, None))(*xs, w))

        def looped(rows: Any = rows, axes: Any = axes) -> Any:
            found = stacked([grad(*row, w) for row in rows])
            return [g if a == 0 else np.sum(g, axis=0) for g, a in zip(found, axes, strict=True)]

        yield (
            f"grad(vmap) {axes}",
            looped,
            lambda whole=whole, total=total: [np.asarray(g) for g in gs.grad(total, argnums=argnums)(*whole)],
        )
    if case.sample.order > 1 and np.dtype(dtype).kind == "f":
        second = gs.grad(lambda *a: sum(np.sum(np.sin(g)) for g in grad(*a)), argnums=argnums)
        whole, rows = arranged(examples, (0,) * count)
        yield (
            "vmap(grad(grad))",
            lambda: stacked([second(*row, w) for row in rows]),
            lambda: gs.vmap(second, in_axes=(*(0,) * count, None))(*whole, w),
        )
    if np.asarray(out).dtype.kind in "fc":
        value, pullback = gs.vjp(lambda *a: f(*a), *examples[0])
        g = np.stack([weights_for(rng, out) for _ in range(EXAMPLES)]).astype(np.asarray(value).dtype)
        yield (
            "vmap(pullback)",
            lambda: stacked([pullback(one if np.ndim(one) else one[()]) for one in g]),
            lambda: gs.vmap(pullback)(g),
        )


@pytest.mark.slow
@every()
def test_compiled_gives_the_bits_of_eager(samples: list[Sample]) -> None:
    def problems() -> Iterator[tuple[str, str | None]]:
        for case in thinned(usable(samples), part=9):
            examples, f, count = drawn(case), case.function(), len(case.shapes)
            whole, _ = arranged(examples, (0,) * count)
            jobs = [("vmap", gs.vmap(f), whole)]
            if count > 1:
                jobs.append(
                    ("vmap of one", gs.vmap(f, in_axes=(0, *(None,) * (count - 1))), [whole[0], *examples[0][1:]])
                )
            if case.sample.differentiable:
                out = f(*copied(examples[0]))
                loss, w = case.loss(np.asarray(out).dtype.kind == "c"), weights_for(case.generator(), out)
                argnums = tuple(range(count))
                each = gs.vmap(gs.grad(loss, argnums=argnums), in_axes=(*(0,) * count, None))
                jobs.append(("vmap(grad)", each, [*whole, w]))
            for what, function, args in jobs:
                yield f"{what} {case.label} {case.shapes} {case.options}", compiled_problem(function, args)

    fail_on(problems())


def compiled_problem(function: Any, args: list[Any]) -> str | None:
    """How the compiled form differs from eager, if it does; what loops may run eagerly."""
    expected = outcome(lambda: function(*args))
    if isinstance(expected, Exception):
        return None
    compiled = gs.compile(function, verify="first calls")
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always", gs.EagerWarning)
        found = [outcome(lambda: compiled(*args)) for _ in (1, 2)]
    eager = [str(w.message) for w in log if "loops over the examples" not in str(w.message)]
    errors = [f for f in found if isinstance(f, Exception)]
    if eager or errors:
        return eager[0] if eager else repr(errors[0])
    for e, f in zip([*expected, *expected], [*found[0], *found[1]], strict=True):
        if e.tobytes() != f.tobytes() or (e.shape, e.dtype, e.strides) != (f.shape, f.dtype, f.strides):
            return "other bits, strides or types"
    return None
