"""Version counters: how often the memory of a Tensor was written in place, and whether what a node saved has changed.

Nothing is kept for memory that is never written. A first write makes a counter, found by the array that owns the memory,
so that views and `detach()` share it. Writes are stamped from the clock that numbers nodes: what a node saved has changed
where a write bears a later number than the node.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

from ...runtime.arrays import is_plain_array, owner_of
from ...runtime.errors import AutogradError, ShapeError
from ...runtime.ops import Saved
from ...unpatched import np
from .graph import AccumulateGrad, next_sequence
from .outside_arrays import MEMORIES, was_written
from .site import blame, saved_at, user_site
from .tensor_base import Operand, is_inference, is_tensor_like
from .thread_state import LOCAL

__all__ = [
    "COUNTERS", "apart", "bump", "check", "check_entry", "check_written", "follow_data", "note_twice", "own_array", "replace",
    "share", "successor", "version_of",
]  # fmt: skip

_REMEMBERED = 1024  # stamps kept of one memory: enough to say which version a node saw


COUNTERS: dict[int, Counter] = {}
REPLACED: dict[int, tuple[Any, Any]] = {}  # of arrays that `x.data = v` replaced: the node of x, and its other array


class Counter:
    """The number of writes into one memory, and when, how and (in anomaly mode) where the last ones were."""

    __slots__ = ("__weakref__", "apart", "names", "scalar", "version", "writes")

    def __init__(self, array: np.ndarray[Any, Any], apart: bool = False) -> None:
        self.version = 0
        self.writes: deque[tuple[int, str, Any]] = deque(maxlen=_REMEMBERED)
        self.apart = apart  # `.data`: of the arrays it was told of, not of all on that memory
        self.names: dict[int, weakref.ref[Any]] = {}
        self.scalar: Any = None  # the NumPy scalar that this memory took the place of
        self.tell(array)

    def tell(self, array: np.ndarray[Any, Any]) -> None:
        """Be found by `array`, as long as it lives."""
        key = id(array)
        self.names[key] = weakref.ref(array, lambda _: self.forget(key))
        COUNTERS[key] = self

    def stand_for(self, scalar: Any) -> None:
        """Be found by a scalar (which this keeps alive) that became this memory."""
        self.scalar = scalar
        COUNTERS[id(scalar)] = self

    def forget(self, key: int, tables: tuple[dict[int, Any], ...] = (COUNTERS, REPLACED)) -> None:
        """An array is gone, and another may come to its address. (Defaults outlive the module when Python ends.)"""
        del self.names[key]
        for table in tables:
            table.pop(key, None)
            if not self.names:
                table.pop(id(self.scalar), None)


def find(value: Any) -> Counter | None:
    """The counter of a value, if its memory was ever written."""
    found = COUNTERS.get(id(value))
    if found is None and is_plain_array(value) and value.base is not None:
        found = COUNTERS.get(id(owner_of(value)))
    return found


def bump(value: np.ndarray[Any, Any], how: str) -> int:
    """Count a write into the memory of `value`; `how` names it. Gives the stamp of the write."""
    counter = find(value) or Counter(owner_of(value))
    stamp: int = next_sequence()
    counter.version += 1
    counter.writes.append((stamp, how, user_site() if LOCAL.anomaly is not None else None))
    return stamp


def own_array(tensor: Any) -> Any:
    """The value of a bare Tensor as an array; where NumPy gave a scalar, memory of its own takes its place."""
    value = tensor._value
    if is_plain_array(value):
        return value
    array = tensor._value = np.array(value)
    node = tensor._node
    if isinstance(value, np.generic) and node is not None:  # nodes may have saved the scalar itself
        Counter(array).stand_for(value)
    if type(node) is AccumulateGrad:
        node.value = array
    return array


def apart(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view of `value` that counts its writes by itself: what `.data` is."""
    made = value.view()
    Counter(made, apart=True)
    return made


