"""User code rewritten for eager mode: reads, calls and stores of attributes and items go through hooks of the scope.

A function needs that where it calls what no name of its module stands for (a method, a function in a list), reads
attributes of objects, or stores. Names are looked up by the scope anyhow; where one that is called stands for a type
(`float`, a class), the instruction alone asks for it under another name, `float()`. Both keep the source's lines.
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import operator
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar, cast

from .operators import CONTROL

__all__ = [
    "CALLED",
    "GLOBALS",
    "HOOKS",
    "IN_PLACE",
    "ITERATING",
    "METHOD_FLAG",
    "NULL_AFTER",
    "OF_TEXT",
    "OPERATORS",
    "SIZES",
    "SPECIAL",
    "CodeSet",
    "all_code",
    "cached_by_code",
    "catches",
    "count_iterated",
    "instructions",
    "needs_of",
    "renamed",
    "rewritten",
    "uses_opcode",
]

F = TypeVar("F", bound=Callable[..., Any])

CALLED = "()"  # behind a name: what a call of it runs
GLOBALS = "__gradscribe_globals__"  # the name by which rewritten code reaches the module's real globals
HOOKS = (
    "__gs_read__", "__gs_method__", "__gs_call__", "__gs_item__", "__gs_put__", "__gs_grow__",
    "__gs_operator__", "__gs_iterate__", "__gs_enter__", "__gs_seen__", "__gs_caught__", "__gs_own__",
)  # fmt: skip
OPERATORS: dict[str, tuple[Callable[..., Any], str, str]] = {  # by the name of the node: what it does, and by which methods
    "Add": (operator.add, "__add__", "__radd__"), "Sub": (operator.sub, "__sub__", "__rsub__"),
    "Mult": (operator.mul, "__mul__", "__rmul__"), "Div": (operator.truediv, "__truediv__", "__rtruediv__"),
    "FloorDiv": (operator.floordiv, "__floordiv__", "__rfloordiv__"), "Mod": (operator.mod, "__mod__", "__rmod__"),
    "Pow": (operator.pow, "__pow__", "__rpow__"), "MatMult": (operator.matmul, "__matmul__", "__rmatmul__"),
    "BitAnd": (operator.and_, "__and__", "__rand__"), "BitOr": (operator.or_, "__or__", "__ror__"),
    "BitXor": (operator.xor, "__xor__", "__rxor__"), "LShift": (operator.lshift, "__lshift__", "__rlshift__"),
    "RShift": (operator.rshift, "__rshift__", "__rrshift__"),
    "USub": (operator.neg, "__neg__", ""), "UAdd": (operator.pos, "__pos__", ""), "Invert": (operator.invert, "__invert__", ""),
    "Lt": (operator.lt, "__lt__", "__gt__"), "LtE": (operator.le, "__le__", "__ge__"),
    "Gt": (operator.gt, "__gt__", "__lt__"), "GtE": (operator.ge, "__ge__", "__le__"),
    "Eq": (operator.eq, "__eq__", "__eq__"), "NotEq": (operator.ne, "__ne__", "__ne__"),
    "In": (lambda x, y: x in y, "", "__contains__"), "NotIn": (lambda x, y: x not in y, "", "__contains__"),
    "Divmod": (divmod, "__divmod__", "__rdivmod__"),
}  # fmt: skip
OPERATORS |= {  # those in place, `Add=`: by `__iadd__`, where there is one
    f"{sign}=": (getattr(operator, f"__i{name[2:]}"), f"__i{name[2:]}", "")
    for sign, (_, name, _) in list(OPERATORS.items()) if hasattr(operator, f"__i{name[2:]}")
}  # fmt: skip
ITERATING = frozenset(  # builtins that run over what they are given
    [
        "list",
        "tuple",
        "set",
        "frozenset",
        "sum",
        "sorted",
        "min",
        "max",
        "any",
        "all",
        "enumerate",
        "zip",
        "iter",
        "dict",
    ]
)


def count_iterated(name: str, count: int) -> int:
    """Return how many of so many arguments such a builtin runs over, the first: `sum(xs, start)`, but `max(a, b)`."""
    return count if name == "zip" else 0 if name in ("min", "max") and count > 1 else 1


SPECIAL = frozenset([n for _, *names in OPERATORS.values() for n in names if n]) | {
    "__iter__", "__next__", "__enter__", "__float__", "__complex__", "__len__", "__abs__", "__getitem__", "__reversed__",
    "__bool__", "__int__", "__index__", "__round__", "__floor__", "__ceil__", "__trunc__",
}  # fmt: skip
OF_TEXT = ("__str__", "__repr__", "__format__", "__hash__")  # which most classes have, and few compute in
SIZES = frozenset(["shape", "ndim", "dtype"])  # of arrays, which no object hides a gradient in
_WRITING = frozenset(["fill", "put", "sort", "partition"])  # methods of arrays
_WRITERS = frozenset(
    ["copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "at"]
)  # functions of NumPy


class Needs(NamedTuple):
    """The actions of a function's code that the scope cannot see by names alone."""

    tree: bool  # it reads attributes of objects, calls what it computed, or stores
    calls: bool  # it calls what it computed, or a variable
    chains: frozenset[tuple[str, ...]]  # what it reads by names of its module: ("np", "pi")
    called: frozenset[tuple[str, ...]]  # those of them that it calls


