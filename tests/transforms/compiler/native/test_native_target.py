"""`gs.compile(f, target="native")`: when C runs, what it is held to, and when NumPy's source runs instead."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from native_batches import needs_compiler

import gradscribe as gs
from gradscribe.explorer import doctor
from gradscribe.runtime.errors import CompileError
from gradscribe.transforms.compiler.driver import native
from gradscribe.transforms.compiler.native import build, forms


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def runs(compiled: Any) -> list[str]:
    """What serves each specialisation."""
    return [one.runs for one in gs.explain(compiled).specialisations]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and no warning said yet."""
    monkeypatch.setenv("GRADSCRIBE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "_said", set())
    return tmp_path / "cache"


@needs_compiler
def test_one_build_serves_many_lengths_and_strides(folder: Path) -> None:
    eager = gs.value_and_grad(rosenbrock)
    compiled = gs.compile(eager, target="native")
    whole = np.linspace(-2.0, 2.0, 64)
    views = [whole[:5], whole[:6], whole[::2], whole[::-1], whole[3:40:3], whole[:2], np.repeat(whole[:1], 9), whole]
    for _ in range(4):
        for x in views:
            value, slope = compiled(x)
            expected, expected_slope = eager(x)
            np.testing.assert_allclose(value, expected, rtol=1e-13)
            np.testing.assert_allclose(slope, expected_slope, rtol=1e-12, atol=1e-11)
            assert type(value) is np.float64
            assert slope.strides == expected_slope.strides
    assert set(runs(compiled)) == {"native, without a call of Python"}
    assert len(list(folder.glob("native_*.so"))) == len(runs(compiled)) == 1
    again = gs.compile(eager, target="native")
    again(whole)
    assert len(list(folder.glob("native_*.so"))) == 1
    (library,) = folder.glob("native_*.so")
    assert library.stat().st_mode & 0o777 == 0o700


@needs_compiler
@pytest.mark.parametrize("mode", [pytest.param(0o722, marks=pytest.mark.slow), 0o700], ids=["of others", "damaged"])
def test_a_library_that_is_not_as_it_was_built_is_not_loaded(folder: Path, mode: int) -> None:
    gs.compile(rosenbrock, target="native")(np.ones(3))
    (library,) = folder.glob("native_*.so")
    content = library.read_bytes()
    library.unlink()  # what is mapped stays as it is
    library.write_bytes(content if mode == 0o722 else content[:1000] + b"?" + content[1001:])
    library.chmod(mode)
    compiled = gs.compile(rosenbrock, target="native")
    compiled(np.ones(3))
    assert runs(compiled) == ["native, without a call of Python"]
    assert library.stat().st_mode & 0o777 == 0o700
    assert library.read_bytes() == content


def test_without_a_compiler_numpy_runs_and_one_warning_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(build, "_zig", lambda: None)
    build._compiler.cache_clear()
    eager, x = gs.grad(rosenbrock), np.linspace(0.0, 1.0, 5)
    compiled = gs.compile(eager, target="native")
    with pytest.warns(RuntimeWarning, match="no C compiler on the PATH.*NumPy runs it instead") as caught:
        found = [compiled(x), *[compiled(x + k) for k in range(4)], gs.compile(rosenbrock, target="native")(x)]
    assert len(caught) == 1
    for a, b in zip(found, [eager(x), *[eager(x + k) for k in range(4)], rosenbrock(x)], strict=True):
        assert np.array_equal(a, b)
    assert runs(compiled) == [f"numpy: {build.NONE}"]


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="the compiler of this test is a shell script")
def test_ziglang_compiles_where_there_is_no_other_compiler(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = build.compiler()
    assert other is not None
    if other.zig:
        pytest.skip("ziglang is the compiler of all the other tests")
    package = tmp_path / "ziglang"
    package.mkdir()
    (package / "__init__.py").touch()
    script = package / "zig"
    script.write_text(
        f"#!/bin/sh\n[ $1 = cc ] || exit 1\nPATH={os.environ['PATH']}\nshift\nexec {other.path} $@\n", encoding="utf-8"
    )
    script.chmod(0o755)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    compiled, x = gs.compile(rosenbrock, target="native"), np.linspace(0.0, 1.0, 5)
    assert [compiled(x + k) for k in range(3)] == pytest.approx([rosenbrock(x + k) for k in range(3)], rel=1e-14)
    assert runs(compiled) == ["native, without a call of Python"]
    found = build.compiler()
    assert found is not None
    assert found.command == [str(script), "cc"]
    assert f"{script} cc" in str(doctor._native())


def test_the_ziglang_of_the_extra_compiles(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang", reason="pip install gradscribe[native]")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    compiled = gs.compile(gs.value_and_grad(lambda x: np.sum(np.exp(x) * np.sin(x))), target="native")
    for k in range(3):
        assert compiled(np.ones(3) * k)[0] == pytest.approx(3 * np.exp(k) * np.sin(k), rel=1e-14)
    assert runs(compiled) == ["native, without a call of Python"]


@pytest.mark.skipif(os.name != "posix", reason="the compiler of this test is a shell script")
def test_a_compiler_that_fails_is_one_warning(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "gcc"
    script.write_text("#!/bin/sh\necho 'k.c:1: error: no room' >&2\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    compiled = gs.compile(rosenbrock, target="native")
    with pytest.warns(RuntimeWarning, match="gcc failed: k.c:1: error: no room") as caught:
        assert [compiled(np.ones(3)) for _ in range(3)] == [0.0] * 3
    assert len(caught) == 1
    assert not list(folder.glob("native_*"))


@needs_compiler
def test_a_kernel_that_gives_another_result_does_not_serve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(forms._UFUNCS, np.sinh, ("1.001 * sinh{f}({0})", "", ""))
    compiled = gs.compile(lambda x: np.sinh(x) + 1.0, target="native")
    x = np.linspace(0.0, 1.0, 5)
    with pytest.warns(RuntimeWarning, match="gave another result natively than with NumPy"):
        compiled(x)
    for k in range(4):
        assert np.array_equal(compiled(x + k), np.sinh(x + k) + 1.0)
    assert runs(compiled)[0].startswith("numpy: result 0 differs by up to ")


@needs_compiler
def test_an_arm_is_checked_when_it_is_first_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        if np.sum(x) > 0.0:
            y = np.cosh(x)
        else:
            y = np.sinh(x)
        return y * 2.0

    monkeypatch.setitem(forms._UFUNCS, np.sinh, ("1.001 * sinh{f}({0})", "", ""))
    monkeypatch.setattr(native, "_said", set())
    compiled, x = gs.compile(f, target="native"), np.linspace(0.5, 1.0, 5)
    for k in range(5):
        np.testing.assert_allclose(compiled(x + k), np.cosh(x + k) * 2.0, rtol=1e-14)
    assert runs(compiled) == ["native, without a call of Python"]
    with pytest.warns(RuntimeWarning, match="gave another result natively"):
        found = [compiled(-x - k) for k in range(5)]
    for k in range(5):
        assert np.array_equal(found[k], np.sinh(-x - k) * 2.0)


@needs_compiler
def test_python_runs_what_has_no_c_form_in_loops_too() -> None:
    def f(a: Any, x: Any) -> Any:
        for _ in range(3):
            x = np.linalg.pinv(a) @ np.tanh(x) + x
        return np.sum(x)

    rng = np.random.default_rng(0)
    a, x = np.eye(3) * 2.0 + 0.1, rng.normal(size=3)
    eager = gs.value_and_grad(f, argnums=(0, 1))
    compiled = gs.compile(eager, target="native")
    for k in range(5):
        found, expected = compiled(a, x + k), eager(a, x + k)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
        np.testing.assert_allclose(found[1][0], expected[1][0], rtol=1e-11)
    assert "of Python: np.linalg.pinv" in runs(compiled)[0]


@needs_compiler
def test_results_share_memory_as_numpys_do() -> None:
    def f(x: Any) -> Any:
        y = np.exp(x) + 1.0
        return x, x[1:], y, y.T, np.sum(y)

    compiled = gs.compile(f, target="native")
    for k in range(5):
        x = np.arange(6.0).reshape(2, 3) + k
        same, part, y, turned, _ = compiled(x)
        assert same is x
        assert np.shares_memory(part, x)
        assert np.shares_memory(y, turned)
        assert turned.strides == y.T.strides
    assert runs(compiled)[0].startswith("native")


@needs_compiler
def test_trees_keywords_and_arrays_from_outside() -> None:
    outside = np.array([1.0, 2.0, 3.0])

    def f(params: Any, *, scale: Any) -> Any:
        w, b = params["pair"]
        return {"out": np.exp(w * outside) * scale, "rest": [np.sum(b), (w,)]}

    compiled = gs.compile(f, target="native")
    for k in range(5):
        params = {"pair": (np.arange(3.0) + k, np.ones((2, 2)) * k)}
        found, expected = compiled(params, scale=2.0), f(params, scale=2.0)
        np.testing.assert_allclose(found["out"], expected["out"], rtol=1e-14)
        assert found["rest"][0] == expected["rest"][0]
        assert found["rest"][1][0] is params["pair"][0]
    assert runs(compiled) == ["native, without a call of Python"]


class Pair(NamedTuple):
    """A class of the caller's."""

    w: Any
    b: Any


@needs_compiler
def test_results_of_the_callers_class() -> None:
    eager = gs.value_and_grad(lambda p: np.sum(np.where(p.w > 1.0, np.exp(p.w), p.w)) * p.b)
    compiled = gs.compile(eager, target="native")
    for k in range(6):
        given = Pair(np.linspace(0.0, 1.5, 4) + k, np.float64(k))
        found, expected = compiled(given), eager(given)
        assert type(found[1]) is Pair
        np.testing.assert_allclose(found[1].w, expected[1].w, rtol=1e-14)
        np.testing.assert_allclose(found[1].b, expected[1].b, rtol=1e-14)
    assert runs(compiled) == ["native, without a call of Python"]
    with np.errstate(divide="raise"):  # NumPy's source
        assert type(compiled(given)[1]) is Pair


@needs_compiler
def test_another_error_state_takes_numpy() -> None:
    compiled = gs.compile(lambda x: np.log(x) * 2.0, target="native")
    x = np.array([1.0, 2.0])
    for k in range(5):
        compiled(x + k)
    assert runs(compiled)[0].startswith("native")
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(np.zeros(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(np.zeros(2))[0] == -np.inf  # C tells of nothing


@needs_compiler
def test_errors_are_those_of_numpy() -> None:
    def f(x: Any, k: Any) -> Any:
        return x[k] * 2.0 + 1.0 / k

    compiled = gs.compile(f, target="native")
    x = np.arange(4.0)
    for k in (1, 2, 3, 2, 1, 3):
        assert compiled(x, k) == f(x, k)
    for k, error in ((4, IndexError), (-5, IndexError), (0, ZeroDivisionError)):
        with pytest.raises(error):
            compiled(x, k)


def test_what_is_not_modelled_runs_with_numpy_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(x: Any) -> Any:
        print("here")
        return np.exp(x)

    for f, reason in (
        (prints, "it has an effect"),
        (np.linalg.pinv, "none of its"),
    ):
        compiled = gs.compile(lambda x, f=f: f(x), target="native")
        for k in range(3):
            compiled(np.eye(3) + k)
        assert runs(compiled)[0].startswith(f"numpy: {reason}"), runs(compiled)


def test_the_target_is_asked_for_by_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gs.compile(rosenbrock)._native is None
    monkeypatch.setenv("GRADSCRIBE_TARGET", "native")
    assert gs.compile(rosenbrock)._native is not None
    assert gs.compile(rosenbrock, target="numpy")._native is None
    for asked in ("c", "Native"):
        with pytest.raises(ValueError, match="target is 'numpy', 'native' or 'auto', not"):
            gs.compile(rosenbrock, target=asked)
    monkeypatch.setenv("GRADSCRIBE_TARGET", "fortran")
    with pytest.raises(ValueError, match="not 'fortran'"):
        gs.compile(rosenbrock)


def test_the_c_can_be_read() -> None:
    text = gs.source(rosenbrock, np.ones(4), target="native")
    assert text.language == "C"
    assert "x[1:]" not in text
    assert "/* test_native_target.py:" in text
    assert "static PyObject *run(" in text
    assert text.count("for (int64_t i = ") == 2  # one loop for all of it, for unit strides and for others
    with pytest.raises(CompileError, match="has no C, because it has an effect; NumPy runs it"):
        gs.source(lambda x: print(x), np.ones(4), target="native")
    assert gs.source(lambda x, target: x * target, 2.0, target=np.ones(2)).startswith("def ")


def until_native(compiled: Any, call: Any) -> int:
    """Call until a kernel serves, within a minute; how many calls it took."""
    end = time.monotonic() + 60.0
    for k in range(10**9):
        call()
        if runs(compiled)[0].startswith("native") or time.monotonic() > end:
            return k
        time.sleep(0.005)
    raise AssertionError


@needs_compiler
def test_calls_run_numpy_while_the_c_is_built(folder: Path) -> None:
    eager, x = gs.value_and_grad(rosenbrock), np.linspace(-1.0, 1.0, 9)
    compiled = gs.compile(eager, target="auto")
    threads = threading.active_count()
    first = compiled(x)
    assert runs(compiled) == ["numpy: its C is built once it is called again"]
    assert not list(folder.glob("native_*"))
    compiled(x + 2.0)  # which is checked against eager
    second = compiled(x + 1.0)
    assert runs(compiled) == ["numpy: its C is being built"]
    assert threading.active_count() == threads
    for found, expected in ((first, eager(x)), (second, eager(x + 1.0))):
        assert found[0] == expected[0]
        assert np.array_equal(found[1], expected[1])
    assert until_native(compiled, lambda: compiled(x)) > 0
    np.testing.assert_allclose(compiled(x)[1], eager(x)[1], rtol=1e-12)
    assert [path.suffix for path in folder.glob("native_*")] == [".so"]
    again = gs.compile(eager, target="auto")
    again(x), again(x + 1.0), again(x)  # its library is there
    assert runs(again) == ["native, without a call of Python"]


@needs_compiler
def test_a_process_ends_without_waiting_for_its_builds(tmp_path: Path) -> None:
    slow = tmp_path / "gcc"
    slow.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    code = (
        "import numpy as np, gradscribe as gs\n"
        "f = gs.compile(lambda x: np.exp(x) + 1.0, target='auto')\n"
        "f(np.ones(3)); f(np.zeros(3)); f(np.ones(3)); print(gs.explain(f).specialisations[0].runs)\n"
    )
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GRADSCRIBE_CACHE": str(tmp_path / "cache"),
    }
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("numpy: its C is being built\n", "")
    assert time.monotonic() - begun < 30.0
    assert not list((tmp_path / "cache").glob("*.tmp"))


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_builds_for_itself(folder: Path) -> None:
    compiled = gs.compile(lambda x: np.tanh(x) * 3.0, target="auto")
    compiled(np.ones(3)), compiled(np.zeros(3))
    child = os.fork()
    if child == 0:
        signal.alarm(100)  # a child that waits for ever is no test that does
        code = 1
        try:
            until_native(compiled, lambda: compiled(np.ones(3)))
            code = 0 if runs(compiled) == ["native, without a call of Python"] else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    until_native(compiled, lambda: compiled(np.ones(3)))
    assert runs(compiled) == ["native, without a call of Python"]


@needs_compiler
def test_it_goes_to_other_processes_as_its_function() -> None:
    compiled = gs.compile(rosenbrock, target="native")
    compiled(np.ones(3))
    again = pickle.loads(pickle.dumps(compiled))
    assert again(np.ones(3)) == 0.0
    assert runs(again) == ["native, without a call of Python"]


@needs_compiler
@pytest.mark.slow
def test_without_a_cache_the_libraries_go_with_the_process(tmp_path: Path) -> None:
    code = (
        "import numpy as np, gradscribe as gs, glob, tempfile\n"
        "f = gs.compile(lambda x: np.exp(x) + 1.0, target='native')\n"
        "f(np.ones(3)); print(gs.explain(f).specialisations[0].runs)\n"
        "print(len(glob.glob(tempfile.gettempdir() + '/gradscribe-native-*/native_*.so')))\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "GRADSCRIBE_CACHE": "off"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["native, without a call of Python", "1"]
    assert not list(tmp_path.iterdir())


@needs_compiler
def test_threads_share_a_kernel_and_nothing_is_left() -> None:
    def f(a: Any, x: Any) -> Any:
        y = np.exp(np.linalg.pinv(a) @ x)
        return {"sum": np.sum(y), "rest": (y, [np.max(y)])}

    a, x, wrong = np.eye(3) * 2.0, np.arange(3.0), []
    compiled = gs.compile(f, target="native")
    for k in range(5):
        compiled(a, x + k)
    assert runs(compiled) == ["native, with 1 call of Python: np.linalg.pinv"]
    expected = compiled(a, x)

    def work() -> None:
        for _ in range(300):
            found = compiled(a, x)
            if found["sum"] != expected["sum"] or not np.array_equal(found["rest"][0], expected["rest"][0]):
                wrong.append(found)

    before = sys.getrefcount(a), sys.getrefcount(x), sys.getrefcount(np.dtype(float))
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    after = sys.getrefcount(a), sys.getrefcount(x), sys.getrefcount(np.dtype(float))
    assert after[:2] == before[:2]
    assert abs(after[2] - before[2]) < 100


@needs_compiler
def test_compare_has_a_line_for_the_native_target(monkeypatch: pytest.MonkeyPatch) -> None:
    eager, x = gs.grad(lambda x: np.sum(np.sinh(x) * x)), np.linspace(0.5, 1.0, 5)
    found = gs.compare(gs.compile(eager, target="native"), x)
    assert found.ok
    assert found.rows[0].same_bits  # of NumPy's source
    assert found.native is not None
    assert found.native.relative <= 1e-14
    assert found.native.tolerance == np.finfo(float).eps ** 0.5
    assert "target native: " in str(found)
    assert "it ran native, without a call of Python" in " ".join(str(found).split())
    assert gs.compare(eager, x).native is None
    monkeypatch.setenv("GRADSCRIBE_TARGET", "native")
    assert gs.compare(gs.compile(eager), x).native is not None
    assert gs.compare(eager, x).rows[0].same_bits


@needs_compiler
def test_compare_runs_the_kernel_whose_time_it_states() -> None:
    def looped(x: Any) -> Any:
        for _ in range(100):
            x = x - 0.1 * np.sin(x)
        return np.sum(x * x)

    with np.errstate(invalid="raise"):  # under which NumPy's source runs, sixty times as long
        found = gs.compare(gs.compile(gs.grad(looped), target="native"), np.ones(4))
    assert found.native is not None
    assert found.compiled_seconds is not None
    assert found.native.seconds < found.compiled_seconds / 3


@needs_compiler
def test_an_error_state_that_was_set_back_is_the_usual_one() -> None:
    compiled = gs.compile(lambda x: np.sqrt(x) * 2.0, target="native")
    x = np.array([1.0, -1.0])
    with np.errstate(invalid="ignore"):
        compiled(x)
    compiled(np.ones(2))
    before = np.seterr(all="warn")
    np.seterr(**before)
    assert np.isnan(compiled(x)[1])  # C warns of nothing
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        compiled(x)
    assert np.isnan(compiled(x)[1])


@needs_compiler
def test_a_loop_over_rows_brings_what_it_needs() -> None:
    def crf(emissions: Any, transitions: Any, tags: Any) -> Any:
        score, alpha = emissions[0, tags[0]], emissions[0]
        for t in range(1, len(tags)):
            score = score + transitions[tags[t - 1], tags[t]] + emissions[t, tags[t]]
            m = alpha[:, None] + transitions
            top = m.max(axis=0)
            alpha = top + np.log(np.exp(m - top).sum(axis=0)) + emissions[t]
        top = alpha.max()
        return top + np.log(np.exp(alpha - top).sum()) - score

    rng = np.random.default_rng(0)
    args = rng.normal(size=(6, 4)), rng.normal(size=(4, 4)), rng.integers(0, 4, 6)
    transform = gs.value_and_grad(crf, argnums=(0, 1))
    found, expected = gs.compile(transform, target="native")(*args), transform(*args)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
