"""The disk cache of generated source: what hits and misses, what is not trusted, parallel processes, its bound, its command."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.explorer import cli
from gradscribe.runtime.ir.graph import Call, Graph, Type, Value
from gradscribe.runtime.ops import Op
from gradscribe.transforms.compiler.driver import cache_key, specialise
from gradscribe.transforms.compiler.schedule.signature import Signature

X = np.arange(3.0)
POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="who owns a file is told by POSIX systems")
LOSS = """
import numpy as np

def helper(t):
    return np.sin(t) * 2.0

def loss(x):
    h = helper(x)
    return np.sum(h * x)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, not there yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GRADSCRIBE_CACHE", str(folder))
    return folder


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the compiler wrote itself, in order."""
    texts: list[str] = []
    emit = specialise.emit

    def counted(*args: Any) -> str:
        texts.append(emit(*args))
        return texts[-1]

    monkeypatch.setattr(specialise, "emit", counted)
    return texts


def module(path: Path, text: str, name: str = "loss") -> Callable[..., Any]:
    """The function of a module with this text."""
    path.write_text(text, encoding="utf-8")
    space: dict[str, Any] = {"__name__": "module_of_a_test"}
    exec(compile(text, str(path), "exec"), space)
    found: Callable[..., Any] = space[name]
    return found


def source(function: Any, *args: Any) -> str:
    """The text that a fresh compile of the function's gradient gives, which also computes what eager does."""
    compiled = gs.compile(gs.grad(function))
    args = args or (X,)
    assert np.array_equal(compiled(*args), gs.grad(function)(*args))
    assert np.array_equal(compiled(*[a + 1 for a in args]), gs.grad(function)(*[a + 1 for a in args]))
    return str(compiled.specialisation(*args).text)


def texts(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.py"))


def python(code: str, **environment: str) -> str:
    """What a process of its own prints."""
    command = [sys.executable, "-W", "error", "-P", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# --- hits and misses --------------------------------------------------------------------------------------------------


def test_a_second_compile_takes_the_text_from_the_cache(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS)
    first = source(loss)
    assert source(loss) == source(module(tmp_path / "model.py", LOSS)) == first
    assert written == [first]
    assert len(texts(cache)) == 1
    assert first in texts(cache)[0].read_text(encoding="utf-8")


def test_a_function_that_python_has_warmed_up_hits(cache, written, tmp_path):
    text = LOSS.replace("return np.sum(h * x)", "return np.sum(h[1:] * x[:-1]) + h[0] * len(x)")
    first = source(module(tmp_path / "model.py", text))
    loss = module(tmp_path / "model.py", text)
    for _ in range(100):
        gs.grad(loss)(X)
    assert source(loss) == first
    assert len(written) == 1


def test_what_a_hit_gives_can_be_looked_at_as_ever(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS)
    fresh, kept = gs.compile(gs.grad(loss)), gs.compile(gs.grad(loss))
    assert str(gs.source(fresh, X)) == str(gs.source(kept, X))
    assert len(written) == 1
    assert str(kept.specialisation(X).graph) == str(fresh.specialisation(X).graph)
    assert str(gs.explain(kept)).count("model.py") == str(gs.explain(fresh)).count("model.py") > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("h * x", "h + x"),
        ("* 2.0", "* 3.0"),
        ("* 2.0", "* np.float32(2.0)"),
        ("np.sin", "np.cos"),
        ("    h = helper(x)\n    return np.sum(h * x)", "    g = helper(x)\n    return np.sum(g * x)"),
        ("np.sum(h * x)", "np.sum(h * x)  # said otherwise"),
        ("\ndef loss", "\n\ndef loss"),
        ("def loss(x)", "def loss(y, x=None)"),
        ("(x):\n    h = helper(x)\n    return np.sum(h * x)", "(x):\n    h = helper(-x)\n    return np.sum(h * x)"),
    ],
)
def test_a_changed_function_or_helper_misses(cache, written, tmp_path, old, new):
    before = source(module(tmp_path / "model.py", LOSS))
    changed = LOSS.replace(old, new)
    assert changed != LOSS
    if "y, x" in new:
        changed = changed.replace("h = helper(x)", "h = x = helper(y)")
    module(tmp_path / "model.py", changed)
    time.sleep(0.01)
    after = source(module(tmp_path / "model.py", changed))
    assert written == [before, after]
    assert len(texts(cache)) == 2


