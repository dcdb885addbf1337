"""The notebooks run from top to bottom, and what is stored in them is what they show."""

from __future__ import annotations

import nbformat
import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

from cells import NOTEBOOKS, differences, other_pictures, pictures, run, shown

QUICK = ("reading-generated-source", "torch")
SOME = [path if path.stem in QUICK else pytest.param(path, marks=pytest.mark.slow) for path in NOTEBOOKS]


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # those of Jupyter's own machinery are not ours
def test_a_notebook_shows_what_is_stored_in_it(path, tmp_path):
    found = differences(path, tmp_path)
    assert not found, f"{found}\n\nIf that is what it should show: python tests/corpus/cells.py --write"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_traces_of_a_machine(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec["name"] == "python3"
    assert "/home/" not in path.read_text(encoding="utf-8")
    assert "/tmp/" not in path.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("default")
def test_floats_of_a_cell_have_a_tolerance_and_all_else_counts_to_the_letter(tmp_path):
    stored = [
        ("print(0.25, 'in', 1)", "0.2500000000001 in 1", {}),
        ("print(0.25, 'in', 2)", "0.25000025 in 2", {}),
        ("print(0.25, 'in', 3)", "0.25000025 in 3", {"rtol": 1e-5}),
        ("print(0.25, 'in', 4)", "0.25 in 40", {"rtol": 1e-5}),
        ("print('return 0.25 * x')", "return 0.2500000000001 * x", {"rtol": 1e-5}),
        ("0.25", "0.25000000001", {}),
    ]
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    for code, text, metadata in stored:
        output = nbformat.v4.new_output("stream", name="stdout", text=text + "\n")
        if code == "0.25":
            output = nbformat.v4.new_output("execute_result", data={"text/plain": text}, execution_count=6)
        notebook.cells.append(nbformat.v4.new_code_cell(code, outputs=[output], metadata=metadata))
    path = tmp_path / "page.ipynb"
    nbformat.write(notebook, path)
    found = [line for line in differences(path, tmp_path).splitlines() if line[:1] == "-" and line[:3] != "---"]
    assert found == [f"-{shown(notebook.cells[k])}" for k in (1, 3, 4)]


@pytest.mark.filterwarnings("default")
def test_another_curve_is_another_picture_and_the_same_is_not(tmp_path):
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    for numbers in ([1, 2, 3, 4], [1.01, 2, 3, 4], [4, 1, 0.5, 1]):
        code = f"import matplotlib.pyplot as plt\nplt.figure(figsize=(4, 3))\nplt.bar(range(4), {numbers})\nplt.show()"
        notebook.cells.append(nbformat.v4.new_code_cell(code))
    path = tmp_path / "page.ipynb"
    nbformat.write(notebook, path)
    stored, near, far = map(pictures, run(path, tmp_path).cells)
    assert [kind for kind, _ in stored] == ["image/png"]
    assert other_pictures(stored, stored) == []
    assert other_pictures(stored, near) == []
    (said,) = other_pictures(stored, far)
    assert said.startswith("a picture of 0.")
    assert other_pictures(stored, []) == ["pictures: ['image/png'] are stored, [] are shown"]


def test_each_notebook_but_that_of_text_has_a_picture():
    without = [path.stem for path in NOTEBOOKS if not any(map(pictures, nbformat.read(path, as_version=4).cells))]
    assert without == ["tutorials"]
