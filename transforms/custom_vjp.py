"""custom_vjp: a function of arrays whose backward the user writes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.errors import AutogradError, ShapeError
from ..tracer.custom import CustomNode
from ..tracer.modes import LOCAL, grad_mode
from ..tracer.operand import Operand, alias, is_inference, plain_shape, wrap
from ..tracer.site import blame
from ..tracer.versions import check_written
from .scope import Path, scope
from .transform import Transform
from .trees import flatten, unflatten

__all__ = ["CustomVjp", "custom_vjp"]


class CustomVjp(Transform):
    """What `gs.custom_vjp` returns: the function, of which `defvjp` says how it goes backward."""

    kind = "custom_vjp"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.fwd: Callable[..., Any] | None = options.get("fwd")
        self.bwd: Callable[..., Any] | None = options.get("bwd")

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Say how the function goes backward.

        `fwd(*args)` gives `(output, residuals)`, and `bwd(residuals, g)` a tuple: for each argument a cotangent of its
        structure, shapes and dtypes, or None for zeros. Arguments in `nondiff_argnums` come first: `bwd(n, residuals, g)`.
        """
        for name, given in (("fwd", fwd), ("bwd", bwd)):
            if not callable(given):
                raise TypeError(f"defvjp takes two functions, but {name} is a {type(given).__name__}: {given!r}")
        self.fwd, self.bwd = fwd, bwd
        self.options = {**self.options, "fwd": fwd, "bwd": bwd}  # what a pickle takes along

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) < _count(self.function):
            bound = inspect.signature(self.function).bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.kwargs:
                raise blame(TypeError(f"`{self.label()}` takes keyword-only arguments, which gs.custom_vjp does not"))
            args = bound.args
        nondiff = self._nondiff(len(args))
        call = _Call(self, args, nondiff)
        if not (LOCAL.grad and any(isinstance(x, Operand) and x._node is not None for x in call.leaves)):
            return self.seen("function")(*args)
        if self.fwd is None:
            raise blame(
                AutogradError(
                    f"`{self.label()}` is a gs.custom_vjp without a rule: say how it goes backward by "
                    f"{self.label()}.defvjp(fwd, bwd)"
                )
            )
        return call.run_forward()

    def _nondiff(self, count: int) -> tuple[int, ...]:
        found = self.options["nondiff_argnums"]
        for n in found:
            if not -count <= n < count:
                raise blame(
                    TypeError(f"nondiff_argnums has {n}, but `{self.label()}` was called with {count} arguments")
                )
        return tuple(sorted({n % count for n in found}))

    def label(self) -> str:
        """What the function is called."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def seen(self, name: str) -> Any:
        """One of its three functions as it runs now: inside a transform, rebuilt over its scope."""
        written = getattr(self, name)
        return scope().see(written, Path(("attribute", self, name))) if LOCAL.depth else written


@functools.lru_cache(maxsize=512)
def _count(function: Any) -> int:
    parameters = inspect.signature(function).parameters.values()
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


class _Call:
    """One call: the arguments, taken apart."""

    def __init__(self, owner: CustomVjp, args: tuple[Any, ...], nondiff: tuple[int, ...]) -> None:
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

    def run_forward(self) -> Any:
        """The output, with a node behind it."""
        owner = self.owner
        node = _VjpNode()
        node.begin(tuple(self.leaves), f"{owner.label()}Backward")
        with grad_mode(False):
            out, residuals = _pair(owner, owner.seen("fwd")(*self.args))
        if node.written(tuple(self.leaves)):
            raise blame(
                AutogradError(
                    f"fwd of `{owner.label()}` wrote into an argument, whose gradient would be lost: write into a copy"
                )
            )
        leaves, node.structure = flatten(out)
        fresh = [_fresh(leaf) for leaf in leaves]
        nodes = node.make(tuple(fresh), several=len(fresh) != 1)
        for leaf, behind in zip(fresh, nodes, strict=True):
            if behind is not None:
                leaf._node = behind
        node.keep(self, residuals)
        return unflatten(node.structure, fresh)


def _pair(owner: CustomVjp, found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != 2:
        what = f"{len(found)} values" if isinstance(found, tuple) else type(found).__name__
        raise blame(TypeError(f"fwd of `{owner.label()}` gives (output, residuals), but gave {what}"))
    return found


def _fresh(leaf: Any) -> Any:
    """An output leaf as a Tensor of its own."""
    if isinstance(leaf, Operand):
        return alias(leaf)
    numbers = isinstance(leaf, (float, complex)) or (
        isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "biufc"
    )
    return wrap(leaf) if numbers else leaf


class _VjpNode(CustomNode):
    """Behind the outputs of one call."""

    structure: Any
    call: _Call | None = None
    residuals: Any = None
    values: tuple[Any, ...] = ()

    def keep(self, call: _Call, residuals: Any) -> None:
        """Keep what backward needs: the residuals, and for higher derivatives the arguments (as values)."""
        self.values = tuple([_value(x) for x in call.leaves])
        leaves, structure = flatten(residuals)
        if any(isinstance(x, Operand) and is_inference(x) for x in (*leaves, *call.leaves)):
            raise blame(AutogradError("Inference tensors cannot be saved for backward: pass x.clone()"))
        self.residuals = unflatten(structure, [_value(x) for x in leaves])
        self.call = _Call.__new__(_Call)
        self.call.owner, self.call.structures, self.call.nondiff = call.owner, call.structures, call.nondiff
        self.call.args = tuple([a if k in call.nondiff else None for k, a in enumerate(call.args)])

    def free(self) -> None:
        """Let go of the residuals and arguments."""
        self.residuals, self.values, self.call = None, (), None

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The user's bwd."""
        call = self.call
        if call is None:
            raise blame(
                AutogradError(
                    f"Trying to backward through the graph a second time: what {self.label} saved has been freed. "
                    "Specify retain_graph=True when calling backward the first time."
                )
            )
        check_written(self, (*self.values, *flatten(self.residuals)[0]))
        residuals = self._recomputed(call) if LOCAL.grad else self.residuals
        cotangent = unflatten(self.structure, grads)
        constants = [call.args[k] for k in call.nondiff]
        found = call.owner.seen("bwd")(*constants, residuals, cotangent)
        return self._leaves(call, found)

    def _recomputed(self, call: _Call) -> Any:
        """The residuals with their history, for a derivative of this derivative."""
        edges = dict(self.places)
        leaves = [_linked(x, edges.get(k)) for k, x in enumerate(self.values)]
        return _pair(call.owner, call.owner.seen("fwd")(*call.arguments(leaves)))[1]

    def _leaves(self, call: _Call, found: Any) -> tuple[Any, ...]:
        name = call.owner.label()
        expected = len(call.args) - len(call.nondiff)
        if not isinstance(found, tuple):
            raise blame(
                TypeError(f"bwd of `{name}` gives a tuple of {expected} cotangents, but gave {type(found).__name__}")
            )
        if len(found) != expected:
            raise blame(
                ShapeError(
                    f"bwd of `{name}` gives one cotangent for each argument ({expected}), but gave {len(found)}. "
                    "Give None where there is none."
                )
            )
        made: list[Any] = []
        for k, (structure, n) in enumerate([s for s in call.structures if s[0] is not None]):
            if found[k] is None:
                made.extend([None] * n)
                continue
            leaves, given = flatten(found[k])
            if given != structure:
                raise blame(
                    ShapeError(
                        f"cotangent {k} that bwd of `{name}` gave has the structure {given}, but its argument {structure}"
                    )
                )
            for leaf, value in zip(leaves, self.values[len(made) : len(made) + n], strict=True):
                made.append(self._checked(leaf, value, k, name))
        return tuple(made)

    def _checked(self, leaf: Any, value: Any, k: int, name: str) -> Any:
        if leaf is None or not isinstance(value, Operand):
            return None
        shape = plain_shape(value)
        if (plain_shape(leaf) if isinstance(leaf, Operand) else np.shape(leaf)) != shape:
            raise blame(
                ShapeError(
                    f"cotangent {k} that bwd of `{name}` gave has shape {np.shape(leaf)}, but its argument {shape}. Sum it "
                    "over what was broadcast."
                )
            )
        return np.asarray(leaf)[()] if isinstance(leaf, (int, float, complex)) else leaf


