"""Run the notebooks, and compare what their cells show with the outputs that are stored in them.

Usage: python cells.py [--write]

`--write` stores what was shown. Outputs are kept as text alone; `printed.py` says what counts as the same, and a cell whose
metadata say "rtol" has a tolerance of its own.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from documents import ROOT
from printed import RTOL, differ

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def run(path: Path, folder: Path) -> Any:
    """The notebook with fresh outputs, run from `folder`; raises where a cell does."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}, record_timing=False).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_as_text(output) for output in cell.outputs]
    return notebook


def _as_text(output: Any) -> Any:
    """An output without its pictures and markup, which would be most of the file."""
    if "data" in output:
        output.data = {"text/plain": output.data["text/plain"]}
    return output


def shown(cell: Any) -> str:
    """All that a cell shows, as text; printed text may arrive in any number of pieces."""
    text = ""
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            text += output["text"]
        else:
            text += ("\n" if text and not text.endswith("\n") else "") + output["data"]["text/plain"] + "\n"
    return text.rstrip("\n")


def differences(path: Path, folder: Path) -> str:
    """What the notebook now shows otherwise than it says."""
    found = []
    for stored, fresh in zip(nbformat.read(path, as_version=4).cells, run(path, folder).cells, strict=True):
        if differ(shown(stored), shown(fresh), stored.metadata.get("rtol", RTOL)):
            lines = shown(stored).splitlines(), shown(fresh).splitlines()
            found += difflib.unified_diff(*lines, path.name, "shown", lineterm="")
    return "\n".join(found)


if __name__ == "__main__":
    for each in NOTEBOOKS:
        if "--write" in sys.argv:
            nbformat.write(run(each, Path.cwd()), each)
        else:
            print(differences(each, Path.cwd()))
