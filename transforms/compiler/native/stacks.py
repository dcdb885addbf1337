"""Stacks: what loops remember for their reverse, in C: numbers, arrays, and stacks of these; and the rows of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.ir.graph import Call, Value
from .boxes import scalar_of
from .values import (
    CTYPES,
    Arr,
    CValue,
    Num,
    Obj,
    RefusedError,
    Stk,
    UnmodelledError,
    cast,
    contiguous,
    is_native,
    product,
    suffix,
)

if TYPE_CHECKING:
    from .views import Place

__all__ = [
    "as_list",
    "depth_of",
    "is_storable",
    "item_of",
    "items",
    "items_apart",
    "length_of",
    "listed",
    "pushed",
    "room_on",
    "stacked",
    "turned",
    "width_of",
]


def is_storable(element: Value | None) -> bool:
    """Whether C keeps a list of such items."""
    if element is None:
        return False
    return is_native(element.type) or (element.type.kind == "stack" and is_storable(element.element))


def depth_of(element: Value) -> int:
    """How many stacks lie within each other below an item."""
    return 0 if element.element is None else 1 + depth_of(element.element)


def width_of(element: Value) -> str:
    """How many ints a row of a stack has: of an array its place and its lengths, of a stack itself."""
    if element.type.kind == "stack":
        return "(int64_t)(sizeof(Stack) / 8)"
    return str(1 + len(element.type.shape))


def length_of(x: Stk) -> str:
    """The number of items."""
    return x.rows.dims[0] if x.rows is not None else f"{x.c}->n"


def room_on(block: Place, stack: Stk, dims: tuple[str, ...], dtype: np.dtype[Any]) -> str:
    """An expression for the memory of a new array at the end of a stack, which lies there as long as the stack does."""
    shape = ", ".join(dims)
    return f"new_item({stack.c}, {len(dims)}, (int64_t[]){{{shape}}}, sizeof({CTYPES[dtype.name]}))"


def pushed(block: Place, stack: Stk, x: CValue) -> list[str]:
    """Lines that put a value on a stack."""
    element = stack.element
    t = CTYPES.get(element.type.dtype.name, "")
    row = block.emitter.name("row")
    if isinstance(x, Stk):
        if x.rows is not None or element.type.kind != "stack":
            raise RefusedError("a list is put on a list that C does not have")
        return [
            f"Stack *const {row} = new_row({stack.c}, {width_of(element)});", f"if (!{row}) goto punt;",
            f"if ({x.c}) {{ *{row} = *{x.c}; memset({x.c}, 0, sizeof(Stack)); }} else memset({row}, 0, sizeof(Stack));",
        ]  # fmt: skip
    if isinstance(x, Num) and is_native(element.type) and not element.type.shape:
        return [
            f"{t} *const {row} = new_row({stack.c}, 1);", f"if (!{row}) goto punt;",
            f"*{row} = {cast(x.c, x.dtype, element.type.dtype)};",
        ]  # fmt: skip
    if isinstance(x, Arr) and x.dtype == element.type.dtype and len(x.dims) == len(element.type.shape):
        dims = block.roots(x.dims)
        tests = [
            f"if ({d} != 1) goto punt;" for d, n in zip(dims, element.type.shape, strict=True) if n == 1 and d != "1"
        ]
        lines = [f"{t} *const {row} = {room_on(block, stack, dims, x.dtype)};", f"if (!{row}) goto punt;"]
        return [*tests, *lines, *block.copied(Arr(row, dims, contiguous(dims), x.dtype, "", True), x, "=")]
    raise RefusedError("it puts on a list what C does not have")


def turned(stack: CValue) -> str:
    """A line that turns a list round."""
    if isinstance(stack, Obj):
        return f"if (PyList_Reverse({stack.c}) < 0) goto fail;"
    assert isinstance(stack, Stk)
    return (
        f"turn_stack({stack.c}, {width_of(stack.element) if stack.element.type.shape or stack.element.element else 1});"
    )


def item_of(block: Place, stack: Stk, place: str, v: Value, lines: list[str]) -> CValue:
    """The item of a list at a place, named by lines."""
    e = block.emitter
    own = e.name(v)
    if stack.rows is not None:
        a = stack.rows
        if a.dtype != v.type.dtype or len(a.dims) - 1 != len(v.type.shape):
            raise RefusedError("the rows of an array are of another type")
        t, at = CTYPES[a.dtype.name], f"{a.p} + {place} * ({a.strides[0]})"
        if not v.type.shape:
            lines.append(f"const {t} {own} = *({at});")
            return Num(own, a.dtype, v.type.kind)
        lines.append(f"{t} *const {own} = {at};")
        return Arr(own, block.roots(a.dims[1:]), a.strides[1:], a.dtype, "", a.dense)
    element = stack.element
    if v.element is not None:
        if element.type.kind != "stack":
            raise RefusedError("the items of a list are of another type")
        lines.append(f"Stack *const {own} = (Stack *){stack.c}->rows + {place};")
        return Stk(own, v.element)
    if not is_native(v.type) or element.type.dtype != v.type.dtype or len(element.type.shape) != len(v.type.shape):
        raise RefusedError("the items of a list are of another type")
    t = CTYPES[v.type.dtype.name]
    if not v.type.shape:
        lines.append(f"const {t} {own} = *({t} *)({stack.c}->rows + {place});")
        return Num(own, v.type.dtype, v.type.kind)
    row = e.name("row")
    lines.append(f"const int64_t *const {row} = {stack.c}->rows + {place} * {width_of(element)};")
    lines.append(f"{t} *const {own} = ({t} *){row}[0];")
    dims = []
    for k, n in enumerate(v.type.shape):
        if n == 1:
            lines.append(f"if ({row}[{k + 1}] != 1) goto punt;")
            dims.append("1")
            continue
        dims.append(block.new_dim(e.name(f"{own}_n{k}"), 0))
        lines.append(f"const int64_t {dims[-1]} = {row}[{k + 1}];")
    return Arr(own, tuple(dims), contiguous(tuple(dims)), v.type.dtype, "", True)


def as_list(block: Place, lines: list[str], stack: Stk) -> str:
    """A list of Python's with the items of a stack: a reference that somebody else owns."""
    e, element = block.emitter, stack.element
    k = e.object()
    if stack.rows is not None or element.element is not None:
        raise RefusedError("a list of arrays or lists is handed to Python")
    n, place = e.name("items"), e.name("place")
    lines.append(f"const int64_t {n} = {length_of(stack)};")
    lines += [f"hold(f, {k}, PyList_New({n}));", f"if (!f->o[{k}]) goto fail;"]
    inner: list[str] = []
    found = item_of(block, stack, place, element, inner)
    part = e.name("part")
    if isinstance(found, Num):
        inner.append(f"PyObject *const {part} = {scalar_of(found)};")
    else:
        assert isinstance(found, Arr)
        letter = suffix(found.dtype).upper()
        inner.append(
            f"PyObject *const {part} = fresh(st, {letter}, {len(found.dims)}, (int64_t[]){{{', '.join(found.dims)}}}, 0);"
        )
        inner.append(
            f"if ({part}) memcpy(ARRAY({part})->data, {found.p}, sizeof({CTYPES[found.dtype.name]}) * ({product(found.dims)}));"
        )
    inner.append(f"if (!{part}) goto fail;")
    inner.append(f"PyList_SetItem(f->o[{k}], {place}, {part});")
    lines += [f"for (int64_t {place} = 0; {place} < {n}; {place}++) {{", *[f"    {line}" for line in inner], "}"]
    return f"f->o[{k}]"