def replace(tensor: Any, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that a bare Tensor holds after `x.data = value`: on the memory of `value`, with the counter of what it held.

    Nodes that saved this Tensor read the new array from now on, as PyTorch's do, which save the Tensor itself.
    """
    old = own_array(tensor)
    made = value.view()
    counter = find(old) or Counter(owner_of(old))
    if id(old) not in counter.names:
        counter.tell(old)
    counter.tell(made)
    counter.apart = True
    if tensor._node is not None or id(old) not in _TWICE:
        for key in [id(old)] if counter.scalar is None else [id(old), id(counter.scalar)]:
            REPLACED[key] = tensor._node, made
    return made


_TWICE: dict[int, weakref.ref[Any]] = {}


def note_twice(array: np.ndarray[Any, Any]) -> None:
    """Note that two constants hold one array (`c.detach()`), so that a node which saved it does not tell of which it was."""
    key = id(array)

    def forget(_: Any, table: dict[int, Any] = _TWICE) -> None:
        table.pop(key, None)

    _TWICE[key] = weakref.ref(array, forget)


def successor(value: Any, edge: Any) -> Any:
    """Return the array in place of one saved by a node of the Tensor behind `edge`, if that was given other data."""
    while id(value) in REPLACED:
        node, other = REPLACED[id(value)]
        if node is not edge:
            break
        if np.shape(other) != np.shape(value):
            raise blame(
                ShapeError(
                    f"a Tensor of the shape {np.shape(value)} was saved for backward, and was then given data of another one, "
                    f"{np.shape(other)} (x.data = v). Run backward before, or make a new Tensor."
                )
            )
        value = other
    return value


def follow_data(node: Any) -> None:
    """Let a node read the data that Tensors among its arguments were given since it saved them."""
    entries = node.saved
    if not REPLACED or not entries:
        return
    edges = dict(zip(node.plan.slots, node.edges, strict=True))
    found = []
    for spec, entry in zip(node.plan.saved, entries, strict=True):
        if spec.what == "value" and type(entry) in (tuple, list):
            parts = [successor(e, edges.get((spec.param, i))) for i, e in enumerate(entry)]
            entry = type(entry)(parts) if any(a is not b for a, b in zip(parts, entry, strict=True)) else entry
        elif spec.what == "value":
            entry = successor(entry, edges.get((spec.param, -1)))
        found.append(entry)
    if any(a is not b for a, b in zip(found, entries, strict=True)):
        node.saved = tuple(found)


def share(view: np.ndarray[Any, Any], source: Any) -> None:
    """Let a view of an array that was set apart count with it."""
    counter = COUNTERS.get(id(source))
    if counter is not None and counter.apart:
        counter.tell(view)


def check(node: Any) -> None:
    """Raise where something that `node` saved was written after that."""
    if REPLACED:
        follow_data(node)
    saved = node.saved
    if saved is None:  # another thread may have freed it since
        return
    if MEMORIES:
        _check_arrays(node, saved)
    if not COUNTERS:
        return
    for spec, entry in zip(node.plan.saved, saved, strict=False):
        if spec.what in ("value", "out"):
            check_entry(node, spec, entry, -1)


def _check_arrays(node: Any, entries: Any) -> None:
    """Raise where a large array from outside was written since `node` saved it."""
    for entry in entries:
        if type(entry) is tuple or type(entry) is list:
            _check_arrays(node, entry)
        elif was_written(entry):
            raise blame(AutogradError(_story_of_array(node, entry)))


def check_entry(node: Any, spec: Any, entry: Any, position: int) -> None:
    """Raise where one thing that `node` saved was written after that."""
    if isinstance(entry, (tuple, list)):
        for i, part in enumerate(entry):
            check_entry(node, spec, part, i)
        return
    counter = find(entry._value if isinstance(entry, Operand) else entry)
    if counter is None or not counter.writes or counter.writes[-1][0] < node.seq:
        return
    later = [w for w in counter.writes if w[0] > node.seq]
    raise blame(AutogradError(_story(node, spec, entry, position, counter.version, len(later), later[0])))


def check_written(node: Any, entries: tuple[Any, ...]) -> None:
    """Raise where one of the values that a node of the user's saved was written after that."""
    if COUNTERS:
        for entry in entries:
            if is_tensor_like(entry):
                check_entry(node, Saved("saved", "value", -1), entry, -1)


def _story(node: Any, spec: Any, entry: Any, position: int, version: int, later: int, write: Any) -> str:
    dtype, shape = np.result_type(entry), tuple(np.shape(entry))
    if spec.what == "out":
        maker = node.name()
    else:
        edges = dict(zip(node.plan.slots, node.edges, strict=True))
        made_by = edges.get((spec.param, position))
        maker = "" if made_by is None or not hasattr(made_by, "name") else made_by.name()
    output = f", which is output 0 of {maker}," if maker and maker != "AccumulateGrad" else ""
    where = "" if write[2] is None else f" at {write[2]}"
    saved = saved_at(node)
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{dtype}{list(shape)}{output} is at version {version}; expected version {version - later} instead.\n"
        f"{node.name()} saved it{f' at {saved}' if saved else ''}, and `{write[1]}` changed it{where} before backward "
        "could read it. "
        + ("" if where else "gs.autograd.detect_anomaly() names both lines. ")
        + "Write into a copy (x.clone()), or compute a new tensor."
    )


def _story_of_array(node: Any, array: np.ndarray[Any, Any]) -> str:
    saved = saved_at(node)
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{array.dtype}{list(array.shape)}, an array that is no Tensor.\n"
        f"{node.name()} saved it{f' at {saved}' if saved else ''}, and it was written before backward could read it. "
        "Write into a copy (a.copy()), or compute with one."
    )


def version_of(tensor: Any) -> int:
    """`Tensor._version`: the number of in-place writes into its memory."""
    if is_inference(tensor):
        raise blame(AutogradError("Inference tensors do not track version counter: x.clone() outside has one."))
    counter = find(tensor._value) if COUNTERS else None
    return 0 if counter is None else counter.version
