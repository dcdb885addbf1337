"""The registry of ops: register an op, give it a rule, look it up by function, list them all."""

from __future__ import annotations

import functools
import sys
from _thread import get_ident
from collections.abc import Callable
from typing import Any, NamedTuple

from ..unpatched import np
from .arrays import computing_with
from .errors import FROM_PYTHON, NoRuleError
from .memory import NEW, Fact
from .ops import Kind, Op, Vjp
from .result_types import TypesFact

__all__ = [
    "also", "batching", "bounded", "composed", "composition", "compositions", "forms", "infix", "jumps", "lookup", "lookup_class",
    "made_of_ops", "object_class", "on_arrays", "op",
    "ops", "ops_of", "primitive", "registered", "require", "rule", "singular_at", "takes_out", "undifferentiable",
    "when_imported",
]  # fmt: skip

_by_function: dict[Any, Op] = {}


def path_of(fn: Any) -> str:
    """The name under which a person writes `fn`: `np.linalg.norm`, `scipy.special.expit`."""
    name = fn.__name__
    if isinstance(fn, np.ufunc):
        if name.endswith(" (vectorized)"):
            return f"{FROM_PYTHON}({name.removesuffix(' (vectorized)')})"
        special = sys.modules.get("scipy.special")
        module = "np" if getattr(np, name, None) is fn else "scipy.special" if hasattr(special, name) else ""
        return f"{module}.{name}" if module else name  # another library's, as of Numba's `vectorize`
    module = (getattr(fn, "__module__", None) or "np").replace("numpy", "np", 1)
    return f"{module}.{name}"


def op(
    fn: Callable[..., Any], signature: str, kind: Kind, *, n_out: int | None = 1, path: str | None = None,
    inline: bool = False, may_raise: bool = False, effect: bool = False, title: str | None = None,
    memory: Fact | None = None, types: TypesFact | None = None,
) -> Op:  # fmt: skip
    """Register `fn` as an op with its own signature (`"x, axis=None"`, `"[xs], axis=0"`, `"subscripts, *xs"`).

    `n_out` is the number of results (None: it depends on the arguments). `inline` marks a function of
    ours that generated source spells out by its body. `may_raise` marks an op that can raise on
    values alone, and so is never dropped. `effect` marks one that draws, prints or
    writes: such calls are never dropped, merged or moved past each other. `title` is the name in `grad_fn` where it is
    not the function's own. `memory` says where the results lie, where that is not what their kind says: see `memory.py`.
    `types` says what the results are, where neither their kind nor a run says it: see `result_types.py`.
    """
    made = Op(
        fn,
        signature,
        kind,
        path=path or path_of(fn),
        n_out=n_out,
        inline=inline,
        may_raise=may_raise,
        effect=effect,
        title=title,
        memory=memory,
        types=types,
    )
    _by_function[fn] = made
    return made


def also(fn: Callable[..., Any], found: Op) -> None:
    """Let another function be known as the same op."""
    _by_function[fn] = found


def infix(fn: Callable[..., Any], operator: Callable[..., Any], symbol: str, types: TypesFact | None = None) -> Op:
    """Register Python's operator beside the NumPy function that it calls: one rule, two spellings."""
    base = _by_function[fn]
    title = operator.__name__.strip("_").capitalize()
    made = Op(
        operator,
        base.signature,
        base.kind,
        path=base.path,
        infix=symbol,
        title=base.title,
        types=types,
        vjps=base.vjps,
        base=base,
    )
    base.title = made.title = {"Truediv": "Div"}.get(title, title)
    _by_function[operator] = made
    return made


class _Replaced:
    """The count of rules that were replaced while in use: source that was generated with an old rule is no longer right."""

    count = 0


REPLACED = _Replaced()


