"""Saved-tensor hooks: what is packed, when it is unpacked, and what a node shows of what it saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


class Log:
    """A pair of hooks that keep what they are given, and note each call."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def pack(self, t: Any) -> Any:
        self.calls.append(("pack", t.tolist()))
        return t

    def unpack(self, t: Any) -> Any:
        self.calls.append(("unpack", t.tolist()))
        return t


def test_packed_once_and_unpacked_once_a_use(torch: Any, numbers: Any) -> None:
    log, x = Log(), leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(log.pack, log.unpack):
        y = x.exp()
    result = y.tolist()
    assert log.calls == [("pack", result)]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert log.calls == [("pack", result), ("unpack", result), ("unpack", result)]
    assert np.allclose(numbers(x.grad), 2 * np.exp([1.0, 2.0]))


def test_each_of_two_arguments_is_packed(torch: Any) -> None:
    log, x = Log(), leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(log.pack, log.unpack):
        y = x * x
    assert log.calls == [("pack", [1.0, 2.0])] * 2
    y.sum().backward()
    assert log.calls[2:] == [("unpack", [1.0, 2.0])] * 2


def test_what_is_packed(torch: Any) -> None:
    log, x = Log(), leaf(torch)
    constant = torch.tensor([3.0, 4.0])
    with torch.autograd.graph.saved_tensors_hooks(log.pack, log.unpack):
        x + 1, x * 3, x.sum(), -x  # nothing is needed of the tensors
        assert log.calls == []
        x**2
        assert log.calls == [("pack", [1.0, 2.0])]
        x * constant
        assert log.calls[1:] == [("pack", [3.0, 4.0])]
        with torch.no_grad():
            x * x
        constant * constant
        assert len(log.calls) == 2


def test_an_argument_is_packed_where_it_stands_in_the_graph(torch: Any) -> None:
    seen: list[bool] = []
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((t.requires_grad, t.is_leaf)), lambda t: t):
        x * torch.tensor([3.0, 4.0])
        x**2
    assert seen == [(False, True), (True, True)]


def test_pack_runs_without_recording_and_without_hooks(torch: Any) -> None:
    seen: list[Any] = []

    def pack(t: Any) -> Any:
        seen.append(torch.is_grad_enabled())
        return t * t

    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        x * x
    assert seen == [False, False]


def test_the_innermost_pair_counts(torch: Any) -> None:
    outer, inner, x = Log(), Log(), leaf(torch)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(outer.pack, outer.unpack):
        with hooks(inner.pack, inner.unpack):
            y = x**2
        assert outer.calls == []
        z = x**2
    y.sum().backward()
    z.sum().backward()
    for log in (outer, inner):
        assert log.calls == [("pack", [1.0, 2.0]), ("unpack", [1.0, 2.0])]


def test_a_pair_may_be_entered_twice(torch: Any) -> None:
    log, x = Log(), leaf(torch)
    pair = torch.autograd.graph.saved_tensors_hooks(log.pack, log.unpack)
    with pair, pair:
        x**2
    with pair:
        x**2
    x**2
    assert len(log.calls) == 2


def test_anything_may_be_packed(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: ("kept", t.tolist()), lambda p: torch.tensor(p[1]) * 10):
        y = x * x
    y.sum().backward()
    assert numbers(x.grad).tolist() == [20.0, 40.0]


def test_unpack_must_give_a_tensor(torch: Any) -> None:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x * x
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.sum().backward()


def test_errors_of_the_hooks_keep_their_type(torch: Any) -> None:
    class Mine(Exception):
        pass

    def fails(t: Any) -> Any:
        raise Mine("from the hook")

    x = leaf(torch)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(fails, lambda t: t), pytest.raises(Mine, match="from the hook"):
        x * x
    with hooks(lambda t: t, fails):
        y = x * x
    with pytest.raises(Mine, match="from the hook"):
        y.sum().backward()
    assert torch.is_grad_enabled()


def test_pack_may_not_write_into_what_it_gets(torch: Any) -> None:
    x, constant = leaf(torch), torch.tensor([3.0, 4.0])
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"),
    ):
        x * constant


def test_double_backward_through_packed_values(torch: Any, numbers: Any) -> None:
    log, x = Log(), leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(log.pack, log.unpack):
        y = x.exp()
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert [what for what, _ in log.calls] == ["pack", "unpack"]
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert [what for what, _ in log.calls] == ["pack", "unpack", "unpack"]
    assert np.allclose(numbers(gg), np.exp([1.0, 2.0]))


