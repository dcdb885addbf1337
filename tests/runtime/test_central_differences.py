"""Central differences: their slopes, jumps and noise, and that what is moved is put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradscribe.runtime.central_differences import central


def test_an_element_is_moved_down_and_up_and_put_back() -> None:
    x, seen = np.array([[1.0, -0.0], [3.0, np.inf]]), []
    before = x.copy()
    ends = central(lambda: [seen.append(x.copy()) or x[0, 0] ** 2, x[:, 0] * 2], x, (0, 0), 1.0, 0.25)
    assert [v[0, 0] for v in seen] == [0.75, 1.25]
    assert all(v.ravel()[1:].tobytes() == before.ravel()[1:].tobytes() for v in seen)  # the others stay, -0.0 too
    assert x.tobytes() == before.tobytes()
    assert (ends.slope(), ends.jump(1.0), ends.moved) == (2.0, 0.5, 0.5)
    assert ends.slope(1).tolist() == [2.0, 0.0]


def test_all_elements_move_along_a_direction() -> None:
    z, v = np.array([1.0 + 1j, 2.0]), np.array([1j, 1.0 - 1j])
    ends = central(lambda: [np.sum(z * z)], z, ..., v, 2.0**-10)
    assert ends.slope() == np.sum(2 * z * v)
    np.testing.assert_array_equal(ends.moved, 2.0**-9 * v)


def test_what_moved_is_what_the_dtype_holds() -> None:
    x = np.array([1.0], np.float32)
    ends = central(lambda: [float(x[0])], x, (0,), 1.0, 1e-7)
    assert ends.moved == ends.above[0] - ends.below[0] != 2e-7
    assert ends.noise(2.0**-23) == pytest.approx(30 * 2.0**-23 / 1e-7)


def test_after_an_error_the_array_is_as_before() -> None:
    x = np.array([1.0, 2.0])

    def fail() -> Any:
        x[...] = 7.0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        central(fail, x, ..., np.ones(2), 0.5)
    assert x.tolist() == [1.0, 2.0]
