"""How long `import gradscribe` takes over `import numpy`: fresh processes, in turns. At most 1.25 is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from timing import interleaved, is_tiny, report

_PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def fresh(module: str) -> Callable[[], float]:
    """Import `module` in a process of its own; the seconds that the import statement took."""

    def one_round() -> float:
        command = [sys.executable, "-P", "-c", _PROGRAM.format(module)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
        return float(done.stdout)

    return one_round


if __name__ == "__main__":
    ours, numpy = interleaved(2 if is_tiny() else 30, fresh("gradscribe"), fresh("numpy"))
    report("import", ours, numpy, ("gradscribe", "numpy"))
