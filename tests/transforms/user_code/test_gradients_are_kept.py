"""Inside a transform a number that is taken out of a traced value keeps its gradient, or the call raises."""

from __future__ import annotations

import builtins
import contextlib
import copy
import decimal
import functools
import itertools
import json
import logging
import math
import numbers
import pickle
import sqlite3
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import integrate, interpolate, optimize

import gradscribe as gs
from gradscribe.runtime.errors import GradientLossError

POINTS = (1.5, 0.7, 1.1)


def difference(f: Callable[[float], Any], x: float, h: float = 1e-6) -> float:
    return float((f(x + h) - f(x - h)) / (2 * h))


def right(f: Callable[[Any], Any]) -> None:
    """Eager, and in each of three compiled calls, the gradient is the slope of the plain function; without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gs.EagerWarning)
        compiled = gs.compile(gs.value_and_grad(f))
        for run in (gs.value_and_grad(f), compiled):
            for x in POINTS:
                value, slope = run(x)
                assert not isinstance(value, gs.Tensor)
                assert float(value) == pytest.approx(float(f(x)), rel=1e-12)
                assert float(slope) == pytest.approx(difference(f, x), rel=1e-6, abs=1e-7)


def raises(f: Callable[[Any], Any], words: str = "gradient would be lost") -> None:
    """Eager, and in each compiled call, a GradientLossError that names a line of this file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        compiled = gs.compile(gs.grad(f))
        for run in (gs.grad(f), compiled):
            for x in POINTS:
                with pytest.raises(GradientLossError, match=words) as caught:
                    run(x)
                assert "under gs.grad" not in str(caught.value)
                assert __file__ in caught.value.__notes__[0]


class Model:
    cast = float
    act = staticmethod(math.tanh)

    def __init__(self, k: Any = 2.0) -> None:
        self.k = k
        self.functions = [math.exp, float, self.method]
        self.named = {"sin": math.sin, "method": self.method}
        self.lse = np.logaddexp

    def method(self, t: Any) -> Any:
        return math.exp(t) * float(t) * self.k

    @staticmethod
    def static(t: Any) -> Any:
        return float(t) * math.cos(t)

    @classmethod
    def of_class(cls, t: Any) -> Any:
        o = np.zeros(3)
        o[1] = math.sin(t)
        o += t
        return np.array([float(v) for v in o]).sum()

    @property
    def squared(self) -> Any:
        return float(np.exp(self.k)) ** 2

    @functools.cached_property
    def once(self) -> Any:
        return math.exp(self.k)

    @functools.lru_cache(maxsize=8)  # noqa: B019  # what is tried
    def cached(self, t: Any) -> Any:
        return math.exp(t)

    def __call__(self, t: Any) -> Any:
        return self.__private(t) * self.k

    def __private(self, t: Any) -> Any:
        return math.log(t)

    def __getitem__(self, t: Any) -> Any:
        return math.sqrt(t)


class Slotted:
    __slots__ = ("f", "k")

    def __init__(self, k: Any) -> None:
        self.k, self.f = k, float

    def method(self) -> Any:
        return math.exp(self.k) * self.f(self.k)


class Answering:
    def __getattr__(self, name: str) -> Any:
        if name.startswith("power"):
            return lambda t: float(t) ** int(name[5:])
        raise AttributeError(name)


class Derived(Model):
    def method(self, t: Any) -> Any:
        return super().method(t) + math.atan(t)


MODEL, DERIVED, ANSWERING = Model(), Derived(), Answering()
NUMBER, POWER = functools.partial(float), functools.partial(math.pow, 2.0)


@functools.cache
def cached(t: Any) -> Any:
    return np.exp(t)


def helper(t: Any) -> Any:
    return float(np.mean(np.array([t, t * 2]) ** 2))


def _match(x: Any) -> Any:
    match x:
        case int():
            return 0.0
        case float(v):
            return v * v


def _match_either(x: Any) -> Any:
    match float(x) * 2:
        case str() | bytes():
            return 0.0
        case (int() | float()) as v if v > 0:
            return v**3
    return 0.0


def _newton(x: Any) -> Any:
    y = x * 1.0
    while abs(float(y * y - x)) > 1e-9:
        y = y - (y * y - x) / (2 * y)
    return y


