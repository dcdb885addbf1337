"""Libraries that parts of gradscribe need and others do not: loaded when asked for, or an error that says how to get them."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load"]

# extras of gradscribe, in setup.cfg
_EXTRAS = {"dask": "scale", "distributed": "scale", "matplotlib": "plot", "mpi4py": "mpi", "tqdm": "progress"}
_NAMES = {"dask": "Dask", "distributed": "Dask", "scipy": "SciPy"}


def load(name: str, who: str) -> Any:
    """Return the module `name`, which `who` needs; ImportError says how to install it.

    >>> load("math", "this example").sqrt(4.0)
    2.0
    """
    library = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or library).partition(".")[0] != library:
            raise  # it is there, and lacks something itself
        how = f'"gradscribe[{_EXTRAS[library]}]"' if library in _EXTRAS else library
        raise ImportError(
            f"{who} needs {_NAMES.get(library, library)}, which is not installed: pip install {how}", name=library
        ) from error
