"""gradscribe train, and the cluster that is started where no client was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.explorer import cli
from gradscribe.scale import cluster
from gradscribe.scale.train import train

distributed = pytest.importorskip("distributed")
pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own

MODEL = """
import numpy as np
options = {"reduce": "mean", "lr": 0.02, "steps": 4, "shards": 2}
params = {"w": np.zeros(2)}

def data():
    x = np.arange(20.0).reshape(10, 2) / 10
    return x, x @ np.array([1.0, -1.0])

def loss(p, x, y):
    return np.mean((x @ p["w"] - y) ** 2)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model_to_train.py"
    path.write_text(MODEL)
    return path


def test_the_command_trains_saves_and_goes_on(model: Path, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None, set_as_default=False) as client:
        place = client.scheduler.address
        call = ["train", str(model), "--scheduler", place, "--save-to", str(tmp_path / "run"), "--save-every", "2"]
        assert cli.main("0", [*call, "--json"], train=train) == 0
        whole = json.loads(capsys.readouterr().out)
        assert whole["steps"] == 4
        assert whole["values"][-1] < whole["values"][0]
        assert len(list((tmp_path / "run").iterdir())) == 2
        assert cli.main("0", [*call, "--resume", "--steps", "6"], train=train) == 0
        said = capsys.readouterr().out
        assert "at step 6" in said
        assert "workers   1, with at most" in said
    model.write_text(MODEL.replace("params =", "start ="))
    assert cli.main("0", ["train", str(model)], train=train) == 2
    assert "has no `params`" in capsys.readouterr().err


@pytest.mark.slow
def test_without_a_client_a_cluster_of_this_machine_is_started_once(capsys: Any) -> None:
    try:
        function = gs.distributed.value_and_grad(lambda w, x: np.sum((x @ w) ** 2))
        value, _ = function(np.ones(2), np.ones((6, 2)))
        assert value == 24.0
        said = capsys.readouterr().err
        assert "a cluster was started on this machine" in said
        assert "tcp://127.0.0.1:" in said
        workers = cluster.local_client("it").scheduler_info()["workers"]
        assert all(address.startswith("tcp://127.0.0.1:") for address in workers)
        function(np.ones(2), np.ones((4, 2)))
        assert capsys.readouterr().err == ""
    finally:
        cluster._end_local()
    assert function(np.ones(2), np.ones((4, 2)))[0] == 16.0  # another one
    cluster._end_local()


@pytest.mark.slow
def test_a_script_without_a_client_ends_by_itself(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import numpy as np, gradscribe as gs
        if __name__ == "__main__":
            print(gs.distributed.value_and_grad(lambda w, x: np.sum(x @ w), shards=3)(np.ones(2), np.ones((6, 2)))[0])
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "12.0\n"), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", ["script", "module"])
def test_a_script_whose_processes_would_run_it_again_is_told_so(how: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import numpy as np, gradscribe as gs
        value = gs.distributed.value_and_grad(lambda w, x: np.sum(x @ w), shards=3)
        if __name__ == "__main__":
            print("in the block")
        value(np.ones(2), np.ones((6, 2)))
        """)
    )
    if how == "module":
        (tmp_path / "other.py").write_text("import script\nif __name__ == '__main__':\n    print('in the block')\n")
        script = tmp_path / "other.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "RuntimeError: gs.distributed.value_and_grad starts processes, and each runs" in done.stderr
    assert f'put line {6 if how == "script" else 1} under `if __name__ == "__main__":`' in done.stderr
    assert done.stderr.count("Traceback") == 1, done.stderr


def test_without_dask_an_error_says_how_to_get_it(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import sys
        sys.modules["distributed"] = None
        import numpy as np, gradscribe as gs
        gs.distributed.value_and_grad(lambda w, x: np.sum(x @ w))(np.ones(2), np.ones((4, 2)))
        """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ})
    assert 'needs Dask, which is not installed: pip install "gradscribe[scale]"' in done.stderr
