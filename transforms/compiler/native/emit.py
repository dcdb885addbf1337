"""Emission: a Program as the text of one C function, its statements grouped into loop nests, and calls of Python between them."""

from __future__ import annotations

import bisect
import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Call, Value, values_in
from ....runtime.ir.opcodes import PARTS
from ..schedule.program import (
    Assign,
    Carry,
    Fork,
    Guard,
    If,
    List,
    Loop,
    Program,
    Push,
    Return,
    Reverse,
    Statement,
    Store,
    Unpack,
    each_statement,
    leaves_of,
    reads_of,
)
from ..schedule.signature import Instance, children
from .aliases import Aliases, aliases_of
from .alone import Alone, Standalone
from .boxes import box, declared, scalar_of, unboxed
from .calls import python_call
from .forms import form_of
from .linalg import systems
from .lock import counted, with_lock
from .nests import Apart, Fold, Item, Nest, written
from .parts import apart, ends, in_parts, is_mark, marked
from .prelude import ENTRY, prelude
from .stacks import as_list, depth_of, is_storable, item_of, items_apart, length_of, pushed, room_on, turned
from .values import (
    CTYPES,
    Arr,
    CValue,
    Num,
    Obj,
    RefusedError,
    Stk,
    Tup,
    UnmodelledError,
    cast,
    contiguous,
    is_native,
    literal,
    product,
    suffix,
)
from .views import handlers, in_place, indexed

__all__ = ["FLAT", "Kernel", "kernel_of", "standalone_of"]

MOST = 300  # calls of one nest, since the time of compilers grows faster than its length
LARGE = 1 << 12  # operations of a nest in the capture from which on threads may share it; or else it may be many
FEW = 32  # nests outside of loops whose lengths in the capture do not count, since they may be others
FLAT = object()  # what stands before the leaves of a result that C gives in a row

