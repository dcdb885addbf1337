"""Outlining: what a helper of the user's computes in three calls or more is a function of the text, and so is its VJP.

Each call of the graph knows by which calls of the user's code it was reached. Where the same helper was entered several times,
and its calls are the same but for the values that they read, they become the body of one function; what is read from outside
are its parameters, running cotangents among them, so that all is added in the order that it had.
"""

from __future__ import annotations

import heapq
import itertools
import operator
import types
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ....runtime.ir.graph import Call, Graph, Value, map_values, prefix_of, primal_of, values_in
from ....runtime.ir.known_ops import NEGATIVE, TRANSPOSE
from ....runtime.ir.opcodes import (
    SCAN,
    STACK,
    Function,
    all_calls,
    is_effect,
    is_region,
    regions_of,
    with_regions,
)
from ....runtime.memory import NEW
from ....runtime.ops import Kind, Op
from ....runtime.registry import require
from ....runtime.result_types import UNKNOWN
from ....runtime.rules.indexing import add_place, index_add
from ....tracer.core.site import Site
from ..analysis.memory import shares_with
from ..frontend.user_names import Names, is_returned, name_values, names_of_operands, noun_of
from .rewrite import is_number, key_of

__all__ = ["outlining"]

_ZEROS, _ADD_PLACE, _INDEX_ADD, _ADD, _SUBTRACT = map(require, (np.zeros, add_place, index_add, np.add, np.subtract))
_ADDING = (_ADD, _SUBTRACT, _INDEX_ADD)
_CALLS = 8  # of which a function consists at least
_FORMS = {TRANSPOSE: "{}_T", NEGATIVE: "minus_{}"}
_STEPS = 20  # so many parts of a sum are looked through for its name
_SHOWN = 0.7  # the part of its calls whose results it gives at most
_RESULTS = 8  # which it gives at most, and half of what it takes
_TIMES = 3  # how often it is called at least
_ALIKE = 0.7  # the part of the calls that is the same where two runs of a helper are of one function


def outlining(graph: Graph) -> Graph:
    """Return the graph in which what several calls of a helper compute is called as a function."""
    spread = _with_zeros(graph)
    job = _Outlining(spread)
    for runs in _runs_by_helper(spread):
        job.helper(runs)
    return _rebuilt(spread, job) if job.found else graph


class _Run(NamedTuple):
    """The calls, in one block, that one run of a helper made; either those of the function or those of its VJP."""

    block: Graph
    code: types.CodeType
    callers: tuple[Site, ...]  # the calls of the user's that led there, the nearest first
    calls: list[Call]


class _Group(NamedTuple):
    """The calls of a run that a call of a function takes the place of."""

    calls: list[Call]
    call: Call


def _chain(call: Call) -> tuple[Site, ...]:
    """The site of a call, and those of the calls of the user's that led there."""
    sites: tuple[Site, ...] = call.outs[0].sites if call.outs else ()
    return sites or (() if call.site is None else (call.site, *getattr(call.site, "calls", ())))


def _is_plain(call: Call) -> bool:
    """Whether a call may stand in a function: it has no effect and holds no region."""
    if not call.outs or is_region(call) or is_effect(call) or call.op.n_out is None:
        return False
    return all(v.type.kind in ("array", "scalar", "python") and v.type.kind != STACK for v in call.outs)


def _blocks(graph: Graph) -> Iterator[Graph]:
    yield graph
    for call in graph.calls:
        for region in regions_of(call):
            yield from _blocks(region)


def _runs_by_helper(graph: Graph) -> list[list[_Run]]:
    """The runs of each helper, in both directions, those of the outermost helpers first."""
    found: dict[Any, dict[Any, _Run]] = {}
    depths: dict[Any, int] = {}
    barred = {id(site.code) for call in all_calls(graph) if call.outs and not _is_plain(call) for site in _chain(call)}
    for block in _blocks(graph):
        for call in filter(_is_plain, block.calls):
            chain = _chain(call)
            for depth in range(len(chain) - 1):
                code, callers = chain[depth].code, chain[depth + 1 :]
                key = (id(code), bool(call.backward))
                runs = found.setdefault(key, {})
                run = runs.setdefault((id(block), *map(_spot, callers)), _Run(block, code, callers, []))
                run.calls.append(call)
                depths[key] = min(depths.get(key, len(callers)), len(callers))
    order = sorted(found, key=lambda key: (depths[key], key[1]))
    return [list(found[key].values()) for key in order if key[0] not in barred and _is_named(found[key])]


