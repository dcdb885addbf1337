"""Names for the values of a graph: the user's, those that its code reads them by, those of results of loops, of leaves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ....runtime.ir.graph import Call, Graph, Value, prefix_of, primal_of, values_in
from ....runtime.ir.known_ops import GETITEM
from ....runtime.ir.opcodes import COND, SCAN, STACK, is_region, regions_of
from ....runtime.rules.control import SHAPE, SIZES
from ....tracer.core.site import Site
from ..frontend.user_names import (
    Names,
    is_returned,
    name_of_item,
    name_values,
    names_of_operands,
    names_of_parts,
    plural_of,
    singular_of,
)
from ..passes.scans import Scan
from .signature import Signature, children, has_attributes

__all__ = [
    "STEPS", "TAKEN", "joined", "name_of_leaf", "name_regions", "named_leaves", "named_within", "origins_of", "plural", "read_as",
    "stem_of",
]  # fmt: skip

LONGEST = 18  # columns of a name that is made of others
TAKEN = "taken"  # a condition that is asked for more than once
STEPS = "steps"  # how often a loop has run


def plural(name: str) -> str:
    """Return what a list of such things is called: `hs`, `Ws` of each `W_k`, `steps_list`."""
    name = re.sub(r"_([ijk]|\d+)$", "", name)
    return f"{name}_list" if name.endswith(("s", TAKEN)) or not name[-1].isalpha() else plural_of(name)


def named_leaves(signature: Signature, inputs: list[Value], read_as: dict[Value, str]) -> dict[Value, str]:
    """Return a name for each input: the parameter's, or `w` for the leaf `p["w"]`, or what the user's code reads it as."""
    names = Names()
    for parameter in signature.parameters:
        names.parameter(parameter)
    found: dict[Value, str] = {}
    for parameter, tree in zip(signature.arguments_named, signature.trees, strict=True):
        if isinstance(tree, Value):
            found[tree] = parameter
        else:
            leaves = list(_leaves(tree, ()))
            read = {keys[:-1]: read_as[v] for v, keys in leaves if v in read_as}
            for v, keys in leaves:
                held = keys[-2] if len(keys) > 1 else parameter  # `Ws`, of which others are read as `W`: so is `Ws[-1]`
                one = read.get(keys[:-1])
                alike = isinstance(held, str) and singular_of(held) == one
                found[v] = names.new(name_of_leaf(parameter, keys, read_as.get(v, one if alike else None)))
    found |= zip(inputs[len(inputs) - len(signature.extras) :], signature.extras, strict=True)
    return found


def _leaves(tree: Any, keys: tuple[Any, ...]) -> Iterator[tuple[Value, tuple[Any, ...]]]:
    """Go through the Values of an argument, each with the keys that lead there."""
    if isinstance(tree, Value):
        yield tree, keys
    for key, part in children(tree) or ():
        yield from _leaves(part, (*keys, key[1:] if has_attributes(tree) else key))


def name_of_leaf(parameter: str, keys: tuple[Any, ...], read_as: str | None = None) -> str:
    """`w` for `p["w"]` and `p.w`, what it is read as for `p[0]`; else `p_1_0` for `p[1][0]`, `w_0` for `p["w"][0]`."""
    numbers: list[str] = []
    for key in reversed(keys):
        if isinstance(key, str) and key.isidentifier():
            return "_".join([key, *numbers]) if read_as is None or not numbers else read_as
        numbers.insert(0, str(key) if isinstance(key, int) and key >= 0 else "part")
    return "_".join([parameter, *numbers]) if read_as is None else read_as


def stem_of(graph: Graph, names: dict[Value, str]) -> str:
    """Return what is called so that has no name: the first letter that the user does not use."""
    taken = {*names.values(), *named_within(graph)}
    return next(s for s in ("t", "u", "v", "s", "tmp", "temporary") if s not in taken)


def named_within(graph: Graph) -> set[str]:
    """The names of the values of the regions of a graph."""
    found: set[str] = set()
    for call in graph.calls:
        for region in regions_of(call):
            values = [*region.inputs, *[v for inner in region.calls for v in inner.outs]]
            found.update(v.name for v in values if v.name is not None)
            found.update(name_values(region, {}).values())
            found |= named_within(region)
    return found


def origins_of(graph: Graph) -> dict[Value, Value]:
    """What the inputs of regions are that a region reads as they are."""
    found: dict[Value, Value] = {}
    for call in graph.calls:
        if call.op is SCAN:
            pairs = [(v, item.given) for item in Scan(call).inv for v in (item.param, item.asked)]
        else:
            pairs = [pair for region in regions_of(call) for pair in zip(region.inputs, call.args[2], strict=True)]
        found |= {v: given for v, given in pairs if isinstance(given, Value) and v is not None and v is not given}
        for region in regions_of(call):
            found |= origins_of(region)
    return found


def name_regions(graph: Graph, wishes: dict[Value, str], stem: str, origins: dict[Value, Value]) -> None:
    """Names for what loops and branches give, where nobody named it; what a loop starts from has the name that it carries."""
    count: dict[Value, int] = {}
    for v in (*[v for call in graph.calls for v in call.reads], *values_in(graph.outputs)):
        count[v] = count.get(v, 0) + 1
    own = {v for call in graph.calls for v in call.outs if count.get(v) == 1} - set(values_in(graph.outputs))

    def name(v: Any) -> str | None:
        """What a value is called, or what it is the cotangent of."""
        stem, seen = "", set[Value]()
        while isinstance(v, Value) and v not in seen:
            seen.add(v)
            found = wishes.get(v) or v.name
            if found is not None:
                return stem + found
            stem += "" if v in origins else prefix_of(v)
            v = origins.get(v, primal_of(v))
        return None

    def wish(out: Value, *others: Any) -> None:
        if out.type.kind == STACK:
            item = getattr(out.element, "name", None)
            if out.name in (None, item):
                named = (item, wishes.get(out), *map(name, (out.element, *others)))
                wishes[out] = plural(next(filter(None, named), stem))
        elif out not in wishes:
            found = next(filter(None, map(name, others)), None)
            if found is not None:
                wishes[out] = found

    for call in reversed(graph.calls):
        if call.op is COND:
            branch, pred, _ = call.args
            if isinstance(pred, Value) and count[pred] > 1:
                wishes.setdefault(pred, TAKEN)  # which way was taken, for the way back
            for out, then, orelse in zip(call.outs, branch.then.outputs, branch.orelse.outputs, strict=True):
                wish(out, then, orelse)
        elif call.op is SCAN:
            scan = Scan(call)
            for c in scan.carry:
                running = name(c.param) if call.backward and c.param is not c.after else None
                if running is not None and running.startswith("d_") and c.out.type.kind != STACK:
                    wishes[c.out] = running  # and not what it is the gradient of at last
                wish(c.out, c.param, c.asked, c.after, c.start)
                if c.start in own and c.out in wishes:
                    wishes[c.start] = wishes[c.out]
            tests = {inner.args[1] for inner in scan.calls if inner.op is COND and isinstance(inner.args[1], Value)}
            counts = {inner.outs[-1] for inner in scan.calls if inner.op is SCAN}
            sizes = {v: inner for inner in scan.calls if inner.op in SIZES for v in inner.outs}
            carried = {c.after: c.param for c in scan.carry if isinstance(c.after, Value)}
            for y in scan.ys:
                asked = y.value in tests
                if (asked or y.value in counts) and name(y.value) is None and y.out not in wishes:
                    wishes[y.out] = TAKEN if asked else STEPS
                measured = sizes.get(y.value)
                if measured is not None and y.out not in wishes:
                    of, word = name(measured.args[0]), "shape" if measured.op is SHAPE else "size"
                    wishes[y.out] = word if of is None else f"{of}_{word}"
                wish(y.out, y.value, carried.get(y.value))
            wishes.setdefault(scan.trips, STEPS)
        else:
            for out in call.outs:
                if out.type.kind == STACK:
                    wish(out)
    for out in (out for call in graph.calls for out in call.outs if out.type.kind == STACK):
        primal = primal_of(out)
        if primal in wishes and primal.type.kind == STACK and name(out.element) is None:
            wishes[out] = prefix_of(out) + wishes[primal]


def read_as(graph: Graph, signature: Signature, origins: dict[Value, Value]) -> dict[Value, str]:
    """Return what the user's code calls the values that it reads, and a helper what it returns.

    So `params[0]` is `W` behind `W, b = params`, what a helper is given has the name of its parameter, and what
    `sigmoid(z)` returns is `sigmoid_z`. `origins` says what the inputs of regions are.
    """
    found: dict[Value, str] = {}
    codes = {id(call.site.code): call.site.code for call in graph.calls if call.site is not None}.values()
    for parameter, tree in zip(signature.arguments_named, signature.trees, strict=True):
        names = names_of_parts(parameter, codes) if type(tree) in (list, tuple) else ()
        if names and len(names) == len(tree):
            found |= {v: name for v, name in zip(tree, names, strict=True) if isinstance(v, Value) and name is not None}
    _collect_readings(graph, found, {}, origins)
    for v, name in list(found.items()):
        seen: set[Value] = set()
        while v in origins and v not in seen:
            seen.add(v)
            v = origins[v]
            found.setdefault(v, name)
    return found


def _collect_readings(
    graph: Graph, found: dict[Value, str], again: dict[Any, str], origins: dict[Value, Value]
) -> None:
    """Add the values of a graph to what is `found`; `again` has names by places in the code, for what is computed again."""
    made: dict[Value, Site | None] = {}
    makers = {v: call for call in graph.calls for v in call.outs}

    def place(v: Value) -> Any:
        """Where a value is computed, and of what from outside: `for a, b in zip(x, y)` reads both at one place."""
        of = makers[v].args[0] if v in makers and makers[v].args else None
        if not isinstance(of, Value) or of in makers:
            return v.sites, None
        seen: set[Value] = set()
        while of in origins and of not in seen:
            seen.add(of)
            of = origins[of]
        return v.sites, of

    for call in graph.calls:
        for region in regions_of(call):
            _collect_readings(region, found, again, origins)
        if call.site is None or is_region(call) or (call.backward and not call.outs[0].sites):
            continue
        names = names_of_operands(call.site)
        given = call.args
        if len(given) > 1 and type(given[1]) is tuple and len(names) == 1 + len(given[1]):
            given = (given[0], *given[1])  # of `x.reshape(B, T, D)`
        for v, name in zip(given, names, strict=False):
            if type(v) is tuple and len(v) == 1:  # of `np.zeros(n)`
                (v,) = v
            if isinstance(v, Value) and name is not None and made.get(v) != call.site:
                again.setdefault(place(v), found.setdefault(v, name))
        made |= {v: call.site for v in call.outs if v.sites}  # sizes, which have none, are computed where they are read
        out = call.outs[0]
        walked = call.op.base is GETITEM and isinstance(call.args[1], Value)
        name = (name_of_item(call.site) if walked else None) or _returned_by(call)
        name = again.get(place(out), name) if call.backward else name
        if name is not None:
            again.setdefault(place(out), found.setdefault(out, name))


def _returned_by(call: Call) -> str | None:
    """`sigmoid_z` for what the helper `sigmoid` returns when it is called with `z`."""
    sites = call.outs[0].sites
    if len(call.outs) != 1 or len(sites) < 2:
        return None
    helper: str = sites[0].code.co_name
    if not helper.isidentifier() or not is_returned(sites[0]):
        return None
    operands = names_of_operands(sites[1])
    operand = operands[0] if len(operands) == 1 else None
    return helper if operand is None else joined(helper, operand) or helper


def joined(*words: str) -> str | None:
    """Return words with underscores between them; None where that is too long."""
    name = "_".join(filter(None, words))
    return name if len(name) <= LONGEST else None
