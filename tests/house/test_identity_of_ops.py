"""Ops are compared by identity: no module compares the name of an op with a text, or looks it up among texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

import house

pytestmark = pytest.mark.house

NAMES = {"path", "title", "name"}
PATH_OF_AN_OP = re.compile(r"(np|scipy|operator)(\.[A-Za-z_]\w*)+")
MAY_COMPARE = re.compile(
    r"""\bop\.(path|title|name)\b|["'](np|scipy|operator)\.[A-Za-z_]"""
)  # most texts need no second look
MODULES = {
    "np.random",
    "numpy.fft",
    "np.errstate",
    "scipy.special",
    "scipy.sparse",
    "scipy.fft",
    "scipy.integrate",
    "scipy.ndimage",
    "scipy.spatial.distance",
    "scipy.linalg",
    "scipy.signal",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.stats",
    "scipy.misc",
    "scipy._lib._testutils",
}  # no ops


def names_an_op(node: ast.expr) -> bool:
    """Whether an expression reads the name of an op: `call.op.path`, `op.title`."""
    return isinstance(node, ast.Attribute) and node.attr in NAMES and ast.unparse(node.value).split(".")[-1] == "op"


def is_path(node: ast.expr) -> bool:
    """Whether an expression is the path of an op as text."""
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and text not in MODULES and bool(PATH_OF_AN_OP.fullmatch(text))


def compared(source: str) -> Iterator[int]:
    """The lines where the name of an op is compared, is the key of a look-up, or stands in a table of names."""
    for node in house.nodes_of(source) if MAY_COMPARE.search(source) else ():
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            flat = [e for s in sides for e in (s.elts if isinstance(s, (ast.Tuple, ast.List, ast.Set)) else [s])]
            if any(map(names_an_op, flat)) or any(map(is_path, flat)):
                yield node.lineno
        elif (
            (isinstance(node, (ast.Set, ast.List, ast.Tuple)) and sum(map(is_path, node.elts)) > 1)
            or (isinstance(node, ast.Dict) and any(is_path(key) for key in node.keys if key is not None))
            or (isinstance(node, ast.Subscript) and names_an_op(node.slice))
        ):
            yield node.lineno


COMPARISONS = [
    'call.op.path == "np.sum"', 'op.title in ("Add", "Sub")', 'x = {"np.sum", "np.mean"}', 'y = {"np.tanh": 1}', "z[op.path]",
]  # fmt: skip


@pytest.mark.parametrize("line", COMPARISONS)
def test_a_comparison_by_name_is_found(line: str) -> None:
    assert list(compared(line)) == [1]


def test_ops_are_compared_by_identity() -> None:
    found = [
        f"{module}:{line}"
        for module, path in house.modules()
        if not module.startswith("runtime")
        for line in compared(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"compare op.base with the op itself (runtime/ir/known_ops.py, registry.ops_of): {found}"
