"""What compile does not model runs eagerly: right values and gradients, one warning that names the line, no run twice."""

from __future__ import annotations

import functools
import inspect
import logging
import math
import operator
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import gauss
from typing import Any, NamedTuple

import gradscribe as gs
import numpy as np
import pytest
from numpy.random import normal

X = np.array([0.5, -1.25, 2.0])


class Case(NamedTuple):
    function: Callable[..., Any]
    reason: str
    setup: Callable[[], object]
    args: Callable[[], tuple[Any, ...]]


CASES: list[Case] = []


def falls_back(
    reason: str, setup: Callable[[], object] = lambda: None, args: Callable[[], tuple[Any, ...]] = lambda: (X.copy(),)
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A case: the function's line marked `# <-` is the one that the warning must name, with `reason` in its text."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(function, reason, setup, args))
        return function

    return add


@contextmanager
def runs_of(function: Callable[..., Any]) -> Iterator[list[int]]:
    """Count how often a function's own code is entered, rebuilt or not."""
    code = function.__code__  # type: ignore[attr-defined]
    count = [0]

    def profile(frame: Any, event: str, _: Any) -> None:
        entered = frame.f_code
        if event == "call" and (entered.co_name, entered.co_filename) == (code.co_name, code.co_filename):
            count[0] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(before)


def marked_line(function: Callable[..., Any]) -> str:
    """`file:line` of the line with the mark, or of the definition."""
    lines, start = inspect.getsourcelines(function)
    at = [k for k, line in enumerate(lines) if "# <-" in line]
    return f"{Path(__file__).name}:{start + at[0]}"


def same(found: Any, expected: Any) -> None:
    """Both are equal in type, dtype and bits."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    assert type(found) is type(expected)
    if isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


# Writing in place ---------------------------------------------------------------------------------------------------

TOTAL = 0.0
COUNTS: dict[str, int] = {}
HISTORY: list[Any] = []
WEIGHTS = [0.5, 2.0]
TABLE = {"scale": 3.0}


@falls_back("writes in place")
def writes_an_element(x):
    y = x * 2
    y[0] = 7.0  # <-
    return np.sum(y * x)


@falls_back("writes in place")
def writes_an_argument(x):
    x[1] = x[0] * 3.0  # <-
    return np.sum(x * x)


@falls_back("writes in place")
def adds_in_place(x):
    y = x * 2
    y += x  # <-
    return np.sum(y * x)


@falls_back("writes in place")
def fills_zeros(x):
    out = np.zeros(3)
    out[0] = x[0] * x[1]  # <-
    out[1] = out[0] * 2
    return np.sum(out)


@falls_back("writes in place .`out=`")
def writes_out(x):
    y = np.zeros(3)
    np.multiply(x, x, out=y)  # <-
    return np.sum(y)


@falls_back("out=|where=")
def where_of_a_ufunc(x):
    y = np.log(x, where=x > 0, out=np.ones(3))  # <-
    return np.sum(y * x)


@falls_back("hook")
def runs_a_hook(x):
    y = x * x
    if hasattr(y, "register_hook") and y.requires_grad:
        y.register_hook(lambda g: g * 2)
    return np.sum(y)


# Random numbers -----------------------------------------------------------------------------------------------------


def seed() -> None:
    np.random.seed(3)
    random.seed(3)
    GENERATOR.bit_generator.state = np.random.default_rng(5).bit_generator.state


GENERATOR = np.random.default_rng(5)


@falls_back("random|differs from call to call", seed)
def legacy_random(x):
    return np.sum(x * np.random.normal(size=3))  # <-


@falls_back("default_rng|differs from call to call")
def new_generator(x):
    rng = np.random.default_rng(7)  # <-
    return np.sum(x * rng.normal(size=3))


@falls_back("GENERATOR|Generator", seed)
def global_generator(x):
    return np.sum(x * GENERATOR.normal(size=3))  # <-


def _closing_over_a_generator() -> Callable[..., Any]:
    rng = GENERATOR

    @falls_back("rng|Generator", seed)
    def closed_over_generator(x):
        return np.sum(x * rng.normal(size=3))  # <-

    return closed_over_generator


_closing_over_a_generator()


@falls_back("random", seed)
def python_random(x):
    return np.sum(x * random.random())  # <-


@falls_back("normal|gauss|differs from call to call", seed)
def imported_normal(x):
    return np.sum(x * normal(size=3))  # <-


@falls_back("gauss|differs from call to call", seed)
def imported_gauss(x):
    return np.sum(x * gauss(0.0, 1.0))  # <-


@falls_back("random|differs from call to call", seed)
def random_imported_within(x):
    import numpy.random as npr

    return np.sum(x * npr.uniform(size=3))  # <-


# Arrays that nobody can name ------------------------------------------------------------------------------------------


@falls_back("unknown origin")
def frombuffer(x):
    return np.sum(x * np.frombuffer(b"\x00" * 24))  # <-


@falls_back("overlap", args=lambda: (lambda a: (a[:3], a[1:]))(np.arange(4.0)))
def overlapping_arguments(x, y):  # <-
    return np.sum(x * y)


@falls_back("overlap", args=lambda: (lambda a: (a, a))(np.arange(4.0)))
def the_same_array_twice(x, y):  # <-
    return np.sum(x * y)


# Effects ------------------------------------------------------------------------------------------------------------


@falls_back("print")
def prints(x):
    print("x is here")  # <-
    return np.sum(x * x)


@falls_back("logging|info")
def logs(x):
    logging.getLogger("gradscribe.test").info("called")  # <-
    return np.sum(x * x)


@falls_back("open")
def opens_a_file(x):
    with open(__file__, encoding="utf-8") as stream:  # <-
        stream.read(1)
    return np.sum(x * x)


@falls_back("time")
def reads_the_clock(x):
    start = time.time()  # <-
    return np.sum(x * x) + 0.0 * (start > 0)


def _reset() -> None:
    global TOTAL
    TOTAL = 1.0
    COUNTS.clear()
    HISTORY.clear()
    Model.calls = 0


@falls_back("writes the global `TOTAL`", _reset)
def stores_a_global(x):
    global TOTAL
    TOTAL = TOTAL + 1.0  # <-
    return np.sum(x * TOTAL)


def _nonlocal() -> Callable[..., Any]:
    count = 0.0

    @falls_back("writes the enclosing variable `count`")
    def stores_a_nonlocal(x):
        nonlocal count
        count = 2.0  # <-
        return np.sum(x * count)

    return stores_a_nonlocal


_nonlocal()


class Model:
    calls = 0

    def __init__(self) -> None:
        self.w = np.array([1.0, 2.0, 3.0])
        self.scale = 2.0


MODEL = Model()


@falls_back("stores the attribute|MODEL", _reset)
def stores_an_attribute(x):
    MODEL.calls = 3  # <-
    return np.sum(x * MODEL.calls)


@falls_back("MODEL")
def reads_an_object(x):
    return np.sum(x * MODEL.w) * MODEL.scale  # <-


@falls_back("COUNTS", _reset)
def writes_a_global_dict(x):
    COUNTS["calls"] = COUNTS.get("calls", 0) + 1  # <-
    return np.sum(x * COUNTS["calls"])


@falls_back("HISTORY", _reset)
def appends_to_a_global_list(x):
    HISTORY.append(1)  # <-
    return np.sum(x) * len(HISTORY)


@falls_back("TABLE")
def reads_a_global_dict(x):
    return np.sum(x) * TABLE["scale"]  # <-


@falls_back("WEIGHTS")
def reads_a_global_list(x):
    return np.sum(x) * sum(WEIGHTS)  # <-


class Scaled:
    factor = 2.0

    def __init__(self, x: Any) -> None:
        self.x = x * self.factor


@falls_back("Scaled")
def uses_a_class(x):
    return np.sum(Scaled(x).x ** 2)  # <-


@falls_back("a default")
def mutable_default(x, scales=[2.0]):  # noqa: B006  # <-
    return np.sum(x) * scales[0]


# Values that leave --------------------------------------------------------------------------------------------------


@falls_back("text")
def formats(x):
    label = f"{np.sum(x):.3f}"  # <-
    return np.sum(x * len(label))


@falls_back("prints a traced value|text")
def takes_the_repr(x):
    label = repr(np.sum(x * x))  # <-
    return np.sum(x * (len(label) > 0))


@falls_back("list")
def takes_a_list(x):
    values = x.tolist()  # <-
    return np.sum(x * values[0])


@falls_back("text|object|unknown")
def returns_an_object(x):
    return np.sum(x * np.array([1, 2, 3], dtype=object).astype(float))  # <-


# Files and functions that nobody knows --------------------------------------------------------------------------------


@falls_back("np.load|load")
def loads_a_file(x):
    return np.sum(x * np.load(FILE))  # <-


FILE = ""


@pytest.fixture(scope="module", autouse=True)
def _a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    global FILE
    FILE = str(tmp_path_factory.mktemp("arrays") / "x.npy")
    np.save(FILE, np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("transform", [lambda f: f, gs.value_and_grad], ids=["value", "gradient"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.function.__name__)
def test_it_runs_eagerly_and_says_so(case: Case, transform: Any) -> None:
    if case.reason == "hook" and transform is not gs.value_and_grad:
        pytest.skip("a hook needs a gradient")
    case.setup()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = transform(case.function)(*case.args())
    compiled = gs.compile(transform(case.function), verify=True)
    caught: list[warnings.WarningMessage]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            case.setup()
            with runs_of(case.function) as count:
                found = compiled(*case.args())
            assert count == [1]
            same(found, expected)
    ours = [w for w in caught if issubclass(w.category, gs.EagerWarning)]
    assert len(ours) == 1, [str(w.message) for w in ours]
    text = str(ours[0].message)
    print(text)
    import re

    assert re.search(case.reason, text), text
    if "# <-" in inspect.getsource(case.function):
        assert marked_line(case.function) in text, text
