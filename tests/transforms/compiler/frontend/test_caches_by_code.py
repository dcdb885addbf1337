"""What is computed of a code object is computed once, and kept for the newest of them."""

from __future__ import annotations

import cProfile
import pstats
import types
from typing import Any

from gradscribe.transforms.compiler.frontend.hooks import cached_by_code


def codes(number: int) -> list[types.CodeType]:
    """So many code objects, which Python takes for equal."""
    return [compile("x + 1", f"<file {k}>", "eval").replace(co_filename="<one>") for k in range(number)]


def cached(size: int) -> tuple[Any, list[types.CodeType]]:
    """A function that is cached, and the list of what it was computed for."""
    asked: list[types.CodeType] = []

    @cached_by_code(size)
    def name_of(code: types.CodeType) -> str:
        asked.append(code)
        return code.co_name

    return name_of, asked


def test_equal_code_objects_are_told_apart_and_each_is_asked_for_once() -> None:
    name_of, asked = cached(8)
    first, second = codes(2)
    assert first == second
    for code in (first, second, first, second):
        assert name_of(code) == "<module>"
    assert len(asked) == 2
    assert asked[0] is first
    assert asked[1] is second


def test_the_newest_are_kept() -> None:
    name_of, asked = cached(8)
    made = codes(20)
    for code in made:
        name_of(code)
    del asked[:]
    for code in made[-4:]:  # at least half of the size
        name_of(code)
    assert not asked
    name_of(made[0])
    assert [code is made[0] for code in asked] == [True]


def test_a_full_cache_makes_room_in_a_few_calls() -> None:
    name_of, _ = cached(1000)
    made, profile = codes(1001), cProfile.Profile()
    for code in made[:-1]:
        name_of(code)
    profile.runcall(name_of, made[-1])
    calls = sum(row[0] for row in pstats.Stats(profile).stats.values())  # type: ignore[attr-defined]
    assert calls < 20
