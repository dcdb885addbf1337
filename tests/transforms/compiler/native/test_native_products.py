"""Native matrix products: inline, by NumPy's BLAS, and by NumPy, for all layouts and for lengths that the capture had not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from native_batches import needs_compiler, together, written

from gradscribe.transforms.compiler.native import kernel as kernels_of_c

pytestmark = needs_compiler
SIZES = (
    (3, 4, 5),
    (17, 33, 9),
    (64, 40, 32),
    (2, 200, 300),
    (300, 200, 2),
    (0, 3, 40),
    (40, 0, 40),
    (200, 2, 200),
    (130, 70, 2),
)


def layouts(rng: np.random.Generator, n: int, m: int, dtype: Any) -> Iterator[Any]:
    """A matrix as it may lie in memory."""
    x = rng.normal(size=(n, m)).astype(dtype)
    yield x
    yield np.asfortranarray(x)
    yield np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3]
    yield np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    yield np.hstack([x, x])[:, :m]
    yield np.broadcast_to(x[:1], x.shape)


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("blas", [True, False], ids=["blas", "none"])
def test_products_of_all_layouts(
    dtype: Any, blas: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not blas:
        monkeypatch.setattr(kernels_of_c, "_blas", lambda: None)
    a, b = rng.normal(size=(4, 3)).astype(dtype), rng.normal(size=(3, 5)).astype(dtype)
    jobs = [
        written(lambda x, y: x @ y, a, b), written(lambda x, y: x @ y, a, b[:, 0].copy()),
        written(lambda x, y: x @ y, a[0].copy(), b), written(lambda x, y: x @ y, a[0].copy(), b[:, 0].copy()),
    ]  # fmt: skip
    kernels, eps = together(jobs), float(np.finfo(dtype).eps)
    for n, k, m in SIZES:
        for x in layouts(rng, n, k, dtype):
            for y in layouts(rng, k, m, dtype):
                vectors = [(x, y[:, 0]), (x[0], y), (x[0], y[:, 0])] if n and m else []
                for kernel, args in zip(kernels, [(x, y), *vectors], strict=False):
                    found, expected = kernel.run(*args), args[0] @ args[1]
                    assert type(found) is type(expected)
                    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                    most = np.abs(args[0]) @ np.abs(args[1])
                    assert np.all(np.abs(found - expected) <= 4 * eps * (k + 1) * most)
    assert [kernel.left for kernel in kernels] == [[0]] * 4
