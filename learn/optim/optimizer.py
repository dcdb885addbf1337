"""Optimizer: Tensors in groups, with options for each, changed in place by their gradients, as torch.optim has it."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...runtime.arrays import computing_with, is_array, library_of_arrays
from ...tracer import Tensor, tensor
from ...tracer.autograd.profiler import record_function
from ...tracer.core.thread_state import enable_grad, no_grad, refuse
from ...tracer.memory import eager_writes
from ...transforms.user_code.scope import ABSENT, IN_PLACE, watched
from ...unpatched import np as unpatched
from .updates import Updates, started

__all__ = ["Optimizer", "in_place", "not_negative"]

PIECE = 16384  # elements of a large array that are updated at a time
_HINTS = frozenset(["foreach", "fused", "capturable"])  # how PyTorch is to run it, which changes no number
_HOW = (
    ": give a list of Tensors; for a pytree of arrays make it without parameters, and use init(params) and update(...)"
)
# What may not be negative, in PyTorch's words.
_NOT_NEGATIVE = {"lr": "learning rate", "eps": "epsilon value"} | {
    name: f"{name} value"
    for name in ("momentum", "weight_decay", "alpha", "lr_decay", "initial_accumulator_value", "momentum_decay")
}


def not_negative(**options: Any) -> dict[str, Any]:
    """Return the options; raise PyTorch's ValueError where one is negative that may not be."""
    for name, words in _NOT_NEGATIVE.items():
        if not options.get(name, 0) >= 0:
            raise ValueError(f"Invalid {words}: {options[name]}")
    return options


def in_place(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, which makes a compiled function that calls it run eagerly, and works on the optimiser itself."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        refuse(
            f"calls `{method.__name__}` of {type(self).__name__}, which changes tensors in place; "
            "`params, state = optimizer.update(params, grads, state)` compiles"
        )
        real = watched(self)
        return method(self if real is ABSENT else real, *args, **kwargs)

    setattr(run, IN_PLACE, True)
    return run


class Optimizer(Updates):
    """Hold what all optimisers share: with parameters they change Tensors by `.grad`; without, they update pytrees of arrays.

    A subclass has `formula`, its update of one array (formulas.py), and `memory`, what it remembers of a parameter. What
    may be given as parameters is a list of leaf Tensors, or of dicts of them. Raises ValueError for an empty list, a Tensor
    that is no leaf, or one in two groups; TypeError for anything else, and for unknown options.

    >>> import gradscribe as gs
    >>> w = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> step = gs.optim.SGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> step.step()
    >>> isinstance(step, gs.optim.Optimizer), w.tolist()
    (True, [0.0, 0.0])
    """

    stepped: bool = False  # whether `step()` was called, which schedules want to come first

    def __init__(self, params: Any, defaults: dict[str, Any], **hints: Any) -> None:
        for name in hints:
            if name not in _HINTS:
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {name!r}")
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        if params is None:
            self.param_groups.append({"params": [], **defaults})
            return
        groups = _as_groups(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list: give it arrays, or a list or dict of them")
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Take more parameters in: `{"params": [...], "lr": ...}`; what is not given is as by default."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, (set, frozenset)):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        listed = [given] if isinstance(given, Tensor) else list(given)
        for p in listed:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}{_HOW}"
                )
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor: give the leaves that it was computed from")
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if len({id(p) for p in listed}) != len(listed):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters: each is changed twice a step",
                UserWarning,
                stacklevel=3,
            )
        if known & {id(p) for p in listed}:
            raise ValueError("some parameters appear in more than one parameter group: leave each in one")
        self.param_groups.append({**self.defaults, **param_group, "params": listed})

    @in_place
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients; with `set_to_none=False` fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none or p.grad is None:
                    p.grad = None
                else:
                    p.grad = p.grad.detach()
                    p.grad.zero_()

    @in_place
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient, in place. A `closure` is called before, and what it gives returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._has_params("step")
        self.stepped = True
        with no_grad(), record_function(f"Optimizer.step#{type(self).__name__}.step"):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._change(p, group)
        return loss

    def _change(self, p: Any, group: dict[str, Any]) -> None:
        eager_writes.may_write(p, "optimizer.step()")
        value, state = p.detach().numpy(), self.state[p]
        step = state["step"] = state.get("step", 1.0 if state else 0.0) + 1  # PyTorch's SGD does not count
        names = self.memory(group)
        for name, start in names.items():
            if name not in state:
                state[name] = start if name in self.numbers else tensor(started(value, start))
        numbers = {name: state[name] for name in names if name in self.numbers}
        arrays = [name for name in names if name not in self.numbers]
        for x, grad, *old in _pieces(value, p.grad.detach().numpy(), *[state[name].numpy() for name in arrays]):
            kept = dict(zip(arrays, old, strict=True))
            x[...], new = self._updated(x, grad, {**kept, **numbers}, step, group)
            for name, array in kept.items():
                array[...] = new[name]
        state |= {name: new[name] for name in numbers}
        eager_writes.count_write([p], "optimizer.step()")

    def state_dict(self) -> dict[str, Any]:
        """Return the state for `load_state_dict`: `state` by the number of each parameter, and `param_groups` by the same."""
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
        groups = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        return {"state": {numbers[id(p)]: dict(s) for p, s in self.state.items()}, "param_groups": groups}

    @in_place
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another optimiser was: its options, and what it remembers, copied and in the parameters' types."""
        groups, saved = self.param_groups, state_dict["param_groups"]
        if len(groups) != len(saved):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(saved)}, and the optimizer {len(groups)}"
            )
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: make the "
                "optimizer with as many parameters"
            )
        named: dict[Any, Any] = {}
        for group, other in zip(groups, saved, strict=True):
            named |= dict(zip(other["params"], group["params"], strict=True))
        numbers = {"step", *self.numbers}
        found = {named[k]: _loaded(named[k], s, numbers) for k, s in state_dict["state"].items() if k in named}
        self.state = defaultdict(dict, found)
        self.param_groups = [{**g, **s, "params": g["params"]} for g, s in zip(groups, saved, strict=True)]

    def _has_params(self, name: str) -> None:
        if not any(group["params"] for group in self.param_groups):
            raise ValueError(
                f"optimizer got an empty parameter list: {name}() changes the Tensors that {type(self).__name__} was made "
                "with; for a pytree use init(params) and update(params, grads, state)"
            )

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {k}", *[f"    {n}: {group[n]}" for n in sorted(group) if n != "params"]]
        return "\n".join([*lines, ")"])


