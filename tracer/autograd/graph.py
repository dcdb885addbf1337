"""gs.autograd.graph: the names of `torch.autograd.graph`, for nodes, edges, hooks over several tensors and saved tensors."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...runtime.arrays import is_array, owner_of
from ...runtime.errors import AutogradError
from ...unpatched import np
from ..core.graph import GradientEdge, edge_of, extra_of, public_edge
from ..core.graph import GraphNode as Node
from ..core.hooks import RemovableHandle
from ..core.saved import disable_saved_tensors_hooks, saved_tensors_hooks
from ..core.site import blame
from ..core.tensor_base import Operand, is_inference, wrap
from ..core.thread_state import LOCAL, refuse
from ..core.versions import bump, own_array

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "save_on_disk",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The place of a tensor in the graph: its node, and which of the node's results it is.

    The edge may take the tensor's place in `gs.autograd.grad` and `backward`, and holds none of its data. Raises
    AutogradError (a RuntimeError) where the tensor does not require grad.

    >>> import gradscribe as gs
    >>> x = gs.tensor(2.0, requires_grad=True)
    >>> edge = gs.autograd.graph.get_gradient_edge(x * 3)
    >>> gs.autograd.grad(edge, x)
    (tensor(3.),)
    """
    edge = edge_of(tensor)
    if edge is None:
        raise blame(
            AutogradError(
                "It is not possible to get the gradient edge for a Tensor that does not require gradients: this one has "
                "no place in a graph."
            )
        )
    return GradientEdge(*public_edge(edge))