def _spot(site: Site) -> tuple[int, int]:
    """A site by identity: to hash a code object takes as long as it has instructions."""
    return (id(site.code), site.offset)


def _is_named(runs: dict[Any, _Run]) -> bool:
    return next(iter(runs.values())).code.co_name.isidentifier()


def _variables(code: types.CodeType) -> Iterator[str]:
    """The variables of a function, but for the functions that it defines."""
    defined = {part.co_name for part in code.co_consts if isinstance(part, types.CodeType)}
    return (name for name in (*code.co_varnames, *code.co_cellvars) if name not in defined)


def _label(call: Call, callers: int) -> Any:
    """What two calls have in common that are one in a function: all but the values that they read, and who called it."""
    args = key_of(map_values(call.args, lambda v: ("value", v.type)))
    again = bool(call.backward and call.outs[0].sites)  # a call of the forward part, which the backward part repeats
    return (call.op, args, tuple([v.type for v in call.outs]), call.quiet, again, _place_within(call, callers))


def _place_within(call: Call, callers: int) -> Any:
    """Where a call stands in a helper: its site, and the calls of the user's within the helper that led there."""
    chain = _chain(call)
    return tuple(map(_spot, chain[: len(chain) - callers]))


def _are_alike(one: Collection[Any], other: Collection[Any]) -> bool:
    return len({*one} & {*other}) >= max(_CALLS, _ALIKE * max(len(one), len(other)))


