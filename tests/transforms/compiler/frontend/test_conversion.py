"""What a converted function is: its names, cells and lines are the user's; what cannot be converted stays, with a reason."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import subprocess
import sys
import textwrap
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.tracer.core.thread_state import recording
from gradscribe.transforms.compiler.frontend.functions import (
    conversion,
    convert_code,
    converted,
    has_control_flow,
    is_converted,
    is_helper,
)
from gradscribe.transforms.compiler.frontend.operators import CONTROL, operators


def looped(n: int, step: int = 1, *, start: int = 0) -> int:
    """Adds."""
    total = start
    for k in range(n):
        if k % 2:
            continue
        total += k * step
    return total


def straight(x: Any) -> Any:
    return np.tanh(x) + abs(x)


def all_code(code: Any) -> list[Any]:
    return [code, *(c for const in code.co_consts if inspect.iscode(const) for c in all_code(const))]


def made_from(text: str, name: str = "f", **space: Any) -> Any:
    """A function whose source stands in linecache alone."""
    text = textwrap.dedent(text)
    file = f"<test of conversion {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), space)
    return space[name]


def test_it_is_a_function_like_the_users() -> None:
    looped.note = "kept"  # type: ignore[attr-defined]
    made: Any = converted(looped)
    assert made is not None
    assert made is not looped
    assert (made.__name__, made.__qualname__, made.__module__) == ("looped", "looped", __name__)
    assert (made.__doc__, made.__defaults__, made.__kwdefaults__) == ("Adds.", (1,), {"start": 0})
    assert made.__annotations__ == looped.__annotations__
    assert made.note == "kept"
    assert inspect.signature(made) == inspect.signature(looped)
    assert made.__globals__ is looped.__globals__
    assert made(6, 2, start=1) == looped(6, 2, start=1) == 13


def test_it_is_converted_once() -> None:
    made = converted(looped)
    assert made is not None
    assert is_converted(made.__code__)
    assert converted(made) is None
    assert conversion(made.__code__).reason == "it is converted already"
    assert convert_code(looped) is convert_code(looped)


def test_straight_lines_stay_at_no_cost() -> None:
    assert not has_control_flow(straight.__code__)
    assert conversion(straight.__code__) == (None, "it has no loops and no branches", None)
    made = converted(straight, calls=True)
    assert made is not None
    assert made(-2.0) == straight(-2.0)


def test_the_operators_are_loaded_without_gast() -> None:
    program = (
        "import sys, gradscribe.transforms.compiler.frontend.functions as f\n"
        "f.conversion((lambda x: x).__code__)\n"
        "assert not {'gast', 'astunparse'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-P", "-c", program], check=True)


def test_helpers_bear_the_users_name_and_lines() -> None:
    made = converted(looped)
    assert made is not None
    helpers = [c for c in all_code(made.__code__) if is_helper(c)]
    assert len(helpers) >= 3
    assert not is_helper(made.__code__)
    assert {(c.co_name, c.co_filename, c.co_firstlineno) for c in helpers} == {
        ("looped", looped.__code__.co_filename, looped.__code__.co_firstlineno)
    }
    assert "".join(inspect.getsourcelines(helpers[0])[0]) == inspect.getsource(looped)


def test_tracebacks_end_at_the_users_line() -> None:
    def fails(xs: list[Any]) -> list[Any]:
        out = []
        for x in xs:
            if x is not None:
                out.append(1 / x)
        return out

    made = converted(fails)
    assert made is not None
    with pytest.raises(ZeroDivisionError) as plain:
        fails([None, 0])
    with pytest.raises(ZeroDivisionError) as error:
        made([None, 0])
    ours, theirs = (traceback.extract_tb(e.value.__traceback__)[-1] for e in (error, plain))
    assert (ours.filename, ours.lineno, ours.name, ours.line) == (
        theirs.filename, theirs.lineno, theirs.name, theirs.line,
    )  # fmt: skip
    assert (ours.colno, ours.end_colno) == (theirs.colno, theirs.end_colno)


def test_cells_are_shared() -> None:
    count = 0

    def bump(n: int) -> int:
        nonlocal count
        for _ in range(n):
            count += 1
        return count

    made = converted(bump)
    assert made is not None
    assert made.__closure__ is not None
    assert bump.__closure__ is not None
    cells = dict(zip(made.__code__.co_freevars, made.__closure__, strict=True))
    assert cells["count"] is bump.__closure__[0]
    assert cells[CONTROL].cell_contents is operators
    assert (made(2), bump(1), made(1), count) == (2, 3, 4, 4)


def test_a_function_that_reads_itself() -> None:
    def depth(x: Any) -> int:
        return 1 + max((depth(y) for y in x), default=0) if isinstance(x, list) else 0

    made = converted(depth)
    assert made is not None
    assert made([[1], [[2]]]) == 3


def test_decorated_methods_and_lambdas() -> None:
    class Model:
        scale = 2

        @functools.lru_cache  # noqa: B019
        def decorated(self, n: int) -> int:
            while n > 10:
                n //= self.scale
            return n

        @staticmethod
        def static(n: int) -> str:
            return "odd" if n % 2 else "even"

    decorated = converted(Model.decorated.__wrapped__)
    static = converted(Model.static)
    assert decorated is not None
    assert decorated(Model(), 100) == 6
    assert static is not None
    assert (static(3), static(4)) == ("odd", "even")
    two = (lambda x: x or "one", lambda x: x or "two")
    made = [converted(f) for f in two]
    assert [m and m(0) for m in made] == ["one", "two"]
    spread = converted(
        lambda x: (
            "big" if x > 3
            else "small"
        )
    )  # fmt: skip
    assert spread is not None
    assert (spread(5), spread(1)) == ("big", "small")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a syntax of Python 3.12")
def test_type_parameters() -> None:
    f = made_from(
        "def f[T: int](xs: list[T]) -> T:\n    for x in xs:\n        if x:\n            return x\n    return xs[0]"
    )
    made = converted(f)
    assert made is not None
    assert made([0, 5]) == f([0, 5]) == 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(n):\n    for i in range(n):\n        yield i", "it is a generator or a coroutine"),
        ("async def f(n):\n    while n:\n        n -= 1", "it is a generator or a coroutine"),
        ("def f(n):\n    for i in range(n):\n        j = i\n    return locals()", "it asks for its frame, by `locals`"),
        (
            "import sys\ndef f(n):\n    while n:\n        return sys._getframe()",
            "it asks for its frame, by `_getframe`",
        ),
    ],
)
def test_what_stays(text: str, reason: str) -> None:
    f = made_from(text)
    assert conversion(f.__code__).reason == reason
    assert converted(f) is None


def test_without_source_and_with_another(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec("def f(n):\n    while n:\n        n -= 1\n    return n", space)
    assert conversion(space["f"].__code__).reason == "it has no source"
    file = tmp_path / "changed.py"
    file.write_text("def f(n):\n    while n:\n        n -= 1\n    return n\n")
    exec(compile(file.read_text(), str(file), "exec"), space)
    file.write_text("def f(n):\n    while n:\n        n -= 2\n    return n\n")
    assert conversion(space["f"].__code__).reason == "the source that is there is not what runs"
    file.write_text("\n\ndef f(n):\n    while n:\n        n -= 1\n    return n\n")
    linecache.checkcache(str(file))
    exec(compile(file.read_text(), str(file), "exec"), space)
    made = converted(space["f"])
    assert made is not None
    assert made(3) == 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("try:\n    for x in xs: s += x\nfinally: pass", "stands in a try"),
        ("with gs: \n    for x in xs: s += x", "stands in a with"),
        ("for x in xs:\n    try: s += x\n    except TypeError: break", "holds a jump out of a try"),
        ("while (x := next(it, 0)): s += x", "binds a name in its test"),
        ("for x in xs: fs.append(lambda: x)", "binds `x`, which a closure shares"),
        ("f = lambda: s\nfor x in xs: s += x", "binds `s`, which a closure shares"),
        ("if xs:\n    super().f()", "uses super()"),
        ("if xs:\n    warn('x', stacklevel=2)", "counts the frames of its callers"),
    ],
)
def test_why_statements_stay(body: str, reason: str) -> None:
    lines = textwrap.indent(body, "    ")
    f = made_from(f"def f(xs, s=0, it=None, fs=None, gs=None, warn=None):\n{lines}\n    return s\n")
    text = str(gs.converted(f))
    assert f'"{reason}")' in text, text
    assert ".for_(" not in text
    assert ".while_(" not in text
    assert ".if_(" not in text


@pytest.mark.parametrize(
    "body",
    [
        "with np.errstate(all='ignore'):\n    for x in xs: s += x",
        "for x in xs: s += x\nf = lambda: s",
        "if xs:\n    def g(): return 1\nelse:\n    g = None\nh = g",
        "for x in xs:\n    try: s += x\n    except TypeError: s = 0",
        "for x in xs: t = sum(y * x for y in xs)\nt = [y for y in xs]",
        "for x in xs:\n    match x:\n        case 1: s += x",
    ],
)
def test_what_is_converted_beside_it(body: str) -> None:
    lines = textwrap.indent(body, "    ")
    f = made_from(f"def f(xs, s=0):\n{lines}\n    return s\n", np=np)
    text = str(gs.converted(f))
    assert ".truth(" not in text, text
    assert ".trips(" not in text, text
    made = converted(f)
    assert made is not None
    assert made([1, 2]) == f([1, 2])


class Seen:
    """Regions that note what they are asked, and keep nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def ask(*args: Any, **notes: Any) -> Any:
            plain = [a for a in args if not callable(a) or isinstance(a, type)]
            self.asked.append((name, *plain, *([notes] if notes else [])))
            return NotImplemented

        return ask


