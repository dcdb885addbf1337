"""gs.optim on pytrees: pure updates that compile with the step around them, one source for all steps; and on Tensors."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

OPTIMISERS: list[Any] = [
    gs.optim.SGD(lr=0.1),
    gs.optim.SGD(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
    gs.optim.SGD(lr=0.1, momentum=0.9, nesterov=True, maximize=True),
    gs.optim.Adam(lr=0.01),
    gs.optim.Adam(lr=0.01, amsgrad=True, weight_decay=0.1),
    gs.optim.AdamW(lr=0.01),
    gs.optim.Adamax(),
    gs.optim.RMSprop(momentum=0.5, centered=True, eps=1e-3),
    gs.optim.Adagrad(lr_decay=0.1),
    gs.optim.Adadelta(),
    gs.optim.NAdam(weight_decay=0.1, decoupled_weight_decay=True),
    gs.optim.RAdam(lr=0.01),
    gs.optim.Rprop(),
    gs.optim.ASGD(lr=0.1, t0=50, weight_decay=0.1),
]
IDS = [f"{type(o).__name__}-{k}" for k, o in enumerate(OPTIMISERS)]

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(20, 3))
Y = np.sin(X[:, :1])


def initial(dtype: Any = float) -> Any:
    draw = np.random.default_rng(1)
    return {"w": draw.normal(size=(3, 1)).astype(dtype), "b": np.zeros(1, dtype)}


def loss(params: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ params["w"] + params["b"]) - y) ** 2)


def trained(step: Any, opt: Any, params: Any, *data: Any, steps: int) -> Any:
    state = opt.init(params)
    value = None
    for _ in range(steps):
        value, params, state = step(params, state, *data)
    return value, params, state


def step_of(opt: Any, loss: Any = loss) -> Any:
    def step(params: Any, state: Any, *data: Any) -> Any:
        value, grads = gs.value_and_grad(loss)(params, *data)
        params, state = opt.update(params, grads, state)
        return value, params, state

    return step


@pytest.mark.parametrize("opt", OPTIMISERS, ids=IDS)
def test_a_compiled_step_is_eager_bit_for_bit_by_one_source(opt: Any) -> None:
    step = step_of(opt)
    compiled = gs.compile(step, verify="first calls")
    found, expected = (trained(f, opt, initial(), X, Y, steps=100) for f in (compiled, step))
    assert repr(found) == repr(expected)
    sources = gs.explain(compiled).specialisations
    paths = 2 if isinstance(opt, gs.optim.ASGD) else 1  # before and from a certain step on
    assert len(sources) == paths
    assert sum(one.hits for one in sources) == 100 - paths
    assert found[2]["step"] == 100


@pytest.mark.parametrize("opt", OPTIMISERS, ids=IDS)
def test_pytrees_and_tensors_take_the_same_course(opt: Any) -> None:
    """One formula, two forms of it."""
    _, params, state = trained(step_of(opt), opt, initial(), X, Y, steps=20)
    tensors = {name: gs.tensor(v, requires_grad=True) for name, v in initial().items()}
    other = type(opt)(tensors.values())
    other.param_groups[0] |= {**opt.param_groups[0], "params": list(tensors.values())}
    for _ in range(20):
        other.zero_grad()
        loss(tensors, X, Y).backward()
        other.step()
    for name, p in tensors.items():
        np.testing.assert_array_equal(p.detach().numpy(), params[name])
        for memory in state.keys() - {"step"}:
            np.testing.assert_array_equal(np.array(other.state[p][memory]), state[memory][name])


def test_a_schedule_makes_one_more_source_and_no_others() -> None:
    opt = gs.optim.Adam(lr=0.05)
    schedule = gs.optim.lr_scheduler.CosineAnnealingLR(opt, 40)
    step = step_of(opt)
    compiled = gs.compile(step, verify="first calls")
    params, state = initial(), opt.init(initial())
    for _ in range(40):
        found = compiled(params, state, X, Y)
        assert repr(found) == repr(step(params, state, X, Y))
        _, params, state = found
        schedule.step()
    assert opt.param_groups[0]["lr"] == pytest.approx(0)
    assert len(gs.explain(compiled).specialisations) == 2
    assert len(gs.explain(compiled).misses) <= 2
    assert "`opt.param_groups[0]['lr']`: any float" in str(gs.explain(compiled))


def test_a_rate_that_is_an_argument_is_one_source() -> None:
    opt = gs.optim.SGD(momentum=0.9)

    @gs.compile(verify="first calls")
    def step(params: Any, state: Any, lr: float) -> Any:
        return opt.update(params, gs.grad(loss)(params, X, Y), state, lr=lr)

    params, state = initial(), opt.init(initial())
    for k in range(5):
        params, state = step(params, state, 0.1 / (k + 1))
    assert len(gs.explain(step).specialisations) == 1


def test_the_source_reads_as_the_formula() -> None:
    opt = gs.optim.Adam(lr=0.01)
    text = str(gs.source(step_of(opt), initial(), opt.init(initial()), X, Y))
    assert "# formulas.py:" in text
    assert "mean = " in text
    assert "param = b - size * mean / (np.sqrt(square) / correction + 1e-8)" in text
    for once in ("step + 1", "0.9**", "0.999**", "size = 0.01"):  # for all parameters
        assert text.count(once) == 1
    assert "astype" not in text
    assert "copy" not in text


@dataclasses.dataclass
class Line:
    w: Any
    b: Any


@pytest.mark.parametrize(
    ("params", "of"),
    [
        ([np.ones((3, 1)), (np.ones(1),)], lambda p: {"w": p[0], "b": p[1][0]}),
        ((np.ones((3, 1)), np.ones(1)), lambda p: {"w": p[0], "b": p[1]}),
        (Line(np.ones((3, 1)), np.ones(1)), lambda p: {"w": p.w, "b": p.b}),
        (np.ones((3, 1)), lambda p: {"w": p, "b": 0.0}),
    ],
)
def test_trees_of_every_kind(params: Any, of: Any) -> None:
    opt = gs.optim.Adam(lr=0.1)
    step = step_of(opt, lambda p: loss(of(p), X, Y))
    compiled = gs.compile(step, verify="first calls")
    found = trained(compiled, opt, params, steps=8)
    assert repr(found) == repr(trained(step, opt, params, steps=8))
    assert type(found[1]) is type(params)
    assert len(gs.explain(compiled).specialisations) == 1
    assert found[0] < loss(of(params), X, Y)


def test_numbers_take_one_source_more() -> None:
    """A Python number becomes NumPy's in the first step, and stays that."""
    opt = gs.optim.Adam(lr=0.1)
    params = {"w": np.ones((3, 1)), "b": 0.5}
    compiled = gs.compile(step_of(opt), verify="first calls")
    found = trained(compiled, opt, params, X, Y, steps=10)
    assert repr(found) == repr(trained(step_of(opt), opt, params, X, Y, steps=10))
    assert len(gs.explain(compiled).specialisations) == 2


