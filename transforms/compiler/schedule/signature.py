"""The outside of a generated function: its parameters, the trees they are taken from, and the tree that it returns."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ....runtime.ir.graph import Value
from ....tracer.core.site import Site, is_generated

__all__ = [
    "Instance", "Signature", "built", "children", "dataclasses_in", "describe", "has_attributes", "parameter_names",
    "printable", "purpose_of", "with_instances",
]  # fmt: skip


def parameter_names(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """A name for each argument of a call, positional ones first."""
    names: list[str] = []
    vector = getattr(function, "vector_names", ()) if args else ()
    if vector:  # gs.hvp's stands behind the others, of which some may be left out
        names = parameter_names(function.function, args[:-1], kwargs)
        names.insert(len(args) - 1, next(v for v in vector if v not in names))
        return names
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for k in range(len(args)):
        plain = k < len(parameters) and parameters[k].kind in (
            inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        )  # fmt: skip
        name = parameters[k].name if plain else f"arg{k}"
        names.append(name if name not in kwargs and name not in names else f"arg{k}")
    return names + list(kwargs)


class Signature:
    """Parameters in the user's order, arrays from outside as keywords; arguments and results may be trees."""

    def __init__(
        self, parameters: list[str], positional: int, trees: list[Any], extras: list[str], result: Any
    ) -> None:
        self.arguments_named = parameters
        self.positional = positional
        self.trees = trees  # for each argument: a tree whose leaves are Values, or static values
        self.extras = extras  # names of the arrays that come from outside
        self.result_tree = result  # a tree whose leaves are positions in the outputs of the graph
        self.purpose = ""  # what the function computes, in a sentence
        self.fixed: dict[Any, frozenset[int]] = {}  # of inputs: the axes whose lengths its text is for
        self.stores: tuple[str, ...] = ()  # the user's words for where the last result is stored, a tuple of values
        self.writes: list[Any] = []  # the inputs that the last outputs of the graph are written into

    def name_of(self, leaf: Any) -> str:
        """How an input is written; what comes from outside by its own name."""
        found = (_name_in(tree, leaf, name) for name, tree in zip(self.arguments_named, self.trees, strict=True))
        return next((name for name in found if name is not None), leaf.name or "an array")

    @property
    def parameters(self) -> list[str]:
        """Every parameter."""
        return self.arguments_named + self.extras


class Instance:
    """A part of a result whose class is that of a part of an argument: `type(p)(w=d_w, b=d_b)`."""

    def __init__(self, cls: Any, origin: tuple[Any, ...], fields: dict[str, Any]) -> None:
        self.cls = cls
        self.origin = origin  # a parameter, and the keys that lead on
        self.fields = fields


def with_instances(result: Any, parameters: list[str], arguments: list[Any]) -> Any:
    """A result tree with an Instance for each dataclass and named tuple whose class an argument has, and can be called."""
    known: dict[type, tuple[Any, ...]] = {}

    def look(tree: Any, *path: Any) -> None:
        if _is_made_of_fields(tree) and "type" not in parameters:
            known.setdefault(type(tree), path)
        attributes = has_attributes(tree)
        for key, part in children(tree) or ():
            look(part, *path, key if attributes else (key,))

    for name, argument in zip(parameters, arguments, strict=True):
        look(argument, name)

    def written(tree: Any) -> Any:
        origin = known.get(type(tree))
        if origin is not None:
            names = getattr(tree, "_fields", None) or [f.name for f in dataclasses.fields(tree)]
            return Instance(type(tree), origin, {n: written(getattr(tree, n)) for n in names})
        if type(tree) is dict:
            return {k: written(v) for k, v in tree.items()}
        return type(tree)(map(written, tree)) if type(tree) in (list, tuple) else tree

    return written(result) if known else result


def _is_made_of_fields(value: Any) -> bool:
    """Whether calling the class with the fields gives the instance, and does nothing else."""
    cls: Any = type(value)
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return _is_generated(cls.__new__) and cls.__init__ is object.__init__
    if not dataclasses.is_dataclass(value) or hasattr(cls, "__post_init__") or cls.__new__ is not object.__new__:
        return False
    plain = all(f.init for f in dataclasses.fields(cls)) and cls.__setattr__ in (
        object.__setattr__,
        vars(cls).get("__setattr__"),
    )
    return plain and _is_generated(cls.__init__)


def _is_generated(function: Any) -> bool:
    """Whether the standard library wrote a method from the fields."""
    code = getattr(function, "__code__", None)
    return code is not None and is_generated(code)


def _name_in(tree: Any, leaf: Any, name: str) -> str | None:
    """How a leaf of an argument is written."""
    if tree is leaf:
        return name
    for key, part in children(tree) or ():
        step = key if has_attributes(tree) else f"[{key!r}]"
        found = _name_in(part, leaf, name + step)
        if found is not None:
            return found
    return None


