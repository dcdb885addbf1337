"""Loop nests: elementwise calls and reductions over the same lengths as one nest of C loops."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Value
from .lock import worked
from .values import CTYPES, Arr, Num, cast, contiguous, product, suffix

__all__ = ["Apart", "Fold", "Item", "Nest", "written"]

BLOCK = 512  # elements whose sum is formed in vectors, before blocks are added in pairs
CHUNK = 1 << 18  # operations of one chunk of a nest, about 15 µs: what a thread does at once
LOOP = 256  # what the innermost loop costs beside its elements, which may be few
ROWS = 64  # of one chunk at least, where each has sums of its own over whole rows

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_CALL = re.compile(r"\b[a-z]\w*\(")


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
    elements: int  # of the capture
    items: list[Item | Fold] = dataclasses.field(default_factory=list)


class Apart(NamedTuple):
    """What a nest needs of the function that it stands in."""

    name: Callable[[str], str]
    slot: Callable[[], int]
    functions: list[str] | None  # where one is put that does a chunk; None for one chunk after the other, in place
    counts: bool  # whether it says how much work it is


def written(nest: Nest, needed: Collection[Value], locals_: dict[Value, str], apart: Apart) -> list[str]:
    """The C lines of a nest; `needed` are the values that are read elsewhere, `locals_` what others are called here."""
    writer = _Writer(nest, needed, locals_)
    one = all(d.isdigit() for d in nest.dims) and math.prod(map(int, nest.dims)) <= 4 * BLOCK
    return writer.lines(apart) if one or (apart.functions is None and writer.is_alike()) else writer.chunked(apart)


class _Writer:
    def __init__(self, nest: Nest, needed: Collection[Value], locals_: dict[Value, str]) -> None:
        self.nest, self.dims, self.rank = nest, nest.dims, len(nest.dims)
        self.needed, self.locals = needed, locals_
        self.axis: int | None = None  # of which these lines do a chunk: from `from` to `to`
        self.ends: list[str] = []  # what they do then
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

    def is_alike(self) -> bool:
        """Whether sums are the same without chunks: those of dense elements, of which a chunk has a power of two."""
        sums = any(self.adds(f) for f in self.folds if f not in self.partial)
        split = any(self.axis_of_chunks() in f.axes for f in self.partial)
        return not split and (not sums or self.rank == 1 or (self.is_flat() and not self.test()))

    def axis_of_chunks(self) -> int:
        """The first axis whose length is not 1 in every call."""
        return next((k for k, d in enumerate(self.dims) if d != "1"), 0)

    def lines(self, apart: Apart) -> list[str]:
        """The nest as one chunk."""
        made = [*self.memory(), *self.work(apart), *[self.filled(f) for f in self.partial]]
        return [*made, *self.begun(), *self.body(), *self.ended(), *self.means()]

    def chunked(self, apart: Apart) -> list[str]:
        """The nest in chunks of an axis, whose lengths are decided by lengths alone; each sums for itself."""
        name = apart.name("loop")
        n, chunk, chunks = names = [apart.name(f"{name}_{word}") for word in ("n", "chunk", "chunks")]
        axis = self.axis_of_chunks()
        split = [f for f in self.partial if axis in f.axes]  # sums over whole rows, of which each chunk has an array
        each, length = product(self.dims[axis + 1 :]), self.dims[axis]
        weight = self.weight()
        most = max(4 * BLOCK, 1 << max(CHUNK // weight, 1).bit_length() - 1)
        row = str(weight) if each == "1" else f"{weight} * {each} + {LOOP} * {product(self.dims[axis + 1 : -1])}"
        rows = str(most) if each == "1" and not split else f"rows_of({row}, {CHUNK}, {ROWS if split else 1})"
        if self.is_flat() and each != "1":
            test = self.test()
            length = f"{test} ? {product(self.dims)} : {length}" if test else product(self.dims)
            rows = f"{test} ? {most} : {rows}" if test else str(most)
        made = [*self.memory(), f"const int64_t {n} = {length}, {chunk} = {rows};"]
        if split or len(self.partial) < len(self.folds):
            made.append(f"const int64_t {chunks} = ({n} + {chunk} - 1) / {chunk};")
        made += [self.filled(f) for f in self.partial if f not in split]
        made += [f"if ({chunks} != 1) {self.filled(f)}" for f in split]
        if apart.functions is None:
            return [*made, *self.one_by_one(apart, names, axis, split), *self.means()]
        return [*made, *self.called(apart, name, names, axis, split), *self.means()]

    def work(self, apart: Apart) -> list[str]:
        """The line that says how much work it is."""
        return worked(self.dims, len(self.nest.items)) if apart.counts else []

    def one_by_one(self, apart: Apart, names: list[str], axis: int, split: list[Fold]) -> list[str]:
        """One chunk after the other, in place."""
        n, chunk, chunks = names
        inner = _Writer(self.nest, self.needed, self.locals)
        inner.axis = axis
        before: list[str] = []
        inside: list[str] = []
        joined: list[str] = []
        after: list[str] = []
        for fold in self.folds:
            t, s = CTYPES[fold.dtype.name], suffix(fold.dtype)
            if fold in split:
                own, size = f"{fold.name}_s", self.size_of(fold)
                room = f"room(f, {apart.slot()}, sizeof({t}) * ({size}))"
                before += [f"{t} *const {own} = {chunks} == 1 ? {fold.name} : {room};", f"if (!{own}) goto punt;"]
                inside += [f"{t} *const {fold.name} = {own};", self.filled(fold)]
                step = self.joined(fold, f"{own}[i]", f"{fold.name}[i]")
                joined.append(f"if ({chunks} != 1) for (int64_t i = 0; i < {size}; i++) {step}")
            elif fold not in self.partial:
                whole = apart.name(f"{fold.name}_all")
                if self.adds(fold):
                    before.append(f"sums_{s} {whole}; {whole}.n = 0;")
                    left = apart.name(f"{fold.name}_left")
                    before.append(f"{t} {left} = 0;")
                    total = f"total_{s}(&{fold.name}_s)"
                    inner.ends.append(f"if (to - from == {chunk}) add_{s}(&{whole}, {total}); else {left} = {total};")
                    ended = f"ended_{s}(&{whole}, {left}, {n} % {chunk} != 0)"
                    after.append(f"const {t} {fold.name} = {ended}{self.mean(fold)};")
                else:
                    before.append(f"{t} {whole} = {self.start(fold)};")
                    inner.ends.append(self.joined(fold, fold.name, whole))
                    after.append(f"const {t} {fold.name} = {whole};")
        return [
            *before, *self.work(apart), f"for (int64_t from = 0; from < {n}; from += {chunk}) {{",
            f"    const int64_t to = from + {chunk} < {n} ? from + {chunk} : {n};",
            *_deeper(["{", *_deeper([*inside, *inner.begun(), *inner.body(), *inner.ends]), "}"] if joined else [
                *inside, *inner.begun(), *inner.body(), *inner.ends
            ]), *_deeper(joined), "}", *after,
        ]  # fmt: skip

    def called(self, apart: Apart, name: str, names: list[str], axis: int, split: list[Fold]) -> list[str]:
        """A call of a function for each chunk, which threads may share."""
        n, chunk, chunks = names
        held = _Held()
        inner = _Writer(held.nest(self.nest), self.needed, self.locals)
        inner.axis = axis
        before: list[str] = []
        inside: list[str] = []
        after: list[str] = []
        whole: list[Item | Fold] = [*self.stored, *[f for f in self.partial if f not in split]]
        for x in whole:
            held(x.name, f"{CTYPES[x.dtype.name]} *")
        for fold in self.folds:
            if fold in self.partial and fold not in split:
                continue
            t, own = CTYPES[fold.dtype.name], f"{fold.name}_s"
            size = self.size_of(fold) if fold in split else "1"
            room = f"room(f, {apart.slot()}, sizeof({t}) * ({product((chunks, size))}))"
            before.append(f"{t} *const {own} = {f'{chunks} == 1 ? {fold.name} : {room}' if fold in split else room};")
            before.append(f"if (!{own}) goto punt;")
            held.part(own, f"{t} *")
            if fold in split:
                inside.append(f"{t} *const {fold.name} = of->{own} + k * ({inner.size_of(fold)});")
                inside.append(inner.filled(fold))
                step = self.joined(fold, f"{own}[k * ({size}) + i]", f"{fold.name}[i]")
                after += [f"if ({chunks} != 1) for (int64_t k = 0; k < {chunks}; k++)"]
                after += [f"    for (int64_t i = 0; i < {size}; i++) {step}"]
            elif self.adds(fold):
                inner.ends.append(f"of->{own}[k] = total_{suffix(fold.dtype)}(&{fold.name}_s);")
                total = f"summed_{suffix(fold.dtype)}({own}, {chunks}, {n} % {chunk} != 0)"
                after.append(f"const {t} {fold.name} = {total}{self.mean(fold)};")
            else:
                inner.ends.append(f"of->{own}[k] = {fold.name};")
                after += [f"{t} {fold.name} = {own}[0];", f"for (int64_t k = 1; k < {chunks}; k++)"]
                after.append(f"    {self.joined(fold, f'{own}[k]', fold.name)}")
        assert apart.functions is not None
        apart.functions.extend(held.function(name, [*inside, *inner.begun(), *inner.body(), *inner.ends]))
        return [
            *before, *self.work(apart),
            f"JOIN(run, {name}_of) {name} = {{{', '.join(text for _, text in held.fields.values())}}};",
            f"share(st, JOIN(run, {name}), &{name}, {n}, {chunk});", *after,
        ]  # fmt: skip

    def weight(self) -> int:
        """About how many simple operations each element takes."""
        return sum(4 if isinstance(i, Item) and _CALL.search(i.text) else 1 for i in self.nest.items)

    def memory(self) -> list[str]:
        """Lines that take memory for whole arrays, and leave to NumPy what has no value."""
        made: list[str] = []
        whole: list[Item | Fold] = [*self.stored, *self.partial]
        for x in whole:
            made += [f"{CTYPES[x.dtype.name]} *const {x.name} = {x.room};", f"if (!{x.name}) goto punt;"]
        made += [f"if ({self.counted(f)} == 0) goto punt;" for f in self.folds if f.how in ("max", "min")]
        return made

    def begun(self) -> list[str]:
        """Lines before the loops."""
        made: list[str] = []
        for fold in self.folds:
            if fold in self.partial:
                continue
            if self.adds(fold):
                made.append(f"sums_{suffix(fold.dtype)} {fold.name}_s; {fold.name}_s.n = 0;")
            else:
                made.append(f"{CTYPES[fold.dtype.name]} {fold.name} = {self.start(fold)};")
        return made

    def body(self) -> list[str]:
        """The loops, in one form for each way in which the arrays may lie."""
        flat, test = self.is_flat(), self.test()
        if not flat:
            test = self.unit_test()
        if not test:
            return ["{", *_deeper(self.loops("flat" if flat else "unit")), "}"]
        made = [f"if ({test}) {{", *_deeper(self.loops("flat" if flat else "unit"))]
        return [*made, "} else {", *_deeper(self.loops("strided")), "}"]

    def ended(self) -> list[str]:
        """Lines behind the loops: numbers that they have summed."""
        made: list[str] = []
        for fold in self.folds:
            if fold not in self.partial and self.adds(fold):
                t = CTYPES[fold.dtype.name]
                made.append(f"const {t} {fold.name} = total_{suffix(fold.dtype)}(&{fold.name}_s){self.mean(fold)};")
        return made

    def means(self) -> list[str]:
        """Lines that make means of arrays of sums."""
        return [
            f"for (int64_t i = 0; i < {self.size_of(f)}; i++) {f.name}[i] /= ({CTYPES[f.dtype.name]})({self.counted(f)});"
            for f in self.partial if f.how == "mean"
        ]  # fmt: skip

    def filled(self, fold: Fold) -> str:
        """A line that lets an array of sums begin."""
        return f"for (int64_t i = 0; i < {self.size_of(fold)}; i++) {fold.name}[i] = {self.start(fold)};"

    def joined(self, fold: Fold, x: str, to: str) -> str:
        """A statement that adds one more result of a chunk."""
        return f"{to} += {x};" if self.adds(fold) else f"{to} = {fold.how}_{suffix(fold.dtype)}({x}, {to});"

    def size_of(self, fold: Fold) -> str:
        """How many results a reduction has."""
        return product(tuple(d for k, d in enumerate(self.dims) if k not in fold.axes))

    def counted(self, fold: Fold) -> str:
        """How many elements each of them is of."""
        return product(tuple(self.dims[k] for k in fold.axes))

    def mean(self, fold: Fold) -> str:
        """What makes a mean of a sum."""
        return f" / ({CTYPES[fold.dtype.name]})({self.counted(fold)})" if fold.how == "mean" else ""

    def bounds(self, axis: int, count: str) -> tuple[str, str]:
        """The first place along an axis, and the one behind the last."""
        return ("from", "to") if axis == self.axis else ("0", count)

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
            return self.inner(mode, *(("0", product(self.dims)) if self.axis is None else ("from", "to")))
        made: list[str] = []
        close: list[tuple[str, int]] = []
        for k in range(self.rank - 1):
            made += ["    " * k + line for line in self.opened(k)]
            start, end = self.bounds(k, self.dims[k])
            made.append("    " * k + f"for (int64_t i{k} = {start}; i{k} < {end}; i{k}++) {{")
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
        ends = self.bounds(self.rank - 1, self.dims[-1] if self.rank else "1")
        made += [f"{indent}{line}" for line in self.inner(mode, *ends)]
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

    def inner(self, mode: str, start: str, stop: str) -> list[str]:
        """The innermost loop; sums run block by block."""
        last = self.rank - 1
        local = [f for f in self.folds if f not in self.partial or last in f.axes]
        sums = [f for f in local if self.adds(f)]
        extremes = [f for f in local if not self.adds(f)]
        rows_of = [f for f in extremes if f in self.partial]  # of each row: formed beside its place
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
                elif item in local:
                    body.append(f"{self.joined(item, x, self.running(item))}{item.comment}")
                else:
                    step = self.out_strides(item)[-1]
                    place = f"{item.name}_r[{'i' if step == '1' else f'i * {step}'}]"
                    body.append(f"{self.joined(item, x, place)}{item.comment}")
        clauses = [f" reduction(+:{f.name}_b)" for f in sums]
        clauses += [f" reduction({f.how}_{suffix(f.dtype)}:{self.running(f)})" for f in extremes]
        pragma = [f"#pragma omp simd{''.join(clauses)}"]
        made += [f"{CTYPES[f.dtype.name]} {self.running(f)} = {self.start(f)};" for f in rows_of]
        ends = [self.joined(f, self.running(f), f"{f.name}_r[0]") for f in rows_of]
        if not sums:
            return [*made, *pragma, f"for (int64_t i = {start}; i < {stop}; i++) {{", *_deeper(body), "}", *ends]
        made.append(f"for (int64_t b = {start}; b < {stop}; b += {BLOCK}) {{")
        rows = [f"const int64_t end = b + {BLOCK} < {stop} ? b + {BLOCK} : {stop};"]
        rows += [f"{CTYPES[f.dtype.name]} {f.name}_b = 0;" for f in sums]
        rows += [*pragma, "for (int64_t i = b; i < end; i++) {", *_deeper(body), "}"]
        for f in sums:
            if f in self.partial and self.suffix_from(f) is None:
                rows.append(f"{f.name}_r[0] += {f.name}_b;")
            else:
                rows.append(f"add_{suffix(f.dtype)}(&{f.name}_s, {f.name}_b);")
        return [*made, *_deeper(rows), "}", *ends]

    def running(self, fold: Fold) -> str:
        """The variable of the largest or smallest number so far: of a row, or of all."""
        return f"{fold.name}_b" if fold in self.partial else fold.name

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


class _Held:
    """What a nest reads of the function around it, as fields of a struct: by name their types, and what they are there."""

    def __init__(self) -> None:
        self.fields: dict[str, tuple[str, str]] = {}
        self.names: dict[str, str] = {}
        self.parts: set[str] = set()  # the fields that have a part for each chunk

    def part(self, name: str, type: str) -> None:
        """Take an array with a part for each chunk."""
        self.fields[name] = type, name
        self.parts.add(name)

    def __call__(self, text: str, type: str) -> str:
        """The name of an expression within."""
        if not _WORD.search(text) or text.strip("(-)") in ("NAN", "INFINITY"):
            return text
        if text not in self.names:
            self.names[text] = text if text.isidentifier() else f"c{len(self.names)}_v"
            self.fields[self.names[text]] = type, text
        return self.names[text]

    def nest(self, nest: Nest) -> Nest:
        """The nest by the names of within."""
        made = Nest(tuple(self(d, "int64_t") for d in nest.dims), nest.elements)
        for i in nest.items:
            if isinstance(i, Item):
                operands = tuple((self.operand(x), dtype) for x, dtype in i.operands)
                made.items.append(dataclasses.replace(i, operands=operands))
            else:
                made.items.append(dataclasses.replace(i, operand=self.operand(i.operand)))
        return made

    def operand(self, x: Any) -> Any:
        if isinstance(x, Num):
            return x._replace(c=self(x.c, CTYPES[x.dtype.name]))
        if not isinstance(x, Arr):
            return x
        dims, strides = [tuple(self(text, "int64_t") for text in texts) for texts in (x.dims, x.strides)]
        return x._replace(p=self(x.p, f"{CTYPES[x.dtype.name]} *"), dims=dims, strides=strides)

    def function(self, name: str, lines: list[str]) -> list[str]:
        """The text of a function that finds in a struct what it reads."""
        words = set(_WORD.findall("\n".join(lines)))
        grouped = self.by_type([own for own in self.fields if own in words])
        self.fields = {own: self.fields[own] for _, found in grouped for own in found}
        loaded = [own for own in self.fields if own not in self.parts]
        kind = f"JOIN(run, {name}_of)"
        head = f"static __attribute__((noinline)) void JOIN(run, {name})(const void *all, int64_t k, int64_t from, int64_t to)"
        fields = [f"    {self.declared(t, found)};" for t, found in grouped]
        loads = [
            f"    {'' if t.endswith('*') else 'const '}{self.declared(t, [f'{own} = of->{own}' for own in found], 'const ')};"
            for t, found in self.by_type(loaded)
        ]  # fmt: skip
        return [
            "typedef struct {", *fields, f"}} {kind};",
            head, "{", f"    const {kind} *const of = all;", *loads, *_deeper(lines), "}", "",
        ]  # fmt: skip

    def by_type(self, names: Collection[str]) -> list[tuple[str, list[str]]]:
        found: dict[str, list[str]] = {}
        for own in names:
            found.setdefault(self.fields[own][0], []).append(own)
        return list(found.items())

    def declared(self, type: str, names: list[str], const: str = "") -> str:
        """One declaration of several names."""
        star = f"*{const}" if type.endswith("*") else ""
        return f"{type.rstrip(' *')} {', '.join(star + own for own in names)}"


def _deeper(lines: list[str]) -> list[str]:
    return [line if line.startswith("#") else f"    {line}" for line in lines]
