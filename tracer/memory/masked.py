"""`out=` of any function, `where=` and `dtype=` of ufuncs: no rule mentions them."""

from __future__ import annotations

import sys
from typing import Any

from ...runtime.errors import GradientLossError, NoRuleError
from ...runtime.memory import NEW
from ...runtime.ops import Kind, Op, Vjp
from ...unpatched import np
from ..core import dispatch
from ..core.site import blame
from ..core.tensor_base import Operand
from ..core.thread_state import LOCAL, refuse
from . import eager_writes

__all__ = ["apply_masked", "into", "with_words", "without_out"]


def with_words(op: Op, kwargs: dict[str, Any]) -> Op:
    """The op of a ufunc that was called with `dtype=`, `casting=` and the like."""
    made = op.derived.get("words")
    if made is None:
        words = "dtype=None, casting='same_kind', order='K', subok=True, signature=None"
        made = op.derived["words"] = Op(
            op.fn, f"{op.signature}, *, {words}", op.kind, path=op.path, title=op.title, vjps=op.vjps, base=op
        )
    return made


def _masked(op: Op) -> Op:
    """The op of a ufunc under `where=` and `out=`: what stood in `out` before is one more argument, `into`."""
    made = op.derived.get("masked")
    if made is not None:
        return made
    n = len(op.params)

    def call(*args: Any, **words: Any) -> Any:
        arrays, (into, where) = args[:n], args[n : n + 2]
        out = None if into is None else np.array(into)
        return op.fn(*arrays, out=out, where=where, **words)

    call.__name__ = op.name
    made = op.derived["masked"] = Op(
        call, f"{op.signature}, into, where, *, dtype=None, casting='same_kind'",
        Kind.elementwise if getattr(op.fn, "signature", None) is None else op.kind, path=op.path, title=op.title,
        memory=NEW, base=op,
    )  # fmt: skip
    for name, vjp in op.vjps.items():
        made.vjps[name] = None if vjp is None else _mask_vjp(vjp)
    made.vjps["into"] = Vjp(lambda g, where: np.where(where, 0, g))
    made.vjps["where"] = None
    return made


def _recorded(op: Op) -> Op:
    """The same for the compiler, under a name that no pass takes for the plain op."""
    made = op.derived.get("recorded")
    if made is None:
        plain = _masked(op)
        made = op.derived["recorded"] = Op(
            plain.fn, plain.signature, plain.kind, path=f"{op.path}_where", title=f"Masked{op.title}",
            memory=plain.memory, vjps=plain.vjps,
        )  # fmt: skip
    return made


def _mask_vjp(vjp: Vjp) -> Vjp:
    def formula(g: Any, where: Any, *named: Any) -> Any:
        again = LOCAL.recorder is None or LOCAL.differentiating > 1  # whether a derivative of this one may follow
        if again and LOCAL.grad and where is not True and any(map(_is_differentiated, (g, *named))):
            g, *named = [np.where(where, v, 1) if _is_of_numbers(v) else v for v in (g, *named)]  # type: ignore[assignment]
        found = vjp.fn(*[g if n == "g" else named[j] for j, n in enumerate(vjp.names)])
        return found if where is True else np.where(where, found, 0)

    made = Vjp(formula)
    made.names = ("g", "where", *["out" if n == "g" else n for n in vjp.names])
    return made


def _is_differentiated(value: Any) -> bool:
    return isinstance(value, Operand) and value._node is not None


def _is_of_numbers(value: Any) -> bool:
    """Whether a value has a derivative, which may be infinite where `where=` does not hold: zero times that is NaN."""
    return getattr(value, "dtype", None) is not None and value.dtype.kind in "fc"


def apply_masked(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc with `where=` or `out=`: compute into a copy, then write that back."""
    words = dict(kwargs)
    out = words.pop("out", None)
    where = words.pop("where", True)
    if op.n_out != 1 and isinstance(out, tuple):
        if where is not True:
            raise blame(NoRuleError(f"{op.path} with where= has no gradient rule in gradscribe; use np.where"))
        results = dispatch.apply(op, args, words)
        return tuple([r if o is None else into(op.path, o, r) for o, r in zip(out, results, strict=True)])
    if isinstance(out, tuple):
        (out,) = out
    if LOCAL.depth and where is True and not words and isinstance(out, Operand):
        result = dispatch.apply(op, args, {})
        if (np.shape(result._value), result.dtype) == (np.shape(out._value), out.dtype):
            return _into(out, result)
    if out is None:
        refuse("uses `where=` of a ufunc without `out=`, which leaves values undefined")
    if isinstance(out, Operand) and not LOCAL.depth and any(a is out for a in args):
        eager_writes.may_write(out, f"{op.path}(..., out=x)", *args)
        before = eager_writes.snapshot(out)
        args = tuple([before if a is out else a for a in args])
    result = dispatch.apply(
        _masked(op) if LOCAL.recorder is None else _recorded(op),
        (*args, out, where),
        {k: v for k, v in words.items() if k in ("dtype", "casting")},
    )
    return result if out is None else _into(out, result)


def without_out(
    op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The `out` of a call (which may be None) and the rest of it; None where there is no `out` in it, or no such parameter."""
    names = op.base.with_out.split()
    if "out" in names and "out" in kwargs:
        return kwargs["out"], args, {k: v for k, v in kwargs.items() if k != "out"}
    if "out" not in names or not names.index("out") < len(args) <= len(names):
        return None
    place = names.index("out")
    return args[place], args[:place], kwargs | dict(zip(names[place + 1 :], args[place + 1 :], strict=False))


def into(path: str, out: Any, result: Any) -> Any:
    """Write the result of a function into its `out=`, and give that."""
    if isinstance(out, Operand) and out.requires_grad and out.is_leaf and not LOCAL.depth:
        return _into(out, result)  # raises: no leaf is written into
    if np.shape(out) != np.shape(result):
        raise blame(ValueError(f"{path}: out= has the shape {np.shape(out)}, but the result {np.shape(result)}"))
    if not np.can_cast(result.dtype, np.result_type(out), "same_kind"):
        raise blame(TypeError(f"{path}: the result is {result.dtype}, which out= of {np.result_type(out)} cannot hold"))
    return _into(out, result)


def _into(out: Any, result: Any) -> Any:
    if isinstance(out, Operand):
        eager_writes.write(out, result, "out=")
        return out
    refuse("writes into an array of unknown origin (`out=`)")
    if result._node is not None:
        raise blame(
            GradientLossError(
                "out= is a NumPy array, but the result requires grad, which the array would lose. "
                "Leave out= away, or make the buffer inside the function under gs.grad (np.zeros there can hold Tensors)."
            )
        )
    out[...] = result._value
    return out


dispatch.install_masked(sys.modules[__name__])
