"""Where an array of a shard comes from: held by the client, given as a future, or made by Dask tasks on the worker."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from .errors import LostShardError

__all__ = ["Given", "Held", "Recipe", "digest_of"]


def digest_of(array: Any) -> str:
    """Return the digest of an array: its type, its lengths and its numbers."""
    dense = np.ascontiguousarray(array)
    found = hashlib.sha256(f"{dense.dtype.str}{dense.shape}".encode())
    content: Any = dense.reshape(-1).view(np.uint8) if dense.dtype.kind != "O" else repr(dense).encode()
    found.update(content)
    return found.hexdigest()


class Held:
    """An array of which the client holds the original: a worker has a copy, and gets another where that is lost."""

    def __init__(self, array: Any, digest: str, place: str) -> None:
        self.array, self.digest, self.place = array, digest, place
        self.future: Any = None

    def is_lost(self) -> bool:
        """Whether no worker has a copy (now, or yet)."""
        return self.future is None or self.future.status in ("cancelled", "lost", "error")

    def check(self) -> None:
        """Raise where the original is no longer what workers have: half of a batch would be of another time."""
        if digest_of(self.array) != self.digest:
            raise LostShardError(
                f"{self.place} is lost with its worker, and the array that it was cut from was written to since: shard it again "
                "(gs.distributed.shard), or leave it as it is while it is in use."
            )


class Given:
    """A future of the user's."""

    def __init__(self, future: Any, place: str) -> None:
        self.future, self.place = future, place

    def check(self) -> None:
        """Raise where the future is lost."""
        if self.future.status in ("cancelled", "lost"):
            raise LostShardError(
                f"{self.place} is lost: the future {self.future.key!r} was on a worker that is gone, and only who scattered it "
                "can make it again. Scatter it again, replicate it (client.replicate), or pass the array itself, a dask.array or "
                "futures of tasks, which are redone."
            )


class Recipe(NamedTuple):
    """How a worker makes one array: Dask tasks, the key of the result, and which keys are sources of the shard (by number).

    Without tasks the array is the source `key` itself.
    """

    tasks: dict[Any, Any] | None
    key: Any
    sources: dict[Any, int]

    def made(self, values: list[Any]) -> Any:
        """Return the array, of the values of the shard's sources."""
        if self.tasks is None:
            return values[self.key]
        from dask.local import get_sync  # a worker has it

        return get_sync({**self.tasks, **{key: values[k] for key, k in self.sources.items()}}, self.key)
