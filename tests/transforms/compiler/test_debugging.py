"""Debugging compiled functions: tracebacks, stepping, verify=True, and what the environment asks for."""

from __future__ import annotations

import bdb
import inspect
import os
import pdb  # noqa: T100  # what is tested
import pickle
import re
import subprocess
import sys
import textwrap
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([[2.0, 1.0], [0.0, 3.0]])
ZERO = np.zeros((2, 2))


def inverse(a: Any, b: Any) -> Any:
    """Raises for a singular product."""
    c = a @ b
    return np.linalg.inv(c)  # <-


def warm(function: Any, *args: Any) -> Any:
    """`function` compiled, with the checks of its first calls behind it."""
    compiled = gs.compile(function)
    for k in range(3):
        compiled(*[a + k for a in args])
    assert compiled._last is not None
    return compiled


def marked(function: Callable[..., Any]) -> int:
    lines, start = inspect.getsourcelines(function)
    return start + next(k for k, text in enumerate(lines) if "# <-" in text)


def raised(run: Callable[[], Any], kind: type[Exception]) -> Exception:
    with pytest.raises(kind) as caught:
        run()
    return caught.value


# Tracebacks ----------------------------------------------------------------------------------------------------------


def test_below_the_generated_line_stands_the_users() -> None:
    compiled = warm(inverse, X, np.eye(2))
    error = raised(lambda: compiled(ZERO, ZERO), np.linalg.LinAlgError)
    frames = traceback.extract_tb(error.__traceback__)
    k = next(k for k, f in enumerate(frames) if f.filename == compiled._last.specialisation.filename)
    assert "np.linalg.inv" in (frames[k].line or "")
    below = frames[k + 1]
    assert (below.filename, below.lineno, below.name) == (__file__, marked(inverse), "inverse")
    assert below.line == "return np.linalg.inv(c)  # <-"
    assert "Singular matrix" in str(error)
    text = "".join(traceback.format_exception(error))
    assert text.index(frames[k].filename) < text.index(f'test_debugging.py", line {marked(inverse)}, in inverse')


def test_on_the_slow_way_too_and_in_a_backward_part() -> None:
    def loss(a: Any) -> Any:
        return np.sum(np.linalg.solve(a, a[0]))  # <-

    compiled = warm(gs.grad(loss), X)
    compiled(np.eye(3) + 1)
    compiled(np.eye(3) + 2)  # another signature, now the last
    compiled(np.eye(3) + 3)
    error = raised(lambda: compiled(ZERO), np.linalg.LinAlgError)
    places = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    assert (__file__, marked(loss)) in places


def test_the_frame_of_the_user_has_the_variables() -> None:
    compiled = warm(inverse, X, np.eye(2))
    error = raised(lambda: compiled(ZERO, ZERO), np.linalg.LinAlgError)
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "inverse"]
    assert len(frames) == 2
    np.testing.assert_array_equal(frames[1].f_locals["c"], ZERO)
    assert inspect.getsource(frames[1].f_code).startswith("def inverse")


def test_an_error_of_the_capture_ends_at_the_users_line() -> None:
    def wrong(x: Any) -> Any:
        return np.sum(x @ np.ones(5))  # <-

    for function in (wrong, gs.grad(wrong)):
        error = raised(lambda function=function: gs.compile(function)(X), ValueError)  # type: ignore[misc]
        places = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        assert places[-1] == (__file__, marked(wrong))


def test_pytest_shows_both_lines(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent("""
            import numpy as np
            import gradscribe as gs

            def inverse(a):
                c = a @ a
                return np.linalg.inv(c)

            def test_it():
                compiled = gs.compile(inverse)
                for k in range(3):
                    compiled(np.eye(2) + k)
                compiled(np.zeros((2, 2)))
        """)
    )
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "--color=no", "test_it.py"]
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"
    }
    done = subprocess.run(command, cwd=tmp_path, env=plain, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"inverse_[0-9a-f]{20}\.py:\d+", done.stdout), done.stdout
    assert "test_it.py:7: " in done.stdout
    assert "return np.linalg.inv(c)" in done.stdout


# Stepping ------------------------------------------------------------------------------------------------------------


class Steps(bdb.Bdb):
    """A debugger that notes where it stops."""

    def __init__(self) -> None:
        super().__init__()
        self.stops: list[tuple[str, int]] = []

    def user_line(self, frame: Any) -> None:
        if frame.f_globals["__name__"].startswith("gradscribe.generated"):
            self.stops.append((frame.f_code.co_name, frame.f_lineno))
            self.set_step()
        else:
            self.set_continue()