def test_what_stands_below_a_function_may_change(cache, written, tmp_path):
    before = source(module(tmp_path / "model.py", LOSS))
    assert source(module(tmp_path / "model.py", LOSS + "\nEPOCHS = 3\n\ndef other(x):\n    return x\n")) == before
    assert len(written) == 1


def test_another_signature_misses(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS)
    for array in (X, X.astype(np.float32), np.ones((2, 3)), np.ones((3, 2)).T, np.arange(6.0)[::2]):
        source(loss, array)
        source(loss, array)
    assert len(written) == 5


def test_numbers_that_look_alike_are_told_apart(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS.replace("* 2.0", "* SCALE"))
    numbers = [2, 2.0, 0.0, -0.0, True, np.float64(2.0), np.float32(2.0), np.int32(2), np.int64(2), np.inf, 1e-300, 1.0]
    for scale in (*numbers, *numbers):
        loss.__globals__["SCALE"] = scale
        compiled = gs.compile(loss)
        for x in (X, X + 1):
            with np.errstate(invalid="ignore"):
                assert repr(compiled(x)) == repr(loss(x))
    assert len(written) == len(numbers)


def test_what_the_text_says_of_arguments_and_lines_is_part_of_the_key(cache, written, tmp_path):
    text = (
        "import numpy as np\ndef loss(x, mode):\n    if FIRST:\n        a = 2.0 * np.sum(x)\n"
        "    else:\n        a = 2.0 * np.sum(x)\n    return a + 1.0\n"
    )
    loss = module(tmp_path / "model.py", text)
    for mode in ("one", "two", "one"):
        loss.__globals__["FIRST"] = True
        assert f"mode: '{mode}'" in gs.source(loss, X, mode)
    loss.__globals__["FIRST"] = False
    assert "model.py:6: a = " in gs.source(loss, X, "one")
    assert len(written) == 3
    assert "model.py:4: a = " in written[0]


@pytest.mark.parametrize("what", ["gradscribe", "numpy", "python"])
def test_another_version_misses(cache, written, tmp_path, monkeypatch, what):
    loss = module(tmp_path / "model.py", LOSS)
    source(loss)
    holder, name = {"gradscribe": (gs, "__version__"), "numpy": (np, "__version__"), "python": (sys, "version")}[what]
    with monkeypatch.context() as other:
        other.setattr(holder, name, "99.0")
        cache_key.versions.cache_clear()
        source(loss)
    cache_key.versions.cache_clear()
    assert len(written) == len(texts(cache)) == 2
    source(loss)
    assert len(written) == 2


def test_a_change_of_gradscribes_own_files_misses(tmp_path):
    (tmp_path / "transforms").mkdir()
    file = tmp_path / "transforms" / "emit.py"
    file.write_text("a = 1")
    before = cache_key._state(str(tmp_path))
    file.write_text("a = 22")
    assert cache_key._state(str(tmp_path)) != before


def test_arrays_and_numbers_read_from_outside_are_no_part_of_the_key(cache, written, tmp_path):
    text = LOSS.replace("* 2.0", "* W").replace("import numpy as np", "import numpy as np\nW = np.ones(3)")
    first = source(module(tmp_path / "model.py", text))
    loss = module(tmp_path / "model.py", text)
    loss.__globals__["W"] = np.full(3, 7.0)
    assert source(loss) == first
    assert len(written) == 1
    loss.__globals__["W"] = 7.0  # a number is written into the text
    assert source(loss) != first


def test_guards_of_a_text_from_the_cache_hold(cache, written, tmp_path):
    text = LOSS.replace("return np.sum(h * x)", "return np.sum(h * x) if bool(x[0] > 0) else np.sum(h)")
    for _ in range(2):
        loss = module(tmp_path / "model.py", text)
        compiled = gs.compile(gs.grad(loss))
        for x in (X, X + 1, -X, X - 3, X + 2):
            assert np.array_equal(compiled(x), gs.grad(loss)(x))
    assert len(written) == 2


def test_options_that_look_at_the_passes_go_past_the_cache(cache, written, tmp_path, capsys):
    loss = module(tmp_path / "model.py", LOSS)
    for _ in range(2):
        gs.compile(loss, dump=True)(X)
        gs.compile(loss, passes=[])(X)
    assert len(written) == 4
    assert capsys.readouterr().out.count("after capture:") == 2
    assert texts(cache) == []


