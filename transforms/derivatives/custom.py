"""Functions with a derivative of the user's own: one call of such a function, its arguments taken apart, and its node."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.errors import AutogradError
from ...tracer.core.closures import Standing
from ...tracer.core.custom import CustomNode
from ...tracer.core.graph import is_older
from ...tracer.core.losses import read_from_outside
from ...tracer.core.site import blame
from ...tracer.core.tensor_base import Operand, alias, is_inference, wrap
from ...tracer.core.thread_state import LOCAL, by_itself
from ...unpatched import np
from ..transform import Transform
from ..trees import flatten, unflatten
from ..user_code.scope import Path, scope

__all__ = ["Custom", "CustomCall", "CustomCallNode", "linked", "plain", "stated"]


class Custom(Transform):
    """A function of which the user says how it is differentiated."""

    define = "f.defvjp(fwd, bwd)"

    def rule(self) -> Callable[..., Any] | None:
        """The user's derivative; None before it is stated."""
        raise NotImplementedError

    def call(self, call: CustomCall) -> Any:
        """The output of one call, with a node behind it."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) < _count(self.function):
            bound = inspect.signature(self.function).bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.kwargs:
                raise blame(TypeError(f"`{self.label()}` takes keyword-only arguments, which gs.{self.kind} does not"))
            args = bound.args
        call = CustomCall(self, args, self.nondiff(len(args)))
        if not (LOCAL.grad and any(isinstance(x, Operand) and x._node is not None for x in call.leaves)):
            return self.seen("function")(*args)
        if self.rule() is None:
            how = self.define.replace("f.", f"{self.label()}.", 1)
            raise blame(AutogradError(f"`{self.label()}` is a gs.{self.kind} without a rule: say how it goes {how}"))
        return self.call(call)

    def nondiff(self, count: int) -> tuple[int, ...]:
        """The positions, in order, of the arguments that are constants, in a call with so many."""
        found = self.options["nondiff_argnums"]
        for n in found:
            if not -count <= n < count:
                raise blame(
                    TypeError(f"nondiff_argnums has {n}, but `{self.label()}` was called with {count} arguments")
                )
        return tuple(sorted({n % count for n in found}))

    def label(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def seen(self, name: str) -> Any:
        """One of its functions as it runs now: inside a transform, rebuilt over its scope."""
        written = getattr(self, name)
        return scope().see(written, Path(("attribute", self, name))) if LOCAL.depth else written


@functools.lru_cache(maxsize=512)
def _count(function: Any) -> int:
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


class CustomCall:
    """One call: the arguments, taken apart."""

    def __init__(self, owner: Custom, args: tuple[Any, ...], nondiff: tuple[int, ...]) -> None:
        self.owner = owner
        self.args = args
        self.nondiff = nondiff
        self.structures: list[Any] = []
        self.leaves: list[Any] = []
        for k, a in enumerate(args):
            leaves, structure = ([], None) if k in nondiff else flatten(a)
            self.structures.append((structure, len(leaves)))
            self.leaves.extend(leaves)
            if k in nondiff and any(isinstance(x, Operand) and x._node is not None for x in flatten(a)[0]):
                raise blame(
                    AutogradError(
                        f"argument {k} of `{owner.label()}` is in nondiff_argnums, but requires grad: its gradient would be "
                        "lost. Take it out of nondiff_argnums, or pass a constant."
                    )
                )

    def arguments(self, leaves: list[Any]) -> tuple[Any, ...]:
        """The arguments with other leaves."""
        args = list(self.args)
        at = 0
        for k, (structure, n) in enumerate(self.structures):
            if structure is not None:
                args[k] = unflatten(structure, leaves[at : at + n])
                at += n
        return tuple(args)

    def constants(self) -> list[Any]:
        """The arguments that are not differentiated."""
        return [self.args[k] for k in self.nondiff]

    def remembered(self) -> CustomCall:
        """Return the part of the call that a node keeps: no Tensors, whose values it saves itself."""
        made = CustomCall.__new__(CustomCall)
        made.owner, made.structures, made.nondiff = self.owner, self.structures, self.nondiff
        made.args = tuple([a if k in self.nondiff else None for k, a in enumerate(self.args)])
        return made

    def run(self, node: CustomCallNode, name: str, pick: Callable[[Any], tuple[Any, Any]]) -> Any:
        """The output of the user's function `name`, of whose result `pick` gives the output and what to keep."""
        owner = self.owner
        node.begin(tuple(self.leaves), f"{owner.label()}Backward")
        constants = [plain(x) for x in self.leaves]  # so that what has a history comes from outside
        with by_itself():
            out, kept = pick(owner.seen(name)(*self.arguments(constants)))
        if node.written(tuple(constants)):
            raise blame(
                AutogradError(
                    f"{'fwd of ' if name == 'fwd' else ''}`{owner.label()}` wrote into an argument, whose gradient would "
                    "be lost: write into a copy"
                )
            )
        leaves, node.structure = flatten(out)
        self._refuse_outside(leaves, node.seq)
        fresh = [_fresh(leaf) for leaf in leaves]
        nodes = node.make(tuple(fresh), several=len(fresh) != 1)
        for leaf, behind in zip(fresh, nodes, strict=True):
            if behind is not None:
                leaf._node = behind
        node.keep(self, kept)
        return unflatten(node.structure, fresh)

    def _refuse_outside(self, outputs: list[Any], begun: int) -> None:
        """Raise where an output depends on what the function was not passed, and whose gradient no rule gives."""
        if any(isinstance(x, Operand) and x._node is not None and is_older(x._node, begun) for x in outputs):
            name = self.owner.label()
            who = f"`{name}`, a gs.{self.owner.kind},"
            raise blame(read_from_outside(who, "its rule is about arguments alone", name))


