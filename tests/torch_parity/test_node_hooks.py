"""Hooks on nodes: when they run, in which order, what they get and what they may give; nodes as objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def halves(torch: Any, x: Any) -> Any:
    """An operation of several results, by each library's name."""
    return np.split(x, 2) if torch.__name__ == "gradscribe" else x.chunk(2)


def accumulator(x: Any) -> Any:
    """The AccumulateGrad node of a leaf."""
    return (x * 1).grad_fn.next_functions[0][0]


# Hooks on nodes -------------------------------------------------------------------------------------


def test_hooks_of_a_node(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * torch.tensor([3.0, 4.0])
    seen: list[Any] = []

    def post(grad_inputs: Any, grad_outputs: Any) -> None:
        assert type(grad_inputs) is tuple
        assert type(grad_outputs) is tuple
        seen.append(("post", [g if g is None else numbers(g).tolist() for g in grad_inputs], len(grad_outputs)))

    y.grad_fn.register_hook(post)
    y.grad_fn.register_prehook(lambda go: seen.append(("pre", numbers(go[0]).tolist())))
    y.register_hook(lambda g: seen.append(("tensor", numbers(g).tolist())))
    y.sum().backward()
    assert seen == [("tensor", [1.0, 1.0]), ("pre", [1.0, 1.0]), ("post", [[3.0, 4.0], None], 1)]


def test_node_hooks_replace(torch: Any, numbers: Any) -> None:
    x, z = leaf(torch), leaf(torch, 5.0, 6.0)
    y = x * z
    y.grad_fn.register_prehook(lambda go: (go[0] * 2,))
    y.grad_fn.register_prehook(lambda go: (go[0] + 1,))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, None))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] + 1, gi[1]))
    y.sum().backward()
    assert numbers(x.grad).tolist() == [151.0, 181.0]
    assert z.grad is None


def test_wrong_returns_of_node_hooks(torch: Any) -> None:
    one, three = torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.0, 1.0])
    for kind, given, error, words in [
        ("pre", one, TypeError, "expected tuple, but hook returned 'Tensor'"),
        ("post", one, TypeError, "expected tuple, but hook returned 'Tensor'"),
        ("pre", (one, one), RuntimeError, r"has returned an incorrect number of values \(got 2, but expected 1\)"),
        ("post", (one,), RuntimeError, r"has returned an incorrect number of values \(got 1, but expected 2\)"),
        ("pre", (3.0,), TypeError, "expected Variable, but hook returned 'float'"),
        ("post", (one, one), RuntimeError, "can't replace a None gradient with a non-None value"),
        ("pre", (three,), RuntimeError, "has changed the size of value"),
        ("post", (three, None), RuntimeError, "has changed the size of value"),
    ]:
        x = leaf(torch)
        y = x * 2
        if kind == "pre":
            y.grad_fn.register_prehook(lambda go, given=given: given)
        else:
            y.grad_fn.register_hook(lambda gi, go, given=given: given)
        with pytest.raises(error, match=words):
            y.sum().backward()


@pytest.mark.parametrize("kind", ["pre", "post"])
def test_node_hooks_may_be_removed_while_they_run(torch: Any, kind: str) -> None:
    x = leaf(torch)
    y = x * 2
    ran: list[int] = []
    handles: list[Any] = []

    def first(*_: Any) -> None:
        ran.append(1)
        handles[1].remove()

    register = y.grad_fn.register_prehook if kind == "pre" else y.grad_fn.register_hook
    for hook in (first, lambda *_: ran.append(2), lambda *_: ran.append(3)):
        handles.append(register(hook))
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert ran == [1, 2, 3, 1, 3]


