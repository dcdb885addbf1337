"""What `fastmath=True` rewrites: each pass alone, NaN and infinities where they were, results close, and said where asked."""

from __future__ import annotations

import itertools
import math
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.ir.graph import Call, Graph, Value, interpret, map_values, type_of
from gradscribe.runtime.ir.verify import verify
from gradscribe.runtime.registry import require
from gradscribe.transforms.compiler.passes import FAST_NAMES, optimise
from gradscribe.transforms.compiler.passes.dead_code import dead_code
from gradscribe.transforms.compiler.passes.fast import FAST
from gradscribe.transforms.compiler.passes.fast.factors import factors
from gradscribe.transforms.compiler.passes.fast.logs import logs
from gradscribe.transforms.compiler.passes.fast.powers import powers
from gradscribe.transforms.compiler.passes.fast.products import products
from gradscribe.transforms.compiler.passes.fast.scalars import scalars
from gradscribe.transforms.difference import is_near

Pass = Callable[[Graph], Graph]
SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    3.5,
    -2.25,
    1e200,
    -1e200,
    1e-200,
    -1e-200,
    5e-324,
    1.7e308,
    1e-308,
]


class Written:
    """A graph that is written down while it runs, so that every value has the type that NumPy gives it."""

    def __init__(self, *inputs: Any) -> None:
        self.concrete = list(inputs)
        self.graph = Graph([Value(type_of(v), f"x{k}") for k, v in enumerate(inputs)], [], [])
        self.inputs = self.graph.inputs
        self.space: dict[Value, Any] = dict(zip(self.inputs, inputs, strict=True))

    def add(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Value:
        op = require(fn)
        bound = op.bind(*args, **kwargs)
        a, k = op.call_form(tuple([map_values(b, self.space.__getitem__) for b in bound]))
        with np.errstate(all="ignore"):
            result = op.fn(*a, **k)
        out = Value(type_of(result))
        self.space[out] = result
        self.graph.calls.append(Call(op, bound, (out,)))
        return out

    def after(self, run: Pass, *outputs: Value) -> list[str]:
        """What a pass makes of the graph, in paths; its results are near, special values where they were, types as said."""
        self.graph.outputs = list(outputs)
        found = dead_code(run(self.graph.copy()))
        verify(found, run.__name__)

        def typed(call: Call, results: tuple[Any, ...]) -> None:
            for out, value in zip(call.outs, results, strict=True):
                assert type_of(value)[:3] == out.type[:3], call

        with np.errstate(all="ignore"):
            expected, got = interpret(self.graph, self.concrete), interpret(found, self.concrete, typed)
        eps = max(float(np.finfo(v.type.dtype).eps) for v in self.inputs if v.type.dtype.kind in "fc")
        for x, y in zip(got, expected, strict=True):
            assert type(x) is type(y)
            assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype)
            assert getattr(x, "strides", ()) == getattr(y, "strides", ())
            assert is_near(x, y, eps), (x, y)
        return [call.op.path for call in found.calls]


def array(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def specials(dtype: Any = np.float64) -> Any:
    with np.errstate(all="ignore"):
        return np.array(SPECIAL).astype(dtype)


# Powers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, -2, -3, -4, -5, -6, -7, -8, 3.0, -2.0])
def test_powers_of_all_sorts_of_numbers(n: float, dtype: Any) -> None:
    b = Written(specials(dtype))
    assert b.after(powers, b.add(operator.pow, b.inputs[0], n)).count("np.power") <= 3  # squares
    for x in specials(dtype):
        one = Written(x)
        assert "np.power" not in one.after(powers, one.add(np.power, one.inputs[0], n))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [*range(3, 9), *range(-8, -1)])
