"""Loops that carry a named tuple, or a dataclass that nobody can change: one loop, whose variables are its fields."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs


class Point(NamedTuple):
    """A named tuple."""

    pos: Any
    vel: Any


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A dataclass that nobody can change."""

    pos: Any
    vel: Any


@dataclasses.dataclass(frozen=True)
class Moving:
    """The same, with methods."""

    pos: Any
    vel: Any

    @property
    def energy(self) -> Any:
        return np.sum(self.vel**2)

    def moved(self, k: Any) -> Moving:
        return Moving(self.pos + 0.1 * self.vel, self.vel - 0.1 * k * self.pos)


@dataclasses.dataclass(frozen=True)
class Nested:
    """A record within a record."""

    body: Point
    time: float


def force(s: Any, k: Any) -> Any:
    return np.array([-k * s.pos[0], -k * s.pos[1] + s.vel[0] * 0.1])


def made_anew(s: Any, k: Any, n: int) -> Any:
    energy = 0.0
    for _ in range(n):
        a = force(s, k)
        s = type(s)(s.pos + 0.1 * s.vel, s.vel + 0.1 * a)
        energy += np.sum(s.vel**2)
    return energy + np.sum(s.pos**2)


def named(s: Point, k: Any, n: int) -> Any:
    energy = 0.0
    for _ in range(n):
        s = Point(s.pos + 0.1 * s.vel, s.vel - 0.1 * k * s.pos)
        energy += np.sum(s.vel**2)
    return energy + np.sum(s.pos**2)


def replaced(s: Point, k: Any, n: int) -> Any:
    for _ in range(n):
        s = s._replace(pos=s.pos + 0.1 * s.vel)
        s = s._replace(vel=s.vel - 0.1 * k * force(s, k))
    return np.sum(s.pos**2)


def within_others(s: Point, k: Any, n: int) -> Any:
    state: Any = {"body": s, "time": 0.0}
    for _ in range(n):
        body = state["body"]
        state = {"body": Point(body.pos + 0.1 * body.vel, body.vel - k * body.pos), "time": state["time"] + 0.1}
    return np.sum(state["body"].pos ** 2) * state["time"]


def one_before(s: Point, k: Any, n: int) -> Any:
    before = s
    for _ in range(n):
        before = s
        s = Point(s.pos + 0.1 * s.vel, s.vel - 0.1 * k * s.pos)
    return np.sum(s.pos * before.vel) + (0.0 if before is s else np.sum(before.pos))


def fixed(s: Fixed, k: Any, n: int) -> Any:
    for _ in range(n):
        s = Fixed(s.pos + 0.1 * s.vel, s.vel - 0.1 * k * s.pos)
    return np.sum(s.pos**2)


def fixed_and_replaced(s: Fixed, k: Any, n: int) -> Any:
    for _ in range(n):
        s = dataclasses.replace(s, pos=s.pos + 0.1 * s.vel)
        s = dataclasses.replace(s, vel=s.vel - 0.1 * k * s.pos)
    return np.sum(s.pos**2)


def by_methods(s: Point, k: Any, n: int) -> Any:
    moving, energy = Moving(*s), 0.0
    for _ in range(n):
        moving = moving.moved(k)
        energy += moving.energy
    return energy


def one_in_another(s: Point, k: Any, n: int) -> Any:
    state = Nested(s, 0.0)
    for _ in range(n):
        body = state.body
        state = Nested(Point(body.pos + 0.1 * body.vel, body.vel * k), state.time + 0.1)
    return np.sum(state.body.pos) * state.time


def in_either_arm(s: Point, k: Any, n: int) -> Any:
    for _ in range(n):
        if np.sum(s.pos) > 1:
            s = Point(np.sin(s.pos) * k, s.vel)
        else:
            s = s._replace(pos=s.pos + k)
        pos, _vel = s
        assert isinstance(s, Point)
    return np.sum(pos * s[1])


def while_it_is_near(s: Point, k: Any, n: int) -> Any:
    while np.sum(s.pos**2) < n:
        s = Point(s.pos + 0.1 * s.vel, s.vel + 0.1 * k * s.pos)
    return np.sum(s.pos**2)


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (named, Point), (replaced, Point), (within_others, Point), (one_before, Point), (fixed, Fixed),
        (fixed_and_replaced, Fixed), (while_it_is_near, Point), (by_methods, Point), (one_in_another, Point),
        (in_either_arm, Point), (made_anew, Point), (made_anew, Fixed),
    ],
)  # fmt: skip
def test_they_are_equal_to_eager(f: Any, kind: Any) -> None:
    transform = gs.value_and_grad(f, argnums=(0, 1))
    compiled = gs.compile(transform)
    s = kind(np.array([0.5, -1.25]), np.array([1.0, 2.0]))
    for n in (7, 30, 2, 1):
        for k in (0.3, 1.7):
            value, (slopes, slope) = transform(s, k, n)
            found, (its, other) = compiled(s, k, n)
            assert type(its) is type(slopes) is kind
            assert (found, other) == (value, slope)
            assert its.pos.tobytes() == slopes.pos.tobytes()
            assert its.vel.tobytes() == slopes.vel.tobytes()


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (named, Point), (replaced, Point), (within_others, Point), (fixed, Fixed), (fixed_and_replaced, Fixed),
        (by_methods, Point), (one_in_another, Point),
    ],
)  # fmt: skip
def test_they_stay_loops_and_their_variables_are_the_fields(f: Any, kind: Any) -> None:
    source = str(gs.source(gs.grad(f), kind(np.ones(2), np.ones(2)), 0.3, 9))
    code = [line for line in source.splitlines() if not line.lstrip().startswith("#")]
    assert sum("range(9)" in line or "reversed(" in line for line in code) == 2
    assert any(line.lstrip().startswith(("pos = ", "pos, vel = ")) for line in code)
