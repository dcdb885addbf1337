"""Bytecode rewritten where nobody has the source: the hooks of the tree, put between the instructions as constants."""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .hooks import (
    GLOBALS,
    HOOKS,
    IN_PLACE,
    ITERATING,
    METHOD_FLAG,
    NULL_AFTER,
    SIZES,
    all_code,
    cached_by_code,
    count_iterated,
    uses_opcode,
)

__all__ = ["Hook", "rewritten_bytecode", "stores_through_module", "telling_bytecode"]

_KNOWN = ((3, 11), (3, 12), (3, 13))  # the versions of Python whose instructions these are
_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
_MATMUL = 4  # of BINARY_OP
_ROOM = 4  # on the stack, for what is put in
_SIGNS = {  # of BINARY_OP, by its number: the node of a tree that means it
    0: "Add", 1: "BitAnd", 2: "FloorDiv", 3: "LShift", 4: "MatMult", 5: "Mult", 6: "Mod", 7: "BitOr", 8: "Pow", 9: "RShift",
    10: "Sub", 11: "Div", 12: "BitXor",
}  # fmt: skip
_COMPARISONS = {"<": "Lt", "<=": "LtE", "==": "Eq", "!=": "NotEq", ">": "Gt", ">=": "GtE"}
_UNARY = {"UNARY_NEGATIVE": "USub", "UNARY_POSITIVE": "UAdd", "UNARY_INVERT": "Invert"}


class Hook:
    """A constant of rewritten code: `hook @ operand` runs it, for which the stack needs one place; `~hook` runs it without."""

    __slots__ = ("_run",)

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run

    def __matmul__(self, operand: Any) -> Any:
        return self._run(operand)

    def __invert__(self) -> Any:
        return self._run()


