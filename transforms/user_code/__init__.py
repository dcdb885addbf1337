"""The user's code under a transform: a scope of its own, in which NumPy, SciPy, math and random take Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# SciPy's functions that call the user's, which may close over Tensors: under a transform another is loaded for each. These stand
# above this folder, and the face puts them in here.
CALLBACKS: dict[tuple[str, str], Callable[[], Any]] = {}
