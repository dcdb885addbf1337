"""Branches outside of loops: one text with both arms of each, forward and backward, and the bits of eager on every way."""

from __future__ import annotations

import itertools
import linecache
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.difference import difference

Array = Any
_numbers = itertools.count()


def made(text: str, name: str = "f") -> Any:
    """A function of a text, which is found as its source."""
    filename = f"branches_that_join_{next(_numbers)}.py"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"np": np, "__name__": "branches_that_join"}
    exec(compile(text, filename, "exec"), space)
    return space[name]


def one_text(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> str:
    """The text of a compiled function that serves all calls, and agrees with eager bit for bit."""
    compiled = gs.compile(function, verify="first calls")
    with np.errstate(all="ignore"):
        for args in calls:
            problem = difference(compiled(*args), function(*args))
            assert problem is None, (args, problem)
    assert compiled._eager is None
    assert len(compiled._texts) == 1, gs.explain(compiled)
    return str(compiled.source(*calls[0]))


def in_sequence(n: int) -> Any:
    """A function of `n` branches in sequence."""
    lines = ["def f(x, w):", "    y = x * 1.5"]
    for k in range(n):
        lines += [f"    if np.sum(y) > {0.1 * k}:", f"        y = y * np.sin(w + {k}.0)"]
        lines += ["    else:", f"        y = y - w * {k + 1}.0"] * (k % 2)
    return made("\n".join([*lines, "    return np.sum(y)", ""]))


def test_the_text_grows_linearly_with_the_branches() -> None:
    lengths = {}
    for n in (4, 8, 12):
        rng = np.random.default_rng(n)
        calls = [(rng.normal(size=3) * 2, rng.normal(size=3)) for _ in range(40)]
        text = one_text(gs.grad(in_sequence(n), argnums=(0, 1)), calls)
        assert "NotImplemented" not in text
        lengths[n] = len(text.splitlines())
    assert lengths[12] - lengths[8] <= lengths[8] - lengths[4] + 2, lengths
    assert lengths[12] <= 15 + 19 * 12, lengths


def way(x: Array, w: Array) -> Array:
    if x[0] > 2.0:
        return np.sum(w * x)
    if x[0] > 1.0:
        w = w * w
    elif x[0] > 0.0:
        w = np.sin(w)
    return np.sum(w) if x[1] > 0.0 and not w[0] > 1.0 else np.sum(w * x)


WAYS = [(np.array([a, b]), np.array([c, 0.5])) for a in (2.5, 1.5, 0.5, -0.5) for b in (1.0, -1.0) for c in (0.3, 2.0)]


@pytest.mark.parametrize("transform", [lambda f: f, gs.grad, lambda f: gs.value_and_grad(f, argnums=(0, 1))])
def test_early_returns_chains_and_truths(transform: Any) -> None:
    text = one_text(transform(way), [*WAYS, *WAYS])
    assert "NotImplemented" not in text


def helper(u: Array, limit: Any) -> Array:
    if np.sum(u) > limit:
        return u * limit
    v = u - 1.0
    if np.min(v) < -1.0:
        v = v * v
    return v


def test_helpers_and_loops_behind_a_branch() -> None:
    def f(x: Array, w: Array) -> Array:
        y = helper(x, 1.0)
        y = helper(y * w, 2.0)
        while np.sum(y * y) > 1.0:
            y = y * 0.5
            if np.sum(y) < 0.0:
                y = y + 0.01
        return np.sum(y * w)

    rng = np.random.default_rng(1)
    one_text(gs.grad(f, argnums=(0, 1)), [(rng.normal(size=3) * 2, rng.normal(size=3) * 2) for _ in range(30)])


def test_an_argument_that_one_arm_alone_reads_has_zeros_of_eager_in_the_other() -> None:
    def f(x: Array, w: Array, c: Any) -> Array:
        out = np.sum(x)
        if x[0] > 0.0:
            out = out + np.sum(w * -0.0)
        if x[1] > 0.0:
            out = out + c * np.sum(w)
        if x[2] > 0.0:
            out = out - np.sum(w * x)
        return out

    signs = [np.array(s) for s in itertools.product((1.0, -1.0), repeat=3)]
    w = np.array([1.0, 0.0, -0.0])
    text = one_text(gs.grad(f, argnums=(0, 1, 2)), [(s, w, np.float64(c)) for s in signs for c in (-0.0, 2.0)])
    assert "-0.0)" not in text.partition("# backward")[2].replace("w * -0.0", "").replace("* -0.0", "")


def test_no_cotangent_is_not_a_cotangent_of_zeros() -> None:
    """Zeros through a square root at zero would be NaN, which eager never computes."""

    def f(x: Array) -> Array:
        r = np.sqrt(x[0])
        y = r * 2.0 if x[0] > 0.0 else x[0] * 3.0
        return y * x[1]

    calls = [(np.array([a, 2.0]),) for a in (1.0, 0.0, 4.0, -0.0)]
    assert not np.isnan(gs.grad(f)(calls[1][0])).any()
    one_text(gs.grad(f), calls)


def test_nor_is_it_in_a_kept_loop() -> None:
    def f(x: Array) -> Array:
        s = np.sum(x) * 0.0
        for i in range(6):
            t = np.sqrt(x[i])
            if x[i] > 0.5:
                s = s + t * 2.0
            else:
                s = s + x[i] * 3.0
        return s

    x = np.array([1.0, 2.0, 3.0, 0.7, 0.8, 0.9])
    calls = [(x,), (np.where(x == 3.0, 0.1, x),), (np.where(x == 3.0, 0.3, x),), (np.where(x == 3.0, 0.0, x),)]
    text = one_text(gs.grad(f), calls)
    assert text.count("    for i in range(6):\n") == text.count("for i in reversed(range(6)):") == 1


def test_gradients_have_memory_of_their_own_on_every_way() -> None:
    def f(x: Array, y: Array) -> Array:
        z = x + y
        return np.sum(z) if x[0] > 0.0 else np.sum(z * z)

    calls = [(np.array([a, 1.0]), np.array([2.0, 3.0])) for a in (1.0, -1.0, 2.0, -2.0)]
    one_text(gs.grad(f, argnums=(0, 1)), calls)
    compiled = gs.compile(gs.grad(f, argnums=(0, 1)))
    for args in (*calls, *calls):
        found = compiled(*args)
        assert all(g.flags.writeable for g in found)
        assert not np.shares_memory(*found)


def test_what_cannot_join_has_texts_of_its_own() -> None:
    def other_shape(x: Array) -> Array:
        y = x
        if x[0] > 0.0:
            y = x[:2]
        return np.sum(y * 2.0)

    def raises(x: Array) -> Array:
        if x[0] > 0.0:
            raise ValueError("positive")
        return np.sum(x * x)

    def recursive(x: Array) -> Array:
        return recursive(x / 2.0) if np.sum(x) > 1.0 else np.sum(x * x)

    def takes_an_arm_that_raises(x: Array) -> Array:
        return np.sum(np.linalg.inv(np.outer(x, x))) if x[0] > 5.0 else np.sum(x)

    up, down = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 2.0, 3.0])
    for function in (other_shape, recursive, takes_an_arm_that_raises):
        compiled = gs.compile(gs.grad(function), verify="first calls")
        for x in (up, down, up * 0.1, up * 2, down * 3, up):
            assert difference(compiled(x), gs.grad(function)(x)) is None
        assert compiled._eager is None
    compiled = gs.compile(gs.grad(raises))
    assert difference(compiled(down), gs.grad(raises)(down)) is None
    with pytest.raises(ValueError, match="positive"):
        compiled(up)


