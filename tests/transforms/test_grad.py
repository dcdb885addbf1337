"""gs.grad and gs.value_and_grad: how they are applied, the trees that they take, and what they give."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, -1.25, 2.0])


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


# How it is applied --------------------------------------------------------------------------------


@gs.grad
def bare(x):
    """The sum of squares."""
    return np.sum(x**2)


@gs.grad(argnums=1)
def second(a, b):
    return np.sum(a * b**2)


@gs.value_and_grad
def both(x):
    return np.sum(x**2)


def test_decorators() -> None:
    close(bare(X), 2 * X)
    close(second(3.0, X), 6 * X)
    value, gradient = both(X)
    assert value == np.sum(X**2)
    close(gradient, 2 * X)
    assert bare.__name__ == "bare"
    assert bare.__doc__ == "The sum of squares."
    assert list(inspect.signature(second).parameters) == ["a", "b"]
    assert bare.__wrapped__ is bare.function
    assert "bare" in repr(bare)


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 6.0), (1, 10.0), (2, 15.0), (-1, 15.0), (-3, 6.0), ("a", 6.0), ("b", 10.0), ("c", 15.0), ((0,), (6.0,)),
        ((0, 1), (6.0, 10.0)), ((1, 0), (10.0, 6.0)), (("a", "c"), (6.0, 15.0)), ((0, "c"), (6.0, 15.0)),
        ([0, -1], (6.0, 15.0)),
    ],
)  # fmt: skip
def test_argnums(argnums: Any, expected: Any) -> None:
    def f(a, b, c):
        return a * b * c

    assert gs.grad(f, argnums=argnums)(5.0, 3.0, 2.0) == expected
    assert gs.grad(f, argnums)(5.0, 3.0, c=2.0) == expected
    if argnums not in (-1, -3, [0, -1]):
        assert gs.grad(f, argnums=argnums)(c=2.0, b=3.0, a=5.0) == expected
    value, gradient = gs.value_and_grad(f, argnums=argnums)(5.0, 3.0, 2.0)
    assert (value, gradient) == (30.0, expected)


def test_keyword_only_and_default_arguments() -> None:
    def f(x, *, scale=2.0, shift=1.0):
        return np.sum(x * scale + shift)

    close(gs.grad(f)(X), np.full(3, 2.0))
    close(gs.grad(f)(X, scale=3.0), np.full(3, 3.0))
    assert gs.grad(f, argnums="scale")(X, scale=3.0) == X.sum()
    assert gs.grad(f, argnums=("x", "shift"))(X, shift=0.0)[1] == 3.0


def test_varargs() -> None:
    def f(*xs, **options):
        return sum(x * (k + 1) for k, x in enumerate(xs)) * options.get("scale", 1.0)

    assert gs.grad(f, argnums=1)(1.0, 2.0, 3.0) == 2.0
    assert gs.grad(f, argnums=(0, 2))(1.0, 2.0, 3.0, scale=10.0) == (10.0, 30.0)
    assert gs.grad(f, argnums="scale")(1.0, 2.0, scale=10.0) == 5.0


@pytest.mark.parametrize("argnums", [1.5, None, True, (0, None), ((0,),), {0}])
def test_argnums_of_a_wrong_kind(argnums: Any) -> None:
    with pytest.raises(TypeError, match="argnums"):
        gs.grad(lambda x: x, argnums=argnums)


def test_argnums_that_name_nothing() -> None:
    with pytest.raises(TypeError, match=r"argnums names `z`.*\(x\)"):
        gs.grad(lambda x: x, argnums="z")(1.0)
    with pytest.raises(TypeError, match="argument 3"):
        gs.grad(lambda x: x, argnums=3)(1.0)
    with pytest.raises(TypeError, match="not passed"):
        gs.grad(lambda x, y=1.0: x * y, argnums="y")(1.0)
    with pytest.raises((RuntimeError, TypeError), match="empty"):
        gs.grad(lambda x: x, argnums=())
    with pytest.raises(TypeError, match="takes a function"):
        gs.grad(3.0)


def test_the_functions_own_type_error_for_wrong_arguments() -> None:
    def f(x):
        return x

    with pytest.raises(TypeError, match="positional argument"):
        gs.grad(f)(1.0, 2.0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        gs.grad(f)(1.0, z=2.0)


def test_has_aux() -> None:
    def f(x):
        y = x * 2
        return np.sum(y**2), {"doubled": y, "name": "f", "n": 3, "sum": np.sum(y)}

    gradient, aux = gs.grad(f, has_aux=True)(X)
    close(gradient, 8 * X)
    assert type(aux["doubled"]) is np.ndarray
    close(aux["doubled"], 2 * X)
    assert type(aux["sum"]) is np.float64
    assert (aux["name"], aux["n"]) == ("f", 3)
    (value, aux), gradient = gs.value_and_grad(f, has_aux=True)(X)
    close(value, 4 * np.sum(X**2))
    assert aux["name"] == "f"
    with pytest.raises(TypeError, match="has_aux=True needs a function that returns"):
        gs.grad(lambda x: np.sum(x), has_aux=True)(X)


class Model:
    scale = 3.0

    def __init__(self) -> None:
        self.w = np.array([1.0, 2.0, 3.0])

    @gs.grad(argnums=1)
    def gradient(self, x):
        return np.sum(self.w * x**2) * self.scale

    @gs.grad(argnums="x")
    def by_name(self, x):
        return np.sum(self.w * x**2)

    @gs.value_and_grad(argnums=-1)
    def last(self, x):
        return np.sum(self.w * x**2)

    @staticmethod
    @gs.grad
    def static(x):
        return np.sum(x**2)

    @classmethod
    def of_class(cls, x):
        return np.sum(x**2) * cls.scale

    def plain(self, x):
        return np.sum(self.w * x**2)

    def __call__(self, x):
        return self.plain(x) * 2


def test_methods() -> None:
    m = Model()
    close(m.gradient(X), 6 * m.w * X)
    close(m.by_name(X), 2 * m.w * X)
    close(m.by_name(x=X), 2 * m.w * X)
    close(m.last(X)[1], 2 * m.w * X)
    close(Model.static(X), 2 * X)
    close(m.static(X), 2 * X)
    close(gs.grad(m.plain)(X), 2 * m.w * X)
    close(gs.grad(m)(X), 4 * m.w * X)
    close(gs.grad(Model.of_class)(X), 6 * X)
    assert type(Model.gradient) is type(bare)


def test_other_callables() -> None:
    def f(a, x, b=1.0):
        return np.sum(a * x**2) * b

    close(gs.grad(functools.partial(f, 3.0))(X), 6 * X)
    close(gs.grad(functools.partial(f, b=2.0), argnums=1)(1.0, X), 4 * X)
    close(gs.grad(lambda x: np.sum(np.sin(x)))(X), np.cos(X))
    close(gs.grad(np.sum)(X), np.ones(3))
    assert gs.grad(np.sin)(0.5) == np.cos(0.5)
    close(gs.grad(np.linalg.norm)(X), X / np.linalg.norm(X))

    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        return f(*args, **kwargs)

    close(gs.grad(wrapped, argnums=1)(2.0, X), 4 * X)
    close(gs.grad(functools.lru_cache(None)(lambda x: x * x))(3.0), 6.0)
    close(gs.grad(functools.partialmethod(f, 3.0).func, 1)(3.0, X), 6 * X)


# Trees --------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    w: Any
    b: Any


@dataclasses.dataclass
class Params:
    w: Any
    b: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    layers: list[Any]
    b: Any

    def __post_init__(self) -> None:
        assert isinstance(self.layers, list)


@dataclasses.dataclass(slots=True)
class Slotted:
    w: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Halved:
    """One that computes a field of its own."""

    x: Any
    half: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "half", self.x * 0.5)


def test_a_frozen_dataclass_may_compute_when_it_is_made() -> None:
    def f(x: Any) -> Any:
        return np.sum(Halved(x).half ** 2) + np.sum(Frozen([x], 1.0).layers[0])

    x = np.array([1.0, -3.0])
    np.testing.assert_array_equal(gs.grad(f)(x), 0.5 * x + 1.0)
    assert type(Halved(x)) is Halved


def test_dicts_lists_tuples() -> None:
    w, b = np.array([1.0, 2.0]), np.array(3.0)

    def of_dict(p, x):
        return np.sum(p["w"] * x) * p["b"]

    g = gs.grad(of_dict)({"w": w, "b": b}, np.array([10.0, 20.0]))
    assert type(g) is dict
    assert list(g) == ["w", "b"]
    close(g["w"], [30.0, 60.0])
    close(g["b"], 50.0)

    def of_list(p):
        (w, b), *rest = p
        return np.sum(w) * b * rest[0]

    g = gs.grad(of_list)([(w, b), 2.0])
    assert type(g) is list
    assert type(g[0]) is tuple
    close(g[0][0], [6.0, 6.0])
    close(g[0][1], 6.0)
    close(g[1], 9.0)
    assert type(g[1]) is np.float64

    ordered = collections.OrderedDict([("z", w), ("a", w)])
    g = gs.grad(lambda p: np.sum(p["z"] * p["a"] ** 2))(ordered)
    assert type(g) is collections.OrderedDict
    assert list(g) == ["z", "a"]

    g = gs.grad(lambda p: np.sum(p.w * p.b))(Pair(w, b))
    assert type(g) is Pair
    close(g.w, [3.0, 3.0])
    close(g.b, 3.0)

    mixed = gs.grad(lambda p: np.sum(p[3] * p["w"]))({3: w, "w": w})  # keys that do not sort
    close(mixed[3], w)
    assert gs.grad(lambda p: 2.0)({}) == {}


def test_dataclasses_unregistered() -> None:
    w, b = np.array([1.0, 2.0]), 3.0
    g = gs.grad(lambda p: np.sum(p.w) * p.b)(Params(w, b))
    assert type(g) is Params
    close(g.w, [3.0, 3.0])
    assert type(g.b) is np.float64
    f = gs.grad(lambda p: np.sum(p.layers[0]["w"]) * p.b)(Frozen([{"w": w}], b))
    assert type(f) is Frozen
    close(f.layers[0]["w"], [3.0, 3.0])
    s = gs.grad(lambda p: np.sum(p.w**2))(Slotted(w))
    close(s.w, 2 * w)
    inside = gs.grad(lambda p: np.sum(p["deep"][0].w ** 2))({"deep": [Params(w, b)]})
    close(inside["deep"][0].w, 2 * w)
    local = dataclasses.make_dataclass("Local", ["a", ("c", float, 2.0)])
    close(gs.grad(lambda p: np.sum(p.a) * p.c)(local(w)).a, [2.0, 2.0])


def test_a_tree_of_constants_stays_as_it_is() -> None:
    def f(x, options):
        assert options["mode"] == "double"
        assert options["flags"] == (True, None)
        return np.sum(x * options["w"])

    w = np.array([1.0, 2.0, 3.0])
    close(gs.grad(f)(X, {"mode": "double", "flags": (True, None), "w": w}), w)


def test_text_in_a_differentiated_tree_is_refused_and_none_stays() -> None:
    with pytest.raises(TypeError, match="differentiates floating point"):
        gs.grad(lambda p: np.sum(X))({"w": X, "name": "x"})
    found = gs.grad(lambda p: np.sum(p[0] * 2.0))([X, None])
    close(found[0], np.full_like(X, 2.0))
    assert found[1] is None


# What comes out -----------------------------------------------------------------------------------


def test_arrays_in_arrays_out() -> None:
    g = gs.grad(lambda x: np.sum(x * 2.0))
    for a in (X, X.astype(np.float32), X.reshape(3, 1), np.array(2.0), np.zeros(0), np.asfortranarray(np.ones((2, 3)))):
        found = g(a)
        assert type(found) is np.ndarray
        assert found.dtype == a.dtype
        assert found.shape == a.shape
    for scalar, kind in ((2.0, np.float64), (np.float64(2.0), np.float64), (np.float32(2.0), np.float32)):
        assert type(g(scalar)) is kind
    found = g(gs.tensor(X))
    assert type(found) is gs.Tensor
    assert not found.requires_grad
    value, _ = gs.value_and_grad(lambda x: np.sum(x * 2.0))(X)
    assert type(value) is np.float64
    value, _ = gs.value_and_grad(lambda x: x * 2.0)(X[:1].reshape(()))
    assert isinstance(value, np.float64 | np.ndarray)


def test_types_inside_are_numpys() -> None:
    def f(x):
        assert isinstance(x, np.ndarray)
        s = np.sum(x)
        assert isinstance(s, np.float64)
        assert not isinstance(s, np.ndarray)
        assert isinstance(s, float)
        assert not isinstance(x, (int, str))
        return s

    close(gs.grad(f)(X), np.ones(3))


def test_a_float32_program_stays_float32() -> None:
    def f(w, lr):
        return np.sum(w * lr) * 0.5

    w = X.astype(np.float32)
    gw, gl = gs.grad(f, argnums=(0, 1))(w, 0.5)
    assert gw.dtype == np.float32
    assert type(gl) is np.float64
    value, _ = gs.value_and_grad(f, argnums=1)(w, 0.5)
    assert value.dtype == np.float32


def test_results_own_their_memory() -> None:
    c = np.ones(3)

    def f(x, y):
        return np.sum(x + y) + np.sum(x * c)

    for a, b in ((np.zeros(3), np.zeros(3)), (X, X)):
        kept = a.copy(), b.copy()
        gx, gy = gs.grad(f, argnums=(0, 1))(a, b)
        for g in (gx, gy):
            assert g.flags.writeable
            assert g.flags.c_contiguous
        gx += 100.0
        close(gy, np.ones(3))
        gy += 100.0
        close(a, kept[0])
        close(b, kept[1])
        close(c, np.ones(3))
    x = X.copy()
    _, g = gs.value_and_grad(lambda x: x @ x)(x)
    x[:] = 0.0
    close(g, 2 * X)
    p = gs.grad(lambda p: np.sum(p[0] + p[1]))([np.zeros(2), np.zeros(2)])
    assert not np.shares_memory(p[0], p[1])
    h, a = np.ones(3), None
    g, a = gs.grad(lambda x: (np.sum(x), x * 1.0), has_aux=True)(h)
    a[:] = 7.0
    close(h, np.ones(3))
    g, a = gs.grad(lambda x: (np.dot(x, c), c), has_aux=True)(h)
    g[:] = 7.0
    close(c, np.ones(3))


def test_an_unused_argument_gives_zeros() -> None:
    def f(x, y, z):
        return np.sum(x)

    gy, gz = gs.grad(f, argnums=(1, 2))(X, np.ones((2, 2), np.float32), 3.0)
    assert gy.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert gy.dtype == np.float32
    assert gz == 0.0
    assert type(gz) is np.float64
    assert gs.grad(lambda x: 5.0)(2.0) == 0.0
    assert gs.grad(lambda x: np.float64(5.0))(X).tolist() == [0.0, 0.0, 0.0]
    assert gs.grad(lambda x: np.sum(np.sign(x)))(X).tolist() == [0.0, 0.0, 0.0]
    assert gs.grad(lambda x: np.argmax(x))(X).tolist() == [0.0, 0.0, 0.0]


def test_the_function_may_return_an_argument_or_a_constant() -> None:
    assert gs.grad(lambda x: x)(2.0) == 1.0
    value, g = gs.value_and_grad(lambda x, y: x, argnums=1)(2.0, 3.0)
    assert (value, g) == (2.0, 0.0)
    assert gs.grad(lambda x: x)(np.array(2.0)).shape == ()


def test_complex_follows_pytorchs_convention() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    close(gs.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z)
    close(gs.grad(lambda z: np.real(np.sum(z**2)))(z), np.conj(2 * z))
    close(gs.grad(lambda z: np.imag(np.sum(z)))(z), np.full(2, 1j))
    g = gs.grad(lambda z: np.real(z * z))(1 + 2j)
    assert type(g) is np.complex128
    close(g, np.conj(2 * (1 + 2j)))
    g = gs.grad(lambda x: np.real(np.sum(x * (3 + 4j))))(X)
    assert g.dtype == np.float64
    close(g, np.full(3, 3.0))
    torch_like = gs.grad(lambda z: np.sum(np.abs(z)))(z)
    close(torch_like, z / np.abs(z))
    # of second order: the Laplacian of |z|⁴ by way of real and imaginary parts
    close(gs.grad(gs.grad(lambda x: np.abs(x * (1 + 1j)) ** 4))(2.0), 4 * 12 * 4.0)
