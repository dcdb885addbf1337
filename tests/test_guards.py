"""Nothing is ever silently stale: whatever a capture rests on is noticed when it changes, on the very next call."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.specialise import difference

Setup = Callable[[], object]


def x(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values or (0.5, -1.25, 2.0), dtype=float)


def setting(**names: Any) -> Setup:
    """Bind globals of this module."""
    return lambda: globals().update(names)


class Follows:
    """What a compiled function was seen to do: how many texts it has, how many captures, what it warned of."""

    def __init__(self, compiled: Any, warned: list[str], captures: int) -> None:
        self.compiled = compiled
        self.warned = warned
        self.captures = captures
        self.texts = len(compiled._texts)


def follows(
    function: Callable[..., Any],
    *calls: tuple[Setup | None, tuple[Any, ...]],
    transform: Callable[[Any], Any] = gs.value_and_grad,
    monkeypatch: pytest.MonkeyPatch | None = None,
) -> Follows:
    """Call the compiled and the plain function with the same state and arguments; results, errors and bits must agree.

    The arguments are made anew for each (as copies), and every call is made once more with other numbers of the same
    signature, so that the compiler's own second check is behind it when state changes.
    """
    from gradscribe.transforms.compiler import compiled as machinery

    plain = transform(function)
    compiled = gs.compile(plain, verify=True)
    captures = 0
    original = machinery.Compiled._capture

    def counting(self: Any, *args: Any) -> Any:
        nonlocal captures
        captures += 1
        return original(self, *args)

    machinery.Compiled._capture = counting  # type: ignore[method-assign]
    warned: list[str] = []
    try:
        for setup, args in calls:
            for _ in range(3):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    if setup is not None:
                        setup()
                    expected = _outcome(plain, args)
                    seen = len(caught)
                    if setup is not None:
                        setup()
                    found = _outcome(compiled, args)
                warned += [str(w.message) for w in caught[seen:] if issubclass(w.category, gs.EagerWarning)]
                if isinstance(expected, Exception):
                    assert type(found) is type(expected), (found, expected)
                else:
                    assert not isinstance(found, Exception), found
                    assert difference(found, expected) is None, (difference(found, expected), found, expected)
    finally:
        machinery.Compiled._capture = original  # type: ignore[method-assign]
    assert len(warned) <= 1, warned
    return Follows(compiled, warned, captures)


def _outcome(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        return function(*copy.deepcopy(args) if not any(map(callable, args)) else args)
    except Exception as error:
        return error


def stays_compiled(found: Follows) -> None:
    assert not found.warned


# Arguments ------------------------------------------------------------------------------------------------------------


def test_shapes_dtypes_and_layouts() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.sin(a) @ a.T)

    a = np.arange(12.0).reshape(3, 4)
    arrays = [a, a[:2], a.astype(np.float32), np.asfortranarray(a), a[::-1], a[:, ::2], a[:0], a.T]
    stays_compiled(follows(f, *[(None, (b,)) for b in arrays]))


def test_foreign_byte_order_runs_eagerly() -> None:
    found = follows(lambda a: np.sum(a * 2), (None, (x(),)), (None, (x().astype(x().dtype.newbyteorder()),)))
    assert "dtype" in found.warned[0]


def test_tree_structure() -> None:
    def f(p: Any) -> Any:
        leaves = list(p.values()) if isinstance(p, dict) else list(p)
        return sum((np.sum(v * v) for v in leaves), 0.0)

    trees = [[x()], [x(), x(1, 2)], (x(), x(1, 2)), {"a": x(), "b": x(1)}, {"b": x(1), "a": x()}, {"a": x(), "c": x(1)}]
    stays_compiled(follows(f, *[(None, (tree,)) for tree in trees]))


def test_the_order_of_a_dict() -> None:
    def f(p: Any) -> Any:
        total: Any = 0.0
        for v in p.values():
            total = total * 2 + np.sum(v)
        return total

    stays_compiled(follows(f, (None, ({"a": x(1), "b": x(2)},)), (None, ({"b": x(2), "a": x(1)},))))


def test_the_order_of_keyword_arguments() -> None:
    @gs.compile
    def f(a: Any, **rest: Any) -> Any:
        total = np.sum(a)
        for v in rest.values():
            total = total * 2 + v
        return total

    for _ in range(3):
        assert f(x(), p=1.0, q=2.0) == 1.25 * 4 + 4
        assert f(x(), q=2.0, p=1.0) == 1.25 * 4 + 5


def test_static_arguments() -> None:
    def f(a: Any, n: Any) -> Any:
        return np.sum(a) * 2 if n == 1 and type(n) is int else np.sum(a) * (3 if n else 4)

    stays_compiled(follows(f, *[(None, (x(), n)) for n in (1, 2, 0, True, False, "a", "", None, np.int64(1), b"x")]))


def test_slices_are_told_apart_by_their_parts() -> None:
    found = follows(
        lambda a, s: np.sum(a[s]), (None, (x(), slice(0, 2))), (None, (x(), slice(0, 2))), (None, (x(), slice(1, 3)))
    )
    stays_compiled(found)
    assert found.captures == 2


def test_a_learning_rate_schedule_is_captured_once() -> None:
    def step(w: Any, rate: float) -> Any:
        return w - rate * gs.grad(lambda v: np.sum(v**2))(w)

    found = follows(step, *[(None, (x(), 0.1 / (k + 1))) for k in range(8)], transform=lambda f: f)
    stays_compiled(found)
    assert (found.captures, found.texts) == (1, 1)


@pytest.mark.parametrize("special", [0.0, -0.0, math.inf, math.nan, 1e-320])
def test_float_arguments_are_what_they_are(special: float) -> None:
    found = follows(lambda a, r: np.sum(a / r), (None, (x(), 2.0)), (None, (x(), special)))
    stays_compiled(found)
    assert found.captures == 1


def test_numbers_of_other_types() -> None:
    f = lambda a, r: np.sum(a * r)
    numbers = [2.0, 2, np.float64(2), np.float32(2), np.int32(2), True, 2 + 0j]
    stays_compiled(follows(lambda a, r: np.real(f(a, r)), *[(None, (x().astype(np.float32), n)) for n in numbers]))


def test_batch_sizes_do_not_pile_up() -> None:
    def loss(w: Any, a: Any) -> Any:
        return np.mean((a @ w) ** 2)

    found = follows(loss, *[(None, (x(), np.ones((n, 3)))) for n in range(1, 31)])
    stays_compiled(found)
    assert found.texts == 1


def test_at_most_sixteen_specialisations() -> None:
    def f(a: Any, n: int) -> Any:
        return np.sum(a) * n

    found = follows(f, *[(None, (x(), n)) for n in range(20)])
    assert found.texts == 16
    assert "16 specialisations" in found.warned[0]


def test_functions_as_arguments() -> None:
    helper = lambda a: a * SCALE
    calls = [(setting(SCALE=s), (x(), h)) for h in (np.sin, np.cos, helper) for s in (2.0, 3.0)]
    stays_compiled(follows(lambda a, h: np.sum(h(a)), *calls))


def test_many_lambdas_as_arguments() -> None:
    stays_compiled(follows(lambda a, h: np.sum(h(a)), *[(None, (x(), lambda a: a * 2)) for _ in range(20)]))


# Scalars and arrays read from outside ----------------------------------------------------------------------------------

SCALE: Any = 2.0
W: Any = np.array([1.0, 2.0, 3.0])
UNBOUND: Any


@pytest.mark.parametrize(
    "values",
    [(2.0, 3.0), (0.0, -0.0), (1, 1.0, True), (math.nan, 1.0), ("a", "b"), (None, 1.0), (1j, 2j), ((1, 2), (1, 3))],
)
def test_global_scalars(values: tuple[Any, ...]) -> None:
    def f(a: Any) -> Any:
        known = SCALE
        if isinstance(known, (str, tuple)) or known is None:
            return np.sum(a) * {"a": 2.0, "b": 3.0, None: 4.0, (1, 2): 5.0, (1, 3): 6.0}[known]
        return np.sum(np.real(a * known)) * (math.copysign(1.0, known.real)) * (2.0 if type(known) is int else 1.0)

    stays_compiled(follows(f, *[(setting(SCALE=v), (x(),)) for v in (*values, values[0])]))


def test_closure_scalars() -> None:
    scale: Any = 0.0

    def bind(value: Any) -> Setup:
        def setup() -> None:
            nonlocal scale
            scale = value

        return setup

    def f(a: Any) -> Any:
        return np.sum(a) * math.copysign(2.0, scale) + scale

    stays_compiled(follows(f, *[(bind(v), (x(),)) for v in (0.0, -0.0, 1.0, 1, True, 0.0)]))


def test_global_arrays_rebound_and_written() -> None:
    def write(value: float) -> Setup:
        def setup() -> None:
            global W
            W = np.array([1.0, 2.0, 3.0])
            W[1] = value

        return setup

    f = lambda a: np.sum(a * W)
    found = follows(f, (setting(W=x()), (x(),)), (write(5.0), (x(),)), (write(7.0), (x(),)))
    stays_compiled(found)
    assert found.captures == 1
    stays_compiled(
        follows(f, (setting(W=x()), (x(),)), (setting(W=np.ones((2, 3))), (x(),)), (setting(W=np.float32(3)), (x(),)))
    )
    assert follows(f, (setting(W=x()), (x(),)), (setting(W=[1.0, 2.0, 3.0]), (x(),))).warned


def test_closure_arrays_mutated_in_place() -> None:
    table = np.array([1.0, 2.0, 3.0])
    places = np.array([0, 2])

    def write(value: float, place: int) -> Setup:
        def setup() -> None:
            table[0], places[1] = value, place

        return setup

    stays_compiled(
        follows(lambda a: np.sum(a[places]) * np.sum(table), *[(write(v, p), (x(),)) for v, p in ((1, 2), (3, 1))])
    )


@pytest.fixture
def module() -> Iterator[Any]:
    made = types.ModuleType("guarded_module")
    source = "import numpy as np\nK = 2.0\nW = np.array([1.0, 2.0, 3.0])\ndef helper(a):\n    return a * W * K\n"
    exec(source, vars(made))
    sys.modules["guarded_module"] = made
    yield made
    del sys.modules["guarded_module"]


def test_modules(module: Any) -> None:
    def by_attribute(a: Any) -> Any:
        return np.sum(a * module.W) * module.K

    def by_import(a: Any) -> Any:
        import guarded_module

        return np.sum(a) * guarded_module.K

    def by_from_import(a: Any) -> Any:
        from guarded_module import K

        return np.sum(a) * K

    def through_a_helper(a: Any) -> Any:
        return np.sum(module.helper(a))

    calls = [(lambda k=k: setattr(module, "K", k), (x(),)) for k in (2.0, 3.0, 4)]
    arrays = [(lambda w=w: setattr(module, "W", w), (x(),)) for w in (x(), x(1, 2, 3), 3.0)]
    for f in (by_attribute, by_import, by_from_import, through_a_helper):
        stays_compiled(follows(f, *calls, *arrays))


def test_a_module_that_is_replaced(module: Any) -> None:
    other = types.ModuleType("guarded_module")
    other.K = 7.0  # type: ignore[attr-defined]

    def f(a: Any) -> Any:
        import guarded_module

        return np.sum(a) * guarded_module.K

    stays_compiled(follows(f, *[(lambda m=m: sys.modules.update(guarded_module=m), (x(),)) for m in (module, other)]))


def test_arrays_of_one_name_from_two_modules(module: Any) -> None:
    setting(W=x(5, 6, 7))()
    stays_compiled(follows(lambda a: np.sum(module.helper(a) * W), (None, (x(),))))


def test_a_name_that_comes_to_hide_a_builtin() -> None:
    def f(a: Any) -> Any:
        return np.sum(a) * abs(-2.0)

    try:
        stays_compiled(follows(f, (None, (x(),)), (setting(abs=lambda v: v * 3), (x(),))))
    finally:
        globals().pop("abs", None)


def test_a_name_that_is_deleted() -> None:
    def f(a: Any) -> Any:
        return np.sum(a) * UNBOUND

    found = follows(f, (setting(UNBOUND=2.0), (x(),)), (lambda: globals().pop("UNBOUND", None), (x(),)))
    stays_compiled(found)


# Functions ------------------------------------------------------------------------------------------------------------


def helper(a: Any) -> Any:
    return a * SCALE


def other_helper(a: Any) -> Any:
    return a + SCALE


def outer_helper(a: Any) -> Any:
    return helper(a) * 2


def test_helpers_rebound_and_rewritten() -> None:
    original, code = helper, helper.__code__

    def rewrite(to: Any) -> Setup:
        return lambda: setattr(original, "__code__", to)

    try:
        stays_compiled(
            follows(
                lambda a: np.sum(outer_helper(a)),
                (setting(SCALE=2.0), (x(),)),
                (setting(SCALE=3.0), (x(),)),
                (setting(helper=other_helper), (x(),)),
                (setting(helper=original), (x(),)),
                (rewrite(other_helper.__code__), (x(),)),
                (rewrite(code), (x(),)),
            )
        )
    finally:
        original.__code__ = code
        setting(helper=original)()


def test_the_function_itself_is_rewritten() -> None:
    def f(a: Any) -> Any:
        return np.sum(a)

    def g(a: Any) -> Any:
        return np.sum(a * a)

    stays_compiled(follows(f, (None, (x(),)), (lambda: setattr(f, "__code__", g.__code__), (x(),))))


def test_defaults() -> None:
    def f(a: Any, scale: Any = 2.0, *, shift: Any = 1.0) -> Any:
        return np.sum(a) * scale + shift

    def with_defaults(*values: Any) -> Setup:
        def setup() -> None:
            f.__defaults__, f.__kwdefaults__ = (values[0],), {"shift": values[1]}

        return setup

    stays_compiled(follows(f, *[(with_defaults(*v), (x(),)) for v in ((2.0, 1.0), (3.0, 1.0), (3.0, 5.0), (3, 5.0))]))


def test_keyword_defaults_changed_in_place() -> None:
    def f(a: Any, *, shift: Any = 1.0) -> Any:
        return np.sum(a) + shift

    stays_compiled(follows(f, *[(lambda s=s: f.__kwdefaults__.update(shift=s), (x(),)) for s in (1.0, 2.0)]))


def test_functions_as_defaults() -> None:
    def f(a: Any, act: Any = helper, *, last: Any = helper) -> Any:
        return np.sum(last(act(a)))

    stays_compiled(follows(f, *[(setting(SCALE=s), (x(),)) for s in (2.0, 3.0)]))


def test_functions_called_by_the_library() -> None:
    reads = [
        lambda a: np.sum(functools.reduce(lambda p, q: p * q * SCALE, [a, a])),
        lambda a: sum(map(helper, a)),
        lambda a: np.sum(a) * sorted([1.0, -2.0], key=lambda v: v * SCALE)[0],
        lambda a: np.sum(np.stack([v for v in (lambda: (helper(b) for b in a))()])),
    ]
    for f in reads:
        stays_compiled(follows(f, *[(setting(SCALE=s), (x(),)) for s in (2.0, -3.0)]))


def test_recursion_and_decorators() -> None:
    def scaled(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any) -> Any:
            return function(*args) * SCALE

        return inner

    @scaled
    def power(a: Any, n: int) -> Any:
        return a if n == 0 else a * power(a, n - 1)

    stays_compiled(follows(lambda a: np.sum(power(a, 3)), *[(setting(SCALE=s), (x(),)) for s in (2.0, 3.0)]))


def test_transforms_read_from_outside() -> None:
    slope = gs.grad(lambda a: np.sum(a**3) * SCALE)
    compiled = gs.compile(lambda a: np.sum(a**3) * SCALE)
    for f in (lambda a: np.sum(slope(a) ** 2), lambda a: compiled(a) * 2):
        stays_compiled(follows(f, *[(setting(SCALE=s), (x(),)) for s in (2.0, 3.0)]))


# Values that leave ------------------------------------------------------------------------------------------------------


def test_branches() -> None:
    def f(a: Any) -> Any:
        if a[0] > 0:
            return np.sum(a**2)
        if np.sum(a) > 0:
            return np.sum(a**3)
        return np.sum(np.sin(a))

    arrays = [x(1, 2), x(-1, 3), x(-1, -3), x(2, 2), x(-1, 0.5), x(0, 0), x(math.nan, 1)]
    found = follows(f, *[(None, (a,)) for a in arrays])
    stays_compiled(found)
    assert found.texts == 3


def test_exits_in_nested_helpers() -> None:
    def leaf(v: Any) -> Any:
        return v * 2 if v > 0 else -v

    def middle(a: Any) -> Any:
        return sum([leaf(v) for v in a], 0.0)

    stays_compiled(follows(lambda a: middle(a) ** 2, *[(None, (x(p, q),)) for p in (1, -1) for q in (2, -2)]))


def test_loops_whose_length_is_a_value() -> None:
    def f(a: Any) -> Any:
        total: Any = 0.0
        while total < 3:
            total = total + np.sum(a * a) + 0.5
        for _ in range(int(a[0])):
            total = total * a[1]
        return total

    stays_compiled(follows(f, *[(None, (x(p, q),)) for p in (1.5, 3.9) for q in (0.5, 1.0)]))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.sum(a) * int(a[0]),
        lambda a: np.sum(a) * round(a[0]),
        lambda a: np.sum(a) * math.floor(a[0]),
        lambda a: np.sum(a) * a[0].astype(int).item(),
        lambda a: np.sum(a) * [1.0, 10.0, 100.0, 1000.0][a[0].astype(int)],
        lambda a: a[np.argmax(a)] * 2.0,
        lambda a: sorted(a)[0] * max(a) + min(a),
        lambda a: np.sum(a) * (2.0 if np.allclose(a, 2.4) else 1.0),
        lambda a: np.sum(a) * (2.0 if 2.0 in a else 1.0),
        lambda a: np.sum(a) * np.searchsorted(np.array([0.0, 1.0, 2.5]), a[0]),
    ],
)
def test_small_exits(function: Any) -> None:
    follows(
        function,
        *[(None, (x(*v),)) for v in ((2.4, 1.0), (2.6, 1.0), (2.0, 3.0), (0.0, 2.4), (2.4, 2.4))],
        transform=lambda f: f,
    )


def test_float_exits_keep_sign_and_nan() -> None:
    def sign(a: Any) -> Any:
        return np.sum(a * a) + math.copysign(1.0, float(a[0]))

    def missing(a: Any) -> Any:
        s = float(a[0])
        return np.sum(a[1:]) * (2.0 if s != s else 1.0)

    plain = lambda f: f
    follows(sign, (None, (x(0.0, 1.0),)), (None, (x(-0.0, 1.0),)), transform=plain)
    follows(missing, (None, (x(math.nan, 1.0),)), (None, (x(1.0, 1.0),)), transform=plain)


def test_a_float_that_keeps_changing_makes_it_eager() -> None:
    found = follows(lambda a: np.sum(a) * float(a[0]), *[(None, (x(k, 1.0),)) for k in range(6)], transform=lambda f: f)
    assert "differs from call to call" in found.warned[0]


def test_sizes_that_depend_on_values() -> None:
    def by_size(a: Any) -> Any:
        y = a[a > 0]
        return np.sum(y) * (10.0 if y.size > 1 else 1.0)

    def by_loop(a: Any) -> Any:
        total: Any = 0.0
        for k, v in enumerate(a[a > 0]):
            total = total + v * (k + 1)
        return total

    def by_nonzero(a: Any) -> Any:
        (found,) = np.nonzero(a > 0)
        return np.sum(a) * len(found)

    for f in (by_size, by_loop, by_nonzero):
        stays_compiled(follows(f, *[(None, (x(*v),)) for v in ((2.0, 1.0), (2.0, -1.0), (-2.0, -1.0), (1.0, 5.0))]))


def test_sizes_used_as_numbers() -> None:
    def f(a: Any) -> Any:
        return np.sum(a) * a.shape[0] ** 2 + len(a) / 3 + math.sqrt(a.size) + {3: 10.0, 5: 20.0}.get(len(a), 1.0)

    stays_compiled(follows(f, *[(None, (np.arange(float(n)) + k,)) for n in (3, 5, 4) for k in (0, 1)]))


# Errors ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_errors_that_the_function_catches(first: int) -> None:
    def solves(a: Any) -> Any:
        try:
            return np.sum(np.linalg.inv(a))
        except np.linalg.LinAlgError:
            return np.sum(a) * 0.5

    def converts(a: Any) -> Any:
        try:
            k = int(a[0, 0])
        except ValueError:
            k = 7
        return np.sum(a[1:]) * k

    def takes_a_root(a: Any) -> Any:
        try:
            return math.sqrt(a[0, 0]) * np.sum(a)
        except ValueError:
            return np.sum(a)

    regular, odd = np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([[1.0, 2.0], [2.0, 4.0]])
    for f, other in ((solves, odd), (converts, regular * math.nan), (takes_a_root, -regular)):
        pair = (regular, other)
        follows(f, (None, (pair[first],)), (None, (pair[1 - first],)), (None, (pair[first],)), transform=lambda f: f)


@pytest.mark.parametrize("name", ["sqrt", "log", "exp", "log1p", "acos", "sinh"])
def test_errors_of_math(name: str) -> None:
    f = lambda a: getattr_free(name)(a[0]) * np.sum(a)
    calls = [(None, (x(*v),)) for v in ((0.5, 1.0), (1000.0, 1.0), (-1.0, 1.0), (-2.0, 1.0), (0.0, 1.0))]
    follows(f, *calls)


def getattr_free(name: str) -> Any:
    if name == "sqrt":
        return math.sqrt
    if name == "log":
        return math.log
    if name == "exp":
        return math.exp
    if name == "log1p":
        return math.log1p
    return math.acos if name == "acos" else math.sinh


def test_errors_under_errstate() -> None:
    def f(a: Any) -> Any:
        with np.errstate(divide="raise"):
            return np.sum(1.0 / a)

    assert follows(f, (None, (x(2.0),)), (None, (x(0.0),))).warned


# State that the scope does not see: the function runs eagerly --------------------------------------------------------------


class Model:
    def __init__(self) -> None:
        self.k = 2.0

    def loss(self, a: Any) -> Any:
        return np.sum(a) * self.k

    def __call__(self, a: Any) -> Any:
        return np.sum(a) * self.k


@dataclass
class WithClassVariable:
    w: Any
    scale: ClassVar[float] = 2.0


class Base:
    def twice(self) -> Any:
        return self.w * SCALE  # type: ignore[attr-defined]


@dataclass
class Inherits(Base):
    w: Any


@dataclass
class Indexed:
    w: Any

    def __getitem__(self, k: int) -> Any:
        return self.w[k] * SCALE


@dataclass
class Computed:
    w: Any

    @functools.cached_property
    def twice(self) -> Any:
        return self.w * SCALE


class Tuple(NamedTuple):
    w: Any

    def twice(self) -> Any:  # type: ignore[override]
        return self.w * SCALE


class Mode(enum.IntEnum):
    FAST = 1

    def factor(self) -> float:
        return float(SCALE)


class Number(float):
    bias = 1.0


MODEL = Model()
PARTIAL = functools.partial(helper)
VECTORIZED = np.vectorize(lambda v: v * SCALE)
FROM_PYTHON = np.frompyfunc(lambda v: v * SCALE, 1, 1)
POLYNOMIAL = np.polynomial.Polynomial([1.0, 2.0])
NUMBER = Number(2.0)
SHARED: list[float] = [2.0]
TABLE = np.array([1.0, 2.0, 3.0])
DOT = TABLE.dot
COUNTER = iter(range(10**6))
FLAG = True


def _set(holder: Any, name: str) -> Callable[[Any], Setup]:
    return lambda value: lambda: setattr(holder, name, value)


def _item(holder: Any, key: Any) -> Callable[[Any], Setup]:
    return lambda value: lambda: holder.__setitem__(key, value)


_scale: Callable[[Any], Setup] = lambda value: setting(SCALE=value)


@functools.lru_cache
def cached(v: float) -> float:
    return v * SCALE


def _uncached(value: Any) -> Setup:
    def setup() -> None:
        cached.cache_clear()
        globals().update(SCALE=value)

    return setup


@functools.singledispatch
def dispatched(v: Any) -> Any:
    return v * SCALE


def attributed(a: Any) -> Any:
    try:
        return a * attributed.k  # type: ignore[attr-defined]
    except AttributeError:
        return a


def _attribute(value: Any) -> Setup:
    return lambda: attributed.__dict__.pop("k", None) if value == 2.0 else setattr(attributed, "k", value)


UNSEEN: dict[str, tuple[Any, tuple[Any, ...], Callable[[Any], Setup]]] = {
    "a bound method": (MODEL.loss, (x(),), _set(MODEL, "k")),
    "a callable object": (MODEL, (x(),), _set(MODEL, "k")),
    "a partial of a list": (functools.partial(lambda k, a: np.sum(a) * k[0], SHARED), (x(),), _item(SHARED, 0)),
    "a partial in a global": (lambda a: np.sum(PARTIAL(a)), (x(),), _scale),
    "np.vectorize": (lambda a: np.sum(a) * float(VECTORIZED(1.0)), (x(),), _scale),
    "np.frompyfunc": (lambda a: np.sum(a) * FROM_PYTHON(1.0), (x(),), _scale),
    "a polynomial": (lambda a: np.sum(a) * POLYNOMIAL(1.0), (x(),), _item(POLYNOMIAL.coef, 0)),
    "an attribute of a number": (lambda a: np.sum(a) * NUMBER.bias, (x(),), _set(NUMBER, "bias")),
    "a class variable": (lambda p: np.sum(p.w) * p.scale, (WithClassVariable(x()),), _set(WithClassVariable, "scale")),
    "a class variable of its own": (
        lambda a: np.sum(WithClassVariable(a).w) * WithClassVariable.scale, (x(),), _set(WithClassVariable, "scale")
    ),
    "an inherited method": (lambda p: np.sum(p.twice()), (Inherits(x()),), _scale),
    "a special method": (lambda p: np.sum(p[0]), (Indexed(x()),), _scale),
    "a cached property": (lambda p: np.sum(p.twice), (Computed(x()),), _scale),
    "a method of a named tuple": (lambda p: np.sum(p.twice()), (Tuple(x()),), _scale),
    "a method of an enum": (lambda a, m: np.sum(a) * m.factor(), (x(), Mode.FAST), _scale),
    "an attribute of a class argument": (lambda a, c: np.sum(a) * c.k, (x(), type("K", (), {"k": 1.0})), _scale),
    "a list of another module": (lambda a: np.sum(a) * SHARED[0], (x(),), _item(SHARED, 0)),
    "the length of a list": (lambda a: np.sum(a) * len(SHARED), (x(),), _item(SHARED, slice(1, None))),
    "a method of an array": (lambda a: np.sum(a) * DOT(np.ones(3)), (x(),), _item(TABLE, 0)),
    "lru_cache": (lambda a: np.sum(a) * cached(1.0), (x(),), _uncached),
    "singledispatch": (lambda a: np.sum(a) * dispatched(1.0), (x(),), _scale),
    "an attribute of a function": (lambda a: np.sum(attributed(a)), (x(),), _attribute),
    "globals()": (lambda a: np.sum(a) * globals().get("SCALE"), (x(),), _scale),
    "eval": (lambda a: np.sum(a) * eval("SCALE"), (x(),), _scale),
    "getattr": (lambda a: np.sum(a) * getattr(MODEL, "k"), (x(),), _set(MODEL, "k")),  # noqa: B009
    "vars": (lambda a: np.sum(a) * vars(MODEL)["k"], (x(),), _set(MODEL, "k")),
    "sys.modules": (lambda a: np.sum(a) * sys.modules[__name__].SCALE, (x(),), _scale),
}  # fmt: skip


@pytest.mark.parametrize("what", UNSEEN)
def test_state_that_is_not_seen(what: str) -> None:
    function, args, change = UNSEEN[what]
    values = ([3.0], [4.0, 5.0]) if what == "the length of a list" else (2.0, 3.0, 2.0)
    calls = [(change(value), args) for value in values]
    if "class argument" in what:
        calls = [(_set(args[1], "k")(value), args) for value in values]
    try:
        found = follows(function, *calls)
    finally:
        SHARED[:] = [2.0]
        change(2.0)() if what not in ("the length of a list",) else None
    assert found.warned
    assert "test_guards.py:" in found.warned[0]


def test_an_iterator_is_not_used_up() -> None:
    found = follows(lambda a: np.sum(a) * 0.0 + next(COUNTER) * 0.0, (None, (x(),)))
    assert found.warned


def test_a_class_defined_in_the_body() -> None:
    def f(a: Any) -> Any:
        class K:
            k = SCALE

        return np.sum(a) * K.k

    assert follows(f, *[(setting(SCALE=s), (x(),)) for s in (2.0, 3.0)]).warned


# Results -------------------------------------------------------------------------------------------------------------------


class Left(NamedTuple):
    v: Any


class Right(NamedTuple):
    v: Any


def test_results_of_one_text_and_two_types() -> None:
    f = lambda a: Left(a * 2) if FLAG else Right(a * 2)
    found = follows(f, *[(setting(FLAG=flag), (x(),)) for flag in (True, False, True)], transform=lambda f: f)
    stays_compiled(found)


def test_containers_of_the_standard_library() -> None:
    def f(p: Any) -> Any:
        return np.sum(p["a"] * 2)

    makes = [collections.OrderedDict, dict, lambda d: collections.defaultdict(list, d)]
    follows(f, *[(None, (make({"a": x()}),)) for make in makes])
    follows(lambda p: np.sum(p[0] * 2), (None, (collections.deque([x()]),)), (None, ([x()],)))


def test_a_result_that_is_an_argument_or_a_view_of_one() -> None:
    compiled = gs.compile(lambda a: (a, a[1:], W), verify=True)
    setting(W=x(1, 2, 3))()
    for _ in range(3):
        a = x()
        same, view, outside = compiled(a)
        assert same is a
        assert view.base is a
        assert outside is W


def test_nothing_is_a_branch_of_its_own() -> None:
    stays_compiled(
        follows(lambda a: np.sum(a) if a[0] > 0 else None, (None, (x(1),)), (None, (x(-1),)), transform=lambda f: f)
    )
