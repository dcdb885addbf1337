"""Data larger than memory, from Zarr and Parquet: read piece by piece, the next one ahead, in memory under a bound."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.scale.train import peak_memory

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("time")]

MB = 1_000_000
SHARD, BOUND = (
    4 * MB,
    64 * MB,
)  # a worker of one thread holds two shards, what reading one takes, and what is made of one
SIZE = 4 * BOUND


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w))


def one_worker() -> Any:
    return distributed.LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)


def test_memory_stays_under_its_bound_from_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    columns = 20
    rows = SIZE // (8 * columns)
    each = SHARD // (8 * columns)
    stored = zarr.open_array(
        str(tmp_path / "x.zarr"), mode="w", shape=(rows, columns), chunks=(each, columns), dtype="f8"
    )
    rng = np.random.default_rng(0)
    w = rng.normal(size=columns)
    expected = 0.0
    for k in range(0, rows, each):
        part = rng.normal(size=(min(each, rows - k), columns))
        stored[k : k + each] = part
        expected += loss(w, part)
    lazy = da.from_zarr(str(tmp_path / "x.zarr"))
    with one_worker() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        function = gs.distributed.value_and_grad(loss, client)
        function(w, lazy[:1000])  # what is loaded once
        (before,) = client.run(peak_memory).values()
        for _ in range(2):
            value, _ = function(w, lazy)
        (after,) = client.run(peak_memory).values()
    assert value == pytest.approx(expected, rel=1e-10)
    assert lazy.nbytes >= 4 * BOUND
    print(f"peak {(after - before) / MB:.0f} MB above what a worker has by itself, data {lazy.nbytes / MB:.0f} MB")
    assert after - before < BOUND


def test_memory_stays_under_its_bound_from_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    columns = [f"c{k}" for k in range(20)]
    each = SHARD // (8 * len(columns))
    rng = np.random.default_rng(0)
    w = rng.normal(size=len(columns))
    expected = 0.0
    folder = tmp_path / "x"
    folder.mkdir()
    for k in range(SIZE // SHARD):
        part = rng.normal(size=(each, len(columns)))
        expected += loss(w, part)
        pandas.DataFrame(part, columns=columns).to_parquet(folder / f"part.{k:03d}.parquet")
    lazy = frames.read_parquet(str(folder)).to_dask_array()  # of unknown lengths
    with one_worker() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        function = gs.distributed.value_and_grad(loss, client)
        first = frames.read_parquet(str(folder / "part.000.parquet")).to_dask_array()
        function(w, first)
        (before,) = client.run(peak_memory).values()
        value, _ = function(w, lazy)
        (after,) = client.run(peak_memory).values()
    assert value == pytest.approx(expected, rel=1e-10)
    assert after - before < BOUND


def test_the_next_shard_is_read_while_one_is_computed_with() -> None:
    def read(block_info: Any = None) -> Any:
        time.sleep(0.15)
        return np.full((1, 2), float(block_info[None]["chunk-location"][0]))

    def slow(w: Any, x: Any) -> Any:
        time.sleep(0.15)
        return np.sum(x @ w)

    lazy = da.map_blocks(read, chunks=((1,) * 8, (2,)), dtype=float, meta=np.zeros((0, 0)))
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        function = gs.distributed.value_and_grad(slow, client, compile=False)
        function(np.ones(2), lazy)
        began = time.perf_counter()
        value, _ = function(np.ones(2), lazy)
        seconds = time.perf_counter() - began
    assert value == 2.0 * sum(range(8))
    assert seconds < 0.85 * 8 * 0.3  # one after the other: 2.4 s; side by side: 1.2 s
