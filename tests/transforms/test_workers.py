"""Transforms of any function go to other processes and back: joblib, dask, multiprocessing, from scripts and notebooks."""

from __future__ import annotations

import copy
import importlib.util
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

FUNCTIONS = """
import multiprocessing, sys, warnings
import numpy as np
import gradscribe as gs
from gradscribe.transforms.compiler.driver import specialise

scale = 3.0

def plain(x):
    return np.sum(scale * x ** 2)

def made(c):
    def inner(x):
        return np.sum(c * x ** 3)
    return inner

@gs.grad
def decorated(x):
    return np.sum(scale * np.sin(x))

@gs.compile
@gs.value_and_grad
def compiled(x):
    while np.sum(x) < 100.0:
        x = x * scale
    return np.sum(x)

class Model:
    rate = 2.0

    def loss(self, x):
        return np.sum(self.rate * x ** 2)

@gs.custom_vjp
def doubled(x):
    return 2.0 * x

doubled.defvjp(lambda x: (doubled(x), None), lambda _, g: (g * 2.0,))

@gs.hessian
def recursive(x, n=3):
    return np.sum(x ** 2) if n == 0 else 2.0 * recursive.function(x, n - 1)

ALL = {
    "a lambda": gs.grad(lambda x: np.sum(scale * x ** 2)),
    "a closure": gs.value_and_grad(made(2.0)),
    "a plain function": gs.grad(plain),
    "a decorated function": decorated,
    "a compiled function": compiled,
    "a compiled lambda": gs.compile(gs.grad(lambda x: np.sum(scale * x ** 4))),
    "a method": gs.grad(Model().loss),
    "a derivative of one's own": gs.grad(lambda x: np.sum(doubled(x) * x)),
    "a function that names its transform": recursive,
    "a vmap": gs.vmap(gs.grad(lambda x: x ** 3)),
}
X = np.arange(3.0) + 1.0

def task(name, f, x):
    "What f gives in a worker, f again, and how many texts it wrote itself."
    warnings.simplefilter("error")
    texts, emit = [], specialise.emit
    specialise.emit = lambda *a: texts.append(a) or emit(*a)
    try:
        return f(x), f, len(texts), type(f).__name__
    finally:
        specialise.emit = emit

def check(run):
    "Send all of them with `run(task, [arguments])`."
    for name, f in ALL.items():
        here = f(X)
        ((there, back, texts, kind),) = run(task, [(name, f, X)])
        same = lambda a, b: all(np.array_equal(p, q) for p, q in zip(a, b)) if isinstance(a, tuple) else np.array_equal(a, b)
        assert same(there, here), name
        assert same(back(X), here), name
        assert kind == type(f).__name__ and texts == 0, (name, kind, texts)
"""

RUNS = {
    "joblib": """
import joblib
check(lambda task, calls: joblib.Parallel(n_jobs=2)(joblib.delayed(task)(*c) for c in calls))
out = joblib.Parallel(n_jobs=2)(joblib.delayed(ALL["a lambda"])(X + k) for k in range(3))
assert [o.tolist() for o in out] == [(6.0 * (X + k)).tolist() for k in range(3)]
""",
    "dask": """
from dask.distributed import Client
with Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    check(lambda task, calls: [client.submit(task, *c, pure=False).result() for c in calls])
    assert client.submit(ALL["a closure"], X).result()[0] == 72.0
    assert client.submit(ALL["a compiled lambda"], X).result().tolist() == (12.0 * X ** 3).tolist()
""",
}
for _method in ("fork", "spawn", "forkserver"):
    RUNS[_method] = f"""
with multiprocessing.get_context({_method!r}).Pool(1) as pool:
    check(pool.starmap)
    assert pool.map(ALL["a lambda"], [X])[0].tolist() == (6.0 * X).tolist()
"""


WATCHED = "import faulthandler\nfaulthandler.dump_traceback_later(120, exit=True)\n"  # what waits for ever says where


def run(code: str, folder: Path, **more: str) -> None:
    """Run a script in a folder, with a disk cache there."""
    (folder / "script.py").write_text(WATCHED + code)
    environment = {**os.environ, "GRADSCRIBE_CACHE": str(folder / "cache"), **more}
    command = [sys.executable, "script.py"]
    with (folder / "stderr").open("w+b") as errors:  # a file: a pipe would be waited for as long as a worker is left
        done = subprocess.run(command, cwd=folder, stderr=errors, check=False, timeout=300, env=environment)
    assert done.returncode == 0, (folder / "stderr").read_text()[-4000:]


