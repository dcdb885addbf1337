"""What JAX's users look for: gs.jit, gs.tree, static arguments, has_aux, check_grads in JAX's form; and gs.load_exported."""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.tree as tree_module

X = np.array([1.0, 2.0])


def test_jit_is_compile() -> None:
    assert gs.jit is gs.compile
    assert gs.jit(gs.grad(lambda x: x**2))(3.0) == 6.0


# static arguments -----------------------------------------------------------------------------------


def scaled(x: Any, rate: Any, steps: Any = 2) -> Any:
    for _ in range(steps):
        x = x * rate if rate > 0.5 else x + rate
    return np.sum(x)


@pytest.mark.parametrize(
    "stated", [{"static_argnums": (1, 2)}, {"static_argnames": ("rate", "steps")}, {"static_argnums": (-2, -1)}]
)
def test_static_numbers_are_fixed_in_each_source(stated: Any) -> None:
    compiled = gs.jit(gs.grad(scaled), **stated)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rate, steps in ((2.0, 1), (2.0, 3), (0.25, 3), (2.0, 1), (np.float32(2.0), 1)):
            assert np.array_equal(compiled(X, rate, steps), gs.grad(scaled)(X, rate, steps))
            assert np.array_equal(compiled(X, rate=rate, steps=steps), gs.grad(scaled)(X, rate, steps))
    text = compiled.source(X, 2.0, 3)
    assert "rate: 2.0" in text
    assert "steps: 3" in text
    assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.For))]
    assert "`rate`" not in str(gs.explain(compiled))
    assert "rate: 0.25 (float)" in str(gs.explain(compiled))


def test_signs_and_nans_of_static_floats_count() -> None:
    compiled = gs.jit(lambda x, k: np.copysign(x, k), static_argnums=1)
    found = [compiled(1.0, k) for k in (0.0, -0.0, 0.0, -0.0)]
    assert found == [1.0, -1.0, 1.0, -1.0]
    compiled(1.0, float("nan"))
    before = len(compiled.hits())
    compiled(1.0, float("nan"))
    assert len(compiled.hits()) == before == 3


