"""gradscribe.distributed: gradients over data on many machines, by Dask and by MPI."""

from __future__ import annotations

from .errors import LostRankError, LostSchedulerError, LostShardError, LostWorkersError
from .gradient import hvp, shard, value_and_grad
from .minimize import minimize
from .mpi import allreduce_grad

__all__ = [
    "LostRankError",
    "LostSchedulerError",
    "LostShardError",
    "LostWorkersError",
    "allreduce_grad",
    "hvp",
    "minimize",
    "shard",
    "value_and_grad",
]