_LOADED = re.compile(r"[ce]\d+")  # what nests call what they read
_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register restrict
return short signed sizeof static struct switch typedef union unsigned void volatile while
a b d e f i n o s p st run entry frame room hold again boxed fresh scalar within cut end why head now self store slot cap
result all main size by more argv abs exp log sin cos tan pow sqrt floor ceil trunc rint fmod hypot free malloc D F L B STORE
SLOTS OBJECTS STACKS Stack nothing j k row
work WORK LONG back asked stop timespec clock_gettime of from to share rows_of FEW PAUSE
kept all_kept i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 ARGUMENTS NAN INFINITY ARRAY TYPE memset memcpy Frame State Array PyObject
"""


class Kernel(NamedTuple):
    """A Program in C, and what its calls of Python need."""

    text: str  # all that is compiled, but for the prelude
    parameters: int
    calls: tuple[Callable[..., Any], ...]
    constants: tuple[Any, ...]
    arms: int
    paths: int
    called_out: Counter[str]  # ops that Python runs, by name
    native: int  # how many calls have a C form
    nested: Any = None  # the tree of the result, where C gives its leaves in a row
    lengths: int = 0  # how many numbers are held to what a checked call had

    def whole(self, vectors: bool) -> str:
        """The text that is compiled."""
        return f"{prelude(vectors, self.text)}\n{self.text}{ENTRY}"


def kernel_of(program: Program) -> Kernel:
    """Write a Program in C; RefusedError with the reason where it cannot run so."""
    return _Emitter(program).kernel()


def standalone_of(program: Program, alone: Alone) -> Standalone:
    """Write a Program in C that needs no Python; RefusedError with the reason where it needs one."""
    emitter = _Emitter(program, alone)
    alone.reserve(emitter.taken)
    lines = [line for chunk in emitter.chunks() for line in chunk]
    if emitter.called_out:
        names = ", ".join(sorted(emitter.called_out))
        raise RefusedError(f"C has no form of {names}, which the native target calls in Python")
    return alone.standalone(lines, emitter.slots, emitter.stacks)


@dataclasses.dataclass(eq=False)
class _Group:
    """A nest, or lines of C."""

    nest: Nest | None = None
    lines: list[str] = dataclasses.field(default_factory=list)


class _Emitter:
    """What all blocks of a function share."""

    def __init__(self, program: Program, alone: Alone | None = None) -> None:
        self.program = program
        self.alone = alone  # what C without Python takes and gives
        self.constants: list[Any] = []
        self.calls: list[Callable[..., Any]] = []
        self.called_out: Counter[str] = Counter()
        self.native = 0
        self.slots = self.objects = self.stacks = self.arms = self.paths = self.lengths = 0
        self.taken: set[str] = set(_KEYWORDS.split())
        self.used: Counter[str] = Counter()  # by stem: how many names there are
        self.places: dict[int, int] = {}  # by the identity of a constant
        self.named: dict[Value, str] = {}
        self.returned: set[Value] = set()
        self.becomes: dict[Value, Value] = {}  # of arrays that are written over until they are results: the results
        self.nested: Any = None
        self.functions: list[str] = []  # of nests
        self.makers = {v: s.call for s in each_statement(program.body) if isinstance(s, Assign) for v in s.call.outs}

    def chunks(self) -> list[list[str]]:
        """The lines of the function, in pieces that stay together."""
        for s in each_statement(self.program.body):
            if isinstance(s, Return):
                self.returned.update(v for v in values_in(s.outputs) if is_native(v.type) and v.type.shape)
            if not isinstance(s, (Assign, Fork, Guard, If, List, Loop, Push, Return, Reverse, Store, Unpack)):
                words = {"Effect": "has an effect"}
                raise RefusedError(f"it {words.get(type(s).__name__, 'holds a ' + type(s).__name__)}")
        self.steady = _steady(self.program)
        self.returned.update(c.start for c in self.steady if c.out in self.returned)
        self.becomes = _written_over(self.program, self.returned)
        self.returned.update(self.becomes)
        if self.alone is None:
            self.aliases = aliases_of(self.program)
        else:
            self.aliases = Aliases(frozenset(), frozenset())  # its results are the caller's memory
            self.returned.clear()
        self.shared = self.aliases.shared
        block = Block(self, {})
        block.statements(self.program.body)
        return block.chunks()

    def kernel(self) -> Kernel:
        functions, lines = in_parts(with_lock(self.chunks()))
        if not self.native:
            raise RefusedError("none of its calls has a C form")
        head = [
            f"#define ARGUMENTS {len(self.program.parameters)}",
            f"#define SLOTS {self.slots}",
            f"#define OBJECTS {self.objects}",
            f"#define STACKS {self.stacks}",
        ]
        text = "\n".join([
            *head, "", *self.functions, *functions,
            "static PyObject *run(const State *st, Frame *f, PyObject *const *a, int *why)", "{",
            *[line if line.startswith("#") else f"    {line}" for line in counted(lines)],
            *ends(0, lines),
        ])  # fmt: skip
        return Kernel(
            text, len(self.program.parameters), tuple(self.calls), tuple(self.constants), self.arms, self.paths, self.called_out,
            self.native, self.nested, self.lengths,
        )  # fmt: skip

    def name(self, v: Value | str, after: str = "") -> str:
        """A new name in C, for a value or like a word."""
        stem = self.program.names.get(self.becomes.get(v, v), "t") if isinstance(v, Value) else v
        stem = re.sub(r"[^0-9A-Za-z_]", "_", stem) + after
        stem = stem if stem[:1].isalpha() or stem.startswith("_") else f"v_{stem}"
        name = stem
        while name in self.taken or name.endswith(("_r", "_v", "_s", "_b")) or _LOADED.fullmatch(name):
            self.used[stem] += 1
            name = f"{stem}_{self.used[stem] + 1}"
            if stem.endswith(("_r", "_v", "_s", "_b")):
                stem += "_"
        self.taken.add(name)
        return name

    def constant(self, value: Any) -> str:
        if id(value) not in self.places:  # which stays the same, since it is kept
            self.places[id(value)] = len(self.constants)
            self.constants.append(value)
        return f"st->constants[{self.places[id(value)]}]"

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def stack(self) -> int:
        self.stacks += 1
        return self.stacks - 1

    def object(self) -> int:
        self.objects += 1
        return self.objects - 1


class Block:
    """The statements of one block, as groups in order, and what stands before each of them."""

    def __init__(
        self, emitter: _Emitter, env: dict[Value, CValue], same: dict[str, str] | None = None, looped: bool = False
    ) -> None:
        self.emitter = emitter
        self.looped = looped  # whether it stands in a loop
        self.env = env
        self.groups: list[_Group] = []
        self.open: list[int] = []  # the nests that calls may join, in order
        self.before: list[list[str]] = [[]]
        self.level: dict[Value, int] = {}  # the group before which a value can be read
        self.fused: dict[Value, int] = {}  # the nest that makes a value, where others may join it
        self.dim_level: dict[str, int] = {}
        self.same: dict[str, str] = {} if same is None else dict(same)
        self.marks: dict[int, int] = {}  # of the call that is tried: how many lines there were before
        self.unions: list[str] = []  # and the lengths that it found to be others
        self.needed: set[Value] = set()
        self.locals: dict[Value, str] = {}
        self.held: dict[Value, str] = {}  # the objects of Python's whose memory arrays lie in
        self.pushed: dict[Value, Value] = {}  # the lists on which values of this block are put
        self.on_stack: set[Value] = set()  # those of them that are made there
        self.site = ""

    # --- lines ---------------------------------------------------------------------------------------------------------

    def at(self, level: int) -> list[str]:
        """The lines before a group."""
        while len(self.before) <= level:
            self.before.append([])
        self.marks.setdefault(level, len(self.before[level]))
        return self.before[level]

    def group(self, *lines: str) -> int:
        """Lines of their own, behind all others so far."""
        self.groups.append(_Group(lines=list(lines)))
        return len(self.groups) - 1

    def chunks(self) -> list[list[str]]:
        """All lines: those before each group, the group, and what stands behind the last."""
        made: list[list[str]] = []
        e = self.emitter
        few = not self.looped and sum(group.nest is not None for group in self.groups) <= FEW
        for k, group in enumerate(self.groups):
            nest: list[str] = []
            if group.nest is not None:
                large = few or group.nest.elements * len(group.nest.items) >= LARGE
                own = Apart(e.name, e.slot, e.functions if large and e.alone is None else None, e.alone is None)
                nest = written(group.nest, self.needed, self.locals, own)
            made += apart(self.at(k))
            made.append([*nest, *group.lines])
        return [*made, *apart(self.at(len(self.groups)))]

    def lines(self) -> list[str]:
        return [line for chunk in self.chunks() for line in chunk]

    # --- values --------------------------------------------------------------------------------------------------------

    def read(self, x: Any) -> CValue:
        """A value that is read outside of the nest that makes it."""
        if isinstance(x, Value):
            if x in self.fused:
                self.needed.add(x)
            return self.env[x]
        if type(x) in (int, float, bool):
            dtype = np.result_type(type(x))
            return Num(literal(x, dtype), dtype, "python")
        if isinstance(x, np.generic) and x.dtype.name in CTYPES:
            return Num(literal(x, x.dtype), x.dtype, "scalar")
        if type(x) is tuple and any(values_in(x)):
            return Tup(tuple(map(self.read, x)))
        return Obj(self.emitter.constant(x))

    def levels(self, *xs: Any) -> int:
        """The group before which all of these can be read."""
        return max((self.level.get(v, 0) for x in xs for v in values_in(x)), default=0)

    def root(self, dim: str) -> str:
        while dim in self.same:
            dim = self.same[dim]
        return dim

    def roots(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        return dims if self.same.keys().isdisjoint(dims) else tuple(map(self.root, dims))

    def unified(self, a: str, b: str) -> str:
        """The length that two are, with a test of that where it does not show."""
        a, b = self.root(a), self.root(b)
        if a == b or b == "1":
            return a
        if a == "1":
            return b
        if a.isdigit() and b.isdigit():
            raise UnmodelledError
        if a.isdigit():
            a, b = b, a
        level = max(self.dim_level.get(a, 0), self.dim_level.get(b, 0))
        self.at(level).append(f"if ({a} != {b}) goto punt;")
        keep, gone = (b, a) if b.isdigit() or self.dim_level.get(b, 0) < self.dim_level.get(a, 0) else (a, b)
        self.same[gone] = keep
        self.unions.append(gone)
        return keep

    def broadcast(self, shapes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        rank = max(map(len, shapes), default=0)
        found = ["1"] * rank
        for dims in shapes:
            for k, d in enumerate(dims, rank - len(dims)):
                found[k] = self.unified(found[k], d)
        return tuple(found)

    def new_dim(self, name: str, level: int) -> str:
        self.dim_level[name] = level
        return name

    def comment(self, call: Call) -> str:
        """The user's line, where it is another than that of the call before."""
        if call.site is None or str(call.site) == self.site:
            return ""
        self.site = str(call.site)
        return f"  /* {self.site.replace('*/', '')} */"

    # --- statements ----------------------------------------------------------------------------------------------------

    def statements(self, body: Sequence[Statement]) -> None:
        self.pushed = {s.value: s.target for s in reversed(body) if isinstance(s, Push) and isinstance(s.value, Value)}
        for k, s in enumerate(body):
            match s:
                case Fork():
                    self.fork(s, body[k + 1 :])
                    return
                case Store():
                    self.stores(body[k:])
                    return
                case Assign():
                    self.assign(s)
                case Unpack(tree=tree, parameter=parameter):
                    place = self.emitter.program.parameters.index(parameter)
                    self.unpack(tree, f"a[{place}]", parameter)
                case Guard():
                    self.guard(s)
                case If():
                    self.choice(s)
                case Loop():
                    self.loop(s, body[k + 1 :])
                case List(target=target):
                    self.new_list(target)
                case Push(target=target, value=value):
                    self.push(target, value, body[k + 1 :])
                case Reverse(target=target):
                    self.group(turned(self.read(target)))
                case Return():
                    self.result(s)

    def unpack(self, tree: Any, text: str, name: str) -> None:
        e = self.emitter
        if isinstance(tree, Value):
            if e.alone is not None:
                self.env[tree] = e.alone.parameter(tree, name, e.name)
            else:
                self.enter(tree, text, name)
            return
        for key, part in children(tree) or ():
            if not any(True for _ in _leaves(part)):
                continue
            if e.alone is not None:
                self.unpack(part, "", f"{name}_{str(key).lstrip('.')}")
                continue
            if isinstance(key, str) and key.startswith("."):
                k = e.object()
                self.at(0).append(f"hold(f, {k}, PyObject_GetAttr({text}, {e.constant(key[1:])}));")
                now = f"f->o[{k}]"
            else:
                where = e.constant(key) if isinstance(tree, dict) else key
                kind = "Dict" if isinstance(tree, dict) else "List" if isinstance(tree, list) else "Tuple"
                k = e.object()  # another thread may take it out of there
                self.at(0).append(f"hold(f, {k}, again(Py{kind}_GetItem({text}, {where})));")
                now = f"f->o[{k}]"
            own = e.name(f"{name}_{str(key).lstrip('.')}_o")
            self.at(0).append(f"PyObject *const {own} = {now};")
            self.at(0).append(f"if (!{own}) goto fail;")
            self.unpack(part, own, f"{name}_{str(key).lstrip('.')}")

    def enter(self, v: Value, text: str, name: str) -> None:
        lines: list[str] = []
        self.env[v] = unboxed(self, lines, v, text, name if v not in self.emitter.program.names else v)
        self.at(0).extend(lines)

    def assign(self, s: Assign) -> None:
        call = s.call
        self.over = s.is_over()
        if call.op is PARTS and not any(map(order_of, call.outs)) and isinstance(self.env.get(call.args[0]), Stk):
            items_apart(self, call)
            self.emitter.native += 1
            return
        system = systems().get(call.op.base)
        handler = system or handlers().get(call.op.base)
        alone = len(call.outs) == 1 or system is not None
        if alone and (call.outs[0] not in self.emitter.shared or self.is_whole(s, handler)):
            groups = len(self.groups)
            self.marks.clear()
            self.unions.clear()
            try:
                if handler is not None and (
                    is_native(call.outs[0].type) or handler.__name__ in ("shape", "items", "listed")
                ):
                    handler(self, call)
                else:
                    self.elementwise(call)
                self.emitter.native += 1
                return
            except UnmodelledError:
                assert len(self.groups) == groups
                for level, n in self.marks.items():
                    del self.before[level][n:]
                for dim in self.unions:
                    del self.same[dim]
        self.call_out(call, s)

    def is_whole(self, s: Assign, handler: Any) -> bool:
        """Whether C may make a result whose object others see, too: a new array in C order."""
        return handler is None and s.slots[0].memory == "fresh" and order_of(s.call.outs[0]) is None

    # --- elementwise calls and reductions -------------------------------------------------------------------------------

    def elementwise(self, call: Call) -> None:
        out = call.outs[0]
        if not is_native(out.type):
            raise UnmodelledError
        form = form_of(call.op, call.args, out)
        if out.type.kind == "python" and form.out.kind != "b":
            self.python_number(call, form.dtypes)
            return
        self.mapped(call, form.text, list(zip(call.args, form.dtypes, strict=False)), form.out)

    def python_number(self, call: Call, dtypes: tuple[np.dtype[Any], ...]) -> None:
        """Arithmetic of Python's numbers, which raise where NumPy's warn, and whose ints have no end: that goes to NumPy."""
        out = call.outs[0]
        infix, dtype = call.op.infix, out.type.dtype
        found = [self.read(x) for x in call.args]
        if infix not in ("+", "-", "*", "/") or any(not isinstance(x, Num) or x.kind != "python" for x in found):
            raise UnmodelledError
        texts = [cast(x.c, x.dtype, d) for x, d in zip(found, dtypes, strict=True) if isinstance(x, Num)]
        level, name = self.levels(*call.args), self.emitter.name(out)
        if dtype.kind == "f":
            if infix == "/":
                self.at(level).append(f"if ({texts[1]} == 0) goto punt;")
            self.number(out, f" {infix} ".join(texts) if len(texts) > 1 else f"{infix}{texts[0]}", level, name=name)
            return
        word = {"+": "add", "-": "sub", "*": "mul"}[infix]
        texts = texts if len(texts) > 1 else ["0", *texts]
        self.at(level).append(f"int64_t {name};")
        self.at(level).append(
            f"if (__builtin_{word}_overflow((int64_t){texts[0]}, (int64_t){texts[1]}, &{name})) goto punt;"
        )
        self.env[out] = Num(name, dtype, "python")
        self.level[out] = level

    def mapped(
        self, call: Call, text: str, pairs: list[tuple[Any, np.dtype[Any]]], dtype: np.dtype[Any],
        dims: tuple[str, ...] | None = None, level: int = 0,
    ) -> None:  # fmt: skip
        """One expression for each element, of numbers and arrays; over `dims` where the operands do not say them."""
        out = call.outs[0]
        operands: list[tuple[Any, np.dtype[Any]]] = []
        shapes: list[tuple[str, ...]] = [] if dims is None else [dims]
        for x, want in pairs:
            found = self.env.get(x) if isinstance(x, Value) else None
            if isinstance(x, Value) and not isinstance(found, (Num, Arr)):
                raise UnmodelledError
            if not isinstance(x, Value) and not isinstance(x, (int, float, np.generic)):
                raise UnmodelledError
            operands.append((x if isinstance(x, Value) else literal(x, want), want))
            shapes += [found.dims] if isinstance(found, Arr) else []
        whole = self.broadcast(shapes)
        level = max([level, *[self.dim_level.get(d, 0) for d in whole]])
        if not shapes or not whole:
            if out.type.shape:
                raise UnmodelledError
            texts = [cast(self.env[x].c, self.env[x].dtype, d) if isinstance(x, Value) else x for x, d in operands]  # type: ignore[union-attr]
            at = max(level, self.levels(*[x for x, _ in operands]))
            self.number(out, text.format(*texts), at, self.comment(call))
            return
        if len(whole) != len(out.type.shape):
            raise UnmodelledError
        k = self.nest(whole, [x for x, _ in operands if isinstance(x, Value)], level, math.prod(out.type.shape))
        own: list[tuple[Any, np.dtype[Any]]] = [(self.operand(x, k), d) for x, d in operands]
        name = self.emitter.name(out)
        self.locals[out] = f"{name}_v"
        room = self.room(out, whole)
        self.groups[k].nest.items.append(Item(out, name, text, tuple(own), dtype, room, self.comment(call)))  # type: ignore[union-attr]
        self.env[out] = Arr(name, whole, contiguous(whole), dtype, self.held.get(out, ""), True, out in self.held)
        self.level[out] = k + 1
        self.fused[out] = k

    def number(self, out: Value, text: str, level: int, comment: str = "", name: str | None = None) -> None:
        name = self.emitter.name(out) if name is None else name
        self.at(level).append(f"const {CTYPES[out.type.dtype.name]} {name} = {text};{comment}")
        self.env[out] = Num(name, out.type.dtype, out.type.kind)
        self.level[out] = level

    def operand(self, x: Any, k: int) -> Any:
        """An operand of the nest `k`: a value that it makes, an array that was made before, or a number."""
        if not isinstance(x, Value):
            return x
        if self.fused.get(x) == k and self.roots(self.env[x].dims) == self.groups[k].nest.dims:  # type: ignore[union-attr]
            return x
        found = self.read(x)
        return found._replace(dims=self.roots(found.dims)) if isinstance(found, Arr) else found

    def nest(self, dims: tuple[str, ...], values: list[Value], level: int, elements: int) -> int:
        """The nest over these lengths that a call of these values joins, or a new one."""
        dims = self.roots(dims)
        at = level
        for v in values:
            found = self.env[v]
            if v in self.fused and isinstance(found, Arr) and self.roots(found.dims) == dims:
                at = max(at, self.fused[v])
            else:
                at = max(at, self.level.get(v, 0))
        for k in self.open[bisect.bisect_left(self.open, at) :]:
            nest = self.groups[k].nest
            assert nest is not None
            if self.roots(nest.dims) == dims:
                if len(nest.items) == MOST - 1:
                    self.open.remove(k)
                nest.dims = dims
                return k
        self.groups.append(_Group(Nest(dims, elements)))
        self.open.append(len(self.groups) - 1)
        return len(self.groups) - 1

    def room(self, out: Value, dims: tuple[str, ...]) -> str:
        """An expression for the memory of a whole array: one of Python's where it is returned."""
        e = self.emitter
        t = CTYPES[out.type.dtype.name]
        target = self.pushed.get(out)
        if target is not None and out not in self.on_stack and out.type.shape.count(1) == dims.count("1"):
            stack = self.env.get(target)
            if isinstance(stack, Stk) and out not in e.returned and out not in e.shared:
                self.on_stack.add(out)
                return room_on(self, stack, dims, out.type.dtype)
        if (out in e.returned or out in e.shared) and order_of(out) is None:
            k = e.object()
            self.held[out] = f"f->o[{k}]"
            return f"new_array(st, f, {k}, {suffix(out.type.dtype).upper()}, {len(dims)}, (int64_t[]){{{', '.join(dims)}}}, 0)"
        return f"room(f, {e.slot()}, sizeof({t}) * ({product(dims)}))"

    def fold(self, call: Call, x: Any, how: str, axes: tuple[int, ...], keep: bool) -> None:
        """A reduction over axes."""
        out = call.outs[0]
        found = self.env.get(x) if isinstance(x, Value) else None
        if not isinstance(found, Arr) or (found.dtype.kind == "b" and how != "sum"):
            raise UnmodelledError
        if how == "mean" and found.dtype.kind != "f":
            raise UnmodelledError
        dims = self.roots(found.dims)
        if out.type.dtype.kind == "b" or (how != "sum" and out.type.dtype != found.dtype):
            raise UnmodelledError
        left = tuple(d for k, d in enumerate(dims) if k not in axes)
        shape = tuple("1" if k in axes else d for k, d in enumerate(dims)) if keep else left
        if len(shape) != len(out.type.shape) or not axes:
            raise UnmodelledError
        k = self.nest(dims, [x], max([0, *[self.dim_level.get(d, 0) for d in dims]]), math.prod(x.type.shape))
        name = self.emitter.name(out)
        whole = len(axes) == len(dims)
        room = self.room(out, shape) if shape and not whole else ""
        fold = Fold(out, name, how, self.operand(x, k), axes, out.type.dtype, room, self.comment(call))
        self.groups[k].nest.items.append(fold)  # type: ignore[union-attr]
        self.level[out] = k + 1
        if not shape:
            self.env[out] = Num(name, out.type.dtype, out.type.kind)
        elif whole:
            own = self.emitter.name(out, "_1")
            self.at(k + 1).append(f"const {CTYPES[out.type.dtype.name]} {own}[1] = {{{name}}};")
            self.env[out] = Arr(own, shape, ("0",) * len(shape), out.type.dtype)
        else:
            self.env[out] = Arr(
                name, shape, contiguous(shape), out.type.dtype, self.held.get(out, ""), True, out in self.held
            )

    # --- calls of Python ----------------------------------------------------------------------------------------------

    def object_of(self, x: CValue) -> str:
        if not isinstance(x, Obj):
            raise RefusedError("a list of it is none of Python's")
        return x.c

    def boxed(self, lines: list[str], x: CValue, lasting: bool) -> str:
        """The object of an operand; `lasting` in memory of its own, since what C does not follow may keep a part of it."""
        if isinstance(x, Stk):
            return as_list(self, lines, x)
        if not lasting or not isinstance(x, Arr) or x.obj:
            return box(self, lines, x)
        k = self.emitter.object()
        own, t = self.emitter.name("own"), CTYPES[x.dtype.name]
        dims = self.roots(x.dims)
        room = f"new_array(st, f, {k}, {suffix(x.dtype).upper()}, {len(dims)}, (int64_t[]){{{', '.join(dims)}}}, 0)"
        lines += [f"{t} *const {own} = {room};", f"if (!{own}) goto fail;"]
        lines += self.copied(Arr(own, dims, contiguous(dims), x.dtype, "", True), x, "=")
        return f"f->o[{k}]"

    def call_out(self, call: Call, s: Assign) -> None:
        """One call of Python, whose operands are boxed."""
        e = self.emitter
        if e.alone is not None:
            self.refuse(call)
            return
        reads = list(dict.fromkeys(call.reads))
        lines: list[str] = []
        kept = {v for slot in s.slots if slot.memory == "view" and not is_native(slot.value.type) for v in slot.of}
        boxes = [self.boxed(lines, self.read(v), v in kept) for v in reads]
        k = e.object()
        e.calls.append(python_call(call, reads, s.note.quiet, s.is_over()))
        e.called_out.update([call.op.path])
        lines.append(f"PyObject *argv[] = {{{', '.join([*boxes, '0'])}}};")
        lines.append(f"hold(f, {k}, PyObject_Vectorcall(st->calls[{len(e.calls) - 1}], argv, {len(boxes)}, 0));")
        lines.append(f"if (!f->o[{k}]) goto fail;")
        g = self.group("{" + self.comment(call), *[f"    {line}" for line in lines], "}")
        after: list[str] = []
        for j, v in enumerate(call.outs):
            if call.op.n_out == 1:
                text = f"f->o[{k}]"
            else:
                own = e.object()
                after += [f"hold(f, {own}, PySequence_GetItem(f->o[{k}], {j}));", f"if (!f->o[{own}]) goto fail;"]
                text = f"f->o[{own}]"
            self.env[v] = unboxed(self, after, v, text, v, g + 1)
            self.level[v] = g + 1
        self.groups[g].lines += after

    def refuse(self, call: Call) -> None:
        """Note a call that C which stands alone cannot make, and go on, so that all of them are known."""
        e = self.emitter
        e.called_out.update([call.op.path])
        made: list[str] = []
        for v in call.outs:
            self.env[v] = declared(self, made, v, is_storable(v.element))
            self.level[v] = len(self.groups)

    # --- loops and branches ----------------------------------------------------------------------------------------------

    def seen(self) -> str:
        if self.emitter.alone is not None:
            return ""
        self.emitter.arms += 1
        k = self.emitter.arms - 1
        return f"if (!st->seen[{k}]) {{ if (!st->probing) goto unseen; st->seen[{k}] = 1; }}"

    def inner(self, pairs: Iterable[tuple[Any, Value]], looped: bool = False) -> Block:
        """A block within this one, which is given values."""
        env = dict(self.env)
        for x, v in pairs:
            env[v] = self.given(x, v)
        return Block(self.emitter, env, self.same, looped or self.looped)

    def given(self, x: Any, v: Value) -> CValue:
        found = self.read(x)
        if isinstance(found, Num):
            return found._replace(kind=v.type.kind) if found.dtype == v.type.dtype else self.as_type(found, v)
        return found

    def as_type(self, found: Num, v: Value) -> Num:
        return Num(f"({cast(found.c, found.dtype, v.type.dtype)})", v.type.dtype, v.type.kind)

    def truth(self, block: Block, x: Any) -> str:
        found = block.read(x)
        if not isinstance(found, Num):
            raise RefusedError("it decides by an object of Python's")
        return found.c if found.dtype.kind == "b" else f"{found.c} != 0"

    def guard(self, s: Guard) -> None:
        if s.how == "length":
            self.of_lengths(s)
            return
        if s.how == "iscomplexobj":  # what C takes from Python is of the dtype that it expects, or goes to NumPy
            self.env[s.out], self.level[s.out] = self.read(s.value), self.levels(s.value)
            return
        self.at(self.levels(s.value)).append(f"if (!({self.holds(s)})) goto punt;")
        self.env[s.out] = self.read(s.value)
        self.level[s.out] = self.levels(s.value)

    def of_lengths(self, guard: Guard) -> None:
        """A guard of lengths that follow from values, which hold with those of the arguments."""
        sizes = [self.read(size) for size in values_in((guard.value,))]
        unpacked = [v for s in self.emitter.program.body if isinstance(s, Unpack) for v in leaves_of(s.tree)]
        arrays = [x for x in map(self.env.get, unpacked) if isinstance(x, Arr)]
        if not all(isinstance(x, Num) for x in sizes):
            raise RefusedError("it is held to a length that C does not have")
        row = list(dict.fromkeys(d for x in arrays for d in x.dims if not d.isdigit()))
        row += [x.c for x in sizes if isinstance(x, Num)]
        self.emitter.lengths = len(row)
        test = f"checked_lengths(st, {len(row)}, (int64_t[]){{{', '.join(row)}}})"
        self.at(self.levels(guard.value)).append(f"if (!{test}) goto punt;")

    def fork(self, s: Fork, rest: Sequence[Statement]) -> None:
        """A path of its own, and what follows for the other calls."""
        test = self.holds(s)
        for inner in each_statement([*s.body, *rest]):
            for v in reads_of(inner):
                if v in self.env:
                    self.read(v)
        arms: list[list[str]] = []
        for body, guard in ((s.body, s.call), (rest, s.other)):
            block = Block(self.emitter, dict(self.env), self.same, self.looped)
            if guard is not None:
                block.env[guard.outs[0]] = self.read(s.value)
            block.at(0).append(self.seen())
            block.statements(body)
            arms.append(_deeper(block.lines()))
        self.group(f"if ({test}) {{{self.comment(s.call)}", *arms[0], "} else {", *arms[1], "}")

    def holds(self, s: Guard | Fork) -> str:
        """The test of a guard."""
        found = self.read(s.value)
        if not isinstance(found, Num) or s.how not in ("bool", "int", "float", "index", "item"):
            raise RefusedError("it is held to a value that C does not have")
        kind = "b" if s.how == "bool" else found.dtype.kind
        want = literal(s.expected, np.dtype(bool) if kind == "b" else found.dtype)
        return f"{f'({found.c} != 0)' if kind == 'b' else found.c} == {want}"

    def choice(self, s: If) -> None:
        lines: list[str] = []
        outs: list[CValue] = []
        for v in s.outs:
            out = declared(self, lines, v, is_storable(v.element))
            if v in self.emitter.aliases.merged and isinstance(out, Arr):
                out = out._replace(maybe=f"f->o[{self.emitter.object()}]")
            outs.append(out)
        test = self.truth(self, s.test)
        arms: list[list[str]] = []
        for arm in (s.then, s.orelse):
            block = self.inner(arm.given)
            block.at(0).append(self.seen())
            block.statements(arm.body)
            for v, x, out in zip(s.outs, arm.results, outs, strict=True):
                block.group(*(_nothing(out) if x is None else _assigned(block, out, block.read(x), v)))
            arms.append(block.lines())
        g = self.group(
            *lines, f"if ({test}) {{{self.comment(s.call)}", *_deeper(arms[0]), "} else {", *_deeper(arms[1]), "}"
        )
        for v, out in zip(s.outs, outs, strict=True):
            self.env[v], self.level[v] = out, g + 1
            for d in out.dims if isinstance(out, Arr) else ():
                if d != "1":
                    self.dim_level[d] = g + 1

    def loop(self, s: Loop, rest: Sequence[Statement]) -> None:
        e = self.emitter
        later = {v for inner in each_statement(rest) for v in reads_of(inner)}
        later.update(v for x, _ in s.given for v in values_in(x))
        lines: list[str] = []
        trips = None if s.trips is None else self.read(s.trips)
        lists = [self.read(v) for v, _ in s.items]
        starts = [self.read(c.start) for c in s.carries]
        inner = self.inner(s.given, looped=True)
        count, place, limit = e.name(s.count), e.name(s.place), e.name("trips")
        carried: list[tuple[CValue, int]] = []
        for c, start in zip(s.carries, starts, strict=True):
            name, v = e.name(c.param), c.param
            if is_native(v.type) and v.type.shape:
                if not isinstance(start, Arr) or start.dtype != v.type.dtype:
                    raise RefusedError("a loop carries an array that C does not have")
                if c.start in self.fused and c.start not in later and c in e.steady and not start.maybe:
                    lines.append(f"{CTYPES[v.type.dtype.name]} *const {name} = {start.p};  /* written in place */")
                    carried.append((start._replace(p=name), 0))
                    inner.env[v] = carried[-1][0]
                    continue
                slots = (e.slot(), e.slot())
                t = CTYPES[v.type.dtype.name]
                own = Arr(name, self.roots(start.dims), contiguous(self.roots(start.dims)), v.type.dtype, "", True)
                size = f"sizeof({t}) * ({product(own.dims)})"
                e.taken.add(f"{name}_next")
                lines += [f"{t} *{name} = room(f, {slots[0]}, {size}), *{name}_next = room(f, {slots[1]}, {size});"]
                lines += [f"if (!{name} || !{name}_next) goto punt;", *self.copied(own, start, "=")]
                if {c.out, v} & e.aliases.merged:  # the array itself where no trip is made
                    own = own._replace(maybe=f"f->o[{e.object()}]")
                    lines.append(f"hold(f, {_place(own.maybe)}, {_object_of(start)});")
                carried.append((own, 0))
            elif is_native(v.type):
                if not isinstance(start, Num):
                    raise RefusedError("a loop carries a number that C does not have")
                lines.append(f"{CTYPES[v.type.dtype.name]} {name} = {cast(start.c, start.dtype, v.type.dtype)};")
                carried.append((Num(name, v.type.dtype, v.type.kind), 0))
            else:
                k = e.object()
                text = box(self, lines, start)
                lines.append(f"hold(f, {k}, again({text}));")
                carried.append((Obj(f"f->o[{k}]"), k))
            inner.env[v] = carried[-1][0]
        if trips is not None and not isinstance(trips, Num):
            raise RefusedError("a loop runs as often as an object of Python's says")
        if trips is None and s.test is None:
            first = lists[0]
            n = length_of(first) if isinstance(first, Stk) else f"PyList_Size({self.object_of(first)})"
            lines.append(f"const int64_t {limit} = {n};")
            lines.append(f"if ({limit} < 0) goto fail;")
        elif isinstance(trips, Num):
            lines.append(f"const int64_t {limit} = {trips.c};")
        bounded = trips is not None or s.test is None
        lines.append(f"int64_t {count} = 0;")
        lines.append(f"for (;{f' {count} < {limit}' if bounded else ''};) {{{self.comment(s.call)}")
        body: list[str] = []
        if s.test is not None:
            for x, _ in s.test.given:
                if isinstance(x, Value) and x in self.env:
                    self.read(x)
            asked = inner.inner(s.test.given)
            asked.statements(s.test.body)
            test = self.truth(asked, s.test.results[0])
            own_lines = asked.lines()
            body += ["int more;", "{", *_deeper(own_lines), f"    more = {test};", "}", "if (!more) break;"]
        inner.env[s.place] = Num(place, s.place.type.dtype, "python")
        body.append(f"const int64_t {place} = {f'{limit} - 1 - {count}' if s.reverse else count};")
        inner.at(0).append(self.seen())
        for one, (_, item) in zip(lists, s.items, strict=True):
            if isinstance(one, Stk):
                if not isinstance(item, Value):
                    raise RefusedError("a loop walks a list of tuples")
                before: list[str] = []
                inner.env[item] = item_of(inner, one, place, item, before)
                inner.at(0).extend(before)
                continue
            text, k = self.object_of(one), e.object()
            inner.at(0).append(f"hold(f, {k}, again(PyList_GetItem({text}, {place})));")
            inner.at(0).append(f"if (!f->o[{k}]) goto fail;")
            if type(item) is tuple or not isinstance(item, Value):
                raise RefusedError("a loop walks a list of tuples")
            inner.enter(item, f"f->o[{k}]", e.name(item))
        inner.statements(s.body)
        last: list[str] = []
        objects: list[str] = []  # new references, behind all that may fail
        swaps: list[str] = []
        for c, (held, k) in zip(s.carries, carried, strict=True):
            self.carry_on(inner, held, k, inner.read(c.after), last, objects, swaps)
        pieces = inner.chunks()
        body += marked(pieces) if e.alone is None else [line for piece in pieces for line in piece]
        body += [*last, *objects, *swaps, f"{count}++;"]
        if e.alone is None:
            body.append(f"WORK({sum(not is_mark(line) for line in body)});")
        lines += _deeper(body)
        g = self.group(*lines, "}")
        for c, (held, _) in zip(s.carries, carried, strict=True):
            self.env[c.out], self.level[c.out] = held, g + 1
        self.env[s.count] = Num(count, np.dtype(np.int64), "python")
        self.level[s.count] = g + 1

    def carry_on(
        self, inner: Block, own: CValue, k: int, end: CValue, last: list[str], objects: list[str], swaps: list[str]
    ) -> None:  # fmt: skip
        """What a trip gives to the next: all that is read stands in `last`, all that is written in `swaps`."""
        if isinstance(own, Arr):
            dims = inner.roots(end.dims) if isinstance(end, Arr) else ()
            if f"{own.p}_next" not in self.emitter.taken and (not isinstance(end, Arr) or end.p != own.p):
                raise RefusedError("a loop gives another array than the one that it was to write into")
            if isinstance(end, Arr) and (own.p, own.strides, inner.roots(own.dims)) == (end.p, end.strides, dims):
                return  # written in place
            if own.maybe:
                name = self.emitter.name("object")
                objects.append(f"PyObject *const {name} = {_object_of(end) if isinstance(end, Arr) else '0'};")
                swaps.append(f"hold(f, {_place(own.maybe)}, {name});")
            if not isinstance(end, Arr) or end.dtype != own.dtype:
                raise RefusedError("a loop carries an array that C does not have")
            last += inner.copied(own._replace(p=f"{own.p}_next"), end, "=")
            t = CTYPES[own.dtype.name]
            swaps.append(f"{{ {t} *const p = {own.p}; {own.p} = {own.p}_next; {own.p}_next = p; }}")
        elif isinstance(own, Num):
            if not isinstance(end, Num):
                raise RefusedError("a loop carries a number that C does not have")
            last.append(f"const {CTYPES[own.dtype.name]} {own.c}_next = {cast(end.c, end.dtype, own.dtype)};")
            swaps.append(f"{own.c} = {own.c}_next;")
        else:
            name, text = self.emitter.name("object"), box(inner, last, end)
            objects.append(f"PyObject *const {name} = again({text});")
            swaps.append(f"hold(f, {k}, {name});")

    def new_list(self, target: Value) -> None:
        if target.element is not None and is_storable(target.element):
            own = f"(f->stacks + {self.emitter.stack()})"
            self.group(f"empty_stack({own}, {depth_of(target.element)});")
            self.env[target] = Stk(own, target.element)
        else:
            k = self.emitter.object()
            self.group(f"hold(f, {k}, PyList_New(0));", f"if (!f->o[{k}]) goto fail;")
            self.env[target] = Obj(f"f->o[{k}]")
        self.level[target] = len(self.groups)

    def push(self, target: Value, value: Any, rest: Sequence[Statement]) -> None:
        stack = self.read(target)
        found = self.read(value)
        if isinstance(value, Value) and self.pushed.get(value) is target and value in self.on_stack:
            return  # it was made there
        if isinstance(stack, Stk):
            if isinstance(found, Stk) and any(value in reads_of(s) for s in rest):
                raise RefusedError("a list is read behind the place where it is put on another")
            self.group("{", *_deeper(pushed(self, stack, found)), "}")
            return
        lines: list[str] = []
        if isinstance(found, Arr):
            k = self.emitter.object()
            dims = f"(int64_t[]){{{', '.join(found.dims)}}}"
            t = CTYPES[found.dtype.name]
            room = f"new_array(st, f, {k}, {suffix(found.dtype).upper()}, {len(found.dims)}, {dims}, 0)"
            own = self.emitter.name("item")
            lines += [f"{t} *const {own} = {room};", f"if (!{own}) goto punt;"]
            lines += self.copied(Arr(own, found.dims, contiguous(found.dims), found.dtype), found, "=")
            text = f"f->o[{k}]"
        else:
            text = box(self, lines, found)
        lines.append(f"if (PyList_Append({self.object_of(stack)}, {text}) < 0) goto fail;")
        self.group("{", *_deeper(lines), "}")

    def copied(self, to: Arr, x: CValue, how: str) -> list[str]:
        """Lines that write an array or a number into an array, broadcast."""
        lines: list[str] = []
        together = bool(to.strides) and to.strides[-1] == "1"  # whether the last axis lies as vectors take it
        if isinstance(x, Num):
            value = cast(x.c, x.dtype, to.dtype)
        elif isinstance(x, Arr):
            dims = self.roots(to.dims)
            own = self.roots(x.dims)
            extra = len(own) - len(dims)
            if extra > 0 and set(own[:extra]) != {"1"}:
                raise UnmodelledError
            own, steps = own[max(extra, 0) :], x.strides[max(extra, 0) :]
            aligned, whole = ["0"] * (len(dims) - len(own)), len(own) == len(dims)
            for k, (d, s) in enumerate(zip(own, steps, strict=True), len(dims) - len(own)):
                if d == "1" and dims[k] != "1":
                    aligned.append("0")
                    whole = False
                    continue
                if d != dims[k]:
                    lines.append(f"if ({d} != {dims[k]}) goto punt;")
                aligned.append(s)
            if x.dense and to.dense and whole and how == "=" and x.dtype == to.dtype:
                size = f"sizeof({CTYPES[to.dtype.name]}) * ({product(dims)})"
                return [*lines, f"memcpy({to.p}, {x.p}, {size});"]
            together = together and aligned[-1] in ("0", "1")
            place = " + ".join(f"i{k} * ({s})" for k, s in enumerate(aligned) if s != "0") or "0"
            value = cast(f"{x.p}[{place}]", x.dtype, to.dtype)
        else:
            raise UnmodelledError
        target = " + ".join(f"i{k} * ({s})" for k, s in enumerate(to.strides) if s != "0") or "0"
        for k, d in enumerate(to.dims):
            if together and k == len(to.dims) - 1 and not d.isdigit():
                lines.append("#pragma omp simd")
            lines.append("    " * k + f"for (int64_t i{k} = 0; i{k} < {d}; i{k}++)")
        lines.append("    " * len(to.dims) + f"{to.p}[{target}] {how} {value};")
        return lines

    # --- the end ---------------------------------------------------------------------------------------------------------

    def stores(self, body: Sequence[Statement]) -> None:
        """The last statements of a function that writes: all that can fail comes first, also where the result is made."""
        *writes, last = body
        if self.emitter.alone is not None:
            raise RefusedError("it writes into an argument")
        if not isinstance(last, Return) or not all(isinstance(s, Store) for s in writes):
            raise RefusedError("it goes on after it has written into an argument")
        before: list[str] = []
        after: list[str] = []
        e = self.emitter
        for s in writes:
            assert isinstance(s, Store)
            base, found = self.read(s.base), self.read(s.value)
            if not isinstance(base, Arr) or not base.obj or not isinstance(found, (Arr, Num)):
                raise RefusedError("it writes into an argument that C does not have")
            if found.dtype.kind == "f" and base.dtype.kind in "ib":
                raise RefusedError("it writes floats into an array of ints")
            level = len(self.groups)
            before.append(f"if (!(ARRAY({base.obj})->flags & 0x400)) goto punt;  /* read-only */")
            try:
                start = len(self.at(level))
                p, dims, strides = indexed(self, base, s.index, level, (0,) * len(base.dims))
                before += self.at(level)[start:]
                del self.at(level)[start:]
                t, source = CTYPES[found.dtype.name], e.name("stored")
                own: CValue
                if isinstance(found, Arr):  # it may lie in what an earlier write changes
                    dims_now = self.roots(found.dims)
                    whole = Arr(source, dims_now, contiguous(dims_now), found.dtype, "", True)
                    before.append(f"{t} *const {source} = room(f, {e.slot()}, sizeof({t}) * ({product(dims_now)}));")
                    before += [f"if (!{source}) goto punt;", *self.copied(whole, found, "=")]
                    own = whole
                else:
                    before.append(f"const {t} {source} = {found.c};")
                    own = Num(source, found.dtype, found.kind)
                where = e.name("at")
                before.append(f"{CTYPES[base.dtype.name]} *const {where} = {p};")
                lines = self.copied(Arr(where, tuple(dims), tuple(strides), base.dtype), own, "=")
            except UnmodelledError:
                raise RefusedError("it writes into an argument at places that C does not have") from None
            tests = [line for line in lines if "goto punt" in line]
            before += tests
            after += [line for line in lines if line not in tests]
        self.group(*before)
        self.result(last, after)

    def result(self, s: Return, writes: Sequence[str] = ()) -> None:
        lines: list[str] = []
        made: dict[Any, str] = {}
        e = self.emitter
        if e.alone is not None:
            self.handed_out(s, e.alone)
            return

        def leaf(k: int) -> str:
            """A new reference to one output; one that is given twice is one object."""
            v = s.outputs[k]
            key = v if isinstance(v, Value) and v.type.kind == "array" else k
            if key not in made:
                found = self.read(v)
                j = e.object()
                made[key] = f"f->o[{j}]"
                if isinstance(found, Arr):
                    lines.extend(self.given_back(found, j, order_of(v)))
                elif isinstance(found, Num) and isinstance(v, Value):
                    lines.append(f"hold(f, {j}, {scalar_of(found)});")
                elif isinstance(found, Obj):
                    lines.append(f"hold(f, {j}, again({found.c}));")
                else:
                    lines.append(f"hold(f, {j}, again({e.constant(v)}));" if not isinstance(v, Value) else "goto punt;")
                lines.append(f"if (!f->o[{j}]) goto fail;")
            return made[key]

        def build(tree: Any) -> str:
            """A new reference to a part of the result."""
            if tree is FLAT:
                return f"again({e.constant(FLAT)})"
            if isinstance(tree, (int, np.integer)) and not isinstance(tree, bool):
                return f"again({leaf(int(tree))})"
            j = e.object()
            name = f"f->o[{j}]"
            if type(tree) is dict:
                lines.append(f"hold(f, {j}, PyDict_New());")
                lines.append(f"if (!{name}) goto fail;")
                for key, part in tree.items():
                    now = build(part)
                    p = e.name("part")
                    lines.append(f"PyObject *const {p} = {now};")
                    lines.append(
                        f"if (PyDict_SetItem({name}, {e.constant(key)}, {p}) < 0) {{ Py_DecRef({p}); goto fail; }}"
                    )
                    lines.append(f"Py_DecRef({p});")
                return f"again({name})"
            if type(tree) not in (tuple, list):
                raise RefusedError("its result is an object of the caller's class")
            word = "Tuple" if type(tree) is tuple else "List"
            lines.append(f"hold(f, {j}, Py{word}_New({len(tree)}));")
            lines.append(f"if (!{name}) goto fail;")
            for k, part in enumerate(tree):
                now = build(part)
                lines.append(f"Py{word}_SetItem({name}, {k}, {now});")
            return f"again({name})"

        if _holds_instance(s.tree):
            e.nested = s.tree
            text = build((FLAT, *range(len(s.outputs))))
        else:
            text = build(s.tree)
        end = e.name("whole")
        path, e.paths = e.paths, e.paths + 1
        counted = f"if (!st->probing) st->hits[{path}]++;"
        self.group(*lines, f"PyObject *const {end} = {text};", *writes, counted, f"return {end};")

    def handed_out(self, s: Return, alone: Alone) -> None:
        """Write the results into memory of the caller's, behind all tests."""
        tests: list[str] = []
        lines: list[str] = []
        for keys, k in alone.leaves(s.tree):
            v = s.outputs[k]
            found = self.read(v)
            if isinstance(found, Arr):
                found = found._replace(dims=self.roots(found.dims))
            where = alone.result(v, found, keys, tests)
            if isinstance(found, Num):
                lines.append(f"if ({where.p}) *{where.p} = {cast(found.c, found.dtype, where.dtype)};")
                continue
            copied = self.copied(where, found, "=")
            tests += [line for line in copied if "goto punt" in line]
            lines += [f"if ({where.p}) {{", *_deeper([line for line in copied if "goto punt" not in line]), "}"]
        self.group(*tests, *lines, "return 0;")

    def given_back(self, found: Arr, j: int, order: tuple[int, ...] | None) -> list[str]:
        """An array of Python's with the elements of one of the kernel's, in the order of axes of NumPy's."""
        strides = contiguous(found.dims)
        if order is not None:
            along = dict(zip(order, contiguous(tuple(found.dims[k] for k in order)), strict=True))
            strides = tuple(along[k] for k in range(len(order)))
        dims = f"(int64_t[]){{{', '.join(found.dims)}}}"
        steps = "0" if order is None else f"(int64_t[]){{{', '.join(strides)}}}"
        t, letter, rank = CTYPES[found.dtype.name], suffix(found.dtype).upper(), len(found.dims)
        own = self.emitter.name("given")
        copy = [
            f"{t} *const {own} = new_array(st, f, {j}, {letter}, {rank}, {dims}, {steps});",
            f"if (!{own}) goto punt;",
            *self.copied(Arr(own, found.dims, strides, found.dtype, "", order is None), found, "="),
        ]
        if found.maybe:
            return [f"if ({found.maybe}) hold(f, {j}, again({found.maybe}));", "else {", *_deeper(copy), "}"]
        if not found.obj:
            return ["{", *_deeper(copy), "}"]
        if found.made:
            return [f"hold(f, {j}, again({found.obj}));"]
        return [
            f"if (!within(f, SLOTS, STACKS, {found.p})) hold(f, {j}, again({found.obj}));", "else {", *_deeper(copy), "}",
        ]  # fmt: skip


