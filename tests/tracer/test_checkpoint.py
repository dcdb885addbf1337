"""gs.checkpoint: what is kept and when it is freed, NumPy's and Python's random state, transforms and the compiler."""

from __future__ import annotations

import contextlib
import inspect
import random
import warnings
import weakref
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

from programs import close, leaf, no_collector

X = np.array([0.5, -1.25, 2.0])

# Memory --------------------------------------------------------------------------------------------------------------


class Watch:
    """A function whose intermediate arrays are watched."""

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.seen: list[weakref.ref[Any]] = []

    def note(self, t: Any) -> Any:
        self.seen.append(weakref.ref(t._value))
        return t

    def __call__(self, a: Any, depth: int | None = None) -> Any:
        depth = self.depth if depth is None else depth
        a = self.note(np.sin(self.note(a * 2.0)))
        if depth:
            a = gs.checkpoint(self, a, depth - 1)
        return np.exp(self.note(np.cos(a)))

    def alive(self) -> int:
        return sum(r() is not None for r in self.seen)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_no_intermediate_array_is_kept(depth: int) -> None:
    with no_collector():
        watch, plain = Watch(depth), Watch()
        x = leaf(X)
        y = gs.checkpoint(watch, x).sum()
        kept = plain(x).sum()
        assert plain.alive() == 2  # of the plain function sin and cos keep theirs
        assert watch.alive() == 0
        del kept
        y.backward(retain_graph=True)
        assert watch.alive() == 0
        assert len(watch.seen) > 3 * (depth + 1)  # it did run again
        y.backward()
        assert watch.alive() == 0


def test_the_frame_is_freed_with_the_graph_and_after_backward() -> None:
    class Function:
        def __call__(self, a: Any) -> Any:
            return np.sin(np.sin(a))

    with no_collector():
        f = Function()
        gone = weakref.ref(f)
        x = leaf(X)
        y = gs.checkpoint(f, x).sum()
        del f
        assert gone() is not None
        y.backward()
        assert gone() is None  # freed with what the nodes had saved, though the graph is there
        f = Function()
        gone = weakref.ref(f)
        y = gs.checkpoint(f, x).sum()
        del f, y
        assert gone() is None


def test_recomputed_values_that_a_backward_does_not_use_go_with_it() -> None:
    with no_collector():
        seen: list[weakref.ref[Any]] = []

        def f(a: Any, b: Any) -> Any:
            c, d = np.sin(a), np.sin(b)
            seen.extend([weakref.ref(c._value), weakref.ref(d._value)])
            return np.sin(c) * np.sin(d)

        x, z = leaf(X), leaf(X)
        y = gs.checkpoint(f, x, z).sum()
        gs.autograd.grad(y, x, retain_graph=True)
        assert len(seen) == 4
        assert all(r() is None for r in seen)
        gs.autograd.grad(y, (x, z))
        assert all(r() is None for r in seen)


def test_an_intermediate_argument_is_all_that_is_kept() -> None:
    with no_collector():
        x = leaf(X)
        a = np.sin(x)
        array = weakref.ref(a._value)
        y = gs.checkpoint(lambda t: np.sin(np.sin(t)), a + 0.0).sum()
        del a
        assert array() is None
        y.backward()
        close(x.grad.numpy(), np.cos(np.sin(np.sin(X))) * np.cos(np.sin(X)) * np.cos(X))


def test_the_argument_of_an_inner_checkpoint_is_not_kept() -> None:
    with no_collector():
        seen: list[weakref.ref[Any]] = []

        def outer(a: Any) -> Any:
            b = np.sin(a)
            seen.append(weakref.ref(b._value))
            return gs.checkpoint(np.cos, b)

        x = leaf(X)
        y = gs.checkpoint(outer, x).sum()
        assert seen[0]() is None
        y.backward()
        close(x.grad.numpy(), -np.sin(np.sin(X)) * np.cos(X))
        assert seen[1]() is None


# What the function gets -----------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    first: Any
    second: Any


def test_any_tree_of_arguments_and_the_same_tensor_twice() -> None:
    a, b = leaf(2.0), leaf(3.0)
    kinds: list[Any] = []

    def f(pair: Any, table: Any, again: Any) -> Any:
        kinds.append((type(pair), type(table), pair.first is again, again is a))
        return pair.first * pair.second * table["x"] * np.sin(again)

    gs.checkpoint(f, Pair(a, b), OrderedDict(x=b), a, early_stop=False).backward()
    assert kinds == [(Pair, OrderedDict, True, True)] * 2
    close(a.grad.item(), 9 * (np.sin(2.0) + 2 * np.cos(2.0)))
    close(b.grad.item(), 12 * np.sin(2.0))


def test_a_dict_with_a_default_keeps_it() -> None:
    x = leaf(2.0)
    table: Any = defaultdict(lambda: 3.0, x=x)
    gs.checkpoint(lambda d: np.sin(d["x"] * d["other"]), table).backward()
    close(x.grad.item(), 3 * np.cos(6.0))


