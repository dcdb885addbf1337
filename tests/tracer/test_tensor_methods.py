"""Tensor's methods that PyTorch's tensors have: the table covers them, NumPy's names mean what NumPy means, compiled is eager."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.__main__ import main
from gradscribe.explorer import tensor_methods
from gradscribe.tracer.tensors import torch_methods

from house import ROOT
from method_cases import ARRAYS, DIFFERENTIATED, ELSEWHERE, IN_PLACE, NUMPY, TORCH, calls, evaluate, names_in, rows

PAGE = ROOT / "docs" / "tensor-methods.md"
TABLE = tensor_methods.rows()


def _names(call: str) -> list[str]:
    return [k for k in ARRAYS if re.search(rf"\b{k}\b", call)]


def _array(found: Any) -> Any:
    return np.asarray(found.detach().numpy() if isinstance(found, gs.Tensor) else found)


# The table ----------------------------------------------------------------------------------------


def test_the_table_says_what_is_there() -> None:
    assert len(TABLE) == len({row.name for row in TABLE}) > 450
    for row in TABLE:
        assert hasattr(gs.Tensor, row.name) == (row.state != "absent"), row.name
        assert not row.in_place or hasattr(gs.Tensor, f"{row.name}_"), row.name
        assert (row.state == "NumPy's") == (row.state != "absent" and hasattr(np.ndarray, row.name)), row.name
        assert row.note or row.state != "absent", row.name
    assert sum(row.state != "absent" for row in TABLE) > 300
    assert {name for name in torch_methods.NOTES if not hasattr(gs.Tensor, name)} == set()


def test_every_method_of_the_table_is_tried() -> None:
    in_place = {call.partition("(")[0] for call in calls(IN_PLACE)}
    tried = names_in(NUMPY) | names_in(TORCH) | in_place | ELSEWHERE
    assert {row.name for row in TABLE if row.state != "absent"} - tried == set()


def test_the_page_and_the_command_say_what_the_table_says(capsys: pytest.CaptureFixture[str]) -> None:
    made = tensor_methods.markdown()
    assert PAGE.read_text(encoding="utf-8").strip() == made.strip(), (
        "write it anew: python -m gradscribe methods --markdown > docs/tensor-methods.md"
    )
    assert main(gs.__version__, ["methods"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(TABLE)


# What they mean -----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["bare", "under gs.grad"])
def test_names_of_ndarray_mean_what_numpy_means(where: str) -> None:
    for call in calls(NUMPY):
        given = {k: ARRAYS[k] for k in _names(call)}
        expected = evaluate(call, given)
        if where == "bare":
            found = evaluate(call, {k: gs.tensor(a, requires_grad=k in DIFFERENTIATED) for k, a in given.items()})
        else:
            kept: list[Any] = []

            def f(w: float, call: str = call, given: Any = given, kept: Any = kept) -> float:
                kept.extend(evaluate(call, {k: gs.tensor(a) for k, a in given.items()}))
                return w

            gs.grad(f)(1.0)
            found = kept
        assert len(found) == len(expected), call
        for a, b in zip(found, expected, strict=True):
            if not isinstance(b, (np.ndarray, np.generic)):
                assert a == b, call
                continue
            assert (_array(a).dtype, _array(a).shape) == (b.dtype, b.shape), call
            np.testing.assert_array_equal(_array(a), b, err_msg=call)


# Not of values, or they leave the compiler's sight, with a warning that says so.
NOT_COMPILED = ("dtype", "item(", "tolist", "x.shape", "x.size()", "storage_offset")
ROWS = [
    *rows(NUMPY), *rows(TORCH), *[" | ".join(f"written(x, lambda x: x.{c})" for c in calls(row)) for row in rows(IN_PLACE)]
]  # fmt: skip


def _written(x: Any, write: Any) -> Any:
    copied = x * 1
    assert write(copied) is copied
    return copied


def _compiled_is_eager(row: str) -> None:
    """All calls of a row in one function, and the gradient of a sum of what they give."""
    chosen = [call for call in calls(row) if not any(word in call for word in NOT_COMPILED)]
    names = _names(" ".join(chosen))
    space = {"written": _written}
    exec(f"def f({', '.join(names)}):\n    return [{', '.join(chosen)}]\n", space)
    f: Any = space["f"]

    def leaves(found: Any) -> list[Any]:
        return [e for v in found for e in leaves(v)] if isinstance(found, (list, tuple)) else [found]

    def loss(*args: Any) -> Any:
        floats = [v for v in leaves(f(*args)) if hasattr(v, "dtype") and v.dtype.kind == "f"]
        return sum([np.sum(v * np.cos(np.arange(v.size) + 1.0).reshape(v.shape)) for v in floats], 0.0)

    values = [ARRAYS[k] for k in names]
    bare = leaves(f(*[gs.tensor(v) for v in values]))
    compiled = gs.compile(f, verify="first calls")
    for _ in range(2):
        for a, b in zip(leaves(compiled(*values)), bare, strict=True):
            np.testing.assert_array_equal(a, _array(b), err_msg=row)
    by = tuple([k for k, name in enumerate(names) if name in DIFFERENTIATED and name != "z"])
    if by:
        slopes = gs.grad(loss, argnums=by)
        for a, b in zip(gs.compile(slopes, verify="first calls")(*values), slopes(*values), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=row)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("k", range(0, len(ROWS), 12))
def test_compiled_is_eager(k: int) -> None:
    _compiled_is_eager(ROWS[k])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("k", [k for k in range(len(ROWS)) if k % 12])
def test_compiled_is_eager_all_of_them(k: int) -> None:
    _compiled_is_eager(ROWS[k])


def test_pytorchs_words_and_forms_beside_numpys() -> None:
    t = gs.tensor(ARRAYS["x"])
    assert t.max(1).shape == (2,)
    values, indices = t.max(dim=1)
    assert (values.tolist(), indices.tolist()) == ([2.0, 3.0], [2, 0])
    assert t.max(1, keepdim=True).values.shape == (2, 1)
    assert t.sort() is None  # in place
    assert t.tolist() == np.sort(ARRAYS["x"]).tolist()
    assert t.sort(descending=True).values.tolist() == np.sort(ARRAYS["x"])[:, ::-1].tolist()
    assert t.std(dim=0).tolist() == t.std(0).tolist()
    with pytest.raises(ValueError, match="one"):
        t.squeeze(dim=0)
    with pytest.raises(TypeError, match="amax"):
        t.max(dim=(0, 1))


def test_a_gradient_goes_to_the_element_that_was_picked() -> None:
    x = gs.tensor([1.0, 3.0, 3.0], requires_grad=True)
    x.max(dim=0).values.backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]
    x.grad = None
    x.max().backward()
    assert x.grad.tolist() == [0.0, 0.5, 0.5]


# size ---------------------------------------------------------------------------------------------


def test_size_is_an_int_that_may_be_called() -> None:
    t = gs.zeros(2, 3, dtype=np.float32)
    assert (t.size, t.size(), t.size(0), t.size(-1), t.size + 1) == (6, (2, 3), 2, 3, 7)
    assert (type(t.size + 1), type(pickle.loads(pickle.dumps(t.size))), json.dumps(t.size)) == (int, int, "6")
    assert [0] * t.size == [0] * 6
    assert np.zeros(t.size).shape == np.zeros(6).shape
    kinds = [t / t.size, t.numpy() / t.size, np.float32(1) * t.size, np.where([True], t.numpy()[0, 0], t.size)]
    assert {k.dtype.name for k in kinds} == {"float32"}  # weak, as every int
    with pytest.raises(IndexError, match="Dimension out of range"):
        t.size(2)


def test_size_inside_transforms() -> None:
    def f(x: Any) -> Any:
        assert type(x.size) is int
        return np.sum(x * x.size(0)) / x.size + x.size()[1]

    found = gs.value_and_grad(f)(ARRAYS["x"])
    compiled = gs.compile(gs.value_and_grad(f), verify="first calls")
    for x in (ARRAYS["x"], ARRAYS["s"]):
        assert compiled(x)[0] == gs.value_and_grad(f)(x)[0] == f_of(x)
    np.testing.assert_array_equal(compiled(ARRAYS["x"])[1], found[1])
    assert "x.shape[0]" in compiled.source(ARRAYS["x"])


def f_of(x: Any) -> Any:
    return np.sum(x * x.shape[0]) / x.size + x.shape[1]


def test_a_size_that_is_handed_on_is_told_apart_by_its_shape() -> None:
    f = gs.compile(lambda x, n: x * n + n(0))
    assert [f(1.0, gs.zeros(2, 3).size), f(1.0, gs.zeros(3, 2).size), f(1.0, gs.zeros(2, 3).size)] == [8.0, 9.0, 8.0]


# Memory, dtypes -----------------------------------------------------------------------------------


def test_memory() -> None:
    t = gs.ones(2, 3)
    assert t.data_ptr() == t.detach().data_ptr() == t.data.data_ptr() == t.numpy().ctypes.data
    assert t.clone().data_ptr() != t.data_ptr()
    assert t[1].data_ptr() == t.data_ptr() + 24
    assert t[1].untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
    assert t[1].untyped_storage() == t.untyped_storage()
    assert t.untyped_storage().nbytes() == 48
    assert (t[1].storage_offset(), t.T.stride(), t.T.is_contiguous()) == (3, (1, 3), False)
    assert t.view(3, 2).data_ptr() == t.data_ptr()
    assert t.contiguous() is t
    bits = t.view(np.int64)
    bits[0, 0] = 0
    assert t[0, 0].item() == 0.0
    with pytest.raises(RuntimeError, match="no gradient"):
        gs.ones(2, requires_grad=True).view(np.int64)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        t.T.view(6)


def test_who_asks_for_memory_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * (x.data_ptr() == x.detach().data_ptr()))

    with pytest.warns(gs.EagerWarning, match="where a traced value lies in memory"):
        np.testing.assert_array_equal(gs.compile(gs.grad(f))(np.ones(2)), np.ones(2))


def test_dtypes() -> None:
    t = gs.tensor([1.5, 2.5])
    names = ("half", "float", "double", "int", "long", "short", "bool", "cfloat", "cdouble")
    assert [getattr(t, n)().dtype.name for n in names] == [
        "float16", "float32", "float64", "int32", "int64", "int16", "bool", "complex64", "complex128",
    ]  # fmt: skip
    assert t.double() is t.to("cpu") is t.to(np.float64) is t
    assert t.to(np.float64, copy=True) is not t
    assert t.to(gs.arange(2)).dtype == t.type(np.int64).dtype == np.int64
    assert (t.type(), t.device) == ("float64", "cpu")
    with pytest.raises(ValueError, match="'cpu'"):
        t.to("cuda")
    x = gs.tensor([1.0], requires_grad=True)
    (x.float() * 3).sum().backward()
    assert x.grad.dtype == np.float64
    assert x.numpy(force=True).tolist() == [1.0]


# Random numbers and constructors ------------------------------------------------------------------


def test_one_stream_for_all() -> None:
    assert gs.manual_seed(3) is gs.default_generator
    found = [
        gs.rand(2),
        gs.randn(3),
        gs.zeros(2).uniform_(),
        gs.randint(9, (4,)),
        gs.randperm(5),
        gs.normal(1.0, 2.0, (2,)),
    ]
    rng = np.random.default_rng(3)
    expected = [rng.random(2), rng.standard_normal(3), rng.uniform(size=2), rng.integers(0, 9, 4), rng.permutation(5)]
    for a, b in zip(found, [*expected, rng.normal(1.0, 2.0, 2)], strict=True):
        np.testing.assert_array_equal(_array(a), b)
    own = np.random.default_rng(4)
    assert gs.randn(2, generator=own).tolist() == np.random.default_rng(4).standard_normal(2).tolist()


def test_compiled_code_draws_from_the_same_stream() -> None:
    def f(x: Any) -> Any:
        t = gs.zeros(x.shape)
        t[0] = x[1]
        noise = gs.randn(x.shape) + gs.rand_like(x) + gs.default_generator.normal(size=3) + gs.zeros(3).normal_()
        return np.sum((t + gs.arange(3)) * noise * gs.ones_like(x) * x)

    x = np.array([1.0, 2.0, 3.0])
    eager, compiled = gs.value_and_grad(f), gs.compile(gs.value_and_grad(f), verify="first calls")
    gs.manual_seed(0)
    expected = [eager(x) for _ in range(3)]
    gs.manual_seed(0)
    for loss, slope in expected:
        found = compiled(x)
        assert found[0] == loss
        np.testing.assert_array_equal(found[1], slope)
    assert "default_generator.standard_normal" in compiled.source(x)


def test_who_seeds_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        gs.manual_seed(5)
        return x * gs.rand(())

    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="manual_seed"):
        found = compiled(2.0)
    assert compiled(2.0) == found == 2.0 * np.random.default_rng(5).random()


def test_checkpoint_draws_the_same_numbers_again() -> None:
    x = gs.tensor([1.0, 2.0], requires_grad=True)
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(gs.rand(2))
        return x * kept[-1]

    gs.checkpoint(f, x, use_reentrant=False).sum().backward()
    assert kept[0].tolist() == kept[1].tolist() == x.grad.tolist()


def test_random_numbers_in_place() -> None:
    gs.manual_seed(1)
    t = gs.empty(10_000)
    for name, args, mean, tolerance in (
        ("normal_", (2.0, 3.0), 2.0, 0.2), ("uniform_", (-1.0, 3.0), 1.0, 0.1), ("exponential_", (0.5,), 2.0, 0.1),
        ("random_", (0, 10), 4.5, 0.2), ("bernoulli_", (0.25,), 0.25, 0.03), ("geometric_", (0.5,), 2.0, 0.1),
        ("log_normal_", (0.0, 0.5), np.exp(0.125), 0.05),
    ):  # fmt: skip
        assert getattr(t, name)(*args) is t
        assert abs(t.mean().item() - mean) < tolerance, name
    assert abs(np.median(t.cauchy_(2.0).numpy()) - 2.0) < 0.1
    x = gs.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.normal_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_constructors() -> None:
    assert (gs.ones(2, 3).shape, gs.zeros((2,)).shape, gs.empty(size=(1, 2)).shape, gs.ones().shape) == (
        (2, 3), (2,), (1, 2), (),
    )  # fmt: skip
    assert gs.eye(2, requires_grad=True).requires_grad
    assert gs.full((2,), 3).dtype == np.int64
    assert gs.rand(2, dtype=np.float32).dtype == gs.ones_like(np.zeros(2, np.float32)).dtype == np.float32
    a = np.zeros(2)
    assert gs.from_numpy(a).data_ptr() == gs.as_tensor(a).data_ptr() == a.ctypes.data
    with pytest.raises(RuntimeError, match="floating point"):
        gs.arange(3, requires_grad=True)
    with pytest.raises(ValueError, match="cuda"):
        gs.ones(2, device="cuda")
    with pytest.raises(TypeError, match="whole"):
        gs.rand(2, dtype=int)
    with pytest.raises(TypeError, match="twice"):
        gs.ones(2, size=(3,))
    with pytest.raises(TypeError, match="expected np"):
        gs.from_numpy([1.0])


def test_numbers_in_captured_code_are_no_strangers() -> None:
    f = gs.compile(
        lambda x: x * gs.tensor([1.0, 2.0]) + gs.full((2,), 0.5) + x.new_tensor([1, 2]), verify="first calls"
    )
    assert f(np.ones(2)).tolist() == [2.5, 4.5]
    assert "np.array([1.0, 2.0]" in f.source(np.ones(2))


def test_methods_load_when_first_asked_for() -> None:
    """A first Tensor loads none of their modules."""
    program = (
        "import sys, gradscribe as gs; gs.tensor(1.0);"
        "print([m for m in sys.modules if 'tracer.tensors.torch_' in m or m.endswith('samplers')]);"
        "gs.tensor([1.0]).addcmul(gs.tensor([1.0]), 2.0); print([m for m in sys.modules if 'tracer.tensors.torch_' in m])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert found[0] == "['gradscribe.tracer.tensors.torch_methods']"
    assert "gradscribe.tracer.tensors.torch_arithmetic" in found[1]
    assert "torch_indexing" not in found[1]