def test_a_power_that_overflows_stays_infinite_to_the_last_float(n: int, dtype: Any) -> None:
    x = dtype(float(np.finfo(dtype).max) ** (1 / n))
    near = [x]
    for _ in range(200):
        near = [np.nextafter(near[0], dtype(0)), *near, np.nextafter(near[-1], dtype(np.inf))]
    b = Written(np.array(near))
    b.graph.outputs = [b.add(operator.pow, b.inputs[0], n)]
    with np.errstate(all="ignore"):
        (expected,), (found,) = interpret(b.graph, b.concrete), interpret(powers(b.graph.copy()), b.concrete)
    assert 0 < np.sum(np.isinf(expected)) < len(near)  # both sides of the edge are there
    assert np.all(np.isinf(found[np.isinf(expected)]))
    assert np.sum(np.isinf(found)) <= np.sum(np.isinf(expected)) + 1


def test_roots_where_the_sign_is_known() -> None:
    b = Written(specials())
    x = b.inputs[0]
    squared = b.add(np.square, x)
    positive = b.add(operator.add, squared, 1e-3)
    for base, n, rewritten in ((x, 1.5, False), (squared, 1.5, True), (squared, -0.5, False), (positive, -0.5, True)):
        paths = b.after(powers, b.add(operator.pow, base, n))
        assert ("np.power" not in paths) == rewritten, (n, paths)


def test_powers_that_stay() -> None:
    b = Written(array(3), np.arange(3), array(3).astype(np.complex128), array(3))
    x, k, z, y = b.inputs
    for base, n in ((x, 9), (x, 2.5), (x, 2), (x, 0.5), (k, 3), (z, 3), (x, y), (x, np.float64(3))):
        assert b.after(powers, b.add(operator.pow, base, n)) == ["np.power"]


# Products -----------------------------------------------------------------------------------------------------------


def test_sums_of_products() -> None:
    b = Written(array(4), array(4, seed=1), array(3, 4), array(3, 4, seed=1), array(4, 5))
    u, v, x, y, z = b.inputs
    times = operator.mul
    wide = b.add(operator.getitem, x, (slice(None), slice(None), None))
    assert b.after(products, b.add(np.sum, b.add(times, u, v))) == ["np.matmul"]
    assert b.after(products, b.add(np.sum, b.add(times, x, y))) == ["np.vdot"]
    assert b.after(products, b.add(np.sum, b.add(times, x, v), axis=1)) == ["np.matmul"]
    assert b.after(products, b.add(np.sum, b.add(times, x, y), axis=0)) == ["np.einsum"]
    assert b.after(products, b.add(np.sum, b.add(times, wide, z), axis=1)) == ["np.matmul"]
    assert b.after(products, b.add(np.sum, b.add(np.square, x))) == ["np.vdot"]
    assert b.after(products, b.add(np.sum, b.add(operator.pow, u, 2))) == ["np.matmul"]
    assert b.after(products, b.add(np.mean, b.add(times, x, v))) == ["np.multiply", "np.mean"]
    assert b.after(products, b.add(np.mean, b.add(times, x, v), axis=1)) == ["np.matmul", "size", "np.divide"]


def test_sums_that_stay() -> None:
    b = Written(array(3, 4), np.arange(12).reshape(3, 4), array(3, 4).astype(np.float32), np.ones((3, 4), complex))
    x, k, single, z = b.inputs
    squared = b.add(operator.mul, x, x)
    b.after(products, b.add(np.sum, squared))
    for pair in ((x, k), (x, single), (z, z), (k, k), (x, 2.0)):
        assert "np.sum" in b.after(products, b.add(np.sum, b.add(operator.mul, *pair)))
    twice = b.add(operator.mul, x, x)
    assert b.after(products, b.add(np.sum, twice), b.add(np.exp, twice)).count("np.sum") == 1
    kept = b.add(np.sum, b.add(operator.mul, x, x), axis=1, keepdims=True)  # the caller sees its strides
    assert b.after(products, kept) == ["np.multiply", "np.sum"]
    b.after(products, b.add(np.exp, kept))


