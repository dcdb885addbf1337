"""custom_jvp: a function of arrays whose forward mode the user writes; reverse mode is its transpose."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from ...runtime.arrays import is_array
from ...runtime.errors import DtypeError, ShapeError
from ...tracer.core.cotangents import outward
from ...tracer.core.engine import run_backward
from ...tracer.core.forward import variable
from ...tracer.core.levels import under
from ...tracer.core.listening import in_user_code
from ...tracer.core.site import blame, pruned
from ...tracer.core.tensor_base import Operand, plain_shape, wrap
from ...tracer.core.thread_state import LOCAL, capturing, grad_mode
from ...tracer.core.versions import check_written
from ...unpatched import np
from ..trees import flatten, in_words
from .custom import Custom, CustomCall, CustomCallNode, stated

if TYPE_CHECKING:
    from typing import Generic, Protocol

    from ..typed import P, S

__all__ = ["CustomJvp", "custom_jvp"]


class CustomJvp(Custom):
    """The function that `gs.custom_jvp` returns; `defjvp` states how it goes forward."""

    kind = "custom_jvp"
    define = "forward by f.defjvp(jvp)"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.jvp: Callable[..., Any] | None = options.get("jvp")

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Say how the function moves: `jvp(primals, tangents)` gives `(output, tangent of the output)`.

        Both are tuples, one entry for each argument that is not in `nondiff_argnums` (those come first:
        `jvp(n, primals, tangents)`); the tangent of what does not move is zeros. It must be linear in the tangents. As a
        decorator it gives `jvp` back.
        """
        stated("defjvp takes a function, but jvp", jvp)
        self.jvp = jvp
        self.options = {**self.options, "jvp": jvp}  # what a pickle takes along
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Say it argument by argument: `jvp(t, out, *primals)` is what the tangent `t` of that argument adds.

        None is for an argument along which the output does not move.
        """
        for k, jvp in enumerate(jvps):
            if jvp is not None:
                stated(f"defjvps takes functions and None, but entry {k}", jvp)
        self.defjvp(_Sum(self, jvps))

    def rule(self) -> Callable[..., Any] | None:
        """The user's jvp."""
        return self.jvp

    def call(self, call: CustomCall) -> Any:
        """The output of the function, with a node behind it."""
        return call.run(_JvpNode(), "function", lambda out: (out, None))


class _Sum:
    """Return the JVP that `defjvps` makes of one formula for each argument."""

    def __init__(self, owner: CustomJvp, jvps: tuple[Any, ...]) -> None:
        self.owner, self.jvps = owner, jvps

    def __call__(self, *given: Any) -> tuple[Any, Any]:
        *constants, primals, tangents = given
        if len(self.jvps) != len(primals):
            raise TypeError(
                f"defjvps of `{self.owner.label()}` was given {len(self.jvps)} functions for {len(primals)} arguments: one "
                "for each, or None"
            )
        args = list(primals)
        for n, constant in zip(self.owner.nondiff(len(given) - 2 + len(primals)), constants, strict=True):
            args.insert(n, constant)
        out = self.owner(*args)
        parts = [f(t, out, *args) for f, t in zip(self.jvps, tangents, strict=True) if f is not None]
        return out, functools.reduce(lambda a, b: a + b, parts) if parts else np.zeros_like(out)


