"""Learning-rate schedules by the names of torch.optim.lr_scheduler: each changes `lr` of an optimiser's groups step by step."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...tracer import Tensor
from .optimizer import Optimizer

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip


class LRScheduler:
    """Hold what all schedules share: `step()` once an epoch, `get_last_lr()`, `state_dict()`, `load_state_dict()`.

    A subclass says in `rate(lr, base, epoch, group)` what follows `lr` in a group that began at `base`: schedules of the
    same optimiser multiply. Raises TypeError for what is no optimiser, KeyError where `last_epoch` asks to go on and no
    group says where it began.

    >>> import gradscribe as gs
    >>> optimizer = gs.optim.SGD(lr=1.0)
    >>> schedule = gs.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     schedule.step()
    >>> schedule.get_last_lr(), optimizer.param_groups[0]["lr"]
    ([0.25], 0.25)
    """

    optimizer: Optimizer
    base_lrs: list[Any]
    last_epoch: int
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _an_optimizer(optimizer)
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
        _behind_the_optimizer(self.optimizer)
        self.go_on()

    def go_on(self) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        groups = self.optimizer.param_groups
        for k, (group, base) in enumerate(zip(groups, self.base_lrs, strict=True)):
            group["lr"] = self.rate(group["lr"], base, self.last_epoch, k)
        self._note_rates()

    def _note_rates(self) -> None:
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Any]:
        """The learning rate of each group since the last step."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Return the state for `load_state_dict`: all but the optimiser and functions of the user."""
        return {name: v for name, v in vars(self).items() if name != "optimizer" and not name.endswith("lambdas")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another schedule of this kind was."""
        vars(self).update(state_dict)


class LambdaLR(LRScheduler):
    """Multiply the first learning rate by `lr_lambda(epoch)`; a list has one function for each group.

    Raises ValueError for a list of another length.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.LambdaLR(gs.optim.SGD(lr=1.0), lr_lambda=lambda epoch: 1 / (1 + epoch))
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    lr_lambdas: list[Any]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _for_each(optimizer, lr_lambda, "lr_lambdas")
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the function of the group."""
        return base * self.lr_lambdas[group](epoch)


class MultiplicativeLR(LRScheduler):
    """Multiply each learning rate by `lr_lambda(epoch)` to get the next.

    Raises ValueError for a list whose length is not the number of groups.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.MultiplicativeLR(gs.optim.SGD(lr=1.0), lr_lambda=lambda epoch: 0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    lr_lambdas: list[Any]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _for_each(optimizer, lr_lambda, "lr_lambdas")
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the function of the group."""
        return lr * self.lr_lambdas[group](epoch) if epoch > 0 else lr


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` every `step_size` epochs.

    Raises ValueError unless these are one or more.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.StepLR(gs.optim.SGD(lr=1.0), step_size=1, gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    step_size: int
    gamma: float

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if step_size <= 0:
            raise ValueError(f"Expected positive integer step_size, but got {step_size}")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """A stair."""
        return lr * self.gamma if epoch > 0 and epoch % self.step_size == 0 else lr


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of the `milestones`, which are epochs.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.MultiStepLR(gs.optim.SGD(lr=1.0), milestones=[1, 3], gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    milestones: Counter[int]
    gamma: float

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """A stair of uneven steps."""
        return lr * self.gamma ** self.milestones[epoch] if epoch in self.milestones else lr


class ConstantLR(LRScheduler):
    """Multiply the learning rate by `factor` for `total_iters` epochs.

    Raises ValueError for a factor outside of 0 to 1.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.ConstantLR(gs.optim.SGD(lr=1.0), factor=0.5)
    >>> schedule.get_last_lr()
    [0.5]
    """

    factor: float
    total_iters: int

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
    """Go from `start_factor` to `end_factor` times the learning rate, along a line, in `total_iters` epochs.

    Raises ValueError unless the first is above 0 and at most 1, and the second between 0 and 1.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.LinearLR(gs.optim.SGD(lr=1.0), start_factor=0.5, total_iters=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    start_factor: float
    end_factor: float
    total_iters: int

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
        if epoch == 0:
            return lr * self.start_factor
        if epoch > self.total_iters:
            return lr
        now, before = (
            self.start_factor + (self.end_factor - self.start_factor) * e / self.total_iters for e in (epoch, epoch - 1)
        )
        return lr * (now / before)


class PolynomialLR(LRScheduler):
    """Go down to zero in `total_iters` epochs, as the power `power` of what is left of them.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.PolynomialLR(gs.optim.SGD(lr=1.0), total_iters=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    total_iters: int
    power: float

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """By the quotient of what is left now and before."""
        if epoch == 0 or epoch > self.total_iters:
            return lr
        return lr * ((1 - epoch / self.total_iters) / (1 - (epoch - 1) / self.total_iters)) ** self.power


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` every epoch.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.ExponentialLR(gs.optim.SGD(lr=1.0), gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    gamma: float

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, lr: Any, base: Any, epoch: int, group: int) -> Any:
        """A geometric series."""
        return lr * self.gamma if epoch > 0 else lr


class CosineAnnealingLR(LRScheduler):
    """Go down to `eta_min` in `T_max` epochs along half a cosine, and up again (Loshchilov and Hutter, arXiv:1608.03983).

    Raises ValueError unless these are one or more.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.CosineAnnealingLR(gs.optim.SGD(lr=1.0), T_max=2)
    >>> schedule.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.0]
    """

    T_max: int
    eta_min: float

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_max <= 0:
            raise ValueError(f"Expected positive integer T_max, but got {T_max}")
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
    """Go down to `eta_min` along half cosines, the first `T_0` epochs long, each `T_mult` times as long as that before.

    The source is Loshchilov and Hutter (arXiv:1608.03983). Raises ValueError where either is no integer of at least 1.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.CosineAnnealingWarmRestarts(gs.optim.SGD(lr=1.0), T_0=1)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]
    """

    T_0: int
    T_mult: int
    eta_min: float

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


# Up and down, with momentum the other way round.


class OneCycleLR(LRScheduler):
    """Go up to `max_lr` and far down again, once, with momentum the other way round (Smith and Topin, arXiv:1708.07120).

    It takes `total_steps`, or `epochs` and `steps_per_epoch`, and `step()` after each batch; ValueError past the last one.

    >>> import gradscribe as gs
    >>> optimizer = gs.optim.SGD(momentum=0.9)
    >>> schedule = gs.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10, div_factor=4.0)
    >>> schedule.get_last_lr()
    [0.25]
    """

    total_steps: int
    anneal_strategy: str
    cycle_momentum: bool

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
        rates = _for_each(optimizer, max_lr, "max_lr")
        if last_epoch == -1:
            given = (("base_momentum", base_momentum), ("max_momentum", max_momentum))
            momenta = {name: _for_each(optimizer, m, name) for name, m in given} if cycle_momentum else {}
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
            _set_momentum(options, momentum)
        return self._between(options[rate_from], options[rate_to], share)

    def _between(self, start: Any, end: Any, share: float) -> Any:
        if self.anneal_strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


class CyclicLR(LRScheduler):
    """Go from `base_lr` up to `max_lr` in `step_size_up` steps, and down in `step_size_down` (Smith, arXiv:1506.01186).

    `step()` comes after each batch. The height of a cycle stays ("triangular"), is halved each time ("triangular2"), or is
    `gamma**steps` of what it was ("exp_range"); or `scale_fn` says what it is times, of the number of the cycle, or of the
    step with `scale_mode="iterations"`. Raises ValueError for another mode, for no step up, and for `cycle_momentum` where there
    is no momentum.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.CyclicLR(gs.optim.SGD(momentum=0.9), base_lr=0.5, max_lr=1.5, step_size_up=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [0.5, 1.0, 1.5, 1.0, 0.5]
    """

    max_lrs: list[Any]
    total_size: float
    step_ratio: float
    mode: str
    gamma: float
    scale_mode: str
    cycle_momentum: bool
    base_momentums: list[Any]
    max_momentums: list[Any]

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000, step_size_down: int | None = None,
        mode: str = "triangular", gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle", cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if step_size_up <= 0:
            raise ValueError(f"Expected positive integer step_size_up, but got {step_size_up}")
        base_lrs = _for_each(optimizer, base_lr, "base_lr")
        self.max_lrs = _for_each(optimizer, max_lr, "max_lr")
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"mode is invalid and scale_fn is None: take 'triangular', 'triangular2', 'exp_range' or a function, not {mode!r}"
            )
        self.mode, self.gamma, self.cycle_momentum = mode, gamma, cycle_momentum
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self._scale_lambdas = [scale_fn]
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.base_momentums = _for_each(optimizer, base_momentum, "base_momentum")
            self.max_momentums = _for_each(optimizer, max_momentum, "max_momentum")
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
            _set_momentum(options, momentum)
        return base + (self.max_lrs[group] - base) * height

    def _scale(self, x: float) -> Any:
        (given,) = self._scale_lambdas
        if given is not None:
            return given(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}[self.mode]


# Several schedules, and one that follows a figure.


class _Several(LRScheduler):
    """Schedules together, whose states are in that of the whole."""

    _schedulers: list[LRScheduler]

    def _check_all(self, schedulers: Sequence[LRScheduler]) -> None:
        """Whether they step without a figure, and move the rates of the optimiser that this one is of."""
        name = type(self).__name__
        for k, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau`, whose `step` takes a figure: it is at index {k}"
                )
            if scheduler.optimizer is not self.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but {type(scheduler).__name__} at index "
                    f"{k} has another one"
                )

    def state_dict(self) -> dict[str, Any]:
        """Return the state for `load_state_dict`, with the states of the schedules."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where other such schedules were."""
        states = state_dict["_schedulers"]
        vars(self).update({**state_dict, "_schedulers": self._schedulers})
        for scheduler, state in zip(self._schedulers, states, strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(_Several):
    """Step several schedules at once: each changes the rate that the one before it left, so that their factors multiply.

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
        self._check_all(schedulers)
        self._schedulers = list(schedulers)
        self._note_rates()

    def step(self) -> None:
        """Go to the next epoch, all of them."""
        _behind_the_optimizer(self.optimizer)
        for scheduler in self._schedulers:
            scheduler.step()
        self._note_rates()


class SequentialLR(_Several):
    """Run one schedule after the other: the next one begins at each of the `milestones`.

    Raises ValueError unless there is one schedule more than milestones, and where one is a ReduceLROnPlateau, or of another
    optimiser.

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
        self._check_all(schedulers)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:  # each made a first step when it was made
            scheduler.last_epoch -= 1
        schedulers[0].go_on()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        """Go to the next epoch; at a milestone the next schedule starts from the first learning rate."""
        _behind_the_optimizer(self.optimizer)
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
    """Multiply by `factor` where a figure, given to `step(metrics)`, got no better for more than `patience` epochs.

    Raises ValueError for a factor of 1 or more, an unknown `mode` or `threshold_mode`, or a list `min_lr` of another length
    than the groups.

    >>> import gradscribe as gs
    >>> schedule = gs.optim.lr_scheduler.ReduceLROnPlateau(gs.optim.SGD(lr=1.0), factor=0.5, patience=0)
    >>> for loss in (3.0, 4.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.5]
    """

    mode: str
    factor: float
    patience: int
    threshold: float
    threshold_mode: str
    cooldown: int
    min_lrs: list[Any]
    eps: float
    best: float
    num_bad_epochs: int
    cooldown_counter: int

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1:
            raise ValueError(f"Factor should be < 1.0. It is {factor}.")
        _an_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown! It is 'min' or 'max'.")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown! It is 'rel' or 'abs'.")
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.min_lrs = _for_each(optimizer, min_lr, "min_lrs")
        self.last_epoch = self.num_bad_epochs = self.cooldown_counter = 0
        self.best = math.inf if mode == "min" else -math.inf
        self._note_rates()

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
        self._note_rates()

    def _better(self, found: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            return sign * found > sign * self.best * (1 + sign * self.threshold)
        return sign * found > sign * self.best + self.threshold


def _behind_the_optimizer(optimizer: Optimizer) -> None:
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


def _an_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _for_each(optimizer: Any, given: Any, what: str) -> list[Any]:
    """One of what was given for each group of the optimiser."""
    _an_optimizer(optimizer)
    n = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * n
    if len(given) != n:
        raise ValueError(f"Expected {n} {what}, but got {len(given)}")
    return list(given)


def _set_momentum(group: dict[str, Any], momentum: Any) -> None:
    """Set the momentum of a group, or the first of its `betas`."""
    group |= {"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum}
