"""Native calls that lay numbers out anew: bit for bit as NumPy, for lengths, strides and signs that the capture had not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler, together, written
from native_functions import MATRICES, VECTORS, I, J, M, V

pytestmark = needs_compiler


def variants(x: Any) -> list[Any]:
    """Arrays of other lengths and strides."""
    if x.ndim == 1:
        wide = np.linspace(-3.0, 3.0, 40)
        return [x, wide[:21:3], wide[::-1], wide[:4], np.full(5, -0.0), np.array([np.nan, np.inf, -np.inf, -0.0, 1.0])]
    wide = np.linspace(-3.0, 3.0, 64).reshape(8, 8)
    return [x, wide[:5, :6], wide.T[::2, ::-1], wide[:4, :4], np.asfortranarray(wide), np.full((4, 5), -0.0)]


def is_in_c_order(array: Any) -> bool:
    """Whether the axes lie as those of the capture; a signature tells others apart."""
    return bool(np.all(np.diff(np.abs(array.strides)) <= 0))


@pytest.mark.parametrize(
    ("functions", "x"),
    [
        pytest.param(functions[k::3], x, id=f"{name}_{k}", marks=pytest.mark.slow if k else ())
        for name, functions, x in (("vectors", VECTORS, V), ("matrices", MATRICES, M))
        for k in range(3)
    ],
)
def test_they_are_numpys_bit_for_bit(functions: list[Callable[..., Any]], x: Any) -> None:
    kernels = together([written(lambda x, i, j, f=f: f(x, i, j) * 1.0, x, I, J) for f in functions])
    for k, kernel in enumerate(kernels):
        assert not kernel.kernel.called_out, (k, kernel.kernel.called_out)
        for array in variants(x):
            with np.errstate(invalid="ignore"):
                try:
                    expected = kernel.numpy(array, I, J)
                except (IndexError, ValueError) as error:
                    with pytest.raises(type(error)):
                        kernel.run(array, I, J)
                    continue
                found = kernel.run(array, I, J)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), k
            assert found.strides == expected.strides or not is_in_c_order(array), k
            assert np.array_equal(found, expected, equal_nan=True), k
            assert np.array_equal(np.signbit(found[found == 0.0]), np.signbit(expected[expected == 0.0])), k


def test_indices_out_of_bounds_are_errors() -> None:
    (kernel,) = together([written(lambda x, i: x[i] * 2.0, V, I)])
    assert not kernel.kernel.called_out
    for i in (np.array([7]), np.array([0, -8]), np.array([2**62, 0])):
        with pytest.raises(IndexError):
            kernel.run(V, i)
    assert kernel.run(V, np.array([-7, 6, 6])).tolist() == [2 * V[0], 2 * V[6], 2 * V[6]]
    assert kernel.run(V, np.arange(0)).shape == (0,)


def test_copies_of_what_lies_together_use_vectors() -> None:
    def shifted(x: Any) -> Any:
        y = x * 2.0
        z = np.concatenate([y[1:], y[:2]])
        z[:2] += y[2:4]
        return z

    _, kernel = written(shifted, np.linspace(0.0, 1.0, 9))
    lines = [line.strip() for line in kernel.text.splitlines()]
    copies = [k for k, line in enumerate(lines) if line.startswith("for (int64_t i0")]
    assert len(copies) >= 3
    assert all(lines[k - 1] == "#pragma omp simd" for k in copies)
