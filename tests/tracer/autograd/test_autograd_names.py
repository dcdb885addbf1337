"""gs.autograd can be imported by its public name, module by module, and nothing is loaded twice."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import gradscribe as gs


@pytest.mark.parametrize("name", ["function", "grad_mode"])
def test_the_same_module_by_either_name(name: str) -> None:
    public = importlib.import_module(f"gradscribe.autograd.{name}")
    assert public is getattr(gs.autograd, name)
    assert public is importlib.import_module(f"gradscribe.tracer.autograd.{name}")
    assert public.__spec__ is not None
    assert public.__spec__.name == public.__name__ == f"gradscribe.tracer.autograd.{name}"


def test_first_by_the_public_name_and_not_before() -> None:
    code = (
        "import sys, gradscribe as gs\n"
        "assert not any('autograd.function' in m for m in sys.modules)\n"
        "from gradscribe.autograd.function import Function\n"
        "import gradscribe.autograd.function as module\n"
        "from gradscribe.autograd import function\n"
        "assert module is function is gs.autograd.function is sys.modules['gradscribe.tracer.autograd.function']\n"
        "assert Function is gs.autograd.Function\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_what_is_not_there() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"gradscribe\.autograd\.nothing"):
        importlib.import_module("gradscribe.autograd.nothing")
