"""What the user's code calls values that it assigns nowhere: as it reads them, and as a helper returns them."""

from __future__ import annotations

from typing import Any

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.known_ops import GETITEM
from ....runtime.ir.opcodes import is_region, regions_of
from ....tracer.core.site import Site
from ..frontend.user_names import is_returned, name_of_item, names_of_operands, names_of_parts
from .signature import Signature

__all__ = ["joined", "read_as"]

LONGEST = 18  # columns of a name that is made of others


def read_as(graph: Graph, signature: Signature, origins: dict[Value, Value]) -> dict[Value, str]:
    """Return what the user's code calls the values that it reads, and a helper what it returns.

    So `params[0]` is `W` behind `W, b = params`, what a helper is given has the name of its parameter, and what
    `sigmoid(z)` returns is `sigmoid_z`. `origins` says what the inputs of regions are.
    """
    found: dict[Value, str] = {}
    codes = {call.site.code for call in graph.calls if call.site is not None}
    for parameter, tree in zip(signature.arguments_named, signature.trees, strict=True):
        names = names_of_parts(parameter, codes) if type(tree) in (list, tuple) else ()
        if names and len(names) == len(tree):
            found |= {v: name for v, name in zip(tree, names, strict=True) if isinstance(v, Value) and name is not None}
    _collect(graph, found, {})
    for v, name in list(found.items()):
        seen: set[Value] = set()
        while v in origins and v not in seen:
            seen.add(v)
            v = origins[v]
            found.setdefault(v, name)
    return found


def _collect(graph: Graph, found: dict[Value, str], again: dict[Any, str]) -> None:
    """Add the values of a graph to what is `found`; `again` has names by sites, for what is computed again."""
    made: dict[Value, Site | None] = {}
    for call in graph.calls:
        for region in regions_of(call):
            _collect(region, found, again)
        if call.site is None or is_region(call) or (call.backward and not call.outs[0].sites):
            continue
        for v, name in zip(call.args, names_of_operands(call.site), strict=False):
            if type(v) is tuple and len(v) == 1:  # of `np.zeros(n)`
                (v,) = v
            if isinstance(v, Value) and name is not None and made.get(v) != call.site:
                again.setdefault(v.sites, found.setdefault(v, name))
        made |= {v: call.site for v in call.outs if v.sites}  # sizes, which have none, are computed where they are read
        out = call.outs[0]
        walked = call.op.base is GETITEM and isinstance(call.args[1], Value)
        name = (name_of_item(call.site) if walked else None) or _returned_by(call)
        name = again.get(out.sites, name) if call.backward else name
        if name is not None:
            again.setdefault(out.sites, found.setdefault(out, name))


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
