"""Golden files: generated source is what it was, reads as ruff would have it, and gives the bits of eager."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

from golden_files import FOLDER, NATIVE, differences, files, texts
from golden_functions import Example, examples
from house import ROOT

FILES = sorted(FOLDER.glob("*.py"))
EXAMPLES = {example.function.__name__: example for example in examples()}


def test_the_source_is_what_the_golden_files_say() -> None:
    found = differences()
    assert not found, f"{found}\nIf that is what it should be: python tests/corpus/golden_files.py --write"


def test_there_are_enough_of_them() -> None:
    assert len(EXAMPLES) >= 25
    assert len(FILES) > len(EXAMPLES)
    assert {path.stem for path in FOLDER.glob("*.c")} == set(NATIVE)
    assert len(NATIVE) == 10


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_compiled_equals_eager_bit_for_bit(example: Example) -> None:
    eager = example.differentiated()
    compiled = gs.compile(eager, verify=True)
    for _ in range(2):
        assert difference(compiled(*example.args), eager(*example.args)) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_runs_alone_and_gives_the_bits_of_eager(path: Path) -> None:
    example = EXAMPLES[path.stem.removesuffix("_plain")]
    function = example.function if path.stem.endswith("_plain") else example.differentiated()
    text = path.read_text(encoding="utf-8")
    *_, definition = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    space: dict[str, object] = {}
    exec(compile(text, str(path), "exec"), space)
    assert difference(space[definition.name](*example.args), function(*example.args)) is None  # type: ignore[operator]


@pytest.mark.parametrize("command", [("check",), ("format", "--check", "--diff")], ids=["check", "format"])
def test_ruff_accepts_them_as_they_are(command: tuple[str, ...]) -> None:
    pytest.importorskip("ruff", reason="ruff comes with the test extra")
    run = [sys.executable, "-P", "-m", "ruff", *command, "--isolated", "--no-cache", str(FOLDER)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_line_is_wider_than_88_columns() -> None:
    wide = [
        (path.name, line) for path in FILES for line in path.read_text(encoding="utf-8").splitlines() if len(line) > 88
    ]
    assert not wide


def test_they_are_the_same_in_a_fresh_process() -> None:
    path = os.pathsep.join([str(ROOT / "tests" / "corpus"), *[p for p in sys.path if p]])
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "4242",
        "PYTHONPATH": path,
    }  # that of this process is another each time
    command = [sys.executable, "-P", "-c", "import sys, golden_files; sys.exit(golden_files.differences() or 0)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_change_of_the_source_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    name, text = next(texts())
    monkeypatch.setattr("golden_files.texts", lambda: iter([(name, text.replace("out = ", "out = 2 * "))]))
    assert "+    out = 2 * " in differences()
    assert np.sum([line.startswith("--- ") for line in differences().splitlines()]) == len(files())
