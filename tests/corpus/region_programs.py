"""Graphs with loops and branches for passes: built call by call, and at random."""

from __future__ import annotations

import operator
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradscribe.runtime.ir.graph import Call, Graph, Value, interpret, type_of
from gradscribe.runtime.ir.opcodes import COND, SCAN, STACK, Branch, Loop, cond, scan, stack_value
from gradscribe.runtime.ir.verify import verify
from gradscribe.runtime.rules.control import count_of

from graphs import Builder, bits

A = np.array([0.5, -1.25, 2.0])


M = np.arange(9.0).reshape(3, 3) / 7 - 0.4


Body = Callable[..., tuple[Sequence[Any], Sequence[Any]]]


class Regions(Builder):
    """A builder that knows loops and branches; their bodies are written down on the values of the first trip."""

    def put(self, op: Any, args: tuple[Any, ...], results: Sequence[Any], outs: Sequence[Value], quiet: bool) -> None:
        self.graph.calls.append(Call(op, args, tuple(outs), None, "tangents" if quiet else False, quiet))
        self.space.update(zip(outs, results, strict=True))

    def now(self, v: Any) -> Any:
        return self.space[v] if isinstance(v, Value) else v

    def scan(
        self, body: Body, carry: Sequence[Any], xs: Sequence[Value] = (), inv: Sequence[Any] = (), n: Any = None,
        test: Callable[..., Any] | None = None, reverse: bool = False, quiet: bool = False,
    ) -> tuple[Value, ...]:  # fmt: skip
        """A loop; `body(b, i, carry, xs, inv)` gives what is carried on and what is stacked."""
        first = [self.now(v) for v in carry]
        items = [self.now(x)[0] for x in xs]
        given = [self.now(v) for v in inv]
        inner = Regions(0, *first, *items, *given)
        k, m = len(carry), len(carry) + len(xs)
        own = inner.inputs[1:]
        for stack, param in zip(xs, own[k:m], strict=True):
            if stack.element.type.kind == STACK:
                param.type, param.element = stack.element.type, stack.element.element
        after, stacked = body(inner, inner.inputs[0], own[:k], own[k:m], own[m:])
        graph = inner.gives(*after, *stacked)
        asked = None
        if test is not None:
            asking = Regions(*first, *given)
            asked = asking.gives(test(asking, asking.inputs[:k], asking.inputs[k:]))
        loop = Loop(graph, asked, reverse)
        with np.errstate(all="ignore"):
            results = scan(loop, tuple(first), tuple([self.now(x) for x in xs]), tuple(given), self.now(n))
        outs = [Value(p.type, p.name) for p in own[:k]]
        outs += [stack_value(v if isinstance(v, Value) else Value(type_of(v))) for v in stacked]
        self.put(SCAN, (loop, tuple(carry), tuple(xs), tuple(inv), n), results, [*outs, Value(type_of(0))], quiet)
        return self.graph.calls[-1].outs

    def cond(
        self, pred: Any, then: Callable[..., Any], orelse: Callable[..., Any], ins: Sequence[Any]
    ) -> tuple[Value, ...]:
        """A branch; `then(b, ins)` gives its results."""
        given = [self.now(v) for v in ins]
        parts = []
        for side in (then, orelse):
            inner = Regions(*given)
            parts.append(inner.gives(*side(inner, inner.inputs)))
        branch = Branch(*parts)
        with np.errstate(all="ignore"):
            results = cond(branch, self.now(pred), tuple(given))
        outs = [
            Value(next(v.type if isinstance(v, Value) else type_of(v) for v in sides if v is not None))
            for sides in zip(*[part.outputs for part in parts], strict=True)
        ]
        self.put(COND, (branch, pred, tuple(ins)), results, outs, False)
        return self.graph.calls[-1].outs


def seen(value: Any) -> Any:
    return [seen(v) for v in value] if isinstance(value, list) else bits(value)


def arrays_in(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, list):
        return [a for v in value for a in arrays_in(v)]
    return [value] if isinstance(value, np.ndarray) else []


