"""Hooks on tensors and at leaves: when they run, in which order, what they get and what they may give."""

from __future__ import annotations

from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def accumulator(x: Any) -> Any:
    """The AccumulateGrad node of a leaf."""
    return (x * 1).grad_fn.next_functions[0][0]


# Tensor hooks ---------------------------------------------------------------------------------------


def test_tensor_hooks_run_in_order_and_replace(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 3
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(("first", numbers(g).tolist())))
    y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: seen.append(("third", numbers(g).tolist())))
    y.sum().backward()
    assert seen == [("first", [1.0, 1.0]), ("third", [2.0, 2.0])]
    assert numbers(x.grad).tolist() == [6.0, 6.0]


def test_hooks_may_be_removed_while_hooks_run(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    ran: list[int] = []
    handles: list[Any] = []

    def first(g: Any) -> None:
        ran.append(1)
        handles[1].remove()

    def third(g: Any) -> None:
        ran.append(3)
        handles[2].remove()

    for hook in (first, lambda g: ran.append(2), third):
        handles.append(y.register_hook(hook))
    y.sum().backward(retain_graph=True)
    assert ran == [1, 2, 3]  # this run had begun
    ran.clear()
    y.sum().backward()
    assert ran == [1]


def test_a_hook_added_by_a_hook_runs_the_next_time(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    ran: list[str] = []

    def hook(g: Any) -> None:
        ran.append("old")
        y.register_hook(lambda g: ran.append("new"))

    handle = y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    assert ran == ["old"]
    handle.remove()
    y.sum().backward()
    assert ran == ["old", "new"]


def test_a_handle_is_a_context_manager(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 2
    with y.register_hook(lambda g: g * 10):
        y.sum().backward(retain_graph=True)
    y.sum().backward(retain_graph=True)
    assert numbers(x.grad).tolist() == [22.0, 22.0]
    with y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,)):
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert numbers(x.grad).tolist() == [44.0, 44.0]


@pytest.mark.parametrize("where", ["leaf", "result"])
def test_wrong_returns_of_a_tensor_hook(torch: Any, where: str) -> None:
    for make, error, words in [
        (lambda: 3.0, TypeError, "expected Variable, but hook returned 'float'"),
        (lambda: [1.0], TypeError, "expected Variable, but hook returned 'list'"),
        (lambda: torch.tensor([1.0, 2.0, 3.0]), RuntimeError, "has changed the size of value"),
        (lambda: torch.tensor([1, 2]), RuntimeError, "has changed the type of value"),
        (lambda: torch.tensor([1j, 2.0]), RuntimeError, "has changed the type of value"),
    ]:
        x = leaf(torch)
        y = x * 2
        (x if where == "leaf" else y).register_hook(lambda g, make=make: make())
        with pytest.raises(error, match=words):
            y.sum().backward()


def test_a_tensor_without_a_graph_takes_no_hook(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.tensor([1.0]).register_hook(lambda g: g)


def test_grad_runs_the_tensor_hooks_of_a_leaf_and_no_other_of_it(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    ran: list[str] = []
    x.register_hook(lambda g: g * 10)
    node = accumulator(x)
    node.register_prehook(lambda gs: ran.append("pre"))
    node.register_hook(lambda gi, go: ran.append("post"))
    x.register_post_accumulate_grad_hook(lambda t: ran.append("accumulated"))
    (g,) = torch.autograd.grad((x * 2).sum(), x)
    assert numbers(g).tolist() == [20.0, 20.0]
    assert ran == []
    assert x.grad is None
    (x * 2).sum().backward(inputs=[x])
    assert ran == ["pre", "accumulated", "post"]
    assert numbers(x.grad).tolist() == [20.0, 20.0]


def test_what_grad_gives_for_a_result_with_hooks(torch: Any, numbers: Any) -> None:
    ran: list[str] = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda gs: ran.append("pre"))
    (g,) = torch.autograd.grad(y.sum(), y, retain_graph=True)
    assert numbers(g).tolist() == [10.0, 10.0]  # nothing behind it is asked for: its hooks run, the node does not
    assert ran == []
    gy, gx = torch.autograd.grad(y.sum(), [y, x])
    assert numbers(gy).tolist() == [1.0, 1.0]
    assert numbers(gx).tolist() == [20.0, 20.0]
    assert ran == ["pre"]


def test_grad_of_a_result_does_not_run_its_node(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * x
    z = y * 2
    y.sum().backward()  # frees what y's node saved
    (g,) = torch.autograd.grad(z.sum(), y)
    assert numbers(g).tolist() == [2.0, 2.0]


def test_backward_to_a_result_runs_its_node(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 2
    ran: list[str] = []
    y.register_hook(lambda g: ran.append("tensor"))
    y.grad_fn.register_prehook(lambda gs: ran.append("pre"))
    y.grad_fn.register_hook(lambda gi, go: ran.append("post"))
    (y * 2).sum().backward(inputs=[y])
    assert ran == ["tensor", "pre", "post"]
    assert numbers(y.grad).tolist() == [2.0, 2.0]
    assert x.grad is None


def test_retained_gradients_are_those_after_the_hooks(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert numbers(y.grad).tolist() == [10.0, 10.0]
    assert numbers(x.grad).tolist() == [20.0, 20.0]


def test_hooks_stay_with_the_version_that_they_were_registered_on(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 2
    ran: list[Any] = []
    y.register_hook(lambda g: ran.append(("before", numbers(g).tolist())))
    y.mul_(5)
    y.register_hook(lambda g: ran.append(("after", numbers(g).tolist())))
    (y * 3).sum().backward()
    assert ran == [("after", [3.0, 3.0]), ("before", [15.0, 15.0])]


def test_a_hook_that_writes_into_its_gradient(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    x.register_hook(lambda g: g.mul_(3))
    (x * 2).sum().backward()
    assert numbers(x.grad).tolist() == [6.0, 6.0]


# At a leaf ------------------------------------------------------------------------------------------


def test_order_at_a_leaf(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    seen: list[Any] = []

    def held() -> Any:
        return None if x.grad is None else numbers(x.grad).tolist()

    node = accumulator(x)
    node.register_hook(lambda gi, go: seen.append(("post", gi, numbers(go[0]).tolist(), held())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", t is x, held())))
    node.register_prehook(lambda go: seen.append(("pre", numbers(go[0]).tolist(), held())))
    x.register_hook(lambda g: seen.append(("tensor", numbers(g).tolist(), held())))
    (x * 2).sum().backward()
    two = [2.0, 2.0]
    assert seen == [
        ("tensor", two, None),
        ("pre", two, None),
        ("accumulated", True, two),
        ("post", (), two, two),
    ]


def test_a_prehook_of_accumulate_grad_replaces(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    node = accumulator(x)
    node.register_prehook(lambda go: (go[0] * 7,))
    (x * 2).sum().backward()
    assert numbers(x.grad).tolist() == [14.0, 14.0]


def test_post_accumulate_hooks(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    seen: list[Any] = []

    def step(t: Any) -> None:
        seen.append(numbers(t.grad).tolist())
        t.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [[2.0, 2.0], [3.0, 3.0]]
    assert x.grad is None
    handle.remove()
    (x * 3).sum().backward()
    assert numbers(x.grad).tolist() == [3.0, 3.0]


def test_post_accumulate_hooks_are_for_leaves(torch: Any) -> None:
    x = leaf(torch)
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(lambda t: None)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.tensor([1.0]).register_post_accumulate_grad_hook(lambda t: None)


def test_a_post_accumulate_hook_gives_nothing(torch: Any) -> None:
    x = leaf(torch)
    with (
        x.register_post_accumulate_grad_hook(lambda t: torch.tensor([1.0, 1.0])),
        pytest.raises(RuntimeError, match=r"hooks should return None\."),
    ):
        (x * 2).sum().backward()
    x.register_post_accumulate_grad_hook(lambda t: 3)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        (x * 2).sum().backward()
