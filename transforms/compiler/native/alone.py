"""C that stands alone: what a function takes and gives without Python, and its text with what that needs of the prelude."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Value
from ..schedule.signature import Instance, children
from .prelude import (
    BLAS,
    CHOLESKY,
    CUT,
    FLOATS,
    FRAME,
    HEAD,
    LU,
    MATHS,
    NOTHING,
    PRODUCT,
    ROOM,
    ROWS,
    STACKS,
    SUMS,
    VECTORS,
    declared,
)
from .values import CTYPES, Arr, CValue, Num, RefusedError, contiguous, is_native, literal

__all__ = ["Alone", "Parameter", "Standalone"]

_PYTHON = re.compile(r"f->o\b|\bPy[A-Z]\w+|\bst->|\bgoto (?:fail|unseen)\b|\bhold\(")
_CONSTANT = re.compile(r"^ *(?:const )?(?:\w+|Stack) (?:\*const |\*)?(\w+) = [^;]*;(?:  /\*.*\*/)?$")
_SAME = re.compile(r"\bif \((\w+) != \1\) goto punt;")
_FREED = [
    "a",
    "o",
    "st",
    "entry",
    "hold",
    "again",
    "boxed",
    "fresh",
    "scalar",
    "why",
    "self",
    "result",
    "all",
    "argv",
    "m",
    "work",
    "WORK",
    "LONG",
    "back",
    "asked",
    "stop",
]
_ONES = [
    (SUMS, "SUMS", ("sums", "add", "ended", "total", "summed")),
    (PRODUCT, "PRODUCT", ("product",)),
    (LU, "LU", ("lu",)),
]
_ONES += [(CHOLESKY, "CHOLESKY", ("cholesky",)), (BLAS, "BLAS", ("blas",))]

_LOCALS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
return short signed sizeof static struct switch typedef union unsigned void volatile while
store slot cap stacks frame failed k f run State Stack Frame STORE NAN INFINITY free malloc memset memcpy room state blas
class template new delete this private public protected operator namespace using try catch throw virtual bool true false
"""

STATE = r"""
/* matrix products of a BLAS; without GRADSCRIBE_BLAS, loops of this file. Its names, and the type of its ints, can be given */
typedef struct { void *gemm[2], *gemv[2]; int64_t wide; } State;
#ifdef GRADSCRIBE_BLAS
#ifndef GRADSCRIBE_BLAS_NAME
#define GRADSCRIBE_BLAS_NAME(name) cblas_##name
#endif
#ifndef GRADSCRIBE_BLAS_INT
#define GRADSCRIBE_BLAS_INT int
#endif
extern void GRADSCRIBE_BLAS_NAME(dgemm)(void), GRADSCRIBE_BLAS_NAME(sgemm)(void);
extern void GRADSCRIBE_BLAS_NAME(dgemv)(void), GRADSCRIBE_BLAS_NAME(sgemv)(void);
static const State blas = {
    {(void *)GRADSCRIBE_BLAS_NAME(dgemm), (void *)GRADSCRIBE_BLAS_NAME(sgemm)},
    {(void *)GRADSCRIBE_BLAS_NAME(dgemv), (void *)GRADSCRIBE_BLAS_NAME(sgemv)},
    sizeof(GRADSCRIBE_BLAS_INT) == 8,
};
#else
static const State blas = {{0, 0}, {0, 0}, 0};
#endif
"""

VECTOR_MATHS = """
#ifdef GRADSCRIBE_LIBMVEC  /* glibc's maths for vectors: link with -lmvec */
#define VECTOR __attribute__((simd("notinbranch")))
#else
#define VECTOR
#endif
"""


class Parameter(NamedTuple):
    """What a function takes or gives: an array in C order with its lengths, or a number, which has none."""

    name: str  # for callers
    dtype: str
    axes: tuple[str, ...] | None  # of callers' names
    own: str  # within the function
    label: str = ""  # of an argument: the user's name for it

    @property
    def pointer(self) -> bool:
        """Whether it is handed over by its place in memory: an array, or a result."""
        return self.axes is not None or not self.label