class _JvpNode(CustomCallNode):
    """Behind the outputs of one call."""

    def push(self, tangents: list[Any], create_graph: bool) -> Any:
        """The tangent of the output (a list where it has several) from those of the arguments, by the user's jvp."""
        if self.under and not set(self.under) <= set(LOCAL.levels):
            with under((*LOCAL.levels, *[level for level in self.under if level not in LOCAL.levels])):
                return self.push(tangents, create_graph)
        tensors = create_graph or capturing()
        given = {k: t for (k, _), t in zip(self._moving(), tangents, strict=True) if t is not None}
        with grad_mode(create_graph):
            moved = self._moved(given, create_graph)
            found: list[Any] = [None if t is None else self._shown_as_output(t, j) for j, t in enumerate(moved)]
        if not tensors and not LOCAL.levels:
            found = [None if t is None else t._value for t in found]
        return found if self.plural else found[0]

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The transpose of the user's jvp, which is linear in the tangents."""
        create_graph = LOCAL.grad
        tensors = create_graph or capturing()
        variables = {k: variable(edge.meta, tensors) for k, edge in self._moving()}
        with grad_mode(True):
            moved = self._moved({k: v for k, v in variables.items() if v is not None}, create_graph)
            roots = []
            for j, (t, g) in enumerate(zip(moved, grads, strict=True)):
                if t is None or g is None:
                    continue
                t = self._shown_as_output(t, j)
                if t._node is not None:
                    g = outward(self._shown_as_output(g, j))
                    roots.append((t._node, g if tensors or LOCAL.levels else g._value))
        wanted = {v._node: None for v in variables.values() if v is not None}
        found = run_backward(roots, wanted, retain_graph=False, create_graph=create_graph) if roots else {}
        hides = dict(zip([k for k, _ in self.places], self.hides, strict=False))
        given: list[Any] = [None] * self.count
        for k, v in variables.items():
            g = None if v is None else found.get(v._node)
            if g is not None:
                g = outward(g if isinstance(g, Operand) else wrap(g))
                given[k] = self.under[-1].hidden(g, hides[k]) if self.under else g
        return tuple(given)

    def _moving(self) -> list[tuple[int, Any]]:
        return [(k, edge) for k, edge in self.places if edge is not None]

    def _moved(self, tangents: dict[int, Any], create_graph: bool) -> list[Any]:
        """The tangent of each leaf of the output, from those (in the shape of all examples) of some leaves of the input."""
        call = self.called()
        check_written(self, self.values)
        values = self.arguments_with_history() if create_graph else list(self.values)
        hides = dict(zip([k for k, _ in self.places], self.hides, strict=False))
        moving = []
        for k, x in enumerate(values):
            t = tangents.get(k)
            if t is None:
                t = _zeros(x)
            elif self.under:
                t = self.under[-1].hidden(t, hides[k])
            moving.append(t if isinstance(t, Operand) or t is None else wrap(t))
        owner = call.owner
        nondiff = set(call.nondiff)
        primals, pushed = (
            tuple([a for k, a in enumerate(call.arguments(leaves)) if k not in nondiff]) for leaves in (values, moving)
        )
        with in_user_code():
            found = owner.seen("jvp")(*call.constants(), primals, pushed)
        return self._checked(found, owner.label())

    def _checked(self, found: Any, name: str) -> list[Any]:
        if not isinstance(found, tuple) or len(found) != 2:
            what = f"{len(found)} values" if isinstance(found, tuple) else type(found).__name__
            raise blame(TypeError(f"jvp of `{name}` gives (output, tangent of the output), but gave {what}"))
        leaves, structure = flatten(found[1])
        if structure != self.structure:
            raise blame(
                ShapeError(
                    f"the tangent that jvp of `{name}` gave has the structure "
                    f"{in_words(structure)}, its output {in_words(self.structure)}"
                )
            )
        return [self._fits(t, meta, j, name) for j, (t, meta) in enumerate(zip(leaves, self.outputs, strict=True))]

    def _fits(self, t: Any, meta: Any, j: int, name: str) -> Any:
        """A tangent of the shape and dtype of output `j`; None where that has none."""
        if t is None or meta is None or meta[1].kind not in "fc":
            return None
        if not isinstance(t, Operand):
            t = wrap(np.asarray(t)[()] if isinstance(t, (int, float, complex)) else t)
        hidden = len(self.hides[len(self.places) + j]) if self.under else 0
        shape, dtype = meta[0][hidden:], np.result_type(t._value)
        if plain_shape(t) != shape:
            raise blame(
                ShapeError(f"the tangent that jvp of `{name}` gave has shape {plain_shape(t)}, but its output {shape}")
            )
        if dtype.kind == "c" and meta[1].kind != "c":
            raise blame(
                DtypeError(
                    f"the tangent that jvp of `{name}` gave is {dtype}, but its output {meta[1]}: take its real part"
                )
            )
        return t if dtype == meta[1] else t.astype(meta[1])

    def _shown_as_output(self, value: Any, j: int) -> Any:
        """A tangent or cotangent of output `j` in the shape of all examples, as the graph has it."""
        return self.under[-1].shown(value, self.hides[len(self.places) + j]) if self.under else value


def _zeros(x: Any) -> Any:
    """The tangent of what does not move; None of what is no number."""
    value = x._value if isinstance(x, Operand) else x
    if not (isinstance(value, (np.generic, int, float, complex)) or is_array(value)):
        return None
    return np.zeros_like(x, dtype=np.result_type(value, 0.0))


if TYPE_CHECKING:

    class Stated(CustomJvp, Generic[P, S]):
        """A function with a derivative of one's own, and its parameters."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> S: ...

    class Stating(Protocol):
        """The decorator with options."""

        def __call__(self, function: Callable[P, S], /) -> Stated[P, S]: ...


@overload
def custom_jvp(function: Callable[P, S], *, nondiff_argnums: tuple[int, ...] | int = ()) -> Stated[P, S]: ...
@overload
def custom_jvp(function: None = None, *, nondiff_argnums: tuple[int, ...] | int = ()) -> Stating: ...
@pruned
def custom_jvp(function: Any = None, *, nondiff_argnums: tuple[int, ...] | int = ()) -> Any:
    """`function` with a derivative of one's own, told forward: a decorator, and `f.defjvp(jvp)` says how it moves.

    `jvp(primals, tangents)` gives `(output, tangent)`: how the output moves along the tangents, one for each argument, in
    which it must be linear. `gs.jvp` runs it as it is, and `gs.grad` its transpose, so it is made of operations that
    have rules. `f.defjvps` says it argument by argument. Arguments, output and tangents may be trees (dict, list, tuple,
    dataclass). Arguments in `nondiff_argnums` are constants, and come first in `jvp(n, primals, tangents)`. Higher
    derivatives differentiate `jvp`. Complex tangents are the derivative itself, without a conjugate. Without
    differentiation it is simply `function`. Raises AutogradError without `defjvp`, ShapeError or DtypeError where a
    tangent is not like the output.

    >>> import numpy as np, gradscribe as gs
    >>> @gs.custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def moved(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))
    >>> gs.grad(log1pexp)(0.0), gs.jvp(log1pexp, (0.0,), (2.0,))[1]
    (np.float64(0.5), np.float64(1.0))
    """
    if function is None:
        return functools.partial(custom_jvp, nondiff_argnums=nondiff_argnums)
    listed = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
    return CustomJvp(function, {"nondiff_argnums": listed})