def cached_by_code(size: int) -> Callable[[F], F]:
    """Return a decorator that caches what is computed of a code object, for the newest so many of them.

    It goes by identity. Python takes code objects for equal that differ in their files alone (a copy of a function, with or
    without source), and hashes all of their instructions, which a long function pays for each of its operations.
    """

    def decorate(compute: F) -> F:
        known: dict[Any, tuple[types.CodeType, Any]] = {}  # with the code, so that its identity is not given again

        @functools.wraps(compute)
        def of_code(code: types.CodeType, *rest: Any) -> Any:
            key = (id(code), *rest)
            found = known.get(key)
            if found is None:
                found = code, compute(code, *rest)
                if len(known) >= size:
                    # the older half at once: to look for the oldest, Python walks past each that is gone
                    newer = list(known.items())[size // 2 :]
                    known.clear()
                    known.update(newer)
                known[key] = found
            return found[1]

        return cast(F, of_code)

    return decorate


class CodeSet(set[types.CodeType]):
    """A set of code objects, each of which is looked up once.

    From Python 3.12 on, to hash a code object takes all of its instructions, and each operation asks for the code around it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[
            int, tuple[types.CodeType, bool]
        ] = {}  # with the code, so that its identity is not given again

    def __contains__(self, code: object) -> bool:
        found = self._asked.get(id(code))
        if found is None:
            assert isinstance(code, types.CodeType)
            found = self._asked[id(code)] = code, super().__contains__(code)
        return found[1]

    def add(self, code: types.CodeType) -> None:
        """Add one."""
        if code not in self:
            super().add(code)
            self._asked.clear()

    def update(self, *others: Iterable[types.CodeType]) -> None:
        """Add several."""
        for code in itertools.chain(*others):
            self.add(code)


@cached_by_code(64)
def instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of one code object, which several ask for while a function is captured."""
    return tuple(dis.get_instructions(code))


def uses_opcode(code: types.CodeType, *names: str) -> bool:
    """Whether one code object has one of these instructions."""
    return not {dis.opmap[name] for name in names}.isdisjoint(code.co_code[::2])


def all_code(code: types.CodeType) -> list[types.CodeType]:
    """Return a code object and those of the functions defined in it."""
    found = [code]
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found.extend(all_code(const))
    return found


class _Use(NamedTuple):
    """A chain of names that begins with one of the module's, `np.linalg.norm`, as it stands in the code."""

    chain: tuple[str, ...]
    called: bool
    last: dis.Instruction  # which reads the last name of the chain


_PASSING = frozenset(["CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "RESUME"])
_TELLING = frozenset(["PUSH_NULL", "STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "STORE_GLOBAL", "DELETE_GLOBAL",
                      "DELETE_SUBSCR", "MATCH_CLASS", "LOAD_SUPER_ATTR", "PUSH_EXC_INFO", "LOAD_BUILD_CLASS"])  # fmt: skip
IN_PLACE = 13  # the first of the operators that BINARY_OP does in place
METHOD_FLAG = sys.version_info >= (3, 12)  # of LOAD_ATTR; before, LOAD_METHOD
NULL_AFTER = sys.version_info >= (3, 13)  # a call's NULL comes behind what is called, and not before


def _uses(code: types.CodeType) -> tuple[list[_Use], bool, bool]:
    """Return the chains of names in one code object, whether it does what no name tells, and whether that is to call."""
    found: list[_Use] = []
    tree = calls = False
    chain: tuple[str, ...] = ()
    called = False
    last: Any = None
    chain_ended = False
    steps = [i for i in instructions(code) if i.opname not in _PASSING]
    for k, i in enumerate(steps):
        after = steps[k + 1].opname if k + 1 < len(steps) else ""
        flagged = bool((i.arg or 0) & 1)
        if i.opname == "LOAD_GLOBAL":
            chain, called, last = (i.argval,), flagged, i
        elif i.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain, last = (*chain, i.argval), i
            called = called or i.opname == "LOAD_METHOD" or (METHOD_FLAG and flagged)
        else:
            if i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                tree = tree or i.argval not in SIZES
            elif i.opname in _TELLING and not (NULL_AFTER and i.opname == "PUSH_NULL" and k and chain_ended):
                tree, calls = True, calls or i.opname == "PUSH_NULL"
            elif i.opname == "BINARY_OP" and (i.arg or 0) >= IN_PLACE:
                tree = True
            chain_ended = False
            continue
        chain_ended = False
        if after not in ("LOAD_ATTR", "LOAD_METHOD"):
            member = len(chain) > 1  # a single name that is called stands with its NULL in one instruction
            found.append(_Use(chain, called or (NULL_AFTER and member and after == "PUSH_NULL"), last))
            chain, chain_ended = (), member
    return found, tree, calls


@cached_by_code(4096)
def catches(code: types.CodeType) -> bool:
    """Return whether code may go on after an error: it has a handler, or leaves a `with`."""
    return bool(code.co_exceptiontable) and uses_opcode(code, "PUSH_EXC_INFO")


@cached_by_code(4096)
def needs_of(code: types.CodeType) -> Needs:
    """Return what the code of a function needs."""
    found = [_uses(part) for part in all_code(code)]
    uses = [use for one, _, _ in found for use in one]
    writes = any(use.called and use.chain[-1] in _WRITERS for use in uses) or any(
        isinstance(const, tuple) and "out" in const for part in all_code(code) for const in part.co_consts
    )  # a keyword
    return Needs(
        writes or any(told for _, told, _ in found),
        any(calls for _, _, calls in found),
        frozenset([use.chain for use in uses]),
        frozenset([use.chain for use in uses if use.called]),
    )


# --- names that are called -------------------------------------------------------------------------------------------


@cached_by_code(4096)
def renamed(code: types.CodeType, chains: frozenset[tuple[str, ...]]) -> types.CodeType:
    """Return code in which calls of these names, and of these members of modules, ask for `name()`."""
    consts = tuple([renamed(c, chains) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    own = bytearray(code.co_code)
    known = list(code.co_names)
    for chain, called, last in _uses(code)[0]:
        if not called or chain not in chains:
            continue
        wanted = chain[-1] + CALLED
        if wanted not in known:
            known.append(wanted)
        place, arg = known.index(wanted), last.arg or 0
        flags = last.opname == "LOAD_GLOBAL" or (last.opname == "LOAD_ATTR" and METHOD_FLAG)
        new = place << 1 | arg & 1 if flags else place
        if new < 256 and arg < 256:
            own[last.offset + 1] = new
    return code.replace(co_code=bytes(own), co_names=tuple(known), co_consts=consts)


# --- the tree --------------------------------------------------------------------------------------------------------


@cached_by_code(4096)
def rewritten(
    code: types.CodeType, modules: frozenset[tuple[str, ...]], operators: bool = False
) -> types.CodeType | None:
    """Return code whose reads, calls and stores go through the hooks; None where there is no source for it.

    `modules` are the names that stand for modules, `("np", "linalg")`, whose attributes the scope sees by itself. With
    `operators`, so do operators, loops and `with`, which may run methods of the user's classes.
    """
    from .matches import ask_by_isinstance  # with gast, which is slow to load
    from .source import NoSource, code_of, tree_of

    if CONTROL in code.co_freevars:
        return None
    try:
        tree = tree_of(code, asserts=True)
        Rewriter = _rewriter()
        ask_by_isinstance(tree)
        tree = Rewriter(code, modules, operators).function(tree)
        made = code_of(tree, code, HOOKS)
    except (NoSource, SyntaxError, RecursionError, ValueError):
        return None
    return _requalified(made, made.co_qualname, code.co_qualname)


def _requalified(code: types.CodeType, before: str, after: str) -> types.CodeType:
    """Return code named as the user's, and the functions in it."""

    def name(found: str) -> str:
        return after + found[len(before) :] if found.startswith(before) else found

    consts: list[Any] = []
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            const = _requalified(const, before, after)
        elif const == code.co_qualname and not code.co_flags & inspect.CO_OPTIMIZED:  # of a class, in its body
            const = name(code.co_qualname)
        consts.append(const)
    return code.replace(co_consts=tuple(consts), co_qualname=name(code.co_qualname))


@functools.cache
def _rewriter() -> Callable[..., Any]:
    import gast

    class Rewriter(gast.NodeTransformer):
        """Puts the hooks into the tree of one function."""

        def __init__(self, code: types.CodeType, modules: frozenset[tuple[str, ...]], operators: bool) -> None:
            self.operators = operators
            parts = all_code(code)
            self.bound = {n for c in parts for n in (*c.co_varnames, *c.co_cellvars, *c.co_freevars)}
            self.modules = modules
            stem = code.co_qualname.rpartition(".")[0].rpartition(".")[2]
            self.private = f"_{stem.lstrip('_')}" if stem.isidentifier() else ""
            self.declared: set[str] = set()
            self.written: set[str] = set()
            self.in_class = False

        def function(self, node: Any) -> Any:
            self.declared = {n for g in gast.walk(node) if isinstance(g, gast.Global) for n in g.names}
            self.written = {n.id for part in gast.walk(node) for n in _written(part) if isinstance(n, gast.Name)}
            node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
            if isinstance(node, gast.Lambda):
                node.body = self.visit(node.body)
            else:
                node.body = [self.visit(s) for s in node.body]
            return node

        # reads
        def visit_Attribute(self, node: Any) -> Any:
            if not isinstance(node.ctx, gast.Load):
                node.value = self.visit(node.value)
                return node
            if self._of_module(node):
                return node
            node.value = self.visit(node.value)
            return node if node.attr in SIZES else self._hook("__gs_read__", [node.value, self._attr(node)], node)

        def visit_Subscript(self, node: Any) -> Any:
            node.value, node.slice = self.visit(node.value), self.visit(node.slice)
            if not isinstance(node.ctx, gast.Load) or self.in_class or _is_of_arrays(node.slice):
                return node
            return self._hook("__gs_item__", [node.value, node.slice], node)

        def visit_Name(self, node: Any) -> Any:
            if node.id not in self.declared:
                return node
            holder = gast.copy_location(_load(GLOBALS), node)
            key = gast.copy_location(gast.Constant(value=node.id, kind=None), node)
            if isinstance(node.ctx, gast.Store):
                holder = self._hook("__gs_put__", [holder, key], node)
            return gast.copy_location(gast.Subscript(value=holder, slice=key, ctx=node.ctx), node)

        def visit_Global(self, node: Any) -> Any:
            return gast.copy_location(gast.Pass(), node)

        # calls
        def visit_Call(self, node: Any) -> Any:
            func = node.func
            node.args = [self.visit(a) for a in node.args]
            node.keywords = [self.visit(k) for k in node.keywords]
            if isinstance(func, gast.Name):
                if self.operators and func.id in ITERATING:
                    over = count_iterated(func.id, len(node.args))
                    node.args[:over] = [
                        a if isinstance(a, gast.Starred) else self._iterated(a) for a in node.args[:over]
                    ]
                if func.id in self.declared:
                    node.func = self._hook("__gs_call__", [self.visit(func)], func)
                elif (func.id in self.bound or self.in_class) and func.id != "super":
                    node.func = self._hook("__gs_call__", [func], func)
            elif isinstance(func, gast.Attribute):
                if not self._of_module(func):
                    made = self._hook("__gs_method__", [self.visit(func.value), self._attr(func)], func)
                    node.func = made
            else:
                node.func = self._hook("__gs_call__", [self.visit(func)], func)
            return node

        # stores
        def visit_Assign(self, node: Any) -> Any:
            made = isinstance(node.value, (gast.Call, gast.BinOp, gast.UnaryOp, gast.Subscript, gast.Attribute))
            node.value = self.visit(node.value)
            if made and len(node.targets) == 1 and getattr(node.targets[0], "id", None) in self.written:
                node.value = self._hook("__gs_own__", [node.value], node.value)
            node.targets = [self._target(t) for t in node.targets]
            if all(isinstance(t, (gast.Tuple, gast.List)) for t in node.targets):
                node.value = node.value if isinstance(node.value, gast.Tuple) else self._iterated(node.value)
            return node

        def visit_AugAssign(self, node: Any) -> Any:
            node.value = self.visit(node.value)
            if isinstance(node.target, gast.Name) and node.target.id not in self.declared and not self.in_class:
                if not isinstance(node.value, gast.Constant):
                    grown = gast.copy_location(_again(gast, node.target), node.value)
                    node.value = self._hook("__gs_grow__", [grown, node.value], node.value)
                if not self.operators:
                    return node
                now = gast.copy_location(_again(gast, node.target), node.target)
                made = self._operated(node, f"{type(node.op).__name__}=", [now, node.value])
                return gast.copy_location(gast.Assign(targets=[node.target], value=made, type_comment=None), node)
            node.target = self._target(node.target)
            return node

        def visit_AnnAssign(self, node: Any) -> Any:
            if node.value is not None:
                node.value = self.visit(node.value)
                node.target = self._target(node.target)
            return node

        def visit_Delete(self, node: Any) -> Any:
            node.targets = [self._deleted(t) for t in node.targets]
            return node

        def _deleted(self, node: Any) -> Any:
            if isinstance(node, (gast.Tuple, gast.List)):
                node.elts = [self._deleted(t) for t in node.elts]
            elif isinstance(node, gast.Subscript):
                node.value = self._hook("__gs_put__", [self.visit(node.value)], node)
                node.slice = self.visit(node.slice)
            else:
                return self.visit(node)
            return node

        def visit_For(self, node: Any) -> Any:
            node.target = self._target(node.target)
            node.iter = self._iterated(self.visit(node.iter))
            node.body, node.orelse = [self.visit(s) for s in node.body], [self.visit(s) for s in node.orelse]
            return node

        def visit_withitem(self, node: Any) -> Any:
            node.context_expr = self._hook("__gs_enter__", [self.visit(node.context_expr)], node.context_expr)
            if node.optional_vars is not None:
                node.optional_vars = self._target(node.optional_vars)
            return node

        def _target(self, node: Any) -> Any:
            if isinstance(node, (gast.Tuple, gast.List)):
                node.elts = [self._target(t) for t in node.elts]
            elif isinstance(node, gast.Starred):
                node.value = self._target(node.value)
            elif isinstance(node, gast.Attribute):
                node.value = self._hook("__gs_put__", [self.visit(node.value), self._attr(node)], node)
            elif isinstance(node, gast.Subscript):
                key = self.visit(node.slice)
                if isinstance(key, (gast.Constant, gast.Name)):
                    again = gast.copy_location(_again(gast, key), key)
                    node.value = self._hook("__gs_put__", [self.visit(node.value), again], node)
                else:
                    node.value = self._hook("__gs_put__", [self.visit(node.value)], node)
                node.slice = key
            else:
                return self.visit(node)
            return node

        def visit_ExceptHandler(self, node: Any) -> Any:
            node.type = node.type and self.visit(node.type)
            caught = gast.copy_location(gast.Expr(value=self._hook("__gs_caught__", [], node)), node)
            node.body = [caught, *[self.visit(s) for s in node.body]]
            return node

        # what may run special methods
        def visit_comprehension(self, node: Any) -> Any:
            node.target, node.iter = self._target(node.target), self.visit(node.iter)
            node.iter = node.iter if node.is_async else self._iterated(node.iter)
            node.ifs = [self._tested(t) for t in node.ifs]
            return node

        def visit_If(self, node: Any) -> Any:
            node.test = self._tested(node.test)
            node.body, node.orelse = [self.visit(s) for s in node.body], [self.visit(s) for s in node.orelse]
            return node

        visit_While = visit_If

        def visit_IfExp(self, node: Any) -> Any:
            node.test = self._tested(node.test)
            node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
            return node

        def visit_Assert(self, node: Any) -> Any:
            node.test, node.msg = self._tested(node.test), node.msg and self.visit(node.msg)
            return node

        def _tested(self, node: Any) -> Any:
            """Visit an expression that is asked for its truth, and for nothing else."""
            if isinstance(node, gast.BoolOp):
                node.values = [self._tested(v) for v in node.values]
                return node
            kept = isinstance(node, (gast.Compare, gast.Constant)) or (
                isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not)
            )
            return self.visit(node) if kept or not self.operators else self._seen(self.visit(node), "bool")

        def visit_FormattedValue(self, node: Any) -> Any:
            node.value, node.format_spec = self.visit(node.value), node.format_spec and self.visit(node.format_spec)
            if self.operators:
                node.value = self._seen(node.value, {ord("s"): "str", ord("r"): "repr"}.get(node.conversion, "format"))
            return node

        def _seen(self, node: Any, by: str) -> Any:
            return self._hook("__gs_seen__", [node, gast.copy_location(gast.Constant(value=by, kind=None), node)], node)

        def visit_Starred(self, node: Any) -> Any:
            node.value = self.visit(node.value)
            if isinstance(node.ctx, gast.Load):
                node.value = self._iterated(node.value)
            return node

        def visit_YieldFrom(self, node: Any) -> Any:
            node.value = self._iterated(self.visit(node.value))
            return node

        def _iterated(self, node: Any) -> Any:
            return self._hook("__gs_iterate__", [node], node) if self.operators else node

        def visit_BinOp(self, node: Any) -> Any:
            node.left, node.right = self.visit(node.left), self.visit(node.right)
            return self._operated(node, type(node.op).__name__, [node.left, node.right])

        def visit_UnaryOp(self, node: Any) -> Any:
            if isinstance(node.op, gast.Not):
                node.operand = self._tested(node.operand)
                return node
            node.operand = self.visit(node.operand)
            return self._operated(node, type(node.op).__name__, [node.operand])

        def visit_Compare(self, node: Any) -> Any:
            node.left, node.comparators = self.visit(node.left), [self.visit(c) for c in node.comparators]
            if len(node.ops) > 1:
                return node
            sign = type(node.ops[0]).__name__
            return self._operated(node, sign, [node.left, node.comparators[0]], always=sign in ("In", "NotIn"))

        def _operated(self, node: Any, name: str, args: list[Any], always: bool = False) -> Any:
            if not (self.operators or always) or name not in OPERATORS or isinstance(node, gast.Constant):
                return node
            sign = gast.copy_location(gast.Constant(value=name, kind=None), node)
            return self._hook("__gs_operator__", [sign, *args], node)

        # functions, classes and patterns within
        def visit_FunctionDef(self, node: Any) -> Any:
            node.args.defaults = [self.visit(d) for d in node.args.defaults]
            node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
            node.decorator_list = [self.visit(d) for d in node.decorator_list]
            outer, self.in_class = self.in_class, False
            node.body = [self.visit(s) for s in node.body]
            self.in_class = outer
            return node

        visit_AsyncFunctionDef = visit_FunctionDef

        def visit_ClassDef(self, node: Any) -> Any:
            outer, self.in_class = self.in_class, True
            private, self.private = self.private, f"_{node.name.lstrip('_')}"
            node.body = [self.visit(s) for s in node.body]
            self.in_class, self.private = outer, private
            return node

        def visit_Match(self, node: Any) -> Any:
            node.subject = self.visit(node.subject)
            for case in node.cases:
                case.guard = case.guard and self.visit(case.guard)
                case.body = [self.visit(s) for s in case.body]
            return node

        # parts
        def _of_module(self, node: Any) -> bool:
            names: list[str] = []
            while isinstance(node.value, gast.Attribute):
                node = node.value
                names.insert(0, node.attr)
            root = node.value
            if not isinstance(root, gast.Name) or root.id in self.bound or root.id in self.declared:
                return False
            return (root.id, *names) in self.modules

        def _attr(self, node: Any) -> Any:
            name = node.attr
            if name.startswith("__") and not name.endswith("__"):
                name = self.private + name
            return gast.copy_location(gast.Constant(value=name, kind=None), node)

        def _hook(self, name: str, args: list[Any], place: Any) -> Any:
            func = gast.copy_location(_load(name), place)
            func.end_lineno, func.end_col_offset = func.lineno, func.col_offset
            return gast.copy_location(gast.Call(func=func, args=args, keywords=[]), place)

    def _load(name: str) -> Any:
        return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)

    def _written(node: Any) -> list[Any]:
        """Return what a node stores into: of a call, what it may."""
        if isinstance(node, gast.Subscript) and not isinstance(node.ctx, gast.Load):
            return [node.value]
        if isinstance(node, gast.AugAssign):
            return [node.target]
        if isinstance(node, gast.Expr) and isinstance(node.value, gast.Call):  # whose result nobody reads
            return [*node.value.args, *[k.value for k in node.value.keywords]]
        if isinstance(node, gast.Call):
            of_method = isinstance(node.func, gast.Attribute) and node.func.attr in _WRITING
            return [k.value for k in node.keywords if k.arg == "out"] + ([node.func.value] if of_method else [])
        return []

    def _is_of_arrays(node: Any) -> bool:
        """Return whether an index can only be one of an array: slices, None, tuples with such, negative numbers."""
        if isinstance(node, gast.Tuple):
            return any(_is_of_arrays(e) for e in node.elts)
        return isinstance(node, gast.Slice) or (isinstance(node, gast.Constant) and node.value in (None, Ellipsis))

    return Rewriter


def _again(gast: Any, key: Any) -> Any:
    """Return a second node for a name or a literal."""
    if isinstance(key, gast.Constant):
        return gast.Constant(value=key.value, kind=None)
    return gast.Name(id=key.id, ctx=gast.Load(), annotation=None, type_comment=None)
