"""Tree of paths -> text: what paths share is written once, and each fork is an `if` that ends with a return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gast

from ....runtime.ir.graph import Call, Value
from ..schedule.outcomes import OutcomeNode
from ..schedule.program import Guard, Statement
from ..schedule.signature import Signature
from ..schedule.steps import program_of
from .blocks import Fork
from .conditions import condition
from .docstrings import Docstring
from .emit import Emitter, printed
from .release import released

__all__ = ["TreeEmitter", "emit_tree"]


def emit_tree(
    root: OutcomeNode,
    inputs: list[Value],
    signature: Signature,
    results: Sequence[Any],
    name: str,
    docstring: Docstring,
) -> str:
    """The text of a function that computes each path of a tree; `results` are the result trees of the paths."""
    return printed(TreeEmitter(root, inputs, signature, results).function(name, docstring))


class TreeEmitter(Emitter):
    """Writes the paths of a tree.

    What is analysed is all calls in the order of the text, as if each path ran on into the next: so a name is unique along
    every path, and no array is written over that a later arm still reads.
    """

    def __init__(self, root: OutcomeNode, inputs: list[Value], signature: Signature, results: Sequence[Any]) -> None:
        super().__init__(program_of(root.whole(inputs), signature, "tree"), signature)
        self.root = root
        self.inputs = inputs
        self.results = results
        for node in root.nodes():
            if node.is_choice():  # one `if` asks for both
                value = node.arms[0][0].args[0]
                self.facts.uses[value] -= 1
        self.parts: dict[Value | None, list[Statement]] = {None: []}  # by the guard before them
        below: Value | None = None
        heads = {guard.outs[0] for node in root.nodes() for guard, _ in node.arms}
        for statement in self.body:
            if isinstance(statement, Guard) and statement.out in heads:
                below = statement.out
                self.parts[below] = []
            else:
                self.parts[below].append(statement)

    def function(self, name: str, docstring: Docstring | None = None) -> Any:
        """The whole definition."""
        result = self.node(self.root, None)
        self.statements = released(self)
        called = {v: t.id for v, t in self.trees.items() if isinstance(t, gast.Name)}
        said = "" if docstring is None else docstring.text(self.root.straight(self.inputs), called)
        return self.definition(name, said, result)

    def node(self, node: OutcomeNode, below: Value | None) -> Any:
        """Write down what a node has, its arms among it; the expression that its last path returns."""
        while True:
            self.write(self.parts[below])
            if node.path is not None:
                return self.returned(self.results[node.path], node.outputs)
            for guard, under in node.arms[:-1]:
                self.fork(guard, under)
            guard, under = node.arms[-1]
            if not node.is_choice():
                self.guard(guard)
            node, below = under, guard.outs[0]

    def fork(self, guard: Call, under: OutcomeNode) -> None:
        """`if s > 0:` and the paths that take it."""
        test = condition(guard, self.tree(guard.args[0]))
        names, trees, folded, above = self.names.copy(), dict(self.trees), set(self.folded), self.statements
        self.statements, self.indent = [], self.indent + 4
        result = gast.Return(value=self.node(under, guard.outs[0]))
        self.statements = released(self)
        node = gast.If(test=test, body=[], orelse=[])
        above.append((Fork(node, self.statements, result), guard))
        self.statements, self.indent = above, self.indent - 4
        self.names, self.folded = names, folded
        self.trees |= trees  # what an arm named anew is called so there alone
