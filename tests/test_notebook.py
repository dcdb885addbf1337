"""The notebooks run from top to bottom, and what is stored in them is what they show."""

from __future__ import annotations

import nbformat
import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from cells import NOTEBOOKS, differences


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # those of Jupyter's own machinery are not ours
def test_a_notebook_shows_what_is_stored_in_it(path, tmp_path):
    found = differences(path, tmp_path)
    assert not found, f"{found}\n\nIf that is what it should show: python tests/cells.py --write"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_traces_of_a_machine(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec["name"] == "python3"
    assert "/home/" not in path.read_text(encoding="utf-8")
    assert "/tmp/" not in path.read_text(encoding="utf-8")