def test_a_node_of_several_results(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    a, b = halves(torch, x)
    seen: list[Any] = []

    def shown(gs: Any) -> list[Any]:
        return [g if g is None else numbers(g).tolist() for g in gs]

    a.register_hook(lambda g: seen.append(("a", shown([g]))))
    b.register_hook(lambda g: seen.append(("b", shown([g]))))
    assert a.grad_fn is b.grad_fn
    a.grad_fn.register_prehook(lambda go: seen.append(("pre", shown(go))))
    a.grad_fn.register_hook(lambda gi, go: seen.append(("post", shown(gi), shown(go))))
    (b * 2).sum().backward()
    assert seen == [
        ("a", [None]),
        ("b", [[2.0]]),
        ("pre", [None, [2.0]]),
        ("post", [[0.0, 2.0]], [None, [2.0]]),
    ]
    assert numbers(x.grad).tolist() == [0.0, 2.0]


def test_a_hook_replaces_the_gradient_of_one_of_several_results(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    a, b = halves(torch, x)
    b.retain_grad()
    b.register_hook(lambda g: g * 10)
    (a + b).sum().backward(retain_graph=True)
    assert numbers(x.grad).tolist() == [1.0, 10.0]
    assert numbers(b.grad).tolist() == [10.0]
    (g,) = torch.autograd.grad((a + b).sum(), b)
    assert numbers(g).tolist() == [10.0]


def test_node_hooks_in_grad_see_every_gradient_of_their_node_that_runs(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 2
    z = y * 3
    seen: list[Any] = []
    z.grad_fn.register_hook(lambda gi, go: seen.append(numbers(gi[0]).tolist()))
    y.grad_fn.register_hook(lambda gi, go: seen.append("not reached"))
    torch.autograd.grad(z.sum(), y)
    assert seen == [[3.0, 3.0]]


def test_undefined_gradients_travel_to_hooks_as_none(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    seen: list[Any] = []
    y.grad_fn.register_prehook(lambda go: (None,))
    y.grad_fn.register_hook(lambda gi, go: seen.append(("post", gi, go)))
    node = accumulator(x)
    x.register_hook(lambda g: seen.append(("tensor", g)))
    node.register_prehook(lambda go: seen.append(("pre", go)))
    node.register_hook(lambda gi, go: seen.append(("leaf post", gi, go)))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated"))
    y.sum().backward()
    assert seen == [
        ("post", (None, None), (None,)),
        ("tensor", None),
        ("pre", (None,)),
        "accumulated",
        ("leaf post", (), (None,)),
    ]
    assert x.grad is None


def test_an_undefined_gradient_adds_nothing(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    w = x * 2
    y = w * 3
    y.grad_fn.register_prehook(lambda go: (None,))
    z = w * 5
    (z + y).sum().backward(retain_graph=True)
    (y + z).sum().backward()
    assert numbers(x.grad).tolist() == [20.0, 20.0]


def test_none_is_not_replaced(torch: Any) -> None:
    x = leaf(torch)
    w = x * 2
    y = w * 2
    y.grad_fn.register_prehook(lambda go: (None,))
    w.register_hook(lambda g: torch.tensor([1.0, 1.0]))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        y.sum().backward()


def test_grad_says_that_an_undefined_gradient_was_not_used(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    y.grad_fn.register_prehook(lambda go: (None,))
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert torch.autograd.grad(y.sum(), x, allow_unused=True) == (None,)


def test_complex_gradients_are_seen_in_one_convention(torch: Any, numbers: Any) -> None:
    z = torch.tensor([1 + 1j], requires_grad=True)
    y = z * z
    seen: list[Any] = []
    y.grad_fn.register_prehook(lambda go: seen.append(numbers(go[0]).tolist()) or (go[0] * 1j,))
    y.grad_fn.register_hook(lambda gi, go: seen.append([numbers(g).tolist() for g in (*gi, *go)]))
    z.register_hook(lambda g: seen.append(numbers(g).tolist()))
    y.real.sum().backward()
    assert seen == [[1], [[1 + 1j], [1 + 1j], [1j]], [2 + 2j]]
    assert numbers(z.grad).tolist() == [2 + 2j]


# Recording, errors, identity ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tensor", "pre", "post"])
def test_hooks_are_recorded_with_create_graph(torch: Any, numbers: Any, kind: str) -> None:
    x = leaf(torch)
    y = x * 2
    modes: list[bool] = []
    if kind == "tensor":
        y.register_hook(lambda g: modes.append(torch.is_grad_enabled()) or g * x)
    elif kind == "pre":
        y.grad_fn.register_prehook(lambda go: modes.append(torch.is_grad_enabled()) or (go[0] * x,))
    else:
        y.grad_fn.register_hook(lambda gi, go: modes.append(torch.is_grad_enabled()) or (gi[0] * x, gi[1]))
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert numbers(g).tolist() == [2.0, 4.0]
    (gg,) = torch.autograd.grad(g.sum(), x, retain_graph=True)
    assert numbers(gg).tolist() == [2.0, 2.0]
    torch.autograd.grad(y.sum(), x)
    assert modes == [True, False]


@pytest.mark.parametrize("kind", ["tensor", "pre", "post", "accumulated"])
def test_errors_of_hooks_come_out_unchanged(torch: Any, kind: str) -> None:
    class Mine(Exception):
        pass

    def hook(*_: Any) -> None:
        raise Mine("from the hook")

    x = leaf(torch)
    y = x * 2
    register = {
        "tensor": y.register_hook, "pre": y.grad_fn.register_prehook, "post": y.grad_fn.register_hook,
        "accumulated": x.register_post_accumulate_grad_hook,
    }[kind]  # fmt: skip
    register(hook)
    with pytest.raises(Mine, match="from the hook"):
        y.sum().backward()
    assert torch.is_grad_enabled()


def test_backward_inside_hooks(torch: Any, numbers: Any) -> None:
    x, inner = leaf(torch), leaf(torch, 3.0)

    def hook(gi: Any, go: Any) -> Any:
        with torch.enable_grad():
            (inner * inner).sum().backward()
        return gi[0] * inner.grad, gi[1]

    y = x * 2
    y.grad_fn.register_hook(hook)
    y.sum().backward()
    assert numbers(x.grad).tolist() == [12.0, 12.0]
    assert numbers(inner.grad).tolist() == [6.0]


def test_nodes_are_the_same_objects_each_time(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    z = y + x
    assert z.grad_fn is z.grad_fn
    assert z.grad_fn.next_functions[0][0] is y.grad_fn
    assert z.grad_fn.next_functions[1][0] is y.grad_fn.next_functions[0][0]
    assert y.grad_fn.next_functions[0][1] == 0
    node = accumulator(x)
    assert accumulator(x) is node


def test_metadata_stays_with_its_node(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["k"] = 1
    assert y.grad_fn.metadata == {"k": 1}
    assert accumulator(x).metadata == {}


def test_a_node_can_be_called(torch: Any, numbers: Any) -> None:
    x, z = leaf(torch), leaf(torch, 5.0, 6.0)
    node = (x * z).grad_fn
    found = node(torch.tensor([1.0, 10.0]))
    assert [numbers(g).tolist() for g in found] == [[5.0, 60.0], [1.0, 20.0]]
    one = torch.tensor([1.0, 1.0])
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        node(one, one)
