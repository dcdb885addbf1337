"""LBFGS: quasi-Newton steps from the last gradients, of a fixed length as PyTorch's, or with SciPy's line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...tracer.core.thread_state import enable_grad, no_grad
from .optimizer import Optimizer, in_place, not_negative

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Run limited-memory BFGS (Liu and Nocedal, 1989): up to `max_iter` iterations for each `step(closure)`.

    `closure` clears the gradients, computes the loss, calls `backward()` and returns the loss. With `line_search_fn=None`
    each iteration goes `lr` times the quasi-Newton step, number by number as in PyTorch. With `"strong_wolfe"` SciPy's
    L-BFGS-B, which searches along each direction, does the iterations, and `lr` and `tolerance_change` have no say. Raises
    ImportError where that needs SciPy and it is missing, ValueError where parameters are in more groups than one.

    >>> import gradscribe as gs
    >>> x = gs.tensor([4.0, -3.0], requires_grad=True)
    >>> optimizer = gs.optim.LBFGS([x], max_iter=50)
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 1) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    337.0
    >>> bool(closure() < 1e-6)
    True
    """

    def __init__(
        self, params: Any, lr: Any = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(f"only 'strong_wolfe' is supported, not {line_search_fn!r}")
        options = not_negative(
            lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
            line_search_fn=line_search_fn,
        )  # fmt: skip
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups): give one list of parameters"
            )

    @in_place
    def step(self, closure: Callable[[], Any]) -> Any:
        """Iterate; the loss before."""
        self.stepped = True
        options = self.param_groups[0]
        problem = _Problem(options["params"], closure)
        state = self.state.setdefault(options["params"][0], {"func_evals": 0, "n_iter": 0})
        first, value = problem.measured()
        if np.max(np.abs(problem.gradient)) > options["tolerance_grad"]:
            if options["line_search_fn"] is None:
                _iterate(problem, state, value, **options)
            else:
                _searched(problem, state, **options)
        state["func_evals"] += problem.count
        return first

    def memory(self, options: Any) -> dict[str, float]:
        """There is no form for pytrees: gradients alone are not enough."""
        raise NotImplementedError(
            "LBFGS has no form for pytrees; scipy.optimize.minimize takes gs.value_and_grad(loss)"
        )


class _Problem:
    """The parameters as one vector, which a closure measures."""

    def __init__(self, params: list[Any], closure: Callable[[], Any]) -> None:
        self.params, self.closure, self.count = params, closure, 0
        self.gradient: Any = None

    def measured(self) -> tuple[Any, float]:
        """The loss where the parameters stand, as the closure gives it and as a number; `gradient` belongs to it."""
        with enable_grad():
            loss = self.closure()
        self.count += 1
        grads = [np.zeros(p.shape, p.dtype) if p.grad is None else p.grad.detach().numpy() for p in self.params]
        self.gradient = np.concatenate([g.ravel() for g in grads])
        return loss, float(loss.detach() if hasattr(loss, "detach") else loss)

    def where(self) -> Any:
        """The parameters."""
        return np.concatenate([p.detach().numpy().ravel() for p in self.params])

    def move(self, x: Any) -> None:
        """Set the parameters."""
        with no_grad():
            for p in self.params:
                p.copy_(x[: p.size].reshape(p.shape))
                x = x[p.size :]


def _iterate(
    problem: _Problem, state: dict[str, Any], loss: float, *, lr: Any, max_iter: int, max_eval: int, tolerance_grad: float,
    tolerance_change: float, history_size: int, **_: Any,
) -> None:  # fmt: skip
    """Iterations of a fixed length, until one of the limits is met."""
    # Of each step kept: how far it went, and how the gradient changed.
    pairs: list[tuple[Any, Any]] = state.setdefault("pairs", [])
    for k in range(max_iter):
        gradient, before = problem.gradient, loss
        state["n_iter"] += 1
        if state["n_iter"] > 1:
            change = gradient - state["gradient"]
            if change @ state["moved"] > 1e-10:
                pairs[:] = [*pairs, (state["moved"], change)][-history_size:]
        direction = -_inverse_hessian_times(gradient, pairs)
        length = lr if state["n_iter"] > 1 else min(1.0, 1.0 / np.sum(np.abs(gradient))) * lr
        state["gradient"], state["moved"] = gradient, length * direction
        if gradient @ direction > -tolerance_change:
            return
        problem.move(problem.where() + state["moved"])
        if k + 1 == max_iter:
            return
        loss = problem.measured()[1]
        if problem.count >= max_eval or np.max(np.abs(problem.gradient)) <= tolerance_grad:
            return
        if np.max(np.abs(state["moved"])) <= tolerance_change or abs(loss - before) < tolerance_change:
            return


def _inverse_hessian_times(q: Any, pairs: list[tuple[Any, Any]]) -> Any:
    """The recursion of two loops (Nocedal and Wright, Numerical Optimization, algorithm 7.4)."""
    shares = []
    for s, y in reversed(pairs):
        shares.append((s @ q) / (y @ s))
        q = q - shares[-1] * y
    if pairs:
        s, y = pairs[-1]
        q = (y @ s) / (y @ y) * q
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q = q + (share - (y @ q) / (y @ s)) * s
    return q


def _searched(
    problem: _Problem, state: dict[str, Any], *, max_iter: int, max_eval: int, tolerance_grad: float, history_size: int, **_: Any
) -> None:  # fmt: skip
    """The iterations of SciPy's L-BFGS-B."""
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise ImportError(
            'line_search_fn="strong_wolfe" is SciPy\'s: pip install scipy, or line_search_fn=None'
        ) from error

    def value_and_gradient(x: Any) -> tuple[float, Any]:
        problem.move(x)
        return problem.measured()[1], problem.gradient.astype(float)

    limits = {"maxiter": max_iter, "maxfun": max_eval, "gtol": tolerance_grad, "ftol": 0.0, "maxcor": history_size}
    found = minimize(value_and_gradient, problem.where(), jac=True, method="L-BFGS-B", options=limits)
    state["n_iter"] += int(found.nit)
    problem.move(found.x)
