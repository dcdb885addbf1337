"""Long chains on large arrays run tile by tile: the same bits, layout and warnings, less memory, lines a person reads."""

from __future__ import annotations

import operator
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.runtime import lookup, ops
from gradscribe.runtime.rules.control import guard, size_of
from gradscribe.transforms.compiler.schedule import tiles
from gradscribe.transforms.compiler.schedule.reuse import ufunc_of
from gradscribe.transforms.compiler.schedule.tiles import tiled

from graphs import Builder, bits, check_types, run
from large_arrays import A, chain, lines, peak, small

__all__ = ["small"]  # a fixture

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.1, 1.0, (2, 200_003))


# What it rests on ----------------------------------------------------------------------------------------------------

OF_NUMPY = {f for op in ops() if op.path.startswith("np.") and (f := ufunc_of(op)) is not None and f.nout == 1}
OF_SCIPY = {
    special.erf,
    special.erfc,
    special.expit,
    special.gammaln,
    special.ndtr,
    special.xlogy,
}  # loops of one element
UFUNCS = sorted(OF_NUMPY | OF_SCIPY, key=lambda f: f.__name__)
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, -1e30, 1e300, np.pi * 1e6, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_ufunc_gives_an_element_the_same_bits_in_a_slice(ufunc: Any, dtype: Any) -> None:
    step = 4 * tiles.LANES
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        for n in (3 * step + 1, 3 * step + 2, 3 * step + 29, 4 * step - 1):
            drawn = rng.normal(size=(ufunc.nin, n)) * 10.0 ** rng.integers(-3, 4, (ufunc.nin, n))
            for row in drawn:
                row[rng.integers(0, n, 40)] = rng.choice(EDGES, 40)
            try:
                args = list(drawn.astype(dtype))
                whole = ufunc(*args)
            except TypeError:  # whole numbers only
                args = [np.abs(rng.integers(0, 30, n)) for _ in drawn]
                whole = ufunc(*args)
            slices = [ufunc(*[a[k : k + step] for a in args]) for k in range(0, n, step)]
            assert bits(np.concatenate(slices)) == bits(whole)


def test_the_ufuncs_are_those_of_the_registry() -> None:
    assert {np.add, np.multiply, np.exp, np.log1p, np.tanh, np.sqrt, np.maximum} <= OF_NUMPY


# On graphs -----------------------------------------------------------------------------------------------------------


def test_calls_of_one_shape_share_a_loop_up_to_what_is_needed_whole(small: None) -> None:
    b = Builder(A)
    (x,) = b.inputs
    y = b.add(np.exp, x)
    z = b.add(np.multiply, y, x)
    total = b.add(np.sum, z)
    w = b.add(np.divide, y, total)
    v = b.add(np.add, w, 1.0)
    graph, loops = tiled(b.gives(v, total))
    first, second = dict.fromkeys(map(id, loops.values()))
    by_id = {id(loop): loop for loop in loops.values()}
    assert [c.op.path for c in by_id[first].calls] == ["np.exp", "np.multiply"]
    assert by_id[first].whole == [y, z]
    assert [c.op.path for c in by_id[second].calls] == ["np.divide", "np.add"]
    assert by_id[second].whole == [v]
    assert by_id[second].given == [y, total]
    assert by_id[second].sliced == [y]
    assert graph.calls == b.graph.calls


def test_no_call_passes_a_guard(small: None) -> None:
    b = Builder(A)
    (x,) = b.inputs
    y = b.add(np.exp, x)
    b.add(np.negative, y)
    test = b.add(operator.gt, 1.0, 0.5)
    b.graph.calls.append(type(b.graph.calls[0])(lookup(guard), (test, "bool", True), ()))  # type: ignore[arg-type]
    z = b.add(np.sqrt, y)
    w = b.add(np.add, z, y)
    loops = tiled(b.gives(w))[1]
    assert {tuple(c.op.path for c in loop.calls) for loop in loops.values()} == {
        ("np.exp", "np.negative"),
        ("np.sqrt", "np.add"),
    }