def test_numbers_of_python_keep_their_kind() -> None:
    def f(x: Array) -> Any:
        penalty = 0.0
        if x[0] > 0.0:
            penalty = np.sum(x * x)
        return penalty

    def g(x: Array) -> Any:
        scale = 1.0
        if x[0] > 0.0:
            scale = x[1]
        return np.float32(2.0) * scale, np.ones(2, np.float32) * scale

    for function in (f, g):
        compiled = gs.compile(function, verify="first calls")
        for a in (1.0, -1.0, 2.0, -2.0, 3.0, -3.0):
            x = np.array([a, 2.0])
            assert difference(compiled(x), function(x)) is None
            assert type(compiled(x)) is type(function(x))


@pytest.mark.parametrize("order", [gs.hessian, lambda f: gs.grad(lambda x: np.sum(gs.grad(f)(x) * x))])
def test_second_derivatives(order: Any) -> None:
    def f(x: Array) -> Array:
        y = np.sin(x)
        if x[0] > 0.0:
            y = y * y * x
        return np.sum(y**3)

    compiled = gs.compile(order(f), verify="first calls")
    for a in (1.0, -1.0, 2.0, -2.0, 1.5, -1.5):
        x = np.array([a, 0.7, -0.3])
        assert difference(compiled(x), order(f)(x)) is None


