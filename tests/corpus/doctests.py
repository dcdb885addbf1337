"""Run the examples in the docstrings and in the documents; a process of its own, since examples register ops.

Usage: python doctests.py [DOCUMENT ...]
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
import types
from pathlib import Path

import numpy as np

import gradscribe as gs

from house import FACE, folder_of_package, packages_listed

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[types.ModuleType]:
    """The modules of the listed packages that hold examples (in a checkout the root holds more: setup.py, tests).

    To look for docstrings takes doctest longer than to run what stands in them.
    """
    found = []
    for name in packages_listed():
        if not (folder_of_package(name) / "__init__.py").exists():
            continue  # a second name, which has stubs alone
        package = importlib.import_module(name)
        found.append(package)
        layers = pkgutil.iter_modules(package.__path__, name + ".") if name != FACE else ()
        found += [importlib.import_module(info.name) for info in layers if not info.ispkg]
    return [module for module in found if b">>> " in Path(str(module.__file__)).read_bytes()]


def main(documents: list[str]) -> int:
    """Run them all; the exit status is 1 where one failed."""
    names = {"gs": gs, "np": np}
    results = [doctest.testmod(module, extraglobs=names, optionflags=FLAGS) for module in modules()]
    results += [doctest.testfile(d, module_relative=False, globs=dict(names), optionflags=FLAGS) for d in documents]
    failed, attempted = sum(r.failed for r in results), sum(r.attempted for r in results)
    print(f"{attempted} examples, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
