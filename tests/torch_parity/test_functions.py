"""PyTorch's functions of its namespace: values and gradients, on both libraries."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import gradscribe as gs

from function_cases import ARRAYS, DIFFERENTIATED, calls


def flat(found: Any) -> list[Any]:
    """The results of a call: pairs and lists are taken apart."""
    return [part for one in found for part in flat(one)] if isinstance(found, (tuple, list)) else [found]


def outcome(library: Any, call: str) -> tuple[list[Any], list[Any]]:
    """Values and gradients of the sum of squares of a call."""
    values = {
        name: library.tensor(array, requires_grad=name in DIFFERENTIATED) if library is gs
        else library.tensor(array.tolist(), requires_grad=name in DIFFERENTIATED)
        for name, array in ARRAYS.items()
    }  # fmt: skip
    with np.errstate(all="ignore"):
        found = flat(eval(f"t.{call}", {"t": library, **values}))
    depends = [r for r in found if getattr(r, "requires_grad", False)]
    leaves = [values[name] for name in DIFFERENTIATED]
    grads: list[Any] = [None] * len(leaves)
    if depends:
        total = sum((r * r).sum().abs() if r.is_complex() else (r * r).sum() for r in depends)
        grads = list(library.autograd.grad(total, leaves, allow_unused=True))
    plain = [np.array(t.detach().tolist()) if hasattr(t, "detach") else t for t in [*found, *grads]]
    return plain[: len(found)], plain[len(found) :]


@pytest.mark.parametrize("call", calls())
def test_a_function_is_pytorchs(call: str) -> None:
    torch = importlib.import_module("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted, slopes = outcome(torch, call)
        found, gradients = outcome(gs, call)
    finally:
        torch.set_default_dtype(before)
    assert len(found) == len(wanted)
    for one, other in zip([*found, *gradients], [*wanted, *slopes], strict=True):
        if other is None:
            assert one is None or not np.any(one)
        else:
            assert np.shape(one) == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)
