"""Loops and branches in print: hand-made graphs of every form, and random ones; the text gives what the graph gives."""

from __future__ import annotations

import operator as o
import re
import subprocess
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.ir.opcodes import AND, NOT
from gradscribe.runtime.rules.indexing import index_add
from gradscribe.transforms.compiler.driver import specialise

from region_graphs import Builder, checked, lines, text_of

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
        d_b = np.ones_like(a)
        for _ in range(steps):
            d_b = d_b * 2.0
        return b, d_b
        """,
    )


def test_carried_values_change_places() -> None:
    b = Builder()
    a, c, n = b.arg(V, "a"), b.arg(V * 2, "b"), b.arg(5, "n")
    p, q, _ = b.scan(lambda r, i, a, c: ([c, r(o.add, a, c)], []), [a, c], n=n, names=["a", "b"])
    printed(checked(b.graph(p, q), [V, V * 2, 5], [V, V * 2, 0], [V, V, -1]), """
        for _ in range(n):
            a, b = b, a + b
        return a, b
    """)  # fmt: skip
    b = Builder()
    args = [b.arg(V * k, name) for k, name in enumerate("abc")]
    p, q, s, _ = b.scan(lambda r, i, x, y, z: ([y, z, x], []), args, n=4, names=list("abc"))
    printed(checked(b.graph(p, q, s), [V, V * 2, V * 3]), """
        for _ in range(4):
            a, b, c = b, c, a
        return a, b, c
    """)  # fmt: skip


def test_carried_values_that_are_equal_constant_or_read_outside() -> None:
    def body(r: Any, i: Any, a: Any, b: Any, c: Any, same: Any) -> Any:
        s = r(np.sin, a)
        return [s, s, 2.0], []

    b = Builder()
    x, y, z = b.arg(V, "a"), b.arg(V * 2, "b"), b.arg(1.0, "c")
    p, q, s, _ = b.scan(body, [x, y, z], inv=[x], n=2, names=["a", "b", "c"])
    printed(checked(b.graph(p, q, s, x), [V, V * 2, 1.0]), """
        a_2 = a
        for _ in range(2):
            a_2 = np.sin(a_2)
            b, c = a_2, 2.0
        return a_2, b, c, a
    """)  # fmt: skip


def test_a_number_of_trips_and_a_test() -> None:
    b = Builder()
    x = b.arg(V, "x")
    p, trips = b.scan(
        lambda r, i, v: ([r(o.mul, v, 2.0)], []), [x], n=10, names=["x"],
        test=lambda t, v: t(o.lt, t(np.sum, t(np.abs, v)), 20.0),
    )  # fmt: skip
    printed(checked(b.graph(p, trips), [V], [V * 100]), """
        steps = 0
        for _ in range(10):
            if not np.abs(x).sum() < 20.0:
                break
            x = x * 2.0
            steps += 1
        return x, steps
    """)  # fmt: skip


def test_a_flag_and_a_test_of_several_statements() -> None:
    def body(r: Any, i: Any, v: Any, stopped: Any) -> Any:
        w = r(o.mul, v, 2.0, name="x")
        return [w, r(o.gt, r(np.sum, w), 10.0)], []

    b = Builder()
    p, _, _ = b.scan(body, [b.arg(V, "x"), False], test=lambda t, v, f: t(NOT, f), names=["x", "stopped"])
    printed(checked(b.graph(p), [V], [V * 100]), """
        stopped = False
        while not stopped:
            x = x * 2.0
            stopped = x.sum() > 10.0
        return x
    """)  # fmt: skip

    def test(t: Any, v: Any) -> Any:
        s = t(np.sum, v, name="s")
        return t(AND, t(o.gt, s, 0.1), t(o.lt, s, 100.0))

    b = Builder()
    p, _ = b.scan(lambda r, i, v: ([r(o.mul, v, 2.0, name="x")], []), [b.arg(V, "x")], test=test, names=["x"])
    printed(checked(b.graph(p), [V], [V * 100]), """
        while True:
            s = x.sum()
            if not (s > 0.1 and s < 100.0):
                break
            x = x * 2.0
        return x
    """)  # fmt: skip


def test_the_place_of_a_trip_in_a_while() -> None:
    b = Builder()
    x = b.arg(V, "x")
    p, _ = b.scan(
        lambda r, i, v: ([r(o.add, v, i)], []),
        [x],
        names=["x"],
        place="k",
        test=lambda t, v: t(o.lt, t(np.sum, v), 9.0),
    )
    printed(checked(b.graph(p), [V], [V * 100]), """
        k = 0
        while x.sum() < 9.0:
            x = x + k
            k += 1
        return x
    """)  # fmt: skip


def test_lists_are_walked_forward_and_back() -> None:
    b = Builder()
    x = b.arg(V, "x")
    h, hs, gs, trips = b.scan(lambda r, i, v: ([r(np.sin, v, name="h")], [v, r(np.cos, v)]), [x], n=3, names=["h"])
    d, ds, _ = b.scan(
        lambda r, i, d, h, g: ([r(o.mul, d, g)], [r(o.mul, h, d)]), [b(np.ones_like, x)], [hs, gs], n=trips, reverse=True,
        names=["d_h", "h", "g"],
    )  # fmt: skip
    s, _ = b.scan(
        lambda r, i, a, d: ([r(o.add, a, r(o.mul, d, i))], []), [b(np.zeros_like, x)], [ds], names=["s", "d"], place="k"
    )
    printed(checked(b.graph(h, d, s), [V]), """
        h, hs, cos_hs = x, [], []
        for _ in range(3):
            hs.append(h)
            cos_hs.append(np.cos(h))
            h = np.sin(h)
        d_h, h_before_d_hs = np.ones_like(x), []
        for h_before, g in zip(reversed(hs), reversed(cos_hs)):
            h_before_d_hs.append(h_before * d_h)
            d_h = d_h * g
        h_before_d_hs.reverse()
        s = np.zeros_like(x)
        for k, d in enumerate(h_before_d_hs):
            s = s + d * k
        return h, d_h, s
    """)  # fmt: skip


def test_nested_loops_and_lists_of_lists() -> None:
    def outer(r: Any, i: Any, v: Any) -> Any:
        w, ws, steps = r.scan(
            lambda q, j, w: ([q(np.sin, w, name="v")], [w]), [v], names=["v"],
            test=lambda t, w: t(o.gt, t(np.sum, t(o.mul, w, w)), 1.0),
        )  # fmt: skip
        return [r(o.mul, w, 2.0, name="v")], [ws, steps]

    def back(r: Any, i: Any, d: Any, ws: Any, steps: Any) -> Any:
        e = r(o.mul, d, 2.0)
        f, _ = r.scan(
            lambda q, j, d, w: ([q(o.mul, d, q(np.cos, w))], []), [e], [ws], n=steps, reverse=True, names=["d_v", "v"]
        )
        return [f], []

    b = Builder()
    x = b.arg(V, "x")
    v, lists, steps, n = b.scan(outer, [x], n=4, names=["v"])
    b.backward = True
    d, _ = b.scan(back, [b(np.ones_like, x)], [lists, steps], n=n, reverse=True, names=["d_v", "v", "steps"])
    printed(checked(b.graph(v, d), [V], [V * 0]), """
        # forward
        v, saved = x, []
        for _ in range(4):
            vs = []
            while (v * v).sum() > 1.0:
                vs.append(v)
                v = np.sin(v)
            v = v * 2.0
            saved.append((vs, len(vs)))

        # backward
        d_v = np.ones_like(x)
        for vs, steps in reversed(saved):
            d_v = d_v * 2.0
            for v_2 in reversed(vs):
                d_v = d_v * np.cos(v_2)
        return v, d_v
    """)  # fmt: skip


def test_parameters_that_are_called_as_builtins() -> None:
    b = Builder()
    x, n = b.arg(V, "reversed"), b.arg(3, "zip")
    _, hs, _ = b.scan(lambda r, i, v: ([r(np.sin, v, name="h")], [v]), [x], n=n, names=["h"])
    d, _ = b.scan(
        lambda r, i, d, h: ([r(o.mul, d, h)], []), [b(np.ones_like, x)], [hs], n=n, reverse=True, names=["d", "h"]
    )
    printed(checked(b.graph(d), [V, 3], [V, 0]), """
        h, hs = reversed, []
        for _ in range(zip):
            hs.append(h)
            h = np.sin(h)
        d = np.ones_like(reversed)
        for i in range(zip - 1, -1, -1):
            d = d * hs[i]
        return d
    """)  # fmt: skip


def test_many_lists_for_one_reverse_are_one_list_of_tuples() -> None:
    def body(r: Any, i: Any, h: Any) -> Any:
        parts = [r(fn, h, name=name) for fn, name in ((np.sin, "s"), (np.cos, "c"), (np.exp, "e"), (np.tanh, "u"))]
        return [r(o.mul, parts[0], parts[1], name="h")], [h, *parts]

    def back(r: Any, i: Any, d: Any, *items: Any) -> Any:
        for item in items:
            d = r(o.mul, d, item)
        return [d], []

    def graph(*also: int) -> Any:
        b = Builder()
        x = b.arg(V, "x")
        h, *lists, trips = b.scan(body, [x], n=3, names=["h"])
        d, _ = b.scan(back, [b(np.ones_like, x)], lists, n=trips, reverse=True, names=["d_h", "h", *"sceu"])
        return b.graph(h, d, *[lists[k] for k in also])

    printed(checked(graph(), [V]), """
        h, saved = x, []
        for _ in range(3):
            s, c, e, u = np.sin(h), np.cos(h), np.exp(h), np.tanh(h)
            saved.append((h, s, c, e, u))
            h = s * c
        d_h = np.ones_like(x)
        for h_before, s, c, e, u in reversed(saved):
            d_h = d_h * h_before * s * c * e * u
        return h, d_h
    """)  # fmt: skip
    assert "h_before, (s, c, e, u) in zip(" in checked(graph(0), [V])  # somebody sees the list of h
    assert "h, saved, cs = x, [], []" in checked(graph(2), [V])  # and that of c


@pytest.mark.parametrize("seed", range(60))
def test_lists_by_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, place = int(rng.integers(2, 14)), rng.random() < 0.3

    def body(r: Any, i: Any, v: Any) -> Any:
        values = [v]
        for _ in range(count):
            one, other = (values[k] for k in rng.integers(len(values), size=2))
            made = r(np.sin, one) if rng.random() < 0.5 else r(o.add, one, other)
            made.name = [None, "h", "z"][rng.integers(3)]
            values.append(made)
        listed = rng.choice(np.arange(len(values)), size=count, replace=bool(rng.random() < 0.3))
        return [values[rng.integers(1, len(values))]], [values[k] for k in listed]

    def back(r: Any, i: Any, d: Any, *items: Any) -> Any:
        for item in items:
            d = r(o.add, r(o.mul, d, item), item) if rng.random() < 0.8 else d
        return [r(o.mul, d, r(o.add, i, 1)) if place else d], []

    b = Builder()
    x, n = b.arg(V, "x"), b.arg(3, "n")
    test = (lambda t, v: t(o.lt, t(np.sum, v), 0.3)) if rng.random() < 0.5 else None
    h, *lists, trips = b.scan(body, [x], n=n, test=test, names=["h"])
    times = trips if test is not None or rng.random() < 0.5 else n
    d, _ = b.scan(back, [b(np.ones_like, x)], lists, n=times, reverse=True, names=["d_h"])
    also = [v for v in (lists[0], trips) if rng.random() < 0.2]
    checked(b.graph(h, d, *also), [V, 3], [V * 2, 0], [-V, 7])


# Branches ------------------------------------------------------------------------------------------------------------


def test_an_arm_that_changes_nothing_is_left_out() -> None:
    def arms(b: Any, x: Any, name: str) -> Any:
        pred = b(o.gt, b(np.sum, x), 0.0)
        return b.cond(pred, lambda r, x: [x], lambda r, x: [r(o.mul, 100.0, x)], [x], [name])[0]

    b = Builder()
    printed(checked(b.graph(arms(b, b.arg(V, "b"), "c")), [V], [-V]), """
        c = b if b.sum() > 0.0 else 100.0 * b
        return c
    """)  # fmt: skip
    b = Builder()
    printed(checked(b.graph(arms(b, b(o.mul, b.arg(V, "a"), 2.0, name="b"), "b")), [V], [-V]), """
        b = a * 2.0
        if not b.sum() > 0.0:
            b = 100.0 * b
        return b
    """)  # fmt: skip


def test_elif_and_what_only_one_arm_remembers() -> None:
    def last(r: Any, x: Any, other: Any) -> Any:
        return r.cond(
            other, lambda q, x: [q(np.sin, x, name="y"), None],
            lambda q, x: [q(o.mul, q(np.exp, x), x, name="y"), q(np.exp, x, name="e")], [x], ["y", "e"],
        )  # fmt: skip

    def last_back(r: Any, x: Any, other: Any, e: Any) -> Any:
        return r.cond(other, lambda q, x, e: [q(np.cos, x)], lambda q, x, e: [q(o.mul, e, x)], [x, e])

    b = Builder()
    x = b.arg(V, "x")
    s = b(np.sum, x, name="s")
    large, small = b(o.gt, s, 1.0), b(o.lt, s, -1.0)
    y, e = b.cond(large, lambda r, x, other: [r(o.mul, x, x, name="y"), None], last, [x, small], ["y", "e"])
    b.backward = True
    d = b.cond(large, lambda r, x, other, e: [r(o.mul, 2.0, x)], last_back, [x, small, e], ["d_x"])[0]
    printed(checked(b.graph(y, d), [V], [-V], [V * 0]), """
        # forward
        s = x.sum()
        taken = s > 1.0
        mask = s < -1.0
        if taken:
            y = x * x
        elif mask:
            y = np.sin(x)
            e = None
        else:
            y = np.exp(x) * x
            e = np.exp(x)

        # backward
        if taken:
            d_x = 2.0 * x
        else:
            d_x = np.cos(x) if mask else e * x
        return y, d_x
    """)  # fmt: skip


# Writing over --------------------------------------------------------------------------------------------------------


def summed(*inside: Any) -> str:
    """A loop over the rows of a matrix that adds twice each row, at its place, into zeros; `inside` says how."""
    b = Builder()
    x = b.arg(M, "x")
    b.backward = True
    d, _ = b.scan(inside[0], [b(np.zeros_like, x)], inv=[x], n=4, reverse=True, names=["d_x"], place="t")
    return lines(checked(b.graph(d), [M], [-M]))


def twice(r: Any, d: Any, x: Any, at: Any) -> Any:
    return r(index_add, d, at, r(o.mul, r(o.getitem, x, at), 2.0))


def test_a_buffer_of_a_loop_is_added_into() -> None:
    assert "    d_x[t] += x[t] * 2.0\n" in summed(lambda r, t, d, x: ([twice(r, d, x, t)], []))

    def row(r: Any, t: Any, d: Any, x: Any) -> Any:
        return [
            r.scan(
                lambda q, u, d, x, t: ([twice(q, d, x, (t, u))], []), [d], inv=[x, t], n=3, names=["d_x"], place="u"
            )[0]
        ], []

    assert "        d_x[t, u] += x[t, u] * 2.0\n" in summed(row)

    def some(r: Any, t: Any, d: Any, x: Any) -> Any:
        pred = r(o.gt, r(np.sum, r(o.getitem, x, t)), 0.0)
        arms = (lambda q, d, x, t: [twice(q, d, x, t)], lambda q, d, x, t: [d])
        return list(r.cond(pred, *arms, [d, x, t], ["d_x"])), []

    assert "        d_x[t] += x[t] * 2.0\n" in summed(some)


def test_a_buffer_that_somebody_else_sees_is_not() -> None:
    def kept(r: Any, t: Any, d: Any, x: Any) -> Any:
        return [twice(r, d, x, t)], [d]

    b = Builder()
    x = b.arg(M, "x")
    b.backward = True
    zeros = b(np.zeros_like, x)
    d, ds, _ = b.scan(kept, [zeros], inv=[x], n=4, names=["d_x"], place="t")
    assert "d_x[t] +=" not in checked(b.graph(d, ds), [M])
    for fresh in (True, False):
        b = Builder()
        x = b.arg(M, "x")
        b.backward = True
        start = b(np.zeros_like, x) if fresh else x
        d, _ = b.scan(lambda r, t, d, x: ([twice(r, d, x, t)], []), [start], inv=[x], n=4, names=["d_x"], place="t")
        assert "d_x[t] +=" not in checked(b.graph(d, start), [M])


def test_sums_of_the_backward_part_are_added_into() -> None:
    b = Builder()
    x, w = b.arg(M, "x"), b.arg(V, "w")
    b.backward = True
    d, _ = b.scan(
        lambda r, t, d, x, w: ([r(o.add, d, r(o.mul, r(o.getitem, x, t), w))], []), [b(np.zeros_like, w)], inv=[x, w], n=4,
        names=["d_w"], place="t",
    )  # fmt: skip
    assert "    d_w += x[t] * w\n" in lines(checked(b.graph(d), [M, V]))


# Real functions ------------------------------------------------------------------------------------------------------


def test_an_error_in_a_trip_names_the_line() -> None:
    def shifted(a: Any, x: Any) -> Any:
        for k in range(6):
            x = np.linalg.solve(a - k * np.eye(2), x)
            x = x / np.sum(x)
        return x

    compiled = gs.compile(shifted)
    for shift in (0.5, 0.25, 0.125, 0.0625):
        compiled(np.array([[3.0, 1.0], [0.0, 2.0]]) + shift * np.eye(2), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        compiled(np.array([[3.0, 1.0], [0.0, 2.5]]), np.ones(2))
    frames = [(frame.name, frame.line) for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert ("shifted", "x = np.linalg.solve(a - k * np.eye(2), x)") in frames


@pytest.mark.parametrize(("old", "new", "name"), [("np.sin", "np.cos", "h"), ("1.25", "1.5", "z")])
def test_the_loop_that_differs_is_named(monkeypatch: pytest.MonkeyPatch, old: str, new: str, name: str) -> None:
    def f(x: Any) -> Any:
        h = x
        for _ in range(5):
            h = np.sin(h) * 2.0
        z = h * 1.25
        return np.sum(z)

    emit = specialise.emit
    monkeypatch.setattr(specialise, "emit", lambda *args: emit(*args).replace(old, new))
    with pytest.raises(gs.VerifyError, match=f"`{name}` is the first variable that differs"):
        gs.compile(f, verify=True)(V)


def test_ruff_accepts_the_texts(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="ruff comes with the test extra")
    for seed in range(60):
        (tmp_path / f"by_chance_{seed}.py").write_text(text_of(Chance(seed).graph()))
    chance = ("--ignore", "PERF402,PLR0133")  # lists that are copied, and numbers that are compared, by chance alone
    for command in (("check", *chance), ("format", "--check")):
        run = [sys.executable, "-P", "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# Graphs by chance ----------------------------------------------------------------------------------------------------


class Chance:
    """Random graphs over arrays, NumPy scalars, Python ints and lists of what trips gave."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape = (3,) if seed % 2 else (2, 2)  # which may be transposed from trip to trip
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
        found = [v for v in pool if v.type[:3] == like.type[:3] and v.type.kind != "stack"]
        return self.among(found[-3:] if self.rng.random() < 0.6 else found) if found else like

    def ins(self, pool: list[Any]) -> list[Any]:
        kinds = {k: [v for v in pool if v.type.kind == k] for k in ("array", "scalar", "python", "stack")}
        chosen = [self.among(vs) for vs in kinds.values() if vs] + [v for v in pool if self.rng.random() < 0.4]
        return list(dict.fromkeys(chosen))

    def branch(self, b: Builder, pool: list[Any], depth: int) -> None:
        ins = self.ins(pool)
        likes = [self.among([v for v in ins if v.type.kind != "stack"]) for _ in range(self.rng.integers(1, 4))]

        given = []  # by the first arm, of the inputs

        def arm(r: Builder, *params: Any) -> list[Any]:
            mine = dict(zip(ins, params, strict=True))
            inside = self.block(r, list(params), depth + 1)
            found = [self.result(r, inside, mine[v]) for v in likes]
            given.append([params.index(v) if v in params else None for v in found])
            if len(given) == 2:  # something else in the second one
                found = [
                    r(o.mul, v, 2) if a == b is not None and v.type.dtype.kind in "if" else v
                    for v, a, b in zip(found, *given, strict=True)
                ]
            return found

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
        xs = [v for v in stacks if self.rng.random() < 0.9] or [stack]
        inv = [v for v in self.ins(pool) if v not in xs or self.rng.random() < 0.2]
        n = self.among([None, trips]) if trips in pool and trips.type.kind == "python" else None
        reverse = bool(self.rng.random() < 0.6)
        pool += self.scan(b, pool, depth, carry, xs, inv, n, None, reverse, [None, "d_h"])

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
            own = [v for v in inside if v not in r.inputs]
            ys = [self.among(inside) for _ in range(self.among([0, 1, 2]))]
            ys += [self.among(own) for _ in range(self.among([0, 0, 6]))] if own else []
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
        x = self.rng.normal(size=self.shape)
        pool = [b.arg(x, "x"), b.arg(x * 2, "y"), b.arg(np.float64(0.3), "s"), b.arg(3, "n")]
        while self.size < 14:
            self.step(b, pool, 0)
        walked: list[Any] = []
        for stack in [v for v in pool if v.type.kind == "stack" and self.rng.random() < 0.7]:
            if stack not in walked:
                walked += self.families.get(stack, [])
                self.walk(b, pool, 0, stack)
        outputs = [v for v in pool[4:] if self.rng.random() < 0.5 and v.type.kind != "stack"]
        outputs += [v for v in pool if v.type.kind == "stack" and self.rng.random() < 0.2]
        return b.graph(*(outputs or pool[-1:]))