def children(tree: Any) -> list[tuple[Any, Any]] | None:
    """The (key, subtree) pairs of a container, with `.name` keys for dataclasses and named tuples; None for a leaf."""
    if isinstance(tree, Instance):
        return [(f"{tree.cls.__qualname__} {tree.origin}.{name}", part) for name, part in tree.fields.items()]
    if isinstance(tree, dict):
        return list(tree.items())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [(f".{name}", part) for name, part in zip(tree._fields, tree, strict=True)]
    if isinstance(tree, (list, tuple)):
        return list(enumerate(tree))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [(("." + f.name), getattr(tree, f.name)) for f in dataclasses.fields(tree)]
    return None


def has_attributes(tree: Any) -> bool:
    """Whether the keys of a container are attributes: of a dataclass or a named tuple."""
    return dataclasses.is_dataclass(tree) or hasattr(tree, "_fields")


def dataclasses_in(value: Any) -> set[type]:
    """The classes of the dataclasses and named tuples in an argument."""
    parts = children(value)
    if parts is None:
        return set()
    own = {type(value)} if dataclasses.is_dataclass(value) or hasattr(value, "_fields") else set()
    return own.union(*[dataclasses_in(v) for _, v in parts])


def printable(tree: Any) -> bool:
    """Whether a result tree can be written as a literal: dicts with plain keys, lists, tuples, and classes of arguments."""
    if isinstance(tree, Instance):
        return all(map(printable, tree.fields.values()))
    if type(tree) is dict:
        return all(isinstance(k, (str, int, float, bool)) and printable(v) for k, v in tree.items())
    if type(tree) in (list, tuple):
        return all(printable(v) for v in tree)
    return isinstance(tree, (int, np.integer))


def built(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a tree of dicts, lists and tuples with `leaf` of each of its leaves."""
    if isinstance(tree, Instance):
        return tree.cls(**{name: built(part, leaf) for name, part in tree.fields.items()})
    if isinstance(tree, dict):
        return {key: built(part, leaf) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(built(part, leaf) for part in tree)
    return leaf(tree)


# In words -------------------------------------------------------------------------------------------------------------

_Lengths = Callable[[Value], "list[str] | None"]  # what the lengths of an array are called

_ADDRESS: Any = object.__repr__  # says where in memory a thing is, which varies from run to run
_MANY = 4  # parts of one kind which are described one by one where their lengths have other letters
_OF = {
    "grad": "gradient of {}", "value_and_grad": "value and gradient of {}", "jacobian": "Jacobian of {}",
    "hessian": "Hessian of {}", "hvp": "Hessian of {} times a vector", "jvp": "value and directional derivative of {}",
    "slope": "gradient of {} along a vector", "vmap": "{} for each example",
}  # fmt: skip


def purpose_of(function: Any, place: Site | None) -> str:
    """What a function computes: the first line of its docstring, else where it stands; and which transforms of it."""
    kinds = []
    while hasattr(type(function), "__gradscribe_transform__"):
        kinds += [function.kind] if function.kind in _OF else []
        function = function.function
    name = getattr(function, "__name__", type(function).__name__)
    whole = f"`{name}`" if name.isidentifier() else "the lambda" if name == "<lambda>" else "a function"
    for kind in reversed(kinds):
        whole = _OF[kind].format(whole)
    whole = whole[:1].upper() + whole[1:]
    said = (inspect.getdoc(function) or "").partition("\n")[0].strip() if inspect.isroutine(function) else ""
    if said and not inspect.isbuiltin(function):
        return f"{whole}: {said}" if kinds else said
    return f"{whole}, {place}." if place is not None else f"{whole}."


def describe(tree: Any, lengths_of: _Lengths | None = None) -> str:
    """A value in words: of an array its dtype, and its lengths where they have names, else how many axes it has."""
    if isinstance(tree, Value):
        kind, dtype = tree.type.kind, tree.type.dtype.name
        if kind == "generator":
            return "a random generator"
        if tree.element is not None:
            return f"a list of {describe(tree.element, lengths_of)}"
        if kind == "array":
            lengths = None if lengths_of is None else lengths_of(tree)
            return f"{len(tree.type.shape)}-d {dtype}" if lengths is None else f"{dtype}[{', '.join(lengths)}]"
        return "a Python number" if kind == "python" else dtype
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{k}: {describe(v, lengths_of)}" for k, v in tree.items()) + "}"
    if hasattr(tree, "_fields") or (dataclasses.is_dataclass(tree) and not isinstance(tree, type)):
        parts = ", ".join(f"{key[1:]}: {describe(part, lengths_of)}" for key, part in children(tree) or ())
        return f"{type(tree).__name__}({parts})"
    if isinstance(tree, (list, tuple)):
        kinds = [describe(t, lengths_of) for t in tree]
        plain = {describe(t) for t in tree}
        if len(tree) > 1 and len(set(kinds)) == 1:
            return f"{len(tree)} times {kinds[0]}"
        if len(tree) > _MANY and len(plain) == 1:
            return f"{len(tree)} times {plain.pop()}"
        inner = ", ".join(kinds)
        return f"[{inner}]" if isinstance(tree, list) else f"({inner})"
    if type(tree).__repr__ is _ADDRESS:
        return getattr(tree, "__name__", None) or type(tree).__name__
    return getattr(tree, "__name__", None) or repr(tree)
