"""gs.vmap: trees, nesting, code of one's own, writes, errors, and the source of what is compiled."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.runtime import batching
from gradscribe.runtime.registry import require
from gradscribe.tracer.core import dispatch

from checks import leaves

RNG = np.random.default_rng(7)
X, Y, W = RNG.normal(size=(4, 3)), RNG.normal(size=4), RNG.normal(size=3)
POSITIONS = np.array([0, 2, 1, 1])


def same(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert (np.shape(found), np.asarray(found).dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def loss(w: Any, x: Any, y: Any) -> Any:
    return (np.tanh(x @ w) - y) ** 2


# Arguments and results ----------------------------------------------------------------------------------


def test_axes() -> None:
    same(gs.vmap(np.dot, in_axes=(0, None))(X, W), X @ W)
    same(gs.vmap(lambda x: x[:2], in_axes=1, out_axes=1)(X), X[:2])
    same(gs.vmap(lambda x: x, out_axes=-1)(X), X.T)
    same(gs.vmap(lambda x, y: x * y, in_axes=[0, -1])(X, X.T), X * X)
    same(gs.vmap(lambda x, *, y: x * y)(X, y=Y), X * Y[:, None])
    same(gs.vmap(lambda x: 2.0)(X), np.full(4, 2.0))
    same(gs.vmap(lambda x, w: w, in_axes=(0, None))(X, W), np.stack([W] * 4))


def test_trees() -> None:
    tree = {"a": X, "b": [Y, W]}
    found = gs.vmap(
        lambda t, s: {"u": t["a"] * t["b"][0], "v": (s + t["b"][1] * t["a"], None)},
        in_axes=({"a": 0, "b": [0, None]}, None), out_axes={"u": 1, "v": 0},
    )(tree, 2.0)  # fmt: skip
    same(found["u"], (X * Y[:, None]).T)
    same(found["v"][0], 2.0 + W * X)
    assert found["v"][1] is None
    assert type(found["v"]) is tuple


def test_decorators_methods_and_pickles() -> None:
    @gs.vmap
    def squared(x):
        return x**2

    @gs.vmap(in_axes=1, out_axes=-1)
    def turned(x):
        return np.cumsum(x)

    class Model:
        def __init__(self) -> None:
            self.w = W

        def forward(self, x):
            return self.w @ x

    same(squared(X), X**2)
    same(turned(X), np.cumsum(X, axis=0))
    same(gs.vmap(Model().forward)(X), X @ W)
    again = pickle.loads(pickle.dumps(gs.vmap(loss, in_axes=(None, 0, 0))))
    same(again(W, X, Y), loss(W, X, Y))


def test_arrays_of_any_sort() -> None:
    assert gs.vmap(lambda x: x * 2)(X.astype(np.float32)).dtype == np.float32
    assert gs.vmap(lambda x: x * 2)(POSITIONS).dtype == POSITIONS.dtype
    same(gs.vmap(np.sum)(X[:0]), np.zeros(0))
    same(gs.vmap(gs.grad(loss), in_axes=(None, 0, 0))(W, X[:0], Y[:0]), np.zeros((0, 3)))
    same(gs.vmap(gs.grad(loss), in_axes=(None, 0, 0))(W, X[:1], Y[:1]), gs.grad(loss)(W, X[0], Y[0])[None])
    same(gs.vmap(np.linalg.inv)(X[:3].T[None]), np.linalg.inv(X[:3].T)[None])


def test_results_have_memory_of_their_own() -> None:
    for f in (lambda x: x, lambda x: x[::-1], lambda x: np.zeros(3), lambda x: x.T):
        found = gs.vmap(f)(X)
        assert not np.may_share_memory(found, X)
        assert found.flags.writeable


def test_tensors_come_out_where_one_went_in() -> None:
    t = gs.tensor(X, requires_grad=True)
    out = gs.vmap(lambda x: np.sum(x**2))(t)
    assert isinstance(out, gs.Tensor)
    out.sum().backward()
    same(t.grad.numpy(), 2 * X)
    with gs.no_grad():
        assert not gs.vmap(lambda x: np.sum(x**2))(t).requires_grad


# Indexing ---------------------------------------------------------------------------------------------------------


def cube(x: Any) -> Any:
    return np.multiply.outer(np.outer(x, x), x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i], lambda x, i: x[..., i], lambda x, i: x[None, i], lambda x, i: x[[0, 1]] * x[i],
        lambda x, i: np.take(x, i), lambda x, i: np.outer(x, x)[:, i], lambda x, i: np.outer(x, x)[i, i],
        lambda x, i: np.outer(x, x)[i, :, None], lambda x, i: np.outer(x, x)[:, np.stack([i, i * 0])],
        lambda x, i: cube(x)[i, :, 0], lambda x, i: cube(x)[:, i, [0, 1]] * cube(x)[0, :, [2, 1]].T,
        lambda x, i: np.take(np.outer(x, x), np.stack([i, i * 0]), axis=1),
        lambda x, i: np.take_along_axis(x, np.stack([i, i * 0]), 0),
    ],
)  # fmt: skip
def test_positions_that_differ_from_example_to_example(f: Callable[..., Any]) -> None:
    expected = np.stack([np.asarray(f(x, int(i))) for x, i in zip(X, POSITIONS, strict=True)])
    same(gs.vmap(f)(X, POSITIONS), expected)
    same(
        gs.vmap(lambda i: f(X[0] * np.ones(3), i))(POSITIONS),
        np.stack([np.asarray(f(X[0], int(i))) for i in POSITIONS]),
    )
    loss = lambda x, i: np.sum(np.sin(f(x, i)))
    same(gs.vmap(gs.grad(loss))(X, POSITIONS), [gs.grad(loss)(x, int(i)) for x, i in zip(X, POSITIONS, strict=True)])


def test_writes() -> None:
    def f(x, w, i):
        out = np.zeros(3)
        y = x.copy()
        y[0] = w[1]
        v = y[1:]
        v *= 2
        out[1] = y[2]
        out += y
        s = out.sum()
        t = s
        s += 1
        out[:2] = w[:2] * x[0]
        out[i] = 3 * x[1]
        np.add.at(out, [0, 0, 1], x)
        out[np.array([True, False, True])] *= 2
        return np.sum(out * y) + t * s

    rows = list(zip(X, POSITIONS, strict=True))
    same(gs.vmap(f, in_axes=(0, None, 0))(X, W, POSITIONS), [f(x.copy(), W, i) for x, i in rows])
    grads = gs.vmap(gs.grad(f, argnums=(0, 1)), in_axes=(0, None, 0))(X, W, POSITIONS)
    expected = [gs.grad(f, argnums=(0, 1))(x, W, i) for x, i in rows]
    for found, wanted in zip(grads, zip(*expected, strict=True), strict=True):
        same(found, np.stack(wanted))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.multiply(x, x, out=np.zeros(3)), lambda x: np.multiply(x, 2.0, where=x > 0, out=x.copy()),
        lambda x: np.multiply(x, x, where=np.array([True, False, True]), out=np.zeros(3)),
        lambda x: np.average(np.outer(x, x), axis=0, weights=x**2), lambda x: np.choose([0, 1, 0], [x, x**2]),
        lambda x: np.gradient(np.cumsum(x**2), x), lambda x: np.select([x > 0, x < -1], [x, x**2]), lambda x: np.vander(x, 2),
        lambda x: np.array([x[0], 2 * x[1]]), lambda x: np.add.outer(x, x), lambda x: sum(v * v for v in x),
        lambda x: round(x.sum(), 2) + len(x) * x.ndim + x.size, lambda x: np.percentile(x, [10, 50]) @ x[:2],
    ],
)  # fmt: skip
def test_forms_of_calls(f: Callable[..., Any]) -> None:
    same(gs.vmap(f)(X), [f(x.copy()) for x in X])
    loss = lambda x: np.sum(np.sin(f(x)))
    same(gs.vmap(gs.grad(loss))(X), [gs.grad(loss)(x) for x in X])


def test_masks_that_differ_are_written_by_where() -> None:
    def f(x):
        y = x.copy()
        y[x > 0] = 0.5
        return y

    same(gs.vmap(f)(X), np.where(X > 0, 0.5, X))


@pytest.mark.parametrize("axis", [0, 1])
def test_writes_into_arguments_reach_the_caller(axis: int) -> None:
    def f(x):
        x[0] = 5.0
        x *= 2
        return x.sum()

    mine, theirs = X.copy(), X.copy()
    found = gs.vmap(f, in_axes=axis)(mine)
    same(found, [f(row) for row in (theirs if axis == 0 else theirs.T)])
    same(mine, theirs)


# Nesting ------------------------------------------------------------------------------------------------


def kernel(a: Any, b: Any) -> Any:
    return np.exp(-np.sum((a - b) ** 2))


def over(f: Any) -> Any:
    """`f` of all pairs."""
    return gs.vmap(gs.vmap(f, in_axes=(None, 0)), in_axes=(0, None))


def test_vmap_of_vmap() -> None:
    same(over(np.dot)(X, X), X @ X.T)
    same(over(gs.grad(kernel))(X, X), [[gs.grad(kernel)(a, b) for b in X] for a in X])
    total = lambda x: np.sum(np.sin(over(kernel)(x, x)))
    looped = lambda x: sum(np.sin(kernel(a, b)) for a in x for b in x)
    same(gs.grad(total)(X), gs.grad(looped)(X))
    mixed = gs.vmap(gs.grad(lambda a, b: np.sum(gs.vmap(kernel, in_axes=(None, 0))(a, b))), in_axes=(0, None))
    same(mixed(X, X), [gs.grad(lambda a: sum(kernel(a, b) for b in X))(a) for a in X])
    same(gs.vmap(lambda x: gs.vmap(lambda y: x * y + W)(x))(X), [[x * y + W for y in x] for x in X])


def test_inner_variables_and_outer_ones_stay_apart() -> None:
    f = lambda w: np.sum(gs.vmap(lambda x: x * gs.grad(lambda y: np.sum(w * y * y * x))(x))(X[:, 0]))
    same(gs.grad(f)(2.0), np.float64(np.sum(2 * X[:, 0] ** 3)))
    unused = gs.vmap(lambda x: gs.grad(lambda y: np.sum(x))(x))(X)
    same(unused, np.zeros_like(X))


def test_rows_of_a_jacobian_in_one_backward_run() -> None:
    f = lambda x: np.tanh(np.outer(x, x) @ x) * x[0]
    _, pullback = gs.vjp(f, W)
    same(gs.vmap(pullback)(np.eye(3))[0], gs.jacobian(f)(W))
    inside = gs.vmap(lambda x: gs.vmap(gs.vjp(f, x)[1])(np.eye(3))[0])
    same(inside(X), [gs.jacobian(f)(x) for x in X])
    hessian = lambda x: gs.vmap(gs.vjp(gs.grad(lambda z: np.sum(f(z))), x)[1])(np.eye(3))[0]
    same(gs.vmap(hessian)(X), [gs.jacobian(gs.grad(lambda z: np.sum(f(z))))(x) for x in X])


# Derivatives of one's own -------------------------------------------------------------------------------


def plain(x: Any, w: Any) -> Any:
    return np.sum(np.sin(x * w))


@gs.custom_vjp
def by_vjp(x, w):
    return np.sum(np.sin(x * w))


by_vjp.defvjp(
    lambda x, w: (np.sum(np.sin(x * w)), (x, w)),
    lambda r, g: (g * np.cos(r[0] * r[1]) * r[1], g * np.cos(r[0] * r[1]) * r[0]),
)


class Own(gs.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        assert x.shape == w.shape == (3,)
        ctx.save_for_backward(x, w)
        return np.sum(np.sin(x * w))

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        assert (x.shape, w.shape, g.shape) == ((3,), (3,), ())
        return g * np.cos(x * w) * w, g * np.cos(x * w) * x


@pytest.mark.parametrize(
    "f",
    [
        plain, by_vjp, lambda x, w: Own.apply(x, w), lambda x, w: gs.checkpoint(plain, x, w), gs.compile(plain),
        gs.compile(gs.compile(plain)),
    ],
    ids=["plain", "custom_vjp", "Function", "checkpoint", "compiled", "compiled twice"],
)  # fmt: skip
def test_functions_with_a_backward_of_their_own(f: Any) -> None:
    both = gs.grad(f, argnums=(0, 1))
    expected = [gs.grad(plain, argnums=(0, 1))(x, W) for x in X]
    for found, wanted in zip(gs.vmap(both, in_axes=(0, None))(X, W), zip(*expected, strict=True), strict=True):
        same(found, np.stack(wanted))
    total = lambda x, w: np.sum(gs.vmap(f, in_axes=(0, None))(x, w) * Y)
    wanted = gs.grad(lambda x, w: sum(plain(a, w) * y for a, y in zip(x, Y, strict=True)), argnums=(0, 1))(X, W)
    for found, one in zip(gs.grad(total, argnums=(0, 1))(X, W), wanted, strict=True):
        same(found, one)
    second = lambda f: gs.grad(lambda x, w: np.sum(gs.grad(f)(x, w) ** 2), argnums=1)
    same(gs.vmap(second(f), in_axes=(0, None))(X, W), [second(plain)(x, W) for x in X])
    _, pullback = gs.vjp(f, X[0], W)
    same(gs.vmap(pullback)(Y)[1], [pullback(y)[1] for y in Y])


@pytest.mark.parametrize(
    "f",
    [
        lambda i: np.take(W, i), lambda i: np.take(X, i, axis=1), lambda i: np.take(a=X, indices=i, axis=0),
        lambda i: np.take([1.0, 2.0, 3.0], np.stack([i, i * 0])),
    ],
)  # fmt: skip
def test_tables_outside_are_read_by_take(f: Callable[..., Any]) -> None:
    expected = [np.asarray(f(i)) for i in POSITIONS]
    same(gs.vmap(f)(POSITIONS), expected)
    same(gs.compile(gs.vmap(f), verify="first calls")(POSITIONS), expected)
    same(gs.compile(f, verify="first calls")(POSITIONS), f(POSITIONS))


# Errors -------------------------------------------------------------------------------------------------


def branches(x: Any) -> Any:
    return x if np.sum(x) > 0 else -x


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: gs.vmap(lambda x, y: x + y)(X, np.ones(5)), gs.ShapeError, "`x` has 4, `y` has 5"),
        (lambda: gs.vmap(lambda p, y: y)({"w": X, "b": [W]}, Y), gs.ShapeError, r"`p\['b'\]\[0\]` has 3, `p\['w'\]` has 4"),
        (lambda: gs.vmap(lambda x, y: x)(X, 2.0), gs.ShapeError, "axis 0 of `y`, which is a float"),
        (lambda: gs.vmap(lambda x: x, in_axes=2)(X), gs.ShapeError, r"axis 2 of `x`, which has the shape \(4, 3\)"),
        (lambda: gs.vmap(lambda x, y: x, in_axes=(0,))(X, Y), gs.ShapeError, "1 entries.*called with 2"),
        (lambda: gs.vmap(lambda x: x, in_axes=None)(X), ValueError, "nothing to map over"),
        (lambda: gs.vmap(lambda t: t["a"], in_axes=({"b": 0},))({"a": X}), gs.ShapeError, r"with the keys \['a'\]"),
        (lambda: gs.vmap(lambda x: x, out_axes=None)(X), gs.ShapeError, "out_axes=None"),
        (lambda: gs.vmap(lambda x: x, out_axes=3)(X), np.exceptions.AxisError, "out of bounds"),
        (lambda: gs.vmap(lambda x: "text")(X), TypeError, "returns arrays and trees"),
        (lambda: gs.vmap(branches)(X), gs.AutogradError, "data-dependent control flow.*np.where"),
        (lambda: gs.vmap(lambda x: int(x[0]))(X), gs.AutogradError, "its value by `int`"),
        (lambda: gs.vmap(lambda i: W[i])(POSITIONS), gs.AutogradError, r"np\.take\(table, i\)"),
        (lambda: gs.vmap(lambda i: X[0, :i])(POSITIONS), gs.AutogradError, "plain number"),
        (lambda: gs.vmap(lambda x: x[x > 0])(X), ValueError, "different shapes.*np.where"),
        (lambda: gs.vmap(lambda x: special.zetac(x))(X), gs.AutogradError, "does not know as an op"),
        (lambda: gs.vmap(lambda x: x.backward())(X), gs.AutogradError, "take gradients by gs.grad"),
        (lambda: gs.vmap(lambda x: np.sum(x, axis=1))(X), np.exceptions.AxisError, "axis 1 is out of bounds for array of dim"),
        (lambda: gs.vmap(np.linalg.inv)(X), np.linalg.LinAlgError, "1-dimensional array given"),
    ],
)  # fmt: skip
def test_errors(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_shared_arrays_are_not_written_for_each_example() -> None:
    def f(x, w):
        w[0] = x[0]
        return w.sum()

    shared = W.copy()
    with pytest.raises(gs.AutogradError, match="all examples share"):
        gs.vmap(f, in_axes=(0, None))(X, shared)
    same(shared, W)


def test_a_number_of_each_example_is_taken_by_float_and_item() -> None:
    np.testing.assert_array_equal(gs.vmap(lambda x: float(x[0]) * 2)(X), X[:, 0] * 2)
    np.testing.assert_array_equal(gs.vmap(lambda x: x.sum().item())(X), X.sum(axis=1))


def test_what_was_stored_outside_is_refused() -> None:
    kept: list[Any] = []
    gs.vmap(lambda x: (kept.append(x), x)[1])(X)
    for use in (
        lambda t: t + 1,
        lambda t: -t,
        abs,
        np.sin,
        np.sum,
        lambda t: t[0],
        lambda t: t.sum(),
        lambda t: t.exp(),
    ):
        with pytest.raises(gs.AutogradError, match="used after that function has returned"):
            use(kept[0])
    with pytest.raises(gs.AutogradError, match="one value for each example"):
        float(kept[0])


def test_it_prints_as_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    gs.vmap(lambda y: (print(y), y)[1])(np.array([1.0, 2.0]))
    assert capsys.readouterr().out == "batched([1., 2.], shape=(), vmap=(2,))\n"


# Compiled -----------------------------------------------------------------------------------------------


def test_the_source_is_what_a_person_would_write() -> None:
    assert "return (np.tanh(x @ w) - y) ** 2" in gs.source(gs.vmap(loss, in_axes=(None, 0, 0)), W, X, Y)
    text = gs.source(gs.vmap(gs.grad(loss), in_axes=(None, 0, 0)), W, X, Y)
    assert "np.tanh(x @ w)" in text
    assert "broadcast_to" not in text
    assert "for " not in text.partition('"""')[2].partition('"""')[2]


@pytest.mark.parametrize(
    "made",
    [
        lambda: gs.vmap(loss, in_axes=(None, 0, 0)), lambda: gs.vmap(gs.compile(loss), in_axes=(None, 0, 0)),
        lambda: gs.vmap(gs.grad(loss), in_axes=(None, 0, 0)), lambda: gs.vmap(gs.value_and_grad(loss), in_axes=(None, 0, 0)),
        lambda: gs.grad(lambda w, x, y: np.sum(gs.vmap(loss, in_axes=(None, 0, 0))(w, x, y))),
        lambda: gs.vmap(gs.jacobian(lambda w, x, y: np.tanh(w * y) * x), in_axes=(None, 0, 0)),
    ],
    ids=["vmap", "vmap of compile", "vmap of grad", "vmap of value_and_grad", "grad of vmap", "vmap of jacobian"],
)  # fmt: skip
def test_compiled(made: Any) -> None:
    function = made()
    compiled = gs.compile(function, verify="first calls")
    for n in (4, 4, 4, 2, 2, 3):  # the number of examples is nobody's business
        found, expected = leaves(compiled(W, X[:n], Y[:n])), leaves(function(W, X[:n], Y[:n]))
        for a, b in zip(found, expected, strict=True):
            assert (a.tobytes(), a.shape, a.strides) == (b.tobytes(), b.shape, b.strides)


def test_printing_is_left_to_eager_code(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print("of", x)
        print(f"{x}")
        return x * 2

    compiled = gs.compile(gs.vmap(f))
    with pytest.warns(gs.EagerWarning, match="prints a value that it does not trace"):
        compiled(Y[:2])
    first = capsys.readouterr().out
    compiled(Y[:2])
    assert capsys.readouterr().out == first
    assert first.startswith("of batched(")


def test_random_numbers_are_those_of_eager_code() -> None:
    """Drawn once, and the same for all examples: the function runs once."""
    found = gs.vmap(lambda x: x + np.random.default_rng(3).normal(size=3))(X)
    same(found, X + np.random.default_rng(3).normal(size=3))


def test_every_form_of_an_op_has_its_batching_rule(monkeypatch):
    def loops(call):
        raise AssertionError(f"{call.op!r} runs on the examples one by one")

    monkeypatch.setattr(batching, "one_by_one", loops)
    product, title = require(np.matmul), require(operator.matmul).titled("Product")
    assert title.base is product
    same(gs.vmap(operator.matmul, in_axes=(0, None))(X, W), X @ W)
    same(gs.vmap(lambda x: dispatch.apply(title, (x, W), {}))(X), X @ W)


def test_a_product_in_another_dtype_has_it():
    f = lambda x: np.matmul(x, W, dtype=np.float32, casting="same_kind")
    same(gs.vmap(f)(X), np.stack([f(x) for x in X]))