def test_a_shape_is_asked_of_what_is_there_before_the_loop(small: None) -> None:
    b = Builder(A)
    (x,) = b.inputs
    y = b.add(np.exp, x)
    n = b.add(size_of, y, 0)
    z = b.add(np.multiply, y, n)
    graph, loops = tiled(b.gives(z))
    assert [c.op.path for c in graph.calls] == ["size", "np.exp", "np.multiply"]
    assert graph.calls[0].args[0] is x
    assert len({id(loop) for loop in loops.values()}) == 1


@pytest.mark.parametrize(
    "arrays",
    [
        (A, A[::-1]),
        (A.reshape(4, 5), np.asfortranarray(A.reshape(4, 5))),
        (A, A + 1j),
        (A, np.arange(20)),
        (A.reshape(4, 5), A[:4].reshape(4, 1)),
        (A.reshape(4, 5), A[:5].astype(np.float32)),
    ],
    ids=["strides", "order", "complex", "integers", "a column", "dtypes that broadcast"],
)
def test_what_does_not_line_up_is_left_whole(small: None, arrays: Any) -> None:
    b = Builder(*arrays)
    x, y = b.inputs
    z = b.add(np.multiply, x, y)
    w = b.add(np.multiply, z, y)
    assert tiled(b.gives(w))[1] == {}


def test_a_chain_over_one_array_at_a_time_is_not_worth_a_loop() -> None:
    b = Builder(X)
    v = b.inputs[0]
    for k in range(10):
        v = b.add(np.multiply, v, 1.5 + k)
    assert tiled(b.gives(v))[1] == {}


@pytest.mark.parametrize("seed", range(40))
def test_graphs_at_random_give_the_same_in_their_new_order(small: None, seed: int) -> None:
    rng = random.Random(seed)
    b = Builder(A, A * 0.5, A.reshape(4, 5), A[:5])
    values = list(b.inputs)
    for _ in range(25):
        x = rng.choice(values)
        if rng.random() < 0.6:
            same = [v for v in values if v.type.shape == x.type.shape or v.type.kind != "array"]
            values.append(b.add(rng.choice([np.add, np.multiply, np.maximum]), x, rng.choice(same)))
        else:
            values.append(b.add(rng.choice([np.sin, np.exp, np.sum, np.negative]), x))
    graph = b.gives(*rng.sample(values[4:], 3))
    ordered, loops = tiled(graph)
    assert sorted(map(id, ordered.calls)) == sorted(map(id, graph.calls))
    assert run(ordered, b.concrete)[:3] == run(graph, b.concrete)[:3]
    check_types(ordered, b.concrete)
    for loop in loops.values():  # one after the other, with nothing in between
        k = ordered.calls.index(loop.calls[0])
        assert ordered.calls[k : k + len(loop.calls)] == loop.calls


# In the text ---------------------------------------------------------------------------------------------------------


def test_the_loop_is_made_of_the_users_lines() -> None:
    text = lines(gs.source(chain, X, Y))
    assert text.endswith(
        """\
    out = np.empty_like(x)
    for start in range(0, len(x), 32768):
        tile = slice(start, start + 32768)
        a = x[tile] * 1.5
        b = np.exp(-a)
        c = b + y[tile]
        d = np.sqrt(c * c + 1.0)
        e = np.tanh(d - 0.5)
        f = e * a
        g = np.log1p(f * f)
        h = g / (d + 2.0)
        out[tile] = h - y[tile]
    return out"""
    )
    assert "for " not in lines(gs.source(chain, X[:1000], Y[:1000]))


def test_forward_and_backward_share_a_loop() -> None:
    text = gs.source(gs.value_and_grad(lambda x, y: np.mean(chain(x, y))), X, Y)
    assert re.findall(r"^ *# (?:forward|backward).*", text, re.MULTILINE)[-4:] == [
        "    # forward and backward",
        "        # forward",
        "        # backward",
        "    # forward",
    ]
    assert "1.0 / x.size" in text


