"""The house keeps its shape: layers, packaging, what an import loads, and what the wheel holds."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import inspect
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import gradscribe
from gradscribe.tracer.core.recorder import Recorder

import house
from house import FACE, LAYERS, ROOT

pytestmark = pytest.mark.house

MODULES = list(house.modules())
KNOWN = {name: path.name == "__init__.py" for name, path in MODULES}
SOURCES = {name: path.read_text(encoding="utf-8") for name, path in MODULES}
INSTALLED = Path(gradscribe.__file__).resolve().parent


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with warnings as errors."""
    return subprocess.run([sys.executable, "-W", "error", *arguments], cwd=cwd, capture_output=True, text=True)


def editable() -> bool:
    """Whether gradscribe was installed by `pip install -e` (a gradscribe.egg-info in the checkout does not tell)."""
    found = [d.read_text("direct_url.json") for d in importlib.metadata.distributions(name="gradscribe")]
    return any(json.loads(origin).get("dir_info", {}).get("editable", False) for origin in found if origin)


# --- what is under test ---------------------------------------------------------------------------------------------


def of_checkout() -> bool:
    """Whether the checkout itself may be under test: an editable install, or GRADSCRIBE_CHECKOUT=1; never in CI."""
    return os.environ.get("CI") != "true" and (editable() or bool(os.environ.get("GRADSCRIBE_CHECKOUT")))


@pytest.mark.skipif(of_checkout(), reason="the checkout is under test, not a wheel")
def test_the_installed_wheel_is_under_test():
    assert "site-packages" in INSTALLED.parts, (
        f"gradscribe was imported from {INSTALLED}: install the checkout (pip install .), "
        f"or set GRADSCRIBE_CHECKOUT=1 to test the checkout itself"
    )


@pytest.mark.skipif(of_checkout(), reason="the checkout is under test, not a wheel")
def test_what_is_installed_is_what_stands_here():
    here = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for _, p in MODULES}
    there = {p.relative_to(INSTALLED).as_posix(): p.read_text(encoding="utf-8") for p in INSTALLED.rglob("*.py")}
    differing = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    assert not differing, f"stale install: remove build/ and install again; these differ: {differing}"


# --- layers ---------------------------------------------------------------------------------------------------------


def test_imports_point_down():
    found = [
        line for name in SOURCES for line in house.violations(SOURCES[name], name, KNOWN[name], sys.stdlib_module_names)
    ]
    assert not found


def test_imports_point_down_across_folders():
    assert not [line for name, source in SOURCES.items() for line in house.upward(source, name, KNOWN[name], KNOWN)]


def test_every_folder_has_its_place_in_the_order():
    folders = {house.folder_of(module, is_package) for module, is_package in KNOWN.items()}
    assert folders == set(house.ORDER)


def test_no_circle_of_imports_at_run_time():
    assert not house.circles()


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("transforms.compiler.passes.cse", "from ..capture.capture import Capture"),
        ("transforms.compiler.passes.cse", "def f():\n    from ..python.emit import emit"),
        ("runtime.ops", "if TYPE_CHECKING:\n    from .rules.linalg import inverse"),
        ("tracer.core.graph", "import_module('..memory.masked', __package__)"),
    ],
)
def test_a_planted_import_upwards_across_folders_is_found(module, source):
    (found,) = house.upward(source, module, False, KNOWN)
    assert "stands above" in found


def test_the_recorder_is_named_in_few_folders():
    others = [name for name in SOURCES if house.folder_of(name, KNOWN[name]) not in house.LISTENED]
    assert not [f"{name}:{line}" for name in others for line in house.names_recorder(SOURCES[name])]


def test_a_planted_name_of_the_recorder_is_found():
    assert house.names_recorder("def f():\n    return LOCAL.recorder.scope") == [2]


def test_the_recorder_is_told_by_methods_alone():
    methods = [m for name, m in vars(Recorder).items() if not name.startswith("_")]
    assert len(methods) > 20
    assert all(inspect.isfunction(m) and m.__doc__ and "\n" not in m.__doc__ for m in methods)
    assert not Recorder.__annotations__


