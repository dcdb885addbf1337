"""Loop nests: elementwise calls and reductions over the same lengths as one nest of C loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np

from ....runtime.ir.graph import Value
from .lock import worked
from .values import CTYPES, Arr, Num, cast, contiguous, product, suffix

__all__ = ["Fold", "Item", "Nest", "written"]

BLOCK = 512  # elements whose sum is formed in vectors, before blocks are added in pairs


@dataclasses.dataclass(eq=False)
class Item:
    """One elementwise call: a form of operands, each a Value of the nest, an array, or a number."""

    value: Value
    name: str
    text: str
    operands: tuple[tuple[Any, np.dtype[Any]], ...]  # and the dtype that it is cast to
    dtype: np.dtype[Any]
    room: str  # an expression for memory, where the whole array is needed
    comment: str


@dataclasses.dataclass(eq=False)
class Fold:
    """One reduction of an operand over axes; `name` is a number, or a pointer where axes are left."""

    value: Value
    name: str
    how: str  # "sum", "mean", "max", "min"
    operand: Any
    axes: tuple[int, ...]
    dtype: np.dtype[Any]
    room: str
    comment: str


@dataclasses.dataclass(eq=False)
class Nest:
    """Loops over `dims`."""

    dims: tuple[str, ...]
    items: list[Item | Fold] = dataclasses.field(default_factory=list)


def written(nest: Nest, needed: Collection[Value], locals_: dict[Value, str], counts: bool) -> list[str]:
    """The C lines of a nest; `needed` are the values that are read elsewhere, `locals_` what others are called here.

    With `counts` they say how much work it is.
    """
    return _Writer(nest, needed, locals_, counts).lines()


class _Writer:
    def __init__(self, nest: Nest, needed: Collection[Value], locals_: dict[Value, str], counts: bool) -> None:
        self.nest, self.dims, self.rank = nest, nest.dims, len(nest.dims)
        self.locals, self.counts = locals_, counts
        self.items = [i for i in nest.items if isinstance(i, Item)]
        self.folds = [i for i in nest.items if isinstance(i, Fold)]
        self.stored = [i for i in self.items if i.value in needed]
        self.inputs: dict[tuple[str, tuple[str, ...]], tuple[str, Arr, tuple[str, ...]]] = {}
        for item in nest.items:
            operands = item.operands if isinstance(item, Item) else ((item.operand, item.dtype),)
            for operand, _ in operands:
                if isinstance(operand, Arr):
                    strides = self.aligned(operand)
                    self.inputs.setdefault((operand.p, strides), (f"e{len(self.inputs)}", operand, strides))
        self.partial = [f for f in self.folds if len(f.axes) < self.rank]

    def aligned(self, a: Arr) -> tuple[str, ...]:
        """The strides of an array along the axes of the nest."""
        missing = self.rank - len(a.dims)
        own = ["0" if have == "1" else s for have, s in zip(a.dims, a.strides, strict=True)]
        return ("0",) * missing + tuple(own)

    def lines(self) -> list[str]:
        made: list[str] = []
        for item in self.stored:
            t = CTYPES[item.dtype.name]
            made.append(f"{t} *const {item.name} = {item.room};")
            made.append(f"if (!{item.name}) goto punt;")
        for fold in self.folds:
            t = CTYPES[fold.dtype.name]
            if fold in self.partial:
                count = product(tuple(d for k, d in enumerate(self.dims) if k not in fold.axes))
                made += [f"{t} *const {fold.name} = {fold.room};", f"if (!{fold.name}) goto punt;"]
                made.append(f"for (int64_t i = 0; i < {count}; i++) {fold.name}[i] = {self.start(fold)};")
            elif self.adds(fold):
                made.append(f"sums_{suffix(fold.dtype)} {fold.name}_s; {fold.name}_s.n = 0;")
            else:
                made.append(f"{t} {fold.name} = {self.start(fold)};")
            if fold.how in ("max", "min"):
                counted = product(tuple(self.dims[k] for k in fold.axes))
                made.append(f"if ({counted} == 0) goto punt;")
        if self.counts:
            made += worked(self.dims, len(self.nest.items))
        flat, test = self.is_flat(), self.test()
        if not flat:
            test = self.unit_test()
        if test:
            made.append(f"if ({test}) {{")
            made += _deeper(self.loops("flat" if flat else "unit"))
            made += ["} else {", *_deeper(self.loops("strided")), "}"]
        else:
            made += ["{", *_deeper(self.loops("flat" if flat else "unit")), "}"]
        for fold in self.folds:
            t, n = CTYPES[fold.dtype.name], product(tuple(self.dims[k] for k in fold.axes))
            if fold in self.partial:
                if fold.how == "mean":
                    count = product(tuple(d for k, d in enumerate(self.dims) if k not in fold.axes))
                    made.append(f"for (int64_t i = 0; i < {count}; i++) {fold.name}[i] /= ({t})({n});")
            elif self.adds(fold):
                mean = f" / ({t})({n})" if fold.how == "mean" else ""
                made.append(f"const {t} {fold.name} = total_{suffix(fold.dtype)}(&{fold.name}_s){mean};")
        return made

    def adds(self, fold: Fold) -> bool:
        return fold.how in ("sum", "mean")

    def start(self, fold: Fold) -> str:
        if self.adds(fold):
            return "0"
        if fold.dtype.kind == "f":
            return "-INFINITY" if fold.how == "max" else "INFINITY"
        return "(-9223372036854775807LL - 1)" if fold.how == "max" else "9223372036854775807LL"

    def is_flat(self) -> bool:
        """Whether one loop may run through all elements, where the arrays that are read are dense."""
        if self.partial or self.rank == 0:
            return False
        return all(
            set(strides) == {"0"} or (len(a.dims) == self.rank and all(
                d == n for d, n in zip(a.dims, self.dims, strict=True)
            ))
            for _, a, strides in self.inputs.values()
        )  # fmt: skip

    def test(self) -> str:
        tests: list[str] = []
        for _, a, strides in self.inputs.values():
            if a.dense or set(strides) <= {"0"}:
                continue
            for s, expect, d in zip(a.strides, contiguous(a.dims), a.dims, strict=True):
                if d != "1" and s != expect:
                    tests.append(f"{s} == {expect}")
        return " && ".join(dict.fromkeys(tests))

    def unit_test(self) -> str:
        last = [strides[-1] for _, _, strides in self.inputs.values() if strides]
        return " && ".join(dict.fromkeys(f"{s} == 1" for s in last if s not in ("0", "1")))

    def loops(self, mode: str) -> list[str]:
        if mode == "flat":
            return self.inner(mode, product(self.dims), 0)
        made: list[str] = []
        close: list[tuple[str, int]] = []
        for k in range(self.rank - 1):
            made += ["    " * k + line for line in self.opened(k)]
            made.append("    " * k + f"for (int64_t i{k} = 0; i{k} < {self.dims[k]}; i{k}++) {{")
            close.insert(0, ("    " * k + "}", k))
        depth = max(self.rank - 1, 0)
        indent = "    " * depth
        for name, a, strides in self.inputs.values():
            outer = " + ".join(f"i{k} * {s}" for k, s in enumerate(strides[:-1]) if s != "0")
            made.append(f"{indent}const {CTYPES[a.dtype.name]} *{name}_r = {a.p}{' + ' * bool(outer)}{outer};")
        for item in self.stored:
            outer = " + ".join(f"i{k} * ({s})" for k, s in enumerate(contiguous(self.dims)[:-1]))
            made.append(f"{indent}{CTYPES[item.dtype.name]} *{item.name}_r = {item.name}{' + ' * bool(outer)}{outer};")
        for fold in self.partial:
            strides = self.out_strides(fold)
            outer = " + ".join(f"i{k} * ({s})" for k, s in enumerate(strides[:-1]) if s != "0")
            made.append(f"{indent}{CTYPES[fold.dtype.name]} *{fold.name}_r = {fold.name}{' + ' * bool(outer)}{outer};")
        made += [f"{indent}{line}" for line in self.opened(depth)]
        made += [f"{indent}{line}" for line in self.inner(mode, self.dims[-1] if self.rank else "1", depth)]
        made += [f"{indent}{line}" for line in self.closed(depth)]
        for text, k in close:
            made.append(text)
            made += ["    " * k + line for line in self.closed(k)]
        return made

    def suffix_from(self, fold: Fold) -> int | None:
        """The axis from which on a sum runs over all that follow; None where it does not."""
        first = fold.axes[0] if fold.axes else self.rank
        return first if fold in self.partial and fold.axes == tuple(range(first, self.rank)) else None

    def opened(self, depth: int) -> list[str]:
        return [
            f"sums_{suffix(f.dtype)} {f.name}_s; {f.name}_s.n = 0;"
            for f in self.partial if self.adds(f) and self.suffix_from(f) == depth
        ]  # fmt: skip

    def closed(self, depth: int) -> list[str]:
        made = []
        for f in self.partial:
            if self.adds(f) and self.suffix_from(f) == depth:
                outer = (
                    " + ".join(f"i{k} * ({s})" for k, s in enumerate(self.out_strides(f)[:depth]) if s != "0") or "0"
                )
                made.append(f"{f.name}[{outer}] = total_{suffix(f.dtype)}(&{f.name}_s);")
        return made

    def out_strides(self, fold: Fold) -> tuple[str, ...]:
        left = tuple(d for k, d in enumerate(self.dims) if k not in fold.axes)
        strides = iter(contiguous(left))
        return tuple("0" if k in fold.axes else next(strides) for k in range(self.rank))

    def inner(self, mode: str, count: str, depth: int) -> list[str]:
        """The innermost loop; sums run block by block."""
        last = self.rank - 1
        local = [f for f in self.folds if f not in self.partial or last in f.axes]
        sums = [f for f in local if self.adds(f)]
        ordered = [f for f in self.folds if not self.adds(f)]
        made: list[str] = []
        hoisted: dict[str, str] = {}
        loads: dict[tuple[str, tuple[str, ...]], str] = {}
        for key, (name, a, strides) in self.inputs.items():
            t, base = CTYPES[a.dtype.name], a.p if mode == "flat" else f"{name}_r"
            step = strides[-1] if strides else "0"
            if mode == "flat":
                step = "0" if set(strides) == {"0"} else "1"
            loads[key] = f"{name}_v"
            if step == "0":
                made.append(f"const {t} {name}_v = *{base};")
            else:
                place = "i" if mode in ("flat", "unit") or step == "1" else f"i * {step}"
                hoisted[name] = f"const {t} {name}_v = {base}[{place}];"
        body = list(hoisted.values())
        text_of = self.operand_texts(loads)
        for item in self.nest.items:
            if isinstance(item, Item):
                t = CTYPES[item.dtype.name]
                texts = [text_of(o, d) for o, d in item.operands]
                local_name = self.locals[item.value]
                body.append(f"const {t} {local_name} = {item.text.format(*texts)};{item.comment}")
                if item in self.stored:
                    body.append(f"{item.name if mode == 'flat' else item.name + '_r'}[i] = {local_name};")
            else:
                x = text_of(item.operand, item.dtype)
                if item in sums:
                    body.append(f"{item.name}_b += {x};{item.comment}")
                elif item in self.partial:
                    step = self.out_strides(item)[-1]
                    place = f"{item.name}_r[{'i' if step == '1' else '0' if step == '0' else f'i * {step}'}]"
                    body.append(
                        f"{place} += {x};{item.comment}" if self.adds(item)
                        else f"{place} = {item.how}_{suffix(item.dtype)}({x}, {place});{item.comment}"
                    )  # fmt: skip
                else:
                    body.append(f"{item.name} = {item.how}_{suffix(item.dtype)}({x}, {item.name});{item.comment}")
        pragma = []
        if not ordered:
            clause = "".join(f" reduction(+:{f.name}_b)" for f in sums)
            pragma = [f"#pragma omp simd{clause}"]
        if not sums:
            return [*made, *pragma, f"for (int64_t i = 0; i < {count}; i++) {{", *_deeper(body), "}"]
        made.append(f"for (int64_t b = 0; b < {count}; b += {BLOCK}) {{")
        rows = [f"const int64_t end = b + {BLOCK} < {count} ? b + {BLOCK} : {count};"]
        rows += [f"{CTYPES[f.dtype.name]} {f.name}_b = 0;" for f in sums]
        rows += [*pragma, "for (int64_t i = b; i < end; i++) {", *_deeper(body), "}"]
        for f in sums:
            if f in self.partial and self.suffix_from(f) is None:
                rows.append(f"{f.name}_r[0] += {f.name}_b;")
            else:
                rows.append(f"add_{suffix(f.dtype)}(&{f.name}_s, {f.name}_b);")
        return [*made, *_deeper(rows), "}"]

    def operand_texts(self, loads: dict[tuple[str, tuple[str, ...]], str]) -> Any:
        types = {i.value: i.dtype for i in self.items}

        def text(operand: Any, want: np.dtype[Any]) -> str:
            if isinstance(operand, Value):
                return cast(self.locals[operand], types[operand], want)
            if isinstance(operand, Arr):
                return cast(loads[operand.p, self.aligned(operand)], operand.dtype, want)
            if isinstance(operand, Num):
                return cast(operand.c, operand.dtype, want)
            return str(operand)

        return text


def _deeper(lines: list[str]) -> list[str]:
    return [line if line.startswith("#") else f"    {line}" for line in lines]