def test_hooks_in_double_backward(torch: Any, numbers: Any) -> None:
    class Mine(Exception):
        pass

    log, x = Log(), leaf(torch)
    y = x * x * x
    with torch.autograd.graph.saved_tensors_hooks(log.pack, log.unpack):
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert {what for what, _ in log.calls} == {"pack"}  # what the operations of backward save
    log.calls.clear()
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert {what for what, _ in log.calls} == {"unpack"}
    assert numbers(gg).tolist() == [6.0, 12.0]

    def fails(t: Any) -> Any:
        raise Mine

    y = x * x * x
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, fails):
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(Mine):
        torch.autograd.grad(g.sum(), x)


def test_a_function_packs_what_it_saves(torch: Any, numbers: Any) -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, x * 10)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, _ = ctx.saved_tensors
            return g * 2 * x

    log, x = Log(), leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(log.pack, log.unpack):
        y = Square.apply(x)
    y.sum().backward()
    values = ([1.0, 2.0], [10.0, 20.0])
    assert log.calls == [(what, v) for what in ("pack", "unpack") for v in values]
    assert numbers(x.grad).tolist() == [2.0, 4.0]


def test_in_place_operations_under_hooks(torch: Any, numbers: Any) -> None:
    log, x = Log(), leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), log.unpack):
        y = x * 1
        y.mul_(y)
        y.exp_()
        z = (y * y).sum()
    z.backward()
    expected = 2 * np.exp([1.0, 4.0]) ** 2 * np.array([2.0, 4.0])
    assert np.allclose(numbers(x.grad), expected)


def test_disabled_hooks(torch: Any) -> None:
    graph = torch.autograd.graph
    pair = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with graph.disable_saved_tensors_hooks("outer words"):
        with graph.disable_saved_tensors_hooks("inner words"), pytest.raises(RuntimeError, match="inner words"):
            pair.__enter__()
        with pytest.raises(RuntimeError, match="outer words"):
            pair.__enter__()
        leaf(torch) * leaf(torch)
    with pair, pytest.raises(RuntimeError, match="too late"), graph.disable_saved_tensors_hooks("too late"):
        pass
    with pair:
        pass

    @graph.disable_saved_tensors_hooks("in a function")
    def function() -> None:
        with pair:
            pass

    with pytest.raises(RuntimeError, match="in a function"):
        function()


def test_save_on_cpu(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    with torch.autograd.graph.save_on_cpu(pin_memory=False):
        y = (x * x).exp()
    y.sum().backward()
    assert np.allclose(numbers(x.grad), 2 * np.array([1.0, 2.0]) * np.exp([1.0, 4.0]))


# What a node shows of what it saved -----------------------------------------------------------------


def test_saved_attributes(torch: Any, numbers: Any) -> None:
    x, z = leaf(torch), leaf(torch, 3.0, 4.0)
    node = (x * z).grad_fn
    assert node._saved_self is x
    assert node._saved_other is z
    y = x.exp()
    assert numbers(y.grad_fn._saved_result).tolist() == numbers(y).tolist()
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    node = (x * 3).grad_fn
    assert node._saved_self is None
    assert numbers(node._saved_other).item() == 3
    between = x * 2
    assert (between * x).grad_fn._saved_self.grad_fn is between.grad_fn


def test_saved_attributes_once_freed(torch: Any) -> None:
    x = leaf(torch)
    y = x * x
    node = y.grad_fn
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node._saved_self
    with pytest.raises(RuntimeError, match="on a saved tensor after it has been freed"):
        node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node(torch.tensor([1.0, 1.0]))


def test_hooks_of_one_saved_tensor(torch: Any, numbers: Any) -> None:
    log, x = Log(), leaf(torch)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: log.pack(t).tolist(), lambda p: torch.tensor(p) * 2)
    assert log.calls == [("pack", y.tolist())]
    assert np.allclose(numbers(y.grad_fn._saved_result), 2 * np.exp([1.0, 2.0]))
    y.sum().backward()
    assert np.allclose(numbers(x.grad), 2 * np.exp([1.0, 2.0]))


def test_one_pair_for_a_saved_tensor(torch: Any) -> None:
    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        packed = (x * x).grad_fn
    plain = (x * x).grad_fn
    plain._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    for raw in (plain._raw_saved_self, packed._raw_saved_other):
        with pytest.raises(RuntimeError, match="whose hooks have already been set"):
            raw.register_hooks(lambda t: t, lambda t: t)


def test_the_hooks_of_a_saved_tensor_may_fail(torch: Any) -> None:
    x = leaf(torch)
    raw = (x * x).grad_fn._raw_saved_self
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        raw.register_hooks(lambda t: t.mul_(2), lambda t: t)
