"""C forms of ops: every golden function, every sample record, and special values, against NumPy's source."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_batches import Native, needs_compiler, together, written

import gradscribe as gs
from gradscribe.runtime.errors import AutogradError, CompileError
from gradscribe.runtime.registry import require
from gradscribe.transforms.compiler.native import parts
from gradscribe.transforms.compiler.native.forms import _UFUNCS, known_ops
from gradscribe.transforms.compiler.native.values import RefusedError
from gradscribe.transforms.difference import difference

from golden_functions import Example, examples
from samples import SAMPLES, Sample

SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 1e-3, -1e-3, 1e-30, -1e-30, 1e-310, 7.5, -7.5, 20.0, 88.0, -88.0, 150.0,
    700.0, 720.0, -745.2, 1e5, 1e15, 1e30, np.inf, -np.inf, np.nan, 0.9999999, 1.0000001, np.pi,
)  # fmt: skip
ULP = 4  # of the exact value; NumPy may lie as far on the other side
UNARY = [f for f in _UFUNCS if f.nin == 1]
BINARY = [f for f in _UFUNCS if f.nin == 2 and not f.__name__.startswith("bitwise")]
NAMED = ("rosenbrock", "halved", "switched")  # of each build, by default


def takes(f: Any, dtype: Any) -> bool:
    """Whether an op has a C form for a dtype."""
    return bool(_UFUNCS[f]["fib".index(np.dtype(dtype).kind)])


def ulps(found: Any, expected: Any) -> float:
    """The largest distance between numbers, in the spacing of the exact ones; those at most tiny are taken as equal."""
    tiny = np.finfo(expected.dtype).tiny
    distance = np.abs(found.astype(np.longdouble) - expected.astype(np.longdouble))
    return float(
        np.max(distance / np.maximum(np.spacing(np.abs(expected)), tiny * np.finfo(expected.dtype).eps), initial=0.0)
    )


def hold(name: str, found: Any, expected: Any, most: float) -> None:
    """NaN, infinities and zeros are where they are, and the others within so many ulp."""
    assert found.dtype == expected.dtype, name
    if found.dtype.kind != "f":
        assert np.array_equal(found, expected), name
        return
    for what in (np.isnan, np.isinf):
        assert np.array_equal(what(found), what(expected)), f"{name}: {what.__name__}"
    infinite = np.isinf(expected)
    assert np.array_equal(found[infinite], expected[infinite]), name
    plain = np.isfinite(expected) & (np.abs(expected) >= np.finfo(expected.dtype).tiny)
    worst = ulps(found[plain], expected[plain])
    assert worst <= most, f"{name}: {worst} ulp at {np.flatnonzero(plain)[:5]}"


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", *[pytest.param(d, marks=pytest.mark.slow) for d in ("float32", "int64")]])
def test_special_values_are_numpys(dtype: str) -> None:
    unary, binary = [f for f in UNARY if takes(f, dtype)], [f for f in BINARY if takes(f, dtype)]
    values = (
        np.array(SPECIAL, dtype) if dtype != "int64" else np.array([0, 1, -1, 2, -2, 7, -7, 2**40, -(2**63), 2**63 - 1])
    )
    x, y = (np.ascontiguousarray(part.ravel()) for part in np.meshgrid(values, values))
    jobs = [
        written(lambda x: tuple(f(x) for f in unary), values),
        written(lambda x, y: tuple(f(x, y) for f in binary), x, y),
    ]  # fmt: skip
    for kernel, functions, args in zip(together(jobs), (unary, binary), ((values,), (x, y)), strict=True):
        assert not kernel.kernel.called_out
        with np.errstate(all="ignore"):
            for part in ([a[:k] for a in args] for k in (len(args[0]), 3, 0)):  # whole vectors, and less than one
                found, expected = kernel.run(*part), kernel.numpy(*part)
                for f, a, b in zip(functions, found, expected, strict=True):
                    hold(f.__name__, a, b, 2 * ULP)
        assert kernel.left == [0]


@needs_compiler
def test_elementary_functions_are_exact_to_four_ulp(rng: np.random.Generator) -> None:
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("long double is no wider than double here")
    with np.errstate(all="ignore"):  # arcsin
        functions = [f for f in UNARY if takes(f, float) and f(1.5).dtype == float and not np.isnan(f(1.5))]
    x = np.concatenate([rng.uniform(1.0, 30.0, 2000), rng.uniform(1.0, 1.1, 500), np.exp(rng.uniform(0.0, 300.0, 500))])
    (kernel,) = together([written(lambda x: tuple(f(x) for f in functions), x)])
    with np.errstate(all="ignore"):
        for f, found in zip(functions, kernel.run(x), strict=True):
            exact = f(x.astype(np.longdouble)).astype(float)
            hold(f.__name__, found, exact, ULP)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_largest_numbers_are_formed_in_vectors(axis: int | None) -> None:
    _, kernel = written(
        lambda x: (np.max(x * x, axis=axis), np.min(x, axis=axis), np.sum(x, axis=axis)), np.ones((3, 4))
    )
    lines = [line.strip() for line in kernel.text.splitlines()]
    inner = [k for k, line in enumerate(lines) if "max_d(" in line and "_v" in line]
    assert inner
    for k in inner:
        loop = next(j for j in range(k, 0, -1) if lines[j].startswith("for (int64_t i "))
        assert lines[loop - 1].startswith("#pragma omp simd")


@needs_compiler
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(
    ("axes", "dtype"),
    [
        ((None, (0, 1)), np.float64), pytest.param((0, 1, 2, (1, 2), (0, 2), (0, 1, 2)), np.float64, marks=pytest.mark.slow),
        pytest.param((None, 0, 1, 2, (0, 1)), np.float32, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_reductions_see_nan_and_add_as_exactly_as_numpy(
    axes: tuple[Any, ...], dtype: Any, rng: np.random.Generator
) -> None:
    def f(x: Any) -> Any:
        kept = tuple(np.sum(x, axis=a, keepdims=True) for a in axes)
        return tuple(g(x, axis=a) for g in (np.sum, np.mean, np.max, np.min) for a in axes) + kept

    x = rng.normal(size=(3, 41, 700)) + 1e3
    special = x.copy()
    special[1, 2, 3], special[0, 40, 699], special[2, 0, 0] = np.nan, np.inf, -np.inf
    (kernel,) = together([written(f, x.astype(dtype))])
    assert not kernel.kernel.called_out
    for array in (x, special, x[:, ::2, ::-3], x[:1], x.transpose(2, 0, 1), np.full((2, 2, 2), np.nan)):
        array = array.astype(dtype)
        with np.errstate(all="ignore"):
            found, expected, exact = kernel.run(array), kernel.numpy(array), f(array.astype(np.longdouble))
        for a, b, c in zip(found, expected, exact, strict=True):
            assert (type(a), a.dtype, a.shape) == (type(b), b.dtype, b.shape)
            with np.errstate(invalid="ignore"):
                off, numpys = np.abs(a - c), np.abs(b - c)
            most = 4 * np.max(numpys, initial=0.0, where=np.isfinite(numpys)) + 32 * np.finfo(dtype).eps * np.abs(
                c
            )  # a sum of rows adds one after the other
            close = np.isnan(c) | (a == c) | (off <= most)
            assert np.all(close)
            assert np.array_equal(np.isnan(a), np.isnan(b))
    assert kernel.left == [0]
    with pytest.raises(ValueError, match="zero-size array"), np.errstate(all="ignore"):
        kernel.run(np.empty((0, 2, 3), dtype))


@needs_compiler
def test_dtypes_mix_as_numpys(rng: np.random.Generator) -> None:
    def f(i: Any, s: Any, d: Any, t: Any) -> Any:
        return (
            i + s,
            i * 2,
            s * 0.1,
            i / 3,
            t & (d > 0),
            np.where(t, i, s),
            d + s,
            np.sum(t),
            np.sum(i),
            s.astype(int),
            t * d,
        )

    args = (np.arange(-4, 5), rng.normal(size=9).astype(np.float32), rng.normal(size=9), rng.random(9) > 0.5)
    (kernel,) = together([written(f, *args)])
    for a, b in zip(kernel.run(*args), kernel.numpy(*args), strict=True):
        assert type(a) is type(b)
        hold("mixed", np.atleast_1d(a), np.atleast_1d(b), 1)
    assert kernel.left == [0]


def checked(kernel: Native, args: Sequence[Any], name: str) -> None:
    """A kernel gives what NumPy's source gives, but for rounding, or raises what it raises."""
    coarse = any(getattr(a, "dtype", None) == np.float32 for a in args)
    with np.errstate(all="ignore"):
        expected = kernel.numpy(*args)
        found = kernel.run(*args)
    problem = difference(found, expected, float(np.finfo(np.float32 if coarse else np.float64).eps))
    assert problem is None, f"{name}: {problem}"


