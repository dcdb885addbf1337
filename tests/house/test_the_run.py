"""The run of the tests itself: its parts, and what plugins of other people may do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checks import TABLE, name_of
from house import ROOT

TESTS = """\
import pytest

@pytest.mark.parametrize("k", range(60))
def test_of_a_table(k):
    pass

@pytest.mark.audit
@pytest.mark.parametrize("k", range(60))
def test_of_an_audit(k):
    pass
"""
FEW = """\
import warnings

def test_alone():
    pass

def test_that_warns():
    warnings.warn("ours", UserWarning)
"""
FOREIGN = """\
import warnings
import pytest


def warn():
    warnings.warn("a plugin's", DeprecationWarning)

warn()

def pytest_configure():
    warn()

def pytest_collection_modifyitems():
    warn()

def pytest_sessionfinish():
    warn()

@pytest.fixture(autouse=True)
def of_a_plugin():
    warn()
    yield
    warn()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with this one's settings, and two modules of tests."""
    (tmp_path / "tests").mkdir()
    for name in ("pyproject.toml", "tests/conftest.py"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "tests" / "test_many.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "tests" / "test_few.py").write_text(FEW, encoding="utf-8")
    return tmp_path


def run(project: Path, *arguments: str, **environment: str) -> str:
    """What pytest says, without what else this environment holds."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def collected(text: str, name: str) -> int:
    return len(re.findall(rf"::{name}\[", text))


def test_the_parts_make_the_whole_and_each_has_every_audit(project: Path) -> None:
    texts = [run(project, "--collect-only", "-m", "", "--part", f"{k}/3") for k in (1, 2, 3)]
    assert [collected(text, "test_of_a_table") for text in texts] == [20, 20, 20]
    assert [collected(text, "test_of_an_audit") for text in texts] == [60, 60, 60]
    assert [text.count("::test_alone") for text in texts].count(1) == 1
    assert len({line for text in texts for line in text.splitlines() if "::test_of_a_table" in line}) == 60


def test_of_a_table_a_few_cases_run_by_default_and_all_where_they_are_asked_for(project: Path) -> None:
    one = run(project, "--collect-only")
    assert 3 <= collected(one, "test_of_a_table") <= 5
    assert "::test_alone" in one
    rest = run(project, "--collect-only", "-m", "slow")
    assert collected(one, "test_of_a_table") + collected(rest, "test_of_a_table") == 60
    assert collected(run(project, "--collect-only", "-k", "table"), "test_of_a_table") == 60
    assert "::test_of_a_table[3]" in run(project, "--collect-only", "tests/test_many.py::test_of_a_table[3]")


def test_each_op_is_in_the_default_run() -> None:
    files = (
        "runtime/test_rules",
        "runtime/test_corners",
        "transforms/derivatives/test_forward",
        "transforms/derivatives/test_vmap",
    )
    found = run(ROOT, "--collect-only", *[f"tests/{name}.py" for name in files])
    ops = {name_of(fn).partition(":")[0] for fn in TABLE} - {"?"}  # of operators those of a function
    missing = ops - set(re.findall(r"::test_\w+\[([\w.]+)", found))
    assert len(ops) > 300
    assert not missing, sorted(missing)


def test_a_warning_is_an_error_and_one_of_a_plugin_is_not(project: Path, tmp_path: Path) -> None:
    (tmp_path / "foreign_plugin.py").write_text(FOREIGN, encoding="utf-8")
    (tmp_path / "foreign_plugin-1.0.dist-info").mkdir()
    (tmp_path / "foreign_plugin-1.0.dist-info" / "METADATA").write_text("Name: foreign-plugin\nVersion: 1.0\n")
    (tmp_path / "foreign_plugin-1.0.dist-info" / "entry_points.txt").write_text(
        "[pytest11]\nforeign = foreign_plugin\n"
    )
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    said = run(project, "tests/test_few.py", PYTHONPATH=path)
    assert "DeprecationWarning: a plugin's" in said
    assert "UserWarning: ours" in said
    assert re.search(r"1 failed, 1 passed, \d+ warnings", said), said
