"""How long `import gradscribe` takes over `import numpy`, and with a first gradient: fresh processes, in turns.

At most 1.2 is asked for. The import alone leaves the engine for its first use, so that the second pair shows the whole.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from timing import interleaved, is_tiny, report

_PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
_FIRST_GRADIENT = "import gradscribe as gs; gs.grad(lambda x: x * x)(3.0)"


def fresh(program: str, bytecode: str) -> Callable[[], float]:
    """Run `program` in a process of its own; the seconds that it took.

    The uncounted first round leaves the bytecode of both in a folder, as an installation does.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def one_round() -> float:
        command = [sys.executable, "-P", "-c", _PROGRAM.format(program)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)

    return one_round


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as bytecode:
        rounds = 1 if is_tiny() else 40
        programs = ("import gradscribe", _FIRST_GRADIENT, "import numpy")
        ours, whole, numpy = interleaved(rounds, *(fresh(program, bytecode) for program in programs))
    report("import", ours, numpy, ("gradscribe", "numpy"))
    report("import and a first gradient", whole, numpy, ("gradscribe", "numpy"))
