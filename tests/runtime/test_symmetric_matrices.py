"""eigh, eigvalsh, cholesky: symmetrised gradients, and finite differences that move symmetric matrices symmetrically."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg

import gradscribe as gs

rng = np.random.default_rng(0)
B = rng.normal(size=(3, 3))
REAL = B @ B.T + 3 * np.eye(3)
C = B + 1j * rng.normal(size=(3, 3))
COMPLEX = C @ C.conj().T + 3 * np.eye(3)
STACK = np.stack([REAL, 2 * REAL + np.eye(3)])
W, w = rng.normal(size=(3, 3)), rng.normal(size=3)

OF_STACKS = {
    "eigh": lambda a: np.sum(np.linalg.eigh(a)[0] * w),
    "eigh upper": lambda a: np.sum(np.linalg.eigh(a, "U")[0] * w),
    "eigenvectors": lambda a: np.sum(np.abs(np.linalg.eigh(a)[1]) ** 2 * W),
    "eigvalsh": lambda a: np.sum(np.linalg.eigvalsh(a) * w),
    "eigvalsh UPLO=": lambda a: np.sum(np.linalg.eigvalsh(a, UPLO="U") * w),
    "cholesky": lambda a: np.sum(np.abs(np.linalg.cholesky(a)) * W),
    "cholesky upper": lambda a: np.sum(np.abs(np.linalg.cholesky(a, upper=True)) * W),
    "logdet": lambda a: 2 * np.sum(np.log(np.real(np.diagonal(np.linalg.cholesky(a), axis1=-2, axis2=-1)))),
    "scaled": lambda a: np.sum(np.abs(np.linalg.cholesky(2 * a)) * W),
    "of an inverse": lambda a: np.sum(np.linalg.eigvalsh(np.linalg.inv(a)) * w),
    "of a part": lambda a: np.sum(np.linalg.eigvalsh(a[..., :2, :2]) * w[:2]),
    "of a Gram matrix": lambda a: np.sum(np.linalg.eigvalsh(a @ np.conj(np.swapaxes(a, -1, -2))) * w),
    "beside the matrix itself": lambda a: np.sum(np.linalg.eigvalsh(a) * w) + np.sum(np.real(a) * W),
    "svd of a Hermitian": lambda a: np.sum(np.linalg.svd(a, hermitian=True)[1] * w),
    "pinv of a Hermitian": lambda a: np.sum(np.real(np.linalg.pinv(a, hermitian=True)) * W),
}
OF_MATRICES = {
    "scipy eigh": lambda a: np.sum(scipy.linalg.eigh(a)[0] * w),
    "scipy eigh upper": lambda a: np.sum(scipy.linalg.eigh(a, lower=False)[0] * w),
    "scipy eigh values": lambda a: np.sum(scipy.linalg.eigh(a, eigvals_only=True) * w),
    "scipy eigvalsh": lambda a: np.sum(scipy.linalg.eigvalsh(a) * w),
    "scipy cholesky": lambda a: np.sum(np.abs(scipy.linalg.cholesky(a)) * W),
    "scipy cholesky lower": lambda a: np.sum(np.abs(scipy.linalg.cholesky(a, lower=True)) * W),
    "scipy cho_solve": lambda a: np.sum(np.real(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a), w)) * w),
    "scipy solve, positive": lambda a: np.sum(np.real(scipy.linalg.solve(a, w, assume_a="pos")) * w),
    "scipy solve, Hermitian, lower": lambda a: np.sum(
        np.real(scipy.linalg.solve(a, w, lower=True, assume_a="her")) * w
    ),
    "scipy solve, symmetric": lambda a: np.sum(np.real(scipy.linalg.solve(a, w, assume_a="sym")) * w),
}
CASES = [
    *[pytest.param(f, a, id=f"{n}-{k}") for n, f in OF_STACKS.items() for k, a in
      {"real": REAL, "complex": COMPLEX, "stack": STACK}.items()],
    *[pytest.param(f, a, id=f"{n}-{k}") for n, f in OF_MATRICES.items() for k, a in {"real": REAL, "complex": COMPLEX}.items()],
]  # fmt: skip


@pytest.mark.parametrize(("f", "a"), CASES)
def test_compare_and_check_grads_agree(f, a):
    found = gs.compare(f, a)
    assert found.ok, str(found)
    gs.check_grads(f, (a,), order=1)


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "cholesky", "cholesky upper", "pinv of a Hermitian"])
@pytest.mark.parametrize("a", [REAL, COMPLEX, STACK], ids=["real", "complex", "stack"])
def test_gradcheck_and_second_order_agree(name, a):
    f = OF_STACKS[name]
    gs.check_grads(f, (a,), order=2)
    t = gs.tensor(a, requires_grad=True)
    assert gs.autograd.gradcheck(f, (t,))
    assert gs.autograd.gradcheck(f, (t,), fast_mode=True)
    assert gs.autograd.gradgradcheck(f, (t,))


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "cholesky", "pinv of a Hermitian"])
def test_the_gradient_is_symmetric_and_moves_the_value_along_symmetric_directions(name):
    f = OF_STACKS[name]
    for a in (REAL, COMPLEX):
        g = gs.grad(f)(a)
        np.testing.assert_allclose(g, g.conj().T, rtol=1e-12)
        v = (C + C.conj().T) if np.iscomplexobj(a) else B + B.T
        slope = (f(a + 1e-6 * v) - f(a - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(np.sum(np.real(np.conj(g) * v)), slope, rtol=1e-6)


def test_compare_says_what_it_does_with_symmetric_matrices():
    f = OF_STACKS["eigvalsh"]
    assert any("symmetrically" in note for note in gs.compare(f, REAL).notes)
    assert gs.compare(lambda b: f(np.tril(b) + np.tril(b, -1).T), REAL).ok
    assert not any("symmetric" in note for note in gs.compare(lambda a: np.sum(a * W), REAL).notes)


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "cholesky", "cholesky upper", "pinv of a Hermitian"])
@pytest.mark.parametrize("a", [REAL, COMPLEX, STACK], ids=["real", "complex", "stack"])
def test_a_matrix_of_which_one_triangle_is_filled_has_the_gradient_of_that_triangle(name, a):
    f = OF_STACKS[name]
    filled, other = (np.triu, np.tril) if name == "cholesky upper" else (np.tril, np.triu)
    found = gs.compare(f, filled(a))
    assert found.ok, str(found)
    assert not np.any(other(gs.grad(f)(filled(a)), 1 if other is np.triu else -1))
    gs.check_grads(f, (filled(a),), order=2)


def test_a_wrong_gradient_beside_a_symmetric_one_is_still_found():
    @gs.custom_vjp
    def doubled(x):
        return 2 * x

    doubled.defvjp(lambda x: (2 * x, None), lambda kept, g: (3 * g,))
    f = lambda a: np.sum(np.linalg.eigvalsh(doubled(a)) * w)
    assert not gs.compare(f, REAL).ok
    with pytest.raises(AssertionError):
        gs.check_grads(f, (REAL,), order=1)
    lost = lambda t: np.sum(np.linalg.eigvalsh(t) * gs.tensor(w)) + (t.detach() * t).sum()
    with pytest.raises(
        gs.autograd.gradcheck.GradcheckError if hasattr(gs.autograd.gradcheck, "GradcheckError") else Exception
    ):
        gs.autograd.gradcheck(lost, (gs.tensor(REAL, requires_grad=True),))


def ordered(a):
    return np.sum(np.linalg.eigvalsh(a) * np.array([1.0, 2.0, 4.0]))


def factored(a, y):
    return np.sum(y @ np.linalg.solve(np.linalg.cholesky(a), y))


def test_an_exported_module_checks_itself_and_is_loaded(tmp_path):
    for f, args in ((ordered, (REAL,)), (factored, (REAL, w))):
        path = tmp_path / f"{f.__name__}.py"
        gs.export(f, *args, path=path, argnums=tuple(range(len(args))))
        run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        loaded = gs.load_exported(path, f, *args)
        np.testing.assert_array_equal(loaded(*args), f(*args))
    gs.export(ordered, REAL, path=tmp_path / "second.py", hessian=True, hvp=True, jvp=True)


def test_a_failing_function_leaves_the_mode_behind():
    def fails(a):
        if calls.append(1) or len(calls) > 4:
            raise ValueError("enough")
        return np.sum(np.linalg.eigvalsh(a) * w)

    calls = []
    with pytest.raises(ValueError, match="enough"):
        gs.check_grads(fails, (REAL,), order=1)
    lower = np.tril(REAL)
    np.testing.assert_array_equal(gs.value_and_grad(OF_STACKS["eigvalsh"])(lower)[0], OF_STACKS["eigvalsh"](lower))
