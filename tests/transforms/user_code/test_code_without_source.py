"""Code of which nobody has the source is in scope as any other: it asks, calls, stores and catches as plain NumPy code does."""

from __future__ import annotations

import itertools
import linecache
import pathlib
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

pytestmark = pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # running eagerly is no loss

MODULE = """\
import contextlib, functools, json, math, os, re, time
import numpy as np
log = []
number = 0

def ask(t):
    return t if type(t) is np.float64 else t * 0.0

names = {"ask": ask}

class Model:
    def __init__(self, t):
        self.t = t
    def method(self):
        return self.t * 2.0 if type(self.t) is np.float64 else self.t * 0.0
    def has(self):
        return self.t * 2.0 if not hasattr(self.t, "backward") else self.t * 0.0
    def logged(self):
        return math.log1p(float(self.t))
    @property
    def computed(self):
        return ask(self.t)
    @staticmethod
    def of_none(t):
        return ask(t) * 2.0
    @classmethod
    def of_class(cls, t):
        return ask(t) * 3.0
    def __add__(self, other):
        return ask(self.t) + other
    def __neg__(self):
        return ask(self.t) * 2.0
    def __lt__(self, other):
        return ask(self.t) > 1e9 or True
    def __call__(self, other):
        return self.t + other if np.isscalar(self.t) else self.t * 0.0
    def __iter__(self):
        yield ask(self.t)
    def __len__(self):
        return 1
    def __getitem__(self, key):
        return ask(self.t)
    def __enter__(self):
        return ask(self.t)
    def __exit__(self, *error):
        return False
    def __getattr__(self, name):
        if name.startswith("q"):
            return ask(self.t)
        raise AttributeError(name)

def f(x):
    t = np.sum(x * x)
    {before}
    o = Model(t)
    with o as entered:
        pass
    return {result} + entered

def with_stores(x):
    global number
    t = np.sum(x * x)
    number = float(t)
    def inner(k):
        global number
        number += k * float(t)
    inner(1)
    log.append([math.exp(t)])
    log[-1] += [number]
    return t * number
"""
BEFORE = ("pass", "time.time()", "log.append(1)")  # what ends a capture, and what is stored before one ends
RESULTS = (
    "o.method()", "o.has()", "o.logged()", "o.computed", "o.of_none(t)", "o.of_class(t)", "Model.of_none(t)", "Model.of_class(t)",
    "(o + 1.0)", "(-o)", "(t if o < 1 else 0.0 * t)", "o(1.0)", "o[0]", "sum(o)", "list(o)[0]", "next(iter(o))", "max(o)",
    "[v for v in o][0]", "o.qq", "[ask][0](t)", "{'a': ask}['a'](t)", "(ask if t > 0 else None)(t)", "list(map(ask, [t]))[0]",
    "(lambda v: v * 2.0 if type(v) is np.float64 else v * 0.0)(t)", "getattr(o, 'method')()", "o.method.__func__(o)",
    "type(o).method(o)", "sorted([t, t * 2.0], key=ask)[1]", "functools.partial(ask, t)()", "ask(*[t])", "ask(**{'t': t})",
    "[math.exp][0](t)", "{'f': float}['f'](t)", "{'f': ask}.get('f')(t)", "names.get('ask')(t)",
    "(t if isinstance(t, float) and hash(t) == hash(float(t)) else 0.0 * t)", "functools.reduce(lambda a, b: ask(a) + b, [t, t])",
)  # fmt: skip
POINTS = [np.array([0.3, 0.5]), np.array([0.4, 0.6]), np.array([0.5, 0.7])]
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "eager": gs.value_and_grad, "compiled": lambda f: gs.compile(gs.value_and_grad(f)),
}  # fmt: skip
_files = itertools.count()


def module_of(text: str, source: bool, name: str | None = "a_module") -> Any:
    """Return the module of a text, with or without its source."""
    file = f"<module {next(_files)}>" if source else "<string>"
    if source:
        linecache.cache[file] = len(text), None, text.splitlines(True), file
    space: dict[str, Any] = {} if name is None else {"__name__": name}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    return types.SimpleNamespace(**space)


