"""gs.grad within gs.grad and beside autograd, in SciPy's optimisers, and pickled."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, -1.25, 2.0])


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


# Nesting ------------------------------------------------------------------------------------------


def test_any_order() -> None:
    f = gs.grad(gs.grad(gs.grad(np.sin)))
    assert f(0.5) == -np.cos(0.5)
    g = gs.grad(lambda x: x**5)
    for k, expected in enumerate([5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2, 120 * 2.0, 120.0, 0.0]):
        assert g(2.0) == expected, k
        g = gs.grad(g)
    third = gs.grad(lambda x: np.sum(gs.grad(lambda x: np.sum(gs.grad(lambda x: np.sum(x**4))(x)))(x)))
    close(third(X), 24 * X)


def test_types_hold_at_every_order() -> None:
    g = gs.grad(lambda x: np.sum(gs.grad(lambda x: np.sum(x**3))(x)))
    for a in (X, X.astype(np.float32)):
        assert type(g(a)) is np.ndarray
        assert g(a).dtype == a.dtype
        close(g(a), 6 * a)
    assert type(gs.grad(gs.grad(np.sin))(0.5)) is np.float64
    assert type(gs.grad(gs.grad(np.sin))(np.array(0.5))) is np.ndarray


def test_inner_gradients_over_outer_variables() -> None:
    x0 = X
    close(gs.grad(lambda w: gs.grad(lambda x: (x * w).sum())(x0).sum())(np.ones(3)), np.ones(3))
    close(gs.grad(lambda w: gs.grad(lambda x: (x * w) ** 2)(3.0))(2.0), 2 * 2 * 2.0 * 3.0)
    # the outer variable and the inner one multiplied at both levels
    f = lambda x: x * gs.grad(lambda y: x * y * y)(x)  # x · 2x² = 2x³
    assert gs.grad(f)(3.0) == 6 * 9.0
    assert gs.grad(gs.grad(f))(3.0) == 12 * 3.0


def test_perturbations_are_not_confused() -> None:
    assert gs.grad(lambda x: x * gs.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert gs.grad(lambda x: x * gs.grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert gs.grad(lambda x: gs.grad(lambda y: x)(2.0))(3.0) == 0.0  # the inner result does not depend on y
    assert gs.grad(lambda x: x * gs.grad(lambda y: y * gs.grad(lambda z: x * y * z)(1.0))(x))(2.0) == 3 * 2 * 4.0
    shadow = gs.grad(lambda x: gs.grad(lambda x: x * x)(x) * x)
    assert shadow(3.0) == 4 * 3.0


def test_a_gradient_step_is_differentiated() -> None:
    def loss(w, lr):
        return np.sum((w - 1.0) ** 2 * lr)

    def after(lr):
        w = np.array([2.0, 3.0])
        for _ in range(3):
            w = w - lr * gs.grad(loss)(w, 1.0)
        return loss(w, 1.0)

    lr, h = 0.1, 1e-6
    close_to = (after(lr + h) - after(lr - h)) / (2 * h)
    np.testing.assert_allclose(gs.grad(after)(lr), close_to, rtol=1e-8)


def test_hessian_by_rows_and_newton() -> None:
    def f(x):
        return np.sum(x**4) + x[0] * x[1]

    h = np.stack([gs.grad(lambda x, k=k: gs.grad(f)(x)[k])(X) for k in range(3)])
    close(h, np.diag(12 * X**2) + np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))


def test_value_and_grad_nested_and_with_aux() -> None:
    def inner(x):
        value, g = gs.value_and_grad(lambda x: np.sum(x**3))(x)
        return value + np.sum(g), g

    g, aux = gs.grad(inner, has_aux=True)(X)
    close(g, 3 * X**2 + 6 * X)
    assert type(aux) is np.ndarray
    close(aux, 3 * X**2)


def test_of_tensors_inside_an_eager_program() -> None:
    w = gs.tensor([1.0, 2.0, 3.0], requires_grad=True)
    g = gs.grad(lambda x: np.sum(x**2 * w))(gs.tensor(X))
    assert g.requires_grad
    g.sum().backward()
    close(w.grad.numpy(), 2 * X)
    x = gs.tensor(X, requires_grad=True)
    g = gs.grad(lambda x: np.sum(x**3))(x)
    (h,) = gs.autograd.grad(g.sum(), x)
    close(h.numpy(), 6 * X)


def test_no_grad_around_and_inside() -> None:
    with gs.no_grad():
        close(gs.grad(lambda x: np.sum(x**2))(X), 2 * X)

    def f(x):
        with gs.no_grad():
            s = np.sum(x)
        return np.sum(x * s)

    close(gs.grad(f)(X), np.full(3, X.sum()))
    assert gs.is_grad_enabled()


def test_autograd_grad_inside_a_transform() -> None:
    def f(x):
        y = np.sum(x**3)
        (g,) = gs.autograd.grad(y, x, create_graph=True)
        return np.sum(g)

    close(gs.grad(f)(X), 6 * X)


def test_recursion() -> None:
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert gs.grad(power)(2.0, 5) == 80.0


def test_the_function_runs_once_and_its_effects_are_seen() -> None:
    calls: list[int] = []

    def f(x):
        calls.append(1)
        return np.sum(x)

    gs.grad(f)(X)
    assert calls == [1]


# SciPy and pickles --------------------------------------------------------------------------------


def rosenbrock(x, a, b):
    return np.sum(b * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG"])
def test_scipy_minimize_takes_it_unchanged(method: str) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    found = optimize.minimize(gs.value_and_grad(rosenbrock), np.zeros(5), jac=True, args=(1.0, 100.0), method=method)
    np.testing.assert_allclose(found.x, np.ones(5), rtol=1e-3)


def test_scipy_minimize_takes_grad_as_jac() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    found = optimize.minimize(rosenbrock, np.zeros(4), jac=gs.grad(rosenbrock), args=(1.0, 100.0), method="BFGS")
    np.testing.assert_allclose(found.x, np.ones(4), rtol=1e-4)
    found = optimize.root_scalar(lambda x: x**3 - 2, fprime=gs.grad(lambda x: x**3 - 2), x0=1.0, method="newton")
    assert found.root == pytest.approx(2 ** (1 / 3))


def test_pickles_both_ways(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
            import numpy as np
            import gradscribe as gs

            @gs.grad
            def decorated(x):
                return np.sum(x ** 2)

            @gs.value_and_grad(argnums="b", has_aux=True)
            def with_options(a, b):
                return np.sum(a * b ** 2), "aux"

            def plain(x, y):
                return np.sum(x * y)

            class Model:
                @gs.grad(argnums=1)
                def gradient(self, x):
                    return np.sum(x ** 2)
        """)
    )
    (tmp_path / "load.py").write_text(
        textwrap.dedent("""
            import pickle, sys
            import numpy as np
            import mine
            found = pickle.load(open("all.pickle", "rb"))
            assert found[0] is mine.decorated
            assert found[1] is mine.with_options
            x = np.array([1.0, 2.0])
            assert found[0](x).tolist() == [2.0, 4.0]
            (value, aux), g = found[1](3.0, x)
            assert (value, aux, g.tolist()) == (15.0, "aux", [6.0, 12.0])
            assert found[2] is not mine.plain
            assert [g.tolist() for g in found[2](x, x * 3)] == [[3.0, 6.0], [1.0, 2.0]]
            assert found[3](x, x * 3)[0] == 15.0
            assert found[4](2.0) == -np.sin(2.0)
            print("loaded")
        """)
    )
    code = (
        "import pickle, mine, numpy as np, gradscribe as gs\n"
        "all = [mine.decorated, mine.with_options, gs.grad(mine.plain, argnums=(0, 1)), gs.value_and_grad(mine.plain),"
        " gs.grad(gs.grad(np.sin))]\n"
        "pickle.dump(all, open('all.pickle', 'wb'))"
    )
    for command in (["-c", code], ["load.py"]):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "loaded"
    again = pickle.loads(pickle.dumps(gs.grad(lambda x: x**2)))
    assert again(3.0) == 6.0
