"""Record a digest of each source that the tests generate, to hold a change of the compiler against the commit before it.

    pytest -p digests --digests before.json        # on the one commit, with whichever tests
    pytest -p digests --digests after.json         # on the other
    python tests/corpus/digests.py before.json after.json

A record says, for each test function, the digests of the sources that its cases compile or export; lines of the user's, which the
comments quote, do not count. `--texts FOLDER` keeps the sources themselves, by their digest, for a look at what differs.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_LINE = re.compile(r"[ \t]*# [^\n]*\.py:\d+[^\n]*$|\S+\.py:\d+|<gradscribe>/\S+|^# .*$", re.MULTILINE)


class Recorder:
    """The digests of one process, by test function."""

    def __init__(self, texts: Path | None) -> None:
        self.found: dict[str, set[str]] = {}
        self.test = ""
        self.texts = texts

    def note(self, text: str) -> None:
        """Note a source that the running test has generated."""
        plain = _LINE.sub("", text)
        digest = hashlib.sha256(plain.encode()).hexdigest()[:16]
        self.found.setdefault(self.test, set()).add(digest)
        if self.texts is not None:
            (self.texts / f"{digest}.py").write_text(text, encoding="utf-8")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """Say which test runs."""
        self.test = item.nodeid.partition("[")[0].rpartition("/")[2]  # a file may move between the two runs
        return (yield)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the digests to the process that began this one, or write them."""
        found = {name: sorted(digests) for name, digests in sorted(self.found.items())}
        config = session.config
        if hasattr(config, "workeroutput"):
            config.workeroutput["digests"] = found
        else:
            Path(config.getoption("--digests")).write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a process of pytest-xdist has found."""
        for name, digests in getattr(node, "workeroutput", {}).get("digests", {}).items():
            self.found.setdefault(name, set()).update(digests)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--digests FILE`, `--texts FOLDER`."""
    parser.addoption("--digests", default="", help="where to write the digests of all generated sources")
    parser.addoption("--texts", default="", help="a folder for the sources themselves")


def pytest_configure(config: pytest.Config) -> None:
    """Listen to what is compiled and exported."""
    if not config.getoption("--digests"):
        return
    from gradscribe.transforms.compiler.driver import generated
    from gradscribe.transforms.exports import export

    texts = Path(config.getoption("--texts")) if config.getoption("--texts") else None
    if texts is not None:
        texts.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(texts)
    config.pluginmanager.register(recorder, "digests of sources")
    define = generated.Specialisation._define

    def defined(self: Any, text: str, space: dict[str, Any]) -> None:
        recorder.note(text)
        define(self, text, space)

    generated.Specialisation._define = defined  # type: ignore[method-assign]
    write = export._Export.text

    def written(self: Any, *args: Any, **kwargs: Any) -> str:
        text = write(self, *args, **kwargs)
        recorder.note(text)
        return text

    export._Export.text = written  # type: ignore[method-assign]


def compared(before: dict[str, list[str]], after: dict[str, list[str]]) -> list[str]:
    """Return a line for each test function whose sources differ."""
    lines = []
    for name in sorted(before.keys() & after.keys()):
        gone, new = set(before[name]) - set(after[name]), set(after[name]) - set(before[name])
        if gone or new:
            lines.append(f"{name}: gone {' '.join(sorted(gone)) or 'none'}; new {' '.join(sorted(new)) or 'none'}")
    return lines


if __name__ == "__main__":
    one, other = (json.loads(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:3])
    alone = sorted(one.keys() ^ other.keys())
    found = compared(one, other)
    print(*found, *[f"{name}: in one of them alone" for name in alone], sep="\n")
    total = len({d for digests in one.values() for d in digests})
    print(f"{total} sources of {len(one)} tests; {len(found)} tests differ, {len(alone)} are in one record alone")
    sys.exit(bool(found or alone))
