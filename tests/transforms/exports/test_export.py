"""gs.export: modules that need NumPy alone, give what eager gives, check their inputs and themselves."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import re
import runpy
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

import gradscribe as gs

from golden_functions import examples

rng = np.random.default_rng(0)
X, Y, W = rng.normal(size=(50, 3)), rng.normal(size=50), rng.normal(size=3)
SCALE = 2.5
OFFSET = np.array([0.5, -1.0, 2.0])
LARGE = rng.normal(size=(40, 3))
CALLS: list[int] = []


def helper(z):
    return np.tanh(z) * SCALE


def loss(w, x, y):
    r = helper(x @ w) - y
    return np.mean(r**2)


def branching(w, x):
    if bool(np.sum(x @ w) > 0):
        return np.sum(np.exp(x @ w))
    return np.sum(w**2)


def offset(w):
    return np.sum((w - OFFSET) ** 4)


def large(w):
    return np.sum(np.sin(LARGE @ w))


def ridge(params, x, *, power=2, strength=0.1):
    hidden = np.tanh(x @ params["layers"][0] + params["b"])
    return np.mean(hidden**power) + strength * np.sum(params["layers"][0] ** 2)


def likelihood(rate, counts):
    return np.sum(scipy.special.gammaln(rate + counts) - counts * np.log(rate))


def energy(z):
    return np.sum(np.abs(z) ** 2 * np.abs(np.sin(z)))


def gaussian(cov, x):
    lower = np.linalg.cholesky(cov)
    z = np.linalg.solve(lower, x)
    return 0.5 * np.sum(z * z) + np.sum(np.log(np.diag(lower)))


def by_size(x):
    n = x.shape[0]
    if n > 10:
        return np.sum(x)
    return np.sum(x**2)


def cross_entropy(w, x, labels):
    logits = x @ w
    logits = logits - np.max(logits, axis=1, keepdims=True)
    logp = logits - np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    return -np.mean(logp[np.arange(len(labels)), labels])


def packs(x):
    x.tolist()
    return np.sum(x)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


PARAMS = {"layers": [rng.normal(size=(3, 4))], "b": rng.normal(size=4)}
COVARIANCE = np.cov(rng.normal(size=(4, 20))) + np.eye(4)
CASES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "loss": (loss, (W, X, Y), {}),
    "all": (loss, (W, X, Y), {"argnums": (0, 2)}),
    "branching": (branching, (np.ones(3), np.abs(X)), {}),
    "offset": (offset, (W,), {}),
    "tree": (ridge, (PARAMS, X), {"strength": 0.3}),
    "static": (ridge, (PARAMS, X), {"power": 3}),
    "special": (likelihood, (1.5 + rng.random(6), np.arange(6.0)), {}),
    "complex": (energy, (rng.normal(size=3) + 1j * rng.normal(size=3),), {}),
    "number": (lambda a, b: np.sin(a) * b, (0.5, 2.0), {"argnums": (0, 1)}),
    "float32": (loss, (W.astype(np.float32), X.astype(np.float32), Y.astype(np.float32)), {}),
    "cholesky": (gaussian, (COVARIANCE, rng.normal(size=4)), {"argnums": 1}),
    "labels": (cross_entropy, (rng.normal(size=(3, 5)), X, rng.integers(0, 5, 50)), {}),
    "rosenbrock": (rosenbrock, (rng.normal(size=6),), {"hvp": True, "jvp": True, "hessian": True}),
    "no axes": (lambda x, y: np.sum(x * y), (np.array(0.5), np.arange(3.0)), {"argnums": (0, 1)}),
    "second order": (lambda x: np.sum(gs.grad(offset)(x) ** 2), (W,), {}),
}


def executed(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "<exported>", "exec"), space)
    return space


def exported(function: Any, *args: Any, **options: Any) -> dict[str, Any]:
    return executed(gs.export(function, *args, **options))


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (dict, list, tuple)):
        return [leaf for v in (tree.values() if isinstance(tree, dict) else tree) for leaf in leaves(v)]
    return [tree]


def assert_same(found: Any, expected: Any) -> None:
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b)


def run(path: Path, *before: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    command = [python, "-I", "-W", "error", *(before or [str(path)])]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_eager_gives_and_passes_its_own_check(name: str) -> None:
    function, args, options = CASES[name]
    module = exported(function, *args, script=True, **options)
    given = {k: v for k, v in options.items() if k not in ("argnums", "hvp", "jvp", "hessian")}
    argnums = options.get("argnums", 0)
    label = module["EXPORTED"]["function"]
    assert_same(module[label](*args, **given), function(*args, **given))
    expected = gs.value_and_grad(function, argnums=argnums)(*args, **given)
    assert_same(module[f"{label}_value_and_grad"](*args, **given), expected)
    assert_same(module[f"{label}_grad"](*args, **given), expected[1])
    assert module["check_gradient"]()


GOLDEN = {
    f"golden {e.function.__name__}": (e.function, e.args, {"argnums": e.argnums, "check": False}) for e in examples()
}
del GOLDEN["golden normalised"]  # it writes into an argument


FORMS = [
    (f"exported_{k}_{script}.py", case, script)
    for k, case in enumerate({**CASES, **GOLDEN}.values())
    for script in sorted({False, "check" not in case[2]})
]  # each as a file alone and as one that checks itself


def _written(folder: Path, forms: list[tuple[str, Any, bool]]) -> Path:
    for name, (function, args, options), script in forms:
        gs.export(function, *args, path=folder / name, script=script, **options)
    return folder


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all exports."""
    return _written(tmp_path_factory.mktemp("exported"), FORMS)


