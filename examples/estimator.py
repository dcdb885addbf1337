"""A scikit-learn estimator over any loss that you can write: its gradient is exact, and GridSearchCV runs it in workers.

    pip install gradscribe "scikit-learn>=1.6" scipy
    python estimator.py            # grid search over a robust regression, in two processes
    python estimator.py --check    # also scikit-learn's own checks of an estimator
    python estimator.py --tiny     # a small grid in one process, as the project's own checks run it

`LossRegressor(loss, penalty)` minimises `mean(loss(y - prediction)) + penalty * sum(w ** 2)` for a linear model. The loss is a
plain NumPy function of residuals, such as `huber` below; nobody writes its gradient.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

import gradscribe as gs

Loss = Callable[[Any], Any]


def squared(r: Any) -> Any:
    """The loss of least squares."""
    return 0.5 * r**2


def huber(r: Any) -> Any:
    """Squared near 0, and linear where a residual is so large that it may be an outlier."""
    size = np.abs(r)
    return np.where(size < 1.0, 0.5 * r**2, size - 0.5)


def log_cosh(r: Any) -> Any:
    """Like `huber`, and smooth everywhere."""
    return np.logaddexp(r, -r) - np.log(2.0)


def objective(params: Any, x: Any, y: Any, loss: Loss, penalty: Any) -> Any:
    """What a fit minimises; the intercept is the last parameter, and is not penalised."""
    w, b = params[:-1], params[-1]
    return np.mean(loss(y - (x @ w + b))) + penalty * np.sum(w**2)


value_and_grad = gs.compile(gs.value_and_grad(objective))


class LossRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model under a loss of the user's: a NumPy function of residuals, element by element."""

    def __init__(self, loss: Loss = squared, penalty: float = 1e-4, max_iter: int = 500) -> None:
        self.loss = loss
        self.penalty = penalty
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> LossRegressor:
        """Minimise the mean loss by L-BFGS, with exact gradients."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        start = np.zeros(X.shape[1] + 1)
        found = minimize(
            value_and_grad,
            start,
            args=(X, y, self.loss, float(self.penalty)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter},
        )
        self.coef_, self.intercept_, self.n_iter_ = found.x[:-1], found.x[-1], int(found.nit)
        return self

    def predict(self, X: Any) -> Any:
        """The model at the rows of `X`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.coef_ + self.intercept_


def data(rows: int) -> tuple[Any, Any]:
    """A linear model with noise, in which one row in ten is an outlier."""
    x, y = make_regression(n_samples=rows, n_features=10, noise=1.0, random_state=0)
    rng = np.random.default_rng(0)
    y = y / y.std() + rng.normal(scale=0.1, size=rows)
    outliers = rng.random(rows) < 0.1
    return x, np.where(outliers, y + 20.0 * rng.random(rows), y)


def main() -> None:
    """Find the best loss and penalty by cross-validation, and compare with least squares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="a small grid in one process")
    parser.add_argument("--check", action="store_true", help="run scikit-learn's own checks of an estimator")
    options = parser.parse_args()
    if options.check:
        ran = check_estimator(LossRegressor())
        print(f"check_estimator: {len(ran) if ran else 'all'} checks passed")
    x, y = data(200 if options.tiny else 2000)
    x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0)
    losses = [squared, huber] if options.tiny else [squared, huber, log_cosh]
    grid = {"loss": losses, "penalty": [1e-4, 1e-2]}
    start = time.perf_counter()
    search = GridSearchCV(
        LossRegressor(), grid, scoring="neg_median_absolute_error", n_jobs=None if options.tiny else 2, cv=3
    )
    search.fit(x_train, y_train)
    print(f"{len(search.cv_results_['params']) * 3} fits in {time.perf_counter() - start:.1f} s")
    best = search.best_params_
    print(f"best: {best['loss'].__name__}, penalty {best['penalty']:g}")
    plain = LinearRegression().fit(x_train, y_train)
    for name, model in (("least squares", plain), ("best of the grid", search.best_estimator_)):
        error = np.median(np.abs(y_test - model.predict(x_test)))
        print(f"{name:17} median error {error:.3f}")


if __name__ == "__main__":
    main()
