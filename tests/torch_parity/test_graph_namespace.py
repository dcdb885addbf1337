"""torch.autograd.graph by its names: nodes, gradient edges, versions, hooks over several tensors, saved values kept."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def halves(torch: Any, x: Any) -> Any:
    """An operation of several results, by each library's name."""
    return np.split(x, 2) if torch.__name__ == "gradscribe" else x.chunk(2)


# Nodes and edges ------------------------------------------------------------------------------------


def test_every_node_is_a_node(torch: Any) -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf(torch)
    y = x * 2
    nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], halves(torch, x)[0].grad_fn, Double.apply(x).grad_fn]
    for node in nodes:
        assert isinstance(node, torch.autograd.graph.Node)
        assert isinstance(node.name(), str)
        assert isinstance(node.next_functions, tuple)
        assert node.metadata == {}
        node.register_hook(lambda gi, go: None).remove()
        node.register_prehook(lambda go: None).remove()
    assert nodes[1].next_functions == ()
    for other in (x, 3, None):
        assert not isinstance(other, torch.autograd.graph.Node)


def test_hooks_on_the_node_of_a_function(torch: Any, numbers: Any) -> None:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: Any, z: Any) -> Any:
            return x * k + z

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3, None, None

    x, z = leaf(torch), leaf(torch)
    y = Scaled.apply(x, 3, z)
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda gi, go: seen.append([g if g is None else numbers(g).tolist() for g in (*gi, *go)]))
    y.grad_fn.register_prehook(lambda go: (go[0] * 2,))
    y.sum().backward()
    assert seen == [[[6.0, 6.0], None, [2.0, 2.0]]]
    assert numbers(x.grad).tolist() == [6.0, 6.0]
    assert z.grad is None


def test_gradient_edges(torch: Any, numbers: Any) -> None:
    graph = torch.autograd.graph
    x = leaf(torch)
    y = x * 2
    edge, at_leaf = graph.get_gradient_edge(y), graph.get_gradient_edge(x)
    assert isinstance(edge, graph.GradientEdge)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    assert at_leaf.node.name().endswith("AccumulateGrad")
    grad = torch.autograd.grad
    assert numbers(grad(y.sum(), edge, retain_graph=True)[0]).tolist() == [1.0, 1.0]
    assert numbers(grad((y * 3).sum(), [edge, at_leaf], retain_graph=True)[1]).tolist() == [6.0, 6.0]
    (g,) = grad(edge, x, grad_outputs=torch.tensor([1.0, 3.0]), retain_graph=True)
    assert numbers(g).tolist() == [2.0, 6.0]
    torch.autograd.backward(edge, torch.tensor([1.0, 1.0]), retain_graph=True)
    assert numbers(x.grad).tolist() == [2.0, 2.0]
    torch.autograd.backward(y.sum(), inputs=at_leaf, retain_graph=True)
    assert numbers(x.grad).tolist() == [4.0, 4.0]
    torch.autograd.backward([y.sum(), edge], [None, torch.tensor([1.0, 1.0])], inputs=[at_leaf])
    assert numbers(x.grad).tolist() == [8.0, 8.0]


