"""Programs by chance over the table of ops: eager, compiled, forward mode and, where they map to one, PyTorch or JAX.

Usage: python fuzzing.py [--programs 10000] [--seed 0] [--against torch|jax] [--modules]

Statements are drawn one by one and kept where plain NumPy runs them, so each program is one that a person could write. With
`--against` they are those alone that the other library has, too. With `--modules` they are whole modules (fuzzing_modules.py).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gradscribe as gs

Choose = Callable[[Any], Any]  # one of several; what it is depends on who draws

SHAPES = ((3,), (2, 3), (3, 3), (3, 2), (), (1, 3), (4,), (2, 1, 3))
LARGEST = 48  # numbers in one value
PURE = {
    "unary": (
        "np.sin({a})", "np.tanh({a})", "np.exp(-np.abs({a}))", "np.cos({a})", "np.arctan({a})", "{a} ** 2", "-{a}", "{a} * 0.5",
        "np.log({a} * {a} + 1.0)", "np.sqrt({a} ** 2 + 0.5)", "np.abs({a})", "np.maximum({a}, 0.1)", "np.minimum(0.3, {a})",
        "1.0 / ({a} ** 2 + 1.0)", "np.sinh(np.tanh({a}))", "np.expm1(np.tanh({a}))", "np.log1p({a} ** 2)", "{a} ** 3",
        "{a} - 1",
        "2 * {a}", "np.clip({a}, -0.7, 0.8)", "np.square({a})", "np.sign({a}) * {a}", "np.where({a} > 0.2, {a}, 0.5 * {a})",
    ),
    "binary": (
        "{a} + {b}", "{a} * {b}", "{a} - {b}", "{a} / ({b} ** 2 + 1.0)", "np.maximum({a}, {b})", "np.minimum({a}, {b})",
        "np.hypot({a}, {b} + 3.0)", "np.logaddexp({a}, {b})", "np.arctan2({a}, {b} ** 2 + 1.0)",
        "np.where({a} > {b}, {a}, {b})",
        "np.power({a} ** 2 + 0.5, np.tanh({b}))",
    ),
    "reduction": (
        "np.sum({a})", "np.mean({a}, axis=0)", "np.sum({a}, axis=-1)", "np.max({a})", "np.min({a}, axis=0)", "np.var({a})",
        "np.sum({a}, axis=0, keepdims=True)", "np.mean({a}, axis=-1, keepdims=True)", "np.max({a}, axis=-1, keepdims=True)",
        "np.prod({a}, axis=-1)",
        "np.cumsum({a}, axis=-1)", "np.cumsum({a}, axis=0)", "np.std({a} + 3 * np.arange(3.0))",
    ),
    "shaping": (
        "{a}.T", "np.reshape({a}, (-1,))", "{a}[0]", "{a}[..., 1]", "{a}[1:]", "{a}[:, None]", "np.concatenate([{a}, {b}])",
        "np.stack([{a}, {b}])", "np.transpose({a})", "np.swapaxes({a}, 0, -1)", "np.expand_dims({a}, 0)", "np.flip({a}, 0)",
        "np.broadcast_to({a}, (2, 3))", "np.tril({a})", "np.diagonal({a})", "np.concatenate([{a}, {b}], axis=-1)",
        "{a}[None, :]",
        "np.roll({a}, 1, 0)", "{a}[-1]", "{a}[..., :2]", "np.sort({a}, axis=-1)", "np.squeeze({a})", "np.moveaxis({a}, 0, -1)",
        "np.split({a}, [1])[1]", "{a}[np.array([0, 1, 1])]", "np.reshape({a}, (3, -1))", "np.tile({a}, 2)",
    ),
    "product": (
        "{a} @ {b}", "np.dot({a}, {b})", "np.outer({a}, {b})", "np.einsum('ij,j->i', {a}, {b})", "np.tensordot({a}, {b}, 1)",
        "np.matmul({a}, {b}.T)", "np.einsum('ij,ij->', {a}, {b})", "np.trace({a})", "np.linalg.inv({a} @ {a}.T + np.eye(3))",
        "np.linalg.solve({a} @ {a}.T + np.eye(3), {b})", "np.linalg.norm({a} + 2.0)", "np.linalg.det({a})",
    ),
}  # fmt: skip
IMPURE = {
    "write": (
        "{n} = {a}.copy()\n{n}[0] = {b}", "{n} = {a} * 1.0\n{n}[1:] *= 0.5", "{n} = np.zeros(3)\n{n}[:] = {a}",
        "{n} = {a} + 0.0\n{n} += {b}", "{n} = np.array({a})\n{n}[..., 0] = 1.0",
        "{n} = np.zeros((2, 3))\n{n}[0] = {a}\n{n}[1] = {b}",
        "{n} = {a} + 1.0\nview = {n}[::-1]\nview[0] *= {b}", "{n} = {a} * 1.0\n{n}[{n} > 0] = 0.3",
        "{n} = np.empty_like({a})\n{n}[...] = {b}",
        "{n} = {a} * 2.0\nnp.multiply({n}, {b}, out={n})", "{n} = {a} + 0.5\nold = {n}\n{n} -= {b}\n{n} = {n} * old",
    ),
    "containers": (
        "{n} = np.array([np.sum({a}), np.sum({b}), 1.0])", "{n} = np.stack([r * 2.0 for r in {a}])",
        "{n} = sum([r for r in {a}])", "{n} = np.vstack([{a}, {b}])", "pair = ({a}, {b})\n{n} = pair[0] * pair[1]",
        "{n} = np.hstack([{a}, {b}])", "{n} = np.array([[v, v * v] for v in np.ravel({a})])",
    ),
    "control": (
        "if np.sum({a}) > 0:\n    {n} = {a} * 2.0\nelse:\n    {n} = {a} - 1.0",
        "{n} = {a}\nfor k in range(3):\n    {n} = np.tanh({n} + k)",
        "{n} = {a}\nwhile np.sum({n} ** 2) > 1.0:\n    {n} = {n} * 0.5", "{n} = {a} if {a}.ndim == 2 else {a} * 3.0",
        "total = 0.0\nfor row in {a}:\n    total = total + np.sum(row) * 0.5\n{n} = total", "{n} = helper({a}, {b})",
        "{n} = [v * 1.5 for v in ({a}, {b})][1]", "{n} = {a}.reshape(-1)[0] * {b}",
        "{n} = float(len(np.atleast_1d({a}))) * {a}",
    ),
    "methods": (
        "{n} = {a}.sum(axis=0)", "{n} = {a}.mean()", "{n} = {a}.reshape(-1)", "{n} = {a}.max(axis=-1)", "{n} = {a}.dot({b})",
        "{n} = {a}.astype(np.float32) * {b}", "{n} = np.float32(0.5) * {a}", "{n} = np.add.outer({a}, {b})",
        "{n} = np.add.reduce({a})",
        "{n} = np.real(np.exp(1j * {a}) * (1.0 + 2.0j))", "{n} = np.abs(np.fft.fft({a}))", "{n} = np.sum({a}, where={a} > 0)",
        "{n} = np.multiply({a}, {b}, where=np.asarray({b}) > 0, out=np.zeros(np.broadcast_shapes(np.shape({a}), np.shape({b}))))",
        "{n} = np.interp({a}, [-1.0, 0.0, 1.0], [0.0, 2.0, 1.0])", "{n} = np.nan_to_num({a})", "{n} = np.cross({a}, {b})",
        "{n} = np.median({a})", "{n} = np.ptp({a}, axis=0)", "{n} = np.convolve({a}, {b})", "{n} = np.diff({a})",
        "{n} = np.kron({a}, {b})",
    ),
}  # fmt: skip


def helper(x: Any, y: Any = 2.0) -> Any:
    return np.tanh(x) * y


def recorded() -> list[tuple[Any, Any, Any]]:
    """The samples of all ops that a statement can be made of: those of smooth functions of real arrays."""
    from checks import cases

    found = []
    for case in cases():
        s = case.sample
        usable = s.differentiable and not (s.integer or s.scoped) and case.shapes and all(map(math.prod, case.shapes))
        if usable and s.order >= 2 and sum(map(math.prod, case.shapes)) <= LARGEST:
            found.append(case)
    return [(case.sample, case.shapes, case.options) for case in found]


def within(x: Any, low: float, high: float) -> Any:
    """A value brought into a domain, smoothly."""
    return low + (high - low) * (0.5 + 0.45 * np.tanh(x))


def fitted(x: Any, shape: tuple[int, ...]) -> Any:
    """A value brought into a shape: its numbers over and over, no two alike."""
    flat, n = np.ravel(x), math.prod(shape)
    return np.reshape(np.concatenate([flat] * (-(-n // np.size(x))))[:n] + np.sin(np.arange(1.0, n + 1)), shape)


class Program:
    """A function of two arrays, as text, with what it reads."""

    def __init__(self, choose: Choose, length: int, pure: bool, samples: list[Any]) -> None:
        self.choose, self.pure, self.samples = choose, pure, samples
        self.space = self._space()
        rng = np.random.default_rng(choose(range(1000)))
        self.inputs = [np.asarray(rng.uniform(-1.5, 1.5, choose(SHAPES))) for _ in range(2)]
        self.values: dict[str, Any] = dict(zip("xy", self.inputs, strict=True))
        self.lines: list[str] = []
        for _ in range(length):
            self._step()
        used = list(self.values)[-3:]
        self.lines.append("return " + " + ".join(f"np.sum({v} * {0.3 + k})" for k, v in enumerate(used)))

    def _space(self) -> dict[str, Any]:
        """What statements may name besides values."""
        return {"np": np, "helper": helper, "within": within, "fitted": fitted}

    def _step(self) -> None:
        """One more statement, of those tried the first that NumPy runs to numbers of a fair size."""
        for _ in range(6):
            text, name = self._statement(), f"v{len(self.values) - 2}"
            text = text.replace("{n}", name)
            if self._runs(text, name):
                self.lines.extend(text.split("\n"))
                return

    def _statement(self) -> str:
        names = list(self.values)
        a, b = self.choose(names[::-1]), self.choose(names)
        kinds = [*PURE, *([] if self.pure else [*IMPURE, "sample", "sample", "sample"])]
        kind = self.choose(kinds)
        if kind == "sample":
            return self._sampled(names)
        template = self.choose(PURE[kind] if kind in PURE else IMPURE[kind])
        text = template.replace("{a}", a).replace("{b}", b)
        return text if "{n}" in text else f"{{n}} = {text}"

    def _sampled(self, names: list[str]) -> str:
        sample, shapes, options = self.choose(self.samples)
        domains = [sample.domain] * len(shapes) if isinstance(sample.domain[0], (int, float)) else list(sample.domain)
        key = f"op{len(self.space)}"
        self.space[key] = sample.call or sample.fn
        words = []
        for name, value in options.items():
            self.space[f"{key}_{name}"] = value
            words.append(f"{name}={key}_{name}")
        given = [
            f"within(fitted({self.choose(names)}, {shape}), {low}, {high})"
            for shape, (low, high) in zip(shapes, domains, strict=False)
        ]
        return f"{{n}} = {key}({', '.join([*given, *words])})"

    def _runs(self, text: str, name: str) -> bool:
        space = {**self.space, **{k: np.copy(v)[()] if np.ndim(v) == 0 else np.copy(v) for k, v in self.values.items()}}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(text, space)
                found = space[name]
                fine = isinstance(found, (np.ndarray, np.floating, float)) and np.asarray(found).dtype.kind == "f"
                fine = fine and 0 < np.size(found) <= LARGEST and bool(np.all(np.abs(found) < 100))
            except Exception:
                return False
        if fine:
            self.values[name] = found
        return fine

    @property
    def text(self) -> str:
        """The function."""
        return "def f(x, y):\n" + "".join(f"    {line}\n" for line in self.lines)

    def function(self, **other: Any) -> Any:
        """The function over NumPy, or over what `other` says."""
        import linecache

        filename = f"<fuzzed {id(self)}>"
        linecache.cache[filename] = (len(self.text), None, self.text.splitlines(keepends=True), filename)
        space = {**self.space, "__name__": "fuzzed", **other}
        exec(compile(self.text, filename, "exec"), space)
        return space["f"]


def same(a: Any, b: Any) -> bool:
    """Whether two results have the same bits, shapes and dtypes; nan is nan."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def close(a: Any, b: Any, rtol: float = 1e-6) -> bool:
    """Whether two gradients agree, to a part of the largest number."""
    a, b = np.asarray(a), np.asarray(b)
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= rtol * scale))


