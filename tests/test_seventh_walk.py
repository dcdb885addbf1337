"""What a walk through functional, optim, why, the profiler and the older API found wrong, once for each fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

F = gs.functional  # not by an import: gs.why has to see that it is a module


@pytest.mark.parametrize(
    ("params", "grads", "error", "words"),
    [
        pytest.param(np.array([1, 2]), np.ones(2), gs.DtypeError, "holds int64", id="integers"),
        pytest.param({"w": 3}, {"w": 1.0}, gs.DtypeError, r"params\['w'\] holds int64", id="a Python int"),
        pytest.param([np.ones(2)], [np.ones(3)], gs.ShapeError, r"\(2,\).*\(3,\)", id="longer"),
        pytest.param([np.ones(1)], [np.ones(3)], gs.ShapeError, r"\(1,\).*\(3,\)", id="would broadcast the parameter"),
        pytest.param([np.ones(3)], [2.0], gs.ShapeError, r"\(3,\).*\(\)", id="would broadcast the gradient"),
    ],
)
@pytest.mark.parametrize("run", [lambda f: f, gs.compile], ids=["eager", "compiled"])
def test_an_update_takes_floats_and_a_gradient_of_the_same_shape(
    run: Any, params: Any, grads: Any, error: type[Exception], words: str
) -> None:
    opt = gs.optim.Adam(lr=0.1)
    with pytest.raises(error, match=words):
        run(lambda p, g, s: opt.update(p, g, s))(params, grads, opt.init(params))


def test_integers_without_a_gradient_stay() -> None:
    opt = gs.optim.SGD(lr=0.5)
    params = {"w": np.ones(2), "layers": 3}
    found, _ = opt.update(params, {"w": np.ones(2), "layers": None}, opt.init(params))
    assert found["layers"] == 3
    np.testing.assert_array_equal(found["w"], [0.5, 0.5])


@pytest.mark.parametrize("state", [{}, {"step": 0.0}, gs.optim.SGD(lr=0.1, momentum=0.9).init(np.ones(2))])
def test_the_state_of_another_optimiser_is_told(state: Any) -> None:
    opt = gs.optim.Adam()
    with pytest.raises(ValueError, match=r"no state of Adam.*exp_avg.*init\(params\)"):
        opt.update(np.ones(2), np.ones(2), state)


LOW, HIGH = np.array([-9000.0, -8000.0]), np.array([9000.0, 8000.0])

FLAT: list[tuple[Any, Any, str, str, str]] = [
    (lambda x: F.sigmoid(x).sum(), HIGH, "sigmoid", "x", "F.sigmoid is flat to the last bit"),
    (lambda x: F.relu6(x).sum(), HIGH, "relu6", "x", "outside of 0 to 6"),
    (lambda x: F.hardtanh(x * 2).sum(), HIGH, "hardtanh", "x * 2", "outside of its bounds"),
    (lambda x: F.hardsigmoid(x).sum(), LOW, "hardsigmoid", "x", "outside of -3 to 3"),
    (lambda x: F.hardswish(x).sum(), LOW, "hardswish", "x", "not above -3"),
    (lambda x: F.hardshrink(x).sum(), np.zeros(2), "hardshrink", "x", "between -lambd and lambd"),
    (lambda x: F.softshrink(x).sum(), np.zeros(2), "softshrink", "x", "between -lambd and lambd"),
    (lambda x: F.threshold(x, 0.0, 1.0).sum(), LOW, "threshold", "x", "not above the threshold"),
    (lambda x: F.elu(x).sum(), LOW, "elu", "x", "elu is saturated"),
    (lambda x: F.selu(x).sum(), LOW, "selu", "x", "so far below 0"),
    (lambda x: F.gelu(x).sum(), LOW, "gelu", "x", "so far below 0"),
    (lambda x: F.silu(x).sum(), LOW, "silu", "x", "so far below 0"),
    (lambda x: F.mish(x).sum(), LOW, "mish", "x", "so far below 0"),
    (lambda x: F.logsigmoid(x).sum(), HIGH, "logsigmoid", "x", "so far above 0"),
    (lambda x: F.relu(x - 9500.0).sum(), HIGH, "relu", "x - 9500.0", "not above 0"),
    (lambda x: F.cross_entropy(x, 0), HIGH, "cross_entropy", "x", "in F.cross_entropy: the predictions are"),
    (lambda x: F.dropout(x, 1.0).sum(), np.ones(2), "dropout", "x", "all elements were dropped"),
    (
        lambda x: F.binary_cross_entropy_with_logits(x, np.ones(2)),
        HIGH,
        "binary_cross_entropy_with_logits",
        "x",
        "the targets to",
    ),
    (lambda x: F.layer_norm(x, (2,)).sum(), np.ones(2), "layer_norm", "x", "mean 0 and variance 1 whatever goes in"),
]


@pytest.mark.parametrize(("function", "x", "op", "variable", "words"), FLAT, ids=[case[2] for case in FLAT])
def test_why_speaks_of_the_function_that_the_user_called(
    function: Any, x: Any, op: str, variable: str, words: str
) -> None:
    found = gs.why(function, x)
    assert (found.state, found.op, found.variable) == ("zero", op, variable)
    assert words in found.reason
    assert [cause.op for cause in found.answers[0].causes] == [op]


def test_why_calls_a_cotangent_that_is_not_finite_so() -> None:
    found = gs.why(lambda x: np.sqrt(np.sum(np.where(x > 2, x, -1.0))), np.ones(2))
    assert "The cotangent that arrives there is not finite." in str(found).replace("\n      ", " ")


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


FORMS: list[tuple[Any, Any]] = [
    (lambda t: t.sum(1, True), lambda a: a.sum(1, keepdims=True)),
    (lambda t: t.mean((0, 1), True), lambda a: a.mean(keepdims=True)),
    (lambda t: t.prod(0, False), lambda a: a.prod(0)),
    (lambda t: t.sum([0, 1]), lambda a: a.sum()),
    (lambda t: t.mean(dim=[1], keepdim=True), lambda a: a.mean(1, keepdims=True)),
    (lambda t: t.std(1, True), lambda a: a.std(1, ddof=1)),
    (lambda t: t.var(0, False, True), lambda a: a.var(0, keepdims=True)),
    (lambda t: t.std([0, 1], unbiased=True), lambda a: a.std(ddof=1)),
    (lambda t: t.var(True), lambda a: a.var(ddof=1)),
    (lambda t: t.max(1, True).values, lambda a: a.max(1, keepdims=True)),
    (lambda t: t.min(0, False).values, lambda a: a.min(0)),
]


@pytest.mark.parametrize(("torch_form", "numpy_form"), FORMS, ids=[str(k) for k in range(len(FORMS))])
def test_reductions_take_the_positions_of_pytorch(torch_form: Any, numpy_form: Any) -> None:
    x = np.array([[3.0, 1.0, 2.0], [0.5, 5.0, 4.0]])
    np.testing.assert_allclose(torch_form(gs.tensor(x)).numpy(), numpy_form(x), rtol=1e-15)
    f = gs.value_and_grad(lambda v: np.sum(torch_form(v) ** 2))
    eager, compiled = f(x), gs.compile(f, verify="first calls")(x)
    np.testing.assert_array_equal(compiled[1], eager[1])


def test_positions_of_extremes_and_truths() -> None:
    t = gs.tensor([[3.0, 1.0], [0.0, 5.0]])
    np.testing.assert_array_equal(t.argmax(1, True).numpy(), [[0], [1]])
    np.testing.assert_array_equal((t > 0).all(1, True).numpy(), [[True], [False]])
    np.testing.assert_array_equal((t > 0).any([0, 1]).numpy(), True)
    with pytest.raises(TypeError):
        t.sum(1, "True")


def test_the_profile_shows_steps_of_optimisers_and_names_of_our_own_operations() -> None:
    w = gs.tensor(np.ones(3), requires_grad=True)
    optimizer = gs.optim.Adam([w])
    with gs.autograd.profiler.profile(use_cpu=True, with_flops=False) as prof:
        for _ in range(2):
            F.softmax(w, 0)[0].backward()
            optimizer.step()
    counts = {row.key: row.count for row in prof.key_averages()}
    assert counts["Optimizer.step#Adam.step"] == 2
    assert counts["softmax"] == 2


def test_a_profile_takes_the_arguments_of_pytorch() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        gs.autograd.profiler.profile(use_cuda=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'with_stak'"):
        gs.autograd.profiler.profile(with_stak=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("float32", r"operations and types are NumPy's: np\.float32$"),
        ("tri", r"NumPy's: np\.tri$"),
        ("new_ones", r"it is a method: t\.new_ones\(\)"),
        ("conv2d", r"it is gs\.functional\.conv2d$"),
        ("Adam", r"it is gs\.optim\.Adam$"),
        ("MSELoss", r"it is gs\.nn\.MSELoss$"),
        ("gradcheck", r"it is gs\.autograd\.gradcheck$"),
        ("device", r"it is an attribute: t\.device$"),
        ("foo", r"has no attribute 'foo'$"),
        ("_repr_html_", r"has no attribute '_repr_html_'$"),
    ],
)
def test_who_looks_for_an_operation_in_the_face_is_told_where_it_is(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(gs, name)


def test_a_tensor_of_one_number_is_formatted_as_that_number() -> None:
    loss = gs.tensor(2.5, requires_grad=True) * 1
    assert f"loss {loss}, {loss:.3f}, {gs.tensor(3)}" == "loss 2.5, 2.500, 3"
    assert f"{gs.tensor([1.0])}" == "tensor([1.])"


def test_a_tensor_is_made_on_the_cpu() -> None:
    assert gs.tensor([1.0, 2.0], device="cpu", requires_grad=True).device == "cpu"
    with pytest.raises(ValueError, match="lies on the device 'cpu', not on 'cuda'"):
        gs.tensor([1.0], device="cuda")


def dropped_bce(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    return F.binary_cross_entropy(F.sigmoid(F.dropout(x, 0.2, generator=rng) @ w[0]), (labels > 1) * 1.0)


def dropped_gaussian(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    h = F.dropout(x, 0.2, generator=rng)
    return F.gaussian_nll_loss(h @ w[0], labels * 1.0, np.exp(h @ w[1]))


def drawn_rows(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    return np.sum(F.embedding(rng.integers(0, 3, 6), w) ** 2)


def shuffled_epoch(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    total = 0.0
    for rows in rng.permutation(12).reshape(3, 4):
        total += F.cross_entropy(F.dropout(x[rows], 0.2, generator=rng) @ w.T, labels[rows])
        total += F.nll_loss(F.log_softmax(x[rows] @ w.T, 1), labels[rows])
    return total


@pytest.mark.parametrize("loss", [dropped_bce, dropped_gaussian, drawn_rows, shuffled_epoch])
def test_losses_behind_a_draw_are_compiled(loss: Any) -> None:
    draw = np.random.default_rng(0)
    w, x, labels = draw.normal(size=(3, 5)), draw.normal(size=(12, 5)), draw.integers(0, 3, 12)
    gradient = gs.value_and_grad(loss)
    compiled = gs.compile(gradient, verify="first calls")
    for seed in range(3):
        found = compiled(w, x, labels, np.random.default_rng(seed))
        wanted = gradient(w, x, labels, np.random.default_rng(seed))
        assert found[0] == wanted[0]
        np.testing.assert_array_equal(found[1], wanted[1])
    assert len(gs.explain(compiled).specialisations) == 1


def test_what_no_guard_sees_behind_a_draw_is_not_silent() -> None:
    def bce(p: Any, rng: Any) -> Any:
        return F.binary_cross_entropy(p * (1 + 0 * rng.uniform(size=2)), np.ones(2))

    def rows(table: Any, shift: Any, rng: Any) -> Any:
        return np.sum(F.embedding(rng.permutation(2) + shift, table))

    compiled = gs.compile(bce)
    for _ in range(5):  # the first calls are held against eager ones
        assert np.isfinite(compiled(np.array([0.5, 0.25]), np.random.default_rng(0)))
    assert np.isnan(compiled(np.array([0.5, 1.5]), np.random.default_rng(0)))
    read = gs.compile(rows)
    assert read(np.ones((3, 2)), np.array(1), np.random.default_rng(0)) == 4.0
    for shift in (-2, 2):
        with pytest.raises(IndexError):
            read(np.ones((3, 2)), np.array(shift), np.random.default_rng(0))


def test_one_hot_is_compiled() -> None:
    def f(w: Any, index: Any) -> Any:
        return np.sum(F.one_hot(index, 5) @ w) + np.sum(F.one_hot(index) @ w[:4])

    w, index = np.arange(5.0), np.array([3, 1])
    compiled = gs.compile(gs.grad(f), verify="first calls")
    np.testing.assert_array_equal(compiled(w, index), gs.grad(f)(w, index))
    assert len(gs.explain(compiled).specialisations) == 1
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        compiled(w, np.array([3, 7]))


def test_randint_by_name() -> None:
    gs.manual_seed(0)
    named = gs.randint(high=3, size=(2, 3))
    gs.manual_seed(0)
    np.testing.assert_array_equal(named.numpy(), gs.randint(3, (2, 3)).numpy())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Linear", r"gs\.functional\.linear"),
        ("BatchNorm2d", r"gs\.functional\.batch_norm"),
        ("Conv2d", r"gs\.functional\.conv2d"),
        ("Sequential", r"parameters are arrays or tensors of your own"),
        ("_private", r"has no attribute '_private'$"),
    ],
)
def test_who_looks_for_a_module_with_parameters_is_told_of_the_function(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(gs.nn, name)
    assert not hasattr(gs.nn, name)


@pytest.mark.parametrize("run", [lambda f: f, gs.compile], ids=["eager", "compiled"])
def test_the_leaf_that_is_no_float_is_named(run: Any) -> None:
    params = {"w": np.ones(2), "layers": [1.0, 3]}

    def loss(p: Any) -> Any:
        return np.sum(p["w"])

    with pytest.raises(gs.DtypeError, match=r"argument 0 of `loss` holds dtype int64 at \['layers'\]\[1\]\."):
        run(gs.grad(loss))(params)


def test_why_finds_the_cut_where_backward_was_refused() -> None:
    w = gs.tensor(np.ones(3), requires_grad=True)
    with gs.why() as record:
        h = w.detach()
        loss = np.sum(h * 2)
        with pytest.raises(gs.AutogradError, match="does not require grad"):
            loss.backward()
    found = record(w)
    assert (found.state, found.op, found.variable) == ("None", "detach", "w")
    assert "No backward ran in this block: what was computed last requires no grad." in str(found)


def test_why_of_a_block_without_backward_does_not_ask_for_a_block() -> None:
    w = gs.tensor(np.ones(3), requires_grad=True)
    with gs.why() as record:
        np.sum(w * 2)
    assert "backward was not called in this block" in record(w).reason
    assert "Run it again" not in str(record(w))


def test_why_names_the_padding() -> None:
    found = gs.why(
        lambda table, index: F.embedding(index, table, padding_idx=0).sum(), np.ones((3, 2)), np.zeros(4, int)
    )
    assert (found.state, found.op) == ("zero", "embedding")
    assert "padding_idx" in found.reason
