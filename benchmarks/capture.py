"""How long a capture takes: a 30-op function to runnable source. At most 30 ms are asked for.

The function's own eager run and the check against it are measured beside it and taken off. Then the same where the disk
cache has the text; and the first compiled call of a fresh process, eager run, check and imports of the compiler included.
Last the CPU time of a whole first call of long functions: it is in proportion to their operations.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradscribe as gs

sys.path.append(str(Path(__file__).parent))
from timing import is_tiny

_FUNCTION = """
def f{k}(w1, w2, b, x, y):
    z = x @ w1 + b
    h = np.tanh(z) * 0.5 + 0.5
    q = h @ w2
    r = np.sin(q) + np.cos(q) * y
    s = np.exp(-r * r / 2.0)
    t = np.log(1.0 + s) - np.sqrt(s + 1.0)
    u = np.maximum(t, 0.1) * np.where(y > 0, q, r)
    v = u - np.mean(u, axis=0)
    c = np.concatenate([v, t])
    e = c[1:] * c[:-1]
    return np.sum(e) / 3.0 + np.sum(w1 * w1) * 0.01
"""  # thirty operations


def functions(count: int, folder: str) -> list[Callable[..., Any]]:
    """Functions that are alike, each of its own source lines, so that nothing learnt of one serves the next."""
    path = Path(folder) / "thirty_operations.py"
    path.write_text("import numpy as np\n" + "".join(_FUNCTION.format(k=k) for k in range(count)), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("thirty_operations", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"f{k}") for k in range(count)]


def seconds(call: Callable[[], Any]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def capture(transform: Callable[[Any], Any], chosen: list[Any], args: tuple[Any, ...]) -> list[float]:
    """Seconds of each capture, without the eager run and the check (one run of the source, on copied inputs)."""
    found = []
    for f in chosen:
        compiled = gs.compile(transform(f), verify="first calls")
        whole = seconds(lambda: compiled(*args))  # noqa: B023  # called at once
        own = min(seconds(lambda: transform(f)(*args)) for _ in range(3))  # noqa: B023
        check = min(seconds(lambda: compiled(*[a.copy() for a in args])) for _ in range(6))  # noqa: B023
        found.append(whole - own - check)
    return found


_FIRST_CALL = """
import sys, time
import numpy as np
import gradscribe as gs
sys.path.insert(0, {folder!r})
import thirty_operations
rng = np.random.default_rng(0)
args = tuple(rng.normal(size=s) for s in ((8, 6), (6, 5), (6,), (7, 8), (7, 5)))
start = time.perf_counter()
gs.compile(gs.grad(thirty_operations.f0))(*args)
print(time.perf_counter() - start)
"""


def first_call(folder: str, cache: str) -> float:
    """Seconds of the first compiled call in a process of its own."""
    command = [sys.executable, "-c", _FIRST_CALL.format(folder=folder)]
    done = subprocess.run(command, env={**os.environ, "GRADSCRIBE_CACHE": cache}, capture_output=True, check=True)
    return float(done.stdout)


_LINES = ("y = np.sin(y) * x", "y = y + x * 0.5", "y = np.tanh(y) - x", "y = np.exp(-y) * y", "y = y * 2.0 + np.cos(x)")


def long_function(operations: int, folder: str) -> Callable[..., Any]:
    """A function of so many operations, one after the other, two on a line."""
    path = Path(folder) / f"operations_{operations}.py"
    lines = [f"    {_LINES[k % len(_LINES)]}" for k in range(operations // 2)]
    path.write_text(
        "\n".join(["import numpy as np\n\ndef f(x):", "    y = x", *lines, "    return np.sum(y)\n"]), "utf-8"
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.f
    return function


def long_programs(folder: str) -> None:
    """Print the CPU time of the first call of the gradient of functions that get longer."""
    os.environ["GRADSCRIBE_CACHE"] = "off"
    x = np.linspace(0.0, 1.0, 5)
    for operations in (30, 60) if is_tiny() else (300, 1_000, 3_000, 5_000):
        compiled = gs.compile(gs.grad(long_function(operations, folder)))
        start = time.process_time()
        compiled(x)
        took = time.process_time() - start
        print(f"first call of {operations:,} operations: {took:.2f} s of CPU, {1e3 * took / operations:.2f} ms each")


if __name__ == "__main__":
    count = 2 if is_tiny() else 30
    rng = np.random.default_rng(0)
    args = tuple(rng.normal(size=s) for s in ((8, 6), (6, 5), (6,), (7, 8), (7, 5)))
    with tempfile.TemporaryDirectory() as folder:
        made = functions(2 * count, folder)
        for what, transform, chosen in (
            ("the function", lambda f: f, made[:count]),
            ("its gradient", gs.grad, made[count:]),
        ):
            os.environ["GRADSCRIBE_CACHE"] = "off"
            first, *later = [1e3 * s for s in capture(transform, chosen, args)]
            print(
                f"capture of {what}: first {first:.1f} ms, then min {min(later):.1f} ms, "
                f"median {statistics.median(later):.1f} ms"
            )
            os.environ["GRADSCRIBE_CACHE"] = folder
            capture(transform, chosen, args)
            kept = [1e3 * s for s in capture(transform, chosen, args)]
            print(f"  text from the disk cache: min {min(kept):.1f} ms, median {statistics.median(kept):.1f} ms")
        times: dict[str, list[float]] = {"off": [], folder: []}
        for _ in range(1 if is_tiny() else 7):
            for cache, found in times.items():
                found.append(1e3 * first_call(folder, cache))
        fresh, kept = times.values()
        print(
            f"first call of a fresh process: min {min(fresh):.0f} ms; text from the disk cache: min {min(kept):.0f} ms"
        )
        long_programs(folder)
