"""Shapes while capturing: tuples of traced sizes, ints that remember the axis they came from and the code that asked.

What is computed of sizes is written down, whatever type it has: an int is a size again, another number a Tensor.
"""

from __future__ import annotations

import dis
import linecache
import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ....runtime.arrays import is_array
from ....runtime.ir.graph import Value, values_in
from ....runtime.ops import shape_of
from ....runtime.registry import lookup
from ....runtime.rules.control import size_of
from ....runtime.user_ops import USERS, is_users
from ....tracer.core.count import size_called
from ....tracer.core.site import Site, site_of
from ....tracer.core.tensor_base import Operand, wrap

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["Compared", "Counted", "Fixed", "Shape", "Size"]

Axis = tuple[Value, int]


class Compared(NamedTuple):
    """A place where the user's code decided by a size, and what it found there."""

    site: Site
    outcome: bool

    @property
    def found(self) -> str:
        """The outcome, where the expression is itself the comparison."""
        name = dis.opname[self.site.code.co_code[self.site.offset]]
        return repr(self.outcome) if name in ("COMPARE_OP", "CONTAINS_OP") or "JUMP" in name else "as at these sizes"

    @property
    def words(self) -> str:
        """The user's expression, such as `x.shape[0] > 3`."""
        spans = list(self.site.code.co_positions())
        line, end_line, column, end_column = spans[self.site.offset // 2]
        text = linecache.getline(self.site.code.co_filename, self.site.line)
        if line != end_line or line is None or not text:
            return text.strip() or "a size"
        return text.encode()[column:end_column].decode()


class Fixed(NamedTuple):
    """A place where the user's code fixed a length, so that the source serves no other."""

    site: Site | None
    axis: Axis  # of which value of the graph, and which of its axes

    @property
    def words(self) -> str:
        """The user's expression, such as `[0.0] * n`."""
        return "a length" if self.site is None else Compared(self.site, True).words


class Owner(Protocol):
    """The capture that sizes belong to."""

    findings: Any  # Findings (record.py), which stands above

    def of_sizes(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any: ...


class Size(int):
    """An int that remembers how it follows from the axes of inputs, so that generated source can say so."""

    origin: tuple[Any, ...]  # ("axis", value, k), or (function, *operands)
    owner: Owner
    site: Site | None  # where it was computed; None of a length itself, which is asked for where it is needed
    __gradscribe_int__ = True
    shape: Any = None  # of a Tensor's `size`, which may be called

    def __call__(self, dim: Any = None) -> Any:
        if self.shape is None:
            raise TypeError("'int' object is not callable")
        return size_called(self.shape, dim)

    def __new__(cls, number: int, origin: tuple[Any, ...], owner: Owner, site: Site | None = None) -> Size:
        made = super().__new__(cls, number)
        made.origin = origin
        made.owner = owner
        made.site = site
        return made

    def reflected(self, op: Callable[..., Any], other: Any) -> Any:
        """Return `other op self`, where `other` is a float, which asks no int what it is combined with."""
        return self.owner.of_sizes(op, (other, self))

    def decided(self, outcome: Any) -> Any:
        """Return the outcome of a comparison two frames up; one in the user's code is remembered."""
        frame = sys._getframe(2)
        if type(outcome) is bool and frame.f_code in self.owner.findings.codes:
            self.owner.findings.compared.setdefault(Compared(site_of(frame), outcome))
        return outcome

    def __eq__(self, other: Any) -> Any:
        return self.decided(int.__eq__(self, other))

    def __ne__(self, other: Any) -> Any:
        return self.decided(int.__ne__(self, other))

    def __lt__(self, other: Any) -> Any:
        return self.decided(int.__lt__(self, other))

    def __le__(self, other: Any) -> Any:
        return self.decided(int.__le__(self, other))

    def __gt__(self, other: Any) -> Any:
        return self.decided(int.__gt__(self, other))

    def __ge__(self, other: Any) -> Any:
        return self.decided(int.__ge__(self, other))

    def __bool__(self) -> bool:
        return bool(self.decided(int.__bool__(self)))

    __hash__ = int.__hash__

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return int.__pow__(self, other, modulus)
        return self.owner.of_sizes(operator.pow, (self, other))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **words: Any) -> Any:
        if any(isinstance(x, Operand) for x in inputs):
            return NotImplemented  # it knows what to do
        found = self.owner.of_sizes(ufunc, inputs) if method == "__call__" and not words else NotImplemented
        return getattr(ufunc, method)(*map(_plain, inputs), **words) if found is NotImplemented else found

    def __array_function__(self, function: Any, types: Any, args: Any, words: Any) -> Any:
        return of_numpy(self.owner, function, args, words)


def _binary(op: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: self.owner.of_sizes(op, (self, other))


def _reflected(op: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: self.owner.of_sizes(op, (other, self))


def _unary(op: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda self: self.owner.of_sizes(op, (self,))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
    _op = getattr(operator, f"{_name}_" if hasattr(operator, f"{_name}_") else _name)
    setattr(Size, f"__{_name}__", _binary(_op))
    setattr(Size, f"__r{_name}__", _reflected(_op))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Size, f"__{_name}__", _unary(abs if _name == "abs" else getattr(operator, _name)))
setattr(Size, "__rpow__", _reflected(operator.pow))  # noqa: B010  # int's takes a modulus


class Shape(tuple[Size, ...]):
    """The shape of a traced value: equal to the plain tuple, and made of sizes."""

    value: Any  # the IR value whose shape this is

    def __new__(cls, value: Any, sizes: list[Size]) -> Shape:
        made = super().__new__(cls, sizes)
        made.value = value
        return made

    def __eq__(self, other: object) -> bool:
        return bool(self[0].decided(_plain(self) == _plain(other)))

    def __ne__(self, other: object) -> bool:
        return bool(self[0].decided(_plain(self) != _plain(other)))

    __hash__ = tuple.__hash__

    def __array_function__(self, function: Any, types: Any, args: Any, words: Any) -> Any:
        return of_numpy(self[0].owner, function, args, words)


def of_numpy(owner: Owner, function: Any, args: Any, words: Any) -> Any:
    """Call a function of NumPy's on sizes: `np.prod(x.shape)` is traced, others get plain ints."""
    if any(isinstance(x, Operand) for x in (*args, *words.values())):
        return NotImplemented
    found = NotImplemented if words or lookup(function) is None else owner.of_sizes(function, tuple(args))
    if found is not NotImplemented:
        return found
    return function(*map(_plain, args), **{name: _plain(x) for name, x in words.items()})


def _plain(x: Any) -> Any:
    """A size, a shape, or anything else, with ints in place of sizes."""
    if type(x) is Size:
        return int(x)
    if type(x) is list:
        return [_plain(n) for n in x]
    return tuple([_plain(n) for n in x]) if type(x) in (tuple, Shape) else x


_NUMBERS = (int, float, complex, np.number, np.bool_)


class Counted:
    """The numbers of one capture that follow from lengths: a decision by one holds at each call of these lengths."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.values: set[Value] = set()
        self.fixed: dict[Fixed, None] = {}  # where a length was taken for what it is
        self._axes: dict[Value, frozenset[Axis]] = {}  # which lengths the values follow from

    def note(self, op: Any, args: tuple[Any, ...], outs: tuple[Value, ...]) -> None:
        """A call is written down."""
        reads = list(values_in(args))
        if reads and not op.effect and self.values.issuperset(reads) and not (USERS and is_users(op)):
            self.values.update(outs)
            axes = frozenset[Axis]().union(*[self._axes.get(v, frozenset()) for v in reads])
            self._axes.update((out, axes) for out in outs)

    def fix(self, *numbers: Any) -> None:
        """The code does with numbers what no source for other lengths does."""
        site = self.capture.site()
        for axis in sorted(frozenset[Axis]().union(*map(self.axes, numbers)), key=lambda axis: axis[1]):
            self.fixed.setdefault(Fixed(site, axis))

    def axes(self, x: Any) -> frozenset[Axis]:
        """Return the lengths that a number, or what stands in a list of them, follows from."""
        if isinstance(x, Size):
            kind, *parts = x.origin
            if kind is size_of:
                return frozenset([(parts[0], parts[1])])
            return frozenset[Axis]().union(*map(self.axes, parts))
        if isinstance(x, (tuple, list)):
            return frozenset[Axis]().union(*map(self.axes, x))
        ir: Any = x if isinstance(x, Value) else getattr(x, "_ir", None)
        return self._axes.get(ir, frozenset())

    def holds(self, x: Any) -> bool:
        """Return whether a Tensor stands for a number that follows from lengths."""
        return isinstance(x, Operand) and getattr(x, "_ir", None) in self.values and not is_array(x._value)

    def of(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return what a function of numbers gives, traced, where sizes are among them; NotImplemented where none is."""
        if len(args) == 2 and any(isinstance(a, (list, tuple, str)) and type(a) is not Shape for a in args):
            self.fix(*[a for a in args if isinstance(a, Size)])  # `[0.0] * n`
            return NotImplemented
        parts = [x for arg in args for x in (arg if isinstance(arg, (tuple, list)) else (arg,))]
        if not any(isinstance(x, Size) or self.holds(x) for x in parts):
            return NotImplemented
        if not all(isinstance(x, _NUMBERS) or self.holds(x) for x in parts):
            return NotImplemented
        if fn is operator.mul and type(args[0]) is int and args[0] == 1:
            return args[1]  # as math.prod begins
        result = fn(*map(_value, args))
        op = lookup(fn)
        if self.capture.failed is not None or self.capture.over:
            return result
        if op is None or not isinstance(result, _NUMBERS):
            self.fix(*args)
            return result
        if type(result) is int:
            return Size(result, (fn, *args), self.capture, self.capture.site())
        made = wrap(result)
        made._ir = self.written(fn, args, result, self.capture.site())
        return made

    def left(self, tensor: Any, how: str) -> None:
        """A number leaves its Tensor: code may decide by it."""
        site = next(iter(tensor._ir.sites), None) or self.capture.site()  # of the comparison, rather than of the `if`
        if how == "bool" and site is not None:
            self.capture.findings.compared.setdefault(Compared(site, bool(tensor._value)))
        else:
            self.fix(tensor)

    def written(self, fn: Callable[..., Any], args: tuple[Any, ...], result: Any, site: Site | None = None) -> Value:
        """Write down a call of numbers that gave `result`, at a `site` of the user's."""
        out = self.capture.small(fn, tuple(map(self.operand, args)), result, site)
        self.values.add(out)
        if fn is size_of:
            self._axes[out] = frozenset([(args[0], args[1])])
        elif fn is shape_of:
            self._axes[out] = frozenset([(args[0], k) for k in range(len(result))])
        else:
            self._axes[out] = self.axes(args)
        return out

    def operand(self, x: Any) -> Any:
        """Return a number as it stands in the graph."""
        if isinstance(x, Size):
            kind, *parts = x.origin
            return self.written(kind, tuple(parts), int(x), x.site)
        if isinstance(x, Operand):
            return getattr(x, "_ir", None)
        if type(x) in (tuple, list):
            return type(x)(map(self.operand, x))
        return self.capture.operand(x)


def _value(x: Any) -> Any:
    """Return a number, or numbers, as Python or NumPy has them."""
    if isinstance(x, Operand):
        return x._value
    if type(x) is Size:
        return int(x)
    if isinstance(x, (tuple, list)):
        return [_value(e) for e in x] if isinstance(x, list) else tuple(map(_value, x))
    return x
