"""Optimisers by the names of torch.optim, for Tensors with `.grad` and for pytrees of arrays."""

from __future__ import annotations

from . import lr_scheduler
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .optimizers import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, RMSprop

__all__ = ["LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Optimizer", "RMSprop", "lr_scheduler"]
