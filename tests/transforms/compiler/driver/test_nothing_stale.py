"""Nothing is stale: whatever reaches a function from outside and changes, the very next compiled call knows it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

from ways import WAYS, Way

EAGER = frozenset([  # what runs eagerly, with a warning that names the line; all other ways are compiled
    "module_looked_up_in_sys_modules", "globals_as_a_dict", "text_that_is_evaluated", "cached_helper",
    "singledispatch_helper", "attribute_by_attrgetter", "attributes_as_a_dict", "dict_of_an_object", "descriptor",
    "getattr_of_a_class", "object_made_inside", "objects_of_classes_with_all_sorts_of_members",
    "base_that_is_called_by_name", "class_by_its_tree", "class_of_an_argument", "int_enum_member", "chain_map",
    "view_of_a_dict", "bytes_in_memory", "array_of_the_standard_library", "iterator", "generator",
    "environment_variable", "context_variable", "thread_local", "random_generator", "random_state_of_numpy",
    "setting_of_numpy", "buffer_size_of_numpy", "print_options_of_numpy", "setting_of_scipy", "workers_of_scipy",
    "numbers_of_other_types", "vectorized_helper", "array_read_as_numbers",
    "array_by_its_buffer", "structured_array", "masked_array", "array_of_objects", "deep_copy_inside",
    "function_that_is_made_inside", "weak_reference", "abstract_base_with_a_registry", "one_argument_in_two_places",
    "shared_memory", "flags_of_an_array", "base_of_an_array", "decisions_about_an_array", "array_as_bytes", "array_as_a_set",
    "array_of_another_byte_order", "super_of_a_value", "clock_and_files", "date_of_today",
])  # fmt: skip
CALLS = 3  # of each state: captured, checked again, and from the fast path


def outcomes(case: Way, transform: Callable[[Any], Any]) -> tuple[list[Any], list[str]]:
    """What the function gives in each state, called a few times with other numbers, and what was warned of."""
    steps = case()
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", gs.EagerWarning)
        try:
            way = next(steps)
            function, made = way if isinstance(way, tuple) else (way, lambda x: x)
            run = transform(function)
            for _ in range(1000):
                for k in range(CALLS):
                    try:
                        found.append(run(made(np.array([0.5, -1.25, 2.0]) * (k + 1))))
                    except Exception as error:
                        found.append(error)
                try:
                    next(steps)
                except StopIteration:
                    break
        finally:
            steps.close()
    return found, [str(w.message) for w in caught if w.category is gs.EagerWarning]


def same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected) >= 2 * CALLS
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        state = f"state {k // CALLS}, call {k % CALLS}"
        if isinstance(b, Exception) or isinstance(a, Exception):
            assert type(a) is type(b), (state, a, b)
        else:
            assert difference(a, b) is None, (state, difference(a, b), a, b)


@pytest.mark.parametrize("name", WAYS)
def test_the_next_call_knows(name: str) -> None:
    case = WAYS[name]
    expected, _ = outcomes(case, lambda f: f)
    assert len({repr(e) for e in expected[CALLS - 1 :: CALLS]}) > 1, "the change changes nothing"
    found, warned = outcomes(case, lambda f: gs.compile(f, verify="first calls", max_specialisations=40))
    same(found, expected)
    assert len(warned) <= 1, warned
    assert not warned or (name in EAGER and ".py:" in warned[0]), warned


@pytest.mark.parametrize("name", WAYS)
def test_so_does_its_gradient(name: str) -> None:
    case = WAYS[name]
    expected, said = outcomes(case, gs.value_and_grad)
    found, warned = outcomes(case, lambda f: gs.compile(gs.value_and_grad(f), max_specialisations=40))
    same(found, expected)
    assert len(warned) <= 1 + len(said), warned