class _Outlining:
    """The functions that were found, and what they take the place of."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.taken: set[Call] = set()
        self.found: dict[int, list[_Group]] = {}  # by the id of a block
        self.users: dict[Value, list[Call | None]] = {}  # None: it is given by the block
        self.labels: dict[Any, int] = {}
        self.forward: set[Value] = set()  # what the helpers read and make
        self.helpers: set[int] = set()  # the ids of their code objects
        self.anew: dict[Value, Value] = {}  # results of calls of functions, in place of others
        self.makers = {v: call for call in all_calls(graph) for v in call.outs}
        self.origins: dict[Value, Value] = {}  # what the inputs of regions are that a region reads as they are
        for call in filter(is_region, all_calls(graph)):
            outside = call.args[3] if call.op is SCAN else call.args[2]
            for region in regions_of(call) if outside else ():
                pairs = zip(region.inputs[-len(outside) :], outside, strict=True)
                self.origins.update({v: given for v, given in pairs if isinstance(given, Value) and v is not given})
        self.order: dict[Value, int] = {}
        self.names: dict[Value, str] = {}
        self.words = Names()
        blocks = list(_blocks(graph))
        self.places = {call: k for block in blocks for k, call in enumerate(block.calls)}  # in its block
        for block in blocks:
            for v in (*block.inputs, *[v for call in block.calls for v in call.outs]):
                self.order.setdefault(v, len(self.order))
            for call in block.calls:
                for v in call.reads:
                    self.users.setdefault(v, []).append(call)
            for v in values_in(block.outputs):
                self.users.setdefault(v, []).append(None)
            self.names.update({v: v.name for v in block.inputs if v.name is not None and v.name.isidentifier()})
            self.names.update(name_values(block, dict(self.names)))
        codes = {id(site.code): site.code for block in blocks for call in block.calls for site in _chain(call)}
        for taken in sorted({name for code in codes.values() for name in _variables(code)}):
            if self.words.is_free(taken):
                self.words.new(taken)
        for block in blocks:  # what a helper calls its parameters
            for call in block.calls:
                if call.site is not None and (not call.backward or call.outs[0].sites) and not is_region(call):
                    for v, name in zip(call.args, names_of_operands(call.site), strict=False):
                        if isinstance(v, Value) and name is not None:
                            self.names.setdefault(v, name)
        for v, given in self.origins.items():
            if given in self.names:
                self.names.setdefault(v, self.names[given])

    def helper(self, runs: list[_Run]) -> None:
        """Make functions of the runs of one helper in one direction; a VJP is one where the helper is."""
        if runs[0].calls[0].backward and id(runs[0].code) not in self.helpers:
            return
        times = Counter((*_spot(call.site), call.op.path) for run in runs for call in run.calls)
        if max(times.values()) < _TIMES:
            return
        parts = [part for run in runs for part in self._parts(run)]
        left = [(run, labelled) for run, labelled in parts if len(labelled) >= _CALLS]
        while len(left) >= _TIMES:
            first = left[0][1].keys()
            alike = [pair for pair in left if _are_alike(first, pair[1].keys())]
            known = set(map(id, alike))
            left = [pair for pair in left if id(pair) not in known]
            if len(alike) >= _TIMES:
                self._outline(*zip(*alike, strict=True))

    def _parts(self, run: _Run) -> list[tuple[_Run, dict[Any, Call]]]:
        """A run with its calls by their labels; in a loop that was unrolled the runs by one call of the user's, each."""
        parts: list[dict[Call, int]] = [{}]
        seen: dict[int, int] = {}  # where a label was met, among the places
        count, last = 0, None
        for call in run.calls:
            if call in self.taken:
                continue
            label, place = _label(call, len(run.callers)), _place_within(call, len(run.callers))
            number = self.labels.setdefault(label, len(self.labels))
            count += place != last
            if seen.get(number, count) != count:  # the helper begins again
                parts.append({})
                seen = {}
            seen[number], last = count, place
            parts[-1][call] = number
        return [(run, self._labelled(run, part)) for part in parts]

    def _labelled(self, run: _Run, labels: dict[Call, int]) -> dict[Any, Call]:
        """Calls by their labels, by which of them read their results where, and by their order where all that is the same.

        So the transposes of two arrays are told apart, whatever their lengths. What is added to the cotangent of a value from
        outside counts for itself: the first run of a VJP has nothing to add to.
        """
        makers = {v: call for call in labels for v in call.outs}
        sums = {call for call in labels if self._goes_on(call, makers, run)}
        users: dict[Call, list[tuple[int, int]]] = {call: [] for call in labels}
        for call, label in labels.items():
            for place, v in enumerate(call.reads if call not in sums else ()):
                if v in makers:
                    users[makers[v]].append((label, place))
        found: dict[Any, Call] = {}
        times: dict[Any, int] = {}
        for call, label in labels.items():
            key = (label, call in sums, *sorted(users[call]))
            times[key] = times.get(key, -1) + 1
            found[key, times[key]] = call
        return found

    def _goes_on(self, call: Call, makers: dict[Value, Call], run: _Run) -> bool:
        """Whether a call of a VJP adds to what other runs add to as well."""
        if not call.backward or call.op.base not in (_ADD, _SUBTRACT):
            return False
        primal = primal_of(self._total(call.outs[0]))
        inside = primal is not None and primal.sites[-len(run.callers) :] == run.callers
        return call.args[0] not in makers or (primal is not None and not inside)

    def _outline(self, runs: Sequence[_Run], labelled: Sequence[dict[Any, Call]]) -> None:
        """Make a function of runs that are alike."""
        labels = [label for label in labelled[0] if all(label in one for one in labelled[1:])]
        while True:
            kept = self._consistent(labels, labelled)
            kept = [label for label in kept if label not in self._reached_again(kept, labelled, runs)]
            if len(kept) == len(labels):
                break
            labels = kept
        if len(labels) < max(_CALLS, _ALIKE * max(map(len, labelled))):
            return
        groups = [[one[label] for label in labels] for one in labelled]
        params: dict[tuple[Value, ...], None] = {}
        for calls in zip(*groups, strict=True):
            for values in zip(*[call.reads for call in calls], strict=True):
                if not any(v in call.outs for v, group in zip(values, groups, strict=True) for call in group):
                    params[values] = None
        makers = {v: call for call in groups[0] for v in call.outs}
        outs = [
            values
            for calls in zip(*groups, strict=True)
            for values in zip(*[call.outs for call in calls], strict=True)
            if any(self._is_read_outside(v, group) for v, group in zip(values, groups, strict=True))
        ]
        if not outs or len(outs) > min(_SHOWN * len(labels), _RESULTS) or len(params) > 2 * _RESULTS:
            return
        outs.sort(key=lambda values: not is_returned(makers[values[0]].site))
        sums = {values: _sum_of(values[0], groups[0]) for values in params}
        given = sorted(
            params, key=lambda values: (sums[values] is not None, *self._rank(values, groups[0], runs[0].code))
        )
        op = self._function(groups, given, sums, outs, runs[0])
        if op is None:
            return
        running = {total: values for values, total in sums.items() if total is not None}
        for k, (run, group) in enumerate(zip(runs, groups, strict=True)):
            results = tuple([self._result(values, k, running.get(values[0], ())) for values in outs])
            made = Call(
                op, tuple([values[k] for values in given]), results,
                run.callers[0], group[0].backward, group[0].quiet,
            )  # fmt: skip
            self.found.setdefault(id(run.block), []).append(_Group(group, made))
            self.taken.update(group)
        self.helpers.add(id(runs[0].code))
        self.forward.update(v for group in groups for call in group for v in (*call.reads, *call.outs))

    def _result(self, values: tuple[Value, ...], k: int, before: tuple[Value, ...]) -> Value:
        """What the call in place of the run `k` gives: a sum that goes on is the cotangent of what it is at last.

        `before` are the sums that it goes on with, if it is one.
        """
        of = [v for v in values if primal_of(v) is not None] or [v for v in before if primal_of(v) is not None]
        if primal_of(values[k]) is not None or len({primal_of(v) for v in of}) != 1:
            return values[k]
        made = self.anew[values[k]] = Value(values[k].type, values[k].name)
        made.cotangent_of, made.sites = of[0].cotangent_of, values[k].sites
        return made

    def _consistent(self, labels: list[Any], labelled: Sequence[dict[Any, Call]]) -> list[Any]:
        """The labels of calls that read the same results of each other in each run."""
        makers = [{v: (label, j) for label in labels for j, v in enumerate(one[label].outs)} for one in labelled]
        found = []
        for label in labels:
            read = [[maker.get(v) for v in one[label].reads] for one, maker in zip(labelled, makers, strict=True)]
            if all(r == read[0] for r in read[1:]):
                found.append(label)
        return found

    def _reached_again(self, labels: list[Any], labelled: Sequence[dict[Any, Call]], runs: Sequence[_Run]) -> set[Any]:
        """The labels of calls that read what calls outside make of the results of the others."""
        found: set[Any] = set()
        for one, run in zip(labelled, runs, strict=True):
            within = {one[label]: label for label in labels}
            places = [self.places[call] for call in within]
            made: set[Value] = set()
            beyond: set[Value] = set()
            for call in run.block.calls[min(places, default=0) : max(places, default=0) + 1]:
                if call in within:
                    if not beyond.isdisjoint(call.reads):
                        found.add(within[call])
                    made.update(call.outs)
                elif not made.isdisjoint(call.reads) or not beyond.isdisjoint(call.reads):
                    beyond.update(call.outs)
        return found

    def _is_read_outside(self, v: Value, group: list[Call]) -> bool:
        return any(user is None or user not in group for user in self.users.get(v, ()))

    def _function(
        self, groups: list[list[Call]], params: list[tuple[Value, ...]], sums: dict[tuple[Value, ...], Value | None],
        outs: list[tuple[Value, ...]], run: _Run,
    ) -> Op | None:  # fmt: skip
        """The op that runs these calls; None where results could share memory that the caller does not see."""
        backward = bool(groups[0][0].backward)
        called: dict[Value, str | None] = {}
        for calls in zip(*groups, strict=True):
            for values in zip(*[call.outs for call in calls], strict=True):
                called[values[0]] = self._cotangent(values) if backward else None
        for values in outs if backward else ():
            if called[values[0]] is None:
                called[values[0]] = self._cotangent(list(map(self._total, values)))
        words, inputs = Names(), []
        anew: dict[Value, Value] = {}
        parameter: dict[tuple[Value, ...], Value] = {}  # by what each run reads: one run may read a value in two places
        for values in params:
            total = sums[values]
            wish = None if total is None else called[total]
            v = parameter[values] = Value(values[0].type, words.new(wish or self._parameter(values, groups[0])))
            inputs.append(v)
        for v, name in called.items():
            made = anew[v] = Value(v.type, name)
            made.sites = v.sites[: len(v.sites) - len(run.callers)]
        body = []
        for calls in zip(*groups, strict=True):
            read = zip(*[c.reads for c in calls], strict=True)
            reads = iter([parameter[values] if values in parameter else anew[values[0]] for values in read])
            c = calls[0]
            body.append(
                Call(c.op, _each_replaced(c.args, reads), tuple([anew[v] for v in c.outs]), c.site, c.backward, c.quiet)
            )
        graph = Graph(inputs, body, [anew[values[0]] for values in outs])
        shared = _shared_by_outputs(graph)
        if shared is None:
            return None
        name = run.code.co_name
        purpose = f"Compute `{name}`, {Site(run.code, 0, run.code.co_firstlineno)}."
        if backward:
            running = any(total is not None for total in sums.values())
            purpose = f"VJP of `{name}`{', added to the cotangents so far' * running}."
        return _op(graph, f"{name}_vjp" if backward else name, purpose, self.words, bool(shared))

    def _cotangent(self, values: Iterable[Value]) -> str | None:
        """What a cotangent is called in a function, by the name of what it belongs to."""
        primals = [(v, primal_of(v)) for v in values]
        known = {
            prefix_of(v) + self.names[primal] for v, primal in primals if primal is not None and primal in self.names
        }
        return known.pop() if len(known) == 1 else None

    def _total(self, v: Value) -> Value:
        """The cotangent that a value is a part of, if it is."""
        for _ in range(_STEPS):
            user = next((u for u in self.users.get(v, ()) if u is not None and u.op.base is _ADD and u.backward), None)
            if primal_of(v) is not None or user is None:
                break
            v = user.outs[0]
        return v

    def _parameter(self, values: tuple[Value, ...], calls: list[Call]) -> str:
        """The name of a parameter: what the user calls the value, or what it is; `d_out` for the cotangent of a result."""
        v = values[0]
        maker = self.makers.get(self.origins.get(v, v))
        if primal_of(v) is not None:
            return "d_out"
        known = {self.names.get(v) for v in values}
        name = known.pop() if len(known) == 1 else None
        for call in calls:
            if name is None and v in call.reads and not call.backward:
                operands = zip(call.args, names_of_operands(call.site), strict=False)
                name = next((name for a, name in operands if a is v and name is not None), None)
        seeds = calls[0].backward and v not in self.forward and (maker is None or not maker.backward)
        if name is None and maker is not None and not seeds and not any(map(self._is_cotangent, (v, *maker.reads))):
            of = next(map(self.names.get, maker.reads), None)
            form = _FORMS.get(maker.op.base)
            name = noun_of(maker) if of is None or form is None else form.format(of)
        return name or ("d_out" if calls[0].backward else "value")

    def _rank(self, values: tuple[Value, ...], calls: list[Call], code: types.CodeType) -> tuple[bool, int, int]:
        """What orders the parameters: those of the helper come first, as it has them, and cotangents last."""
        names = code.co_varnames[: code.co_argcount]
        name = self._parameter(values, calls)
        place = names.index(name) if name in names else len(names)
        return self._is_cotangent(values[0]) or name == "d_out", place, self.order[values[0]]

    def _is_cotangent(self, v: Value) -> bool:
        """Whether a value is a cotangent, or a part of one."""
        maker = self.makers.get(v)
        return primal_of(v) is not None or (
            maker is not None and bool(maker.backward) and any(map(self._is_cotangent, maker.reads))
        )