def _accepted(command: list[str], folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *command, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def ruff_accepts(folder: Path) -> None:
    for path in folder.iterdir():
        rows = path.read_text().partition("def example()")[0].splitlines()  # its numbers are left as they are
        assert not [row for row in rows if len(row) > 88]
    for command in (["ruff", "check"], ["ruff", "format", "--diff"]):
        _accepted([*command, "--isolated", "--no-cache"], folder)


def test_ruff_accepts_them_and_lines_are_short(tmp_path: Path) -> None:
    ruff_accepts(_written(tmp_path, [form for k, form in enumerate(FORMS) if k % (4 if form[2] else 16) == 0]))


@pytest.mark.slow
def test_ruff_accepts_all_of_them(exports: Path) -> None:
    ruff_accepts(exports)


@pytest.mark.slow  # mypy reads all that NumPy declares; .ci/run names this test
@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_mypy_accepts_them(exports: Path, tmp_path: Path) -> None:
    command = ["mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    if not hasattr(np, "matvec"):  # before NumPy 2.2 its declarations ask for the parameters of `np.ndarray`
        command.append("--allow-any-generics")
    _accepted(command, exports)


def test_a_gradient_of_ten_lines_is_a_file_of_sixty() -> None:
    def squared(w, x, y):
        """Return the mean squared error."""
        r = x @ w - y
        return np.mean(r**2)

    text = gs.export(squared, W, X, Y)
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("def squared_value_and_grad"))
    stop = next(k for k, line in enumerate(lines) if k > start and line.lstrip().startswith("return out"))
    assert stop - start >= 10
    assert len(lines) <= 60 + max(0, stop - start - 16), text
    assert lines[0] == '"""Return the mean squared error.'
    assert text.count("x @ w") == 2  # one in the source block, one in one body
    assert "    return squared_value_and_grad(w, x, y)[1]" in lines


def test_what_checks_the_arguments_is_no_longer_than_they_need() -> None:
    def penalised(w, b, x, y):
        return np.mean((x @ w + b - y) ** 2)

    def of_parts(params, x, y):
        w, b = params
        return np.mean((x @ w + b - y) ** 2)

    flat, nested = gs.export(penalised, W, 0.5, X, Y), gs.export(of_parts, (W, np.float64(0.5)), X, Y)
    assert len(flat[flat.index("def _check(") :].splitlines()) <= 16, flat
    assert len(nested[nested.index("def _check(") :].splitlines()) <= 35, nested
    assert "fields" not in nested
    for text, whole in ((flat, (W, 0.5, X, Y)), (nested, ((W, np.float64(0.5)), X, Y))):
        module = executed(text)
        name = next(name for name in module if name.endswith("_grad") and not name.endswith("and_grad"))
        module[name](*whole)
        for wrong in ([1.0], 3, np.ones((2, 2)), X[:, :2], None, X.tolist()):
            for k in range(len(whole)):
                with pytest.raises((TypeError, ValueError)):
                    module[name](*whole[:k], wrong, *whole[k + 1 :])


def test_comments_cite_the_block_of_lines_in_the_file() -> None:
    text = gs.export(loss, W, X, Y)
    block = dict(re.findall(r"^# +(\d+): (.*)$", text, re.MULTILINE))
    cited = set(re.findall(r"# line (\d+)", text))
    assert cited
    assert cited <= block.keys()
    assert {block[k].strip() for k in cited} == {
        "return np.tanh(z) * SCALE",
        "r = helper(x @ w) - y",
        "return np.mean(r**2)",
    }
    assert ".py:" not in text


def test_messages_do_not_dump_arrays() -> None:
    big = np.ones((30, 30))
    for module, call, name in (
        (exported(ridge, PARAMS, X, power=2, strength=0.3), (PARAMS, X), "ridge"),
        (exported(loss, W, X, Y), (W, X, Y), "loss"),
    ):
        for k in range(len(call)):
            for wrong in (big, big.tolist(), {"layers": big}, (big, big)):
                given = [*call[:k], wrong, *call[k + 1 :]]
                more = {"power": 2, "strength": 0.3} if name == "ridge" else {}
                with pytest.raises((TypeError, ValueError)) as caught:
                    module[f"{name}_grad"](*given, **more)
                assert len(str(caught.value)) < 120
                assert "1." not in str(caught.value)


def test_it_runs_where_numpy_alone_can_be_imported(tmp_path: Path) -> None:
    path = tmp_path / "loss_grad.py"
    text = gs.export(loss, W, X, Y, path=path, hvp=True, script=True)
    assert path.read_text(encoding="utf-8") == text
    imported = {alias.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import) for alias in n.names}
    assert imported == {"numpy"}
    blocked = (
        "import sys, runpy, importlib.abc\n"
        "class Blocked(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.partition('.')[0] in ('gradscribe', 'gast', 'astunparse', 'optree', 'scipy'):\n"
        "            raise ImportError('blocked: ' + name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        f"runpy.run_path({str(path)!r}, run_name='__main__')\n"
    )
    done = run(path, "-c", blocked)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        r"w: 3 slopes agree with finite differences: \S+\nhvp: agrees with the gradient: \S+\n", done.stdout
    )


