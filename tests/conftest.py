"""What every test gets: a generator of its own, and the process-wide settings as it found them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

os.environ["GRADSCRIBE_CACHE"] = "off"  # also for the processes that tests start: the user's own cache is left alone


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the test's name alone, so that any order and any selection repeats them."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture(autouse=True)
def settings_left_alone() -> Iterator[None]:
    """A test, and the code under it, leaves NumPy's process-wide settings as they were."""
    before = np.geterr(), np.get_printoptions()
    yield
    after = np.geterr(), np.get_printoptions()
    assert after == before, "NumPy's error state or print options were changed and not restored"
