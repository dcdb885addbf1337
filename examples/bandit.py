"""Train an agent that is told nothing but rewards: REINFORCE on a contextual bandit, with compiled gradients.

    pip install gradscribe
    python bandit.py            # trains; prints how often the best arm is chosen, before and after
    python bandit.py --source   # also prints the generated step
    python bandit.py --tiny     # a few steps, as the project's own checks run it

Each round shows a context, a point in four dimensions; the agent pulls one of eight arms and is paid 1 or 0. Which arm pays
best depends on the context. The agent draws its arm by the Gumbel-max trick, and differentiates the log-probability of what
it drew times the reward (Williams, 1992): docs/older-api.md has the same gradient by `sample.reinforce(reward)`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gradscribe as gs

FEATURES, HIDDEN, ARMS, BATCH = 4, 32, 8, 256
Policy = dict[str, Any]


def scores(policy: Policy, contexts: Any) -> Any:
    """The score of each arm in each context: the logarithm of its probability, but for a constant."""
    return np.tanh(contexts @ policy["w"] + policy["b"]) @ policy["v"]


def chances(world: Any, contexts: Any) -> Any:
    """With what chance each arm pays in each context: high near its own place. The agent never sees this."""
    distance = np.sum((contexts[:, None, :] - world) ** 2, axis=-1)
    return 0.05 + 0.9 * np.exp(-0.5 * distance)


def play(policy: Policy, world: Any, contexts: Any, rng: np.random.Generator) -> Any:
    """One round in each context: minus the mean of log-probability times advantage, and the mean reward."""
    found = scores(policy, contexts)
    rows = np.arange(len(contexts))
    arms = np.argmax(found + rng.gumbel(size=(len(contexts), ARMS)), axis=1)  # drawn with the policy's probabilities
    rewards = (rng.random(len(contexts)) < chances(world, contexts)[rows, arms]).astype(float)
    highest = np.max(found, axis=1, keepdims=True)
    log_probabilities = found - highest - np.log(np.sum(np.exp(found - highest), axis=1, keepdims=True))
    advantage = rewards - np.mean(rewards)
    return -np.mean(log_probabilities[rows, arms] * advantage), np.mean(rewards)


step = gs.value_and_grad(play, has_aux=True)


def initial(rng: np.random.Generator) -> Policy:
    """A network that has no preference yet."""
    return {
        "w": rng.normal(size=(FEATURES, HIDDEN)), "b": np.zeros(HIDDEN), "v": 0.01 * rng.normal(size=(HIDDEN, ARMS))
    }  # fmt: skip


def train(step: Callable[..., Any], policy: Policy, world: Any, steps: int, rng: np.random.Generator) -> float:
    """Gradient descent with momentum and a falling rate, in place; the mean reward of the last tenth."""
    momentum = {name: np.zeros_like(p) for name, p in policy.items()}
    paid = []
    for k in range(steps):
        (_, reward), gradient = step(policy, world, rng.normal(size=(BATCH, FEATURES)), rng)
        for name, p in policy.items():
            momentum[name] = 0.9 * momentum[name] + gradient[name]
            p -= 0.3 * (1 - k / steps) * momentum[name]
        paid.append(float(reward))
    return float(np.mean(paid[-max(1, steps // 10) :]))


def share_of_best(policy: Policy, world: Any, rng: np.random.Generator) -> float:
    """How often the arm that the agent prefers is the one that pays best, in contexts that it has not seen."""
    contexts = rng.normal(size=(5000, FEATURES))
    preferred, best = np.argmax(scores(policy, contexts), axis=1), np.argmax(chances(world, contexts), axis=1)
    return float(np.mean(preferred == best))


def seconds_per_step(step: Callable[..., Any], world: Any, steps: int) -> float:
    """The mean time of a step, the first few, which may compile, not counted."""
    policy = initial(np.random.default_rng(1))
    train(step, policy, world, 3, np.random.default_rng(1))
    start = time.perf_counter()
    train(step, policy, world, steps, np.random.default_rng(1))
    return (time.perf_counter() - start) / steps


def main() -> None:
    """Train, test, and time."""
    parser = argparse.ArgumentParser(description="REINFORCE on a contextual bandit, with compiled gradients.")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--source", action="store_true", help="print the generated step")
    parser.add_argument("--tiny", action="store_true", help="200 steps")
    options = parser.parse_args()
    steps = 200 if options.tiny else options.steps

    rng = np.random.default_rng(0)
    world, policy = rng.normal(size=(ARMS, FEATURES)), initial(rng)
    compiled = gs.compile(step)
    if options.source:
        print(compiled.source(policy, world, rng.normal(size=(BATCH, FEATURES)), rng))
    before = share_of_best(policy, world, rng)
    start = time.perf_counter()
    paid = train(compiled, policy, world, steps, rng)
    taken = time.perf_counter() - start
    after = share_of_best(policy, world, rng)
    best = np.mean(np.max(chances(world, rng.normal(size=(5000, FEATURES))), axis=1))
    print(f"{steps:,} steps of {BATCH} rounds in {taken:.1f} s; mean reward at the end {paid:.3f}, at best {best:.3f}")
    print(f"share of best choices: {before:.1%} before, {after:.1%} after")
    counted = 20 if options.tiny else 500
    eager, quick = seconds_per_step(step, world, counted), seconds_per_step(compiled, world, counted)
    print(
        f"time per step: eager {1e6 * eager:.0f} us, compiled {1e6 * quick:.0f} us, {eager / quick:.1f} times as fast"
    )


if __name__ == "__main__":
    main()