def test_it_runs_in_an_environment_with_numpy_only(tmp_path: Path) -> None:
    path = tmp_path / "loss_grad.py"
    gs.export(loss, W, X, Y, path=path, script=True)
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = tmp_path / "env" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    variables = {"base": str(tmp_path / "env"), "platbase": str(tmp_path / "env")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=variables))
    for folder in (Path(np.__file__).parent, Path(np.__file__).parents[1] / "numpy.libs"):
        if folder.exists():
            (site / folder.name).symlink_to(folder)
    missing = run(path, "-c", "import gradscribe", python=str(python))
    assert "ModuleNotFoundError" in missing.stderr
    done = run(path, python=str(python))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_gradient_ends_with_exit_code_1(tmp_path: Path) -> None:
    path = tmp_path / "offset_grad.py"
    text = gs.export(offset, W, script=True)
    wrong = text.replace("    return out, ", "    return out, 1.001 * ")
    assert wrong != text
    path.write_text(wrong, encoding="utf-8")
    done = run(path)
    assert done.returncode == 1
    assert "w: 3 slopes DIFFER from finite differences" in done.stdout


def test_what_stands_at_the_top() -> None:
    text = gs.export(loss, W, X, Y)
    said = f"`loss` and its gradient, by gradscribe {gs.__version__}. Needs NumPy alone."
    assert ast.get_docstring(ast.parse(text)) == said
    made = executed(text)["EXPORTED"]
    assert re.fullmatch(r"[0-9a-f]{12}", made["source"])
    for line in ("# 1: def loss(w, x, y):", "# 2:     r = helper(x @ w) - y", "# 4: def helper(z):"):
        assert f"\n{line}\n" in text
    assert "Needs NumPy and scipy.special." in gs.export(*CASES["special"][:1], *CASES["special"][1])
    assert gs.export(loss, W, X, Y) == text