VIEWS: list[Callable[[Written, Value], Value]] = [
    lambda b, x: x,
    lambda b, x: b.add(np.transpose, x),
    lambda b, x: b.add(np.swapaxes, x, 0, -1),
    lambda b, x: b.add(operator.getitem, x, None),
    lambda b, x: b.add(operator.getitem, x, (Ellipsis, None)),
    lambda b, x: b.add(operator.getitem, x, (slice(None), None)),
    lambda b, x: b.add(np.expand_dims, x, 0),
    lambda b, x: b.add(np.expand_dims, x, (0, -1)),
    lambda b, x: b.add(np.broadcast_to, x, (2, *x.type.shape)),
    lambda b, x: b.add(operator.getitem, x, slice(None, None, -1)),
]


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("seed", range(8))
def test_sums_of_products_of_views(seed: int) -> None:
    rng = np.random.default_rng(seed)
    met = 0
    for _ in range(150):
        shapes = [tuple(rng.choice([1, 2, 3], size=rng.integers(1, 4))) for _ in range(2)]
        dtype = rng.choice([np.float64, np.float32])
        values = [
            rng.choice([*SPECIAL[:11], 0.5, -3.0, 2.0], p=[0.02] * 3 + [0.1] * 6 + [0.01] * 2 + [0.32 / 3] * 3, size=s)
            for s in shapes
        ]
        b = Written(*[np.asarray(v, order=rng.choice(["C", "F"])).astype(dtype) for v in values])
        x, y = b.inputs
        try:
            for _ in range(rng.integers(0, 3)):
                x = VIEWS[rng.integers(len(VIEWS))](b, x)
                y = VIEWS[rng.integers(len(VIEWS))](b, y)
            product = b.add(operator.mul, x, y if rng.random() < 0.9 else x)
        except (ValueError, TypeError, IndexError):
            continue
        n = len(product.type.shape)
        axis = (
            None
            if rng.random() < 0.3
            else tuple(int(a) for a in rng.choice(n, size=rng.integers(1, n + 1), replace=False))
        )
        found = b.add(rng.choice([np.sum, np.mean]), product, axis=axis, keepdims=bool(rng.random() < 0.3))
        outputs = [found] if rng.random() < 0.5 else [b.add(np.exp, found)]
        paths = b.after(products, *outputs)
        met += bool({"np.matmul", "np.einsum", "np.vdot"} & set(paths))
    assert met > 5


def test_zero_times_infinity_stays_nan() -> None:
    x, y = np.array([[0.0, 1.0], [2.0, np.inf]]), np.array([[np.inf, 1.0], [0.0, -np.inf]])

    def gram(x: Any, y: Any) -> Any:
        return np.sum(x[:, :, None] * y[None], axis=1)

    fast = gs.compile(gram, fastmath=True, verify=True)
    with np.errstate(all="ignore"):
        assert np.array_equal(fast(x, y), gram(x, y), equal_nan=True)
        assert "x @ y" in fast.specialisation(x, y).text


# Logarithms, factors, scalars ---------------------------------------------------------------------------------------


def test_log_of_exp_goes_only_where_the_range_is_known() -> None:
    b = Written(specials())
    x = b.inputs[0]
    small = b.add(np.tanh, x)
    for inner, gone in (
        (x, False),
        (small, True),
        (b.add(operator.mul, small, 500.0), True),
        (b.add(operator.mul, small, 1e3), False),
    ):
        paths = b.after(logs, b.add(operator.add, b.add(np.log, b.add(np.exp, inner)), 1.0))
        assert ("np.exp" not in paths) == gone, paths
    seen = b.after(logs, b.add(np.log, b.add(np.exp, small)))  # the caller's memory is its own
    assert "np.exp" in seen