def hold(f: Callable[..., Any], transform: str) -> None:
    """Value and gradient at three calls, against the plain function and its differences."""
    run = TRANSFORMS[transform](f)
    for x in POINTS:
        steps = 1e-6 * np.eye(len(x))
        value, slopes = f(x), [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
        found, gradient = run(x)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("source", [True, False], ids=["source", "none"])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("result", RESULTS)
def test_it_asks_and_calls_as_with_plain_numbers(result: str, before: str, source: bool, transform: str) -> None:
    text = MODULE.replace("{before}", before).replace("{result}", result)
    hold(module_of(text, source).f, transform)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("source", [True, False], ids=["source", "none"])
def test_what_it_stores_is_plain_and_stored_once(source: bool, transform: str) -> None:
    text = MODULE.replace("{before}", "pass").replace("{result}", "t")
    found, plain = module_of(text, source).with_stores, module_of(text, source).with_stores
    run = TRANSFORMS[transform](found)
    for x in POINTS:
        value, _ = run(x)
        assert value == pytest.approx(plain(x), rel=1e-12)
    kept, expected = found.__globals__, plain.__globals__
    assert type(kept["number"]) is float
    assert kept["number"] == pytest.approx(expected["number"], rel=1e-12)
    assert [[type(v) for v in row] for row in kept["log"]] == [[float, float]] * 3
    np.testing.assert_allclose(kept["log"], expected["log"], rtol=1e-12)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_namespace_without_a_name(transform: str) -> None:
    text = MODULE.replace("{before}", "pass").replace("{result}", "o.method()")
    hold(module_of(text, False, None).f, transform)


def test_a_dataclass_without_source_runs_what_its_user_wrote() -> None:
    text = """\
import dataclasses, math
@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0
    def __post_init__(self):
        self.z = math.exp(self.x)
    def __mul__(self, other):
        return math.sin(self.z) * other
def f(t):
    return Point(t[0] * t[1]) * 3.0
"""
    for transform in TRANSFORMS:
        hold(module_of(text, False).f, transform)


SWALLOWING = {
    "handler": """\
    try:
        time.sleep(t * 0.0)
        r = t
    except TypeError:
        r = t * 0.0""",
    "of everything": """\
    try:
        r = re.sub('a', 'b', t)
    except:
        r = t * 0.0""",
    "in a loop": """\
    r = t
    for k in range(2):
        try:
            time.sleep(t * 0.0)
        except Exception as e:
            r = r * 0.0""",
    "suppress": """\
    r = t * 0.0
    with contextlib.suppress(TypeError):
        time.sleep(t * 0.0)
        r = t""",
    "an exit stack": """\
    r = t * 0.0
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(Exception))
        re.sub('a', 'b', t)
        r = t""",
    "an object": """\
    r = t * 0.0
    with Quiet():
        time.sleep(t * 0.0)
        r = t""",
    "an object, of text": """\
    r = t * 0.0
    with Quiet():
        re.sub('a', 'b', t)
        r = t""",
    "a generator": """\
    r = t * 0.0
    with quiet():
        re.sub('a', 'b', t)
        r = t""",
    "a helper": "    r = retried(lambda: (time.sleep(t * 0.0), t)[1]) or t * 0.0",
    "a future": """\
    with cf.ThreadPoolExecutor(1) as pool:
        job = pool.submit(lambda: (time.sleep(t * 0.0), t)[1])
    r = t if job.exception() is None else t * 0.0""",
}
CATCHING = """\
import concurrent.futures as cf
import contextlib, re, time
import numpy as np
class Quiet:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True
@contextlib.contextmanager
def quiet():
    try:
        yield
    except Exception:
        pass
def retried(g):
    for _ in range(2):
        try:
            return g()
        except Exception:
            pass
def f(x):
    t = np.sum(x * x)
{body}
    return r
"""


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("source", [True, False], ids=["source", "none"])
@pytest.mark.parametrize("name", SWALLOWING)
def test_nothing_swallows_a_loss(name: str, source: bool, transform: str) -> None:
    run = TRANSFORMS[transform](module_of(CATCHING.replace("{body}", SWALLOWING[name]), source).f)
    for x in POINTS:
        with pytest.raises(gs.GradientLossError):
            run(x)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("source", [True, False], ids=["source", "none"])
def test_errors_of_numpy_are_still_the_users_to_handle(source: bool, transform: str) -> None:
    body = """\
    try:
        r = np.linalg.solve(np.zeros((2, 2)), x)[0]
    except np.linalg.LinAlgError:
        r = t
    with Quiet():
        r = r * {}["none"]
    with np.errstate(all="ignore"), contextlib.suppress(KeyError):
        r = r * 2.0
        {}["none"]"""
    hold(module_of(CATCHING.replace("{body}", body), source).f, transform)


# Texts that are run ----------------------------------------------------------------------------------------------------

TEXTS = """\
import math
import numpy as np
def evaluated(x):
    t = np.sum(x * x)
    return eval(" t * 2.0 if type(t) is np.float64 else 0.0") + eval("float(v) * math.exp(v)", {"v": t, "math": math})
def in_a_lambda(x):
    return (lambda v: eval("math.exp(v)"))(np.sum(x)) + eval(compile("sum(math.sin(v) for v in x)", "<text>", "eval"))
def executed(x):
    names = {"t": np.sum(x * x), "np": np}
    exec(PROGRAM, names)
    return names["r"] + names["s"] + names["q"]
def into_locals(x):
    found = {}
    exec("z = float(t) if type(t) is np.float64 else 0.0", {"t": np.sum(x * x), "np": np}, found)
    return found["z"] * 2.0
PROGRAM = '''
import math
def g(v):
    return math.exp(v) if type(v) is np.float64 else 0.0 * v
class A:
    k = 2.0
    def method(self, v):
        return float(v) * self.k
r = g(t)
s = A().method(t)
q = [w := t * 1.0 for _ in range(1)][0]
if type(t) is not np.float64:
    r = s
'''
"""


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("source", [True, False], ids=["source", "none"])
@pytest.mark.parametrize("name", ["evaluated", "in_a_lambda", "executed", "into_locals"])
def test_a_text_that_is_run_is_in_scope(name: str, source: bool, transform: str) -> None:
    hold(getattr(module_of(TEXTS, source), name), transform)


def test_what_a_text_defines_is_the_users_own() -> None:
    names: dict[str, Any] = {"np": np}

    def f(x: Any) -> Any:
        exec("def g(v):\n    return v * np.float64(2.0)\nr = g(x)", names | {"x": x}, names)
        return np.sum(names["r"])

    np.testing.assert_array_equal(gs.grad(f)(POINTS[0]), [2.0, 2.0])
    assert type(names["g"].__globals__) is dict
    assert type(names["r"]) is np.ndarray


COMMAND = """
import numpy as np, gradscribe as gs
seen = []
def f(x):
    for _ in range(3):
        x = np.sin(x) * x
    if np.sum(x) > 0:
        x = x * 2.0
    seen.append(float(np.sum(x)))
    return np.sum(x)
space = {"np": np}
exec("def g(x):\\n    y = np.cos(x)\\n    return np.sum(y * y)", space)
class A:
    def m(self, x): return np.sum(x * x)
class B(A):
    def m(self, x): return super(B, self).m(x) * 3.0
for function in (f, space["g"], B().m, lambda x: x[0] if x[1] > 0 else np.sum(x * x)):
    eager, compiled = gs.grad(function), gs.compile(gs.grad(function))
    for scale in (1.0, -2.0, 3.0, 0.5):
        x = np.array([0.3, 0.7]) * scale
        assert np.array_equal(eager(x), compiled(x)), function
print("right", set(map(type, seen)))
print(compiled.source(x))
print(gs.compile(gs.grad(space["g"])).source(x))
"""


def test_a_program_on_the_command_line(tmp_path: pathlib.Path) -> None:
    """`python -c`, of which Python 3.13 knows the text, under the name that a text which is executed has too."""
    run = subprocess.run([sys.executable, "-c", COMMAND], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.stdout.startswith("right {<class 'float'>}"), run.stderr
    assert "Gradient of `g`, <string>:1." in run.stdout
    assert "cos_x = np.cos(x)  # <string>:2\n" in run.stdout  # and not a line of the command's
