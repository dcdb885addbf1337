"""Forward mode: tangents go through the graph in creation order, each operation by the transpose of its VJP.

The graph is the one that backward walks the other way, so nested derivatives stay apart by its nodes. Where an
operation tells by its kind what its JVP is, that is run: an elementwise VJP is its own JVP, a linear or bilinear op is
applied to the tangent. The others transpose the linear map from a cotangent to the VJP.
"""

from __future__ import annotations

import operator
from typing import Any

from ...runtime.ops import MISSING, Kind, Op
from ...runtime.registry import ops_of, require
from ...runtime.user_ops import is_users
from ...unpatched import np
from .cotangents import fit
from .dispatch import apply, run
from .engine import freed, rebuilt, run_backward
from .graph import AccumulateGrad, Node, Pick, needed_of, reached_from, sequence
from .listening import in_backward, in_loop, shape_of
from .node_hooks import plural_of
from .outside_arrays import MEMORIES
from .saved import unpacked
from .site import blame
from .tangents import in_blocks, is_large, note_owner
from .tensor_base import Operand, wrap
from .thread_state import LOCAL, grad_mode
from .versions import COUNTERS, check

__all__ = ["run_forward", "variable"]


def run_forward(
    outputs: list[Any], tangents: dict[Any, Any], create_graph: bool, reached: dict[Any, None] | None = None
) -> dict[Any, Any]:
    """Send `tangents`, by node, forward through the graph behind `outputs`; give those that arrive there.

    They are Tensors with `create_graph` or under a recorder, else arrays. `reached` are the nodes of that graph, where the
    caller knows them.
    """
    tensors = create_graph or LOCAL.recorder is not None
    found = dict(tangents)
    _, running = needed_of(reached_from(outputs) if reached is None else reached, tangents, False)
    order = [n for n in sorted(running, key=sequence) if n not in tangents and type(n) is not AccumulateGrad]
    last: dict[Any, Any] = {}  # who reads a tangent last, and lets it go
    for node in order:
        last.update(dict.fromkeys([node.parent] if type(node) is Pick else node.edges, node))
    for node in outputs:
        last.pop(node, None)
    asked: dict[Any, set[int]] = {}  # which results of a node that has several
    for node in running:
        if type(node) is Pick:
            asked.setdefault(node.parent, set()).add(node.index)
    own: set[Any] = set()  # the nodes whose tangents nothing else shows
    recorder = LOCAL.recorder
    with np.errstate(all="ignore"), grad_mode(create_graph), in_backward():
        for node in order:
            if recorder is not None:
                recorder.tangent(node)
            if type(node) is Pick:
                parts = found.get(node.parent)
                tangent = None if parts is None else parts[node.index]
            else:
                given = [found.get(e) for e in node.edges]
                spare = [t for e, t in zip(node.edges, given, strict=True) if e in own and last.get(e) is node]
                tangent = _pushed(node, given, asked.get(node), tensors, create_graph, spare)
                note_owner(own, node, tangent, given, last)
            if tangent is not None:
                found[node] = tangent
                if recorder is not None:
                    recorder.moved(node, tangent)
            for edge in [node.parent] if type(node) is Pick else node.edges:
                if last.get(edge) is node:
                    found.pop(edge, None)
    return found


def _pushed(
    node: Any, tangents: list[Any], asked: set[int] | None, tensors: bool, create_graph: bool, spare: list[Any]
) -> Any:
    """The tangent of a node's result (a list of them where it has several) from those of its arguments.

    It may be written over one of those in `spare`.
    """
    if all(t is None for t in tangents):
        return None
    if node.saved is None:
        raise blame(freed(node))
    if COUNTERS or MEMORIES:
        check(node)
    push = None if type(node) is Node else getattr(node, "push", None)
    if push is not None:  # a node that knows how it goes forward
        return push(tangents, create_graph)
    saved = unpacked(node) if node.extra is not None and node.extra.packed else node.saved
    if tensors:
        saved = rebuilt(node, saved)
    if type(node) is Node and not plural_of(node):
        values = {  # a tangent has the shape of what it belongs to: formulas have nothing to sum
            spec.name: None if spec.what == "shape" else value
            for spec, value in zip(node.plan.saved, saved, strict=True)
        }
        if is_users(node.op):
            spare = []  # its rule may keep what it is given
        elif (
            not tensors and is_large(node) and all(t is None or _is_by_element(node, j) for j, t in enumerate(tangents))
        ):
            total = in_blocks(node, tangents, values, spare)
            if total is not None:
                return total
        forms = [None if t is None else _form(node, j, values) for j, t in enumerate(tangents)]
        total, own = None, False
        if all(form is not None for form, t in zip(forms, tangents, strict=True) if t is not None):
            for form, t in zip(forms, tangents, strict=True):
                if form is not None:
                    part = form(t)
                    if np.shape(part) != node.shape:
                        part = np.broadcast_to(part, node.shape)
                    part = fit(part, node.meta)
                    if total is None:
                        total, own = part, part is not t or _once(t, spare, tangents)
                    elif own and type(total) is np.ndarray and _adds_in_place(total, part):
                        total += part
                    else:
                        total, own = total + part, True
            return total
    return _transposed(node, tangents, asked, saved, tensors, create_graph)


def _once(t: Any, spare: list[Any], tangents: list[Any]) -> bool:
    """Whether a tangent may be written over as soon as it has been read."""
    return any(t is s for s in spare) and sum(t is u for u in tangents) == 1