@pytest.mark.parametrize("seed", range(200))
def test_graphs_by_chance(seed: int) -> None:
    chance = Chance(seed)
    cases = [[*chance.rng.normal(size=(2, *chance.shape)), np.float64(chance.rng.normal()), n] for n in (0, 1, 3, 6)]
    checked(chance.graph(), *cases)


def test_of_what_is_carried_no_trip_is_remembered_for_its_shape() -> None:
    def f(x, y):
        before = np.zeros(len(y))
        for i in range(len(x)):
            total = 0.0
            for j in range(len(y)):
                total = total + before[j] + x[i]
            before = y * total
        return before[-1]

    gradient = gs.grad(f)
    x, y = np.linspace(0.5, 1.5, 6), np.linspace(-1.0, 2.0, 5)
    text = str(gradient.source(x, y))
    assert "d_before = np.zeros_like(before)" in text, text
    assert "append" not in text, text
    compiled = gs.compile(gradient, verify=True)
    for n, m in ((6, 5), (3, 2), (6, 1), (0, 4)):
        assert compiled(x[:n], y[:m]).tobytes() == gradient(x[:n], y[:m]).tobytes()


def test_a_gradient_that_goes_on_behind_its_loop_has_its_name() -> None:
    def last_state(e: Any) -> Any:
        a = e[0]
        for t in range(1, len(e)):
            a = np.tanh(a) + e[t]
        return np.sum(a)

    text = str(gs.compile(gs.grad(last_state)).source(np.ones((4, 3))))
    assert text.endswith("    return d_e\n")
    assert "    Returns d_e: like e.\n" in text
    assert "d_e_part" not in text