def test_the_edge_of_a_scalar_needs_no_gradient(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    (g,) = torch.autograd.grad(torch.autograd.graph.get_gradient_edge((x * 2).sum()), x)
    assert numbers(g).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(torch.autograd.graph.get_gradient_edge(x * 2), x)


def test_edges_of_several_results(torch: Any, numbers: Any) -> None:
    graph = torch.autograd.graph
    x = leaf(torch)
    a, b = halves(torch, x)
    edge = graph.get_gradient_edge(b)
    assert edge.output_nr == 1
    (g,) = torch.autograd.grad((a * b).sum(), graph.GradientEdge(a.grad_fn, 1), retain_graph=True)
    assert numbers(g).tolist() == [1.0]
    (g,) = torch.autograd.grad(edge, x, grad_outputs=torch.tensor([5.0]), retain_graph=True)
    assert numbers(g).tolist() == [0.0, 5.0]
    node, k = (b * 3).grad_fn.next_functions[0]
    (g,) = torch.autograd.grad((b * 3).sum(), graph.GradientEdge(node, k))
    assert numbers(g).tolist() == [3.0]


def test_an_edge_that_is_not_reached(torch: Any, numbers: Any) -> None:
    x, z = leaf(torch), leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge(z)
    with pytest.raises(RuntimeError, match="Set allow_unused=True"):
        torch.autograd.grad(x.sum(), edge)
    assert torch.autograd.grad(x.sum(), edge, allow_unused=True) == (None,)


def test_no_edge_without_a_graph(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge"):
        torch.autograd.graph.get_gradient_edge(torch.tensor([1.0]))


def test_an_edge_does_not_keep_its_tensor(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    edge = torch.autograd.graph.get_gradient_edge((x * 2).sum())
    torch.autograd.backward(edge)
    assert numbers(x.grad).tolist() == [2.0, 2.0]


# increment_version ----------------------------------------------------------------------------------


def test_increment_version(torch: Any) -> None:
    increment = torch.autograd.graph.increment_version
    x, y = torch.tensor([1.0]), torch.tensor([1.0])
    increment(x)
    assert x._version == 1
    increment([x, y])
    increment(t for t in (x,))
    assert (x._version, y._version, x.detach()._version) == (3, 1, 3)
    with pytest.raises(RuntimeError, match="increment_version expect"):
        increment(3)
    with torch.inference_mode():
        inference = torch.tensor([1.0]) * 2
    increment(inference)  # has no version, and that is no error


def test_an_incremented_version_is_a_write(torch: Any) -> None:
    x = leaf(torch)
    y = x * x
    torch.autograd.graph.increment_version(x)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


# register_multi_grad_hook ---------------------------------------------------------------------------


def shown(numbers: Any, grads: Any) -> Any:
    return [g if g is None else numbers(g).tolist() for g in grads]


def test_a_hook_over_all_of_several_tensors(torch: Any, numbers: Any) -> None:
    a, b, c = (leaf(torch) for _ in range(3))
    seen: list[Any] = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (a, b, c), lambda grads: seen.append((type(grads).__name__, shown(numbers, grads)))
    )
    (a * 2 + b * 3 + c * 4).sum().backward()
    (a * 2 + c * 4).sum().backward()
    (b * 3).sum().backward()
    handle.remove()
    (a * 2 + b * 3 + c * 4).sum().backward()
    two, three, four = [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]
    lists = [[two, three, four], [two, None, four], [None, three, None]]
    assert seen == [("list", found) for found in lists]


def test_a_hook_over_results_and_leaves(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 2
    a, b = halves(torch, y)
    seen: list[Any] = []
    torch.autograd.graph.register_multi_grad_hook([x, y, b], lambda grads: seen.append(shown(numbers, grads)))
    (b * 3).sum().backward(retain_graph=True)
    (a * 3).sum().backward(retain_graph=True)
    y.sum().backward(retain_graph=True)
    (x * 5).sum().backward()
    assert seen == [
        [[0.0, 6.0], [0.0, 3.0], [3.0]],
        [[6.0, 0.0], [3.0, 0.0], None],
        [[2.0, 2.0], [1.0, 1.0], None],
        [[5.0, 5.0], None, None],
    ]


def test_a_hook_over_several_in_grad(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = x * 2
    z = y * 3
    seen: list[Any] = []
    torch.autograd.graph.register_multi_grad_hook([y, z], lambda grads: seen.append(shown(numbers, grads)))
    torch.autograd.grad(z.sum(), x, retain_graph=True)
    torch.autograd.grad(z.sum(), z, retain_graph=True)
    assert seen == [[[3.0, 3.0], [1.0, 1.0]], [None, [1.0, 1.0]]]


def test_an_undefined_gradient_counts_as_known(torch: Any, numbers: Any) -> None:
    x, z = leaf(torch), leaf(torch)
    y = x * 2
    y.grad_fn.register_prehook(lambda go: (None,))
    seen: list[Any] = []
    torch.autograd.graph.register_multi_grad_hook([x, z], lambda grads: seen.append(shown(numbers, grads)))
    (y + z).sum().backward()
    assert seen == [[None, [1.0, 1.0]]]


def test_a_hook_over_any_of_several_tensors(torch: Any, numbers: Any) -> None:
    a, b, constant = leaf(torch), leaf(torch), torch.tensor([1.0, 1.0])
    seen: list[Any] = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (a, b, constant), lambda g: seen.append(numbers(g).tolist()), mode="any"
    )
    (a * 2 + b * 2).sum().backward()
    (b * 3).sum().backward()
    assert seen == [[2.0, 2.0], [3.0, 3.0]]
    with handle:
        pass
    (b * 3).sum().backward()
    assert len(seen) == 2


@pytest.mark.parametrize("mode", ["all", "any"])
def test_what_a_hook_over_several_gives_counts_for_nothing(torch: Any, numbers: Any, mode: str) -> None:
    x = leaf(torch)
    torch.autograd.graph.register_multi_grad_hook([x], lambda g: (torch.tensor([9.0, 9.0]),), mode=mode)
    (x * 2).sum().backward()
    assert numbers(x.grad).tolist() == [2.0, 2.0]


def test_wrong_arguments_of_a_hook_over_several(torch: Any) -> None:
    register = torch.autograd.graph.register_multi_grad_hook
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got some"):
        register([leaf(torch)], print, mode="some")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        register([leaf(torch), torch.tensor([1.0])], print)


def test_backward_inside_a_hook_over_several(torch: Any, numbers: Any) -> None:
    x, z = leaf(torch), leaf(torch)
    seen: list[Any] = []

    def hook(grads: Any) -> None:
        seen.append(shown(numbers, grads))
        if len(seen) == 1:
            with torch.enable_grad():
                (x * 7).sum().backward()

    torch.autograd.graph.register_multi_grad_hook([x, z], hook)
    (x * 2 + z * 3).sum().backward()
    assert seen == [[[2.0, 2.0], [3.0, 3.0]], [[7.0, 7.0], None]]


# allow_mutation_on_saved_tensors --------------------------------------------------------------------


def test_mutation_of_saved_tensors(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y**2).sum() + (y**3).sum()
        y.sin_()
        y.mul_(100)
        z.backward()
    assert numbers(x.grad).tolist() == [5.0, 16.0]


def test_mutation_through_views(torch: Any, numbers: Any) -> None:
    x = leaf(torch, 1.0, 1.0, 1.0)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        part = y[:2]
        z = (y**2).sum() + (part**3).sum()
        part.mul_(5)
        z.backward(retain_graph=True)
        assert numbers(x.grad).tolist() == [5.0, 5.0, 2.0]
        y.mul_(7)
        y.sum().backward(retain_graph=True)
        assert numbers(x.grad).tolist() == [40.0, 40.0, 9.0]
        y[0] = 100.0
        z.backward()
    assert numbers(x.grad).tolist() == [45.0, 45.0, 11.0]


def test_mutation_of_constants_and_without_recording(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    factor = torch.tensor([3.0, 4.0])
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x * factor * x).sum()
        factor.mul_(10)
        with torch.no_grad():
            x.add_(1)
        y.backward()
    assert numbers(x.grad).tolist() == [6.0, 16.0]


def test_backward_outside_of_the_mutation_block(torch: Any) -> None:
    x = leaf(torch)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = (x * x).sum()
        z = (x * x).sum()
        context.clear()
        with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors'"):
            z.backward()
        y = (x * x).sum()
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors'"):
        y.backward()


def test_mutation_blocks_are_not_nested(torch: Any, numbers: Any) -> None:
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    with (
        allow(),
        pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"),
        allow(),
    ):
        pass
    with allow():
        x = leaf(torch)
        (x * x).sum().backward()
    assert numbers(x.grad).tolist() == [2.0, 4.0]


def test_what_was_saved_before_the_mutation_block(torch: Any) -> None:
    x = leaf(torch)
    y = x.clone()
    z = (y**2).sum()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y.sin_()
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            z.backward()


def test_hooks_warn_of_nothing(torch: Any) -> None:
    x = leaf(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.register_post_accumulate_grad_hook(lambda t: None)
        (x * 2).sum().backward()
