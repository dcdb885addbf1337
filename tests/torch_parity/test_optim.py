"""Optimisers and schedules: a hundred steps of each, with every option, are PyTorch's to 1e-10; and its errors."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

DRAW = np.random.default_rng(11)
X = DRAW.uniform(-1, 1, (12, 3))
Y = np.sin(X @ np.array([[1.5], [-2.0], [0.5]])) + 0.3
SHAPES = ((3, 4), (4,), (4, 1), ())

ADAMS: list[dict[str, Any]] = [
    {}, {"lr": 0.05}, {"betas": (0.8, 0.95), "eps": 1e-3}, {"weight_decay": 0.1}, {"amsgrad": True, "lr": 0.02},
    {"maximize": True}, {"weight_decay": 0.1, "amsgrad": True, "maximize": True}, {"foreach": False},
]  # fmt: skip
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {}, {"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, {"lr": 0.1, "momentum": 0.9, "dampening": 0.4},
        {"lr": 0.1, "momentum": 0.5, "nesterov": True}, {"lr": 0.1, "weight_decay": 0.2}, {"lr": 0.1, "maximize": True},
        {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.05, "momentum": 0.9, "dampening": 1.0, "weight_decay": 0.1},
    ],
    "Adam": [*ADAMS, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "AdamW": ADAMS,
    "Adamax": [{}, {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3}, {"weight_decay": 0.1}, {"maximize": True}],
    "RMSprop": [
        {}, {"lr": 0.002, "alpha": 0.9, "eps": 1e-3}, {"momentum": 0.8}, {"centered": True}, {"weight_decay": 0.1},
        {"maximize": True}, {"momentum": 0.8, "centered": True, "weight_decay": 0.1, "maximize": True},
    ],
    "Adagrad": [
        {}, {"lr": 0.1, "lr_decay": 0.05}, {"initial_accumulator_value": 0.5, "eps": 1e-3}, {"weight_decay": 0.1},
        {"maximize": True},
    ],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "eps": 1e-4}, {"weight_decay": 0.1}, {"maximize": True}],
    "NAdam": [
        {}, {"lr": 0.05}, {"betas": (0.8, 0.95), "eps": 1e-3}, {"weight_decay": 0.1}, {"maximize": True},
        {"weight_decay": 0.1, "decoupled_weight_decay": True}, {"momentum_decay": 0.1, "lr": 0.02},
    ],
    "RAdam": [
        {}, {"lr": 0.05}, {"betas": (0.8, 0.95), "eps": 1e-3}, {"weight_decay": 0.1}, {"maximize": True},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "Rprop": [{}, {"lr": 0.1, "etas": (0.3, 1.5)}, {"step_sizes": (1e-3, 0.05)}, {"maximize": True}],
    "ASGD": [
        {}, {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 20, "weight_decay": 0.1}, {"lr": 0.1, "t0": 0}, {"maximize": True},
    ],
    "LBFGS": [
        {}, {"lr": 0.5}, {"max_iter": 3}, {"history_size": 2, "max_iter": 7, "lr": 0.3}, {"max_eval": 4},
        {"tolerance_grad": 1e-2}, {"tolerance_change": 1e-4},
    ],
}  # fmt: skip
CASES = [(name, options) for name, listed in OPTIONS.items() for options in listed]

Schedule = Callable[[Any, Any], Any]
SCHEDULES: dict[str, Schedule] = {
    "step": lambda s, o: s.StepLR(o, 7, gamma=0.5),
    "several steps": lambda s, o: s.MultiStepLR(o, [5, 5, 30, 80], gamma=0.3),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=6),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0.2, end_factor=0.7, total_iters=30),
    "linear by default": lambda s, o: s.LinearLR(o),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=60, power=1.7),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.97),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 60, eta_min=0.01),
    "cosine, down and up": lambda s, o: s.CosineAnnealingLR(o, 13),
    "warm restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, eta_min=0.001),
    "function": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "functions": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.95**epoch, lambda epoch: 1 / (1 + epoch)]),
    "product": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95 + 0.0001 * epoch),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=110),
    "one cycle, linear": lambda s, o: s.OneCycleLR(o, [0.5, 0.2], epochs=11, steps_per_epoch=10, anneal_strategy="linear"),
    "one cycle, three phases": lambda s, o: s.OneCycleLR(
        o, 0.5, total_steps=105, three_phase=True, pct_start=0.4, base_momentum=0.7, max_momentum=0.9, div_factor=10
    ),
    "one cycle, one momentum": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=110, cycle_momentum=False),
    "one after the other": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=10), s.CosineAnnealingLR(o, 40), s.ExponentialLR(o, 0.9)], [10, 60]
    ),
    "all at once": lambda s, o: s.ChainedScheduler(
        [s.LinearLR(o, 0.1, total_iters=10), s.CosineAnnealingLR(o, 40), s.StepLR(o, 30)], optimizer=o
    ),
    "triangles": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.3], step_size_up=7, step_size_down=12),
    "lower and lower triangles": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 20, mode="triangular2", base_momentum=0.3),
    "fading triangles": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 9, mode="exp_range", gamma=0.99, max_momentum=[0.7, 0.9]),
    "triangles by a function": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 9, mode="", scale_fn=lambda k: 1 / (1 + k), scale_mode="iterations", cycle_momentum=False
    ),
}  # fmt: skip


def parameters(torch: Any, dtype: Any = float) -> list[Any]:
    draw = np.random.default_rng(5)
    values = [draw.uniform(-0.5, 0.5, shape) for shape in SHAPES]
    if dtype is complex:
        values = [v + 1j * draw.uniform(-0.5, 0.5, v.shape) for v in values]
    return [torch.tensor(v, requires_grad=True) for v in values]


def loss_of(torch: Any, ps: list[Any]) -> Any:
    """Bounded, so that ascent ends somewhere, too."""
    w1, b1, w2, b2 = ps
    return abs(((torch.tensor(X) @ w1 + b1).tanh() @ w2 + b2).tanh() - torch.tensor(Y)).pow(2).mean()


def convex_loss_of(torch: Any, ps: list[Any]) -> Any:
    """With curvature in all directions, so that rounding does not grow."""
    w1, b1, *_ = ps
    scores = torch.tensor(X) @ w1 + b1
    return ((scores.exp() + 1).log() - scores * torch.tensor(Y)).mean() + sum(((p - 0.1) ** 2).sum() for p in ps)


def complex_loss_of(torch: Any, ps: list[Any]) -> Any:
    return sum((abs(p - 0.5) ** 2 + abs(p * p + 1) ** 2 / 5).sum() for p in ps)


def step(torch: Any, optimizer: Any, ps: list[Any], loss_of: Any = loss_of) -> float:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of(torch, ps)
        loss.backward()
        return loss

    return float(optimizer.step(closure).item())


def as_arrays(ps: list[Any]) -> list[Any]:
    return [np.array(p.detach().tolist()) for p in ps]


def course(torch: Any, name: str, options: dict[str, Any], steps: int = 100) -> list[Any]:
    ps = parameters(torch)
    optimizer = getattr(torch.optim, name)(ps, **options)
    losses = [step(torch, optimizer, ps, convex_loss_of if name == "LBFGS" else loss_of) for _ in range(steps)]
    return [losses, *as_arrays(ps)]


def agree(ours: list[Any], theirs: list[Any], tolerance: float = 1e-10) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture
def pytorch() -> Iterator[Any]:
    """PyTorch; its tensors of NumPy arrays are float64 as they are."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of the numbers that some optimisers remember
    yield torch
    torch.set_default_dtype(before)


