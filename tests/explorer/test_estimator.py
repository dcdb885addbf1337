"""The example of an estimator: scikit-learn's own checks pass, and grid search runs it in worker processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from house import ROOT

pytestmark = pytest.mark.slow

CHECKS = "from sklearn.utils.estimator_checks import check_estimator\ncheck_estimator(estimator.LossRegressor())\n"
SEARCH = """
import numpy as np
from sklearn.model_selection import GridSearchCV

if __name__ == "__main__":
    x, y = estimator.data(200)
    grid = {"loss": [estimator.squared, estimator.huber, lambda r: np.abs(r) ** 1.5], "penalty": [1e-4, 1e-2]}
    found = [GridSearchCV(estimator.LossRegressor(), grid, n_jobs=jobs, cv=3).fit(x, y) for jobs in (2, None)]
    assert found[0].best_params_["loss"] is not estimator.squared
    assert np.array_equal(found[0].predict(x), found[1].predict(x))
    assert np.array_equal(*[search.cv_results_["mean_test_score"] for search in found])
"""


@pytest.mark.parametrize("code", [CHECKS, SEARCH], ids=["check_estimator", "GridSearchCV(n_jobs=2)"])
def test_the_estimator_over_a_users_loss_is_one_of_scikit_learns(code: str, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", minversion="1.6", reason="the example is written for scikit-learn 1.6")
    (tmp_path / "script.py").write_text("import estimator\n" + code)
    places = [str(ROOT / "examples"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
        "GRADSCRIBE_CACHE": str(tmp_path / "cache"),
    }
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
