"""Threads that share the loops of a kernel: the same bits for any number, none over a fork, and how many there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler, together, written

import gradscribe as gs
from gradscribe.transforms.compiler.native import nests, threads

BEGIN = """
import hashlib, os, sys, threading
import numpy as np
import gradscribe as gs
from gradscribe.transforms.compiler.native import nests

nests.CHUNK = 1 << 14

def digest(result):
    leaves = result if isinstance(result, tuple) else (result,)
    return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in leaves)).hexdigest()

def tasks():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0

def waves(x):
    return np.sum(np.sin(x) * np.exp(-0.5 * x * x) + np.tanh(x))

both = gs.compile(gs.value_and_grad(waves), target="native")
x = np.random.default_rng(0).normal(size=200_001)
"""

SUMS = """
def sums(a, y):
    b = np.exp(a) * y
    parts = [f(b, axis=axis) for f in (np.sum, np.mean, np.max, np.min) for axis in (None, 0, 1)]
    return (*parts, np.sum(a[:, None, :3] * y[:3], axis=(0, 2)), b)

found = []
rows = np.random.default_rng(1).normal(size=(3001, 70))
for f, operands in [
    (gs.value_and_grad(waves), (x,)), (gs.value_and_grad(waves), (x[::-2],)), (sums, (rows, rows[0])),
    (sums, (rows[:, ::-1], rows[1])), (sums, (np.where(rows > 4.0, np.nan, rows), rows[0])),
    (gs.value_and_grad(waves), (x.astype(np.float32),)),
]:
    compiled = gs.compile(f, target="native")
    for k in range(3):
        compiled(operands[0] + k, *operands[1:])
    assert gs.explain(compiled).specialisations[0].runs == "native, without a call of Python"
    found.append(digest(compiled(*operands)))
print(tasks(), *found)
"""

FORKS = """
both(x), both(x + 1.0)
before = digest(both(x))
assert tasks() == 3
for _ in range(3):
    child = os.fork()
    if child == 0:
        alone = tasks()
        same = digest(both(x)) == before
        os._exit(0 if alone == 1 and same and tasks() == 3 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert digest(both(x)) == before
assert tasks() == 3
"""

BUSY = """
both(x), both(x + 1.0)
before = digest(both(x))
wrong, stop = [], threading.Event()
def work():
    while not stop.is_set():
        if digest(both(x)) != before:
            wrong.append(1)
others = [threading.Thread(target=work) for _ in range(3)]
for other in others:
    other.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        os._exit(digest(both(x)) != before)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for other in others:
    other.join()
assert not wrong
"""


def run(script: str, number: int, cache: Path | str = "off") -> list[str]:
    """The words that a script prints with so many threads; scripts of one `cache` build its kernels once."""
    environment = {
        **os.environ, "GRADSCRIBE_THREADS": str(number), "OPENBLAS_NUM_THREADS": "1", "GRADSCRIBE_CACHE": str(cache),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@needs_compiler
@pytest.mark.parametrize("number", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_any_number_of_threads_gives_the_same_bits(number: int, tmp_path: Path) -> None:
    tasks, *alone = run(SUMS, 1, tmp_path)
    assert len(alone) == 6
    more, *found = run(SUMS, number, tmp_path)
    assert found == alone
    assert tasks == "0" or int(more) - int(tasks) == number - 1


@needs_compiler
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system does not list threads")
def test_a_fork_sees_no_thread_and_starts_its_own() -> None:
    run(FORKS, 3)


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_while_other_threads_share_loops() -> None:
    run(BUSY, 2)


def reductions(a: Any, y: Any) -> Any:
    """Sums of all kinds over numbers that a chunk does not hold whole."""
    b = a * y + a
    parts = [f(b, axis=axis) for f in (np.sum, np.mean, np.max, np.min) for axis in (None, 0, 1)]
    return (*parts, b, np.sum(a[:, None, :] * y, axis=0), np.max(a * y, axis=(0, 1)), np.sum(a, axis=0), np.sum(y))


@needs_compiler
def test_chunks_give_what_numpy_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nests, "BLOCK", 4)
    monkeypatch.setattr(nests, "CHUNK", 64)
    monkeypatch.setattr(nests, "ROWS", 5)
    rng = np.random.default_rng(0)
    [kernel] = together([written(reductions, rng.normal(size=(6, 4)), rng.normal(size=4))])
    for n, m in [(6, 4), (1, 1), (5, 9), (16, 16), (17, 16), (33, 7), (400, 3), (3, 400), (64, 64), (1, 500), (500, 1)]:
        for a in (rng.normal(size=(n, m)), rng.normal(size=(m, n)).T, rng.normal(size=(n, 2 * m))[::-1, ::2]):
            y = rng.normal(size=m)
            for mine, theirs in zip(kernel.run(a, y), reductions(a, y), strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    assert kernel.left == [0]


@needs_compiler
def test_names_of_the_users_are_not_those_of_loops(recwarn: pytest.WarningsRecorder) -> None:
    def f(x: Any, to: Any, of: Any) -> Any:
        e0 = np.exp(x * to)
        c0 = np.sin(e0) + of
        loop = e0 * c0
        loop_n = np.sum(loop * x)
        return loop, loop_n, e0 + loop_n

    compiled = gs.compile(f, target="native")
    for k in range(3):
        x = np.arange(3.0) + k
        for found, expected in zip(compiled(x, x, 2.0 * k), f(x, x, 2.0 * k), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert gs.explain(compiled).specialisations[0].runs == "native, without a call of Python"
    assert not recwarn.list


def test_how_many_threads_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRADSCRIBE_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert threads.size() == 3
    monkeypatch.setenv("GRADSCRIBE_THREADS", "5")
    assert threads.size() == 5
    for words in ("0", "many", "-1", ""):
        monkeypatch.setenv("GRADSCRIBE_THREADS", words)
        assert threads.size() == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    if hasattr(os, "sched_getaffinity"):
        assert threads.size() == min(len(os.sched_getaffinity(0)), 256)
