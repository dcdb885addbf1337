"""The layers of gs.functional: compiled equals eager, derivatives of both orders and modes, vmap, dropout."""

from __future__ import annotations

import inspect
import pickle
import zlib
from collections.abc import Callable
from typing import Any, get_type_hints

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

from layer_cases import CALLS, Call


def function_of(call: Call) -> Callable[..., Any]:
    """The call as a function of what is differentiated, the rest fixed."""
    function, options, fixed = getattr(F, call.function), call.options, call.arrays()

    def f(*given: Any) -> Any:
        args = list(fixed)
        for k, v in zip(call.differentiated, given, strict=True):
            args[k] = v
        return function(*args, **options)

    return f


def given_of(call: Call) -> list[Any]:
    """What is differentiated."""
    arrays = call.arrays()
    return [arrays[k] for k in call.differentiated]


@pytest.mark.parametrize("name", CALLS)
def test_compiled_equals_eager(name: str) -> None:
    call = CALLS[name]
    function, options = getattr(F, call.function), call.options

    def loss(*given: Any) -> Any:
        return np.sum(np.sin(function(*given, **options)))

    gradient = gs.value_and_grad(loss, argnums=call.differentiated)
    step = gs.compile(gradient, verify="first calls")
    for dtype in (np.float64, np.float32):
        arrays = call.arrays(dtype)
        value, grads = step(*arrays)
        expected, expected_grads = gradient(*arrays)
        assert value == expected
        assert value.dtype == dtype
        for g, e, k in zip(grads, expected_grads, call.differentiated, strict=True):
            assert g.tobytes() == e.tobytes()
            assert g.dtype == dtype
            assert g.shape == arrays[k].shape


# What has no derivative that finite differences could see: none of what is not there, and those that a definition cuts off.
SMOOTH = [
    name for name in CALLS
    if name not in ("conv2d, no examples", "embedding, padding_idx", "embedding, by frequency", "embedding_bag, sum")
]  # fmt: skip


@pytest.mark.parametrize("name", [n for n in SMOOTH if zlib.crc32(n.encode()) % 4 == 0])
def test_derivatives(name: str) -> None:
    gs.check_grads(function_of(CALLS[name]), tuple(given_of(CALLS[name])), order=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in SMOOTH if zlib.crc32(n.encode()) % 4 != 0])
def test_more_derivatives(name: str) -> None:
    gs.check_grads(function_of(CALLS[name]), tuple(given_of(CALLS[name])), order=2)


@pytest.mark.parametrize("name", [n for n in CALLS if n != "conv2d, no examples" and zlib.crc32(n.encode()) % 2 == 0])
def test_vmap(name: str) -> None:
    each_example_by_itself(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in CALLS if n != "conv2d, no examples" and zlib.crc32(n.encode()) % 2 != 0])
def test_more_vmap(name: str) -> None:
    each_example_by_itself(name)


def each_example_by_itself(name: str) -> None:
    call = CALLS[name]
    f, given = function_of(call), given_of(call)
    many = [np.stack([v, 2 * v, v - 1]) for v in given]
    found = gs.vmap(f)(*many)
    expected = np.stack([f(*[v[k] for v in many]) for k in range(3)])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    gradient = gs.grad(lambda *v: np.sum(np.sin(f(*v))), argnums=len(given) - 1)
    found = gs.vmap(gradient, in_axes=(0, *[None] * (len(given) - 1)))(many[0], *given[1:])
    expected = np.stack([gradient(v, *given[1:]) for v in many[0]])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_text_of_a_convolution() -> None:
    def features(x: Any, w: Any, b: Any) -> Any:
        return F.max_pool2d(np.maximum(F.conv2d(x, w, b, padding=1), 0), 2)

    text = str(gs.source(features, np.ones((2, 1, 8, 8)), np.ones((4, 1, 3, 3)), np.ones(4)))
    assert "np.tensordot(w, " in text
    assert "sliding_window_view" in text
    assert "gradscribe" not in text


