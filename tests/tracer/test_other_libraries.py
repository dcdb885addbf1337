"""Arrays of pandas, xarray, scipy.sparse, numpy.ma, PyTorch and JAX: they count as numbers, or one line converts them."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

V = np.array([1.0, 2.0, 3.0])
MAKERS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "a Series": ("pandas", lambda pd: pd.Series(V), "to_numpy()"),
    "an Index": ("pandas", lambda pd: pd.Index(V), "to_numpy()"),
    "a nullable Series": ("pandas", lambda pd: pd.Series(V, dtype="Float64"), "to_numpy()"),
    "a DataFrame": ("pandas", lambda pd: pd.DataFrame({"a": V}), "to_numpy()"),
    "a DataArray": ("xarray", lambda xr: xr.DataArray(V, dims="i"), "to_numpy()"),
    "a masked array": ("numpy", lambda np: np.ma.masked_array(V, [0, 1, 0]), "filled(0.0)"),
    "a sparse matrix": ("scipy.sparse", lambda sp: sp.lil_matrix(np.diag(V)), "toarray()"),
    "a sparse array": ("scipy.sparse", lambda sp: sp.dok_array(np.diag(V)), "toarray()"),
    "a tensor of PyTorch": ("torch", lambda torch: torch.tensor(V), "detach().numpy()"),
    "an array of JAX": ("jax.numpy", lambda jnp: jnp.asarray(V.astype(np.float32)), "np.asarray("),
}
COUNTS = ("a Series", "an Index", "a nullable Series", "a tensor of PyTorch", "an array of JAX")
WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "w * a": lambda w, a: np.sum(w * a),
    "a * w": lambda w, a: np.sum(a * w),
    "a + w, w - a": lambda w, a: np.sum((a + w) * (w - a)),
    "np.dot": lambda w, a: np.dot(a, w),
    "np.where": lambda w, a: np.sum(np.where(V > 1, w, a)),
}


def made(name: str) -> Any:
    library, make, _ = MAKERS[name]
    try:
        return make(importlib.import_module(library))
    except ImportError:
        pytest.skip(f"{library} is not installed")


def same_both_ways(name: str, way: str, call: Callable[[Any], Any]) -> None:
    expected = gs.grad(lambda w: WAYS[way](w, V))(V)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for f in (call, gs.compile(call)):
            found = f(V)
            assert type(found) is np.ndarray
            assert np.array_equal(found, expected), (name, way)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword")
def test_as_constants_and_as_other_arguments_they_count_as_their_numbers_on_either_side(name: str, way: str) -> None:
    a = made(name)
    same_both_ways(name, way, gs.grad(lambda w: WAYS[way](w, a)))
    same_both_ways(name, way, lambda w: gs.grad(WAYS[way])(w, a))


@pytest.mark.parametrize("name", ["a Series", "a DataFrame"])
def test_operators_of_pandas_leave_the_result_to_tensors(name: str) -> None:
    a = made(name)
    column = a["a"] if name == "a DataFrame" else a
    for f in (lambda w: np.sum(column * w), lambda w: np.sum(w * column), lambda w: np.sum(np.multiply(column, w))):
        assert gs.grad(f)(V).tolist() == V.tolist()
    t = gs.tensor(V, requires_grad=True)
    np.sum(column * t).backward()
    assert t.grad.tolist() == V.tolist()


@pytest.mark.parity
def test_functions_of_pytorch_say_that_they_take_no_tensor_of_ours() -> None:
    torch = pytest.importorskip("torch")
    other = torch.tensor(V)
    for call in (lambda w: torch.sum(w**2), lambda w: other.mul(w), lambda w: torch.stack([w, w])):
        for run in (gs.grad(call), lambda w, call=call: call(gs.tensor(w))):
            with pytest.raises(
                TypeError, match=r"given one of gradscribe: compute with NumPy's functions, or .*gs.to_torch"
            ):
                run(V)


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_differentiated_says_which_line_converts_it(name: str) -> None:
    a = made(name)
    words = MAKERS[name][2]
    for f in (gs.grad(lambda x: np.sum(x)), gs.compile(gs.grad(lambda x: np.sum(x)))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.EagerWarning)
            with pytest.raises(gs.DtypeError) as caught:
                f(a)
        assert f"Convert it ({words if words.endswith('(') else 'x.' + words}" in str(caught.value)


@pytest.mark.parametrize("name", MAKERS)
def test_compiled_functions_say_which_line_converts_it_and_that_line_compiles(name: str) -> None:
    a = made(name)
    words = MAKERS[name][2]
    constant, argument = gs.compile(lambda w: w if a is None else w * 1.0), gs.compile(lambda w, b: w * 1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        constant(V)
        argument(V, a)
    said = [str(w.message) for w in caught if issubclass(w.category, gs.EagerWarning)]
    assert any("read" in line and "outside" in line and words in line for line in said), said
    assert any("; pass " in line and words in line for line in said), said
    space: dict[str, Any] = {"x": a, "np": np}
    converted = eval("np.asarray(x)" if words.endswith("(") else f"x.{words}", space)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.compile(lambda w, b: w * 1.0 + np.sum(np.asarray(b)))(V, converted.astype(float))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("a sparse matrix", lambda w, a: np.sum(a.multiply(w))), ("a masked array", lambda w, a: np.sum(a * w)),
        ("a masked array", lambda w, a: np.sum(w * a)), ("a DataFrame", lambda w, a: np.sum(a.T @ w)),
        ("a DataArray", lambda w, a: np.sum(w * a)), ("a DataArray", lambda w, a: np.sum(a * w)),
    ],
)  # fmt: skip
def test_what_would_lose_the_gradient_raises_with_the_line_that_converts(name: str, call: Any) -> None:
    a = made(name)
    with pytest.raises((gs.GradientLossError, gs.ShapeError), match=r"(?i)convert") as caught:
        gs.grad(lambda w: call(w, a))(V)
    assert MAKERS[name][2] in str(caught.value)


def test_the_object_of_a_method_and_the_users_own_arrays() -> None:
    class Model:
        rate = 2.0

        @gs.grad
        def loss(self, x: Any) -> Any:
            return np.sum(self.rate * x)

    with pytest.raises(gs.DtypeError, match="argnums=1"):
        Model().loss(V)
    with pytest.raises(gs.DtypeError, match=r"x.astype\(float\)"):
        gs.grad(lambda x: np.sum(x))(np.arange(3))
