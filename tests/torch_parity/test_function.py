"""Function behaves as PyTorch documents it: facts 28 to 34 and 36 of the sheet, and each sentence about Function in the issue."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


def leaf(torch: Any, *values: Any) -> Any:
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def make(torch: Any, forward: Callable[..., Any], backward: Callable[..., Any] | None = None, **more: Any) -> Any:
    """A Function called F."""
    methods = {"forward": forward, **({} if backward is None else {"backward": backward}), **more}
    return type("F", (torch.autograd.Function,), {k: staticmethod(v) for k, v in methods.items()})


def double(torch: Any, backward: Callable[..., Any], **more: Any) -> Any:
    return make(torch, lambda ctx, x: x * 2, backward, **more)


def square(torch: Any) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x

    return Square


def test_forward_and_backward(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = square(torch).apply(x)
    y.sum().backward()
    assert numbers(y).tolist() == [1.0, 4.0]
    assert numbers(x.grad).tolist() == [2.0, 4.0]


def test_grad_fn_and_repr(torch: Any) -> None:
    y = square(torch).apply(leaf(torch))
    assert y.grad_fn.name() == "SquareBackward"
    assert type(y.grad_fn).__name__ == "SquareBackward"
    assert "grad_fn=<SquareBackward>" in repr(y)
    assert not y.is_leaf


def test_next_functions_have_an_entry_for_each_tensor(torch: Any) -> None:
    x = leaf(torch)
    y = make(torch, lambda ctx, a, k, b: a * k * b, lambda ctx, g: (g, None, g)).apply(x, 3, torch.tensor([1.0, 2.0]))
    (first, index), second = y.grad_fn.next_functions
    assert (first.name().endswith("AccumulateGrad"), index, second) == (True, 0, (None, 0))
    assert first.variable is x


def test_attributes_of_ctx_are_those_of_grad_fn(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mine = "mine"
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(torch)
    node = make(torch, forward, lambda ctx, g: g if ctx.mine else None).apply(x).grad_fn
    assert node.mine == "mine"
    assert node.needs_input_grad == (True,)
    assert node.saved_tensors[0] is x
    with pytest.raises(AttributeError):
        _ = node.other


def test_forward_runs_without_recording_on_the_tensors_themselves(torch: Any) -> None:
    x = leaf(torch)
    seen = []

    def forward(ctx: Any, a: Any) -> Any:
        seen.append((torch.is_grad_enabled(), a is x, a.requires_grad, (a * 2).requires_grad))
        return a * 2

    y = make(torch, forward, lambda ctx, g: g).apply(x)
    assert seen == [(False, True, True, False)]
    assert y.requires_grad
    assert torch.is_grad_enabled()


def test_needs_input_grad(torch: Any) -> None:
    seen = []

    def forward(ctx: Any, *args: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return args[0] * 2

    f = make(torch, forward, lambda ctx, g: (g, None, None))
    f.apply(leaf(torch), torch.tensor([1.0]), "text")
    with torch.no_grad():
        assert not f.apply(leaf(torch)).requires_grad
    assert not f.apply(torch.tensor([1.0])).requires_grad
    assert seen == [(True, False, False), (True,), (False,)]


# fact 29 ------------------------------------------------------------------------------------------------------------


def test_outputs_that_are_no_tensors_pass_through_and_have_a_slot(torch: Any, numbers: Any) -> None:
    seen = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append([None if g is None else numbers(g).tolist() for g in grads])
        return grads[3]

    x = leaf(torch)
    out = make(torch, lambda ctx, a: ("text", 3, None, a * 2), backward).apply(x)
    assert out[:3] == ("text", 3, None)
    out[3].sum().backward()
    assert seen == [[None, None, None, [1.0, 1.0]]]


def test_a_list_is_no_tuple_of_outputs(torch: Any) -> None:
    out = make(torch, lambda ctx, a: [a * 2], lambda ctx, g: g).apply(leaf(torch))
    assert type(out) is list
    assert not out[0].requires_grad


def test_a_tuple_of_one_and_of_none(torch: Any) -> None:
    (out,) = make(torch, lambda ctx, a: (a * 2,), lambda ctx, g: g).apply(leaf(torch))
    assert out.requires_grad
    assert make(torch, lambda ctx, a: (), lambda ctx: None).apply(leaf(torch)) == ()


def test_tensors_inside_containers_are_not_followed(torch: Any) -> None:
    assert not make(torch, lambda ctx, a: a[0] * 2, lambda ctx, g: g).apply((leaf(torch),)).requires_grad


# fact 30 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("materialize", [True, False])
def test_undefined_gradients(torch: Any, numbers: Any, materialize: bool) -> None:
    seen = []

    def forward(ctx: Any, a: Any) -> Any:
        ctx.set_materialize_grads(materialize)
        return a * 2, a * 3

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append((g is None, h is None))
        if g is not None:
            assert numbers(g).tolist() == [0.0, 0.0]
        return h * 3

    x = leaf(torch)
    make(torch, forward, backward).apply(x)[1].sum().backward()
    assert seen == [(not materialize, False)]
    assert numbers(x.grad).tolist() == [3.0, 3.0]


def test_trailing_surplus_nones_are_tolerated(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    double(torch, lambda ctx, g: (g * 2, None, None)).apply(x).sum().backward()
    assert numbers(x.grad).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("count", [1, 3])
def test_a_wrong_number_of_gradients(torch: Any, count: int) -> None:
    x = leaf(torch)
    y = make(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g,) * count).apply(x, x)
    with pytest.raises(RuntimeError, match=rf"incorrect number of gradients \(expected 2, got {count}\)"):
        y.sum().backward()


def test_a_wrong_shape(torch: Any) -> None:
    y = double(torch, lambda ctx, g: torch.tensor([1.0, 2.0, 3.0])).apply(leaf(torch))
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0.*expected shape"):
        y.sum().backward()


def test_a_gradient_of_a_shape_that_was_broadcast_is_summed(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    double(torch, lambda ctx, g: torch.tensor([[1.0, 2.0], [10.0, 20.0]])).apply(x).sum().backward()
    assert numbers(x.grad).tolist() == [11.0, 22.0]


def test_one_number_is_no_gradient_of_an_array(torch: Any) -> None:
    y = double(torch, lambda ctx, g: g.sum()).apply(leaf(torch))
    with pytest.raises(RuntimeError, match="expected shape"):
        y.sum().backward()


@pytest.mark.parametrize("wrong", [2.0, "text", [1.0, 2.0]])
def test_a_gradient_of_another_type(torch: Any, wrong: Any) -> None:
    y = double(torch, lambda ctx, g: wrong).apply(leaf(torch))
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got "):
        y.sum().backward()


def test_a_gradient_for_what_is_no_tensor(torch: Any) -> None:
    y = make(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g, g)).apply(leaf(torch), 2.0)
    with pytest.raises(RuntimeError, match="returned a gradient different than None at position 2"):
        y.sum().backward()


def test_a_gradient_for_what_does_not_require_one_is_dropped(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    make(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g, g)).apply(x, torch.tensor([1.0, 2.0])).sum().backward()
    assert numbers(x.grad).tolist() == [1.0, 1.0]


def test_no_gradient_at_all(torch: Any) -> None:
    x = leaf(torch)
    double(torch, lambda ctx, g: None).apply(x).sum().backward()
    assert x.grad is None


def test_a_gradient_of_another_dtype_is_cast(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    double(torch, lambda ctx, g: torch.tensor([1, 2])).apply(x).sum().backward()
    assert x.grad.dtype == x.dtype
    assert numbers(x.grad).tolist() == [1.0, 2.0]


def test_a_complex_gradient_of_a_real_input(torch: Any) -> None:
    y = double(torch, lambda ctx, g: g * torch.tensor([1j, 2j])).apply(leaf(torch))
    with pytest.raises(RuntimeError):
        y.sum().backward()


# fact 31 ------------------------------------------------------------------------------------------------------------


def dirty(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    x.add_(1)
    return x


def test_a_dirty_input_is_the_output_with_another_history(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    z = x * 3
    before = z._version
    y = make(torch, dirty, lambda ctx, g: g * 5).apply(z)
    assert y is z
    assert z.grad_fn.name() == "FBackward"
    assert z._version > before
    z.sum().backward()
    assert numbers(z).tolist() == [4.0, 7.0]
    assert numbers(x.grad).tolist() == [15.0, 15.0]


def test_a_dirty_view_changes_the_history_of_its_base(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    z = x * 1
    view = z[:1]
    assert make(torch, dirty, lambda ctx, g: g * 3).apply(view) is view
    assert z.grad_fn.name().endswith("CopySlices")
    z.sum().backward()
    assert numbers(x.grad).tolist() == [3.0, 1.0]


def test_a_dirty_leaf(torch: Any) -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        make(torch, dirty, lambda ctx, g: g).apply(leaf(torch))


def test_dirty_and_not_returned(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 1

    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned"):
        make(torch, forward, lambda ctx, g: g).apply(leaf(torch) * 1)


def test_dirty_and_no_input(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 1
        ctx.mark_dirty(y)
        return y

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        make(torch, forward, lambda ctx, g: g).apply(leaf(torch))


def test_what_was_saved_and_then_made_dirty(torch: Any) -> None:
    x = leaf(torch) * 1
    y = square(torch).apply(x)
    make(torch, dirty, lambda ctx, g: g).apply(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# fact 32 ------------------------------------------------------------------------------------------------------------


def test_missing_forward(torch: Any) -> None:
    with pytest.raises(NotImplementedError, match="must implement the forward"):
        type("F", (torch.autograd.Function,), {}).apply(leaf(torch))


def test_missing_backward(torch: Any) -> None:
    y = make(torch, lambda ctx, x: x * 1).apply(leaf(torch))
    with pytest.raises(RuntimeError, match="must implement either the backward"):  # a NotImplementedError, which is one
        y.sum().backward()


def test_vjp_is_another_name_of_backward(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    make(torch, lambda ctx, a: a * 1, vjp=lambda ctx, g: g * 3).apply(x).sum().backward()
    assert numbers(x.grad).tolist() == [3.0, 3.0]


def test_backward_and_vjp(torch: Any) -> None:
    y = double(torch, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(leaf(torch))
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        y.sum().backward()


def test_instances_are_of_no_use(torch: Any) -> None:
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = square(torch)()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method"):
        made(leaf(torch))


def test_jvp_and_vmap_may_be_defined(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    f = double(torch, lambda ctx, g: g * 2, jvp=lambda ctx, t: t * 2, vmap=lambda info, dims, a: (a * 2, dims[0]))
    f.apply(x).sum().backward()
    assert numbers(x.grad).tolist() == [2.0, 2.0]


# fact 33 ------------------------------------------------------------------------------------------------------------


def test_setup_context_sees_defaults(torch: Any, numbers: Any) -> None:
    seen = []

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((inputs[1:], numbers(output).tolist(), torch.is_grad_enabled()))
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    f = make(
        torch,
        lambda x, k=3, name="n": x * x * k,
        lambda ctx, g: (g * 2 * ctx.saved_tensors[0] * ctx.k, None, None),
        setup_context=setup_context,
    )
    x = leaf(torch)
    f.apply(x).sum().backward()
    f.apply(x, name="m")
    assert seen == [((3, "n"), [3.0, 12.0], False), ((3, "m"), [3.0, 12.0], False)]
    assert numbers(x.grad).tolist() == [6.0, 12.0]


def once(torch: Any, seen: list[Any]) -> Any:
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        seen.append((torch.is_grad_enabled(), g.requires_grad))
        return g * 2

    return double(torch, backward)


def test_once_differentiable_runs_without_recording(torch: Any, numbers: Any) -> None:
    seen: list[Any] = []
    x = leaf(torch)
    (g,) = torch.autograd.grad(once(torch, seen).apply(x).sum(), x, create_graph=True)
    assert numbers(g).tolist() == [2.0, 2.0]
    assert [mode for mode, _ in seen] == [False]


def test_once_differentiable_refuses_a_second_derivative(torch: Any) -> None:
    x = leaf(torch)
    y = once(torch, []).apply(x)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    assert g.requires_grad
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()


# fact 34 ------------------------------------------------------------------------------------------------------------


def test_double_backward_reconnects_inputs(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = square(torch).apply(x * 3)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert numbers(g).tolist() == [18.0, 36.0]
    assert numbers(h).tolist() == [18.0, 18.0]


def exp(torch: Any, several: bool = False) -> Any:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return (x * 1, y) if several else y

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            (y,) = ctx.saved_tensors
            return grads[-1] * y + (grads[0] if several else 0)

    return Exp


@pytest.mark.parametrize("several", [False, True])
def test_double_backward_reconnects_outputs(torch: Any, numbers: Any, several: bool) -> None:
    x = leaf(torch)
    y = exp(torch, several).apply(x)
    y = y[1] if several else y
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    (i,) = torch.autograd.grad(h.sum(), x)
    for found in (g, h, i):
        np.testing.assert_allclose(numbers(found), np.exp([1.0, 2.0]), rtol=1e-15)


@pytest.mark.parametrize("several", [False, True])
def test_saving_an_output_makes_no_cycle(torch: Any, several: bool) -> None:
    gc.disable()
    try:
        x = leaf(torch)
        y = exp(torch, several).apply(x)
        y = y[1] if several else y
        tensor = weakref.ref(y)
        del y
        assert tensor() is None
        y = exp(torch).apply(x)
        y.sum().backward()
        tensor = weakref.ref(y)
        del y
        assert tensor() is None
    finally:
        gc.enable()


# fact 36, and the version check -------------------------------------------------------------------------------------


def test_saved_tensors_after_freeing(torch: Any) -> None:
    y = square(torch).apply(leaf(torch))
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.sum().backward()


def test_a_function_that_saves_nothing_runs_twice(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = double(torch, lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    y.sum().backward()
    assert numbers(x.grad).tolist() == [4.0, 4.0]


def test_retain_graph(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = square(torch).apply(x)
    y.sum().backward(retain_graph=True)
    assert numbers(y.grad_fn.saved_tensors[0]).tolist() == [1.0, 2.0]
    y.sum().backward()
    assert numbers(x.grad).tolist() == [4.0, 8.0]


def test_a_saved_input_that_was_written(torch: Any) -> None:
    z = leaf(torch) * 1
    y = square(torch).apply(z)
    with torch.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*is at version 1; expected version 0"):
        y.sum().backward()


def test_a_saved_output_that_was_written(torch: Any) -> None:
    y = exp(torch).apply(leaf(torch))
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saving_none_and_what_cannot_be_saved(torch: Any) -> None:
    seen = []

    def forward(ctx: Any, x: Any) -> Any:
        assert ctx.saved_tensors == ()
        ctx.save_for_backward(None, x)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append([t is None for t in ctx.saved_tensors])
        return g

    make(torch, forward, backward).apply(leaf(torch)).sum().backward()
    assert seen == [[True, False]]

    def wrong(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, 3)
        return x * 2

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        make(torch, wrong, backward).apply(leaf(torch))


def test_the_last_save_for_backward_counts_and_save_for_forward_keeps_its_own(torch: Any, numbers: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_backward(x * 3)
        ctx.save_for_forward(x)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        (saved,) = ctx.saved_tensors
        return g * saved

    x = leaf(torch)
    make(torch, forward, backward).apply(x).sum().backward()
    assert numbers(x.grad).tolist() == [3.0, 6.0]


def test_saved_tensors_hooks(torch: Any, numbers: Any) -> None:
    packed, unpacked = [], []

    def pack(t: Any) -> Any:
        packed.append(numbers(t).tolist())
        return t * 10

    def unpack(t: Any) -> Any:
        unpacked.append(1)
        return t

    x = leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = square(torch).apply(x)
    assert (packed, unpacked) == ([[1.0, 2.0]], [])
    y.backward(torch.tensor([1.0, 1.0]), retain_graph=True)
    y.backward(torch.tensor([1.0, 1.0]))
    assert len(unpacked) == 2
    assert numbers(x.grad).tolist() == [40.0, 80.0]


def test_unpack_must_give_a_tensor(torch: Any) -> None:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: "packed", lambda t: t):
        y = exp(torch).apply(leaf(torch))
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.sum().backward()


def test_grad_fn_is_a_node_with_hooks(torch: Any, numbers: Any) -> None:
    y = square(torch).apply(leaf(torch))
    assert isinstance(y.grad_fn, torch.autograd.graph.Node)
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 100,))
    x = y.grad_fn.next_functions[0][0].variable
    y.sum().backward()
    assert numbers(x.grad).tolist() == [200.0, 400.0]


# outputs ------------------------------------------------------------------------------------------------------------


def test_integers_carry_no_gradient(torch: Any, numbers: Any) -> None:
    seen = []

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append(numbers(h).tolist())
        return g

    x = leaf(torch)
    y, n = make(torch, lambda ctx, a: (a * 1, a.argmax()), backward).apply(x)
    assert (y.requires_grad, n.requires_grad) == (True, False)
    y.sum().backward()
    assert seen == [0]


def test_mark_non_differentiable(torch: Any, numbers: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 3
        ctx.mark_non_differentiable(y)
        return x * 2, y

    seen = []

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append(numbers(h).tolist())
        return g * 2

    x = leaf(torch)
    y, z = make(torch, forward, backward).apply(x)
    assert (y.requires_grad, z.requires_grad, z.grad_fn) == (True, False, None)
    y.sum().backward()
    assert seen == [[0.0, 0.0]]


def test_an_input_returned_as_it_is(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y = make(torch, lambda ctx, a: a, lambda ctx, g: g * 2).apply(x)
    assert y is not x
    assert (y._is_view(), y._base is x, y.grad_fn.name()) == (True, True, "FBackward")
    y.sum().backward()
    assert numbers(x.grad).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("part", [lambda a: a, lambda a: a[:1]])
def test_outputs_on_the_memory_of_an_input_cannot_be_written(torch: Any, part: Any) -> None:
    y = make(torch, lambda ctx, a: part(a), lambda ctx, g: g * 2).apply(leaf(torch) * 1)
    with pytest.raises(RuntimeError, match=r"Output 0 of F.* is a view and is being modified inplace"):
        y.add_(1)


def test_the_input_of_such_an_output_was_written(torch: Any) -> None:
    x = leaf(torch) * 1
    y = make(torch, lambda ctx, a: a, lambda ctx, g: g * 2).apply(x)
    x.add_(1)
    with pytest.raises(
        RuntimeError, match="is a view and its base or another view of its base has been modified inplace"
    ):
        _ = y.grad_fn


def test_other_outputs_can_be_written(torch: Any, numbers: Any) -> None:
    x = leaf(torch)
    y, _ = make(torch, lambda ctx, a: (a * 1, a * 2), lambda ctx, g, h: g * 5).apply(x)
    y.mul_(2)
    y.sum().backward()
    assert numbers(x.grad).tolist() == [10.0, 10.0]


def test_the_same_output_twice_is_one_object(torch: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    one, two = make(torch, forward, lambda ctx, g, h: g + h).apply(leaf(torch))
    assert one is two


def test_keyword_arguments_have_gradients_too(torch: Any, numbers: Any) -> None:
    x, w = leaf(torch), leaf(torch)
    make(torch, lambda ctx, a, b=None: a * b, lambda ctx, g: (g, g * 7)).apply(x, b=w).sum().backward()
    assert (numbers(x.grad).tolist(), numbers(w.grad).tolist()) == ([1.0, 1.0], [7.0, 7.0])


# the engine ---------------------------------------------------------------------------------------------------------


def test_functions_within_functions(torch: Any, numbers: Any) -> None:
    inner = square(torch)
    x = leaf(torch)

    def forward(ctx: Any, a: Any) -> Any:
        with torch.enable_grad():
            ctx.inside = a.detach().requires_grad_()
            ctx.out = inner.apply(ctx.inside) * 2
        return ctx.out.detach()

    def backward(ctx: Any, g: Any) -> Any:
        return torch.autograd.grad(ctx.out, ctx.inside, g)[0]

    make(torch, forward, backward).apply(x).sum().backward()
    assert numbers(x.grad).tolist() == [4.0, 8.0]


def test_reentrant_backward(torch: Any, numbers: Any) -> None:
    w = leaf(torch)

    def backward(ctx: Any, g: Any) -> Any:
        with torch.enable_grad():
            (w * w).sum().backward()
        assert not torch.is_grad_enabled()
        return g * 2

    x = leaf(torch)
    double(torch, backward).apply(x).sum().backward()
    assert numbers(w.grad).tolist() == [2.0, 4.0]
    assert numbers(x.grad).tolist() == [2.0, 2.0]


def test_exceptions_come_out_unchanged(torch: Any) -> None:
    class Mine(Exception):
        pass

    def fail(*args: Any) -> Any:
        raise Mine("mine")

    with pytest.raises(Mine, match="mine"):
        make(torch, fail, fail).apply(leaf(torch))
    assert torch.is_grad_enabled()
    y = double(torch, fail).apply(leaf(torch))
    with pytest.raises(Mine, match="mine"):
        y.sum().backward()


def test_hooks_on_outputs_and_inputs(torch: Any, numbers: Any) -> None:
    order = []
    x = leaf(torch)
    x.register_hook(lambda g: order.append("x"))
    y = double(torch, lambda ctx, g: (order.append("backward"), g * 2)[1]).apply(x)
    y.register_hook(lambda g: (order.append("y"), g * 10)[1])
    y.sum().backward()
    assert order == ["y", "backward", "x"]
    assert numbers(x.grad).tolist() == [20.0, 20.0]


def test_retain_grad_of_an_output(torch: Any, numbers: Any) -> None:
    y = square(torch).apply(leaf(torch))
    y.retain_grad()
    (y * 3).sum().backward()
    assert numbers(y.grad).tolist() == [3.0, 3.0]


def test_complex_gradients_follow_one_convention(torch: Any, numbers: Any) -> None:
    seen = []

    def forward(ctx: Any, z: Any) -> Any:
        ctx.save_for_backward(z)
        return z * z

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(g)
        return g * (2 * ctx.saved_tensors[0]).conj()

    z, w = leaf(torch, 1 + 2j, 3 - 1j), leaf(torch, 1 + 2j, 3 - 1j)
    seed = torch.tensor([1 + 1j, 2 - 3j])
    make(torch, forward, backward).apply(z).backward(seed)
    (w * w).backward(seed)

    def parts(t: Any) -> Any:
        return [complex(v) for v in t.detach().tolist()]

    assert parts(seen[0]) == [1 + 1j, 2 - 3j]
    assert parts(z.grad) == parts(w.grad)


def test_a_gradient_may_be_changed_in_place_by_backward(torch: Any, numbers: Any) -> None:
    def backward(ctx: Any, g: Any) -> Any:
        g = g.clone()
        g[g < 2] = 0.0
        return g

    x = leaf(torch)
    (double(torch, backward).apply(x) * torch.tensor([1.0, 5.0])).sum().backward()
    assert numbers(x.grad).tolist() == [0.0, 5.0]


def test_gradients_with_respect_to_one_input_only(torch: Any, numbers: Any) -> None:
    x, w = leaf(torch), leaf(torch)
    y = make(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g * 2, g * 3)).apply(x, w)
    (g,) = torch.autograd.grad(y.sum(), w)
    assert numbers(g).tolist() == [3.0, 3.0]
    assert x.grad is None


def test_subclasses_of_functions(torch: Any, numbers: Any) -> None:
    class Triple(square(torch)):  # type: ignore[misc]
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

    x = leaf(torch)
    y = Triple.apply(x)
    y.sum().backward()
    assert y.grad_fn.name() == "TripleBackward"
    assert numbers(x.grad).tolist() == [3.0, 3.0]


def test_none_of_it_warns(torch: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        square(torch).apply(leaf(torch)).sum().backward()
