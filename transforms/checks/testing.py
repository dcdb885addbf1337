"""gs.testing: helpers for the tests of those who use gradscribe."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Any

from ..compiler.source import source

__all__ = ["assert_source_unchanged"]

_UPDATE = "GRADSCRIBE_UPDATE"
_LINE_NUMBER = re.compile(r"(# [^\s:]+|^    \"\"\".*, [^\s:]+):\d+(?=: |$|\.$|\.\"\"\"$)", re.M)


def assert_source_unchanged(
    function: Any, *args: Any, path: str | os.PathLike[str], update: bool | None = None, **kwargs: Any
) -> None:
    """Hold `gs.source(function, *args, **kwargs)` against the file at `path`; raise AssertionError with a diff.

    `update=True`, or the environment variable GRADSCRIBE_UPDATE=1, writes the file. The numbers of the user's lines
    are left out, so that a line more at the top of a file changes nothing. Raises CompileError for what runs eagerly.

    >>> import numpy as np, gradscribe as gs, os, tempfile
    >>> golden = os.path.join(tempfile.mkdtemp(), "square.py")
    >>> square = gs.grad(lambda x: np.sum(x * x))
    >>> gs.testing.assert_source_unchanged(square, np.ones(3), path=golden, update=True)
    >>> gs.testing.assert_source_unchanged(square, np.ones(5), path=golden)
    """
    __tracebackhide__ = True  # pytest shows the user's line
    text = _LINE_NUMBER.sub(r"\1", str(source(function, *args, **kwargs)))
    golden = Path(path)
    if update is None:
        update = os.environ.get(_UPDATE, "0") not in ("", "0")
    if update:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8", newline="\n")
        return
    label = getattr(function, "__name__", repr(function))
    how = (
        f"If that is what it should be, run this test once with {_UPDATE}=1 and look at the change in version control."
    )
    if not golden.exists():
        raise AssertionError(f"there is no golden source of `{label}` at {golden} yet. {how}")
    before = golden.read_text(encoding="utf-8")
    if before == text:
        return
    lines = difflib.unified_diff(before.splitlines(), text.splitlines(), str(golden), "generated now", lineterm="")
    raise AssertionError("\n".join([f"the generated source of `{label}` has changed. {how}", "", *lines]))
