"""The capture of gs.export: generated source of a function at some arguments, or why a module of NumPy alone has none."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import CompileError, VerifyError
from ...runtime.ir.opcodes import all_calls
from ...runtime.user_ops import is_users
from .export_inputs import Axes

__all__ = ["Captured", "Exported", "capture"]


class Captured(NamedTuple):
    """A function at the arguments of the export."""

    text: str
    result: Any
    arrays: dict[str, Any]  # read from outside, under the names that the text has for them
    functions: list[types.FunctionType]  # of the user, that became part of it
    name: str  # of the function in the text
    specialisation: Any  # the graph, and the signature
    eps: float  # by which the text may differ from eager: 0.0 but where a loop adds in another order


class Exported(NamedTuple):
    """A function as targets other than NumPy take it."""

    label: str
    captured: Captured
    axes: Axes
    small: dict[str, Any]  # arrays from outside that are written down
    outside: dict[str, Any]  # all of them
    values: dict[str, Any]  # the arguments of the export
    places: list[str]  # the arguments that are differentiated; none of a function that is exported as it is
    several: bool  # whether the gradient is a tuple of these

    @property
    def name(self) -> str:
        """The name of the function in a file."""
        return f"{self.label}_value_and_grad" if self.places else self.label


def capture(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    label: str,
    writes: bool = False,
    outlined: bool = True,
) -> Captured:
    """Generated source of `function`, checked against eager; CompileError where it has none, or where it writes unasked.

    Unless it is `outlined`, no helper is a function of it.
    """
    from ..compiler.capture.failure import Failure
    from ..compiler.capture.generators import modules_of
    from ..compiler.capture.written import OverlapError
    from ..compiler.driver.specialise import (  # the compiler stands on gast, which is slow to load
        Inputs,
        Unwritten,
        captured,
    )

    optimised = _passes(outlined)
    inputs = Inputs(function, args, kwargs)
    inputs = inputs if inputs.refused is not None else inputs.again()  # which the function may write into
    try:
        result, made = (None, inputs.refused) if inputs.refused is not None else captured(function, inputs, optimised)
    except OverlapError as overlap:
        raise CompileError(f"gs.export: `{label}` cannot be exported, because it {overlap}.") from None
    if made is None:  # a cached property was computed, which is there now
        result, made = captured(function, inputs, optimised)
    if made is None or isinstance(made, Failure):
        raise CompileError(f"gs.export: `{label}` cannot be exported, because it runs eagerly: {made}.")
    if isinstance(made, Unwritten):
        raise CompileError(f"gs.export: `{label}` could not be written as source ({made.error!r}).") from made.error
    if made.entry.specialisation.signature.writes and (made.entry.extras or not writes):
        raise CompileError(
            f"gs.export: `{label}` writes into an array that it is given, and an exported module calls it more than once "
            "with the same arguments. Write into a copy (y = x.copy())."
        )
    if made.entry.stores:
        raise CompileError(
            f"gs.export: `{label}` cannot be exported, because it stores {made.entry.stores[0].words}, which a module of NumPy "
            "alone does not have. Return the value, and store it after the call."
        )
    graphs = made.entry.specialisation.straight()
    of_users = next((call.op for graph in graphs for call in all_calls(graph) if is_users(call.op)), None)
    if of_users is not None:
        raise CompileError(
            f"gs.export: `{label}` cannot be exported, because it calls `{of_users.name}`, an op of yours that a module which "
            "imports NumPy alone cannot know. Write it in NumPy."
        )
    if made.entry.specialisation.rebuild is not None:
        raise CompileError(
            f"gs.export: `{label}` returns a tree of classes that a module that imports NumPy alone cannot know. "
            "Use dicts, lists and tuples."
        )
    own = f"{__name__.partition('.')[0]}."
    read = [path[1] for path in made.reads if path[0] == "attribute" and path.name == "__code__"]
    functions = [f for f in read if not str(f.__module__).startswith(own)]  # gs.optim decides by no size
    arrays = {name: path.read() for name, path in made.entry.extras}
    drawn_from = [name for name, value in arrays.items() if not isinstance(value, np.ndarray)]
    other = next(iter([*drawn_from, *modules_of(*graphs)]), None)
    if other is not None:
        raise CompileError(
            f"gs.export: `{label}` draws random numbers from `{other}`, which it reads from outside, and an exported module "
            "gives the same for the same arguments. Draw before, and pass the numbers."
        )
    problem = made.first_check(result)
    if problem is not None:
        raise VerifyError(f"gs.export: `{label}` differs from eager ({problem}). Please report it.")
    specialisation = made.entry.specialisation
    return Captured(
        specialisation.text,
        result,
        arrays,
        functions,
        specialisation.function.__name__,
        specialisation,
        specialisation.eps,
    )


def _passes(outlined: bool) -> Any:
    """The passes of what imports NumPy alone; without `outlined` no helper becomes a function."""
    from ..compiler.driver.lazy_imports import passes_of
    from ..compiler.passes import FAST_NAMES, NAMES, OUTLINING, ROW_PRODUCTS

    but = (*FAST_NAMES, ROW_PRODUCTS, *[OUTLINING] * (not outlined))
    return passes_of({"passes": [name for name in NAMES if name not in but]})