def test_lists_that_the_function_changes_are_whole_again() -> None:
    x = leaf(2.0)

    def f(parts: Any) -> Any:
        return np.sin(parts.pop() * parts.pop())

    gs.checkpoint(f, [x, x]).backward()
    close(x.grad.item(), np.cos(4.0) * 4)


def test_a_value_that_the_recomputation_writes_over_is_an_error() -> None:
    """Where the plain function is one: PyTorch, which compares no versions here, gives a wrong gradient."""
    x = leaf(X)

    def f(a: Any) -> Any:
        b = a * 2.0
        c = np.sin(b)
        b.add_(1.0)
        return c

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        f(x).sum().backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        gs.checkpoint(f, x, early_stop=False).sum().backward()
    assert "checkpointed function" in str(caught.value)


def test_the_errors_name_the_function_and_the_counts() -> None:
    x = leaf(X)
    times = [1, 2]

    def unlike(a: Any) -> Any:
        for _ in range(times.pop()):
            a = np.sin(a)
        return a

    with pytest.raises(gs.AutogradError, match="A different number of tensors was saved") as caught:
        gs.checkpoint(unlike, x).sum().backward()
    assert "unlike` saved 2 when it was called, and saved 1 in its recomputation" in str(caught.value)
    shapes = [(3, 1), (1, 3)]
    with pytest.raises(gs.AutogradError, match="Recomputed values for the following tensors have different") as caught:
        gs.checkpoint(lambda a: np.sin(a.reshape(shapes.pop())), x).sum().backward()
    assert "tensor 0: float64[1, 3] when called, float64[3, 1] in the recomputation" in str(caught.value)


# Random numbers -------------------------------------------------------------------------------------------------------

GENERATOR = np.random.default_rng(5)
OLD = np.random.RandomState(5)
PYTHONS = random.Random(5)


def from_globals(a: Any) -> Any:
    return a * (GENERATOR.uniform() + OLD.uniform() + PYTHONS.random())


class Dropout:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(7)

    def layer(self, a: Any) -> Any:
        return a * self.rng.uniform(size=3)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a * np.random.uniform(size=3),
        lambda a: a * random.random(),
        from_globals,
        Dropout().layer,
        lambda a, rng=GENERATOR: a * rng.uniform(size=3),
    ],
    ids=["numpy", "python", "globals", "self", "default"],
)
def test_numbers_are_drawn_again_whatever_draws_them(function: Any) -> None:
    x = leaf(X)
    y = gs.checkpoint(function, x)
    y.sum().backward()
    close(x.grad.numpy(), y.detach().numpy() / X)


def test_under_a_transform_numbers_are_drawn_again_too() -> None:
    for function in (from_globals, lambda a: a * np.random.uniform(size=3), Dropout().layer):
        value, gradient = gs.value_and_grad(lambda x, f=function: np.sum(gs.checkpoint(f, x)))(np.ones(3))
        close(np.sum(gradient), value)


def test_a_generator_among_the_arguments_is_set_back_and_goes_on() -> None:
    x = leaf(X)
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    y = gs.checkpoint(lambda a, rngs: a * rngs[0].uniform(size=3), x, [rng])
    y.sum().backward()
    close(x.grad.numpy(), twin.uniform(size=3))
    assert rng.uniform() == twin.uniform()


def test_a_closed_over_generator() -> None:
    x = leaf(X)
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    gs.checkpoint(lambda a: a * rng.uniform(size=3), x).sum().backward()
    close(x.grad.numpy(), twin.uniform(size=3))
    assert rng.uniform() == twin.uniform()


# Inside transforms ----------------------------------------------------------------------------------------------------


def block(x: Any, w: Any) -> Any:
    return np.sin(x * w) + x


