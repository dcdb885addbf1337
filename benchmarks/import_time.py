"""How long `import gradscribe` takes over `import numpy`: fresh processes, in turns. At most 1.25 is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from timing import interleaved, is_tiny, report

_PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def fresh(module: str, bytecode: str) -> Callable[[], float]:
    """Import `module` in a process of its own; the seconds that the import statement took.

    The uncounted first round leaves the bytecode of both in a folder, as an installation does.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def one_round() -> float:
        command = [sys.executable, "-P", "-c", _PROGRAM.format(module)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)

    return one_round


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as bytecode:
        rounds = 1 if is_tiny() else 40
        ours, numpy = interleaved(rounds, fresh("gradscribe", bytecode), fresh("numpy", bytecode))
    report("import", ours, numpy, ("gradscribe", "numpy"))