def text_of_gradient(f: Any, *args: Any, **options: Any) -> str:
    """The source of a gradient, which has eager's bits."""
    transform = gs.grad(f, **options)
    compiled = gs.compile(transform)
    expected, found = (gs.grad(f, **options)(*args), compiled(*args))
    for one, other in zip(np.atleast_1d(expected), np.atleast_1d(found), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return str(compiled.source(*args))


def test_what_is_read_again_has_the_name_of_its_own_list() -> None:
    def f(cs: Any, rs: Any) -> Any:
        total = 0.0
        for c, r in zip(cs, rs, strict=True):
            total = total + np.sum(np.sin(c / r) * r)
        return total

    text = text_of_gradient(f, np.arange(10.0).reshape(5, 2), np.arange(1.0, 6.0))
    assert re.search(r"\n +r = rs\[i\]\n", text), text
    assert " c = rs" not in text


def test_lists_have_the_plurals_of_english() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            stretch = np.sin(x * total)
            energy = np.exp(stretch)
            total = total + np.sum(energy * np.tanh(energy + stretch)) + k
        return total

    text = text_of_gradient(f, np.arange(3.0) * 0.1)
    assert "stretchs" not in text
    assert "energys" not in text


def test_a_divisor_that_is_never_zero_is_called_safe() -> None:
    def f(control: Any, points: Any, t: Any) -> Any:
        curve = (t**2)[:, None] * control[0] + (t**3)[:, None] * control[1]
        return np.sum(np.linalg.norm(curve - points, axis=1))

    args = np.arange(4.0).reshape(2, 2), np.arange(6.0).reshape(3, 2), np.arange(3.0)
    text = text_of_gradient(f, *args)
    assert "    safe_norm = np.where(norm[:, None] == 0, 1.0, norm[:, None])\n" in text
    assert "errstate" not in text


def test_nothing_is_added_to_squares() -> None:
    def f(layers: Any) -> Any:
        return sum(np.sum(W**2) for W in layers) + 0.0 * np.sum(layers[0])

    args = ([np.ones((2, 3)), np.ones((3, 4))],)
    text = str(gs.compile(f).source(*args))
    assert "0 + (" not in text
    assert "(W**2).sum() + (W_2**2).sum()" in text


def test_a_zip_of_arrays_stays_one() -> None:
    def f(x: Any, source: Any, measured: Any) -> Any:
        error = 0.0
        for s, m in zip(source, measured, strict=True):
            x = x * 0.9 + s
            error += (x[-1] - m) ** 2
        return error

    source = str(gs.source(gs.grad(f), V, np.ones(5), np.ones(5)))
    assert "for s, m in zip(source, measured):" in source


def first_bound(x: Any, n: int) -> Any:
    for _ in range(n):
        y = np.tanh(x)
        x = x + 0.1 * y
    return np.sum(y * x)


def first_bound_in_arms(x: Any, n: int) -> Any:
    for _ in range(n):
        y = x * 2 if x[0] > 0 else x * 3
        x = x - y * 0.1
    return np.sum(y)


def first_bound_by_sums(x: Any, n: int) -> Any:
    for _ in range(n):
        y = np.einsum("i,j->ij", x, x)
        z = np.linalg.solve(y + 3 * np.eye(len(x)), y.sum(axis=0))
        x = x + (y @ z) * 0.01
    return np.sum(y[0]) + np.sum(z[None, :])


@pytest.mark.parametrize("f", [first_bound, first_bound_in_arms, first_bound_by_sums])
def test_what_a_loop_binds_first_may_have_any_length(f: Any) -> None:
    gradient = gs.grad(f)
    compiled = gs.compile(gradient)
    for n in range(2, 8):
        x = np.cos(np.arange(1.0, n + 1.0)) + 2.0
        np.testing.assert_array_equal(compiled(x, 4), gradient(x, 4))
    assert str(gs.explain(compiled)).startswith(f"{f.__name__}: 1 specialisation ")


def test_what_a_loop_binds_first_has_no_start_in_the_text() -> None:
    source = str(gs.source(gs.grad(first_bound), V, 4))
    assert "np.zeros" not in source.partition("# backward")[0]
    assert "for y in reversed(ys):" in source
    with pytest.raises(UnboundLocalError):
        gs.compile(gs.grad(first_bound))(V, 0)


def test_lists_of_what_comes_last_are_called_after_the_list() -> None:
    def f(x: Any, a: Any) -> Any:
        out = [x[0]]
        for t in range(1, len(x)):
            out.append(a * x[t] + out[-1] ** 2)
        return np.sum(np.array(out) ** 2)

    source = str(gs.source(gs.grad(f), np.ones(9), 0.5))
    assert "d_outs = list(" in source
    assert "_list" not in source


def test_what_is_read_of_a_list_beside_its_items_is_called_as_one_of_them() -> None:
    def f(Ws: Any, x: Any) -> Any:
        for W in Ws[:-1]:
            x = np.tanh(x @ W)
        return np.sum(x @ Ws[-1])

    Ws = [np.ones((3, 4)), np.ones((4, 5)), np.ones((5, 2))]
    assert "W, W_2, W_3 = Ws" in str(gs.source(gs.grad(f), Ws, np.ones((2, 3))))


def test_a_trip_that_the_user_does_not_name_has_a_name_where_it_is_read() -> None:
    def f(x: Any) -> Any:
        hs = []
        for _ in range(4):
            h = np.tanh(x)
            hs.append(h)
            x = x + 0.1 * h
        return np.sum(hs[-1] * x)

    assert "for i in reversed(range(4)):" in str(gs.source(gs.grad(f), V))