def deep(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = gs.checkpoint(block, x, w)
    return np.sum(x * x)


def deep_plain(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = block(x, w)
    return np.sum(x * x)


W = np.array([1.5, 0.25, -0.5])


def test_inside_grad_it_gives_the_same_gradient() -> None:
    for argnums in (0, 1, (0, 1)):
        found = gs.grad(deep, argnums=argnums)(X, W)
        expected = gs.grad(deep_plain, argnums=argnums)(X, W)
        np.testing.assert_array_equal(found, expected)
        assert type(found) is type(expected)


def test_inside_grad_it_runs_again_and_keeps_nothing() -> None:
    runs: list[int] = []

    def f(x: Any) -> Any:
        def g(a: Any) -> Any:
            runs.append(1)
            return np.sin(np.sin(a))

        return np.sum(gs.checkpoint(g, x))

    gs.grad(f)(X)
    assert len(runs) == 2


def test_inside_grad_of_grad_and_value_and_grad_and_vjp_and_jacobian() -> None:
    f, plain = (lambda x: gs.checkpoint(np.sin, x * x)), (lambda x: np.sin(x * x))
    close(gs.grad(gs.grad(f))(0.5), gs.grad(gs.grad(plain))(0.5))
    assert gs.value_and_grad(f)(0.5) == gs.value_and_grad(plain)(0.5)
    out, pullback = gs.vjp(f, X)
    np.testing.assert_array_equal(out, plain(X))
    np.testing.assert_array_equal(pullback(np.ones(3))[0], gs.vjp(plain, X)[1](np.ones(3))[0])
    np.testing.assert_array_equal(pullback(np.ones(3))[0], gs.vjp(plain, X)[1](np.ones(3))[0])
    np.testing.assert_array_equal(gs.jacobian(f)(X), gs.jacobian(plain)(X))


def test_a_gradient_inside_a_checkpoint() -> None:
    f = lambda x: gs.checkpoint(gs.grad(lambda a: np.sin(a) * a), x * x)
    plain = lambda x: gs.grad(lambda a: np.sin(a) * a)(x * x)
    close(gs.grad(f)(0.5), gs.grad(plain)(0.5))


def test_writes_inside_a_transform() -> None:
    """There an argument may be written into: the recomputation begins with what it held, and writes to nobody."""

    def g(a: Any) -> Any:
        a += 1.0
        a[0] = np.sin(a[1])
        return np.exp(a)

    def f(x: Any) -> Any:
        b = x * 2.0
        return np.sum(gs.checkpoint(g, b)) + np.sum(b)

    def plain(x: Any) -> Any:
        b = x * 2.0
        return np.sum(g(b)) + np.sum(b)

    np.testing.assert_array_equal(gs.grad(f)(X), gs.grad(plain)(X))
    one, two = X.copy(), X.copy()
    np.testing.assert_array_equal(
        gs.grad(lambda x: np.sum(gs.checkpoint(g, x)))(one), gs.grad(lambda x: np.sum(g(x)))(two)
    )
    np.testing.assert_array_equal(one, two)  # the caller's array is written once


def test_a_write_that_another_argument_would_see_is_refused() -> None:
    def g(a: Any, b: Any) -> Any:
        a += 1.0
        return np.sin(a) * b

    with pytest.raises(gs.AutogradError, match="shares memory with another argument"):
        gs.grad(lambda x: np.sum(gs.checkpoint(g, (c := x * 2.0), c[::-1])))(X)
    found = gs.grad(lambda x: np.sum(gs.checkpoint(g, (c := x * 2.0), c[::-1].copy())))(X)
    np.testing.assert_array_equal(found, gs.grad(lambda x: np.sum(g((c := x * 2.0), c[::-1].copy())))(X))


def test_on_plain_arrays_it_simply_runs() -> None:
    found = gs.checkpoint(lambda a: np.sin(a), X)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, np.sin(X))


# The compiler ---------------------------------------------------------------------------------------------------------


def test_compiled_it_is_the_plain_function() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f, plain in ((deep, deep_plain), (gs.grad(deep), gs.grad(deep_plain))):
            compiled = gs.compile(f, verify="first calls")
            for x in (X, X + 1):
                np.testing.assert_array_equal(compiled(x, W), plain(x, W))
    assert "np.sin" in str(gs.source(gs.grad(deep), X, W))


def test_compiled_with_contexts_of_its_own_it_runs_eagerly() -> None:
    def contexts() -> Any:
        return contextlib.nullcontext(), contextlib.nullcontext()

    def f(x: Any) -> Any:
        return np.sum(gs.checkpoint(np.sin, x, context_fn=contexts))

    compiled = gs.compile(gs.grad(f))
    line = inspect.getsourcelines(f)[1] + 1
    with pytest.warns(gs.EagerWarning, match=f"{Path(__file__).name}:{line}"):
        np.testing.assert_array_equal(compiled(X), np.cos(X))


# What has changed meanwhile -------------------------------------------------------------------------------------------

FACTOR = 1.0


class Holder:
    factor = 1.0


def by_a_global(x: Any) -> Any:
    global FACTOR
    parts = []
    for factor in (1.0, 2.0):
        FACTOR = factor
        parts.append(gs.checkpoint(lambda v: np.sin(v * FACTOR), x).sum())  # noqa: B023
    return parts[0] + parts[1]


def by_an_attribute(x: Any) -> Any:
    holder, parts = Holder(), []
    for factor in (1.0, 2.0):
        holder.factor = factor
        parts.append(gs.checkpoint(lambda v: np.sin(v * holder.factor), x).sum())
    return parts[0] + parts[1]


def by_the_order(x: Any) -> Any:
    order = np.array([0, 1, 2])
    found = gs.checkpoint(lambda v: np.sin(v[order]) * np.arange(3.0), x).sum()
    order[:] = order[::-1].copy()
    return found


@pytest.mark.parametrize("f", [by_a_global, by_an_attribute, by_the_order])
def test_a_recomputation_of_other_numbers_raises(f: Any) -> None:
    with pytest.raises(gs.AutogradError, match="computed other values when it ran again"):
        f(leaf(X)).backward()
    with pytest.raises(gs.AutogradError, match="computed other values when it ran again"):
        gs.grad(f)(X)