class CustomCallNode(CustomNode):
    """Behind the outputs of one call: the values of the arguments (for higher derivatives), and what else the rule needs."""

    structure: Any
    call: CustomCall | None = None
    kept: Any = None
    values: tuple[Any, ...] = ()
    standing: Standing | None = None
    first: Standing | None = None  # of what runs again for a second derivative

    def keep(self, call: CustomCall, kept: Any) -> None:
        """Keep what the rule needs."""
        self.values = tuple([plain(x) for x in call.leaves])
        leaves, structure = flatten(kept)
        if any(isinstance(x, Operand) and is_inference(x) for x in (*leaves, *call.leaves)):
            raise blame(AutogradError("Inference tensors cannot be saved for backward: pass x.clone()"))
        self.kept = unflatten(structure, [plain(x) for x in leaves])
        self.call = call.remembered()
        self.standing = Standing(call.owner.rule())
        self.first = Standing(getattr(call.owner, "fwd", None))

    def free(self) -> None:
        """Let go of what was kept."""
        self.kept, self.values, self.call = None, (), None

    def called(self) -> CustomCall:
        """The call, if it was not freed."""
        if self.call is None:
            raise blame(
                AutogradError(
                    f"Trying to backward through the graph a second time: what {self.label} saved has been freed. "
                    "Specify retain_graph=True when calling backward the first time."
                )
            )
        if self.standing is not None:
            self.standing.check(f"the rule of `{self.call.owner.label()}`")
        return self.call

    def arguments_with_history(self) -> list[Any]:
        """The arguments' leaves as they stand in the graph, for a derivative of this derivative."""
        edges = dict(self.places)
        return [linked(x, edges.get(k)) for k, x in enumerate(self.values)]


def stated(name: str, given: Any) -> None:
    """Raise unless a part of a rule is a function."""
    if not callable(given):
        raise TypeError(f"{name} is a {type(given).__name__}: {given!r}")


def plain(x: Any) -> Any:
    """A value without its history."""
    return alias(x) if isinstance(x, Operand) else x


def linked(x: Any, edge: Any) -> Any:
    """A value with a history."""
    if not isinstance(x, Operand):
        return x
    made = alias(x)
    made._node = edge
    return made


def _fresh(leaf: Any) -> Any:
    """An output leaf as a Tensor of its own."""
    if isinstance(leaf, Operand):
        return alias(leaf)
    numbers = isinstance(leaf, (float, complex)) or (
        (isinstance(leaf, np.generic) or is_array(leaf)) and leaf.dtype.kind in "biufc"
    )
    return wrap(leaf) if numbers else leaf
