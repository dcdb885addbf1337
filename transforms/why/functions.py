"""gs.why of a function: its gradient at these arguments, computed under watch, and an answer for each argument."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from ...runtime.arrays import on_numpys_host
from ...tracer.core.graph import Reached
from ...tracer.core.tensor_base import Operand
from ...tracer.core.watching import Watch, watching
from ..arguments import Arguments
from ..compiler.driver.compiled import Compiled
from ..derivatives.gradient import GradFunction
from ..trees import LEAF, flatten
from .answers import answer_for, answer_for_result
from .report import Answer, Cause, Why

__all__ = ["why_of_function"]


class _Asked(GradFunction):
    """A gradient that keeps what it was computed from."""

    value: Any = None
    frame: Arguments
    found: dict[Any, Any]

    def _backward(self, value: Any, frame: Arguments, keep_graph: bool, reached: Reached | None) -> dict[Any, Any]:
        self.value, self.frame = value, frame
        self.found = super()._backward(value, frame, keep_graph, reached)
        return self.found


def why_of_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Any) -> Why:
    """Return the report on the gradient of each argument."""
    on_numpys_host("gs.why", flatten((args, kwargs))[0])
    options: dict[str, Any] = {"has_aux": False, "with_value": False}
    if isinstance(function, Compiled):
        function = function.function
    if isinstance(function, GradFunction):
        options = function.options | {"with_value": False}
        argnums = function.argnums if argnums is None else argnums
        function = function.function
        if isinstance(function, Compiled):
            function = function.function
    label = str(getattr(function, "__name__", type(function).__name__))
    names = _names(function, args, kwargs)
    places, others = _places(argnums, args, kwargs, names)
    refused = [_no_gradient(names[place], args[place] if isinstance(place, int) else kwargs[place]) for place in others]
    if not places:
        return Why(label, refused, [] if refused else ["it has no argument that could have a gradient."])
    watch = Watch()
    asked = _Asked(function, options | {"argnums": tuple(places)})
    with watching(watch), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is what this is about
        asked(*args, **kwargs)
        root = watch.producer(asked.value)
    behind = getattr(asked.value, "_node", None)
    run = next((r for r in watch.arrived if any(node is behind for node in r.roots)), None)
    answers = []
    for place, (structure, group) in zip(places, asked.frame.given, strict=True):
        labels = [names[place]] if structure is LEAF else [a.codify(names[place]) for a in structure.accessors()]
        for leaf_label, (node, _) in zip(labels, group, strict=True):
            gradient = None if run is None else watch.arrived[run].get(node)
            answers.append(answer_for(watch, run, root and root[0], node, leaf_label, gradient, function))
    if all(answer.state not in ("NaN", "inf") for answer in answers):
        of_result = answer_for_result(watch, run, root and root[0], asked.value)
        answers += [] if of_result is None else [of_result]
    remarks = []
    if any(answer.state == "None" for answer in answers):
        remarks.append("Where it is None, gs.grad gives zeros.")
    return Why(label, answers + (refused if argnums is not None else []), remarks)


def _names(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, str]:
    """Return the names of the arguments."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    single = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    found: dict[Any, str] = {
        k: single[k] if k < len(single) else f"{rest}[{k - len(single)}]" for k in range(len(args))
    }
    return found | {name: name for name in kwargs}


def _places(
    argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: dict[Any, str]
) -> tuple[list[Any], list[Any]]:
    """Which arguments are differentiated, and which of those that were asked for cannot be."""
    if argnums is None:
        listed: list[Any] = [k for k, a in enumerate(args) if _leaves(a)] + [k for k, a in kwargs.items() if _leaves(a)]
    else:
        listed = []
        for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
            if isinstance(n, int):
                n = n + len(args) if n < 0 else n
                if n >= len(names):
                    raise TypeError(
                        f"gs.why is asked for argument {n}, but was given {len(names)}: call gs.why(f, *args)"
                    )
                n = n if n < len(args) else list(names.values())[n]
            elif n not in kwargs:
                n = next((k for k, name in names.items() if name == n), n)
            listed.append(n)
    holder: dict[Any, Any] = dict(enumerate(args)) | kwargs
    fit = [n for n in listed if n not in holder or all(_kind(leaf) in "fc" for leaf in _leaves(holder[n]))]
    return fit, [n for n in listed if n not in fit]


def _leaves(value: Any) -> list[Any]:
    """The numbers and arrays in an argument; none where it holds other things, too."""
    leaves = flatten(value)[0]
    return leaves if all(_kind(leaf) for leaf in leaves) else []


def _kind(leaf: Any) -> str:
    if isinstance(leaf, Operand):
        leaf = leaf._value
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind if leaf.dtype.kind in "biufc" else ""
    return np.result_type(leaf).kind if isinstance(leaf, (int, float, complex)) else ""


def _no_gradient(name: str, value: Any) -> Answer:
    values = [v._value if isinstance(v, Operand) else v for v in flatten(value)[0]]
    held = sorted({str(np.result_type(v)) for v in values if _kind(v) not in "fc"})
    reason = f"`{name}` holds {', '.join(held)}, and only floating point and complex numbers have gradients."
    cause = Cause("dtype", name, "", 0, reason, "convert it: x.astype(float), 3.0 in place of 3.")
    return Answer(name, "None", (cause,))
