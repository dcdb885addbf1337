"""gs.export of functions of any result, steps of training among them: modules without a gradient, bit for bit as eager."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 3)), RNG.normal(size=20)

RUN = """
import pickle, sys
sys.modules["gradscribe"] = None  # importing it raises
import numpy as np
sys.path.insert(0, ".")
import module
args, steps = pickle.load(open("given", "rb"))
results = []
for k in range(steps):
    value, *carried = module.step(*args)
    results.append((value, *carried))
    args = [*carried, *args[len(carried):]]
pickle.dump(results, open("found", "wb"))
assert not [name for name in sys.modules if name.startswith("gradscribe.")]
"""


def network(params: Any, x: Any, y: Any) -> Any:
    h = F.relu(F.layer_norm(x @ params["w"] + params["b"], (4,)))
    return np.mean((h @ params["out"][0] - y) ** 2)


def initial() -> Any:
    rng = np.random.default_rng(1)
    return {"w": rng.normal(size=(3, 4)), "b": np.zeros(4), "out": [rng.normal(size=4)]}


def training(optimizer: Any) -> Any:
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, grads = gs.value_and_grad(network)(params, x, y)
        return (value, *optimizer.update(params, grads, state))

    return step


def bits(tree: Any) -> list[Any]:
    """The leaves of a tree, told apart to the last bit."""
    if isinstance(tree, dict):
        return [bits(v) for v in tree.values()]
    if isinstance(tree, (list, tuple)):
        return [type(tree).__name__, *map(bits, tree)]
    return [type(tree).__name__, np.asarray(tree).dtype.str, np.shape(tree), np.asarray(tree).tobytes()]


def module_of(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "module"}
    exec(compile(text, "module.py", "exec"), space)
    return space


@pytest.mark.parametrize("name", ["Adam", *[pytest.param(name, marks=pytest.mark.slow) for name in ("SGD", "AdamW")]])
def test_a_step_of_training_runs_where_gradscribe_is_not(name: str, tmp_path: Path) -> None:
    optimizer = getattr(gs.optim, name)(lr=0.05, **({"momentum": 0.9} if name == "SGD" else {}))
    step, params = training(optimizer), initial()
    args: Any = [params, optimizer.init(params), X, Y]
    gs.export(gs.compile(step), *args, path=tmp_path / "module.py")
    (tmp_path / "given").write_bytes(pickle.dumps((args, 5)))
    command = [sys.executable, "-I", "-W", "error", "-c", RUN]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = pickle.loads((tmp_path / "found").read_bytes())
    expected = []
    for _ in range(5):
        expected.append(step(*args))
        args = [*expected[-1][1:], X, Y]
    assert bits(found) == bits(expected)
    assert expected[-1][0] < expected[0][0]


def test_it_says_what_it_is_and_passes_ruff(tmp_path: Path) -> None:
    optimizer, params = gs.optim.Adam(lr=0.05), initial()
    path = tmp_path / "module.py"
    text = gs.export(training(optimizer), params, optimizer.init(params), X, Y, path=path)
    assert text.startswith(f'"""`step`, by gradscribe {gs.__version__}. Needs NumPy alone."""')
    assert "gradient" not in text.partition("EXPORTED")[2]
    space = module_of(text)
    assert space["EXPORTED"]["argnums"] is None
    assert space["_ARGUMENTS"]["state"]["step"] == "float"
    assert "def update" not in text  # what gs.optim is made of is no source of the user's
    for command in (["check"], ["format", "--diff"]):
        whole = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(path)]
        done = subprocess.run(whole, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_it_checks_its_arguments_and_sizes_are_free() -> None:
    optimizer, params = gs.optim.Adam(lr=0.05), initial()
    step = training(optimizer)
    space = module_of(gs.export(step, params, optimizer.init(params), X, Y, script=True))
    assert space["_ARGUMENTS"]["x"] == "float64[m, n]"
    assert bits(space["step"](params, optimizer.init(params), X[:7], Y[:7])) == bits(
        step(params, optimizer.init(params), X[:7], Y[:7])
    )
    assert len(space["step"](**space["example"]())) == 3
    with pytest.raises(ValueError, match=r"y must be float64\[m\], here \[20\], not float64\[19\]"):
        space["step"](params, optimizer.init(params), X, Y[1:])
    with pytest.raises(TypeError, match=r"params must be a dict with \['w', 'b', 'out'\]"):
        space["step"](list(params), optimizer.init(params), X, Y)


def test_a_step_in_place_writes_into_its_arguments() -> None:
    def step(w: Any, velocity: Any, x: Any, y: Any) -> Any:
        value, g = gs.value_and_grad(lambda w: np.mean((np.tanh(x @ w) - y) ** 2))(w)
        velocity *= 0.9
        velocity += g
        w -= 0.1 * velocity
        return {"loss": value}

    space = module_of(gs.export(step, np.zeros(3), np.zeros(3), X, Y))
    ours, theirs = (np.zeros(3), np.zeros(3)), (np.zeros(3), np.zeros(3))
    for _ in range(5):
        assert bits(space["step"](*ours, X, Y)) == bits(step(*theirs, X, Y))
        assert bits(ours) == bits(theirs)
    assert np.any(ours[0] != 0)


def test_a_step_draws_from_a_generator() -> None:
    optimizer = gs.optim.SGD(lr=0.1)

    def step(w: Any, state: Any, x: Any, rng: np.random.Generator) -> Any:
        def loss(w: Any) -> Any:
            return np.mean((F.dropout(x, 0.5, generator=rng) @ w - 1) ** 2)

        value, g = gs.value_and_grad(loss)(w)
        return (value, *optimizer.update(w, g, state))

    w, state, ours, theirs = np.ones(3), optimizer.init(np.ones(3)), *map(np.random.default_rng, (3, 3))
    text = gs.export(step, w, state, X, ours, script=True)
    assert ours.bit_generator.state == theirs.bit_generator.state
    space = module_of(text)
    assert "rng: np.random.Generator" in text
    assert len(space["step"](**space["example"]())) == 3
    for _ in range(3):
        found, (value, w, state) = space["step"](w, state, X, ours), step(w, state, X, theirs)
        assert bits(found) == bits((value, w, state))
        assert ours.bit_generator.state == theirs.bit_generator.state
    with pytest.raises(TypeError, match="rng must be Generator, but is a int"):
        space["step"](w, state, X, 3)


def test_without_a_gradient_where_one_is_asked_for_none() -> None:
    def f(x: Any) -> Any:
        return np.cumsum(np.sin(x))

    space = module_of(gs.export(f, X[0], argnums=None))
    assert bits(space["f"](X[1])) == bits(f(X[1]))
    assert "f_grad" not in space
    with pytest.raises(gs.ShapeError, match="pass argnums=None for a module without a gradient"):
        gs.export(f, X[0])
    several = module_of(gs.export(lambda n, x: (n + 1, x * n), np.arange(3), X[0]))
    assert bits(several["function"](np.arange(3), X[1])) == bits((np.arange(3) + 1, X[1] * np.arange(3)))


def test_transforms_are_exported_under_their_own_names() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**3), x + 1

    gradient = gs.value_and_grad(f, has_aux=True)
    space = module_of(gs.export(gradient, X[0], argnums=None))
    assert bits(space["f_value_and_grad"](X[1])) == bits(gradient(X[1]))
    hessian = gs.hessian(lambda x: np.sum(x**3))
    assert bits(module_of(gs.export(hessian, X[0], argnums=None))["function_hessian"](X[1])) == bits(hessian(X[1]))


def test_another_path_is_an_error() -> None:
    def f(x: Any) -> Any:
        return {"out": x * 2 if bool(np.sum(x) > 0) else -x}

    space = module_of(gs.export(f, np.ones(3)))
    with pytest.raises(ValueError, match="this input takes another path through `f`"):
        space["f"](-np.ones(3))


def test_both_arms_of_a_branch_are_exported() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(x)) if np.sum(x) > 0 else np.sum(x * x)

    space = module_of(gs.export(gs.value_and_grad(f), np.ones(3)))
    for x in (np.ones(3), -np.ones(3), np.arange(3.0), -np.arange(3.0)):
        assert bits(space["f_value_and_grad"](x)) == bits(gs.value_and_grad(f)(x))


def doubled() -> Any:
    def f(x: Any) -> Any:
        return x * 2, x

    return f


def test_what_has_no_gradient_is_not_loaded(tmp_path: Path) -> None:
    f = doubled()
    gs.export(f, X[0], path=tmp_path / "f.py")
    with pytest.raises(
        ValueError, match=r"has no gradient, which gs.load_exported would give to `f`: import it as it is"
    ):
        gs.load_exported(tmp_path / "f.py", f)
    with pytest.raises(gs.ShapeError, match="hessian=True needs a function that gives one number"):
        gs.export(f, X[0], hessian=True)


def test_what_the_module_gives_is_held_against_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.exports import export_text

    polished = export_text.polished
    monkeypatch.setattr(export_text, "polished", lambda text: polished(text).replace("x * 2", "x * 3"))
    with pytest.raises(gs.VerifyError, match="the module of `f` differs from eager"):
        gs.export(doubled(), X[0])
