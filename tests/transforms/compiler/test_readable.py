"""Functions from real projects: the gradient by hand, the eager and the compiled one agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

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


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
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
