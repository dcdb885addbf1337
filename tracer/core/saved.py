"""Saved-tensor hooks: one function packs each value that a node saves, and another unpacks it when backward reads it."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...runtime.arrays import is_array, is_plain_array, owner_of
from ...runtime.errors import AutogradError
from ...unpatched import np
from .graph import AccumulateGrad, Node, Pick, extra_of
from .site import blame
from .tensor_base import Operand, wrap
from .thread_state import LOCAL, grad_mode, refresh, refuse
from .versions import check_entry, follow_data, successor, version_of

__all__ = [
    "disable_saved_tensors_hooks",
    "pack_saved",
    "saved_tensors_hooks",
    "unpacked",
]


class Packed:
    """A packed value: the result of the pack hook, and the hook that unpacks it."""

    __slots__ = ("made", "memory", "own", "unpack")

    def __init__(self, value: Any, edge: Any, hooks: tuple[Any, Any]) -> None:
        pack, self.unpack = hooks
        tensor = wrap(value, edge)
        with grad_mode(False):
            before = version_of(tensor)
            self.made = pack(tensor)
            if version_of(tensor) != before:
                raise blame(
                    AutogradError(
                        "A saved tensor pack hook is modifying its input in place, and that is the very tensor which the "
                        "forward uses. Return a changed copy (t.clone())."
                    )
                )
        self.own = self.made is tensor
        held = tensor._value  # an array, where the hook asked a number for one
        self.memory = weakref.ref(owner_of(held)) if is_plain_array(held) else None

    def value(self, node: Any, spec: Any, position: int) -> Any:
        """The saved value again; an error where it is the saved memory itself and has been written since."""
        found = self.unpack(self.made)
        if not isinstance(found, Operand):
            raise blame(
                TypeError(
                    "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                    f"{type(found).__name__}: return what stands for the tensor that was packed."
                )
            )
        value = found._value
        if self.own:  # the hook kept the tensor, which may have been given other data
            value = successor(value, found._node)
        if self.memory is not None and is_plain_array(value) and owner_of(value) is self.memory():
            check_entry(node, spec, value, position)
        return value


def pack_saved(node: Any, bound: tuple[Any, ...]) -> None:
    """Let the innermost pair of hooks pack what `node` has just saved of its arguments and its result."""
    hooks = LOCAL.packing[-1]
    edges = dict(zip(node.plan.slots, node.edges, strict=True))
    made: list[Any] = []
    for spec, entry in zip(node.plan.saved, node.saved, strict=True):
        if spec.what == "out":
            several = type(entry) is tuple
            entry = tuple([_packed(e, None, hooks) for e in entry]) if several else _packed(entry, None, hooks)
        elif spec.what == "value":
            given = bound[spec.param]
            if type(entry) in (tuple, list):
                entry = type(entry)(  # as an index, a list is no tuple
                    [
                        _packed(e, edges.get((spec.param, i)), hooks, isinstance(g, Operand))
                        for i, (e, g) in enumerate(zip(entry, given, strict=True))
                    ]
                )
            else:
                entry = _packed(entry, edges.get((spec.param, -1)), hooks, isinstance(given, Operand))
        made.append(entry)
    if any(a is not b for a, b in zip(made, node.saved, strict=True)):
        node.saved = tuple(made)
        extra_of(node).packed = True


def _packed(value: Any, edge: Any, hooks: tuple[Any, Any], is_tensor: bool = True) -> Any:
    """`value` packed, where it is what a Tensor holds or an array, of numbers that a gradient may belong to."""
    if isinstance(value, Operand):  # a recorder is there: nodes save Tensors
        value = value._value
    if not is_array(value) and not (is_tensor and isinstance(value, np.generic)):
        return value
    return Packed(value, edge, hooks) if value.dtype.kind in "fc" else value


def unpacked(node: Any) -> tuple[Any, ...]:
    """Return the saved values of a node, each packed one unpacked once."""
    return tuple([_unpacked(node, spec, entry) for spec, entry in zip(node.plan.saved, node.saved, strict=True)])


def _unpacked(node: Any, spec: Any, entry: Any) -> Any:
    if type(entry) is Packed:
        return entry.value(node, spec, -1)
    if type(entry) in (tuple, list):
        return type(entry)([e.value(node, spec, i) if type(e) is Packed else e for i, e in enumerate(entry)])
    return entry


# What a node saved, as attributes -------------------------------------------------------------------

_ARGUMENTS = {"self": 0, "other": 1}  # PyTorch's names of the first two


class SavedTensor:
    """One value that a node saved, for which a pair of hooks may be set: `node._raw_saved_self`."""

    __slots__ = ("_node", "_place")

    def __init__(self, node: Any, place: int) -> None:
        self._node = node
        self._place = place

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack the value now with one function; backward gets what the other makes of that."""
        node = self._node
        if node.saved is None:
            raise blame(_gone(node, "Calling register_hooks on a saved tensor after it has been freed"))
        entry = node.saved[self._place]
        if type(entry) is Packed:
            raise blame(
                AutogradError(
                    "Calling register_hooks on a saved tensor whose hooks have already been set: one pair is all it takes."
                )
            )
        spec = node.plan.saved[self._place]
        edge = None if spec.what == "out" else dict(zip(node.plan.slots, node.edges, strict=True)).get((spec.param, -1))
        packed = _packed(entry, edge, (pack_hook, unpack_hook))
        node.saved = (*node.saved[: self._place], packed, *node.saved[self._place + 1 :])
        if packed is not entry:
            extra_of(node).packed = True