def test_names_of_functions_of_n_axes() -> None:
    for n, f in enumerate((F.max_pool1d, F.max_pool2d, F.max_pool3d), 1):
        assert f.__name__ == f.__qualname__ == f"max_pool{n}d"
        assert f.__module__ == F.adaptive_max_pool1d.__module__
        assert next(iter(inspect.signature(f).parameters)) == "input"
        assert get_type_hints(f)["return"] is Any
        with pytest.raises(
            TypeError, match=rf"^max_pool{n}d\(\) missing 1 required positional argument: 'kernel_size'$"
        ):
            f(np.ones((1, 4)))
    assert pickle.loads(pickle.dumps(F.conv2d)) is F.conv2d


def test_a_layer_serves_batches_of_any_size() -> None:
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(4, 1, 3, 3)), rng.normal(size=4)

    @gs.grad
    def loss(w: Any, b: Any, x: Any) -> Any:
        return np.sum(F.max_pool2d(F.conv2d(x, w, b, padding=1), 2) ** 2)

    step = gs.compile(loss, verify="first calls")
    for n in (5, 7, 3, 9, 2):
        x = rng.normal(size=(n, 1, 8, 8))
        assert step(w, b, x).tobytes() == loss(w, b, x).tobytes()
    assert len(gs.explain(step).specialisations) <= 2


def test_tensors_go_in_and_come_out() -> None:
    x = gs.tensor(np.arange(16.0).reshape(1, 1, 4, 4), requires_grad=True)
    out = F.avg_pool2d(x, 2)
    assert isinstance(out, gs.Tensor)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((1, 1, 4, 4), 0.25))
    assert type(F.conv1d(np.ones((1, 4)), np.ones((1, 1, 2)))) is np.ndarray


def test_ties_of_a_pool_are_singular() -> None:
    x = np.array([[[1.0, 2.0, 3.0, 3.0], [0.0, 1.0, 3.0, 0.0]]])
    gradient = gs.grad(lambda x: np.sum(F.max_pool2d(x, 2)))
    np.testing.assert_array_equal(gradient(x), [[[0, 1, 1, 0], [0, 0, 0, 0]]])
    with gs.singular("nan"):
        np.testing.assert_array_equal(gradient(x), [[[0, 1, np.nan, np.nan], [0, 0, np.nan, 0]]])
    with gs.singular("raise"), pytest.raises(gs.SingularPointError):
        gradient(x)


def test_batch_norm_in_training_compiles() -> None:
    x, w = np.random.default_rng(0).normal(size=(6, 3)), np.ones(3)
    eager, compiled = ([np.zeros(3), np.ones(3)] for _ in range(2))

    @gs.value_and_grad
    def loss(w: Any, x: Any, mean: Any, var: Any) -> Any:
        return np.sum(F.batch_norm(x, mean, var, w, training=True) ** 3)

    step = gs.compile(loss, verify="first calls")
    for k in range(3):
        (a, da), (b, db) = loss(w, x + k, *eager), step(w, x + k, *compiled)
        assert a == b
        assert da.tobytes() == db.tobytes()
    for e, c in zip(eager, compiled, strict=True):
        assert e.tobytes() == c.tobytes()
        assert not np.array_equal(e, np.zeros(3))


@pytest.mark.parametrize("function", [F.dropout, F.alpha_dropout])
def test_dropout(function: Any) -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    out = function(x, 0.3, training=True, generator=np.random.default_rng(1))
    assert out.mean() == pytest.approx(x.mean(), abs=0.03)
    assert function(x, 0.3, training=False) is x
    assert function(x, 0.0, training=True) is x
    assert not np.any(function(x, 1.0, training=True))
    values, counts = np.unique(out, return_counts=True)
    kept = out != values[np.argmax(counts)]
    assert np.mean(kept) == pytest.approx(0.7, abs=0.02)
    if function is F.dropout:
        np.testing.assert_allclose(out[kept], x[kept] / 0.7)
        assert F.dropout(x.astype(np.float32)).dtype == np.float32
    else:
        assert out.std() == pytest.approx(1.0, abs=0.06)
    gs.manual_seed(3)
    first = function(x, 0.3, training=True)
    gs.manual_seed(3)
    assert np.array_equal(first, function(x, 0.3, training=True))


