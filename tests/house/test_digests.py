"""The record of generated sources: the same for the same sources, another for another, and blind for the user's lines."""

from __future__ import annotations

from pathlib import Path

import digests


def recorded(folder: Path, *texts: str) -> dict[str, list[str]]:
    recorder = digests.Recorder(folder)
    recorder.test = "tests/test_one.py::test_it"
    for text in texts:
        recorder.note(text)
    return {name: sorted(found) for name, found in recorder.found.items()}


def test_lines_of_the_users_do_not_count(tmp_path: Path) -> None:
    one = recorded(tmp_path, "def f(x):\n    y = np.sin(x)  # model.py:12\n    return y\n")
    other = recorded(tmp_path, "def f(x):\n    y = np.sin(x)  # model.py:99\n    return y\n")
    assert one == other
    assert digests.compared(one, other) == []


def test_a_planted_change_is_told_with_its_test(tmp_path: Path) -> None:
    one, other = recorded(tmp_path, "y = np.sin(x)\n"), recorded(tmp_path, "y = np.cos(x)\n")
    (line,) = digests.compared(one, other)
    assert line.startswith("tests/test_one.py::test_it: gone ")
    kept = {path.stem for path in tmp_path.glob("*.py")}
    assert {*one["tests/test_one.py::test_it"], *other["tests/test_one.py::test_it"]} == kept
