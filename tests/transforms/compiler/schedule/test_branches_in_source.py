"""Paths of one function: one text with branches, whose shared part runs once, and which eager agrees with bit for bit."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import linecache
import pickle
import random
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.driver import compiled as machinery
from gradscribe.transforms.compiler.schedule.program import Fork, each_statement
from gradscribe.transforms.compiler.schedule.run import run_program
from gradscribe.transforms.compiler.schedule.verify import verified
from gradscribe.transforms.difference import difference

Array = Any
UP, DOWN, FAR = np.array([1.0, 2.0]), np.array([-1.0, -2.0]), np.array([9.0, 2.0])
_names = itertools.count()


def three(x: Array) -> Array:
    h = np.tanh(x)
    s = np.sum(h)
    y = np.exp(h)
    if bool(s > 0):  # a truth of Python's: an outcome of its own
        if bool(x[0] > 5):
            return y * h
        return y + h
    return y - np.cos(h)


def module_level(x: Array) -> Array:
    return np.sum(x * x) if bool(np.sum(x) > 0) else np.sum(x)


pickled = gs.compile(module_level)


def follow(compiled: Any, function: Callable[..., Any], *calls: Any) -> None:
    for args in calls:
        assert difference(compiled(*args), function(*args)) is None


def captures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with every capture."""
    found: list[Any] = []
    original = machinery.Compiled._capture

    def counting(self: Any, *args: Any) -> Any:
        found.append(self)
        return original(self, *args)

    monkeypatch.setattr(machinery.Compiled, "_capture", counting)
    return found


