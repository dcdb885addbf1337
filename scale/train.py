"""The command `gradscribe train`: the loss of a file, minimised over its data on a cluster."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..transforms.optional import load
from ..transforms.trees import flatten
from .cluster import local_client
from .minimize import minimize

__all__ = ["peak_memory", "train"]

WHO = "gradscribe train"


def peak_memory() -> int:
    """Return the most memory that this process has had, in bytes, as the system counts it; 0 where it does not say."""
    try:
        import resource  # Windows has none
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(used if sys.platform == "darwin" else 1024 * used)


def train(
    loss: Callable[..., Any], params: Any, data: Any, *, workers: int | None, memory: str, scheduler: str | None,
    options: dict[str, Any],
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """Return what a run came to, as text and as data; `params` and `data` are values, or functions that give them."""
    distributed = load("distributed", WHO)
    client = (
        local_client(WHO, workers, memory) if scheduler is None else distributed.Client(scheduler, set_as_default=False)
    )
    began = time.perf_counter()
    with client.as_current():  # dask.arrays that the file computes go there, too
        start = params() if callable(params) else params
        batch = data() if callable(data) else data
        found = minimize(loss, start, batch, client=client, **{"lr": 0.01, "steps": 100, **options})
    seconds = time.perf_counter() - began
    peaks = sorted(client.run(peak_memory).values())
    size = sum(int(getattr(leaf, "nbytes", 0)) for leaf in flatten(batch)[0])
    answer: dict[str, Any] = {
        "steps": found.steps, "seconds": seconds, "workers": len(peaks), "peak_memory": peaks, "data": size,
        "saved": options.get("save_to"), "values": found.history.value.tolist(),
    }  # fmt: skip
    lines = ["no step was left"]
    if len(found.history):
        values, median = found.history.value, float(np.median(found.history.seconds))
        lines = [f"loss      {values[0]:.6g} before, {values[-1]:.6g} at step {found.steps}"]
        lines.append(f"steps     {median:.3g} s each, the median")
    lines.append(f"workers   {len(peaks)}, with at most {max(peaks) / 1e6:.0f} MB; the data has {size / 1e6:.0f} MB")
    return "\n".join([*lines, *([f"saved     {options['save_to']}"] if options.get("save_to") else [])]), answer
