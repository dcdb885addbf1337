"""The data set that ships with gradscribe: 1,797 scans of handwritten digits (source and licence: data/README.md)."""

from __future__ import annotations

import importlib.resources
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Digits", "load_digits"]


class Digits(NamedTuple):
    """Images as rows of 64 numbers between 0 and 1, with their labels, split for training and testing."""

    train_images: Any
    train_labels: Any
    test_images: Any
    test_labels: Any


def load_digits(test: int = 297, seed: int = 0) -> Digits:
    """The digits in an order that depends on `seed` alone; the last `test` of them are for testing."""
    file = importlib.resources.files(__package__).joinpath("data", "digits.npz")
    with file.open("rb") as stream, np.load(stream) as found:
        images, labels = found["images"].reshape(-1, 64) / 16.0, found["labels"].astype(np.intp)
    order = np.random.default_rng(seed).permutation(len(images))
    images, labels = images[order], labels[order]
    return Digits(images[:-test], labels[:-test], images[-test:], labels[-test:])