def checked(text: str) -> None:
    """Whether ruff takes a text as it is."""
    for command in (["check"], ["format", "--check", "--diff"]):
        run = [sys.executable, "-P", "-m", "ruff", *command, "--isolated", "--no-cache", "-"]
        done = subprocess.run(run, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + text


# The text ------------------------------------------------------------------------------------------------------------


def test_what_paths_share_is_written_once() -> None:
    compiled = gs.compile(three, verify="first calls")
    follow(compiled, three, *[(v * k,) for k in (1.0, 1.01, 1.02) for v in (UP, DOWN, FAR)])
    text = compiled.source(UP)
    assert text == compiled.source(DOWN) == compiled.source(FAR)
    for once in ("np.tanh(", "np.sum(", "np.exp(", "np.cos(", "if x[0] > 5:"):
        assert text.count(once) == 1, text
    assert "Knows 3 paths" in text
    assert "NotImplemented" not in text.partition("gives NotImplemented.")[2]  # every outcome is known
    lines = [line.strip() for line in text.splitlines()]
    first = [next(k for k, line in enumerate(lines) if line.startswith(head)) for head in ("y = np.exp(h)", "if ")]
    assert first == sorted(first)
    assert max(map(len, text.splitlines())) <= 88


def test_a_path_that_is_not_known_is_asked_for() -> None:
    compiled = gs.compile(three, verify="first calls")
    follow(compiled, three, (UP,), (DOWN,), (UP * 1.01,), (DOWN * 1.01,))
    text = compiled.source(UP)
    assert text.count("return NotImplemented") == 1
    miss = gs.explain(compiled).misses[-1]
    follow(compiled, three, (FAR,), (FAR * 1.01,), (UP,), (DOWN,))
    assert (miss.expected, miss.found) == ("True", "False")
    assert gs.explain(compiled).misses[-1].expected == "False"
    assert "return NotImplemented" not in compiled.source(FAR)


def test_guards_stand_as_early_as_their_order_allows() -> None:
    def model(x: Array) -> Array:
        y = np.exp(x)
        m = np.linalg.inv(np.outer(x, x) + np.eye(2))
        z = np.cos(x)
        if bool(np.sum(np.sin(x)) > 0):
            y = y * z
        if bool(np.max(y) > 0):
            return m @ y
        return z

    text = str(gs.source(model, UP))
    order = ["np.linalg.inv(", "np.sum(np.sin(x)) > 0", "np.exp(", "np.max(", "@"]
    places = [text.index(order[0])]
    for word in order[1:]:
        places.append(text.index(word, places[-1] + 1))
    assert len(places) == len(order)
    late = gs.compile(model, passes=["dead_code"]).source(UP)
    assert late.index("np.exp(") < late.index("np.linalg.inv(")


def test_paths_with_effects_keep_texts_of_their_own() -> None:
    def write(x: Array, out: Array) -> Array:
        if np.sum(x) > 0:
            out[0] = x[1]
        return x * 2

    compiled = gs.compile(write, verify="first calls")
    for k in (1.0, 1.5, 2.0):
        for v in (UP, DOWN):
            one, two = np.zeros(2), np.zeros(2)
            assert difference((compiled(v * k, one), one), (write(v * k, two), two)) is None
    assert "Knows" not in compiled.source(UP, np.zeros(2))


def test_numbers_of_python_choose_among_several_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(x: Array) -> Array:
        total = np.sin(x)
        for _ in range(int(x[0])):
            total = total * x
        return total

    found = captures(monkeypatch)
    compiled = gs.compile(steps, verify="first calls")
    calls = [(np.array([float(k), 0.5]) + d,) for d in (0, 0.25, 0.5, 0.75) for k in (3, 1, 0, 4)]
    follow(compiled, steps, *calls)
    assert len(found) == 4
    text = compiled.source(*calls[0])
    assert text.count("np.sin") == 4
    assert text.count("= x[0]") == 1  # a call of another number is found out first
    assert [text.index(f"== {k}:") for k in (0, 1, 3)] == sorted(text.index(f"== {k}:") for k in (0, 1, 3))
    checked(text)
    compiled(np.array([7.0, 0.5]))
    assert gs.explain(compiled).misses[-1].expected == "0 or 1 or 3 or 4"


def test_a_loop_that_runs_while_something_holds_is_not_nested() -> None:
    def halved(x: Array) -> Array:
        size = np.sum(x * x)
        while size > 1:
            x = x / 2
            size = np.sum(x * x)
        return np.sum(x**3)

    eager = gs.grad(halved)
    compiled = gs.compile(eager, verify="first calls")
    calls = [(UP * 2.0**k * s,) for s in (0.4, 0.41, 0.42) for k in range(7)]
    follow(compiled, eager, *calls, *calls)
    text = compiled.source(*calls[0])
    assert max(len(line) - len(line.lstrip()) for line in text.splitlines()) <= 12, text
    checked(text)


# What is assumed -----------------------------------------------------------------------------------------------------

SCALE = 2.0
TABLE = np.array([1.0, 4.0])


def doubled(x: Array) -> Array:
    return x * SCALE


def test_what_one_path_alone_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(x: Array) -> Array:
        return doubled(x) if bool(np.sum(x) > 0) else x - TABLE

    compiled = gs.compile(model, verify="first calls")
    calls = [(UP,), (DOWN,), (UP * 2,), (DOWN * 2,), (UP * 3,), (DOWN * 3,)]
    follow(compiled, model, *calls)
    assert "TABLE" in compiled.source(UP)
    assert "Knows 2 paths" in compiled.source(UP)
    for name, value in (("SCALE", 3.0), ("TABLE", np.array([0.5, -1.0])), ("TABLE", np.array([1, 2])), ("SCALE", 2.0)):
        monkeypatch.setitem(globals(), name, value)
        follow(compiled, model, *calls)


def test_other_sizes_share_the_text() -> None:
    compiled = gs.compile(three, verify="first calls")
    follow(compiled, three, *[(v * k,) for k in (1.0, 1.1, 1.2) for v in (UP, DOWN, FAR)])
    longer = [np.append(v, 0.5) for v in (UP, DOWN, FAR)]
    follow(compiled, three, *[(v * k,) for k in (1.0, 1.1, 1.2) for v in reversed(longer)])
    assert compiled.source(longer[0]) == compiled.source(UP)
    assert len(gs.explain(compiled).specialisations) == 3


def test_results_of_other_structure() -> None:
    def model(x: Array) -> Any:
        return (x, {"s": np.sum(x)}) if np.sum(x) > 0 else np.sum(-x)

    compiled = gs.compile(model, verify="first calls")
    follow(compiled, model, (UP,), (DOWN,), (UP * 2,), (DOWN * 2,), (UP,), (DOWN,))
    assert compiled.source(UP).count("\n    return ") == compiled.source(UP).count("\n        return ") == 1


def test_buffers_that_an_arm_writes_over_are_not_those_of_the_other() -> None:
    def chain(x: Array) -> Array:
        a = np.exp(x)
        b = a * a
        if np.sum(b) > 1e5:
            c = np.sin(a)
            d = c * b
            return d - a
        e = b + 1.0
        return e * a + b

    compiled = gs.compile(chain, verify="first calls")
    big = np.linspace(0, 1, 30_000)
    small = -big
    follow(compiled, chain, *[(v * k,) for k in (1.0, 1.25, 1.5, 1.75) for v in (small, big)])
    assert "out=" in compiled.source(big) or "+=" in compiled.source(big)
    assert compiled.source(big).count("np.exp(x)") == 1


def test_an_error_in_an_arm_names_the_line() -> None:
    def solve(x: Array) -> Array:
        m = np.outer(x, x)
        if bool(np.sum(x) > 0):
            return np.linalg.inv(m + np.eye(2) * (x[0] < 4))
        return m

    compiled = gs.compile(solve, verify="first calls")
    follow(compiled, solve, (UP,), (DOWN,), (UP * 1.5,), (DOWN * 2,), (UP * 2,), (DOWN * 3,))
    assert "Knows 2 paths" in compiled.source(UP)
    try:
        compiled(np.array([5.0, 1.0]))
    except np.linalg.LinAlgError as error:
        text = "".join(traceback.format_exception(error))
    assert "return np.linalg.inv(m + np.eye(2) * (x[0] < 4))" in text
    assert str(compiled.source(UP).path) in text


def test_verify_names_the_statement_of_an_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.python import emit

    compiled = gs.compile(three, verify=True)
    original = emit.text_of

    def wrong(program: Any, signature: Any, docstring: Any, paths: Any = None, steps: Any = None) -> str:
        text = original(program, signature, docstring, paths, steps)
        return text if paths is None else text.replace("np.cos", "np.sin")

    with monkeypatch.context() as patched:
        patched.setattr(emit, "text_of", wrong)
        follow(compiled, three, (UP,), (DOWN,), (UP,))
    with pytest.raises(gs.VerifyError, match=r"is the first variable that differs, at line 24 of the generated source"):
        compiled(DOWN)
    assert difference(compiled(DOWN), three(DOWN)) is None
    unchecked = gs.compile(three)
    with monkeypatch.context() as patched:
        patched.setattr(emit, "text_of", wrong)
        follow(unchecked, three, (UP,), (DOWN,))
    with pytest.warns(gs.EagerWarning, match="is the first variable that differs"):
        follow(unchecked, three, (UP * 1.5,), (DOWN * 1.5,))
    follow(unchecked, three, (UP,), (DOWN,))


# What is told --------------------------------------------------------------------------------------------------------


def test_hits_of_each_path() -> None:
    compiled = gs.compile(three, verify="first calls")
    for v, n in ((UP, 4), (DOWN, 6), (FAR, 2), (UP, 3), (DOWN, 1)):
        follow(compiled, three, *[(v * (1 + 0.01 * k),) for k in range(n)])
    explained = gs.explain(compiled)
    assert [s.hits for s in explained.specialisations] == [4 + 3 - 1, 6 + 1 - 1, 2 - 1]
    assert sorted(s.name.partition(", ")[2] for s in explained.specialisations) == [f"path {k} of 3" for k in (1, 2, 3)]
    assert {s.source for s in explained.specialisations} == {str(compiled.source(UP))}
    compiled.source(DOWN)
    assert [s.hits for s in gs.explain(compiled).specialisations] == [s.hits for s in explained.specialisations]


def test_paths_are_counted_and_bounded() -> None:
    compiled = gs.compile(three, max_specialisations=2)
    follow(compiled, three, (UP,), (DOWN,), (UP * 2,), (DOWN * 2,))
    with pytest.warns(gs.EagerWarning, match="has 2 specialisations already"):
        follow(compiled, three, (FAR,), (FAR,))
    follow(compiled, three, (UP,), (FAR,), (DOWN,))


def test_dump_writes_the_tree(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCRIBE_DUMP", str(tmp_path))
    compiled = gs.compile(three)
    follow(compiled, three, (UP,), (DOWN,))
    assert str(compiled.source(UP)) in {file.read_text() for file in tmp_path.iterdir()}


# Threads, pickles, the cache -----------------------------------------------------------------------------------------


def test_threads_and_pickles() -> None:
    compiled = gs.compile(three)
    expected = {k: three(v) for k, v in enumerate((UP, DOWN, FAR))}
    wrong: list[Any] = []

    def work(start: int) -> None:
        for k in range(start, start + 60):
            v = (UP, DOWN, FAR)[k % 3]
            problem = difference(compiled(v), expected[k % 3])
            if problem is not None:
                wrong.append(problem)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    follow(compiled, three, *[(v * k,) for k in (1.0, 1.5, 2.0) for v in (UP, DOWN, FAR)])
    assert "Knows 3 paths" in compiled.source(UP)
    follow(pickled, module_level, (UP,), (DOWN,), (UP * 2,), (DOWN * 2,))
    follow(pickle.loads(pickle.dumps(pickled)), module_level, (UP,), (DOWN,))


def test_a_program_has_all_paths_and_runs() -> None:
    compiled = gs.compile(three)
    follow(compiled, three, *[(v * k,) for k in (1.0, 1.25, 1.5) for v in (UP, DOWN, FAR)])
    program = compiled.program(UP)
    assert sum(isinstance(s, Fork) for s in each_statement(program.body)) == 2
    assert str(program).count("return ") == 3
    for x in (UP, DOWN, FAR):
        assert difference(run_program(program, x), three(x)) is None


def test_a_path_that_does_not_return_is_found() -> None:
    compiled = gs.compile(three)
    follow(compiled, three, *[(v * k,) for k in (1.0, 1.25, 1.5) for v in (UP, DOWN, FAR)])
    program = compiled.program(UP)
    body = [dataclasses.replace(s, body=s.body[:-1]) if isinstance(s, Fork) else s for s in program.body]
    with pytest.raises(gs.VerifyError, match="it does not end with a return"):
        verified(program._replace(body=body), "planted")


def test_the_cache_has_trees(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.python import emit

    monkeypatch.setenv("GRADSCRIBE_CACHE", str(tmp_path / "kept"))
    calls = [(v * k,) for k in (1.0, 1.25, 1.5) for v in (UP, DOWN, FAR)]
    first = gs.compile(three, verify="first calls")
    follow(first, three, *calls)

    def written(*args: Any) -> None:
        raise AssertionError("a text was written")

    with monkeypatch.context() as patched:
        patched.setattr(emit, "text_of", written)
        second = gs.compile(three, verify="first calls")
        follow(second, three, *calls)
        assert second.source(UP) == first.source(UP)
    assert [s.hits for s in gs.explain(second).specialisations] == [2, 2, 2]
    assert second.graph(UP).calls


# At random -----------------------------------------------------------------------------------------------------------


class Writer:
    """Writes functions of nested ifs, and beside each one that tells which way a call went."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.conditions = 0

    def block(self, depth: int, names: list[str], indent: str) -> None:
        rng = self.rng
        names = list(names)
        for _ in range(rng.randint(1, 3)):
            name = rng.choice("abcde")
            one, two = rng.choice(names), rng.choice(names)
            unary, sign = rng.choice(("sin", "tanh", "exp", "cos", "abs")), rng.choice("+-*")
            self.lines.append(f"{indent}{name} = np.{unary}({one} * 0.5) {sign} {two}")
            names.append(name)
        if depth and self.conditions < 6:
            self.conditions += 1
            tested = rng.choice(names)
            kind = rng.choice(("sum", "sum", "item", "int"))
            if kind == "int":
                self.lines += [f"{indent}k = int(np.sum({tested} > 0.1))", f"{indent}went.append(k)"]
                self.lines.append(f"{indent}{names[-1]} = {names[-1]} * k")
                self.block(depth - 1, names, indent)
                return
            test = f"np.sum({tested}) > {rng.choice((-1.0, 0.0, 0.5))}" if kind == "sum" else f"{tested}[1] > y[0]"
            self.lines += [f"{indent}if bool({test}):", f"{indent}    went.append(True)"]
            self.block(depth - 1, names, indent + "    ")
            self.lines += [f"{indent}went.append(False)"]
            self.block(depth - 1, names, indent)
            return
        self.lines.append(f"{indent}return np.sum({names[-1]} * {rng.choice(names)})")

    def functions(self) -> tuple[Any, Any]:
        self.block(3, ["x", "y"], "    ")
        made = []
        for lines in ([line for line in self.lines if "went" not in line], self.lines):
            text = "\n".join(["def f(x, y):", *lines, ""])
            filename = f"random_paths_{next(_names)}.py"
            linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
            space: dict[str, Any] = {"np": np, "went": [], "__name__": "random_paths"}
            exec(compile(text, filename, "exec"), space)
            made.append(space)
        return made[0]["f"], made[1]


@pytest.mark.parametrize("seed", range(30))
def test_random_functions_of_nested_ifs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function, telling = Writer(seed).functions()
    eager = gs.value_and_grad(function, argnums=(0, 1)) if seed % 2 else function
    compiled = gs.compile(eager, verify="first calls", max_specialisations=200)
    found = captures(monkeypatch)
    rng = np.random.default_rng(seed)
    ways = set()
    for _ in range(40):
        x, y = rng.normal(size=4) * rng.choice([0.3, 1.0, 3.0]), rng.normal(size=4)
        telling["went"].clear()
        with np.errstate(all="ignore"):
            telling["f"](x, y)
            ways.add(tuple(telling["went"]))
            assert difference(compiled(x, y), eager(x, y)) is None
    assert len(found) == len(ways)
    text = compiled.source(x, y)
    ((_, *others),) = compiled._entries.values()
    assert not others  # one text for all
    assert (f"Knows {len(ways)} paths" in text) == (len(ways) > 1)
    ast.parse(text)
    if seed < 8:
        checked(text)


def test_no_name_of_a_parameter_is_what_paths_are_counted_in() -> None:
    def f(__hits__: Array) -> Array:
        return __hits__ * 2 if bool(np.sum(__hits__) > 0) else np.sin(__hits__)

    compiled = gs.compile(f, verify="first calls")
    for v in (UP, DOWN, UP, DOWN, FAR, -FAR, UP, DOWN):
        assert np.array_equal(compiled(v), f(v))
    assert "Knows 2 paths" in compiled.source(UP)