class Recorder:
    def __init__(self) -> None:
        self.regions = Seen()

    def control_flow(self) -> Seen:
        return self.regions

    def code_scope(self) -> Any:
        return types.SimpleNamespace(callee=lambda f: f)


def asked(f: Any, *args: Any, **options: Any) -> list[tuple[Any, ...]]:
    recorder: Any = Recorder()
    made = converted(f)
    assert made is not None
    with recording(recorder):
        result = made(*args, **options)
    assert result == f(*args, **options)
    return [a for a in recorder.regions.asked if a[0] != "call"]


def test_what_a_while_asks() -> None:
    f = made_from(
        """
        def f(n, xs):
            total = 0
            while n > 0:
                last = n * 2
                n -= 1
                xs[n] = last
                total += last
            return total
        """
    )
    xs = [0, 0, 0]
    assert asked(f, 2, xs)[0] == (
        "while_",
        (2, xs, 0),
        ("n", "xs", "total"),
        4,
        {"stores": ("xs",), "dead": ("n", "xs")},
    )


def test_what_a_for_asks() -> None:
    f = made_from(
        """
        def f(rows):
            best = None
            for i, (a, b) in enumerate(rows):
                if a > b:
                    best = i
                    break
            return best
        """
    )
    found = asked(f, [(1, 2), (3, 2)])
    _, _, *told = next(a for a in found if a[0] == "for_")
    assert told == [(None, False), ("best", "stop"), ("i", ("a", "b")), 4, {"flags": ("stop",)}]
    assert ("enumerate_", [(1, 2), (3, 2)]) in found


