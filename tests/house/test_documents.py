"""README.md and docs/: what their code blocks print is what they say, and their links lead somewhere."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.native.build import compiler
from gradscribe.transforms.compiler.python import steps as target_steps
from gradscribe.transforms.compiler.schedule import steps as schedule_steps

import documents
from documents import DOCUMENTS, ROOT
from printed import differ

NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]


@pytest.mark.parametrize("name", NAMES)
def test_code_blocks_print_what_is_written(name, tmp_path):
    if name == "docs/native.md" and compiler() is None:
        pytest.skip("there is no C compiler on the PATH")
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "corpus" / "documents.py"), str(ROOT / name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("name", [*NAMES, "CONTRIBUTING.md", "explorer/data/README.md"])
def test_links_to_files_lead_somewhere(name):
    path = ROOT / name
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{name} links to {target}, which does not exist"


def test_messages_and_docstrings_name_pages_that_the_package_has():
    package = Path(gs.__file__).parent
    named = {}
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] not in {".venv", "benchmarks", "build", "examples", "tests"}:
            for page in re.findall(r"docs/([\w-]+\.md)", path.read_text(encoding="utf-8")):
                named.setdefault(page, path)
    assert len(named) > 5
    assert not {page: path for page, path in named.items() if not (package / "docs" / page).exists()}


def test_an_extra_that_is_named_anywhere_is_one():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    known = set(config["options.extras_require"])
    named = {}
    for path in (file for kind in ("*.md", "*.py", "*.ipynb") for file in ROOT.rglob(kind)):
        if not {".venv", "build"} & set(path.relative_to(ROOT).parts):
            for extras in re.findall(
                r"(?:gradscribe|\bpip install (?:-e )?\W*\.)\[([a-z, ]+)\]", path.read_text(encoding="utf-8")
            ):
                named |= dict.fromkeys(re.split(", *", extras), path)
    assert len(named) > 8
    assert {extra: path for extra, path in named.items() if extra not in known} == {}


def test_the_commands_for_contributors_name_scripts_that_exist():
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S | re.M)
    scripts = {script for block in blocks for script in re.findall(r"python ([\w./-]+\.py)", block)}
    assert len(scripts) > 7
    assert not [script for script in sorted(scripts) if not (ROOT / script).exists()]


def test_the_page_for_contributors_has_each_step():
    page = (ROOT / "docs" / "internals.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| step \| decides \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.M)
    named = [re.findall(r"^\| `(\w+)` \|", table, re.M) for table in tables]
    assert named == [list(schedule_steps.STEPS), list(target_steps.STEPS)]


def test_the_readme_has_the_two_commands_as_ci_runs_them():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    start = "python3 -m venv .venv && .venv/bin/python -m pip install "
    assert f"\n{start}. && .venv/bin/python -m gradscribe demo\n" in text
    assert f'\n{start}".[test]" && .venv/bin/python -m pytest -n 2 --dist loadgroup\n' in text


def test_the_description_for_pypi_has_the_words_of_the_readme_and_no_link_to_a_file():
    if "site-packages" not in gs.__file__:
        pytest.skip("the description is that of the installed wheel")
    told = importlib.metadata.metadata("gradscribe")
    assert told["License-Expression"] == "Apache-2.0"
    description = told.get_payload() or told["Description"]  # of the backport, which dask imports
    assert "[SciPy's optimisers](docs" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "is what SciPy's optimisers take" in description
    assert not re.search(r"\]\((?!https:)", description)


def imported(text):
    """The installed packages, other than Python's own, that the code blocks of a page import."""
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.S | re.M)
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    tops = {
        name.removeprefix("gradscribe.").partition(".")[0] if ".scipy" in name else name.partition(".")[0]
        for name in names
    }
    return {top for top in tops - sys.stdlib_module_names if importlib.util.find_spec(top) is not None}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_the_command_that_installs_what_its_blocks_need(name):
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    brought = {"gradscribe", *re.findall(r"^([\w-]+)>=", config["options"]["install_requires"], re.M)}
    text = (ROOT / name).read_text(encoding="utf-8")
    missing = {library for library in imported(text) - brought if f"`pip install {library}`" not in text}
    assert not missing
    if name == "README.md":
        assert not imported(text) - brought


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
    path.write_text("```python\nprint('f(x) = 0.5 * x =', 0.25)\n```\n\n```text\nf(x) = 0.5 * x = 0.2500000001\n```\n")
    assert documents.check(path, write=False) == ""
    path.write_text(path.read_text().replace("text\nf(x) = 0.5", "text\nf(x) = 0.5000000001"))
    assert "+f(x) = 0.5 * x = 0.25" in documents.check(path, write=False)
    path.write_text("```python\n1 / 0\n```\n")
    assert "ZeroDivisionError" in documents.check(path, write=False)


def test_a_block_states_a_tolerance_of_its_own(tmp_path):
    path = tmp_path / "page.md"
    page = "```python\nprint(0.5)\n```\n\n```text rtol=1e-3\n{}\n```\nend\n"
    path.write_text(page.format("0.5001"))
    assert documents.check(path, write=False) == ""
    path.write_text(page.format("0.51"))
    assert "-0.51\n+0.5" in documents.check(path, write=False)
    path.write_text(page.format("0.5001").replace(" rtol=1e-3", ""))
    assert "-0.5001\n+0.5" in documents.check(path, write=False)
    path.write_text(page.format("0.51"))
    assert documents.check(path, write=True) == ""
    assert path.read_text() == page.format("0.5")
    path.write_text(page.format("0.500").replace("1e-3", "0"))
    assert "-0.500\n+0.5" in documents.check(path, write=False)


TOKEN = re.compile(r"\d+\.\d*(?:e[-+]?\d+)?|\d+|[A-Za-z_]+|[-+*/=(),:@\[\]]")
VARYING = re.compile(r"[\d.]+ (s|ms|µs|kB|bytes)\b|\d%|times as fast|\de-\d\d")


def changed(token: str) -> str:
    """Another token: a float that is larger by a millionth, the next int, another word or sign."""
    if "." in token and token[0].isdigit():
        return repr(float(token) * (1 + 1e-6) or 1e-6)
    if token.isdigit():
        return str(int(token) + 1)
    return token + "x" if token.isidentifier() else {"-": "+", "+": "-"}.get(token, ";")


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_change_is_caught_wherever_it_stands(name):
    """In each line of each output, of what does not vary from run to run."""
    for block in documents.blocks((ROOT / name).read_text(encoding="utf-8")):
        text = block["output"] or ""
        end = 0
        for line in text.splitlines(keepends=True):
            start, end = end, end + len(line)
            assert differ(text, text[:start] + text[end:]) or not line.strip(), f"{line!r} may go"
            if VARYING.search(line):
                continue
            for match in TOKEN.finditer(text, start, end):
                planted = text[: match.start()] + changed(match[0]) + text[match.end() :]
                assert differ(text, planted), f"in {line!r}, {changed(match[0])!r} passes for {match[0]!r}"
