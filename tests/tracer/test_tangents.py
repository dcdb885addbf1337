"""Forward mode of large arrays, in blocks and over memory that is free: the bits of whole arrays, and no memory of others.

Tangents that are tensors take neither way, which makes them the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

N = 80_001  # more than two blocks, and no whole number of them
OPERATIONS: list[tuple[int, Callable[..., Any]]] = [
    (1, lambda a: a * 1.5), (1, lambda a: -a), (1, lambda a: a + 0.0), (1, np.positive), (1, np.tanh), (1, lambda a: a**2),
    (1, lambda a: np.exp(-a * a)), (1, lambda a: 1.0 - a), (1, np.flip), (1, lambda a: np.roll(a, 3)),
    (1, lambda a: np.concatenate([a[1:], a[:1]])), (1, lambda a: a - np.mean(a)), (1, lambda a: a + np.zeros((2, 1, N))[0, 0]),
    (1, lambda a: np.clip(a, -0.5, a)), (1, lambda a: np.reshape(np.reshape(a, (1, -1)), -1)),
    (2, np.add), (2, np.subtract), (2, np.multiply), (2, lambda a, b: a / (2.0 + b * b)), (2, np.hypot), (2, np.maximum),
    (2, lambda a, b: np.where(a > b, a, b)), (2, lambda a, b: a + b[:1]), (2, lambda a, b: np.add(a, b, dtype="f4")),
    (3, np.clip),
]  # fmt: skip


def program(seed: int) -> Callable[[Any], Any]:
    """Twelve operations by chance on what there is; the result is all that came last, so that much is read twice."""
    rng = np.random.default_rng(seed)
    steps = []
    for k in range(12):
        count, operation = OPERATIONS[rng.integers(len(OPERATIONS))]
        steps.append((operation, [int(j) for j in rng.integers(max(0, k - 3), k + 1, count)]))

    def run(x: Any) -> Any:
        values = [x]
        for operation, places in steps:
            values.append(operation(*[values[j] for j in places]))
        return values[-3:]

    return run


def same(found: Any, expected: Any) -> bool:
    """Whether two arrays agree in every bit, and in dtype and strides."""
    a, b = np.asarray(found), np.asarray(expected)
    return (a.dtype, a.strides, a.tobytes()) == (b.dtype, b.strides, b.tobytes())


@pytest.mark.parametrize("seed", range(60))
def test_programs_by_chance(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    x, v = rng.normal(size=N), rng.normal(size=N)
    before = x.copy(), v.copy()
    f = program(seed)
    values, moved = gs.jvp(f, (x,), (v,))
    expected, tangents = gs.jvp(f, (x,), (gs.tensor(v, requires_grad=True),))
    assert all(map(same, values, [e.detach().numpy() for e in expected]))
    assert all(map(same, moved, [t.detach().numpy() for t in tangents]))
    assert same(x, before[0])
    assert same(v, before[1])
    again = gs.linearize(f, x)[1]  # which goes through one graph twice
    assert all(map(same, again(v), moved))
    assert all(map(same, again(v), moved))


@pytest.mark.parametrize("shape", [(N,), (401, 199), (3, 201, 133)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_layouts(shape: tuple[int, ...], order: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, v = (np.asarray(rng.normal(size=shape).astype(dtype), order=order) for _ in range(2))
    f = lambda x: np.tanh(x) * x + x / (3.0 + x[..., :1] * x)
    assert same(gs.jvp(f, (x,), (v,))[1], gs.jvp(f, (x,), (gs.tensor(v, requires_grad=True),))[1].detach().numpy())


def test_a_users_op_may_keep_what_it_was_given() -> None:
    kept: list[Any] = []

    @gs.rule(gs.Kind.elementwise, x=lambda g: keep(g), y=lambda g: g)
    def through(x: Any, y: Any) -> Any:
        return x + y

    def keep(g: Any) -> Any:
        if isinstance(g, np.ndarray):
            kept.append((g, np.copy(g)))
        return g

    v = np.random.default_rng(0).normal(size=N)
    gs.jvp(lambda x: np.tanh(through(np.exp(x), np.sin(x))) * 2, (v,), (v,))
    assert kept
    assert all(same(g, copy) for g, copy in kept)


def test_a_custom_jvp_may_keep_what_it_gave() -> None:
    kept: list[Any] = []

    @gs.custom_jvp
    def f(x: Any) -> Any:
        return x * 3

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        kept.append(tangents[0] * 3)
        return f(primals[0]), kept[0]

    v = np.ones(N)
    found = gs.jvp(lambda x: f(x) * 5 + 1, (v,), (v,))[1]
    assert found.tolist() == [15.0] * N
    assert np.asarray(kept[0]).tolist() == [3.0] * N
