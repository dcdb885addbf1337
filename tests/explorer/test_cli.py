"""The command line on functions of the user's: targets, arguments, answers as text and JSON, exit codes, messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.explorer import cli

from house import config

MODEL = """
import numpy as np
import gradscribe as gs

w0 = np.array([1.0, 2.0])
data = np.array([[1.0, 0.5], [2.0, 1.0]])

def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)

@gs.grad
def decorated(w):
    return np.sum(w ** 3)

def dead(w):
    return np.sum(np.sqrt(w * 0.0))

def eager(w):
    with open(__file__) as file:
        return np.sum(w) * len(file.read())

def broken(w):
    raise ValueError("no such luck")

def alone():
    return 1.0

class Model:
    rate = 2.0

    def loss(self, x):
        return np.sum(x * self.rate)

model = Model()
"""
SUBCOMMANDS = (
    "demo",
    "source",
    "compare",
    "explain",
    "export",
    "report",
    "explore",
    "why",
    "coverage",
    "methods",
    "cache",
    "doctor",
    "bench",
    "train",
)


class Ran:
    """What a command left: its exit status, what it printed, and that as data."""

    def __init__(self, status: Any, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def data(self) -> Any:
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command in a folder that has a model."""
    (tmp_path / "model_of_a_test.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model_of_a_test", raising=False)

    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        try:
            status: Any = cli.main("1.2.3", [a.replace("MODEL", "model_of_a_test") for a in arguments])
        except SystemExit as left:
            status = left.code
        shown = capsys.readouterr()
        return Ran(status, shown.out, shown.err)

    yield command
    sys.modules.pop("model_of_a_test", None)


def test_source_of_a_gradient_of_a_transform_and_of_a_method(run: Any) -> None:
    found = run("source", "MODEL.py:loss", "--args", "w0, data")
    assert found.status == 0
    assert "def loss_grad(w, x):" in found.out
    assert "model_of_a_test.py:9" in found.out
    assert found.err == ""
    assert "def decorated_grad(w):" in run("source", "MODEL.py:decorated", "--args", "w0").out
    assert "def loss_grad(x):" in run("source", "MODEL:model.loss", "--args", "np.ones(2)").out
    assert (
        "return (np.tanh(x @ w) ** 2).sum()"
        in run("source", "MODEL.py:loss", "--args", "w0, data", "--of", "function").out
    )
    data = run(
        "source", "MODEL.py:loss", "--args", "w0, x=data", "--of", "value_and_grad", "--argnums", "w,x", "--json"
    ).data
    assert "return out, (x.T @ d_x_w, d_x_w[:, None] * w)" in data["source"]


def test_compare_says_yes_or_no(run: Any) -> None:
    found = run("compare", "MODEL.py:loss", "--args", "w0, rng.normal(size=(3, 2))")
    assert (found.status, found.err) == (0, "")
    assert "gradient of loss: all agree" in found.out
    data = run("compare", "MODEL.py:loss", "--args", "w0, data", "--argnums", "w", "--json").data
    assert data["ok"] is True
    assert [row["argument"] for row in data["rows"]] == ["w"]
    x, w = np.array([[1.0, 0.5], [2.0, 1.0]]), np.array([1.0, 2.0])
    np.testing.assert_array_equal(data["rows"][0]["gradient"], gs.grad(lambda w: np.sum(np.tanh(x @ w) ** 2))(w))


def test_explain_tells_of_all_calls_and_of_what_runs_eagerly(run: Any) -> None:
    found = run("explain", "MODEL.py:loss", "--args", "w0, data", "--args", "w0, data[:1]")
    assert found.status == 0
    assert "n = 2, 1" in found.out
    found = run("explain", "MODEL.py:eager", "--args", "w0", "--json")
    assert found.status == 1
    assert found.data["eager"][0]["site"] == "model_of_a_test.py:19"


