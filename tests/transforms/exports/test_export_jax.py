"""`gs.export(target="jax")`: modules of jax.numpy give our gradients, also under jax.jit; what is refused, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import gradscribe as gs

from golden_functions import examples

GOLDEN = {e.function.__name__: e for e in examples()}
REFUSED = {"newton", "squares_until", "reported", "normalised", "relaxed", "decided"}


def loss(w: Any, x: Any, y: Any) -> Any:
    r = np.tanh(x @ w) - y
    return np.mean(r**2)


def halving(x: Any) -> Any:
    """A loop that ends where a value says, without a gradient."""
    while np.sum(x) > 1.0:
        x = x * 0.5
    return (x, np.sum(x))


def arms(x: Any, k: Any) -> Any:
    """A branch in a loop over rows."""
    total = np.zeros(3)
    for row in x:
        if np.sum(row) > 0.0:
            total = total + np.exp(row)
        else:
            total = total * k
    return np.sum(total**2)


def scaled(x: Any) -> Any:
    return np.sum(x * TABLE)


TABLE = np.array([0.5, -1.0, 2.0])
ARGS = (np.linspace(-1.0, 1.0, 3), np.arange(12.0).reshape(4, 3) / 10, np.linspace(0.0, 1.0, 4))


def of_module(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "<exported>", "exec"), space)
    return space


def test_the_text(tmp_path: Path) -> None:
    text = gs.export(loss, *ARGS, target="jax", path=tmp_path / "loss_jax.py")
    assert (tmp_path / "loss_jax.py").read_text(encoding="utf-8") == text
    assert "import numpy" not in text
    assert "def loss_value_and_grad(w, x, y):" in text
    assert "x @ w" in text
    for row in ("return loss_value_and_grad(w, x, y)[0]", "return loss_value_and_grad(w, x, y)[1]"):
        assert row in text


@pytest.mark.parametrize("name", ["newton", "decided", "reported"])
def test_what_jax_cannot_do_is_refused(name: str) -> None:
    words = {
        "newton": "a loop remembers each step, and how many steps it makes follows from values",
        "decided": "it decides by a value, and has only the path of the export", "reported": "no form of print",
    }  # fmt: skip
    example = GOLDEN[name]
    with pytest.raises(gs.CompileError, match=words[name]):
        gs.export(example.function, *example.args, argnums=example.argnums, target="jax", check=False)


def test_ops_without_a_form_are_refused_by_name() -> None:
    with pytest.raises(
        gs.CompileError, match=r"JAX, which has no form of scipy\.special\.ellipk, scipy\.special\.elliprd"
    ):
        gs.export(lambda x: np.sum(scipy.special.ellipk(x)), np.array([0.1, 0.4]), target="jax")


@pytest.mark.parametrize("name", sorted(GOLDEN.keys() - REFUSED))
def test_golden_functions(name: str) -> None:
    jax = pytest.importorskip("jax")
    example = GOLDEN[name]
    text = gs.export(example.function, *example.args, argnums=example.argnums, target="jax", check=False)
    function = of_module(text)[f"{name}_value_and_grad"]
    expected = gs.value_and_grad(example.function, argnums=example.argnums)(*example.args)
    for found in (function(*example.args), jax.jit(function)(*example.args)):
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            eps = np.finfo(np.asarray(b).dtype).eps
            np.testing.assert_allclose(a, b, rtol=1e6 * eps, atol=1e5 * eps)
            assert np.asarray(a).dtype == np.asarray(b).dtype


def test_loops_branches_and_arrays_from_outside() -> None:
    jax = pytest.importorskip("jax")
    x = 10.0 * TABLE
    module = of_module(gs.export(halving, x, argnums=None, target="jax"))
    for run in (module["halving"], jax.jit(module["halving"])):
        for a, b in zip(run(x), halving(x), strict=True):
            np.testing.assert_array_equal(a, b)
    rows = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    function = of_module(gs.export(arms, rows, 0.3, argnums=(0, 1), target="jax"))["arms_grad"]
    other = np.array(rows[::-1])
    for given in (rows, other):  # which take other arms
        for a, b in zip(jax.jit(function)(given, 0.3), gs.grad(arms, argnums=(0, 1))(given, 0.3), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_array_equal(of_module(gs.export(scaled, x, target="jax"))["scaled_grad"](x), TABLE)
