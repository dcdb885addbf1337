"""Ops: a NumPy function with its signature, its kind, its VJPs, and the plan of what each of them saves."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..unpatched import np
from .errors import NoRuleError
from .memory import MAY, NEW, VIEW, Fact, Memory
from .result_types import LENGTHS, RUN, TypesFact

__all__ = ["MISSING", "Kind", "Op", "Param", "Plan", "Saved", "Vjp"]

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<required>"})()


class Kind(enum.Enum):
    """The sort of map that an op is; shape inference, batching and the JVP follow from it.

    >>> import numpy as np, gradscribe as gs
    >>> @gs.rule(gs.Kind.elementwise, x=lambda g, x: g * 2 * x)
    ... def square(x):
    ...     return np.asarray(x) ** 2
    >>> gs.vmap(gs.grad(square))(np.array([1.0, 3.0]))
    array([2., 6.])
    """

    elementwise = "elementwise"
    reduction = "reduction"
    shaping = "shaping"
    bilinear = "bilinear"
    linear = "linear"
    loop = "loop"
    opaque = "opaque"
    creation = "creation"


# Where results lie unless the op says otherwise: those of a sum, a product or a function of each element are computed,
# into new memory. No op of the user's is taken to be so.
_OF_KIND = {
    Kind.elementwise: NEW, Kind.reduction: NEW, Kind.bilinear: NEW, Kind.creation: NEW,
    Kind.shaping: VIEW, Kind.linear: MAY, Kind.loop: MAY, Kind.opaque: MAY,
}  # fmt: skip

# How the types of results follow from those of the arguments, unless the op says otherwise: see `result_types.py`.
_TYPES_OF_KIND = {Kind.elementwise: LENGTHS, Kind.reduction: LENGTHS, Kind.bilinear: LENGTHS}


class Param(NamedTuple):
    """One parameter of an op: its name, its default, and whether it holds one array or many."""

    name: str
    default: Any = MISSING
    sequence: bool = False  # one argument that is a sequence of arrays: "[xs]"
    variadic: bool = False  # any number of arrays: "*xs"
    by_name: bool = False  # given by its name alone


class Saved(NamedTuple):
    """One thing that a rule reads: `what` is value, shape, dtype or out; `param` the argument's position."""

    name: str
    what: str
    param: int


class Vjp:
    """One formula: the cotangent of one argument, and the names that the formula reads."""

    __slots__ = ("fn", "names", "singular")

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        code = fn.__code__  # inspect.signature costs ten times as much, at import
        self.names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
        self.singular: Vjp | None = None  # where it is a convention: read in the modes of gs.singular alone


class Plan:
    """The plan of one op, differentiated with respect to certain arguments: the values to save, and the way backward.

    `slots` lists (parameter, position in its sequence) for each cotangent that `backward` returns;
    `save(*bound, out)` gives the saved tuple; `backward(g, saved, sums)` the cotangents, where
    `sums` are the running sums of the slots whose formula takes one over (`takes_sum`). `frees` tells whether arrays
    are saved, which backward lets go (and cannot run twice then).
    """

    __slots__ = (
        "any_sum", "backward", "constants", "exponent", "formulas", "frees", "save", "saved", "scales", "slots", "step",
        "takes_sum",
    )  # fmt: skip

    def __init__(
        self, slots: tuple[tuple[int, int], ...], saved: tuple[Saved, ...], save: Callable[..., tuple[Any, ...]],
        backward: Callable[..., tuple[Any, ...]], takes_sum: tuple[bool, ...], any_sum: bool, frees: bool, scales: bool = False,
        exponent: int = -2, formulas: tuple[tuple[Callable[..., Any], str], ...] = (),
    ) -> None:  # fmt: skip
        self.slots = slots
        self.saved = saved
        # arguments that are saved and have no gradient, or may have parts without one
        self.constants = tuple([s.param for s in saved if s.what == "value" and (s.param, -1) not in slots])
        self.save = save
        self.backward = backward
        self.takes_sum = takes_sum
        self.any_sum = any_sum
        self.frees = frees
        self.scales = scales  # whether it is a product with what it has saved alone
        self.exponent = exponent  # where a power's is saved; -1: it multiplies by a constant first, -2: it does not
        self.formulas = formulas  # of each slot, with the arguments of its call as text
        self.step: Callable[..., None] | None = None  # the engine's way through this plan, compiled when it comes there


