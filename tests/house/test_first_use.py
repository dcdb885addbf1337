"""What `import gradscribe` loads, and what waits for its first use: each program runs in a process of its own."""

from __future__ import annotations

import pydoc
import re
import subprocess
import sys

import pytest

import gradscribe as gs

import house

PROGRAMS = {
    "the import loads no transform, no engine and no rules": """
import sys, gradscribe
light = {"unpatched", "transforms", "transforms.finders", "transforms.user_code"}
assert {name.removeprefix("gradscribe.") for name in sys.modules if name.startswith("gradscribe.")} == light
""",
    "what stands in NumPy at the first use, in the place of what stood there at the import, is not taken for it": """
import gradscribe, numpy as np
real, np.sum, np.sin = (np.sum, np.sin), None, None
g = gradscribe.grad(lambda x: x * x)(3.0)
np.sum, np.sin = real
assert g == 6.0 and gradscribe.grad(lambda x: np.sum(np.sin(x)))(np.zeros(2)).tolist() == [1.0, 1.0]
""",
    "the first Tensor loads no transform, no walk backward and no seldom used rules": """
import sys, gradscribe
gradscribe.tensor(1.0)
late = ["transforms.derivatives.gradient", "transforms.compiler", "tracer.core.engine", "tracer.autograd", "runtime.user_ops"]
late += ["runtime.rules.norms", "runtime.rules.quantiles"]
assert not [name for name in late if f"gradscribe.{name}" in sys.modules]
""",
    "a function without loops compiles without what keeps loops, and without what fastmath adds": """
import sys, numpy as np, gradscribe as gs
gs.compile(gs.grad(lambda x: np.sum(np.sin(x))))(np.ones(3))
late = ["capture.control_flow", "passes.fast"]
assert not [m for m in sys.modules if m.startswith(tuple(f"gradscribe.transforms.compiler.{name}" for name in late))]
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
    "an op whose rule another thread is about to state is waited for": """
import sys, threading, types
from gradscribe.runtime import Kind, registry
registry.ops()
half, go = threading.Event(), threading.Event()
def late(x): ...
def later(x): ...
class Rules:  # a module that stops between an op and its rule
    def find_spec(self, name, path=None, target=None):
        if name.endswith("runtime.rules.slow"):
            return __import__("importlib.machinery").machinery.ModuleSpec(name, self)
    def create_module(self, spec): ...
    def exec_module(self, module):
        registry.op(late, "x", Kind.linear)
        half.set()
        go.wait()
        registry.rule(late, x=lambda g: g)
        registry.op(later, "x", Kind.linear)
sys.meta_path.insert(0, Rules())
registry.when_imported("threading", lambda: __import__("gradscribe.runtime.rules.slow"))
loading = threading.Thread(target=registry.ops)
loading.start()
half.wait()
found = {}
asking = [threading.Thread(target=lambda f=f: found.update({f: registry.lookup(f)})) for f in (late, later)]
[t.start() for t in asking], [t.join(0.2) for t in asking]
assert not found
go.set()
[t.join() for t in [loading, *asking]]
assert "x" in found[late].vjps and found[later], found
""",
    "every public name is there as the first thing that is asked for, and after `dir`": """
import os, gradscribe as gs
names = [*gs.__all__, "compat", "functional", "nn", "optim", "numpy"]
for name in names:
    child = os.fork()
    if not child:
        try: getattr(gs, name)
        except BaseException: os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
assert set(names) <= set(dir(gs)) and all(hasattr(gs, name) for name in dir(gs) if name != "scipy")
assert gs.compat.autograd.grad(lambda x: x * x)(3.0) == 6.0
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


def test_a_call_enters_few_modules() -> None:
    """On the way to a fault one reads the modules of which a function runs; the script says how they are counted."""
    script = house.ROOT / "benchmarks" / "modules_entered.py"
    command = [sys.executable, "-P", str(script), "--list"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counts = {line.partition(":")[0]: int(line.split()[3]) for line in printed.splitlines() if " entered, " in line}
    assert "site-packages/numpy" not in printed  # also where the virtual environment lies in the checkout
    assert counts["a warm gradient"] <= 16, printed  # among them runtime/arrays.py, which says what an array is
    assert counts["a first compile"] <= 100, (
        f"{printed}\nPut it into a module on the way, or import it only where it is needed."
    )


def test_the_first_page_of_help_says_where_to_begin() -> None:
    page = pydoc.plain(pydoc.render_doc(gs)).split("PACKAGE CONTENTS")[0]
    assert len(page.splitlines()) < 30
    names = set(re.findall(r"gs\.(\w+)", page))
    assert {"grad", "compile", "source", "explain", "vmap", "compare", "export", "tensor"} <= names <= set(dir(gs))
