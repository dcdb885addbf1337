"""What the verifier says of loops and branches that are not well formed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradscribe.runtime.errors import VerifyError
from gradscribe.runtime.ir.graph import Call, Graph, Value, type_of
from gradscribe.runtime.ir.verify import verify
from gradscribe.runtime.registry import require
from gradscribe.runtime.rules.control import guard

from region_programs import A, Regions, recurrence

Change = Callable[[Call], Call]


def arg(k: int, change: Callable[[Any], Any]) -> Change:
    """The call with another argument: 0 the loop, 1 what it carries, 2 its stacks, 3 its invariants, 4 the count."""
    return lambda call: call.with_args((*call.args[:k], change(call.args[k]), *call.args[k + 1 :]))


def outs(change: Callable[[Any], Any]) -> Change:
    return lambda call: Call(call.op, call.args, tuple(change(list(call.outs))))


def inner(what: str, change: Callable[[Any], Any]) -> Change:
    """The call with another body: its `inputs`, `calls` or `outputs`."""

    def changed(loop: Any) -> Any:
        parts = {k: getattr(loop.body, k) for k in ("inputs", "calls", "outputs")}
        return loop._replace(body=Graph(**(parts | {what: change(parts[what])})))

    return arg(0, changed)


def asking(*outputs: Any, like: Callable[[Call], Any] = lambda call: (*call.args[1], *call.args[3])) -> Change:
    """The call with a test of these outputs."""
    return lambda call: arg(
        0, lambda loop: loop._replace(test=Graph([Value(v.type) for v in like(call)], [], [*outputs]))
    )(call)


def guarding(calls: list[Call]) -> list[Call]:
    return [*calls, Call(require(guard), (True, "bool", True), (Value(type_of(True)),))]


LOOPS: list[tuple[Change, str]] = [
    (arg(1, lambda carry: ()), "inputs for 1 place"),
    (outs(lambda outs: outs[:-1]), "results of a body with"),
    (arg(4, lambda n: 2.0), "no int of Python"),
    (arg(4, lambda n: None), "nothing that says how often it runs"),
    (arg(1, lambda carry: (1.0,)), "a carried value that is python float64 before, float64[3] within"),
    (outs(lambda outs: [*outs[:2], outs[0], *outs[3:]]), "defined twice"),
    (outs(lambda outs: [outs[0], Value(outs[0].type), *outs[2:]]), "one of its ys is no stack: float64[3]"),
    (outs(lambda outs: [outs[0], outs[3], outs[2], outs[1], *outs[4:]]), "one of its ys holds float64[3, 3]"),
    (arg(3, lambda inv: (inv[0], 2.0)), "an invariant that is python float64, and float64[3, 3] in the body"),
    (inner("inputs", lambda inputs: [inputs[1], inputs[0], *inputs[2:]]), "no int of Python"),
    (inner("inputs", lambda inputs: [*inputs[:-1], Value(inputs[-1].type)]), "used before it is defined"),
    (inner("outputs", lambda outputs: [outputs[3], *outputs[1:]]), "float64[3, 3] after a trip"),
    (inner("outputs", lambda outputs: [Value(outputs[0].type), *outputs[1:]]), "an output is not defined"),
    (inner("calls", guarding), "`guard` within a region"),
    (inner("calls", lambda calls: calls[1:]), "used before it is defined"),
    (asking(True, like=lambda call: ()), "a test of 0 inputs"),
    (asking(True, like=lambda call: call.args[3][:1] * 3), "a test whose inputs are not those of the body"),
    (asking(np.ones(2)), "no single truth value"),
    (asking(True, True), "a test that gives 2 values"),
    (lambda call: arg(0, lambda loop: loop._replace(reverse=True))(asking(True)(call)), "runs in reverse, and has a test"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), LOOPS)
def test_faults_of_loops(change: Change, words: str) -> None:
    _, graph = recurrence()
    verify(graph, "the test")
    graph.calls[0] = change(graph.calls[0])
    with pytest.raises(VerifyError, match=re.escape(words)):
        verify(graph, "the test")


def arm(k: int, **parts: Any) -> Callable[[Any], Any]:
    """A branch with another arm."""

    def changed(branch: Any) -> Any:
        own = {name: getattr(branch[k], name) for name in ("inputs", "calls", "outputs")}
        return branch._replace(**{branch._fields[k]: Graph(**(own | parts))})

    return changed


BRANCHES: list[tuple[Change, str]] = [
    (arg(1, lambda pred: A), "a condition that is no single truth value"),
    (arg(2, lambda ins: ()), "a branch whose inputs are not those of the call"),
    (arg(0, arm(0, outputs=[])), "a branch of 0 outputs for 1 results"),
    (arg(0, arm(0, outputs=[2.0])), "a result that is float64[3], and python float64 or float64[3] in the branches"),
    (arg(0, arm(1, calls=[])), "an output is not defined"),
]


@pytest.mark.parametrize(("change", "words"), BRANCHES)
def test_faults_of_branches(change: Change, words: str) -> None:
    b = Regions(A)
    b.cond(True, lambda f, ins: [f.add(np.sin, ins[0])], lambda f, ins: [f.add(np.cos, ins[0])], b.inputs)
    verify(b.gives(), "the test")
    b.graph.calls[0] = change(b.graph.calls[0])
    with pytest.raises(VerifyError, match=re.escape(words)):
        verify(b.gives(), "the test")
