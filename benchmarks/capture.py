"""How long a capture takes: a 30-op function to runnable source. At most 30 ms are asked for.

The function's own eager run and the check against it are measured beside it and taken off.
"""

from __future__ import annotations

import importlib.util
import statistics
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
        compiled = gs.compile(transform(f), verify=True)
        whole = seconds(lambda: compiled(*args))  # noqa: B023  # called at once
        own = min(seconds(lambda: transform(f)(*args)) for _ in range(3))  # noqa: B023
        check = min(seconds(lambda: compiled(*[a.copy() for a in args])) for _ in range(6))  # noqa: B023
        found.append(whole - own - check)
    return found


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
            first, *later = [1e3 * s for s in capture(transform, chosen, args)]
            print(
                f"capture of {what}: first {first:.1f} ms, then min {min(later):.1f} ms, "
                f"median {statistics.median(later):.1f} ms"
            )
