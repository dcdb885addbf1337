"""What type checkers are told is what is there at run time; two checkers read a user's file."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import gradscribe as gs

import house
import typed_names

pytestmark = pytest.mark.house

STUBS = house.ROOT / "stubs"
USER_FILE = house.ROOT / "tests" / "typing" / "user_file.py"
# submodules that stand under their second name, though `__all__` does not list them
ALSO = {"gradscribe.optim": {"lr_scheduler"}, "gradscribe.numpy": {"linalg", "fft", "random"}}


def module_of(stub: Path) -> str:
    parts = stub.relative_to(STUBS).with_suffix("").parts
    return ".".join(("gradscribe", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def names_in_stub(stub: Path) -> set[str]:
    """The names that a stub exports; what it takes by `*` is the `__all__` of that module."""
    found: set[str] = set()
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            above = f"gradscribe.{node.module}" if node.level else node.module
            found |= set(importlib.import_module(above).__all__)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname}
    return found


def names_at_run_time(name: str) -> set[str]:
    module = importlib.import_module(name)
    module = vars(module).get("_real", module)  # of NumPy's namespace
    if name == "gradscribe.autograd":
        return {*module.__all__, *module._LATER}
    return {*module.__all__}


TYPED = sorted(stub for stub in STUBS.rglob("*.pyi") if "scipy" not in stub.parts)


@pytest.mark.parametrize("stub", TYPED, ids=module_of)
def test_a_stub_names_what_its_module_has(stub: Path) -> None:
    name = module_of(stub)
    assert names_in_stub(stub) == names_at_run_time(name) | ALSO.get(name, set())
    module = importlib.import_module(name)
    for one in names_in_stub(stub):
        if one.startswith("__"):  # a namespace of NumPy's has its functions alone
            continue
        assert hasattr(module, one) or importlib.import_module(f"{name}.{one}")


@pytest.mark.parametrize("stub", sorted((STUBS / "scipy").glob("*.pyi")), ids=module_of)
def test_a_stub_of_scipy_is_a_module(stub: Path) -> None:
    pytest.importorskip("scipy")
    assert isinstance(importlib.import_module(module_of(stub)), types.ModuleType)


def test_every_name_made_at_run_time_has_a_stub() -> None:
    from gradscribe.transforms.finders import Alias, DropIn

    made = {finder.name for finder in sys.meta_path if isinstance(finder, (Alias, DropIn))}
    made = {name for name in made if not name.startswith("gradscribe.compat.")}
    assert made == {name for name in map(module_of, STUBS.rglob("*.pyi")) if name in made}


def declared_in_face() -> set[str]:
    """What the face declares to checkers."""
    tree = ast.parse((house.ROOT / "__init__.py").read_text(encoding="utf-8"))
    block, _ = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    found = {
        a.asname or a.name for node in block.body if isinstance(node, (ast.Import, ast.ImportFrom)) for a in node.names
    }
    return found - {"function_types"} | {"default_generator", "scipy"} | set(typed_names.listed())


def test_the_face_declares_what_it_loads_late() -> None:
    # `load` raises, and names load_exported
    assert declared_in_face() - {"*"} == {*gs._LATER, *gs._functions()} - {"load"}


@pytest.mark.parametrize("file", typed_names.FILES)
def test_declarations_of_methods_are_those_at_run_time(file: str) -> None:
    stands = (typed_names.FOLDER / file).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(stands)) == ast.dump(ast.parse(typed_names.FILES[file]())), "typed_names.py --write"


def expected() -> set[int]:
    lines = USER_FILE.read_text(encoding="utf-8").splitlines()
    return {k for k, line in enumerate(lines, 1) if re.search(r"# error: ", line)}


def checked_by(command: list[str], folder: Path) -> tuple[set[int], str]:
    """The lines of the user's file in which a checker finds an error, and all that it says."""
    shutil.copy(USER_FILE, folder / "user_file.py")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MYPYPATH")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    found = re.findall(r"user_file\.py:(\d+)(?::\d+)?(?: -|:) error", done.stdout)
    return {int(line) for line in found}, done.stdout + done.stderr


def installed() -> bool:
    return "site-packages" in Path(gs.__file__).parts


@pytest.mark.skipif(not installed(), reason="the types are those of the installed wheel")
@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_checkers_find_the_errors_of_a_users_file_alone(checker: str, tmp_path: Path) -> None:
    pytest.importorskip(checker)
    if "__all__ = [" not in (Path(np.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"):
        pytest.skip("NumPy's own declarations of this version give no names to `from numpy import *`")
    if checker == "mypy":
        command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "user_file.py"]
    else:
        (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "reportUnusedExpression": false}')
        command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "user_file.py"]
    found, said = checked_by(command, tmp_path)
    assert found == expected(), said


# What users import: the face, and what stands beside it under a name of NumPy's, SciPy's, PyTorch's or autograd's.
FACING = {"autograd", "compat", "distributed", "functional", "nn", "numpy", "optim", "scipy", "tree", "utils"}


@pytest.mark.skipif(not installed(), reason="the types are those of the installed wheel")
def test_what_users_import_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("basedpyright")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "basedpyright", "--verifytypes", "gradscribe", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    report = json.loads(done.stdout)["typeCompleteness"]
    modules = {module["name"] for module in report["modules"]}
    facing = {name for name in modules if name == "gradscribe" or name.split(".")[1] in FACING}
    exported = [one for one in report["symbols"] if one["name"].rpartition(".")[0] in facing]
    vague = sorted(one["name"] for one in exported if not one["isTypeKnown"])
    assert len(exported) > 1000
    assert len(vague) <= 0.05 * len(exported), vague
