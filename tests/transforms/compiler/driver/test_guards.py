"""Nothing is ever silently stale: whatever a capture rests on is noticed when it changes, on the very next call."""

from __future__ import annotations

import functools
import math
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from following import Setup, follows, stays_compiled, x


def setting(**names: Any) -> Setup:
    """Bind globals of this module."""
    return lambda: globals().update(names)


# Arguments -----------------------------------------------------------------------------------------------------------


def test_shapes_dtypes_and_layouts() -> None:
    def f(a: Any) -> Any:
        return np.sum(np.sin(a) @ a.T)

    a = np.arange(12.0).reshape(3, 4)
    arrays = [a, a[:2], a.astype(np.float32), np.asfortranarray(a), a[::-1], a[:, ::2], a[:0], a.T]
    stays_compiled(follows(f, *[(None, (b,)) for b in arrays]))


@pytest.mark.parametrize(
    "name", [*[f"c{k}" for k in range(3, 12)], "_4", "__6", "ndarray", "same", "builtin", "overlap", "type", "list"]
)
def test_no_name_of_a_parameter_hides_what_the_check_needs(name: str) -> None:
    space: dict[str, Any] = {"np": np}
    exec(f"def f(a, {name}, p, k=3):\n    a += {name}\n    return np.sum(a) * k * p['s']\n", space)
    compiled = gs.compile(space["f"], verify="first calls")
    for k in range(6):
        assert compiled(x(), x() + k, {"s": 1.0}) == space["f"](x(), x() + k, {"s": 1.0})
    assert compiled._last is not None
    assert compiled._last.hits == 5


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
        return np.sum(a) ** n  # a power is a source of its own

    found = follows(f, *[(None, (x(), n)) for n in range(20)])
    assert found.texts == 16
    assert "16 specialisations" in found.warned[0]


def test_functions_as_arguments() -> None:
    helper = lambda a: a * SCALE
    calls = [(setting(SCALE=s), (x(), h)) for h in (np.sin, np.cos, helper) for s in (2.0, 3.0)]
    stays_compiled(follows(lambda a, h: np.sum(h(a)), *calls))


def test_many_lambdas_as_arguments() -> None:
    stays_compiled(follows(lambda a, h: np.sum(h(a)), *[(None, (x(), lambda a: a * 2)) for _ in range(20)]))


# Scalars and arrays read from outside --------------------------------------------------------------------------------

SCALE: Any = 2.0
W: Any = np.array([1.0, 2.0, 3.0])


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
    stays_compiled(follows(f, (setting(W=x()), (x(),)), (setting(W=[1.0, 2.0, 3.0]), (x(),))))


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
        return np.sum(a) * UNBOUND  # noqa: F821  # bound by the calls

    found = follows(f, (setting(UNBOUND=2.0), (x(),)), (lambda: globals().pop("UNBOUND", None), (x(),)))
    stays_compiled(found)


# Functions -----------------------------------------------------------------------------------------------------------


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
        lambda a: np.sum(np.stack(list((lambda: (helper(b) for b in a))()))),
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


def test_a_rule_that_is_replaced() -> None:
    f = lambda a: np.sum(np.sinh(a))
    compiled = gs.compile(gs.grad(f))
    for k in range(3):
        np.testing.assert_array_equal(compiled(x() + k), np.cosh(x() + k))
    try:
        gs.rule(np.sinh, x=lambda g, x: g * np.cosh(x) * 2)
        np.testing.assert_array_equal(compiled(x()), 2 * np.cosh(x()))
        assert "gs.rule" in gs.explain(compiled).misses[-1].what
    finally:
        gs.rule(np.sinh, x=lambda g, x: g * np.cosh(x))
    np.testing.assert_array_equal(compiled(x()), np.cosh(x()))


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: gs.grad(f, argnums=(0, 1))])
def test_arguments_that_overlap(transform: Any) -> None:
    """The same array twice, a part of it, its transpose (of which NumPy makes the product in another way)."""
    f = transform(lambda a, b: np.sum(np.tanh(a @ b.T) - np.sum(b)))
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(9, 8))
    pairs = [(whole, whole), (whole[:5], whole[2:7]), (whole[:8], whole[:8].T), (whole[:, ::2], whole[:, 1::2])]
    compiled = gs.compile(f, verify="first calls")
    for a, b in [*pairs, *pairs, *[(a * 1.5, b * 0.5) for a, b in pairs]]:
        found, expected = compiled(a, b), f(a, b)
        if not isinstance(expected, tuple):
            found, expected = (found,), (expected,)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_an_argument_that_is_written_while_it_overlaps_runs_eagerly() -> None:
    def f(a: Any, b: Any) -> Any:
        a[0] = 1.0
        return np.sum(a * b)

    both, expected = np.arange(3.0), np.arange(3.0)
    with pytest.warns(gs.EagerWarning, match="writes into memory that several of its arguments share"):
        found = gs.compile(f)(both, both)
    assert found == f(expected, expected)
    np.testing.assert_array_equal(both, expected)
    with (
        pytest.warns(gs.EagerWarning, match="share"),
        pytest.raises(gs.AutogradError, match="shares memory with another argument"),
    ):
        gs.compile(gs.grad(f))(both, both)


def test_grad_mode_and_inference_mode() -> None:
    for mode in (gs.no_grad, gs.inference_mode, gs.enable_grad):
        f = gs.grad(lambda a: np.sum(a**3))
        compiled = gs.compile(f)
        for _ in range(4):
            with mode():
                found = compiled(x())
            np.testing.assert_array_equal(found, f(x()))
            np.testing.assert_array_equal(compiled(x() + 1), f(x() + 1))


# Many places at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-0.0, 5.0, 1, True, np.float32(2.0)])
def test_one_number_among_many_outside(value: Any) -> None:
    numbers = [0.0 * k for k in range(14)]

    def f(a: Any) -> Any:
        total = 0.0
        for number in numbers:
            total = total + np.copysign(2.0, number) * np.sum(a * number + a)
        return total

    compiled = gs.compile(gs.grad(f), verify="first calls")
    for k in range(4):
        np.testing.assert_array_equal(compiled(x() + k), gs.grad(f)(x() + k))
    numbers[9] = value
    np.testing.assert_array_equal(compiled(x()), gs.grad(f)(x()))
    numbers[9] = 0.0  # what is equal serves again, also where it is another object
    np.testing.assert_array_equal(compiled(x()), gs.grad(f)(x()))
    numbers.append(3.0)
    np.testing.assert_array_equal(compiled(x()), gs.grad(f)(x()))


@pytest.mark.parametrize(
    "other",
    [np.ones((2, 3)), np.ones(5, np.float32), np.ones(10)[::2], np.ones(5, int), np.asfortranarray(np.ones((5, 2)))],
)
def test_one_array_among_many_outside(other: Any) -> None:
    arrays = [np.arange(5.0) + k for k in range(14)]

    def f(a: Any) -> Any:
        return sum([np.sum(np.sin(b) * len(b.shape)) * np.sum(a * b.itemsize) for b in arrays], 0.0)

    compiled = gs.compile(gs.grad(f), verify="first calls")
    for k in range(4):
        np.testing.assert_array_equal(compiled(x() + k), gs.grad(f)(x() + k))
    arrays[3][:] = 7.0
    np.testing.assert_array_equal(compiled(x()), gs.grad(f)(x()))
    arrays[11] = other
    np.testing.assert_array_equal(compiled(x()), gs.grad(f)(x()))
