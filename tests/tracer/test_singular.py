"""gs.singular: modes, nesting, threads; what a block reaches (forward mode, second derivatives, vmap, compiled code)."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime import ops
from gradscribe.tracer.core.thread_state import LOCAL

X = np.array([0.0, 2.0])


def loss(x: Any) -> Any:
    return np.sum(np.abs(x))


def nan(values: Any) -> list[bool]:
    return np.isnan(values).tolist()  # type: ignore[no-any-return]


def test_modes_nest_and_end_with_their_block() -> None:
    f = gs.grad(loss)
    with gs.singular("nan"):
        assert nan(f(X)) == [True, False]
        with gs.singular("convention"):
            assert f(X).tolist() == [0.0, 1.0]
        with pytest.raises(gs.SingularPointError), gs.singular("raise"):
            f(X)
        assert nan(f(X)) == [True, False]
    assert f(X).tolist() == [0.0, 1.0]
    assert (LOCAL.slow, LOCAL.watched) == (False, False)


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'convention', 'nan', 'raise', not 'zero'"):
        gs.singular("zero")


def test_a_decorated_function_runs_in_the_mode() -> None:
    assert nan(gs.singular("nan")(gs.grad(loss))(X)) == [True, False]


def test_each_thread_has_its_own_mode() -> None:
    found: list[Any] = []
    with gs.singular("nan"):
        thread = threading.Thread(target=lambda: found.append(gs.grad(loss)(X)))
        thread.start()
        thread.join()
    assert found[0].tolist() == [0.0, 1.0]


def test_what_counts_is_where_the_operation_is_called() -> None:
    t = gs.tensor(X, requires_grad=True)
    with gs.singular("nan"):
        y = np.sum(np.abs(t))
    y.backward()
    assert nan(t.grad.numpy()) == [True, False]
    t.grad = None
    y = np.sum(np.abs(t))
    with gs.singular("nan"):
        y.backward()
    assert t.grad.numpy().tolist() == [0.0, 1.0]


def test_the_error_names_the_operation_the_place_and_the_line() -> None:
    def f(x: Any) -> Any:
        root = np.sqrt(x)  # this line
        return np.sum(root * 3)

    with gs.singular("raise"), pytest.raises(gs.SingularPointError) as caught:
        gs.grad(f)(np.array([[1.0, 0.0], [0.0, 4.0]]))
    text = str(caught.value)
    assert text.startswith(
        "np.sqrt was called on a singular point, and has no derivative there in `x` at index (0, 1) and 1 "
    )
    assert "test_singular.py:" in text
    assert text.endswith("root = np.sqrt(x)  # this line")


def test_no_cotangent_no_harm_where_the_slope_is_finite() -> None:
    for mode in ("nan", "raise"):
        with gs.singular(mode):
            assert gs.grad(lambda x: np.sum(np.where(x > 1, np.abs(x), 0.0)))(X).tolist() == [0.0, 1.0]


def test_zero_times_infinity_is_not_known_to_be_zero() -> None:
    for f in (lambda x: np.sum(np.sqrt(x) ** 2), lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))):
        for mode in ("convention", "nan"):
            with gs.singular(mode):
                assert nan(gs.grad(f)(X)) == [True, False]
        with gs.singular("raise"), pytest.raises(gs.SingularPointError, match=r"np\.sqrt"):
            gs.grad(f)(X)


@pytest.mark.parametrize("f", [np.abs, np.sqrt, lambda x: np.maximum(x, 0.0), np.max, np.std, np.sort])
def test_forward_mode_and_second_derivatives_know_it(f: Any) -> None:
    x = np.zeros(2)
    with gs.singular("nan"):
        assert np.isnan(gs.jvp(f, (x,), (np.array([1.0, 2.0]),))[1]).any()
        assert np.isnan(gs.hessian(lambda x: np.sum(np.exp(f(x))))(x)).any()
    with gs.singular("raise"):
        for attempt in (
            lambda: gs.jvp(f, (x,), (np.array([1.0, 2.0]),)),
            lambda: gs.hessian(lambda x: np.sum(f(x)))(x),
        ):
            with pytest.raises(gs.SingularPointError):
                attempt()


def test_examples_of_a_batch_are_told_apart() -> None:
    xs = np.array([[0.0, 1.0], [1.0, 2.0]])
    with gs.singular("nan"):
        assert nan(gs.vmap(gs.grad(loss))(xs)) == [[True, False], [False, False]]
    with gs.singular("raise"), pytest.raises(gs.SingularPointError):
        gs.vmap(gs.grad(loss))(xs)


def test_a_compiled_function_runs_eagerly_in_a_block() -> None:
    compiled = gs.compile(gs.grad(loss), verify="first calls")
    for _ in range(3):
        assert compiled(X).tolist() == [0.0, 1.0]
        with gs.singular("nan"):
            assert nan(compiled(X)) == [True, False]
        with gs.singular("raise"), pytest.raises(gs.SingularPointError):
            compiled(X)


def test_a_block_inside_is_compiled() -> None:
    def mixed(x: Any) -> Any:
        with gs.singular("nan"):
            first = np.abs(x)
        with gs.singular("raise"):
            second = np.sqrt(x + 1.0)
        return np.sum(first * second)

    compiled = gs.compile(gs.grad(mixed), verify="first calls")
    for _ in range(3):
        assert nan(compiled(X)) == [True, False]
        assert np.array_equal(compiled(X + 1.0), gs.grad(mixed)(X + 1.0))
    with pytest.raises(gs.SingularPointError, match=r"np\.sqrt was called"):
        compiled(X - 1.0)
    text = str(gs.source(compiled, X))
    assert "np.nan" in text
    assert "NotImplemented" in text


def test_float32_stays_float32() -> None:
    with gs.singular("nan"):
        for f in (np.abs, np.max, np.sort):
            assert gs.grad(lambda x, f=f: np.sum(f(x)))(np.ones(2, np.float32) * 0).dtype == np.float32


def test_predicates_read_what_their_op_has() -> None:
    """Each predicate binds: the names that it takes are arguments of its op."""
    told = 0
    for op in ops():
        for name, vjp in op.vjps.items():
            if vjp is not None and vjp.singular is not None:
                known = {p.name for p in op.params}
                asked = {n.removesuffix("_shape").removesuffix("_dtype") for n in vjp.singular.names}
                assert asked <= known | {"g", "out"}, (op.path, name, asked)
                told += 1
    assert told > 80


def test_a_rule_that_is_replaced_takes_its_points_along() -> None:
    plain = next(op for op in ops() if op.path == "np.fabs")
    before = plain.vjps["x"]
    try:
        gs.rule(np.fabs, x=lambda g, x: g * np.sign(x))
        with gs.singular("raise"):
            assert gs.grad(lambda x: np.sum(np.fabs(x)))(X).tolist() == [0.0, 1.0]
    finally:
        plain.vjps["x"] = before
        plain.plans.clear()
        plain.derived.clear()
