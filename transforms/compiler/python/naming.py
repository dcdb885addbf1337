"""Names for what the user named nowhere, by what is computed: `sin_E`, `x_over_y`."""

from __future__ import annotations

import re
from typing import Any

import gast

from ..frontend.user_names import Names
from ..schedule.names import plural
from ..schedule.reading import joined

__all__ = ["NOUNS", "described", "is_widened", "with_named_lists"]

# What results are called that no name of an operand tells apart.
_NOUNS = {
    "arange": "indices", "argmax": "place", "argmin": "place", "array": "values", "asarray": "values",
    "broadcast_to": "spread", "concatenate": "joined", "einsum": "contracted", "equal": "mask", "eye": "identity",
    "expand_dims": "column", "full": "filled", "full_like": "filled", "matmul": "product", "max": "largest",
    "maximum": "larger", "min": "smallest", "minimum": "smaller", "moveaxis": "turned", "outer": "product",
    "reshape": "reshaped", "solve": "solution", "stack": "stacked", "sum": "total", "transpose": "turned",
    "where": "selected", "zeros_like": "zeros", "abs": "magnitude", "round": "rounded", "sqrt": "root", "pow": "power",
    "all": "mask", "any": "mask", "mean": "mean", "exp": "exp", "log": "log", "zeros": "zeros",
}  # fmt: skip
_OPERATORS = {
    gast.Add: ("plus", "total"),
    gast.Sub: ("minus", "difference"),
    gast.Mult: ("", "product"),
    gast.MatMult: ("", "product"),
    gast.Div: ("over", "ratio"),
}
_VAGUE = frozenset([noun for _, noun in _OPERATORS.values()])  # of which no other name is made
_FACTORS = {2.0: "twice", 0.5: "half"}
_POWERS = {2: "squared", 3: "cubed"}

NOUNS = frozenset(
    [*_NOUNS.values(), *[noun for _, noun in _OPERATORS.values()], "power", "mask"]
)  # that tell nothing apart


def described(tree: Any) -> str | None:
    """Return a name for the value of an expression; None where nothing short says what it is."""
    if isinstance(tree, gast.BinOp):
        return _operation(tree)
    if isinstance(tree, gast.UnaryOp):
        operand = _simple(tree.operand)
        return None if operand is None else joined("minus", operand)
    if isinstance(tree, gast.Call):
        return _called(tree)
    if isinstance(tree, gast.Compare) and isinstance(tree.ops[0], gast.Eq):
        left, right = _simple(tree.left), _simple(tree.comparators[0])
        return "mask" if left is None or right is None else joined(left, "is", right) or "mask"
    if isinstance(tree, (gast.Compare, gast.BoolOp)):
        return "mask"
    if isinstance(tree, gast.Subscript):
        return _simple(tree) or _part(tree)
    if isinstance(tree, gast.Attribute) and tree.attr == "T":
        name = _simple(tree)
        return None if name is None else joined(name, "T")
    return None


def _operation(tree: Any) -> str | None:
    left, right = _simple(tree.left), _simple(tree.right)
    if isinstance(tree.op, gast.Pow):
        word = _POWERS.get(_number(tree.right), "power")
        return word if left is None else joined(left, word) or word
    if type(tree.op) not in _OPERATORS:
        return None
    word, noun = _OPERATORS[type(tree.op)]
    if left is not None and right is not None:
        return joined(left, word, right) or noun
    number, name = (_number(tree.left), right) if left is None else (_number(tree.right), left)
    if number is None or name is None:
        return noun
    if number == 1.0 and isinstance(tree.op, (gast.Add, gast.Sub, gast.Div)):
        return (joined("one", word, name) if name is right else joined(name, word, "one")) or noun
    if isinstance(tree.op, (gast.Add, gast.Sub)):
        return joined("shifted", name) or noun
    factor = 1.0 / number if isinstance(tree.op, gast.Div) and name is left and number else number
    return joined(_FACTORS.get(factor, "scaled"), name) or noun


