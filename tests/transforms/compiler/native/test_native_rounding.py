"""What cancels is held to how far rounding moves it: kernels of such results serve, and planted faults in them are caught."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler

import gradscribe as gs
from gradscribe.transforms.compiler.driver import native
from gradscribe.transforms.compiler.native.emit import Kernel
from gradscribe.transforms.compiler.native.prelude import ENTRY, prelude

X = np.random.default_rng(0).normal(size=1000)
W = np.random.default_rng(1).normal(size=(40, 1000))


def exponentials(x: Any) -> Any:
    return np.sum(np.exp(x)) - np.sum(np.exp(x[::-1]))


def thirds(x: Any) -> Any:
    return np.sum(x / 3.0) - np.sum(x) / 3.0


def circle(x: Any) -> Any:
    return np.sum(np.sin(x) ** 2 + np.cos(x) ** 2 - 1.0)


def product(x: Any) -> Any:
    return np.sum(W @ x) - np.sum(np.sum(W, axis=0) * x)


def centred(x: Any) -> Any:
    return np.mean(x - np.mean(x)) * 1e-20


def trips(x: Any) -> Any:
    total = np.float64(0.0)
    for k in range(50):
        total = total + np.sum(x * k) - np.sum(k * x[::-1])
    return total


def written(x: Any) -> Any:
    x[:] = x - np.mean(x)
    return np.sum(x)


CANCEL: list[Callable[..., Any]] = [exponentials, thirds, circle, product, centred, trips, written]


def served(f: Callable[..., Any], *args: Any) -> str:
    """What serves the calls of a function."""
    compiled = gs.compile(f, target="native")
    for _ in range(3):
        compiled(*[np.array(a) for a in args])
    (one,) = gs.explain(compiled).specialisations
    return str(one.runs)


def plant(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Put a fault into the text of each kernel."""

    def whole(self: Kernel, vectors: bool) -> str:
        assert re.search(old, self.text)
        return f"{prelude(vectors)}\n{re.sub(old, new, self.text, count=1)}{ENTRY}"

    monkeypatch.setattr(Kernel, "whole", whole)
    monkeypatch.setattr(native, "_said", set())


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("f", CANCEL, ids=lambda f: f.__name__)
def test_results_that_cancel_are_served(f: Callable[..., Any], dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert served(f, X.astype(dtype)).startswith("native")


@needs_compiler
@pytest.mark.parametrize(
    ("f", "old", "new"),
    [
        (exponentials, r" - (?!1\))", " + "), (exponentials, r"exp\(", "exp(1e-9 + "),
        (thirds, r" / 3", " / 3.0000000001 + 0 * 3"),
        (circle, r" sin\(", " sin(1e-10 + "), (product, r" - (?!1\))", " + "),
        (centred, r" - (?!1\))", " + "), (trips, r" - (?!1\))", " + "), (written, r" - (?!1\))", " + 1e-9 - "),
    ],
    ids=lambda x: x.__name__ if callable(x) else x.strip(),
)  # fmt: skip
def test_faults_in_what_cancels_are_caught(
    f: Callable[..., Any], old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, old, new)
    with pytest.warns(RuntimeWarning, match="gave another result natively"):
        assert served(f, X).startswith("numpy: result ")


@needs_compiler
def test_faults_in_small_numbers_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, r"1e-30", "1.0000001e-30")
    with pytest.warns(RuntimeWarning, match="gave another result natively"):
        assert served(lambda x: x * 1e-30, X).startswith("numpy: result ")


@needs_compiler
def test_compare_does_not_call_rounding_a_difference() -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - np.max(x))
        return np.sum(e / np.sum(e))

    found = gs.compare(gs.compile(softmax, target="native"), X[:50])
    assert found.native is not None
    assert found.native.ok, str(found)