def test_sizes_that_the_text_does_not_name_are_free() -> None:
    module = exported(loss, W, X, Y)
    assert module["_ARGUMENTS"] == {"w": "float64[n]", "x": "float64[m, n]", "y": "float64[m]"}
    for n, m in ((1, 1), (7, 4), (2, 9)):
        args = (rng.normal(size=n), rng.normal(size=(m, n)), rng.normal(size=m))
        assert_same(module["loss_value_and_grad"](*args), gs.value_and_grad(loss)(*args))


def test_a_size_that_the_function_decides_by_is_fixed() -> None:
    text = gs.export(by_size, np.ones(5))
    module = executed(text)
    assert module["_ARGUMENTS"] == {"x": "float64[5]"}
    with pytest.raises(ValueError, match=re.escape("x must be float64[5], here [5], not float64[11]")):
        module["by_size"](np.ones(11))


def test_a_size_of_one_is_fixed_where_it_would_broadcast() -> None:
    def centred(x, y):
        return np.sum((x - y) ** 2)

    module = exported(centred, np.ones(1), np.arange(4.0), argnums=(0, 1))
    assert module["_ARGUMENTS"] == {"x": "float64[1]", "y": "float64[n]"} or module["_ARGUMENTS"]["y"] == "float64[n>1]"
    with pytest.raises(ValueError, match=re.escape("x must be float64[1], here [1], not float64[4]")):
        module["centred"](np.ones(4), np.ones(4))
    args = np.ones(1), np.arange(9.0)
    assert_same(module["centred_grad"](*args), gs.grad(centred, argnums=(0, 1))(*args))


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((W, X, Y[:4]), ValueError, "y must be float64[m], here [50], not float64[4]"),
        ((W, X, Y.astype(np.float32)), TypeError, "y must be float64[m], not float32[50]"),
        ((W, X[0], Y), ValueError, "x must be float64[m, n]"),
        (([1.0, 2.0], X, Y), TypeError, "w must be float64[n], not list[2]"),
        ((np.ma.array(W), X, Y), TypeError, "w must be float64[n], not MaskedArray[3]"),
    ],
)  # fmt: skip
def test_wrong_arrays_raise_and_say_what_was_expected(args: Any, error: Any, message: str) -> None:
    module = exported(loss, W, X, Y)
    for name in ("loss", "loss_grad", "loss_value_and_grad"):
        with pytest.raises(error, match=re.escape(message)):
            module[name](*args)


def test_wrong_trees_and_numbers_raise() -> None:
    module = exported(ridge, PARAMS, X, power=2, strength=0.3)
    call = module["ridge_grad"]
    with pytest.raises(
        TypeError, match=re.escape("params must be a dict with ['layers', 'b'], but is a dict with ['layers', 'c']")
    ):
        call({"layers": PARAMS["layers"], "c": PARAMS["b"]}, X, power=2, strength=0.3)
    with pytest.raises(
        TypeError, match=re.escape("params['layers'] must be a list with 1 items, but is a tuple with 1 items")
    ):
        call({"layers": (PARAMS["layers"][0],), "b": PARAMS["b"]}, X, power=2, strength=0.3)
    with pytest.raises(ValueError, match=re.escape("power must be 2, as exported, not 3")):
        call(PARAMS, X, power=3, strength=0.3)
    with pytest.raises(TypeError, match="strength must be float, but is a int"):
        call(PARAMS, X, power=2, strength=1)
    assert_same(call(PARAMS, X, power=2, strength=5.0), gs.grad(ridge)(PARAMS, X, power=2, strength=5.0))


