"""Compiled functions of CuPy's arrays: the same graph as text that imports CuPy, on a stand-in that has CuPy's names."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Iterator
from typing import Any

import fake_cupy
import numpy as np
import pytest
from fake_cupy import Copies, on_device, on_host

import gradscribe as gs
from gradscribe.runtime import lookup
from gradscribe.transforms.trees import flatten

from checks import Case, cases, weights_for
from golden_functions import Example, examples

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])

# Ops whose compiled text CuPy cannot run, or whose capture would take a number off the device: they run eagerly, with a warning.
EAGERLY = {"np.add.reduceat", "ramp_sum", "count_sum", "lags", "delayed"}


@pytest.fixture(autouse=True)
def cupy() -> Iterator[Any]:
    """Let the stand-in be CuPy."""
    with fake_cupy.installed() as module:
        yield module


def like(found: Any, expected: Any) -> None:
    """Check that results on the device hold the expected numbers."""
    a, b = flatten(found)[0], flatten(expected)[0]
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(on_host(x), on_host(y), rtol=1e-9, atol=1e-12)


# `newton` has a number for its argument, and nothing of it lies on a device.
GOLDEN = [e for e in examples() if any(isinstance(leaf, np.ndarray) for leaf in flatten(e.args)[0])]


@pytest.mark.parametrize("example", GOLDEN, ids=lambda e: e.function.__name__)
def test_a_golden_function_is_text_that_computes_on_the_device(example: Example) -> None:
    f = example.differentiated()
    expected = f(*copy.deepcopy(example.args))
    like(f(*on_device(example.args)), expected)
    before, compiled = Copies.count, gs.compile(f, verify="first calls")
    for _ in range(3):
        like(compiled(*on_device(example.args)), expected)
    text = str(compiled.source(*on_device(example.args)))
    if re.search(r"^[^#]*\bnp\.", text, re.MULTILINE):  # operators and methods alone need no module
        assert text.startswith(("import cupy as np\n", "import cupyx.scipy", "import math"))
        assert "import cupy as np\n" in text
    assert "numpy" not in text
    assert "errstate" not in text
    assert Copies.count == before


DIFFERENTIABLE = [
    c for c in cases() if c.sample.differentiable and not c.sample.integer and lookup(c.sample.fn) is not None
]


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=lambda c: c.label)
def test_compiled_gives_what_eager_gives(case: Case) -> None:
    xs = case.sample.draw(case.generator(), case.shapes)
    with np.errstate(all="ignore"):
        out = case.function()(*[x.copy() for x in xs])
    if not isinstance(out, (np.ndarray, np.generic)) or np.asarray(out).dtype.kind not in "fc":
        return
    w = weights_for(case.generator("w"), out)
    there = case._replace(options={name: on_device(value) for name, value in case.options.items()})
    f = gs.grad(there.loss(np.asarray(out).dtype.kind == "c"), argnums=tuple(range(len(xs))))
    args = (*map(on_device, xs), on_device(w))
    name = case.sample.name.rpartition(".")[2] if case.sample.name.startswith("gradscribe") else case.sample.name
    try:
        expected = f(*args)
    except (TypeError, AttributeError):
        return  # tests/tracer/test_cupy.py says which, and why
    before, compiled = Copies.count, gs.compile(f)
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always", gs.EagerWarning)
        results = [compiled(*args) for _ in range(3)]
    for found in results:
        assert all(type(g) is fake_cupy.ndarray for g in found)
        like(found, expected)
    assert Copies.count == before
    assert bool(log) <= (name in EAGERLY), [str(w.message) for w in log]


def test_numpy_and_cupy_have_texts_of_their_own() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(np.exp(x) * np.sin(x))))
    for _ in range(3):
        like(compiled(on_device(X)), compiled(X))
    assert type(compiled(X)) is np.ndarray
    assert type(compiled(on_device(X))) is fake_cupy.ndarray
    assert str(compiled.source(X)).replace("import numpy", "import cupy").count("import cupy as np") == 1
    assert "import cupy as np" not in str(compiled.source(X))
    assert "import cupy as np" in str(compiled.source(on_device(X)))


def test_the_cache_on_disk_keeps_them_apart(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCRIBE_CACHE", str(tmp_path))

    def f(x: Any) -> Any:
        return np.sum(np.cos(x) * x)

    for _ in range(2):  # the second time from the cache
        like(gs.compile(gs.grad(f))(on_device(X)), gs.compile(gs.grad(f))(X))
        assert "import cupy as np" in str(gs.source(gs.grad(f), on_device(X)))
        assert "import numpy as np" in str(gs.source(gs.grad(f), X))


def test_creation_lies_on_the_device() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.arange(3.0) * x + np.ones(3)) + np.sum(np.concatenate([x, np.zeros((1, 3))]) ** 2)

    compiled = gs.compile(gs.value_and_grad(f), verify="first calls")
    for _ in range(3):
        like(compiled(on_device(X)), gs.value_and_grad(f)(X))


def test_other_lengths_and_values_are_served() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(x * x) if np.sum(x) > 0 else np.sum(x)), verify="first calls")
    rng = np.random.default_rng(0)
    for n in (3, 4, 5, 3, 4, 6):
        for sign in (1.0, -1.0):
            x = sign * np.abs(rng.normal(size=n))
            like(compiled(on_device(x)), 2 * x if sign > 0 else np.ones(n))


def test_an_array_from_outside_is_read_at_each_call() -> None:
    data = on_device(X)
    compiled = gs.compile(gs.grad(lambda w: np.sum((data @ w) ** 2)), verify="first calls")
    w = np.array([1.0, -2.0, 0.5])
    for _ in range(3):
        like(compiled(on_device(w)), 2 * X.T @ (X @ w))
    data *= 2.0
    like(compiled(on_device(w)), 8 * X.T @ (X @ w))


def test_a_device_array_from_outside_beside_numbers_alone_runs_eagerly() -> None:
    data = on_device(X)
    compiled = gs.compile(gs.grad(lambda w: np.sum(data * w)))
    with pytest.warns(gs.EagerWarning, match=r"an array of CuPy's; pass it as an argument"):
        found = compiled(2.0)
    assert float(found) == X.sum()


def test_writes_into_an_argument_reach_the_caller() -> None:
    def f(x: Any, out: Any) -> Any:
        out[...] = x * 2
        return np.sum(x * x)

    compiled, x = gs.compile(gs.grad(f), verify="first calls"), on_device(X)
    for k in range(3):
        out = on_device(np.full(X.shape, float(k)))
        like(compiled(x, out), 2 * X)
        like(out, 2 * X)


def test_mixed_arguments_raise_and_say_what_to_do() -> None:
    compiled = gs.compile(gs.grad(lambda x, y: np.sum(x * y)))
    for _ in range(2):
        with pytest.raises(TypeError, match=r"arrays of CuPy's and of NumPy's.*cupy\.asarray"):
            compiled(on_device(X), X)


def test_gaps_in_memory_run_eagerly_with_a_remedy() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(x * x)))
    with pytest.warns(gs.EagerWarning, match=r"cupy\.ascontiguousarray"):
        found = compiled(on_device(X)[:, ::2])
    like(found, 2 * X[:, ::2])


def test_scipy_is_cupyx(cupy: Any) -> None:
    from scipy import special

    compiled = gs.compile(gs.grad(lambda x: np.sum(special.erf(x) * special.expit(x))), verify="first calls")
    for _ in range(3):
        like(compiled(on_device(X)), gs.grad(lambda x: np.sum(special.erf(x) * special.expit(x)))(X))
    text = str(compiled.source(on_device(X)))
    assert "import cupyx.scipy.special\nfrom cupyx import scipy\n" in text
    assert "import scipy" not in text.replace("from cupyx import scipy", "")


def test_functions_may_be_written_with_cupy(cupy: Any) -> None:
    compiled = gs.compile(gs.grad(lambda x: cupy.sum(cupy.exp(x) * cupy.ones(3))), verify="first calls")
    for _ in range(3):
        like(compiled(on_device(X)), np.exp(X))
    assert "import cupy as np" in str(compiled.source(on_device(X)))


def test_random_numbers_of_cupy_are_not_kept(cupy: Any) -> None:
    cupy.random.seed(0)
    compiled = gs.compile(lambda x: cupy.sum(cupy.random.normal(size=3) * x))
    with pytest.warns(gs.EagerWarning, match=r"cupy\.random\.normal"):
        first = compiled(on_device(X))
    assert float(first) != float(compiled(on_device(X)))


def test_the_native_target_leaves_the_device_to_cupy() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(np.exp(x))), target="native")
    for _ in range(4):
        like(compiled(on_device(X)), np.exp(X))
