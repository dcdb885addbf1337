"""Programs by chance over instances: bits, errors and what is left in the objects are those of plain Python."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

FACTOR: Any = 2.0


class Node:
    """A tree of nodes that read all they can of themselves."""

    constant: Any = 1.5

    def __init__(self, chance: random.Random) -> None:
        self.w = np.array([chance.random() for _ in range(3)])
        self.k: Any = chance.random()
        self.flag = chance.random() < 0.5
        self.children: list[Node] = []
        self.table: dict[str, Any] = {"a": np.ones(3), "b": 2.0}
        self.pair: Any = (1.0, np.ones(3))

    @property
    def double(self) -> Any:
        return self.w * 2 * FACTOR

    def act(self, a: Any) -> Any:
        return np.tanh(a * self.w) * self.k

    def run(self, a: Any) -> Any:
        y = self.act(a) + self.double * self.constant
        if self.flag:
            y = y * self.table["a"]
        for child in self.children:
            y = y + child.run(y)
        for value in self.table.values():
            y = y + value
        return y * self.pair[0] + self.pair[1]

    def __call__(self, a: Any) -> Any:
        return np.sum(self.run(a))


class Below(Node):
    def act(self, a: Any) -> Any:
        return super().act(a) + 1.0


def change(chance: random.Random, root: Node) -> None:
    """Change one thing, of one node or of all."""
    nodes = [root]
    for node in nodes:
        nodes.extend(node.children)
    node = chance.choice(nodes)
    numbers = [1, 1.0, True, np.float32(1), chance.random()]
    values = [chance.random(), np.full(3, chance.random()), 2, np.full(3, 3, np.float32)]
    changes: list[Any] = [
        lambda: setattr(node, "w", np.array([chance.random() for _ in range(3)])),
        lambda: node.w.__setitem__(chance.randrange(3), chance.random()),
        lambda: setattr(node, "k", chance.choice(numbers)),
        lambda: setattr(node, "flag", not node.flag),
        lambda: len(nodes) < 5 and node.children.append(chance.choice([Node, Below])(chance)),
        lambda: node.children and node.children.pop(),
        lambda: node.table.__setitem__(chance.choice("abcd"), chance.choice(values)),
        lambda: node.table.pop(chance.choice("bcd"), None),
        lambda: setattr(node, "pair", (chance.random(), np.full(3, chance.random()))),
        lambda: setattr(node, "__class__", chance.choice([Node, Below])),
        lambda: setattr(node, "constant", chance.random()),
        lambda: vars(node).pop("constant", None),
        lambda: globals().update(FACTOR=chance.choice([2.0, 3.0])),
        lambda: setattr(Node, "constant", chance.choice([1.5, 2.5])),
    ]
    chance.choice(changes)()


@pytest.mark.parametrize("seed", range(8))
def test_changes_between_calls(seed: int) -> None:
    chance = random.Random(seed)
    root = Node(chance)
    root.children.append(Below(chance))
    plain = gs.value_and_grad(root)
    compiled = gs.compile(plain, max_specialisations=100)
    for _ in range(30):
        a = np.array([chance.random() for _ in range(3)])
        expected, found = plain(a), compiled(a)
        assert [np.asarray(v).tobytes() for v in found] == [np.asarray(v).tobytes() for v in expected]
        if chance.random() < 0.6:
            change(chance, root)


LINES = (
    "y = y * s.w", "s.n += 1; y = y + s.n", "s.log.append(y)", "s.log.append(s)", "s.d['k'] = y", "s.last = y; y = y + s.last",
    "s.peer = s; y = y * s.peer.w", "s.w = s.w + 1", "y = y + len(s.log)", "y = y * s.d.get('q', 2.0)", "s.last = [y, (s, s.w)]",
    "t = s.log; t.append(1.0); y = y + len(s.log)", "y = y + (1.0 if s.peer is s else 2.0)", "s.log.clear()",
    "s.d.pop('k', None)",
    "y = y + (1.0 if any(v is s for v in s.log) else 2.0)", "s.d.setdefault('z', []).append(s.w)", "setattr(s, 'n', s.n * 2)",
    "s.log = []", "del s.last; s.last = None", "s.log.reverse()", "s.w[0] = 5.0; y = y * s.w", "y = y * getattr(s, 'n', 1)",
    "o = s.log + [1.0]; y = y * len(o)", "s.log += [2.0]", "y = y + sum(v for v in s.log if type(v) is float)",
)  # fmt: skip


class State:
    def __init__(self) -> None:
        self.w, self.n = np.ones(3), 0
        self.log: list[Any] = []
        self.d: dict[str, Any] = {}
        self.peer = self.last = None


def told(value: Any, me: Any) -> Any:
    """A value in bits and types, whichever instance it belongs to."""
    if value is me:
        return "itself"
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, value.dtype.str, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *[told(v, me) for v in value]
    if isinstance(value, dict):
        return [(k, told(v, me)) for k, v in value.items()]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("seed", range(100))
def test_stores_within_calls(seed: int) -> None:
    chance = random.Random(seed)
    lines = [part for _ in range(chance.randrange(1, 5)) for part in chance.choice(LINES).split("; ")]
    space: dict[str, Any] = {"np": np}
    exec("\n    ".join(["def f(s, a):", "y = a * 1.0", *lines, "return np.sum(y)"]), space)
    space["f"].__module__ = "elsewhere"
    cls: Any = type("Cls", (State,), {"f": space["f"], "__module__": "elsewhere"})
    one, two = cls(), cls()
    compiled = gs.compile(one.f)
    for step in range(4):
        found, expected = (_outcome(f, np.arange(3.0) + step) for f in (compiled, two.f))
        assert told(found, one) == told(expected, two), lines
        assert told(vars(one), one) == told(vars(two), two), lines


def _outcome(function: Any, a: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(a)
        except Exception as error:
            return type(error).__name__