def test_source_breakpoints_and_steps() -> None:
    compiled = warm(inverse, X, np.eye(2))
    function = compiled._last.specialisation.function
    text = inspect.getsource(function)
    assert text in compiled._last.specialisation.text
    start = inspect.getsourcelines(function)[1]
    first = start + next(k for k, row in enumerate(text.splitlines()) if "c = a @ b" in row)
    steps = Steps()
    before = sys.gettrace()
    try:
        assert steps.set_break(function.__code__.co_filename, first) is None
        steps.runcall(compiled, X, X)
    finally:
        steps.clear_all_breaks()
        sys.settrace(before)
    assert ("inverse", first) in steps.stops
    assert len({line for _, line in steps.stops}) >= 2


def test_pdb_post_mortem_goes_to_the_users_line() -> None:
    compiled = warm(inverse, X, np.eye(2))
    error = raised(lambda: compiled(ZERO, ZERO), np.linalg.LinAlgError)
    stack, _ = pdb.Pdb(nosigint=True, readrc=False).get_stack(None, error.__traceback__)
    frame, line = next((f, n) for f, n in stack if f.f_code.co_filename == __file__ and f.f_code.co_name == "inverse")
    assert line == marked(inverse)
    np.testing.assert_array_equal(eval("c", frame.f_globals, frame.f_locals), ZERO)


# verify=True ---------------------------------------------------------------------------------------------------------


def chain(x: Any) -> Any:
    y = x * 2.0
    z = np.sin(y)  # <-
    w = np.exp(z) + y
    return np.sum(w * z)


def plant(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """A fault in the generated text."""
    from gradscribe.transforms.compiler.driver import specialise

    emit = specialise.emit
    monkeypatch.setattr(specialise, "emit", lambda *args: emit(*args).replace(old, new))


def test_the_first_statement_that_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "np.sin", "np.cos")
    error = raised(lambda: gs.compile(chain, verify=True)(np.array([0.5, 1.0])), gs.VerifyError)
    assert "`z` is the first variable that differs, at line " in str(error)
    assert "of the generated source, `z = np.cos(y)" in str(error)
    assert f"from test_debugging.py:{marked(chain)}: z = np.sin(y)" in str(error)
    difference = max(abs(np.sin(v) - np.cos(v)) for v in (1.0, 2.0))
    assert f"a difference of {difference:.3g}" in str(error)
    assert f"{np.cos(2.0)} compiled, {np.sin(2.0)} eager at (1,)" in str(error)


def test_a_fault_of_a_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.runtime.ir.graph import Graph
    from gradscribe.runtime.registry import require
    from gradscribe.transforms.compiler import passes

    def wrong(graph: Any) -> Any:
        calls = [c if c.op.path != "np.sin" else type(c)(require(np.cos), c.args, c.outs, c.site) for c in graph.calls]
        return Graph(graph.inputs, calls, graph.outputs)

    monkeypatch.setattr(passes, "PASSES", (*passes.PASSES, wrong))
    error = raised(lambda: gs.compile(chain, verify=True)(np.ones(2)), gs.VerifyError)
    assert "`z` is the first variable that differs" in str(error)


def test_every_call_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "np.sin(y)", "np.where(y < 100, np.sin(y), y)")
    compiled = gs.compile(chain, verify=True)
    for k in range(5):
        assert compiled(np.ones(2) * k) == chain(np.ones(2) * k)
    assert "`z` is the first" in str(raised(lambda: compiled(np.ones(2) * 60), gs.VerifyError))
    assert compiled(np.ones(2) * 60) == chain(np.ones(2) * 60)
    unchecked = gs.compile(chain)
    for k in range(5):
        unchecked(np.ones(2) * k)
    assert unchecked(np.ones(2) * 60) != chain(np.ones(2) * 60)  # which is what verify=True is for


def test_where_nothing_is_wrong_no_statement_is(rng: np.random.Generator) -> None:
    from gradscribe.transforms.compiler.driver.lazy_imports import Inputs, first_difference
    from gradscribe.transforms.compiler.driver.statements import statements

    def loss(w: Any, b: Any, x: Any) -> Any:
        h = np.tanh(x @ w + b)
        p = np.exp(h - np.max(h, axis=1, keepdims=True))
        p = p / np.sum(p, axis=1, keepdims=True)
        return -np.mean(np.log(p[:, 0])) + 1e-3 * np.sum(w[:-1] ** 2 * w[1:])

    def gram(w: Any, b: Any, x: Any) -> Any:
        c = np.linalg.cholesky(w.T @ w + np.eye(len(b)))
        return np.sum(np.linalg.solve(c, b)) + np.linalg.slogdet(c)[1] + np.sum(np.sort(x[:, 0]) ** 3)

    args = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(5, 4))
    big = rng.normal(size=(200, 100)), rng.normal(size=100), rng.normal(size=(150, 200))  # buffers are used again
    for function in (loss, gram, gs.value_and_grad(loss, argnums=(0, 1, 2)), gs.grad(gram, argnums=(0, 1))):
        for inputs in (args, big):
            compiled = gs.compile(function)
            compiled(*inputs)
            ((entry,),) = compiled._entries.values()
            assert len(statements(entry.specialisation)) > 1
            assert first_difference(entry, Inputs(function, inputs, {})) == ""


