"""gradscribe.optim.lr_scheduler, for type checkers."""

from ..learn.optim.lr_scheduler import *
