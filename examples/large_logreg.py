"""Logistic regression on data that no worker could hold: Dask makes it piece by piece, or reads it from Zarr.

python large_logreg.py              # 10 steps on a cluster of this machine
gradscribe train large_logreg.py --workers 2 --memory 400MB      # the same; 1.6 GB of data, two workers of 400 MB
python large_logreg.py --zarr data.zarr                          # write the data, then read it in each step
"""

from __future__ import annotations

import argparse
import importlib.util
from typing import Any

import numpy as np

import gradscribe as gs

Array = Any
ROWS, COLUMNS, EACH = 4_000_000, 50, 50_000
options = {"optimizer": "adam", "lr": 0.1, "steps": 10, "reduce": "mean"}


def loss(w: Array, x: Array, y: Array) -> Array:
    """The mean negative log likelihood of labels that are 1 or -1."""
    return np.mean(np.log1p(np.exp(-y * (x @ w))))


def params() -> Array:
    """Where to start."""
    return np.zeros(COLUMNS)


def truth() -> Array:
    """The weights that the labels come from."""
    return np.linspace(-1.0, 1.0, COLUMNS)


def data(rows: int = ROWS, each: int = EACH) -> tuple[Array, Array]:
    """Rows and their labels as dask.arrays: each chunk is made of a seed of its own, whenever it is asked for."""
    import dask.array as da

    x = da.random.default_rng(0).normal(size=(rows, COLUMNS), chunks=(each, COLUMNS))
    noise = da.random.default_rng(1).logistic(size=rows, chunks=each)
    return x, da.where(x @ truth() + noise > 0, 1.0, -1.0)


def main() -> None:
    """Fit, and show how far the weights are from those that the labels come from."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="little data and few steps")
    parser.add_argument("--zarr", help="the folder for the data; it is written if it is not there")
    chosen = parser.parse_args()
    if importlib.util.find_spec("distributed") is None:
        print('Dask is not installed: pip install "gradscribe[scale]"')
        return
    x, y = data(4_000, 1_000) if chosen.tiny else data()
    if chosen.zarr is not None:
        import os

        import dask.array as da

        if not os.path.exists(chosen.zarr):
            da.to_zarr(x, chosen.zarr, component="x")
            da.to_zarr(y, chosen.zarr, component="y")
        x, y = (da.from_zarr(chosen.zarr, component=name) for name in ("x", "y"))
    steps = 3 if chosen.tiny else 10
    found = gs.distributed.minimize(loss, params(), (x, y), lr=0.1, steps=steps, reduce="mean", progress=True)
    print(found.history)
    print(f"largest error of a weight: {np.max(np.abs(found.params - truth())):.3f}")


if __name__ == "__main__":
    main()
