"""Arms of the branches and loops in a source, and those that checked calls have entered: a call of another arm is checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["ARMS", "Checked", "Ran", "UncheckedArmError", "mark"]

ARMS = "arms of the text"  # no name that a user could give: what the running function looks at, beside the source


class UncheckedArmError(Exception):
    """A call takes an arm that no checked call has taken."""


class Checked(dict[int, None]):
    """The arms that checked calls have taken; the running function looks up each that it enters."""

    def __missing__(self, arm: int) -> None:
        raise UncheckedArmError(arm)


class Ran(dict[int, None]):
    """The arms that a call on copies entered; of an outcome tree also its outcome, a 1 among 0s."""

    paths: Sequence[list[int]] = ()

    def __missing__(self, arm: int) -> None:
        self[arm] = None


def mark(function: Any) -> int:
    """Look up each arm of a function's tree where it begins; how many there are."""
    count = 0
    nodes: list[Any] = list(ast.walk(function))
    for node in nodes:
        for field in _arms(node):
            arm = getattr(node, field)
            first = arm[0] if isinstance(arm, list) and arm else node.test if arm == [] else arm
            look: Any = ast.Subscript(ast.Name(ARMS, ast.Load()), ast.Constant(count), ast.Load())
            for part in ast.walk(look):
                ast.copy_location(part, first)
            if isinstance(arm, list):
                arm.insert(0, ast.copy_location(ast.Expr(look), first))
            else:
                both = ast.copy_location(ast.Tuple([look, arm], ast.Load()), first)
                last = ast.copy_location(ast.Constant(1), first)
                setattr(node, field, ast.copy_location(ast.Subscript(both, last, ast.Load()), first))
            count += 1
    return count


def _arms(node: Any) -> Iterator[str]:
    """The fields of a node that are arms; what ends with a return is a guard or a path, what is `break` ends a loop."""
    if isinstance(node, (ast.For, ast.While)):
        yield "body"
    elif isinstance(node, ast.IfExp) or (
        isinstance(node, ast.If) and not isinstance(node.body[-1], (ast.Return, ast.Break))
    ):
        yield "body"
        yield "orelse"