def test_verify_takes_what_it_knows() -> None:
    with pytest.raises(ValueError, match="first calls"):
        gs.compile(chain, verify="often")


# The environment -----------------------------------------------------------------------------------------------------


def test_gradscribe_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADSCRIBE_EAGER", "1")
    compiled = gs.compile(chain)
    for _ in range(4):
        assert compiled(np.ones(2)) == chain(np.ones(2))
    assert not compiled._texts
    assert "GRADSCRIBE_EAGER" in str(gs.explain(compiled))
    monkeypatch.setenv("GRADSCRIBE_EAGER", "0")
    compiled(np.ones(2))
    assert len(compiled._texts) == 1


def test_gradscribe_dump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    monkeypatch.setenv("GRADSCRIBE_DUMP", str(folder))
    compiled = gs.compile(gs.grad(chain))
    for n in (2, 3, 2, 4):  # one source
        compiled(np.ones(n))
    compiled(np.ones(2, np.float32))
    files = sorted(folder.iterdir())
    assert len(files) == len(compiled._texts)
    assert {f.read_text() for f in files} == {s.text for s in compiled._texts.values()}
    assert all(re.fullmatch(r"chain_grad_[0-9a-f]{20}\.py", f.name) for f in files)
    assert {f.name for f in files} == {Path(one.path).name for one in gs.explain(compiled).specialisations}


def test_a_folder_that_cannot_be_written_only_warns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADSCRIBE_DUMP", str(tmp_path / "file" / "folder"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for function in (chain, gs.grad(chain)):
            compiled = gs.compile(function)
            compiled(np.ones(2))
            assert len(compiled._texts) == 1
    assert len(caught) == 1
    assert "GRADSCRIBE_DUMP" in str(caught[0].message)


# Threads and pickles -------------------------------------------------------------------------------------------------


@pytest.fixture
def small_switch_interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_specialise_at_once(small_switch_interval: None) -> None:
    """Several signatures, guards that fail, more than the limit: every thread gets eager's bits."""

    def f(x: Any, n: Any) -> Any:
        y = np.sin(x) * n
        return np.sum(y) if np.sum(y) > 0 else np.sum(y * y)

    for _ in range(5):
        compiled = gs.compile(f, max_specialisations=5)
        wrong: list[Any] = []

        def work(k: int, compiled: Any = compiled, wrong: list[Any] = wrong) -> None:
            try:
                for j in range(30):
                    x, n = np.linspace(-1, 1 + k, 2 + j % 3) * (-1) ** j, 1 + (j + k) % 4
                    if compiled(x, n) != f(x, n):
                        wrong.append((x, n))
            except BaseException as error:
                wrong.append(error)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.EagerWarning)
            threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join(60)
        assert not any(t.is_alive() for t in threads)
        assert not wrong
        assert 0 < len(compiled._texts) <= 5


def test_a_function_that_waits_for_threads_which_call_it_is_not_stuck() -> None:
    def f(x: Any, depth: Any) -> Any:
        if depth:
            t = threading.Thread(target=compiled, args=(x, 0), daemon=True)
            t.start()
            t.join(30)
            assert not t.is_alive()
        return np.sum(x * x)

    compiled = gs.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        assert compiled(np.ones(3), 1) == 3


def test_compiled_functions_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = gs.compile(gs.grad(chain), verify=True, max_specialisations=3, passes=("cse",))
    before = compiled(np.ones(2))
    again = pickle.loads(pickle.dumps(compiled))
    assert again.options == compiled.options
    assert (again.verify, again.limit) == (True, 3)
    np.testing.assert_array_equal(again(np.ones(2)), before)
    assert pickle.loads(pickle.dumps(by_name)) is by_name
    for home in ("cloudpickle", "joblib.externals.cloudpickle"):
        monkeypatch.setitem(sys.modules, home, None)
    with pytest.raises(pickle.PicklingError, match="top level"):
        pickle.dumps(gs.compile(lambda x: x))


@gs.compile(max_specialisations=4)
def by_name(x: Any) -> Any:
    return np.sum(x)


def test_environment_is_left_alone() -> None:
    assert "GRADSCRIBE_EAGER" not in os.environ
    assert "GRADSCRIBE_DUMP" not in os.environ
