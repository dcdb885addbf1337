"""Tests of the tests: faults planted in every formula of the registry, each of which finite differences must catch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from case_tables import slow
from checks import agree, weights_for
from faults import FAULTS, caught

LEAST = {
    "missing reduction": 20,
    "dropped conjugate": 50,
    "swapped arguments": 50,
}  # of each kind, or there is none to catch


@pytest.mark.parametrize("kind", slow(FAULTS, LEAST))
def test_a_fault_in_any_formula_is_caught(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    tried = list(FAULTS[kind]())
    missed = [where for where, found in tried if not found]
    with capsys.disabled():
        print(f" {kind}: {len(tried)} planted, {len(tried) - len(missed)} caught ", end="")
    assert len(tried) > LEAST.get(kind, 300)
    assert not missed, f"the samples do not notice this fault, {kind}, in the rules of: {missed}"


def test_a_sound_rule_is_not_accused() -> None:
    for fn in (np.sin, np.multiply, np.sum):
        assert not caught(fn)


def test_finite_differences_see_one_wrong_element() -> None:
    """A gradient that is wrong in one element alone, by one part in a thousand."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=20), weights_for(rng, np.zeros(20))
    right = np.cos(x) * w
    wrong = right.copy()
    wrong[7] *= 1.001

    def loss(y: Any) -> Any:
        return np.sum(np.sin(y) * w)

    assert agree(loss, [right], [x], rng, 1e-6) is None
    assert agree(loss, [wrong], [x], rng, 1e-6) is not None
