"""The conversion of control flow changes nothing that plain Python computes, raises, prints or leaves behind."""

from __future__ import annotations

import contextlib
import io
import linecache
import random
import sys
import traceback
from typing import Any

import numpy as np
import pytest

from gradscribe.tracer.core.site import is_ours
from gradscribe.transforms.compiler.frontend.functions import conversion, converted, has_control_flow

import conversion_functions
from conversion_functions import CASES
from conversion_library import library
from random_functions import random_function

OWN = [(function, inputs, vars(conversion_functions)) for function, inputs in CASES]
ALL = [*OWN, *library()]
PROGRAMS = range(150)


def observe(function: Any, inputs: str, space: dict[str, Any]) -> dict[str, Any]:
    """All that a call does: its result or error with the user's line, its arguments afterwards, what it prints and leaves."""
    conversion_functions.counter = 0
    conversion_functions.log[:] = []
    np.random.seed(0)
    random.seed(0)
    args = eval(inputs, dict(space))
    printed = io.StringIO()
    seen: dict[str, Any] = {}
    with contextlib.redirect_stdout(printed):
        try:
            result = function(*args)
            result = list(result) if hasattr(result, "send") else result
            seen["result"] = type(result), repr(result)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            users = [f for f in frames if not is_ours(f.filename) and f.name != "observe"]
            inner = users[-1] if users else None
            chain = type(error.__cause__), repr(error.__context__)
            where = inner and (inner.filename, None if isinstance(error, NameError) else inner.lineno)
            seen["error"] = type(error), repr(error.args), where, chain
    seen["arguments"] = repr([a.getstate() if isinstance(a, random.Random) else a for a in args])
    seen["printed"] = printed.getvalue()
    seen["globals"] = conversion_functions.counter, list(conversion_functions.log)
    seen["random"] = np.random.random(), random.random()
    return {k: _without_places(v) for k, v in seen.items()}


def _without_places(text: Any) -> Any:
    """What is told apart by where it lies in memory differs from run to run."""
    if isinstance(text, tuple):
        return tuple(map(_without_places, text))
    return text.partition(" at 0x")[0] if isinstance(text, str) else text


def _name(case: Any) -> str:
    return f"{case[0].__module__.rpartition('.')[2]}-{case[0].__qualname__}-{case[0].__code__.co_firstlineno}"


def test_there_are_enough() -> None:
    assert len(ALL) >= 150
    assert len({f.__code__ for f, *_ in ALL}) == len(ALL)


@pytest.mark.parametrize("case", ALL, ids=_name)
def test_converted_does_the_same(case: Any) -> None:
    function, inputs, space = case
    made = converted(function, calls=True)
    if made is None:
        reason = conversion(function.__code__, calls=True).reason
        assert reason.startswith(("it is a generator", "it asks for its frame", "nothing in it")), reason
        return
    assert made.__name__ == function.__name__
    assert made.__code__.co_filename == function.__code__.co_filename
    assert converted(made) is None
    for text in inputs:
        assert observe(made, text, space) == observe(function, text, space), text


def test_own_functions_reach_all_their_lines() -> None:
    """The inputs of our own functions leave no line of them out, but for one that nothing can reach."""
    missing = {}
    for function, inputs, space in OWN:
        code = function.__code__
        lines = {code.co_firstlineno}

        def trace(frame: Any, event: str, _: Any, code: Any = code, lines: Any = lines) -> Any:
            if frame.f_code is not code:
                return None
            lines.add(frame.f_lineno)
            return trace

        before = sys.gettrace()
        for text in inputs:
            sys.settrace(trace)
            try:
                observe(function, text, space)
            finally:
                sys.settrace(before)
        wanted = {line for _, _, line in code.co_lines() if line is not None}
        if not wanted <= lines | _decorated(code):
            missing[function.__qualname__] = sorted(wanted - lines - _decorated(code))
    assert missing == {}, missing


def _decorated(code: Any) -> set[int]:
    """The lines of the decorators, and that of the `def`."""
    first: int = code.co_firstlineno
    return set(range(first, first + 3))


def _compare_random(seed: int) -> bool:
    text, file = random_function(seed), f"<random {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {}
    try:
        exec(compile(text, file, "exec"), space)
    except SyntaxError:
        return False
    function = space["f"]
    if not has_control_flow(function.__code__):
        return False
    made = converted(function)
    assert made is not None, conversion(function.__code__).reason
    for a, b in ((0, 0), (1, 2), (5, -3), (-7, 8)):
        inputs = f"({a}, {b}, [])"
        assert observe(made, inputs, {}) == observe(function, inputs, {}), f"{text}\n{inputs}"
    del linecache.cache[file]
    return True


@pytest.mark.parametrize(
    ("seeds", "least"),
    [(PROGRAMS[:50], 33), pytest.param(PROGRAMS[50:], 66, marks=pytest.mark.slow)],
    ids=["some", "others"],
)
def test_random_functions(seeds: range, least: int) -> None:
    assert sum(map(_compare_random, seeds)) > least


@pytest.mark.slow
def test_many_random_functions() -> None:
    assert sum(_compare_random(seed) for seed in range(1000, 2500)) > 1100