@pytest.mark.parametrize("lr", [0.1, np.float64(0.1)])
def test_float32_stays_float32(lr: Any) -> None:
    opt = gs.optim.AdamW(lr=lr, amsgrad=True)
    params, x, y = initial("f4"), X.astype("f4"), Y.astype("f4")
    _, found, state = trained(gs.compile(step_of(opt), verify="first calls"), opt, params, x, y, steps=5)
    assert {v.dtype for v in (*found.values(), *state["exp_avg"].values())} == {np.dtype("f4")}
    tensors = [gs.tensor(v, requires_grad=True) for v in params.values()]
    other = gs.optim.AdamW(tensors, lr=lr, amsgrad=True)
    for _ in range(5):
        other.zero_grad()
        loss(dict(zip(params, tensors, strict=True)), x, y).backward()
        other.step()
    for t, v in zip(tensors, found.values(), strict=True):
        np.testing.assert_array_equal(t.detach().numpy(), v)


def test_large_parameters_are_changed_in_pieces() -> None:
    """In place, to the bit as in one piece, whatever their memory order."""
    value = np.random.default_rng(2).normal(size=(300, 200))
    grads = np.cos(value)
    found = []
    for array in (value.copy(), np.asfortranarray(value)):
        p = gs.tensor(0.0, requires_grad=True)
        p.data = array
        optimizer = gs.optim.Adam([p], lr=0.1, weight_decay=0.1)
        for _ in range(3):
            p.grad = gs.tensor(grads)
            optimizer.step()
        assert p.detach().numpy() is array or np.shares_memory(p.detach().numpy(), array)
        found.append((p.detach().numpy().tolist(), optimizer.state[p]["exp_avg_sq"].tolist()))
    assert found[0] == found[1]
    assert found[0][0] != value.tolist()


def test_where_a_gradient_is_none_the_parameter_stays() -> None:
    opt = gs.optim.SGD(lr=1.0, momentum=0.5)
    params = {"a": np.ones(2), "b": np.ones(2)}
    new, state = opt.update(params, {"a": np.ones(2), "b": None}, opt.init(params))
    np.testing.assert_array_equal(new["a"], np.zeros(2))
    assert new["b"] is params["b"]
    assert state["momentum_buffer"]["b"].tolist() == [0.0, 0.0]