class _Call:
    """The callable in the place of a call's NULL, which Python calls with the callable in front of the arguments."""

    __slots__ = ("_run",)

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run

    def __call__(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._run(function)(*args, **kwargs)


class _Step:
    """One instruction: its argument, the offset that it jumps to, the user's place, and how many inline caches follow it."""

    __slots__ = ("arg", "at", "caches", "extended", "name", "positions", "target", "value")

    def __init__(self, name: str, arg: int = 0, caches: int = -1) -> None:
        self.name, self.arg = name, arg
        self.caches = _caches().get(name, 0) if caches < 0 else caches
        self.positions: Any = None
        self.target: int | None = None
        self.value: Any = None  # what the argument means
        self.at = self.extended = 0  # the unit where it begins; how many units extend its argument

    @property
    def units(self) -> int:
        """The number of units of two bytes that it takes."""
        self.extended = max(self.extended, (self.arg.bit_length() - 1) // 8 if self.arg else 0)
        return self.extended + 1 + self.caches

    def encoded(self) -> bytes:
        """Return its bytes."""
        larger = [(dis.opmap["EXTENDED_ARG"], self.arg >> 8 * k & 255) for k in range(self.extended, 0, -1)]
        return bytes([*itertools.chain(*larger), dis.opmap[self.name], self.arg & 255]) + bytes(2 * self.caches)


class _Range(NamedTuple):
    """A range of an exception table: between two offsets, what handles an exception, and how the stack is left."""

    start: int
    end: int
    target: int
    depth: int  # the depth of the stack, twice, and whether the place of the exception is put on it


@functools.cache
def _caches() -> dict[str, int]:
    """Return how many inline caches the instructions have that are put in."""
    sample = compile("def f(x, y):\n    x[y] = x[y @ z] or y", "", "exec").co_consts[0]
    return {step.name: step.caches for step in _decoded(sample)[1]}


def _decoded(code: types.CodeType) -> tuple[list[int], list[_Step]]:
    """Return the offsets of the instructions of code (of what extends their arguments, where it does), and the instructions."""
    offsets: list[int] = []
    steps: list[_Step] = []
    begin: int | None = None
    found = list(dis.get_instructions(code))
    for i, end in zip(found, [*[i.offset for i in found[1:]], len(code.co_code)], strict=True):
        begin = i.offset if begin is None else begin
        if i.opname == "EXTENDED_ARG":
            continue
        step = _Step(i.opname, i.arg or 0, (end - i.offset) // 2 - 1)
        step.positions, step.value = i.positions, i.argval
        step.target = i.argval if i.opcode in _JUMPS else None
        steps.append(step)
        offsets.append(begin)
        begin = None
    return offsets, steps


# --- the tables of a code object -------------------------------------------------------------------------------------


def _numbers(table: bytes) -> Iterator[int]:
    """Read the numbers of an exception table: six bits a byte, the highest first; bit 6 says that more follow."""
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0


def _ranges(table: bytes) -> list[_Range]:
    """Return the ranges of an exception table."""
    numbers = iter(list(_numbers(table)))
    found = zip(numbers, numbers, numbers, numbers, strict=True)
    return [_Range(2 * start, 2 * (start + length), 2 * target, depth) for start, length, target, depth in found]


def _exception_table(rows: list[tuple[int, int, int, int]]) -> bytes:
    """Return the exception table of such rows, in units."""
    made = bytearray()
    for row in rows:
        for k, value in enumerate(row):
            parts = [value >> shift & 63 for shift in range(0, max(value.bit_length(), 1), 6)][::-1]
            encoded = [part | 64 for part in parts[:-1]] + parts[-1:]
            encoded[0] |= 128 * (k == 0)
            made += bytes(encoded)
    return bytes(made)


def _small(value: int) -> bytes:
    """Return a number of a line table: six bits a byte, the lowest first."""
    made = bytearray()
    while value > 63:
        made.append(value & 63 | 64)
        value >>= 6
    return bytes([*made, value])


def _line_table(steps: list[_Step], line: int) -> bytes:
    """Return the line table of instructions, with their columns where they are known."""
    made = bytearray()
    for step in steps:
        units, place = step.units, step.positions
        while units > 0:
            length = min(units, 8) - 1
            units -= 8
            if place is None or place.lineno is None:
                made.append(0x80 | 15 << 3 | length)
                continue
            delta = place.lineno - line
            line = place.lineno
            signed = -delta << 1 | 1 if delta < 0 else delta << 1
            if place.end_lineno is None or place.col_offset is None or place.end_col_offset is None:
                made += bytes([0x80 | 13 << 3 | length]) + _small(signed)
                continue
            columns = place.end_lineno - line, place.col_offset + 1, place.end_col_offset + 1
            made += bytes([0x80 | 14 << 3 | length]) + _small(signed) + b"".join(map(_small, columns))
    return bytes(made)


def _placed(steps: list[_Step]) -> int:
    """Say of each instruction where it begins; return where the last one ends."""
    at = 0
    for step in steps:
        step.at = at
        at += step.units
    return at


def _assembled(
    code: types.CodeType, groups: list[list[_Step]], offsets: list[int], consts: list[Any], names: list[str]
) -> types.CodeType:
    """Return code of such instructions; each group stands in the place of the instruction at its offset."""
    steps = [step for group in groups for step in group]
    first = {offset: group[0] for offset, group in zip(offsets, groups, strict=True)}
    for step in steps:
        step.arg = 0 if step.target is not None else step.arg
    at = -1
    while at != (at := _placed(steps)):  # an argument that grows moves what follows
        for step in steps:
            if step.target is not None:
                way = first[step.target].at - step.at - step.units
                step.arg = -way if "BACKWARD" in step.name else way
    starts = {offset: step.at for offset, step in first.items()} | {len(code.co_code): at}
    rows = [
        (starts[r.start], starts[r.end] - starts[r.start], starts[r.target], r.depth)
        for r in _ranges(code.co_exceptiontable)
    ]
    return code.replace(
        co_code=b"".join([step.encoded() for step in steps]), co_consts=tuple(consts), co_names=tuple(names),
        co_linetable=_line_table(steps, code.co_firstlineno), co_exceptiontable=_exception_table(rows),
        co_stacksize=code.co_stacksize + _ROOM,
    )  # fmt: skip


# --- what is put in --------------------------------------------------------------------------------------------------


class _Rewriter:
    """Puts hooks between the instructions of one code object."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        self.consts, self.names = list(code.co_consts), list(code.co_names)
        self.offsets, self.steps = _decoded(code)
        self._places: dict[Any, int] = {}

    def const(self, key: Any, value: Any) -> _Step:
        """Return the instruction that puts a constant onto the stack; it is one for all of the same key."""
        if key not in self._places:
            self._places[key] = len(self.consts)
            self.consts.append(value)
        return _Step("LOAD_CONST", self._places[key])

    def hook(self, key: Any, run: Callable[..., Any]) -> list[_Step]:
        """Return the instructions that put `run(top)` in the place of the top of the stack."""
        return [self.const(key, Hook(run)), _Step("SWAP", 2), _Step("BINARY_OP", _MATMUL)]

    def globals(self) -> _Step:
        """Return the instruction that puts the module's globals onto the stack."""
        if GLOBALS not in self.names:
            self.names.append(GLOBALS)
        return _Step("LOAD_GLOBAL", self.names.index(GLOBALS) << 1)

    def read_global(self, step: _Step, called: list[_Step]) -> list[_Step]:
        """Return the instructions for the read of a global that the code stores; with those for one that is called."""
        read = [self.globals(), self.const(("name", step.value), step.value), _Step("BINARY_SUBSCR")]
        return _with_null([*read, *called]) if step.arg & 1 else read

    def store_global(self, step: _Step, noted: list[_Step]) -> list[_Step]:
        """Return the instructions that store or delete a global, by way of those that note it."""
        end = _Step("STORE_SUBSCR" if step.name == "STORE_GLOBAL" else "DELETE_SUBSCR")
        return [self.globals(), *noted, self.const(("name", step.value), step.value), end]

    def handler(self, k: int, enter: Callable[[Any], Any], caught: Callable[[], Any]) -> list[_Step] | None:
        """Return the instructions for one at which a handler of errors begins, or a `with`; None for any other."""
        step, before = self.steps[k], self.steps[k - 1].name if k else ""
        told = [self.const("caught", Hook(caught)), _Step("UNARY_INVERT"), _Step("POP_TOP")]
        if before == "PUSH_EXC_INFO" and step.name == "POP_TOP":  # of everything
            return [*told, step]
        if before == "CHECK_EXC_MATCH":  # the jump past a handler that it is not
            return [step, *told]
        return [*self.hook("enter", enter), step] if step.name == "BEFORE_WITH" else None

    def made(self, groups: list[list[_Step]], inner: Callable[[types.CodeType], types.CodeType]) -> types.CodeType:
        """Return the code of such groups, each at the user's place, and of the functions in it."""
        for step, group in zip(self.steps, groups, strict=True):
            for new in group:
                new.positions = step.positions
        self.consts = [inner(c) if isinstance(c, types.CodeType) else c for c in self.consts]
        return _assembled(self.code, groups, self.offsets, self.consts, self.names)


def _with_null(read: list[_Step]) -> list[_Step]:
    """Return the instructions for what is called, with the NULL that a call takes beside it."""
    return [*read, _Step("PUSH_NULL")] if NULL_AFTER else [_Step("PUSH_NULL"), *read]


@cached_by_code(256)
def stores_through_module(code: types.CodeType) -> types.CodeType | None:
    """Return code whose stores to globals go straight to the module, `__gradscribe_globals__['name']`, as its reads of these.

    None where this version of Python is not known.
    """
    if sys.version_info[:2] not in _KNOWN:
        return None
    declared = _declared(code)

    def through(code: types.CodeType) -> types.CodeType:
        rewriter = _Rewriter(code)
        groups = []
        for step in rewriter.steps:
            group = [step]
            if step.name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                group = rewriter.store_global(step, [])
            elif step.name == "LOAD_GLOBAL" and step.value in declared:
                group = rewriter.read_global(step, [])
            groups.append(group)
        return rewriter.made(groups, through)

    return through(code)


@cached_by_code(256)
def telling_bytecode(
    code: types.CodeType, enter: Callable[[Any], Any], caught: Callable[[], Any]
) -> types.CodeType | None:
    """Return code whose handlers of errors say first that they have caught one, and each `with` that it has suppressed one.

    None where this version of Python is not known.
    """
    if sys.version_info[:2] not in _KNOWN:
        return None

    def telling(code: types.CodeType) -> types.CodeType:
        rewriter = _Rewriter(code)
        groups = [rewriter.handler(k, enter, caught) or [step] for k, step in enumerate(rewriter.steps)]
        return rewriter.made(groups, telling)

    return telling(code)


def _declared(code: types.CodeType) -> set[str]:
    """Return the globals that code, or a function in it, stores or deletes."""
    names = ("STORE_GLOBAL", "DELETE_GLOBAL")
    storing = [part for part in all_code(code) if uses_opcode(part, *names)]
    return {i.argval for part in storing for i in dis.get_instructions(part) if i.opname in names}


@cached_by_code(4096)
def rewritten_bytecode(
    code: types.CodeType, modules: frozenset[tuple[str, ...]], operators: bool, hooks: tuple[Callable[..., Any], ...]
) -> types.CodeType | None:
    """Return code whose reads, calls and stores go through the hooks; None where this version of Python is not known.

    `modules` and `operators` are those of a tree, `hooks` the functions in the order of HOOKS.
    """
    if sys.version_info[:2] not in _KNOWN:
        return None
    declared, whole = _declared(code), code

    def hooked(code: types.CodeType) -> types.CodeType:
        rewriter = _Rewriter(code)
        if code is whole or code.co_flags & inspect.CO_OPTIMIZED:  # and not the body of a class
            groups = _Hooked(rewriter, modules, declared, operators, hooks).groups()
        else:
            groups = [[step] for step in rewriter.steps]
        return rewriter.made(groups, hooked)

    return hooked(code)


class _Hooked:
    """The instructions of one function, with those that run the hooks."""

    def __init__(
        self, rewriter: _Rewriter, modules: frozenset[tuple[str, ...]], declared: set[str], operators: bool,
        hooks: tuple[Callable[..., Any], ...],
    ) -> None:  # fmt: skip
        self.rewriter, self.modules, self.declared, self.operators = rewriter, modules, declared, operators
        self.run = dict(zip(HOOKS, hooks, strict=True))
        self.stores = any(
            _stores(step, before) for step, before in zip(rewriter.steps[1:], rewriter.steps, strict=False)
        )

    def groups(self) -> list[list[_Step]]:
        """Return for each instruction those that stand in its place."""
        rewriter, steps = self.rewriter, self.rewriter.steps
        of_calls = {} if NULL_AFTER else _consumers(rewriter)
        found: list[list[_Step]] = []
        chain: tuple[str, ...] = ()
        of_module = False
        for k, step in enumerate(steps):
            before, after = (steps[k - 1].name if k else ""), (steps[k + 1].name if k + 1 < len(steps) else "")
            if step.name in ("LOAD_ATTR", "LOAD_METHOD"):
                of_module = chain in self.modules
                found.append([step] if of_module else self.attribute(step))
                chain = (*chain, step.value) if of_module else ()
                continue
            chain = (step.value,) if step.name == "LOAD_GLOBAL" and step.value not in self.declared else ()
            if step.name == "PUSH_NULL":
                if NULL_AFTER:
                    new = [step] if of_module or before == "LOAD_BUILD_CLASS" else [*self.call(), step]
                elif after != "LOAD_BUILD_CLASS" and of_calls.get(k) != "CALL_FUNCTION_EX":
                    new = [self.through_call()]
                else:
                    new = [step]
            elif of_calls.get(k) in ("CALL", "PRECALL"):  # of `R["f"](x)`: the global is not what is called
                new = [self.through_call(), _Step(step.name, step.arg & ~1, step.caches)]
            elif self.stores and step.name in ("STORE_FAST", "STORE_DEREF") and before in _GIVES:
                new = [*rewriter.hook("own", self.run["__gs_own__"]), step]
            elif (told := rewriter.handler(k, self.run["__gs_enter__"], self.run["__gs_caught__"])) is not None:
                new = told
            else:
                new = self.instruction(step)
            of_module = False
            found.append(new)
        return found

    def through_call(self) -> _Step:
        """Return what stands in the place of a call's NULL, so that it runs what the hook says."""
        return self.rewriter.const("()", _Call(self.run["__gs_call__"]))

    def call(self) -> list[_Step]:
        """Return the instructions that give what a call of the top of the stack runs."""
        return self.rewriter.hook("call", self.run["__gs_call__"])

    def attribute(self, step: _Step) -> list[_Step]:
        """Return the instructions for a read of an attribute, or of a method that is called."""
        is_method = step.name == "LOAD_METHOD" or (METHOD_FLAG and bool(step.arg & 1))
        name, read, method = step.value, self.run["__gs_read__"], self.run["__gs_method__"]
        if is_method:
            return _with_null_above(self.rewriter.hook(("method", name), lambda obj: method(obj, name)))
        return [step] if name in SIZES else self.rewriter.hook(("read", name), lambda obj: read(obj, name))

    def instruction(self, step: _Step) -> list[_Step]:
        """Return the instructions for one that stands alone."""
        hook, run, name = self.rewriter.hook, self.run, step.name
        put, grow, item = run["__gs_put__"], run["__gs_grow__"], run["__gs_item__"]
        pair = _Step("BUILD_TUPLE", 2)
        if name == "BINARY_SUBSCR":
            return [pair, *hook("item", lambda both: item(*both))]
        if name == "STORE_ATTR":
            return [*hook(("put", step.value), lambda obj: put(obj, step.value)), step]
        if name in ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR"):
            place = 3 if name == "STORE_SLICE" else 2
            return [_Step("SWAP", place), *hook("put", put), _Step("SWAP", place), step]
        if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return self.rewriter.store_global(step, hook(("put", step.value), lambda obj: put(obj, step.value)))
        if name == "LOAD_GLOBAL" and step.value in self.declared:
            return self.rewriter.read_global(step, self.call())
        if name == "LOAD_SUPER_ATTR" and step.arg & 1:
            plain = _Step(name, step.arg & ~1, step.caches)
            return [plain, *_with_null_above(self.call())]
        if name == "CALL_FUNCTION_EX":
            place, given = 3 if step.arg & 1 else 2, self.iterated(2) if step.arg & 1 else self.iterated()
            if NULL_AFTER:
                return [*given, step]
            return [*given, _Step("SWAP", place), *self.call(), _Step("SWAP", place), step]
        if name == "BINARY_OP" and step.arg >= IN_PLACE:
            both = [_Step("COPY", 2), _Step("COPY", 2), pair]
            grown = [*both, *hook("grow", lambda both: grow(*both)), _Step("POP_TOP")]
            return [*grown, *(self.operator(step) if self.operators else [step])]
        if self.operators and (by := _seen_by(step)):
            seen, swap = self.run["__gs_seen__"], [_Step("SWAP", 2)] if _has_spec(step) else []
            return [*swap, *hook(("seen", by), lambda obj: seen(obj, by)), *swap, step]
        return self.operator(step) if self.operators or name == "CONTAINS_OP" else [step]

    def iterated(self, place: int = 1) -> list[_Step]:
        """Return the instructions that put the special methods of what will be run over, so deep on the stack, in scope."""
        swap = [_Step("SWAP", place)] if place > 1 else []
        return [*swap, *self.rewriter.hook("iterate", self.run["__gs_iterate__"]), *swap] if self.operators else []

    def operator(self, step: _Step) -> list[_Step]:
        """Return the instructions for an operator, or the beginning of a loop, that may run special methods."""
        run, pair, sign = self.run["__gs_operator__"], [_Step("BUILD_TUPLE", 2)], ""
        if step.name in _ITERATES:
            return [*self.iterated(), step]
        if step.name == "LOAD_GLOBAL" and step.arg & 1 and step.value in ITERATING:
            iterate = self.run["__gs_iterate__"]
            over = self.rewriter.hook("iterating", lambda function: _over(function, iterate))
            swapped = [_Step("SWAP", 2)]  # its NULL lies above it
            return [step, *swapped, *over, _Step("SWAP", 2)] if NULL_AFTER else [step, *over]
        if step.name == "BINARY_OP":
            sign = _SIGNS[step.arg] if step.arg < IN_PLACE else f"{_SIGNS[step.arg - IN_PLACE]}="
        elif step.name == "COMPARE_OP":
            sign = _COMPARISONS[step.value]
        elif step.name == "CONTAINS_OP":
            sign = "NotIn" if step.arg else "In"
        elif step.name in _UNARY:
            sign, pair = _UNARY[step.name], []
        if not sign:
            return [step]
        new = self.rewriter.hook(("operator", sign), lambda both: run(sign, *(both if pair else [both])))
        truth = [_Step("TO_BOOL")] if step.name == "COMPARE_OP" and NULL_AFTER and step.arg & 16 else []
        return [*pair, *new, *truth]


_GIVES = frozenset(["CALL", "CALL_KW", "CALL_FUNCTION_EX", "BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE", "LOAD_ATTR"])


def _stores(step: _Step, before: _Step) -> bool:
    """Return whether an instruction may store into an array: by an index, in place, or by a call whose result nobody reads."""
    if step.name == "POP_TOP":
        return before.name.startswith("CALL")
    return step.name in ("STORE_SUBSCR", "STORE_SLICE") or (step.name == "BINARY_OP" and step.arg >= IN_PLACE)


def _seen_by(step: _Step) -> str:
    """Return the builtin that does to the top of the stack what an instruction does: ask for its truth, make text of it."""
    if step.name == "TO_BOOL" or (
        not NULL_AFTER and (step.name == "UNARY_NOT" or _JUMPS_BY_TRUTH.fullmatch(step.name))
    ):
        return "bool"
    if step.name in ("FORMAT_VALUE", "CONVERT_VALUE"):
        return ("format", "str", "repr", "repr")[step.arg & 3]
    return "format" if step.name in ("FORMAT_SIMPLE", "FORMAT_WITH_SPEC") else ""


_JUMPS_BY_TRUTH = re.compile("POP_JUMP_((FORWARD|BACKWARD)_)?IF_(TRUE|FALSE)")


def _has_spec(step: _Step) -> bool:
    """Return whether the width of a text lies above what it shows."""
    return step.name == "FORMAT_WITH_SPEC" or (step.name == "FORMAT_VALUE" and bool(step.arg & 4))


_ITERATES = frozenset(["GET_ITER", "GET_YIELD_FROM_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE"])


def _over(function: Callable[..., Any], iterate: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a builtin that runs over its arguments, whose special methods are in scope."""
    name = getattr(function, "__name__", "")

    def call(*args: Any, **options: Any) -> Any:
        over = count_iterated(name, len(args))
        return function(*map(iterate, args[:over]), *args[over:], **options)

    return call


def _with_null_above(made: list[_Step]) -> list[_Step]:
    """Return the instructions that turn the top of the stack into what is called, and put the NULL of a call beside it."""
    return [*made, _Step("PUSH_NULL")] if NULL_AFTER else [*made, _Step("PUSH_NULL"), _Step("SWAP", 2)]


def _consumers(rewriter: _Rewriter) -> dict[int, str]:
    """Return by the place of each NULL that is pushed which instruction takes it: the next call that reaches as deep."""
    steps, place = rewriter.steps, {offset: k for k, offset in enumerate(rewriter.offsets)}
    heights: dict[int, int] = {}
    waiting = [
        (0, 0),
        *[(place[r.target], (r.depth >> 1) + 1 + (r.depth & 1)) for r in _ranges(rewriter.code.co_exceptiontable)],
    ]
    while waiting:
        k, height = waiting.pop()
        while k < len(steps) and k not in heights:
            heights[k], step = height, steps[k]
            code, arg = dis.opmap[step.name], step.arg if dis.opmap[step.name] >= dis.HAVE_ARGUMENT else None
            if step.target is not None:
                waiting.append((place[step.target], height + dis.stack_effect(code, arg, jump=True)))
            if step.name in _ENDS:
                break
            height += dis.stack_effect(code, arg, jump=False)
            k += 1
    found = {}
    for k, step in enumerate(steps):
        of_global = step.name == "LOAD_GLOBAL" and bool(step.arg & 1)
        if (step.name == "PUSH_NULL" or of_global) and k in heights:
            taken = not of_global  # whether something else than the global is called in the end
            for j in range(k + 1, len(steps)):
                name, arg, height = steps[j].name, steps[j].arg, heights.get(j, 0)
                if name in _NULL_AT and height - _NULL_AT[name](arg) == heights[k]:
                    if taken:
                        found[k] = name
                    break
                taken = taken or (name in _TAKES and height - _TAKES[name] < heights[k] + 2)
    return found


_TAKES = {"LOAD_ATTR": 1, "LOAD_METHOD": 1, "BINARY_SUBSCR": 2, "BINARY_OP": 2, "BINARY_SLICE": 3}  # from the stack
_NULL_AT: dict[str, Callable[[int], int]] = {  # how deep below the top the NULL of a call is
    "PRECALL": lambda arg: arg + 2, "CALL": lambda arg: arg + 2, "CALL_FUNCTION_EX": lambda arg: 3 + (arg & 1),
}  # fmt: skip
_ENDS = frozenset(
    ["RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "JUMP_FORWARD", "JUMP_BACKWARD",
     "JUMP_BACKWARD_NO_INTERRUPT"]
)  # fmt: skip
