"""Corners: every rule on arrays that lie oddly in memory, of odd dtypes, of axes of length one and of none."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime import Kind, lookup

from checks import TABLE, Case, cases, every, fail_on, gradient_problem, spaced, thinned, weights_for
from samples import Sample

SMOOTH = [s for group in TABLE.values() for s in group if s.differentiable and not s.integer]


def read_only(x: Any) -> Any:
    """A copy that nobody may write into."""
    made = x.copy()
    made.flags.writeable = False
    return made


def wider(x: Any) -> Any:
    """The same numbers in the longest dtype."""
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "reversed": lambda x: np.flip(np.flip(x).copy()) if x.ndim else x.copy(),
    "with gaps": spaced,
    "by columns": lambda x: np.asfortranarray(x) if x.ndim else x.copy(),
    "read only": read_only,
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "long double": wider,
    "half": lambda x: x.astype(np.float16),
}
TOLERANCE = {"half": 6e-2}


def plain(f: Callable[..., Any], xs: list[Any]) -> Any:
    """What NumPy itself makes of arrays; None where it makes nothing of them."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(f(*xs))
    except Exception:  # LAPACK has no long doubles, SciPy no other byte order
        return None


def laid(case: Case) -> Iterator[tuple[str, Callable[..., Any], list[Any], Any, list[Any]]]:
    """A case in every layout: the gradient to take, its arguments and weights, and what it should be."""
    rng = case.generator("corners")
    xs, f = case.sample.draw(rng, case.shapes), case.function()
    out = f(*[x.copy() for x in xs])
    w = weights_for(rng, out)
    gradient = gs.grad(case.loss(np.asarray(out).dtype.kind == "c"), argnums=tuple(range(len(xs))))
    expected = gradient(*xs, w)
    for name, lay in LAYOUTS.items():
        ys = [lay(x) for x in xs]
        found = plain(f, [y.copy() for y in ys] if name in ("long double", "half") else ys)
        if found is not None and found.shape == np.shape(out):
            kind = found.dtype if name in ("long double", "half") and found.dtype.kind in "fc" else w.dtype
            yield name, gradient, ys, w.astype(kind), expected


def unlike(found: list[Any], expected: list[Any], ys: list[Any], tolerance: float) -> str | None:
    """How gradients differ from what they should be."""
    for k, (g, e, y) in enumerate(zip(found, expected, ys, strict=True)):
        if np.shape(g) != np.shape(e) or np.asarray(g).dtype != y.dtype:
            return f"argument {k}: a gradient {np.asarray(g).dtype}{np.shape(g)} of {y.dtype}{y.shape}"
        size = max(float(np.max(np.abs(e), initial=0)), 0.1 if y.dtype == np.float16 else 1e-3)  # what cancels is lost
        if not np.allclose(np.asarray(g, complex), e, rtol=tolerance, atol=tolerance * size, equal_nan=True):
            return f"argument {k}: {g}, not {e}"
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@every(SMOOTH)
def test_gradients_do_not_depend_on_the_layout(samples: list[Sample]) -> None:
    fail_on([
        (case, name, unlike(gradient(*ys, w), expected, ys, TOLERANCE.get(name, 1e-10)))
        for case in thinned(cases(samples), part=12) if case.shapes
        for name, gradient, ys, w, expected in laid(case)
    ])  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@every(SMOOTH)
def test_compiled_gradients_are_eager_ones_in_a_layout(samples: list[Sample]) -> None:
    """One layout for one op in three, always the same one: the rest is tests/transforms/compiler/driver/test_layouts.py's."""
    for case in [c for c in thinned(cases(samples), part=10**9) if c.shapes and zlib.crc32(c.label.encode()) % 3 == 0][
        :1
    ]:
        rows = [row for row in laid(case) if row[0] != "other byte order"]
        _, gradient, ys, w, _ = rows[zlib.crc32(case.label.encode()) % len(rows)]
        gs.compile(gradient, verify="first calls")(*ys, w)  # raises where they differ by a bit


def test_another_byte_order_runs_eagerly_and_says_so() -> None:
    x = np.linspace(0.0, 1.0, 5).astype(np.dtype(float).newbyteorder())
    with pytest.warns(gs.EagerWarning, match="dtype"):
        found = gs.compile(gs.grad(lambda x: np.sum(np.sin(x) * x)))(x)
    np.testing.assert_allclose(found, np.cos(x) * x + np.sin(x))


NARROW = (np.uint8, np.int8, np.uint32, np.float16)


