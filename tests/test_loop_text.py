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
        lambda r, i, v: ([r(o.mul, v, 2.0, name="b")], []), [start], test=lambda t, v: t(o.lt, t(np.sum, t(o.mul, v, v)), 1e3), names=["b"]
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
