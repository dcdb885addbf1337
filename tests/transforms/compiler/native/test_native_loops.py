"""Loops and branches in C: every kept loop of the corpus, its gradient and second order, at all of its inputs, against NumPy."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native_batches import Native, needs_compiler, together, written

import gradscribe as gs
from gradscribe.runtime.errors import CompileError
from gradscribe.transforms.compiler.native import parts
from gradscribe.transforms.compiler.native.values import RefusedError

from kept_loops import CASES

pytestmark = needs_compiler
NAMED = ("collected", "breaks_of_the_inner", "in_place")


def total(result: Any) -> Any:
    """One number of a result."""
    rows = result if isinstance(result, (tuple, list)) else [result]
    return sum((np.sum(row) * (1.25 + k) for k, row in enumerate(rows)), 0.0)


def first(function: Callable[..., Any]) -> Any:
    return gs.value_and_grad(lambda x, *rest: total(function(x, *rest)))


def second(function: Callable[..., Any]) -> Any:
    return gs.grad(lambda x, *rest: np.sum(gs.grad(lambda x: total(function(x, *rest)))(x) * 1.5))


def jobs_of(names: Any) -> tuple[list[tuple[str, list[Any], Any]], dict[str, str]]:
    """The kernels of cases, and why some have none."""
    jobs, refused = [], {}
    for name in names:
        case = CASES[name]
        for change in (lambda f: f, first, second) if name != "Cell" else ():  # which reads arrays from outside
            function = change(case.function)
            ints = [x for x in case.calls[0] if type(x) is int]
            alike = [args for args in case.calls if [x for x in args if type(x) is int] == ints]
            try:
                made = written(function, *alike[0])
                made[0].trust_arms(range(made[0].arms))
                jobs.append((name, alike, made))
            except (RefusedError, CompileError) as why:
                refused[name] = str(why)
    return jobs, refused


def hold(kernel: Native, args: Any, name: str) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = kernel.numpy(*args)
        except IndexError:
            with pytest.raises(IndexError):
                kernel.run(*args)
            return
        if expected is NotImplemented:
            return
        found = kernel.run(*args)
    rows = [np.atleast_1d(a) for a in (found if isinstance(found, tuple) else (found,))]
    others = [np.atleast_1d(a) for a in (expected if isinstance(expected, tuple) else (expected,))]
    for a, b in zip(rows, others, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * (np.max(np.abs(b), initial=0.0) or 1.0), err_msg=name)


def check(names: Any) -> None:
    jobs, refused = jobs_of(names)
    left = {name: why for name, why in refused.items() if "none of its calls" not in why}  # a derivative that is zero
    if "triangle" in left:  # without a trip it gives its argument
        assert left.pop("triangle").endswith("that is seen elsewhere too")
    assert not left
    for (name, inputs, _), kernel in zip(jobs, together([job for _, _, job in jobs]), strict=True):
        for args in inputs:
            hold(kernel, args, name)
        assert kernel.left[0] <= len(inputs) // 2, name  # lengths that C is not written for


def test_loops_of_the_corpus() -> None:
    check(NAMED)


@pytest.mark.slow
def test_every_loop_of_the_corpus() -> None:
    check(CASES)


@pytest.mark.slow
def test_every_loop_of_the_corpus_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LINES", 5)
    check(CASES)


@pytest.mark.parametrize(("most", "n"), [(60, 12), pytest.param(100, 20, marks=pytest.mark.slow)])
def test_the_long_body_of_a_loop_is_cut_into_parts(
    most: int, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LINES", most)
    lines = [f"        s{k % 3} = s{k % 3} * 0.5 + 0.3 * np.sin(s{(k + 1) % 3}) * w" for k in range(n)]
    text = "\n".join([
        "def f(x, w):", "    s0, s1, s2 = x, x * 2.0, x[::-1]", "    n = 0",
        "    while n < 6 or np.sum(s0 * s0) > 1e9:", "        n = n + 1",
        "        s0 = s0 + 1.0", *lines[: n // 2], "        for _ in range(4):", *[f"    {line}" for line in lines[n // 2 :]],
        "        s0 = s0 + 2.0", "    return np.sum(s0 * s1 + s2)", "",
    ])  # fmt: skip
    path = tmp_path / "long.py"
    path.write_text(text, encoding="utf-8")
    space: dict[str, Any] = {"np": np}
    exec(compile(text, str(path), "exec"), space)
    both = gs.value_and_grad(space["f"], argnums=(0, 1))
    kernel = written(both, np.ones(5), np.float64(0.1))[1]
    assert re.search(r"^    +if \(JOIN\(run, body_\d+_1\)\(st, f, a, why, &body_\d+\)\) goto left;$", kernel.text, re.M)
    functions = re.split(r"^static ", kernel.text, flags=re.M)
    assert max(one.count("\n") for one in functions) < 3 * parts.LINES < kernel.text.count("\n")
    compiled = gs.compile(both, target="native")
    for n, w in ((5, 0.1), (5, 0.3), (9, 0.2), (1, -0.1), (30, 0.5)):
        x = np.linspace(0.1, 1.0, n)
        for found, expected in zip(_leaves(compiled(x, np.float64(w))), _leaves(both(x, np.float64(w))), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert {one.runs for one in gs.explain(compiled).specialisations} == {"native, without a call of Python"}


def _leaves(result: Any) -> list[Any]:
    value, slopes = result
    return [value, *slopes]
