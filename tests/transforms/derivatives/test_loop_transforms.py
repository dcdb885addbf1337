"""Kept loops under the other transforms: forward mode, products with the Hessian, Jacobians, Hessians, and vmap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from kept_loops import CASES, FEW, ROWS, XS
from trips import held, summed

Array = Any
SOON = {"issue", "over_rows", "collected", "branches"}  # the others are slow


def direction(x: Array) -> Array:
    """A vector like `x`, of several sizes and signs."""
    return np.cos(np.arange(1.0, np.size(x) + 1.0)).reshape(np.shape(x))[()]


def pushed(f: Callable[..., Any]) -> Callable[..., Any]:
    """How `f` moves along a vector, which stands behind its arguments."""

    def product(*args: Any) -> Any:
        *given, v = args
        x, *rest = given
        return gs.jvp(lambda x: f(x, *rest), (x,), (v,))

    return product


def along(x: Any, *rest: Any) -> tuple[Any, ...]:
    """Arguments, and the vector behind them."""
    return (x, *rest, direction(x))


def alone(*args: Any) -> tuple[Any, ...]:
    """Arguments, and nothing else."""
    return args


def examples(x: Any, *rest: Any) -> tuple[Any, ...]:
    """Arguments of four examples, which share all but the first."""
    return (np.stack([k * np.asarray(x) for k in (1.0, 0.7, -0.4, 0.1)]), *rest)


def examples_along(*args: Any) -> tuple[Any, ...]:
    """The same with a vector behind them."""
    return along(*examples(*args))


def mapped(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of many first arguments; all examples share the others."""

    def many(x: Array, *rest: Any) -> Any:
        return gs.vmap(f, in_axes=(0, *[None] * len(rest)))(x, *rest)

    return many


# What is compiled of a function, the arguments that it takes, and how exact it is: to the bit, but for the signs of zeros
# (None), or to rounding, where cotangents add up in another order.
TRANSFORMS: dict[str, tuple[Callable[[Any], Any], Callable[..., tuple[Any, ...]], bool | None]] = {
    "value and tangent": (pushed, along, True),
    "gradient of the slope": (lambda f: gs.grad(lambda *args: pushed(summed(f))(*args)[1]), along, False),
    "tangent of the tangent": (
        lambda f: lambda *args: pushed(lambda *inner: pushed(summed(f))(*inner, args[-1])[1])(*args), along, True
    ),
    "product with the Hessian": (lambda f: gs.hvp(summed(f)), along, False),
    "rows": (gs.jacrev, alone, False),
    "columns": (gs.jacfwd, alone, None),
    "Hessian": (lambda f: gs.hessian(summed(f)), alone, False),
}  # fmt: skip
BATCHED: dict[str, tuple[Callable[[Any], Any], Callable[..., tuple[Any, ...]]]] = {
    "values": (mapped, examples),
    "gradients": (lambda f: mapped(gs.value_and_grad(summed(f))), examples),
    "gradient of all": (lambda f: gs.grad(lambda *args: np.sum(np.sin(mapped(summed(f))(*args)))), examples),
    "tangents": (lambda f: pushed(mapped(f)), examples_along),
    "Jacobians": (lambda f: mapped(gs.jacrev(f)), examples),
    "Hessians": (lambda f: mapped(gs.hessian(summed(f))), examples),
}
BY_SIZES = [name for name, case in CASES.items() if case.calls is ROWS or name in ("over_a_range", "triangle")]
BY_SIZES.remove("through_a_helper")  # which decides by values, too


def soon(names: Iterable[str]) -> list[Any]:
    """Names as parameters of a test, most of them slow."""
    return [pytest.param(name, marks=[] if name in SOON else pytest.mark.slow) for name in names]


def calls_of(calls: Any, given: Callable[..., tuple[Any, ...]]) -> list[Callable[[], tuple[Any, ...]]]:
    """The calls of a case, as `given` makes their arguments."""
    return [lambda args=args: given(*args) for args in calls]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", soon(CASES))
def test_derivatives_of_every_kind_keep_the_loop(name: str, transform: str) -> None:
    made, given, exact = TRANSFORMS[transform]
    sources, _ = held(made(CASES[name].function), calls_of(CASES[name].calls, given), exact)
    assert CASES[name].sources in (None, sources)


