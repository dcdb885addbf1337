"""Batching of the methods of ufuncs and of products of matrices and vectors: the same op, its axis one further back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .batching import Call, batching, lifted, shifted
from .rules.ufuncs import latest, spread_pieces

__all__: list[str] = []


@batching(np.maximum.accumulate, np.minimum.accumulate, latest)
def accumulated(call: Call) -> Any:
    """Along an axis that is one further back."""
    if not call.ndim("x"):
        return NotImplemented
    both = {"top": call.spread("top")} if "top" in call._places else {}
    return call.run(x=call.spread("x"), axis=shifted(call["axis"], call.ndim("x")), **both)


@batching(np.add.reduceat)
def pieces(call: Call) -> Any:
    """The same pieces of each example."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.only("x") and call.ndim("x") else NotImplemented


@batching(spread_pieces)
def spread(call: Call) -> Any:
    """Pieces along an axis that is one further back."""
    shape = call["shape"]
    return (
        call.run(axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))
        if call.only("g")
        else NotImplemented
    )


@batching(np.unwrap)
def unwrapped(call: Call) -> Any:
    """Along an axis that is one further back."""
    return call.run(axis=shifted(call["axis"], call.ndim("x"))) if call.only("x") and call.ndim("x") else NotImplemented


@batching(np.digitize, np.isin)
def looked_up(call: Call) -> Any:
    """Each element by itself, where all examples share the table."""
    return call.run() if call.only("x") else NotImplemented


if hasattr(np, "matvec"):

    @batching(np.matvec, np.vecmat)
    def product(call: Call) -> Any:
        """A stack of products."""
        of_x, of_y = (2, 1) if call.op.name == "matvec" else (1, 2)
        more = max(call.ndim("x") - of_x, call.ndim("y") - of_y)
        x, y = (
            lifted(call[name], more + own) if call.is_mapped(name) else call[name]
            for name, own in (("x", of_x), ("y", of_y))
        )
        return call.run(x=x, y=y)
