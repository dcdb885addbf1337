"""CyclicLR: the learning rate goes up and down between two bounds, again and again, with momentum the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .optimizer import Optimizer
from .schedules import LRScheduler, for_each

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """From `base_lr` up to `max_lr` in `step_size_up` steps, and down in `step_size_down` (Smith, arXiv:1506.01186).

    `step()` comes after each batch. The height of a cycle stays ("triangular"), is halved each time ("triangular2"), or is
    `gamma**steps` of what it was ("exp_range"); or `scale_fn` says what it is times, of the number of the cycle, or of the
    step with `scale_mode="iterations"`. Raises ValueError for another mode, and for `cycle_momentum` where there is no momentum.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.CyclicLR(gs.optim.SGD(momentum=0.9), base_lr=0.5, max_lr=1.5, step_size_up=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.5, 1.0, 1.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000, step_size_down: int | None = None,
        mode: str = "triangular", gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle", cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        base_lrs = for_each(optimizer, base_lr, "base_lr")
        self.max_lrs = for_each(optimizer, max_lr, "max_lr")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self.cycle_momentum = mode, gamma, cycle_momentum
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self._scale_lambdas = [scale_fn]
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.base_momentums = for_each(optimizer, base_momentum, "base_momentum")
            self.max_momentums = for_each(optimizer, max_momentum, "max_momentum")
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                group["lr"] = lr
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """As far between the bounds as the step is within its cycle; the momentum is set on the way."""
        cycle = math.floor(1 + epoch / self.total_size)
        x = 1 + epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = share * self._scale(cycle if self.scale_mode == "cycle" else epoch)
        if self.cycle_momentum:
            options, top = self.optimizer.param_groups[group], self.max_momentums[group]
            momentum = top - (top - self.base_momentums[group]) * height
            options |= {"betas": (momentum, *options["betas"][1:])} if "betas" in options else {"momentum": momentum}
        return base + (self.max_lrs[group] - base) * height

    def _scale(self, x: float) -> Any:
        (given,) = self._scale_lambdas
        if given is not None:
            return given(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}[self.mode]