def test_exp_of_log_goes_only_where_no_sign_is_lost() -> None:
    b = Written(specials())
    x = b.inputs[0]
    for inner, gone in (
        (x, False),
        (b.add(np.square, x), True),
        (b.add(np.absolute, x), True),
        (b.add(np.sin, x), False),
    ):
        paths = b.after(logs, b.add(operator.mul, b.add(np.exp, b.add(np.log, inner)), 2.0))
        assert ("np.log" not in paths) == gone, paths


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factors(dtype: Any) -> None:
    b = Written(specials(dtype))
    x = b.inputs[0]
    assert b.after(factors, b.add(operator.truediv, x, 3.0)) == ["np.multiply"]
    assert b.after(factors, b.add(operator.mul, b.add(operator.truediv, x, -7), 0.1)) == ["np.multiply"]
    assert b.after(factors, b.add(operator.mul, 0.3, b.add(operator.mul, 0.7, x))) == ["np.multiply"]
    for c in (0.3, 0.0, np.inf, np.nan, 1e308, -0.5):
        assert b.after(factors, b.add(operator.truediv, x, c)) == ["np.divide"]
    for c, d in (
        (2.0, 0.5),
        (0.5, 3.0),
        (1e-30, 1e-30) if dtype is np.float32 else (1e-200, 1e-200),
        (3.0, 5.0),
        (0.0, 0.5),
    ):
        assert b.after(factors, b.add(operator.mul, b.add(operator.mul, x, c), d)) == ["np.multiply"] * 2, (c, d)


def test_scalars_come_from_math_where_that_cannot_be_told() -> None:
    for value in (*specials(), np.float64(0.3)):
        b = Written(value, array(3), float(value))
        s, a, p = b.inputs
        for fn in (np.tanh, np.arctan, np.arcsinh):
            path = f"math.{ {'tanh': 'tanh', 'arctan': 'atan', 'arcsinh': 'asinh'}[fn.__name__] }"
            assert b.after(scalars, b.add(operator.mul, b.add(fn, s), a))[0] == path
            assert b.after(scalars, b.add(operator.add, b.add(fn, p), s))[0] == path
            assert path not in b.after(scalars, b.add(fn, s))
            assert path not in b.after(scalars, b.add(operator.mul, b.add(fn, s), p))
            both = b.add(operator.mul, b.add(fn, s), b.add(fn, p))
            assert b.after(scalars, both).count(path) == 1
        assert "math.exp" not in b.after(scalars, b.add(operator.mul, b.add(np.exp, s), a))


# All together -------------------------------------------------------------------------------------------------------


def test_what_a_guard_depends_on_is_computed_exactly() -> None:
    def f(x: Any) -> Any:
        p = x**3
        return x * 2 if float(p) > 0 else p

    fast = gs.compile(f, fastmath=True, verify="first calls")
    for x in (np.float64(1.1), np.float64(-0.7)):
        assert fast(x) == f(x)
        assert "x**3" in fast.specialisation(x).text


def some_function(rng: np.random.Generator) -> str:
    names, lines = ["x", "y", "x"], []
    for k in range(rng.integers(2, 7)):
        a, b = rng.choice(names), rng.choice(names)
        n = rng.choice(["3", "4", "-2", "1.5", "-0.5", "2", "5"])
        lines.append(f"v{k} = " + rng.choice([
            f"(1.0 + {a} * {a}) ** {n}", f"{a} / 3.0 * 0.25 + {b}", f"np.log(np.exp(np.tanh({a}))) + {b}",
            f"np.sum({a} * {b}, axis=0) + {a}", f"np.mean({a} ** 2) * {b}", f"np.exp(np.log(1 + np.abs({a}))) - {b}",
            f"np.sum({a}[:, :, None] * {b}.T[None], axis=1) @ {a}", f"np.sin({a}) ** 3 - np.tanh(c) * {b}",
        ]))  # fmt: skip
        names.append(f"v{k}")
    return "\n    ".join(
        ["def f(x, y, c):", *lines, f"return np.sum(np.tanh({names[-1]})) + np.mean({names[-2]} * y)\n"]
    )


@pytest.mark.parametrize("seed", range(30))
def test_random_functions_and_their_gradients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space: dict[str, Any] = {"np": np}
    exec(some_function(rng), space)
    args = [rng.normal(size=(3, 3)), rng.normal(size=(3, 3))]
    for transform in (lambda f: f, gs.value_and_grad):
        for dtype, c in itertools.product((np.float64, np.float32), (0.5, np.float64(0.25))):
            fast = gs.compile(transform(space["f"]), fastmath=True, verify="first calls")
            with warnings.catch_warnings():
                warnings.simplefilter("error", gs.EagerWarning)
                for _ in range(2):
                    fast(*[a.astype(dtype) for a in args], c)
                    args = [a + 0.01 for a in args]


