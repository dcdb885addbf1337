"""Learning-rate schedules by the names of torch.optim.lr_scheduler: each changes `lr` of an optimiser's groups step by step."""

from __future__ import annotations

from .cyclic import CyclicLR
from .schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .schedules_in_phases import ChainedScheduler, OneCycleLR, ReduceLROnPlateau, SequentialLR

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
