"""Graphs with loops and branches made by hand: what tests of their text and of passes over them share."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradscribe.runtime.ir.graph import Call, Graph, Type, Value, interpret, type_of
from gradscribe.runtime.ir.opcodes import COND, SCAN, Branch, Loop, stack_value
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import require
from gradscribe.transforms.compiler.python.emit import emit
from gradscribe.transforms.compiler.schedule.run import run_program
from gradscribe.transforms.compiler.schedule.show import shown
from gradscribe.transforms.compiler.schedule.signature import Signature
from gradscribe.transforms.compiler.schedule.steps import program_of
from gradscribe.transforms.difference import difference


class Builder:
    """A graph that grows call by call; each value has a sample, which says its type."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.calls: list[Call] = []
        self.samples: dict[Value, Any] = {}
        self.backward = False
        self.cotangents: dict[Value, Value] = {}

    def value(self, sample: Any, name: str | None = None) -> Value:
        """A value like `sample`; a list stands for a stack of such as its first item."""
        if isinstance(sample, list):
            item = self.value(sample[0] if sample else np.zeros(1), name)
            made = stack_value(item)
        else:
            made = Value(Type("python", np.dtype(object), (), ()) if sample is None else type_of(sample), name)
        self.samples[made] = sample
        return made

    def arg(self, sample: Any, name: str | None = None) -> Value:
        """One more input."""
        self.inputs.append(self.value(sample, name))
        return self.inputs[-1]

    def sample(self, x: Any) -> Any:
        return self.samples[x] if isinstance(x, Value) else x

    def add(
        self, op: Op, args: tuple[Any, ...], names: Sequence[str | None], samples: Sequence[Any]
    ) -> tuple[Value, ...]:
        outs = tuple([self.value(s, n) for s, n in zip(samples, names, strict=True)])
        self.calls.append(Call(op, args, outs, None, self.backward, self.backward))
        return outs

    def __call__(self, fn: Any, *args: Any, name: str | None = None) -> Value:
        """`fn(*args)`."""
        op = fn if isinstance(fn, Op) else require(fn)
        bound = (*args, *[p.default for p in op.params[len(args) :]])
        with np.errstate(all="ignore"):
            given, words = op.call_form(tuple([_sampled(self, a) for a in bound]))
            found = op.fn(*given, **words)
        return self.add(op, bound, [name], [found])[0]

    def scan(
        self, body: Callable[..., Any], carry: Sequence[Any] = (), xs: Sequence[Any] = (), inv: Sequence[Any] = (), n: Any = None,
        test: Callable[..., Any] | None = None, reverse: bool = False, names: Sequence[str | None] = (), place: str | None = None,
    ) -> tuple[Value, ...]:  # fmt: skip
        """A loop: body(b, i, *carry, *x, *inv) -> (carry, ys), test(b, *carry, *inv) -> truth; `names` of carry and of x."""
        names = [*names, *[None] * (len(carry) + len(xs) - len(names))]
        b = self.region()
        items = [self.samples[x][0] if self.samples[x] else np.zeros(1) for x in xs]
        params = [b.arg(0, place)]
        params += [b.arg(self.sample(v), name) for v, name in zip([*carry, *inv][: len(carry)], names, strict=False)]
        params += [b.arg(v, name) for v, name in zip(items, names[len(carry) :], strict=True)]
        params += [b.arg(self.sample(v), getattr(v, "name", None)) for v in inv]
        after, ys = body(b, *params)
        asked = None
        if test is not None:
            t = self.region()
            truth = test(t, *[t.arg(self.sample(v)) for v in (*carry, *inv)])
            asked = Graph(t.inputs, t.calls, [truth])
        loop = Loop(Graph(b.inputs, b.calls, [*after, *ys]), asked, reverse)
        args = (loop, tuple(carry), tuple(xs), tuple(inv), n)
        outs = [*[b.sample(v) for v in after], *[[b.sample(y)] for y in ys], 0]
        given = [*names[: len(carry)], *[getattr(y, "name", None) for y in ys], None]
        return self.add(SCAN, args, given, outs)

    def cond(
        self,
        pred: Any,
        then: Callable[..., Any],
        orelse: Callable[..., Any],
        ins: Sequence[Any] = (),
        names: Any = None,
    ) -> Any:
        """A branch: then(b, *ins) -> results."""
        graphs, found = [], []
        for arm in (then, orelse):
            b = self.region()
            outs = arm(b, *[b.arg(self.sample(v), getattr(v, "name", None)) for v in ins])
            graphs.append(Graph(b.inputs, b.calls, list(outs)))
            found.append([b.sample(v) for v in outs])
        samples = [a if a is not None else b for a, b in zip(*found, strict=True)]
        return self.add(COND, (Branch(*graphs), pred, tuple(ins)), names or [None] * len(samples), samples)

    def region(self) -> Builder:
        made = Builder()
        made.backward = self.backward
        return made

    def graph(self, *outputs: Any) -> Graph:
        return Graph(self.inputs, self.calls, list(outputs))


def _sampled(b: Builder, tree: Any) -> Any:
    if type(tree) in (tuple, list):
        return type(tree)(_sampled(b, t) for t in tree)
    if isinstance(tree, slice):
        return slice(*[_sampled(b, t) for t in (tree.start, tree.stop, tree.step)])
    return b.sample(tree)


def text_of(graph: Graph) -> str:
    """The text of a graph whose inputs have names."""
    return emit(graph, signature_of(graph), "f", graph)


def signature_of(graph: Graph) -> Signature:
    """The signature of a graph whose inputs have names."""
    names = [v.name or f"arg{k}" for k, v in enumerate(graph.inputs)]
    result = 0 if len(graph.outputs) == 1 else tuple(range(len(graph.outputs)))
    return Signature(names, len(names), list(graph.inputs), [], result)


def checked(graph: Graph, *inputs: list[Any]) -> str:
    """The text, which gives what the graph gives for each list of inputs, bit for bit, and leaves them as they are."""
    text = text_of(graph)
    space: dict[str, Any] = {}
    exec(text, space)
    for given in inputs:
        kept = copy.deepcopy(given)
        with np.errstate(all="ignore"):
            expected = copy.deepcopy(interpret(graph, copy.deepcopy(given)))
            found = space["f"](*given)
        found = [found] if len(graph.outputs) == 1 else list(found)
        problem = difference(found, expected) or difference(given, kept)
        assert problem is None, f"{problem}\n{text}\n{graph}"
        program = program_of(graph, signature_of(graph), "f")
        with np.errstate(all="ignore"):
            found = run_program(program, *given)
        problem = difference([found] if len(graph.outputs) == 1 else list(found), expected) or difference(given, kept)
        assert problem is None, f"{problem}\n{shown(program)}\n{graph}"
    return text


def lines(text: str) -> str:
    """The statements of a text, without the docstring."""
    return inspect.cleandoc(text.partition('"""')[2].partition('"""')[2].strip("\n")) if '"""' in text else text