def _called(tree: Any) -> str | None:
    if not isinstance(tree.func, gast.Attribute):
        return None
    method, root = tree.func.attr, tree.func.value
    args = list(tree.args)
    if not (isinstance(root, gast.Name) and root.id in ("np", "scipy", "math")) and _is_value(root):
        args.insert(0, root)  # a method
    operand = _simple(args[0]) if args else None
    others = [a for a in args[1:] if not isinstance(a, (gast.Constant, gast.Tuple))]
    noun: str = _NOUNS.get(method, method)
    if (
        operand is None
        or operand.rstrip("_0123456789") in _VAGUE
        or others
        or method in ("zeros", "zeros_like", "full", "full_like", "broadcast_to")
    ):
        return noun
    return joined(method, operand) or noun


def _is_value(root: Any) -> bool:
    """Whether what stands before the point of a call is a value, and no module, as `np.linalg`."""
    while isinstance(root, gast.Attribute):
        root = root.value
    return not (isinstance(root, gast.Name) and root.id in ("np", "scipy", "math"))


def _simple(tree: Any) -> str | None:
    """The name of an operand: of a variable, of its negative, its transpose, or an item of it."""
    if isinstance(tree, gast.Name):
        return str(tree.id)
    if isinstance(tree, gast.UnaryOp) and isinstance(tree.op, gast.USub):
        return _simple(tree.operand) if isinstance(tree.operand, gast.Name) else None
    if isinstance(tree, gast.Attribute) and tree.attr == "T":
        return _simple(tree.value)
    if isinstance(tree, gast.Subscript) and isinstance(tree.value, gast.Name):
        if isinstance(tree.slice, gast.Constant) and type(tree.slice.value) is int:
            return f"{tree.value.id}_{tree.slice.value}"
        if isinstance(tree.slice, gast.Name):
            return f"{tree.value.id}_{tree.slice.id}"
        if is_widened(tree):
            return str(tree.value.id)
    return None


def is_widened(tree: Any) -> bool:
    """Whether an index only adds axes: `x[:, None]`."""
    parts = tree.slice.elts if isinstance(tree.slice, gast.Tuple) else [tree.slice]
    return all(
        (isinstance(p, gast.Constant) and p.value is None)
        or (isinstance(p, gast.Slice) and p.lower is None and p.upper is None and p.step is None)
        for p in parts
    )


def _part(tree: Any) -> str | None:
    name = _simple(tree.value)
    return None if name is None else joined(name, "part")


def _number(tree: Any) -> Any:
    value = tree.value if isinstance(tree, gast.Constant) else None
    return value if type(value) in (int, float) else None


def with_named_lists(body: list[Any], stem: str, names: Names) -> list[Any]:
    """Return statements in which each list that is named `ts`, for `t`, is named after what is put on it."""
    nodes = [node for statement in body for node in gast.walk(statement)]
    used = {node.id for node in nodes if isinstance(node, gast.Name)}
    renamed: dict[str, str] = {}
    for node in nodes:
        method = node.func if isinstance(node, gast.Call) else None
        if not isinstance(method, gast.Attribute) or method.attr != "append" or not isinstance(method.value, gast.Name):
            continue
        if len(node.args) != 1:
            continue  # np.append
        name, (item,) = method.value.id, node.args
        wish = item.id if isinstance(item, gast.Name) else described(item)
        if name in renamed or wish is None or not re.fullmatch(rf"{plural(stem)}(_\d+)?", name):
            continue
        wish = plural(wish)
        numbers = (wish, *[f"{wish}_{k}" for k in range(2, 99)])
        renamed[name] = next(n for n in numbers if n not in used and names.is_free(n))
        used.add(renamed[name])
    for node in nodes:
        if isinstance(node, gast.Name) and node.id in renamed:
            node.id = renamed[node.id]
    return body
