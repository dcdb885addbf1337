"""The same tests on both libraries: `torch` is gradscribe, and PyTorch itself where it is installed (extra `parity`)."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

HAS_TORCH = importlib.util.find_spec("torch") is not None


def _library(name: str) -> Any:
    if name == "gradscribe":
        return gs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
    return torch


@pytest.fixture(params=["gradscribe", "torch"] if HAS_TORCH else ["gradscribe"])
def torch(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The library under test. PyTorch makes float64 by default meanwhile, as NumPy does."""
    library = _library(request.param)
    if library is gs:
        yield gs
        return
    before = library.get_default_dtype()
    library.set_default_dtype(library.float64)
    yield library
    library.set_default_dtype(before)


@pytest.fixture
def numbers() -> Any:
    """What a tensor of either library holds, as an array."""
    return lambda t: np.array(t.detach().tolist())


@pytest.fixture
def checkpoint(torch: Any) -> Any:
    """The checkpoint of the library under test, in the variant that works with everything else (PyTorch asks for it by name)."""
    if torch.__name__ == "gradscribe":
        found = torch.checkpoint
    else:
        from torch.utils.checkpoint import checkpoint as found
    return lambda f, *args, **kwargs: found(f, *args, use_reentrant=False, **kwargs)
