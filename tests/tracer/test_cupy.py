"""Arrays of CuPy's: gradients on the device, nothing copied unasked, errors by name. On a stand-in that has CuPy's names."""

from __future__ import annotations

import cmath
import copy
import math
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import fake_cupy
import numpy as np
import pytest
from fake_cupy import Copies, on_device, on_host
from scipy import special

import gradscribe as gs
from gradscribe.runtime import lookup

from checks import Case, cases, weights_for

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])

# Ops of which some call meets what CuPy has not, in the op itself or in its rule: each raises, and says what is missing.
# Of others whose very name CuPy lacks, `cupy_names.json` says it.
REFUSED = {
    "np.clip", "np.sum", "np.nansum", "np.mean", "np.nanmean", "np.max", "np.amax", "np.min", "np.amin", "np.nanmax",
    "np.nanmin", "np.prod", "np.var", "np.nanvar", "np.std", "np.nanstd", "np.nanprod", "np.nancumprod", "np.linalg.pinv",
    "np.linalg.cholesky", "np.fft.fftfreq", "np.fft.rfftfreq", "scipy.fft.fftfreq", "scipy.fft.rfftfreq",
}  # fmt: skip
WITH_CONSTANTS = {  # the sample calls the op with arrays of NumPy's, which nobody may move
    "np.where", "np.heaviside", "np.take", "np.take_along_axis", "np.extract", "np.nanmedian", "np.cumprod", "operator.getitem",
}  # fmt: skip
READ_A_NUMBER = {  # one, to decide by: whether a matrix is singular or symmetric, a sum zero; or which rank it is
    "np.quantile", "np.percentile", "np.linalg.det", "np.linalg.eigh", "np.linalg.eigvalsh", "np.linalg.cond",
    "np.linalg.cholesky", "guard",
    "complex_eig", "complex_eigvals", "least_squares", "adjugate", "over_weights", "complex_roots",
}  # fmt: skip


@pytest.fixture(autouse=True)
def cupy() -> Iterator[Any]:
    """Let the stand-in be CuPy."""
    with fake_cupy.installed() as module:
        yield module


def has_name(path: str) -> bool:
    """Whether CuPy has a function of this name."""
    module, _, name = path.rpartition(".")
    theirs = module.replace("scipy", "cupyx.scipy") if module.startswith("scipy") else module.replace("np", "cupy", 1)
    return name in fake_cupy.NAMES["modules"].get(theirs, {})


def refused(case: Case, error: Exception) -> bool:
    """Whether an error names the op and CuPy, and the op may raise it."""
    path = case.sample.name
    known = (
        path in REFUSED | WITH_CONSTANTS
        or path.startswith(("scipy.", "statistics.", "gradscribe."))
        or not has_name(path)
    )
    return known and "CuPy" in str(error) and "`" in str(error)


DIFFERENTIABLE = [
    c for c in cases() if c.sample.differentiable and not c.sample.integer and lookup(c.sample.fn) is not None
]


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=lambda c: c.label)
def test_a_gradient_on_the_device_is_numpys_or_what_is_missing_is_named(case: Case) -> None:
    xs = case.sample.draw(case.generator(), case.shapes)
    with np.errstate(all="ignore"):
        out = case.function()(*[x.copy() for x in xs])
    if not isinstance(out, (np.ndarray, np.generic)) or np.asarray(out).dtype.kind not in "fc":
        return
    w = weights_for(case.generator("w"), out)
    there = case._replace(options={name: on_device(value) for name, value in case.options.items()})
    is_complex, every = np.asarray(out).dtype.kind == "c", tuple(range(len(xs)))
    expected = gs.grad(case.loss(is_complex), argnums=every)(*xs, w)
    before, numbers = Copies.count, Copies.numbers
    error: Exception | None = None
    try:
        found = gs.grad(there.loss(is_complex), argnums=every)(*map(on_device, xs), on_device(w))
    except (TypeError, AttributeError) as raised:
        error = raised
    if error is not None:
        tuples = case.sample.name == "np.linalg.qr" and "'tuple' object" in str(error)  # CuPy's gives no named ones
        assert tuples or refused(case, error), error
        return
    assert all(type(g) is fake_cupy.ndarray for g in found)
    name = case.sample.name
    assert Copies.count == before
    assert Copies.numbers == numbers or (name if name.startswith("np.") else name.rpartition(".")[2]) in READ_A_NUMBER
    for g, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(on_host(g), e, rtol=1e-9, atol=1e-12)
        assert g.dtype == e.dtype


