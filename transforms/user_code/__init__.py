"""The user's code under a transform: a scope of its own, in which NumPy, SciPy, math and random take Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# SciPy's functions whose derivative takes a module of its own: it stands above this folder, and the face puts it in here.
WHOLE_MODULES: dict[tuple[str, str], Callable[..., Any]] = {}

# Those that call the user's function, which may close over Tensors: under a transform another is loaded for each.
CALLBACKS: dict[tuple[str, str], Callable[[], Any]] = {}
