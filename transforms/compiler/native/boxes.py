"""Boxes: C lines that make objects of Python's of what a kernel has, and that take what Python gives apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runtime.ir.graph import Value
from .values import CTYPES, Arr, CValue, Num, Obj, RefusedError, Stk, Tup, is_native, suffix

if TYPE_CHECKING:
    from .views import Place

__all__ = ["box", "declared", "scalar_of", "unboxed"]


def scalar_of(x: Num) -> str:
    """A new reference to a number, as what it is: of Python's, NumPy's, or an array of one element."""
    if x.kind == "python":
        return {"f": "PyFloat_FromDouble", "i": "PyLong_FromLongLong", "b": "PyBool_FromLong"}[
            x.dtype.kind
        ] + f"({x.c})"
    maker = "scalar" if x.kind == "scalar" else "array_of_one"
    parts = (x.c, "0") if x.dtype.kind == "f" else ("0", x.c)
    return f"{maker}(st, {suffix(x.dtype).upper()}, {', '.join(parts)})"


def box(block: Place, lines: list[str], x: CValue) -> str:
    """The object of a value: a reference that somebody else owns."""
    if isinstance(x, Obj):
        return x.c
    if isinstance(x, Arr) and x.obj:
        return x.obj
    if isinstance(x, Stk):
        raise RefusedError("a list of C is needed as one of Python")
    k = block.emitter.object()
    if isinstance(x, Num):
        lines.append(f"hold(f, {k}, {scalar_of(x)});")
    elif isinstance(x, Arr):
        parts = [f"(int64_t[]){{{', '.join(xs) or '0'}}}" for xs in (x.dims, x.strides)]
        letter = suffix(x.dtype).upper()
        lines.append(f"hold(f, {k}, boxed(st, {letter}, (void *){x.p}, {len(x.dims)}, {', '.join(parts)}));")
    elif isinstance(x, Tup):
        lines.append(f"hold(f, {k}, PyTuple_New({len(x.items)}));")
        lines.append(f"if (!f->o[{k}]) goto fail;")
        for j, item in enumerate(x.items):
            text = box(block, lines, item)
            lines.append(f"PyTuple_SetItem(f->o[{k}], {j}, again({text}));")
    lines.append(f"if (!f->o[{k}]) goto fail;")
    return f"f->o[{k}]"


def unboxed(block: Place, lines: list[str], v: Value, text: str, name: Value | str, level: int = 0) -> CValue:
    """What an object of Python's is in C, with the lines that take it apart; another type than `v`'s goes to NumPy."""
    if not is_native(v.type):
        return Obj(text)
    e, t = block.emitter, CTYPES[v.type.dtype.name]
    own = e.name(name)
    letter = suffix(v.type.dtype).upper()
    if v.type.kind == "array":
        rank = len(v.type.shape)
        lines.append(f"if (!is_array(st, {text}, {letter}, {rank})) goto punt;")
        if rank == 0:
            lines.append(f"const {t} {own} = *({t} *)ARRAY({text})->data;")
            return Num(own, v.type.dtype, "array")
        lines.append(f"{t} *const {own} = ({t} *)ARRAY({text})->data;")
        dims: list[str] = []
        strides: list[str] = []
        for k, n in enumerate(v.type.shape):
            if n == 1:
                lines.append(f"if (ARRAY({text})->dims[{k}] != 1) goto punt;")
                dims.append("1")
                strides.append("0")
                continue
            dims.append(block.new_dim(e.name(f"{own}_n{k}"), level))
            strides.append(e.name(f"{own}_step{k}"))
            lines.append(f"const int64_t {dims[-1]} = ARRAY({text})->dims[{k}];")
            lines.append(f"const int64_t {strides[-1]} = ARRAY({text})->strides[{k}] / (int64_t)sizeof({t});")
        return Arr(own, tuple(dims), tuple(strides), v.type.dtype, text)
    if v.type.dtype.kind == "f":
        lines.append(f"const {t} {own} = ({t})PyFloat_AsDouble({text});")
        lines.append(f"if ({own} == -1 && PyErr_Occurred()) goto fail;")
    elif v.type.dtype.kind == "i":
        lines.append(f"const {t} {own} = PyLong_AsLongLong({text});")
        lines.append(f"if ({own} == -1 && PyErr_Occurred()) goto fail;")
    else:
        lines.append(f"const {t} {own} = PyObject_IsTrue({text}) > 0;")
        lines.append("if (PyErr_Occurred()) goto fail;")
    return Num(own, v.type.dtype, v.type.kind)


def declared(block: Place, lines: list[str], v: Value, is_kept: bool) -> CValue:
    """A variable that each arm of a branch sets; of a list, `is_kept` says whether C has it."""
    e = block.emitter
    if not is_native(v.type):
        if v.type.kind == "stack":
            if not is_kept:
                raise RefusedError("a branch gives a list that C does not have")
            own = e.name(v)
            lines.append(f"Stack *{own} = 0;")
            assert v.element is not None
            return Stk(own, v.element)
        return Obj(f"f->o[{e.object()}]")
    t, own = CTYPES[v.type.dtype.name], e.name(v)
    if not v.type.shape:
        lines.append(f"{t} {own};")
        return Num(own, v.type.dtype, v.type.kind)
    lines.append(f"{t} *{own};")
    dims, strides = [], []
    for k, n in enumerate(v.type.shape):
        dims.append("1" if n == 1 else e.name(f"{own}_n{k}"))
        strides.append(e.name(f"{own}_step{k}"))
        lines.append(f"int64_t {strides[-1]}{'' if n == 1 else f', {dims[-1]}'};")
    return Arr(own, tuple(dims), tuple(strides), v.type.dtype)