def test_static_arguments_that_cannot_be_are_named() -> None:
    for call, words in (
        (
            lambda: gs.jit(scaled, static_argnames="rats"),
            "static_argnames names `rats`, but `scaled` takes (x, rate, steps)",
        ),
        (lambda: gs.jit(scaled, static_argnums=3), "static_argnums has 3, but `scaled` takes 3 positional arguments"),
        (lambda: gs.jit(scaled, static_argnums=0)(X, 2.0), "argument 0 of `scaled` holds an array"),
        (lambda: gs.jit(scaled, static_argnames="x")(rate=2.0, x=[X]), "`x` of `scaled` holds an array"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            call()


# has_aux --------------------------------------------------------------------------------------------


def wide(x: Any) -> Any:
    return x**3, {"twice": 2.0 * x, "note": "aux"}


def narrow(x: Any) -> Any:
    return np.sum(x**3), {"twice": 2.0 * x, "note": "aux"}


AUX: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "grad": (lambda x: gs.grad(narrow, has_aux=True)(x), lambda x: 3 * x**2),
    "jacobian": (lambda x: gs.jacobian(wide, has_aux=True)(x), lambda x: np.diag(3 * x**2)),
    "jacrev": (lambda x: gs.jacrev(wide, has_aux=True)(x), lambda x: np.diag(3 * x**2)),
    "jacfwd, as a decorator": (lambda x: gs.jacfwd(has_aux=True)(wide)(x), lambda x: np.diag(3 * x**2)),
    "hessian": (lambda x: gs.hessian(narrow, has_aux=True)(x), lambda x: np.diag(6 * x)),
    "hvp": (lambda x: gs.hvp(narrow, has_aux=True)(x, x), lambda x: 6 * x * x),
    "vjp": (lambda x: (lambda out, back, aux: (back(out)[0], aux))(*gs.vjp(wide, x, has_aux=True)), lambda x: 3 * x**5),
    "jvp": (lambda x: gs.jvp(wide, (x,), (x,), has_aux=True)[1:], lambda x: 3 * x**3),
    "linearize": (
        lambda x: (lambda _, push, aux: (push(x), aux))(*gs.linearize(wide, x, has_aux=True)),
        lambda x: 3 * x**3,
    ),
}


@pytest.mark.parametrize("name", AUX)
def test_has_aux_gives_what_the_function_returns_beside_its_output(name: str) -> None:
    call, expected = AUX[name]
    found, aux = call(X)
    np.testing.assert_allclose(found, expected(X), rtol=1e-15)
    assert type(aux["twice"]) is np.ndarray
    assert aux["twice"].tolist() == [2.0, 4.0]
    assert aux["note"] == "aux"
    compiled, beside = gs.jit(call)(X)
    assert np.array_equal(compiled, found)
    assert np.array_equal(beside["twice"], aux["twice"])
    slopes = gs.grad(lambda x: np.sum(call(x)[1]["twice"]))(X)
    assert slopes.tolist() == [2.0, 2.0]  # through aux


def test_has_aux_of_a_function_without_is_an_error() -> None:
    for transform in (gs.grad, gs.jacobian, gs.jacfwd, gs.hessian):
        with pytest.raises(TypeError, match=r"has_aux=True needs a function that returns \(output, aux\)"):
            transform(lambda x: np.sum(x), has_aux=True)(X)


# gs.tree --------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Model:
    w: Any
    b: Any


def test_trees_are_mapped_inside_and_outside_of_transforms() -> None:
    assert gs.tree is tree_module

    def step(p: Any, x: Any) -> Any:
        slopes = gs.grad(lambda p: np.sum((p.w * x + p.b["bias"]) ** 2))(p)
        return gs.tree.map(lambda a, g: a - 0.1 * g, p, slopes)

    p = Model(np.ones(2), {"bias": np.zeros(2), "none": None})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eager, compiled = step(p, X), gs.jit(step)(p, X)
    assert isinstance(eager, Model)
    assert isinstance(compiled, Model)
    assert eager.b["none"] is None
    assert np.array_equal(eager.w, compiled.w)
    assert np.array_equal(eager.b["bias"], compiled.b["bias"])
    assert gs.grad(lambda p: gs.tree.reduce(np.add, gs.tree.map(np.sum, p)))({"a": X})["a"].tolist() == [1.0, 1.0]


def test_trees_are_as_those_of_jax() -> None:
    tree = pytest.importorskip("jax").tree
    made = {"b": [1.0, None, (2.0,)], "a": 3.0}
    assert gs.tree.leaves(made) == tree.leaves(made) == [3.0, 1.0, 2.0]
    leaves, structure = gs.tree.flatten(made)
    assert gs.tree.unflatten(structure, leaves) == made
    assert gs.tree.structure(made) == structure != gs.tree.structure({"a": 1.0})
    listed = lambda x: isinstance(x, list)
    assert gs.tree.leaves(made, is_leaf=listed) == tree.leaves(made, is_leaf=listed)
    assert gs.tree.map(lambda x, y: x + y, made, made) == tree.map(lambda x, y: x + y, made, made)
    assert gs.tree.reduce(lambda x, y: x + y, made, 10.0) == tree.reduce(lambda x, y: x + y, made, 10.0)


# check_grads and load_exported ------------------------------------------------------------------------


def test_check_grads_takes_a_tuple_and_the_old_form_says_how_it_is_written() -> None:
    gs.check_grads(np.tanh, (X,), 1)
    gs.check_grads(np.dot, [X, X], order=2, modes=("fwd", "rev"))
    for call, words in (
        (lambda: gs.check_grads(np.sin, X), "Write gs.check_grads(sin, (x,), order=2)"),
        (lambda: gs.check_grads(np.sin, X, order=3), "Write gs.check_grads(sin, (x,), order=3)"),
        (lambda: gs.check_grads(np.dot, X, X), "Write gs.check_grads(dot, (x, y), order=2)"),
        (lambda: gs.check_grads(lambda a, b, c: a, X, X, X), "Write gs.check_grads(f, (x, y, z), order=2)"),
        (lambda: gs.check_grads(lambda *a: a[0], X, 3, X, X, order=1), None),
    ):
        with pytest.raises(TypeError, match=None if words is None else re.escape(words)):
            call()


def test_load_under_its_old_name_and_as_pytorchs(tmp_path: Path) -> None:
    def loss(x: Any) -> Any:
        return np.sum(x * x)

    path = tmp_path / "loss_grad.py"
    gs.export(loss, X, path=str(path))
    old: Any = gs.load  # type: ignore[attr-defined]
    assert gs.grad(old(path, loss))(X).tolist() == gs.grad(gs.load_exported(path, loss))(X).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match=r"gs.load_exported\(path, f\).*np.savez"):
        old("weights.pt")
    assert "load_exported" in gs.__all__
    assert "load" not in gs.__all__


def test_leaves_that_are_none_are_no_numbers_and_stay() -> None:
    def loss(p: Any) -> Any:
        return np.sum(p["w"] ** 3) if p["bias"] is None else np.sum(p["w"] + p["bias"])

    p = {"w": X, "bias": None, "more": [None, 2.0]}
    v = {"w": np.ones(2), "bias": None, "more": [None, 1.0]}
    assert gs.grad(loss)(p)["bias"] is None
    for f in (gs.grad(loss), gs.jit(gs.grad(loss)), lambda p: gs.vjp(loss, p)[1](1.0)[0]):
        found = f(p)
        assert found["w"].tolist() == [3.0, 12.0]
        assert found["more"] == [None, 0.0]
    for derivative in (gs.jacrev(lambda p: p["w"] ** 3), gs.jacfwd(lambda p: p["w"] ** 3)):
        assert derivative(p)["w"].tolist() == [[3.0, 0.0], [0.0, 12.0]]
        assert derivative(p)["bias"] is None
    assert gs.hvp(loss)(p, v)["w"].tolist() == [6.0, 12.0]
    assert gs.jvp(loss, (p,), (v,))[1] == 15.0
    assert gs.hessian(loss)(p)["w"]["w"].tolist() == [[6.0, 0.0], [0.0, 12.0]]
    with pytest.raises(gs.DtypeError, match=r"dtype int64 at \['n'\]"):
        gs.grad(loss)({"b": None, "n": np.arange(2)})
    with pytest.raises(gs.DtypeError, match="NoneType"):
        gs.grad(lambda x: 1.0)(None)
