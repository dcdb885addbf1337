"""Texts of generated source are forgotten with their functions, also while somebody goes through linecache's entries."""

from __future__ import annotations

import gc
import linecache
import os
from typing import Any

import numpy as np
import pytest

import gradscribe as gs


def test_a_function_that_ends_while_linecache_looks_for_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    linecache.clearcache()
    linecache.getlines(__file__)  # a file, which comes first
    held = [gs.compile(gs.grad(lambda x: np.sum(np.sin(x) * 1.2345)))]
    held[0](np.ones(2))
    mine = [name for name, entry in linecache.cache.items() if "1.2345" in "".join(entry[2]) and name != __file__]
    assert mine
    stat = os.stat

    def last_use(*args: Any, **kwargs: Any) -> Any:
        if held:
            held.clear()
            gc.collect()
        return stat(*args, **kwargs)

    monkeypatch.setattr(os, "stat", last_use)
    linecache.checkcache()
    monkeypatch.undo()
    linecache.checkcache()
    assert not held
    assert not set(mine) & set(linecache.cache)
