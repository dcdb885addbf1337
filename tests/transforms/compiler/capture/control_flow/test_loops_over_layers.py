"""Loops over a list of layers: one loop in the source, whatever an item is made of, with the bits of eager mode."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference
from gradscribe.transforms.trees import flatten


@dataclasses.dataclass
class Dense:
    """A layer as an instance."""

    W: Any
    b: Any


class Named(NamedTuple):
    """A layer as a named tuple."""

    W: Any
    b: Any


FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda W, b: W,
    "tuple": lambda W, b: (W, b),
    "dict": lambda W, b: {"W": W, "b": b},
    "dataclass": Dense,
    "named": Named,
    "tree": lambda W, b: {"pair": (W, b), "g": 2.0 * b},
}


def layers_of(form: str, n: int = 6, width: int = 4, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [FORMS[form](0.5 * rng.normal(size=(width, width)), rng.normal(size=width)) for _ in range(n)]


def arrays(layers: Any, x: Any) -> Any:
    for W in layers:
        x = np.tanh(x @ W)
    return np.sum(x**2)


def pairs(layers: Any, x: Any) -> Any:
    for W, b in layers:
        x = np.tanh(x @ W + b)
    return np.sum(x**2)


def items(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = np.tanh(x @ layer["W"] + layer["b"])
    return np.sum(x**2)


def attributes(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = np.tanh(x @ layer.W + layer.b)
    return np.sum(x**2)


def trees(layers: Any, x: Any) -> Any:
    for layer in layers:
        W, b = layer["pair"]
        x = np.tanh(x @ W + b) * layer["g"]
    return np.sum(x**2)


def lists_beside_each_other(layers: Any, x: Any) -> Any:
    for W, b in zip([W for W, _ in layers], [b for _, b in layers], strict=False):
        x = np.tanh(x @ W + b)
    return np.sum(x**2)


def with_one_list_longer(layers: Any, x: Any) -> Any:
    for W, b in zip([W for W, _ in layers][:-1], [b for _, b in layers], strict=False):
        x = np.tanh(x @ W + b)
    return np.sum(x**2)


def numbered(layers: Any, x: Any) -> Any:
    for k, (W, b) in enumerate(layers):
        x = np.tanh(x @ W + b) * (k + 1)
    return np.sum(x**2)


def backwards(layers: Any, x: Any) -> Any:
    for W, b in reversed(layers):
        x = np.tanh(x @ W + b)
    return np.sum(x**2)


def all_but_the_last(layers: Any, x: Any) -> Any:
    for W, b in layers[:-1]:
        x = np.tanh(x @ W + b)
    W, b = layers[-1]
    return np.sum((x @ W + b) ** 2)


def regularised(layers: Any, x: Any) -> Any:
    for W, b in layers:
        x = np.tanh(x @ W + b)
    return np.sum(x**2) + 0.1 * sum(np.sum(W**2) for W, b in layers)


def residual_twice(layers: Any, x: Any) -> Any:
    for W, b in layers:
        x = x + np.tanh(x @ W + b)
    for W, _ in layers:
        x = 0.5 * x + np.sin(x @ W)
    return np.sum(x**2)


def added_up(layers: Any, x: Any) -> Any:
    for _, b in layers:
        x = x + b  # the cotangents of all are one array
    return np.sum(np.sin(x))


def with_a_branch(layers: Any, x: Any) -> Any:
    for W, b in layers:
        if np.sum(x) > 0:
            x = np.tanh(x @ W + b)
        else:
            x = np.sin(x @ W)
    return np.sum(x**2)


def until_it_is_large(layers: Any, x: Any) -> Any:
    for W, b in layers:
        x = 2.0 * np.tanh(x @ W + b)
        if np.sum(x) > 4.0:
            break
    return np.sum(x**2)


def by_lengths(layers: Any, x: Any) -> Any:
    for W, b in layers:
        x = x @ W / W.shape[0] + b / len(layers)
    return np.sum(np.tanh(x))


def remembered(layers: Any, x: Any) -> Any:
    xs = [x]
    for W, b in layers:
        xs.append(np.tanh(xs[-1] @ W + b))
    return np.sum(xs[-1] ** 2) + np.sum(xs[2])


def in_place(layers: Any, x: Any) -> Any:
    h = x.copy()
    for _, b in layers:
        h += b
        h *= 0.5
    return np.sum(np.sin(h @ layers[0][0]))


# Lists that are read by the number of a trip.
def by_number(layers: Any, x: Any) -> Any:
    for k in range(len(layers)):
        W, b = layers[k]
        x = np.tanh(x @ W + b)
    return np.sum(x**2)


def lists_by_number(layers: Any, x: Any) -> Any:
    Ws, bs = [W for W, _ in layers], [b for _, b in layers]
    for k in range(len(Ws)):
        x = np.tanh(x @ Ws[k] + bs[k]) * (k + 1.0)
    return np.sum(x**2)


def items_by_number(layers: Any, x: Any) -> Any:
    for i in range(len(layers)):
        x = np.tanh(x @ layers[i]["W"] + layers[i]["b"])
    return np.sum(x**2)


def the_next_by_number(layers: Any, x: Any) -> Any:
    for i in range(len(layers) - 1):
        x = np.tanh(x @ layers[i + 1][0])
    return np.sum(x @ layers[0][0])


def numbered_and_by_number(layers: Any, x: Any) -> Any:
    Ws, bs = [W for W, _ in layers], [b for _, b in layers]
    for i, W in enumerate(Ws):
        x = np.tanh(x @ W + bs[i])
    return np.sum(x**2) + sum(np.sum(layers[j][0] ** 2) for j in range(len(layers)))


def remembered_by_number(layers: Any, x: Any) -> Any:
    hs = [x]
    for i in range(len(layers)):
        hs.append(np.tanh(hs[i] @ layers[i][0] + layers[i][1]))
    return np.sum(hs[-1] ** 2)


def from_the_second_on(layers: Any, x: Any) -> Any:
    h = x @ layers[0][0]
    for k in range(1, len(layers)):
        h = np.tanh(h @ layers[k][0] + layers[k][1])
    return np.sum(h**2)


def from_the_last_on(layers: Any, x: Any) -> Any:
    for k in reversed(range(len(layers))):
        x = np.tanh(x @ layers[k][0])
    for k in range(len(layers)):
        x = x + layers[-1 - k][1]
    for k in range(len(layers) - 1, -1, -1):
        x = np.sin(x) * layers[k][1]
    return np.sum(x**2)


KEPT: list[tuple[Any, str, str]] = [
    (from_the_last_on, "tuple", "= layers[::-1]"),
    (by_number, "tuple", "for W, b in layers:"),
    (lists_by_number, "tuple", "in enumerate(layers):"),
    (items_by_number, "dict", "for layer in layers:"),
    (the_next_by_number, "tuple", "= layers[1:]"),
    (numbered_and_by_number, "tuple", "for W, b in layers:"),
    (remembered_by_number, "tuple", "in layers:"),
    (from_the_second_on, "tuple", "= layers[1:]"),
    (arrays, "array", "for W in layers:"),
    (pairs, "tuple", "for W, b in layers:"),
    (items, "dict", "for layer in layers:"),
    (attributes, "dataclass", "for layer in layers:"),
    (attributes, "named", "for layer in layers:"),
    (trees, "tree", "for layer in layers:"),
    (lists_beside_each_other, "tuple", "for W, b in layers:"),
    (with_one_list_longer, "tuple", "= layers[:-1]"),
    (numbered, "tuple", "in enumerate(layers):"),
    (backwards, "tuple", "= layers[::-1]"),
    (all_but_the_last, "tuple", "= layers[:-1]"),
    (regularised, "tuple", "for W, b in layers:"),
    (residual_twice, "tuple", "for W, _ in layers:"),
    (added_up, "tuple", "for _, b in layers:"),
    (with_a_branch, "tuple", "for W, b in layers:"),
    (by_lengths, "tuple", "for W, b in layers:"),
    (remembered, "tuple", "for W, b in layers:"),
    (in_place, "tuple", "for _, b in layers:"),
]


# Each reads an item in a second way, or keeps or changes it: the sum of its cotangents would have another order.
def last_is_kept(layers: Any, x: Any) -> Any:
    last = layers[0][0]
    for W, b in layers:
        x = np.tanh(x @ W + last @ b)
        last = W
    return np.sum(x**2) + np.sum(last)


def first_is_read_too(layers: Any, x: Any) -> Any:
    for W, b in layers:
        x = np.tanh(x @ W @ layers[0][0] + b)
    return np.sum(x)


def neighbours(layers: Any, x: Any) -> Any:
    Ws = [W for W, _ in layers]
    for A, B in itertools.pairwise(Ws):
        x = np.tanh(x @ A @ B)
    return np.sum(x)


def one_layer_again(layers: Any, x: Any) -> Any:
    for W, b in [layers[0]] * 4:
        x = np.tanh(x @ W + b)
    return np.sum(x)


def item_is_given_a_key(layers: Any, x: Any) -> Any:
    for layer in layers:
        layer["twice"] = 2.0 * layer["W"]
        x = np.tanh(x @ layer["twice"])
    return np.sum(x)


def taken_from_the_end(layers: Any, x: Any) -> Any:
    rest = list(layers)
    while rest:
        W, b = rest.pop()
        x = np.tanh(x @ W + b)
    return np.sum(x)


def loops_in_a_loop(layers: Any, x: Any) -> Any:
    for _ in range(5):
        for W, b in layers:
            x = np.tanh(x @ W + b)
    return np.sum(x)


def two_by_number(layers: Any, x: Any) -> Any:
    for k in range(len(layers) - 1):
        x = np.tanh(x @ layers[k][0] @ layers[k + 1][0])
    return np.sum(x)


def by_another_number(layers: Any, x: Any) -> Any:
    for k in range(len(layers)):
        x = np.tanh(x @ layers[(2 * k) % len(layers)][0])
    return np.sum(x)


def beyond_the_end(layers: Any, x: Any) -> Any:
    for k in range(len(layers)):
        x = np.tanh(x @ layers[k - 1][0])
    return np.sum(x)


def in_a_branch(layers: Any, x: Any) -> Any:
    for k in range(len(layers)):
        if np.sum(x) > 0:
            x = np.tanh(x @ layers[k][0])
        else:
            x = np.sin(x)
    return np.sum(x)


UNROLLED: list[tuple[Any, str]] = [
    (two_by_number, "tuple"), (by_another_number, "tuple"), (beyond_the_end, "tuple"), (in_a_branch, "tuple"),
    (last_is_kept, "tuple"), (first_is_read_too, "tuple"), (neighbours, "tuple"), (one_layer_again, "tuple"),
    (item_is_given_a_key, "dict"), (taken_from_the_end, "tuple"), (loops_in_a_loop, "tuple"),
    (until_it_is_large, "tuple"),
]  # fmt: skip
ALL = [(f, form) for f, form, _ in KEPT] + UNROLLED


def same(found: Any, expected: Any) -> None:
    assert flatten(found)[1] == flatten(expected)[1]
    for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)
        assert getattr(a, "strides", None) == getattr(b, "strides", None)


@pytest.mark.parametrize(("f", "form"), ALL)
@pytest.mark.parametrize("argnums", [0, (0, 1)])
def test_compiled_has_the_bits_of_eager(f: Any, form: str, argnums: Any) -> None:
    transform = gs.value_and_grad(f, argnums=argnums)
    compiled = gs.compile(transform)
    sizes = [(6, 4, 3), (6, 4, 3), (6, 4, 3), (6, 5, 2), (6, 4, 1), (5, 4, 3), (2, 4, 3), (6, 4, 3)]
    for seed, (n, width, rows) in enumerate(sizes if f is not remembered else [s for s in sizes if s[0] > 2]):
        x = np.random.default_rng(seed + 9).normal(size=(rows, width))
        expected = transform(layers_of(form, n, width, seed), x)
        same(compiled(layers_of(form, n, width, seed), x), expected)


@pytest.mark.parametrize(("f", "form", "line"), KEPT)
def test_the_source_has_one_loop_for_any_number_of_layers(f: Any, form: str, line: str) -> None:
    six, nine = (str(gs.source(gs.grad(f), layers_of(form, n), np.ones((3, 4)))) for n in (6, 9))
    assert line in six
    assert len(nine.splitlines()) - len(six.splitlines()) <= 8  # of what each layer has of its own


@pytest.mark.parametrize(("f", "form"), UNROLLED)
def test_a_loop_whose_items_are_known_elsewhere_stays_as_it_is(f: Any, form: str) -> None:
    source = str(gs.source(gs.grad(f), layers_of(form), np.ones((3, 4))))
    assert not re.search(r"^ +for .* in (layers|zip)", source, re.MULTILINE)


def test_the_gradient_is_a_list_of_the_callers_kind() -> None:
    def tail(f: Any, form: str) -> str:
        return str(gs.source(gs.grad(f), layers_of(form), np.ones((3, 4)))).split("    return ")[-1].strip()

    assert tail(arrays, "array") == "d_Ws"
    assert tail(pairs, "tuple") == "list(zip(d_Ws, d_bs))"
    assert tail(items, "dict") == '[{"W": d_W, "b": d_b} for d_W, d_b in zip(d_Ws, d_bs)]'
    assert tail(attributes, "dataclass") == "[type(layers[0])(W=d_W, b=d_b) for d_W, d_b in zip(d_Ws, d_bs)]"
    assert tail(backwards, "tuple") == "list(zip(reversed(d_Ws), reversed(d_bs)))"
    assert tail(all_but_the_last, "tuple") == "[*zip(d_Ws, d_bs), (x.T @ d_total, d_total.sum(axis=0))]"
    assert tail(regularised, "tuple") == "list(zip(d_Ws_2, d_bs))"


def test_layers_of_other_shapes_are_written_out() -> None:
    rng = np.random.default_rng(0)
    sizes = [3, 5, 5, 4, 2]
    layers = [(rng.normal(size=(m, n)), rng.normal(size=n)) for m, n in itertools.pairwise(sizes)]
    compiled = gs.compile(gs.grad(pairs))
    same(compiled(layers_of("tuple"), np.ones((2, 4))), gs.grad(pairs)(layers_of("tuple"), np.ones((2, 4))))
    same(compiled(layers, np.ones((2, 3))), gs.grad(pairs)(layers, np.ones((2, 3))))
    assert "W_4" in str(gs.source(gs.grad(pairs), layers, np.ones((2, 3))))


def test_gradients_of_layers_that_are_one_array_are_arrays_of_their_own() -> None:
    found = gs.compile(gs.grad(added_up))(layers_of("tuple"), np.ones((3, 4)))
    assert not any(np.shares_memory(found[0][1], b) for _, b in found[1:])


def test_a_list_within_an_argument_has_a_name() -> None:
    def loss(model: Any, x: Any) -> Any:
        for W, b in model["hidden"]:
            x = np.tanh(x @ W + b)
        return np.sum(x @ model["out"])

    model = {"hidden": layers_of("tuple"), "out": np.ones(4)}
    source = str(gs.source(gs.grad(loss), model, np.ones((3, 4))))
    assert 'hidden = model["hidden"]' in source
    assert "for W, b in hidden:" in source
    assert "list(zip(d_Ws, d_bs))" in source
    same(gs.compile(gs.grad(loss))(model, np.ones((3, 4))), gs.grad(loss)(model, np.ones((3, 4))))


@pytest.mark.parametrize(("f", "form", "line"), KEPT)
def test_second_order_forward_mode_and_vmap(f: Any, form: str, line: str) -> None:
    x = np.random.default_rng(3).normal(size=(3, 4))
    transforms: list[tuple[Any, tuple[Any, ...]]] = [
        (gs.hvp(lambda layers: f(layers, x)), (layers_of(form), layers_of(form, seed=7))),
        (lambda layers, v: gs.jvp(lambda p: f(p, x), (layers,), (v,)), (layers_of(form), layers_of(form, seed=7))),
        (gs.vmap(gs.grad(f), in_axes=(None, 0)), (layers_of(form), np.stack([x, 2 * x]))),
    ]
    for transform, args in transforms[: 2 if f is with_a_branch else 3]:
        compiled = gs.compile(transform)
        for _ in range(2):
            found, expected = flatten(compiled(*args))[0], flatten(transform(*args))[0]
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "form"),
    [pytest.param(f, form, marks=[] if f in (pairs, backwards) else pytest.mark.slow) for f, form, _ in KEPT],
)
def test_native(f: Any, form: str) -> None:
    transform = gs.value_and_grad(f)
    compiled = gs.compile(transform, target="native")
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(3, 4))
        found, expected = compiled(layers_of(form, seed=seed), x), transform(layers_of(form, seed=seed), x)
        for a, b in zip(flatten(found)[0], flatten(expected)[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("target", ["c", "jax"])
@pytest.mark.parametrize(
    ("f", "form"),
    [
        (pairs, "tuple"),
        (items, "dict"),
        *[pytest.param(f, "tuple", marks=pytest.mark.slow) for f in (all_but_the_last, regularised)],
    ],
)
def test_other_targets_have_a_form_of_it(f: Any, form: str, target: str, tmp_path: Any) -> None:
    path = tmp_path / f"network.{'c' if target == 'c' else 'py'}"
    gs.export(gs.value_and_grad(f), layers_of(form), np.ones((3, 4)), path=path, target=target)
    assert path.read_text(encoding="utf-8")


def of_a_tuple(params: Any, x: Any) -> Any:
    Ws, bs = params
    for W, b in zip(Ws, bs, strict=True):
        x = np.tanh(x @ W + b)
    return np.sum(x)


def of_a_dict(params: Any, x: Any) -> Any:
    for W, b in zip(params["W"], params["b"], strict=False):
        x = np.tanh(x @ W + b)
    return np.sum(x)


LISTS = [np.eye(3) * s for s in (0.5, 0.6, 0.7, 0.8)], [np.ones(3) * s for s in (0.1, 0.2, 0.3, 0.4)]


@pytest.mark.parametrize(
    ("f", "params", "line"),
    [
        (of_a_tuple, LISTS, "    Ws, bs = params[0], params[1]"),
        (of_a_dict, dict(zip("Wb", LISTS, strict=True)), '    Ws, bs = params["W"], params["b"]\n'),
    ],
)
def test_lists_within_an_argument_are_walked_as_they_are(f: Any, params: Any, line: str) -> None:
    compiled, x = gs.compile(gs.grad(f)), np.arange(3.0)
    for scale in (1.0, 0.5):
        assert difference(compiled(params, x * scale), gs.grad(f)(params, x * scale)) is None
    text = str(compiled.source(params, x))
    assert line in text
    assert "    for W, b in zip(Ws, bs):\n" in text
    assert "    Returns d_Ws, d_bs: like params[" in text
    assert "    d_bs.reverse()\n" in text


def test_strict_lengths_are_alike_in_every_call() -> None:
    def f(cs: Any, rs: Any) -> Any:
        total = 0.0
        for c, r in zip(cs, rs, strict=True):
            total = total + np.sum(np.sin(c / r) * r)
        return total

    transform = gs.grad(f, argnums=(0, 1))
    compiled = gs.compile(transform)
    for n in (30, 5, 7):
        args = np.ones((n, 2)), np.arange(1.0, n + 1)
        assert difference(compiled(*args), transform(*args)) is None
    assert len(gs.explain(compiled).specialisations) == 1
    for n, m in ((4, 6), (6, 4)):
        with pytest.raises(ValueError, match="zip"):
            compiled(np.ones((n, 2)), np.ones(m))