@pytest.mark.parity
@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{name}-{k}" for k, (name, _) in enumerate(CASES)])
def test_a_hundred_steps_are_pytorchs(pytorch: Any, name: str, options: dict[str, Any]) -> None:
    ours, theirs = course(gs, name, options), course(pytorch, name, options)
    agree([ours[0][:10]], [theirs[0][:10]], 1e-13)
    agree(ours, theirs, 1e-8)  # where steps bounce, a hundred of them make 2e-10 of the last bit of a matrix product


@pytest.mark.parity
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"weight_decay": 0.1}), ("Adam", {"weight_decay": 0.1}), ("RMSprop", {"weight_decay": 0.1}),
        ("Adagrad", {"weight_decay": 0.1, "initial_accumulator_value": 0.3}), ("NAdam", {"lr": 0.01}),
        ("RAdam", {"weight_decay": 0.1}), ("Rprop", {}), ("ASGD", {"weight_decay": 0.1, "t0": 50}),
    ],
)  # fmt: skip
def test_complex_parameters_are_two_real_ones(pytorch: Any, name: str, options: dict[str, Any]) -> None:
    found = []
    for library in (gs, pytorch):
        ps = parameters(library, complex)
        optimizer = getattr(library.optim, name)(ps, **{"lr": 0.02, **options})
        found.append([[step(library, optimizer, ps, complex_loss_of) for _ in range(100)], *as_arrays(ps)])
    agree(*found)


