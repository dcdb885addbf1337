"""gradscribe.autograd.anomaly_mode, for type checkers."""

from ..tracer.autograd.anomaly_mode import *