@pytest.mark.parametrize("transform", BATCHED)
@pytest.mark.parametrize("name", soon(BY_SIZES))
def test_vmap_keeps_the_loop(name: str, transform: str) -> None:
    made, given = BATCHED[transform]
    sources, _ = held(made(CASES[name].function), calls_of(CASES[name].calls, given), False)
    assert CASES[name].sources in (None, sources)


@pytest.mark.parametrize("name", soon(name for name in CASES if name not in BY_SIZES))
def test_what_decides_by_an_example_raises_as_in_eager_mode(name: str) -> None:
    many, args = mapped(CASES[name].function), examples(*CASES[name].calls[0])
    for run in (many, gs.compile(many)):
        with pytest.raises(gs.AutogradError, match=r"under gs\.vmap a Tensor holds one value for each example"):
            run(*args)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BY_SIZES if CASES[name].calls is ROWS])
def test_few_trips_are_right_too(name: str) -> None:
    for made, given in [entry[:2] for entry in (*TRANSFORMS.values(), *BATCHED.values())]:
        held(made(CASES[name].function), calls_of([*FEW, *ROWS[:2]], given), False)


# --- the promises one by one -----------------------------------------------------------------------------------------


def recurrent(w: Array, xs: Array) -> Array:
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(w @ h + x)
    return np.sum(h**2)


W = np.random.default_rng(1).normal(size=(3, 3))
GROWING: dict[str, Callable[[Array], Any]] = {
    "jvp": lambda xs: gs.jvp(lambda w: recurrent(w, xs), (W,), (W,)),
    "hvp": lambda xs: gs.hvp(recurrent)(W, xs, W),
    "jacobian": lambda xs: gs.jacobian(lambda w: w[0] * recurrent(w, xs))(W),
    "hessian": lambda xs: gs.hessian(recurrent)(W, xs),
    "vmap": lambda xs: gs.vmap(gs.grad(recurrent, argnums=1), in_axes=(None, 0))(W, np.stack([xs, -xs])),
}


