"""gradscribe.optim, for type checkers."""

from ..learn.optim import *
from . import lr_scheduler as lr_scheduler