def _each_replaced(args: tuple[Any, ...], values: Iterator[Value]) -> tuple[Any, ...]:
    """Arguments with other values, one after the other, in the places of those that they read."""
    return tuple([map_values(a, lambda _: next(values)) for a in args])


def _sum_of(v: Value, calls: list[Call]) -> Value | None:
    """What a running cotangent becomes in these calls, by what is added to it; None for another value."""
    total = None
    if sum(call.reads.count(v) for call in calls) != 1:
        return None
    for call in calls:
        if call.backward and call.op.base in _ADDING and call.args[0] is v:
            total = v = call.outs[0]
    return total


def _shared_by_outputs(graph: Graph) -> set[Value] | None:
    """The inputs in whose memory outputs may lie; None where two outputs may share memory that no input has."""
    roots: dict[Value, set[Value]] = {v: {v} for v in graph.inputs}
    for call in graph.calls:
        shared = [v for v in shares_with(call) if not is_number(v)]
        for out in call.outs:
            roots[out] = set() if is_number(out) else set().union(*[roots[v] for v in shared]) or {out}
    inputs = set(graph.inputs)
    own = Counter(v for out in values_in(graph.outputs) for v in roots[out] - inputs)
    if any(count > 1 for count in own.values()):
        return None
    return {v for out in values_in(graph.outputs) for v in roots[out] & inputs}


