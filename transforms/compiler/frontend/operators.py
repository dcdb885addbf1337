"""Operators of converted code: Python's own control flow, unless a capture in progress wants to keep it as a region."""

from __future__ import annotations

import builtins
import contextlib
import operator
import types
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np

from ....tracer.core.listening import captured_scope, control_flow
from ....tracer.core.losses import caught, telling

__all__ = ["CELL", "CONTROL", "Regions", "Undefined", "operators"]

CONTROL = "__gs__"  # the free variable by which converted code reaches the operators

State = tuple[Any, ...]
Step = Callable[..., State]
Notes = tuple[tuple[int, str], ...]  # lines, and what stands there that no region may hold
Targets = Any  # the name that a `for` binds, or a tuple of such; None for what is no name


class Regions(Protocol):
    """The control flow of a capture, `control_flow()` of the recorder: it keeps a loop or a branch, or gives NotImplemented."""

    def while_(self, test: Any, body: Step, state: State, names: tuple[str, ...], line: int, **notes: Any) -> Any: ...
    def for_(
        self, iterable: Any, body: Step, state: State, names: tuple[str, ...], target: Targets, test: Any, line: int, **notes: Any
    ) -> Any: ...  # fmt: skip
    def if_(
        self, pred: Any, then: Step, orelse: Step, state: State, names: tuple[str, ...], line: int, **notes: Any
    ) -> Any: ...
    def ifexp(self, pred: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any: ...
    def and_(self, x: Any, y: Callable[[], Any]) -> Any: ...
    def or_(self, x: Any, y: Callable[[], Any]) -> Any: ...
    def not_(self, x: Any) -> Any: ...
    def assert_(self, test: Any, message: Callable[[], Any] | None, line: int) -> Any: ...
    def listcomp(self, iterable: Any, element: Callable[[Any], Any], line: int) -> Any: ...
    def summed(self, iterable: Any, element: Callable[[Any], Any], line: int, start: Any = 0) -> Any: ...
    def item(self, holder: Any, key: Any, called: Targets) -> Any: ...
    def truth(self, value: Any, line: int, reason: str) -> Any: ...
    def trips(self, iterable: Any, line: int, reason: str) -> Any: ...
    def append(self, place: Any, value: Any) -> Any: ...
    def iadd(self, op: Callable[[Any, Any], Any], x: Any, y: Any) -> Any: ...
    def call(self, f: Any) -> Any: ...
    def range_(self, *args: Any) -> Any: ...
    def enumerate_(self, iterable: Any, start: int = 0) -> Any: ...
    def zip_(self, *iterables: Any, **options: Any) -> Any: ...
    def reversed_(self, sequence: Any) -> Any: ...
    def float_(self, *args: Any) -> Any: ...
    def int_(self, *args: Any, **options: Any) -> Any: ...
    def bool_(self, *args: Any) -> Any: ...
    def len_(self, x: Any) -> Any: ...
    def name(self, value: Any, name: str) -> None: ...


class Undefined:
    """The value of a name that is not bound yet; code never gets it, for every read that might is a call of `name`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} is not bound>"


def while_(
    test: Callable[..., Any], body: Step, state: State, names: tuple[str, ...], line: int, **notes: Any
) -> State:
    """`while test: body`, where `test` and `body` take the state, the values of `names`, and `body` gives it.

    `notes` are: `dead`, the names that nobody reads behind the loop;
    `impure`, lines and reasons for which no region may hold the body; `stores`, the names that it writes by
    subscript; and `flags`, which of `names` the conversion made for break, continue and return.
    """
    if (regions := control_flow()) is not None:
        kept = regions.while_(test, body, state, names, line, **notes)
        if kept is not NotImplemented:
            return kept  # type: ignore[no-any-return]
    while test(*state):
        state = body(*state)
    return state


_END = object()


def for_(
    iterable: Any, body: Step, state: State, names: tuple[str, ...], target: Targets, test: Any, line: int, **notes: Any
) -> State:
    """`for target in iterable: body`, where `body` takes an item and the state; `test` is asked before each item is taken."""
    if (regions := control_flow()) is not None:
        kept = regions.for_(iterable, body, state, names, target, test, line, **notes)
        if kept is not NotImplemented:
            return kept  # type: ignore[no-any-return]
    if test is None:
        for item in iterable:
            state = body(item, *state)
        return state
    iterator = iter(iterable)
    while test(*state) and (item := next(iterator, _END)) is not _END:
        state = body(item, *state)
    return state


def if_(pred: Any, then: Step, orelse: Step, state: State, names: tuple[str, ...], line: int, **notes: Any) -> State:
    """`if pred: then` and `else: orelse`, both of which take the state and give it."""
    if (regions := control_flow()) is not None:
        kept = regions.if_(pred, then, orelse, state, names, line, **notes)
        if kept is not NotImplemented:
            return kept  # type: ignore[no-any-return]
    return then(*state) if pred else orelse(*state)


def ifexp(pred: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """`then if pred else orelse`."""
    if (regions := control_flow()) is not None and (kept := regions.ifexp(pred, then, orelse)) is not NotImplemented:
        return kept
    return then() if pred else orelse()


def and_(x: Any, y: Callable[[], Any], test: bool = False) -> Any:
    """`x and y`; where it is only a `test`, whose truth is asked for, x is asked once as in Python."""
    if (regions := control_flow()) is not None and (kept := regions.and_(x, y)) is not NotImplemented:
        return kept
    if test:
        return y() if x else False
    return x and y()


def or_(x: Any, y: Callable[[], Any], test: bool = False) -> Any:
    """`x or y`; where it is only a `test`, whose truth is asked for, x is asked once as in Python."""
    if (regions := control_flow()) is not None and (kept := regions.or_(x, y)) is not NotImplemented:
        return kept
    if test:
        return True if x else y()
    return x or y()


def not_(x: Any) -> Any:
    """`not x`."""
    if (regions := control_flow()) is not None and (kept := regions.not_(x)) is not NotImplemented:
        return kept
    return not x


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": operator.is_, "is not": operator.is_not, "in": lambda x, y: x in y, "not in": lambda x, y: x not in y,
}  # fmt: skip


def chain(x: Any, sign: str, y: Any, *more: Any, test: bool = False) -> Any:
    """`x < y < z`, each asked for once: what follows y are signs and functions that give what they compare with."""
    first = _COMPARISONS[sign](x, y)
    if not more:
        return first
    return and_(first, lambda: chain(y, more[0], more[1](), *more[2:], test=test), test)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow,
}  # fmt: skip


def binary(x: Any, sign: str, y: Any) -> Any:
    """`x * y` and its like, where x may be a float and y a size, whom a float would not ask."""
    return _of_size(_ARITHMETIC[sign], x, y)


def _of_size(op: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    if type(y) not in _PLAIN and isinstance(y, int) and isinstance(x, (float, complex, np.generic)):
        reflected = getattr(y, "reflected", None)
        found = NotImplemented if reflected is None else reflected(op, x)
        if found is not NotImplemented:
            return found
    return op(x, y)


_PLAIN = frozenset([int, bool])


def assert_(test: Any, message: Callable[[], Any] | None, line: int) -> None:
    """`assert test, message`."""
    regions = control_flow()
    if regions is not None and regions.assert_(test, message, line) is not NotImplemented:  # noqa: PT009
        return
    if not test:
        raise AssertionError(message()) if message is not None else AssertionError


def listcomp(iterable: Any, element: Callable[[Any], Any], line: int) -> Any:
    """`[element(item) for item in iterable]`."""
    if (regions := control_flow()) is not None:
        kept = regions.listcomp(iterable, element, line)
        if kept is not NotImplemented:
            return kept
    return [element(item) for item in iterable]


def summed(f: Any, iterable: Any, element: Callable[[Any], Any], line: int, *start: Any, listed: bool = False) -> Any:
    """`f(element(item) for item in iterable)`, or of a list, where `f` is what the user's code calls `sum`."""
    if f is sum and (regions := control_flow()) is not None:
        kept = regions.summed(iterable, element, line, *start)
        if kept is not NotImplemented:
            return kept
    if listed:
        return call(f)([element(item) for item in iterable], *start)
    return call(f)((element(item) for item in iterable), *start)


def item(holder: Any, key: Any, called: Targets) -> Any:
    """`holder[key]`, where what a loop calls its item stands in `key`; `called` is what the result is called."""
    if type(holder) in (list, tuple) and type(key) is not int and (regions := control_flow()) is not None:
        kept = regions.item(holder, key, called)
        if kept is not NotImplemented:
            return kept
    return holder[key]


def truth(value: Any, line: int, reason: str) -> Any:
    """The condition of an `if` or `while` that stayed Python's, for a `reason`; a recorder may count the trips."""
    if (regions := control_flow()) is not None and (seen := regions.truth(value, line, reason)) is not NotImplemented:
        return seen
    return value


def trips(iterable: Any, line: int, reason: str) -> Any:
    """Return the iterable of a `for` that stays Python's, for a `reason`; a recorder may count the trips."""
    if (regions := control_flow()) is not None and (
        seen := regions.trips(iterable, line, reason)
    ) is not NotImplemented:
        return seen
    return iterable


def undef(name: str) -> Undefined:
    """Return the placeholder of a name that is not bound."""
    return Undefined(name)


def name(value: Any, name: str, line: int, inner: bool = False) -> Any:
    """The value of a name that may be unbound: where it is, the error is Python's (`inner`: in a comprehension)."""
    if (regions := control_flow()) is not None:
        regions.name(value, name)
    return _unbound(name, inner) if type(value) is Undefined else value


def delete(value: Any, name: str, line: int) -> Undefined:
    """Return the value of a name after `del name`."""
    return _unbound(name) if type(value) is Undefined else Undefined(name)


def bound(read: Callable[[], Any], name: str, line: int, inner: bool = False) -> Any:
    """The value of a name that closures share, read from within a region's function."""
    with contextlib.suppress(NameError):  # whose error would be the context of the one that is raised
        return read()
    _unbound(name, inner)


def _unbound(name: str, inner: bool = False) -> NoReturn:
    if inner:
        words = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
        raise NameError(words) from None
    words = f"cannot access local variable '{name}' where it is not associated with a value"
    raise UnboundLocalError(words) from None


def append(place: Any, value: Any) -> Any:
    """`place.append(value)`, and the list after it."""
    if (regions := control_flow()) is not None and (kept := regions.append(place, value)) is not NotImplemented:
        return kept
    place.append(value)
    return place


def _in_place(op: Callable[[Any, Any], Any], sign: str) -> Callable[[Any, Any], Any]:
    plain = _ARITHMETIC.get(sign[:-1], op)

    def update(x: Any, y: Any) -> Any:
        if (regions := control_flow()) is not None and (kept := regions.iadd(op, x, y)) is not NotImplemented:
            return kept
        return _of_size(plain, x, y) if isinstance(x, float) else op(x, y)

    update.__name__ = op.__name__
    update.__doc__ = f"What `x` is after `x {sign} y`: x itself, written into, where it can be."
    return update


def call(f: Any) -> Any:
    """Return the function that a call of `f` runs: f, unless a region is being traced."""
    regions = control_flow()
    if regions is None:
        return callee(f)
    seen = regions.call(f)
    if seen is not NotImplemented:
        return seen
    return _of_builtin(f, regions)


def callee(f: Any) -> Any:
    """Return the function that a call of `f` runs in the present scope."""
    scope = captured_scope()
    return f if scope is None else scope.callee(f)


_BUILTINS = {
    id(getattr(builtins, name)): f"{name}_"
    for name in ("range", "enumerate", "zip", "reversed", "float", "int", "bool", "len")
}


def _of_builtin(f: Any, regions: Any) -> Any:
    """A builtin that regions may give another meaning, with Python's own where they do not."""
    name = _BUILTINS.get(id(f))
    if name is None:
        return callee(f)
    ask = getattr(regions, name)

    def ours(*args: Any, **options: Any) -> Any:
        seen = ask(*args, **options)
        return callee(f)(*args, **options) if seen is NotImplemented else seen

    return ours


_IN_PLACE = {
    "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "ifloordiv": "//=", "imod": "%=", "ipow": "**=",
    "imatmul": "@=", "iand": "&=", "ior": "|=", "ixor": "^=", "ilshift": "<<=", "irshift": ">>=",
}  # fmt: skip


operators = types.SimpleNamespace(
    while_=while_, for_=for_, if_=if_, ifexp=ifexp, and_=and_, or_=or_, not_=not_, chain=chain, binary=binary, assert_=assert_,
    listcomp=listcomp, summed=summed, item=item, truth=truth, trips=trips, undef=undef, name=name, delete=delete, bound=bound,
    append=append, call=call, caught=caught, entered=telling,
    **{name: _in_place(getattr(operator, name), sign) for name, sign in _IN_PLACE.items()},
)  # fmt: skip
CELL = types.CellType(operators)  # what stands in the free variable CONTROL
