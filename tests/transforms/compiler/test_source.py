"""The generated text: the user's names and lines, nothing foreign, the same from run to run, and Python's tools see it."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import gc
import inspect
import linecache
import os
import pickle
import re
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

from house import ROOT

rng = np.random.default_rng(0)
W, B, X, Y = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(5, 4)), rng.normal(size=(5, 3))


def layer(w, b, x):
    z = x @ w + b
    return np.tanh(z)


def loss(w, b, x, y):
    hidden = layer(w, b, x)
    error = hidden - y
    return np.mean(error**2)


@gs.compile
@gs.value_and_grad
def decorated(x):
    return np.sum(np.sin(x) * x)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


class Model:
    def loss(self, x):
        return np.sum(x**2)

    @staticmethod
    def plain(x):
        scaled = x * 2
        return np.sum(np.sin(scaled) * scaled)


def names_in(text: str) -> set[str]:
    """Every global name that a text reads, dotted as far as it goes."""
    tree = ast.parse(text)
    own = {a.arg for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) for a in (*n.args.args, *n.args.kwonlyargs)}
    own |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in own:
            found.add(node.id)
    return found


def text_of(function: Any, *args: Any) -> str:
    """The source, after checks that hold for every one."""
    compiled = gs.compile(function, verify="first calls")
    text = str(gs.source(compiled, *args))
    assert names_in(text) <= {"np", "scipy", *dir(builtins)}, names_in(text)
    assert max(map(len, text.splitlines())) < 300
    space: dict[str, Any] = {}
    exec(text, space)  # it stands on its own
    (definition,) = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
    found, expected = space[definition.name](*args), compiled(*args)
    for a, b in zip(_flat(found), _flat(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    return text


def _flat(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for v in tree.values() for leaf in _flat(v)]
    return [leaf for v in tree for leaf in _flat(v)] if isinstance(tree, (list, tuple)) else [tree]


# Names and notes -----------------------------------------------------------------------------------------------------


def test_the_users_names_and_their_cotangents() -> None:
    text = text_of(gs.value_and_grad(loss, argnums=(0, 1)), W, B, X, Y)
    assigned = set(re.findall(r"^\s+(\w+) = ", text, re.M))
    assert {"error", "d_z"} <= assigned, text
    assert "Returns out: float64; d_w, d_b: like w, b." in text
    assert "def loss_value_and_grad(w, b, x, y):" in text


def test_sections_and_one_comment_for_each_line_of_the_user() -> None:
    text = text_of(gs.value_and_grad(loss, argnums=(0, 1)), W, B, X, Y)
    assert text.count("# forward") == 1
    assert text.count("# backward") == 1
    forward, backward = text.split("# backward")
    for part in (forward, backward):
        comments = re.findall(r"# (test_source\.py:\d+)", part)
        assert len(comments) == len(set(comments)), part
        assert comments
    for line in re.findall(r"# test_source\.py:(\d+): (.*)", text):
        assert Path(__file__).read_text(encoding="utf-8").splitlines()[int(line[0]) - 1].strip() == line[1]


def test_a_function_without_a_backward_part_has_no_sections() -> None:
    text = text_of(layer, W, B, X)
    assert "# forward" not in text
    assert "errstate" not in text


def test_expressions_and_not_one_operation_a_line() -> None:
    text = text_of(gs.grad(rosenbrock), np.arange(5.0))
    statements = [line for line in text.splitlines() if " = " in line or "+=" in line]
    assert len(statements) <= 9, text


def test_a_name_of_the_users_is_kept_where_temporaries_would_take_it() -> None:
    def f(x):
        u = np.sin(x) * np.exp(np.cos(x) * np.tanh(x)) * np.sin(x)
        t = np.log(u * u + 1.0) * u
        out = t * t + u
        return np.sum(out) * np.sum(t)

    text = text_of(gs.grad(f), np.arange(3.0))
    assert re.search(r"^ +t = ", text, re.M), text
    assert re.search(r"^ +t = .*\bu$", text, re.M), text
    assert "out = t * t + u" in text
    assert not re.search(r"^ +d_\w+ = ", text.split("# backward")[0], re.M), text  # no cotangent before its time


def test_rebound_names_stay_apart() -> None:
    def f(x):
        h = x * 2.0
        h = np.sin(h) * h
        h = np.tanh(h) * h
        return np.sum(h * h)

    text = text_of(gs.value_and_grad(f), np.arange(3.0))
    targets = re.findall(r"^\s+(\w+) = ", text, re.M)
    assert len(targets) == len(set(targets)), text
    assert "h" in targets


def test_unpacked_trees_have_the_names_of_their_keys() -> None:
    def f(p, rest):
        return np.sum(p["w"] @ p["b"]) + np.sum(rest[0] * rest[1])

    text = text_of(gs.grad(f, argnums=(0, 1)), {"w": np.eye(3), "b": B}, [B + 1, B * 2])
    assert 'w, b = p["w"], p["b"]\n' in text
    assert "rest_0, rest_1 = rest\n" in text
    assert "d_w" in text


def test_names_that_would_hide_what_the_text_needs() -> None:
    def f(x):
        sum = np.sum(x * x)
        list = sum * 2.0
        d_x = list * np.sum(np.sin(x))
        return d_x * sum

    text = text_of(gs.value_and_grad(f), np.arange(3.0))
    assert not re.search(r"^\s+(sum|list|np) = ", text, re.M), text


def test_constants_are_written_as_a_person_would() -> None:
    def f(x):
        return np.sum(np.where(x > 0, x * 2.5, -0.0) + np.minimum(x, float("inf")) + np.float32(3) * x) + 1e-30

    text = text_of(f, np.arange(3.0, dtype=np.float32))
    assert "2.5" in text
    assert "-0.0" in text
    assert "np.inf" in text
    assert "float32(3" not in re.sub("#.*", "", text)  # a weak 3.0 gives the same dtype


def test_arrays_from_outside_are_keyword_arguments() -> None:
    text = str(gs.source(gs.grad(lambda x: np.sum(x * B)), B))
    assert "(x, *, B)" in text
    outside = B * 2
    text = str(gs.source(gs.grad(lambda B: np.sum(B * outside * globals_b())), B))
    assert "(B, *, outside, B_2)" in text or "(B, *, B_2, outside)" in text


def globals_b() -> Any:
    return B


def test_scipy_is_imported_where_it_is_used() -> None:
    special = pytest.importorskip("scipy.special")

    def f(x):
        return special.logsumexp(x) + np.sum(special.expit(x))

    text = text_of(gs.grad(f), B)
    assert "scipy.special" in text
    assert "scipy" not in text_of(gs.grad(rosenbrock), np.arange(4.0))


def test_guards_are_written_where_a_truth_is_taken_out() -> None:
    def f(x):
        if bool(np.sum(x) > 0):
            return np.sum(x**2)
        return np.sum(x)

    text = str(gs.source(gs.grad(f), np.ones(3)))
    assert re.search(r"if not x\.sum\(\) > 0:\n\s+return NotImplemented", text), text


def test_small_reductions_are_methods_and_the_mean_keeps_its_name() -> None:
    def f(x):
        loss = np.mean(x * x)
        top = np.max(x, axis=0)
        print(loss)
        return np.sum(top) * loss

    text = gs.source(f, np.ones((2, 3)))
    assert "loss = (x * x).sum() / x.size" in text
    assert "top = x.max(axis=0)" in text
    assert "return top.sum() * loss" in text
    text = gs.source(f, np.ones((100, 100)))
    assert "loss = np.mean(x * x)" in text
    assert "top = np.max(x, axis=0)" in text


# Kinds of functions --------------------------------------------------------------------------------------------------


def test_lambdas_closures_static_methods_and_nested_transforms() -> None:
    scale = 2.0

    def closed(x):
        return np.sum(np.sin(x) * scale)

    assert "def function_grad(x):" in text_of(gs.grad(lambda x: np.sum(x * x)), B)
    assert "2.0" in text_of(gs.grad(closed), B)
    assert "scaled" in text_of(gs.grad(Model.plain), B)
    text = text_of(gs.grad(gs.grad(lambda x: np.sin(x) * x**3)), 1.3)
    assert "def function_grad_grad(x):" in text
    assert gs.compile(gs.grad(gs.grad(np.sin)))(0.5) == -np.sin(0.5)
    assert gs.compile(gs.grad(gs.grad(gs.grad(lambda x: x**4))))(2.0) == 48.0


def test_two_lambdas_on_one_line() -> None:
    first, second = (lambda x: np.sum(np.sin(x) * 2.0)), (lambda x: np.sum(np.cos(x) * 3.0))
    assert "np.cos(x)" in text_of(gs.grad(first), B)
    assert "np.sin(x)" in text_of(gs.grad(second), B)


def test_a_method_is_compiled() -> None:
    compiled = gs.compile(gs.grad(Model().loss))
    np.testing.assert_array_equal(compiled(B), 2 * B)


def test_a_decorated_method_gets_its_self() -> None:
    class Local:
        @gs.compile
        def loss(self, x):
            return np.sum(x**2)

    assert Local().loss(B) == np.sum(B**2)


def test_functions_without_source() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x):\n    y = np.sin(x)\n    return np.sum(y * y)", space)
    text = text_of(gs.grad(space["f"]), B)
    assert "np.sin(x)" in text
    assert "<string>" in text
    partial = functools.partial(rosenbrock)
    np.testing.assert_array_equal(gs.compile(gs.grad(partial))(np.arange(4.0)), gs.grad(rosenbrock)(np.arange(4.0)))


def test_continued_lines_and_walrus_and_annotations() -> None:
    def f(x):
        total: Any = np.sin(x) * np.cos(x)
        if (squares := np.sum(total * total)) is None:
            return total
        first, second = squares * 2.0, squares + 1.0
        return first * second * squares  # fmt: skip

    text = text_of(gs.value_and_grad(f), B)
    assert "total = " in text
    assert "squares = " in text


# Python's tools ------------------------------------------------------------------------------------------------------


def test_the_text_survives_a_cleared_linecache() -> None:
    compiled = gs.compile(gs.grad(loss))
    made = compiled.specialisation(W, B, X, Y)
    linecache.clearcache()
    linecache.checkcache()
    assert inspect.getsource(made.function).strip() in made.text
    assert "d_w" in inspect.getsource(made.function)


def test_the_text_goes_with_the_compiled_function() -> None:
    compiled = gs.compile(gs.grad(rosenbrock))
    made = compiled.specialisation(np.arange(4.0))
    names = made.function.__module__, made.function.__code__.co_filename
    assert names[0] in sys.modules
    del compiled, made
    gc.collect()
    assert names[0] not in sys.modules
    assert not linecache.getlines(names[1])
    linecache.checkcache()
    assert names[1] not in linecache.cache


def test_a_traceback_shows_the_generated_line() -> None:
    def f(a, b):
        return np.sum(np.linalg.solve(a, b))

    compiled = gs.compile(f)
    regular = np.array([[1.0, 2.0], [2.0, 5.0]])
    for k in range(3):
        compiled(regular + k, np.ones(2))
    linecache.clearcache()
    with pytest.raises(np.linalg.LinAlgError) as error:
        compiled(np.ones((2, 2)), np.ones(2))
    shown = "".join(traceback.format_exception(error.value))
    assert re.search(r'File "\S+f_[0-9a-f]{20}.py", line \d+, in f', shown), shown
    assert "np.linalg.solve(a, b)" in shown


PROGRAM = """
import numpy as np, gradscribe as gs
from test_source import loss, rosenbrock, W, B, X, Y
def f(p, q):
    out = {k: np.sum(v * q[k]) for k, v in p.items()}
    return sum(out.values()) * np.sum(W)