def _as_groups(params: Any) -> list[dict[str, Any]]:
    if isinstance(params, Tensor) or is_array(params):
        raise TypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            f"{type(params).__name__}: put it into a list"
        )
    if isinstance(params, (set, frozenset)):
        return [{"params": params}]
    listed = list(params) if isinstance(params, Iterable) else [params]
    return listed if not listed or isinstance(listed[0], dict) else [{"params": listed}]


def _pieces(x: Any, grad: Any, *old: Any) -> Iterator[tuple[Any, ...]]:
    """Arrays of one shape, in pieces that stay in the cache with all that is computed of them."""
    if x.size <= PIECE or not all(a.flags.c_contiguous for a in (x, *old)):
        yield (x, grad, *old)
        return
    flat = [a.reshape(-1) for a in (x, np.ascontiguousarray(grad), *old)]
    for start in range(0, x.size, PIECE):
        yield tuple([a[start : start + PIECE] for a in flat])


def _loaded(p: Any, state: dict[str, Any], numbers: set[str]) -> dict[str, Any]:
    dtype = p.dtype

    def copied(name: str, v: Any) -> Any:
        if name in numbers:
            return float(v)
        if isinstance(v, (int, list, dict)):
            return copy.deepcopy(v) if library_of_arrays(p._value) is None else placed(v)
        return tensor(beside(v).astype(dtype, order="C"))

    def beside(v: Any) -> Any:
        """The numbers of an array, where the parameter lies."""
        with computing_with(library_of_arrays(p._value)):
            return unpatched.asarray(v._value if isinstance(v, Tensor) else v)

    def placed(v: Any) -> Any:
        if isinstance(v, (list, tuple)):
            return type(v)([placed(one) for one in v])
        if isinstance(v, dict):
            return {key: placed(one) for key, one in v.items()}
        if isinstance(v, Tensor):
            return tensor(beside(v))
        return beside(v).copy() if is_array(v) else copy.deepcopy(v)

    return {name: copied(name, v) for name, v in state.items() if v is not None}
