"""How far each function of the native target lies from the exact value, in units in the last place: maximum and mean.

`python ulp.py` prints a table for float64 and float32, over random and special values (`--tiny`: few of them). Exact is NumPy's
longdouble, which has 11 bits more than float64; where it has none more, float32 alone is measured.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

import numpy as np
from timing import is_tiny

import gradscribe as gs

SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-3, 1e-30, 1e-300, 7.5, 20.0, 88.0, -88.0, 700.0, -745.2, 1e5, 1e15, 0.9999999, 1.0000001,
    np.pi,
)  # fmt: skip
# of each function, where its arguments lie
RANGES: dict[str, tuple[float, float]] = {
    "exp": (-80, 80), "exp2": (-100, 100), "expm1": (-20, 80), "log": (1e-6, 1e6), "log2": (1e-6, 1e6), "log10": (1e-6, 1e6),
    "log1p": (-0.999, 1e3), "sin": (-30, 30), "cos": (-30, 30), "tan": (-30, 30), "sinh": (-80, 80), "cosh": (-80, 80),
    "tanh": (-20, 20), "cbrt": (-1e6, 1e6), "sqrt": (0, 1e6), "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (-1e3, 1e3),
    "arcsinh": (-1e3, 1e3), "arccosh": (1, 1e3), "arctanh": (-0.999, 0.999),
}  # fmt: skip
PAIRS = ("hypot", "arctan2", "power", "logaddexp")


def ulps(found: Any, exact: Any) -> Any:
    """The distance of each number from the exact one, in the spacing of numbers there."""
    nearest = exact.astype(found.dtype)
    fine = np.isfinite(nearest) & np.isfinite(found) & (np.abs(nearest) >= np.finfo(found.dtype).tiny)
    distance = np.abs(found[fine].astype(np.longdouble) - exact[fine])
    return (distance / np.spacing(np.abs(nearest[fine])).astype(np.longdouble)).astype(float)


def measured(name: str, dtype: Any, n: int) -> Any:
    """The distances of one function."""
    rng, function = np.random.default_rng(0), getattr(np, name)
    low, high = RANGES.get(name, (1e-3, 30.0))
    special = np.array([x for x in SPECIAL if low <= x <= high])
    args = [np.concatenate([rng.uniform(low, high, n), special]).astype(dtype)]
    if name in PAIRS:
        args.append(rng.permutation(args[0]))
    compiled = gs.compile(lambda *x: function(*x), target="native")
    with warnings.catch_warnings():  # and not np.errstate, under another of which NumPy runs
        warnings.simplefilter("ignore")
        for _ in range(5):  # the first are NumPy's
            found = compiled(*args)
    if not gs.explain(compiled).specialisations[0].runs.startswith("native"):
        raise SystemExit(f"{name} does not run natively here: {gs.explain(compiled).specialisations[0].runs}")
    with np.errstate(all="ignore"):
        return ulps(found, function(*[x.astype(np.longdouble) for x in args]))


def main() -> None:
    """Print the table."""
    n = 2_000 if is_tiny() else 200_000
    names = [*RANGES, *PAIRS][: 3 if is_tiny() else None]
    dtypes = ["float64", "float32"] if np.finfo(np.longdouble).nmant > 60 else ["float32"]
    print("| function | " + " | ".join(f"{d}: maximum | mean" for d in dtypes) + " |")
    print("|---" * (1 + 2 * len(dtypes)) + "|")
    for name in names:
        rows = [measured(name, np.dtype(d), n) for d in dtypes]
        print(f"| `{name}` | " + " | ".join(f"{r.max():.2f} | {r.mean():.2f}" for r in rows) + " |", flush=True)


if __name__ == "__main__":
    main()