def rule(fn: Callable[..., Any], **vjps: Callable[..., Any] | None) -> None:
    """Give the op `fn` its VJP: for each differentiable argument one formula, told by the names it takes.

    `g` is the incoming cotangent, `out` the result, `i` the position in a sequence argument, `acc` the running sum
    of that argument's cotangent (the formula then returns the new sum), `x_shape` and `x_dtype` the metadata of
    argument `x`, any other name an argument of the op. `None` states that the op is not differentiable in it.

    >>> import numpy as np
    >>> from gradscribe.runtime import rule
    >>> rule(np.exp, x=lambda g, out: g * out)
    """
    found = require(fn)
    for name, formula in vjps.items():
        if name not in found.signature:  # the text: parsing every signature would slow the import down
            raise TypeError(f"rule for {found.path}: no argument is named `{name}` in ({found.signature})")
        found.vjps[name] = None if formula is None else Vjp(formula)
    if found.plans or found.doors or found.derived:  # a rule that replaces one in use
        REPLACED.count += 1
        for user in [o for o in registered() if o.vjps is found.vjps]:
            user.plans.clear()
            user.doors.clear()
            user.derived.clear()


def singular_at(fn: Callable[..., Any], **points: Callable[..., Any]) -> None:
    """State where the rule of an op is a convention: for each argument a predicate, told by the names it takes like a rule.

    It gives truth values that broadcast against the argument's cotangent, or False, and is looked at in the modes of
    `gs.singular` alone.
    """
    found = require(fn)
    for name, predicate in points.items():
        vjp = found.vjps[name]
        assert vjp is not None
        vjp.singular = Vjp(predicate)


def jumps(piece: Callable[..., Any], *functions: Callable[..., Any]) -> None:
    """State of ops that jump what stays the same from one jump to the next, told by the names it takes like a rule.

    It is looked at where SciPy integrates along a path: a function jumps where this changes. Of an op that has no derivative by
    nature it is the result, which need not be said.
    """
    for fn in functions:
        require(fn).base.piece = Vjp(piece)


def takes_out(names: str, *functions: Callable[..., Any]) -> None:
    """State NumPy's own parameters of functions, `"a b out"`, where the op leaves `out` away."""
    for fn in functions:
        require(fn).base.with_out = names


def on_arrays(fn: Callable[..., Any], called: Callable[..., Any], optional: str = "") -> None:
    """State what NumPy's wrapper `fn` calls of arrays, which is quicker: with the parameters that must be given, and one more."""
    require(fn).on_arrays = called, optional


def bounded(fn: Callable[..., Any], low: float, high: float) -> None:
    """State between which bounds all results of an op lie, whatever its arguments are; of real numbers, and NaN apart."""
    require(fn).base.bounds = (low, high)


def undifferentiable(fn: Callable[..., Any], signature: str, kind: Kind = Kind.elementwise, **options: Any) -> Op:
    """Register an op that has no gradient by nature (comparisons, argmax): its results never require grad."""
    made = op(fn, signature, kind, **options)
    made.vjps = dict.fromkeys((p.strip("[]* ").split("=")[0] for p in signature.split(",")), None)
    return made


def lookup(fn: Any) -> Op | None:
    """The op of a function, or None."""
    try:
        found = _by_function.get(fn)
    except TypeError:  # unhashable callables are nobody's op
        return None
    if found is None or _loading:  # an op whose rule another thread is about to state counts as not found
        _load_late()
        found = _by_function.get(fn)
    return found


_late: dict[str, Callable[[], None]] = {}
_loaded: set[str] = set()
_loading: set[int] = set()  # the threads that are at it


def when_imported(module: str, load: Callable[[], None]) -> None:
    """Let `load` register more ops when a function is asked for that is not known yet, and `module` has been imported by then."""
    _late[module] = load


def _load_late() -> None:
    """Register the ops of modules that somebody has imported by now; another thread that asks meanwhile waits for the imports."""
    me = get_ident()
    new = [module for module in _late if module in sys.modules and module not in _loaded]
    if not new or me in _loading:
        return
    _loading.add(me)
    try:
        with computing_with(None):  # what their modules compute as they are imported is NumPy's
            for module in new:
                _late[module]()
                _loaded.add(module)
    finally:
        _loading.discard(me)


def require(fn: Any) -> Op:
    """The op of a function; NoRuleError names it, and how to add it, where there is none."""
    found = lookup(fn)
    if found is None:
        raise NoRuleError.unknown(path_of(fn))
    return found


def ops_of(*functions: Any) -> frozenset[Op]:
    """The ops of functions, with which the `base` of an op is compared: all forms of an op have one base."""
    return frozenset([require(fn).base for fn in functions])