def _place(node: Any, name: str) -> int:
    """Return the place of `self`, `other` or `result` among the things that a node saved; -1 where it needed none of that."""
    for k, spec in enumerate(node.plan.saved):
        if spec.what == "out" if name == "result" else spec.what == "value" and spec.param == _ARGUMENTS[name]:
            return k
    return -1


def _saved(node: Any, name: str) -> Any:
    k = _place(node, name)
    if k < 0:
        return None
    if node.saved is None:
        raise blame(_gone(node, "Trying to access what the graph saved"))
    follow_data(node)
    spec = node.plan.saved[k]
    return _as_seen(node, spec, _unpacked(node, spec, node.saved[k]))


def _raw_saved(node: Any, name: str) -> SavedTensor | None:
    k = _place(node, name)
    return None if k < 0 else SavedTensor(node, k)


def _install() -> None:
    """Give nodes the attributes `_saved_self`, `_saved_other`, `_saved_result`, and the same behind `_raw`.

    They are what a node saved of its first argument, of its second, and of its result; None where it needed nothing.
    """
    for name in (*_ARGUMENTS, "result"):
        setattr(Node, f"_saved_{name}", property(partial(_saved, name=name)))
        setattr(Node, f"_raw_saved_{name}", property(partial(_raw_saved, name=name)))


def _gone(node: Any, what: str) -> AutogradError:
    return AutogradError(
        f"{what}: the saved tensors of {node.name()} are read after they have already been freed. Specify "
        "retain_graph=True when calling backward, or read them before."
    )


def _as_seen(node: Any, spec: Any, entry: Any) -> Any:
    if spec.what == "out":
        if type(entry) is tuple:
            return tuple([wrap(e, Pick(node, k)) for k, e in enumerate(entry)])
        return wrap(entry, node)
    if node.op.params[spec.param].name not in node.op.vjps or type(entry) in (tuple, list):
        return entry
    edge = dict(zip(node.plan.slots, node.edges, strict=True)).get((spec.param, -1))
    if type(edge) is AccumulateGrad and edge.variable._value is entry:
        return edge.variable
    return wrap(entry if is_array(entry) else np.asarray(entry), edge)


_install()


# The modes ------------------------------------------------------------------------------------------


class saved_tensors_hooks:  # torch's name
    """Inside the block, operations keep `pack_hook(tensor)` of what they save; backward reads `unpack_hook` of that.

    The innermost pair counts. `pack_hook` may give anything; `unpack_hook` must give a Tensor of the same values. Each is
    called once for each saved tensor, and the second again in each backward. Both see the values of arguments where they
    stand in the graph and results detached from it. Raises TypeError in backward where `unpack_hook` gives no Tensor, and
    AutogradError where hooks are disabled, or where saved memory itself comes back but was written since.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> with gs.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), gs.tensor):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _pair(self) -> tuple[Any, Any]:
        """The two functions, for one block."""
        return self.pack_hook, self.unpack_hook

    def __enter__(self) -> Any:
        if LOCAL.packing_refused is not None:
            raise blame(AutogradError(LOCAL.packing_refused))
        refuse("sets saved-tensor hooks")
        LOCAL.packing = (*LOCAL.packing, self._pair())
        refresh()
        return None

    def __exit__(self, *exc: Any) -> None:
        LOCAL.packing = LOCAL.packing[:-1]
        refresh()


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside the block (or function), saved-tensor hooks are refused: AutogradError (a RuntimeError) with `error_message`.

    >>> import gradscribe as gs
    >>> with gs.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     try:
    ...         with gs.autograd.graph.save_on_cpu():
    ...             pass
    ...     except RuntimeError as error:
    ...         print(error)
    not here
    """
    if LOCAL.packing:
        raise blame(AutogradError(error_message))
    before, LOCAL.packing_refused = LOCAL.packing_refused, error_message
    try:
        yield
    finally:
        LOCAL.packing_refused = before
