"""How many modules of gradscribe a call enters: those of which a function runs, imports apart. `--list` names them.

A warm gradient is asked to enter at most 15, a first compile at most 100; on the way to a fault one reads so many files.
"""

from __future__ import annotations

import os
import sys
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADSCRIBE_CACHE", "off")  # else a later first compile is read from the disk

import numpy as np

import gradscribe as gs

FACE = str(Path(gs.__file__).parent) + os.sep
FUNCTION = 1  # CO_OPTIMIZED: the code of a function, not of a module's or a class's body
IMPORTS = "<frozen importlib._bootstrap>"


def is_ours(frame: types.FrameType) -> bool:
    """Whether a frame runs a module of gradscribe; a virtual environment inside the checkout holds other packages too."""
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    return package == gs.__name__ and frame.f_code.co_filename.startswith(FACE)


def modules_entered(call: Callable[[], Any]) -> tuple[Counter[str], set[str]]:
    """The modules of which functions run in a call, each with how often, and those that are only imported meanwhile."""
    entered: Counter[str] = Counter()
    loaded: set[str] = set()
    importing = 0

    def profile(frame: types.FrameType, event: str, arg: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_filename == IMPORTS and code.co_name == "_find_and_load":
            importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and is_ours(frame):
            name = code.co_filename.removeprefix(FACE)
            if code.co_flags & FUNCTION and not importing:
                entered[name] += 1
            else:
                loaded.add(name)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered, loaded - set(entered)


def f(x: Any) -> Any:
    """A function with a product, an elementwise function and a sum."""
    return np.sum(np.sin(x) * x)


if __name__ == "__main__":
    x = np.linspace(0.0, 1.0, 5)
    first = modules_entered(lambda: gs.compile(gs.grad(f))(x))
    gs.grad(f)(x)
    warm = modules_entered(lambda: gs.grad(f)(x))
    for words, (entered, loaded) in (("a warm gradient", warm), ("a first compile", first)):
        print(f"{words}: {len(entered)} modules entered, {len(loaded)} more imported")
        if "--list" in sys.argv:
            print("".join(f"    {count:6} {name}\n" for name, count in entered.most_common()), end="")
            print("".join(f"  imported {name}\n" for name in sorted(loaded)), end="")