def test_dropout_of_channels_and_in_place() -> None:
    rng = np.random.default_rng(0)
    for function, shape, each in (
        (F.dropout1d, (40, 3, 5), (2,)), (F.dropout2d, (40, 3, 5, 2), (2, 3)), (F.dropout3d, (9, 3, 5, 2, 2), (2, 3, 4)),
        (F.dropout1d, (40, 5), (1,)), (F.dropout3d, (30, 5, 2, 2), (1, 2, 3)), (F.feature_alpha_dropout, (40, 3, 5), (2,)),
    ):  # fmt: skip
        out = function(np.ones(shape), 0.5, True, generator=rng)
        assert np.all(np.ptp(out, axis=each) == 0)
        assert 0.2 < np.mean(out == np.max(out)) < 0.8
    with pytest.raises(RuntimeError, match="at least 2 dimensions"), pytest.warns(UserWarning, match="1-D input"):
        F.dropout2d(np.ones(3))
    with pytest.warns(UserWarning, match="switch to using dropout1d"):
        assert np.all(np.ptp(F.dropout2d(np.ones((9, 3, 4)), 0.5, generator=rng), axis=2) == 0)
    x = np.ones(50)
    assert F.dropout(x, 0.5, inplace=True, generator=rng) is x
    assert set(x.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("function", [F.elu_, F.selu_, F.celu_, F.leaky_relu_])
def test_whole_numbers_hold_no_activation_of_fractions(function: Any) -> None:
    x = np.array([-1, 2])
    with pytest.raises(gs.DtypeError, match="float64 and cannot be written into the input's int64"):
        function(x)
    assert x.tolist() == [-1, 2]
    assert F.relu_(x).tolist() == [0, 2]


def test_dropout_compiled_draws_as_eager_does() -> None:
    w = np.linspace(1.0, 2.0, 30)

    def loss(w: Any, rng: Any) -> Any:
        return np.sum(F.dropout(w, 0.4, generator=rng) ** 2)

    step = gs.compile(gs.value_and_grad(loss), verify="first calls")
    one, other = np.random.default_rng(0), np.random.default_rng(0)
    for _ in range(3):
        (a, da), (b, db) = step(w, one), gs.value_and_grad(loss)(w, other)
        assert a == b
        assert da.tobytes() == db.tobytes()
    own = gs.compile(gs.grad(lambda w: np.sum(F.dropout(w, 0.4) ** 2)), verify="first calls")
    gs.manual_seed(0)
    found = [own(w) for _ in range(2)]
    gs.manual_seed(0)
    for g in found:
        assert np.array_equal(g, gs.grad(lambda w: np.sum(F.dropout(w, 0.4) ** 2))(w))
    assert not np.array_equal(*found)


def test_attention_with_dropout() -> None:
    q, k, v = (np.random.default_rng(n).normal(size=(3, 4, 5)) for n in range(3))
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, generator=np.random.default_rng(0))
    weights = F.scaled_dot_product_attention(q, k, np.eye(4)[None], dropout_p=0.5, generator=np.random.default_rng(0))
    np.testing.assert_allclose(out, weights @ v)
    assert np.any(weights == 0)


def test_embedding_by_small_integers() -> None:
    table, index = np.ones((100, 3)), np.array([99, 3, 99], np.int8)
    for f in (gs.grad, lambda f: gs.compile(gs.grad(f), verify="first calls")):
        found = f(lambda t: np.sum(F.embedding(index, t)))(table)
        assert found[99].tolist() == [2.0] * 3
        assert found[3].tolist() == [1.0] * 3
        assert found.sum() == 9


def test_what_embedding_has_not() -> None:
    with pytest.raises(NotImplementedError, match="sparse"):
        F.embedding(np.array([0]), np.ones((2, 2)), sparse=True)
