"""`gs.export(target="c")`: files of C that compile without a warning, and give what the native target gives, bit for bit."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler, together, written

import gradscribe as gs
from gradscribe.transforms.compiler.native import nests
from gradscribe.transforms.compiler.native.build import FLAGS, compiler
from gradscribe.transforms.exports.export_inputs import leaves_of

from golden_functions import examples

pytestmark = needs_compiler
STRICT = ("-Wall", "-Wextra", "-Werror", "-march=native", *[f for f in FLAGS if f not in ("-w", "-shared", "-fPIC")])
VECTORS = ("-DGRADSCRIBE_LIBMVEC", "-lmvec")
SAME = [
    "rosenbrock", "logistic_regression", "huber", "hinge", "kalman_step", "rk4_step", "gmm_log_likelihood",
    "convolution_by_hand", "gaussian_process", "pairwise_energy", "heat_equation", "newton", "halved", "squares_until",
]  # fmt: skip
CLOSE = [
    "softmax_regression",  # whose product NumPy's BLAS adds up in another order on some processors
    "mlp",
    "elbo",
    "multivariate_normal",
    "quadratic_program",
    "recurrent",
    "batch_of_images",
]  # products of known lengths
GOLDEN = {e.function.__name__: e for e in examples()}
MAIN = """
#include "{stem}.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{tables}
int main(void)
{{
{made}
    if ({name}({given})) return 3;
{shown}
{freed}
    return 0;
}}
"""


def loss(w: Any, x: Any, y: Any) -> Any:
    r = np.tanh(x @ w) - y
    return np.mean(r**2)


def arguments() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=3), rng.normal(size=(50, 3)), rng.normal(size=50)


def build(folder: Path, stem: str, *flags: str) -> None:
    """Compile a file with all warnings as errors: its library for the loader."""
    found = compiler()
    assert found is not None
    for vectors in (VECTORS, ()):
        command = [found.path, *STRICT, "-shared", "-fPIC", f"{stem}.c", "-o", f"{stem}.so", *vectors, *flags, "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0 or "warning" in done.stderr or "[-W" in done.stderr:
            break
    assert done.returncode == 0, done.stderr


def loaded(folder: Path, stem: str) -> Any:
    """The module of the loader."""
    spec = importlib.util.spec_from_file_location(f"{stem}_c", folder / f"{stem}_c.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def leaves(example: Any) -> list[Any]:
    """The arguments of an example that are numbers or arrays, as C takes them."""
    found = [leaf for value in example.args for _, leaf in leaves_of(value)]
    return [leaf for leaf in found if isinstance(leaf, (float, np.ndarray, np.inexact))]


def main_of(module: Any, name: str, stem: str, given: list[Any]) -> str:
    """A program that calls the function with these arguments, each in memory of its own, and prints the results."""
    types = {"float64": "double", "float32": "float", "int64": "int64_t", "bool": "uint8_t"}
    sizes: dict[str, int] = {}
    tables, made, names, shown, freed = [], [], [], [], []
    for (label, dtype, axes), value in zip(module._ARGUMENTS, given, strict=True):
        x = np.asarray(value)
        sizes.update(zip(axes or (), x.shape, strict=True))
        numbers = ", ".join(float(v).hex() if x.dtype.kind == "f" else str(int(v)) for v in x.ravel())
        t = types[dtype]
        if axes is None:
            names.append(numbers)
            continue
        tables.append(f"static const {t} {label}_all[] = {{{numbers or 0}}};")
        made.append(f"    {t} *{label} = malloc({x.nbytes}); memcpy({label}, {label}_all, {x.nbytes});")
        names.append(label)
        freed.append(f"    free({label});")
    for label, dtype, axes in module._RESULTS:
        n = int(np.prod([int(sizes.get(a, a)) for a in axes or ()]))
        made.append(f"    {types[dtype]} *{label} = malloc({n} * sizeof *{label});")
        names.append(label)
        shown.append(f'    for (int k = 0; k < {n}; k++) printf("%a\\n", (double){label}[k]);')
        freed.append(f"    free({label});")
    lengths = [str(sizes[n]) for n in module._SIZES]
    return MAIN.format(
        stem=stem, name=name, given=", ".join([*lengths, *names]), tables="\n".join(tables), made="\n".join(made),
        shown="\n".join(shown), freed="\n".join(freed),
    )  # fmt: skip


def run_main(folder: Path, stem: str, text: str, *flags: str) -> list[str]:
    """What a program prints that is compiled with a file."""
    found = compiler()
    assert found is not None
    (folder / "main.c").write_text(text, encoding="utf-8")
    command = [found.path, *STRICT, "main.c", f"{stem}.c", "-o", f"{stem}_main", *flags, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([folder / f"{stem}_main"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


def natively(function: Any, args: tuple[Any, ...], argnums: Any = 0) -> list[Any]:
    """The results of the native target, once it has taken over."""
    compiled = gs.compile(gs.value_and_grad(function, argnums=argnums), target="native")
    for _ in range(4):
        result = compiled(*args)
    assert gs.explain(compiled).specialisations[0].runs == "native, without a call of Python"
    return [leaf for _, leaf in leaves_of(result)]


def test_a_program_of_c_and_the_loader_give_the_bits_of_the_native_target(tmp_path: Path) -> None:
    args = arguments()
    text = gs.export(loss, *args, target="c", path=tmp_path / "loss_grad.c")
    assert text.language == "C"
    assert (tmp_path / "loss_grad.c").read_text(encoding="utf-8") == text
    build(tmp_path, "loss_grad")
    module = loaded(tmp_path, "loss_grad")
    value, slope = module.loss_value_and_grad(*args)
    expected = natively(loss, args)
    assert value == expected[0]
    np.testing.assert_array_equal(slope, expected[1])
    assert type(value) is np.float64
    printed = run_main(tmp_path, "loss_grad", main_of(module, "loss_value_and_grad", "loss_grad", list(args)))
    np.testing.assert_allclose([float.fromhex(x) for x in printed], [value, *slope], rtol=1e-14)  # tanh one by one
    longer = (args[0], np.concatenate([args[1]] * 2), np.concatenate([args[2]] * 2))
    np.testing.assert_allclose(module.loss_value_and_grad(*longer)[0], value, rtol=1e-14)
    with pytest.raises(TypeError, match=re.escape("x must be float64[m, n], not float32 of shape (50, 3)")):
        module.loss_value_and_grad(args[0], np.float32(args[1]), args[2])
    with pytest.raises(ValueError, match=re.escape("y has an axis of length 40, where m is 50")):
        module.loss_value_and_grad(args[0], args[1], args[2][:40])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # ctypes lets go of the GIL
        found = list(pool.map(lambda _: module.loss_value_and_grad(*args)[1].tobytes(), range(200)))
    assert set(found) == {slope.tobytes()}


def exported(folder: Path, name: str) -> Any:
    """A golden function as C, and its loader."""
    example = GOLDEN[name]
    gs.export(example.function, *example.args, argnums=example.argnums, target="c", path=folder / f"{name}.c")
    build(folder, name)
    return loaded(folder, name)


def reductions(a: Any, y: Any) -> Any:
    b = np.exp(a) * y
    parts = [f(b, axis=axis) for f in (np.sum, np.mean, np.max, np.min) for axis in (None, 0, 1)]
    return (*parts, np.sum(b * b), np.sum(y), b)


def test_sums_of_chunks_have_the_bits_of_the_native_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "BLOCK", 4)
    monkeypatch.setattr(nests, "CHUNK", 64)
    monkeypatch.setattr(nests, "ROWS", 5)
    rng = np.random.default_rng(0)
    args = rng.normal(size=(6, 9)), rng.normal(size=9)
    gs.export(reductions, *args, argnums=None, target="c", path=tmp_path / "reductions.c")
    build(tmp_path, "reductions")
    module = loaded(tmp_path, "reductions")
    [kernel] = together([written(reductions, *args)])
    for n, m in [(6, 9), (1, 9), (400, 9), (31, 64), (5, 1000), (0, 9)]:
        args = rng.normal(size=(n, m)), rng.normal(size=m)
        if n == 0:
            with pytest.raises(ValueError, match="no result"):
                module.reductions(*args)
            continue
        for mine, theirs in zip(module.reductions(*args), kernel.run(*args), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert kernel.left == [0]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAME, *CLOSE])
def test_golden_functions(name: str, tmp_path: Path) -> None:
    example, module = GOLDEN[name], exported(tmp_path, name)
    found = vars(module)[f"{name}_value_and_grad"](*leaves(example))
    expected = natively(example.function, example.args, example.argnums)
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        if name in SAME:
            np.testing.assert_array_equal(a, b)
        else:
            eps = np.finfo(np.asarray(b).dtype).eps
            np.testing.assert_allclose(a, b, rtol=1e4 * eps, atol=1e3 * eps * np.max(np.abs(b)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAME, *CLOSE])
def test_golden_functions_stay_within_their_operands(name: str, tmp_path: Path) -> None:
    example, module = GOLDEN[name], exported(tmp_path, name)
    text = main_of(module, f"{name}_value_and_grad", name, leaves(example))
    sanitised = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1", "-O1")
    printed = run_main(tmp_path, name, text, *sanitised)
    found = vars(module)[f"{name}_value_and_grad"](*leaves(example))
    flat = np.concatenate([np.ravel(x) for x in found])
    np.testing.assert_allclose([float.fromhex(x) for x in printed], flat, rtol=1e-4, atol=1e-4 * np.max(np.abs(flat)))


def norm(x: Any) -> Any:
    return np.linalg.norm(x, 3) + np.sum(np.linalg.pinv(np.outer(x, x)))


def printing(x: Any) -> Any:
    print(x.shape)
    return np.sum(x)


REFUSED = [
    pytest.param(norm, (np.arange(1.0, 4.0),), r"C has no form of np\.linalg\.norm, np\.linalg\.pinv", id="ops"),
    pytest.param(printing, (np.arange(1.0, 4.0),), "it has an effect", id="effect"),
    pytest.param(lambda x: np.sum(np.abs(x) ** 2), (np.arange(1.0, 4.0) + 1j,), "`x` is complex128", id="complex"),
]


@pytest.mark.parametrize(("function", "args", "words"), REFUSED)
def test_what_needs_python_is_refused_by_name(function: Any, args: tuple[Any, ...], words: str) -> None:
    with pytest.raises(gs.CompileError, match=words):
        gs.export(function, *args, target="c")


def test_options_that_are_of_other_targets_are_refused(tmp_path: Path) -> None:
    x = np.ones(3)
    with pytest.raises(
        TypeError, match=r"hessian=True is of modules of NumPy; .* export gs\.hessian\(f\) with argnums=None"
    ):
        gs.export(norm, x, target="c", hessian=True)
    with pytest.raises(TypeError, match="script=True is of modules of NumPy"):
        gs.export(norm, x, target="c", script=True)
    with pytest.raises(TypeError, match="target is one of 'numpy', 'c', 'jax', not 'rust'"):
        gs.export(norm, x, target="rust")
    with pytest.raises(ValueError, match=r"path ends in \.c"):
        gs.export(loss, *arguments(), target="c", path=tmp_path / "loss.py")


@pytest.mark.slow
def test_a_singular_matrix_gives_no_result_and_large_ones_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=4)
    gs.export(lambda a, b: {"x": np.linalg.solve(a, b)}, a, b, target="c", path=tmp_path / "solved.c", argnums=None)
    build(tmp_path, "solved")
    module = loaded(tmp_path, "solved")
    solve = next(v for k, v in vars(module).items() if k in ("function", "_lambda_"))
    np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b), rtol=1e-12)
    large = rng.normal(size=(40, 40)), rng.normal(size=40)
    np.testing.assert_allclose(solve(*large), np.linalg.solve(*large), rtol=1e-9)
    with pytest.raises(ValueError, match="no result"):
        solve(np.zeros((4, 4)), b)


@pytest.mark.slow
def test_products_are_calls_of_a_blas_that_is_linked(tmp_path: Path) -> None:
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    library = next(iter(folder.glob("libscipy_openblas64_*")), None)
    if library is None:
        pytest.skip("NumPy brings no OpenBLAS here")
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(200, 300)), rng.normal(size=(300, 20))

    def squares(w: Any, x: Any) -> Any:
        return np.sum((x @ w) ** 2)

    gs.export(squares, w, x, target="c", path=tmp_path / "squares.c")
    names = (
        "-DGRADSCRIBE_BLAS",
        "-DGRADSCRIBE_BLAS_NAME(name)=scipy_cblas_##name##64_",
        "-DGRADSCRIBE_BLAS_INT=int64_t",
    )
    build(tmp_path, "squares", *names, str(library), f"-Wl,-rpath,{folder}")
    found = loaded(tmp_path, "squares").squares_value_and_grad(w, x)
    for a, b in zip(found, natively(squares, (w, x)), strict=True):
        np.testing.assert_array_equal(a, b)
    build(tmp_path, "squares")  # loops of the file
    for a, b in zip(loaded(tmp_path, "squares").squares_value_and_grad(w, x), found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


@pytest.mark.slow
def test_the_header_is_one_of_cplusplus_too(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    gs.export(loss, *arguments(), target="c", path=tmp_path / "loss_grad.c")
    (tmp_path / "use.cpp").write_text('#include "loss_grad.h"\nauto *f = &loss_value_and_grad;\n', encoding="utf-8")
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-c", "use.cpp"], cwd=tmp_path, check=True)
