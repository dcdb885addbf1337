"""Functions from real projects: the gradient by hand, the eager and the compiled one agree."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

from house import ROOT
from readable.collection import Case, cases

CASES = {case.function.__name__: case for case in cases()}


def leaves(tree: Any) -> Iterator[Any]:
    """All arrays in tuples, lists, dicts and dataclasses."""
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if is_dataclass(tree):
        tree = [getattr(tree, field.name) for field in fields(tree)]
    if isinstance(tree, (tuple, list)):
        for part in tree:
            yield from leaves(part)
    else:
        yield np.asarray(tree)


# Its comprehension is kept as a loop, whose source gives a gradient in another layout: without verify it is written out instead.
LAID_OUT_OTHERWISE = pytest.mark.xfail(
    raises=gs.VerifyError, strict=True, reason="a kept loop lays a gradient out otherwise"
)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=LAID_OUT_OTHERWISE if n == "conv1d_net" else ()) for n, c in CASES.items()],
    ids=CASES,
)
def test_by_hand_eager_and_compiled_agree(case: Case) -> None:
    eager = case.differentiated()
    compiled = gs.compile(eager, verify=True)
    expected = eager(*case.args)
    for _ in range(2):
        assert difference(compiled(*case.args), expected) is None
    assert not gs.explain(compiled).eager
    by_hand = list(leaves(case.by_hand(*case.args)))
    assert len(by_hand) == len(list(leaves(expected)))
    for ours, theirs in zip(leaves(expected), by_hand, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-10 * max(1.0, float(np.max(np.abs(ours)))))


def test_there_are_thirty_of_them() -> None:
    assert len(CASES) >= 30


def test_they_are_about_as_long_as_those_by_hand() -> None:
    script = ROOT / "benchmarks" / "readability.py"
    done = subprocess.run(
        [sys.executable, str(script), "--no-times"], capture_output=True, text=True, check=True, timeout=300
    )
    *rows, median, worst = [line.split() for line in done.stdout.splitlines()[1:]]
    assert len(rows) == len(CASES)
    assert float(median[1]) <= 1.4, done.stdout  # 1.29 of the first 38; those that came later are harder
    assert float(worst[1]) <= 2.1, done.stdout  # derived otherwise by hand; the next are at 1.8
    assert max(int(row[4].rstrip("%")) for row in rows) == 0, done.stdout  # anonymous names


def test_a_matrix_of_numbers_is_one_array_also_with_whole_numbers_in_it() -> None:
    def turned(angle: Any, p: Any) -> Any:
        c, s = np.cos(angle), np.sin(angle)
        R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        return (R @ p)[0]

    args = np.float64(0.3), np.array([1.0, 2.0, 3.0])
    compiled = gs.compile(gs.value_and_grad(turned), verify="first calls")
    assert compiled(*args) == gs.value_and_grad(turned)(*args)
    assert "    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])\n" in str(gs.source(gs.grad(turned), *args)) + str(
        gs.source(gs.value_and_grad(turned), *args)
    )
