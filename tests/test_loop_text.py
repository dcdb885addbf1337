"""Loops and branches in print: hand-made graphs of every form, and random ones; the text gives what the graph gives."""

from __future__ import annotations

import operator as o
import textwrap
from typing import Any

import numpy as np
import pytest

from gradscribe.runtime.regions import AND, NOT
from gradscribe.runtime.rules.indexing import index_add

from region_graphs import Builder, checked, lines

V = np.array([0.5, -1.25, 2.0])
M = np.random.default_rng(0).normal(size=(4, 3))


def printed(text: str, expected: str) -> None:
    assert lines(text).strip() == textwrap.dedent(expected).strip()


# Loops ---------------------------------------------------------------------------------------------------------------


def test_while_and_its_reverse() -> None:
    b = Builder()
    a = b.arg(V, "a")
    start = b(o.mul, a, 2.0, name="b")
    out, steps = b.scan(
        lambda r, i, v: ([r(o.mul, v, 2.0, name="b")], []),
        [start],
        test=lambda t, v: t(o.lt, t(np.sum, t(o.mul, v, v)), 1e3),
        names=["b"],
    )
    b.backward = True
    seed = b(np.ones_like, a)
    back, _ = b.scan(lambda r, i, g: ([r(o.mul, g, 2.0)], []), [seed], n=steps, names=["d_b"])
    text = checked(b.graph(out, back), [V], [V * 1e3], [V * 1e-9])
    printed(
        text,
        """
        # forward
        b = a * 2.0
        steps = 0
        while (b * b).sum() < 1000.0:
            b = b * 2.0
            steps += 1

        # backward
        with np.errstate(all="ignore"):
            d_b = np.ones_like(a)
            for _ in range(steps):
                d_b = d_b * 2.0
        return b, d_b
        """,
    )


# Graphs by chance ----------------------------------------------------------------------------------------------------