def test_functions_without_source_are_not_kept(cache, written):
    space: dict[str, Any] = {"np": np}
    exec("def loss(x):\n    return np.sum(x * x)", space)
    assert source(space["loss"]) == source(space["loss"])
    assert len(written) == 2
    assert texts(cache) == []


def test_ops_whose_versions_are_not_known_are_not_kept():
    def key(fn: Any, path: str) -> str | None:
        x, y = (Value(Type("array", np.dtype(float), (3,), (8,))) for _ in range(2))
        call = Call(Op(fn, "x", gs.Kind.elementwise, path=path), (x,), (y,))
        return cache_key.cache_key(Graph([x], [call], [y]), Signature(["x"], 1, [x], [], 0), "f")

    def twice(x: Any) -> Any:
        return x * 2.0

    keys = [key(np.sin, "np.sin"), key(np.trace, "np.trace"), key(special.sindg, "scipy.special.sindg")]
    assert len(set(keys) - {None}) == 3
    assert key(np.sin, "np.sin") == keys[0]
    assert key(twice, "twice") is None
    assert key(np.frompyfunc(twice, 1, 1), "scipy.special.twice") is None


# --- what is damaged, or somebody else's ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: b"\x00\xff" + content,
        lambda content: content.replace(b"np.cos", b"np.sin"),
        lambda content: content.rpartition(b"# gradscribe")[0],
        lambda content: content + b"\n",
        lambda content: content[:-1],
    ],
)
def test_a_damaged_file_is_ignored_and_written_anew(cache, written, tmp_path, damage):
    loss = module(tmp_path / "model.py", LOSS)
    first = source(loss)
    (path,) = texts(cache)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    assert source(loss) == first
    assert len(written) == 2
    assert path.read_bytes() == good


def test_a_file_under_another_key_is_ignored(cache, written, tmp_path):
    first = source(module(tmp_path / "model.py", LOSS))
    (path,) = texts(cache)
    other = LOSS.replace("np.sin", "np.cos")
    second = source(module(tmp_path / "other.py", other))
    (key,) = set(texts(cache)) - {path}
    key.write_bytes(path.read_bytes())
    assert source(module(tmp_path / "other.py", other)) == second != first
    assert len(written) == 3


def planted(path: Path, text: str) -> None:
    """Put another text into the cache, as somebody who knows its form could."""
    digest = hashlib.sha256(path.stem.encode() + text.encode()).hexdigest()
    path.write_bytes(f"{text}# gradscribe {digest}\n".encode())


def test_a_text_that_fails_its_check_is_forgotten(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS)
    first = source(loss)
    (path,) = texts(cache)
    planted(path, first.replace("np.cos", "np.sin"))
    compiled = gs.compile(gs.grad(loss))
    with pytest.warns(gs.EagerWarning, match="another result compiled than eagerly"):
        assert np.array_equal(compiled(X), gs.grad(loss)(X))
    assert texts(cache) == []
    assert source(loss) == first


@POSIX
@pytest.mark.parametrize("what", ["folder", "file"])
@pytest.mark.parametrize("mode", [0o002, 0o020])
def test_what_others_may_write_is_not_loaded(cache, written, tmp_path, what, mode):
    loss = module(tmp_path / "model.py", LOSS)
    first = source(loss)
    (path,) = texts(cache)
    planted(path, "raise SystemExit('this text was run')\n")
    place = cache if what == "folder" else path
    place.chmod(stat.S_IMODE(place.stat().st_mode) | mode)
    assert source(loss) == first
    assert len(written) == 2
    assert ("SystemExit" in path.read_text()) == (what == "folder")  # a bad file is replaced, a bad folder left alone


@POSIX
def test_a_folder_of_somebody_else_is_left_alone(cache, written, tmp_path, monkeypatch):
    loss = module(tmp_path / "model.py", LOSS)
    first = source(loss)
    planted(texts(cache)[0], "raise SystemExit('this text was run')\n")
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    assert source(loss) == first
    assert source(module(tmp_path / "other.py", LOSS.replace("2.0", "4.0"))) != first
    assert len(texts(cache)) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_somebody_else_is_not_loaded(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS)
    first = source(loss)
    (path,) = texts(cache)
    planted(path, "raise SystemExit('this text was run')\n")
    os.chown(path, 12345, 12345)
    assert source(loss) == first
    assert path.stat().st_uid == 0