def test_another_path_raises() -> None:
    module = exported(branching, np.ones(3), np.abs(X))
    for name in ("branching", "branching_grad", "branching_value_and_grad"):
        with pytest.raises(ValueError, match="this input takes another path through `branching`: export it again"):
            module[name](-np.ones(3), np.abs(X))


def test_small_arrays_from_outside_are_constants_and_large_ones_keyword_arguments() -> None:
    text = gs.export(offset, W)
    assert "\nOFFSET = np.array([0.5, -1.0, 2.0], np.float64)\n" in text
    assert executed(text)["_ARGUMENTS"] == {"w": "float64[3]"}
    module = exported(large, W)
    assert module["_ARGUMENTS"] == {"w": "float64[3]", "LARGE": "float64[40, 3]"}
    assert_same(module["large_grad"](W, LARGE=LARGE), gs.grad(large)(W))
    with pytest.raises(TypeError, match="LARGE"):
        module["large_grad"](W)


def test_hessian_and_products() -> None:
    x, v = rng.normal(size=5), rng.normal(size=5)
    module = exported(rosenbrock, x, hessian=True, hvp=True, jvp=True)
    hessian = gs.hessian(rosenbrock)(x)
    assert_same(module["rosenbrock_hessian"](x), hessian)
    np.testing.assert_allclose(module["rosenbrock_hvp"](x, v), hessian @ v, rtol=1e-12)
    value, slope = module["rosenbrock_jvp"](x, v)
    assert value == rosenbrock(x)
    np.testing.assert_allclose(slope, gs.grad(rosenbrock)(x) @ v, rtol=1e-12)
    y, u = rng.normal(size=9), rng.normal(size=9)
    np.testing.assert_allclose(module["rosenbrock_hvp"](y, u), gs.jacobian(gs.grad(rosenbrock))(y) @ u, rtol=1e-12)
    assert_same(module["rosenbrock_hessian"](y), gs.hessian(rosenbrock)(y))
    with pytest.raises(ValueError, match=re.escape("v must be float64[n], here [9]")):
        module["rosenbrock_hvp"](y, v)


def test_products_with_keyword_arguments_and_a_parameter_v() -> None:
    def f(v, *, scale):
        return scale * np.sum(v**3)

    module = exported(f, W, scale=2.0, hvp=True)
    np.testing.assert_allclose(module["f_hvp"](W, np.ones(3), scale=3.0), 18 * W, rtol=1e-14)


@pytest.mark.parametrize("what", ["hessian", "hvp", "jvp"])
def test_hessians_are_of_one_real_array(what: str) -> None:
    for function, args in ((ridge, (PARAMS, X)), (lambda a: a * a, (2.0,)), (energy, (W + 1j,))):
        with pytest.raises(gs.ShapeError, match=f"{what}=True needs argnums to be one argument"):
            gs.export(function, *args, **{what: True})


def test_a_transform_says_what_is_differentiated() -> None:
    for given in (gs.grad(loss, argnums=2), gs.compile(gs.value_and_grad(loss, argnums=2))):
        module = exported(given, W, X, Y)
        assert module["EXPORTED"]["argnums"] == "y"
        assert_same(module["loss_grad"](W, X, Y), gs.grad(loss, argnums=2)(W, X, Y))
    with pytest.raises(TypeError, match="has_aux is not exported"):
        gs.export(gs.grad(loss, has_aux=True), W, X, Y)


def test_what_runs_eagerly_is_refused_with_its_line() -> None:
    line = packs.__code__.co_firstlineno + 1
    with pytest.raises(
        gs.CompileError, match=rf"`packs` cannot be exported, because it runs eagerly: test_export.py:{line}:"
    ):
        gs.export(packs, W)


@dataclasses.dataclass
class Model:
    w: Any


@dataclasses.dataclass
class Affine:
    w: Any
    b: Any


class Net(NamedTuple):
    first: Affine
    scale: Any


def net_loss(net, x):
    """Return the loss of a net."""
    return np.mean((x @ net.first.w + net.first.b) ** 2) * net.scale