def test_what_no_region_may_hold() -> None:
    f = made_from(
        """
        def f(o, n):
            global seen
            for k in range(n):
                o.x = k
                seen = k
                if k > 5:
                    raise ValueError(k)
                try:
                    import math
                except ImportError:
                    pass
            return o.x
        """,
        seen=0,
    )
    notes = next(a for a in asked(f, Seen(), 2) if a[0] == "for_")[-1]
    assert notes["impure"] == (
        (5, "stores the attribute `x`"), (6, "writes the global `seen`"), (8, "raises"), (9, "catches errors"),
        (10, "imports"),
    )  # fmt: skip


def test_small_operators_ask_too() -> None:
    f = made_from(
        """
        def f(a, b):
            out = []
            out.append(a if a > b else b)
            c = a
            c += b
            c **= 2
            assert a < b or not a, "words"
            out.append(len([x * 2 for x in (a, b)]) and a < b < c)
            return out, c, float(a), sum(range(3))
        """
    )
    found = [a[0] for a in asked(f, 1, 2)]
    assert found == ["ifexp", "append", "iadd", "iadd", "or_", "assert_", "listcomp", "len_", "and_", "and_", "append", "float_",
                     "range_"]  # fmt: skip


def test_what_stays_tells_why() -> None:
    f = made_from(
        """
        def f(xs, s=0):
            try:
                for x in xs:
                    s += x
            finally:
                print(s)
            return s
        """
    )
    assert ("trips", [1, 2], 4, "stands in a try") in asked(f, [1, 2])


def test_what_is_kept_takes_the_place() -> None:
    class Keeps(Seen):
        def while_(self, test: Any, body: Any, state: Any, names: Any, line: int, **notes: Any) -> Any:
            return tuple(f"{n} kept" for n in names)

    f = made_from("def f(n, s):\n    while n:\n        n -= 1\n        s += n\n    return s")
    recorder: Any = Recorder()
    recorder.regions = Keeps()
    made = converted(f)
    assert made is not None
    with recording(recorder):
        assert made(3, 0) == "s kept"


def test_the_text_parses_and_is_what_runs() -> None:
    text = str(gs.converted(looped))
    space: dict[str, Any] = {CONTROL: operators}
    exec(compile(ast.parse(text), "<text>", "exec"), space)
    assert [space["looped"](n, 3, start=2) for n in range(6)] == [looped(n, 3, start=2) for n in range(6)]
    assert "# for k in range(n):" in text
    assert "step: int = 1" in text


def test_converted_of_other_things() -> None:
    assert gs.converted(gs.grad(looped)) == gs.converted(looped)
    assert gs.converted(functools.partial(looped, 3)) == gs.converted(looped)
    assert str(gs.converted(straight)).startswith("# straight stays as it is: it has no loops")
    with pytest.raises(TypeError, match="takes a function in Python, not builtin_function_or_method"):
        gs.converted(len)
