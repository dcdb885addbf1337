"""Environment variables of the compiler: GRADSCRIBE_EAGER=1 turns it off, GRADSCRIBE_DUMP=dir writes what it generates."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

__all__ = ["dump", "eager_only"]

_refused: set[str] = set()  # folders that could not be written, of which one warning is enough


def eager_only() -> bool:
    """Whether GRADSCRIBE_EAGER says that nothing is to be compiled."""
    return os.environ.get("GRADSCRIBE_EAGER", "") not in ("", "0")


def dump(filename: str, text: str) -> None:
    """Write a text into the folder that GRADSCRIBE_DUMP names, if it names one; a folder that cannot be written only warns."""
    folder = os.environ.get("GRADSCRIBE_DUMP", "")
    if not folder:
        return
    try:
        os.makedirs(folder, exist_ok=True)
        Path(folder, os.path.basename(filename)).write_text(text, encoding="utf-8")
    except OSError as error:
        if folder not in _refused:
            _refused.add(folder)
            warnings.warn(f"GRADSCRIBE_DUMP={folder}: generated source could not be written: {error}", stacklevel=2)