def increment_version(tensor: Any) -> None:
    """Count a write in place into a tensor, or each of several, that was made where gradscribe could not see it.

    What nodes saved of it is then known to have changed. Raises AutogradError (a RuntimeError) for what is no tensor.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0])
    >>> gs.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, Operand) else tensor
    if not isinstance(tensors, Iterable):
        raise blame(
            AutogradError(f"increment_version expects a tensor or an iterable of tensors, not {type(tensor).__name__}")
        )
    for t in tensors:
        if not isinstance(t, Operand):
            raise blame(AutogradError(f"increment_version expects tensors, but found a {type(t).__name__} among them"))
        refuse("moves a version counter (increment_version)")
        if not is_inference(t):
            bump(own_array(t), "increment_version")


class _Handles:
    """The handle of a hook over several tensors."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Take the hook off all tensors."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all") -> _Handles:
    """Call `fn` once in each backward with the gradients of several tensors; what it returns counts for nothing.

    With `mode="all"` it gets a list of them once the last is known (None for tensors that this backward does not reach),
    with `mode="any"` the first that is known. Raises ValueError for another mode, AssertionError where all are asked for and
    one does not require grad.

    >>> import gradscribe as gs
    >>> a, b = gs.tensor(2.0, requires_grad=True), gs.tensor(3.0, requires_grad=True)
    >>> handle = gs.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (a * b).backward()
    [tensor(3.), tensor(2.)]
    """
    if mode not in ("all", "any"):
        raise blame(ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}"))
    edges = [edge_of(t) for t in tensors if mode == "all" or edge_of(t) is not None]
    if any(edge is None for edge in edges):
        raise blame(AssertionError("Expected gradient function to be set: each of the tensors must require grad"))
    places = [(weakref.ref(node), k) for node, k in map(public_edge, edges)]  # a node must not hold itself by its hooks
    lock = threading.Lock()
    seen: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()  # for each run: what is still to come

    def for_any(grad: Any) -> None:
        with lock:
            first = LOCAL.run not in seen
            seen.setdefault(LOCAL.run, [])
        if first:
            fn(grad)

    def for_all(k: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            with lock:
                found = seen.get(LOCAL.run)
                if found is None:
                    nodes = [(node(), nr) for node, nr in places]
                    alive = [edge_of(GradientEdge(node, nr)) for node, nr in nodes if node is not None]
                    coming = sum(map(LOCAL.run.calls_hooks_of, alive))
                    found = seen[LOCAL.run] = [coming, [None] * len(places)]
                found[0] -= 1
                found[1][k] = grad
                done = found[0] == 0
                if done:
                    del seen[LOCAL.run]
            if done:
                fn(found[1])

        return hook

    hooks = [for_any if mode == "any" else for_all(k) for k in range(len(edges))]
    return _Handles(
        tuple([RemovableHandle(extra_of(edge).hooks, hook) for edge, hook in zip(edges, hooks, strict=True)])
    )


class save_on_cpu(saved_tensors_hooks):  # torch's name
    """For PyTorch's sake: arrays are in main memory already, so what is saved stays where it is. See `save_on_disk`.

    >>> import gradscribe as gs
    >>> x = gs.tensor(3.0, requires_grad=True)
    >>> with gs.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> gs.autograd.grad(y, x)
    (tensor(6.),)
    """

    def __init__(self, pin_memory: bool = False, device_type: str | None = None) -> None:
        super().__init__(_same, _same)


def _same(tensor: Any) -> Any:
    return tensor


class save_on_disk(saved_tensors_hooks):  # in the manner of save_on_cpu
    """Inside the block, what operations save goes to files and comes back in backward: memory is traded for time.

    The files are in a new folder, inside `folder` (default: the system's place for temporary files). Each goes with the
    node that saved it, the folder with the last of them.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> with gs.autograd.graph.save_on_disk():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = folder

    def _pair(self) -> tuple[Any, Any]:
        inside = _Folder(self.folder)
        return lambda tensor: _File(inside, tensor._value), _File.tensor


class _Folder:
    """A temporary folder that goes with its last reference, or at the interpreter's end."""

    def __init__(self, parent: Any) -> None:
        self.path = tempfile.mkdtemp(prefix="gradscribe-", dir=parent)
        self.count = 0
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class _File:
    """An array in a file of its own, which goes with this."""

    def __init__(self, folder: _Folder, array: Any) -> None:
        self.folder = folder
        folder.count += 1
        self.path = os.path.join(folder.path, f"{folder.count}.npy")
        np.save(self.path, array)
        weakref.finalize(self, _remove, self.path)

    def tensor(self) -> Any:
        """Return the content of the file as a Tensor."""
        return wrap(np.load(self.path))


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


class _Kept:
    """One saved value; a copy of it from the moment on at which its memory is written."""

    __slots__ = ("__weakref__", "era", "value")

    def __init__(self, value: Any, era: object) -> None:
        self.value = value
        self.era = era


class _Mutation:
    """The values saved inside `allow_mutation_on_saved_tensors`, which writes in place leave as they were."""

    def __init__(self) -> None:
        self._kept: dict[int, weakref.WeakSet[_Kept]] = {}  # by the array that owns the memory
        self._era = object()  # another after each clearing

    def pack(self, tensor: Any) -> _Kept:
        """Keep a value, and know it by its memory."""
        kept = _Kept(tensor._value, self._era)
        if is_array(kept.value):
            self._kept.setdefault(id(owner_of(kept.value)), weakref.WeakSet()).add(kept)
        return kept

    def unpack(self, kept: _Kept) -> Any:
        """The value as it was saved."""
        if kept.era is not self._era:
            raise blame(
                AssertionError(
                    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                    "recorded: what it kept through writes in place is gone."
                )
            )
        return wrap(kept.value)

    def before_write(self, array: np.ndarray[Any, Any]) -> None:
        """Copy what was saved of the memory that is about to be written."""
        for kept in self._kept.pop(id(owner_of(array)), ()):
            kept.value = np.array(kept.value)

    def clear(self) -> None:
        """Let go of everything saved so far: backward through it is over."""
        self._kept.clear()
        self._era = object()


class allow_mutation_on_saved_tensors(contextlib.ContextDecorator, saved_tensors_hooks):  # torch's name
    """Inside the block, tensors that backward needs may be written in place: what was saved is copied before.

    Backward must run inside, too: AssertionError otherwise. Blocks cannot be nested: AutogradError (a RuntimeError). What
    the block gives has `clear()`, which lets go of all that was saved so far.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> with gs.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.mul_(10)
    ...     z.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self) -> None:
        pass

    def _pair(self) -> tuple[Any, Any]:
        made = _Mutation()
        return made.pack, made.unpack

    def __enter__(self) -> _Mutation:
        if LOCAL.mutation is not None:
            raise blame(AutogradError("allow_mutation_on_saved_tensors contexts cannot be nested: one is open already"))
        super().__enter__()
        made: _Mutation = LOCAL.packing[-1][0].__self__
        LOCAL.mutation = made
        return made

    def __exit__(self, *exc: Any) -> None:
        made, LOCAL.mutation = LOCAL.mutation, None
        made.clear()
        super().__exit__(*exc)
