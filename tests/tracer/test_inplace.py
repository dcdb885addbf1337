"""Writes in place that PyTorch has no equal of: `out=`, NumPy's own writers, and what they leave behind in memory."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.tracer.core.versions import COUNTERS

from programs import leaf, no_collector

A = np.array([0.7, 1.9, -2.2, 3.1])


def gradient(f: Callable[[Any], Any], at: Any) -> Any:
    found = np.zeros_like(at)
    for k in range(at.size):
        step = np.zeros_like(at)
        step[k] = 1e-6
        found[k] = (f(at + step) - f(at - step)) / 2e-6
    return found


# out= and NumPy's writers -------------------------------------------------------------------------


def out_of_a_ufunc(x: Any, y: Any) -> None:
    np.multiply(x, y, out=y)


def out_with_where(x: Any, y: Any) -> None:
    np.add(x, y, out=y, where=np.array([True, False, True, False]))


def out_of_a_reduction(x: Any, y: Any) -> None:
    np.sum(x * x, out=y[:1].reshape(()))


def out_of_cumsum(x: Any, y: Any) -> None:
    np.cumsum(x * 3, out=y)


def out_of_clip(x: Any, y: Any) -> None:
    np.clip(x * 1, -1, 2, out=y)


def copyto(x: Any, y: Any) -> None:
    np.copyto(y, x[::-1])


def copyto_where(x: Any, y: Any) -> None:
    np.copyto(y, x * x, where=np.array([True, False, False, True]))


def put(x: Any, y: Any) -> None:
    np.put(y, [0, 3], x[1:3] * 2)


def putmask(x: Any, y: Any) -> None:
    np.putmask(y, np.array([False, True, True, False]), x * 3)


def add_at(x: Any, y: Any) -> None:
    np.add.at(y, [0, 0, 2], x[:3])


def subtract_at(x: Any, y: Any) -> None:
    np.subtract.at(y, [1, 1], x[:2])


def fill_diagonal(x: Any, y: Any) -> None:
    np.fill_diagonal(y.reshape(2, 2), x[0])


def sort(x: Any, y: Any) -> None:
    y.sort()


def fill(x: Any, y: Any) -> None:
    y[1:].fill(x[0])


WRITERS = [
    out_of_a_ufunc, out_with_where, out_of_a_reduction, out_of_cumsum, out_of_clip, copyto, copyto_where, put, putmask,
    add_at, subtract_at, fill_diagonal, sort, fill,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS, ids=lambda w: w.__name__)
def test_numpys_writers_on_bare_tensors(write: Callable[[Any, Any], None]) -> None:
    def plain(x: Any) -> float:
        y = x * 2
        write(x, y)
        return float(np.sum(y * np.array([1.0, -2.0, 3.0, 5.0])))

    x = leaf(A)
    y = x * 2
    memory = y.detach()
    write(x, y)
    assert y._version == 1
    out = (y * np.array([1.0, -2.0, 3.0, 5.0])).sum()
    assert np.shares_memory(memory.numpy(), y.detach().numpy())
    assert memory.tolist() == y.tolist()
    assert out.item() == plain(A)
    out.backward()
    np.testing.assert_allclose(x.grad.numpy(), gradient(plain, A), rtol=1e-6, atol=1e-8)


def test_out_gives_the_tensor_itself() -> None:
    y = leaf(A) * 1
    assert np.exp(y, out=y) is y
    z = gs.tensor(np.zeros(4))
    assert np.add(leaf(A), 1.0, out=z) is z
    assert z.requires_grad
    assert z.grad_fn.name() == "AddBackward0"


def test_out_is_a_write_with_all_its_rules() -> None:
    x = leaf(A)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        np.add(x, 1.0, out=x)
    h = x * 1
    y = h * h
    np.add(h, 1.0, out=h)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with gs.no_grad():
        view = h[:2]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        np.add(view, 1.0, out=view)


def test_numpy_writes_into_plain_tensors_by_augmented_assignment_of_arrays() -> None:
    a = np.ones(4)
    t = gs.tensor(A)
    a += t
    np.testing.assert_array_equal(a, A + 1)


# Errors -------------------------------------------------------------------------------------------


def test_read_only_memory_says_so() -> None:
    t = gs.tensor(A)
    t.detach().numpy().flags.writeable = False
    for write in (lambda: t.add_(1), lambda: operator.setitem(t, 0, 1.0), lambda: t.fill_(0.0)):
        with pytest.raises(ValueError, match=r"read-only.*x.clone\(\)"):
            write()
    with pytest.raises(ValueError, match="read-only"):
        np.diagonal(gs.tensor(np.eye(3))).add_(1)


def test_the_error_names_the_ops() -> None:
    x = leaf(A)
    h = np.tanh(x)
    y = h * 2 * h
    h += 1
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    text = str(caught.value)
    for words in ("float64[4]", "output 0 of TanhBackward0", "at version 1; expected version 0", "MulBackward0", "x += y",
                  "detect_anomaly", "x.clone()"):  # fmt: skip
        assert words in text, words


def test_in_anomaly_mode_the_error_names_both_lines() -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = gs.autograd.detect_anomaly()
    with mode:
        h = leaf(A) * 1
        y = h * h  # saved here
        h.add_(1)  # changed here
    source = Path(__file__).read_text().splitlines()
    saved, changed = (
        1 + next(k for k, line in enumerate(source) if line.endswith(f"# {w} here")) for w in ("saved", "changed")
    )
    with pytest.raises(
        RuntimeError, match=rf"(?s)saved it at test_inplace.py:{saved}.*add_.*changed it at test_inplace.py:{changed}"
    ):
        y.sum().backward()


def test_after_many_writes_the_error_still_counts() -> None:
    h = leaf(A) * 1
    for _ in range(3000):
        h.add_(0)
    y = h * h
    for _ in range(5):
        h.add_(0)
    with pytest.raises(RuntimeError, match="is at version 3005; expected version 3000 instead"):
        y.sum().backward()


def test_a_write_that_fails_changes_nothing() -> None:
    x = leaf(A)
    y = x * 1
    node = y.grad_fn
    with pytest.raises(RuntimeError, match="doesn't match"):
        y += np.ones((2, 4))
    with pytest.raises(ValueError, match="broadcast"):
        y[:2] = x[:3]
    with pytest.raises(IndexError):
        y[9] = 1.0
    with pytest.raises(TypeError, match="same_kind"):
        y.mul_(1j)
    assert y._version == 0
    assert y.grad_fn is node
    np.testing.assert_array_equal(y.detach().numpy(), A)


def test_a_whole_number_result_ends_the_graph() -> None:
    y = leaf(A) * 1
    y //= 2
    assert not y.requires_grad
    assert y._version == 1


def test_writes_into_the_parts_of_a_complex_tensor_go_on_with_the_graph() -> None:
    x = leaf([1 + 2j, 3 - 1j])
    z = x * 1
    z.real.mul_(2)
    z.imag[1:] = 5.0
    (z * np.conj(z)).real.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [8 + 4j, 24])


# Memory -------------------------------------------------------------------------------------------


def test_a_program_without_writes_counts_nothing() -> None:
    before = len(COUNTERS)
    x = leaf(A)
    y = (np.sin(x)[1:] * x[:3].reshape(3, 1)).sum()
    y.backward()
    z = gs.tensor(3.0, requires_grad=True)
    (z * z).backward()
    assert len(COUNTERS) == before


def test_counters_go_with_the_memory() -> None:
    with no_collector():
        before = len(COUNTERS)
        x = leaf(A) * 1
        x.add_(1)
        x[1:].mul_(2)
        x.data.add_(1)
        s = x.sum()
        s.add_(1)
        assert len(COUNTERS) > before
        del x, s
        assert len(COUNTERS) == before


def test_views_and_writes_make_no_cycles() -> None:
    with no_collector():
        x = leaf(A)
        y = x * 1
        view = y[1:]
        flat = view.reshape(3, 1)
        view.mul_(2)
        y.add_(1)
        assert flat.requires_grad
        flat.mul_(y[0])
        out = (flat * view[0]).sum()
        refs = [weakref.ref(t) for t in (x, y, view, flat, out, out.grad_fn, y.grad_fn)]
        del x, y, view, flat, out
        assert [r() for r in refs] == [None] * len(refs)


def test_a_view_holds_only_its_base() -> None:
    with no_collector():
        y = leaf(A) * 1
        middle = y[1:]
        last = middle[1:]
        held = weakref.ref(middle)
        del middle
        assert held() is None
        last.mul_(2)
        np.testing.assert_array_equal(y.detach().numpy(), [0.7, 1.9, -4.4, 6.2])


def test_a_view_that_is_gone_costs_nothing_later() -> None:
    y = gs.tensor(np.zeros(4))
    for _ in range(1000):
        y[1:].add_(1)
    assert len(y._views) < 40
    assert y.tolist() == [0.0, 1000.0, 1000.0, 1000.0]


# Inside transforms NumPy's meaning holds ----------------------------------------------------------


def test_the_methods_work_under_grad() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y.add_(x).mul_(x)  # type: ignore[attr-defined]
        y[1:].clamp_(0, 12)
        return np.sum(y)

    np.testing.assert_allclose(gs.grad(f)(A), np.where([True, True, False, False], 6 * A, 0))


def test_real_parts_are_views_under_grad_too() -> None:
    def f(x: Any) -> Any:
        z = x * (1 + 1j)
        r = np.real(z)
        r[0] = 5.0
        return np.abs(np.sum(z))

    step = np.eye(A.size) * 1e-6
    np.testing.assert_allclose(gs.grad(f)(A), [(f(A + h) - f(A - h)) / 2e-6 for h in step], atol=1e-8)


def test_a_bare_tensor_written_between_calls_of_a_compiled_function() -> None:
    step = gs.compile(gs.grad(lambda w: np.sum(w * w)))
    w = gs.tensor(A)
    for _ in range(3):
        w -= 0.1 * step(w.numpy())
    np.testing.assert_allclose(w.numpy(), A * 0.8**3)


def slices(u: Any, v: Any) -> Any:
    a = 1.0 * u
    a[1:-1] += v * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    a[1:-1] -= np.sin(a[:-2])
    return np.sum(a**2)


def rows_of_a_table(u: Any, v: Any) -> Any:
    table = np.zeros((4, len(u)))
    for i in range(4):
        for j in range(4):
            if i != j:
                table[i] += v * np.cos(u * j)
                table[i] -= u
    return np.sum(np.exp(0.1 * table))


def numbers_and_wholes(u: Any, v: Any) -> Any:
    a = np.stack([u, u * v])
    a[0] += 2
    a[1] -= v
    a[..., 1:] += 0.5
    view = a[1]
    view += u
    return np.sum(a * view)


def several_names(u: Any, v: Any) -> Any:
    a = np.outer(u, u)
    row, same = a[0], a[0]
    row += v * u
    same -= u
    return np.sum(a[0] * row * same) + np.sum(a)


@pytest.mark.parametrize("f", [slices, rows_of_a_table, numbers_and_wholes, several_names])
def test_what_is_added_at_a_place_of_an_array_has_its_gradient(f: Any) -> None:
    u, v = np.linspace(0.3, 1.2, 6), np.float64(0.7)
    slopes = gs.grad(f, argnums=(0, 1))
    found = slopes(u, v)
    for k, step in enumerate(np.eye(6) * 1e-6):
        assert abs((f(u + step, v) - f(u - step, v)) / 2e-6 - found[0][k]) < 1e-5
    assert abs((f(u, v + 1e-6) - f(u, v - 1e-6)) / 2e-6 - found[1]) < 1e-5
    compiled = gs.compile(slopes, verify="first calls")(u, v)
    assert [a.tobytes() for a in compiled] == [a.tobytes() for a in found]
    again = gs.hessian(f)(u, v)
    for k, step in enumerate(np.eye(6) * 1e-5):
        change = (gs.grad(f)(u + step, v) - gs.grad(f)(u - step, v)) / 2e-5
        np.testing.assert_allclose(again[k], change, rtol=1e-6, atol=1e-6)


def test_the_cotangent_of_what_is_added_to_is_not_copied() -> None:
    text = str(gs.source(gs.grad(slices), np.linspace(0.3, 1.2, 6), np.float64(0.7)))
    assert "= 0.0" not in text.partition("# backward")[2]
