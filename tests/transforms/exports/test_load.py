"""gs.load_exported: an exported file, edited by hand, is checked and then is the gradient of its function."""

from __future__ import annotations

import pickle
import re
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

rng = np.random.default_rng(0)
W, X, Y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
LARGE = rng.normal(size=(40, 3))


def helper(z):
    return np.tanh(z)


def loss(w, x, y, strength=0.5):
    r = helper(x @ w) - y
    return np.mean(r**2) + strength * np.sum(w**4)


def branching(w):
    if bool(w[0] > 0):
        return np.sum(np.exp(w))
    return np.sum(w**2)


def tree(params, k):
    return np.sum(np.tanh(params["w"]) ** k) + params["b"][0] ** 2


def large(w):
    return np.sum(np.sin(LARGE @ w))


def energy(z):
    return np.sum(np.abs(z) ** 4)


def edited(path: Path, before: str, after: str, count: int = -1) -> Path:
    """The file with something in it replaced."""
    text = path.read_text(encoding="utf-8")
    assert before in text, text
    path.write_text(text.replace(before, after, count), encoding="utf-8")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "loss_grad.py"
    gs.export(loss, W, X, Y, path=made)
    return made


def test_transforms_use_the_gradient_of_the_file(path: Path) -> None:
    edited(path, "def loss_value_and_grad(", "CALLS: list[int] = []\n\n\ndef loss_value_and_grad(")
    edited(path, "    # backward\n", "    CALLS.append(1)\n    # backward\n", 1)
    loaded = gs.load_exported(path, loss)
    calls = loaded.fwd.__globals__["CALLS"]
    assert loaded(W, X, Y) == loss(W, X, Y)
    assert not calls
    expected = gs.value_and_grad(loss)(W, X, Y)
    value, gradient = gs.value_and_grad(loaded)(W, X, Y)
    assert len(calls) == 1
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    np.testing.assert_array_equal(gs.grad(loaded)(W, X, Y), expected[1])
    inside = gs.grad(lambda w: 3.0 * loaded(2.0 * w, X, Y))(W)
    assert len(calls) == 3
    np.testing.assert_allclose(inside, 6.0 * gs.grad(loss)(2.0 * W, X, Y), rtol=1e-12)


def test_the_files_own_functions(path: Path) -> None:
    loaded = gs.load_exported(path, loss)
    np.testing.assert_array_equal(loaded.grad(W, X, Y), gs.grad(loss)(W, X, Y))
    assert loaded.value_and_grad(W, X, Y)[0] == loss(W, X, Y)
    with pytest.raises(ValueError, match=re.escape("y must be float64[m], here [5], not float64[4]")):
        loaded.grad(W, X, Y[:4])
    with pytest.raises(ValueError, match=re.escape("y must be float64[m], here [5], not float64[4]")):
        gs.grad(loaded)(W, X, Y[:4])


def test_it_is_called_like_the_transform_that_it_is_loaded_for(path: Path) -> None:
    for transform in (gs.grad, gs.value_and_grad):
        found = gs.load_exported(path, transform(loss))(W, X, Y)
        expected = transform(loss)(W, X, Y)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found[-1], expected[-1])


def test_a_right_edit_is_taken(path: Path) -> None:
    edited(path, "np.tanh(x @ w)", "np.tanh(np.dot(x, w))")
    edited(path, "(1.0 - helper**2)", "((1 - helper) * (1 + helper))")
    loaded = gs.load_exported(path, loss)
    np.testing.assert_allclose(gs.grad(loaded)(W, X, Y), gs.grad(loss)(W, X, Y), rtol=1e-12)