def _value(x: Any) -> Any:
    return alias(x) if isinstance(x, Operand) else x


def _linked(x: Any, edge: Any) -> Any:
    if not isinstance(x, Operand):
        return x
    made = alias(x)
    made._node = edge
    return made


def custom_vjp(function: Any = None, *, nondiff_argnums: tuple[int, ...] | int = ()) -> Any:
    """`function` with a derivative of one's own: a decorator, and `f.defvjp(fwd, bwd)` says how it goes backward.

    `fwd(*args)` gives `(output, residuals)`; `bwd(residuals, g)` takes the output's cotangent and gives a tuple, one
    cotangent an argument (None for zeros). Arguments, output and residuals may be trees (dict, list, tuple, dataclass).
    Arguments in `nondiff_argnums` are constants, and come first in `bwd(n, residuals, g)`. Cotangents of complex numbers
    follow the convention of `gs.vjp`, which is PyTorch's: g is the conjugate of what the plain transpose takes. Higher
    derivatives differentiate `bwd` and the residuals of `fwd`. Without differentiation it is simply `function`.
    Raises AutogradError without `defvjp`, ShapeError where number or shapes of cotangents are wrong.

    >>> import numpy as np, gradscribe as gs
    >>> @gs.custom_vjp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> log1pexp.defvjp(lambda x: (log1pexp(x), x), lambda x, g: (g * (1 - 1 / (1 + np.exp(x))),))
    >>> gs.grad(log1pexp)(0.0)
    np.float64(0.5)
    """
    if function is None:
        return functools.partial(custom_vjp, nondiff_argnums=nondiff_argnums)
    listed = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
    return CustomVjp(function, {"nondiff_argnums": listed})