def ran(graph: Graph, inputs: list[Any]) -> Any:
    """Results, the memory that they share with inputs and each other, and warnings; or the error."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            results = interpret(graph, inputs)
        except Exception as error:
            return type(error), str(error)
    each = [arrays_in(r) for r in results]
    given = [v for v in inputs if isinstance(v, np.ndarray)]
    shared = [[np.may_share_memory(a, v) for v in given] for arrays in each for a in arrays]
    among = [[any(np.may_share_memory(a, b) for a in one for b in other) for other in each] for one in each]
    lists = [[r is s for s in results if isinstance(s, list)] for r in results if isinstance(r, list)]
    return seen(results), shared, among, lists, {str(w.message).split(" encountered")[0] for w in caught}


def same(before: Graph, after: Graph, inputs: list[Any]) -> None:
    """Both graphs give the same bits, memory and errors, and `after` warns of nothing that `before` does not warn of."""
    verify(after, "the pass")
    expected, found = ran(before, inputs), ran(after, inputs)
    assert found[:-1] == expected[:-1]
    assert found[-1] <= expected[-1] if isinstance(expected[-1], set) else found == expected


def loops_of(graph: Graph) -> list[Call]:
    return [call for call in graph.calls if call.op is SCAN]


def recurrence(n: int = 3) -> tuple[Regions, Graph]:
    """A forward loop that stacks far too much, and a reverse that reads it: as a VJP before the passes."""
    b = Regions(A, M, np.array([1.0, 2.0, -1.0]))
    h0, w, g = b.inputs

    def forward(f: Regions, t: Value, carry: Any, _: Any, inv: Any) -> Any:
        (h,), (w, x) = carry, inv
        row = f.add(operator.getitem, x, t)
        z = f.add(operator.add, f.add(operator.matmul, w, h), row)
        new = f.add(np.tanh, z)
        turned, minus = f.add(np.transpose, w), f.add(operator.neg, h)
        return [new], [h, new, turned, t, minus, w, row, f.add(np.expand_dims, new, 0)]

    end, *stacks, trips = b.scan(forward, [h0], (), [w, w], n)

    def backward(f: Regions, t: Value, carry: Any, xs: Any, inv: Any) -> Any:
        (d_h, d_w), (h, new, turned, place, minus, w, row, wide) = carry, xs
        slope = f.add(operator.sub, 1.0, f.add(operator.mul, new, new, quiet=True), quiet=True)
        d_z = f.add(operator.mul, d_h, slope, quiet=True)
        d_w = f.add(operator.add, d_w, f.add(np.outer, d_z, minus, quiet=True), quiet=True)
        d_z = f.add(
            operator.add,
            d_z,
            f.add(operator.mul, place, f.add(operator.mul, row, h, quiet=True), quiet=True),
            quiet=True,
        )
        d_z = f.add(operator.add, d_z, f.add(np.sum, wide, axis=0, quiet=True), quiet=True)
        d_z = f.add(operator.add, d_z, f.add(np.diagonal, w, quiet=True), quiet=True)
        return [f.add(operator.matmul, turned, d_z, quiet=True), d_w], []

    zeros = b.add(np.zeros_like, w)
    d_h, d_w, _ = b.scan(backward, [g, zeros], stacks, (), trips, reverse=True, quiet=True)
    return b, b.gives(end, d_h, d_w)


class Random:
    """Writes graphs down at random, with loops in loops and branches; the pool holds arrays of three, scalars and ints."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)

    def array(self, b: Regions, pool: list[Value]) -> Value:
        return self.choose.choice([v for v in pool if v.type.kind == "array" and v.type.shape == (3,)])

    def number(self, pool: list[Value]) -> Any:
        scalars = [v for v in pool if v.type.kind == "scalar" or (v.type.kind == "python" and v.type.shape == ())]
        return self.choose.choice([*scalars, 2.0, -1.0, 1, 0.5])

    def calls(self, b: Regions, pool: list[Value], count: int, depth: int, quiet: bool = False) -> None:
        """Write some calls down; what they give goes into the pool."""
        for _ in range(count):
            x, y, c = self.array(b, pool), self.array(b, pool), self.number(pool)
            stacks = [v for v in pool if v.type.kind == "stack" and b.now(v) and v.element.type.shape == (3,)]  # type: ignore[union-attr]
            kinds = ["unary", "unary", "binary", "binary", "scaled", "sum", "view", "row", "twice", "matmul", "size"]
            kind = self.choose.choice(
                kinds + ["loop", "branch"] * 2 * (depth > 0) + ["reverse"] * 3 * bool(stacks and depth)
            )
            if kind == "unary":
                fn = self.choose.choice([np.sin, np.tanh, operator.neg, np.square, np.sqrt, np.exp])
                pool.append(b.add(fn, x, quiet=quiet))
            elif kind == "binary":
                fn = self.choose.choice([operator.add, operator.mul, operator.sub, operator.truediv, np.maximum])
                pool.append(b.add(fn, x, y, quiet=quiet))
            elif kind == "scaled":
                pool.append(b.add(self.choose.choice([operator.mul, operator.add]), x, c, quiet=quiet))
            elif kind == "sum":
                pool.append(b.add(self.choose.choice([np.sum, np.mean, np.max]), x, quiet=quiet))
            elif kind == "view":
                square = [v for v in pool if v.type.kind == "array" and v.type.shape == (3, 3)]
                pool.append(b.add(np.transpose, self.choose.choice(square)))
                pool.append(b.add(operator.getitem, x, slice(None, None, -1)))
            elif kind == "row":
                places = [v for v in pool if v.type.kind == "python" and v.type.dtype.kind == "i"]
                square = [v for v in pool if v.type.kind == "array" and v.type.shape == (3, 3)]
                t: Any = self.choose.choice([*places, 1])
                if abs(b.now(t)) < 3:
                    pool.append(b.add(operator.getitem, self.choose.choice(square), t))
            elif kind == "twice":
                fn = self.choose.choice([np.sin, operator.neg])
                pool += [b.add(fn, x, quiet=quiet), b.add(fn, x, quiet=quiet)]
            elif kind == "size":
                pool.append(b.add(count_of, x))
            elif kind == "matmul":
                square = [v for v in pool if v.type.kind == "array" and v.type.shape == (3, 3)]
                pool.append(b.add(operator.matmul, self.choose.choice(square), x, quiet=quiet))
            elif kind == "branch":
                self.branch(b, pool, depth - 1)
            else:
                self.loop(b, pool, depth - 1, stacks if kind == "reverse" else [])

    def branch(self, b: Regions, pool: list[Value], depth: int) -> None:
        ins = [*pool[:2], pool[1], *[v for v in pool if v.type.kind != "stack" and self.choose.random() < 0.6]]
        gives = self.choose.randrange(1, 4)

        def side(f: Regions, params: list[Value]) -> Any:
            own = list(params)
            self.calls(f, own, 3, depth)
            found: list[Any] = [self.flat(f, own) for _ in range(gives)]
            return found if self.choose.random() < 0.7 else [*found[:-1], params[1]]

        pred = b.add(operator.gt, b.add(np.sum, self.array(b, pool)), 0.0)
        pool.extend(b.cond(self.choose.choice([pred, pred, pred, True]), side, side, ins))

    def flat(self, b: Regions, pool: list[Value]) -> Value:
        """An array in C order, of what is not seen whether it is."""
        v = self.array(b, pool)
        return v if v.type.strides == (8,) else b.add(np.copy, v)

    def loop(self, b: Regions, pool: list[Value], depth: int, stacks: list[Value]) -> None:
        inv = [*pool[:2], pool[1], 0.5, *[v for v in pool if v.type.kind != "stack" and self.choose.random() < 0.5]]
        carry: list[Any] = [self.flat(b, pool) for _ in range(self.choose.randrange(1, 4))]
        carry += [0] * (self.choose.random() < 0.5)
        first = self.choose.choice(stacks) if stacks else None
        beside = [
            v for call in b.graph.calls if first in call.outs for v in call.outs
        ] or stacks  # of one length, for sure
        xs = [v for v in stacks if v is first or (v in beside and first in beside and beside is not stacks)]
        reverse = bool(xs) and self.choose.random() < 0.8
        quiet = reverse

        def body(f: Regions, t: Value, params: Any, items: Any, given: Any) -> Any:
            own = [*given, t, *params, *items]
            self.calls(f, own, self.choose.randrange(2, 7), depth, quiet)
            arrays = [p for p in params if p.type.kind == "array"]
            after: list[Any] = [self.choose.choice([self.flat(f, own), self.flat(f, own), p]) for p in arrays]
            after += [f.add(operator.add, p, 1) for p in params[len(arrays) :]]
            ys = [
                v
                for v in (self.array(f, own), self.array(f, own), *params[:1], *after[:1], t)
                if self.choose.random() < 0.6
            ]
            return after, ys

        test = None
        if not xs and self.choose.random() < 0.3 and len(carry) > 1 and carry[-1] == 0:
            most = self.choose.randrange(4)
            test = lambda f, params, given: f.add(operator.lt, params[-1], f.add(operator.add, most, 0))
        n: Any = None if xs or (test and self.choose.random() < 0.5) else self.choose.choice([0, 1, 2, 3, 3])
        pool.extend(b.scan(body, carry, xs, inv, n, test, reverse, quiet))

    def graph(self) -> Regions:
        b = Regions(M, A, A[::-1].copy(), np.float64(0.7))
        pool = list(b.inputs)
        self.calls(b, pool, 8, 2)
        picked = [v for v in pool[4:] if self.choose.random() < 0.4] or pool[-1:]
        b.gives(*dict.fromkeys(picked))
        return b