@pytest.mark.parametrize("where", ["loss_value_and_grad", "loss_grad"])
def test_a_wrong_edit_is_named(path: Path, where: str) -> None:
    before, after = {
        "loss_value_and_grad": ("(1.0 - helper**2)", "(1.0 - helper)"),
        "loss_grad": ("return loss_value_and_grad(w, x, y)[1]", "return 2 * loss_value_and_grad(w, x, y)[1]"),
    }[where]
    edited(path, before, after)
    with pytest.raises(gs.VerifyError) as caught:
        gs.load_exported(path, loss)
    message = str(caught.value)
    assert f"the gradient of `w` that `{where}` gives differs from eager by " in message
    apart, relative = re.search(r"by (\S+), (\S+) of its largest entry", message).groups()
    assert 0 < float(relative) < float(apart) * 1e3
    assert str(path) in message


def test_a_wrong_value_is_named(path: Path) -> None:
    edited(path, "return loss_value_and_grad(w, x, y)[0]\n", "return loss_value_and_grad(w, x, y)[0] + 1e-3\n")
    with pytest.raises(gs.VerifyError, match=r"the value of `loss` that `loss` gives differs from eager by 1\.0e-03"):
        gs.load_exported(path, loss)


def test_another_shape_or_dtype_is_named(path: Path) -> None:
    edited(path, "return loss_value_and_grad(w, x, y)[1]", "return loss_value_and_grad(w, x, y)[1].astype(np.float32)")
    with pytest.raises(gs.VerifyError, match=re.escape("in kind: float32[3] where eager has float64[3]")):
        gs.load_exported(path, loss)


def test_a_leaf_of_a_tree_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tree_grad.py"
    params = {"w": W, "b": (0.5, 2.0)}
    gs.export(tree, params, 3, path=path)
    loaded = gs.load_exported(path, tree)
    found, expected = gs.grad(loaded)(params, 3), gs.grad(tree)(params, 3)
    np.testing.assert_array_equal(found["w"], expected["w"])
    assert found["b"] == expected["b"]
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'"w": (d_w)', r'"w": 1.5 * \1', text), encoding="utf-8")
    with pytest.raises(gs.VerifyError, match=re.escape("the gradient of `params['w']` that")):
        gs.load_exported(path, tree)


def test_the_arguments_decide_what_is_checked(path: Path) -> None:
    edited(path, "    # backward\n", "    # backward\n    w = np.where(w > 9.0, 0.0, w)\n")
    gs.load_exported(path, loss)
    gs.load_exported(path, loss, W, X, Y)
    with pytest.raises(gs.VerifyError, match="differs from eager"):
        gs.load_exported(path, loss, W + 10.0, X, Y)


def test_several_arguments_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "loss_grad.py"
    gs.export(loss, W, X, Y, argnums=(2, 0), path=path)
    loaded = gs.load_exported(path, loss)
    for argnums in (0, 2, (0, 2), (2, 0)):
        found, expected = (gs.grad(f, argnums=argnums)(W, X, Y) for f in (loaded, loss))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_the_file_does_not_differentiate_raises(path: Path) -> None:
    loaded = gs.load_exported(path, loss)
    with pytest.raises(gs.AutogradError, match="its gradient would be lost"):
        gs.grad(loaded, argnums=1)(W, X, Y)
    with pytest.raises(ValueError, match=r"strength must be 0.5, its default, because .* was exported without it"):
        gs.grad(loaded)(W, X, Y, 0.25)
    with pytest.raises(ValueError, match=r"strength must be 0\.5"):
        gs.grad(loaded)(W, X, Y, strength=0.25)
    assert loaded(W, X, Y, 0.25) == loss(W, X, Y, 0.25)


def test_another_path_raises(tmp_path: Path) -> None:
    path = tmp_path / "branching_grad.py"
    gs.export(branching, np.abs(W), path=path)
    loaded = gs.load_exported(path, branching)
    np.testing.assert_array_equal(gs.grad(loaded)(np.abs(W)), np.exp(np.abs(W)))
    with pytest.raises(ValueError, match="another path through `branching`"):
        gs.grad(loaded)(-np.abs(W))


def test_higher_derivatives(path: Path) -> None:
    loaded = gs.load_exported(path, loss)
    np.testing.assert_allclose(
        gs.jacobian(gs.grad(loaded))(W, X, Y), gs.jacobian(gs.grad(loss))(W, X, Y), rtol=1e-9, atol=1e-12
    )


