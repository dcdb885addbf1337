"""Train a transformer to write sonnets letter by letter: the loss, its gradient and Adam's update are one compiled step.

    pip install gradscribe
    python transformer.py            # trains half a minute; prints the loss before and after, and a few lines that it writes
    python transformer.py --source   # also prints the generated step
    python transformer.py --tiny     # a few steps of a small one, as the project's own checks run it

The text is 35 sonnets of Shakespeare's (data/sonnets.txt), the last three of which it does not see. What is measured is the
cross-entropy per letter in bits; the baseline is the entropy of the letters' frequencies, which takes no account of their order.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradscribe as gs
import gradscribe.functional as F

TEXT = Path(__file__).parent / "data" / "sonnets.txt"


class Sizes(NamedTuple):
    """Of the model, of its batches and of its steps."""

    context: int = 32  # how many letters it looks back
    width: int = 64
    heads: int = 4
    blocks: int = 2
    batch: int = 32
    rate: float = 0.004  # of learning, where it is highest


def initial(sizes: Sizes, letters: int, rng: np.random.Generator) -> Any:
    """Random weights: a dict with a list of blocks, each a dict."""

    def normal(*shape: int) -> Any:
        return (rng.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)

    def ones(*shape: int) -> Any:
        return np.ones(shape, np.float32)

    n = sizes.width
    blocks = [
        {
            "norm": ones(n), "qkv": normal(3 * n, n), "out": normal(n, n),
            "norm_2": ones(n), "up": normal(4 * n, n), "down": normal(n, 4 * n),
        }
        for _ in range(sizes.blocks)
    ]  # fmt: skip
    letter, place = 0.3 * normal(letters, n), 0.3 * normal(sizes.context, n)
    return {"letter": letter, "place": place, "blocks": blocks, "norm": ones(n), "scores": 0.1 * normal(letters, n)}


def attention(block: Any, x: Any, heads: int) -> Any:
    """Each letter looks at those before it."""
    batch, length, width = x.shape
    qkv = F.linear(x, block["qkv"]).reshape(batch, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    seen = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], is_causal=True)
    return F.linear(seen.transpose(0, 2, 1, 3).reshape(batch, length, width), block["out"])


def scores(params: Any, x: Any, heads: int) -> Any:
    """For each letter of each row of `x` the scores of the letter that comes next."""
    h = F.embedding(x, params["letter"]) + params["place"][: x.shape[1]]
    for block in params["blocks"]:
        h = h + attention(block, F.layer_norm(h, h.shape[-1:], block["norm"]), heads)
        h = h + F.linear(F.relu(F.linear(F.layer_norm(h, h.shape[-1:], block["norm_2"]), block["up"])), block["down"])
    return F.linear(F.layer_norm(h, h.shape[-1:], params["norm"]), params["scores"])


def loss(params: Any, x: Any, y: Any, heads: int) -> Any:
    """The mean cross-entropy, in bits per letter."""
    found = scores(params, x, heads)
    return F.cross_entropy(found.reshape(-1, found.shape[-1]), y.reshape(-1)) / math.log(2)


def training_step(optimizer: Any, heads: int) -> Callable[..., Any]:
    """Loss, gradient and update in one function, which is to be compiled."""

    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, gradients = gs.value_and_grad(loss)(params, x, y, heads)
        params, state = optimizer.update(params, gradients, state)
        return value, params, state

    return step


def rows(text: Any, sizes: Sizes, rng: np.random.Generator) -> tuple[Any, Any]:
    """A batch of pieces of the text, and the letters that come next in each."""
    start = rng.integers(0, len(text) - sizes.context, size=(sizes.batch, 1))
    places = start + np.arange(sizes.context)
    return text[places], text[places + 1]


def train(step: Any, optimizer: Any, params: Any, text: Any, sizes: Sizes, steps: int) -> tuple[Any, list[float]]:
    """So many steps of a rate that rises and falls once; the parameters, and the losses on the way."""
    schedule = gs.optim.lr_scheduler.OneCycleLR(optimizer, sizes.rate, total_steps=steps + 1, cycle_momentum=False)
    state, rng, losses = optimizer.init(params), np.random.default_rng(1), []
    for _ in range(steps):
        value, params, state = step(params, state, *rows(text, sizes, rng))
        schedule.step()
        losses.append(float(value))
    return params, losses


def measured(params: Any, text: Any, sizes: Sizes) -> float:
    """The loss on a whole text."""
    many = (len(text) - 1) // sizes.context
    x, y = (t[: many * sizes.context].reshape(many, sizes.context) for t in (text, text[1:]))
    return float(loss(params, x, y, sizes.heads))


def written(params: Any, start: Any, sizes: Sizes, length: int, rng: np.random.Generator) -> Any:
    """What the model writes after `start`."""
    found = list(start)
    for _ in range(length):
        last = scores(params, np.array([found[-sizes.context :]]), sizes.heads)[0, -1]
        chances = np.asarray(F.softmax(last / 0.7, dim=0), float)
        found.append(rng.choice(len(chances), p=chances / chances.sum()))
    return np.array(found)


def seconds_per_step(
    steps: tuple[Any, ...], optimizer: Any, params: Any, text: Any, sizes: Sizes, times: int
) -> list[float]:
    """Of each function the shortest time of a step, by turns, so that what else the machine does disturbs both."""
    state, batch = optimizer.init(params), rows(text, sizes, np.random.default_rng(0))
    taken: list[list[float]] = [[] for _ in steps]
    for _ in range(times + 1):
        for step, found in zip(steps, taken, strict=True):
            start = time.perf_counter()
            step(params, state, *batch)
            found.append(time.perf_counter() - start)
    return [min(found[1:]) for found in taken]


def main() -> None:
    """Train, test, time, and write."""
    parser = argparse.ArgumentParser(description="Train a character-level transformer by compiled steps.")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--source", action="store_true", help="print the generated step")
    parser.add_argument("--tiny", action="store_true", help="100 steps of a small one")
    options = parser.parse_args()
    sizes = Sizes(context=16, width=32, heads=2, blocks=1, batch=16, rate=0.02) if options.tiny else Sizes()
    steps = 100 if options.tiny else options.steps

    letters, codes = np.unique(np.array(list(TEXT.read_text())), return_inverse=True)
    unseen = codes.size - 3 * codes.size // 35
    text, test = codes[:unseen], codes[unseen:]
    shares = np.bincount(text) / text.size
    entropy = -np.sum(shares[shares > 0] * np.log2(shares[shares > 0]))
    params = initial(sizes, len(letters), np.random.default_rng(0))
    print(f"{text.size:,} letters to train on, {test.size:,} to test; {len(letters)} different ones")

    optimizer = gs.optim.AdamW(lr=sizes.rate, weight_decay=0.1)
    eager = training_step(optimizer, sizes.heads)
    step = gs.compile(eager)
    start = time.perf_counter()
    trained, losses = train(step, optimizer, params, text, sizes, steps)
    taken = time.perf_counter() - start
    if options.source:
        print(step.source(trained, optimizer.init(trained), *rows(text, sizes, np.random.default_rng(0))))
    print(
        f"{steps:,} steps in {taken:.1f} s; bits per letter: {losses[0]:.2f} at first, {np.mean(losses[-20:]):.2f} at the end"
    )
    figures = f"{measured(params, test, sizes):.2f} before, {measured(trained, test, sizes):.2f} after"
    print(f"bits per letter of unseen text: {figures}; the entropy of the letters is {entropy:.2f}")

    slow, quick = seconds_per_step((eager, step), optimizer, params, text, sizes, 3 if options.tiny else 20)
    print(f"time per step: eager {1e3 * slow:.1f} ms, compiled {1e3 * quick:.1f} ms, {slow / quick:.1f} times as fast")
    found = written(trained, text[: sizes.context], sizes, 20 if options.tiny else 300, np.random.default_rng(0))
    print("It writes:\n" + "".join(letters[found[sizes.context :]]))


if __name__ == "__main__":
    main()
