"""Capture: a run of the rebuilt function on Tensors under a recorder, which notes its operations and its assumptions."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.arrays import PLACE, is_array, is_plain_array, number_of
from ....runtime.ir.graph import Call, Graph, Value, again, primal_of, type_of, values_in
from ....runtime.ir.known_ops import REPEAT
from ....runtime.ops import shape_of
from ....runtime.registry import require
from ....runtime.result_types import KIND
from ....runtime.rules.control import size_of
from ....runtime.rules.messages import PRINTS
from ....runtime.user_ops import USERS, home_of, is_users
from ....tracer.core.graph import next_sequence
from ....tracer.core.site import Site, called_site, calls_to, definition, user_site
from ....tracer.core.tensor_base import Operand, wrap
from ....tracer.core.thread_state import LOCAL
from ....tracer.memory.survivors import note_held
from ...user_code.scipy_names import object_of, parts_of
from ...user_code.scope import ABSENT, Path, Scope, all_code, is_put_in, is_user_function, watched
from ..analysis.effects import by_value, is_behind_effects
from ..frontend.attempts import GivenUp, LoopRejected
from ..frontend.functions import convert_code, has_arithmetic, has_control_flow
from ..frontend.hooks import catches, needs_of
from ..frontend.operators import CELL, CONTROL
from ..frontend.user_names import assigned_names
from .copies import copied
from .exits import guard_kind, guard_sizes, left
from .failure import Failure, read_at, reading
from .generators import GENERATOR, Generators, is_generator
from .instances import AS_THEY_ARE, Instances
from .instructions import compares_objects, only_for_super, refused, stored_attributes
from .messages import Messages
from .numbers import NumberNeededError, Numbers, is_float
from .outside import is_constant, is_mock, is_plain_data, is_user_error, why_not
from .record import Findings, Record
from .sizes import Counted, Shape, Size
from .stored import Store, Stored, is_storable
from .written import Written

if TYPE_CHECKING:
    from .control_flow.hooks import Regions

__all__ = ["Capture"]

MANY_CALLS = 20_000  # of a loop that is unrolled, or of a function that is called again and again
MANY_LINES = 200_000  # of code in a straight line
_EACH = 8  # operations for each place in the code: a straight line has fewer, forward and backward together
_NAMING = ("__name__", "__qualname__", "__doc__", "__module__")


class Identities:
    """The arrays of one capture, told apart as objects once some code in it asks `a is b`: then one array is one Tensor."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.compared = False
        self.twins: dict[Path, Any] = {}  # where an array was found that is an input by another name already

    def begin(self) -> None:
        """Code that compares objects is part of the capture now."""
        if not self.compared:
            self.compared = True
            callers = [id(t._caller) for t in self._tensors()]
            if len(set(callers)) < len(callers):
                effects = any(call.op.effect for call in self.capture.findings.graph.calls)
                self.capture.refuse("compares with `is`, and was given one array twice")
                if not effects:  # they are two Tensors already, and this run would find them different
                    self.capture.abandoned = True
                    raise NumberNeededError(self.capture.failed)

    def known(self, array: Any, path: Path) -> Any:
        """The Tensor of an array that is an input already; None where it is not, or where nobody can tell."""
        if not self.compared:
            return None
        found = next((t for t in self._tensors() if t._caller is array), None)
        if found is not None:
            self.twins[path] = array
        return found

    def _tensors(self) -> list[Any]:
        return [*self.capture.given, *self.capture.outside]


class Section:
    """The section that calls belong to: forward, or that of cotangents, or of tangents; and at which line these are."""

    def __init__(self) -> None:
        self.backward: bool | str = False  # "tangents" while those go forward
        self.line: Site | None = None  # of the node at which the engine is
        self.order = 0  # of the backward pass that runs: 2 where it goes through another
        self.orders: dict[Value, int] = {}  # of what backward passes gave
        self.again: dict[Value, Value] = {}
        self.users = False  # whether a backward of the user's runs
        self.quiet = 0  # blocks of the user's that run without NumPy's warnings

    def begin(self) -> tuple[bool | str, Any, int]:
        """The engine starts; returns what `end` takes."""
        before = (self.backward, self.line, self.order)
        self.backward, self.order = self.backward or True, 1
        return before

    def end(self, before: tuple[bool | str, Any, int]) -> None:
        """The engine is done."""
        self.backward, self.line, self.order = before

    def arrive(self, node: Any, g: Any, inputs: list[Value]) -> None:
        """The engine arrives at `node` with cotangent `g`, which is called by what it is the cotangent of."""
        ir = getattr(node, "ir", None)
        if ir is None:
            return
        outs, site = ir
        of = outs[0]
        self.line = site if site is None or of is None else called_site(site, of.sites[1:])
        self.order = max(self.order, self.orders.get(of, 0) + 1)
        v = getattr(g, "_ir", None)
        if v is None or primal_of(v) in inputs:
            return
        if v.cotangent_of is None or of in inputs:  # a gradient is called by its argument
            first = self.order < 2 or of in self.orders
            v.cotangent_of = of if first else self.again.setdefault(of, again(of))