def _adds_in_place(total: Any, part: Any) -> bool:
    """Whether a sum may be written over its first term, a new array, and come out as a sum of its own would."""
    if type(part) is not np.ndarray or not total.flags.owndata or not total.flags.writeable:
        return False
    along = all(p in (0, s) for p, s in zip(part.strides, total.strides, strict=True))  # broadcast, where it is 0
    return part.strides == total.strides or (total.flags.c_contiguous and along)


def _form(node: Node, j: int, values: dict[str, Any]) -> Any:
    """The JVP of a node in its argument `j`, where the kind of its op says what it is."""
    op, (k, i) = node.op, node.plan.slots[j]
    vjp = op.vjps[op.params[k].name]
    assert vjp is not None
    if _is_elementwise(op) and (op.kind is not Kind.elementwise or _is_real(node, j)):
        if "acc" not in vjp.names:
            return lambda t: vjp.fn(*[t if n == "g" else i if n == "i" else values[n] for n in vjp.names])
    elif op.kind is Kind.bilinear:
        bound = [values.get(p.name, MISSING) for p in op.params]
        if all(b is not MISSING for n, b in enumerate(bound) if n != k or i >= 0):
            return lambda t: _applied(op, bound, k, i, t)
    elif k == 0 and op.base in _APPLIED:
        bound = [MISSING, *[values.get(p.name, p.default) for p in op.params[1:]]]
        if all(b is not MISSING for b in bound[1:]):
            return lambda t: _applied(op, bound, 0, -1, t)
    return None


def _is_by_element(node: Node, j: int) -> bool:
    """Whether the JVP is the formula of the VJP, of real numbers, for each element by itself."""
    vjp = node.op.vjps[node.op.params[node.plan.slots[j][0]].name]
    return vjp is not None and _is_elementwise(node.op) and _is_real(node, j) and not {"acc", "i"} & {*vjp.names}


def _is_elementwise(op: Op) -> bool:
    return op.kind is Kind.elementwise or op.base in _LINEAR


# Linear in the first argument alone, with rules that keep all others that matter.
_APPLIED = ops_of(
    operator.getitem, np.take, np.take_along_axis, np.transpose, np.swapaxes, np.matrix_transpose, np.moveaxis, np.expand_dims,
    np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.tril, np.triu, np.diagonal, np.trace, np.repeat, np.cumsum, np.sum,
    np.mean,
)  # fmt: skip
# Elementwise, too, and linear in the complex sense: their kind says more.
_LINEAR = ops_of(np.multiply, np.add, np.subtract, np.negative, np.positive)


def _is_real(node: Node, j: int) -> bool:
    return bool(node.dtype.kind == "f" and node.edges[j].dtype.kind == "f")


def _applied(op: Op, bound: list[Any], k: int, i: int, t: Any) -> Any:
    """A bilinear op with the tangent in the place of an argument."""
    given = list(bound)
    given[k] = t if i < 0 else tuple([t if n == i else x for n, x in enumerate(bound[k])])
    if isinstance(t, Operand):
        return run(op, tuple(given))
    args, kwargs = op.call_form(tuple(given))
    return op.fn(*args, **kwargs)


def _transposed(
    node: Any, tangents: list[Any], asked: set[int] | None, saved: Any, tensors: bool, create_graph: bool
) -> Any:
    """The tangent of any node: what the linear map from a cotangent to its VJP transposes to."""
    several = plural_of(node)
    metas = node.meta if several else (node.meta,)
    cotangents = [
        variable(m, tensors, _lengths(node, k, m[0]) if tensors else None) if asked is None or k in asked else None
        for k, m in enumerate(metas)
    ]
    given: Any = tuple(cotangents) if several else cotangents[0]
    plan = node.plan
    with grad_mode(True):
        grads = plan.backward(given, saved, [None] * len(node.edges) if plan.any_sum else None)
        roots = []
        for gx, edge, t in zip(grads, node.edges, tangents, strict=True):
            if gx is not None and t is not None:
                gx = fit(gx, edge.meta)
                if isinstance(gx, Operand) and gx._node is not None:
                    roots.append((gx._node, t))
    wanted = {g._node: None for g in cotangents if g is not None}
    found = run_backward(roots, wanted, retain_graph=False, create_graph=create_graph) if roots else {}
    results = [None if g is None else found.get(g._node) for g in cotangents]
    return results if several else results[0]


def _lengths(node: Any, k: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a node's result, of lengths that a capture follows where it can."""
    ir = getattr(node, "ir", None)
    if ir is None or not shape or LOCAL.recorder is None or in_loop():
        return shape
    result = wrap(np.broadcast_to(0.0, shape))
    result._ir = ir[0][k]
    return shape_of(result)


def variable(meta: Any, tensors: bool, lengths: tuple[int, ...] | None = None) -> Any:
    """A cotangent to transpose by: a variable whose value does not matter. None of what has no cotangent."""
    shape, dtype = meta
    if dtype.kind not in "fc":
        return None
    given = shape if lengths is None else lengths
    made = apply(require(np.zeros), (given, dtype), {}) if tensors else wrap(np.zeros(shape, dtype))
    if not shape:
        made = made[()]
    made._node = AccumulateGrad(made, made._value)
    made._node.inner = LOCAL.era or True
    return made