print(gs.source(gs.value_and_grad(loss, argnums=(0, 1, 2)), W, B, X, Y))
print(gs.source(gs.grad(rosenbrock), np.arange(5.0)))
print(gs.source(gs.grad(f), {"b": B + 1, "a": B + 2}, {"a": B + 3, "b": 2 * B}))
"""


@pytest.mark.parametrize("other", ["4242", pytest.param("1", marks=pytest.mark.slow)])
def test_the_same_text_from_run_to_run(other: str) -> None:
    texts = set()
    for seed in ("0", other):
        path = os.pathsep.join(
            [str(ROOT / "tests" / "corpus"), str(Path(__file__).parent), *[p for p in sys.path if p]]
        )
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        command = [sys.executable, "-P", "-c", PROGRAM]
        texts.add(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)
    assert len(texts) == 1
    assert "def loss_value_and_grad" in texts.pop()


def test_pickling(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    compiled = gs.compile(gs.grad(rosenbrock))
    compiled(np.arange(4.0))
    again = pickle.loads(pickle.dumps(compiled))
    np.testing.assert_array_equal(again(np.arange(4.0)), compiled(np.arange(4.0)))
    assert again.verify == compiled.verify
    for home in ("cloudpickle", "joblib.externals.cloudpickle"):
        monkeypatch.setitem(sys.modules, home, None)
    with pytest.raises(pickle.PicklingError, match="top level"):
        pickle.dumps(gs.compile(lambda x: x))


def test_threads() -> None:
    compiled = gs.compile(gs.value_and_grad(rosenbrock), verify="first calls")
    plain = gs.value_and_grad(rosenbrock)
    problems: list[Any] = []
    barrier = threading.Barrier(6)

    def work(seed: int) -> None:
        try:
            own = np.random.default_rng(seed)
            barrier.wait()
            for k in range(12):
                x = own.normal(size=4 + (seed + k) % 3)
                for a, b in zip(compiled(x), plain(x), strict=True):
                    np.testing.assert_array_equal(a, b)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_what_source_returns_prints_and_highlights() -> None:
    text = gs.source(rosenbrock, np.arange(3.0))
    assert repr(text) == str(text)
    assert "rosenbrock" in text._repr_html_()
    assert str(gs.source(gs.compile(rosenbrock), np.arange(3.0))) == str(text)


def test_generated_code_is_what_runs() -> None:
    compiled = gs.compile(gs.grad(rosenbrock))
    made = compiled.specialisation(np.arange(4.0))
    for _ in range(3):
        compiled(rng.normal(size=4))
    assert compiled._last.call is made.function
    assert (
        made.function.__code__.co_filename in linecache.cache
        or made.function.__globals__["__loader__"].get_source("") == made.text
    )


# What can be done with a source ----------------------------------------------------------------------------------------


def quadratic(x: Any, w: Any) -> Any:
    r = np.tanh(x @ w)  # <- r
    return np.sum(r * r)  # <- out


def test_lines_go_to_the_users_and_back() -> None:
    source = gs.source(gs.grad(quadratic, argnums=1), np.ones((4, 3)), np.ones(3))
    rows, start = source.splitlines(), inspect.getsourcelines(quadratic)[1]
    forward = 1 + next(k for k, row in enumerate(rows) if "np.tanh" in row and "#" not in row.split("np.tanh")[0])
    found = source.line_of(forward)
    assert found is not None
    assert (found.path, found.line) == (__file__, start + 1)
    assert str(found) == f"test_source.py:{start + 1}: r = np.tanh(x @ w)  # <- r"
    back = source.lines_from(start + 1)
    assert forward in back
    assert len(back) >= 2  # forward and backward
    assert back == source.lines_from(start + 1, __file__)
    assert source.lines_from(start + 1, "other.py") == source.lines_from(1) == []
    assert all(source.line_of(k) == found for k in back)
    assert source.line_of(1) is None
    for wrong in (0, len(rows) + 1):
        with pytest.raises(IndexError, match=f"1 to {len(rows)}"):
            source.line_of(wrong)


def test_a_comment_is_of_the_line_below_it() -> None:
    source = gs.source(gs.grad(quadratic, argnums=1), np.ones((4, 3)), np.ones(3))
    comments = [k for k, row in enumerate(source.splitlines(), 1) if row.lstrip().startswith("# test_source.py")]
    assert comments
    for k in comments:
        assert f"{source.line_of(k)}".split(":")[1] in source.splitlines()[k - 1]


def test_a_source_is_saved_compared_and_shown(tmp_path: Path) -> None:
    source = gs.source(quadratic, np.ones((4, 3)), np.ones(3))
    assert source.save(tmp_path / "a.py") == tmp_path / "a.py"
    assert (tmp_path / "a.py").read_text() == source == repr(source)
    other = gs.source(lambda x, w: np.sum(np.tanh(x @ w)), np.ones((4, 3)), np.ones(3))
    shown = source.diff(other)
    assert shown.startswith("--- this\n+++ other\n@@")
    assert f"-{' ' * 4}return" in shown or "-    out =" in shown
    assert source.diff(source) == source.diff(str(source)) == ""
    with pytest.raises(FileNotFoundError):
        source.save(tmp_path / "nowhere" / "a.py")
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_a_source_can_be_pickled_with_its_lines() -> None:
    source = gs.source(quadratic, np.ones((4, 3)), np.ones(3))
    again = pickle.loads(pickle.dumps(source))
    assert (again, again.path) == (source, source.path)
    assert [again.line_of(k) for k in range(1, 9)] == [source.line_of(k) for k in range(1, 9)]


def bent(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_derivatives_of_the_second_order_and_tangents_have_names() -> None:
    x, w = np.ones((4, 3)), np.ones(3)
    product = gs.source(gs.hvp(quadratic, argnums=1), x, w, w)
    assert "dd_r = " in product
    assert "d_d_r = " in product  # of the cotangent itself
    assert "Returns dd_w: like w." in product
    assert "Returns dd_x" in gs.source(gs.hvp(bent), w, w)
    assert "Returns dd_x" in gs.source(gs.hessian(bent), w)
    assert "Returns dd_x" in gs.source(gs.grad(lambda x, v: np.sum(gs.grad(bent)(x) * v)), w, w)
    moved = gs.source(lambda w, v: gs.jvp(lambda w: quadratic(x, w), (w,), (v,)), w, w)
    assert "Returns out, d_out: float64." in moved
    twice = gs.source(
        lambda x, w: (gs.grad(bent)(w), gs.grad(quadratic, argnums=1)(x, w)), x, w
    )  # both of the first order
    assert "dd_" not in twice
    assert "Returns d_w, d_w_2" in twice or "Returns d_w_2, d_w" in twice


# Structure in, structure out -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Weights:
    w: Any
    b: Any


class Layers(NamedTuple):
    first: Weights
    scale: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    w: Any


@dataclasses.dataclass
class Renamed:
    w: Any
    shape: Any = dataclasses.field(default=0, init=False)


def of_weights(p: Any, x: Any) -> Any:
    return np.sum((x @ p.w + p.b) ** 2)


def of_layers(p: Any, x: Any) -> Any:
    return np.sum((x @ p.first.w + p.first.b) ** 2) * p.scale


INSTANCES: dict[str, tuple[Any, tuple[Any, ...], str]] = {
    "dataclass": (gs.grad(of_weights), (Weights(np.ones(4), 0.5), X), "return type(p)(w=x.T @ d_total, b=d_total.sum())"),
    "named tuple": (
        gs.value_and_grad(of_layers),
        (Layers(Weights(np.ones(4), np.ones(5)), np.float64(2.0)), X),
        "return out, type(p)(first=type(p.first)(w=x.T @ d_b, b=d_b), scale=total_2)",
    ),
    "slots": (gs.grad(lambda f: np.sum(f.w**3)), (Frozen(np.arange(3.0)),), "return type(f)(w=3.0 * w**2)"),
    "in a list": (
        gs.grad(lambda ps: np.sum(ps[1]["a"].w ** 2)), ([X, {"a": Frozen(np.arange(3.0))}],), 'type(ps[1]["a"])(w=2.0 * w)',
    ),
    "step": (lambda p, x: {"new": Weights(p.w * 2.0, [p.b])}, (Weights(np.ones(4), 0.5), X), 'return {"new": type(p)(w='),
}  # fmt: skip


@pytest.mark.parametrize("name", INSTANCES)
def test_classes_of_arguments_come_back_as_such(name: str) -> None:
    function, args, returned = INSTANCES[name]
    compiled = gs.compile(function, verify="first calls")
    expected = function(*args)
    for _ in range(3):
        assert repr(compiled(*args)) == repr(expected)
    made = compiled.specialisation(*args)
    assert returned in made.text
    assert made.rebuild is None
    assert repr(made.function(*args)) == repr(expected)  # the text alone


def test_a_class_that_the_text_cannot_call_is_put_together_outside() -> None:
    found = gs.compile(lambda w: Frozen(w * 2.0))  # no argument has it
    for _ in range(3):
        assert repr(found(np.ones(2))) == repr(Frozen(np.ones(2) * 2.0))
    held = Renamed(np.ones(2))
    held.shape = np.ones(3)
    gradient = gs.grad(lambda p: np.sum(p.w**2) + np.sum(p.shape))
    compiled = gs.compile(gradient)
    for _ in range(3):
        assert repr(compiled(held)) == repr(gradient(held))
    assert "type(" not in compiled.source(held)
    shadowed = gs.grad(lambda type: np.sum(type.w**2))
    assert repr(gs.compile(shadowed)(Frozen(np.ones(2)))) == repr(shadowed(Frozen(np.ones(2))))
