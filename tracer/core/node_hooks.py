"""Hooks around a node in backward: those of its tensors, its own, and those of a leaf.

Hooks see gradients as users do: Tensors, in PyTorch's convention of complex ones, None where there is none.
"""

from __future__ import annotations

from typing import Any

from .cotangents import UNDEFINED, add_to, fit, outward
from .graph import AccumulateGrad, Extra
from .hooks import replaced, run_accumulated, run_posthooks, run_prehooks
from .tensor_base import Operand, wrap
from .thread_state import refuse

__all__ = ["accumulate_at", "after", "before", "plural_of", "tensor_hooks"]


def plural_of(node: Any) -> int:
    """Return the number of results of a node, 0 where it has one and not a list of them."""
    found: int = getattr(node, "plural", 0)
    return found


def _seen(g: Any) -> Any:
    if g is None or g is UNDEFINED:
        return None
    return outward(g) if isinstance(g, Operand) else wrap(outward(g))


def _taken(grad: Any, tensors: bool) -> Any:
    """A gradient from a hook as the engine goes on with it."""
    if grad is None:
        return None
    return outward(grad if tensors else grad._value)


def tensor_hooks(extra: Extra, g: Any, tensors: bool) -> Any:
    """A cotangent after the hooks of the tensor that it belongs to, which keeps it if it retains its gradient."""
    if extra.hooks:
        _not_captured()
        grad = _seen(g)
        for hook in tuple(extra.hooks.values()):
            grad = replaced(hook, grad, hook(grad))
        g = _taken(grad, tensors)
    if extra.retain is not None and g is not None and g is not UNDEFINED:
        tensor = extra.retain()
        if tensor is not None:
            add_to(tensor, outward(g))
    return UNDEFINED if g is None else g


def before(node: Any, extra: Extra, g: Any, tensors: bool) -> Any:
    """Return the cotangent of a node after its prehooks and, where it has several results, the hooks of each before those."""
    several = plural_of(node)
    if several:
        g = [None] * several if g is UNDEFINED else list(g)
        for k, output in list(extra.outputs.items()):
            one = tensor_hooks(output, g[k], tensors)
            g[k] = None if one is UNDEFINED else one
    if extra.prehooks:
        _not_captured()
        grads = run_prehooks(extra.prehooks, tuple([_seen(one) for one in g]) if several else (_seen(g),))
        taken = [_taken(grad, tensors) for grad in grads]
        g = taken if several else UNDEFINED if taken[0] is None else taken[0]
    return g


def after(
    node: Any, extra: Extra, grads: tuple[Any, ...], g: Any, needed: set[Any] | None, tensors: bool
) -> tuple[Any, ...]:
    """Return the gradients of a node after its hooks, which see one (or None) for every argument, constants among them."""
    _not_captured()
    slots = node.plan.slots
    fitted = [
        None if gx is None or (needed is not None and edge not in needed) else fit(gx, edge.meta)
        for edge, gx in zip(node.edges, grads, strict=True)
    ]
    seen = {slot: _seen(gx) for slot, gx in zip(slots, fitted, strict=True)}
    given = tuple([_seen(one) for one in g]) if type(g) is list else (_seen(g),)
    places = node.arguments()
    found = run_posthooks(extra.posthooks, tuple([seen.get(place) for place in places]), given)
    taken = dict(zip(places, found, strict=True))
    return tuple([_taken(taken[slot], tensors) for slot in slots])


def _not_captured() -> None:
    refuse("a hook runs in its backward")


def accumulate_at(leaf: AccumulateGrad, extra: Extra | None, g: Any, tensors: bool) -> None:
    """The end of a run at a leaf: its hooks, its gradient is added up, and the hooks after that."""
    if leaf.lent:
        return
    if extra is not None:
        g = before(leaf, extra, tensor_hooks(extra, g, tensors), tensors)
    if g is not UNDEFINED:
        add_to(leaf, outward(g))
    if extra is not None:
        if extra.accumulated:
            _not_captured()
            run_accumulated(extra.accumulated, leaf.variable)
        if extra.posthooks:
            run_posthooks(extra.posthooks, (), (_seen(g),))
