"""Rejected loops and branches of a function, which stay Python's, since a function in their place could not do the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gast

from .names import Variables, own_nodes, uses
from .nodes import blocks_of

__all__ = ["Rejections", "swallows"]

_CONTROL = (gast.If, gast.While, gast.For)
_JUMPS = (gast.Break, gast.Continue, gast.Return)
_CATCHING = tuple(getattr(gast, n) for n in ("Try", "TryStar", "With", "AsyncWith") if hasattr(gast, n))
_PLAIN = (*_CATCHING, gast.AsyncFor, gast.Match)
_DEPTH = 30  # of what stands in one another; Python's own compiler has its limits


class Rejections:
    """The statements of one function that stay as they are, each with its reason; and where its jumps go."""

    def __init__(self, function: Any, variables: Variables, keep: dict[tuple[int, int], str]) -> None:
        self._variables = variables
        self._around: dict[
            int, list[Any]
        ] = {}  # of a statement: the compound statements that it stands in, outermost first
        self._blocks: dict[int, tuple[list[Any], int]] = {}
        self._targets: dict[int, Any] = {}  # of a jump: its loop; None for the function
        self._leaving: dict[int, list[Any]] = {}
        self._reasons: dict[int, str] = {}
        self._control: list[Any] = []
        self.native = self._never_moved(function)
        self._enter(function.body, [], [])
        self._reasons |= {id(s): keep[p] for s in self._control if (p := (s.lineno, s.col_offset)) in keep}
        self._settle()
        self.returns = any(
            isinstance(j, gast.Return) for s in self._control if self.reason(s) is None for j in self._leaving[id(s)]
        )

    def reason(self, statement: Any) -> str | None:
        """Why a loop or branch stays as it is; None where it is converted."""
        return self._reasons.get(id(statement))

    def target(self, jump: Any) -> Any:
        """The loop that a jump leaves or continues; None for a return."""
        return self._targets[id(jump)]

    def leaving(self, statement: Any) -> list[Any]:
        """The jumps in a statement that go out of it."""
        return self._leaving[id(statement)]

    def ends(self, loop: Any) -> int:
        """Return the number of jumps in the body of a loop that end it early."""
        return sum(not isinstance(j, gast.Continue) for j in _jumps(loop.body))

    def returning(self, loop: Any) -> list[Any]:
        """The returns in the body of a loop."""
        return [j for j in _jumps(loop.body) if isinstance(j, gast.Return)]

    def adopt(self, branch: Any, loop: Any) -> None:
        """`branch` takes the place of the `else` of `loop`."""
        inner = {id(j) for j in _jumps(loop.body)}
        self._leaving[id(branch)] = [j for j in self._leaving[id(loop)] if id(j) not in inner]

    def _enter(self, block: list[Any], around: list[Any], loops: list[Any]) -> None:
        for k, s in enumerate(block):
            self._around[id(s)], self._blocks[id(s)] = around, (block, k)
            if isinstance(s, _JUMPS):
                self._targets[id(s)] = None if isinstance(s, gast.Return) else loops[-1]
            if isinstance(s, _CONTROL):
                self._control.append(s)
            for inner in blocks_of(s):
                own = isinstance(s, (gast.While, gast.For, gast.AsyncFor)) and inner is s.body
                self._enter(inner, [*around, s], [*loops, s] if own else loops)
        for s in block:
            inside = set(map(id, _statements([s])))
            self._leaving[id(s)] = [
                j
                for j in _jumps([s], own=True)
                if self._targets[id(j)] is None or id(self._targets[id(j)]) not in inside
            ]

    def _never_moved(self, function: Any) -> dict[str, tuple[list[Any], str]]:
        """The names whose binding must stay in the function's own frame: who shares them, and the words for that."""
        found = {n: (nodes, f"binds `{n}`, which a closure shares") for n, nodes in self._variables.shared.items()}
        handlers: dict[str, list[Any]] = {}
        for node in own_nodes(function.body):
            if isinstance(node, gast.ExceptHandler) and node.name is not None:
                name = node.name.id if isinstance(node.name, gast.Name) else node.name
                handlers.setdefault(name, []).append(node)
        for name, nodes in handlers.items():
            inner = {id(n) for h in nodes for n in gast.walk(h)}
            outside = (n for n in own_nodes(function.body) if id(n) not in inner)
            if any(name in {*uses([n]).reads, *uses([n]).binds} for n in outside if isinstance(n, gast.Name)):
                found[name] = ([function], f"binds `{name}`, which an `except` binds too")
        return found

    def _settle(self) -> None:
        """Reject further statements because of those that are rejected, until there are no more."""
        pending = True
        while pending:
            pending = False
            for s in self._control:
                if id(s) not in self._reasons and (why := self._why(s)) is not None:
                    self._reasons[id(s)] = why
                    pending = True

    def _why(self, s: Any) -> str | None:
        around = self._around[id(s)]
        for outer in around:
            if isinstance(outer, _CATCHING) and swallows(outer):
                return f"stands in a {_word(outer)}"
        if len(around) > _DEPTH:
            return "stands too deep in others"
        if isinstance(s, gast.While) and any(isinstance(n, gast.NamedExpr) for n in own_nodes([s.test])):
            return "binds a name in its test"
        for j in self._leaving[id(s)]:
            target = self._targets[id(j)]
            for outer in reversed(around):
                if self._stays(outer):
                    return f"jumps out of a {_word(outer)}"
                if outer is target:
                    break
        moved = self._moved(s)
        for part in moved:
            for inner in _statements([part]):
                if (self._stays(inner) and inner is not s) and self._leaving[id(inner)]:
                    return f"holds a jump out of a {_word(inner)}"
        for node in own_nodes(moved):
            if isinstance(node, gast.Name) and node.id in ("super", "__class__"):
                return "uses super()"
            if isinstance(node, gast.keyword) and node.arg == "stacklevel":
                return "counts the frames of its callers"
        return self._shares(s, moved)

    def _stays(self, s: Any) -> bool:
        return isinstance(s, _PLAIN) or id(s) in self._reasons

    def _moved(self, s: Any) -> list[Any]:
        """The statement, and what its jumps pass over: all that becomes the body of some function."""
        moved = [s]
        if not self._leaving[id(s)]:
            return moved
        targets = [self._targets[id(j)] for j in self._leaving[id(s)]]
        at = s
        for outer in [*reversed(self._around[id(s)]), None]:
            block, k = self._blocks[id(at)]
            moved += block[k + 1 :]
            if all(t is outer for t in targets):
                break
            targets = [t for t in targets if t is not outer]
            at = outer
        return moved

    def _shares(self, s: Any, moved: list[Any]) -> str | None:
        """A closure sees each change of a variable: no function may have one of its own."""
        last = max((n.end_lineno, n.end_col_offset) for n in moved)
        within = {id(n) for outer in self._around[id(s)] for n in gast.walk(outer) if _repeats(outer)}
        for name in sorted(uses(moved).binds & self.native.keys()):
            nodes, words = self.native[name]
            deleted = any(
                isinstance(n, gast.Name) and n.id == name and isinstance(n.ctx, gast.Del) for n in own_nodes(moved)
            )
            if deleted or any((n.lineno, n.col_offset) < last or id(n) in within for n in nodes):
                return words
        return None


