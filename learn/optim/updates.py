"""Updates of pytrees as pure functions: the formula of an optimiser on every leaf, with its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import DtypeError, ShapeError
from ...transforms.trees import flatten, paths, unflatten

__all__ = ["Updates"]


class Updates:
    """`init(params)` and `update(params, grads, state)` by the formula and the options of a subclass; both compile."""

    formula: Callable[..., tuple[Any, dict[str, Any]]]
    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]
    numbers: frozenset[str] = frozenset()  # of what is remembered, what is one number for all elements of a parameter

    def memory(self, options: Any) -> dict[str, float]:
        """The names of what is remembered of each parameter under these options, and the number each starts with."""
        raise NotImplementedError

    def init(self, params: Any) -> dict[str, Any]:
        """The state before the first `update` of a pytree of arrays: the number of steps, and a tree like it for each memory."""
        leaves, structure = flatten(params)
        empty = [self._empty(leaf, self.param_groups[0]) for leaf in leaves]
        names = list(self.memory(self.param_groups[0]))
        return {"step": 0.0, **{name: unflatten(structure, [e[name] for e in empty]) for name in names}}

    def update(self, params: Any, grads: Any, state: dict[str, Any], **options: Any) -> tuple[Any, dict[str, Any]]:
        """New parameters and a new state: `params` is a dict, list, tuple or dataclass of arrays, and `grads` one like it.

        Options such as `lr=...` hold for this update alone. Where a gradient is None the parameter stays. Raises ShapeError where
        the trees or the shapes differ, DtypeError for a parameter of integers, ValueError for the state of another optimiser,
        TypeError for an option that this optimiser does not have.
        """
        for name in options:
            if name not in self.defaults:
                raise TypeError(f"{type(self).__name__} has no option `{name}`; it has {', '.join(self.defaults)}")
        used = {**self.param_groups[0], **options}
        leaves, structure = flatten(params)
        gradients, other = flatten(grads)
        if other != structure:
            raise ShapeError(_unlike(params, grads))
        names = list(self.memory(used))
        if not (state and state.keys() == {"step", *names}):
            raise ValueError(
                f"this is no state of {type(self).__name__} with these options: it has {', '.join(state or ()) or 'nothing'}, "
                f"and not {', '.join(['step', *names])}; start with init(params)"
            )
        step = state["step"] + 1
        columns = [flatten(state[name])[0] for name in names]
        values, kept = [], []
        for k, leaf in enumerate(leaves):
            before = {name: column[k] for name, column in zip(names, columns, strict=True)}
            value, after = leaf, before
            if gradients[k] is not None:
                _check(leaf, gradients[k], params, k)
                value, after = self._updated(leaf, gradients[k], before, step, used)
            values.append(value)
            kept.append(after)
        trees = {name: unflatten(structure, [after[name] for after in kept]) for name in names}
        return unflatten(structure, values), {"step": step, **trees}

    def _empty(self, leaf: Any, options: Any) -> dict[str, Any]:
        starts = self.memory(options).items()
        return {name: start if name in self.numbers else started(leaf, start)[()] for name, start in starts}

    def _updated(self, param: Any, grad: Any, state: Any, step: Any, options: Any) -> tuple[Any, dict[str, Any]]:
        """The formula, behind what all optimisers have: ascent, weight decay, and parts of complex numbers by themselves."""
        if np.result_type(param).kind == "c":
            parts = [
                self._updated(part(param), part(grad), self._each(state, part), step, options)
                for part in (np.real, np.imag)
            ]
            (real, kept), (imag, other) = parts
            return real + 1j * imag, {n: v if n in self.numbers else v + 1j * other[n] for n, v in kept.items()}
        dtype = np.result_type(param)
        if options["maximize"]:
            grad = -grad
        decay = options.get("weight_decay", 0)
        if decay != 0 and options.get("decoupled_weight_decay", False):
            param = param * (1 - options["lr"] * decay)
        elif decay != 0:
            grad = grad + decay * param
        value, kept = self.formula(param, grad, state, step, **options)
        if np.result_type(value) != dtype:  # an option was a NumPy number of a wider type
            value, kept = value.astype(dtype), self._each(kept, lambda v: v.astype(dtype))
        return value, kept

    def _each(self, state: dict[str, Any], f: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the remembered state with `f` of each of its arrays."""
        return {name: v if name in self.numbers else f(v) for name, v in state.items()}


def started(leaf: Any, start: Any) -> Any:
    """An array like a leaf, that starts with a number, in both parts of a complex one."""
    return np.full_like(leaf, start * (1 + 1j) if np.result_type(leaf).kind == "c" else start)


def _check(leaf: Any, grad: Any, params: Any, k: int) -> None:
    """Raise where an update would round to integers, or broadcast."""
    shape, dtype = np.shape(leaf), np.result_type(leaf)
    if shape == np.shape(grad) and dtype.kind in "fc":
        return
    name = _names("params", params)[k]
    if shape != np.shape(grad):
        raise ShapeError(f"{name} has shape {shape}, but its gradient has shape {np.shape(grad)}")
    raise DtypeError(
        f"{name} holds {dtype}, and only floating point and complex numbers are updated: convert it (3.0 in place of 3), or "
        "give None as its gradient"
    )


def _names(what: str, tree: Any) -> list[str]:
    """Return the words for each leaf of a pytree: `params['w'][0]`."""
    return [what + "".join(f"[{key!r}]" for key in keys) for keys in paths(tree)]


def _unlike(params: Any, grads: Any) -> str:
    """In what two trees differ: the first names that one of them has alone, or their structures."""
    named = {"params": _names("", params), "grads": _names("", grads)}
    alone = {
        what: [name for name in names if name not in named[other]][:3]
        for (what, names), other in zip(named.items(), ("grads", "params"), strict=True)
    }
    told = "; ".join(f"only {what} has {', '.join(names)}" for what, names in alone.items() if names)
    if not told:
        return f"the parameters are {flatten(params)[1]}, but the gradients are {flatten(grads)[1]}"
    return f"params and grads are not alike: {told}. The gradient of an array that is to stay may be None, that of a tree not"
