"""Optimisers by the names of torch.optim, for Tensors with `.grad` and for pytrees of arrays."""

from __future__ import annotations

from . import lr_scheduler
from .formulas import ASGD, SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, RAdam, RMSprop, Rprop
from .lbfgs import LBFGS
from .optimizer import Optimizer

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
    "lr_scheduler",
]  # fmt: skip
