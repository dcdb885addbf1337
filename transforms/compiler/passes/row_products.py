"""Rows that are added at rows by SciPy's sparse product, where SciPy is there and the arrays are large: the same bits sooner."""

from __future__ import annotations

import math

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.registry import require
from ....runtime.rules.indexing import scatter_rows, sparse_product, takes_product
from .rewrite import rewrite

__all__ = ["row_products"]

_SCATTER_ROWS = require(scatter_rows)


def row_products(graph: Graph) -> Graph:
    """The graph with products in place of large `scatter_rows`; as eager has it, by the lengths of the capture."""
    return rewrite(graph, _multiplied)


def _multiplied(call: Call) -> list[Call] | None:
    if call.op.base is not _SCATTER_ROWS:
        return None
    v, _, _, dtype = call.args
    if not isinstance(v, Value) or not takes_product(dtype) or v.type.dtype != dtype:
        return None
    product = sparse_product(math.prod(v.type.shape))
    if product is None:
        return None
    return [Call(require(product), call.args, call.outs, call.site, call.backward, call.quiet)]
