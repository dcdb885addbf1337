"""What every sample is checked for: finite differences, dtypes, and one outcome however it is run."""

from __future__ import annotations

import contextlib
import math
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime import lookup
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import registered, require
from gradscribe.runtime.rules.control import SIZES, guard
from gradscribe.tracer.core import dispatch, engine
from gradscribe.tracer.core.tensor_base import wrap
from gradscribe.transforms.compiler.driver.generated import computes_complex
from gradscribe.transforms.difference import LOOSE_COMPLEX, is_near
from gradscribe.transforms.trees import flatten

from samples import ROWS, Sample, Shapes, by_function
from samples_arrays import SAMPLES_ARRAYS
from samples_linalg import SAMPLES_LINALG
from samples_networks import SAMPLES_NETWORKS
from samples_numpy import SAMPLES_NUMPY
from samples_python import SAMPLES_PYTHON
from samples_scipy import SAMPLES_SCIPY
from samples_special import SAMPLES_SPECIAL

OTHERS = [*SAMPLES_LINALG, *SAMPLES_NETWORKS, *SAMPLES_NUMPY, *SAMPLES_PYTHON, *SAMPLES_SCIPY, *SAMPLES_SPECIAL]
TABLE: dict[Any, list[Sample]] = by_function([*ROWS, *SAMPLES_ARRAYS, *OTHERS])
STEP = 3e-4  # of finite differences of fourth order
COUNTING = (
    int, round, min, max, sum, math.ceil, math.floor, math.trunc, math.isqrt, math.factorial, math.comb, math.perm, math.gcd,
    math.lcm,
)  # fmt: skip
OF_NUMBERS = {*SIZES, require(guard), *map(require, COUNTING)}  # ops on sizes and guards, which meet no Tensor
EDGES = (np.inf, -np.inf, np.nan, -0.0, 0.0, 5e-324, -1e-310, 1.0, -1.0, 1e300)


class Case(NamedTuple):
    """One op on one choice of shapes and options."""

    sample: Sample
    shapes: Shapes
    options: dict[str, Any]
    label: str

    def generator(self, salt: str = "") -> np.random.Generator:
        """Random numbers that depend on the case alone."""
        return np.random.default_rng(zlib.crc32(f"{self.label}{salt}".encode()))

    def function(self) -> Callable[..., Any]:
        """The op as a function of its arrays, written as a user would: options are literals, arrays globals."""
        return self._written("{call}")

    def loss(self, complex_out: bool) -> Callable[..., Any]:
        """The function, summed up with weights `w`, its last argument."""
        return self._written("np.real(np.sum({call} * w))" if complex_out else "np.sum({call} * w)", "w")

    def _written(self, body: str, *more: str) -> Callable[..., Any]:
        names = list("xyzuv"[: len(self.shapes)])
        space: dict[str, Any] = {"np": np, "fn": self.sample.call or self.sample.fn, "__name__": "samples_written"}
        words = []
        for name, value in self.options.items():
            if hasattr(value, "ndim"):
                space[f"the_{name}"] = value
            words.append(f"{name}=the_{name}" if hasattr(value, "ndim") else f"{name}={_literal(value)}")
        call = f"fn({', '.join([*names, *words])})"
        exec(f"def op({', '.join([*names, *more])}):\n    return {body.format(call=call)}\n", space)
        return space["op"]  # type: ignore[no-any-return]


def _literal(value: Any) -> str:
    return {"inf": "np.inf", "-inf": "-np.inf"}.get(repr(value), repr(value))


def cases(samples: Iterable[Sample] | None = None) -> Iterator[Case]:
    """Every case of every sample (of `samples`)."""
    seen: dict[str, int] = {}
    for sample in [s for group in TABLE.values() for s in group] if samples is None else samples:
        for shapes in sample.shapes:
            for options in sample.kwargs:
                n = seen[sample.name] = seen.get(sample.name, -1) + 1
                yield Case(sample, shapes, options, f"{sample.name}-{n}")


