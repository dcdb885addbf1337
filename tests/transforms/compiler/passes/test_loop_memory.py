"""`loop_memory="sqrt"`: loops remember the heads of chunks, and replay them; the same bits in less memory."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.ir.graph import Graph, Value, interpret
from gradscribe.runtime.ir.verify import verify
from gradscribe.runtime.rules.control import size_of
from gradscribe.transforms.checks.peak import peak_memory
from gradscribe.transforms.compiler.passes import chunks, optimise
from gradscribe.transforms.compiler.passes.chunks import in_chunks
from gradscribe.transforms.compiler.passes.regions import everywhere

from region_programs import A, M, Random, Regions, loops_of, same


def affine(n: Any = None, reverse: bool = False, big: Any = A) -> tuple[Regions, Graph]:
    """The loop h' = sin(h) * (t + 1) and its reverse, over `n` trips, the length of the second input, or while sum(h) < 60."""
    b = Regions(big, np.arange(11.0))
    count = b.add(size_of, b.inputs[1], 0) if n == "size" else n

    def forward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        (h,) = carry
        grown = f.add(np.multiply, f.add(np.sin, h), f.add(operator.add, t, 1))
        return [f.add(operator.add, h, f.add(np.square, grown))], [h, grown]

    def small(f: Regions, carry: Any, inv: Any) -> Any:
        return f.add(operator.lt, f.add(np.sum, carry[0]), 60.0)

    test = small if n is None or n == 40 else None
    end, old, grown, trips = b.scan(forward, b.inputs[:1], (), (), count, test, reverse)

    def backward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        (d_h, total), (h, grown) = carry, xs
        part = f.add(
            operator.mul, f.add(operator.mul, d_h, grown, quiet=True), f.add(np.cos, h, quiet=True), quiet=True
        )
        part = f.add(operator.mul, part, f.add(operator.add, t, 1, quiet=True), quiet=True)
        return [f.add(operator.add, d_h, part, quiet=True), f.add(operator.add, total, h, quiet=True)], []

    d_h, total, _ = b.scan(backward, [end, end], [old, grown], (), trips, reverse=not reverse, quiet=True)
    return b, b.gives(end, d_h, total, trips)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [8, 9, 13, 16, 97, "size", None, 40])
def test_chunks_give_the_same_bits(n: Any, reverse: bool) -> None:
    if reverse and n in (None, 40):
        return  # a test is asked on the way forward alone
    b, graph = affine(n, reverse)
    found = in_chunks(graph)
    assert len(loops_of(found)[0].args[0].body.calls) > 1, "a loop in a loop"
    other = [np.full(3, 7.0), np.arange(2.0)]
    for inputs in (b.concrete, other, [b.concrete[0], np.arange(0.0)]):
        same(graph, found, inputs)
        same(graph, optimise(graph, loop_memory="sqrt"), inputs)


def test_what_stays_whole() -> None:
    _, graph = affine(chunks.SHORT - 1)
    assert in_chunks(graph) is graph
    _, graph = affine(20)
    stack = graph.calls[0].outs[1]
    shown = Graph(graph.inputs, graph.calls, [*graph.outputs, stack])
    assert in_chunks(shown) is shown, "the stack is seen outside"


def test_the_memory_of_a_graph_falls_with_the_root() -> None:
    big = np.full(2_000, 0.01)
    b, graph = affine(400, big=big)
    plain, chunked = optimise(graph), optimise(graph, loop_memory="sqrt")
    before, after = (peak_memory(lambda g=g: interpret(g, b.concrete)) for g in (plain, chunked))  # type: ignore[misc]
    assert before > 800 * big.nbytes
    assert after < 100 * big.nbytes


