"""Losses and activations where it is hard: huge logits, empty batches, second derivatives, what is ignored; and how they read."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

BIG = np.array([[1000.0, -1000.0, 0.0], [-1000.0, -1000.0, -1000.0], [1000.0, 999.0, 998.0]])
WRONG = np.array([1, 0, 2])
X = np.random.default_rng(0).normal(size=(4, 3))
T = np.array([0, 2, 1, 1])


# --- huge numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "loss",
    [
        lambda x: F.cross_entropy(x, WRONG),
        lambda x: F.cross_entropy(x, WRONG, label_smoothing=0.1),
        lambda x: F.cross_entropy(x, WRONG, weight=np.array([1, 2, 3], np.float32)),
        lambda x: F.cross_entropy(x, np.full((3, 3), 1 / 3, np.float32)),
        lambda x: F.binary_cross_entropy_with_logits(x, (x < 0).astype(x.dtype)),
        lambda x: F.binary_cross_entropy_with_logits(x, (x > 0).astype(x.dtype), pos_weight=np.float32(2)),
        lambda x: F.multilabel_soft_margin_loss(x, (x > 0).astype(x.dtype)),
        lambda x: F.soft_margin_loss(x, -np.sign(x)),
        lambda x: np.mean(F.softmax(x, 1) ** 2) + np.mean(F.log_softmax(x, 1)) + np.mean(F.logsumexp(x, 1)),
        lambda x: np.mean(F.softplus(x, threshold=np.inf) + F.logsigmoid(x) + F.sigmoid(x) + F.elu(x) + F.mish(x)),
        lambda x: np.mean(F.silu(x) + F.gelu(x) + F.gelu(x, "tanh") + F.selu(x) + F.celu(x, 0.1) + F.tanhshrink(x)),
    ],
)
def test_huge_logits_give_finite_values_and_derivatives(loss: Any, dtype: Any) -> None:
    """No warning of NumPy's, either: warnings are errors here."""
    x = BIG.astype(dtype)
    value, slope = gs.value_and_grad(loss)(x)
    curvature = gs.hvp(loss)(x, np.ones_like(x))
    for found in (value, slope, curvature):
        assert np.all(np.isfinite(found))
        assert found.dtype == dtype
    assert value == gs.compile(gs.value_and_grad(loss), verify="first calls")(x)[0]


def test_tails_are_right_to_the_last_places() -> None:
    x = np.array([-700.0, -40.0, 40.0, 700.0])
    low = np.exp(-np.abs(x))
    np.testing.assert_allclose(F.sigmoid(x[:2]), low[:2], rtol=1e-15)
    np.testing.assert_allclose(F.softplus(x[:2]), low[:2], rtol=1e-15)
    np.testing.assert_allclose(F.logsigmoid(x[2:]), -low[2:], rtol=1e-15)
    right = np.array([0.0, 0.0, 1.0, 1.0])
    losses = F.binary_cross_entropy_with_logits(x, right, reduction="none")
    np.testing.assert_allclose(losses, low, rtol=1e-15)
    slope = gs.grad(lambda x: F.binary_cross_entropy_with_logits(x, right, reduction="sum"))(x)
    np.testing.assert_allclose(slope[:2], low[:2], rtol=1e-15)
    probabilities = F.binary_cross_entropy(
        F.sigmoid(x[:2].astype(np.float32)), np.ones(2, np.float32), reduction="none"
    )
    np.testing.assert_allclose(probabilities, [100.0, 40.0], rtol=1e-6)


def test_what_is_ruled_out_counts_nothing() -> None:
    """-inf among logits: its probability is 0, its gradient 0."""
    x = np.array([[0.0, -np.inf, np.log(3.0)]])
    np.testing.assert_allclose(F.softmax(x, 1), [[0.25, 0, 0.75]], rtol=1e-15)
    np.testing.assert_allclose(gs.grad(lambda x: F.cross_entropy(x, np.array([0])))(x), [[-0.75, 0, 0.75]], rtol=1e-15)
    np.testing.assert_allclose(gs.grad(lambda x: np.sum(F.logsumexp(x, 1)))(x), [[0.25, 0, 0.75]], rtol=1e-15)
    nothing = np.full((1, 2), -np.inf)
    assert F.logsumexp(nothing, 1) == [-np.inf]
    assert gs.grad(lambda x: np.sum(F.logsumexp(x, 1)))(nothing).tolist() == [[0, 0]]
    assert F.logsumexp(np.array([np.inf, 0.0]), 0) == np.inf