def _op(graph: Graph, name: str, purpose: str, words: Names, shares: bool) -> Op:
    """The op that runs a graph."""
    path = words.new(name)
    function = Function(path, graph, purpose)
    return Op(
        function, ", ".join(function.parameters), Kind.opaque, path=path, n_out=len(graph.outputs),
        may_raise=any(call.op.may_raise for call in graph.calls), memory=None if shares else NEW, types=UNKNOWN,
    )  # fmt: skip


def _with_zeros(graph: Graph) -> Graph:
    """The graph in which zeros that one run of a VJP is added into, and another not, are made before it.

    So the running cotangent of what a helper reads is a parameter of its VJP, be it zeros or not.
    """
    added = {_place_of(call) for call in all_calls(graph) if call.op.base is _INDEX_ADD and _is_in_helper(call)}
    return _each_split(graph, added) if added else graph


def _each_split(graph: Graph, added: set[Any]) -> Graph:
    calls: list[Call] = []
    for call in graph.calls:
        regions = regions_of(call)
        parts = [_each_split(region, added) for region in regions]
        if any(a is not b for a, b in zip(parts, regions, strict=True)):
            call = with_regions(call, parts)
        if call.op.base is _ADD_PLACE and _is_in_helper(call) and _place_of(call) in added:
            v, index, shape, dtype = call.args
            zeros = Value(call.outs[0].type)
            args = _ZEROS.bind(shape) if dtype == np.dtype(float) else _ZEROS.bind(shape, dtype)
            calls.append(Call(_ZEROS, args, (zeros,), _chain(call)[1], call.backward, call.quiet))
            call = Call(_INDEX_ADD, (zeros, index, v), call.outs, call.site, call.backward, call.quiet)
        calls.append(call)
    same = len(calls) == len(graph.calls) and all(a is b for a, b in zip(calls, graph.calls, strict=True))
    return graph if same else Graph(graph.inputs, calls, graph.outputs)


