"""Exported modules of every op that has a sample: eager's bits, at every size that the module says it takes."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

import samples
from samples_arrays import SAMPLES_ARRAYS
from samples_linalg import SAMPLES_LINALG
from samples_networks import SAMPLES_NETWORKS
from samples_numpy import SAMPLES_NUMPY
from samples_scipy import SAMPLES_SCIPY
from samples_special import SAMPLES_SPECIAL

PARTS = 48
ARRAYS = [*SAMPLES_ARRAYS, *SAMPLES_LINALG, *SAMPLES_NETWORKS, *SAMPLES_NUMPY, *SAMPLES_SCIPY, *SAMPLES_SPECIAL]


def leaves(tree: Any) -> list[Any]:
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def assert_same(found: Any, expected: Any, label: str) -> None:
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b, err_msg=label)


@functools.cache
def op_cases() -> list[tuple[Any, tuple[Any, ...], dict[str, Any], list[Any]]]:
    """Every differentiable sample of every op, as a function that stands on its own, with its arguments."""
    found = []
    for sample in [s for group in samples.SAMPLES.values() for s in group] + ARRAYS:
        for shapes in sample.shapes if sample.differentiable and not sample.integer else ():
            for options in sample.kwargs:
                args = sample.draw(np.random.default_rng(0), shapes)
                if all(a.size for a in args):
                    found.append((sample, shapes, options, args))
    return found


def as_function(sample: Any, count: int, options: dict[str, Any]) -> Any:
    names = ", ".join(f"x{k}" for k in range(count))
    given = "".join(f", {k}=K_{k}" for k in options)
    text = (
        f"def f({names}):\n    out = call({names}{given})\n    total = 0.0\n"
        "    for part in out if isinstance(out, (tuple, list)) else (out,):\n"
        "        total = total + np.sum(np.abs(part * part))\n    return total\n"
    )
    space = {
        "__name__": "user",
        "np": np,
        "call": sample.call or sample.fn,
        **{f"K_{k}": v for k, v in options.items()},
    }
    exec(text, space)
    return space["f"]


def other_shapes(table: dict[str, str], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Shapes that a module says it takes."""
    sizes: dict[str, int] = {}

    def size(axis: str) -> int:
        name, _, least = axis.partition(">")
        return int(axis) if axis.isdigit() else sizes.setdefault(name, int(rng.integers(int(least or 0) + 1, 9)))

    return [tuple(size(a) for a in re.findall(r"[\w>]+", text.partition("[")[2])) for text in table.values()]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_op_and_every_size_that_a_module_says_it_takes(part: int) -> None:
    taken = 0
    for sample, shapes, options, args in op_cases()[part::PARTS]:
        function, argnums = as_function(sample, len(args), options), tuple(range(len(args)))
        gradient = gs.value_and_grad(function, argnums=argnums)
        module: dict[str, Any] = {"__name__": "exported"}
        exec(gs.export(function, *args, argnums=argnums), module)
        label = f"{sample.name} {options} {shapes} {module['_ARGUMENTS']}"
        assert_same(module["f_value_and_grad"](*args), gradient(*args), label)
        for seed in range(3):
            draw = np.random.default_rng(seed)
            other = sample.draw(draw, tuple(other_shapes(module["_ARGUMENTS"], draw)))
            try:
                found = module["f_value_and_grad"](*other)
            except ValueError as error:
                if "another path" not in str(error):
                    with pytest.raises(ValueError, match=re.escape(str(error))):  # eager says the same
                        gradient(*other)
                continue
            assert_same(found, gradient(*other), label)
            taken += [a.shape for a in other] != [a.shape for a in args]
    assert taken > 15