def test_most_of_numpy_is_there() -> None:
    paths = {c.sample.name for c in DIFFERENTIABLE if c.sample.name.startswith("np.")}
    assert len({p for p in paths if has_name(p) and p not in REFUSED}) > 150


FUNCTIONS: dict[str, Any] = {
    "elementwise": lambda x: np.sum(np.exp(x) * np.tanh(x)),
    "reductions": lambda x: np.mean(np.max(x, axis=1) * np.std(x)),
    "product": lambda x: np.sum((x @ x.T) ** 2),
    "index": lambda x: np.sum(x[:, [0, 2]] ** 2) + 3 * x[0, 0],
    "mask": lambda x: np.sum(np.where(x > 0, x, 0.1 * x)),
    "decomposition": lambda x: np.sum(np.linalg.svd(x)[1]),
    "creation": lambda x: np.sum(np.ones(3) * x + np.arange(3.0) * np.linspace(0.0, 1.0, 3)),
    "branch on a value": lambda x: np.sum(x * 2) if x[0, 0] > 0 else np.sum(x),
    "join": lambda x: np.sum(np.concatenate([x, 2 * x, np.zeros((1, 3))]) ** 2),
}


def written(x: Any) -> Any:
    """Writes into a copy."""
    y = x * 2
    y[0] = x[1] * 3
    y += x
    return np.sum(y * y)