_PASSING_ON = frozenset(
    [
        "catch_warnings",
        "enable_grad",
        "errstate",
        "inference_mode",
        "localcontext",
        "no_grad",
        "open",
        "set_grad_enabled",
        "singular",
    ]
)  # context managers that let every exception through


def swallows(s: Any) -> bool:
    """Whether a `try` or `with` may catch what is raised in it."""
    if not isinstance(s, gast.With):
        return True
    made_by = [getattr(item.context_expr, "func", None) for item in s.items]
    return not all(
        getattr(f, "id", None) in _PASSING_ON or getattr(f, "attr", "open") in _PASSING_ON - {"open"} for f in made_by
    )


def _repeats(s: Any) -> bool:
    return isinstance(s, (gast.While, gast.For, gast.AsyncFor))


def _statements(block: list[Any]) -> Iterator[Any]:
    """All statements of the same function in a block."""
    for s in block:
        yield s
        for inner in blocks_of(s):
            yield from _statements(inner)


def _jumps(block: list[Any], own: bool = False) -> Iterator[Any]:
    """The jumps out of a block; with `own` all of those in it."""
    for s in _statements_with_loops(block, 0):
        node, depth = s
        if isinstance(node, gast.Return) or (isinstance(node, (gast.Break, gast.Continue)) and (own or not depth)):
            yield node


def _statements_with_loops(block: list[Any], depth: int) -> Iterator[tuple[Any, int]]:
    """All statements in a block, with how many loops of it each stands in."""
    for s in block:
        yield s, depth
        for inner in blocks_of(s):
            yield from _statements_with_loops(inner, depth + (_repeats(s) and inner is s.body))


def _word(s: Any) -> str:
    return {"AsyncFor": "for", "AsyncWith": "with", "TryStar": "try"}.get(type(s).__name__, type(s).__name__.lower())