def order_of(v: Any) -> tuple[int, ...] | None:
    """The axes of an array by their strides in the capture, the widest first; None where that is C order."""
    if not isinstance(v, Value) or any(s < 0 for s in v.type.strides):
        return None
    shape, strides = v.type.shape, v.type.strides
    axes = sorted(range(len(shape)), key=lambda k: -strides[k] if shape[k] > 1 else -(2**62))
    wide = [k for k in axes if shape[k] > 1]
    return None if wide == sorted(wide) else tuple(axes)


def _steady(program: Program) -> set[Carry]:
    """The arrays that loops carry and write into in place, of which no other loop begins with the same."""
    found: set[Carry] = set()
    starts: Counter[Any] = Counter()
    for s in each_statement(program.body):
        if not isinstance(s, Loop):
            continue
        starts.update(c.start for c in s.carries if isinstance(c.start, Value))
        over = {slot.value: slot.of[0] for a in s.body if isinstance(a, Assign) for slot in a.slots if a.is_over()}
        writes = {a.slots[0].value for a in s.body if isinstance(a, Assign) and a.call.op.base in in_place()}
        for c in s.carries:
            if isinstance(c.after, Value) and c.after in writes and over.get(c.after) is c.param and c.param.type.shape:
                found.add(c)
    return {c for c in found if isinstance(c.start, Value) and starts[c.start] == 1}


