"""Kernels under ASan and UBSan: `python native_sanitised.py GROUP`, with both preloaded, prints how many runs there were.

An overrun of a view within its parent is no error to ASan: so each operand is an allocation from its first element to its last.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import native_batches
import numpy as np
from native_batches import together, written
from native_functions import MATRICES, VECTORS, I, J, M, V

import gradscribe as gs
from gradscribe.runtime.errors import CompileError
from gradscribe.transforms.compiler.native import build, emit, nests, parts
from gradscribe.transforms.compiler.native.forms import _UFUNCS
from gradscribe.transforms.compiler.native.values import RefusedError

from golden_functions import examples
from kept_loops import CASES

__all__ = ["GROUPS", "preloaded"]

SANITISED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1", "-O1", "-DKEEP=0")
LENGTHS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33)
STEPS = (1, 2, -1, -3, 0)
Job = tuple[
    Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]]
]  # a function, its capture, and the operands of its runs


def exact(x: Any, like: Any = None) -> Any:
    """A copy of an array whose memory begins with its first element and ends with its last, with its strides."""
    x = np.asarray(x)
    ends = [(n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)]
    if x.size == 0:
        return np.empty(x.shape, x.dtype)
    low = sum(min(e, 0) for e in ends)
    memory = np.empty(sum(map(abs, ends)) + x.itemsize, np.uint8)
    made: Any = np.ndarray(x.shape, x.dtype, memory, -low, x.strides)
    made[...] = x
    return made


def vectors(dtype: Any = float) -> Iterator[Any]:
    """Vectors of many lengths and strides."""
    whole = np.linspace(-3.0, 3.0, 200).astype(dtype)
    for n in LENGTHS:
        for step in STEPS:
            yield exact(np.lib.stride_tricks.as_strided(whole[100:], (n,), (step * whole.itemsize,)))


def matrices(dtype: Any = float) -> Iterator[Any]:
    """Matrices of many lengths and strides."""
    whole = np.linspace(-3.0, 3.0, 4000).astype(dtype)
    for n, m in ((0, 3), (3, 0), (2, 2), (3, 5), (5, 3), (9, 17), (17, 8)):
        for rows, columns in ((m, 1), (1, n), (3 * m, 3), (-m, 1), (m, -1), (0, 1), (1, 0), (0, 0)):
            size = whole.itemsize
            yield exact(np.lib.stride_tricks.as_strided(whole[2000:], (n, m), (rows * size, columns * size)))


def forms() -> Iterator[Job]:
    """Every form of elements, and reductions."""
    for dtype in ("float64", "float32", "int64", "bool"):
        letter = "fib".index(np.dtype(dtype).kind)
        own = [f for f in _UFUNCS if _UFUNCS[f][letter]]
        one, two = [f for f in own if f.nin == 1], [f for f in own if f.nin == 2]
        x = V.astype(dtype)
        yield lambda x, one=one: tuple(f(x) for f in one), (x,), [(v,) for v in vectors(dtype)]
        pairs = [(a, exact(a[::-1])) for a in vectors(dtype)]
        yield lambda x, y, two=two: tuple(f(x, y) for f in two), (x, x), pairs
    for axis in (None, 0, 1):
        yield (
            lambda x, axis=axis: tuple(f(x, axis=axis) for f in (np.sum, np.mean, np.max, np.min)),
            (M,), [(m,) for m in matrices()],
        )  # fmt: skip
    yield lambda x, y: (x @ y.T, x.T @ y, np.sum(x[:, None] * y)), (M, M), [(m, exact(m[::-1])) for m in matrices()]


def arrays() -> Iterator[Job]:
    """Calls that lay numbers out anew."""
    for f in VECTORS:
        yield f, (V, I, J), [(v, exact(I), exact(J)) for v in vectors()]
    for f in MATRICES:
        yield f, (M, I, J), [(m, exact(I), exact(J)) for m in matrices()]


def loops() -> Iterator[Job]:
    """Loops and branches, and their gradients."""
    for name, case in CASES.items():
        if name == "Cell":  # reads arrays from outside
            continue
        ints = [x for x in case.calls[0] if type(x) is int]
        runs = [c for c in case.calls if [x for x in c if type(x) is int] == ints]
        runs = [tuple(exact(x) if isinstance(x, np.ndarray) else x for x in c) for c in runs]
        yield case.function, runs[0], runs

        def total(*args: Any, f: Any = case.function) -> Any:
            found = f(*args)
            return sum((np.sum(part) for part in (found if isinstance(found, (tuple, list)) else [found])), 0.0)

        yield gs.value_and_grad(total), runs[0], runs


def golden() -> Iterator[Job]:
    """The golden functions' values and gradients."""
    for example in examples():
        yield example.differentiated(), example.args, [example.args]


def cut() -> Iterator[Job]:
    """The same, and loops, as functions of a few lines each."""
    parts.LINES = 5
    yield from golden()
    yield from loops()


def shared() -> Iterator[Job]:
    """Reductions, golden functions and loops in small chunks, which threads share."""
    nests.BLOCK, nests.CHUNK, nests.ROWS, emit.LARGE = 2, 16, 2, 0
    build.FLAGS += ("-DFEW=1",)
    yield from forms()
    yield from golden()
    yield from loops()


def planted() -> Iterator[Job]:
    """A kernel that reads one element too many, which must be found."""

    def built(whole: Callable[[bool], str], *rest: Any) -> str:
        return build.built(lambda vectors: whole(vectors).replace("= x[i];", "= x[i + 1];"), *rest)

    native_batches.built = built
    yield lambda x: np.exp(x) * 2.0, (V,), [(exact(V),)]


GROUPS = {"forms": forms, "arrays": arrays, "loops": loops, "golden": golden, "cut": cut, "shared": shared}


def preloaded() -> str | None:
    """What LD_PRELOAD needs for a Python that loads sanitised kernels; None where the compiler has no sanitisers."""
    found = build.compiler()
    if found is None or found.zig or not sys.platform.startswith("linux"):
        return None
    paths = []
    for library in ("libasan.so", "libubsan.so"):
        done = subprocess.run([found.path, f"-print-file-name={library}"], capture_output=True, text=True, check=False)
        paths.append(done.stdout.strip())
    return " ".join(paths) if all("/" in path for path in paths) else None


def main(group: str) -> int:
    """Build the kernels of a group with sanitisers, and run them."""
    build.FLAGS = (*[flag for flag in build.FLAGS if not flag.startswith("-O")], *SANITISED)
    warnings.simplefilter("ignore")
    jobs, runs = [], 0
    for function, args, calls in {**GROUPS, "planted": planted}[group]():
        try:
            made = written(function, *args)
        except (RefusedError, CompileError):
            continue
        made[0].trust_arms(range(made[0].arms))
        jobs.append((made, calls))
    for start in range(0, len(jobs), 60):
        batch = jobs[start : start + 60]
        for kernel, (_, calls) in zip(together([made for made, _ in batch]), batch, strict=True):
            for args in calls:
                with np.errstate(all="ignore"), contextlib.suppress(IndexError, ValueError, TypeError):
                    kernel.run(*args)  # NumPy refuses some lengths
                runs += 1
    print(f"{len(jobs)} kernels, {runs} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