@pytest.mark.parametrize(
    "how", ["spawn", *[pytest.param(name, marks=pytest.mark.slow) for name in ("joblib", "fork", "forkserver", "dask")]]
)
def test_they_go_to_workers_and_back_and_find_the_disk_cache(how: str, tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    if how in ("joblib", "dask"):
        pytest.importorskip({"dask": "dask.distributed"}.get(how, how), reason=f"{how} is not installed")
    elif how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {how} on this system")
    run(FUNCTIONS + "\nif __name__ == '__main__':\n" + textwrap.indent(RUNS[how], "    "), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["joblib", "spawn"])
def test_functions_of_notebook_cells_go_too(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("cloudpickle", "nbclient", "nbformat", "ipykernel", *(["joblib"] if how == "joblib" else [])):
        pytest.importorskip(library, reason=f"{library} is not installed")
    import nbclient
    import nbformat

    monkeypatch.setenv("GRADSCRIBE_CACHE", str(tmp_path / "cache"))
    sending = RUNS["joblib"] if how == "joblib" else (
        "with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "    for name, f in ALL.items():\n"
        "        there, here = pool.map(f, [X])[0], f(X)\n"
        "        assert np.array_equal(np.hstack(there), np.hstack(here)), name\n"
    )  # fmt: skip
    cells = [nbformat.v4.new_code_cell(text) for text in (FUNCTIONS, sending)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_in_one_process_they_come_back_as_what_they_were() -> None:
    pytest.importorskip("cloudpickle")
    power = 3
    for made in (gs.grad(lambda x: x**power), gs.compile(gs.grad(lambda x: x**power), fastmath=True)):
        again: Any = pickle.loads(pickle.dumps(made))
        assert (type(again), again.options) == (type(made), made.options)
        assert again(2.0) == made(2.0)
    assert gs.compile(pickle.loads(pickle.dumps(gs.grad(lambda x: x**power))))(2.0) == 12.0


def test_what_cannot_be_sent_is_named() -> None:
    pytest.importorskip("cloudpickle")
    lock = threading.Lock()
    with pytest.raises(pickle.PicklingError, match=r"gs.grad of .*lambda.* cannot be pickled.*lock"):
        pickle.dumps(gs.grad(lambda x: x * lock.locked()))


def test_copies_are_the_function_itself_as_for_functions() -> None:
    made = gs.compile(gs.grad(lambda x: x**2))
    assert copy.copy(made) is made
    assert copy.deepcopy({"f": made})["f"] is made

    class Model:
        rate = 2.0

        def __call__(self, x: Any) -> Any:
            return self.rate * x**2

    model = Model()
    whole = copy.deepcopy({"model": model, "slope": gs.grad(model)})
    whole["model"].rate = 3.0
    assert whole["slope"](1.0) == 6.0
    assert gs.grad(model)(1.0) == 4.0


@pytest.mark.parametrize("how", ["spawn", pytest.param("fork", marks=pytest.mark.slow)])
def test_without_cloudpickle_what_has_a_name_goes_and_the_rest_says_what_is_missing(how: str, tmp_path: Path) -> None:
    body = f"""
    with multiprocessing.get_context({how!r}).Pool(1) as pool:
        for name in ("a plain function", "a decorated function"):
            assert pool.map(ALL[name], [X])[0].tolist() == ALL[name](X).tolist(), name
    import pickle
    for name in ("a lambda", "a compiled lambda", "a vmap"):
        try:
            pickle.dumps(ALL[name])
        except pickle.PicklingError as error:
            assert str(error).count("top level of a module") == str(error).count("pip install cloudpickle") == 1, error
        else:
            raise AssertionError("it was pickled")
"""
    blocked = "import sys\nsys.modules['cloudpickle'] = sys.modules['joblib'] = None\n"
    run(f"{blocked}{FUNCTIONS}\nif __name__ == '__main__':\n{body}", tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("cloudpickle") is None, reason="cloudpickle is not installed")
def test_a_module_that_is_registered_to_go_by_value_does(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import gradscribe as gs\n@gs.grad\ndef cube(x):\n    return x ** 3\n")
    (tmp_path / "load.py").write_text("import pickle\nprint(pickle.load(open('sent', 'rb'))(2.0))")
    code = (
        "import cloudpickle, mine, os, pickle, subprocess, sys\ncloudpickle.register_pickle_by_value(mine)\n"
        "with open('sent', 'wb') as file:\n    pickle.dump(mine.cube, file)\nos.remove('mine.py')\n"
        "print(subprocess.run([sys.executable, 'load.py'], check=True, capture_output=True, text=True).stdout)\n"
    )
    run(code + "assert 'mine' in sys.modules", tmp_path)


def test_importable_functions_go_by_name_alone() -> None:
    assert b"cloudpickle" not in pickle.dumps(gs.grad(gs.grad(np.sin)))


def test_memory_maps_compile_as_the_arrays_that_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(6.0))
    x = np.load(tmp_path / "x.npy", mmap_mode="r+")
    compiled = gs.compile(gs.grad(lambda p: np.sum(p["x"] ** 2 * p["k"])))
    for k in (np.ones(6), np.arange(6.0), np.arange(6.0)):
        there, here = compiled({"x": x, "k": k}), gs.grad(lambda p: np.sum(p["x"] ** 2 * p["k"]))({"x": x, "k": k})
        assert type(there["x"]) is type(here["x"]) is np.ndarray
        assert there["x"].tolist() == here["x"].tolist() == (2 * np.asarray(x) * k).tolist()
    assert sum(compiled.hits().values()) == 2  # the first call captured
    assert "np.memmap" not in compiled.source({"x": x, "k": x})

    def doubled(x: Any) -> None:
        x *= 2.0

    gs.compile(doubled)(x)
    assert np.load(tmp_path / "x.npy").tolist() == (2 * np.arange(6.0)).tolist()


@pytest.mark.slow
def test_large_arrays_that_joblib_maps_into_memory_compile(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    body = """
import warnings
def task(f, x):
    warnings.simplefilter("error")
    assert type(x) is np.memmap
    return f(x)
if __name__ == "__main__":
    from joblib import Parallel, delayed
    large = np.arange(300_000.0)
    for name in ("a lambda", "a compiled lambda"):
        found = Parallel(n_jobs=2)(delayed(task)(ALL[name], large) for _ in range(2))
        assert all(np.array_equal(g, ALL[name](large)) for g in found), name
"""
    run(FUNCTIONS + body, tmp_path)