def _written_over(program: Program, returned: Set[Value]) -> dict[Value, Value]:
    """The arrays of which results are the last state, each with that: they are the caller's from the beginning."""
    assigned = [s for s in program.body if isinstance(s, Assign) and s.is_over() and s.call.op.base in in_place()]
    over = {s.slots[0].value: s.slots[0].of[0] for s in assigned}
    found: dict[Value, Value] = {}
    for result in returned:
        v = result
        while v in over:
            v = over[v]
            found[v] = result
    return found


def _place(text: str) -> str:
    """The number of an object's place among those of the frame."""
    found = re.fullmatch(r"f->o\[(\d+)\]", text)
    assert found is not None
    return found[1]


def _object_of(x: Arr) -> str:
    """A new reference to the object that an array is, or NULL."""
    if x.maybe:
        return f"{x.maybe} ? again({x.maybe}) : 0"
    return f"again({x.obj})" if x.obj else "0"


def _nothing(out: CValue) -> list[str]:
    """Lines by which an arm gives a value that nobody reads who has taken this arm."""
    if isinstance(out, Num):
        return [f"{out.c} = 0;"]
    if isinstance(out, Arr):
        gone = [f"hold(f, {_place(out.maybe)}, 0);"] if out.maybe else []
        return [
            *gone,
            f"{out.p} = 0;",
            *[f"{d} = 0;" for d in out.dims if d != "1"],
            *[f"{s} = 0;" for s in out.strides],
        ]
    if isinstance(out, Stk):
        return [f"{out.c} = 0;"]
    assert isinstance(out, Obj)
    return [f"hold(f, {_place(out.c)}, 0);"]


