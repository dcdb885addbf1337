"""Random numbers as ops: a draw changes its generator, and so has an effect."""

from __future__ import annotations

import random
from typing import Any

from ...unpatched import np
from ..ops import Kind
from ..registry import undifferentiable

__all__ = ["DRAW", "draw", "seeded"]


def draw(generator: Any, method: str, args: tuple[Any, ...], keywords: tuple[tuple[str, Any], ...]) -> Any:
    """Call a method of a generator; `"np.random"` and `"random"` are the modules' own generators."""
    owner = {"np.random": np.random, "random": random}[generator] if isinstance(generator, str) else generator
    return getattr(owner, method)(*args, **dict(keywords))


def seeded(seed: int) -> Any:
    """A new generator."""
    return np.random.default_rng(seed)


DRAW = undifferentiable(draw, "generator, method, args, keywords", Kind.opaque, path="draw", effect=True)
undifferentiable(seeded, "seed", Kind.opaque, path="np.random.default_rng", effect=True)