def thinned(chosen: Iterable[Case], firsts: bool = True, part: int = 7) -> Iterator[Case]:
    """The first case of each sample, and one in `part` of the others, always the same ones."""
    return (case for case, kept in _sifted(chosen, firsts, part) if kept)


def others(chosen: Iterable[Case], firsts: bool = True, part: int = 7) -> Iterator[Case]:
    """The cases that `thinned` leaves away."""
    return (case for case, kept in _sifted(chosen, firsts, part) if not kept)


def _sifted(chosen: Iterable[Case], firsts: bool, part: int) -> Iterator[tuple[Case, bool]]:
    seen: set[int] = set()
    for case in chosen:
        first = id(case.sample) not in seen
        seen.add(id(case.sample))
        key = f"{case.sample.name}{case.shapes}{case.label}"
        yield case, (first and firsts) or zlib.crc32(key.encode()) % part == 0


def weights_for(rng: np.random.Generator, out: Any) -> Any:
    """Weights for a result, each away from zero."""
    out = np.asarray(out)
    return _away_from_zero(rng, out.shape, out.dtype if out.dtype.kind in "fc" else np.dtype(float))


def _away_from_zero(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    made = rng.uniform(0.4, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * _away_from_zero(rng, shape, float)
    return np.asarray(made, dtype)


def slope(f: Callable[..., Any], xs: Sequence[Any], vs: Sequence[Any]) -> float:
    """The derivative of `f` at `xs` along `vs`, by central differences of fourth order."""

    def at(t: float) -> float:
        return float(f(*[x + t * v for x, v in zip(xs, vs, strict=True)]))

    return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)


def inner(g: Any, v: Any) -> float:
    """How much a real value grows along `v` where PyTorch's convention gives the gradient `g`."""
    return float(np.sum(np.real(np.conj(g) * v)))


def agree(
    f: Callable[..., Any], grads: Sequence[Any], xs: Sequence[Any], rng: np.random.Generator, tol: float
) -> str | None:
    """What is wrong with the gradients of `f` at `xs`, one argument after the other; None where nothing is."""
    for k, (g, x) in enumerate(zip(grads, xs, strict=True)):
        if np.shape(g) != np.shape(x) or np.asarray(g).dtype != np.asarray(x).dtype:
            return f"argument {k}: a gradient {np.asarray(g).dtype}{np.shape(g)} of an argument {x.dtype}{np.shape(x)}"
        v = _away_from_zero(rng, np.shape(x), x.dtype)
        found, scale = inner(g, v), float(np.sum(np.abs(g * v)))
        expected = slope(lambda y, k=k: f(*[y if j == k else z.copy() for j, z in enumerate(xs)]), [x], [v])
        if not abs(found - expected) <= tol * scale + 1e-9 * (1 + abs(float(f(*[y.copy() for y in xs])))):
            return f"argument {k}: gradient {found:.12g}, finite differences {expected:.12g}"
    return None


def gradient_problem(case: Case, dtype: Any = np.float64) -> str | None:
    """What finite differences say against a rule's gradients."""
    rng = case.generator()
    xs = case.sample.draw(rng, case.shapes, dtype)
    out = case.function()(*[x.copy() for x in xs])  # some primitives of ours write into what they are given
    loss, w = case.loss(np.asarray(out).dtype.kind == "c"), weights_for(rng, out)
    grads = gs.grad(loss, argnums=tuple(range(len(xs))))(*xs, w)
    return agree(lambda *a: loss(*a, w), grads, xs, rng, 1e-6)


def second_problem(case: Case, dtype: Any = np.float64) -> str | None:
    """What finite differences of the gradient say against the gradient of the gradient."""
    rng = case.generator("2")
    xs = case.sample.draw(rng, case.shapes, dtype)
    out = case.function()(*[x.copy() for x in xs])  # some primitives of ours write into what they are given
    loss, w = case.loss(np.asarray(out).dtype.kind == "c"), weights_for(rng, out)
    vs = [_away_from_zero(rng, x.shape, x.dtype) for x in xs]
    every = tuple(range(len(xs)))
    first = gs.grad(loss, argnums=every)

    def along(*a: Any) -> Any:
        total = 0.0
        for g, v in zip(first(*a, w), vs, strict=True):
            total = total + np.sum(np.real(np.conj(g) * v))
        return total

    return agree(along, gs.grad(along, argnums=every)(*xs), xs, rng, 1e-5)


class Outcome(NamedTuple):
    """What a call gave: a result or an error, and the warnings on the way."""

    result: Any
    error: BaseException | None
    warned: frozenset[type[Warning]]


def outcome(f: Callable[..., Any], args: Sequence[Any]) -> Outcome:
    """Call `f` on copies of arrays that have the arrays' own strides."""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        try:
            result, error = f(*[_copied(a) for a in args]), None
        except (gs.VerifyError, AssertionError, NotImplementedError):
            raise
        except Exception as raised:
            result, error = None, raised
    return Outcome(result, error, frozenset(w.category for w in log))


def _copied(a: Any) -> Any:
    if not isinstance(a, np.ndarray) or a.flags.c_contiguous:
        return a.copy() if isinstance(a, np.ndarray) else a
    if a.flags.f_contiguous:
        return a.copy(order="F")
    return spaced(a)


def spaced(a: Any) -> Any:
    """`a` in memory with gaps, backwards along the last axis."""
    if not a.ndim:
        return a.copy()
    memory = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    view = memory[..., ::-2]
    view[...] = a
    return view


def leaves(value: Any) -> list[Any]:
    """The arrays and numbers of a result."""
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    return [value]


def unlike(found: Any, expected: Any, strides: bool = True, kinds: bool = True, loose: bool = False) -> str | None:
    """How two results differ: types, dtypes, shapes, strides, bits (`loose`: not the last). The payload of NaNs is free."""
    a, b = leaves(found), leaves(expected)
    if len(a) != len(b):
        return f"{len(a)} results, not {len(b)}"
    for x, y in zip(a, b, strict=True):
        if kinds and type(x) is not type(y):
            return f"a {type(x).__name__}, not a {type(y).__name__}"
        x, y = np.asarray(x), np.asarray(y)
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            return f"{x.dtype}{x.shape}, not {y.dtype}{y.shape}"
        if strides and x.strides != y.strides:
            return f"strides {x.strides}, not {y.strides}"
        loose = loose or (x.dtype.kind == "c" and LOOSE_COMPLEX)
        if loose and x.dtype.kind in "fc" and is_near(x, y, float(np.finfo(x.dtype).eps)):
            continue
        if x.tobytes() != y.tobytes() and not _same_but_nan(x, y):
            return f"bits differ: {x.tolist()}, not {y.tolist()}"
    return None


def _same_but_nan(x: Any, y: Any) -> bool:
    if x.dtype.kind == "c":
        return _same_but_nan(x.real, y.real) and _same_but_nan(x.imag, y.imag)
    if x.dtype.kind != "f":
        return False
    nan = np.isnan(y)
    return bool(np.array_equal(np.isnan(x), nan)) and np.where(nan, 0, x).tobytes() == np.where(nan, 0, y).tobytes()


def edge_inputs(case: Case, xs: Sequence[Any]) -> Iterator[list[Any]]:
    """Inputs like `xs` with inf, nan, -0.0, denormals and the op's own special points in them."""
    usual = [p for p in EDGES if abs(p) < 1e3] if case.sample.finite else EDGES
    points = (*usual, *case.sample.edge, *case.sample.kinks)
    for turn in range(2):
        made = []
        for k, x in enumerate(xs):
            if x.dtype.kind not in "fc":
                made.append(x)
                continue
            with np.errstate(all="ignore"):
                values = np.resize(np.roll(points, -(3 * turn + 7 * k)), x.shape).astype(x.dtype)
            made.append(values if turn else np.where(np.arange(x.size).reshape(x.shape) % 3 == k % 3, values, x))
        yield made
    yield [x if x.dtype.kind not in "fc" else np.zeros_like(x) for x in xs]


def _is_finite(result: Any) -> bool:
    """Whether a result has no infinity and no NaN, of which the backward part may warn."""
    return all(np.isfinite(leaf).all() for leaf in flatten(result)[0] if np.asarray(leaf).dtype.kind in "fc")


def compiled_problem(f: Callable[..., Any], runs: Sequence[Sequence[Any]]) -> str | None:
    """How a function and its compiled form differ on any of several inputs of one signature; None where they do not."""
    compiled = gs.compile(f, verify="first calls")
    for k, args in enumerate(runs):
        expected, found = outcome(f, args), outcome(compiled, args)
        if any(issubclass(c, gs.EagerWarning) for c in found.warned):
            return f"run {k}: it runs eagerly: {compiled._eager}"
        if type(found.error) is not type(expected.error):
            return f"run {k}: compiled raised {found.error!r}, eager {expected.error!r}"
        if found.error is None:
            problem = unlike(found.result, expected.result)
            if problem is not None and LOOSE_COMPLEX and computes_complex(compiled.specialisation(*args).raw):
                problem = unlike(found.result, expected.result, loose=True)
            if problem is not None:
                return f"run {k}: compiled gave {problem}\n{compiled.specialisation(*args).text}"
        more = {c for c in found.warned - expected.warned if not issubclass(c, gs.EagerWarning)}
        if more and (found.error is not None or _is_finite(found.result)):
            return f"run {k}: compiled warned {more}"
    return None


def single_dtype(dtype: Any) -> Any:
    """The dtype of half the width."""
    return {"f": np.dtype(np.float32), "c": np.dtype(np.complex64)}.get(np.dtype(dtype).kind, np.dtype(dtype))


def laid_out(xs: Sequence[Any], layout: str) -> list[Any]:
    """The same numbers in another memory layout, or as Python's and NumPy's numbers where they are 0-d."""
    if layout == "F":
        return [np.asfortranarray(x) if x.ndim else x for x in xs]
    if layout == "spaced":
        return [spaced(x) for x in xs]
    if layout == "python":
        return [x.item() if not x.ndim else x for x in xs]
    if layout == "numpy":
        return [x[()] for x in xs]
    return [x.copy() for x in xs]


def variants(case: Case, edges: bool = True) -> Iterator[tuple[str, list[list[Any]]]]:
    """Inputs by signature: each a label and several inputs with the same shapes, dtypes and layout."""
    rng = case.generator("variants")
    first, second = (case.sample.draw(rng, case.shapes) for _ in range(2))
    usual = [first, second, second]
    special = list(edge_inputs(case, first)) if edges else []
    yield "C", usual + special
    if max(map(len, case.shapes), default=0) > 1:
        yield "F", [laid_out(xs, "F") for xs in usual + special[:1]]
    if any(case.shapes):
        yield "spaced", [laid_out(xs, "spaced") for xs in usual + special[1:2]]
    if () in case.shapes:
        yield "python", [laid_out(xs, "python") for xs in usual + special]
        yield "numpy", [laid_out(xs, "numpy") for xs in usual]
    if not case.sample.integer:
        with np.errstate(over="ignore"):
            single = [[np.asarray(x, single_dtype(x.dtype)) for x in xs] for xs in usual + special]
        yield "single", single
    if case.sample.complex:
        yield "complex", [case.sample.draw(rng, case.shapes, np.complex128) for _ in range(2)]
    for label, shape in (("0-d", ()), *[("empty", (0,))] * case.sample.empty):
        if edges and set(case.shapes) != {shape}:
            yield label, [case.sample.draw(rng, (shape,) * len(case.shapes)) for _ in range(2)]


def forms(case: Case) -> Iterator[list[Any]]:
    """Arrays for a case: each layout, each dtype, Python's and NumPy's numbers, no elements, one, or no axes at all."""
    rng = case.generator("forms")
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


def call_in_every_form(samples: Sequence[Sample], call: Callable[[Op, tuple[Any, ...]], None]) -> None:
    """Tell `call` of the calls of an op on its samples: on arrays of each form, on Tensors, and within its own derivatives."""
    with watching(call):
        for case in cases(samples):
            _call_in_every_form(case, call)


def _call_in_every_form(case: Case, call: Callable[[Op, tuple[Any, ...]], None]) -> None:
    op = lookup(case.sample.fn)
    assert op is not None
    if isinstance(op.fn, np.ufunc):  # Tensors have a shorter way to these
        square = case.generator().random((3, 3))
        for first in (square, 3):  # of some ufuncs one argument is a whole number
            call(op, op.bind(*[first, *[square] * (op.fn.nin - 1)]))
            call(op, op.bind(*[*[square] * (op.fn.nin - 1), first]))
    for k, xs in enumerate(forms(case)):
        if case.sample.call is None:
            with contextlib.suppress(TypeError):
                call(op, op.bind(*xs, **case.options))
        if not case.sample.scoped and (k < 8 or case.sample.call is not None):
            with contextlib.suppress(Exception):
                case.sample.run(*[wrap(x) for x in xs], **case.options)
    usual = next(forms(case))
    with contextlib.suppress(Exception):
        value, back = gs.vjp(case.function(), *usual)
        if case.sample.differentiable:
            back(np.ones_like(value))


def tensor_problem(case: Case, f: Callable[..., Any], xs: Sequence[Any]) -> str | None:
    """How an op of Tensors differs from the same op of arrays: value, dtype, shape, error, warnings."""
    expected = outcome(f, xs)
    found = outcome(lambda *a: f(*[wrap(x) for x in a]), xs)  # gs.tensor would copy, to other strides
    if type(found.error) is not type(expected.error):
        return f"Tensors raised {found.error!r}, arrays {expected.error!r}"
    if expected.error is not None:
        return None
    if found.warned != expected.warned:
        return f"Tensors warned {set(found.warned)}, arrays {set(expected.warned)}"
    plain = [np.asarray(t.detach().numpy() if isinstance(t, gs.Tensor) else t) for t in leaves(found.result)]
    return unlike(plain, [np.asarray(r) for r in leaves(expected.result)], strides=False)


def with_weights(case: Case, runs: Sequence[Sequence[Any]]) -> tuple[Callable[..., Any], list[list[Any]]]:
    """The loss of a case and its inputs: each of `runs`, and weights that fit its result."""
    f, rng = case.function(), case.generator("w")
    shown = outcome(f, runs[0])
    out = np.asarray(1.0 if shown.error else shown.result)
    w = weights_for(rng, out)
    return case.loss(out.dtype.kind == "c"), [[*xs, w] for xs in runs]


def eager_problem(case: Case, runs: Sequence[Sequence[Any]]) -> str | None:
    """How bare Tensors' backward() differs from gs.grad, bit for bit."""
    loss, inputs = with_weights(case, runs)
    for *xs, w in inputs:
        grads = gs.grad(loss, argnums=tuple(range(len(xs))))(*xs, w)
        leaves_ = [_leaf(x) for x in xs]
        loss(*leaves_, w).backward()
        found = [np.zeros_like(x) if t.grad is None else t.grad.numpy() for x, t in zip(xs, leaves_, strict=True)]
        problem = unlike(found, list(grads), strides=False)
        if problem is not None:
            return f"backward() gave {problem}"
        for k, g in enumerate(grads):
            problem = unlike(gs.grad(loss, argnums=k)(*xs, w), g, strides=False)
            if problem is not None:
                return f"alone, argument {k} got {problem}"
    return None


def _leaf(x: Any) -> Any:
    return wrap(x).requires_grad_()


def single_problem(case: Case) -> str | None:
    """Where a float32 program does not stay one: in its result, its gradients, or within its rules."""
    rng = case.generator("32")
    doubles = case.sample.draw(rng, case.shapes)
    xs = [np.asarray(x, single_dtype(x.dtype)) for x in doubles]
    f = case.function()
    out = np.asarray(f(*[x.copy() for x in xs]))
    if out.dtype.itemsize > {"f": 4, "c": 8}.get(out.dtype.kind, 0):
        return None  # NumPy itself leaves float32 here
    loss, w = case.loss(out.dtype.kind == "c"), weights_for(rng, out)
    every = tuple(range(len(xs)))
    wide: list[str] = []

    def fit(g: Any, meta: Any, plain: Any = engine.fit) -> Any:
        found = getattr(g, "dtype", np.dtype(bool))
        if found.itemsize > {"f": 4, "c": 8}.get(found.kind, 99) and meta[1].itemsize <= 8 and meta[1] != np.float64:
            wide.append(f"a rule gave {found} for {meta[1]}")
        return plain(g, meta)

    before, engine.fit = engine.fit, fit
    try:
        grads = gs.grad(loss, argnums=every)(*xs, w)
    finally:
        engine.fit = before
    for g, precise in zip(
        grads, gs.grad(loss, argnums=every)(*doubles, np.asarray(w, np.result_type(w, 1.0))), strict=True
    ):
        if g.dtype != np.float32:
            return f"a gradient of {g.dtype}"
        if not np.allclose(g, precise, rtol=2e-3, atol=2e-3 * float(np.max(np.abs(precise), initial=1e-3))):
            return f"the gradient {g} in single precision, {precise} in double"
    return wide[0] if wide else scaled_problem(f, xs, out)


def scaled_problem(f: Callable[..., Any], xs: Sequence[Any], out: Any) -> str | None:
    """Whether a float32 program stays one when it is differentiated by a Python float."""
    seen: list[Any] = []

    def scaled(s: Any) -> Any:
        y = f(*xs) * s
        seen.append(np.result_type(y))
        return np.sum(np.real(y))

    slope_of_s = gs.grad(scaled)(0.5)
    if type(slope_of_s) is not np.float64:
        return f"the gradient of a Python float is a {type(slope_of_s).__name__}"
    return None if seen == [out.dtype] else f"the program left {out.dtype} for {seen}"


def name_of(fn: Any) -> str:
    """What the tests of an op are called after: its path, and Python's operator where it is one."""
    op = lookup(fn)
    return "?" if op is None else op.path if op.infix is None else f"{op.path}:{op.fn.__name__}"


def every(chosen: Iterable[Sample] | None = None) -> Any:
    """Parametrise over the ops; a test gets the samples of one."""
    keep = None if chosen is None else set(map(id, chosen))
    groups = {name_of(fn): [s for s in group if keep is None or id(s) in keep] for fn, group in TABLE.items()}
    return pytest.mark.parametrize("samples", [pytest.param(group, id=name) for name, group in groups.items() if group])


SAMPLES = [sample for group in TABLE.values() for sample in group]


SMOOTH = [s for s in SAMPLES if s.differentiable]


TWICE = [s for s in SMOOTH if s.order > 1]


def fail_on(problems: list[tuple[Case, str, str | None]]) -> None:
    """Fail with all that is wrong, each with the case that shows it."""
    lines = [f"{c.label} {c.shapes} {c.options} {note}: {p}" for c, note, p in problems if p is not None]
    assert not lines, "\n".join(lines)


def dtypes_of(case: Case) -> list[Any]:
    return [np.float64, *([np.complex128] if case.sample.complex else [])]


def _forget_doors() -> None:
    """Let each op compile its doors anew: a call through one does not reach `dispatch.run`."""
    for op in registered():
        for form in (op, *op.derived.values()):
            form.doors.clear()


@contextlib.contextmanager
def watching(told: Callable[[Op, tuple[Any, ...]], object]) -> Iterator[None]:
    """A block in which `told` hears of each op that Tensors meet, rules among them, before it runs; warnings are off."""
    plain, compiled = dispatch.run, dispatch.compile_door

    def run(op: Op, bound: tuple[Any, ...]) -> Any:
        told(op, tuple([dispatch.unwrap(b) for b in bound]))
        return plain(op, bound)

    def no_door(op: Op, count: int, names: tuple[str, ...]) -> Callable[..., Any]:
        return lambda *args, **kwargs: NotImplemented

    dispatch.run, dispatch.compile_door = run, no_door
    _forget_doors()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        dispatch.run, dispatch.compile_door = plain, compiled
        _forget_doors()
