"""`out=`, `where=` and `dtype=` of ufuncs, each an op derived from the plain one, so that no rule mentions them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.errors import GradientLossError
from ..runtime.ops import Kind, Op, Vjp
from . import dispatch, storage
from .modes import LOCAL
from .operand import Operand
from .site import blame

__all__ = ["apply_masked", "apply_out", "with_words"]


def with_words(op: Op, kwargs: dict[str, Any]) -> Op:
    """The op of a ufunc that was called with `dtype=`, `casting=` and the like."""
    made = op.derived.get("words")
    if made is None:
        words = "dtype=None, casting='same_kind', order='K', subok=True, signature=None"
        made = op.derived["words"] = Op(
            op.fn, f"{op.signature}, *, {words}", op.kind, path=op.path, title=op.title, vjps=op.vjps
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
            plain.fn, plain.signature, plain.kind, path=f"{op.path}_where", title=f"Masked{op.title}", vjps=plain.vjps
        )
    return made


def _mask_vjp(vjp: Vjp) -> Vjp:
    def formula(g: Any, where: Any, *named: Any) -> Any:
        found = vjp.fn(*[g if n == "g" else named[j] for j, n in enumerate(vjp.names)])
        return found if where is True else np.where(where, found, 0)

    made = Vjp(formula)
    made.names = ("g", "where", *["out" if n == "g" else n for n in vjp.names])
    return made


def apply_masked(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc with `where=` or `out=`: compute into a copy, then write that back."""
    words = dict(kwargs)
    out = words.pop("out", None)
    if isinstance(out, tuple):
        (out,) = out
    where = words.pop("where", True)
    if LOCAL.depth and where is True and not words and isinstance(out, Operand):
        result = dispatch.apply(op, args, {})
        if (np.shape(result._value), result.dtype) == (np.shape(out._value), out.dtype):
            return _into(out, result)
    if LOCAL.recorder is not None and out is None:
        LOCAL.recorder.fail("uses `where=` of a ufunc without `out=`, which leaves values undefined")
    if isinstance(out, Operand) and not LOCAL.depth and any(a is out for a in args):
        storage.may_write(out, f"{op.path}(..., out=x)", *args)
        before = storage.snapshot(out)
        args = tuple([before if a is out else a for a in args])
    result = dispatch.apply(
        _masked(op) if LOCAL.recorder is None else _recorded(op),
        (*args, out, where),
        {k: v for k, v in words.items() if k in ("dtype", "casting")},
    )
    return result if out is None else _into(out, result)


def apply_out(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`out=` of a function that is not a ufunc."""
    words = dict(kwargs)
    return _into(words.pop("out"), dispatch.apply(op, args, words))


def _into(out: Any, result: Any) -> Any:
    if isinstance(out, Operand):
        storage.write(out, result, "out=")
        return out
    if LOCAL.recorder is not None:
        LOCAL.recorder.fail("writes into an array of unknown origin (`out=`)")
    if result._node is not None:
        raise blame(
            GradientLossError(
                "out= is a NumPy array, but the result requires grad, which the array would lose. "
                "Leave out= away, or make the buffer inside the function under gs.grad (np.zeros there can hold Tensors)."
            )
        )
    out[...] = result._value
    return out