def problem(program: Program) -> str | None:
    """What is wrong with any of the ways to the gradient of a program; None where nothing is, "" where it has none."""
    f = program.function()
    args = [np.copy(x) if np.ndim(x) else np.float64(x) for x in program.inputs]
    single = "float32" in program.text
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        value = f(*args)
        gradient = gs.value_and_grad(f, argnums=(0, 1))
        try:
            found, slopes = gradient(*args)
        except (np.linalg.LinAlgError, NotImplementedError):
            return ""  # a matrix without the rank that a rule needs, or what a rule says that it does not do
        if not close(found, value, 1e-5 if single else 1e-9):
            return f"value under gs.grad {found!r}, plain {value!r}"
        if not all(np.all(np.isfinite(g)) for g in slopes):
            return ""  # a kink or an overflow of the program itself
        tangents = [np.cos(np.arange(np.size(x)) + k).reshape(np.shape(x))[()] for k, x in enumerate(args)]
        moved = gs.jvp(f, tuple(args), tuple(tangents))[1]
        along = sum(np.sum(g * t) for g, t in zip(slopes, tangents, strict=True))
        size = sum(np.sum(np.abs(g * t)) for g, t in zip(slopes, tangents, strict=True))
        if not abs(moved - along) <= (1e-3 if single else 1e-7) * (1 + size):
            return f"forward mode {moved!r}, reverse mode {along!r}"
        compiled = gs.compile(gradient, verify="first calls")
        others = [[x * 1.0 for x in args], [x * 0.9 + 0.01 for x in args]]
        for k, given in enumerate([args, *others]):
            if not _is_real(f, given):
                continue  # eigenvalues, real or complex by the values of their matrix
            expected, result = gradient(*given), compiled(*given)
            pairs = list(zip([result[0], *result[1]], [expected[0], *expected[1]], strict=True))
            alike = all(same(a, b) for a, b in pairs)
            if not alike and not (all(close(a, b) for a, b in pairs) and _to_rounding(compiled, given)):
                return f"run {k}: compiled {result!r}, eager {expected!r}\n{compiled!r}"
    for w in seen:
        if issubclass(w.category, gs.EagerWarning) and "please report" in str(w.message):
            return str(w.message)
    return None


