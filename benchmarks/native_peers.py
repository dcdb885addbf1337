"""What the native target costs until it runs, and where its calls stand: beside the numpy target, JAX and NumPy by hand.

First calls under `target="auto"` over those of the numpy target; the CPU time until a function runs native over `jax.jit`'s first
call, child processes counted, by the length of the function; a million trips of a scalar loop over `lax.scan`; a Hessian-vector
product; and a whole fit by SciPy's L-BFGS. What JAX is needed for is left out where it is not installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NPROC",
):  # one thread each; the last is XLA's
    os.environ.setdefault(library, "1")
os.environ.setdefault("GRADSCRIBE_CACHE", "off")  # or the second run of this file would find its kernels built
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from capture import functions, seconds  # noqa: E402
from second_order import rosenbrock_by_hand  # noqa: E402
from timing import Times, close, interleaved, is_tiny, per_call, report  # noqa: E402
from workloads import WORKLOADS, logistic_regression_by_hand, plain_loop, rosenbrock  # noqa: E402

import gradscribe as gs  # noqa: E402

Array = Any
HAS_JAX = importlib.util.find_spec("jax") is not None


def jax_and_numpy() -> tuple[Any, Any]:
    """Return JAX with numbers of 64 bits, and its NumPy."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax, importlib.import_module("jax.numpy")


# --- until it runs ---------------------------------------------------------------------------------------------------


def first_calls() -> None:
    """A first call while a child process builds the kernel, over one that builds none: functions alike, in turns."""
    count = 4 if is_tiny() else 40
    rng = np.random.default_rng(0)
    args = (
        rng.normal(size=(8, 6)),
        rng.normal(size=(6, 4)),
        rng.normal(size=6),
        rng.normal(size=(5, 8)),
        rng.normal(size=(5, 4)),
    )
    with tempfile.TemporaryDirectory() as folder:
        chosen = functions(count, folder)
        found: dict[str, list[float]] = {"auto": [], "numpy": []}
        for k, f in enumerate(chosen):
            target = ("auto", "numpy")[k % 2]
            compiled = gs.compile(gs.value_and_grad(f), target=target)
            found[target].append(seconds(lambda: compiled(*args)))  # noqa: B023  # called at once
            time.sleep(0.0 if is_tiny() else 0.5)  # until the child is done: what it takes of the machine is no call's
    report("a first call", Times(found["auto"][1:]), Times(found["numpy"][1:]), ("auto", "numpy"))


_UNTIL_NATIVE = """
import resource, sys
sys.path.insert(0, {folder!r})
import numpy
x = numpy.linspace(0.1, 1.0, 50)
def spent():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
if {who!r} == "native":
    import gradscribe as gs
    first = lambda f: gs.compile(gs.value_and_grad(f), target="native")(x)
    import of_numpy as functions
else:
    import jax
    jax.config.update("jax_enable_x64", True)
    first = lambda f: jax.block_until_ready(jax.jit(jax.value_and_grad(f))(jax.numpy.asarray(x)))
    import of_jax as functions
first(functions.short)
start = spent()
first(functions.long)
print(spent() - start)
"""
_LINES = ("h = np.sin(h) * 1.1", "h = h + np.cos(x)", "h = np.tanh(h)", "h = h * 1.01 - x")  # seven operations


