"""backward and grad: the engine as users call it, with the arguments and errors of `torch.autograd`."""

from __future__ import annotations

import math
from typing import Any

from ...runtime.arrays import (
    computing_with,
    is_array,
    is_plain_array,
    is_writeable,
    library_of_arrays,
    one_of,
    own_memory,
)
from ...runtime.errors import AutogradError, DtypeError, ShapeError
from ...runtime.registry import require
from ...unpatched import np
from .cotangents import add_to, outward
from .dispatch import apply
from .engine import apply_node, run_backward
from .exits import warn_at_user
from .graph import AccumulateGrad, GradientEdge, edge_of, reached_from
from .site import blame
from .tensor_base import Operand, alias, is_tensor_like, levels_of, plain_shape, wrap
from .thread_state import LOCAL, grad_mode, refuse

__all__ = ["backward", "call", "grad"]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (Operand, np.generic, GradientEdge)) or is_array(value):
        return (value,)
    return tuple(value.values()) if isinstance(value, dict) else tuple(value)


def _gradients(given: Any, count: int) -> tuple[Any, ...]:
    """One gradient, or None, for each of `count` outputs."""
    found = (None,) * count if given is None else _as_tuple(given)
    for g in found:
        if not (g is None or is_tensor_like(g)):
            raise blame(
                TypeError(
                    f"gradients can be either Tensors or None, but got {type(g).__name__}: make one with gs.tensor({g!r})"
                )
            )
    if len(found) != count:
        raise blame(AutogradError(f"got {count} tensors and {len(found)} gradients: give one, or None, for each"))
    return found


def _placed(gradient: Any, output: Any) -> Any:
    """A gradient as an array: a number, or a list, becomes one where the output lies."""
    if is_array(gradient):
        return gradient
    with computing_with(library_of_arrays(getattr(output, "_value", None))):
        return np.asarray(gradient)


def _filled(output: Any, number: int) -> Any:
    """An array like an output, full of one number."""
    node = edge_of(output)
    with computing_with(library_of_arrays(getattr(output, "_value", None))):
        return np.full(node.shape, number, node.dtype)


def seed_of(output: Any, gradient: Any, k: int = 0) -> Any:
    """The cotangent that backward starts from at `output`, in the form that rules use (an array, or a Tensor)."""
    node = edge_of(output)
    if node is None:
        raise blame(
            AutogradError(
                f"element {k} of tensors does not require grad and does not have a grad_fn: no argument it was computed "
                "from requires grad. Make one with gs.tensor(..., requires_grad=True); gs.why(tensor) says where a path was cut."
            )
        )
    shape = node.shape
    if gradient is None and node.draws:
        return _filled(output, 0) if shape else node.dtype.type(0)
    if gradient is None:
        if math.prod(shape) != 1:
            raise blame(
                ShapeError(
                    "grad can be implicitly created only for scalar outputs, but this output has shape "
                    f"{shape}. Sum it (.sum()), or pass the gradient: y.backward(gradient)."
                )
            )
        if node.dtype.kind == "c":
            raise blame(
                AutogradError(
                    "grad can be implicitly created only for real scalar outputs, but this output is "
                    f"{node.dtype}. Take np.real or np.abs of it, or pass the gradient."
                )
            )
        if shape:
            return _filled(output, 1)
        return one_of(node.dtype, getattr(output, "_value", None))
    given = gradient if isinstance(gradient, Operand) else wrap(_placed(gradient, output))
    if isinstance(gradient, (int, float, complex)):  # a number is a literal, an array would need an origin
        given = wrap(given._value[()])
    if LOCAL.levels:
        given = LOCAL.levels[-1].shown(given, levels_of(output))
    if plain_shape(given) != shape:
        raise blame(
            ShapeError(
                f"Mismatch in shape: grad_output[{k}] has a shape of {plain_shape(given)} and "
                f"output[{k}] has a shape of {shape}."
            )
        )
    found = np.result_type(given._value)
    if (found.kind == "c") != (node.dtype.kind == "c"):
        raise blame(
            DtypeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. "
                f"Mismatch in dtype: grad_output[{k}] has a dtype of {found} and output[{k}] has a dtype of {node.dtype}."
            )
        )
    if found != node.dtype:
        given = given.astype(node.dtype)
    return outward(given)


def _roots(outputs: tuple[Any, ...], gradients: tuple[Any, ...], tensors: bool) -> list[tuple[Any, Any]]:
    roots = []
    for k, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        g = seed_of(output, gradient, k)
        if tensors and not isinstance(g, Operand):
            g = wrap(g)
        elif not tensors and isinstance(g, Operand):
            g = g._value
        roots.append((edge_of(output), g))
    return roots