class Chance:
    """Random graphs over arrays, NumPy scalars, Python ints and lists of what trips gave."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.size = 0
        self.families: dict[Any, list[Any]] = {}  # of lists that are equally long, those, and their length

    def among(self, items: Any) -> Any:
        return items[self.rng.integers(len(items))]

    def of(self, b: Builder, pool: list[Any], kind: str) -> Any:
        found = [v for v in pool if v.type.kind == kind]
        return self.among(found) if found else None

    def step(self, b: Builder, pool: list[Any], depth: int) -> None:
        """One call of any sort, whose results join the pool."""
        self.size += 1
        b.backward = bool(self.rng.random() < 0.15) if depth == 0 else b.backward
        which = self.rng.random()
        name = self.among([None, None, "a", "b", "h"])
        array, other = self.of(b, pool, "array"), self.of(b, pool, "array")
        if which < 0.35:
            fn = self.among([o.add, o.sub, o.mul, np.maximum, np.tanh, np.sin, o.neg, np.transpose, np.copy])
            args = (array,) if fn in (np.tanh, np.sin, o.neg, np.transpose, np.copy) else (array, other)
            args = args if len(args) == 1 or self.rng.random() < 0.8 else (array, self.among([2.0, 1, 0.5]))
            pool.append(b(fn, *args, name=name))
        elif which < 0.45:
            pool.append(b(self.among([np.sum, np.max]), array, name=name))
        elif which < 0.5:
            s = self.of(b, pool, "scalar")
            pool.append(b(self.among([o.add, o.mul]), s, self.among([s, 0.5, array]), name=name))
        elif which < 0.58:
            n = self.of(b, pool, "python")
            if n.type.dtype.kind == "i":
                fn, k = self.among([(o.add, 1), (o.mod, 5), (o.sub, 2), (o.mod, 3)])
                pool.append(b(fn, n, k, name=self.among([None, "n", "k"])))
        elif which < 0.66:
            pool.append(
                b(index_add, array, self.among([0, 1, slice(0, 2)]), self.among([1.0, self.of(b, pool, "scalar")]))
            )
        elif which < 0.72:
            pool.append(b(np.zeros_like, array, name=name))
        elif which < 0.78:
            stack = self.of(b, pool, "stack")
            if stack is not None and stack.element.type.kind == "array" and b.samples[stack]:
                self.walk(b, pool, depth, stack)
        elif depth < 3 and self.size < 60:
            (self.branch if which < 0.87 else self.loop)(b, pool, depth)

    def block(self, b: Builder, pool: list[Any], depth: int) -> list[Any]:
        pool = list(pool)
        for _ in range(self.rng.integers(0, 5)):
            self.step(b, pool, depth)
        return pool

    def pred(self, b: Builder, pool: list[Any]) -> Any:
        s, n = self.of(b, pool, "scalar"), self.of(b, pool, "python")
        found = b(o.gt, s, 0.25) if self.rng.random() < 0.6 else b(o.lt, n, 2)
        if self.rng.random() < 0.2:
            found = b(NOT, found)
        if self.rng.random() < 0.2:
            found = b(AND, found, b(o.lt, n, 4))
        if self.rng.random() < 0.2:
            part = b(o.mul, s, 2.0)
            found = b(AND, found, b(o.gt, b(o.mul, part, part), 0.01))
        return found

    def result(self, b: Builder, pool: list[Any], like: Any) -> Any:
        """A value of the type of `like`."""
        found = [v for v in pool if v.type == like.type and v.type.kind != "stack"]
        return self.among(found[-3:] if self.rng.random() < 0.6 else found) if found else like

    def ins(self, pool: list[Any]) -> list[Any]:
        kinds = {k: [v for v in pool if v.type.kind == k] for k in ("array", "scalar", "python", "stack")}
        chosen = [self.among(vs) for vs in kinds.values() if vs] + [v for v in pool if self.rng.random() < 0.4]
        return list(dict.fromkeys(chosen))

    def branch(self, b: Builder, pool: list[Any], depth: int) -> None:
        ins = self.ins(pool)
        likes = [self.among([v for v in ins if v.type.kind != "stack"]) for _ in range(self.rng.integers(1, 4))]

        def arm(r: Builder, *params: Any) -> list[Any]:
            mine = dict(zip(ins, params, strict=True))
            inside = self.block(r, list(params), depth + 1)
            return [self.result(r, inside, mine[v]) for v in likes]

        names = [self.among([None, v.name, "c"]) for v in likes]
        pool += b.cond(self.pred(b, pool), arm, arm, ins, names)

    def loop(self, b: Builder, pool: list[Any], depth: int) -> None:
        carry = [self.among([v for v in pool if v.type.kind != "stack"]) for _ in range(self.rng.integers(1, 4))]
        xs, n, test, form = [], None, None, self.rng.random()
        count = b(o.mod, next(v for v in pool if v.type.kind == "python" and v.type.dtype.kind == "i"), 4)
        inv = self.ins(pool)
        reverse = False
        if form < 0.3:
            n = self.among([3, 0, count])
            reverse = bool(self.rng.random() < 0.4)
        elif form < 0.5:
            n = self.among([4, count])
            test = True
        else:
            carry.append(count)
            test = "counted"
        names = [self.among([None, getattr(v, "name", None), "a", "s"]) for v in carry]
        pool += self.scan(b, pool, depth, carry, xs, inv, n, test, reverse, names)

    def walk(self, b: Builder, pool: list[Any], depth: int, stack: Any) -> None:
        if self.size > 60 or depth > 2:
            return
        self.size += 1
        carry = [self.of(b, pool, "array")]
        family = self.families.get(stack, [stack])
        stacks, trips = [v for v in family if v in pool and v.type.kind == "stack"], family[-1]
        xs = [v for v in stacks if self.rng.random() < 0.7] or [stack]
        n = self.among([None, trips]) if trips in pool and trips.type.kind == "python" else None
        reverse = bool(self.rng.random() < 0.6)
        pool += self.scan(b, pool, depth, carry, xs, self.ins(pool), n, None, reverse, [None, "d_h"])

    def scan(
        self,
        b: Builder,
        pool: Any,
        depth: int,
        carry: Any,
        xs: Any,
        inv: Any,
        n: Any,
        test: Any,
        reverse: Any,
        names: Any,
    ) -> Any:
        count = len(carry)

        def body(r: Builder, place: Any, *params: Any) -> tuple[list[Any], list[Any]]:
            inside = self.block(r, [*params, place], depth + 1)
            after = [self.result(r, inside, v) for v in params[:count]]
            if self.rng.random() < 0.3 and count > 1 and params[0].type == params[1].type:
                after[0], after[1] = params[1], self.among([params[0], after[0]])
            if test == "counted":
                after[-1] = r(o.add, params[count - 1], 1)
            ys = [self.among(inside) for _ in range(self.rng.integers(0, 3))]
            return after, ys

        def ask(t: Builder, *params: Any) -> Any:
            if test == "counted":
                found = t(o.lt, params[count - 1], 5)
                return found if self.rng.random() < 0.7 else t(AND, found, self.pred(t, list(params)))
            return self.pred(t, list(params))

        *found, trips = b.scan(
            body, carry, xs, inv, n, ask if test else None, reverse, names, place=self.among([None, "t"])
        )
        b.samples[trips] = 1
        self.families |= {key: [*found, trips] for key in found}
        return [*found, trips]

    def graph(self) -> Any:
        b = Builder()
        pool = [b.arg(V, "x"), b.arg(V * 2, "y"), b.arg(np.float64(0.3), "s"), b.arg(3, "n")]
        while self.size < 14:
            self.step(b, pool, 0)
        for stack in [v for v in pool if v.type.kind == "stack" and self.rng.random() < 0.7]:
            self.walk(b, pool, 0, stack)
        outputs = [v for v in pool[4:] if self.rng.random() < 0.5 and v.type.kind != "stack"]
        outputs += [v for v in pool if v.type.kind == "stack" and self.rng.random() < 0.5]
        return b.graph(*(outputs or pool[-1:]))


@pytest.mark.parametrize("seed", range(300))
def test_graphs_by_chance(seed: int) -> None:
    graph = Chance(seed).graph()
    rng = np.random.default_rng(seed)
    cases = [[rng.normal(size=3), rng.normal(size=3), np.float64(rng.normal()), int(n)] for n in (0, 1, 3, 6)]
    checked(graph, *cases)
