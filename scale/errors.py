"""What can be lost of a cluster, as errors: a shard, the workers, the scheduler, a rank."""

from __future__ import annotations

__all__ = ["LostRankError", "LostSchedulerError", "LostShardError", "LostWorkersError"]


class LostShardError(RuntimeError):
    """A shard that was on a worker alone is gone with that worker; the text names it."""


class LostWorkersError(RuntimeError):
    """Workers died at a step again and again, or there has been none for a long time."""


class LostSchedulerError(ConnectionError):
    """The scheduler does not answer; a run goes on from its last checkpoint, on another cluster."""


class LostRankError(RuntimeError):
    """A rank of MPI has waited too long for another one."""