def test_it_compiles(path: Path) -> None:
    loaded = gs.load_exported(path, loss)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = gs.compile(gs.grad(loaded), verify="first calls")
        for _ in range(3):
            np.testing.assert_allclose(compiled(W, X, Y), gs.grad(loss)(W, X, Y), rtol=1e-12)
    assert "loss_grad.py" in gs.source(compiled, W, X, Y)


def test_complex_arguments(tmp_path: Path) -> None:
    path = tmp_path / "energy_grad.py"
    z = W + 1j * Y[:3]
    gs.export(energy, z, path=path)
    loaded = gs.load_exported(path, energy)
    np.testing.assert_array_equal(gs.grad(loaded)(z), gs.grad(energy)(z))


def test_a_changed_source_warns_where_it_agrees_and_is_named_where_not(path: Path) -> None:
    def version(text: str) -> Any:
        space: dict[str, Any] = {"np": np, "helper": helper, "__name__": "changed"}
        exec(text, space)
        return space["loss"]

    same = version("def loss(w, x, y):\n    return np.mean((helper(x @ w) - y) ** 2) + 0.5 * np.sum(w**4)")
    with pytest.warns(UserWarning, match="the source of `loss` .* has changed since .* was exported"):
        gs.load_exported(path, same)
    other = version("def loss(w, x, y):\n    return np.mean((helper(x @ w) - y) ** 2)")
    with pytest.raises(gs.VerifyError, match="The source of `loss` has changed since the export: export it again"):
        gs.load_exported(path, other)


def test_a_changed_helper_counts_and_a_comment_does_not(tmp_path: Path) -> None:
    def module(text: str) -> Any:
        file = tmp_path / "user.py"
        file.write_text("import numpy as np\n" + text, encoding="utf-8")
        made = types.ModuleType("user_module")
        import linecache

        linecache.checkcache(str(file))
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), vars(made))
        return made.f

    path = tmp_path / "f_grad.py"
    body = "def inner(x):\n    return x * x\ndef f(x):\n    return np.sum(inner(x))\n"
    gs.export(module(body), W, path=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.load_exported(path, module("\n# more\n" + body.replace("return x * x", "return  x * x  # squared")))
    with pytest.warns(UserWarning, match="or of what it calls"):
        gs.load_exported(path, module(body.replace("x * x", "x ** 2")))


def test_files_that_do_not_fit(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has the gradient of `loss`, not of `branching`"):
        gs.load_exported(path, branching)
    foreign = tmp_path / "foreign.py"
    foreign.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"was not written by gs\.export"):
        gs.load_exported(foreign, loss)
    outside = tmp_path / "large_grad.py"
    gs.export(large, W, path=outside)
    with pytest.raises(ValueError, match="takes LARGE as keyword arguments, which `large` reads from outside"):
        gs.load_exported(outside, large)


def test_it_pickles(path: Path) -> None:
    loaded = pickle.loads(pickle.dumps(gs.load_exported(path, loss)))
    np.testing.assert_array_equal(gs.grad(loaded)(W, X, Y), gs.grad(loss)(W, X, Y))


@pytest.mark.parametrize(("what", "words"), [("hessian", "Hessian"), ("hvp", "product"), ("jvp", "derivative")])
def test_a_wrong_hessian_or_product_is_named(tmp_path: Path, what: str, words: str) -> None:
    path = tmp_path / "loss_grad.py"
    text = gs.export(loss, W, X, Y, path=path, **{what: True})
    gs.load_exported(path, loss)
    head, definition, rest = text.partition(f"def loss_{what}(")
    line = rest[: rest.index("\n\n\n")].splitlines()[-1]
    wrong = line.replace("return ", "return 1.5 * ") if what != "jvp" else f"{line} * 1.5"
    path.write_text(head + definition + rest.replace(line, wrong, 1), encoding="utf-8")
    with pytest.raises(gs.VerifyError, match=f"the {words} that `loss_{what}` gives differs from eager by"):
        gs.load_exported(path, loss)