class Writer:
    """Writes functions with branches of all sorts: nested, with returns, truths, helpers, loops and writes."""

    VECTORS = (
        "np.sin({a}) * {b}", "{a} + {b}", "{a} * {s}", "np.sqrt(np.abs({a}))", "np.maximum({a}, {b})", "-{a}",
        "np.where({a} > 0, {b}, {a})", "{a} * 0.0 + {b}", "np.concatenate([{a}[1:], {b}[:1]])", "{a} - np.mean({b})",
    )  # fmt: skip
    SCALARS = ("np.sum({a})", "{a} @ {b}", "{a}[0] * {s}", "np.sqrt(np.abs({s}))", "np.max({a})", "{s} - {t}")
    TESTS = (
        "np.sum({a}) > 0.5",
        "{s} > {t}",
        "{a}[0] < {a}[1]",
        "{s} > 0 and {a}[2] < 1",
        "not {s} > 0",
        "0 < {s} < 1",
    )

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.branches = 0

    def filled(self, forms: tuple[str, ...]) -> str:
        rng = self.rng
        names = {k: rng.choice("xyab") for k in "ab"} | {k: rng.choice("spq") for k in "st"}
        return rng.choice(forms).format(**names)

    def block(self, pad: str, depth: int) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            kind = rng.random()
            if kind < 0.3:
                self.lines.append(f"{pad}{rng.choice('xyab')} = {self.filled(self.VECTORS)}")
            elif kind < 0.5:
                self.lines.append(f"{pad}{rng.choice('spq')} = {self.filled(self.SCALARS)}")
            elif kind < 0.6:
                name = rng.choice("xyab")
                self.lines.append(f"{pad}{name} = {self.filled(self.VECTORS)} if {self.filled(self.TESTS)} else {name}")
            elif kind < 0.65:
                name = rng.choice("ab")
                self.lines += [f"{pad}{name} = {name} * 1.0", f"{pad}{name}[1] = {self.filled(self.SCALARS)}"]
            elif depth < 3 and self.branches < 6:
                self.branches += 1
                self.lines.append(f"{pad}if {self.filled(self.TESTS)}:")
                self.block(pad + "    ", depth + 1)
                if rng.random() < 0.2:
                    self.lines.append(f"{pad}    return np.sum({rng.choice('xyab')}) * {rng.choice('spq')}")
                if rng.random() < 0.6:
                    self.lines.append(f"{pad}else:")
                    self.block(pad + "    ", depth + 1)
            else:
                self.lines.append(f"{pad}pass")

    def function(self) -> Any:
        self.lines = ["def f(x, y, s):", "    a, b = x * y, y - 0.5", "    p, q = s * 2.0, np.sum(x)"]
        self.block("    ", 0)
        self.block("    ", 0)
        self.lines.append(f"    return np.sum({self.filled(self.VECTORS)}) + {self.filled(self.SCALARS)}")
        return made("\n".join([*self.lines, ""]))


@pytest.mark.parametrize("seed", [*range(6), *[pytest.param(k, marks=pytest.mark.slow) for k in range(6, 80)]])
def test_random_functions(seed: int) -> None:
    function = gs.value_and_grad(Writer(seed).function(), argnums=(0, 1, 2))
    rng = np.random.default_rng(seed)

    def vector() -> Array:
        return np.where(rng.random(3) < 0.2, rng.choice([0.0, -0.0]), rng.normal(size=3) * rng.choice([0.3, 1.0, 3.0]))

    one_text(function, [(vector(), vector(), np.float64(rng.normal())) for _ in range(16)])


@pytest.mark.parametrize(
    "seed", [1001, 1002, 1011, 1032, *[pytest.param(k, marks=pytest.mark.slow) for k in range(80, 100)]]
)
def test_large_arrays_that_one_arm_alone_makes_are_not_deleted(seed: int) -> None:
    function = gs.value_and_grad(Writer(seed).function(), argnums=(0, 1, 2))
    rng = np.random.default_rng(seed)
    calls = [(rng.normal(size=40_000), rng.normal(size=40_000), np.float64(rng.normal())) for _ in range(8)]
    one_text(function, calls)


BEYOND: dict[str, Callable[[Any], Any]] = {
    "second": lambda f: gs.grad(lambda x, y, s: np.sum(gs.grad(f)(x, y, s) * x)),
    "hessian": gs.hessian,
    "jvp": lambda f: lambda x, y, s: gs.jvp(f, (x, y, s), (y, x, s)),
    "vmap": lambda f: (
        lambda x, y, s: gs.vmap(gs.grad(f), (0, 0, 0))(
            np.stack([x, y, -x]), np.stack([y, x, y]), np.stack([s, s * 2, -s])
        )
    ),
}


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("seed", [*range(5), 61, 67, *[pytest.param(k, marks=pytest.mark.slow) for k in range(5, 60)]])
def test_random_functions_beyond_gradients(beyond: str, seed: int) -> None:
    """These may have a text for each outcome, or run eagerly: what they give is right."""
    function = BEYOND[beyond](Writer(seed).function())
    compiled = gs.compile(function, verify="first calls")
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", gs.EagerWarning)
        for _ in range(8):
            args = (rng.normal(size=3), rng.normal(size=3) * 2.0, np.float64(rng.normal()))
            try:
                expected = function(*args)
            except Exception as error:
                with pytest.raises(type(error)):
                    compiled(*args)
                continue
            assert difference(compiled(*args), expected) is None
