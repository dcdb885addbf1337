"""Complex gradients against PyTorch's, by random losses; JAX's convention; phases of decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from checks import unlike
from samples import dispatched  # noqa: F401  # registers SciPy's ops

RNG = np.random.default_rng(5)


def numbers(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


Z, M, N, S = numbers(6), numbers(3, 4), numbers(4, 3), numbers(3, 3)
HERMITIAN = S @ S.conj().T + 3 * np.eye(3)

UFUNCS = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "sqrt": "sqrt",
    "square": "square", "reciprocal": "reciprocal", "negative": "neg", "positive": "positive", "absolute": "abs",
    "sign": "sgn", "conjugate": "conj", "real": "real", "imag": "imag", "angle": "angle",
}  # fmt: skip
REDUCTIONS = ["sum", "mean", "prod", "cumsum", "cumprod"]
FOURIER = ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "irfft", "hfft", "fftshift", "ifftshift"]
BINARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (np.add, lambda t: t.add), "subtract": (np.subtract, lambda t: t.sub), "multiply": (np.multiply, lambda t: t.mul),
    "divide": (np.true_divide, lambda t: t.div), "power": (np.power, lambda t: t.pow),
}  # fmt: skip
MATRICES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "matmul": (np.matmul, lambda t: t.matmul, (M, N)),
    "einsum": (lambda x, y: np.einsum("ij,jk->ki", x, y), lambda t: lambda x, y: t.einsum("ij,jk->ki", x, y), (M, N)),
    "vdot": (np.vdot, lambda t: t.vdot, (Z, Z[::-1].copy())),
    "inv": (np.linalg.inv, lambda t: t.linalg.inv, (S,)),
    "pinv": (np.linalg.pinv, lambda t: t.linalg.pinv, (M,)),
    "det": (np.linalg.det, lambda t: t.linalg.det, (S,)),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], lambda t: lambda x: t.linalg.slogdet(x)[1], (S,)),
    "slogdet, sign": (lambda x: np.linalg.slogdet(x)[0], lambda t: lambda x: t.linalg.slogdet(x)[0], (S,)),
    "solve": (np.linalg.solve, lambda t: t.linalg.solve, (S, N[:3])),
    "lstsq": (lambda x, y: np.linalg.lstsq(x, y)[0], lambda t: lambda x, y: t.linalg.lstsq(x, y).solution, (N, numbers(4, 2))),
    "cholesky": (
        lambda x: np.linalg.cholesky((x + x.conj().T) / 2), lambda t: lambda x: t.linalg.cholesky((x + x.mH) / 2), (HERMITIAN,)
    ),
    "qr": (
        lambda x: np.abs(np.linalg.qr(x)[1]), lambda t: lambda x: t.abs(t.linalg.qr(x)[1]), (N,)
    ),
    "qr, wide": (lambda x: np.abs(np.linalg.qr(x)[1]), lambda t: lambda x: t.abs(t.linalg.qr(x)[1]), (M,)),
    "eigh": (
        lambda x: np.abs(np.linalg.eigh(x + x.conj().T)[1]), lambda t: lambda x: t.abs(t.linalg.eigh(x + x.mH)[1]), (S,)
    ),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(x + x.conj().T), lambda t: lambda x: t.linalg.eigvalsh(x + x.mH), (S,)),
    "eig": (lambda x: np.abs(np.linalg.eig(x)[1]), lambda t: lambda x: t.abs(t.linalg.eig(x)[1]), (S,)),
    "eigvals": (np.linalg.eigvals, lambda t: t.linalg.eigvals, (S,)),
    "svd": (
        lambda x: np.abs(np.linalg.svd(x, full_matrices=False)[0]),
        lambda t: lambda x: t.abs(t.linalg.svd(x, full_matrices=False)[0]), (M,),
    ),
    "svdvals": (np.linalg.svdvals, lambda t: t.linalg.svdvals, (M,)),
    "cond": (np.linalg.cond, lambda t: t.linalg.cond, (S,)),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, -2), lambda t: lambda x: t.linalg.matrix_power(x, -2), (S,)),
    "norm": (np.linalg.norm, lambda t: t.linalg.norm, (M,)),
    "nuclear norm": (lambda x: np.linalg.norm(x, "nuc"), lambda t: lambda x: t.linalg.matrix_norm(x, "nuc"), (M,)),
    "spectral norm": (lambda x: np.linalg.norm(x, 2), lambda t: lambda x: t.linalg.matrix_norm(x, 2), (M,)),
}  # fmt: skip


def check(f: Callable[..., Any], of_torch: Callable[..., Any], *arrays: Any) -> None:
    """Compare the gradients of Re(sum(w * out)) for random complex `w`."""
    torch = pytest.importorskip("torch", reason="PyTorch, with whose gradients these are compared, is missing")
    out = np.asarray(f(*arrays))
    w = numbers(*out.shape)
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    result = of_torch(torch)(*tensors)
    expected = torch.autograd.grad(torch.real((result * torch.tensor(w)).sum()), tensors)
    found = gs.grad(lambda *xs: np.real(np.sum(f(*xs[:-1]) * xs[-1])), argnums=tuple(range(len(arrays))))(*arrays, w)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.resolve_conj().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", UFUNCS)
def test_functions_of_one_number(name: str) -> None:
    check(getattr(np, name), lambda torch: getattr(torch, UFUNCS[name]), Z)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str) -> None:
    f, of_torch = BINARY[name]
    check(f, of_torch, M, numbers(3, 1))
    check(f, of_torch, M, np.abs(M))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    check(lambda x: getattr(np, name)(x, axis=1), lambda torch: lambda x: getattr(torch, name)(x, dim=1), M)


@pytest.mark.parametrize("name", FOURIER)
def test_fourier_transforms(name: str) -> None:
    check(lambda x: getattr(np.fft, name)(x), lambda torch: getattr(torch.fft, name), M)


@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfft2", "rfftn"])
def test_fourier_transforms_of_real_numbers(name: str) -> None:
    check(lambda x: getattr(np.fft, name)(x), lambda torch: getattr(torch.fft, name), M.real.copy())


@pytest.mark.parametrize("name", MATRICES)
def test_linear_algebra(name: str) -> None:
    f, of_torch, arrays = MATRICES[name]
    check(f, of_torch, *arrays)


def test_the_formula_of_the_page() -> None:
    step = 1e-6

    def loss(z: Any) -> Any:
        return np.real(np.exp(z) * np.conj(z) ** 2)

    z = 0.7 - 0.4j
    along_a = (loss(z + step) - loss(z - step)) / (2 * step)
    along_b = (loss(z + 1j * step) - loss(z - 1j * step)) / (2 * step)
    assert abs(gs.grad(loss)(z) - (along_a + 1j * along_b)) < 1e-8
    assert abs(gs.grad(loss, convention="jax")(z) - (along_a - 1j * along_b)) < 1e-8


def mixed(z: Any, x: Any) -> Any:
    """A loss of a complex and a real array."""
    return np.sum(np.abs(np.fft.fft(z)) ** 2 * x) + np.real(np.sum(np.exp(z) * x))


def test_jaxs_convention_is_the_conjugate() -> None:
    z, x = Z, np.arange(6.0)
    plain = gs.grad(mixed, argnums=(0, 1))(z, x)
    for convention, expected in (("torch", plain), ("jax", tuple([np.conj(g) for g in plain]))):
        eager = gs.grad(mixed, argnums=(0, 1), convention=convention)
        assert unlike(eager(z, x), expected) is None
        compiled = gs.compile(gs.value_and_grad(mixed, argnums=(0, 1), convention=convention), verify="first calls")
        for _ in range(3):
            value, found = compiled(z, x)
            assert value == mixed(z, x)
            assert unlike(found, eager(z, x)) is None


def test_jaxs_convention_of_what_is_not_used_nested_and_batched() -> None:
    jax = gs.grad(lambda z, w: np.sum(np.abs(z) ** 2), argnums=(0, 1), convention="jax")
    np.testing.assert_allclose(jax(Z, Z)[0], 2 * np.conj(Z))
    assert not jax(Z, Z)[1].any()
    inner = gs.grad(lambda w: np.sum(np.abs(w) ** 4), convention="jax")
    outer = gs.grad(lambda z: np.sum(np.abs(inner(z)) ** 2))
    np.testing.assert_allclose(outer(Z), 96 * np.abs(Z) ** 4 * Z)
    each = gs.vmap(gs.grad(lambda z: np.abs(z) ** 2, convention="jax"))(Z)
    np.testing.assert_allclose(each, 2 * np.conj(Z))


def test_jaxs_convention_gives_each_result_its_own_memory() -> None:
    x, y = gs.grad(lambda a, b: np.sum(np.real(a + b)), argnums=(0, 1), convention="jax")(Z, Z)
    assert not np.shares_memory(x, y)
    assert (x.flags.writeable, y.flags.writeable) == (True, True)


def test_other_conventions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'torch'.*'jax'.*not 'numpy'"):
        gs.grad(mixed, convention="numpy")
    with pytest.raises(TypeError, match="PyTorch's convention"):
        gs.export(gs.grad(lambda z: np.sum(np.abs(z)), convention="jax"), Z)


@pytest.mark.parametrize("vectors", [
    lambda x: np.linalg.eigh(x + np.conj(x.T))[1], lambda x: np.linalg.eig(x)[1], lambda x: np.linalg.svd(x)[0],
    lambda x: np.linalg.svd(x)[2],
])  # fmt: skip
def test_a_loss_that_depends_on_phases_is_found_on_demand(vectors: Any) -> None:
    with gs.singular("raise"):
        assert np.isfinite(gs.grad(lambda x: np.sum(np.abs(vectors(x)) * np.arange(3)))(S)).all()
        with pytest.raises(gs.SingularPointError):
            gs.grad(lambda x: np.sum(np.real(vectors(x)) * np.arange(3)))(S)


def test_a_complex_product_that_numpy_rounds_by_its_place_is_no_difference() -> None:
    """NumPy 2.0 gives `multiply(a, b, out=a view with gaps)` other last bits from run to run: compiled is not blamed."""
    for _ in range(30):
        compiled = gs.compile(lambda x, y: np.cross(x, y), verify="first calls")
        for _ in range(2):
            x, y = numbers(50, 3), numbers(50, 3)
            np.testing.assert_allclose(compiled(x, y), np.cross(x, y), rtol=0, atol=1e-13)


@pytest.mark.parametrize("f", [np.arcsin, np.arccos, np.arccosh, np.arctanh, np.sqrt, np.log, lambda z: z**0.3])
@pytest.mark.parametrize("real", [2.0, -2.0])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_along_a_branch_cut_the_side_is_that_of_the_signed_zero(
    f: Callable[[Any], Any], real: float, zero: float
) -> None:
    for part in (np.real, np.imag):
        ends = [part(f(np.array(complex(real + step, zero)))) for step in (1e-6, -1e-6)]
        slope = gs.grad(lambda z, part=part: part(f(z)))(np.array(complex(real, zero))).real
        assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)