class Standalone(NamedTuple):
    """A function of C: its text behind its declaration, and what it takes and gives."""

    text: str
    sizes: tuple[str, ...]
    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    uses_blas: bool
    uses_vectors: bool

    def declaration(self, name: str) -> str:
        """The declaration, without a semicolon."""
        parts = [f"int64_t {n}" for n in self.sizes]
        for p in self.arguments:
            parts.append(f"const {CTYPES[p.dtype]} *{p.name}" if p.pointer else f"{CTYPES[p.dtype]} {p.name}")
        parts += [f"{CTYPES[p.dtype]} *{p.name}" for p in self.results]
        return f"int {name}(\n    {', '.join(parts)})"


class Alone:
    """The outside of a function that is written without Python."""

    def __init__(
        self, letters: Callable[[int], str], constants: Mapping[str, Any], name_of: Callable[[tuple[Any, ...]], str]
    ) -> None:
        """`letters` names the length of an axis, `constants` are parameters to be written down, `name_of` names results."""
        self.letters, self.constants, self.name_of = letters, constants, name_of
        self.sizes: dict[str, str] = {}  # by the name for callers: the name within the function
        self.least: dict[str, int] = {}
        self.fixed: dict[
            str, str
        ] = {}  # lengths of the export, which C's compiler is not to know: it would add in another order
        self.words: dict[str, str] = {}  # by letter: the name for callers
        self.public: set[str] = set(_LOCALS.split())
        self.arguments: list[Parameter] = []
        self.results: dict[tuple[Any, ...], Parameter] = {}
        self.tables: list[str] = []
        self._name: Callable[[Value | str], str]

    def reserve(self, taken: set[str]) -> None:
        """Free the names of what only Python needs, and take those that a file of C must not use."""
        taken.difference_update(_FREED)
        taken.update(["state", "failed", "frame", "blas", "VECTOR", "errno", "stdin", "NULL"])

    def length(self, n: int, name: Callable[[str], str]) -> str:
        """The length of an axis in C."""
        word = self.letters(n)
        if word == "1":
            return word
        if word.isdigit():
            if word not in self.fixed:
                self.fixed[word] = name(f"n_{word}")
            return self.fixed[word]
        letter, _, least = word.partition(">")
        if word not in self.words:
            self.words[word] = self.said(letter)
            self.sizes[self.words[word]] = name(letter)
            if least:
                self.least[self.words[word]] = int(least)
        return self.sizes[self.words[word]]

    def said(self, word: str) -> str:
        """A name for callers, which no other has."""
        word = re.sub(r"[^0-9A-Za-z_]", "_", word)
        while word in self.public:
            word += "_"
        self.public.add(word)
        return word

    def axes(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        """Lengths by their names for callers."""
        names = {own: public for public, own in (*self.sizes.items(), *self.fixed.items())}
        return tuple(names.get(d, d) for d in dims)

    def parameter(self, v: Value, label: str, name: Callable[[Any], str]) -> CValue:
        """What an argument is in C, or an array that is written down."""
        if not is_native(v.type):
            raise RefusedError(f"`{label}` is {v.type}, which C does not have")
        self._name = name
        t, own, dtype = CTYPES[v.type.dtype.name], name(label), v.type.dtype
        if label in self.constants:
            rows = np.asarray(self.constants[label])
            numbers = ", ".join(literal(x, dtype) for x in rows.ravel().tolist()) or "0"
            shape = tuple(map(str, rows.shape))
            if not shape:
                return Num(numbers, dtype, v.type.kind)
            self.tables.append(f"static {t} {own}[] = {{{numbers}}};")
        elif not v.type.shape:
            self.arguments.append(Parameter(self.said(label), dtype.name, None, own, label))
            return Num(own, dtype, v.type.kind)
        else:
            shape = tuple(self.length(n, name) for n in v.type.shape)
            self.arguments.append(Parameter(self.said(label), dtype.name, self.axes(shape), own, label))
        strides = tuple("0" if d == "1" else s for d, s in zip(shape, contiguous(shape), strict=True))
        return Arr(own, shape, strides, dtype, "argument", True)

    def leaves(self, tree: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], int]]:
        """The leaves of a result: where each stands, and its number."""
        if isinstance(tree, (int, np.integer)) and not isinstance(tree, bool):
            yield keys, int(tree)
            return
        parts = list(tree.fields.items()) if isinstance(tree, Instance) else children(tree)
        for key, part in parts or ():
            yield from self.leaves(part, (*keys, key))

    def result(self, v: Any, found: CValue, keys: tuple[Any, ...], tests: list[str]) -> Arr:
        """The memory of the caller's into which a result goes; `tests` says where its lengths are others."""
        if isinstance(found, Num):
            dims: tuple[str, ...] = ()
            made = Parameter("", found.dtype.name, None, "")
        elif isinstance(found, Arr) and isinstance(v, Value):
            dims = ()
            for d, n in zip(found.dims, v.type.shape, strict=True):
                own = (*self.sizes.values(), *self.fixed.values())
                known = d
                if d != "1" and d not in own:
                    word = self.letters(n)
                    if word.isdigit() and word not in self.fixed and self.sizes and not d.isdigit():
                        raise RefusedError("a result has an axis whose length is none of its arguments'")
                    known = self.length(n, self._name)
                    tests.append(f"if ({d} != {known}) goto punt;")
                dims = (*dims, known)
            made = Parameter("", found.dtype.name, self.axes(dims), "")
        else:
            raise RefusedError("a result is neither a number nor an array of numbers")
        before = self.results.get(keys)
        if before is None:
            word = self.name_of(keys)
            before = self.results[keys] = made._replace(name=self.said(word), own=self._name(word))
        if made._replace(name=before.name, own=before.own) != before:
            raise RefusedError("its paths give results of other types")
        return Arr(before.own, dims, contiguous(dims), np.dtype(before.dtype), "", True)

    def standalone(self, lines: list[str], slots: int, stacks: int) -> Standalone:
        """The text of the function, from the lines of its body."""
        body = _used("\n".join(line if line.startswith("#") else f"    {line}" for line in lines if line.strip()))
        if (found := _PYTHON.search(body)) is not None:
            raise RefusedError(f"it has lists or objects of Python's ({found[0]})")
        uses_blas = "blas_" in body
        body = re.sub(r"\b(blas_[df]\()st, ", r"\1&blas, ", body)
        sizes, arguments, results = tuple(self.sizes), tuple(self.arguments), tuple(self.results.values())
        frame = re.search(r"\bf\b", body) is not None
        parts = ["Frame *f"] * frame + [f"int64_t {own}" for own in (*self.sizes.values(), *self.fixed.values())]
        parts += [f"{CTYPES[p.dtype]} {'*' * p.pointer}{p.own}" for p in (*arguments, *results)]
        owns = [re.split(r"[ *]", part)[-1] for part in parts]
        unused = [f"    (void){own};" for own in owns if not re.search(rf"\b{own}\b", body)]
        punt = ["punt:", "    return 1;"] if "goto punt" in body else []
        run = [f"static int run(\n    {', '.join(parts)})", "{", *unused, body, *punt, "}"]
        head = _head("\n".join([*run, *self.tables]))
        inside = [f"    {line}" for line in self.outer(frame, slots, stacks)]
        text = "\n".join([head, *self.tables, "", *run, "", "@DECLARATION@", "{", *inside, "}", ""])
        return Standalone(text, sizes, arguments, results, uses_blas, "GRADSCRIBE_LIBMVEC" in head)

    def outer(self, frame: bool, slots: int, stacks: int) -> list[str]:
        """The lines of the function that is called: it tests lengths, and frees what the inner one took."""
        names = [*self.sizes, *[f"size_{n}" for n in self.fixed]]
        for p in (*self.arguments, *self.results.values()):
            names.append(f"({CTYPES[p.dtype]} *){p.name}" if p.pointer and p.label else p.name)
        lines = [f"const volatile int64_t size_{n} = {n};" for n in self.fixed]
        least = [f"{n} <= {self.least[n]}" if n in self.least else f"{n} < 0" for n in self.sizes]
        lines += [f"if ({test}) return 1;" for test in least]
        if not frame:
            return [*lines, f"return run({', '.join(names)});"]
        lines += ["char store[STORE] __attribute__((aligned(64)));"]
        lines += [f"void *slot[{slots + 1}] = {{0}};", f"int64_t cap[{slots + 1}] = {{0}};"]
        if stacks:
            lines += [f"Stack stacks[{stacks + 1}];", "memset(stacks, 0, sizeof stacks);"]
        lines.append(f"Frame frame = {{slot, cap, {'stacks' if stacks else '0'}, 0, store}};")
        lines.append(f"const int failed = run({', '.join(['&frame', *names])});")
        if slots:
            lines.append(f"for (int k = 0; k < {slots}; k++)")
            lines.append("    if (slot[k] && !is_lent(&frame, slot[k])) free(slot[k]);")
        if stacks:
            lines.append(f"for (int k = 0; k < {stacks}; k++) clear_stack(stacks + k);")
        return [*lines, "return failed;"]


