"""User code in backward: it runs backward again, enters modes, fails while warnings are errors. And zeros for the unused."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest


def nested(torch: Any) -> Any:
    class Nested(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int, at_the_end: Any) -> Any:
            ctx.depth, ctx.at_the_end = depth, at_the_end
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if not ctx.depth:
                if ctx.at_the_end is not None:
                    ctx.at_the_end()
                return g, None, None
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                Nested.apply(x, ctx.depth - 1, ctx.at_the_end).sum().backward()
            return x.grad * g * 2, None, None

    return Nested


@pytest.mark.parametrize("depth", [1, 59, 60, 61, 150, 600])
def test_backward_runs_inside_backward_as_deep_as_asked(torch: Any, depth: int) -> None:
    x = torch.ones(1, requires_grad=True)
    nested(torch).apply(x, depth, None).sum().backward()
    assert x.grad.tolist() == [2.0**depth]


def test_deep_inside_an_error_comes_out_as_it_is(torch: Any) -> None:
    class Mine(Exception):
        pass

    def fail() -> None:
        raise Mine("here")

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(Mine, match="here"):
        nested(torch).apply(x, 150, fail).sum().backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_deep_inside_the_modes_hold_and_end(torch: Any) -> None:
    seen: list[Any] = []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)

    def look() -> None:
        seen.append((torch.is_grad_enabled(), torch.is_anomaly_enabled()))

    x = torch.ones(1, requires_grad=True)
    with hooks, torch.autograd.set_detect_anomaly(True):
        nested(torch).apply(x, 150, look).sum().backward()
    assert seen == [(False, True)]
    assert torch.is_grad_enabled()
    assert not torch.is_anomaly_enabled()


def test_deep_runs_in_several_threads(torch: Any) -> None:
    leaves = [torch.ones(1, requires_grad=True) for _ in range(3)]
    deep = nested(torch)
    threads = [threading.Thread(target=lambda x=x: deep.apply(x, 100, None).sum().backward()) for x in leaves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [x.grad.tolist() for x in leaves] == [[2.0**100]] * 3


# Modes that user code in backward enters and does not leave


@pytest.mark.parametrize("place", ["unpack", "hook", "Function"])
@pytest.mark.parametrize("mode", ["saved_tensors_hooks", "disable_saved_tensors_hooks"])
def test_hooks_entered_in_backward_end_with_it(torch: Any, place: str, mode: str) -> None:
    packed: list[Any] = []
    graph = torch.autograd.graph
    entered: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append(t)
        return t

    def enter() -> None:
        context = (
            graph.saved_tensors_hooks(pack, lambda t: t)
            if mode == "saved_tensors_hooks"
            else graph.disable_saved_tensors_hooks("no")
        )
        entered.append(context)
        context.__enter__()

    class Enters(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            enter()
            return g

    def unpack(t: Any) -> Any:
        enter()
        return t

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    if place == "unpack":
        with graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
            y = x.exp()
    elif place == "hook":
        y = x * 1
        y.register_hook(lambda g: enter())
    else:
        y = Enters.apply(x)
    y.sum().backward()
    assert entered
    (x * x).sum().backward()
    assert packed == []
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_grad_mode_set_in_backward_ends_with_it(torch: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def unpack(t: Any) -> Any:
        torch.set_grad_enabled(True)
        return t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
        y = x.exp().sum()
    with torch.no_grad():
        y.backward()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


# Anomaly mode


@pytest.mark.parametrize("forward", [True, False])
def test_where_warnings_are_errors_the_error_itself_comes_out(torch: Any, capfd: Any, forward: bool) -> None:
    x = torch.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.autograd.set_detect_anomaly(forward):
            y = (x.sqrt() * 0).sum()
        with (
            torch.autograd.set_detect_anomaly(True),
            pytest.raises(RuntimeError, match="returned nan values") as caught,
        ):
            y.backward()
    assert caught.value.__cause__ is None
    assert "Error detected in SqrtBackward0" in capfd.readouterr().err


def test_where_warnings_are_errors_the_users_own_error_comes_out(torch: Any) -> None:
    class Fails(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("mine")

    x = torch.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        y = Fails.apply(x).sum()
        with pytest.raises(ValueError, match="mine"):
            y.backward()


def test_entering_anomaly_mode_where_warnings_are_errors_leaves_it_off(torch: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Anomaly Detection has been enabled"):
            torch.autograd.detect_anomaly()
    assert not torch.is_anomaly_enabled()


# Zeros for what was not used


def test_zeros_for_the_unused_are_leaves_where_a_graph_is_made(torch: Any) -> None:
    x, z = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    used, unused = torch.autograd.grad((x * x).sum(), (x, z), create_graph=True, materialize_grads=True)
    assert unused.tolist() == [0.0, 0.0, 0.0]
    assert used.requires_grad
    assert unused.requires_grad
    assert unused.is_leaf
    assert torch.autograd.grad(unused.sum(), z, allow_unused=True) == (None,)
    (again,) = torch.autograd.grad((used * 3).sum() + unused.sum(), z, materialize_grads=True)
    assert again.tolist() == [0.0, 0.0, 0.0]
    assert not again.requires_grad


def test_zeros_for_the_unused_without_a_graph(torch: Any) -> None:
    x, z = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    (unused,) = torch.autograd.grad((x * x).sum(), z, materialize_grads=True)
    assert not unused.requires_grad
    with torch.no_grad():
        y = (x * 2).sum()
    assert not y.requires_grad


def test_zeros_for_the_unused_of_a_batch(torch: Any) -> None:
    x, z = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    options = {"is_grads_batched": True, "materialize_grads": True, "create_graph": True}
    used, unused = torch.autograd.grad(x * 2, (x, z), grad_outputs=torch.ones(4, 2), **options)
    assert used.tolist() == [[2.0, 2.0]] * 4
    assert unused.tolist() == [0.0, 0.0, 0.0]
    assert unused.requires_grad