@POSIX
def test_links_and_pipes_are_not_followed(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS)
    first = source(loss)
    (path,) = texts(cache)
    elsewhere = tmp_path / "elsewhere.py"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert source(loss) == first
    assert not path.is_symlink()
    path.unlink()
    os.mkfifo(path, 0o600)
    assert source(loss) == first
    assert path.is_file()
    assert len(written) == 3


@POSIX
def test_folder_and_files_are_the_users_alone(cache, tmp_path):
    before = os.umask(0)
    try:
        source(module(tmp_path / "model.py", LOSS))
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(texts(cache)[0].stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["a file", "below a file", "no place"])
def test_a_folder_that_cannot_be_written_is_no_error(written, tmp_path, monkeypatch, kind):
    (tmp_path / "file").write_text("")
    place = {"a file": tmp_path / "file", "below a file": tmp_path / "file" / "cache", "no place": "/proc/none/cache"}
    monkeypatch.setenv("GRADSCRIBE_CACHE", str(place[kind]))
    loss = module(tmp_path / "model.py", LOSS)
    assert source(loss) == source(loss)
    assert len(written) == 2


def test_a_full_disk_is_no_error(cache, written, tmp_path, monkeypatch):
    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    loss = module(tmp_path / "model.py", LOSS)
    assert source(loss) == source(loss)
    assert len(written) == 2
    assert list(cache.iterdir()) == []


