"""Functions, classes, optimisers and schedules take PyTorch's arguments: the same names in the same order, the same defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import gradscribe as gs
import gradscribe.functional as F

pytestmark = pytest.mark.parity
torch: Any = pytest.importorskip("torch")

# What is ours alone, and what says how PyTorch is to run, or has no meaning here.
EXTRA = {"generator", "hints", "self"}
THEIRS = {"self", "foreach", "fused", "capturable", "differentiable", "out", "min_value", "max_value", "args", "kwargs"}


def arguments(f: Callable[..., Any], left_out: set[str]) -> dict[str, str]:
    found = inspect.signature(f).parameters.items()
    return {name: repr(p.default) for name, p in found if name not in left_out and not name.startswith("_")}


def theirs(name: str) -> Callable[..., Any] | None:
    """PyTorch's function; those that it writes in C++ do not say what they take."""
    f = getattr(torch.nn.functional, f"_{name}", None) or getattr(torch.nn.functional, name, None)
    try:
        return f if f is not None and "args" not in inspect.signature(f).parameters else None
    except ValueError:
        return None


def same(ours: dict[str, str], others: dict[str, str]) -> None:
    assert list(ours) == list(others)
    for name, default in others.items():
        assert ours[name] == default or float(ours[name]) == float(default), name


FUNCTIONS = [name for name in F.__all__ if theirs(name) is not None]


def test_most_functions_say_what_they_take() -> None:
    assert len(FUNCTIONS) > 60


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    other = theirs(name)
    assert other is not None
    same(arguments(getattr(F, name), EXTRA), arguments(other, THEIRS))


@pytest.mark.parametrize("name", [n for n in gs.nn.__all__ if isinstance(getattr(gs.nn, n), type)])
def test_classes(name: str) -> None:
    same(arguments(getattr(gs.nn, name), EXTRA), arguments(getattr(torch.nn, name).__init__, THEIRS))


@pytest.mark.parametrize("name", [n for n in gs.optim.__all__ if n not in ("Optimizer", "lr_scheduler")])
def test_optimisers(name: str) -> None:
    ours = arguments(getattr(gs.optim, name).__init__, EXTRA | {"params"})  # which may be left out, for pytrees
    same(ours, arguments(getattr(torch.optim, name).__init__, THEIRS | {"params"}))


def test_schedules_are_all_there() -> None:
    names = torch.optim.lr_scheduler.__all__
    assert set(names) <= set(gs.optim.lr_scheduler.__all__)
    for name in names:
        theirs = getattr(torch.optim.lr_scheduler, name).__init__
        same(arguments(getattr(gs.optim.lr_scheduler, name).__init__, EXTRA), arguments(theirs, THEIRS))
