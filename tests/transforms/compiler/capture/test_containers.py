"""Lists, dicts, tuples and named tuples of arrays, in attributes, closures and globals."""

from __future__ import annotations

import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

from following import Setup, x
from instances import A, compiled_through, put


def setting(**names: Any) -> Setup:
    return lambda: globals().update(names)


class Dense:
    def __init__(self, n: int, m: int) -> None:
        self.w, self.b = np.linspace(-1, 1, n * m).reshape(n, m), np.linspace(0, 1, m)

    def __call__(self, a: Any) -> Any:
        return np.tanh(a @ self.w + self.b)


class Network:
    def __init__(self) -> None:
        self.layers: Any = [Dense(3, 4), Dense(4, 2)]
        self.params: Any = {"w": x(1, 2), "b": 0.5}

    def loss(self, a: Any) -> Any:
        for layer in self.layers:
            a = layer(a)
        return np.sum(a * self.params["w"]) + self.params["b"] * len(self.layers)


def test_layers_in_a_list_and_arrays_in_a_dict() -> None:
    network = Network()
    layers, params, extra = network.layers, network.params, Dense(2, 2)

    def back() -> None:
        network.layers, network.params = layers, params
        layers[:] = layers[:2]
        params.update(w=x(1, 2), b=0.5)

    compiled_through(
        network.loss, back, lambda: params.update(w=x(5, 6)), lambda: params.update(b=0.75),
        lambda: layers.__setitem__(slice(2, None), [extra]),
        back, put(layers[0], w=np.ones((3, 4))), put(network, params={"w": x(1, 1), "b": 1.0}),
        lambda: setattr(network, "layers", (Dense(3, 2),)),
    )  # fmt: skip
    back()
    assert "def loss(a, *, w, b, w_2, b_2, w_3):" in gs.source(network.loss, A)


@pytest.mark.parametrize("where", ["global", "closure", "attribute"])
def test_containers(where: str) -> None:
    global HOLDER
    holder: Any = types.SimpleNamespace(
        p={"w": x(1, 2, 3), "deep": [x(1), (x(2), 3.0)]}, q=[x(1, 2, 3), 2.0, "a"], t=(x(1), 5.0), n=Point(x(4), 2.0)
    )
    p, q, t, n = holder.p, holder.q, holder.t, holder.n
    HOLDER = p

    def closure(a: Any) -> Any:
        return np.sum(a * p["w"]) * sum(p["deep"][1])[0] + p["deep"][0] @ p["deep"][0] + sum(len(k) for k in p)

    def attribute(a: Any) -> Any:
        total = np.sum(a * holder.q[0]) * holder.q[1] * len(holder.q) + holder.t[0][0] * holder.t[1]
        return total + np.sum(holder.n.x) * holder.n[1]

    function = {"global": lambda a: np.sum(a * HOLDER["w"]) * len(HOLDER), "closure": closure, "attribute": attribute}
    first = x(1, 2, 3)

    def back() -> None:
        p.clear()
        p.update({"w": first, "deep": [x(1), (x(2), 3.0)]})
        q[:] = [first, 2.0, "a"]
        put(holder, p=p, q=q, t=t, n=n)()
        globals().update(HOLDER=p)

    compiled_through(
        function[where], back, lambda: p.update(w=x(3, 4, 5)), lambda: p.update(w=2.0), lambda: p.update(z=1.0), back,
        lambda: p["deep"].__setitem__(1, (x(5), 4.0)),
        lambda: q.__setitem__(slice(3, None), [1.0]), lambda: q.__setitem__(1, 3.0), back,
        put(holder, t=(x(2), 6.0)), put(holder, n=Point(x(5, 6), 2.0)), setting(HOLDER={"w": x(1)}),
    )  # fmt: skip


HOLDER: Any = None
Point = namedtuple("Point", "x y")


def test_order_of_keys_and_equal_keys() -> None:
    table: dict[Any, Any] = {}

    def f(a: Any) -> Any:
        total: Any = 0.0
        for key, value in table.items():
            total = total * 2 + value * np.sum(a) * (3 if key is True else 1)
        return total

    def now(**_: Any) -> Callable[[Any], Setup]:
        return lambda new: lambda: (table.clear(), table.update(new))

    to = now()
    compiled_through(f, to({"a": 1.0, "b": 2.0}), to({"b": 2.0, "a": 1.0}), to({1: 1.0}), to({True: 1.0}), to({}))


class Both(NamedTuple):
    w: Any
    k: float


def test_a_named_tuple_in_an_attribute() -> None:
    holder = types.SimpleNamespace(p=Both(x(1, 2, 3), 2.0))
    compiled_through(
        lambda a: np.sum(a * holder.p.w) * holder.p.k, put(holder, p=Both(x(1, 2, 3), 2.0)), put(holder, p=Both(x(1), 2.0)),
        put(holder, p=Both(x(1), 3.0)),
    )  # fmt: skip


def test_explain_says_the_path() -> None:
    network = Network()
    compiled = gs.compile(network.loss)
    for _ in range(3):
        compiled(A)
    network.layers[0].w = np.ones((3, 4))[::-1]
    compiled(A)
    said = str(gs.explain(compiled))
    assert "self.layers[0].w" in said
    assert "self.params['b']" in said


def test_long_lists_run_eagerly() -> None:
    table = [float(k) for k in range(2000)]
    compiled = gs.compile(lambda a: np.sum(a) * table[7])
    with pytest.warns(gs.EagerWarning, match="test_containers.py.*reads `table`, a list"):
        assert compiled(A) == np.sum(A) * 7.0
    table[7] = 8.0
    assert compiled(A) == np.sum(A) * 8.0


def test_one_list_under_two_names() -> None:
    shared, other = [x(1, 2, 3), 2.0], [x(4, 5, 6), 3.0]
    holder = types.SimpleNamespace(a=shared, b=shared)

    def f(a: Any) -> Any:
        return np.sum(a * holder.a[0]) * holder.b[1] * (2.0 if holder.a is holder.b else 1.0)

    compiled_through(f, put(holder, a=shared, b=shared), put(holder, b=other), put(holder, a=other))


class Scale(NamedTuple):
    k: float

    def run(self, t: Any) -> Any:
        return (3.0 if type(t) is np.float64 else 5.0) * t * self.k


SCALE = Scale(2.0)


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_a_method_of_a_named_tuple_from_outside_runs_in_scope() -> None:
    def loss(x: Any) -> Any:
        return SCALE.run(x[0] * x[1])

    compiled = gs.compile(gs.value_and_grad(loss))
    x = np.array([1.0, 2.0])
    for _ in range(3):
        value, slopes = compiled(x)
        assert value == loss(x)
        np.testing.assert_array_equal(slopes, [12.0, 6.0])