class Capture:
    """The recorder that operations and exits report to, and the witness that decides what reads become."""

    def __init__(
        self, varying: Collection[Any] = (), keeps: bool = False, sizes: bool = False, joins: bool = True,
        runs_through: bool = False,
    ) -> None:  # fmt: skip
        self.sizes = sizes  # whether the code asks for lengths
        self.began = next_sequence()
        self.findings = Findings(Graph([], [], []))
        self.section = Section()
        self.regions: Regions | None = None  # where loops and branches stay what they are
        if keeps:
            from .control_flow import hooks  # not loaded for a function without any

            self.regions = hooks.Regions(self, joins, runs_through)
        self.varying = varying  # where numbers are read that change from call to call
        self.numbers = Numbers(self)
        self.counted = Counted(self)
        self.postponed = False  # what this run did to attributes, the next one need not do
        self._places: set[tuple[int, int]] = set()  # in the user's code, from which operations come
        self.failed: Failure | None = None
        self.scope = Scope(self)
        self._catching: set[types.CodeType] = set()  # code that catches exceptions, or leaves a `with` by them
        self.decided: dict[Site | None, int] = {}  # how often the code decided by a value, at each place
        self._entered: types.FunctionType | None = None  # the last function that became part of it
        self.contexts: set[types.CodeType] = set()
        self._tensors: dict[Path, Any] = {}
        self.abandoned = False  # whether the run is to be forgotten, with what it wrote
        self.given_up = False  # whether it should have ended, which a bare `except:` may have prevented
        self.over = False  # what is rebuilt over its scope may live on, in a closure that the code has stored
        self.written = Written(self)
        self.stored = Stored(self)
        self._instances = Instances(self)
        self.generators = Generators(self)
        self.identities = Identities(self)
        self.given: list[Any] = []  # the Tensors of the arrays among the arguments
        self.returned = False  # whether the run is over, and what it wrote is written

    @functools.cached_property
    def messages(self) -> Messages:
        """The texts of the capture, once the code makes one."""
        return Messages(self)

    @property
    def kept(self) -> bool:
        """Whether a loop or a branch was kept, so that this run gives no result."""
        return self.regions is not None and self.regions.kept

    @property
    def changed(self) -> bool:
        """Whether the run has done something to the user's objects, or said something, that a second run would do again."""
        if self._instances.done or self.stored.done > 0:
            return True
        waits = "messages" in vars(self) and self.messages.wait
        return not waits and any(call.op in PRINTS for call in self.findings.graph.calls)

    @property
    def outside(self) -> list[Any]:
        """The Tensors of what was read from outside the function."""
        return list(self._tensors.values())

    # inputs
    def new_input(self, value: Any, name: str) -> Any:
        """A Tensor that stands for an input of the graph."""
        tensor = wrap(value)
        tensor._ir = Value(type_of(value), name)
        self.findings.graph.inputs.append(tensor._ir)
        return tensor

    # the recorder
    def refuse(self, reason: str, site: Site | None = None, path: Path | None = None) -> None:
        """Give the capture up. Blamed is where `path` is read, if it is given.

        The function runs once more, without a capture, where nothing has been done that would be done again. Otherwise the
        run goes on as in eager mode.
        """
        if self.regions is not None and self.regions.strict:
            raise LoopRejected(reason, site)
        if self.failed is None:
            site = site or (None if path is None else read_at(path, self.findings.codes))
            self.failed = Failure(reason, site or self.site() or definition(self._entered))
            self._run_again()
            if "messages" in vars(self):
                self.messages.print_now()
            self.stored.do_now()

    def _run_again(self) -> None:
        """End the run, where nothing has been done that would be done again: without a capture, all code has its hooks.

        In the midst of a run code that is not captured would act by itself, on what captured code has copies of.
        """
        if not (self.changed or self.section.backward or self.returned):
            self.given_up = self.abandoned = True
            raise GivenUp

    def catches(self) -> bool:
        """Return whether code that runs may go on after an error."""
        return bool(self._catching)

    def is_abandoned(self) -> bool:
        """Return whether the run is to be forgotten, with what it wrote."""
        return self.abandoned

    def code_scope(self) -> Scope:
        """Return the scope that user code is rebuilt over."""
        return self.scope

    def control_flow(self) -> Regions | None:
        """Return what keeps loops and branches."""
        return self.regions

    def in_loop(self) -> bool:
        """Return whether a loop that is being kept runs."""
        return self.regions is not None and bool(self.regions.frames)

    def cuts(self, what: str) -> None:
        """Refuse to keep a loop in which the code changes what is differentiated."""
        if self.regions is not None:
            self.regions.cuts(what)

    def may_write(self, base: Any) -> None:
        """Refuse to keep a loop that writes into memory which it cannot."""
        if self.regions is not None:
            self.regions.may_write(base)

    def wrote(self, base: Any) -> None:
        """Note that an array of the caller is written."""
        self.written.add(base)

    def wrote_differentiated(self, base: Any) -> None:
        """Raise where a value that requires grad is written into an array from outside."""
        self.written.loses_gradient(base)

    def became(self, tensor: Any, new: Any) -> None:
        """Let a Tensor be what `new` is in the graph."""
        found = getattr(new, "_ir", None)
        if found is None:
            self.refuse("writes an array of unknown origin")
        else:
            found.over = getattr(tensor, "_ir", None)
        tensor._ir = found

    def printed(self, *values: Any, **options: Any) -> None:
        """Print what the user's code prints, and write it down."""
        self.messages.printed(*values, **options)

    def drew(
        self, owner: Any, fn: Callable[..., Any], code: types.CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Draw by a function of `np.random` or `random`, and write it down."""
        return self.generators.of_module(owner, fn, code, args, kwargs)

    def quieted(self, by: int) -> None:
        """Note that the user's code turns NumPy's warnings off (1), or on again (-1)."""
        self.section.quiet += by

    def new_generator(self, *args: Any, **kwargs: Any) -> Any:
        """Return a handle of what `np.random.default_rng` makes."""
        return self.generators.new(*args, **kwargs)

    def own_generator(self, home: types.ModuleType) -> Any:
        """Return a handle of gradscribe's own generator."""
        return self.generators.default(home)

    def site(self) -> Site | None:
        """Return the user's line at which the run is."""
        if self.section.backward and not self.section.users:
            return self.section.line
        site = user_site()
        return site if site is not None and site.code in self.findings.codes else self.section.line

    def _too_many(self) -> str:
        """Say why there are too many operations, if there are."""
        count = len(self.findings.graph.calls)
        if count > _EACH * len(self._places):
            return f"unrolls a loop into more than {MANY_CALLS:,} operations"
        return (
            f"has more than {MANY_LINES:,} operations, which are too many for one source" if count >= MANY_LINES else ""
        )

    def call(self, op: Any, bound: tuple[Any, ...], results: tuple[Any, ...]) -> Any:
        """Write one operation down and give its results their values; what the node of the operation keeps."""
        if self.failed is not None:
            return None
        regions = self.regions
        if regions is not None and regions.expected is not None:
            return regions.replayed(op, results)
        args = tuple([self.operand(b) for b in bound])
        if len(self.findings.graph.calls) >= MANY_CALLS and (why := self._too_many()):
            self.refuse(why)
            return None
        if op.may_raise and self._catching:
            self.refuse(f"calls {op.path}, which can raise, beside code that catches errors")
            return None
        if USERS and is_users(op) and len(self.stored.found) > self.stored.done:
            self.refuse(f"calls {op.name}, an op of yours, behind a store that it may read")
            self._run_again()
            return None
        if USERS and is_users(op) and home_of(op.path) is None:
            self.refuse(f"calls {op.name}, an op of yours that no module has under that name, to import it from")
            return None
        outs = tuple([Value(type_of(r._value)) for r in results])
        self.counted.note(op, args, outs)
        if not self.numbers.follow(op, args, outs):
            return None
        if regions is not None:
            if regions.partial:
                regions.is_read(op, args)
            if regions.mixed:
                regions.mixes(op, args, outs)
        site = self.site()
        sites = () if site is None or self.section.backward else (site, *calls_to(site.code, self.findings.codes))
        for out, r in zip(outs, results, strict=True):
            out.sites = sites
            r._ir = out
        call = self.new_call(op, args, outs, site)
        if self.section.backward is True:
            self.section.orders.update(dict.fromkeys(outs, self.section.order))
        if self.section.users and site is not None and site is not self.section.line:
            self.name(call)
        if site is not None and not self.section.backward:
            self._places.add((id(site.code), site.offset))
        self.findings.graph.calls.append(call)
        if regions is not None:
            if regions.frames and not self.section.backward:
                self.name(call)
            regions.note(call, [r._value for r in results])
        decided = by_value(call)
        by = args[1:2] if op.base is REPEAT else args  # what decides
        if decided is not None and not self.counted.values.issuperset(values_in(by)):
            (guard_kind if decided is KIND else guard_sizes)(self, call)
        return outs, site

    def new_call(self, op: Any, args: tuple[Any, ...], outs: tuple[Value, ...], site: Site | None) -> Call:
        """Return a call in the section that runs."""
        return Call(op, args, outs, site, self.section.backward, bool(self.section.backward) or self.section.quiet > 0)

    def name(self, call: Call) -> None:
        """Call the results of an operation as the user's statement does."""
        if call.site is not None:
            for out, name in zip(call.outs, assigned_names(call.site, len(call.outs)), strict=False):
                out.name = name

    def operand(self, x: Any) -> Any:
        """An argument as it stands in the graph: values in place of Tensors and traced sizes."""
        if isinstance(x, Operand):
            ir = getattr(x, "_ir", None)
            if ir is not None and self.regions is not None:
                self.regions.see(x, ir)
            return self.operand(x._value) if ir is None else ir
        if isinstance(x, Size):
            return self.counted.operand(x)
        if isinstance(x, Shape):
            return self.counted.written(shape_of, (x.value,), tuple(x))
        if is_array(x) and (number := number_of(x)) is not None:
            return number
        if is_array(x):
            self.refuse(f"uses an array of unknown origin ({x.dtype.name}{list(x.shape)}); pass it as an argument")
            return None
        if type(x) is tuple:
            return tuple([self.operand(e) for e in x])
        if type(x) is list:
            return [self.operand(e) for e in x]
        if isinstance(x, slice):
            return slice(self.operand(x.start), self.operand(x.stop), self.operand(x.step))
        return x

    def small(self, fn: Any, args: tuple[Any, ...], result: Any, site: Site | None = None) -> Value:
        """Record a number that follows from sizes where it is needed; one that is computed at a `site` may have its name."""
        out, op = Value(type_of(result)), require(fn)
        op = op.titled(op.title) if op.may_raise else op  # it has not raised, nor does it at these lengths
        out.sites = () if site is None or self.section.backward else (site,)
        call = self.new_call(op, op.bind(*args), (out,), site or self.site())
        self.findings.graph.calls.append(call)
        if self.regions is not None:
            self.regions.note(call, [result])
        return out

    def shape(self, tensor: Any) -> tuple[int, ...]:
        """The shape of a Tensor, of sizes that remember where they are from."""
        plain: tuple[int, ...] = np.shape(tensor._value)
        ir = getattr(tensor, "_ir", None)
        if ir is None or not plain:
            return plain
        return Shape(ir, [Size(n, (size_of, ir, k), self) for k, n in enumerate(plain)])

    def length(self, v: Value, axis: int) -> int:
        """The length of an axis of a value, as a size that remembers where it is from."""
        return Size(v.type.shape[axis], (size_of, v, axis), self)

    def of_sizes(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Return what a function of numbers gives, traced, where sizes are among them; NotImplemented where none is."""
        return self.counted.of(fn, args)

    def left(self, tensor: Any, how: str, spec: str = "") -> None:
        """A value leaves a Tensor: it becomes a guard where it is one small thing, else the capture is over."""
        if self.failed is None:
            left(self, tensor, how, spec)

    def undecided(self, tensor: Any) -> bool:
        """Whether a value is one that each trip of a loop changes, so that no decision by it can be kept."""
        ir = getattr(tensor, "_ir", None)
        return ir is not None and self.failed is None and self.regions is not None and bool(self.regions.is_open(ir))

    def behind_effects(self, tensor: Any) -> bool:
        """Whether a value rests on an effect, so that a decision by it would be taken too late."""
        ir = getattr(tensor, "_ir", None)
        return ir is not None and self.failed is None and is_behind_effects(self.findings.graph, ir)

    def backward(self, node: Any, g: Any) -> Any:
        """The engine arrives at `node` with cotangent `g`: what that is from here on."""
        if self.section.backward == "tangents":  # it transposes one VJP
            return g
        self.section.backward = True
        if self.regions is not None and self.regions.partial:
            g = self.regions.arrived(node, g)
        self.section.arrive(node, g, self.findings.graph.inputs)
        return g

    def added(self, edge: Any, total: Any, g: Any) -> Any:
        """The sum of two cotangents of what `edge` belongs to."""
        return total + g if self.regions is None or not self.regions.partial else self.regions.added(edge, total, g)

    def of_its_own(self, g: Any, others: Sequence[Any]) -> Any:
        """A gradient in memory of its own, whichever way branches go."""
        return g if self.regions is None else self.regions.of_its_own(g, others)

    def chosen(self, node: Any, g: Any, sums: Any, run: Callable[[Any, Any], Any]) -> Any:
        """Return the cotangents that a node gives, where only some arms of a branch give `g`; else None."""
        return None if self.regions is None or not self.regions.partial else self.regions.chosen(node, g, sums, run)

    def user_code(self, runs: bool) -> bool:
        """A backward that the user wrote begins (or is over): its lines and names are the user's. How it was before."""
        before, self.section.users = self.section.users, runs
        return before

    def tangent(self, node: Any) -> None:
        """Tangents arrive at the arguments of `node`."""
        self.section.backward = "tangents"
        ir = getattr(node, "ir", None)
        if ir is not None:
            self.section.line = ir[1]

    def moved(self, node: Any, t: Any) -> None:
        """The result of `node` has the tangent `t`, which is called as a cotangent is."""
        ir, v = getattr(node, "ir", None), getattr(t, "_ir", None)
        if ir is None or v is None or v.cotangent_of is not None or v in self.findings.graph.inputs:
            return
        if (
            self.regions is None or ir[0][0] not in self.regions.stand_ins
        ):  # those of loops are called by what goes round
            v.cotangent_of = ir[0][0]

    def backward_ends(self, before: tuple[bool | str, Any, int]) -> None:
        """The engine is done; `before` is what `backward_begins` gave."""
        self.section.end(before)

    def backward_begins(self) -> tuple[bool | str, Any, int]:
        """The engine starts."""
        return self.section.begin()

    # the witness
    def enter(self, function: types.FunctionType) -> None:
        """A user's function becomes part of the capture."""
        self._entered = function
        for code in all_code(function.__code__):
            self.findings.codes.add(code)
            self.stored.codes.add(code)
            if self.failed is not None:
                continue
            outside = function.__code__.co_freevars
            why = refused(code, code is function.__code__, code in self.contexts, outside, self.stored.into)
            self.stored.names |= stored_attributes(code)
            if why is not None:
                self.refuse(why.reason, why.site)
            if compares_objects(code):
                self.identities.begin()
        self._note_defaults(function)
        if catches(function.__code__):
            self._catching.add(function.__code__)
        for name in _NAMING:
            if any(name in code.co_names for code in self.findings.codes):
                self.findings.reads[Path(("attribute", function, name), words=f"{function.__name__}.{name}")] = getattr(
                    function, name
                )
        self.findings.reads[Path(("attribute", function, "__code__"))] = function.__code__
        self.findings.reads[Path(("attribute", function, "__dict__"))] = dict(vars(function))

    def _note_defaults(self, function: types.FunctionType) -> None:
        """Assume that the defaults of a function's parameters stay what they are."""
        reads = self.findings.reads
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        if not all(map(is_constant, defaults)):  # which the scope looks at one by one
            for part in ("__defaults__", "__kwdefaults__"):
                path = Path(("attribute", function, part), words=f"{function.__qualname__}.{part}")
                reads[Path(("id", path, ""))] = getattr(function, part)
            if function.__kwdefaults__:
                names = Path(("keys", function.__kwdefaults__, ""), words=f"{function.__qualname__}.__kwdefaults__")
                reads[names] = tuple(function.__kwdefaults__)
        elif defaults:
            reads[Path(("attribute", function, "__defaults__"))] = function.__defaults__
            reads[Path(("attribute", function, "__kwdefaults__"))] = (
                None if function.__kwdefaults__ is None else dict(function.__kwdefaults__)
            )

    def runs(self, codes: Iterable[types.CodeType]) -> None:
        """Take in code that runs in place of the user's."""
        self.findings.codes.update(codes)

    def converted(self, function: types.FunctionType) -> tuple[types.CodeType, dict[str, types.CellType]]:
        """The code that runs for a function, its loops and branches as calls where those may be kept; and what it calls."""
        own = function.__code__
        straight = not has_control_flow(own) and (needs_of(own).calls or catches(own))
        sizes = self.sizes and has_arithmetic(own)
        if self.regions is None and not straight and not sizes:
            return own, {}
        code = convert_code(function, calls=True, sizes=sizes)
        if code is None:
            if self.regions is not None:
                self.regions.stays(function.__code__)
            return function.__code__, {}
        self.findings.codes.update(all_code(code))
        return code, {CONTROL: CELL}

    def see(self, value: Any, path: Path) -> Any:
        """Return the value that the code gets for one read at `path`."""
        if self.over:
            return value
        known = self._tensors.get(path)
        if known is not None:
            if known._caller is value:
                return known
            self.refuse(f"reads `{path.words}`, which changes meanwhile")
        if value is builtins.super:
            return self._instances.super
        if self.failed is not None:
            return self._seen_uncaptured(value, path)
        kind = type(value)
        if is_plain_array(value) and value.dtype.kind in "biufc" and value.dtype.isnative:
            if PLACE.module is None and kind is not np.ndarray:
                self.refuse(f"reads `{path.words}`, an array of CuPy's; pass it as an argument")
            twin = self.identities.known(value, path)
            return self._new_array(value, path) if twin is None else twin
        if path in self.varying and (is_float(value) or kind is int):
            number = self._tensors[path] = self.numbers.enter(value, path, path.name)
            self.findings.arrays[path] = (number._ir, value)
            self.numbers.outside = True
            return number
        if is_constant(value):
            self.findings.reads[path] = value
            return value
        if is_generator(value):
            return self.generator(value, path)
        if path[0] == "cell" and path[2] == "__class__" and all(map(only_for_super, self.findings.codes)):
            self.findings.reads[path] = value
            return value
        sink = self.stored.filled(value, path)
        return self._seen_object(value, path) if sink is None else sink

    def _seen_uncaptured(self, value: Any, path: Path) -> Any:
        """Return a value as code gets it once the capture has failed."""
        if path[0] == "cell" and path[2] == "__class__":
            return value
        seen = self._instances.seen(value, path)
        if seen is not value:
            return seen
        note_held(value)
        return self.scope.stand_in(value, path)

    def _new_array(self, value: Any, path: Path) -> Any:
        """Return the Tensor of an array from outside: an input."""
        tensor = self.new_input(value, path.name)
        tensor._caller = value
        LOCAL.arguments = (*LOCAL.arguments, tensor)
        self.findings.arrays[path] = (tensor._ir, value)
        self.findings.before[path] = copied(value)
        self._tensors[path] = tensor
        if self.written.overlap(value):
            self.refuse(f"reads `{path.words}`, which shares memory with an array that it has written into")
        return tensor

    def _seen_object(self, value: Any, path: Path) -> Any:
        """Return a function, a class, a module or another object as code gets it; that it is there is a guard."""
        self.findings.met_mock |= is_mock(value) or (type(path[1]) is types.ModuleType and is_put_in(value))
        seen = self._instances.seen(value, path)
        if seen is not value or (isinstance(value, AS_THEY_ARE) and self.findings.reads.get(path, ABSENT) is value):
            return seen
        stored_into = path.name in self.stored.into
        if stored_into and not isinstance(value, (type, types.ModuleType)) and not is_storable(value):
            self.refuse(*self.stored.into[path.name][:2])
        if is_user_function(value):  # whose code may be the first to store them
            self.stored.names.update(*map(stored_attributes, all_code(value.__code__)))
        if str(type(value).__module__).startswith("scipy.") and (parts := parts_of(value)):
            return self._of_parts(value, parts, path)
        reason = why_not(value, path.name, self.stored.through_names)
        if reason is not None:
            note_held(value)
            site = reading(self._entered, path.name) if path[0] == "cell" and self._entered else None
            self.refuse(reason, site)
        elif path[0] != "attribute" or path[1] is not builtins:
            self.findings.reads[path] = value
        if is_plain_data(value) or is_user_error(value):
            self.of_class(value)
        seen = self.scope.stand_in(value, path)
        return self.stored.attributed(value, seen, path.name) if stored_into and is_storable(value) else seen

    def _of_parts(self, value: Any, parts: tuple[str, ...], path: Path) -> Any:
        """An interpolator or the like of SciPy's from outside, made of ops: its arrays are inputs, and it stays the one it is."""
        self.findings.reads[path] = value
        where = {name: Path(("attribute", value, name), words=f"{path.words}.{name}", parent=path) for name in parts}
        return object_of(value, {name: self.see(getattr(value, name), where[name]) for name in parts})

    def owner(self, method: types.MethodType) -> Any:
        """Return the stand-in for the object of a bound method, which may store its attributes."""
        made = self.instance(method.__self__)
        if watched(made) is not ABSENT:
            self.contexts.add(method.__func__.__code__)
        return made

    def _replaces(self, store: Store, value: Any) -> bool:
        """Whether a store puts something else in the place of an array that the code has read."""
        path = Path(("attribute", store.holder, store.key))
        return path in self.findings.arrays and self._tensors.get(path) is not value

    def is_handle(self, value: Any) -> bool:
        """Whether a value stands for an object or a container of the user's."""
        return self._instances.is_handle(value)

    def of_library(self, module: types.ModuleType, name: str, value: Any) -> None:
        """The code reads what a library has under a name: it must stand there still."""
        if self.failed is None and vars(module).get(name, ABSENT) is value:
            self.findings.reads[Path(("library", module, name), words=f"{module.__name__}.{name}")] = value

    def generator(self, value: Any, path: Path | None) -> Any:
        """Return the stand-in for a generator of random numbers: an input."""
        known = None if path is None else self.findings.arrays.get(path)
        if (known is None and self.generators.is_known(value)) or (known is not None and known[1] is not value):
            self.refuse("meets one generator of random numbers in two places")
            return value
        ir = Value(GENERATOR, "" if path is None else path.name) if known is None else known[0]
        if known is None:
            self.findings.graph.inputs.append(ir)
        if path is not None:
            self.findings.arrays[path] = (ir, value)
        return self.generators.handle(value, ir)

    def instance(self, value: Any) -> Any:
        """Return the handle of an object whose methods are called, or that is an argument; functions are in scope."""
        handle = self._instances.handle(value)
        return self.scope.stand_in(value) if handle is value and callable(value) else handle

    def partial(self, value: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """The function of a partial, and its arguments as code in the capture gets them."""
        return self._instances.partial(value)

    def plain(self, value: Any) -> Any:
        """The user's object that stands behind a result."""
        return self._instances.plain(value)

    def of_class(self, cls: type) -> None:
        """A class of plain data takes part: what it defines must stay."""
        self._instances.of_class(cls)

    def close(self) -> None:
        """Let go of all that is traced."""
        self.over = True
        self._tensors.clear()
        self.given = []

    def settle(self) -> None:
        """Do what waits for the end of the user's code: prints, stores, changes of instances."""
        if "messages" in vars(self):
            self.messages.end()
        self.stored.settle()
        self._instances.settle()

    def record(self) -> Record:
        """Return what the capture has found, once it is settled."""
        regions, (writes, news) = self.regions, self.written.final()
        return Record(
            graph=self.findings.graph,
            kept=self.kept,
            unrolled=self.findings.unrolled if regions is None else regions.unrolled(),
            reordered=regions is not None and regions.reordered,
            unsigned=regions is not None and regions.unsigned,
            writes=writes,
            news=news,
            written=self.written.before,
            stores=self.stored.places,
            held=self.stored.before,
            replaces=any(self._replaces(store, value) for store, value in self.stored.found),
            reads=self.findings.reads,
            guarded=self.stored.guarded(self.findings.reads),
            arrays={path: value for path, (_, value) in self.findings.arrays.items()},
            before=self.findings.before,
            generators=self.generators.before,
            twins=self.identities.twins if self.identities.compared else None,
            codes=self.findings.codes,
            compared=tuple(self.findings.compared),
            fixed=tuple(self.counted.fixed),
            guards_numbers=self.findings.guards_numbers,
            varied=self.numbers.outside or bool(self.numbers.places),
            varied_outside=self.numbers.outside,
        )
