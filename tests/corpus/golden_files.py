"""Compare generated source with the golden files, or write them: `python tests/corpus/golden_files.py [--write]`.

tests/corpus/golden/NAME.py is the source of the value and gradient of NAME in golden_functions.py, and NAME_plain.py that of
the function itself, of a few; NAME.c is the C of the value and gradient, of ten. Read the difference before you write: it is what
users will see.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import gradscribe as gs

from golden_functions import examples

FOLDER = Path(__file__).parent / "golden"
NATIVE = (
    "rosenbrock", "logistic_regression", "mlp", "attention", "kalman_step", "rk4_step", "gmm_log_likelihood", "halved",
    "recurrent", "switched",
)  # fmt: skip
PLAIN = ("attention", "heat_equation", "mlp", "softmax_regression")


def texts() -> Iterator[tuple[str, str]]:
    """The file and the text of each golden function, as it is generated now."""
    for example in examples():
        name = example.function.__name__
        yield f"{name}.py", str(gs.source(example.differentiated(), *example.args))
        if name in PLAIN:
            yield f"{name}_plain.py", str(gs.source(example.function, *example.args))
        if name in NATIVE:
            yield f"{name}.c", str(gs.source(example.differentiated(), *example.args, target="native"))


def files() -> list[Path]:
    """Every golden file."""
    return sorted([*FOLDER.glob("*.py"), *FOLDER.glob("*.c")])


def stored(name: str) -> str:
    """A golden file's text; empty where there is none."""
    path = FOLDER / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def differences() -> str:
    """A unified diff from the golden files to what is generated now."""
    now = dict(texts())
    names = sorted({*now, *(path.name for path in files())})
    return "".join(
        line
        for name in names
        for line in difflib.unified_diff(
            stored(name).splitlines(keepends=True),
            now.get(name, "").splitlines(keepends=True),
            f"golden/{name}",
            "now",
        )
    )


def write() -> None:
    """Make the golden files what is generated now."""
    now = dict(texts())
    for path in files():
        if path.name not in now:
            path.unlink()
    for name, text in now.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ["GRADSCRIBE_CACHE"] = "off"
    found = differences()
    print(found or "The golden files are what is generated.")
    if "--write" in sys.argv[1:]:
        write()
    sys.exit(bool(found) and "--write" not in sys.argv[1:])
