"""The command line, the demo on one screen, the data that it ships, and the examples."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.explorer import cli
from gradscribe.explorer.demo import PROGRAM, demo
from gradscribe.explorer.digits import load_digits

from house import ROOT

EXAMPLES = ROOT / "examples"


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Python on these arguments, in a process of its own, from an empty folder, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-P", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8")


# --- the command line -----------------------------------------------------------------------------------------------


def test_the_demo_shows_its_walk_on_one_screen(tmp_path):
    done = run("-m", "gradscribe", "demo", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100
    assert PROGRAM in done.stdout
    assert "def loss_value_and_grad(w1, w2, x, y):" in done.stdout
    assert "    # backward\n" in done.stdout
    assert "gradient of loss: all agree" in done.stdout
    assert float(re.findall(r"; ([\d.]+)% of 297 unseen digits", done.stdout)[0]) > 95
    assert "\033" not in done.stdout  # colours and carriage returns are for terminals
    assert "\r" not in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_demo_on_a_terminal_keeps_its_progress_on_one_line():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    assert demo(screen) == 0
    assert screen.getvalue().count("\repoch") == 30
    assert "\033[1m=== " in screen.getvalue()


def test_the_demo_needs_only_what_the_base_install_has(tmp_path):
    code = "import sys, io\nfor m in ('scipy', 'sklearn', 'tqdm', 'pygments', 'IPython'): sys.modules[m] = None\n"
    code += "from gradscribe.explorer.demo import demo\nraise SystemExit(demo(io.StringIO()))"
    done = run("-c", code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version(tmp_path):
    done = run("-m", "gradscribe", "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"gradscribe {gs.__version__}\n")


def test_no_command_shows_what_there_is(capsys):
    assert cli.main("1.2.3", []) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("usage: gradscribe")
    assert "demo" in shown


@pytest.mark.parametrize("arguments", [["nonsense"], ["demo", "more"], ["--nonsense"], ["--vers"]])
def test_an_unknown_command_is_an_error(arguments, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main("1.2.3", arguments)
    assert raised.value.code == 2
    shown = capsys.readouterr().err
    assert arguments[-1] in shown
    assert "usage: gradscribe" in shown


# --- the data -------------------------------------------------------------------------------------------------------


def test_the_data_are_those_of_scikit_learn():
    found = load_digits(test=297, seed=3)
    assert (found.train_images.shape, found.test_images.shape) == ((1500, 64), (297, 64))
    images = np.concatenate([found.train_images, found.test_images])
    labels = np.concatenate([found.train_labels, found.test_labels])
    original = pytest.importorskip("sklearn.datasets").load_digits()
    order = np.random.default_rng(3).permutation(1797)
    np.testing.assert_array_equal(images * 16, original.data[order])
    np.testing.assert_array_equal(labels, original.target[order])


# --- the examples ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_digits_trains_to_over_95_percent(tmp_path):
    done = run(str(EXAMPLES / "digits.py"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "training: 100%" in done.stderr
    assert float(re.findall(r"test accuracy: ([\d.]+)% of 359 scans", done.stdout)[0]) > 95
    eager, compiled, ratio = map(
        float, re.findall(r"eager ([\d.]+) ms, compiled ([\d.]+) ms, ([\d.]+) times as fast", done.stdout)[0]
    )
    assert ratio == pytest.approx(eager / compiled, rel=0.1)


@pytest.mark.slow
def test_digits_conv_trains_to_over_98_percent_within_two_minutes(tmp_path):
    done = run(str(EXAMPLES / "digits_conv.py"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(re.findall(r"test accuracy: ([\d.]+)% of 359 scans", done.stdout)[0]) > 98
    assert float(re.findall(r"time: ([\d.]+) s for 690 steps", done.stdout)[0]) < 120


def test_digits_says_what_it_needs(tmp_path):
    code = "import sys, runpy, types; sys.modules['tqdm'] = None\n"
    code += "sys.modules['sklearn'] = sys.modules['sklearn.datasets'] = types.SimpleNamespace(load_digits=None)\n"
    code += f"runpy.run_path({str(EXAMPLES / 'digits.py')!r})"
    done = run("-c", code, cwd=tmp_path)
    assert done.returncode == 1
    assert 'needs tqdm; an extra of gradscribe brings it: pip install "gradscribe[examples]"' in done.stderr


def test_a_smaller_last_batch_makes_no_further_specialisation():
    import runpy

    space = runpy.run_path(str(EXAMPLES / "digits.py"))
    rng = np.random.default_rng(0)
    layers = space["initial"]([8, 4, 10], rng)
    gradient = gs.compile(space["loss"], verify="first calls")
    with warnings.catch_warnings():
        warnings.simplefilter("error", gs.EagerWarning)
        for n in (64, 64, 30, 64, 30, 17, *range(2, 25)):
            gradient(layers, rng.normal(size=(n, 8)), rng.integers(0, 10, n))
    texts = {gradient.source(layers, rng.normal(size=(n, 8)), rng.integers(0, 10, n)) for n in (64, 30, 17)}
    assert len(texts) == 1


@pytest.mark.slow  # .ci/run runs each example as well
@pytest.mark.parametrize("example", sorted(p.name for p in EXAMPLES.glob("*.py")))
def test_examples_run_tiny(example, tmp_path):
    done = run(str(EXAMPLES / example), "--tiny", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())