def _used(body: str) -> str:
    """The lines without constants that nothing reads."""
    while True:
        counts: dict[str, int] = {}
        for word in re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r"/\*.*?\*/", "", body)):
            counts[word] = counts.get(word, 0) + 1
        lines = [line for line in body.split("\n") if not _SAME.search(line)]
        kept = [line for line in lines if (m := _CONSTANT.match(line)) is None or counts.get(m[1], 0) > 1]
        if len(kept) == len(lines):
            return "\n".join(kept)
        body = "\n".join(kept)


def _head(text: str) -> str:
    """The parts of the prelude that a text needs, for the types that it needs."""

    def has(name: str) -> bool:
        return re.search(rf"\b{name}\b", text) is not None

    parts = [HEAD]
    if has("Frame"):
        stacks = re.sub(r"(?m)^static (?=void)", "__attribute__((unused)) static ", STACKS)
        parts += [stacks if has("stacks") or has("Stack") else "typedef struct Stack Stack;\n"]
        parts += [re.sub(r"\n +(PyObject \*\*o|void \*away|int64_t since|char \*spare|int64_t room, .*);.*", "", FRAME)]
        parts += [re.sub(r"\n.*/\* for calls \*/", "", ROOM)] * has("room")
    parts += [ROWS] * has("rows_of") + [NOTHING] * has("nothing")
    maths = _maths(text)
    whole = text + maths + "exp(exp1p(expf(log1pf(".replace("exp1p", "log1p") * ("logaddexp_" in text)
    for part, macro, words in _ONES:
        letters = [s for s in "dfl" if any(re.search(rf"\b{word}_{s}\b", text) for word in words)]
        parts += [STATE] * (macro == "BLAS" and bool(letters))
        parts += ["".join(_expanded(part, macro, s) for s in letters)]
    parts += [CUT] * has("cut")
    vectors = [v for v in VECTORS for s in ("", "f") if re.search(rf"\b{v}{s}\(", whole)]
    if vectors:
        parts.append(VECTOR_MATHS)
        parts += [
            declared("VECTOR ", v, [one]) + "\n"
            for v in dict.fromkeys(vectors) for one in FLOATS if re.search(rf"\b{v}{one[1]}\(", whole)
        ]  # fmt: skip
    return re.sub(
        r"\bstatic inline\b",
        "__attribute__((unused)) static inline",
        "".join(parts).replace("NumPy's BLAS", "the BLAS") + maths,
    )


