"""Schedules by the epoch alone: what `lr` of each group is, from what it was and where it began."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .optimizer import Optimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR", "behind_the_optimizer",
    "for_each",
]  # fmt: skip


def behind_the_optimizer(optimizer: Optimizer) -> None:
    """Warn, once, where the tensors of an optimiser were not changed yet when a schedule goes on."""
    if optimizer.stepped or not any(group["params"] for group in optimizer.param_groups):
        return
    optimizer.stepped = True
    warnings.warn(
        "`lr_scheduler.step()` was called before `optimizer.step()`, so that the first learning rate of the schedule is never "
        "used: call `optimizer.step()` first",
        UserWarning,
        stacklevel=3,
    )


class LRScheduler:
    """What schedules share: `step()` once an epoch, `get_last_lr()`, `state_dict()`, `load_state_dict()`.

    A subclass says in `rate(lr, base, epoch, group)` what follows `lr` in a group that began at `base`: schedules of the same
    optimiser multiply. Raises TypeError for what is no optimiser, KeyError where `last_epoch` asks to go on and no
    group says where it began.

    >>> import gradscribe as gs
    >>> optimizer = gs.optim.SGD(lr=1.0)
    >>> schedule = gs.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     schedule.step()
    >>> schedule.get_last_lr(), optimizer.param_groups[0]["lr"]
    ([0.25], 0.25)
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{k}] when resuming scheduler with last_epoch >= 0: "
                    "load the optimizer's state_dict first"
                )
        self.optimizer = optimizer
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.go_on()

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """The learning rate of a group at `epoch`, where that before was `lr`."""
        raise NotImplementedError

    def step(self) -> None:
        """Go to the next epoch. Warns where the optimiser has tensors and did not step before: the first rate is left out."""
        behind_the_optimizer(self.optimizer)
        self.go_on()

    def go_on(self) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        groups = self.optimizer.param_groups
        for k, (group, base) in enumerate(zip(groups, self.base_lrs, strict=True)):
            group["lr"] = self.rate(group["lr"], base, self.last_epoch, k)
        self._last_lr = [group["lr"] for group in groups]

    def get_last_lr(self) -> list[Any]:
        """The learning rate of each group since the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` takes: all but the optimiser, and functions that were given."""
        return {name: v for name, v in vars(self).items() if name != "optimizer" and not name.endswith("lambdas")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another schedule of this kind was."""
        vars(self).update(state_dict)


class LambdaLR(LRScheduler):
    """The first learning rate times `lr_lambda(epoch)`; a list has one function for each group.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.LambdaLR(gs.optim.SGD(lr=1.0), lr_lambda=lambda epoch: 1 / (1 + epoch))
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = for_each(optimizer, lr_lambda, "lr_lambdas")
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the function of the group."""
        return base * self.lr_lambdas[group](epoch)


class MultiplicativeLR(LRScheduler):
    """Each learning rate is that before times `lr_lambda(epoch)`.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.MultiplicativeLR(gs.optim.SGD(lr=1.0), lr_lambda=lambda epoch: 0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = for_each(optimizer, lr_lambda, "lr_lambdas")
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the function of the group."""
        return lr * self.lr_lambdas[group](epoch) if epoch > 0 else lr


class StepLR(LRScheduler):
    """`gamma` times as much every `step_size` epochs.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.StepLR(gs.optim.SGD(lr=1.0), step_size=1, gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """A stair."""
        return lr * self.gamma if epoch > 0 and epoch % self.step_size == 0 else lr


class MultiStepLR(LRScheduler):
    """`gamma` times as much at each of the `milestones`.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.MultiStepLR(gs.optim.SGD(lr=1.0), milestones=[1, 3], gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """A stair of uneven steps."""
        return lr * self.gamma ** self.milestones[epoch] if epoch in self.milestones else lr


class ConstantLR(LRScheduler):
    """`factor` times the learning rate for `total_iters` epochs.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.ConstantLR(gs.optim.SGD(lr=1.0), factor=0.5)
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1. It is {factor}.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """Low, then as it was."""
        if epoch == 0:
            return lr * self.factor
        return lr * (1 / self.factor) if epoch == self.total_iters else lr


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` times the learning rate, along a line, in `total_iters` epochs.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.LinearLR(gs.optim.SGD(lr=1.0), start_factor=0.5, total_iters=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1:
            raise ValueError(
                f"Starting multiplicative factor expected to be greater than 0 and less or equal to 1. It is {start_factor}."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError(f"Ending multiplicative factor expected to be between 0 and 1. It is {end_factor}.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the quotient of the factors now and before."""
        if epoch > self.total_iters:
            return lr
        now, before = (
            self.start_factor + (self.end_factor - self.start_factor) * e / self.total_iters for e in (epoch, epoch - 1)
        )
        return lr * (now if epoch == 0 else now / before)


class PolynomialLR(LRScheduler):
    """Down to zero in `total_iters` epochs, as the power `power` of what is left of them.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.PolynomialLR(gs.optim.SGD(lr=1.0), total_iters=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the quotient of what is left now and before."""
        if epoch == 0 or epoch > self.total_iters:
            return lr
        return lr * ((1 - epoch / self.total_iters) / (1 - (epoch - 1) / self.total_iters)) ** self.power


class ExponentialLR(LRScheduler):
    """`gamma` times as much every epoch.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.ExponentialLR(gs.optim.SGD(lr=1.0), gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """A geometric series."""
        return lr * self.gamma if epoch > 0 else lr


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs along half a cosine, and up again (Loshchilov and Hutter, arXiv:1608.03983).

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.CosineAnnealingLR(gs.optim.SGD(lr=1.0), T_max=2)
    >>> schedule.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the quotient of the cosines now and before, so that other schedules may act beside it."""
        if epoch == 0:
            return lr
        angle = math.pi / self.T_max
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # at the bottom, whence no quotient leads
            return lr + (base - self.eta_min) * (1 - math.cos(angle)) / 2
        share = (1 + math.cos(angle * epoch)) / (1 + math.cos(angle * (epoch - 1)))
        return share * (lr - self.eta_min) + self.eta_min


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines down to `eta_min`, the first `T_0` epochs long and each `T_mult` times as long as that before.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.CosineAnnealingWarmRestarts(gs.optim.SGD(lr=1.0), T_0=1)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """Along the cosine in which the epoch lies."""
        length = self.T_0
        while epoch >= length:
            epoch, length = epoch - length, length * self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / length)) / 2


def for_each(optimizer: Any, given: Any, what: str) -> list[Any]:
    """One of what was given for each group of the optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    n = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * n
    if len(given) != n:
        raise ValueError(f"Expected {n} {what}, but got {len(given)}")
    return list(given)
