"""gradscribe.distributed: gradients over data on many machines, by Dask and by MPI."""

from __future__ import annotations

from .errors import LostSchedulerError, LostShardError, LostWorkersError
from .gradient import hvp, shard, value_and_grad
from .minimize import minimize

__all__ = ["LostSchedulerError", "LostShardError", "LostWorkersError", "hvp", "minimize", "shard", "value_and_grad"]
