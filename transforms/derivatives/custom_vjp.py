"""custom_vjp: a function of arrays whose backward the user writes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from ...runtime.errors import ShapeError
from ...tracer.core.site import blame, pruned
from ...tracer.core.tensor_base import Operand, plain_shape
from ...tracer.core.thread_state import LOCAL
from ...tracer.core.versions import check_written
from ...unpatched import np
from ..trees import flatten, in_words, unflatten
from .custom import Custom, CustomCall, CustomCallNode, stated

if TYPE_CHECKING:
    from typing import Generic, Protocol

    from ..typed import P, S

__all__ = ["CustomVjp", "custom_vjp"]


class CustomVjp(Custom):
    """The function that `gs.custom_vjp` returns; `defvjp` states how it goes backward."""

    kind = "custom_vjp"
    define = "backward by f.defvjp(fwd, bwd)"

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
            stated(f"defvjp takes two functions, but {name}", given)
        self.fwd, self.bwd = fwd, bwd
        self.options = {**self.options, "fwd": fwd, "bwd": bwd}  # what a pickle takes along

    def rule(self) -> Callable[..., Any] | None:
        """The user's bwd."""
        return self.bwd

    def call(self, call: CustomCall) -> Any:
        """The output of fwd, with a node behind it."""
        return call.run(_VjpNode(), "fwd", lambda found: _pair(self, found))


def _pair(owner: Custom, found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != 2:
        what = f"{len(found)} values" if isinstance(found, tuple) else type(found).__name__
        raise blame(TypeError(f"fwd of `{owner.label()}` gives (output, residuals), but gave {what}"))
    return found


class _VjpNode(CustomCallNode):
    """Behind the outputs of one call; it keeps the residuals."""

    def backward_function(self) -> Any:
        """The user's bwd."""
        return None if self.call is None else getattr(self.call.owner, "bwd", None)

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The user's bwd."""
        call = self.called()
        check_written(self, (*self.values, *flatten(self.kept)[0]))
        residuals = self._recomputed(call) if LOCAL.grad else self.kept
        cotangent = unflatten(self.structure, grads)
        found = call.owner.seen("bwd")(*call.constants(), residuals, cotangent)
        return self._leaves(call, found)

    def _recomputed(self, call: CustomCall) -> Any:
        """The residuals with their history, for a derivative of this derivative."""
        if self.first is not None:
            self.first.check(f"fwd of `{call.owner.label()}`")
        return _pair(call.owner, call.owner.seen("fwd")(*call.arguments(self.arguments_with_history())))[1]

    def _leaves(self, call: CustomCall, found: Any) -> tuple[Any, ...]:
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
                        f"cotangent {k} that bwd of `{name}` gave has the structure "
                        f"{in_words(given)}, but its argument {in_words(structure)}"
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


if TYPE_CHECKING:

    class Stated(CustomVjp, Generic[P, S]):
        """A function with a derivative of one's own, and its parameters."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> S: ...

    class Stating(Protocol):
        """The decorator with options."""

        def __call__(self, function: Callable[P, S], /) -> Stated[P, S]: ...


@overload
def custom_vjp(function: Callable[P, S], *, nondiff_argnums: tuple[int, ...] | int = ()) -> Stated[P, S]: ...
@overload
def custom_vjp(function: None = None, *, nondiff_argnums: tuple[int, ...] | int = ()) -> Stating: ...
@pruned
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