# --- calls -----------------------------------------------------------------------------------------------------------


def items(block: Place, call: Call) -> None:
    """`list(x)` of an array: its rows, which stay where they are."""
    x, out = call.args[0], call.outs[0]
    found = block.env.get(x) if isinstance(x, Value) else None
    element = out.element
    if not isinstance(found, Arr) or element is None or not is_native(element.type):
        raise UnmodelledError
    if element.type.dtype != found.dtype or len(found.dims) - 1 != len(element.type.shape):
        raise UnmodelledError
    a = block.read(x)
    assert isinstance(a, Arr)
    block.env[out] = Stk("", element, a._replace(dims=block.roots(a.dims)))
    block.level[out] = block.levels(x)


def listed(block: Place, call: Call) -> None:
    """A list of arrays: each is put on a stack."""
    (out,) = call.outs
    values = call.args[0]
    element = out.element
    found = [block.env.get(v) for v in values]
    if element is None or not is_storable(element) or not element.type.shape:
        raise UnmodelledError
    for x in found:
        if not isinstance(x, Arr) or x.dtype != element.type.dtype or len(x.dims) != len(element.type.shape):
            raise UnmodelledError
    block.new_list(out)
    for v in values:
        block.group("{", *[f"    {line}" for line in pushed(block, block.env[out], block.read(v))], "}")  # type: ignore[arg-type]
    block.level[out] = len(block.groups)


