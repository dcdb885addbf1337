"""A small gradient beside other libraries, where they are installed: time per call, and time to the first result."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parent))

import numpy as np  # noqa: E402
from models import layer  # noqa: E402
from timing import close, interleaved, is_tiny, per_call, report  # noqa: E402

import gradscribe as gs  # noqa: E402

Gradient = Callable[..., tuple[Any, tuple[Any, Any]]]


def with_jax(args: tuple[Any, ...]) -> Gradient:
    """JAX, compiled by XLA, from arrays of its own to arrays of its own."""
    jax = importlib.import_module("jax")
    jnp = importlib.import_module("jax.numpy")
    jax.config.update("jax_enable_x64", True)

    def loss(w: Any, b: Any, x: Any, y: Any) -> Any:
        z = x @ w + b
        return jnp.mean(jnp.logaddexp(0.0, z) - y * z)

    compiled = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    arrays = tuple(map(jnp.asarray, args))
    return lambda: jax.block_until_ready(compiled(*arrays))


def with_torch(args: tuple[Any, ...]) -> Gradient:
    """PyTorch, eager."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    w, b, x, y = [torch.tensor(a) for a in args]
    w.requires_grad_()
    b.requires_grad_()

    def gradient() -> tuple[Any, tuple[Any, Any]]:
        value = torch.nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
        return value.detach(), torch.autograd.grad(value, (w, b))

    return gradient


def with_autograd(args: tuple[Any, ...]) -> Gradient:
    """HIPS autograd."""
    anp = importlib.import_module("autograd.numpy")
    autograd = importlib.import_module("autograd")

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        w, b = parameters
        z = anp.dot(x, w) + b
        return anp.mean(anp.logaddexp(0.0, z) - y * z)

    gradient = autograd.value_and_grad(loss)
    return lambda: gradient(args[:2], *args[2:])  # type: ignore[no-any-return]


def with_mygrad(args: tuple[Any, ...]) -> Gradient:
    """MyGrad."""
    mg = importlib.import_module("mygrad")
    w, b = map(mg.tensor, args[:2])
    x, y = args[2:]

    def gradient() -> tuple[Any, tuple[Any, Any]]:
        z = x @ w + b
        value = mg.mean(mg.logaddexp(0.0, z) - y * z)
        value.backward()
        return value.data, (w.grad, b.grad)

    return gradient


PEERS = {"jax.jit": with_jax, "PyTorch eager": with_torch, "HIPS autograd": with_autograd, "MyGrad": with_mygrad}


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    args = (rng.normal(size=(5, 3)), rng.normal(size=3), np.ones(5), np.zeros(3))
    np.logaddexp(0.0, args[0]) @ args[1]  # NumPy and its BLAS are warm
    gs.compile(gs.value_and_grad(lambda w: np.sum(w * w)))(args[0])  # and what the compilers load at their first use
    start = time.perf_counter()
    compiled = gs.compile(gs.value_and_grad(layer, argnums=(0, 1)))
    expected = compiled(*args)
    first = time.perf_counter() - start
    compiled(args[0] * 1.01, *args[1:])  # what is left to check is checked
    print(f"gradscribe: first result after {first * 1e3:.3g} ms")
    rounds, repeats = (2, 1) if is_tiny() else (60, 200)
    for name, make in PEERS.items():
        try:
            peer = make(args)
        except ImportError as error:
            print(f"{name}: not installed ({error})")
            continue
        start = time.perf_counter()
        found = peer()
        print(f"{name}: first result after {(time.perf_counter() - start) * 1e3:.3g} ms")
        assert close(tuple(map(np.asarray, (found[0], *found[1]))), (expected[0], *expected[1])), name
        report(
            f"linear and BCE, 5 x 3, over {name}",
            *interleaved(rounds, per_call(lambda: compiled(*args), repeats), per_call(peer, repeats)),
            ("gradscribe compiled", name),
        )
