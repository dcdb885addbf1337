"""Write the names of CuPy, with the parameters of its functions, as data: what `fake_cupy.py` has, it has from there.

CuPy imports without a GPU. In an environment that has it (`pip install cupy-cuda12x`): `python tests/corpus/cupy_names.py`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import types
from pathlib import Path
from typing import Any

NAMES = Path(__file__).with_name("cupy_names.json")
MODULES = (
    "cupy", "cupy.linalg", "cupy.fft", "cupy.random", "cupy.lib.stride_tricks", "cupyx",
    "cupyx.scipy.special", "cupyx.scipy.linalg", "cupyx.scipy.fft", "cupyx.scipy.ndimage", "cupyx.scipy.signal",
)  # fmt: skip
UFUNC_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")


def kind_of(value: Any) -> Any:
    """What stands under a name: a list of parameters for a function that tells them, else a word."""
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    if type(value).__name__ == "ufunc":
        return "ufunc"
    if not callable(value):
        return "value"
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "function"
    return [
        ("**" if p.kind is p.VAR_KEYWORD else "*" if p.kind is p.VAR_POSITIONAL else "") + p.name for p in parameters
    ]


def imported_by(module: str) -> list[str]:
    """The public names that a package imports, by its text."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text())
    names = [a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names]
    return sorted({n for n in names if not n.startswith("_")})


def names() -> dict[str, Any]:
    """All of it, of the CuPy that is installed."""
    import cupy

    found: dict[str, Any] = {"version": cupy.__version__, "modules": {}}
    for module in MODULES:
        try:
            there = importlib.import_module(module)
        except ImportError:  # CUDA's libraries are missing, and it loads them at once
            found["modules"][module] = dict.fromkeys(imported_by(module), "function")
            continue
        public = [n for n in dir(there) if not n.startswith("_")]
        found["modules"][module] = {n: kind_of(getattr(there, n)) for n in public}
    found["ndarray"] = [n for n in dir(cupy.ndarray) if n.startswith("__") or not n.startswith("_")]
    found["ufunc"] = [n for n in UFUNC_METHODS if hasattr(cupy.add, n)]
    return found


if __name__ == "__main__":
    NAMES.write_text(json.dumps(names(), indent=0, sort_keys=True) + "\n")
