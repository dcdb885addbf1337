"""Run the notebooks, and compare what their cells show with the outputs that are stored in them.

Usage: python cells.py [--write] [NAME ...]

`--write` stores what was shown, of the notebooks that are named or of all. Outputs are kept as text and pictures; `printed.py`
says what counts as the same text, and a cell whose metadata say "rtol" has a tolerance of its own. Of two pictures the pixels
may differ by what other fonts and versions of matplotlib make of the same numbers.
"""

from __future__ import annotations

import base64
import difflib
import io
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from matplotlib.image import imread
from nbclient import NotebookClient

from documents import ROOT
from printed import RTOL, differ

PICTURES = ("image/png", "image/svg+xml")
FAR = 0.08  # the mean difference of two pictures' pixels, of 1: other curves are farther apart
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
    """An output without its markup, which would be most of the file."""
    if "data" in output:
        output.data = {kind: output.data[kind] for kind in ("text/plain", *PICTURES) if kind in output.data}
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


def pictures(cell: Any) -> list[tuple[str, str]]:
    """The pictures that a cell shows: what kind, and the picture."""
    return [
        (kind, output.data[kind]) for output in cell.get("outputs", []) for kind in PICTURES if kind in output.get("data", {})
    ]  # fmt: skip


def other_pictures(stored: list[tuple[str, str]], fresh: list[tuple[str, str]]) -> list[str]:
    """In words, where the pictures of a cell are others."""
    if [kind for kind, _ in stored] != [kind for kind, _ in fresh]:
        return [f"pictures: {[kind for kind, _ in stored]} are stored, {[kind for kind, _ in fresh]} are shown"]
    return [
        f"a picture of {apart:.3f} of 1 from the stored one"
        for (kind, a), (_, b) in zip(stored, fresh, strict=True)
        if (apart := _apart(a, b) if kind == "image/png" else float(differ(a, b, RTOL))) > FAR
    ]


def _apart(a: str, b: str) -> float:
    """The mean difference of the pixels of two pictures, which may be a little larger or smaller than each other."""
    one, other = (imread(io.BytesIO(base64.b64decode(text)))[..., :3] for text in (a, b))
    if any(abs(m - n) > 0.1 * max(m, n) for m, n in zip(one.shape, other.shape, strict=True)):
        return 1.0
    rows, columns = (min(pair) for pair in zip(one.shape[:2], other.shape[:2], strict=True))
    return float(np.mean(np.abs(one[:rows, :columns] - other[:rows, :columns])))


def differences(path: Path, folder: Path) -> str:
    """What the notebook now shows otherwise than it says."""
    found = []
    for stored, fresh in zip(nbformat.read(path, as_version=4).cells, run(path, folder).cells, strict=True):
        if differ(shown(stored), shown(fresh), stored.metadata.get("rtol", RTOL)):
            lines = shown(stored).splitlines(), shown(fresh).splitlines()
            found += difflib.unified_diff(*lines, path.name, "shown", lineterm="")
        found += other_pictures(pictures(stored), pictures(fresh))
    return "\n".join(found)


if __name__ == "__main__":
    for each in [path for path in NOTEBOOKS if path.stem in sys.argv] or NOTEBOOKS:
        if "--write" in sys.argv:
            nbformat.write(run(each, Path.cwd()), each)
        else:
            print(differences(each, Path.cwd()))