def test_export_writes_a_module(run: Any, tmp_path: Path) -> None:
    found = run("export", "MODEL.py:loss", "--args", "w0, data", "-o", "loss_grad.py")
    assert found.status == 0
    assert "loss_grad.py" in found.out
    text = (tmp_path / "loss_grad.py").read_text()
    assert run("export", "MODEL.py:loss", "--args", "w0, data").out.strip() == text.strip()
    done = subprocess.run([sys.executable, "loss_grad.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_export_writes_c_and_jax(run: Any, tmp_path: Path) -> None:
    assert run("export", "MODEL.py:loss", "--args", "w0, data", "-o", "loss_grad.c", "--target", "c").status == 0
    assert (tmp_path / "loss_grad.h").exists()
    assert "jax.numpy" in run("export", "MODEL.py:loss", "--args", "w0, data", "--target", "jax").out


def test_why_names_the_line_and_is_json_with_nan(run: Any) -> None:
    found = run("why", "MODEL.py:dead", "--args", "w0")
    assert found.status == 1
    assert "model_of_a_test.py:16" in found.out
    (answer,) = run("why", "MODEL.py:dead", "--args", "w0", "--json").data["answers"]
    assert (answer["state"], answer["gradient"], answer["causes"][0]["op"]) == ("NaN", ["nan", "nan"], "np.sqrt")
    assert run("why", "MODEL.py:loss", "--args", "w0, data").status == 0


def test_coverage_gives_the_counts_first_and_is_filtered(run: Any) -> None:
    found = run("coverage")
    assert found.status == 0
    assert len(found.out.splitlines()) < 30
    everything = run("coverage", "--all").out
    assert len(everything.splitlines()) > 700
    assert everything.startswith(found.out.partition("\n\n")[0])
    assert "numpy.linalg.cholesky" in run("coverage", "cholesky").out
    assert {e["name"] for e in run("coverage", "np.linalg.*", "--json").data} >= {"svd", "solve"}
    refused = run("coverage", "--kind", "refused", "--module", "scipy.special", "--json").data
    assert refused
    assert {(e["module"], e["kind"]) for e in refused} == {("scipy.special", "not supported")}
    assert run("coverage", "nonsense_name").status == 1


@pytest.mark.parametrize(
    "words",
    [
        ["coverage", "--module", "numpy.fft"],
        *[pytest.param(words, marks=pytest.mark.slow) for words in (["coverage"], ["coverage", "cholesky"])],
    ],
    ids=len,
)
def test_coverage_needs_no_scipy(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['scipy'] = None\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "gradscribe", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"scipy\.special +is not installed: pip install scipy", done.stdout)


def test_methods_doctor_cache_and_bench_answer(run: Any) -> None:
    assert "scatter_add" in run("methods", "scatter_a").out
    assert run("methods", "nonsense_name").status == 1
    checks = {check["name"]: check for check in run("doctor", "--json").data}
    assert checks["gradients"]["ok"] is checks["compiled code"]["ok"] is True
    assert checks["numpy"]["found"] == np.__version__
    assert run("doctor").out.endswith("All is well.\n")
    assert set(run("cache", "--json").data) >= {"folder"}
    found = run("bench", "MODEL.py:loss", "--args", "w0, data", "--seconds", "0.01", "--json")
    assert found.status == 0
    assert 0 < found.data[0]["compiled_gradient"] < found.data[0]["to_compile"]
    assert "Rosenbrock" in run("bench", "--seconds", "0.001").out
    assert run("bench", "MODEL.py:eager", "--args", "w0", "--seconds", "0.001").status == 1


def test_doctor_says_what_is_wrong(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.explorer import doctor

    monkeypatch.setattr(doctor, "_NEEDED", ("numpy", "a_package_that_is_missing"))
    found = run("doctor")
    assert found.status == 1
    assert "Something is wrong with: a_package_that_is_missing." in found.out


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["source", "MODEL.py:nothing"], 2, "has no function `nothing`; it has loss, decorated, dead"),
        (["source", "MODEL.py:w0"], 2, "is no function, but a ndarray"),
        (["source", "MODEL.py:loss"], 2, '--args "np.ones(3), np.ones(3)"'),
        (["source", "MODEL.py:loss", "--args", "1,,"], 2, "are no arguments of a call"),
        (["source", "MODEL.py:loss", "--args", "unknown"], 2, "NameError: name 'unknown' is not defined"),
        (["source", "MODEL.py:decorated", "--args", "w0", "--argnums", "0"], 2, "leave --argnums"),
        (["source", "missing.py:loss"], 2, "there is no file missing.py"),
        (["source", "missing_module:loss"], 2, "there is no module missing_module"),
        (["source", "MODEL.py"], 2, "a target is file.py:function"),
        (["compare", "MODEL.py:loss", "--args", "w0, data", "--argnums", ","], 2, "--argnums is a position or a name"),
        (["compare", "MODEL.py:broken", "--args", "w0"], 3, "ValueError: no such luck\n  at "),
        (["compare", "MODEL.py:loss", "--args", "w0"], 3, "missing 1 required positional argument: 'x'"),
        (["source", "MODEL.py:eager", "--args", "w0"], 3, "calls `io.open`"),
        (["source"], 2, "target"),
        (["coverage", "--kind", "odd"], 2, "invalid choice: 'odd'"),
    ],
)
def test_what_goes_wrong_is_one_message_without_a_traceback(
    run: Any, arguments: list[str], status: int, words: str
) -> None:
    found = run(*arguments)
    assert found.status == status
    assert words in found.err
    assert "Traceback" not in found.err
    assert found.out == ""


def test_debug_lets_the_error_through(run: Any) -> None:
    with pytest.raises(ValueError, match="no such luck"):
        run("compare", "MODEL.py:broken", "--args", "w0", "--debug")


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_help_has_an_example_and_the_exit_codes(command: str, run: Any) -> None:
    found = run(command, "--help")
    assert found.status == 0
    assert f"\n  gradscribe {command}" in found.out
    assert "exit codes:" in found.out
    assert "--debug" in found.out
    assert ("--json" in found.out) == (command not in ("demo", "explore"))


def test_the_commands_are_those_and_the_console_script_runs_them(run: Any, tmp_path: Path) -> None:
    shown = run().out
    assert [line.split()[0] for line in shown.splitlines() if line[:4] == "    " and line[4:5].isalpha()] == list(
        SUBCOMMANDS
    )
    assert config()["options.entry_points"]["console_scripts"].strip() == "gradscribe = gradscribe.__main__:run"
    environment = {**os.environ, "COLUMNS": "100"}
    code = "import sys; sys.argv[1:] = ['coverage', 'cholesky']; from gradscribe.__main__ import run; sys.exit(run())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "numpy.linalg.cholesky" in done.stdout