PLANTED = [
    ("runtime.ops", "from ..tracer import tensor", "runtime imports tracer.tensor"),
    ("runtime.ops", "from ..tracer.tensor import Tensor", "runtime imports tracer.tensor.Tensor"),
    ("runtime.rules.linalg", "from ...transforms import trees", "runtime imports transforms.trees"),
    ("tracer.tensor", "def f():\n    from ..transforms import grad", "tracer imports transforms.grad"),
    ("tracer.tensor", "if TYPE_CHECKING:\n    from .. import explorer", "tracer imports explorer"),
    ("tracer.tensor", "from .. import grad", "tracer imports grad of gradscribe"),
    ("tracer.tensor", "from ... import numpy", "outside the package"),
    ("transforms.compare", "import gradscribe.runtime", "imports gradscribe.runtime absolutely"),
    ("transforms.compare", "from gradscribe import grad", "imports gradscribe.grad absolutely"),
    ("transforms.compare", "importlib.import_module('gradscribe.explorer')", "imports gradscribe.explorer absolutely"),
    ("transforms.compare", "import_module('..explorer', __package__)", "transforms imports explorer"),
    ("explorer.demo", "from .. import __main__", "explorer imports __main__ of gradscribe"),
    ("runtime.ops", "from ..unpatched import np\nimport scipy.special", "runtime imports scipy at its top level"),
    ("runtime.new_file", "import numpy as np", "runtime imports numpy at its top level"),  # not from `unpatched`
    ("tracer.core.new_file", "from numpy import exp", "tracer imports numpy at its top level"),
    ("tracer.tensor", "try:\n    import gast\nexcept ImportError:\n    pass", "tracer imports gast at its top level"),
    ("tracer.tensor", "class A:\n    import optree", "tracer imports optree at its top level"),
]


@pytest.mark.parametrize(("module", "source", "message"), PLANTED)
def test_a_planted_violation_is_found(module, source, message):
    found = house.violations(source, module, False, sys.stdlib_module_names)
    assert len(found) == 1
    assert message in found[0]


def test_a_relative_import_is_resolved_from_a_package_too():
    source = "from ...tracer import tensor"
    assert "runtime imports tracer.tensor" in house.violations(source, "runtime.rules", True, frozenset())[0]
    assert "outside the package" in house.violations(source, "runtime", True, frozenset())[0]
    assert "outside the package" in house.violations(source, "runtime.rules", False, frozenset())[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("unpatched", "import numpy"),
        ("runtime.ops", "import ast\nfrom ..unpatched import np\nfrom .errors import NoRuleError\nfrom . import rules"),
        ("runtime.rules.special", "import scipy.special\nfrom ..registry import op\nfrom .support import spread"),
        ("tracer.tensor", "from ..runtime import ops\nfrom .. import runtime\ndef f():\n    import scipy"),
        ("transforms.compiler.text.emit", "import gast\nfrom ...runtime.ir import Graph\nfrom ..trees import flatten"),
        ("transforms.compiler.passes.dead", "from ....tracer import core\nfrom ..verify import verify"),
        ("explorer.demo", "from ..transforms import gradient\nfrom . import show"),
        ("__main__", "from .explorer import main"),
    ],
)
def test_a_downward_import_is_no_violation(module, source):
    assert not house.violations(source, module, False, sys.stdlib_module_names)


# --- files ----------------------------------------------------------------------------------------------------------


def test_setup_cfg_lists_the_packages_on_disk():
    assert house.packages_listed() == house.packages_on_disk()


def test_every_package_belongs_to_a_layer():
    stubs = {f"{FACE}.{path.name}" for path in (ROOT / "stubs").iterdir()}
    assert {name.split(".")[1] for name in house.packages_listed() if name not in {FACE, *stubs}} <= LAYERS.keys()


def test_a_folder_of_stubs_is_mapped_to_the_name_that_is_made_at_run_time():
    mapped = [line.split(" = ") for line in house.config()["options"]["package_dir"].strip().splitlines()]
    stubs = {f"{FACE}.{path.name}": f"stubs/{path.name}" for path in (ROOT / "stubs").iterdir()}
    assert dict(mapped) == {FACE: ".", **stubs}


def test_package_data_exists_and_is_complete():
    declared = house.config()["options.package_data"]
    for package, patterns in declared.items():
        folder = house.folder_of_package(package)
        for pattern in patterns.split():
            assert list(folder.glob(pattern)), f"package data {package}: {pattern} matches nothing"
    matched = {
        path
        for package, patterns in declared.items()
        for pattern in patterns.split()
        for path in house.folder_of_package(package).glob(pattern)
    }
    data = {
        p
        for layer in (*LAYERS, "stubs")
        for p in (ROOT / layer).rglob("*")
        if p.is_file()
        and p.suffix not in (".py", ".pyc", ".c", ".so", ".pyd")  # of the optional extension, which setup.py builds
    }
    assert data <= matched, f"these would not be installed: {sorted(map(str, data - matched))}"