def test_off(written, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loss = module(tmp_path / "model.py", LOSS)
    for word in ("off", "OFF", "0"):
        monkeypatch.setenv("GRADSCRIBE_CACHE", word)
        source(loss)
    assert len(written) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["model.py"]


# --- processes --------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np
import gradscribe as gs
early = {name for name in ("platformdirs", "gast", "astunparse", "optree") if name in sys.modules}
sys.path.insert(0, sys.argv[1] if len(sys.argv) > 1 else FOLDER)
import model
f = gs.compile(gs.value_and_grad(model.loss))
value, gradient = f(np.arange(3.0), np.arange(1.0, 4.0))
late = {name for name in ("gast", "astunparse", "optree") if name in sys.modules}
print(sorted(early), sorted(late), value, gradient)
"""


def test_a_hit_loads_neither_gast_nor_astunparse_nor_optree(cache, tmp_path):
    (tmp_path / "model.py").write_text("import numpy as np\ndef loss(w, x):\n    return np.sum(np.sin(w) * x)\n")
    program = PROGRAM.replace("FOLDER", repr(str(tmp_path)))
    first, second = python(program), python(program)
    assert first.startswith("[] ['astunparse', 'gast'] ")
    assert second == first.replace("['astunparse', 'gast']", "[]")
    assert len(texts(cache)) == 1


def test_the_default_is_the_users_cache_folder(tmp_path):
    (tmp_path / "model.py").write_text("import numpy as np\ndef loss(w, x):\n    return np.sum(np.sin(w) * x)\n")
    program = (
        PROGRAM.replace("FOLDER", repr(str(tmp_path))) + "\nfrom gradscribe.transforms.compiler.driver import cache\n"
    )
    shown = python(
        program + "print(cache.folder())", GRADSCRIBE_CACHE="", HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "xdg"),
        LOCALAPPDATA=str(tmp_path),
    )  # fmt: skip
    folder = Path(shown.splitlines()[-1])
    assert folder.is_relative_to(tmp_path)
    assert "gradscribe" in folder.parts
    assert len(texts(folder)) == 1


@pytest.mark.parametrize("count", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_processes_that_write_at_once(cache, tmp_path, count):
    body = "".join(f"def loss_{k}(x):\n    return np.sum(np.sin(x) * {k}.5)\n\n" for k in range(12))
    (tmp_path / "model.py").write_text(f"import numpy as np\n{body}")
    program = f"""
import sys
import numpy as np
import gradscribe as gs
sys.path.insert(0, {str(tmp_path)!r})
import model
sys.stdin.readline()
for k in range(12):
    print(gs.compile(gs.grad(getattr(model, f"loss_{{k}}"))).specialisation(np.arange(3.0)).text)
"""
    command = [sys.executable, "-W", "error", "-P", "-c", program]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    done = [process.communicate(timeout=120) for process in processes]
    assert {error for _, error in done} == {""}
    assert len({output for output, _ in done}) == 1
    assert len(texts(cache)) == len(list(cache.iterdir())) == 12
    for path in texts(cache):
        text, _, digest = path.read_bytes().rpartition(b"# gradscribe ")
        assert digest.decode() == f"{hashlib.sha256(path.stem.encode() + text).hexdigest()}\n"


# --- the bound, and the command ---------------------------------------------------------------------------------------


def some(tmp_path: Path, count: int) -> list[Callable[..., Any]]:
    return [module(tmp_path / f"m{k}.py", LOSS.replace("2.0", f"{k}.25")) for k in range(count)]


@pytest.mark.parametrize("count", [20, pytest.param(40, marks=pytest.mark.slow)])
def test_the_size_is_bounded_and_what_was_not_used_for_longest_goes_first(cache, written, tmp_path, monkeypatch, count):
    monkeypatch.setenv("GRADSCRIBE_CACHE_SIZE", f"{count / 5000:.3f}")
    functions = some(tmp_path, count)
    source(functions[0])
    (kept,) = texts(cache)
    abandoned = cache / f"{'0' * 64}.py.{'1' * 16}.tmp"
    abandoned.write_text("x")
    os.utime(abandoned, (1, 1))
    foreign = cache / "notes.txt"
    foreign.write_text("the user's")
    for k, f in enumerate(functions[1:], 2):
        source(f)
        for path in texts(cache):
            if path.stat().st_mtime > 1e6:
                os.utime(path, (k + 1000 * (path == kept), k) if path != kept else (1e5, 1e5))
        assert sum(path.stat().st_size for path in texts(cache)) <= 200 * count
    assert len(written) == count
    assert kept in texts(cache)
    assert 1 < len(texts(cache)) < count / 2
    assert not abandoned.exists()
    assert foreign.exists()
    source(functions[0])
    assert len(written) == count
    source(functions[1])
    assert len(written) == count + 1


def test_a_use_is_remembered(cache, written, tmp_path):
    loss = module(tmp_path / "model.py", LOSS)
    source(loss)
    (path,) = texts(cache)
    os.utime(path, (1000, 1000))
    source(loss)
    assert len(written) == 1
    assert path.stat().st_mtime > 1000


def test_a_text_larger_than_the_bound_is_not_kept(cache, written, tmp_path, monkeypatch):
    monkeypatch.setenv("GRADSCRIBE_CACHE_SIZE", "0")
    source(module(tmp_path / "model.py", LOSS))
    assert texts(cache) == []


def test_the_command(cache, tmp_path, capsys, monkeypatch):
    assert cli.main("0", ["cache"]) == 0
    assert capsys.readouterr().out == f"folder   {cache}\nsources  0\nsize     0 kB of at most 64 MB\n"
    for f in some(tmp_path, 3):
        source(f)
    (cache / "notes.txt").write_text("the user's")
    size = sum(path.stat().st_size for path in texts(cache))
    monkeypatch.setenv("GRADSCRIBE_CACHE_SIZE", "2.5")
    assert cli.main("0", ["cache"]) == 0
    shown = f"folder   {cache}\nsources  3\nsize     {size / 1e3:.3g} kB of at most 2.5 MB\n"
    assert capsys.readouterr().out == shown
    assert cli.main("0", ["cache", "--clear"]) == 0
    assert capsys.readouterr().out.startswith(
        f"removed  3 sources, {size / 1e3:.3g} kB\nfolder   {cache}\nsources  0\n"
    )
    assert [path.name for path in cache.iterdir()] == ["notes.txt"]


def test_the_command_says_why_a_cache_is_not_used(cache, capsys, monkeypatch):
    cache.write_text("")
    assert cli.main("0", ["cache"]) == 0
    assert "unused   it is not a folder; nothing is read" in capsys.readouterr().out
    monkeypatch.setenv("GRADSCRIBE_CACHE", "off")
    assert cli.main("0", ["cache", "--clear"]) == 0
    assert capsys.readouterr().out.startswith("The cache is off")


def test_what_the_text_says_of_the_function_is_part_of_the_key(cache, written, tmp_path):
    helper = "import numpy as np\ndef helper(x):\n    return np.sum(np.sin(x))\n"
    for said in ("The first.", "The other."):
        loss = module(tmp_path / "model.py", f'{helper}def loss(x):\n    """{said}"""\n    return helper(x)\n')
        assert f'"""{said}\n' in gs.source(loss, X)
    assert len(written) == 2