def test_classes_of_arguments_come_back_as_such(tmp_path: Path) -> None:
    net = Net(Affine(W, 0.5), np.float64(2.0))
    path = tmp_path / "net_grad.py"
    text = gs.export(net_loss, net, X, path=path)
    assert "type(net)(first=type(net.first)(w=d_w, b=d_b), scale=ratio)" in text  # which is the mean
    module, eager = executed(text), gs.value_and_grad(net_loss)
    assert module["_ARGUMENTS"]["net"] == {".first": {".w": "float64[n]", ".b": "float"}, ".scale": "float64"}
    for given in (X, X[:7]):
        assert repr(module["net_loss_value_and_grad"](net, given)) == repr(eager(net, given))
    loaded = gs.load(path, net_loss, net, X)
    assert repr(gs.grad(loaded)(net, X)) == repr(gs.grad(net_loss)(net, X))
    for wrong in (net._replace(first=Model(W)), net._replace(first={"w": W, "b": 0.5}), Affine(W, 0.5), W):
        with pytest.raises(TypeError, match=r"must have the fields \['\.\w+', '\.\w+'\]: a \w+"):
            module["net_loss_grad"](wrong, X)
    with pytest.raises(TypeError, match=r"net\.first\.w must be float64"):
        module["net_loss_grad"](net._replace(first=Affine(W.astype(np.float32), 0.5)), X)
    for command in (["ruff", "check", "--isolated"], ["ruff", "format", "--diff", "--isolated"]):
        done = subprocess.run([sys.executable, "-m", *command, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_a_module_cannot_know_is_refused() -> None:
    with pytest.raises(gs.CompileError, match="imports NumPy alone cannot know"):
        gs.export(lambda x: Model(x * x), W, argnums=None)
    with pytest.raises(gs.CompileError, match="script=True of `function` needs arguments whose classes"):
        gs.export(lambda m: np.sum(m.w**2), Model(W), script=True)
    with pytest.raises(gs.CompileError, match="argument `g` is a function"):
        gs.export(lambda x, g: np.sum(g(x)), W, helper)
    noise = np.random.default_rng(0)
    with pytest.raises(gs.CompileError, match="draws random numbers from `noise`, which it reads from outside"):
        gs.export(lambda x: np.sum(x * noise.normal()), W)
    with pytest.raises(gs.ShapeError, match="scalar output"):
        gs.export(lambda x: x * x, W)


def test_inputs_are_stored_where_drawn_ones_would_not_do() -> None:
    ordered = np.sort(rng.normal(size=60)) * 5 + np.arange(60.0)

    def f(x):
        return np.sum(np.log(x[1:] - x[:-1]))

    text = gs.export(f, ordered, script=True)
    assert "rng.uniform" not in text.partition("def example")[2]
    assert_same(executed(text)["example"]()["x"], ordered)


def test_many_numbers_are_drawn_from_their_range() -> None:
    x, labels = rng.uniform(0.5, 2.0, (200, 3)), rng.integers(0, 5, 200)
    drawn = exported(cross_entropy, np.ones((3, 5)) * 0.1, x, labels, script=True)["example"]()
    assert drawn["x"].shape == x.shape
    assert x.min() <= drawn["x"].min() <= drawn["x"].max() <= x.max()
    assert drawn["labels"].dtype == labels.dtype
    assert set(drawn["labels"]) <= set(range(5))


def test_a_check_that_fails_stops_the_export() -> None:
    def kink(x):
        return np.sum(np.abs(x) ** 0.5)

    with pytest.raises(gs.VerifyError, match="fails its own check") as caught:
        gs.export(kink, np.zeros(2))
    assert "check=False" in str(caught.value)
    assert "def kink_grad" in gs.export(kink, np.zeros(2), check=False)


def test_a_file_is_written_as_a_whole_and_is_a_script(tmp_path: Path) -> None:
    path = tmp_path / "offset_grad.py"
    gs.export(offset, W, path=path)
    first = path.read_text(encoding="utf-8")
    with pytest.raises(gs.CompileError):
        gs.export(packs, W, path=path)
    assert path.read_text(encoding="utf-8") == first
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert_same(runpy.run_path(str(path))["offset_grad"](W), gs.grad(offset)(W))
