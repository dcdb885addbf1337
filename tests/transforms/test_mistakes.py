"""A mistake gives an error that says what happened, names the user's line, and shows next to nothing of ours behind it."""

from __future__ import annotations

import ctypes
import decimal
import importlib
import json
import operator
import pathlib
import pickle
import struct
import time
import traceback
from typing import Any

import numpy as np
import pytest
from mistakes import MISTAKES

import gradscribe as gs

ROOT = str(pathlib.Path(gs.__file__).parent)
NAMES = {"np": np, "gs": gs, "json": json, "pickle": pickle, "decimal": decimal, "time": time, "ctypes": ctypes,
         "struct": struct, "operator": operator}  # fmt: skip
BARE = "tensors and PyTorch's names"  # bare operations cannot leave their own frames out
BARE_TOO = "rules of one's own"


def fault(text: str, kind: str, words: str, area: str, file: pathlib.Path) -> str:
    """What is wrong with the error of a mistake, or nothing."""
    lines = text.split("\n")
    file.write_text(text + "\n")
    at = next((k for k, line in enumerate(lines, 1) if "# <-" in line), len(lines))
    space: dict[str, Any] = {**NAMES, "X": np.array([1.0, 2.0, 3.0])}
    if "scipy" in text:
        space["scipy"] = pytest.importorskip("scipy")
        for name in ("special", "optimize", "integrate"):
            importlib.import_module(f"scipy.{name}")
    try:
        exec(compile(text + "\n", str(file), "exec"), space)
    except Exception as error:
        caught = error
    else:
        return "no error"
    said = "\n".join([str(caught), *getattr(caught, "__notes__", [])])
    frames = traceback.extract_tb(caught.__traceback__)
    last = max(k for k, frame in enumerate(frames) if frame.filename == str(file))
    behind = [frame for frame in frames[last:] if frame.filename.startswith(ROOT)]
    # a virtual environment inside the checkout holds other packages too
    ours = [frame for frame in behind if "site-packages" not in frame.filename.removeprefix(ROOT)]
    if kind not in [cls.__name__ for cls in type(caught).__mro__]:
        return f"{type(caught).__name__} and not {kind}: {said}"
    if words not in said:
        return f"other words: {said}"
    if frames[last].lineno != at and f"{file}:{at}" not in said:
        return f"names line {frames[last].lineno} and not {at}: {said}"
    if len(ours) > 2 and area not in (BARE, BARE_TOO):
        return f"{len(ours)} frames of ours behind the user's line: {ours}"
    return ""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a step that overflows, a product that does
def test_a_mistake_is_told_with_what_to_do_and_at_the_users_line(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(area, *row) for area in MISTAKES for row in MISTAKES[area]]  # one test: of several some would be slow ones
    faults = {}
    for k, (area, text, kind, words) in enumerate(rows):
        found = fault(text, kind, words, area, tmp_path / f"mistake_{k}.py")
        if found:
            faults[text] = found
    assert not faults, "\n".join(f"{text}\n    {found}" for text, found in faults.items())


def test_the_table_is_as_long_as_promised() -> None:
    texts = [text for rows in MISTAKES.values() for text, _, _ in rows]
    assert len(set(texts)) == len(texts) >= 280