def resumed(schedule: Any, optimizer: Any, make: Schedule) -> Any:
    """Another schedule of the same optimiser, made anew, that goes on where the first was."""
    state, groups = copy.deepcopy(schedule.state_dict()), [dict(g) for g in optimizer.param_groups]
    again = make(gs.optim.lr_scheduler, optimizer)
    again.load_state_dict(state)
    optimizer.param_groups[:] = groups
    return again


@pytest.mark.parity
@pytest.mark.parametrize("name", list(SCHEDULES))
def test_two_hundred_epochs_of_a_schedule_are_pytorchs(pytorch: Any, name: str) -> None:
    """Also where another schedule goes on half-way, from the state of the first."""
    epochs = 100 if name.startswith("one cycle") else 200
    found = []
    for library in (gs, pytorch):
        ps = parameters(library)
        groups = [{"params": ps[:2]}, {"params": ps[2:], "lr": 0.02}]
        optimizer = library.optim.SGD(groups, lr=0.1, momentum=0.5)
        schedule = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        rates = []
        for epoch in range(epochs):
            if epoch == epochs // 2 and library is gs:
                schedule = resumed(schedule, optimizer, SCHEDULES[name])
            if epoch < 30:
                step(library, optimizer, ps)
            else:
                optimizer.step()
            schedule.step()
            rates.append([g[key] for g in optimizer.param_groups for key in ("lr", "momentum")])
            assert schedule.get_last_lr() == rates[-1][::2]
        np.testing.assert_allclose(rates, found[0][0], rtol=1e-12, atol=1e-15) if found else None
        found.append([rates, *as_arrays(ps)])
    agree(*found)


@pytest.mark.parity
def test_one_cycle_of_adam_moves_its_first_beta(pytorch: Any) -> None:
    found = []
    for library in (gs, pytorch):
        ps = parameters(library)
        optimizer = library.optim.Adam(ps)
        schedule = library.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=60)
        rates = []
        for _ in range(50):
            step(library, optimizer, ps)
            schedule.step()
            rates.append([optimizer.param_groups[0]["lr"], *optimizer.param_groups[0]["betas"]])
        found.append([rates, *as_arrays(ps)])
    agree(*found)
    assert min(r[1] for r in found[0][0]) == pytest.approx(0.85, abs=0.01)


@pytest.mark.parity
@pytest.mark.parametrize(
    "options",
    [
        {}, {"patience": 2, "factor": 0.5}, {"mode": "max", "patience": 1, "cooldown": 3},
        {"threshold_mode": "abs", "patience": 0},
        {"mode": "max", "threshold_mode": "abs", "threshold": 0.3, "patience": 1}, {"patience": 0, "min_lr": [0.01, 0.001]},
    ],
)  # fmt: skip
def test_plateaus_are_pytorchs(pytorch: Any, options: dict[str, Any]) -> None:
    figures = np.abs(np.random.default_rng(3).normal(size=60)) + np.linspace(1, 0, 60)
    found = []
    for library in (gs, pytorch):
        ps = parameters(library)
        optimizer = library.optim.SGD([{"params": ps[:2]}, {"params": ps[2:], "lr": 0.02}], lr=0.1)
        schedule = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        rates = []
        for figure in figures:
            schedule.step(figure)
            rates.append([g["lr"] for g in optimizer.param_groups])
        found.append([rates])
    agree(*found)
    assert len({r[0] for r in found[0][0]}) > 1


