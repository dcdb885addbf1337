"""Program -> Python source: the steps of the target, the definitions of all functions, and the imports that they need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import gast

from ....runtime.arrays import PLACE
from ....runtime.ir.graph import Graph
from ....runtime.ir.opcodes import Function
from ..passes.rewrite import is_elementwise
from ..schedule.program import Program
from ..schedule.signature import Signature
from ..schedule.steps import program_of
from ..schedule.verify import verified
from .definition import definition
from .deletes import deletes, placed
from .docstrings import Docstring
from .entries import Entries, anew, entries_of
from .printer import to_source
from .spelling import SCIPY, imports_of_users
from .tuples import tuples
from .variables import each_node
from .walk import Walk

__all__ = ["Defined", "defined", "emit", "shaped", "text_of", "walks_of_functions"]

_IMPORTS = {
    "cmath": "import cmath\n", "math": "import math\n", "random": "import random\n",
    "statistics": "import statistics\n", "np": "import numpy as np\n",
    **{module: f"import {module}\n" for module in SCIPY},
}  # fmt: skip


def emit(graph: Graph, signature: Signature, name: str, captured: Graph, steps: Collection[str] | None = None) -> str:
    """The text of a Python function that computes `graph`, after these steps of the schedule, or all.

    `captured` is the graph before the passes, which says more of the lengths of arguments.
    """
    program = program_of(graph, signature, name, steps)
    return text_of(program, signature, Docstring(signature, [captured, graph]), None, steps)


def text_of(
    program: Program, signature: Signature, docstring: Docstring, paths: Iterable[Graph] | None = None,
    steps: Collection[str] | None = None,
) -> str:  # fmt: skip
    """The text of a Program after these steps of the target, or all.

    The docstring tells of the results of its `paths`, where it has several.
    """
    return printed(defined(Walk(program, signature, steps), program.name, docstring, paths).definition)


def shaped(
    program: Program, signature: Signature, steps: Collection[str] | None = None,
    seen: Callable[[str, Program], object] | None = None,
) -> Program:  # fmt: skip
    """Return the Program that the text prints, after these steps of the target, or all; `seen` is told what each makes."""
    return _shaped(Walk(program, signature, steps), seen)


def _shaped(walk: Walk, seen: Callable[[str, Program], object] | None = None) -> Program:
    """Return the program of a walk after the steps of the target; each is verified."""
    program = walk.program

    def joined(program: Program) -> Program:
        return tuples(program, fixed_lengths(program, walk.signature, walk.facts.graph))

    for step, change in {"nesting": walk.nest, "names": walk.name, "deletes": deletes, "tuples": joined}.items():
        if step in walk.steps or step in ("nesting", "names"):  # a walk that nests nothing still orders the lines
            program = verified(change(program), step)
            if seen is not None and (step in walk.steps or step == "names"):
                seen(step, program)
        if step == "deletes":
            program = placed(program)
    return program


def fixed_lengths(program: Program, signature: Signature, graph: Graph) -> dict[str, int]:
    """Return the lengths of the variables that hold nothing but arrays as long as arguments whose length the text is for."""
    known = {v for v, axes in signature.fixed.items() if v.type.kind == "array" and 0 in axes}
    names = {v: signature.name_of(v) for v in known} | dict(program.variables)
    for call in graph.calls if known else ():
        if is_elementwise(call) and any(v in known and v.type.shape == call.outs[0].type.shape for v in call.reads):
            known.add(call.outs[0])
    found: dict[str, set[int | None]] = {}
    for v, name in names.items():
        found.setdefault(name, set()).add(v.type.shape[0] if v in known else None)
    return {name: n for name, (n, *others) in found.items() if n is not None and not others}


class Defined(NamedTuple):
    """One function in print: its definition, and the lines of it with the calls that they belong to."""

    definition: Any
    entries: Entries


def defined(walk: Walk, name: str, docstring: Docstring | None = None, paths: Iterable[Graph] | None = None) -> Defined:
    """Return the function of the program that a walk goes through, whose steps are taken now."""
    program = _shaped(walk)
    graphs = [walk.facts.graph] if paths is None else paths
    said = walk.purpose if docstring is None else docstring.text(graphs, walk.called())
    entries = anew(entries_of(program.body))
    return Defined(definition(program, walk.signature, name, said, entries, walk.section), entries)


def printed(tree: Any) -> str:
    """The text of a definition, behind the functions that it calls and the imports that they need."""
    trees = [*[defined(walk, name).definition for name, walk in walks_of_functions(tree).items()], tree]
    nodes = [node for one in trees for node in each_node(one)]
    used = {node.id for node in nodes if isinstance(node, gast.Name)}
    used |= {
        f"{node.value.id}.{node.attr}"
        for node in nodes
        if isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name)
    }
    imports = [line for root, line in _IMPORTS.items() if root in used]
    own = len(used & {"cmath", "math", "random", "statistics"})  # of the standard library
    if own and len(imports) > own:
        imports.insert(own, "\n")
    imports += imports_of_users(used)
    imports = imports_on_device(imports) if PLACE.module is not None else imports
    return "".join([*imports, "\n\n" if imports else "", "\n\n".join(map(to_source, trees))])


def imports_on_device(imports: list[str]) -> list[str]:
    """The imports of a text that computes with CuPy: under the names that it has for NumPy and SciPy."""
    made = [line.replace("import numpy as np", "import cupy as np") for line in imports]
    if not any("import scipy" in line for line in made):
        return made
    return [line.replace("import scipy", "import cupyx.scipy") for line in made] + ["from cupyx import scipy\n"]


def walks_of_functions(tree: Any) -> dict[str, Walk]:
    """Return the walks through the functions that a definition calls, by their names, in the order of the text."""
    functions = {node.function.__name__: node.function for node in each_node(tree) if hasattr(node, "function")}
    return {name: _walk_of(functions[name]) for name in sorted(functions)}


def _walk_of(function: Function) -> Walk:
    graph = function.graph
    result = tuple(range(len(graph.outputs))) if len(graph.outputs) > 1 else 0
    signature = Signature(function.parameters, len(graph.inputs), list(graph.inputs), [], result)
    walk = Walk(program_of(graph, signature, function.__name__), signature)
    walk.section = "backward" if graph.calls[0].backward else "forward"
    walk.purpose, walk.naming.result = function.purpose, walk.naming.stem
    for v in graph.outputs:
        if v.name in function.parameters:  # a sum that goes on in its variable
            walk.region.slots[v] = [v.name]
    return walk
