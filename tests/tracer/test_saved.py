"""Saved-tensor hooks where gradscribe goes beyond PyTorch: files, transforms, memory that comes back changed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from checks import Case, cases, weights_for
from programs import leaf


def test_saved_memory_that_comes_back_changed_is_an_error() -> None:
    for hooks in (gs.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t), gs.autograd.graph.save_on_cpu()):
        y = leaf([1.0, 2.0]) * 1
        with hooks:
            z = (y * y).sum()
        y.mul_(3)
        with pytest.raises(gs.AutogradError, match="has been modified by an inplace operation"):
            z.backward()
    y = leaf([1.0, 2.0]) * 1
    y.retain_grad()
    with gs.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        z = (y * y).sum()
    held = y.grad_fn
    y.mul_(3)
    (g,) = gs.autograd.grad(z, gs.autograd.graph.GradientEdge(held, 0))
    assert g.tolist() == [2.0, 4.0]


def test_save_on_disk(tmp_path: Path) -> None:
    x = leaf([1.0, 2.0])
    with gs.autograd.graph.save_on_disk(tmp_path):
        y = np.exp(x * x)
        z = np.exp(leaf(2.0))
    (folder,) = tmp_path.iterdir()
    assert len(list(folder.iterdir())) == 4
    y.mul_(100)  # what is on disk stays
    y.sum().backward(retain_graph=True)
    (g,) = gs.autograd.grad(y.sum(), x, create_graph=True)
    assert np.allclose(x.grad.numpy(), 200 * np.array([1.0, 2.0]) * np.exp([1.0, 4.0]))
    assert np.allclose(g.detach().numpy(), x.grad.numpy())
    del g
    y.sum().backward()
    assert len(list(folder.iterdir())) == 1
    z.backward()
    assert list(tmp_path.iterdir()) == []


def test_files_go_with_a_graph_that_never_runs(tmp_path: Path) -> None:
    hooks = gs.autograd.graph.save_on_disk(tmp_path)
    x = leaf([1.0, 2.0])
    with hooks:
        y = x * x
        with hooks:
            z = y * y
    assert len(list(tmp_path.iterdir())) == 2
    del z
    assert len(list(tmp_path.iterdir())) == 1
    del y
    assert list(tmp_path.iterdir()) == []


def test_save_on_disk_in_the_systems_folder() -> None:
    x = leaf([1.0, 2.0])
    with gs.autograd.graph.save_on_disk():
        y = x * x
    path = y.grad_fn.saved[0].made.path
    assert Path(path).exists()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert not Path(path).parent.exists()


def test_hooks_inside_a_transform_pack_its_values() -> None:
    packed: list[Any] = []

    def f(x: Any) -> Any:
        with gs.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t, lambda t: t):
            return np.sum(np.exp(x))

    assert np.allclose(gs.grad(f)(np.array([0.0, 1.0])), np.exp([0.0, 1.0]))
    assert packed == [np.exp([0.0, 1.0]).tolist()]


def test_hooks_of_sequences_and_of_several_results() -> None:
    count = [0, 0]

    def pack(t: Any) -> Any:
        count[0] += 1
        return t.tolist()

    def unpack(made: Any) -> Any:
        count[1] += 1
        return gs.tensor(made)

    a, b = leaf([[2.0, 1.0], [1.0, 3.0]]), leaf([[1.0, 0.0], [2.0, 1.0]])
    with gs.autograd.graph.saved_tensors_hooks(pack, unpack):
        w, v = np.linalg.eigh(a)
        product = np.linalg.multi_dot([a, b, a])
        loss = (w * w).sum() + (v * v).sum() + product.sum()
    assert count[0] >= 5
    loss.backward()
    found = a.grad.numpy().copy(), b.grad.numpy().copy()
    a, b = leaf(a.tolist()), leaf(b.tolist())
    w, v = np.linalg.eigh(a)
    ((w * w).sum() + (v * v).sum() + np.linalg.multi_dot([a, b, a]).sum()).backward()
    assert count[0] == count[1]
    assert np.allclose(found[0], a.grad.numpy())
    assert np.allclose(found[1], b.grad.numpy())


def test_saved_tensor_hooks_belong_to_the_thread() -> None:
    packed: list[Any] = []
    x = leaf([1.0, 2.0])
    with gs.autograd.graph.saved_tensors_hooks(packed.append, lambda t: t):
        thread = threading.Thread(target=lambda: x * x)
        thread.start()
        thread.join()
    assert packed == []


def within(hooks: Any, f: Any) -> Any:
    def hooked(x: Any) -> Any:
        with hooks():
            return f(x)

    return hooked


def identity(f: Any) -> Any:
    return within(lambda: gs.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t), f)


def on_cpu(f: Any) -> Any:
    return within(gs.autograd.graph.save_on_cpu, f)


def checkpointed(f: Any) -> Any:
    return lambda x: gs.checkpoint(f, x)


WEIGHTS = np.arange(9.0).reshape(3, 3) + 1.0
INDICES = ([0, 2], [0, 0], [True, False, True], ([0, 2], 1), (slice(1, None), [0, 2]), [[0, 2], [1, 1]], [], [-1])


@pytest.mark.parametrize("keeps", [identity, on_cpu, checkpointed])
@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("through", ["a read", "a write", "a sum"])
def test_an_index_that_is_a_list_stays_one_where_values_are_packed(keeps: Any, index: Any, through: str) -> None:
    def f(x: Any) -> Any:
        y = x * x
        if through == "a read":
            return np.sum((y * WEIGHTS)[index] ** 2)
        o = y * 0.5
        if through == "a write":
            o[index] = y[0, 0] * 3.0
        else:
            o[index] += y[0, 1]
        return np.sum(o * WEIGHTS)

    x = np.linspace(0.5, 1.5, 9).reshape(3, 3)
    np.testing.assert_array_equal(gs.grad(keeps(f))(x), gs.grad(f)(x))


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [identity, checkpointed])
@pytest.mark.parametrize("case", [c for c in cases() if c.sample.differentiable], ids=lambda case: case.label)
def test_every_op_has_the_same_gradient_where_values_are_packed(keeps: Any, case: Case) -> None:
    rng = case.generator()
    xs = case.sample.draw(rng, case.shapes)
    out = case.function()(*[x.copy() for x in xs])
    loss, w = case.loss(np.asarray(out).dtype.kind == "c"), weights_for(rng, out)

    def kept(*args: Any) -> Any:
        return keeps(lambda args: loss(*args, w))(args)

    places = tuple(range(len(xs)))
    for found, expected in zip(gs.grad(kept, places)(*xs), gs.grad(loss, places)(*xs, w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
