"""Programs of many operations: a straight line is no loop."""

from __future__ import annotations

import cProfile
import linecache
import pstats
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import no_collector


def straight(operations: int) -> Any:
    """A function of so many operations, one after the other."""
    lines = ["def f(x):", *["    x = np.sin(x) * 1.01 + 0.1"] * (operations // 3), "    return np.sum(x)"]
    space: dict[str, Any] = {"np": np}
    file, text = f"<{operations} operations>", "\n".join(lines) + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), space)
    return space["f"]


@pytest.mark.slow
def test_ten_thousand_operations_in_a_straight_line_compile() -> None:
    f, x = straight(10_000), np.array([0.3, 0.7])
    compiled = gs.compile(gs.grad(f))
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), gs.grad(f)(x))
    assert compiled.specialisation(x)


def counted(operations: int) -> dict[Any, int]:
    """How often each function was called in a first compiled call of so many operations."""
    compiled, profile = gs.compile(gs.grad(straight(operations))), cProfile.Profile()
    with no_collector():  # garbage that dies in the midst of the call, and calls its weak references, is no work of it
        profile.runcall(compiled, np.array([0.3, 0.7]))
    return {key: row[0] for key, row in pstats.Stats(profile).stats.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("n", "bend", "least"), [(30, 150, 60_000), pytest.param(45, 200, 100_000, marks=pytest.mark.slow)]
)
def test_a_first_call_calls_no_function_out_of_proportion_to_the_operations(n: int, bend: int, least: int) -> None:
    for operations in (6, 72):  # which find what is found once (patterns, too)
        counted(operations)
    few, more, most = map(counted, (n, 2 * n, 3 * n))
    assert sum(most.values()) > least
    bent = {key: (few.get(key, 0), more.get(key, 0), n) for key, n in most.items()}
    assert not {key: counts for key, counts in bent.items() if counts[0] - 2 * counts[1] + counts[2] > bend}