@pytest.mark.parity
@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "LBFGS"])
def test_the_state_of_pytorch_is_taken_over(pytorch: Any, name: str) -> None:
    """Fifty steps there and fifty here are a hundred here."""
    options: dict[str, Any] = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
    whole = course(gs, name, options)
    theirs = parameters(pytorch)
    first = getattr(pytorch.optim, name)(theirs, **options)
    for _ in range(50):
        step(pytorch, first, theirs)
    ours = [gs.tensor(p.detach().numpy(), requires_grad=True) for p in theirs]
    second = getattr(gs.optim, name)(ours)
    second.load_state_dict(first.state_dict())
    for _ in range(50):
        step(gs, second, ours)
    agree(whole[1:], as_arrays(ours))


# --- both libraries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {"momentum": 0.9}), ("Adam", {"amsgrad": True}), ("LBFGS", {"max_iter": 3})]
)
def test_a_state_dict_goes_on(torch: Any, name: str, options: dict[str, Any]) -> None:
    whole = course(torch, name, options, steps=10)
    ps = parameters(torch)
    loss = convex_loss_of if name == "LBFGS" else loss_of
    first = getattr(torch.optim, name)(ps, **options)
    for _ in range(4):
        step(torch, first, ps, loss)
    saved = first.state_dict()
    assert saved["param_groups"][0]["params"] == [0, 1, 2, 3]
    again = [p.detach().clone().requires_grad_() for p in ps]
    second = getattr(torch.optim, name)(again)
    second.load_state_dict(saved)
    for _ in range(6):
        step(torch, second, again, loss)
    agree(whole[1:], as_arrays(again))
    if name == "Adam":
        assert float(second.state[again[0]]["step"]) == 10
        assert second.state[again[0]]["exp_avg"].shape == (3, 4)
        assert float(saved["state"][0]["step"]) in (4, 10)  # PyTorch shares it


def test_gradients_are_cleared(torch: Any) -> None:
    ps = parameters(torch)
    optimizer = torch.optim.SGD(ps, lr=0.1)
    loss_of(torch, ps).backward()
    optimizer.zero_grad(set_to_none=False)
    assert all(float(abs(p.grad).sum()) == 0 for p in ps)
    optimizer.zero_grad()
    assert all(p.grad is None for p in ps)


def test_a_step_writes_in_place(torch: Any) -> None:
    """Into the same memory and unrecorded; a graph that saved the old numbers says so; without a gradient nothing moves."""
    w, other = parameters(torch)[:2]
    optimizer = torch.optim.SGD([w, other], lr=0.5)
    view, before = w.detach(), as_arrays([w, other])
    loss = (w * w).sum()
    w.grad = torch.tensor(np.ones((3, 4)))
    optimizer.step()
    assert w.is_leaf
    assert w._version == 1
    assert other._version == 0
    np.testing.assert_allclose(as_arrays([view])[0], before[0] - 0.5)
    np.testing.assert_array_equal(as_arrays([other])[0], before[1])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_groups_have_options_of_their_own(torch: Any) -> None:
    a, b, c, _ = parameters(torch)
    optimizer = torch.optim.SGD([{"params": [a], "lr": 1.0}, {"params": b}], lr=0.5)
    optimizer.add_param_group({"params": [c], "lr": 0.0})
    before = as_arrays([a, b, c])
    for p in (a, b, c):
        p.grad = torch.tensor(np.ones(p.shape))
    optimizer.step()
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.5, 0.0]
    for old, p, lr in zip(before, (a, b, c), (1.0, 0.5, 0.0), strict=True):
        np.testing.assert_allclose(as_arrays([p])[0], old - lr)