def _renamed(older: str, given: Any, name: str, value: Any) -> Any:
    """Return the value passed under the older name of an argument, or under its name of today."""
    if given is None:
        return value
    warn_at_user(f"`{older}` is deprecated: its name is `{name}` now.", DeprecationWarning)
    if value is not None:
        raise blame(
            AutogradError(
                f"`{name}` and `{older}` (deprecated) arguments both passed to `backward()`, and they are one argument: "
                f"keep {name}."
            )
        )
    return given


def backward(
    tensors: Any = None, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Any = None, inputs: Any = None, *, variables: Any = None, retain_variables: bool | None = None,
) -> None:  # fmt: skip
    """Add the gradients of `tensors` into `.grad` of the leaves (or of `inputs`) they were computed from.

    `grad_tensors` holds a gradient (or None) for each; a stochastic node needs none. `variables`, `grad_variables` and
    `retain_variables` are older names, with a DeprecationWarning. Raises AutogradError (a
    RuntimeError) where a tensor does not require grad or its graph has been freed, ShapeError where a tensor that is not
    a scalar comes without its gradient, and TypeError for a gradient that is no Tensor.

    >>> import gradscribe as gs
    >>> x = gs.tensor(3.0, requires_grad=True)
    >>> gs.autograd.backward([x * x, 2 * x])
    >>> x.grad
    tensor(8.)
    """
    tensors = _renamed("variables", variables, "tensors", tensors)
    grad_tensors = _renamed("grad_variables", grad_variables, "grad_tensors", grad_tensors)
    retain_graph = _renamed("retain_variables", retain_variables, "retain_graph", retain_graph)
    if tensors is None:
        raise blame(TypeError("backward() missing 1 required argument: 'tensors', what to differentiate"))
    chosen = None if inputs is None else _as_tuple(inputs)
    if chosen is not None and not chosen:
        raise blame(
            AutogradError("`inputs` argument to `backward()` cannot be empty: leave it out to mean every leaf.")
        )
    outputs = _as_tuple(tensors)
    gradients = _gradients(grad_tensors, len(outputs))
    roots = _roots(outputs, gradients, create_graph or LOCAL.recorder is not None)
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warn_at_user(
            "Using backward() with create_graph=True makes a reference cycle between the leaves and their gradients, "
            "which hold the graph. Use gs.autograd.grad, or reset .grad to None afterwards.",
            UserWarning,
        )
    if chosen is None:
        run_backward(roots, None, retain_graph=keep, create_graph=create_graph)
        return
    for t in chosen:
        if isinstance(t, Operand) and not (t._node is not None and t.is_leaf):
            t.retain_grad()  # the engine fills what retains its gradient
    wanted = {edge_of(t): None for t in chosen}
    run_backward(roots, wanted, retain_graph=keep, create_graph=create_graph, accumulate=True)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:  # fmt: skip
    """The gradients of `outputs` with respect to `inputs`, one Tensor each, without touching any `.grad`.

    A tuple, or a dict where `inputs` is one. With `is_grads_batched=True` the first axis of every gradient in
    `grad_outputs` counts gradients, one run of backward each, and so does that of the results. Raises AutogradError (a
    RuntimeError) where an input was not used, unless `allow_unused=True` (its gradient is then None) or
    `materialize_grads=True` (then zeros). With `only_inputs=False`, which is deprecated, the gradients of all other leaves
    are added into their `.grad`.

    >>> import gradscribe as gs
    >>> x = gs.tensor(3.0, requires_grad=True)
    >>> gs.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads:
        if allow_unused is False:
            raise blame(
                ValueError(
                    "Expected allow_unused to be True or not passed when materialize_grads=True, but got "
                    "allow_unused=False: unused inputs get zeros, or are an error, not both."
                )
            )
        allow_unused = True
    if not only_inputs:
        warn_at_user(
            "only_inputs argument is deprecated: with only_inputs=False the gradients of the other leaves are added into their "
            ".grad. Use gs.autograd.backward(outputs, inputs=[...]) to fill .grad of the leaves.",
            DeprecationWarning,
        )
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    gradients = _gradients(grad_outputs, len(outs))
    if not ins:
        raise blame(AutogradError("`inputs` argument to `grad()` cannot be empty: name what to differentiate by."))
    for k, t in enumerate(ins):
        if edge_of(t) is None:
            raise blame(AutogradError(f"One of the differentiated Tensors does not require grad: inputs[{k}]"))
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        rows = _rows(outs, gradients)
        runs = [_grads(outs, ins, g, keep or k < len(rows) - 1, create_graph, only_inputs) for k, g in enumerate(rows)]
        found = [None if column[0] is None else _stacked(column) for column in zip(*runs, strict=True)]
    else:
        found = _grads(outs, ins, gradients, keep, create_graph, only_inputs)
    for k, t in enumerate(ins):
        if found[k] is None and not allow_unused:
            raise blame(
                AutogradError(
                    f"One of the differentiated Tensors (inputs[{k}]) appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior; gs.why says where its path was cut."
                )
            )
        if found[k] is None and materialize_grads:
            zeros = found[k] = wrap(np.zeros(*edge_of(t).meta))
            if create_graph and LOCAL.recorder is None:
                zeros.requires_grad_()  # a leaf, as PyTorch makes it: a further derivative is zero again
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else tuple(found)


def _grads(
    outs: tuple[Any, ...], ins: tuple[Any, ...], gradients: tuple[Any, ...], retain_graph: bool, create_graph: bool,
    only_inputs: bool,
) -> list[Any]:  # fmt: skip
    """One run of backward: the gradient of each input as a Tensor, None where it was not used."""
    roots = _roots(outs, gradients, create_graph or LOCAL.recorder is not None)
    wanted: dict[Any, Any] = {edge_of(t): None for t in ins}
    if not only_inputs:
        ends = reached_from([node for node, _ in roots]).ends
        others = [end for end in ends if type(end) is AccumulateGrad and end not in wanted]
        wanted.update(dict.fromkeys(others, True))
    found = run_backward(roots, wanted, retain_graph=retain_graph, create_graph=create_graph)
    results: list[Any] = []
    given = {id(g._value if isinstance(g, Operand) else g) for _, g in roots}  # arrays that are spoken for
    for t in ins:
        g = found.get(edge_of(t))
        if g is None:
            results.append(None)
            continue
        with grad_mode(create_graph):
            g = outward(g)
        if is_plain_array(g):
            if not (g.flags.owndata and is_writeable(g)) or id(g) in given:
                g = own_memory(g)  # each result has memory of its own
            given.add(id(g))
        results.append(g if isinstance(g, Operand) else wrap(g))
    return results


def _rows(outs: tuple[Any, ...], gradients: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The gradients of each run that `is_grads_batched=True` asks for."""
    for k, (output, g) in enumerate(zip(outs, gradients, strict=True)):
        edge = edge_of(output)
        shape, wanted = np.shape(g), () if edge is None else edge.shape
        if g is None or not shape or shape[1:] != wanted:
            raise blame(
                ShapeError(
                    "With is_grads_batched=True the first axis of each gradient counts the batch, but a mismatch was "
                    f"detected: grad_output[{k}] has a shape of {None if g is None else shape} and output[{k}] has a shape "
                    f"of {wanted}: its gradient must have the shape {('batch', *wanted)}."
                )
            )
    counts = {np.shape(g)[0] for g in gradients}
    if len(counts) != 1 or not all(counts):
        raise blame(ShapeError(f"Expected all gradients to have the same size in the batch axis, got {sorted(counts)}"))
    return [tuple([g[k] for g in gradients]) for k in range(counts.pop())]


def _stacked(column: tuple[Any, ...]) -> Any:
    """The gradients of one input in all runs, with the batch as first axis."""
    return apply(require(np.stack), (list(column),), {})


def call(node: Any, *grads: Any) -> Any:
    """Return the result of `grad_fn(*grads)`."""
    refuse("calls a node of the graph by itself")
    leaf = type(node) is AccumulateGrad
    count = 1 if leaf else getattr(node, "plural", 0) or 1
    if len(grads) != count:
        raise blame(TypeError(f"expected {count} arguments, got {len(grads)} instead: one for each result of the node"))
    for k, g in enumerate(grads):
        if not (g is None or isinstance(g, Operand)):
            raise blame(
                TypeError(f"argument {k} is not a Variable: {type(g).__name__} where a Tensor or None is wanted")
            )
    if leaf:
        if grads[0] is not None:
            add_to(node, alias(grads[0]))
        return ()
    found = apply_node(node, grads) if any(g is not None for g in grads) else {}
    results = tuple([found.get(slot) for slot in node.arguments()])
    return results[0] if len(results) == 1 else results
