"""The record: the findings of a capture, as data, while it runs and when it is done."""

from __future__ import annotations

import dataclasses
import types
from typing import Any, NamedTuple

from ....runtime.ir.graph import Graph, Value
from ...user_code.scope import Path
from ..frontend.hooks import CodeSet
from .sizes import Compared, Fixed
from .stored import Store

__all__ = ["Findings", "Record"]


@dataclasses.dataclass
class Findings:
    """The findings of a capture so far; its Record is made of them."""

    graph: Graph
    codes: set[types.CodeType] = dataclasses.field(default_factory=CodeSet)
    unrolled: tuple[str, ...] = ()  # the loops that an attempt to keep them could not, and why
    compared: dict[Compared, None] = dataclasses.field(default_factory=dict)  # where the code decided by a size
    guards_numbers: bool = False  # whether it decided by a number
    reads: dict[Path, Any] = dataclasses.field(
        default_factory=dict
    )  # what must be found again: the guards of the scope
    arrays: dict[Path, tuple[Value, Any]] = dataclasses.field(default_factory=dict)  # read from outside: inputs
    before: dict[Path, Any] = dataclasses.field(
        default_factory=dict
    )  # copies of them, before anything could have written
    met_mock: bool = False  # whether something stood in a library's place that is none of its own


class Record(NamedTuple):
    """The calls of a function, and what they rest on."""

    graph: Graph  # inputs and calls; the outputs are those of the function's result
    kept: bool  # whether a loop or a branch was kept, so that the run gave no result
    unrolled: tuple[str, ...]  # the loops that could not be kept, and why
    reordered: bool  # whether cotangents add up in another order than in eager mode
    unsigned: bool  # whether zeros may have another sign than in eager mode
    # what it writes and stores
    writes: list[Value]  # the inputs that are written into
    news: list[Value]  # and what they hold in the end
    written: dict[int, Any]  # copies of their arrays from before, by identity
    stores: tuple[Store, ...]  # where values are stored
    held: dict[int, Any]  # what the containers among those held before
    replaces: bool  # whether a store puts something else in the place of an array that the code has read
    # what it reads from outside
    reads: dict[Path, Any]  # what must be found again
    guarded: dict[Path, Any]  # and of that, what the code does not store itself
    arrays: dict[Path, Any]  # the arrays and numbers that are inputs
    before: dict[Path, Any]  # copies of the arrays, from before anything was written
    generators: dict[int | str, Any]  # copies of generators by identity, and of those of modules by name
    twins: dict[Path, Any] | None  # where an array was found that is an input already; None: nothing is compared
    codes: set[types.CodeType]  # the code that ran
    # by what it decided
    compared: tuple[Compared, ...]  # the sizes
    fixed: tuple[Fixed, ...]  # the lengths that are known to hold at no other
    guards_numbers: bool  # whether by numbers
    varied: bool  # whether numbers that change are inputs
    varied_outside: bool  # whether some of them were read from outside
