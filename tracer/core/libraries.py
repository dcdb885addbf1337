"""Libraries, told by the first part of a module's name, and how the code of each is treated inside a transform."""

from __future__ import annotations

import sys

__all__ = [
    "CUPY",
    "LEFT_ALONE",
    "NUMERIC",
    "OURS",
    "PURE",
    "PYTHON",
    "SEEN_THROUGH",
    "SUPPORT",
    "TAKE_NUMBERS",
    "THREADS",
]

OURS = frozenset(["gradscribe", __name__.partition(".")[0]])
NUMERIC = frozenset(["numpy", "scipy"])  # whose functions are ops
CUPY = frozenset(["cupy", "cupyx"])  # whose functions are NumPy's, on a GPU
SUPPORT = frozenset(["optree", "gast", "astunparse"])  # that we stand on
PYTHON = sys.stdlib_module_names

# Of others than the user, however installed: no hooks are put into their code, and what it takes out of a Tensor raises.
LEFT_ALONE = frozenset(
    ["pandas", "sklearn", "matplotlib", "torch", "jax", "jaxlib", "tensorflow", "sympy", "numba", "dask", "xarray", "joblib",
     "cupy", "h5py", "PIL", "IPython", "pytest", "_pytest", "hypothesis", "mpmath", "polars", "pyarrow", "autograd", "tqdm"]
)  # fmt: skip

# Modules that code inside a transform sees through a namespace, with ours in place of what knows no Tensors.
SEEN_THROUGH = NUMERIC | CUPY | frozenset(
    ["math", "random", "cmath", "statistics", "functools", "itertools", "builtins", "operator", "json", "pickle", "marshal",
     "struct", "array", "ctypes", "decimal", "fractions", "collections", "csv", "heapq", "bisect", "logging",
     "threading", "asyncio"]
)  # fmt: skip

# Modules of Python whose functions know no Tensors, and say nothing of gradients.
TAKE_NUMBERS = frozenset(
    ["json", "pickle", "_pickle", "marshal", "struct", "_struct", "array", "ctypes", "_ctypes", "decimal", "_decimal",
     "fractions", "csv", "_csv"]
)  # fmt: skip

# Modules of Python that neither hold a state nor have effects: generated source may call them.
PURE = frozenset(
    ["math", "cmath", "functools", "itertools", "operator", "collections", "dataclasses", "typing", "types", "enum",
     "contextlib", "numbers", "fractions", "statistics", "abc", "copy", "string", "re", "bisect", "heapq", "textwrap"]
)  # fmt: skip

# Modules whose functions have other threads run code.
THREADS = frozenset(["threading", "_thread", "concurrent", "multiprocessing", "asyncio", "joblib"])