def _under_no_grad(x: Any) -> Any:
    with gs.no_grad():
        shown = float(x)
    assert type(shown) is float
    return x * x


def _texts(x: Any) -> Any:
    said = f"{x:.3f} {x!r}" + f"{x:.2e}" + "%.3f" % x + format(x, ".2f") + str(x)  # noqa: UP031
    logging.getLogger(__name__).debug("%.3f %s", x, x)
    return x * len(said[:5])


def _steps(x: Any) -> Any:
    return round(x + 0.2) * x + int(x) * x + math.floor(x) * x + math.ceil(x) * x + x // 1 * x + math.trunc(x) * x


def _types(x: Any) -> Any:
    assert isinstance(x, float)
    assert isinstance(x, numbers.Real)
    assert all(isinstance(v, np.floating) for v in np.array([x, x]))
    return x * x


def _keys(x: Any) -> Any:
    table = {x: 3.0}
    return table[x] * x


def _in_a_thread(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda v: float(v) * 2 + math.exp(v), x).result()


def _conv(x: Any) -> Any:
    conv = float
    return conv(x) ** 2


def _counts(x: Any) -> Any:
    found = defaultdict(float)
    found["a"] += float(x)
    found["b"] += x * x
    return found["a"] * found["b"]


def _made(x: Any) -> Any:
    return Model(x).squared + Model(x).once + Slotted(x).method()


KEPT: dict[str, Callable[[Any], Any]] = {
    "minimize": lambda x: optimize.minimize(lambda t: ((t - x) ** 2).sum(), np.zeros(2)).fun,
    "minimize_scalar": lambda x: optimize.minimize_scalar(lambda t: (t - x) ** 2).x,
    "solve_ivp": lambda x: integrate.solve_ivp(lambda t, y: -x * y, (0, 1), [1.0], rtol=1e-10, atol=1e-12).y[0, -1],
    "CubicSpline": lambda x: interpolate.CubicSpline([0, 1, 2, 3.0], [0, 1, 4, 9.0])(x),
    "float": lambda x: float(x) ** 2,
    "item": lambda x: np.sum(np.array([x, x]) ** 2).item(),
    "item of one": lambda x: np.array([x, x * x]).item(1),
    "complex": lambda x: (complex(x, 2 * x) ** 2).imag,
    "complex of one": lambda x: abs(complex(x) * (1 + 2j)),
    "np.float64": lambda x: np.float64(x) ** 2,
    "np.complex128": lambda x: (np.complex128(x) * 1j).imag,
    "fromiter": lambda x: np.fromiter((x * k for k in range(3)), float).sum(),
    "map": lambda x: sum(map(float, [x, x * x])),
    "sorted": lambda x: sorted([x, -x], key=float)[0],
    "min": lambda x: min([x, -x], key=lambda v: float(v) ** 2 + v),
    "max": lambda x: max([x, 3 * x], key=float),
    "reduce": lambda x: functools.reduce(lambda a, b: float(a) * float(b), [x, x, x]),
    "accumulate": lambda x: list(itertools.accumulate([x, x], lambda a, b: float(a) * b))[-1],
    "partial": lambda x: functools.partial(float, x)() ** 2,
    "defaultdict": _counts,
    "alias": _conv,
    "getattr": lambda x: getattr(builtins, "float")(x) ** 2,  # noqa: B009
    "comprehension": lambda x: sum([float(v) ** 2 for v in (x, 2 * x)]),
    "generator": lambda x: sum(float(v) ** 2 for v in (x, 2 * x)),
    "helper": helper,
    "method": lambda x: MODEL.method(x),
    "bound method": lambda x: sum(map(MODEL.method, [x])),
    "static method": lambda x: Model.static(x) + MODEL.static(x),
    "class method": lambda x: Model.of_class(x) + MODEL.of_class(x),
    "property": _made,
    "inherited": lambda x: DERIVED.method(x),
    "in a list": lambda x: sum(f(x) for f in MODEL.functions),
    "in a dict": lambda x: MODEL.named["sin"](x) + MODEL.named["method"](x),
    "attribute": lambda x: MODEL.cast(x) * Model.act(x) + MODEL.lse(x, 2.0),
    "callable object": lambda x: MODEL(x),
    "item of an object": lambda x: MODEL[x],
    "__getattr__": lambda x: ANSWERING.power3(x),
    "cache": lambda x: cached(x) * 1.0,
    "partial of float": lambda x: NUMBER(x) * POWER(x) + sum(map(NUMBER, [x, x * x])),
    "method of a class of numbers": lambda x: (
        np.ndarray.sum(x * np.ones(2)) * np.float64.item(np.sin(x)) + np.exp(x).__float__()
    ),
    "cached method": lambda x: MODEL.cached(x) * x,
    "nested": lambda x: gs.grad(lambda y: float(y) ** 3 * MODEL.method(x))(x),
    "match": _match,
    "match either": _match_either,
    "newton": _newton,
    "no_grad": _under_no_grad,
    "texts": _texts,
    "steps": _steps,
    "types": _types,
    "keys": _keys,
    "thread": _in_a_thread,
    "copies": lambda x: copy.copy(x) * copy.deepcopy(x),
    "hex": lambda x: len(x.hex()[:4]) * x + sum(x.as_integer_ratio()) * 0 * x + x.is_integer() * x,
    "close": lambda x: x * (np.isclose(x, 1.5) + np.allclose(x, 0.7) + math.isclose(x, 1.1) + math.isfinite(x)),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_number_keeps_its_gradient(name: str) -> None:
    right(KEPT[name])


def test_a_python_number_is_weak_and_one_of_numpys_strong() -> None:
    ones = np.ones(2, np.float32)
    for cast, dtype in (
        (float, np.float32),
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float32),
    ):

        def f(x: Any, cast: Any = cast, dtype: Any = dtype) -> Any:
            made = cast(x) * ones
            assert made.dtype == dtype
            return made.sum()

        for run in (gs.value_and_grad(f), gs.compile(gs.value_and_grad(f))):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gs.EagerWarning)  # pytest has rewritten its assertion
                value, slope = run(np.float32(1.5))
            assert (value, slope, type(value), type(slope)) == (3.0, 2.0, dtype, np.float32)
    with pytest.raises(ZeroDivisionError):
        gs.grad(lambda x: 1 / float(x * 0))(np.float64(1.0))


