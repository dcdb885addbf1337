"""backward and grad: what users ask of the engine, with the arguments and errors of `torch.autograd`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..runtime.errors import AutogradError, DtypeError, ShapeError
from .engine import run_backward
from .exits import warn_at_user
from .modes import LOCAL
from .operand import Operand, wrap
from .site import blame

__all__ = ["backward", "grad"]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, Operand) else (value,)


def seed_of(output: Any, gradient: Any, k: int = 0) -> Any:
    """The cotangent that backward starts from at `output`, in the form that rules use (an array, or a Tensor)."""
    if not isinstance(output, Operand) or output._node is None:
        raise blame(
            AutogradError(
                f"element {k} of tensors does not require grad and does not have a grad_fn: no argument it was computed "
                "from requires grad. Make one with gs.tensor(..., requires_grad=True)."
            )
        )
    node = output._node
    if gradient is None:
        if np.size(output._value) != 1:
            raise blame(
                ShapeError(
                    "grad can be implicitly created only for scalar outputs, but this output has shape "
                    f"{np.shape(output._value)}. Sum it (.sum()), or pass the gradient: y.backward(gradient)."
                )
            )
        if node.dtype.kind == "c":
            raise blame(
                AutogradError(
                    "grad can be implicitly created only for real scalar outputs, but this output is "
                    f"{node.dtype}. Take np.real or np.abs of it, or pass the gradient."
                )
            )
        shape = np.shape(output._value)
        return np.ones(shape, node.dtype) if shape else node.dtype.type(1)
    given = gradient if isinstance(gradient, Operand) else wrap(np.asarray(gradient))
    if np.shape(given._value) != np.shape(output._value):
        raise blame(
            ShapeError(
                f"Mismatch in shape: grad_output[{k}] has a shape of {np.shape(given._value)} and "
                f"output[{k}] has a shape of {np.shape(output._value)}."
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
    return np.conj(given) if node.dtype.kind == "c" else given


def _roots(outputs: tuple[Any, ...], gradients: tuple[Any, ...], tensors: bool) -> list[tuple[Any, Any]]:
    if len(outputs) != len(gradients):
        raise blame(AutogradError(f"got {len(outputs)} tensors and {len(gradients)} gradients"))
    roots = []
    for k, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        g = seed_of(output, gradient, k)
        if tensors and not isinstance(g, Operand):
            g = wrap(g)
        elif not tensors and isinstance(g, Operand):
            g = g._value
        roots.append((output._node, g))
    return roots


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    inputs: Any = None,
) -> None:  # fmt: skip
    """Add the gradients of `tensors` into `.grad` of the leaves (or of `inputs`) they were computed from.

    Raises AutogradError (a RuntimeError) where a tensor does not require grad or its graph has been freed, and
    ShapeError where a tensor that is not a scalar comes without its gradient.
    """
    outputs = _as_tuple(tensors)
    gradients = _as_tuple(grad_tensors) if grad_tensors is not None else (None,) * len(outputs)
    as_tensors = create_graph or LOCAL.recorder is not None
    roots = _roots(outputs, gradients, as_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warn_at_user(
            "Using backward() with create_graph=True makes a reference cycle between the leaves and their gradients, "
            "which hold the graph. Use gs.autograd.grad, or reset .grad to None afterwards.",
            UserWarning,
        )
    if inputs is None:
        run_backward(roots, None, retain_graph=keep, create_graph=create_graph)
        return
    given = _as_tuple(inputs)
    if not given:
        raise blame(AutogradError("'inputs' argument to backward() cannot be empty."))
    found = run_backward(
        roots, {t._node: None for t in given if t._node is not None}, retain_graph=keep, create_graph=create_graph
    )
    for t in given:
        g = found.get(t._node)
        if g is not None:
            g = np.conj(g) if g.dtype.kind == "c" else g
            g = g if isinstance(g, Operand) else wrap(np.array(g))
            old = t._node.grad if t.is_leaf else getattr(t, "_grad", None)  # a non-leaf's `.grad` would warn
            t.grad = g if old is None else old + g


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    allow_unused: bool | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of `outputs` with respect to `inputs`, one Tensor each, without touching any `.grad`.

    Raises AutogradError (a RuntimeError) where an input was not used, unless `allow_unused=True` (then its
    gradient is None).

    >>> import gradscribe as gs
    >>> x = gs.tensor(3.0, requires_grad=True)
    >>> gs.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    if not ins:
        raise blame(AutogradError("'inputs' argument to grad() cannot be empty."))
    for k, t in enumerate(ins):
        if not isinstance(t, Operand) or t._node is None:
            raise blame(AutogradError(f"One of the differentiated Tensors does not require grad: inputs[{k}]"))
    gradients = _as_tuple(grad_outputs) if grad_outputs is not None else (None,) * len(outs)
    as_tensors = create_graph or LOCAL.recorder is not None
    roots = _roots(outs, gradients, as_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    found = run_backward(roots, {t._node: None for t in ins}, retain_graph=keep, create_graph=create_graph)
    results: list[Any] = []
    given = {id(g._value if isinstance(g, Operand) else g) for _, g in roots}  # arrays that are spoken for
    for k, t in enumerate(ins):
        g = found.get(t._node)
        if g is None:
            if not allow_unused:
                raise blame(
                    AutogradError(
                        f"One of the differentiated Tensors (inputs[{k}]) appears to not have been used in the graph. "
                        "Set allow_unused=True if this is the desired behavior."
                    )
                )
            results.append(None)
            continue
        g = np.conj(g) if g.dtype.kind == "c" else g
        if type(g) is np.ndarray:
            if not (g.flags.owndata and g.flags.writeable) or id(g) in given:
                g = np.array(g)  # each result has memory of its own
            given.add(id(g))
        results.append(g if isinstance(g, Operand) else wrap(g))
    return tuple(results)
