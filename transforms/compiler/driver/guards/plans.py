"""Joined guards of several outcomes of one function: each assumption once, and none that contradicts another."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any

from .guards import Assumption, GuardPlan, same

__all__ = ["joined_plan"]


def joined_plan(plans: Sequence[GuardPlan]) -> GuardPlan | None:
    """The plan of all assumptions; None where they are made of other arguments, or expect different things of one place."""
    whole = copy.copy(plans[0])
    whole.assumptions = list(whole.assumptions)
    whole._space = {k: v for k, v in whole._space.items() if k != "__builtins__"}
    whole.reads = dict(whole.reads)
    known = {(a.kind, a.place or a.what): a for a in whole.assumptions}
    names = {id(v): k for k, v in whole._space.items()}
    for plan in plans[1:]:

        def now(name: str, value: Any) -> str:
            if id(value) not in names:  # by identity: what is equal may still be another place
                names[id(value)] = whole._constant(value)
            return names[id(value)]

        for assumption in plan.assumptions:
            twin = known.get((assumption.kind, assumption.place or assumption.what))
            if twin is not None:
                if not _agree(twin, whole, assumption, plan):
                    return None
                continue
            if assumption.place is None:
                return None
            texts = (assumption.test, assumption.read, assumption.now, assumption.held)
            test, read, quick, held = (text and _renamed(text, plan, now) for text in texts)
            added = assumption._replace(test=test, read=read, now=quick, held=held)
            known[assumption.kind, assumption.place] = added
            whole.assumptions.append(added)
        whole.reads |= plan.reads
        whole._codes = tuple(dict.fromkeys((*whole._codes, *plan._codes)))
    whole.check = whole._compiled()
    return whole


def _agree(a: Assumption, whole: GuardPlan, b: Assumption, plan: GuardPlan) -> bool:
    """Whether two assumptions of one place are the same."""
    constants: tuple[list[Any], list[Any]] = [], []
    texts = [
        _renamed(text, of, lambda _, value, found=found: found.append(value) or "_")  # type: ignore[misc]
        for text, of, found in ((a.test, whole, constants[0]), (b.test, plan, constants[1]))
    ]
    return texts[0] == texts[1] and all(map(_is_same, *constants))


def _is_same(a: Any, b: Any) -> bool:
    try:
        return same(a, b)
    except (TypeError, ValueError):
        return False


def _renamed(text: str, plan: GuardPlan, new: Callable[[str, Any], str]) -> str:
    """An expression over the constants of a plan, each under the name that `new` gives it."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in plan._space and node.id not in plan.names:
            node.id = new(node.id, plan._space[node.id])
    return ast.unparse(tree)