@pytest.mark.parametrize("trips", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", GROWING)
def test_the_source_does_not_grow_with_the_trips(name: str, trips: int) -> None:
    sources = {str(gs.source(GROWING[name], np.resize(XS, (n, 3)))) for n in (10, trips)}
    assert len({len(source.splitlines()) for source in sources}) == 1


def test_the_tangent_of_a_loop_is_one_loop_more() -> None:
    source = str(gs.source(lambda w, xs, v: gs.jvp(lambda w: recurrent(w, xs), (w,), (v,)), W, XS, W))
    assert [line.partition(" ")[0] for line in map(str.strip, source.splitlines())].count("for") == 2
    assert "d_h = (v @ h + w @ d_h) * (1.0 - h_3**2)" in source


def one_arm_knows_the_example(xs: Array) -> Array:
    h = np.zeros(3)
    for i in range(len(xs)):
        if i % 3 == 1:
            h = h + xs[i]
        else:
            h = h * 0.5 + 0.1
    return h


def written_for_each(xs: Array) -> Array:
    s = np.zeros(3)
    same = s
    for x in xs:
        s += x * x
    return same * 2.0


def filled(xs: Array) -> Array:
    out = np.zeros(len(xs) + 1)
    for i in range(len(xs)):
        out[i + 1] = out[i] * 0.5 + np.sum(xs[i])
    return out


def listed_for_all_and_for_each(xs: Array) -> Array:
    shared, own, u = [], [], np.ones(3)
    for x in xs:
        u = u * 0.9
        shared.append(u)
        own.append(x * u)
    return np.stack(shared) * np.stack(own)


def bound_in_the_loop(xs: Array) -> Array:
    for x in xs:
        last = np.sin(x)
    return last * 2.0


def loop_in_a_loop(xs: Array) -> Array:
    h = np.zeros(3)
    for x in xs:
        for j in range(4):
            h = np.tanh(h * 0.5 + x * 0.1 * j)
    return h


def while_of_a_counter(xs: Array) -> Array:
    i, h = 0, xs[0]
    while i < 7:
        h = np.tanh(h) + 0.1 * xs[1]
        i += 1
    return h


def vmap_in_a_loop(xs: Array) -> Array:
    h = np.zeros(3)
    for x in xs:
        h = h + gs.vmap(lambda a: np.sin(a) * a)(x)
    return h


def matrices(xs: Array) -> Array:
    a = np.eye(3)
    for x in xs:
        a = a @ (np.eye(3) + 0.1 * np.outer(x, x))
    return np.linalg.solve(a + np.eye(3), xs[0])


def size_of_the_outer(xs: Array) -> Array:
    s = 0.0
    for i in range(5):
        for _ in range(5):
            s = s + 0.1 * len(xs) * i
        s = s + np.sum(xs)
    return s


MAPPED: dict[str, Callable[[Any], Any]] = {
    "vmap": gs.vmap,
    "other axes": lambda f: gs.vmap(f, in_axes=1, out_axes=-1),
    "vmap of vmap": lambda f: lambda xs: gs.vmap(gs.vmap(f))(np.stack([xs, 0.5 * xs])),
    "gradients": lambda f: gs.vmap(gs.grad(summed(f))),
    "columns": lambda f: gs.vmap(gs.jacfwd(f)),
    "tangents": lambda f: gs.vmap(lambda xs: gs.jvp(f, (xs,), (np.cos(xs),))),
    "Hessians": lambda f: gs.vmap(gs.hessian(summed(f))),
    "columns of vmap": lambda f: gs.jacfwd(gs.vmap(f)),
}


@pytest.mark.parametrize("transform", MAPPED)
@pytest.mark.parametrize(
    "function",
    [one_arm_knows_the_example, written_for_each, filled, listed_for_all_and_for_each, bound_in_the_loop, loop_in_a_loop,
     while_of_a_counter, vmap_in_a_loop, matrices, size_of_the_outer],
)  # fmt: skip
def test_loops_under_vmap(function: Any, transform: str) -> None:
    xs = np.random.default_rng(2).normal(size=(6, 4, 3) if transform == "other axes" else (4, 6, 3))
    eager = MAPPED[transform](function)
    compiled = gs.compile(eager, verify="first calls")
    for k in (1.0, 0.3, -2.0):
        np.testing.assert_allclose(leaves(compiled(k * xs)), leaves(eager(k * xs)), rtol=1e-10, atol=1e-13)
    (specialisation,) = gs.explain(compiled).specialisations
    assert not specialisation.unrolled


def leaves(found: Any) -> Array:
    """All numbers of a result."""
    return np.concatenate([np.ravel(x) for x in found]) if isinstance(found, tuple) else found


def test_an_array_of_all_examples_is_not_written_under_vmap() -> None:
    def writes(xs: Array, shared: Array) -> Array:
        for x in xs:
            shared += x
        return shared

    many = gs.vmap(writes, in_axes=(0, None))
    for run in (many, gs.compile(many)):
        with pytest.raises(gs.AutogradError, match="into an array that all examples share"):
            run(np.ones((2, 5, 3)), np.zeros(3))


def by_a_number_of_all(xs: Array, t: Array) -> Array:
    s = np.zeros(3)
    for x, u in zip(xs, t):  # noqa: B905
        if u > 1.0:
            break
        s = s * u + x
    return s


def written_in_either_arm(xs: Array, t: Array) -> Array:
    s = np.zeros(6)
    for i in range(6):
        if t[i] > 0.5:
            s[i] = np.sum(xs[i]) * t[i]
        else:
            s[i] = t[i]
    return s


def until_a_number_of_all(xs: Array, t: Array) -> Array:
    k, h = t[0], xs[0]
    while k < 5.0:
        h = np.tanh(h + xs[1] * k)
        k = k * 1.7 + 0.1
    return h * k


T = np.abs(np.random.default_rng(4).normal(size=6))


@pytest.mark.parametrize("function", [by_a_number_of_all, written_in_either_arm, until_a_number_of_all])
def test_what_all_examples_share_decides(function: Any) -> None:
    xs = np.random.default_rng(3).normal(size=(4, 6, 3))
    eager = gs.vmap(function, in_axes=(0, None))
    compiled = gs.compile(eager, verify="first calls" if function is until_a_number_of_all else False)
    for k in (1.0, 0.3, 2.5, 0.1, 1.1):
        np.testing.assert_allclose(compiled(xs, k * T), eager(xs, k * T), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("function", [by_a_number_of_all, written_in_either_arm, until_a_number_of_all])
def test_hessians_in_what_decides(function: Any) -> None:
    xs = np.random.default_rng(3).normal(size=(6, 3))
    calls = [lambda k=k: (xs, k * T) for k in (1.0, 0.3, 2.5, 0.1)]
    sources, _ = held(gs.hessian(summed(function), argnums=1), calls, False)
    assert sources == 1
