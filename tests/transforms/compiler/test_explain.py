"""gs.explain: what a compiled function did so far, in fields and in print."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, 1.25, 2.0])
SCALE: Any = 2.0
W: Any = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _globals_as_they_were() -> Iterator[None]:
    global SCALE, W
    before = SCALE, W
    yield
    SCALE, W = before


def helper(a: Any) -> Any:
    return a * SCALE  # helper reads SCALE


def model(x: Any, n: Any, rate: Any) -> Any:
    y = helper(x) * W  # reads W
    if bool(np.sum(y) > 0):  # branches
        return np.sum(y) * n * rate
    return np.sum(y * y)


def line(function: Callable[..., Any], mark: str) -> str:
    """`file:line` of the line of a function that contains the mark."""
    lines, start = inspect.getsourcelines(function)
    return f"test_explain.py:{start + next(k for k, text in enumerate(lines) if mark in text)}"


def called(*calls: tuple[Any, ...], **options: Any) -> Any:
    compiled = gs.compile(gs.grad(model), **options)
    for args in calls:
        compiled(*args)
    return compiled


def test_signature_assumptions_and_hits() -> None:
    found = gs.explain(called(*[(X + k, 2, 0.1 * k) for k in range(5)]))
    (one,) = found.specialisations
    assert one.signatures == ("x: float64[3], n: 2 (int), rate: any float",)
    assert one.hits == 4
    assert "def model_grad(x, n, rate, *, W):" in one.source
    shown = {a.what: (a.expected, str(a.site)) for a in one.assumptions}
    assert shown["global `SCALE`"] == ("2.0 (float)", line(helper, "reads SCALE"))
    assert shown["global `W`"] == ("float64[3]", line(model, "reads W"))
    assert "global `helper`" not in shown  # a name that is what it says
    assert shown["`helper`"] == ("its code and defaults", line(helper, "def helper"))
    assert shown["bool() of a traced value"] == ("True", line(model, "branches"))
    assert not found.misses
    assert not found.eager
    text = str(found)
    assert text == repr(found)
    assert text.startswith("model: 1 specialisation (of at most 16)")
    for words in (
        "hit 4 times",
        "x: float64[3], n: 2 (int)",
        f"global `SCALE`: 2.0 (float)  ({line(helper, 'SCALE')})",
    ):
        assert words in text


def test_sizes_that_share_a_source_are_one_specialisation() -> None:
    compiled = gs.compile(lambda a: np.sum(a * a))
    for n in range(1, 10):
        compiled(np.ones(n))
        compiled(np.ones(n))
    (one,) = gs.explain(compiled).specialisations
    assert len(one.signatures) == 9
    assert one.hits == 9
    assert "a: float64[n] for n = 1, 2, 3, 4, 5, 6, ... (9 in all)" in str(gs.explain(compiled))


def last_miss(compiled: Any) -> Any:
    return gs.explain(compiled).misses[-1]


@pytest.mark.parametrize(
    ("args", "what", "expected", "found", "advice"),
    [
        ((X.astype(np.float32), 2, 0.1), "x", "float64[3]", "float32[3]", "one dtype"),
        ((np.ones(6)[::2], 2, 0.1), "x", "float64[3]", "float64[3] with strides (16,)", "memory layout"),
        ((X, 3, 0.1), "n", "2 (int)", "3 (int)", "as an array or a float"),
        ((X, 2, 1), "rate", "any float", "1 (int)", "numbers of one type"),
        ((-X, 2, 0.1), "bool() of a traced value", "True", "False", "np.where"),
    ],
)
def test_the_last_miss(args: Any, what: str, expected: str, found: str, advice: str) -> None:
    compiled = called(*[(X + k, 2, 0.1) for k in range(3)], args)
    miss = last_miss(compiled)
    assert (miss.what, miss.expected, miss.found) == (what, expected, found)
    assert advice in miss.change
    where = "branches" if what.startswith("bool") else "def model"
    assert str(miss.site) == line(model, where)
    assert f"expected {expected}, found {found}" in str(gs.explain(compiled))


def test_a_global_that_changed() -> None:
    global SCALE, W
    compiled = called(*[(X + k, 2, 0.1) for k in range(3)])
    SCALE = 3.0
    compiled(X, 2, 0.1)
    miss = last_miss(compiled)
    assert (miss.what, miss.expected, miss.found) == ("global `SCALE`", "2.0 (float)", "3.0 (float)")
    assert str(miss.site) == line(helper, "reads SCALE")
    assert "as an argument" in miss.change
    W = np.ones((1, 3))
    compiled(X, 2, 0.1)
    assert (last_miss(compiled).what, last_miss(compiled).found) == ("global `W`", "float64[1, 3]")


def test_cells_attributes_and_trees() -> None:
    scale = 2.0
    base = gs.compile(lambda p: np.sum(p["w"]) * scale)
    for value in (2.0, 2.0, 5.0):
        scale = value
        base({"w": X})
    miss = last_miss(base)
    assert (miss.what, miss.expected, miss.found) == ("closure variable `scale`", "2.0 (float)", "5.0 (float)")
    base({"w": X.astype(np.float32)})
    assert last_miss(base).what == "p['w']"
    base({"w": X, "b": X + 1})
    assert (last_miss(base).what, last_miss(base).found) == ("p", "a dict with the keys ['w', 'b']")


def test_what_runs_eagerly_why_and_how_often() -> None:
    def prints(x: Any) -> Any:
        open(os.devnull).close()  # <-
        return np.sum(x)

    compiled = gs.compile(prints)
    with pytest.warns(gs.EagerWarning):
        compiled(X)
    compiled(X)
    found = gs.explain(compiled)
    (why,) = found.eager
    assert (why.calls, str(why.site)) == (2, line(prints, "# <-"))
    assert "open" in why.reason
    assert "outside the function" in why.change
    assert re.search(
        rf"{re.escape(line(prints, '# <-'))}: it calls `_?io\.open`", str(found)
    )  # as that Python calls it
    assert "(2 calls)" in str(found)


def test_signatures_that_run_eagerly() -> None:
    compiled = gs.compile(lambda x: np.sum(x))
    compiled(X)
    with pytest.warns(gs.EagerWarning):
        compiled(np.ma.array(X))
    compiled(np.ma.array(X))
    compiled(X + 1)
    found = gs.explain(compiled)
    assert [(e.calls, "pass x.filled(0.0)" in e.reason) for e in found.eager] == [(2, True)]
    assert len(found.specialisations) == 1


def test_max_specialisations() -> None:
    compiled = gs.compile(model, max_specialisations=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in map(np.int64, (1, 2, 3, 4, 3, 1)):
            assert compiled(X, n, 0.5) == model(X, n, 0.5)
    assert len(caught) == 1
    assert "has 2 specialisations already" in str(caught[0].message)
    found = gs.explain(compiled)
    assert len(found.specialisations) == found.limit == 2
    assert [e.calls for e in found.eager] == [3]
    assert sum(one.hits for one in found.specialisations) == 1
    for wrong in (0, -1, True, 2.0, None):
        with pytest.raises(ValueError, match="max_specialisations"):
            gs.compile(model, max_specialisations=wrong)


def test_before_the_first_call_and_of_what_is_not_compiled() -> None:
    assert "not called yet" in str(gs.explain(gs.compile(model)))
    for other in (model, gs.grad(model), 3):
        with pytest.raises(TypeError, match=r"gs\.compile"):
            gs.explain(other)
    assert gs.explain(gs.grad(model).compile()).function == "model"


def test_looking_changes_nothing() -> None:
    compiled = called(*[(X + k, 2, 0.1) for k in range(3)])
    before = compiled._last
    assert str(gs.explain(compiled)) == str(gs.explain(compiled))
    assert compiled._last is before
    assert before is not None


def test_passes_are_named_and_run_in_their_order() -> None:
    f = lambda x: np.sum(np.sin(x) + np.sin(x))
    count = lambda **options: gs.compile(f, **options).specialisation(X).text.partition("sin(x))\n")[2].count("np.sin")
    assert (count(passes=[]), count(passes=["cse"]), count()) == (2, 1, 1)
    every = [(), ("dead_code",), ("cse", "identities"), ("shapes", "spreading", "folding", "scaling")]
    for passes in every:
        compiled = gs.compile(gs.grad(model), passes=passes, verify=True)
        for k in range(3):
            np.testing.assert_array_equal(compiled(X + k, 2, 0.5), gs.grad(model)(X + k, 2, 0.5))
    with pytest.raises(ValueError, match="dump is True, False or the name of a file, not 3"):
        gs.compile(model, dump=3)
    with pytest.raises(ValueError, match=r"no pass is called 'csee'; there are .*\bcse\b"):
        gs.compile(f, passes=["csee"])


def test_dump_shows_the_graph_after_each_pass(capsys: Any, tmp_path: Any) -> None:
    f = lambda x: np.sum(np.sin(x) + np.sin(x))
    gs.compile(f, dump=True)(X)
    text = capsys.readouterr().out
    assert text.startswith("after capture:\ninputs: %0: float64[3]\n")
    cse = text.partition("after cse:")[2].partition("after ")[0]
    assert [row for row in cse.splitlines() if row[:1] in "+-" and "add" in row] == [
        "-%3: float64[3] = np.add(x=%1, y=%2)", "+%3: float64[3] = np.add(x=%1, y=%1)",
    ]  # fmt: skip
    assert "after folding: nothing changed" in text
    path = tmp_path / "passes.txt"
    gs.compile(f, dump=str(path), passes=["cse"])(X)
    assert path.read_text().count("\nafter cse") == 2
    assert capsys.readouterr().out == ""
    with pytest.raises(OSError, match="nowhere"):
        gs.compile(f, dump=str(tmp_path / "nowhere" / "file.txt"))


class Layer:
    def __init__(self) -> None:
        self.w = np.ones(3)

    def loss(self, x: Any) -> Any:
        total = np.float64(0.0)
        for k in range(len(x)):
            total = total + float(max(1, 2)) * x[k]
        return total + np.sum(helper(x) * self.w)


@dataclasses.dataclass
class Parameters:
    w: Any
    b: Any


def affine(p: Any, x: Any) -> Any:
    return np.sum((x @ p.w + p.b) ** 2)


def test_internals_and_what_goes_without_saying_are_left_out() -> None:
    compiled = gs.compile(gs.grad(Layer().loss))
    tree = gs.compile(gs.value_and_grad(affine, argnums=("p", "x")))
    for _ in range(2):
        compiled(X)
        tree(Parameters(X, 0.5), np.ones((4, 3)))
    text = str(gs.explain(compiled)) + str(gs.explain(tree))
    assert "__" not in text
    for name in ("len", "range", "max", "float", "helper"):
        assert f"`{name}`: `{name}`" not in text
    for words in (
        "the class of `self`: `Layer`",
        "`self.w`: float64[3]",
        "`helper`: its code",
        "`Layer.loss`: its code",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (gs.grad(affine), "the gradient with respect to `p`"),
        (gs.value_and_grad(affine, argnums=("x", 0)), "the value, and the gradient with respect to `x`, `p`"),
        (gs.hvp(affine, argnums=-1), "the product of a vector and the Hessian with respect to `x`"),
        (gs.jacobian(gs.grad(affine), argnums=1), "the Jacobian with respect to `x` of the gradient with respect to `p`"),
        (affine, ""),
    ],
)  # fmt: skip
def test_what_is_differentiated(made: Any, words: str) -> None:
    found = gs.explain(gs.compile(made))
    assert found.derivative == words
    assert (f"\ngives {words}\n" in str(found)) == bool(words)