class Pairs(Random):
    """A loop by chance, and one that walks its stacks in reverse."""

    def graph(self) -> Regions:
        b = Regions(M, A, A[::-1].copy(), np.float64(0.7))
        pool = list(b.inputs)
        self.calls(b, pool, 3, 1)
        carry: list[Any] = [self.flat(b, pool) for _ in range(self.choose.randrange(1, 3))]
        most, given = self.choose.choice([0, 3, 8, 9, 12, 35]), [*pool[:2], self.array(b, pool)]

        def forward(f: Regions, t: Value, params: Any, xs: Any, inv: Any) -> Any:
            own = [*inv, *params[:-1], f.add(operator.mul, inv[-1], t), f.add(operator.add, inv[-1], params[-1])]
            self.calls(f, own, self.choose.randrange(1, 6), 1)
            after = [self.flat(f, own) for _ in params[:-1]]
            return [*after, f.add(operator.add, params[-1], 1)], [self.array(f, own), *after, t, *params[:1]]

        ask = lambda f, params, inv: f.add(operator.lt, params[-1], most)
        n, test = self.choose.choice([(most, None), (None, ask), (20, ask)])
        *ends, trips = b.scan(forward, [*carry, 0], (), given, n, test)
        stacks = [v for v in ends[len(carry) + 1 :] if b.now(v)]

        def backward(f: Regions, t: Value, params: Any, xs: Any, inv: Any) -> Any:
            own = [
                *inv,
                *params,
                f.add(operator.mul, inv[-1], t, quiet=True),
                *[x for x in xs if x.type.kind != "python"],
            ]
            self.calls(f, own, self.choose.randrange(2, 6), 1, quiet=True)
            return [self.flat(f, own) for _ in params], []

        found = b.scan(backward, ends[: len(carry)], stacks, given, trips, reverse=True, quiet=True) if stacks else ()
        b.gives(*ends[: len(carry)], trips, *found)
        return b


@pytest.mark.parametrize("seed", range(60))
def test_pairs_by_chance(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SHORT", 0)
    monkeypatch.setattr(chunks, "LENGTH", 4)
    b = Pairs(seed).graph()
    found = everywhere(in_chunks)(b.graph.copy())
    verify(found, "the test")
    for inputs in b.concrete, [M[::-1], A * 0, -A, np.float64(np.inf)]:
        same(b.graph, found, inputs)
        same(b.graph, optimise(b.graph.copy(), loop_memory="sqrt"), inputs)


def test_pairs_by_chance_are_cut() -> None:
    graphs = [Pairs(seed).graph().graph for seed in range(60)]
    assert sum(in_chunks(graph) is not graph for graph in graphs) > 15


def settled(f: Any, *args: Any) -> int:
    """The peak of a call, when no check looks at copies of the arguments any more."""
    for _ in range(4):
        f(*args)
    return peak_memory(lambda: f(*args))


# Functions -------------------------------------------------------------------------------------------------------------


def rnn(w: Any, u: Any, xs: Any, h: Any) -> Any:
    for t in range(len(xs)):
        h = np.tanh(h @ w + xs[t] @ u)
    return np.sum(h * h)


def grown(b: Any) -> Any:
    while np.sum(b) < 90:
        b = b + np.sin(b) ** 2 * 0.01
    return np.sum(b)


def some(n: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(8, 8)) / 3, rng.normal(size=(4, 8)), rng.normal(size=(n, 16, 4)), np.zeros((16, 8))


def test_a_loop_of_1000_steps_takes_less_memory() -> None:
    args = some(1000)
    gradient = gs.value_and_grad(rnn, argnums=(0, 1))
    plain, chunked = (gs.compile(gradient, verify="first calls", loop_memory=how) for how in (None, "sqrt"))
    (expected, slopes), (found, others) = plain(*args), chunked(*args)
    assert expected == found
    for one, other in zip(slopes, others, strict=True):
        np.testing.assert_array_equal(one, other)
    before, after = settled(plain, *args), settled(chunked, *args)
    assert after * 10 < before
    assert len(gs.source(chunked, *args).splitlines()) < 60


def test_a_loop_of_unknown_length_takes_less_memory() -> None:
    x = np.linspace(0.5, 1.0, 64)
    plain, chunked = (gs.compile(gs.grad(grown), verify="first calls", loop_memory=how) for how in (None, "sqrt"))
    np.testing.assert_array_equal(plain(x), chunked(x))
    before, after = settled(plain, x), settled(chunked, x)
    assert after * 2 < before
    for other in (x * 0.9, x * 1.1, x + 90):
        np.testing.assert_array_equal(plain(other), chunked(other))


def test_compare_reports_the_memory_of_chunks() -> None:
    args = some(100)
    plain, chunked = (gs.compare(gs.compile(gs.grad(rnn), loop_memory=how), *args) for how in (None, "sqrt"))
    assert plain.ok
    assert chunked.ok
    assert chunked.compiled_bytes * 2 < plain.compiled_bytes  # type: ignore[operator]


def test_another_loop_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="loop_memory is None or \"sqrt\", not 'log'"):
        gs.compile(grown, loop_memory="log")