class Op:
    """A NumPy function that gradscribe knows: how to call it, print it and differentiate it."""

    __slots__ = (
        "__weakref__", "_params", "base", "batching", "bind", "bounds", "call_form", "consuming", "derived", "doors", "effect",
        "fn", "forms", "hermitian", "infix", "inline", "kind", "may_raise", "memory", "n_out", "name", "on_arrays", "out_place",
        "path", "piece", "plans", "signature", "stores", "title", "types", "vjps", "with_out",
    )  # fmt: skip

    def __init__(
        self, fn: Callable[..., Any], signature: str, kind: Kind, *, path: str, n_out: int | None = 1,
        infix: str | None = None, inline: bool = False, may_raise: bool = False, effect: bool = False,
        title: str | None = None, memory: Fact | None = None, types: TypesFact | None = None,
        vjps: dict[str, Vjp | None] | None = None, base: Op | None = None,
    ) -> None:  # fmt: skip
        self.fn = fn
        self.base: Op = self if base is None else base.base  # the op that this is a form of, such as its operator
        self.batching: Callable[[Any], Any] | None = None  # the base's: what it is under gs.vmap
        self.bounds: tuple[float, float] | None = None  # the base's: between which all results lie, but for NaN
        self.piece: Vjp | None = None  # the base's: what stays the same between its jumps
        self.name: str = getattr(fn, "__name__", path.rpartition(".")[2])
        self.path = path
        self.signature = signature
        self.kind = kind
        self.n_out = n_out  # None: as many as the arguments say (np.split)
        self.infix = infix
        self.inline = inline
        self.consuming: Callable[..., Any] | None = None  # the body that may write into its first argument
        self.forms: Callable[..., Any] | None = None  # what it is of some arguments, in terms of other ops
        self.hermitian: Callable[..., bool] | None = (
            None  # when it takes its first argument for Hermitian (hermitian.py)
        )
        computed = isinstance(fn, np.ufunc) or infix is not None
        self.memory: Fact = memory or (NEW if computed else _OF_KIND[kind])
        self.types: TypesFact = types or (LENGTHS if computed else _TYPES_OF_KIND.get(kind, RUN))
        self.stores: int | None = None  # the argument that it writes into new memory, as wide as it may be
        self.may_raise = may_raise
        self.effect = effect  # changes what can be seen from outside, and so keeps its place among others that do
        self.with_out = ""  # the base's: NumPy's own parameters, where the op leaves `out` away
        self.title = title or "".join([w[:1].upper() + w[1:] for w in self.name.split("_")])
        self.vjps: dict[str, Vjp | None] = {} if vjps is None else vjps
        self._params: tuple[Param, ...] | None = None
        self.out_place = -1  # which of its parameters is NumPy's `out`, into which the result is written
        self.bind: Callable[..., tuple[Any, ...]] = self._first_bind
        self.call_form: Callable[[tuple[Any, ...]], tuple[tuple[Any, ...], dict[str, Any]]] = self._first_call_form
        self.plans: dict[Any, Plan] = {}
        self.doors: dict[Any, Callable[..., Any]] = {}  # by call form: tracer/core/dispatch.py compiles them
        self.on_arrays: tuple[Callable[..., Any], str] | None = None  # see `registry.on_arrays`
        self.derived: dict[str, Op] = {}  # the same op under a ufunc's dtype=, or its where= and out=, made when met

    def __repr__(self) -> str:
        return f"<op {self.path}({self.signature})>"

    def titled(self, title: str) -> Op:
        """The same op under another name in `grad_fn`."""
        made = self.derived.get(title)
        if made is None:
            made = self.derived[title] = Op(
                self.fn, self.signature, self.kind, path=self.path, inline=self.inline, title=title,
                memory=self.memory, types=self.types, vjps=self.vjps, base=self,
            )  # fmt: skip
        return made

    def memory_of(self, bound: tuple[Any, ...]) -> Memory:
        """Return where the results of a call lie."""
        fact = self.memory
        return fact if isinstance(fact, Memory) else self.ask(fact, bound)

    def ask(self, fact: Callable[..., Any], bound: tuple[Any, ...]) -> Any:
        """Return the value of a fact for a call, where the fact is a function of the arguments that it names."""
        code = fact.__code__
        values = dict(zip([p.name for p in self.params], bound, strict=True))
        return fact(*[values[name] for name in code.co_varnames[: code.co_argcount]])

    def shares(self, bound: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments in whose memory the results of a call may lie."""
        memory = self.memory_of(bound)
        if memory.how == "new":
            return ()
        return tuple([b for p, b in zip(self.params, bound, strict=True) if not memory.of or p.name in memory.of])

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters in order, read from the signature at the first use."""
        if self._params is None:
            self._params = parse_signature(self.signature)
        return self._params

    def _first_bind(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Compile the binding into straight Python at the first use, then bind with it."""
        self.bind = compile_bind(self.params, self.path)
        if not isinstance(self.fn, np.ufunc) and self.path.startswith(("np.", "scipy.")):
            self.out_place = next((k for k, p in enumerate(self.params) if p.name == "out" and p.default is None), -1)
        return self.bind(*args, **kwargs)

    def plan(self, key: Any) -> Plan:
        """The plan for the slots in `key`: a bit mask over the parameters, or a tuple of (parameter, position)."""
        found = self.plans.get(key)
        if found is None:
            found = self.plans[key] = compile_plan(self, key)
        return found

    def _first_call_form(self, bound: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Compile `call_form` into straight Python at the first use, then write the call with it."""
        self.call_form = compile_call_form(self.params, self.path)
        return self.call_form(bound)


def parse_signature(text: str) -> tuple[Param, ...]:
    """Read `"x, axis=None"`; `[xs]` is a sequence argument and `*xs` any number of them."""
    sequences = set(re.findall(r"\[(\w+)\]", text))
    plain_text = text.replace("[", "").replace("]", "")
    tree = ast.parse(f"def f({plain_text}): pass").body[0]
    assert isinstance(tree, ast.FunctionDef)
    a = tree.args
    plain = a.posonlyargs + a.args
    defaults: list[Any] = [MISSING] * (len(plain) - len(a.defaults)) + [_constant(d) for d in a.defaults]
    params = [Param(p.arg, d, p.arg in sequences) for p, d in zip(plain, defaults, strict=True)]
    if a.vararg is not None:
        params.append(Param(a.vararg.arg, (), variadic=True))
    params += [
        Param(p.arg, MISSING if d is None else _constant(d), by_name=True)
        for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)
    ]
    return tuple(params)


def _constant(node: ast.expr) -> Any:
    return eval(compile(ast.Expression(node), "<signature>", "eval"), {"np": np, "NoValue": np._NoValue})


def compile_bind(params: tuple[Param, ...], path: str) -> Callable[..., tuple[Any, ...]]:
    """A function that takes the op's arguments in any form and returns them in the order of its parameters."""
    space: dict[str, Any] = {"MISSING": MISSING}
    spelled: list[str] = []
    for k, p in enumerate(params):
        if p.by_name and not any(q.by_name or q.variadic for q in params[:k]):
            spelled.append("*")
        if p.variadic:
            spelled.append(f"*{p.name}")
        elif p.default is MISSING:
            spelled.append(p.name)
        else:
            space[f"default_{k}"] = p.default
            spelled.append(f"{p.name}=default_{k}")
    names = "".join(f"{p.name}, " for p in params)
    label = re.sub(r"\W", "_", path)
    text = f"def {label}({', '.join(spelled)}):\n    return ({names})"
    exec(compile(text, f"<plan of {path}>", "exec"), space)
    bind: Callable[..., tuple[Any, ...]] = space[label]
    return bind


def compile_call_form(params: tuple[Param, ...], path: str) -> Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]:
    """A function that writes bound values as a person would write the call: required ones by position, the others by name."""
    space: dict[str, Any] = {}
    by_place: list[str] = []
    lines = [f"{''.join(f'{p.name}, ' for p in params)} = bound"] if params else []
    lines.append("_named = {}")
    for k, p in enumerate(params):
        if p.variadic:
            by_place.append(f"*{p.name}, ")
        elif p.default is not MISSING:
            space[f"_default_{k}"] = p.default
            lines += [f"if {p.name} is not _default_{k}:", f"    _named[{p.name!r}] = {p.name}"]
        elif p.by_name:
            lines.append(f"_named[{p.name!r}] = {p.name}")
        else:
            by_place.append(f"{p.name}, ")
    body = "".join(f"    {line}\n" for line in lines)
    text = f"def call_form(bound):\n{body}    return ({''.join(by_place)}), _named"
    exec(compile(text, f"<plan of {path}>", "exec"), space)
    call_form: Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]] = space["call_form"]
    return call_form


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, a Tensor or a Python number."""
    try:
        return x.shape  # type: ignore[no-any-return]
    except AttributeError:
        return np.shape(x)


def dtype_of(x: Any) -> Any:
    """The dtype of an array, a Tensor or a Python number."""
    try:
        return x.dtype
    except AttributeError:
        return np.asarray(x).dtype


def compile_plan(op: Op, key: Any) -> Plan:
    """Straight Python for one op and one choice of differentiated arguments: what to save, how to go backward."""
    asked = [(k, -1) for k in range(len(op.params)) if key >> k & 1] if isinstance(key, int) else key
    for k, _ in asked:
        if op.params[k].name not in op.vjps:
            raise NoRuleError.argument(op.path, op.params[k].name)
    slots = tuple(slot for slot in asked if op.vjps[op.params[slot[0]].name] is not None)
    positions = {p.name: k for k, p in enumerate(op.params)}
    saved: dict[str, Saved] = {}
    calls: list[str] = []
    formulas: list[tuple[Callable[..., Any], str]] = []
    takes_sum: list[bool] = []
    space: dict[str, Any] = {"_ndarray": np.ndarray, "_type": type, "shape_of": shape_of, "dtype_of": dtype_of}
    for j, (k, i) in enumerate(slots):
        vjp = op.vjps[op.params[k].name]
        assert vjp is not None
        space[f"vjp_{j}"] = vjp.fn
        given: list[str] = []
        for name in vjp.names:
            if name == "g":
                given.append("g")
            elif name == "i":
                given.append(str(i))
            elif name == "acc":
                given.append(f"sums[{j}]")
            else:
                saved.setdefault(name, _saved(op, name, positions))
                given.append(name)
        takes_sum.append("acc" in vjp.names)
        formulas.append((vjp.fn, ", ".join(given)))
        calls.append(f"vjp_{j}({', '.join(given)})")
    parts = [_save_text(op, s) for s in saved.values()]
    arguments = ", ".join(
        ["_" if p.name == "out" else p.name for p in op.params] + ["out"]
    )  # a rule's out is the result
    unpack = f"    {', '.join(saved)}, = saved\n" if saved else ""
    text = (
        f"def save({arguments}):\n    return ({''.join(part + ', ' for part in parts)})\n"
        f"def backward(g, saved, sums):\n{unpack}    return ({''.join(call + ', ' for call in calls)})\n"
    )
    exec(compile(text, f"<plan of {op.path}>", "exec"), space)
    frees = any(s.what == "out" or (s.what == "value" and op.params[s.param].name in op.vjps) for s in saved.values())
    return Plan(
        slots,
        tuple(saved.values()),
        space["save"],
        space["backward"],
        tuple(takes_sum),
        any(takes_sum),
        frees,
        *_factors_of(op, slots, saved),
        formulas=tuple(formulas),
    )


def _factors_of(op: Op, slots: tuple[tuple[int, int], ...], saved: dict[str, Saved]) -> tuple[bool, int]:
    """Whether an op with one slot is a product, and where its exponent is saved if it is a power (see Plan)."""
    if len(slots) != 1:
        return False, -2
    fn = op.base.fn
    if fn is np.power and slots[0][0] == 0:
        return False, list(saved).index("y")
    return fn is np.multiply and len(saved) == 1, -1 if fn in (np.square, np.sqrt) else -2


def _saved(op: Op, name: str, positions: dict[str, int]) -> Saved:
    if name == "out":  # a rule's out is the result, also where an argument bears the name
        return Saved(name, "out", -1)
    if name in positions:
        return Saved(name, "value", positions[name])
    for what in ("shape", "dtype"):
        base = name.removesuffix("_" + what)
        if base != name and base in positions:
            return Saved(name, what, positions[base])
    raise TypeError(f"the rule of {op.path} reads `{name}`, which is neither g, out, i, acc nor an argument of {op!r}")


def _save_text(op: Op, saved: Saved) -> str:
    if saved.what in ("value", "out"):
        return saved.name
    base = op.params[saved.param]
    if base.sequence or base.variadic:
        return f"tuple([{saved.what}_of(a) for a in {base.name}])"
    return f"{base.name}.{saved.what} if _type({base.name}) is _ndarray else {saved.what}_of({base.name})"