# --- second derivatives and kinks -----------------------------------------------------------------------------------


def test_second_derivatives_at_zero() -> None:
    """A composition of parts with kinks would give 0."""
    assert gs.grad(gs.grad(F.softplus))(0.0) == 0.25
    assert gs.grad(gs.grad(lambda x: F.binary_cross_entropy_with_logits(x, np.array(1.0))))(np.array(0.0)) == 0.25
    assert gs.grad(gs.grad(lambda x: F.huber_loss(x, np.array(0.0))))(np.array(0.0)) == 1.0
    assert gs.grad(gs.grad(lambda x: F.smooth_l1_loss(x, np.array(0.0), beta=0.5)))(np.array(0.0)) == 2.0


def test_the_hessian_of_cross_entropy() -> None:
    """diag(p) - p p', for each row."""
    p = F.softmax(X[0], 0)
    found = gs.hessian(lambda x: F.cross_entropy(x, np.array(1)))(X[0])
    np.testing.assert_allclose(found, np.diag(p) - np.outer(p, p), atol=1e-15)
    np.testing.assert_allclose(gs.jvp(lambda x: F.cross_entropy(x, np.array(1)), (X[0],), (p,))[1], (p - [0, 1, 0]) @ p)


@pytest.mark.parametrize(
    ("name", "at", "slope"),
    [
        ("relu", 0.0, 0), ("relu6", 0.0, 0), ("relu6", 6.0, 0), ("leaky_relu", 0.0, 0.01), ("elu", 0.0, 1), ("hardtanh", 1.0, 0),
        ("hardsigmoid", -3.0, 0), ("softshrink", 0.5, 0), ("hardshrink", 0.5, 0), ("gelu", 0.0, 0.5), ("softsign", 0.0, 1),
    ],
)  # fmt: skip
def test_slopes_at_kinks(name: str, at: float, slope: float) -> None:
    assert gs.grad(getattr(F, name))(at) == slope


def test_relu_raises_at_its_kink_where_that_is_asked_for() -> None:
    with gs.singular("raise"), pytest.raises(gs.SingularPointError, match="relu"):
        gs.grad(lambda x: np.sum(F.relu(x)))(np.array([1.0, 0.0]))


# --- shapes ---------------------------------------------------------------------------------------------------------