def test_errors_of_pytrees() -> None:
    opt = gs.optim.SGD(lr=1.0)
    params = {"a": np.ones(2)}
    with pytest.raises(gs.ShapeError, match=r"not alike: only params has \['a'\]; only grads has \['b'\]"):
        opt.update(params, {"b": np.ones(2)}, opt.init(params))
    with pytest.raises(gs.ShapeError, match=r"the parameters are .* but the gradients are"):
        opt.update([params], (params,), opt.init([params]))
    layers = {"l1": params, "l2": params}
    with pytest.raises(
        gs.ShapeError, match=r"only params has \['l1'\]\['a'\]; only grads has \['l1'\]. The gradient .* None"
    ):
        opt.update(layers, {"l1": None, "l2": params}, opt.init(layers))
    with pytest.raises(ValueError, match=r"it has nothing, and not step; start with init\(params\)"):
        opt.update(params, params, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"one of the params is str: .* for a pytree .* init\(params\)"):
        gs.optim.SGD(params)
    with pytest.raises(TypeError, match="SGD has no option `rate`; it has lr, momentum"):
        opt.update(params, params, opt.init(params), rate=1.0)
    with pytest.raises(ValueError, match=r"for a pytree use init\(params\)"):
        opt.step()
    with pytest.raises(NotImplementedError, match="no form for pytrees"):
        gs.optim.LBFGS([gs.tensor([1.0])]).init(params)


def rosenbrock(line_search_fn: Any) -> tuple[Any, int]:
    x = gs.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = gs.optim.LBFGS([x], line_search_fn=line_search_fn, max_iter=100, tolerance_grad=1e-10)
    calls = 0

    def closure() -> Any:
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        value = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        value.backward()
        return value

    assert optimizer.step(closure).item() == pytest.approx(24.2)
    assert optimizer.state[x]["func_evals"] == calls
    assert 0 < optimizer.state[x]["n_iter"] <= 100
    return x, calls


def test_lbfgs_with_scipys_line_search() -> None:
    x, calls = rosenbrock("strong_wolfe")
    np.testing.assert_allclose(x.detach().numpy(), [1.0, 1.0], atol=1e-7)
    assert calls < 100


def test_lbfgs_says_that_scipy_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match='line_search_fn="strong_wolfe" is SciPy'):
        rosenbrock("strong_wolfe")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        rosenbrock("armijo")


def test_schedules_go_on_from_a_state_dict() -> None:
    lr_scheduler = gs.optim.lr_scheduler

    def made() -> tuple[Any, Any]:
        opt = gs.optim.SGD(lr=1.0)
        parts = [lr_scheduler.LinearLR(opt, total_iters=4), lr_scheduler.ExponentialLR(opt, 0.5)]
        return opt, lr_scheduler.SequentialLR(opt, parts, [4])

    (opt, schedule), (other, again) = made(), made()
    for _ in range(5):
        schedule.step()
    again.load_state_dict(schedule.state_dict())
    other.param_groups[0] |= opt.param_groups[0]
    for _ in range(3):
        schedule.step()
        again.step()
    assert schedule.get_last_lr() == again.get_last_lr() == [0.0625]


def test_schedules_in_a_row_are_of_one_optimiser_and_step_without_a_figure() -> None:
    lr_scheduler = gs.optim.lr_scheduler
    optimizer, other = gs.optim.SGD(lr=1.0), gs.optim.SGD(lr=1.0)
    with pytest.raises(ValueError, match="StepLR at index 0 has another one"):
        lr_scheduler.SequentialLR(optimizer, [lr_scheduler.StepLR(other, 1)], [])
    with pytest.raises(ValueError, match="SequentialLR does not support `ReduceLROnPlateau`"):
        lr_scheduler.SequentialLR(optimizer, [lr_scheduler.ReduceLROnPlateau(optimizer)], [])


@pytest.mark.parametrize(
    ("name", "options"),
    [("StepLR", {"step_size": 0}), ("CosineAnnealingLR", {"T_max": 0}),
     ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.2, "step_size_up": 0, "step_size_down": 2})],
)  # fmt: skip
def test_a_schedule_of_no_steps_is_refused_when_it_is_made(name: str, options: dict[str, Any]) -> None:
    step = next(option for option, value in options.items() if value == 0)
    with pytest.raises(ValueError, match=f"Expected positive integer {step}, but got 0"):
        getattr(gs.optim.lr_scheduler, name)(gs.optim.SGD(lr=1.0, momentum=0.9), **options)


