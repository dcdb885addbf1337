"""Contexts of custom Functions: `ctx`, and the saved Tensors with their place in the graph."""

from __future__ import annotations

import weakref
from typing import Any

from ...runtime.errors import AutogradError
from ...runtime.ops import Saved
from .custom import CustomNode
from .exits import warn_at_user
from .graph import AccumulateGrad, Pick
from .saved import Packed
from .site import blame
from .tensor_base import Operand, alias, cover, is_inference, is_tensor_like, levels_of, wrap
from .thread_state import LOCAL
from .versions import check_entry, successor

__all__ = ["FunctionCtx"]


class FunctionCtx:
    """The context `ctx` of `forward` and `backward` of a Function. Attributes may be set on it freely; `grad_fn` has them too."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None

    def __init__(self, node: CustomNode) -> None:
        self._behind = weakref.ref(node)  # the node holds this
        self._kept: tuple[Any, ...] = ()
        self._freed = False

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep Tensors (or None) for backward, which finds them in `ctx.saved_tensors`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep Tensors for `jvp`, which is never called: forward mode does not exist yet."""
        for k, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Operand):
                raise blame(
                    TypeError(f"save_for_forward can only save variables, but argument {k} is of type {_kind(tensor)}")
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Declare inputs that forward wrote into; each must be returned as an output."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Declare outputs that carry no gradient; backward gets zeros for them."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for an output that was not used."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved values, each Tensor with the history that it had.

        Raises AutogradError once backward has freed it, and where a saved Tensor was written in place since.
        """
        node = self._behind()
        if self._freed:
            raise blame(
                AutogradError(
                    f"{'The Function' if node is None else node.label}: its saved tensors were accessed after they have "
                    "already been freed, by a backward through this graph before. Specify retain_graph=True in that one."
                )
            )
        return tuple([None if entry is None else entry.tensor(node) for entry in self._kept])

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The older name of `saved_tensors`."""
        warn_at_user("'saved_variables' is deprecated: its name is 'saved_tensors' now.", DeprecationWarning)
        return FunctionCtx.saved_tensors.fget(self)  # type: ignore[attr-defined,no-any-return]

    def keep(self, stands: list[tuple[Any, Any, int]], records: bool, on_tensors: bool) -> None:
        """Take over what was saved, once forward is done: `stands` are the inputs and outputs, each with its node and place."""
        given, self.to_save = self.to_save or (), None
        if not on_tensors:  # called on plain arrays: nothing is differentiated
            return
        for k, tensor in enumerate(given):
            if tensor is not None and not is_tensor_like(tensor):
                raise blame(
                    TypeError(
                        f"save_for_backward can only save variables, but argument {k} is of type {_kind(tensor)}: set "
                        "anything else as an attribute (ctx.k = k)"
                    )
                )
        if not records:
            return
        kept: list[Any] = []
        for tensor in given:
            own = tensor._node if isinstance(tensor, Operand) else None
            edge, place = next(((e, p) for t, e, p in stands if t is tensor), (own, -1))
            kept.append(None if tensor is None else _Kept(tensor, edge, place))
        self._kept = tuple(kept)

    def free(self) -> None:
        """Let go of what was saved."""
        if self._kept:
            self._kept, self._freed = (), True


class _Kept:
    """One saved Tensor: its value and where it stands in the graph, never the Tensor itself (an output holds the node)."""

    __slots__ = ("edge", "hides", "place", "unpack", "value")

    def __init__(self, tensor: Any, edge: Any, place: int) -> None:
        if is_inference(tensor):
            raise blame(
                AutogradError(
                    "Inference tensors cannot be saved for backward: save x.clone(), or call the Function inside "
                    "gs.inference_mode()."
                )
            )
        value = alias(tensor) if isinstance(tensor, Operand) else wrap(tensor)
        self.edge, self.place = edge, place  # of an output its number, of an input -2 less its number, else -1
        self.hides = levels_of(tensor)
        hooks = LOCAL.packing[-1] if LOCAL.packing else None
        self.value: Any = value if hooks is None else Packed(value._value, edge, hooks)

    def tensor(self, node: CustomNode | None) -> Any:
        """The Tensor with its history."""
        value = self.value
        spec = Saved("saved", "out" if self.place >= 0 else "value", -2 - self.place if self.place < -1 else -1)
        if type(value) is Packed:
            value = wrap(value.value(node, spec, -1))
            cover(value, self.hides)
        else:
            if node is not None:
                check_entry(node, spec, value, -1)
                value._value = successor(value._value, self.edge)
            if type(self.edge) is AccumulateGrad:
                leaf = self.edge.variable
                cover(leaf, self.hides)
                return leaf
        made = alias(value)
        if self.place >= 0:
            made._node = Pick(node, self.place) if node is not None and node.plural else node
        else:
            made._node = self.edge
        return made


def _kind(value: Any) -> str:
    return type(value).__name__
