"""Schedules in phases: up and down once, one schedule after the other, and down where a figure gets no better."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from ...tracer import Tensor
from .optimizer import Optimizer
from .schedules import LRScheduler, behind_the_optimizer, for_each

__all__ = ["ChainedScheduler", "OneCycleLR", "ReduceLROnPlateau", "SequentialLR"]


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and far down again, once, with momentum the other way round (Smith and Topin, arXiv:1708.07120).

    It takes `total_steps`, or `epochs` and `steps_per_epoch`, and `step()` after each batch; ValueError past the last one.

    >>> import gradscribe as gs
    >>> optimizer = gs.optim.SGD(momentum=0.9)
    >>> schedule = gs.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10, div_factor=4.0)
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos", cycle_momentum: bool = True,
        base_momentum: Any = 0.85, max_momentum: Any = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, n in (("total_steps", total_steps), ("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            if n is not None and (n <= 0 or not isinstance(n, int)):
                raise ValueError(f"Expected positive integer {name}, but got {n}")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        last, top = float(self.total_steps - 1), float(pct_start * self.total_steps) - 1
        ends = [(top, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            ends.append((2 * top, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            ends.append((last, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            ends.append((last, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        self._phases = ends
        rates = for_each(optimizer, max_lr, "max_lr")
        if last_epoch == -1:
            given = (("base_momentum", base_momentum), ("max_momentum", max_momentum))
            momenta = {name: for_each(optimizer, m, name) for name, m in given} if cycle_momentum else {}
            for k, (group, rate) in enumerate(zip(optimizer.param_groups, rates, strict=True)):
                first = rate / div_factor
                group |= {"initial_lr": first, "max_lr": rate, "min_lr": first / final_div_factor}
                if cycle_momentum and "momentum" not in group and "betas" not in group:
                    raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
                group |= {name: values[k] for name, values in momenta.items()}
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """Between the ends of the phase in which the step lies; the momentum is set on the way."""
        if epoch > self.total_steps:
            raise ValueError(f"Tried to step {epoch} times. The specified number of total steps is {self.total_steps}")
        options = self.optimizer.param_groups[group]
        ends = [end for end, *_ in self._phases]
        k = min(bisect_left(ends, epoch), len(ends) - 1)
        start = ends[k - 1] if k else 0.0
        share = (epoch - start) / (ends[k] - start)
        _, rate_from, rate_to, momentum_from, momentum_to = self._phases[k]
        if self.cycle_momentum:
            momentum = self._between(options[momentum_from], options[momentum_to], share)
            options |= {"betas": (momentum, *options["betas"][1:])} if "betas" in options else {"momentum": momentum}
        return self._between(options[rate_from], options[rate_to], share)

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self.anneal_strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


class _Several(LRScheduler):
    """Schedules together, whose states are in that of the whole."""

    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes, with the states of the schedules."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where other such schedules were."""
        states = state_dict["_schedulers"]
        vars(self).update({**state_dict, "_schedulers": self._schedulers})
        for scheduler, state in zip(self._schedulers, states, strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(_Several):
    """Schedules that step all at once: each changes the rate that the one before it left, so that their factors multiply.

    Raises ValueError where there is none, where one is a ReduceLROnPlateau, or where they are of several optimisers.

    >>> import gradscribe as gs
    >>> optimizer = gs.optim.SGD(lr=1.0)
    >>> first = gs.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5)
    >>> schedule = gs.optim.lr_scheduler.ChainedScheduler([first, gs.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)])
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for k, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"ChainedScheduler does not support `ReduceLROnPlateau`, whose `step` takes a figure: it is at index {k}"
                )
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(
                    "ChainedScheduler expects all schedulers to belong to the same optimizer, but "
                    f"{type(scheduler).__name__} at index {k} has another one"
                )
        self._schedulers = list(schedulers)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self) -> None:
        """Go to the next epoch, all of them."""
        behind_the_optimizer(self.optimizer)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


class SequentialLR(_Several):
    """One schedule after the other: the next one begins at each of the `milestones`.

    >>> import gradscribe as gs
    >>> optimizer = gs.optim.SGD(lr=1.0)
    >>> first = gs.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5)
    >>> schedule = gs.optim.lr_scheduler.SequentialLR(
    ...     optimizer, [first, gs.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)], milestones=[1]
    ... )
    >>> schedule.get_last_lr()
    [0.5]
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, schedulers, milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:  # each made a first step when it was made
            scheduler.last_epoch -= 1
        schedulers[0].go_on()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        """Go to the next epoch; at a milestone the next schedule starts from the first learning rate."""
        behind_the_optimizer(self.optimizer)
        self.last_epoch += 1
        k = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            scheduler.last_epoch = -1
            for group in self.optimizer.param_groups:
                group["lr"] = group["initial_lr"]
        scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ReduceLROnPlateau(LRScheduler):
    """`factor` times as much where a figure, given to `step(metrics)`, got no better for more than `patience` epochs.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.ReduceLROnPlateau(gs.optim.SGD(lr=1.0), factor=0.5, patience=0)
    >>> for loss in (3.0, 4.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1:
            raise ValueError(f"Factor should be < 1.0. It is {factor}.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown! It is 'min' or 'max'.")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown! It is 'rel' or 'abs'.")
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.min_lrs = for_each(optimizer, min_lr, "min_lrs")
        self.last_epoch = self.num_bad_epochs = self.cooldown_counter = 0
        self.best = math.inf if mode == "min" else -math.inf
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Take the figure of another epoch in."""
        found = float(metrics.item() if isinstance(metrics, Tensor) else metrics)
        self.last_epoch += 1
        if self._better(found):
            self.best, self.num_bad_epochs = found, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                lr = max(group["lr"] * self.factor, least)
                if group["lr"] - lr > self.eps:
                    group["lr"] = lr
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _better(self, found: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * found > sign * self.best * (1 + sign * self.threshold)
        return sign * found > sign * self.best + self.threshold