def _assigned(block: Block, out: CValue, end: CValue, v: Value) -> list[str]:
    """Lines by which an arm gives a value."""
    if isinstance(out, Arr):
        if not isinstance(end, Arr) or end.dtype != out.dtype or len(end.dims) != len(out.dims):
            raise RefusedError("a branch gives an array that C does not have")
        made = [f"{out.p} = ({CTYPES[out.dtype.name]} *){end.p};"]
        if out.maybe:
            made.append(f"hold(f, {_place(out.maybe)}, {_object_of(end)});")
        for d, s, have, step in zip(out.dims, out.strides, end.dims, end.strides, strict=True):
            made.append(f"if ({have} != 1) goto punt;" if d == "1" else f"{d} = {have};")
            made += [f"{s} = {step};"]
        return made
    if isinstance(out, Num):
        if not isinstance(end, Num):
            raise RefusedError("a branch gives a number that C does not have")
        return [f"{out.c} = {cast(end.c, end.dtype, out.dtype)};"]
    if isinstance(out, Stk):
        if not isinstance(end, Stk) or end.rows is not None:
            raise RefusedError("a branch gives a list that C does not have")
        return [f"{out.c} = {end.c};"]
    lines: list[str] = []
    text = box(block, lines, end)
    assert isinstance(out, Obj)
    return [*lines, f"hold(f, {_place(out.c)}, again({text}));"]


def _holds_instance(tree: Any) -> bool:
    return isinstance(tree, Instance) or any(_holds_instance(part) for _, part in children(tree) or ())


def _leaves(tree: Any) -> Iterable[Value]:
    if isinstance(tree, Value):
        return [tree]
    return [v for _, part in children(tree) or () for v in _leaves(part)]


def _deeper(lines: list[str]) -> list[str]:
    return [line if line.startswith("#") else f"    {line}" for line in lines]
