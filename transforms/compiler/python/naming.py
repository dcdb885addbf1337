"""Names of values: the user's, and for what the user named nowhere, by what is computed: `sin_E`, `x_over_y`."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import gast

from ....runtime.ir.graph import Call, Graph, Value, prefix_of, primal_of, values_in
from ....runtime.ir.known_ops import ZEROS
from ....runtime.ir.opcodes import COND, STACK, all_calls, function_of, is_region
from ....runtime.rules.control import SHAPE
from ..frontend.user_names import Cotangents, Names, name_values
from ..schedule.blocks import Block
from ..schedule.names import joined, name_regions, named_within, origins_of, plural, read_as, stem_of
from ..schedule.program import Program, named_in, straight, writes_of
from ..schedule.signature import Signature
from .variables import each_node, is_no_zero
from .widths import forget

__all__ = ["Naming", "is_dotted", "is_transposed_name", "is_vague", "is_widened", "name_lists"]

# What results are called that no name of an operand tells apart.
_NOUNS = {
    "arange": "indices", "argmax": "place", "argmin": "place", "array": "values", "asarray": "values",
    "broadcast_to": "spread", "concatenate": "joined", "einsum": "contracted", "equal": "mask", "eye": "identity",
    "expand_dims": "column", "full": "filled", "full_like": "filled", "matmul": "product", "max": "largest",
    "maximum": "larger", "min": "smallest", "minimum": "smaller", "moveaxis": "turned", "outer": "product",
    "reshape": "reshaped", "solve": "solution", "solve_triangular": "solution", "stack": "stacked", "sum": "total",
    "transpose": "turned", "where": "selected", "zeros_like": "zeros", "abs": "magnitude", "round": "rounded", "sqrt": "root",
    "pow": "power", "all": "mask", "any": "mask", "mean": "mean", "exp": "exp", "log": "log", "zeros": "zeros",
}  # fmt: skip
_OPERATORS = {
    gast.Add: ("plus", "total"),
    gast.Sub: ("minus", "difference"),
    gast.Mult: ("", "product"),
    gast.MatMult: ("", "product"),
    gast.Div: ("over", "ratio"),
}
_SIGNS = {"+": "total", "-": "difference", "*": "product", "@": "product", "/": "ratio"}
_VAGUE = frozenset([noun for _, noun in _OPERATORS.values()])  # of which no other name is made
_SHORT = 6  # letters of what stands behind `is_`
_FACTORS = {2.0: "twice", 0.5: "half"}
_CASTS = ("float16", "float32", "float64", "longdouble")
_POWERS = {2: "squared", 3: "cubed"}

NOUNS = frozenset(
    [*_NOUNS.values(), *[noun for _, noun in _OPERATORS.values()], "power", "mask", "negated"]
)  # that tell nothing apart


def _part_of(goal: str, v: Value) -> str:
    """Return a name for a value that becomes a part of a variable, or an int that tells where a part of a cotangent is."""
    return "index" if goal.startswith("d_") and v.type.dtype.kind in "iu" else f"{goal}_part"


def described(tree: Any) -> str | None:
    """Return a name for the value of an expression; None where nothing short says what it is."""
    if isinstance(tree, gast.BinOp):
        return _operation(tree)
    if isinstance(tree, gast.UnaryOp):
        operand = _simple(tree.operand)
        return "negated" if operand is None else joined("minus", operand) or "negated"
    if isinstance(tree, gast.Call):
        return _called(tree)
    if isinstance(tree, gast.Compare) and isinstance(tree.ops[0], gast.Eq):
        left, right = _simple(tree.left), _simple(tree.comparators[0])
        return "mask" if left is None or right is None or len(right) > _SHORT else f"is_{right}"
    if isinstance(tree, (gast.Compare, gast.BoolOp)):
        return "mask"
    if isinstance(tree, gast.Subscript):
        if isinstance(tree.slice, gast.Tuple) and not tree.slice.elts:  # `x[()]`, an array without axes as a number
            return described(tree.value)
        return _simple(tree) or _part(tree)
    if isinstance(tree, gast.Attribute):
        name = _simple(tree.value)
        return None if name is None else joined(name, tree.attr)
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
    if method in _CASTS and args:
        return operand or described(args[0])
    if method == "where" and len(args) == 3 and is_no_zero(*args):
        return joined("safe", _simple(args[2]) or "divisor") or "safe_divisor"
    others = [a for a in args[1:] if not isinstance(a, (gast.Constant, gast.Tuple))]
    if method == "squeeze" and operand is not None:
        return operand
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


def is_vague(name: str) -> bool:
    """Whether a name only says that a value becomes a part of something, or by which operation."""
    return re.sub(r"(_\d+)?$", "", name).rpartition("_")[2] in ("part", *_VAGUE)


def is_transposed_name(tree: Any) -> bool:
    """Whether an expression is `x.T`."""
    return isinstance(tree, gast.Attribute) and tree.attr == "T" and isinstance(tree.value, gast.Name)


def is_dotted(tree: Any) -> bool:
    """Whether an expression is a name, or attributes of one: `np.linalg.solve`."""
    while isinstance(tree, gast.Attribute):
        tree = tree.value
    return isinstance(tree, gast.Name)


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


def name_lists(statements: list[Any], stem: str, names: Names, gradients: dict[str, str]) -> dict[str, str]:
    """Name each list that is called `ts`, for `t`, after what is put on it, or as what it is the gradient of; return the names.

    What a loop takes from it, and calls `t`, is named alike; so is an item of the tuples that are put on it. `gradients`
    has the names of lists that are.
    """
    nodes = [node for statement in statements for node in each_node(statement)]
    used = {node.id for node in nodes if isinstance(node, gast.Name)}
    anonymous, listed = re.compile(rf"{stem}(_\d+)?"), re.compile(rf"{plural(stem)}(_\d+)?")
    renamed: dict[str, str] = {}
    items: dict[str, list[str | None]] = {}  # by the list: what an item is called, or the items of a tuple
    for node in nodes:
        method = node.func if isinstance(node, gast.Call) else None
        if not isinstance(method, gast.Attribute) or method.attr != "append" or not isinstance(method.value, gast.Name):
            continue
        if len(node.args) != 1:
            continue  # np.append
        name, (item,) = method.value.id, node.args
        tuples = isinstance(item, gast.Tuple)
        wishes = [_name_of(part) or described(part) for part in (item.elts if tuples else [item])]
        if tuples:
            items[name] = [None if wish is None or anonymous.fullmatch(wish) else wish for wish in wishes]
        if tuples or name in renamed or wishes[0] is None or not listed.fullmatch(name):
            continue
        renamed[name] = _unused(gradients.get(name) or plural(wishes[0]), used, names)
        items[name] = wishes
    for node in nodes:
        if not isinstance(node, gast.Assign) or not listed.fullmatch(_name_of(node.targets[0])):
            continue
        if (
            _called_by(node.value) == "list"
            and len(node.value.args) == 1
            and (name := node.targets[0].id) not in renamed
        ):
            (rows,) = node.value.args
            wish = _simple(rows) or described(rows)
            if wish is not None and not anonymous.fullmatch(wish):
                renamed[name] = _unused(f"{wish}_rows", used, names)
                items[name] = [f"{wish}_row"]
    taken: dict[str, set[str]] = {}  # by the variable of an item: what the items of the lists that it is taken from are
    takings = Counter[str]()
    for target, source in _taken(nodes):
        parts = target.elts if isinstance(target, gast.Tuple) else [target]
        wishes = items.get(_name_of(source), [])
        for part, wish in zip(parts, wishes if len(wishes) == len(parts) else [None] * len(parts), strict=True):
            if anonymous.fullmatch(_name_of(part)):
                taken.setdefault(part.id, set()).add(wish or "")
                takings[part.id] += 1
    stores = Counter(node.id for node in nodes if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store))
    for name, wishes_of in taken.items():
        if len(wishes_of) == 1 and (wish := min(wishes_of)) and stores[name] == takings[name]:
            renamed[name] = _unused(wish, used, names)
            if f"d_{name}" in used:
                renamed[f"d_{name}"] = _unused(f"d_{renamed[name]}", used, names)
    for node in nodes if renamed else ():
        if isinstance(node, gast.Name) and node.id in renamed:
            node.id = renamed[node.id]
        forget(node)
    return renamed


def _unused(wish: str, used: set[str], names: Names) -> str:
    """A name that nothing has so far."""
    found = next(n for n in (wish, *[f"{wish}_{k}" for k in range(2, 99)]) if n not in used and names.is_free(n))
    used.add(found)
    return found


def _taken(nodes: list[Any]) -> Iterator[tuple[Any, Any]]:
    """The variables of the items that statements take from lists, and those lists."""
    whole: dict[str, Any] = {}  # the lists of items that are taken apart afterwards
    for node in nodes:
        for target, source in _walked(node):
            yield target, source
            if isinstance(target, gast.Name):
                whole[target.id] = source
    for node in nodes:
        parts = isinstance(node, gast.Assign) and isinstance(node.targets[0], gast.Tuple)
        if parts and _name_of(node.value) in whole:
            yield node.targets[0], whole[node.value.id]


def _walked(node: Any) -> list[tuple[Any, Any]]:
    """The variables of the items that one statement takes from lists, and those lists."""
    if isinstance(node, gast.Assign) and isinstance(node.value, gast.Subscript):
        return [(node.targets[0], node.value.value)]
    if not isinstance(node, gast.For):
        return []
    target, source = node.target, node.iter
    if _called_by(source) == "enumerate" and isinstance(target, gast.Tuple):
        target, source = target.elts[1], source.args[0]
    zipped = _called_by(source) == "zip" and isinstance(target, gast.Tuple)
    pairs = list(zip(target.elts, source.args, strict=True)) if zipped else [(target, source)]
    return [(t, s.args[0] if _called_by(s) == "reversed" else s) for t, s in pairs]


def _called_by(tree: Any) -> str:
    """The name of the function that an expression calls; nothing where it is something else."""
    return _name_of(getattr(tree, "func", None))


def _name_of(tree: Any) -> str:
    """The variable that an expression is; nothing where it is more."""
    return str(tree.id) if isinstance(tree, gast.Name) else ""


class Naming:
    """The names of values: the user's, those that the user's code reads them by, or what is computed; in a region, too."""

    facts: Block  # of the statements that are written

    def __init__(self, program: Program, signature: Signature, graph: Graph) -> None:
        self.names = Names()
        for parameter in signature.parameters:
            self.names.parameter(parameter)
        for function in dict.fromkeys(map(function_of, all_calls(graph))):
            if function is not None:
                self.names.new(function.__name__)
        body = list(straight(program.body))
        within = {v for s in body for v in named_in(s)} - {v for s in body for v in writes_of(s)}
        # What values are called; in regions the first has the values of all before them.
        self.named = self.wishes = {v: name for v, name in program.names.items() if v not in within}
        self.anew = program.names  # that of what tiles compute anew among them
        self.called: dict[Value | None, str] = {}
        self.descriptions: dict[Value, str] = {}  # names for what nobody named, in regions too
        self.stem = stem_of(graph, self.wishes)
        taken = self.users = {*self.wishes.values(), *named_within(graph)}  # names that the user has for something
        self.result = next(s for s in ("out", "result", "value", "output") if s not in taken)
        self.origins = origins_of(graph)
        self.read_as = read_as(graph, signature, self.origins)  # what the user's code calls what it does not assign

    def begin(self, facts: Block) -> None:
        """Look at the statements that are to be written."""
        self.facts = facts
        self.cotangents = Cotangents(facts.graph, facts.uses, self.wishes)

    def region(self, graph: Graph, calls: list[Call], names: dict[Value, str | None]) -> Naming:
        """Return that of a region, in which `names` are known.

        `graph` is the region before the schedule: the order in which the user wrote it says what values are called.
        """
        made = copy.copy(self)
        made.names = self.names.copy()
        made.result = made.stem
        given = {v: plural(v.name) if v.type.kind == STACK else v.name for v in graph.inputs if v.name is not None}
        given |= {v: name for v, name in names.items() if name is not None}
        made.wishes = name_values(graph, {**self.named, **given})
        name_regions(graph, made.wishes, made.stem, made.origins)
        anew = {v for call in calls for v in call.outs} - {v for call in graph.calls for v in call.outs}  # for tiles
        made.wishes |= {v: name for v, name in self.anew.items() if v in anew}
        return made

    def new(self, v: Value) -> str:
        """A name for a value, and for no other from here on."""
        if v not in self.facts.uses:  # kept because it may raise
            return "_"
        wish = self.cotangents.wish(v, self.wished(v), self.called, (self.stem, self.result))
        name = self.called[v] = self.names.new(wish)
        return name

    def wished(self, v: Value) -> str:
        """Return the name for a value, before other values with that name are looked at."""
        whole = v in self.facts.outputs and self.result != self.stem
        first = next(iter(values_in(self.facts.graph.outputs)), None)
        if whole and v is not first and self.facts.users.get(v) and v not in self.wishes:
            return self.described(v)  # a part of the value that is a gradient as it stands
        if whole and v not in self.wishes and (argument := self.shaped_like(v)) is not None:
            return f"d_{argument}"
        return self.wishes.get(v) or (self.result if whole else self.described(v))

    def shaped_like(self, v: Value) -> str | None:
        """The argument that nothing depends on, of whose shape a result of the backward part is filled with zeros."""
        maker = self.facts.maker.get(v)
        if maker is None or not maker.backward or maker.op.base is not ZEROS:
            return None
        shape = self.facts.maker.get(maker.args[0]) if isinstance(maker.args[0], Value) else None
        found = shape.args[0] if shape is not None and shape.op is SHAPE else None
        return self.wishes.get(found) if found in self.facts.graph.inputs else None

    def described(self, v: Value) -> str:
        """A name for a value that nobody named: as the user's code reads it, as a cotangent, or by what is computed."""
        prefix, value = "", v
        for _ in range(3):
            primal = primal_of(value)
            if primal is None:
                break
            prefix, value = prefix + prefix_of(value), primal
            name = self.called.get(primal) or self.wishes.get(primal) or self.descriptions.get(primal)
            if name is not None:
                return prefix + name
        if v in self.descriptions:
            return self.descriptions[v]
        goal = self.goal(v)
        return self._in_arm(v) or self.stem if goal is None else _part_of(goal, v)

    def _in_arm(self, v: Value) -> str | None:
        """A name for a result of a branch that nobody named: by the variable that it becomes a part of in an arm."""
        maker = self.facts.maker.get(v)
        if maker is None or maker.op is not COND:
            return None
        for arm in maker.args[0]:
            wishes = name_values(arm, {u: u.name for u in arm.inputs if u.name is not None})
            part = arm.outputs[maker.outs.index(v)]
            made = next((call for call in arm.calls if part in call.outs), None)
            noun = "part" if made is None else _SIGNS.get(made.op.infix or "", "part")
            for _ in range(8):
                user = next((call for call in arm.calls if part in call.reads), None)
                if user is None or is_region(user) or len(user.outs) != 1:
                    break
                held = user.args[0] if user.op.consuming is not None else None  # what is added to at a place
                (part,) = user.outs
                name = wishes.get(part) or (wishes.get(held) if isinstance(held, Value) else None)
                if name is not None:
                    return f"{name}_{noun}"
        return None

    def describe(self, v: Value, tree: Any) -> None:
        """Learn what a value could be called, that nobody named, by how it is written."""
        name = self.read_as.get(v)
        if name is None or name in self.users:
            name = described(tree)
            goal = self.goal(v) if name in NOUNS else None
            if goal is not None and name != "mask":
                name = _part_of(goal, v) if goal.startswith("d_") else f"{goal}_{name}"
        if name in self.users and name in NOUNS:
            name = f"{name}_value"
        if name is not None and name not in self.users:
            self.descriptions[v] = name

    def goal(self, v: Value) -> str | None:
        """The name of the variable that a value becomes a part of."""
        start = self.facts.maker.get(v)
        for _ in range(8):
            users = self.facts.users.get(v, [])
            user = next((user for user in users if start is not None and user.backward == start.backward), None)
            if user is None or is_region(user) or len(user.outs) != 1:
                return None
            v = user.outs[0]
            if v in self.wishes:
                return self.wishes[v]
        return None
