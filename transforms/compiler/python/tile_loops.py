"""Names and lines of loops over tiles: `for start in range(0, len(x), 32768):`, in it the user's lines on slices."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import gast
import numpy as np

from ....runtime.ir.graph import Call, Value
from ..schedule.program import Tiled, calls_of
from .lines import TiledLines
from .literals import constant_tree
from .variables import name_tree

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["write_loop"]


def write_loop(walk: Walk, tiles: Tiled) -> Tiled:
    """Write down the calls of a loop, each on a tile of its arguments, and what is needed whole into arrays made before.

    Return the loop as it is written.
    """
    calls = calls_of(tiles.body)
    like = tiles.sliced[0]
    about = Call(calls[0].op, (), (), None, all(c.backward for c in calls), all(c.quiet for c in calls))
    taken = walk.naming.wishes.values()
    tile, start = (
        walk.naming.names.new(next(s for s in wishes if s not in taken))
        for wishes in (("tile", "part", "slice_of_rows"), ("start", "first", "first_row"))
    )
    arrays, before = {v: walk.trees[v] for v in tiles.sliced}, walk.take()
    made = []
    for v in tiles.whole:
        twin = next((x for x in tiles.sliced if x.type == v.type), None)
        new = _new_like(arrays[twin]) if twin is not None else _new_of_shape(arrays[like], v)
        name = name_tree(walk.fresh(v), store=True)
        made.append(gast.Assign(targets=[name], value=new, type_comment=None))
        arrays[v] = walk.trees[v]
    for v, tree in arrays.items():
        walk.trees[v] = piece(tree, tile)
    around, walk.nesting = walk.nesting, walk.nesting.block()
    walk.pieces = {v: piece(arrays[v], tile, store=True) for v in tiles.whole}
    walk.write(tiles.body)
    walk.pieces = None
    mixed = about.backward != any(c.backward for c in calls)
    lines = TiledLines(before, tuple(made), arrays[like], tile, start, mixed, about)
    walk.trees |= arrays
    body, walk.nesting = walk.nesting.end(), around
    return dataclasses.replace(tiles, body=body, lines=lines)


def piece(array: Any, tile: str, store: bool = False) -> Any:
    """`array[tile]`."""
    return gast.Subscript(value=array, slice=name_tree(tile), ctx=gast.Store() if store else gast.Load())


def _new_like(array: Any) -> Any:
    return gast.Call(func=name_tree("np.empty_like"), args=[array], keywords=[])


def _new_of_shape(array: Any, v: Value) -> Any:
    dtype = [] if v.type.dtype == np.float64 else [gast.keyword(arg="dtype", value=constant_tree(v.type.dtype))]
    shape = gast.Attribute(value=array, attr="shape", ctx=gast.Load())
    return gast.Call(func=name_tree("np.empty"), args=[shape], keywords=dtype)