def _expanded(part: str, macro: str, letter: str) -> str:
    """A part of the prelude that is written for all types, for one of them."""
    head, _, rest = part.partition(f"#define {macro}(")
    body = re.sub(rf"(?m)^{macro}\(.*\)\n", "", rest.partition("\n")[2])
    body = re.sub(r" *\\\n", "\n", body)
    body = re.sub(r"\bT\b", {"d": "double", "f": "float", "l": "int64_t"}[letter], body)
    body = re.sub(r'_Pragma\("([^"]*)"\) (?=for)', r"\n#pragma \1\n        ", body)
    body = body.replace("[which]", f"[{'df'.find(letter)}]").replace("##s", letter)
    return head + body.replace("##f", "f" if letter == "f" else "")


def _maths(text: str) -> str:
    """The maths that C lacks, as far as a text needs it."""
    called = set(re.findall(r"\b(\w+)\(", text))
    logs = any(name.startswith("logaddexp_") for name in called)
    own = {f"{name}_{s}" for name in ("max", "min", "sign", "remainder", "floor_divide", "logaddexp") for s in "dfl"}
    macros = re.findall(r"(?m)^#define (\w+) __builtin", MATHS)
    if not called & (own | set(macros) | {f"{name}{f}" for name in ("fmod", "fmax", "fmin") for f in ("", "f")}):
        return ""
    head, _, rest = MATHS.partition("#define MATHS(")
    ints = rest[rest.index("static inline int64_t") :]
    rest = rest[: rest.index("static inline int64_t")]
    found = [_expanded(f"#define MATHS({rest}", "MATHS", s) for s in "df"]
    if not logs:
        found = [re.sub(r"(?s)static inline \w+ logaddexp_.*", "", one) for one in found]
    return head + "".join(found) + ints