def test_numbers_and_lists() -> None:
    assert F.mse_loss([1.0, 2.0], [1.0, 4.0]) == 2.0
    assert F.relu(-1.0) == 0
    assert F.cross_entropy([[0.0, 0.0]], [1], reduction="sum") == np.log(2)
    assert F.softmax(np.array(3.0), dim=0).shape == ()
    assert F.logsumexp(np.array(3.0), dim=-1) == 3.0
    assert F.one_hot(np.array([[2], [0]])).tolist() == [[[0, 0, 1]], [[1, 0, 0]]]
    assert F.one_hot(np.zeros((0,), int), 3).shape == (0, 3)


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy", "soft_margin_loss"])
def test_the_mean_of_nothing_is_nan(name: str, shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    value, slope = gs.value_and_grad(lambda x: getattr(F, name)(x, x))(x)
    assert np.isnan(value)
    assert (value.dtype, slope.shape) == (np.float32, shape)
    assert getattr(F, name)(x, x, reduction="sum") == 0


def test_what_is_ignored_takes_no_gradient_and_no_share() -> None:
    for target in (np.array([0, -100, 1, -100]), np.array([0, 2, 1, 2])):
        ignored = -100 if -100 in target else 2
        value, slope = gs.value_and_grad(lambda x, t=target, i=ignored: F.cross_entropy(x, t, ignore_index=i))(X)
        np.testing.assert_allclose(value, F.cross_entropy(X[::2], target[::2]), rtol=1e-14)
        assert slope[1].tolist() == slope[3].tolist() == [0, 0, 0]
        assert F.cross_entropy(X, target, ignore_index=ignored, reduction="none")[1::2].tolist() == [0, 0]


def test_a_compiled_loss_takes_what_is_ignored_when_it_comes() -> None:
    compiled = gs.compile(gs.value_and_grad(F.cross_entropy), verify="first calls")
    plain = gs.value_and_grad(F.cross_entropy)
    for target in (T, T[::-1].copy(), np.array([0, -100, 1, 2]), T, np.array([-100, 1, 1, 2])):
        found, expected = compiled(X, target), plain(X, target)
        assert found[0] == expected[0]
        np.testing.assert_array_equal(found[1], expected[1])
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        compiled(X, np.array([0, 1, 2, 3]))


def recurrent(w, v, xs, ys):
    h, loss = np.zeros(3), 0.0
    for k in range(len(xs)):
        h = np.tanh(w @ h + xs[k])
        loss = loss + F.cross_entropy(v @ h, ys[k], reduction="sum")
    return loss


def test_a_loss_in_a_loop_stays_in_a_loop() -> None:
    """What is ignored, and what is out of range, is found in each trip."""
    w, v, xs = X[:3], np.array(X), np.tile(X, (5, 1))
    plain = gs.value_and_grad(recurrent, argnums=(0, 1))
    compiled = gs.compile(plain, verify="first calls")
    for labels in ([0, 3, 2, 1], [0, -100, 2, 3]):
        found, expected = compiled(w, v, xs, np.tile(labels, 5)), plain(w, v, xs, np.tile(labels, 5))
        assert found[0] == expected[0]
        for one, other in zip(found[1], expected[1], strict=True):
            np.testing.assert_array_equal(one, other)
    text = str(compiled.source(w, v, xs, np.tile(labels, 5)))
    assert len(re.findall(r"^ *for ", text, re.M)) == 2
    assert len(text.splitlines()) < 70
    for wrong in (-1, 4):
        with pytest.raises(IndexError, match="out of bounds"):
            compiled(w, v, xs, np.tile([0, wrong, 2, 3], 5))


# --- how it reads ---------------------------------------------------------------------------------------------------


def body(text: Any) -> str:
    """Generated source without its head and comments."""
    return "\n".join(
        line for line in str(text).partition('"""\n\n')[2].splitlines() if not line.lstrip().startswith("#")
    )


def test_the_source_of_a_training_step() -> None:
    def step(w, b, x, y):
        hidden = F.relu(x @ w)
        return F.cross_entropy(hidden @ b, y)

    text = gs.source(gs.value_and_grad(step, argnums=(0, 1)), X.T, X, X, T)
    assert (
        body(text)
        == """\
    if np.any((y < 0) | (y >= 3)):
        return NotImplemented  # another specialisation is wanted
    hidden = np.maximum(x @ w, 0)
    hidden_b = hidden @ b
    difference = hidden_b - np.max(hidden_b, axis=1, keepdims=True)
    exp = np.exp(difference)
    sum_exp = exp.sum(axis=1)
    out = (np.log(sum_exp) - difference[np.arange(len(y)), y]).sum() / sum_exp.size

    d_hidden_part = (1.0 / sum_exp.size / sum_exp)[:, None] * exp
    d_hidden_part[np.arange(len(y)), y] -= 1.0 / sum_exp.size
    d_w = x.T @ np.where(hidden <= 0, 0.0, d_hidden_part @ b.T)
    return out, (d_w, hidden.T @ d_hidden_part)"""
    )


def test_the_source_of_binary_cross_entropy_with_logits() -> None:
    def step(w, x, y):
        return F.binary_cross_entropy_with_logits(x @ w, y)

    assert (
        body(gs.source(gs.value_and_grad(step), X[0], X, 1.0 * T))
        == """\
    x_w = x @ w
    total = (np.maximum(x_w, 0) - x_w * y + np.log1p(np.exp(-np.abs(x_w)))).sum()
    out = total / x_w.size

    with np.errstate(all="ignore"):
        d_w = x.T @ (1.0 / x_w.size * (1.0 / (1.0 + np.exp(-x_w)) - y))
    return out, d_w"""
    )


# --- classes --------------------------------------------------------------------------------------------------------


def test_a_loss_is_copied_pickled_and_changed() -> None:
    criterion = gs.nn.HuberLoss(delta=2.0)
    for again in (pickle.loads(pickle.dumps(criterion)), copy.deepcopy(criterion), copy.copy(criterion)):
        assert type(again) is gs.nn.HuberLoss
        assert again.delta == 2.0
        again.reduction = "sum"
        assert again(X, 2 * X) == F.huber_loss(X, 2 * X, "sum", 2.0) == again.forward(X, 2 * X)
    assert criterion.reduction == "mean"
    with pytest.raises(AttributeError, match="has no option 'deltas'"):
        criterion.deltas = 3.0
    with pytest.raises(AttributeError, match="has no attribute 'deltas'"):
        _ = criterion.deltas


def test_the_signature_of_a_class_is_that_of_the_options() -> None:
    assert list(inspect.signature(gs.nn.CrossEntropyLoss).parameters) == [
        "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing",
    ]  # fmt: skip
    assert list(inspect.signature(gs.nn.GaussianNLLLoss).parameters) == ["full", "eps", "reduction"]
    assert "gs.functional.mse_loss" in (gs.nn.MSELoss.__doc__ or "")
    assert gs.nn.GaussianNLLLoss()(X, X, np.ones_like(X)) == 0


def test_a_loss_that_is_read_is_compiled_and_its_changes_are_noticed() -> None:
    criterion = gs.nn.CrossEntropyLoss(weight=np.array([0.5, 1.0, 2.0]))
    activation = gs.nn.LeakyReLU(0.5)

    def loss(x, t):
        return criterion(activation(x), t)

    compiled = gs.compile(gs.value_and_grad(loss), verify="first calls")
    for _ in range(2):
        assert compiled(X, T)[0] == loss(X, T)
    assert "weight" in str(compiled.source(X, T))
    before = loss(X, T)
    criterion.weight = np.array([1.0, 1.0, 9.0])
    assert compiled(X, T)[0] == loss(X, T) != before
    criterion.reduction = "sum"
    assert compiled(X, T)[0] == loss(X, T)


@pytest.mark.parametrize("run", [lambda f: f, gs.compile], ids=["eager", "compiled"])
def test_batch_norm_of_no_examples_leaves_the_statistics_alone(run: Any) -> None:
    mean, var = np.ones(3), np.full(3, 2.0)
    out = run(lambda x, m, v: F.batch_norm(x, m, v, np.ones(3), np.zeros(3), training=True))(
        np.zeros((0, 3, 2)), mean, var
    )
    assert out.shape == (0, 3, 2)
    np.testing.assert_array_equal((mean, var), (np.ones(3), np.full(3, 2.0)))
    assert gs.grad(lambda x: F.batch_norm(x, None, None, training=True).sum())(np.zeros((0, 3))).shape == (0, 3)


EMPTY: list[tuple[Any, tuple[int, ...]]] = [
    (lambda x: F.group_norm(x, 2), (0, 4, 3, 3)),
    (lambda x: F.max_pool2d(x, 2, return_indices=True)[0], (0, 4, 1, 1)),
    (lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"), (0, 4, 4, 6)),
]


@pytest.mark.parametrize(("function", "shape"), EMPTY, ids=["group_norm", "max_pool2d", "pad"])
def test_layers_take_no_examples(function: Any, shape: tuple[int, ...]) -> None:
    x = np.zeros((0, 4, 3, 3))
    assert function(x).shape == shape
    assert gs.grad(lambda v: function(v).sum())(x).shape == x.shape


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("run", [lambda f: f, gs.compile], ids=["eager", "compiled"])
def test_gelu_keeps_the_type(run: Any, dtype: Any) -> None:
    x = np.linspace(-3, 3, 7, dtype=dtype)
    value, slope = run(gs.value_and_grad(lambda v: F.gelu(v).sum()))(x)
    assert F.gelu(x).dtype == value.dtype == slope.dtype == dtype
    np.testing.assert_allclose(F.gelu(x), F.gelu(x.astype(float)), rtol=0, atol=2e-3 if dtype is np.float16 else 1e-6)


def test_one_hot_is_compiled() -> None:
    def f(w: Any, index: Any) -> Any:
        return np.sum(F.one_hot(index, 5) @ w) + np.sum(F.one_hot(index) @ w[:4])

    w, index = np.arange(5.0), np.array([3, 1])
    compiled = gs.compile(gs.grad(f), verify="first calls")
    np.testing.assert_array_equal(compiled(w, index), gs.grad(f)(w, index))
    assert len(gs.explain(compiled).specialisations) == 1
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        compiled(w, np.array([3, 7]))


@pytest.mark.parametrize(
    ("name", "function"),
    [("Linear", "linear"), ("LazyConv2d", "conv2d"), ("BatchNorm1d", "batch_norm"), ("LayerNorm", "layer_norm"),
     ("PReLU", "prelu"), ("MultiheadAttention", "scaled_dot_product_attention"), ("ReflectionPad2d", "pad"),
     ("CircularPad1d", "pad"), ("ConstantPad3d", "pad"), ("ReplicationPad2d", "pad"), ("ZeroPad1d", "pad"),
     ("CrossMapLRN2d", "local_response_norm"), ("SyncBatchNorm", "batch_norm"), ("LazyBatchNorm3d", "batch_norm"),
     ("ConvTranspose2d", "conv_transpose2d"), ("AdaptiveAvgPool3d", "adaptive_avg_pool3d"), ("LPPool2d", "lp_pool2d"),
     ("MaxUnpool1d", "max_unpool1d"), ("Dropout2d", "dropout2d"), ("FeatureAlphaDropout", "feature_alpha_dropout"),
     ("UpsamplingNearest2d", "upsample"), ("EmbeddingBag", "embedding_bag"), ("Softmax2d", "softmax"), ("NLLLoss2d", "nll_loss"),
     ("PixelShuffle", "pixel_shuffle"), ("Bilinear", "bilinear"), ("Fold", "fold"), ("RMSNorm", "rms_norm"),
     ("Module", None), ("Sequential", None), ("LSTM", None), ("GRUCell", None), ("Identity", None), ("Parameter", None),
     ("TransformerEncoder", None), ("FractionalMaxPool2d", None), ("AdaptiveLogSoftmaxWithLoss", None), ("ModuleDict", None)],
)  # fmt: skip
def test_modules_of_torch_say_in_one_line_what_is_here_instead(name: str, function: str | None) -> None:
    with pytest.raises(AttributeError, match="parameters are pytrees here") as caught:
        getattr(gs.nn, name)
    line = str(caught.value)
    assert "\n" not in line
    assert f"gs.functional.{function or 'linear'} is" in line or (function is None and "a model is a function" in line)
    assert function is None or function in gs.functional.__all__


@pytest.mark.parity
def test_every_module_of_torch_is_here_or_says_what_is() -> None:
    torch = pytest.importorskip("torch")
    modules = {
        name for name, cls in vars(torch.nn).items() if isinstance(cls, type) and issubclass(cls, torch.nn.Module)
    }
    assert len(modules) > 100
    for name in modules - set(gs.nn.__all__):
        with pytest.raises(AttributeError, match="parameters are pytrees here") as caught:
            getattr(gs.nn, name)
        named = re.search(r"gs\.functional\.(\w+) is", str(caught.value))
        assert named
        assert named[1] in gs.functional.__all__


def test_every_name_of_nn_is_a_loss_or_an_activation_and_its_function_is_there() -> None:
    for name in set(gs.nn.__all__) - {"functional", "utils"}:
        cls = getattr(gs.nn, name)
        assert isinstance(cls, type), name
        assert callable(cls.__call__), name
    assert not {"Linear", "Module", "Sequential"} & set(gs.nn.__all__)