def test_results_are_held_to_a_tolerance() -> None:
    with np.errstate(all="ignore"):
        x = np.array([1.0, 2.0, np.nan, np.inf])
        assert is_near(x * (1 + 1e-12), x, 2.0**-52)
        assert not is_near(x * (1 + 1e-6), x, 2.0**-52)
        assert not is_near(np.nan_to_num(x), x, 2.0**-52)
        assert not is_near(np.array([1.0, 2.0, np.nan, -np.inf]), x, 2.0**-52)
        assert not is_near(x, np.array([1.0, 2.0, 3.0, np.inf]), 2.0**-52)
        assert is_near(np.array([1, 2]), np.array([1, 2]), 2.0**-52)
        assert not is_near(np.array([1, 2]), np.array([1, 3]), 2.0**-52)
        assert is_near(x.astype(np.float32) * np.float32(1.0001), x.astype(np.float32), 2.0**-23)


def test_a_wrong_pass_is_caught_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.passes import fast

    def wrong(graph: Graph) -> Graph:
        calls = [Call(require(np.cos), c.args, c.outs, c.site) if c.op.path == "np.sin" else c for c in graph.calls]
        return Graph(graph.inputs, calls, graph.outputs)

    def f(x: Any) -> Any:
        y = x**3
        z = np.sin(y)
        return z * 2

    monkeypatch.setattr(fast, "FAST", (*fast.FAST, wrong))
    with pytest.raises(gs.VerifyError, match="`z` is the first variable that differs"):
        gs.compile(f, fastmath=True, verify=True)(np.array([0.3, 0.4, 0.7]))


def test_fastmath_is_off_unless_asked_for() -> None:
    b = Written(array(3))
    b.graph.outputs = [b.add(np.sum, b.add(operator.pow, b.inputs[0], 3))]
    assert [c.op.path for c in optimise(b.graph.copy()).calls] == ["np.power", "np.sum"]
    assert [c.op.path for c in optimise(b.graph.copy(), fastmath=True).calls] == ["np.power", "np.multiply", "np.sum"]
    assert tuple(run.__module__.rpartition(".")[2] for run in FAST) == FAST_NAMES


def test_it_is_said_and_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCRIBE_CACHE", str(tmp_path))
    x = array(5)
    for _ in range(2):  # the second time from the disk cache, which keeps both texts apart
        exact, fast = gs.compile(cubes), gs.compile(cubes, fastmath=True)
        assert fast(x) == pytest.approx(exact(x))
        assert "x**3" in exact.specialisation(x).text
        assert "x**2 * x" in fast.specialisation(x).text
    assert "fastmath is on" in str(gs.explain(fast))
    assert "fastmath is on" not in str(gs.explain(exact))
    again = pickle.loads(pickle.dumps(fast))
    again(x)
    assert again.specialisation(x).text == fast.specialisation(x).text


def cubes(x: Any) -> Any:
    return np.sum(x**3)


def test_its_passes_can_be_chosen_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    x = array(5)
    text = gs.compile(cubes, fastmath=True, passes=["powers"], dump=True).specialisation(x).text
    assert "x**2 * x" in text
    assert "after powers:" in capsys.readouterr().out
    with pytest.raises(ValueError, match="'powers' changes the last digits: it needs fastmath=True"):
        gs.compile(cubes, passes=["powers"])


def test_generated_text_imports_math() -> None:
    def f(x: Any) -> Any:
        return np.tanh(x[0]) * x[1]

    fast = gs.compile(f, fastmath=True, verify="first calls")
    x = array(2)
    assert fast(x) == pytest.approx(math.tanh(x[0]) * x[1])
    assert fast.specialisation(x).text.startswith("import math\n\n\ndef f(x):")
    both = gs.compile(lambda x: np.tanh(x[0]) * np.exp(x[1]), fastmath=True, verify="first calls")
    assert both.specialisation(x).text.startswith("import math\n\nimport numpy as np\n\n\ndef ")