def test_a_line_of_no_epochs_stays_where_it_starts() -> None:
    schedule = gs.optim.lr_scheduler.LinearLR(gs.optim.SGD(lr=1.0), start_factor=0.5, total_iters=0)
    for _ in range(3):
        assert schedule.get_last_lr() == [0.5]  # as in PyTorch
        schedule.step()


def test_a_plateau_takes_a_loss_as_it_is() -> None:
    opt = gs.optim.SGD(lr=1.0)
    schedule = gs.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
    w = gs.tensor([1.0], requires_grad=True)
    for _ in range(2):
        schedule.step((w * w).sum())
    assert opt.param_groups[0]["lr"] == 0.1


def test_an_ensemble_is_trained_at_once() -> None:
    opt = gs.optim.Adam(lr=0.1)
    many = {"w": DRAW.normal(size=(4, 3, 1)), "b": np.zeros((4, 1))}

    def trained(params: Any) -> Any:
        state = opt.init(params)
        for _ in range(5):
            params, state = opt.update(params, gs.grad(lambda p: loss(p, X, Y))(params), state)
        return params

    found = gs.compile(gs.vmap(trained), verify="first calls")(many)
    for k in range(4):
        one = trained({name: v[k] for name, v in many.items()})
        np.testing.assert_allclose(found["w"][k], one["w"], rtol=1e-12)


def test_the_rate_of_an_update_has_a_gradient() -> None:
    opt = gs.optim.AdamW()
    params = initial()
    state = opt.init(params)

    def after(rate: float) -> Any:
        new, _ = opt.update(params, gs.grad(loss)(params, X, Y), state, lr=rate)
        return loss(new, X, Y)

    assert gs.compare(after, 0.1).ok


def test_gradients_are_clipped() -> None:
    a, b = gs.tensor([3.0, 4.0], requires_grad=True), gs.tensor(12.0, requires_grad=True)
    for p in (a, b):
        p.grad = p.detach().clone()
    assert gs.nn.utils.clip_grad_norm_([a, b], 6.5).item() == 13.0
    np.testing.assert_allclose([*a.grad.tolist(), b.grad.item()], [1.5, 2.0, 6.0], rtol=1e-6)
    gs.nn.utils.clip_grad_value_([a, b], 1.75)
    np.testing.assert_allclose([*a.grad.tolist(), b.grad.item()], [1.5, 1.75, 1.75], rtol=1e-6)
    a.grad[0] = np.nan
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        gs.nn.utils.clip_grad_norm_(a, 1.0, error_if_nonfinite=True)


def test_what_an_optimiser_says_of_itself() -> None:
    assert repr(gs.optim.RMSprop([gs.tensor([1.0])], lr=0.5)).splitlines()[:5] == [
        "RMSprop (", "Parameter Group 0", "    alpha: 0.99", "    centered: False", "    eps: 1e-08",
    ]  # fmt: skip


def test_a_parameter_named_twice_warns() -> None:
    p = gs.tensor([1.0], requires_grad=True)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        gs.optim.SGD([p, p], lr=0.1)


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


@pytest.mark.parametrize("run", [lambda f: f, gs.compile], ids=["eager", "compiled"])
def test_the_leaf_that_is_no_float_is_named(run: Any) -> None:
    params = {"w": np.ones(2), "layers": [1.0, 3]}

    def loss(p: Any) -> Any:
        return np.sum(p["w"])

    with pytest.raises(gs.DtypeError, match=r"argument 0 of `loss` holds dtype int64 at \['layers'\]\[1\]\."):
        run(gs.grad(loss))(params)


@pytest.mark.parametrize("make", [gs.optim.Adam, gs.optim.RAdam, gs.optim.NAdam])
def test_a_gradient_by_the_second_beta_is_not_lost(make: Any) -> None:
    def loss(beta: Any) -> Any:
        opt = make(lr=0.1, betas=(0.9, beta))
        params, state = np.ones(2), opt.init(np.ones(2))
        for k in range(8):
            params, state = opt.update(params, np.array([1.0, -2.0 + k]), state)
        return np.sum(params)

    beta = gs.tensor(0.99, requires_grad=True)
    loss(beta).backward()
    expected = (loss(0.99 + 1e-6) - loss(0.99 - 1e-6)) / 2e-6
    np.testing.assert_allclose(beta.grad, expected, rtol=1e-5)
    np.testing.assert_allclose(gs.grad(loss)(0.99), expected, rtol=1e-5)
