"""Specialisations: from a captured graph to checked, runnable source, and the inputs that it serves."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....runtime.arrays import is_array, is_plain_array
from ....runtime.errors import AutogradError, GradientLossError, is_of_a_signal
from ....runtime.ir.graph import Call, Graph
from ....runtime.ir.opcodes import has_effects
from ....runtime.rules.control import GUARD
from ....tracer.core.dispatch import AFTER_ERROR
from ....tracer.core.graph import AccumulateGrad, reached_from
from ....tracer.core.site import Site, definition
from ....tracer.core.tensor_base import Operand
from ....tracer.core.thread_state import recording, transforming
from ...difference import LOOSE_COMPLEX, NO_SIGNS, difference
from ...trees import flatten_row, unflatten
from ...user_code.scope import Path, all_code
from ..analysis.effects import guards_first, stays
from ..analysis.lengths import input_axis
from ..capture.capture import Capture
from ..capture.containers import Containers
from ..capture.copies import with_copies
from ..capture.failure import Failure
from ..capture.generators import copies_of, is_generator, modules_of, muted
from ..capture.instructions import refused
from ..capture.numbers import NeededError, NumberNeededError
from ..capture.outside import is_constant, own_code
from ..capture.reach import reaches_control_flow, reaches_sizes
from ..capture.record import Record
from ..capture.sizes import Shape, Size
from ..capture.stored import Store, holds_otherwise, snapshots
from ..capture.written import OverlapError, left_otherwise, reads_other_strides, returned, writes_unasked
from ..frontend.attempts import GivenUp, LoopRejected
from ..frontend.user_names import Names, function_name
from ..schedule.signature import Signature, dataclasses_in, printable, purpose_of, with_instances
from . import cache
from .arms import Ran
from .cache_key import cache_key
from .free_sizes import Families, Outline, lengths_of, outline_of, with_lengths_guarded
from .generated import Specialisation, coarsest, computes_complex, optimise
from .guards.guards import ANY_INT, GuardPlan
from .guards.inputs import Inputs, bits_of, untransformed

_LEARNT = 64  # lengths that follow from values, which an entry learns in any case

__all__ = ["Entry", "Inputs", "Specialisation", "Unwritten", "captured", "difference", "unwrapped"]


class Entry:
    """A signature and the specialisation that serves it."""

    __slots__ = (
        "call", "check", "extras", "function", "hits", "left_out", "lengths", "members", "outside_now", "plan",
        "specialisation", "stores",
    )  # fmt: skip

    def __init__(
        self,
        plan: GuardPlan,
        specialisation: Specialisation,
        extras: list[tuple[str, Path]],
        members: tuple[Entry, ...] = (),
        stores: tuple[Store, ...] = (),
        lengths: set[Any] | None = None,
    ) -> None:
        self.stores = stores  # where the last result of the source is stored, a tuple of values
        self.lengths = lengths  # that follow from values, of the calls that were checked; None where none do
        self.left_out = 0  # calls of other lengths that ran eagerly
        self.function = specialisation.function if lengths is None else specialisation.with_lengths(lengths)
        self.members = members  # of a tree: those of its paths
        self.plan = plan
        self.check = plan.check
        self.hits = 0
        self.specialisation = specialisation
        self.extras = extras
        self.outside_now = plan.reader(path for _, path in extras)
        self.call = self._call if extras or stores or specialisation.rebuild is not None else self.function

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        result = self._run(self.function, args, kwargs)
        if self.stores and result is not NotImplemented:
            result, values = result
            for store, value in zip(self.stores, values, strict=True):
                store.do(value)
        return result

    def parted(self, found: Any) -> tuple[Any, Any]:
        """Take apart the outputs of one run of the source: the result of the function, and the values that a call would store."""
        return found if self.stores else (found, ())

    def _run(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], outside: Any = None
    ) -> Any:
        specialisation = self.specialisation
        if outside is None and not kwargs and function is specialisation.function:
            result = specialisation.by_position()(*args, *self.outside_now())
        else:
            read = self.left_outside() if outside is None else outside
            result = function(*args, **kwargs, **{name: read[name] for name, _ in self.extras})
        if specialisation.rebuild is None or result is NotImplemented:
            return result
        return unflatten(specialisation.rebuild, result)

    def outside(self) -> dict[str, Any]:
        """Copies of what stands now where the function reads."""
        graphs = [one.raw for one in getattr(self.specialisation, "given", [self.specialisation])]
        return with_copies(copies_of(self.left_outside() | modules_of(*graphs)))

    def reads_as_at_first(self) -> bool:
        """Whether the arrays outside hold what they held when the source was checked first."""
        return self.specialisation.outside in (None, bytes_of(self.left_outside()))

    def left_outside(self) -> dict[str, Any]:
        """Return the values that the function reads from outside, as they are now."""
        return dict(zip([name for name, _ in self.extras], self.outside_now(), strict=True))

    def tried(
        self,
        copies: tuple[list[Any], dict[str, Any]],
        ran: Ran | None = None,
        outside: dict[str, Any] | None = None,
    ) -> Any:
        """Run the source on copies of inputs, without warnings; an exception that it raises is the result.

        `ran` gets the arms and the path of a tree that the call takes. `outside` is what `self.outside()` gave.
        """
        outside = self.outside() if outside is None else outside
        function = muted(self.specialisation.probe(Ran() if ran is None else ran, self.lengths), outside)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self._run(function, copies[0], copies[1].copy(), outside)
            except Exception as error:
                if is_of_a_signal(error):
                    raise
                return NotImplemented if self.lengths and self.specialisation.raised_early(error) else error

    def learn(self, other: Entry) -> None:
        """Serve the lengths that follow from values of another entry, with the same source and assumptions."""
        if self.lengths is not None and other.lengths is not None:
            self.lengths |= other.lengths

    def leaves_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call that is not served has lengths that no call had yet, and to learn them would not pay.

        To learn them costs as much as ten eager calls, so that a few more are learnt only as there are hits.
        """
        if self.lengths is None or len(self.lengths) < _LEARNT + self.hits // 4:
            return False
        asked = _Asked(self.lengths)
        try:
            self._run(self.specialisation.with_lengths(asked), args, kwargs)
        except Exception as error:
            if is_of_a_signal(error):
                raise
            self.left_out += 1  # it raised before it was asked
            return True
        self.left_out += asked.new
        return asked.new

    def fits(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether all that the specialisation assumes holds."""
        try:
            return self.check(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, LookupError):
            return False


class _Asked(set[Any]):
    """Lengths that remember whether they were asked for others."""

    new = False

    def __contains__(self, lengths: object) -> bool:
        self.new |= not super().__contains__(lengths)
        return not self.new


class Made(NamedTuple):
    """A fresh specialisation that has not been checked yet."""

    entry: Entry
    copies: tuple[list[Any], dict[str, Any]]
    number_guards: bool
    number_site: Site | None
    reads: dict[Path, Any]  # what was read from outside, functions among it
    key: str | None  # of the source in the cache
    outline: Outline | None  # what it has in common with other sizes
    shared: bool  # whether its source is that of other sizes
    varied: bool = False  # whether numbers that change became inputs
    inputs: Any = None  # the arguments themselves
    outside: Any = None  # what stood outside before the run
    kept: bool = False  # whether loops or branches were kept
    held: Any = None  # what containers held before, into which the run has stored
    stood: Any = None  # what stood outside before the run, itself

    @property
    def before(self) -> Inputs:
        """The arguments as they were before the run."""
        return Inputs(self.inputs.function, tuple(self.copies[0]), self.copies[1], self.inputs._varying)

    def first_check(self, expected: Any) -> str | None:
        """Run the source on copies of the inputs; what differs from the eager result, or None. What passes is cached."""
        problem = self._problem(expected)
        if self.key is not None:
            if problem is not None:
                cache.forget(self.key)
            elif self.entry.specialisation._graph is not None:  # the source was written just now
                cache.store(self.key, self.entry.specialisation.text)
        return problem

    def _problem(self, expected: Any) -> str | None:
        copies, outside, ran = self.before.copied(), with_copies(self.outside), Ran()
        found = self.entry.tried(copies, ran, outside)
        if isinstance(found, Exception):
            return f"the generated source raised {type(found).__name__}: {found}"
        if found is NotImplemented:
            return "a guard failed on the inputs of the capture"
        entry, eps = self.entry, self.entry.specialisation.eps
        problem = writes_unasked(entry, (self.copies, self.outside), (copies, outside))
        found, values = entry.parted(found)
        problem = (
            problem
            or difference(found, expected, eps)
            or left_otherwise(entry, copies, outside, self.inputs, self.stood)
        )
        problem = problem or holds_otherwise(entry.stores, values, self.held, eps)
        if problem is None:
            entry.specialisation.trust_arms(ran)
        return problem


class Unwritten(NamedTuple):
    """Why a captured function has no source: an error of ours; and whether loops or branches were kept."""

    error: Exception
    kept: bool


def captured(
    function: Any, inputs: Inputs, optimised: Callable[[Graph], Graph] | None = None, varying: Collection[Any] = (),
    families: Families | None = None, keeps: bool = True,
) -> tuple[Any, Made | Failure | Unwritten | None]:  # fmt: skip
    """Run `function` once, eagerly, under a recorder; its result, and the specialisation or why there is none.

    Where `families` knows the source of other sizes to serve this one, it is taken, and nothing is written. Where loops
    and branches are kept, the run gives no result, and the function runs by itself once more; but with `keeps=False`
    all loops are unrolled.
    """
    refusal = _refused(untransformed(function))
    if refusal is not None:
        return function(*inputs.args, **inputs.kwargs), refusal
    unrolled: tuple[str, ...] = ()
    sizes = reaches_sizes(untransformed(function))
    if keeps and reaches_control_flow(untransformed(function)):
        joins, runs_through = True, False
        while True:
            first = Capture(varying, keeps=True, sizes=sizes, joins=joins, runs_through=runs_through)
            try:
                return _captured(function, inputs, optimised, varying, families, first)
            except (GivenUp, GradientLossError) as error:
                return _uncaptured(function, inputs, first, error)
            except LoopRejected as why:
                first.generators.take_back()
                if not runs_through and why.reason.startswith(AFTER_ERROR):  # perhaps because of the values of one trip
                    runs_through = True
                    continue
                if first.regions is not None and first.regions.joined:
                    joins = False
                    continue
                if first.numbers.places:
                    raise NeededError(first.numbers.bounds or first.numbers.places) from None
                where = f"{why.site}: " if why.site else ""
                unrolled = (*(first.regions.unrolled() if first.regions else ()), f"{where}it {why.reason}")
                break
    capture = Capture(varying, sizes=sizes)
    capture.findings.unrolled = unrolled
    try:
        return _captured(function, inputs, optimised, varying, families, capture)
    except (GivenUp, GradientLossError) as error:
        return _uncaptured(function, inputs, capture, error)
    finally:
        capture.close()


def _uncaptured(function: Any, inputs: Inputs, capture: Capture, error: BaseException) -> tuple[Any, Failure]:
    """The result of the function alone, where its capture was given up, or lost a gradient: it raises itself if it does, too."""
    if capture.changed:
        raise error
    capture.generators.take_back()
    result = function(*inputs.args, **inputs.kwargs)
    site = capture.failed.site if capture.failed is not None else definition(function)
    why = "takes a number out of a traced value" if capture.failed is None else capture.failed.reason
    return result, Failure(why, site)


def _refused(function: Any) -> Failure | None:
    """Return the failure of a function that does what no capture could notice, told before it runs."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return None
    parts = all_code(code)
    into: dict[str, Failure] = {}  # of attributes the capture decides, which knows whose they are
    method = isinstance(function, types.MethodType)
    found = (refused(part, part is code, method and part is code, code.co_freevars, into) for part in parts)
    return next((why for why in found if why is not None), None)


def _entered(function: Any, inputs: Inputs, capture: Capture) -> tuple[list[Any], list[Any], list[Any]]:
    """Make the arguments inputs of a capture: the Tensors of arrays, what stands for each leaf in the graph, the arguments."""
    owned: list[Any] = []
    tensors: list[Any] = []
    static: list[Any] = []
    for k, leaf in enumerate(inputs.leaves):
        if inputs.is_input(k):
            free = k in inputs.free
            tensor = capture.numbers.enter(leaf, inputs.place(k)) if free else capture.new_input(leaf, "")
            if is_plain_array(leaf):
                tensor._caller = leaf
                owned.append(tensor)
            tensors.append(tensor)
            static.append(tensor._ir)
        elif is_generator(leaf):
            tensors.append(capture.generator(leaf, None))
            static.append(capture.findings.graph.inputs[-1])
        else:
            tensors.append(capture.instance(leaf))
            static.append(leaf)
    capture.given = owned
    values = list(unflatten(inputs.structure, tensors))
    for value in values:
        for cls in dataclasses_in(value):
            reason = own_code(cls)
            if reason is not None:
                capture.refuse(reason, definition(function))
            capture.of_class(cls)
    return owned, static, values


def _captured(
    function: Any, inputs: Inputs, optimised: Callable[[Graph], Graph] | None, varying: Collection[Any],
    families: Families | None, capture: Capture,
) -> tuple[Any, Made | Failure | Unwritten | None]:  # fmt: skip
    copies = inputs.copied()
    owned, static, values = _entered(function, inputs, capture)
    n = len(inputs.args)
    held = inputs.containers(values)
    containers = Containers(*held) if held[0] else None
    with recording(capture), transforming(owned, gradient=False):
        try:
            raw = capture.scope.rebuild(function)(*values[:n], **dict(zip(inputs.kwargs, values[n:], strict=True)))
        except LoopRejected:
            capture.abandoned = True
            raise
        except (GivenUp, GradientLossError):
            capture.abandoned = True  # the function runs once more, without the capture
            raise
        except Exception as error:
            capture.stored.raised = True
            if is_of_a_signal(error):
                raise
            if capture.numbers.places and capture.numbers.may_run_again():
                capture.numbers.need(capture.numbers.places, "raises an error")
            if capture.kept:
                capture.abandoned = True
                raise LoopRejected(f"raises {type(error).__name__} behind a loop: {error}") from error
            if _is_of_the_capture(error, capture):
                capture.abandoned = True
                raise GivenUp from error
            if capture.numbers.outside and capture.failed is None:  # nothing happened yet that the user can see
                capture.abandoned = True
                capture.generators.take_back()
                raise NumberNeededError from error
            raise
        except OverlapError:
            capture.messages.pending.clear()  # text alone is nothing that happened
            capture.settle()
            if capture.failed is None:
                raise
            capture.abandoned = False  # what happened to attributes is not to happen twice
            raise AutogradError(
                "the function writes into an argument that shares memory with another argument; pass a copy of one of them "
                "(x.copy())"
            ) from None
        else:
            again = bool(capture.numbers.places) and capture.numbers.may_run_again()
            capture.abandoned |= again
            if capture.numbers.needed:  # which the code has caught
                raise NeededError(capture.numbers.needed)
            if capture.given_up:
                capture.abandoned = True
                raise GivenUp
        finally:
            capture.settle()
            if containers is not None and not (capture.abandoned or capture.kept):
                containers.give_back(lambda leaf: _given(capture, leaf, function))
        capture.returned = True
        count = len(flatten_row(raw)[0])
        if capture.stored.found:
            raw = (raw, tuple([value for _, value in capture.stored.found]))
        leaves, structure = flatten_row(raw)
        if any(type(leaf) is Shape for leaf in leaves):
            raw = unflatten(structure, [tuple(leaf) if type(leaf) is Shape else leaf for leaf in leaves])
            leaves, structure = flatten_row(raw)
        outputs = [_output(capture, leaf, "returns" if k < count else "stores") for k, leaf in enumerate(leaves)]
        if capture.kept and capture.regions is not None and any(map(capture.regions.is_loose, outputs)):
            capture.abandoned = True
            raise LoopRejected("gives a number that is Python's or NumPy's, as its loop goes")
    capture.stored.before = snapshots(capture.stored.places)
    if capture.kept or again:
        capture.generators.take_back()
        result = function(*inputs.args, **inputs.kwargs)
    else:
        result = unflatten(structure, [_given(capture, leaf, function) for leaf in leaves])
        if capture.stored.found:
            result, values = result
            capture.stored.finish(values)
    if capture.failed is not None:
        return result, capture.failed._replace(passing=capture.findings.met_mock)
    if containers is not None and containers.changed():
        return result, Failure("changes a list or dict that is an argument", definition(function))
    if capture.postponed:
        return result, None
    try:
        return result, _made(
            function, inputs, capture.record(), outputs, (static, structure, raw), copies, optimised, families
        )
    except Exception as error:  # of ours: the user's run is over
        if is_of_a_signal(error):
            raise
        return result, Unwritten(error, capture.kept)


def _is_of_the_capture(error: Exception, capture: Capture) -> bool:
    """Whether an error may be one that the function itself does not meet; it tells when it runs once more, where it can."""
    if capture.changed or capture.kept or capture.numbers.places:
        return False
    early = capture.failed is None and isinstance(error, (TypeError, AttributeError, LookupError))
    return early or "Tensor" in str(error)


def _made(
    function: Callable[..., Any], inputs: Inputs, record: Record, outputs: list[Any], trees: tuple[list[Any], Any, Any],
    copies: Any, optimised: Callable[[Graph], Graph] | None, families: Families | None,
) -> Made | Failure:  # fmt: skip
    """The specialisation that a finished capture gives."""
    static, structure, raw = trees
    n = len(inputs.args)
    writes, stores = record.writes, record.stores
    if reads_other_strides(record.graph, writes, record.news):
        why = "writes into an array with gaps, and reads it again in another way than element by element"
        return Failure(why, definition(function))
    others = [call for call in record.graph.calls if not call.op.effect and call.op is not GUARD]
    if (writes or stores) and has_effects(record.graph) and any(map(stays, others)):
        what = "writes into an array" if writes else "stores the attributes of an object"
        return Failure(f"{what}, draws or prints, and calls what can raise", definition(function))
    if writes and record.replaces:
        return Failure(
            "writes into an array, and stores another in the place of one that it reads", definition(function)
        )
    graph = guards_first(Graph(record.graph.inputs, record.graph.calls, [*outputs, *record.news]))
    if isinstance(graph, Call):
        return Failure(
            "decides by a value that comes after an effect, a draw or a message, which cannot be taken back", graph.site
        )
    graph = with_lengths_guarded(graph, record.fixed, families is not None)
    if record.fixed:
        from ..passes.fixed_lengths import with_lengths  # most functions fix none

        graph = with_lengths(graph, {f.axis[0] for f in record.fixed if f.axis[1] == 0})
    literal = unflatten(structure, range(len(outputs))) if outputs else raw
    trees_given = list(unflatten(inputs.structure, static))
    literal = with_instances(literal, inputs.names, trees_given)
    written = printable(literal)
    names = Names()
    arguments = [names.parameter(name) for name in inputs.names]
    extras = [(names.new(path.name), path) for path in record.arrays]
    if arguments != inputs.names:
        return Failure(
            f"has parameters whose names its source needs for others: {', '.join(inputs.names)}", definition(function)
        )
    signature = Signature(
        arguments, n, trees_given, [name for name, _ in extras],
        literal if written else tuple(range(len(outputs))),
    )  # fmt: skip
    signature.writes = writes
    fixed = [(found, f) for f in record.fixed if (found := input_axis(record.graph, *f.axis)) is not None]
    for (v, axis), _ in fixed:
        signature.fixed[v] = signature.fixed.get(v, frozenset()) | {axis}
    signature.purpose = purpose_of(function, definition(function))
    signature.stores = tuple([store.words for store in stores])
    name = function_name(function)
    recorded, rebuild = graph.copy(), None if written else structure
    outline = None if families is None or record.varied_outside else outline_of(recorded, signature, name, rebuild)
    specialisation = None if families is None else families.serving(outline)
    shared = specialisation is not None
    if specialisation is None:
        digest = None if record.varied else Inputs(function, tuple(copies[0]), copies[1]).digest()
        specialisation = _specialisation(graph, recorded, signature, name, rebuild, digest, optimised)
    specialisation.unrolled = record.unrolled
    if record.reordered or (LOOSE_COMPLEX and computes_complex(recorded)):
        specialisation.eps = coarsest(recorded)
    elif record.unsigned:
        specialisation.eps = NO_SIGNS
    plan = _plan(function, inputs, record)
    plan.fixed = tuple([(signature.name_of(v), axis, v.type.shape[axis], f) for (v, axis), f in fixed])
    lengths = lengths_of(recorded)
    entry = Entry(plan, specialisation, extras, (), stores, None if lengths is None else {lengths})
    site = next((c.site for c in recorded.calls if c.op is GUARD and c.args[1] != "bool"), None)
    outside = _outside(record, graph, extras)
    if not shared:
        specialisation.outside = bytes_of(outside)
    return Made(
        entry, copies, record.guards_numbers, site, record.reads, None if shared else specialisation.key, outline, shared,
        record.varied, inputs, outside,
        record.kept, record.held, {name: record.arrays[path] for name, path in extras},
    )  # fmt: skip


def _specialisation(
    graph: Graph, recorded: Graph, signature: Signature, name: str, rebuild: Any, digest: int | None,
    optimised: Callable[[Graph], Graph] | None,
) -> Specialisation:  # fmt: skip
    """Return the source of a graph as a function: the disk cache's, or what passes, schedule and target make of it now."""
    variant = "" if optimised is None else getattr(optimised, "key", None)  # None: the source is not to be shared
    key = None if variant is None or cache.folder() is None else cache_key(graph, signature, name, variant)
    text, final = None if key is None else cache.load(key), None
    if text is None:
        final = (optimised or optimise)(graph)
        text = emit(final, signature, name, recorded, getattr(optimised, "steps", None))
        show = getattr(optimised, "show_schedule", None)
        if show is not None:
            show(final, signature, name)
    return Specialisation(text, final, recorded, signature, name, rebuild, digest, optimised, key)


def _plan(function: Callable[..., Any], inputs: Inputs, record: Record) -> GuardPlan:
    """Return the guards of a capture: what it assumes of its arguments and of what it reads from outside."""
    arrays = {path: ANY_INT if type(value) is int else value for path, value in record.arrays.items()}
    plan = GuardPlan(
        inputs.names, len(inputs.args), inputs.assumed(), record.guarded, arrays, record.codes, definition(function),
        record.written, record.twins,
    )  # fmt: skip
    plan.compared = record.compared
    plan.free = inputs.free
    return plan


def _outside(record: Record, graph: Graph, extras: list[tuple[str, Path]]) -> dict[str, Any]:
    """Return copies of the arrays and generators read from outside, modules' generators too, as they were before the run."""
    before: dict[Any, Any] = {**record.generators}
    now = {name: record.before.get(path, record.arrays[path]) for name, path in extras}
    return {k: before.get(id(v), v) for k, v in now.items()} | {name: before[name] for name in modules_of(graph)}


def bytes_of(values: dict[str, Any]) -> int:
    """A number that tells other arrays apart from these."""
    return hash(tuple([bits_of(v) for v in values.values() if is_array(v)]))


def emit(graph: Graph, signature: Signature, name: str, captured: Graph, steps: Collection[str] | None = None) -> str:
    """The source of a graph; what prints stands on gast, which is slow to load."""
    from ..python.emit import emit

    return emit(graph, signature, name, captured, steps)


def _output(capture: Capture, leaf: Any, does: str) -> Any:
    """A result, or what the function stores, as it stands in the graph."""
    if isinstance(leaf, Operand):
        place = capture.written.place_of(leaf)
        if place is not None and capture.written.bases[place]._ir is getattr(leaf, "_ir", None):
            return capture.written.inputs[place]  # the array itself
        if place is not None or capture.written.shows(leaf):
            capture.refuse(f"{does} a view of an array that it writes into")
        return capture.operand(leaf)
    if not is_constant(leaf) and type(leaf) is not Size:
        capture.refuse(f"{does} a {type(leaf).__name__} that it did not compute from its arguments")
        return None
    return capture.operand(leaf)


def _given(capture: Capture, leaf: Any, function: Any) -> Any:
    """A result of the captured run as the caller gets it; what follows from a leaf outside keeps its history, as in eager."""
    outside: list[AccumulateGrad] = []
    if capture.failed is not None and isinstance(leaf, Operand) and leaf.requires_grad:
        outside = reached_from([leaf._node]).outside
    transformed = hasattr(type(function), "__gradscribe_transform__")  # it gives Tensors where some stood there before
    if any(node.ir is None and not (transformed and node.seq > capture.began) for node in outside):
        return leaf
    return unwrapped(capture.plain(returned(capture.written, leaf)))


def unwrapped(leaf: Any) -> Any:
    """A result as it leaves: the caller's own array where that was returned."""
    if not isinstance(leaf, Operand):
        return int(leaf) if type(leaf) is not bool and isinstance(leaf, int) else leaf
    caller = getattr(leaf, "_caller", None)
    return leaf._value if caller is None else unwrapped(caller)