def golden(chosen: Sequence[Example]) -> None:
    """Hold golden functions, their values and gradients, to NumPy's source."""
    jobs, refused = [], {}
    for example in chosen:
        for function in (example.function, example.differentiated()):
            try:
                jobs.append((example, written(function, *example.args)))
            except RefusedError as why:
                refused[example.function.__name__] = str(why)
    kernels = together([job for _, job in jobs])
    for (example, _), kernel in zip(jobs, kernels, strict=True):
        checked(kernel, example.args, example.function.__name__)
        assert kernel.left == [0], example.function.__name__
    native = sum(kernel.kernel.native for kernel in kernels)
    assert sum(kernel.kernel.called_out.total() for kernel in kernels) <= 0.1 * native
    assert set(refused) <= {"reported", "normalised"}, refused


@needs_compiler
def test_golden_functions() -> None:
    golden([example for example in examples() if example.function.__name__ in NAMED])


@needs_compiler
@pytest.mark.slow
def test_every_golden_function() -> None:
    golden(list(examples()))


@needs_compiler
@pytest.mark.parametrize("chosen", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_golden_functions_in_parts(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LINES", 5)
    golden([example for example in examples() if chosen == "all" or example.function.__name__ in NAMED])


@needs_compiler
@pytest.mark.parametrize(("most", "n"), [(60, 18), pytest.param(100, 30, marks=pytest.mark.slow)])
def test_a_long_function_is_cut_into_parts(most: int, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LINES", most)
    rows = [f"    x = x + 0.00{k % 9 + 1} * np.sin(x) + 0.0{k % 7 + 1} / np.sum(x)" for k in range(n)]
    path = tmp_path / "long.py"
    path.write_text(
        "\n".join(["import numpy as np", "def long(x):", *rows, "    return np.sum(x)", ""]), encoding="utf-8"
    )
    spec = importlib.util.spec_from_file_location("long", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = written(gs.value_and_grad(module.long), np.ones(8))
    functions = made[1].text.split("\n}\n")
    assert len(functions) > 8
    assert max(text.count("\n") for text in functions) < 3 * parts.LINES
    (kernel,) = together([made])
    x = np.linspace(0.5, 2.0, 8)
    for a, b in zip(kernel.run(x), kernel.numpy(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    assert kernel.left[0] == 0


def of_samples(rows: Sequence[Sample], rng: np.random.Generator) -> Iterator[tuple[str, Any, list[Any]]]:
    """Functions of what samples draw, and their gradients."""
    for sample in rows:
        for shapes in sample.shapes:
            for kwargs in sample.kwargs:
                for dtype in (np.float64, np.float32):
                    args = sample.draw(rng, shapes, dtype)

                    def f(*arrays: Any, sample: Sample = sample, kwargs: Any = kwargs) -> Any:
                        return sample.run(*arrays, **kwargs)

                    name = f"{sample.name} {shapes} {kwargs} {dtype.__name__}"
                    yield name, f, args
                    if sample.differentiable and not sample.integer:
                        yield (
                            f"gradient of {name}",
                            gs.grad(lambda *a, f=f: np.sum(f(*a) * 1.5), tuple(range(len(args)))),
                            args,
                        )


def test_every_form_is_of_an_op_that_samples_try() -> None:
    assert {require(f) for f in known_ops().values()} <= {require(f) for f in SAMPLES} | {require(np.signbit)}


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("part", range(24))
def test_every_sample(part: int, rng: np.random.Generator) -> None:
    jobs = []
    rows = [
        row
        for k, (_, rows) in enumerate(sorted(SAMPLES.items(), key=lambda item: item[1][0].name))
        if k % 24 == part
        for row in rows
    ]
    for name, function, args in of_samples(rows, rng):
        try:
            specialisation, kernel = written(function, *args)
        except (RefusedError, CompileError, AutogradError, TypeError, ValueError, ArithmeticError):
            continue  # NumPy's source runs it, or eager does, or nobody
        if not specialisation.signature.extras:
            jobs.append((name, args, (specialisation, kernel)))
    assert jobs
    for start in range(0, len(jobs), 60):
        batch = jobs[start : start + 60]
        for (name, args, _), kernel in zip(batch, together([job for _, _, job in batch]), strict=True):
            checked(kernel, args, name)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("exponent", [0.5, 1.5, 2.5, -0.5, -1.5, 3.5])
def test_powers_by_square_roots_are_numpys_at_special_values_and_to_the_last_digits(
    exponent: float, dtype: str
) -> None:
    limits = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, limits.max, limits.tiny, limits.smallest_subnormal]
    small = np.geomspace(float(limits.tiny) * 4.0, float(limits.max) / 4.0, 900)
    x = np.concatenate([np.array(special), small]).astype(dtype)
    compiled = gs.compile(
        lambda x: (np.power(x, exponent), np.float_power(x, exponent).astype(x.dtype)), target="native"
    )
    with np.errstate(all="ignore"):
        expected = np.power(x, exponent), np.float_power(x, exponent).astype(dtype)
    with warnings.catch_warnings():  # and not np.errstate, under another of which NumPy runs
        warnings.simplefilter("ignore")
        for _ in range(3):
            compiled(x)
    for found, other in zip(compiled(x), expected, strict=True):
        normal = np.isfinite(other) & (np.abs(other) >= limits.tiny)
        np.testing.assert_array_equal(found[~normal & (other == 0)], other[~normal & (other == 0)])
        np.testing.assert_array_equal(found[~np.isfinite(other)], other[~np.isfinite(other)])
        assert np.array_equal(np.signbit(found[other == 0]), np.signbit(other[other == 0]))
        np.testing.assert_array_max_ulp(found[normal], other[normal], maxulp=4)
    assert gs.explain(compiled).specialisations[0].runs == "native, without a call of Python"


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_power_of_a_half_is_numpys_at_special_values(dtype: str) -> None:
    x = np.array([0.25, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1.0], dtype=dtype)
    compiled = gs.compile(lambda x: x**0.5 + np.power(x, 0.5) + np.float_power(x, 0.5), target="native")
    with np.errstate(all="ignore"):
        expected = x**0.5 + np.power(x, 0.5) + np.float_power(x, 0.5)
    for k in range(3):
        with np.errstate(invalid="ignore"):
            compiled(x[k:].copy())  # the first calls of NumPy's source warn
    for k in range(3):
        found = compiled(x[k:].copy())
        np.testing.assert_array_equal(found, expected[k:])
        assert np.array_equal(np.signbit(found[:2]), np.signbit(expected[k : k + 2]))
    assert gs.explain(compiled).specialisations[0].runs == "native, without a call of Python"


@needs_compiler
def test_results_that_are_parts_of_new_arrays_have_the_strides_of_numpys() -> None:
    def parts_of(x: Any) -> Any:
        y = np.exp(x)
        return y[::2], y[::-1], np.sin(x)[1:, None]

    compiled = gs.compile(parts_of, target="native")
    for n in (9, 9, 12, 30):
        x = np.linspace(-1.0, 1.0, n)
        for found, expected in zip(compiled(x), parts_of(x), strict=True):
            assert found.strides == expected.strides
            np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert gs.explain(compiled).specialisations[0].runs.startswith("native")


@needs_compiler
@pytest.mark.parametrize("order", [1, *[pytest.param(k, marks=pytest.mark.slow) for k in (-1, np.inf, -np.inf)]])
def test_gradients_of_extreme_sums_do_not_hang_on_the_order_of_terms(order: float, rng: np.random.Generator) -> None:
    eager = gs.grad(lambda x: np.linalg.norm(x, ord=order) + np.linalg.cond(x, p=order))
    compiled = gs.compile(eager, target="native")
    for n in (3, 3, 3, *range(3, 30)):
        x = rng.normal(size=(n, n)) + 5.0 * np.eye(n)
        np.testing.assert_allclose(compiled(x), eager(x), rtol=1e-9, atol=1e-12)
    assert {one.runs.partition(",")[0] for one in gs.explain(compiled).specialisations} == {"native"}


@needs_compiler
def test_the_gradient_of_a_trace_runs_natively() -> None:
    eager = gs.grad(lambda x: np.trace(x) * np.sum(x))
    compiled = gs.compile(eager, target="native")
    for shape in ((3, 4), (3, 4), (5, 2), (2, 2), (7, 7), (4, 3)):
        x = np.arange(1.0, 1.0 + shape[0] * shape[1]).reshape(shape)
        np.testing.assert_allclose(compiled(x), eager(x), rtol=1e-14)
    assert {one.runs.partition(",")[0] for one in gs.explain(compiled).specialisations} == {"native"}