def test_a_variable_called_tile_keeps_its_name() -> None:
    def f(x: Any, start: Any) -> Any:
        tile = x * 2
        a = np.exp(tile)
        b = np.sin(tile)
        c = np.cos(tile) * a * b
        return c - a * b * start

    compiled = gs.compile(f, verify="first calls")
    np.testing.assert_array_equal(compiled(X, Y), f(X, Y))
    assert "tile = x[part] * 2" in compiled.source(X, Y)


# As it runs ----------------------------------------------------------------------------------------------------------


def dense(x: Any, w: Any, b: Any) -> Any:
    h = x @ w + b
    g = h * 0.5 * (1 + np.tanh(0.8 * (h + 0.04 * h * h * h)))
    return np.mean(g * g)


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (chain, (X, Y)),
    (gs.value_and_grad(lambda x, y: np.mean(chain(x, y)), argnums=(0, 1)), (X, Y)),
    (gs.grad(dense, argnums=(0, 1, 2)), (RNG.normal(size=(3001, 20)), RNG.normal(size=(20, 90)), RNG.normal(size=90))),
    (lambda x, y: np.where(x > y, np.sin(x) * y, np.cos(y) + x) * np.exp(x) - y**2, (X, Y)),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("function", "args"), CASES)
def test_bits_types_and_memory(function: Any, args: tuple[Any, ...], dtype: Any) -> None:
    args = tuple([np.concatenate([a, a]).astype(dtype) if a.shape[0] > 100 else a.astype(dtype) for a in args])
    before = [a.copy() for a in args]
    compiled = gs.compile(function, verify="first calls")
    for k in range(3):
        scaled = [a * dtype(1 + k) for a in args]
        found, expected = compiled(*scaled), function(*scaled)
        for a, b in zip(_leaves(found), _leaves(expected), strict=True):
            assert bits(a) == bits(b)
    assert "for start in range" in compiled.source(*args)
    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True))
    assert peak(lambda: compiled(*args)) < 0.6 * peak(lambda: function(*args))


def _leaves(result: Any) -> list[Any]:
    return [leaf for r in result for leaf in _leaves(r)] if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 32768, 32769, 70000])
def test_the_text_of_one_size_is_right_for_every_size(n: int) -> None:
    function = gs.compile(chain).specialisation(X, Y).function
    assert bits(function(X[:n].copy(), Y[:n].copy())) == bits(chain(X[:n].copy(), Y[:n].copy()))


def test_warnings_and_errors_are_those_of_eager() -> None:
    bad = X.copy()
    bad[[5, 70_000]] = -1.0, np.inf

    def f(x: Any, y: Any) -> Any:
        a = np.log(x)
        b = np.sqrt(x) * a
        c = np.exp(x) - a
        return b / (c - c) + a * y

    compiled = gs.compile(f)
    for args in ((X, Y), (X + 1, Y), (Y, X)):
        with np.errstate(all="ignore"):
            compiled(*args)

    def warned(g: Any) -> set[tuple[type, str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            g(bad, Y)
        return {(w.category, str(w.message)) for w in caught}

    assert warned(compiled) == warned(f) != set()
    for g in (compiled, f):
        with pytest.raises(FloatingPointError), np.errstate(all="raise"):
            g(bad, Y)


def test_the_first_statement_that_differs_is_named_within_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.driver import specialise

    emit = specialise.emit
    monkeypatch.setattr(specialise, "emit", lambda *args: emit(*args).replace("np.tanh", "np.sinh"))
    with pytest.raises(gs.VerifyError, match=r"`e` is the first variable that differs.* `e = np.sinh\(d - 0.5\)"):
        gs.compile(chain, verify=True)(X, Y)


def test_an_error_within_a_loop_names_the_users_line(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = gs.compile(chain)
    for k in range(3):
        compiled(X + k, Y)
    with pytest.raises(FloatingPointError) as caught, np.errstate(over="raise"):
        compiled(np.where(X < 0.2, -1e5, X), Y)
    assert any("np.exp(-a)" in note for note in getattr(caught.value, "__notes__", ())) or "np.exp" in str(
        caught.traceback[-1]
    )
