"""A convolution, ReLU and pool: eager and compiled, the same with the examples first in memory, and PyTorch on one thread.

Times are of value and gradients with respect to input, weight and bias. Run: python benchmarks/convolution.py [--tiny]
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from timing import interleaved, is_tiny, per_call  # noqa: E402

import gradscribe as gs  # noqa: E402
import gradscribe.functional as F  # noqa: E402
from gradscribe.runtime.rules.windows import lie, max_windows, windows  # noqa: E402

Array = Any


def layer(x: Array, w: Array, b: Array) -> Array:
    """As gs.functional has it."""
    return np.sum(F.max_pool2d(F.relu(F.conv2d(x, w, b, padding=1)), 2))


def examples_first(x: Array, w: Array, b: Array) -> Array:
    """With windows along the last axes, and a product for each example."""
    pieces = windows(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), *lie((3, 3), (1, 1), (1, 1), 0))
    shape = (np.shape(x)[0], w.shape[0], *np.shape(x)[2:])
    columns = np.reshape(np.moveaxis(pieces, (0, 1), (2, 3)), (shape[0], w.shape[1] * 9, -1))
    found = np.reshape(np.reshape(w, (w.shape[0], -1)) @ columns, shape) + b[:, None, None]
    return np.sum(max_windows(F.relu(found), (2, 2), *lie((2, 2), (2, 2), (1, 1), 0)))


def of_torch(args: tuple[Any, ...]) -> Callable[[], Any] | None:
    """The same in PyTorch, where it is installed."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(1)
    f = torch.nn.functional
    given = [torch.tensor(a, requires_grad=True) for a in args]

    def gradient() -> Any:
        for t in given:
            t.grad = None
        x, w, b = given
        value = f.max_pool2d(f.relu(f.conv2d(x, w, b, padding=1)), 2).sum()
        value.backward()
        return value.detach().numpy(), tuple(t.grad.numpy() for t in given)

    return gradient


def main() -> None:
    """A row for each size and dtype."""
    rng, rounds = np.random.default_rng(0), 2 if is_tiny() else 15
    sizes = [(4, 1, 8, 4)] if is_tiny() else [(64, 1, 8, 16), (64, 16, 8, 32), (64, 1, 28, 16), (64, 16, 14, 32)]
    for n, channels, side, out in sizes:
        for dtype in (np.float64, np.float32):
            shapes = ((n, channels, side, side), (out, channels, 3, 3), (out,))
            args = tuple([rng.normal(size=s).astype(dtype) for s in shapes])
            ours, other = (gs.value_and_grad(f, argnums=(0, 1, 2)) for f in (layer, examples_first))
            quick, other_quick = gs.compile(ours), gs.compile(other)
            timed: dict[str, Any] = {
                "eager": lambda f=ours, a=args: f(*a), "compiled": lambda f=quick, a=args: f(*a),
                "examples first, eager": lambda f=other, a=args: f(*a),
                "examples first, compiled": lambda f=other_quick, a=args: f(*a), "PyTorch": of_torch(args),
            }  # fmt: skip
            timed = {name: f for name, f in timed.items() if f is not None}
            expected = timed["eager"]()
            for name, f in timed.items():
                for g, e in zip(f()[1], expected[1], strict=True):
                    scale = np.max(np.abs(e))
                    assert np.allclose(g / scale, e / scale, atol=1e-4 if dtype == np.float32 else 1e-10), name
            found = interleaved(rounds, *[per_call(f, 1) for f in timed.values()])
            times = ", ".join(f"{name} {1e3 * t.least:.2f}" for name, t in zip(timed, found, strict=True))
            print(f"({n}, {channels}, {side}, {side}) -> {out}, {np.dtype(dtype).name}, ms: {times}", flush=True)


if __name__ == "__main__":
    main()