def test_a_closure_runs_with_gradients(torch: Any) -> None:
    (w, *_) = parameters(torch)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def closure() -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).requires_grad
    assert torch.optim.SGD([w], lr=0.1).step() is None


ERRORS: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "not a leaf": (lambda o, p: o.SGD([p * 2], lr=0.1), ValueError, "can't optimize a non-leaf Tensor"),
    "rate": (lambda o, p: o.SGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
    "momentum": (lambda o, p: o.SGD([p], momentum=-1), ValueError, "Invalid momentum value: -1"),
    "decay": (lambda o, p: o.Adam([p], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
    "nesterov": (lambda o, p: o.SGD([p], nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
    "a tensor": (lambda o, p: o.SGD(p), TypeError, "params argument given to the optimizer should be an iterable of Tensors"),
    "nothing": (lambda o, p: o.SGD([]), ValueError, "optimizer got an empty parameter list"),
    "a number": (lambda o, p: o.SGD([1.0]), TypeError, "optimizer can only optimize Tensors, but one of the params is float"),
    "a set": (lambda o, p: o.SGD([{"params": {p}}]), TypeError, "ordered collections"),
    "twice": (lambda o, p: o.SGD([{"params": [p]}, {"params": [p]}]), ValueError, "appear in more than one parameter group"),
    "no dict": (lambda o, p: o.SGD([p]).add_param_group([p]), TypeError, "param_group must be a dict, but got <class 'list'>"),
    "no params": (lambda o, p: o.SGD([{"lr": 1}]), KeyError, "params"),
    "eps": (lambda o, p: o.Adam([p], eps=-1), ValueError, "Invalid epsilon value: -1"),
    "beta 0": (lambda o, p: o.Adam([p], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0: 1.0"),
    "beta 1": (lambda o, p: o.AdamW([p], betas=(0.9, 1.9)), ValueError, "Invalid beta parameter at index 1: 1.9"),
    "alpha": (lambda o, p: o.RMSprop([p], alpha=-1), ValueError, "Invalid alpha value: -1"),
    "lr_decay": (lambda o, p: o.Adagrad([p], lr_decay=-1), ValueError, "Invalid lr_decay value: -1"),
    "start": (lambda o, p: o.Adagrad([p], initial_accumulator_value=-1), ValueError, "initial_accumulator_value value: -1"),
    "rho": (lambda o, p: o.Adadelta([p], rho=-1), ValueError, "Invalid rho value: -1"),
    "unknown": (lambda o, p: o.Adam([p], momentum=0.9), TypeError, "unexpected keyword argument 'momentum'"),
    "LBFGS in groups": (
        lambda o, p: o.LBFGS([{"params": [p]}, {"params": [p.detach()]}]), ValueError, "doesn't support per-parameter options",
    ),
    "LBFGS without closure": (lambda o, p: o.LBFGS([p]).step(), TypeError, "closure"),
    "groups to load": (
        lambda o, p: o.SGD([p]).load_state_dict(o.SGD([{"params": [p]}, {"params": [p.detach()]}]).state_dict()),
        ValueError, "loaded state dict has a different number of parameter groups",
    ),
    "sizes to load": (
        lambda o, p: o.SGD([p]).load_state_dict(o.SGD([p, p.detach()]).state_dict()),
        ValueError, "contains a parameter group that doesn't match the size of optimizer's group",
    ),
    "schedule of 3": (lambda o, p: o.lr_scheduler.StepLR(3, 2), TypeError, "int is not an Optimizer"),
    "going on": (lambda o, p: o.lr_scheduler.StepLR(o.SGD([p]), 2, last_epoch=3), KeyError, "'initial_lr' is not specified"),
    "lambdas": (lambda o, p: o.lr_scheduler.LambdaLR(o.SGD([p]), [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
    "start factor": (lambda o, p: o.lr_scheduler.LinearLR(o.SGD([p]), 2), ValueError, "Starting multiplicative factor expected"),
    "plateau": (lambda o, p: o.lr_scheduler.ReduceLROnPlateau(o.SGD([p]), factor=1.5), ValueError, "Factor should be < 1.0."),
    "mode": (lambda o, p: o.lr_scheduler.ReduceLROnPlateau(o.SGD([p]), "x"), ValueError, "mode x is unknown!"),
    "cycle": (lambda o, p: o.lr_scheduler.OneCycleLR(o.SGD([p]), 1), ValueError, "You must define either total_steps OR"),
    "momentum decay": (lambda o, p: o.NAdam([p], momentum_decay=-1), ValueError, "Invalid momentum_decay value: -1"),
    "beta of NAdam": (lambda o, p: o.NAdam([p], betas=(0.9, 1)), ValueError, "Invalid beta parameter at index 1: 1"),
    "beta of RAdam": (lambda o, p: o.RAdam([p], betas=(-1, 0.9)), ValueError, "Invalid beta parameter at index 0: -1"),
    "etas": (lambda o, p: o.Rprop([p], etas=(0.5, 0.9)), ValueError, "Invalid eta values: 0.5, 0.9"),
    "ASGD": (lambda o, p: o.ASGD([p], lr=-1), ValueError, "Invalid learning rate: -1"),
    "no chain": (lambda o, p: o.lr_scheduler.ChainedScheduler([]), ValueError, "expects at least one scheduler to be chained"),
    "chain of two optimisers": (
        lambda o, p: o.lr_scheduler.ChainedScheduler([o.lr_scheduler.StepLR(o.SGD([p]), 2) for _ in range(2)]),
        ValueError, "expects all schedulers to belong to the same optimizer",
    ),
    "plateau in a chain": (
        lambda o, p: o.lr_scheduler.ChainedScheduler([o.lr_scheduler.ReduceLROnPlateau(o.SGD([p]))]),
        ValueError, "does not support `ReduceLROnPlateau`",
    ),
    "mode of cycles": (lambda o, p: o.lr_scheduler.CyclicLR(o.SGD([p]), 0, 1, mode="x"), ValueError, "mode is invalid"),
    "bases of cycles": (lambda o, p: o.lr_scheduler.CyclicLR(o.SGD([p]), [0, 1], 1), ValueError, "base_lr"),
    "no momentum of cycles": (
        lambda o, p: o.lr_scheduler.CyclicLR(o.Adagrad([p]), 0, 1), ValueError, "optimizer must support momentum or beta1",
    ),
    "no momentum": (
        lambda o, p: o.lr_scheduler.OneCycleLR(o.Adagrad([p]), 1, 10), ValueError, "optimizer must support momentum or beta1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors_have_pytorchs_words(torch: Any, name: str) -> None:
    call, error, words = ERRORS[name]
    with pytest.raises(error) as caught:
        call(torch.optim, parameters(torch)[0])
    assert words in str(caught.value)


def test_a_cycle_has_an_end(torch: Any) -> None:
    optimizer = torch.optim.SGD(parameters(torch))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1, 2, cycle_momentum=False)
    optimizer.step()
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="The specified number of total steps is 2"):
        schedule.step()


def test_a_schedule_steps_behind_its_optimizer(torch: Any) -> None:
    def schedule() -> tuple[Any, Any]:
        optimizer = torch.optim.SGD(parameters(torch), lr=1.0)
        return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)

    (_, first), (optimizer, second) = schedule(), schedule()
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` (was called )?before `optimizer.step\(\)`"):
        first.step()
    first.step()
    optimizer.step()
    second.step()


def test_schedules_in_phases_step_behind_their_optimizer(torch: Any) -> None:
    schedules = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD(parameters(torch), lr=1.0)
    parts = [schedules.ConstantLR(optimizer), schedules.StepLR(optimizer, 2)]
    found = schedules.SequentialLR(optimizer, parts, milestones=[2])
    with pytest.warns(UserWarning, match=r"before `optimizer.step\(\)`"):
        found.step()
    optimizer.step()
    found.step()