def ops() -> tuple[Op, ...]:
    """Every op, in order of registration."""
    _load_late()
    return registered()


def registered() -> tuple[Op, ...]:
    """The ops that are registered so far: those that Tensor's methods are made of, while gradscribe is imported."""
    return tuple(_by_function.values())


_compositions: dict[Any, Callable[..., Any]] = {}


def composed(fn: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what NumPy's `fn` is of Tensors, in terms of functions that are ops."""
    return lambda body: _compositions.setdefault(fn, body)


class ObjectClass(NamedTuple):
    """A class of another library's whose objects compute with numbers that they hold, such as an interpolator."""

    make: Callable[..., Any]  # an object of ops, from the arguments of the class
    parts: tuple[str, ...]  # the attributes that hold the numbers of an object
    over: ObjectOver | None  # an object of ops, from one of plain numbers and these attributes
    traced: bool  # whether SciPy's own is made of plain numbers


ObjectOver = Callable[[Any, dict[str, Any]], Any]
_classes: dict[Any, ObjectClass] = {}


def object_class(
    cls: Any,
    make: Callable[..., Any],
    parts: tuple[str, ...] = (),
    over: ObjectOver | None = None,
    *,
    traced: bool = False,
) -> None:
    """State what a class of SciPy's, or a function that gives an object of one, is of Tensors."""
    _classes[cls] = ObjectClass(make, parts, over, traced)


def made_of_ops(value: Any) -> Any:
    """An object of such a class, made of ops over its own numbers; None of all else."""
    found = lookup_class(type(value))
    if found is None or found.over is None:
        return None
    return found.over(value, {name: getattr(value, name) for name in found.parts})


def lookup_class(cls: Any) -> ObjectClass | None:
    """What is known of a class; None where it is none of them."""
    _load_late()
    return _classes.get(cls)


def forms(fn: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what the op `fn` is of some forms of its arguments, in terms of other ops; NotImplemented of the others."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        require(fn).forms = body
        return body

    return register


def batching(*functions: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: what these ops, in all of their forms, become under `gs.vmap`; `batching.py` tells what a rule is given."""

    def register(rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for fn in functions:
            require(fn).base.batching = rule
        return rule

    return register


def composition(fn: Any) -> Callable[..., Any] | None:
    """Return the composition of ops that a function is; None for a function that is none."""
    _load_late()
    return _compositions.get(fn)


def compositions() -> tuple[Callable[..., Any], ...]:
    """Every function that is composed of ops, in order of registration."""
    _load_late()
    return tuple(_compositions)


_WITHOUT_TENSORS = frozenset([np.ndarray, np.float64, float, int, bool, type(None), tuple, slice, str])  # as most often


def primitive(
    signature: str, kind: Kind, *, consuming: Callable[..., Any] | None = None, title: str | None = None,
    n_out: int = 1, may_raise: bool = False, memory: Fact = NEW, types: TypesFact | None = None, stores: int | None = None,
    quick: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    """Decorator: register a function of ours, with a NumPy-only body, that NumPy lacks as a function.

    Called with a Tensor it is an op like any other; called with arrays it runs its body, or `consuming`,
    which may write into its first argument (the engine hands over only buffers that it allocated itself).
    Generated source shows the body in place of a call, which makes the memory of its result, unless `memory` says otherwise.
    `stores` names, by its position, the argument that is written there as it is, so that a number does as well as an array
    full of it. `quick` gives the same bits as the body, and is what runs on arrays where it takes less time.
    """

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        made = op(
            body, signature, kind, inline=True, title=title, n_out=n_out, may_raise=may_raise, memory=memory, types=types
        )  # fmt: skip
        made.consuming = consuming
        made.stores = stores
        on_arrays = quick or consuming or body

        @functools.wraps(body)
        def call(*args: Any) -> Any:
            for kind in map(type, args):
                if kind not in _WITHOUT_TENSORS and (enter := getattr(kind, "__gradscribe_apply__", None)) is not None:
                    return enter(made, args)
            return on_arrays(*args)

        _by_function[call] = _by_function.pop(body)
        return call

    return register
