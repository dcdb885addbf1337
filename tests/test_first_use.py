"""What `import gradscribe` loads, and what waits for its first use: each program runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAMS = {
    "the import loads no transform, no engine and no seldom used rules": """
import sys, gradscribe
late = "transforms.gradient tracer.engine tracer.autograd runtime.user_ops runtime.rules.norms runtime.rules.quantiles"
assert not [name for name in late.split() if f"gradscribe.{name}" in sys.modules]
""",
    "threads that ask at once for a rule which is not loaded yet all find it": """
import threading, numpy as np, gradscribe as gs
start, found = threading.Barrier(4), []
def ask():
    x = gs.tensor([3.0, 4.0], requires_grad=True)
    start.wait()
    np.linalg.norm(x).backward()
    found.append(x.grad.tolist())
threads = [threading.Thread(target=ask) for _ in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
assert found == [[0.6, 0.8]] * 4, found
""",
    "what a user makes of a function stays, though ours is loaded after": """
import numpy as np, gradscribe as gs
gs.op(np.median, "a")
gs.rule(np.median, a=lambda g, a: np.full_like(a, 5.0) * g)
np.linalg.norm(gs.tensor([1.0]))
assert gs.grad(np.median)(np.ones(2)).tolist() == [5.0, 5.0]
""",
    "a node can be called before anything went backward": """
import gradscribe as gs
x = gs.tensor(2.0, requires_grad=True)
assert (x * 3).grad_fn(gs.tensor(1.0))[0].item() == 3.0
""",
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_first_use(what: str) -> None:
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAMS[what]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