def items_apart(block: Place, call: Call) -> None:
    """The items of a list, one by one: those that are results are arrays of their own."""
    x = call.args[0]
    stack = block.env.get(x) if isinstance(x, Value) else None
    assert isinstance(stack, Stk)
    e, level = block.emitter, len(block.groups)
    lines = [f"if ({length_of(stack)} != {len(call.outs)}) goto punt;{block.comment(call)}"]
    made: dict[Value, Arr] = {}
    for k, v in enumerate(call.outs):
        found = item_of(block, stack, str(k), v, lines)
        assert isinstance(found, Arr)
        block.dim_level |= dict.fromkeys([d for d in found.dims if d != "1"], level + 1)
        made[v] = found
    block.group(*lines)
    for v, found in made.items():
        block.env[v] = found
        if v in block.held:
            own, t = e.name("part"), CTYPES[found.dtype.name]
            room = block.room(v, found.dims)
            copied = f"memcpy({own}, {found.p}, sizeof({t}) * ({product(found.dims)}));"
            block.group(f"{t} *const {own} = {room};", f"if (!{own}) goto punt;", copied)
            block.env[v] = Arr(own, found.dims, found.strides, found.dtype, block.held[v], True, True)
        block.level[v] = len(block.groups)


def stacked(block: Place, call: Call) -> None:
    """`np.stack` of a list: an array with its items along the first axis."""
    x, axis = call.args[0], call.args[1] if len(call.args) > 1 else 0
    out = call.outs[0]
    found = block.env.get(x) if isinstance(x, Value) else None
    if not isinstance(found, Stk) or found.rows is not None or found.element.element is not None:
        raise UnmodelledError
    rank = len(found.element.type.shape)
    if type(axis) is not int or axis not in (0, -1 - rank) or out.type.dtype != found.element.type.dtype:
        raise UnmodelledError
    e, dtype = block.emitter, out.type.dtype
    t, own, n = CTYPES[dtype.name], e.name(out), e.name("rows")
    if out.type.shape[0] == 1 or 1 in found.element.type.shape:
        raise UnmodelledError
    level = len(block.groups)
    lines = [f"const int64_t {n} = {found.c}->n;", f"if ({n} == 0) goto punt;"]
    dims = [block.new_dim(n, level + 1)]
    for k in range(rank):
        dims.append(block.new_dim(e.name(f"{own}_n{k + 1}"), level + 1))
        lines.append(f"const int64_t {dims[-1]} = {found.c}->rows[{k + 1}];")
    width = 1 + rank
    room = block.room(out, tuple(dims))
    lines += [f"{t} *const {own} = {room};", f"if (!{own}) goto punt;"]
    size = product(tuple(dims[1:]))
    body = [f"const int64_t *row = {found.c}->rows + k * {width};"]
    body += [f"if (row[{k + 1}] != {d}) goto punt;" for k, d in enumerate(dims[1:])]
    body.append(
        f"memcpy({own} + k * ({size}), (void *)row[0], sizeof({t}) * ({size}));" if rank else f"{own}[k] = *({t} *)row;"
    )
    lines += [f"for (int64_t k = 0; k < {n}; k++) {{{block.comment(call)}", *[f"    {line}" for line in body], "}"]
    block.group(*lines)
    held = block.held.get(out, "")
    block.env[out] = Arr(own, tuple(dims), contiguous(tuple(dims)), dtype, held, True, out in block.held)
    block.level[out] = level + 1
