"""Function to function: gradients, compilation, comparison. Each module is loaded at the first use of what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# What the methods of every transform call (`source`, `graph`, `program`, `compare`, `compile`). It stands above transform.py, and
# the face puts it in here.
METHODS: dict[str, Callable[..., Any]] = {}
