"""Rewritten bytecode: Python's own library runs as before, at the same lines, with each read, call and store through a hook."""

from __future__ import annotations

import argparse
import collections
import configparser
import difflib
import dis
import fractions
import io
import json
import json.decoder
import json.encoder
import operator
import pathlib
import pprint
import shlex
import statistics
import sys
import textwrap
import tokenize
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradscribe.transforms.compiler.frontend import bytecode
from gradscribe.transforms.compiler.frontend.hooks import GLOBALS, HOOKS, OPERATORS, all_code

MODULES = (
    json.decoder,
    json.encoder,
    textwrap,
    argparse,
    difflib,
    configparser,
    pprint,
    shlex,
    statistics,
    fractions,
    tokenize,
)
counts: collections.Counter[str] = collections.Counter()


def counting(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    def hook(*args: Any) -> Any:
        counts[name] += 1
        return run(*args)

    return hook


PLAIN: dict[str, Callable[..., Any]] = {  # hooks that do what Python does
    "__gs_read__": getattr, "__gs_method__": getattr, "__gs_call__": lambda f: f, "__gs_item__": operator.getitem,
    "__gs_put__": lambda holder, key=None: holder, "__gs_grow__": lambda holder, value: value,
    "__gs_operator__": lambda sign, *operands: OPERATORS[sign][0](*operands), "__gs_iterate__": lambda obj: obj,
    "__gs_enter__": lambda manager: manager, "__gs_seen__": lambda obj, by: obj, "__gs_caught__": lambda: None,
    "__gs_own__": lambda value: value,
}  # fmt: skip
RUN = tuple(counting(name, PLAIN[name]) for name in HOOKS)


def functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    for value in vars(module).values():
        for found in vars(value).values() if isinstance(value, type) else [value]:
            if isinstance(found, types.FunctionType) and found.__module__ == module.__name__:
                yield found


def uses(folder: pathlib.Path) -> list[Any]:
    """What programs ask of these modules."""
    parser = argparse.ArgumentParser(prog="x", description="words " * 20)
    parser.add_argument("--number", type=int, default=3)
    parser.add_argument("rest", nargs="*")
    config = configparser.ConfigParser()
    (folder / "file.ini").write_text("[a]\nb = 1\nc = %(b)s2\n")
    config.read([folder / "file.ini", folder / "none.ini"])
    text = "def f(x):\n    if x:\n        return x ** 2\n"
    try:
        json.JSONDecoder().decode('{"a": [1, }')
    except json.JSONDecodeError as error:
        message = str(error)
    return [
        textwrap.fill("hello world " * 20, 40), textwrap.dedent("  a\n    b\n"), message,
        json.JSONDecoder().decode('{"a": [1, 2.5, {"b": null}], "c": "\\u00e4"}'),
        json.JSONEncoder(indent=1, sort_keys=True).encode({"b": [1, {"c": None}], "a": 2.5}),
        vars(parser.parse_args(["--number", "4", "a", "b"])), parser.format_help(), config["a"]["c"],
        list(difflib.unified_diff(["a", "b"], ["a", "c"])), difflib.get_close_matches("appel", ["ape", "apple"]),
        pprint.pformat({"a": list(range(40)), "b": {"c": (1, 2)}}), shlex.split("a 'b c' d"),
        statistics.stdev([1.0, 2.0, 3.5]), statistics.quantiles(range(20)), fractions.Fraction(3, 4) + 1,
        [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline)],
    ]  # fmt: skip


@pytest.mark.parametrize("operators", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_standard_library_runs_as_before(
    operators: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = uses(tmp_path)
    counts.clear()
    rewritten = 0
    for module in MODULES:
        monkeypatch.setitem(vars(module), GLOBALS, vars(module))
        for function in functions_of(module):
            made = bytecode.rewritten_bytecode(function.__code__, frozenset(), operators, RUN)
            assert made is not None
            monkeypatch.setattr(function, "__code__", made)
            rewritten += 1
    assert uses(tmp_path) == expected
    assert rewritten > 400
    never = set() if operators else {"__gs_iterate__", "__gs_seen__"}
    assert set(HOOKS) - set(counts) == never


def test_each_instruction_keeps_its_place() -> None:
    for module in MODULES:
        for function in functions_of(module):
            made = bytecode.rewritten_bytecode(function.__code__, frozenset(), True, RUN)
            assert made is not None
            for before, after in zip(all_code(function.__code__), all_code(made), strict=True):
                assert {i.positions for i in dis.get_instructions(before)} == {
                    i.positions for i in dis.get_instructions(after)
                }


def fails(rows: Any) -> Any:
    try:
        return [row.missing for row in rows]
    finally:
        rows.clear()


def test_an_error_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    for code in (fails.__code__, bytecode.rewritten_bytecode(fails.__code__, frozenset(), True, RUN)):
        monkeypatch.setattr(fails, "__code__", code)
        with pytest.raises(AttributeError, match="missing") as found:
            fails([1.0])
        lines.append(
            [
                f.lineno
                for f in traceback.extract_tb(found.value.__traceback__)
                if f.filename == __file__ and f.name != "hook"
            ]
        )
    assert lines[0] == lines[1]


def long_function() -> types.FunctionType:
    """Return a function whose jumps and names need more than a byte."""
    branch = "        if x == {0}:\n            o.a{0} = o.b{0}[x] = x\n            total += o.get({0}) + o.a{0}"
    lines = [
        "def f(o):",
        "    total = 0",
        "    for x in range(400):",
        *map(branch.format, range(400)),
        "    return total",
    ]
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    return space["f"]  # type: ignore[no-any-return]


def test_long_jumps_and_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    class Holder:
        def __getattr__(self, name: str) -> Any:
            return self.__dict__.setdefault(name, {})

        def get(self, k: int) -> int:
            return k

    function = long_function()
    expected = function(Holder())
    made = bytecode.rewritten_bytecode(function.__code__, frozenset(), False, RUN)
    assert made is not None
    monkeypatch.setattr(function, "__code__", made)
    assert function(Holder()) == expected == 2 * sum(range(400))


count = 0


def counted(by: int) -> Any:
    global count, fresh
    fresh = 2.0
    count += by

    def inner() -> Any:
        global count
        count = count + 1
        return count

    found = inner(), fresh
    del fresh
    return found


def test_stores_of_globals_go_to_the_module() -> None:
    made = bytecode.stores_through_module(counted.__code__)
    assert made is not None
    module: dict[str, Any] = {"count": 3}
    assert types.FunctionType(made, {GLOBALS: module})(4) == (8, 2.0)
    assert module == {"count": 8}


def test_an_unknown_version_of_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    code = compile("def f(x):\n    return x.y", "<unknown>", "exec").co_consts[0]
    assert bytecode.rewritten_bytecode(code, frozenset(), False, RUN) is None
    assert bytecode.stores_through_module(code) is None
    assert bytecode.telling_bytecode(code, lambda m: m, lambda: None) is None
