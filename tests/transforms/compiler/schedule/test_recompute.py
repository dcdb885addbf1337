"""What a loop of the backward part computes anew, and is not given: the same bits, and less memory."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.ir.graph import Graph, Value
from gradscribe.transforms.checks.peak import peak_memory
from gradscribe.transforms.compiler.schedule import recompute
from gradscribe.transforms.compiler.schedule.recompute import MOST
from gradscribe.transforms.compiler.schedule.tiles import tiled

from graphs import Builder, check_types, run
from large_arrays import A, small

__all__ = ["small"]

X, Y = np.random.default_rng(0).uniform(0.1, 1.0, (2, 400_003))


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recompute, "SMALL", 1)


def test_what_is_cheap_is_computed_anew_and_what_is_dear_is_kept(small: None) -> None:
    b = Builder(A)
    (x,) = b.inputs
    u = b.add(operator.mul, x, 1.5)
    e = b.add(np.exp, u)
    v = b.add(operator.add, e, u)
    total = b.add(np.sum, v)
    w = b.add(operator.mul, b.add(operator.mul, u, total, quiet=True), e, quiet=True)
    graph = b.gives(b.add(operator.mul, w, v, quiet=True))
    names = {u: "u", e: "e"}
    found, loops = tiled(graph, names)
    assert run(found, b.concrete) == run(graph, b.concrete)
    loop = loops[found.calls[-1]]
    assert set(loop.given) == {x, e, total}  # not u and v
    assert [call.op.path for call in loop.calls] == [
        "np.multiply",
        "np.multiply",
        "np.multiply",
        "np.add",
        "np.multiply",
    ]
    assert all(call.quiet for call in loop.calls)
    assert names[loop.calls[0].outs[0]] == "u"


def _after(b: Builder, make: Any) -> tuple[Graph, Value]:
    """A chain, what `make` gives of its `u`, and a loop without warnings that reads `u`."""
    (x,) = b.inputs
    u = b.add(operator.mul, x, 1.5)
    extra = make(u)
    total = b.add(np.sum, b.add(np.exp, u))
    w = b.add(operator.mul, b.add(operator.mul, u, total, quiet=True), x, quiet=True)
    return b.gives(w, *([] if extra is None else [extra])), u


@pytest.mark.parametrize("reader", ["nothing", "the caller", "a view", "a reduction without warnings"])
def test_what_something_else_keeps_is_given(small: None, reader: str) -> None:
    b = Builder(A)
    graph, u = _after(b, {
        "nothing": lambda u: None,
        "the caller": lambda u: u,
        "a view": lambda u: b.add(operator.getitem, u, slice(1, None)),
        "a reduction without warnings": lambda u: b.add(np.sum, u, quiet=True),
    }[reader])  # fmt: skip
    found, loops = tiled(graph)
    last = next(call for call in found.calls if graph.outputs[0] in call.outs)
    assert (u in loops[last].given) == (reader != "nothing")
    assert run(found, b.concrete) == run(graph, b.concrete)


@pytest.mark.parametrize("long", [False, True])
def test_a_long_recipe_is_not_followed(small: None, long: bool) -> None:
    b = Builder(A)
    (x,) = b.inputs
    u = x
    for _ in range(MOST + long):
        u = b.add(operator.mul, u, 1.5)
    total = b.add(np.sum, u)
    w = b.add(operator.mul, b.add(operator.mul, u, total, quiet=True), x, quiet=True)
    found, loops = tiled(b.gives(w))
    assert (u in loops[found.calls[-1]].given) == long


def test_a_loop_that_may_warn_computes_nothing_twice(small: None) -> None:
    b = Builder(A)
    u = b.add(operator.mul, b.inputs[0], 1.5)
    w = b.add(operator.mul, b.add(operator.mul, u, b.add(np.sum, u)), u)
    graph = b.gives(w)
    assert tiled(graph)[0].calls == graph.calls


def some_graph(seed: int) -> Builder:
    """A forward part, a sum of it, and a part without warnings that reads both."""
    rng = random.Random(seed)
    b = Builder(A, A * 0.5)
    cheap = [operator.add, operator.sub, operator.mul, operator.truediv, np.maximum]
    forward = list(b.inputs)
    for _ in range(8):
        x = rng.choice(forward)
        unary = rng.random() < 0.3
        fn = rng.choice([np.exp, operator.neg] if unary else cheap)
        forward.append(b.add(fn, x) if unary else b.add(fn, x, rng.choice([*forward, 1.5])))
    backward = [b.add(operator.mul, forward[-1], b.add(np.sum, rng.choice(forward[2:])), quiet=True)]
    for _ in range(6):
        backward.append(b.add(rng.choice(cheap), rng.choice(backward), rng.choice(forward + backward), quiet=True))
    b.gives(backward[-1], rng.choice(backward), *rng.sample(forward[2:], rng.randrange(2)))
    return b


def test_graphs_at_random(small: None) -> None:
    longer = 0
    for seed in range(150):
        b = some_graph(seed)
        found, _ = tiled(b.graph)
        expected, got = run(b.graph, b.concrete), run(found, b.concrete)
        assert got[:3] == expected[:3]
        assert got[3] <= expected[3]
        check_types(found, b.concrete)
        longer += len(found.calls) > len(b.graph.calls)
    assert longer > 50


def energy(x: Any, y: Any) -> Any:
    u = x * 1.5 + y
    v = u * u + 1.0
    r = u / v
    e = np.exp(r)
    return np.sum(e * u) ** 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bits_names_and_memory(dtype: Any) -> None:
    x, y = X.astype(dtype), Y.astype(dtype)
    eager = gs.value_and_grad(energy)
    compiled = gs.compile(eager, verify="first calls")
    for k in range(3):
        value, gradient = eager(x + dtype(k), y)
        found, d_x = compiled(x + dtype(k), y)
        assert (found, found.dtype, d_x.dtype) == (value, value.dtype, gradient.dtype)
        np.testing.assert_array_equal(d_x, gradient)
    assert "u_2 = x[tile] * 1.5 + y[tile]" in gs.source(eager, x, y)
    assert peak_memory(lambda: compiled(x, y)) < 0.5 * peak_memory(lambda: eager(x, y))
