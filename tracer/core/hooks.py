"""Hooks: their handles, which remove them again, and their runs on gradients."""

from __future__ import annotations

import itertools
from typing import Any

from ...runtime.errors import AutogradError, DtypeError, ShapeError
from ...unpatched import np
from .site import blame
from .tensor_base import Operand, is_tensor_like, wrap
from .thread_state import refuse

__all__ = ["RemovableHandle", "replaced", "run_accumulated", "run_posthooks", "run_prehooks"]

_next_id = itertools.count().__next__


class RemovableHandle:
    """The handle of a registered hook; `remove()` takes the hook off (also as a context manager)."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        refuse("registers a hook")
        self._hooks = hooks
        self.id: int = _next_id()
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook off; nothing happens the second time."""
        refuse("removes a hook")
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


# Gradients here are Tensors as users see them, or None. A run goes over the hooks that were there when it began.


def run_prehooks(hooks: dict[int, Any], grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the cotangents of a node after its prehooks."""
    for hook in tuple(hooks.values()):
        grads = _all_replaced(hook, grads, hook(grads))
    return grads


def run_posthooks(hooks: dict[int, Any], found: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the gradients of a node after its hooks."""
    for hook in tuple(hooks.values()):
        found = _all_replaced(hook, found, hook(found, given))
    return found


def run_accumulated(hooks: dict[int, Any], leaf: Any) -> None:
    """The hooks of a leaf that run once its gradient has been added up."""
    for hook in tuple(hooks.values()):
        result = hook(leaf)
        if result is not None:
            replaced(hook, leaf, result)
            raise blame(
                AutogradError(
                    f"post accumulate grad hooks should return None. {_name(hook)!r} gave a tensor: assign to the leaf's "
                    ".grad where it is to be another."
                )
            )


def _all_replaced(hook: Any, grads: tuple[Any, ...], result: Any) -> tuple[Any, ...]:
    if result is None:
        return grads
    if not isinstance(result, tuple):
        raise blame(
            TypeError(
                f"expected tuple, but hook returned {type(result).__name__!r}: {_name(hook)!r} must give None, or a gradient "
                f"(or None) for each of {len(grads)}"
            )
        )
    if len(result) != len(grads):
        raise blame(
            AutogradError(
                f"hook {_name(hook)!r} has returned an incorrect number of values (got {len(result)}, but expected "
                f"{len(grads)}): one gradient, or None, for each"
            )
        )
    return tuple([None if new is None else replaced(hook, g, new) for g, new in zip(grads, result, strict=True)])


def replaced(hook: Any, grad: Any, new: Any) -> Any:
    """`new` in place of `grad`, if it may stand there."""
    if new is None:
        return grad
    if not is_tensor_like(new):
        raise blame(
            TypeError(
                f"expected Variable, but hook returned {type(new).__name__!r}: {_name(hook)!r} must give a Tensor, or None to "
                "leave the gradient as it is"
            )
        )
    if grad is None:
        raise blame(
            AutogradError(
                f"can't replace a None gradient with a non-None value, which hook {_name(hook)!r} gave: there is no gradient "
                "here, so return None"
            )
        )
    if not isinstance(new, Operand):
        new = wrap(new)
    was, found = np.result_type(grad._value), np.result_type(new._value)
    if was != found:
        raise blame(
            DtypeError(
                f"hook {_name(hook)!r} has changed the type of value (was {was} got {found}): cast it, g.astype({str(was)!r})"
            )
        )
    if np.shape(new._value) != np.shape(grad._value):
        raise blame(
            ShapeError(
                f"hook {_name(hook)!r} has changed the size of value: from shape {np.shape(grad._value)} to "
                f"{np.shape(new._value)}"
            )
        )
    return new


def _name(hook: Any) -> str:
    return str(getattr(hook, "__name__", type(hook).__name__))