def narrowed(case: Case) -> Iterator[tuple[str, int, list[Any], list[Any]]]:
    """A case with one argument of few bits, and with the same numbers in a float64: the dtype, its place, both."""
    xs = case.sample.draw(case.generator("narrow"), case.shapes)
    domain: Any = case.sample.domain
    domains = [domain] * len(xs) if isinstance(domain[0], (int, float)) else domain
    for k, x in enumerate(xs):
        for dtype, least in itertools.product(NARROW, (0, 1, 2)):
            low, high = domains[k]
            few = np.asarray(np.clip(np.round(np.abs(x)) + least, np.ceil(low), np.floor(high)), dtype)
            pair = [[y if j == k else z.copy() for j, z in enumerate(xs)] for y in (few, few.astype(float))]
            same = [plain(case.function(), p) for p in pair]
            if None not in [s if s is None else True for s in same] and (same[0].dtype, same[0].shape) == (
                same[1].dtype, same[1].shape,
            ) and np.allclose(*same, rtol=1e-12) and np.all(np.isfinite(same[1])):  # fmt: skip
                yield np.dtype(dtype).name, k, *pair


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@every(
    [s for s in SMOOTH if s.shapes and len(s.shapes[0]) > 1 and getattr(lookup(s.fn), "kind", None) is Kind.elementwise]
)
def test_a_constant_of_few_bits_costs_no_digits(samples: list[Sample]) -> None:
    """A ufunc computes in the dtype of its result; so must the rule, where NumPy has the logarithm of a byte in halves."""
    for case in thinned([c for c in cases(samples) if c.shapes], part=12):
        for name, k, few, wide in narrowed(case):
            out = case.function()(*[x.copy() for x in wide])
            loss, w = case.loss(np.asarray(out).dtype.kind == "c"), weights_for(case.generator(), out)
            others = tuple([j for j in range(len(wide)) if j != k])
            gradient = gs.grad(loss, argnums=others)
            for g, e in zip(gradient(*few, w), gradient(*wide, w), strict=True):
                size = float(np.max(np.abs(e), initial=0))
                if np.all(np.isfinite(e)):
                    assert np.allclose(g, e, rtol=1e-9, atol=1e-12 * size), (
                        f"{case.label}, argument {k} of {name}: {g}, not {e}"
                    )


# Axes of length one, and of none.

ODD = {  # what it is tried on has lengths that must fit each other, or the shape of its result is written down
    "gradscribe.runtime.rules.linalg.shared_matmul", "gradscribe.runtime.rules.support.place_main_diagonal", "np.einsum",
}  # fmt: skip


def with_shapes(chosen: Any, shaped: Callable[[Any], Any]) -> Iterator[tuple[Case, Any]]:
    """The cases with other shapes that NumPy makes something of, and what that is."""
    for case in thinned(chosen):
        shapes = tuple([shaped(s) for s in case.shapes])
        if shapes != case.shapes and case.sample.name not in ODD:
            made = Case(case.sample, shapes, case.options, f"{case.label} of {shapes}")
            found = plain(made.function(), case.sample.draw(made.generator(), shapes))
            if found is not None and np.all(np.isfinite(found)):
                yield made, found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@every(SMOOTH)
def test_axes_of_length_one(samples: list[Sample]) -> None:
    fail_on([
        (case, "", gradient_problem(case)) for case, _ in with_shapes(cases(samples), lambda shape: (1,) * len(shape))
    ])  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("last", [False, True])
@every([s for s in SMOOTH if s.empty])
def test_axes_of_length_none(samples: list[Sample], last: bool) -> None:
    for case, out in with_shapes(cases(samples), lambda s: (*s[:-1], 0) if last and s else (0, *s[1:]) if s else s):
        xs = case.sample.draw(case.generator(), case.shapes)
        loss, w = case.loss(out.dtype.kind == "c"), weights_for(case.generator(), out)
        try:
            gradients = gs.grad(loss, argnums=tuple(range(len(xs))))(*xs, w)
        except NotImplementedError:  # said by name
            continue
        assert [np.shape(g) for g in gradients] == [x.shape for x in xs], case.label


POWERS: dict[str, Any] = {
    "**": lambda w, p: np.sum(w**p * 1.3),
    "exponent": lambda w, p: np.sum(p**w * 1.3),
    "power": lambda w, p: np.sum(np.power(w, p) * 1.3),
    "float_power": lambda w, p: np.sum(np.float_power(w, p) * 1.3),
}
BASES = {"number": 0.7, "array": np.array([0.3, 0.7, 1.9]), "float32": np.array([0.3, 0.7, 1.9], np.float32)}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", POWERS)
def test_a_power_has_the_same_bits_whether_its_other_number_is_written_or_passed(name: str, base: str) -> None:
    first = gs.grad(POWERS[name])
    for g in (first, gs.grad(lambda w, p: np.sum(first(w, p) ** 2))):
        compiled = gs.compile(g)
        for k in range(12):
            w, p = BASES[base] * np.float32(1 + k / 16), 0.3 + 0.21 * k
            if base == "number":
                w = float(w)
            np.testing.assert_array_equal(compiled(w, p), g(w, p), strict=True)
