"""Keywords: `where=`, `out=`, `dtype=` of every ufunc of NumPy, axes and the like of every reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from checks import TABLE, agree, weights_for
from samples import Sample

UFUNCS: dict[str, Sample] = {}
for _fn, _group in TABLE.items():
    if isinstance(_fn, np.ufunc) and getattr(np, _fn.__name__, None) is _fn and _fn.signature is None and _fn.nout == 1:
        for _sample in _group:
            if _sample.differentiable and _sample.call is None and not _sample.integer:
                UFUNCS.setdefault(_fn.__name__, _sample)

MASK = np.random.default_rng(0).uniform(size=(2, 3, 4)) > 0.3


def problem_of(f: Callable[..., Any], xs: list[Any]) -> str | None:
    """What is wrong with the gradient of a function at `xs`, eagerly or compiled."""
    rng = np.random.default_rng(1)
    w = weights_for(rng, f(*xs))
    gradient = gs.grad(lambda *a: np.sum(f(*a) * w), argnums=tuple(range(len(xs))))
    gs.compile(gradient, verify="first calls")(*xs)  # raises where they differ by a bit
    return agree(lambda *a: np.sum(f(*a) * w), gradient(*xs), xs, rng, 1e-5)


@pytest.mark.parametrize("name", UFUNCS)
def test_words_of_ufuncs(name: str) -> None:
    fn = getattr(np, name)
    rng = np.random.default_rng(0)
    xs = UFUNCS[name].draw(rng, ((3, 4),) * fn.nin)
    into, mask = rng.normal(size=(3, 4)), MASK[0]

    def masked(*a: Any) -> Any:
        return fn(*a[:-1], out=a[-1] * 1.0, where=mask)

    def written(*a: Any) -> Any:
        buffer = a[-1] * 1.0
        fn(*a[:-1], out=buffer)
        return buffer * a[-1]

    def cast(*a: Any) -> Any:
        return fn(*a[:-1], dtype=np.float64, casting="same_kind") * a[-1]

    for f in (masked, written, cast):
        assert problem_of(f, [*xs, into]) is None, f.__name__


REDUCTIONS = (
    "sum", "prod", "mean", "max", "min", "var", "std", "nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd",
    "ptp", "median", "nanmedian", "cumsum", "cumprod", "nancumsum", "nancumprod",
)  # fmt: skip
WORDS: tuple[dict[str, Any], ...] = (
    {"axis": (-1, 0)}, {"axis": (0, -2), "keepdims": True}, {"axis": -3}, {"axis": (1,)}, {"axis": ()}, {"dtype": np.float64},
    {"initial": 2.5, "axis": (-1,)}, {"initial": 0.7, "where": MASK, "axis": 0}, {"where": MASK, "axis": (1, -1)},
    {"where": MASK[0], "keepdims": True}, {"ddof": 1, "axis": (0, 1)}, {"ddof": 2.5}, {"correction": 1, "axis": -1},
)  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_words_of_reductions(name: str) -> None:
    fn, tried = getattr(np, name), 0
    x = np.random.default_rng(1).uniform(0.5, 2.0, size=(2, 3, 4))
    for words in WORDS:
        try:
            fn(x, **words)
        except (TypeError, ValueError):  # which of them it takes
            continue
        tried += 1
        assert problem_of(lambda x, words=words: fn(x, **words), [x]) is None, words

    def written(x: Any) -> Any:
        buffer = np.zeros(fn(x, axis=1).shape)
        fn(x, axis=1, out=buffer)
        return buffer * 1.0

    assert problem_of(written, [x]) is None
    assert tried > 1