def _straight(name: str, operations: int) -> str:
    lines = [
        f"def {name}(x):",
        "    h = x",
        *[f"    {line}" for _ in range(max(1, operations // 7)) for line in _LINES],
    ]
    return "\n".join([*lines, "    return np.sum(h * h)\n\n"])


def until_native() -> None:
    """The CPU seconds of a first call, each in a process of its own that has compiled a short function before."""
    for operations in (10,) if is_tiny() else (10, 100, 1_000, 3_000):
        found: dict[str, list[float]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for who, module in (("numpy", "numpy"), ("jax", "jax.numpy")):
                text = f"import {module} as np\n\n" + _straight("short", 7) + _straight("long", operations)
                Path(folder, f"of_{who}.py").write_text(text, encoding="utf-8")
            for _ in range(1 if is_tiny() or operations > 1_000 else 3):
                for who in ("native", *["jax.jit"] * HAS_JAX):
                    command = [sys.executable, "-P", "-c", _UNTIL_NATIVE.format(folder=folder, who=who)]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    found.setdefault(who, []).append(float(done.stdout))
        for who, times in found.items():
            shown = f"min {min(times):.3g} s, median {statistics.median(times):.3g} s"
            print(f"CPU until {operations:,} operations run: {who:<8} {shown}")
        if HAS_JAX:
            print(
                f"CPU until {operations:,} operations run: ratio    min {min(found['native']) / min(found['jax.jit']):.3f}"
            )


# --- calls -----------------------------------------------------------------------------------------------------------


def settled(compiled: Any, *args: Any) -> Any:
    """Call it until what is left to check of a kernel is checked."""
    for k in range(4):
        compiled(args[0] * (1.0 + k * 1e-9), *args[1:])
    return compiled


def a_million_trips() -> None:
    """Value and gradient of a scalar loop: ours a `while`, JAX's a scan of as many steps.

    Steps as small as these keep the gradient near 1: one that fades to subnormal numbers would time the processor's care of them,
    which XLA switches off.
    """
    trips = 50 if is_tiny() else 10**6

    h = 1.0 / trips

    def loss(x: Array, n: int) -> Array:
        k = 0
        while k < n:
            x = x + h * np.sin(x)
            k += 1
        return x

    native = settled(gs.compile(gs.value_and_grad(loss), target="native"), 0.5, trips)
    calls = [lambda: native(0.5, trips)]
    if HAS_JAX:
        jax, jnp = jax_and_numpy()

        def scanned(x: Array) -> Array:
            return jax.lax.scan(lambda c, _: (c + h * jnp.sin(c), None), x, length=trips)[0]

        compiled = jax.jit(jax.value_and_grad(scanned))
        assert np.allclose(native(0.5, trips), compiled(0.5))
        calls.append(lambda: jax.block_until_ready(compiled(0.5)))
    told(f"{trips:,} trips of a scalar loop", calls, ("native", "jax.jit"), rounds=10, repeats=1)


def hessian_vector_product() -> None:
    """The product with the Hessian of Rosenbrock's function in 1,000 dimensions."""
    x = np.random.default_rng(0).normal(size=10 if is_tiny() else 1000)
    v = np.cos(x)
    native = settled(gs.compile(gs.hvp(rosenbrock(np, plain_loop)), target="native"), x, v)
    assert close(native(x, v), rosenbrock_by_hand(x, v))
    calls: list[Callable[[], Any]] = [lambda: native(x, v), lambda: rosenbrock_by_hand(x, v)]
    if HAS_JAX:
        jax, jnp = jax_and_numpy()
        slope = jax.grad(rosenbrock(jnp, plain_loop))
        compiled = jax.jit(lambda x, v: jax.jvp(slope, (x,), (v,))[1])
        given = jnp.asarray(x), jnp.asarray(v)
        calls.append(lambda: jax.block_until_ready(compiled(*given)))
    told("a Hessian-vector product of Rosenbrock", calls, ("native", "by hand", "jax.jit"), rounds=40, repeats=300)


def a_fit() -> None:
    """A logistic regression by SciPy's L-BFGS to convergence, from arrays of NumPy's to arrays of NumPy's."""
    try:
        optimize = importlib.import_module("scipy.optimize")
    except ImportError:
        print("an L-BFGS fit: SciPy is not installed")
        return
    work = WORKLOADS["logistic regression"]
    w, x, y = work.arguments(np.random.default_rng(0), is_tiny())
    eager = gs.value_and_grad(work.make(np, plain_loop))
    native = settled(gs.compile(eager, target="native"), w, x, y)

    def by_hand(w: Array) -> Any:
        value, (slope,) = logistic_regression_by_hand(w, x, y)
        return value, slope

    fits: list[Callable[[Array], Any]] = [lambda w: native(w, x, y), by_hand]
    if HAS_JAX:
        jax, jnp = jax_and_numpy()
        compiled = jax.jit(jax.value_and_grad(work.make(jnp, plain_loop)))
        held = jnp.asarray(x), jnp.asarray(y)

        def of_jax(w: Array) -> Any:
            value, slope = compiled(w, *held)
            return float(value), np.asarray(slope)

        fits.append(of_jax)

    def fit(both: Callable[[Array], Any]) -> Any:
        return optimize.minimize(both, w, jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-14})

    expected = fit(by_hand)
    calls = []
    for both in fits:
        assert np.allclose(fit(both).x, expected.x, atol=1e-6)
        calls.append(lambda both=both: fit(both))
    told(f"an L-BFGS fit of {expected.nfev} calls", calls, ("native", "by hand", "jax.jit"), rounds=20, repeats=1)


def told(what: str, calls: list[Callable[[], Any]], names: tuple[str, ...], rounds: int, repeats: int) -> None:
    """Time the calls in turns, and print the first over each of the others."""
    rounds, repeats = (2, 1) if is_tiny() else (rounds, repeats)
    ours, *others = interleaved(rounds, *[per_call(call, repeats) for call in calls])
    for name, theirs in zip(names[1:], others, strict=False):
        report(what, ours, theirs, (names[0], name))


if __name__ == "__main__":
    if not HAS_JAX:
        print("JAX is not installed: rows that need it are left out")
    first_calls()
    until_native()
    a_million_trips()
    hessian_vector_product()
    a_fit()
