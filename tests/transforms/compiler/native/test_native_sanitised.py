"""Kernels stay within the memory of their operands: each group of the corpus under ASan and UBSan, in a child process."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from native_sanitised import GROUPS, preloaded

from house import ROOT

LEAST = {"forms": 12, "arrays": 35, "loops": 60, "golden": 35, "cut": 95, "shared": 105}  # kernels


def sanitised(group: str) -> subprocess.CompletedProcess[str]:
    """Run a group in a child process."""
    libraries = preloaded()
    if libraries is None:
        pytest.skip("the compiler has no sanitisers")
    environment = {
        **os.environ, "LD_PRELOAD": libraries, "ASAN_OPTIONS": "detect_leaks=0", "GRADSCRIBE_CACHE": "off",
        "GRADSCRIBE_THREADS": "3",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "corpus"), *[p for p in sys.path if p]]),
    }  # fmt: skip
    command = [sys.executable, "-P", str(ROOT / "tests" / "corpus" / "native_sanitised.py"), group]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_kernels_stay_within_their_operands(group: str) -> None:
    done = sanitised(group)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found = re.search(r"(\d+) kernels, (\d+) runs", done.stdout)
    assert found is not None
    assert int(found[1]) >= LEAST[group]


@pytest.mark.slow
def test_one_element_too_many_is_found() -> None:
    done = sanitised("planted")
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
