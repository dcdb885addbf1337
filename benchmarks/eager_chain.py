"""Eager: a 0-d chain of 1,000 ops by operators and methods, forward and backward, over PyTorch's. At most 0.55 is asked for."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradscribe as gs

sys.path.append(str(Path(__file__).parent))
from timing import Times, interleaved, is_tiny, report

try:
    import torch
except ImportError:
    torch = None


def chain(x: Any, times: int) -> Any:
    """Five ops, `times` times: operators with a number, with a Tensor, and methods."""
    y = x
    for _ in range(times):
        y = y * 0.99
        y = y + x
        y = y.sin()
        y = y - 0.1
        y = y.tanh()
    return y


def forward_and_backward(leaf: Callable[[], Any], times: int) -> Callable[[], float]:
    """A round: the chain from a new leaf, and its gradient."""

    def one_round() -> float:
        x = leaf()
        gc.disable()
        start = time.perf_counter()
        chain(x, times).backward()
        taken = time.perf_counter() - start
        gc.enable()
        assert x.grad is not None
        return taken

    return one_round


if __name__ == "__main__":
    times, rounds = (2, 3) if is_tiny() else (200, 100)
    ours = forward_and_backward(lambda: gs.tensor(0.3, requires_grad=True), times)
    if torch is None:
        (found,) = interleaved(rounds, ours)
        print(f"eager chain: torch is not installed, so there is no ratio; ours takes {found.least * 1e3:.3f} ms")
    else:
        torch.set_num_threads(1)
        theirs = forward_and_backward(lambda: torch.tensor(0.3, requires_grad=True, dtype=torch.float64), times)
        found, other = interleaved(rounds, ours, theirs)
        report("eager chain", found, other, ("gradscribe", f"torch {torch.__version__}"))
        print(
            f"eager chain: {found.least / times / 5 * 1e6:.2f} µs an op, {other.least / times / 5 * 1e6:.2f} µs in torch"
        )
    assert isinstance(found, Times)