def _memo(memo: dict[Any, Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        if x not in memo:
            memo[x] = np.exp(x)
        return memo[x] * 1.0

    return f


LOST: dict[str, Callable[[Any], Any]] = {
    "json": lambda x: len(json.dumps({"a": x})) * x,
    "pickle": lambda x: len(pickle.dumps(x)) * x,
    "tolist": lambda x: np.array([x, x]).tolist()[0],
    "tanhsinh": lambda x: integrate.tanhsinh(lambda t: t * x, 0, 1).integral,
    "linprog": lambda x: optimize.linprog([1.0], bounds=[(x, 2.0)]).x[0],
    "sleep": lambda x: x if time.sleep(x * 1e-9) is None else 0.0,
}


@pytest.mark.parametrize("name", LOST)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_gradient_that_would_be_lost_raises(name: str) -> None:
    raises(LOST[name])


def test_a_dict_as_a_cache_is_right_or_raises() -> None:
    memo: dict[Any, Any] = {}
    f = _memo(memo)
    assert gs.grad(f)(2.0) == pytest.approx(math.exp(2.0))
    assert all(type(k) is float and type(v) is np.float64 for k, v in memo.items())
    with pytest.raises(GradientLossError, match="cache"):
        gs.grad(f)(2.0)
    assert gs.grad(f)(1.0) == pytest.approx(math.e)


def test_the_bare_tensor_warns_as_in_pytorch() -> None:
    t = gs.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        assert float(t * 2) == 4.0


# --- nothing traced survives -----------------------------------------------------------------------------------------

HISTORY: list[Any] = []
LAST = None


class Recorder:
    def __init__(self) -> None:
        self.losses: list[Any] = []
        self.best: Any = None
        self.by_step: dict[str, Any] = {}

    def note(self, loss: Any) -> None:
        self.losses.append(loss)
        self.best = loss if self.best is None else min(self.best, loss, key=float)
        self.by_step["last"] = (loss, [loss])


@pytest.mark.parametrize("compiled", [False, True])
def test_what_code_stores_is_plain_afterwards(compiled: bool) -> None:
    recorder, counted = Recorder(), 0
    plain = Recorder()

    def f(x: Any, seen: list[Any] = []) -> Any:  # noqa: B006  # what is tried
        global LAST
        nonlocal counted
        LAST = float(x)
        counted = counted + x
        loss = np.sum(np.array([x, 2.0]) ** 2)
        recorder.note(float(loss))
        HISTORY.append(float(loss))
        HISTORY.extend([x])
        seen.insert(0, loss)
        f.last = loss  # type: ignore[attr-defined]
        return loss

    HISTORY.clear()
    run = gs.grad(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        run = gs.compile(run) if compiled else run
        for x in POINTS:
            run(x)
            plain.note(float(np.sum(np.array([x, 2.0]) ** 2)))
    assert json.dumps(HISTORY) == json.dumps([v for a, b in zip(plain.losses, POINTS, strict=True) for v in (a, b)])
    assert json.dumps(vars(recorder)) == json.dumps(vars(plain))
    assert type(LAST) is float
    assert type(counted) is float
    assert counted == pytest.approx(sum(POINTS))  # which Python adds up more exactly from 3.12 on
    assert {type(v) for v in f.__defaults__[0]} == {np.float64}  # type: ignore[index]
    assert type(f.last) is np.float64  # type: ignore[attr-defined]


def test_also_where_the_transform_ends_by_an_error() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        raise ValueError(x * 3)

    with pytest.raises(ValueError, match=r"4\.5") as caught:
        gs.grad(f)(1.5)
    assert kept == [3.0]
    assert type(kept[0]) is float
    assert type(caught.value.args[0]) is float


def test_a_tensor_of_the_users_own_graph_stays_one() -> None:
    own, kept = gs.tensor(2.0, requires_grad=True), []

    def f(x: Any) -> Any:
        kept.append(own)
        return x * 3

    gs.grad(f)(1.5)
    assert kept == [own]


def test_a_library_that_keeps_a_value_does_not_pass_it_off_as_a_constant() -> None:
    space: dict[str, Any] = {"np": np}
    exec("cache = {}\ndef look(x):\n    return cache.setdefault(float, x * 2)", space)
    look = space["look"]
    look.__module__ = "functools"  # as if it were a library's
    assert gs.grad(lambda x: look(x) * x)(1.5) == 6.0
    with pytest.raises(GradientLossError, match="earlier call"):
        gs.grad(lambda x: look(x) * x)(2.5)
    assert float(space["cache"][float]) == 3.0


# Behind a cache --------------------------------------------------------------------------------------------------------

RATE = [1.0]


@functools.lru_cache
def chebyshev(n: int, v: Any) -> Any:
    return 1.0 if n == 0 else v if n == 1 else 2 * v * chebyshev(n - 1, v) - chebyshev(n - 2, v)


@functools.cache
def scaled_by_rate(v: Any) -> Any:
    return RATE[0] * v * v


def asks_twice(x: Any) -> Any:
    """The second call takes the first one's result, whatever has become of the rate."""
    scaled_by_rate.cache_clear()
    RATE[0] = 1.0
    y = scaled_by_rate(x)
    RATE[0] = 7.0
    return y * scaled_by_rate(x)


def asks_anew(x: Any) -> Any:
    scaled_by_rate.cache_clear()
    RATE[0] = 1.0
    y = scaled_by_rate(x)
    RATE[0] = 7.0
    scaled_by_rate.cache_clear()
    return y * scaled_by_rate(x)


def asks_without_a_gradient_first(x: Any) -> Any:
    with gs.no_grad():
        y = chebyshev(3, x)
    return gs.stop_gradient(y) + chebyshev(3, x)


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # what is behind a cache runs eagerly
@pytest.mark.parametrize("transform", [gs.grad, lambda f: gs.compile(gs.grad(f))], ids=["eager", "compiled"])
def test_a_traced_number_is_computed_once_behind_a_cache(transform: Any) -> None:
    of_forty = transform(lambda x: chebyshev(40, x))  # 2^40 calls otherwise
    twice, anew, first = map(transform, (asks_twice, asks_anew, asks_without_a_gradient_first))
    for x in (0.3, -0.6, 0.8):
        angle = math.acos(x)
        np.testing.assert_allclose(of_forty(x), 40 * math.sin(40 * angle) / math.sin(angle), rtol=1e-9)
        np.testing.assert_allclose(twice(x), 4.0 * x**3, rtol=1e-12)
        np.testing.assert_allclose(anew(x), 28.0 * x**3, rtol=1e-12)
        np.testing.assert_allclose(first(x), 12.0 * x**2 - 3.0, rtol=1e-12)
    nested = transform(lambda x: gs.grad(lambda y: chebyshev(3, y) * y)(x) * chebyshev(2, x))
    product = np.polynomial.Polynomial([0, -6, 0, 16]) * np.polynomial.Polynomial([-1, 0, 2])
    np.testing.assert_allclose(nested(0.3), product.deriv()(0.3), rtol=1e-12)
    assert chebyshev.cache_info().currsize == 0  # it holds nothing traced


class Registering(type):
    made: list[Any] = []  # noqa: RUF012

    def __call__(cls, *args: Any) -> Any:
        one = super().__call__(*args)
        Registering.made.append(float(args[0]))
        return one


class Registered(metaclass=Registering):
    def __init__(self, v: Any) -> None:
        self.v = v


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("transform", [gs.grad, lambda f: gs.compile(gs.grad(f))], ids=["eager", "compiled"])
def test_a_class_whose_metaclass_makes_its_objects(transform: Any) -> None:
    Registering.made.clear()
    gradient = transform(lambda x: Registered(x).v * float(x))
    np.testing.assert_array_equal([gradient(x) for x in (0.5, 0.25, -0.5)], [1.0, 0.5, -1.0])
    assert Registering.made == [0.5, 0.25, -0.5]


HELD: list[Any] = [None]


@gs.rule(x=lambda g, x: 2.0 * g)
def with_what_is_held(x: Any) -> Any:
    return x * HELD[0]


def test_a_function_with_a_rule_that_reads_from_outside_raises() -> None:
    def f(k: Any) -> Any:
        HELD[0] = k * 1.0
        return with_what_is_held(k)

    compiled = gs.compile(gs.grad(f))
    for k in (0.7, 0.9):
        for slope in (gs.grad(f), compiled):
            with pytest.raises(gs.GradientLossError, match="`with_what_is_held`, which has a rule, reads a value"):
                slope(k)
    HELD[0] = gs.tensor(2.0)
    assert gs.value_and_grad(with_what_is_held)(3.0) == (6.0, 2.0)
    HELD[0] = None


class ByWhatIsHeld(gs.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * HELD[0]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2.0


class ByItsNumber(ByWhatIsHeld):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * float(HELD[0])


class ByAConstant(ByWhatIsHeld):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * gs.stop_gradient(HELD[0])


@pytest.mark.parametrize("function", [ByWhatIsHeld, ByItsNumber])
def test_the_forward_of_a_function_that_reads_from_outside_raises(function: Any) -> None:
    def f(k: Any) -> Any:
        HELD[0] = k * 1.0
        return function.apply(k * 3.0)

    for slope in (gs.grad(f), gs.compile(gs.grad(f))):
        with pytest.raises(gs.GradientLossError, match=f"the forward of `{function.__name__}` reads a value"):
            slope(0.7)
    HELD[0] = None


def test_what_a_forward_reads_by_name_as_a_constant_is_one() -> None:
    def f(k: Any) -> Any:
        HELD[0] = k * 1.0
        return ByAConstant.apply(k * 3.0)

    assert gs.grad(f)(0.7) == 6.0
    weight = gs.tensor(2.0, requires_grad=True)  # PyTorch's own meaning outside of transforms
    HELD[0] = weight
    x = gs.tensor(3.0, requires_grad=True)
    ByWhatIsHeld.apply(x).backward()
    assert (x.grad.item(), weight.grad) == (2.0, None)
    HELD[0] = None


class Caching:
    """Computes once per object what it has read, whatever becomes of that later."""

    def __init__(self, v: Any) -> None:
        self.v, self.calls = v, 0

    @functools.cached_property
    def squared(self) -> Any:
        self.calls += 1
        return self.v * self.v


OUTSIDE = Caching(1.0)


def reads_a_cached_property(x: Any) -> Any:
    one = Caching(x[0])
    y = one.squared
    one.v = x[1]
    z = one.squared
    del one.squared
    return one.v * y + z + one.squared * x[2] + one.calls


def reads_one_from_outside(x: Any) -> Any:
    OUTSIDE.v = x[0]
    y = OUTSIDE.squared
    OUTSIDE.v = x[1]
    return y * OUTSIDE.squared


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize(
    "transform", [gs.value_and_grad, lambda f: gs.compile(gs.value_and_grad(f))], ids=["eager", "compiled"]
)
def test_a_cached_property_is_computed_once_per_object(transform: Any) -> None:
    inside, outside = transform(reads_a_cached_property), transform(reads_one_from_outside)
    for a, b, c in ([2.0, 3.0, 0.5], [1.5, -1.0, 2.0], [0.3, 0.7, 1.0]):
        value, gradient = inside(np.array([a, b, c]))
        np.testing.assert_allclose(value, b * a * a + a * a + b * b * c + 2)
        np.testing.assert_allclose(gradient, [2 * a * b + 2 * a, a * a + 2 * b * c, b * b])
        vars(OUTSIDE).pop("squared", None)
        for slope in (4 * a**3, 0.0):  # as in plain Python the object has the number at the next call
            value, gradient = outside(np.array([a, b, c]))
            assert value == a**4 == reads_one_from_outside(np.array([b, c, a]))
            np.testing.assert_allclose(gradient, [slope, 0.0, 0.0])
            assert type(OUTSIDE.squared) is np.float64


def swallows(x: Any) -> Any:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        try:
            return database.execute("select ?", (x,)).fetchone()[0] * x
        except Exception:
            return 2.0 * x


def swallows_a_type_error(x: Any) -> Any:
    try:
        return float(decimal.Decimal.from_float(x)) * x
    except TypeError:
        return 2.0 * x


def swallows_a_comparison(x: Any) -> Any:
    try:
        return x if x < decimal.Decimal(1) else 3.0 * x
    except TypeError:
        return 2.0 * x


@pytest.mark.parametrize("f", [swallows, swallows_a_type_error, swallows_a_comparison])
def test_an_error_of_a_library_about_a_tensor_is_not_swallowed(f: Any) -> None:
    for transform in (gs.grad, lambda f: gs.compile(gs.grad(f))):
        with pytest.raises(gs.GradientLossError):
            transform(f)(0.7)


def _asks_for_its_length(x: Any) -> Any:
    try:
        return len(x) * x
    except TypeError:
        return x * x


def _asks_for_its_items(x: Any) -> Any:
    try:
        return sum(v for _, v in x.items())
    except AttributeError:
        return x * x


def _asks_whether_it_is_a_function(x: Any) -> Any:
    try:
        return x()
    except TypeError:
        return x * x


def _adds_a_text(x: Any) -> Any:
    try:
        return x + "unit"
    except TypeError:
        return x * x


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("f", [_asks_for_its_length, _asks_for_its_items, _asks_whether_it_is_a_function, _adds_a_text])
def test_code_that_finds_out_what_it_was_given_by_an_error_goes_on(f: Any) -> None:
    for transform in (gs.grad, lambda f: gs.compile(gs.grad(f))):
        assert [transform(f)(x) for x in (0.7, 1.5)] == [1.4, 3.0]


class Number:
    def __init__(self, t: Any) -> None:
        self.t = t

    def __float__(self) -> Any:
        return self.t * 2.0

    def __index__(self) -> int:
        return int(self.t * 10)


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_a_text_shows_the_numbers_of_the_users_objects() -> None:
    def f(x: Any) -> Any:
        words = "%.2f %d" % (Number(x), Number(x))  # noqa: UP031
        assert words == "1.40 7", words
        return len(words) * x

    assert f(0.7) == gs.value_and_grad(f)(0.7)[0] == gs.compile(gs.value_and_grad(f))(0.7)[0]
