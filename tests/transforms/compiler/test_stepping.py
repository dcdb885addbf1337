"""pdb in generated source: breakpoints by file and line, and steps from the user's line into it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradscribe as gs

MODEL = """\
import numpy as np
import gradscribe as gs

SCALE = np.array([1.0, 2.0, 3.0])

def loss(w, x):
    r = np.tanh(x @ (w * SCALE))
    return np.sum(r * r)

x = np.ones((4, 3))
w = np.ones(3)
step = gs.compile(gs.value_and_grad(loss))
"""
SCRIPT = (
    MODEL
    + """\
for k in range(3):
    step(k * w, x)
value, d_w = step(w, x)  # the call
print("done", value)
"""
)
CALL = 1 + next(k for k, row in enumerate(SCRIPT.splitlines()) if "# the call" in row)


def debugged(folder: Path, text: str, commands: list[str], cache: str, name: str = "script.py") -> list[str]:
    """What pdb shows in a process of its own, a list item a command; the first is what it shows before."""
    (folder / name).write_text(text)
    command = [sys.executable, *(["-m", "pdb"] if "breakpoint()" not in text else []), name]
    done = subprocess.run(
        command, cwd=folder, input="\n".join([*commands, "q"]) + "\n", capture_output=True, text=True, timeout=120,
        env={**os.environ, "GRADSCRIBE_CACHE": cache, "PYTHONBREAKPOINT": ""},
    )  # fmt: skip
    assert done.returncode == 0 or "BdbQuit" in done.stderr, done.stderr
    return done.stdout.split("(Pdb) ")


def place(shown: str) -> tuple[str, int]:
    """The file and the line where pdb stands."""
    found = re.findall(r"^> (.+)\((\d+)\)", shown, re.MULTILINE)
    assert found, shown
    return found[-1][0], int(found[-1][1])


@pytest.mark.parametrize("cache", [pytest.param("off", marks=pytest.mark.slow), "cache"])
def test_a_step_from_the_users_line_enters_the_text(tmp_path: Path, cache: str) -> None:
    cache = cache if cache == "off" else str(tmp_path / cache)
    for _ in range(1 if cache == "off" else 2):  # the second process finds the text in the cache
        shown = debugged(tmp_path, SCRIPT, [f"b {CALL}", "c", "s", "s", "where", "r", "n"], cache)
        path, first = place(shown[3])
        assert re.fullmatch(r"loss_value_and_grad_[0-9a-f]{20}\.py", Path(path).name)
        assert place(shown[4])[0] == path
        assert place(shown[4])[1] > first
        between = shown[5].partition("script.py")[2].partition(path)[0]
        assert 1 <= len(re.findall(r"^[> ] \S+\.py\(\d+\)", between, re.MULTILINE)) <= 3, shown[5]
        assert "--Return--" in shown[6]
        assert place(shown[7])[0].endswith("script.py")


def test_a_breakpoint_by_file_and_line_hits(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    asked = "p __import__('sys').stdout.write(step.source(w, x).path + chr(10))"
    path = debugged(tmp_path, SCRIPT, [f"b {CALL}", "c", asked], cache)[3].splitlines()[0]
    rows = Path(path).read_text().splitlines()
    line = 1 + next(k for k, row in enumerate(rows) if row.lstrip().startswith("return out, "))
    shown = debugged(tmp_path, SCRIPT, [f"b {path}:{line}", "c", "p w"], cache)  # before anything has run
    assert f"Breakpoint 1 at {path}:{line}" in shown[1]
    assert place(shown[2]) == (path, line)
    assert "array([0., 0., 0.])" in shown[3]


def test_where_a_debugger_comes_late_few_of_our_lines_are_seen(tmp_path: Path) -> None:
    text = SCRIPT.replace("value, d_w =", "breakpoint()\nvalue, d_w =")
    shown = debugged(tmp_path, text, ["s"] * 6, "off")
    names = [Path(place(part)[0]).name for part in shown[:-1]]
    entered = next(k for k, name in enumerate(names) if name.startswith("loss_value_and_grad_"))
    assert names[0] == "script.py"
    assert sum(name == "compiled.py" for name in names[:entered]) <= 3
    assert set(names[:entered]) <= {"script.py", "compiled.py"}


def test_a_cell_that_is_run_by_exec(tmp_path: Path) -> None:
    cells = [MODEL, "for k in range(3):\n    step(k * w, x)\n", "value, d_w = step(w, x)\n"]
    text = f"""\
import linecache
space = {{"__name__": "__main__"}}
for k, cell in enumerate({cells!r}):
    name = f"<ipython-input-{{k}}>"
    linecache.cache[name] = len(cell), None, cell.splitlines(True), name
    exec(compile(cell, name, "exec"), space)
"""
    shown = debugged(tmp_path, text, ["b 6, k == 2", "c", "s", "s", "s", "s", "s"], "off")
    places = [place(part) for part in shown[2:-1]]
    assert any(re.search(r"loss_value_and_grad_[0-9a-f]{20}\.py$", path) for path, _ in places), shown
    assert not any(f"{os.sep}transforms{os.sep}" in path for path, _ in places)


def test_each_text_has_a_file_that_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: object) -> object:
        return np.sum(np.sin(x) * 2.0)  # type: ignore[call-overload]

    for cache in ("off", str(tmp_path / "cache")):
        monkeypatch.setenv("GRADSCRIBE_CACHE", cache)
        source = gs.source(gs.grad(f), np.ones(3))
        assert source.path is not None
        assert Path(source.path).read_text().startswith(source)
        assert gs.source(gs.grad(f), np.ones(3)).path == source.path


def test_the_folder_goes_with_the_process_and_not_with_its_forks(tmp_path: Path) -> None:
    program = """
import os
import numpy as np, gradscribe as gs
path = gs.source(lambda x: np.sum(x * x), np.ones(3)).path
child = os.fork() if hasattr(os, "fork") else None
if child == 0:
    raise SystemExit
if child:
    os.waitpid(child, 0)
print(path, os.path.exists(path))
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60,
        env={**os.environ, "GRADSCRIBE_CACHE": "off"},
    )  # fmt: skip
    path, _, there = done.stdout.strip().rpartition(" ")
    assert there == "True", done.stderr
    assert not Path(path).parent.exists()
