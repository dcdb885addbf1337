"""What the benchmarks share: interleaved timing in one run, and how a ratio is printed. Run alone, it times its clock."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Times", "check_and_time", "close", "interleaved", "is_tiny", "per_call", "report"]


class Times(NamedTuple):
    """Seconds of each round."""

    seconds: Sequence[float]

    @property
    def least(self) -> float:
        """The fastest round: what the code costs when nothing disturbs it."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The round in the middle."""
        return statistics.median(self.seconds)


def is_tiny() -> bool:
    """Whether `--tiny` asks for the smallest size, to see only that the benchmark runs."""
    return "--tiny" in sys.argv[1:]


def per_call(call: Callable[[], object], repeats: int) -> Callable[[], float]:
    """A round of `repeats` calls; it gives the seconds of one."""

    def one_round() -> float:
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return (time.perf_counter() - start) / repeats

    return one_round


def interleaved(rounds: int, *timed: Callable[[], float]) -> list[Times]:
    """Time A B A B ...: what disturbs the machine disturbs both alike. One round of each goes uncounted."""
    for one_round in timed:
        one_round()
    seconds: list[list[float]] = [[] for _ in timed]
    for _ in range(rounds):
        for times, one_round in zip(seconds, timed, strict=True):
            times.append(one_round())
    return [Times(times) for times in seconds]


def _shown(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def report(what: str, ours: Times, theirs: Times, names: tuple[str, str]) -> None:
    """Print both times, and ours over theirs: of the fastest rounds, and of the medians."""
    for name, times in zip(names, (ours, theirs), strict=True):
        print(f"{what}: {name:<24} min {_shown(times.least):>8}   median {_shown(times.median):>8}")
    print(
        f"{what}: ratio                    min {ours.least / theirs.least:>8.3f}   median {ours.median / theirs.median:>8.3f}"
    )


def close(found: Any, expected: Any) -> bool:
    """Whether two results agree to rounding."""
    if isinstance(expected, dict):
        return all(close(found[k], expected[k]) for k in expected)
    if isinstance(expected, tuple):
        return all(map(close, found, expected))
    tolerance = 1e-3 if expected.dtype == np.float32 else 1e-8
    return np.shape(found) == np.shape(expected) and np.allclose(found, expected, rtol=tolerance, atol=tolerance)


def check_and_time(what: str, compiled: Any, by_hand: Any, args: tuple[Any, ...], rounds: int, repeats: int) -> None:
    """Check that compiled and by hand give the same, and time them."""
    for _ in range(2):  # the second call has other inputs, so that what is left to check is checked
        assert close(compiled(*args), by_hand(*args)), what
        x = min(1, len(args) - 1)
        args = (*args[:x], args[x] * 1.0000001, *args[x + 1 :])
    ours, theirs = interleaved(
        rounds, per_call(lambda: compiled(*args), repeats), per_call(lambda: by_hand(*args), repeats)
    )
    report(what, ours, theirs, ("compiled", "by hand"))


if __name__ == "__main__":
    rounds = 3 if is_tiny() else 100
    (clock, loop) = interleaved(rounds, per_call(time.perf_counter, 1000), per_call(lambda: None, 1000))
    report("clock", clock, loop, ("time.perf_counter()", "an empty call"))