FUNCTIONS["writes"] = written


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms_give_numpys_numbers_on_the_device(name: str) -> None:
    f, copies = FUNCTIONS[name], Copies.count
    value, g = gs.value_and_grad(f)(on_device(X))
    expected, e = gs.value_and_grad(f)(X)
    assert type(value) is type(g) is fake_cupy.ndarray
    assert value.shape == ()  # a reduction's result is an array on the device
    assert Copies.count == copies
    # not bit for bit: NumPy's vector instructions may end in another digit where memory begins elsewhere
    np.testing.assert_allclose(on_host(value), expected, rtol=1e-14)
    np.testing.assert_allclose(on_host(g), e, rtol=1e-14)
    gg = gs.grad(lambda x: np.sum(gs.grad(f)(x) ** 2))
    np.testing.assert_allclose(on_host(gg(on_device(X))), gg(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("transform", [gs.jacobian, gs.hessian, gs.jacfwd, gs.jacrev])
def test_jacobians(transform: Any) -> None:
    f = (lambda x: np.sum(np.sin(x) ** 3)) if transform is gs.hessian else lambda x: np.sin(x) * x[0]
    found = transform(f)(on_device(X[0]))
    assert type(found) is fake_cupy.ndarray
    np.testing.assert_allclose(on_host(found), transform(f)(X[0]), rtol=1e-12, atol=1e-14)


def test_vmap_jvp_vjp_and_hvp() -> None:
    x, f = on_device(X), lambda r: np.sum(np.exp(r))
    rows = gs.vmap(gs.grad(f))(x)
    np.testing.assert_allclose(on_host(rows), np.exp(X), rtol=1e-14)
    value, tangent = gs.jvp(np.sin, (x,), (x,))
    np.testing.assert_allclose(on_host(tangent), np.cos(X) * X, rtol=1e-14)
    out, pullback = gs.vjp(np.sin, x)
    np.testing.assert_allclose(on_host(pullback(out)[0]), np.cos(X) * np.sin(X), rtol=1e-14)
    np.testing.assert_allclose(on_host(gs.hvp(f)(x, x)), np.exp(X) * X)
    assert type(value) is type(rows) is fake_cupy.ndarray


def test_a_tensor_lies_on_the_device() -> None:
    x = on_device(X)
    t = gs.tensor(x, requires_grad=True)
    (t * x + 2.0).sum().backward()
    assert type(t.detach()._value) is type(t.grad._value) is fake_cupy.ndarray
    np.testing.assert_array_equal(on_host(t.grad._value), X)
    x[0] = 0.0
    np.testing.assert_array_equal(on_host(t._value), X)  # gs.tensor copies, on the device
    assert gs.as_tensor(x)._value is x


def test_a_python_number_beside_device_arrays() -> None:
    value, g = gs.value_and_grad(lambda w, x: np.mean(w * x))(2.0, on_device(X))
    assert float(value) == 2.0 * X.mean()
    assert float(g) == X.mean()


def test_a_tree_of_parameters() -> None:
    params = {"w": X.T, "b": X[:, 0]}
    f = lambda p, x: np.sum(np.tanh(x @ p["w"] + p["b"]))
    found = gs.grad(f)(on_device(params), on_device(X))
    for name, e in gs.grad(f)(params, X).items():
        np.testing.assert_allclose(on_host(found[name]), e, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtypes_are_kept(dtype: str) -> None:
    x = X.astype(dtype)
    f = lambda x: np.sum(np.abs(x * np.conj(x)))
    found, expected = gs.grad(f)(on_device(x)), gs.grad(f)(x)
    assert found.dtype == expected.dtype == np.dtype(dtype)
    np.testing.assert_allclose(on_host(found), expected, rtol=1e-14)


def test_integers_have_no_derivative(cupy: Any) -> None:
    with pytest.raises(gs.DtypeError, match="dtype int64"):
        gs.grad(np.sum)(on_device(np.arange(3)))


def test_functions_may_be_written_with_cupy(cupy: Any) -> None:
    def f(x: Any) -> Any:
        return cupy.sum(cupy.exp(x) * cupy.ones(3)) + cupy.linalg.norm(x)

    def on_numpy(x: Any) -> Any:
        return np.sum(np.exp(x) * np.ones(3)) + np.linalg.norm(x)

    np.testing.assert_allclose(on_host(gs.grad(f)(on_device(X))), gs.grad(on_numpy)(X), rtol=1e-14)
    assert float(gs.grad(lambda w: cupy.sum(cupy.ones(3) * w))(2.0)) == 3.0


@pytest.mark.parametrize("write", [lambda x: x * X, lambda x: X + x, lambda x: np.concatenate([x, X])])
def test_mixed_arrays_raise_and_say_what_to_do(write: Any) -> None:
    for call in (lambda: gs.grad(lambda x: np.sum(write(x)))(on_device(X)), lambda: write(gs.tensor(on_device(X)))):
        with pytest.raises(TypeError, match=r"arrays of CuPy's and of NumPy's.*cupy\.asarray\(x\)"):
            call()


def test_what_cupy_lacks_raises_by_name() -> None:
    with pytest.raises(TypeError, match=r"`np\.geomspace`.*CuPy 14\.2\.0 has no `cupy\.geomspace`.*x\.get\(\)"):
        gs.grad(lambda x: np.sum(np.geomspace(x[0], x[1])))(on_device(np.abs(X)))
    with pytest.raises(TypeError, match=r"`np\.sum`.*unexpected keyword argument 'where'"):
        gs.grad(lambda x: np.sum(x, where=x > 0))(on_device(X))
    with pytest.raises(TypeError, match=r"gradient of `scipy\.special\.ellipk`.*elliprd"):
        gs.grad(lambda x: np.sum(special.ellipk(x)))(on_device(np.array([0.25, 0.5])))


def _times_sum(name: str) -> Any:
    return lambda x: getattr(math, name)(x[0, 0]) * np.sum(x)


# What Python's own functions, which take numbers, become: functions of arrays, on the device.
OF_NUMBERS: dict[str, Any] = {
    **{name: _times_sum(name) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "exp", "exp2", "expm1", "log",
        "log2", "log10", "log1p", "sqrt", "cbrt", "fabs", "degrees", "radians",
    )},
    "alone": lambda x: math.sin(x[0, 0]),
    "of a sum": lambda x: math.exp(np.sum(x) / 4),
    "two numbers": lambda x: math.pow(x[0, 2], x[1, 0]) + math.atan2(x[0, 0], 2.0) + math.copysign(x[0, 0], -1.0),
    "several numbers": lambda x: math.hypot(*x[0]) + math.hypot(x[0, 0], 3.0),
    "fsum": lambda x: math.fsum(v * v for v in x[0]),
    "dist": lambda x: math.dist(x[0], x[1]),
    "prod": lambda x: math.prod(v + 0.5 for v in x[0]),
    "float": lambda x: float(x[0, 0]) ** 2,
    "item": lambda x: x[0, 2].item() * 2.0 + np.sum(x),
    "float64": lambda x: np.float64(x[0, 0]) * 2.0,
    "float32": lambda x: np.float32(x[0, 0]) * x[0, 1],
    "complex": lambda x: abs(complex(x[0, 0], x[0, 1])),
    "cmath": lambda x: cmath.exp(1j * x[0, 0]).real + cmath.phase(x[0, 0] + 1j),
    "questions": lambda x: np.sum(x * x) if math.isfinite(x[0, 0]) and not math.isclose(x[0, 0], 3.0) else x[0, 0],
    "whole parts": lambda x: math.modf(x[0, 2])[0] * x[0, 1] + math.frexp(x[0, 2])[0],
    "rounded": lambda x: x[0, 0] * math.floor(x[0, 2]) + x[0, int(x[1, 0])],
    "Python's own": lambda x: max(x[0]) * min(x[1]) + abs(x[0, 1]) + sum(x[0]) + pow(x[0, 2], 2),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_numbers_stay_on_the_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = OF_NUMBERS[name]
    if name not in (
        "questions",
        "rounded",
        "Python's own",
        "whole parts",
    ):  # which ask for an answer, or a whole number
        for way in ("__float__", "__complex__", "item", "__bool__"):
            monkeypatch.setattr(fake_cupy.ndarray, way, lambda *args: pytest.fail("a number left the device"))
    value, g = gs.value_and_grad(f)(on_device(X))
    expected, e = gs.value_and_grad(f)(X)
    assert type(value) is type(g) is fake_cupy.ndarray
    np.testing.assert_allclose(on_host(value), expected, rtol=1e-14)
    np.testing.assert_allclose(on_host(g), e, rtol=1e-13)
    assert g.dtype == e.dtype
    gg = gs.grad(lambda x: np.sum(gs.grad(f)(x) ** 2))
    np.testing.assert_allclose(on_host(gg(on_device(X))), gg(X), rtol=1e-11, atol=1e-14)
    monkeypatch.undo()
    compiled = gs.compile(gs.value_and_grad(f), verify="first calls")
    for _ in range(3):
        value, g = compiled(on_device(X))
        assert type(value) is type(g) is fake_cupy.ndarray
        np.testing.assert_allclose(on_host(g), e, rtol=1e-13)


def test_numpy_is_numpy_beside_it() -> None:
    gs.grad(np.sum)(on_device(X))
    assert type(gs.grad(lambda x: np.sum(np.cumsum(x)[np.array([0, 1, 1])]))(X)) is np.ndarray
    assert type(gs.grad(np.mean)(2.0)) is np.float64


def test_cupy_is_never_imported_here() -> None:
    code = "import sys, numpy as np, gradscribe as gs; gs.grad(np.sum)(np.ones(3)); gs.compile(gs.grad(np.sum))(np.ones(3)); "
    code += "print([m for m in sys.modules if m.startswith('cupy')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_who_asks_for_numbers_gets_them_from_the_device() -> None:
    t = gs.tensor(on_device(X), requires_grad=True)
    before = Copies.count
    assert repr(t) == repr(gs.tensor(X, requires_grad=True))
    assert Copies.count == before + 1
    plain = t.detach()
    assert plain.sum().item() == X.sum()
    assert plain.tolist() == X.tolist()
    assert float(plain.sum()) == X.sum()
    assert plain.numpy() is plain._value  # the array that it holds
    again = pickle.loads(pickle.dumps(plain))
    assert type(again._value) is type(copy.deepcopy(plain)._value) is fake_cupy.ndarray
    assert t.device == on_device(X).device
    with pytest.raises(ValueError, match="nothing is copied between devices unasked"):
        t.to_device("cpu")
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(plain)


OPTIMISERS = [
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
    "ASGD",
    "LBFGS",
]


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_step_on_the_device(name: str) -> None:
    def run(start: Any, saved: Any = None) -> Any:
        t = gs.tensor(start, requires_grad=True)
        optimiser = getattr(gs.optim, name)([t], lr=0.1)

        def closure() -> Any:
            optimiser.zero_grad()
            loss = (t * t).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimiser.step(closure)
        state = copy.deepcopy(optimiser.state_dict())
        optimiser.load_state_dict(saved or state)
        optimiser.step(closure)
        return t._value, state

    before = Copies.count
    there, _ = run(on_device(X))
    assert Copies.count == before
    here, saved = run(X)
    assert type(there) is fake_cupy.ndarray
    np.testing.assert_allclose(on_host(there), here, rtol=1e-12)
    there, _ = run(on_device(X), saved)  # what was saved on the host comes to lie on the device
    np.testing.assert_allclose(on_host(there), here, rtol=1e-12)
    with pytest.raises(TypeError, match="an iterable of Tensors"):
        getattr(gs.optim, name)(on_device(X), lr=0.1)


def test_a_loss_of_classes(cupy: Any) -> None:
    classes = np.array([0, 2])
    found = gs.grad(lambda x: gs.functional.cross_entropy(x, cupy.asarray(classes)))(on_device(X))
    np.testing.assert_allclose(
        on_host(found), gs.grad(lambda x: gs.functional.cross_entropy(x, classes))(X), rtol=1e-12
    )


def test_backward_with_a_number_for_a_gradient() -> None:
    out, pullback = gs.vjp(lambda x: np.sum(np.exp(x)), on_device(X))
    assert type(out) is fake_cupy.ndarray
    np.testing.assert_allclose(on_host(pullback(2.0)[0]), 2.0 * np.exp(X), rtol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: gs.export(f, x),
        lambda f, x: gs.compare(f, x),
        lambda f, x: gs.check_grads(f, (x,)),
        lambda f, x: gs.why(f, x),
        lambda f, x: gs.why(f(gs.tensor(x, requires_grad=True))),
        lambda f, x: gs.autograd.gradcheck(f, (gs.tensor(x, requires_grad=True),)),
        lambda f, x: gs.minimize(f, x),
    ],
)
def test_checks_and_exports_are_for_numpys_arrays(call: Any) -> None:
    with pytest.raises(TypeError, match=r"takes arrays of NumPy's.*x\.get\(\)"):
        call(lambda x: np.sum(x * x), on_device(X))


LARGE = np.linspace(-1.0, 1.0, 300_000)  # of which forward mode computes block by block, of NumPy's arrays


def of_singular_points(x: Any) -> Any:
    """A gradient in a mode that looks at values."""
    with gs.singular("nan"):
        return gs.grad(lambda x: np.sum(np.abs(x) * x))(x)


def by_a_rule_of_the_users(x: Any) -> Any:
    """A function with a derivative of its own."""

    @gs.custom_vjp
    def exp(x: Any) -> Any:
        return np.exp(x)

    exp.defvjp(lambda x: (np.exp(x), np.exp(x)), lambda r, g: (g * r,))
    return gs.grad(lambda x: np.sum(exp(x) ** 2))(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: gs.jvp(lambda x: np.sin(x) * np.exp(x) + x, (x,), (x,)),
        lambda x: gs.hvp(lambda x: np.sum(np.sin(x) * x))(x, x),
        lambda x: gs.linearize(lambda x: np.tanh(x) * x, x)[1](x),
        lambda x: gs.grad(lambda x: np.sum(x[:1000][np.arange(1000) % 7] ** 2))(x),
        lambda x: gs.grad(lambda x: np.sum(np.abs(np.fft.fft(x[:64])) ** 2))(x),
        lambda x: gs.vmap(gs.grad(lambda r: np.sum(np.linalg.inv(r.reshape(2, 2) + 3 * np.eye(2)))))(x[:12].reshape(3, 4)),
        of_singular_points, by_a_rule_of_the_users,
    ],
)  # fmt: skip
def test_large_arrays_and_modes(f: Any) -> None:
    before = Copies.count
    found, expected = f(on_device(LARGE)), f(LARGE)
    assert Copies.count == before
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for x, e in pairs:
        assert type(x) is fake_cupy.ndarray
        np.testing.assert_allclose(on_host(x), e, rtol=1e-9, atol=1e-9)


def by_a_rule(back: Any) -> Any:
    """The gradient of a sum by a rule of the user's."""

    @gs.custom_vjp
    def total(x: Any) -> Any:
        return np.sum(x)

    total.defvjp(lambda x: (np.sum(x), x), lambda x, g: (back(x) * g,))
    return gs.grad(total)


def test_a_copy_to_the_host_within_a_rule_raises_or_is_counted() -> None:
    device = on_device(X)
    assert type(by_a_rule(lambda x: x * 0.0 + 1.0)(device)) is fake_cupy.ndarray
    with pytest.raises(TypeError, match="Implicit conversion"):
        by_a_rule(lambda x: np.array([np.asarray(device)]))(device)
    before = Copies.count
    with pytest.raises(TypeError, match=r"Implicit conversion|arrays of CuPy's and of NumPy's"):
        by_a_rule(lambda x: device.get())(device)
    assert Copies.count == before + 1
