"""README.md and docs/: what their code blocks print is what they say, and their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import documents
from documents import DOCUMENTS, ROOT

NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_code_blocks_print_what_is_written(name, tmp_path):
    command = [sys.executable, "-W", "error", "-P", str(ROOT / "tests" / "documents.py"), str(ROOT / name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("name", [*NAMES, "CONTRIBUTING.md", "explorer/data/README.md"])
def test_links_to_files_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{name} links to {target}, which does not exist"


def test_the_readme_has_the_two_commands_as_ci_runs_them():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    start = "python3 -m venv .venv && .venv/bin/python -m pip install "
    assert f"\n{start}. && .venv/bin/python -m gradscribe demo\n" in text
    assert f'\n{start}".[test]" && .venv/bin/python -m pytest\n' in text


def test_a_wrong_output_is_found_and_mended(tmp_path):
    path = tmp_path / "page.md"
    right = "# A\n```python\nprint('one')\n```\n\n```text\none\n```\n```python\nx = 1\n```\nend\n"
    path.write_text(right.replace("\none\n", "\ntwo\n"))
    assert "-two\n+one" in documents.check(path, write=False)
    assert documents.check(path, write=True) == ""
    assert path.read_text() == right
    assert documents.check(path, write=False) == ""
    path.write_text(
        "```python\nprint('3.2 ms, 9.50%, 1.5 times as fast, 1.2e-11')\n```\n\n"
        "```text\n17 s, 10.25%, 20 times as fast, 3.0e-09\n```\n"
    )
    assert documents.check(path, write=False) == ""
    path.write_text("```python\n1 / 0\n```\n")
    assert "ZeroDivisionError" in documents.check(path, write=False)
