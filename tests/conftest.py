"""What every test gets: a generator of its own, and the process-wide settings as it found them."""

from __future__ import annotations

import faulthandler
import gc
import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

os.environ["GRADSCRIBE_CACHE"] = "off"  # also for the processes that tests start: the user's own cache is left alone


FEW = 3  # at most so many cases of a test run by default, or one in fifteen where that is more; the others are slow
SHARE = 18  # of the checks of a sample record one in so many runs by default
LONGEST = 600  # seconds that one test may take
STDERR = pytest.StashKey[int]()  # the process's own, which pytest captures during tests


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--part 2/3`: of the tests every third, beginning with the second; those that bear the mark `audit` are in each."""
    parser.addoption("--part", default="1/1", help="of the tests the n-th part of m (n/m), and every audit")


def pytest_configure(config: pytest.Config) -> None:
    """Make errors of warnings, but of those of other people's plugins in the environment; let a lost worker end the run.

    Here and not in pyproject.toml, which would hold from before those plugins are imported.
    """
    plugins = (getattr(plugin, "__name__", "") for plugin in config.pluginmanager.get_plugins())
    foreign = {name.partition(".")[0] for name in plugins if not name.endswith("conftest")} - {"", "_pytest", "pytest"}
    filters = [
        "error",
        "ignore:.* deprecated( - |, )use:DeprecationWarning",  # the oldest matplotlib, of pyparsing's newest
        "ignore:numpy.fix is deprecated:DeprecationWarning",  # since NumPy 2.5; it keeps its rule while it is there
        *(rf"default:::{name}(\.|$)" for name in sorted(foreign)),
    ]
    for line in filters:
        config.addinivalue_line("filterwarnings", line)
    config.stash[STDERR] = os.dup(2)
    if getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = (
            "0"  # with `--dist loadgroup` pytest-xdist waits for ever behind a worker that ended
        )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Call most cases of large tables slow, before `-m` selects; leave the other parts out, behind it."""
    if not config.option.keyword and not any("::" in arg for arg in config.args):  # else somebody wants just these
        _leave_to_slow(items)
        if config.option.markexpr == "not slow":  # seven in eight are, and pytest need not put them in order
            _leave_out(config, items, [item for item in items if item.get_closest_marker("slow")])
    yield
    _take_part(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Spare the garbage collector what the collection makes, a million objects: many tests ask it for all garbage."""
    gc.disable()
    try:
        result = yield
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()
    return result


def _leave_to_slow(items: list[pytest.Item]) -> None:
    """Mark the cases of a test slow but for a few; of the checks of a sample record all but one in SHARE."""
    tests: dict[str, list[pytest.Item]] = {}
    samples: dict[int, list[pytest.Item]] = {}  # by the identity of the function: NumPy's and SciPy's may share a name
    for item in items:
        if item.get_closest_marker("slow"):
            continue
        function = _sampled(item)
        if function is not None:
            samples.setdefault(id(function), []).append(item)
        elif item.get_closest_marker("house") is None:
            tests.setdefault(_name(item), []).append(item)
    slow: list[pytest.Item] = []
    for name, cases in tests.items():
        step = min(-(-len(cases) // FEW), 15)
        slow += [item for k, item in enumerate(cases) if (k + zlib.crc32(name.encode())) % step]
    for checks in samples.values():
        step = min(SHARE, len(checks))
        place = zlib.crc32(getattr(_sampled(checks[0]), "__name__", "").encode())
        slow += [item for k, item in enumerate(checks) if (k + place) % step]
    for item in slow:
        item.add_marker("slow")


def _name(item: pytest.Item) -> str:
    """Return the name of a test in its file; the folder does not count, so that a file that moves keeps its cases."""
    return item.nodeid.partition("[")[0].rpartition("/")[2]


def _sampled(item: pytest.Item) -> Any:
    """Return the function whose sample records a test goes through."""
    found = getattr(getattr(item, "callspec", None), "params", {}).get("samples")
    return found[0].fn if found else None


def _take_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the other parts out: .ci/run gives each of the other Pythons one, and the slow tests in turns."""
    part, parts = map(int, config.getoption("--part").split("/"))
    shared = [item for item in items if item.get_closest_marker("audit") is None]
    _leave_out(config, items, [item for k, item in enumerate(shared) if k % parts != part - 1])


def _leave_out(config: pytest.Config, items: list[pytest.Item], left_out: list[pytest.Item]) -> None:
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a test that hangs, and with it all of the run, and say where each thread stood; not under a debugger."""
    if not item.config.option.usepdb:
        faulthandler.dump_traceback_later(LONGEST, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the test's name alone, so that any order and any selection repeats them."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture(autouse=True)
def settings_left_alone() -> Iterator[None]:
    """A test, and the code under it, leaves NumPy's process-wide settings as they were."""
    before = np.geterr(), np.get_printoptions()
    yield
    after = np.geterr(), np.get_printoptions()
    assert after == before, "NumPy's error state or print options were changed and not restored"