def _is_in_helper(call: Call) -> bool:
    return bool(call.backward) and len(_chain(call)) > 1


def _place_of(call: Call) -> Any:
    """Where a call comes from, and which element it reads or writes."""
    return (id(call.site.code), call.site.offset, key_of(call.args[1]))


def _rebuilt(graph: Graph, job: _Outlining) -> Graph:
    """The graph with calls of functions in the place of groups."""

    def now(v: Value) -> Value:
        return job.anew.get(v, v)

    calls = []
    for call in graph.calls:
        regions = regions_of(call)
        parts = [_rebuilt(region, job) for region in regions]
        made = call if all(map(operator.is_, parts, regions)) else with_regions(call, parts)
        changed = any(v in job.anew for v in made.reads)
        calls.append(made.with_args(tuple([map_values(a, now) for a in made.args])) if changed else made)
    groups = [
        group._replace(call=group.call.with_args(tuple([map_values(a, now) for a in group.call.args])))
        for group in job.found.get(id(graph), [])
    ]
    calls = _ordered(graph.calls, calls, groups)
    if len(calls) == len(graph.calls) and all(map(operator.is_, calls, graph.calls)):
        return graph
    return Graph(graph.inputs, calls, [map_values(v, now) for v in graph.outputs])


def _ordered(before: list[Call], calls: list[Call], groups: Iterable[_Group]) -> list[Call]:
    """The calls of a block in their order, those of each group as one, which stands where the last of them stood.

    What may raise keeps its order; where a group cannot, all of the block stays as it was.
    """
    group_of = {call: group for group in groups for call in group.calls}
    if not group_of:
        return calls
    places: dict[Any, int] = {}  # of a call, or of a group by its call
    node_of: list[Call] = []
    for k, (old, call) in enumerate(zip(before, calls, strict=True)):
        node = group_of[old].call if old in group_of else call
        places[node] = k
        node_of.append(node)
    maker = {v: node for node in places for v in node.outs}
    raising = [node for old, node in zip(before, node_of, strict=True) if old.op.may_raise]
    waits: dict[Call, set[Call]] = {node: {maker[v] for v in node.reads if v in maker} for node in places}
    for one, other in itertools.pairwise(raising):
        if one is not other:
            waits[other].add(one)
    users: dict[Call, list[Call]] = {node: [] for node in places}
    for node, needed in waits.items():
        for one in needed:
            users[one].append(node)
    ready = [(places[node], k, node) for k, (node, needed) in enumerate(waits.items()) if not needed]
    heapq.heapify(ready)
    made: list[Call] = []
    left = {node: len(needed) for node, needed in waits.items()}
    while ready:
        _, k, node = heapq.heappop(ready)
        made.append(node)
        for user in users[node]:
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, (places[user], places[user], user))
    return made if len(made) == len(places) else calls