def test_the_root_holds_no_other_module():
    assert {p.name for p in ROOT.glob("*.py")} == {"__init__.py", "__main__.py", "setup.py"}


def test_tests_are_no_package():
    assert not (ROOT / "tests" / "__init__.py").exists()
    assert not list(ROOT.glob("conftest.py"))


def test_no_folder_shadows_an_importable_package():
    elsewhere = [p for p in sys.path if p and Path(p).resolve() != ROOT]
    for name in (p.name for p in house.folders() if p.name != "tests"):
        assert name not in sys.stdlib_module_names, f"the folder {name} shadows the standard library"
        found = importlib.machinery.PathFinder.find_spec(name, elsewhere)
        assert found is None or found.origin is None, f"the folder {name} shadows {found.origin}"


def test_a_module_states_its_job():
    assert not [name for name, source in SOURCES.items() if not source.startswith('"""')]


def test_completion_offers_public_names_alone():
    offered = {name for name in dir(gradscribe) if not name.startswith("_")}
    assert not offered & {
        "Alias",
        "Any",
        "Callable",
        "annotations",
        "importlib",
        "sys",
        "bind",
        "FUNCTIONS",
        "TYPE_CHECKING",
    }
    assert {"grad", "compile", "nn", "optim", "numpy", "relu"} <= offered


def test_the_version_is_the_same_everywhere():
    version = house.config()["metadata"]["version"]
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert gradscribe.__version__ == version
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# --- what runs ------------------------------------------------------------------------------------------------------


def test_import_loads_nothing_that_can_wait(tmp_path):
    late = ["gast", "astunparse", "optree", "platformdirs", "scipy", "torch", "IPython", "tqdm", "sklearn"]
    done = run("-P", "-c", f"import sys, gradscribe; print([m for m in {late} if m in sys.modules])", cwd=tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_examples_in_docstrings_and_documents(tmp_path):
    documents = [
        str(p) for p in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if ">>> " in p.read_text()
    ]
    done = run(str(ROOT / "tests" / "corpus" / "doctests.py"), *documents, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def wheel_names(tmp_path, **variables):
    """What a wheel of the checkout holds, which is built with these variables of the environment."""
    source = tmp_path / "source"
    left = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "*.so")
    shutil.copytree(ROOT, source, ignore=left)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(source)]
    subprocess.run(pip, check=True, cwd=tmp_path, env=os.environ | variables)
    (wheel,) = tmp_path.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "is_there"), [("cc", True), ("no-such-compiler", False), ("cc -nostdinc", False)],
    ids=["with a compiler", "without one", "without Python.h"],
)  # fmt: skip
def test_the_wheel_is_built_with_or_without_the_extension(tmp_path, compiler, is_there):
    if shutil.which("cc") is None or not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("there is no C compiler, or this Python came without its header")
    names = wheel_names(tmp_path, CC=compiler, LDSHARED=f"{compiler} -shared")
    extensions = [name for name in names if name.endswith((".so", ".pyd"))]
    assert [name.partition(".cpython")[0] for name in extensions] == [
        "gradscribe/transforms/compiler/driver/guards/_entry"
    ] * is_there
    assert "gradscribe/transforms/compiler/driver/guards/quick.py" in names


@pytest.mark.slow
def test_the_wheel_holds_one_name_and_the_modules_alone(tmp_path):
    names = wheel_names(tmp_path)
    tops = {name.partition("/")[0] for name in names}
    assert len(tops) == 2, tops
    assert tops > {"gradscribe"}
    assert {name for name in tops if name != "gradscribe"}.pop().endswith(".dist-info")
    shipped = {name.removeprefix("gradscribe/") for name in names if name.endswith(".py")}
    assert shipped == {path.relative_to(ROOT).as_posix() for _, path in MODULES}
    assert "gradscribe/py.typed" in names
    stubs = {path.relative_to(ROOT / "stubs").as_posix() for path in (ROOT / "stubs").rglob("*.pyi")}
    assert stubs <= {name.removeprefix("gradscribe/") for name in names}
    assert "gradscribe/docs/kinks.md" in names  # to which messages point
    assert any(name.endswith("/LICENSE") for name in names)