def _is_real(f: Any, given: Any) -> bool:
    """Whether plain NumPy gives a real number here."""
    try:
        return np.asarray(f(*[np.copy(x) if np.ndim(x) else x for x in given])).dtype.kind == "f"
    except Exception:
        return False


def _to_rounding(compiled: Any, given: Any) -> bool:
    """Whether cotangents add up in another order in a kept loop, where docs/control-flow.md promises no bits."""
    try:
        return bool(compiled.specialisation(*given).eps)
    except gs.CompileError:
        return False


def other_problem(program: Program, slopes_of: Callable[[Program], Any]) -> str | None:
    """How another library's gradient of a pure program differs; "" where it has none, None where it does not."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = [np.copy(x) if np.ndim(x) else np.float64(x) for x in program.inputs]
        value, found = gs.value_and_grad(program.function(), argnums=(0, 1))(*args)
        theirs = slopes_of(program)
    if theirs is None or not close(value, theirs[0]) or not all(np.all(np.isfinite(g)) for g in theirs[1]):
        return ""  # it cannot run it, takes it as another function, or has nan at a point where we have none
    expected = theirs[1]
    if not all(close(a, b) for a, b in zip(found, expected, strict=True)):
        return f"gradient {found!r}, the other library {expected!r}"
    return None


def programs(
    seed: int, count: int, pure: bool = False, length: int = 8, kind: type[Program] = Program
) -> Iterator[tuple[int, Program]]:
    """Programs by chance, each from its own number."""
    import random

    samples = [] if pure else recorded()
    for k in range(seed, seed + count):
        chance = random.Random(k)
        yield k, kind(chance.choice, length, pure, samples)


def main() -> int:
    """Run programs, and print those that fail."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--against", choices=["torch", "jax"])
    parser.add_argument("--modules", action="store_true", help="whole modules, with classes and state")
    parser.add_argument("--lengths", action="store_true", help="programs that are called at other lengths")
    asked = parser.parse_args()
    slopes_of, kind, check = None, Program, problem
    if asked.lengths:
        from fuzzing_lengths import Lengths, lengths_problem

        kind, check = Lengths, lengths_problem
    if asked.modules:
        from fuzzing_modules import Module, module_problem

        kind, check = Module, module_problem
    if asked.against:
        from fuzzing_peers import PEERS

        slopes_of = PEERS[asked.against]()
    bad, passed, start = 0, 0, time.perf_counter()
    for k, program in programs(asked.seed, asked.programs, pure=slopes_of is not None, kind=kind):
        try:
            wrong = check(program) if slopes_of is None else other_problem(program, slopes_of)
        except Exception:
            wrong = traceback.format_exc(limit=-4)
        passed += wrong == ""
        if (k - asked.seed) % 100 == 99:
            print(f"{k - asked.seed + 1} programs so far, {bad} mismatches", file=sys.stderr, flush=True)
        if wrong:
            bad += 1
            print(f"--- program {k}: {wrong}\n{program.text}", flush=True)
    took = time.perf_counter() - start
    print(
        f"{asked.programs - passed} programs, {bad} mismatches, {took:.0f} s ({60 * asked.programs / took:.0f} a minute); "
        f"{passed} passed over"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
